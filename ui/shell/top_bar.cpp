// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/action_registry.h>
#include <lathe/ui/shell/top_bar.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QAction>
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>

namespace lathe::ui {

TopBar::TopBar(const Theme& theme, const ActionRegistry& actions, QWidget* parent)
    : QToolBar(parent)
    , m_theme(theme)
    , m_crumb(new QLabel(this))
    , m_variants(new PickButton(QStringLiteral("Variants"), this))
    , m_target(new PickButton(QStringLiteral("Target"), this))
{
    setObjectName(QStringLiteral("topBar"));
    setWindowTitle(QStringLiteral("Main bar"));
    setMovable(false);
    setFloatable(false);
    setContextMenuPolicy(Qt::PreventContextMenu);
    auto* row = new QWidget(this);
    row->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 8, 0);
    layout->setSpacing(8);
    auto* menuButton = new QToolButton(row);
    menuButton->setText(QStringLiteral("≡"));
    menuButton->setAccessibleName(QStringLiteral("Menu"));
    menuButton->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(menuButton);
    actions.fillMenu(*menu);
    menuButton->setMenu(menu);
    layout->addWidget(menuButton);
    m_crumb->setTextFormat(Qt::RichText);
    layout->addWidget(m_crumb);
    layout->addSpacing(4);
    m_variants->setMenu(new QMenu(m_variants));
    m_target->setMenu(new QMenu(m_target));
    layout->addWidget(m_variants);
    layout->addWidget(m_target);
    layout->addSpacing(10);
    for (const char* id :
         {"candidate.run", "agent.start", "all.stop", "candidate.accept", "candidate.export"}) {
        const QString name = QString::fromLatin1(id);
        layout->addWidget(new ActionButton(
            theme, actions.action(name), name == QLatin1String("candidate.run"), row));
    }
    layout->addStretch(1);
    QAction* palette = actions.action(QStringLiteral("view.palette"));
    auto* search = new QPushButton(row);
    search->setObjectName(QStringLiteral("search"));
    search->setFixedSize(290, 26);
    search->setAccessibleName(QStringLiteral("Command palette"));
    auto* inside = new QHBoxLayout(search);
    inside->setContentsMargins(10, 0, 10, 0);
    for (const QString& text :
         {QStringLiteral("Commands, tasks, candidates"), palette->property("keys").toString()}) {
        auto* label = new QLabel(text, search);
        label->setObjectName(QStringLiteral("sectionNote"));
        label->setAttribute(Qt::WA_TransparentForMouseEvents);
        inside->addWidget(label);
        if (text.startsWith(QLatin1String("Commands"))) {
            inside->addStretch(1);
        }
    }
    connect(search, &QPushButton::clicked, palette, &QAction::trigger);
    layout->addWidget(search);
    addWidget(row);
    m_variants->setChoice(QStringLiteral("variants"));
    setTarget(QStringLiteral("this machine"), QString());
    connect(&theme, &Theme::changed, this, &TopBar::showCrumb);
}

void TopBar::showCrumb()
{
    const Palette& p = m_theme.palette();
    setSpokenText(
        *m_crumb,
        QStringLiteral("Open task"),
        QStringLiteral(
            "<span style=\"color:%1\">%2</span><span style=\"color:%3;font-weight:600\">%4</span>")
            .arg(p.text2.name(),
                 m_suite.isEmpty() ? QString() : m_suite.toHtmlEscaped() + QStringLiteral(" / "),
                 p.text.name(),
                 m_name.toHtmlEscaped()));
}

void TopBar::setTask(const session::TaskDetail& task, const std::string& device)
{
    m_suite = qs(task.row.suite);
    m_name = qs(task.row.key).section(QLatin1Char('/'), -1);
    showCrumb();
    m_variants->menu()->clear();
    int count = 0;
    const auto addChoice = [this](const QString& text, const QString& variant) {
        QAction* action = m_variants->menu()->addAction(text);
        connect(action, &QAction::triggered, this, [this, text, variant] {
            m_variants->setChoice(text);
            Q_EMIT variantChosen(variant);
        });
    };
    std::vector<QString> names;
    for (const auto& variant : task.task.spec.variants) {
        if (!variant.hidden && (variant.device == "any" || variant.device == device)) {
            names.push_back(qs(variant.name));
            ++count;
        }
    }
    const QString all = count == 1 ? names.front() : QStringLiteral("all %1 variants").arg(count);
    addChoice(all, QString());
    if (count > 1) {
        for (const QString& name : names) {
            addChoice(name, name);
        }
    }
    m_variants->setChoice(all);
}

void TopBar::setTarget(const QString& target, const QString& detail)
{
    m_target->setChoice(target);
    m_target->setToolTip(detail);
    m_target->menu()->clear();
    m_target->menu()->addAction(detail.isEmpty() ? target : detail)->setEnabled(false);
}

} // namespace lathe::ui
