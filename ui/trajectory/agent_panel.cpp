// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/style/theme.h>
#include <lathe/ui/trajectory/agent_panel.h>
#include <lathe/ui/trajectory/trajectory_delegate.h>
#include <lathe/ui/trajectory/trajectory_model.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QAction>
#include <QGridLayout>
#include <QKeyEvent>
#include <QListView>
#include <QLocale>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>

namespace lathe::ui {
namespace {

QLabel* detail(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setObjectName(QStringLiteral("detail"));
    return label;
}

} // namespace

AgentPanel::AgentPanel(const Theme& theme, QAction* start, QAction* stop, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_model(new TrajectoryModel(this))
    , m_header(new SectionHeader(QStringLiteral("Agent"), this))
    , m_pick(new PickButton(QStringLiteral("Model that plays the agent"), this))
    , m_stages(new StageBar(theme, this))
    , m_stepText(detail(this))
    , m_stepMeter(new Meter(theme, this))
    , m_tokenText(detail(this))
    , m_tokenMeter(new Meter(theme, this))
    , m_steps(new QListView(this))
    , m_empty(new QLabel(this))
    , m_choices(new QWidget(this))
    , m_open(new QPushButton(QStringLiteral("Open"), m_choices))
    , m_fork(new QPushButton(QStringLiteral("Fork from here"), m_choices))
    , m_message(new QPlainTextEdit(this))
{
    setObjectName(QStringLiteral("dockPane"));
    setAttribute(Qt::WA_StyledBackground);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_header);
    rows->addWidget(m_stages);
    auto* budget = new QGridLayout;
    budget->setContentsMargins(12, 0, 12, 9);
    budget->setHorizontalSpacing(16);
    budget->setVerticalSpacing(3);
    budget->addWidget(m_stepText, 0, 0);
    budget->addWidget(m_tokenText, 0, 1);
    budget->addWidget(m_stepMeter, 1, 0);
    budget->addWidget(m_tokenMeter, 1, 1);
    rows->addLayout(budget);
    m_empty->setObjectName(QStringLiteral("detail"));
    m_empty->setWordWrap(true);
    m_empty->setContentsMargins(12, 12, 12, 12);
    m_empty->setAlignment(Qt::AlignTop);
    rows->addWidget(m_empty, 1);
    m_steps->setModel(m_model);
    m_steps->setItemDelegate(new TrajectoryDelegate(theme, m_steps));
    m_steps->setAccessibleName(QStringLiteral("Steps of the agent"));
    m_steps->setResizeMode(QListView::Adjust);
    m_steps->setLayoutMode(QListView::Batched);
    m_steps->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_steps->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_steps->setEditTriggers(QAbstractItemView::NoEditTriggers);
    rows->addWidget(m_steps, 1);
    auto* choices = new QHBoxLayout(m_choices);
    choices->setContentsMargins(12, 6, 12, 2);
    choices->addWidget(m_open);
    choices->addWidget(m_fork);
    choices->addStretch(1);
    m_choices->hide();
    rows->addWidget(m_choices);
    m_message->setObjectName(QStringLiteral("field"));
    m_message->setPlaceholderText(
        QStringLiteral("Message to the agent: it is read before the next step"));
    m_message->setAccessibleName(QStringLiteral("Message to the agent"));
    m_message->setFixedHeight(52);
    m_message->setTabChangesFocus(true);
    m_message->installEventFilter(this);
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(12, 8, 12, 10);
    foot->setSpacing(8);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_pick);
    buttons->addStretch(1);
    buttons->addWidget(new ActionButton(theme, start, false, this));
    buttons->addWidget(new ActionButton(theme, stop, false, this));
    foot->addLayout(buttons);
    foot->addWidget(m_message);
    rows->addLayout(foot);
    m_pick->setMenu(new QMenu(m_pick));
    connect(m_steps, &QListView::clicked, this, &AgentPanel::openStep);
    connect(m_steps, &QListView::activated, this, &AgentPanel::openStep);
    connect(m_steps->selectionModel(),
            &QItemSelectionModel::currentChanged,
            this,
            &AgentPanel::showChoices);
    connect(m_open, &QPushButton::clicked, this, [this] {
        Q_EMIT candidateOpened(
            m_steps->currentIndex().data(TrajectoryModel::CandidateRole).toString());
    });
    connect(m_fork, &QPushButton::clicked, this, [this] {
        Q_EMIT forked(m_steps->currentIndex().data(TrajectoryModel::CandidateRole).toString());
    });
    clearRun();
}

