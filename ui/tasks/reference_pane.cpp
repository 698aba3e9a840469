// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/editor/code_editor.h>
#include <lathe/ui/tasks/reference_pane.h>

#include <QStackedWidget>
#include <QTabBar>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace lathe::ui {

ReferencePane::ReferencePane(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_tabs(new QTabBar(this))
    , m_pages(new QStackedWidget(this))
    , m_reference(new CodeEditor(theme, Language::Python, this))
    , m_notes(new QTextBrowser(this))
{
    setObjectName(QStringLiteral("dockPane"));
    setAttribute(Qt::WA_StyledBackground);
    m_tabs->setDrawBase(false);
    m_tabs->setExpanding(false);
    m_tabs->addTab(QStringLiteral("Reference"));
    m_tabs->addTab(QStringLiteral("Notes"));
    m_tabs->setAccessibleName(QStringLiteral("Reference views"));
    m_reference->setAccessibleName(QStringLiteral("Reference"));
    m_notes->setAccessibleName(QStringLiteral("Notes"));
    m_reference->setReadOnly(true);
    m_notes->setOpenLinks(false);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_tabs);
    rows->addWidget(m_pages, 1);
    m_pages->addWidget(m_reference);
    m_pages->addWidget(m_notes);
    connect(m_tabs, &QTabBar::currentChanged, m_pages, &QStackedWidget::setCurrentIndex);
}

void ReferencePane::setTask(const QString& source, const QString& notes)
{
    m_reference->setReadOnly(false);
    m_reference->setText(source);
    m_reference->setReadOnly(true);
    m_notes->setMarkdown(notes);
    m_tabs->setTabVisible(1, !notes.isEmpty());
}

void ReferencePane::showNotes(bool notes)
{
    m_tabs->setCurrentIndex(notes && m_tabs->isTabVisible(1) ? 1 : 0);
}

} // namespace lathe::ui
