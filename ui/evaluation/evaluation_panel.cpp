// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/benchmark_model.h>
#include <lathe/ui/evaluation/evaluation_panel.h>
#include <lathe/ui/evaluation/gates_model.h>
#include <lathe/ui/evaluation/problems_model.h>
#include <lathe/ui/style/theme.h>
#include <lathe/ui/widgets/table_delegate.h>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>

namespace lathe::ui {

std::vector<protocol::Diagnostic> problemsOf(const evaluation::EvaluationResult& result)
{
    std::vector<protocol::Diagnostic> problems = result.build.diagnostics;
    for (const auto& warning : result.warnings) {
        problems.push_back({.severity = "warning", .message = warning});
    }
    return problems;
}

EvaluationPanel::EvaluationPanel(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_tabs(new QTabBar(this))
    , m_stack(new QStackedWidget(this))
    , m_note(new QLabel(this))
    , m_benchmark(new BenchmarkModel(this))
    , m_gates(new GatesModel(this))
    , m_problems(new ProblemsModel(this))
{
    setObjectName(QStringLiteral("dockPane"));
    setAttribute(Qt::WA_StyledBackground);
    m_stack->setObjectName(QStringLiteral("surface"));
    m_stack->setAttribute(Qt::WA_StyledBackground);
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->setAccessibleName(QStringLiteral("Evidence"));
    m_note->setObjectName(QStringLiteral("sectionNote"));
    auto* head = new QHBoxLayout;
    head->setContentsMargins(0, 0, 12, 0);
    head->addWidget(m_tabs);
    head->addStretch(1);
    head->addWidget(m_note);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addLayout(head);
    rows->addWidget(m_stack, 1);

    QTableView* benchmark = makeTable(m_benchmark, QStringLiteral("Benchmark"));
    benchmark->horizontalHeader()->setSectionResizeMode(BenchmarkModel::Plot, QHeaderView::Stretch);
    addTab(QStringLiteral("Benchmark"), benchmark);
    QTableView* gates = makeTable(m_gates, QStringLiteral("Gates"));
    gates->horizontalHeader()->setSectionResizeMode(GatesModel::Reason, QHeaderView::Stretch);
    addTab(QStringLiteral("Gates"), gates);
    m_log = new QPlainTextEdit(this);
    m_log->setReadOnly(true);
    m_log->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_log->setFont(theme.codeFont(12));
    m_log->setStyleSheet(
        QStringLiteral("QPlainTextEdit { padding: 4px 10px; font-family: '%1'; font-size: 12px; }")
            .arg(theme.codeFont().family()));
    m_log->setAccessibleName(QStringLiteral("Build log"));
    m_log->setMaximumBlockCount(200000);
    addTab(QStringLiteral("Build log"), m_log);
    QTableView* problems = makeTable(m_problems, QStringLiteral("Problems"));
    problems->horizontalHeader()->setSectionResizeMode(ProblemsModel::Message,
                                                       QHeaderView::Stretch);
    addTab(QStringLiteral("Problems"), problems);
    connect(problems, &QTableView::activated, this, [this](const QModelIndex& index) {
        const auto& problem = m_problems->at(index.row());
        if (!problem.file.empty()) {
            Q_EMIT problemActivated(qs(problem.file), problem.line, problem.column);
        }
    });
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int tab) {
        m_stack->setCurrentIndex(tab);
        m_note->setVisible(tab == 0);
        Q_EMIT tabChanged(m_tabs->tabData(tab).toString());
    });
}

QTableView* EvaluationPanel::makeTable(QAbstractItemModel* model, const QString& name)
{
    auto* table = new QTableView(this);
    table->setModel(model);
    table->setAccessibleName(name);
    table->setItemDelegate(new TableDelegate(m_theme, table));
    table->setShowGrid(false);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setTabKeyNavigation(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(25);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setMinimumSectionSize(60);
    return table;
}

void EvaluationPanel::addTab(const QString& title, QWidget* view)
{
    m_stack->addWidget(view);
    m_tabs->setTabData(m_tabs->addTab(title), title);
}

void EvaluationPanel::addFirstTab(const QString& title, QWidget* view)
{
    m_stack->insertWidget(0, view);
    m_tabs->insertTab(0, title);
    m_tabs->setTabData(0, title);
    m_tabs->setCurrentIndex(0);
    m_stack->setCurrentIndex(0);
}

void EvaluationPanel::showTab(const QString& title)
{
    for (int tab = 0; tab < m_tabs->count(); ++tab) {
        if (m_tabs->tabData(tab).toString() == title) {
            m_tabs->setCurrentIndex(tab);
        }
    }
}

void EvaluationPanel::setNote(const QString& note)
{
    m_note->setText(note);
}

void EvaluationPanel::setResult(const EvaluationPtr& result)
{
    m_benchmark->setResult(result);
    m_gates->setGates(result ? result->gates : std::vector<protocol::GateResult>());
    const auto problems = result ? problemsOf(*result) : std::vector<protocol::Diagnostic>();
    const auto count = problems.size();
    m_problems->setProblems(problems);
    const int tab = m_tabs->count() - 1;
    m_tabs->setTabText(
        tab, count == 0 ? QStringLiteral("Problems") : QStringLiteral("Problems %1").arg(count));
    const std::string& log =
        result ? (result->log.empty() ? result->build.log : result->log) : std::string();
    const std::string id = result ? result->id.text() : std::string();
    if (id != m_logOf || log.size() < m_logShown) {
        m_log->setPlainText(qs(log));
    } else if (log.size()
               > m_logShown) { // a growing log is appended to, so that the view does not jump
        QTextCursor cursor(m_log->document());
        cursor.movePosition(QTextCursor::End);
        cursor.insertText(qs(std::string_view(log).substr(m_logShown)));
    }
    m_logOf = id;
    m_logShown = log.size();
}

} // namespace lathe::ui