void AgentPanel::setProviders(const std::vector<session::Session::ProviderRow>& providers)
{
    m_providers = providers;
    m_pick->menu()->clear();
    QString first;
    for (const auto& provider : providers) {
        const QString title = qs(provider.title.empty() ? provider.name : provider.title);
        QAction* action = m_pick->menu()->addAction(
            provider.usable ? title : title + QStringLiteral(": ") + qs(provider.why));
        action->setEnabled(provider.usable);
        const QString name = qs(provider.name);
        connect(action, &QAction::triggered, this, [this, name] { chooseProvider(name); });
        if (provider.usable && first.isEmpty()) {
            first = name;
        }
    }
    const bool still = std::any_of(providers.begin(), providers.end(), [&](const auto& p) {
        return p.usable && qs(p.name) == m_provider;
    });
    chooseProvider(still ? m_provider : first);
}

void AgentPanel::chooseProvider(const QString& name)
{
    m_provider = name;
    QString title = name.isEmpty() ? QStringLiteral("no model") : name;
    for (const auto& provider : m_providers) {
        if (qs(provider.name) == name && !provider.title.empty()) {
            title = qs(provider.title);
        }
    }
    m_pick->setToolTip(title);
    m_pick->setChoice(QFontMetrics(m_pick->font()).elidedText(title, Qt::ElideRight, 92));
    Q_EMIT providerChanged(name);
}

void AgentPanel::setRun(const session::RunRow& run, const std::vector<agent::TrajectoryItem>& items)
{
    m_header->setNote(run.replay ? QStringLiteral("scripted demonstration, replayed · tools live")
                                 : qs(run.provider));
    m_model->setItems(items);
    m_empty->hide();
    m_steps->show();
    refreshStages();
    if (!items.empty()) {
        m_stepText->setText(QStringLiteral("%1 steps%2")
                                .arg(items.back().step)
                                .arg(run.stopReason.empty()
                                         ? QString()
                                         : QStringLiteral(", ") + qs(run.stopReason)));
    }
    m_steps->scrollToBottom();
}

void AgentPanel::clearRun()
{
    m_header->setNote(QString());
    m_model->setItems({});
    m_empty->setText(QStringLiteral(
        "No run of this task yet. Start the agent (F6): it writes, compiles, verifies and "
        "measures candidates, and every step shows here."));
    m_empty->show();
    m_steps->hide();
    m_choices->hide();
    m_stepText->setText(QStringLiteral("no steps"));
    m_tokenText->setText(QStringLiteral("no tokens used"));
    m_stepMeter->setFraction(0);
    m_tokenMeter->setFraction(0);
    refreshStages();
}

void AgentPanel::add(const agent::TrajectoryItem& item)
{
    QScrollBar* bar = m_steps->verticalScrollBar();
    const bool follows = bar->value() >= bar->maximum() - 24;
    m_model->add(item);
    refreshStages();
    if (follows) {
        m_steps->scrollToBottom();
    }
}

void AgentPanel::setBudget(const agent::AgentBudget& budget)
{
    const QLocale locale(QLocale::English);
    m_stepText->setText(
        QStringLiteral("step %1 of %2").arg(budget.turns).arg(budget.maxTurns)
        + (budget.cost ? QStringLiteral(" · $%1").arg(*budget.cost, 0, 'f', 2) : QString()));
    m_stepMeter->setFraction(
        budget.maxTurns > 0 ? static_cast<double>(budget.turns) / budget.maxTurns : 0);
    const auto used = budget.contextTokens > 0 ? budget.contextTokens : budget.tokens;
    m_tokenText->setText(
        budget.maxContextTokens > 0
            ? QStringLiteral("%1 of %2 tokens")
                  .arg(locale.toString(static_cast<qlonglong>(used)),
                       locale.toString(static_cast<qlonglong>(budget.maxContextTokens)))
            : QStringLiteral("%1 tokens")
                  .arg(locale.toString(static_cast<qlonglong>(budget.tokens))));
    m_tokenMeter->setFraction(budget.maxContextTokens > 0
                                  ? static_cast<double>(used)
                                        / static_cast<double>(budget.maxContextTokens)
                                  : 0);
}

void AgentPanel::setRunning(bool running)
{
    m_running = running;
    m_message->setEnabled(running);
    m_pick->setEnabled(!running);
}

void AgentPanel::openStep(const QModelIndex& index)
{
    if (!index.isValid()) {
        return;
    }
    const QString candidate = index.data(TrajectoryModel::CandidateRole).toString();
    if (!candidate.isEmpty()) {
        Q_EMIT candidateOpened(candidate);
    } else {
        m_model->toggleFold(index.row());
    }
}

void AgentPanel::showChoices(const QModelIndex& index)
{
    m_choices->setVisible(index.isValid()
                          && !index.data(TrajectoryModel::CandidateRole).toString().isEmpty());
}

void AgentPanel::refreshStages()
{
    m_stages->setPieces(m_model->stages());
}

bool AgentPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_message && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (enter && key->modifiers() == Qt::NoModifier) {
            const QString message = m_message->toPlainText().trimmed();
            if (!message.isEmpty()) {
                Q_EMIT steered(message);
                m_message->clear();
            }
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace lathe::ui
