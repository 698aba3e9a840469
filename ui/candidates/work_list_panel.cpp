// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_model.h>
#include <lathe/ui/candidates/speedup_chart.h>
#include <lathe/ui/candidates/work_list_panel.h>
#include <lathe/ui/tasks/task_model.h>
#include <lathe/ui/widgets/row_delegate.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QHeaderView>
#include <QListView>
#include <QSplitter>
#include <QTreeView>
#include <QVBoxLayout>

namespace lathe::ui {

WorkListPanel::WorkListPanel(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_tasks(new TaskModel(this))
    , m_candidates(new CandidateModel(this))
    , m_taskHeader(new SectionHeader(QStringLiteral("Tasks"), this))
    , m_candidateHeader(new SectionHeader(QStringLiteral("Candidates"), this))
    , m_taskView(new QListView(this))
    , m_candidateView(new QTreeView(this))
    , m_chart(new SpeedupChart(theme, this))
{
    setObjectName(QStringLiteral("dockPane"));
    setAttribute(Qt::WA_StyledBackground);
    auto* delegate = new RowDelegate(theme, this);
    m_taskView->setModel(m_tasks);
    m_taskView->setItemDelegate(delegate);
    m_taskView->setAccessibleName(QStringLiteral("Tasks"));
    m_taskView->setUniformItemSizes(true);
    m_taskView->setMouseTracking(true);
    m_candidateView->setModel(m_candidates);
    m_candidateView->setItemDelegate(delegate);
    m_candidateView->setAccessibleName(QStringLiteral("Candidates"));
    m_candidateView->setHeaderHidden(true);
    m_candidateView->setRootIsDecorated(false);
    m_candidateView->setIndentation(12);
    m_candidateView->setUniformRowHeights(true);
    m_candidateView->setItemsExpandable(false);
    m_candidateView->setMouseTracking(true);
    m_candidateView->setContextMenuPolicy(Qt::CustomContextMenu);
    m_candidateView->setEditTriggers(QAbstractItemView::NoEditTriggers);
    auto* split = new QSplitter(Qt::Vertical, this);
    split->setHandleWidth(1);
    split->setChildrenCollapsible(false);
    const auto section = [&](QWidget* header, QWidget* view) {
        auto* box = new QWidget(split);
        auto* rows = new QVBoxLayout(box);
        rows->setContentsMargins(0, 0, 0, 0);
        rows->setSpacing(0);
        rows->addWidget(header);
        rows->addWidget(view, 1);
        split->addWidget(box);
        return rows;
    };
    section(m_taskHeader, m_taskView);
    auto* lower = section(m_candidateHeader, m_candidateView);
    lower->addWidget(m_chart);
    split->setSizes({230, 600});
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->addWidget(split);
    connect(m_taskView, &QListView::activated, this, [this](const QModelIndex& index) {
        Q_EMIT taskOpened(index.data(KeyRole).toString());
    });
    connect(m_taskView, &QListView::clicked, this, [this](const QModelIndex& index) {
        Q_EMIT taskOpened(index.data(KeyRole).toString());
    });
    connect(m_candidateView->selectionModel(),
            &QItemSelectionModel::currentChanged,
            this,
            [this](const QModelIndex& index) {
                if (!m_quiet && index.isValid()) {
                    Q_EMIT candidateOpened(index.data(KeyRole).toString());
                }
            });
    connect(
        m_candidateView, &QTreeView::customContextMenuRequested, this, [this](const QPoint& at) {
            const QModelIndex index = m_candidateView->indexAt(at);
            if (index.isValid()) {
                Q_EMIT candidateMenu(index.data(KeyRole).toString(),
                                     m_candidateView->viewport()->mapToGlobal(at));
            }
        });
    connect(m_chart, &SpeedupChart::opened, this, [this](const CandidateId& id) {
        Q_EMIT candidateOpened(qs(id.text()));
    });
}

void WorkListPanel::setTasks(const std::vector<session::TaskRow>& tasks)
{
    m_tasks->setTasks(tasks);
    QString suite = tasks.empty() ? QString() : qs(tasks.front().suite);
    for (const auto& task : tasks) {
        suite = qs(task.suite) == suite ? suite : QString();
    }
    m_taskHeader->setNote(suite.isEmpty() ? QString::number(tasks.size())
                                          : QStringLiteral("%1, %2").arg(suite).arg(tasks.size()));
}

void WorkListPanel::setCurrentTask(const QString& key)
{
    m_taskView->setCurrentIndex(m_tasks->indexOf(key.toStdString()));
}

void WorkListPanel::setCandidates(const std::vector<session::CandidateRow>& rows)
{
    m_quiet = true;
    m_rows = rows;
    m_candidates->setCandidates(rows);
    m_candidateView->expandAll();
    const int branches = m_candidates->branches();
    m_candidateHeader->setNote(
        rows.empty()   ? QStringLiteral("none yet")
        : branches > 1 ? QStringLiteral("%1, %2 branches").arg(rows.size()).arg(branches)
                       : QString::number(rows.size()));
    m_chart->setCandidates(rows, m_open);
    m_candidateView->setCurrentIndex(m_candidates->indexOf(m_open));
    m_quiet = false;
}

void WorkListPanel::setOpenCandidate(const CandidateId& candidate)
{
    m_quiet = true;
    m_open = candidate;
    m_candidates->setOpen(candidate);
    m_candidateView->setCurrentIndex(m_candidates->indexOf(candidate));
    m_chart->setCandidates(m_rows, m_open);
    m_quiet = false;
}

void WorkListPanel::setUnsaved(const CandidateId& parent)
{
    m_candidates->setUnsaved(parent);
}
void WorkListPanel::focusTasks()
{
    m_taskView->setFocus();
}
void WorkListPanel::focusCandidates()
{
    m_candidateView->setFocus();
}

} // namespace lathe::ui
