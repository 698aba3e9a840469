// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_pane.h>
#include <lathe/ui/compare/compare_view.h>
#include <lathe/ui/editor/code_editor.h>
#include <lathe/ui/style/theme.h>

#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include <algorithm>

namespace lathe::ui {

bool sameFile(const QString& named, const QString& path)
{
    return named == path || named.endsWith(QLatin1Char('/') + path)
           || path.endsWith(QLatin1Char('/') + named);
}

CandidatePane::CandidatePane(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_tabs(new QTabBar(this))
    , m_fileTabs(new QTabBar(this))
    , m_pages(new QStackedWidget(this))
    , m_editors(new QStackedWidget(this))
    , m_compare(new CompareView(theme, this))
{
    setObjectName(QStringLiteral("dockPane"));
    setAttribute(Qt::WA_StyledBackground);
    m_editors->setObjectName(QStringLiteral("surface"));
    m_editors->setAttribute(Qt::WA_StyledBackground);
    m_fileTabs->setObjectName(QStringLiteral("files"));
    m_tabs->setAccessibleName(QStringLiteral("Candidate views"));
    m_fileTabs->setAccessibleName(QStringLiteral("Files of the candidate"));
    for (QTabBar* bar : {m_tabs, m_fileTabs}) {
        bar->setDrawBase(false);
        bar->setExpanding(false);
        bar->setUsesScrollButtons(false);
        bar->setElideMode(bar == m_tabs ? Qt::ElideRight : Qt::ElideNone);
    }
    m_tabs->addTab(QStringLiteral("Candidate"));
    m_tabs->addTab(QStringLiteral("Compare"));
    m_tabs->setTabVisible(1, false);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(0, 0, 4, 0);
    head->addWidget(m_tabs, 1);
    head->addWidget(m_fileTabs);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addLayout(head);
    rows->addWidget(m_pages, 1);
    m_pages->addWidget(m_editors);
    m_pages->addWidget(m_compare);
    connect(m_fileTabs, &QTabBar::currentChanged, this, &CandidatePane::showFile);
    connect(m_tabs, &QTabBar::currentChanged, this, [this](int tab) {
        m_pages->setCurrentIndex(tab);
        Q_EMIT comparingChanged(tab == 1);
        refreshCompare();
        if (tab == 1) {
            m_compare->showFirstChange();
        }
    });
}

void CandidatePane::setCandidate(const QString& title,
                                 const std::vector<protocol::CandidateFile>& files)
{
    const int front = m_fileTabs->currentIndex();
    const QString before = front >= 0 && front < static_cast<int>(m_files.size())
                               ? m_files[static_cast<std::size_t>(front)].path
                               : QString();
    std::vector<File> fresh;
    for (const auto& file : files) {
        const QString path = qs(file.path);
        CodeEditor* editor = editorOf(path);
        if (editor == nullptr) {
            editor = new CodeEditor(m_theme, languageOf(path), m_editors);
            editor->setAccessibleName(QStringLiteral("Candidate, %1").arg(path));
            m_editors->addWidget(editor);
            connect(editor, &CodeEditor::textEdited, this, &CandidatePane::edited);
        }
        const QString text = qs(file.text);
        editor->setText(text);
        fresh.push_back({path, text, editor});
    }
    for (const File& old : m_files) {
        if (std::none_of(fresh.begin(), fresh.end(), [&](const File& f) {
                return f.editor == old.editor;
            })) {
            old.editor->deleteLater();
        }
    }
    m_files = std::move(fresh);
    // Kernels first: they are what is worked on.
    std::stable_sort(m_files.begin(), m_files.end(), [](const File& a, const File& b) {
        return a.path.contains(QLatin1Char('/')) > b.path.contains(QLatin1Char('/'));
    });
    {
        const QSignalBlocker quiet(m_fileTabs);
        while (m_fileTabs->count() > 0) {
            m_fileTabs->removeTab(0);
        }
        int current = 0;
        for (const File& file : m_files) {
            const int tab = m_fileTabs->addTab(file.path.section(QLatin1Char('/'), -1));
            m_fileTabs->setTabToolTip(tab, file.path);
            current = file.path == before ? tab : current;
        }
        m_fileTabs->setCurrentIndex(current);
    }
    setTitle(title);
    showFile(m_fileTabs->currentIndex());
}

void CandidatePane::setTitle(const QString& title)
{
    m_title = title;
    m_tabs->setTabText(0, title);
}

void CandidatePane::setParentFiles(const QString& title,
                                   const std::vector<protocol::CandidateFile>& files)
{
    m_parentTitle = title;
    m_parentFiles = files;
    m_tabs->setTabVisible(1, !title.isEmpty());
    m_tabs->setTabText(
        1, QStringLiteral("Compare with %1").arg(title.section(QLatin1Char(' '), 0, 0)));
    if (title.isEmpty() && comparing()) {
        m_tabs->setCurrentIndex(0);
    }
    refreshCompare();
}

void CandidatePane::restoreText(const std::vector<protocol::CandidateFile>& files)
{
    for (const auto& file : files) {
        CodeEditor* editor = editorOf(qs(file.path));
        if (editor != nullptr && editor->text() != qs(file.text)) {
            editor->replaceText(qs(file.text));
        }
    }
}

void CandidatePane::markUnchanged()
{
    for (File& file : m_files) {
        file.base = file.editor->text();
    }
}

std::vector<protocol::CandidateFile> CandidatePane::files() const
{
    std::vector<protocol::CandidateFile> files;
    for (const File& file : m_files) {
        files.push_back({file.path.toStdString(), file.editor->text().toStdString()});
    }
    std::sort(
        files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

bool CandidatePane::isChanged() const
{
    return std::any_of(m_files.begin(), m_files.end(), [](const File& file) {
        return file.editor->text() != file.base;
    });
}

void CandidatePane::setProblems(const std::vector<protocol::Diagnostic>& problems)
{
    for (const File& file : m_files) {
        std::vector<EditorProblem> own;
        for (const auto& problem : problems) {
            if (problem.line > 0 && problem.severity != "note"
                && sameFile(qs(problem.file), file.path)) {
                own.push_back({problem.line, qs(problem.severity), qs(problem.message)});
            }
        }
        file.editor->setProblems(own);
    }
}

void CandidatePane::goTo(const QString& file, int line, int column)
{
    m_tabs->setCurrentIndex(0);
    for (std::size_t i = 0; i < m_files.size(); ++i) {
        if (sameFile(file, m_files[i].path)) {
            m_fileTabs->setCurrentIndex(static_cast<int>(i));
            m_files[i].editor->goTo(line, column);
        }
    }
}

void CandidatePane::showCompare(bool compare)
{
    if (!compare || m_tabs->isTabVisible(1)) {
        m_tabs->setCurrentIndex(compare ? 1 : 0);
    }
}

bool CandidatePane::comparing() const
{
    return m_tabs->currentIndex() == 1;
}

void CandidatePane::nextChange(int direction)
{
    showCompare(true);
    m_compare->nextChange(direction);
}

CodeEditor* CandidatePane::editorOf(const QString& path) const
{
    const auto found = std::find_if(
        m_files.begin(), m_files.end(), [&](const File& file) { return file.path == path; });
    return found == m_files.end() ? nullptr : found->editor;
}

CodeEditor* CandidatePane::currentEditor() const
{
    const int front = m_fileTabs->currentIndex();
    return front < 0 || front >= static_cast<int>(m_files.size())
               ? nullptr
               : m_files[static_cast<std::size_t>(front)].editor;
}

void CandidatePane::focusEditor()
{
    if (CodeEditor* editor = currentEditor()) {
        editor->setFocus();
    }
}

void CandidatePane::showFile(int index)
{
    if (index >= 0 && index < static_cast<int>(m_files.size())) {
        m_editors->setCurrentWidget(m_files[static_cast<std::size_t>(index)].editor);
        refreshCompare();
    }
}

void CandidatePane::refreshCompare()
{
    const int front = m_fileTabs->currentIndex();
    if (!comparing() || front < 0 || front >= static_cast<int>(m_files.size())) {
        return;
    }
    const File& file = m_files[static_cast<std::size_t>(front)];
    QString parent;
    for (const auto& candidate : m_parentFiles) {
        parent = qs(candidate.path) == file.path ? qs(candidate.text) : parent;
    }
    m_compare->setTexts(file.path, m_parentTitle, parent, m_title, file.editor->text());
}

} // namespace lathe::ui
