// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/shell/widget_report.h>

#include <QAccessible>
#include <QApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMetaEnum>
#include <QSaveFile>
#include <QSocketNotifier>
#include <QWidget>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace lathe::ui {
namespace {

constexpr int kMostObjects = 5000;
constexpr int kLongestValue = 200;

std::atomic<int> g_writeFd = -1;

void wake(int)
{
    const int before = errno;
    const char byte = 1;
    (void)!::write(g_writeFd, &byte, 1); // a full pipe has woken the loop already
    errno = before;
}

QJsonObject describe(const QAccessibleInterface& object, const QRect& rect)
{
    static const QMetaEnum roles = QMetaEnum::fromType<QAccessible::Role>();
    const QAccessible::State state = object.state();
    QJsonObject out{
        {QStringLiteral("role"), QString::fromLatin1(roles.valueToKey(object.role()))},
        {QStringLiteral("name"), object.text(QAccessible::Name)},
        {QStringLiteral("value"), object.text(QAccessible::Value).left(kLongestValue)},
        {QStringLiteral("rect"), QJsonArray{rect.x(), rect.y(), rect.width(), rect.height()}}};
    const auto flag = [&out](const char* name, bool holds) {
        if (holds) {
            out.insert(QString::fromLatin1(name), true);
        }
    };
    flag("focused", state.focused);
    flag("selected", state.selected);
    flag("checked", state.checked);
    flag("disabled", state.disabled);
    return out;
}

void collect(QAccessibleInterface* object, const QRect& window, QJsonArray& out)
{
    if (object == nullptr || !object->isValid() || object->state().invisible
        || out.size() >= kMostObjects) {
        return;
    }
    const QRect rect = object->rect();
    if (rect.intersects(window)) {
        out.append(describe(*object, rect));
    }
    for (int i = 0; i < object->childCount(); ++i) {
        collect(object->child(i), window, out);
    }
}

} // namespace

QJsonArray visibleWidgets()
{
    QJsonArray out;
    for (QWidget* widget : QApplication::topLevelWidgets()) {
        if (widget->isVisible()) {
            const QRect window(widget->mapToGlobal(QPoint(0, 0)), widget->size());
            collect(QAccessible::queryAccessibleInterface(widget), window, out);
        }
    }
    return out;
}

WidgetReport::WidgetReport(QString path, QObject* parent)
    : QObject(parent)
    , m_path(std::move(path))
{
    QAccessible::setActive(true); // item views only then tell their accessible cells what changed
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        qWarning("no widget report: pipe2 failed");
        std::signal(SIGUSR1, SIG_IGN); // whoever asks for a report must not end the program
        return;
    }
    m_readFd = ends[0];
    g_writeFd = ends[1];
    m_notifier = new QSocketNotifier(m_readFd, QSocketNotifier::Read, this);
    connect(m_notifier, &QSocketNotifier::activated, this, [this] {
        char drained[64];
        while (::read(m_readFd, drained, sizeof drained) > 0) {
        }
        write();
    });
    struct sigaction action = {};
    action.sa_handler = wake;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
}

WidgetReport::~WidgetReport()
{
    if (m_readFd >= 0) {
        std::signal(SIGUSR1, SIG_IGN);
        delete m_notifier; // before what it watches
        ::close(g_writeFd.exchange(-1));
        ::close(m_readFd);
    }
}

void WidgetReport::write() const
{
    QSaveFile file(m_path);
    if (!file.open(QIODevice::WriteOnly) || file.write(QJsonDocument(visibleWidgets()).toJson()) < 0
        || !file.commit()) {
        qWarning("%s: %s", qPrintable(m_path), qPrintable(file.errorString()));
    }
}

} // namespace lathe::ui
