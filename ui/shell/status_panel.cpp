// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/status_panel.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QTimer>
#include <QToolButton>

namespace lathe::ui {

StatusPanel::StatusPanel(const Theme& theme, QWidget* parent)
    : QStatusBar(parent)
    , m_theme(theme)
    , m_worker(new QLabel(this))
    , m_sandbox(new QLabel(this))
    , m_lock(new QLabel(this))
    , m_note(new QLabel(this))
    , m_job(new QLabel(this))
    , m_meter(new Meter(theme, this))
    , m_cancel(new QToolButton(this))
    , m_model(new QLabel(this))
{
    setSizeGripEnabled(false);
    setContentsMargins(6, 0, 6, 0);
    m_meter->setFixedWidth(120);
    m_cancel->setText(QStringLiteral("✕"));
    m_cancel->setObjectName(QStringLiteral("quiet"));
    m_cancel->setToolTip(QStringLiteral("Stop (Esc Esc)"));
    m_cancel->setAccessibleName(QStringLiteral("Stop the running job"));
    for (QLabel* label : {m_worker, m_sandbox, m_lock, m_note}) {
        label->setTextFormat(Qt::RichText);
        label->setContentsMargins(4, 0, 8, 0);
        addWidget(label);
    }
    addPermanentWidget(m_job);
    addPermanentWidget(m_meter);
    addPermanentWidget(m_cancel);
    addPermanentWidget(m_model);
    m_model->setContentsMargins(8, 0, 4, 0);
    connect(m_cancel, &QToolButton::clicked, this, &StatusPanel::cancelClicked);
    connect(&theme, &Theme::changed, this, [this] { setWorker(m_status); });
    setWorker({});
    setJob(QString(), -1);
}

void StatusPanel::setWorker(const session::WorkerStatus& status)
{
    m_status = status;
    using session::WorkerState;
    const Palette& p = m_theme.palette();
    const QColor dot = status.state == WorkerState::Ready    ? p.good
                       : status.state == WorkerState::Busy   ? p.accent
                       : status.state == WorkerState::Failed ? p.bad
                                                             : p.text3;
    QString text = qs(status.text);
    if (text.isEmpty()) {
        text = status.state == WorkerState::Stopped ? QStringLiteral("worker not started")
                                                    : QStringLiteral("worker starting");
    }
    setSpokenText(*m_worker,
                  QStringLiteral("Worker"),
                  QStringLiteral("<span style=\"color:%1\">●</span>&nbsp; %2")
                      .arg(dot.name(), text.toHtmlEscaped()));
    m_worker->setToolTip(text);
    const QString sandbox = status.hello ? qs(status.hello->target.sandbox) : QString();
    m_sandbox->setText(sandbox.isEmpty() || text.contains(sandbox)
                           ? QString()
                           : QStringLiteral("sandbox: %1").arg(sandbox.toHtmlEscaped()));
    m_lock->setText(status.state == WorkerState::Busy ? QStringLiteral("measuring lock held here")
                    : status.state == WorkerState::Ready ? QStringLiteral("measuring lock free")
                                                         : QString());
}

void StatusPanel::setJob(const QString& text, double fraction)
{
    const bool busy = !text.isEmpty();
    setSpokenText(*m_job, QStringLiteral("Running job"), text);
    m_job->setVisible(busy);
    m_meter->setVisible(busy);
    m_meter->setFraction(fraction);
    m_cancel->setVisible(busy);
}

void StatusPanel::setModel(const QString& provider)
{
    m_model->setText(provider.isEmpty() ? QStringLiteral("no model")
                     : provider.startsWith(QLatin1String("replay"))
                         ? QStringLiteral("model: replay")
                         : QStringLiteral("model: %1").arg(provider));
    m_model->setToolTip(provider);
}

void StatusPanel::showNote(const QString& text, bool problem)
{
    const QString shown = fontMetrics().elidedText(text, Qt::ElideRight, 620);
    setSpokenText(*m_note,
                  QStringLiteral("Message"),
                  QStringLiteral("<span style=\"color:%1\">%2</span>")
                      .arg(problem ? m_theme.palette().bad.name() : m_theme.palette().text2.name(),
                           (problem ? QStringLiteral("✗ ") : QString()) + shown.toHtmlEscaped()));
    m_note->setToolTip(text);
    m_note->setProperty("plain", text);
    if (!problem) {
        QTimer::singleShot(8000, m_note, [this, text] {
            if (noteText() == text) {
                m_note->clear();
            }
        });
    }
}

QString StatusPanel::noteText() const
{
    return m_note->property("plain").toString();
}

} // namespace lathe::ui
