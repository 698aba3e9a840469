// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/compare/compare_view.h>
#include <lathe/ui/compare/line_diff.h>
#include <lathe/ui/editor/code_editor.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QHBoxLayout>
#include <QVBoxLayout>

namespace lathe::ui {
namespace {

QLabel* title(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setObjectName(QStringLiteral("small"));
    label->setContentsMargins(12, 4, 12, 4);
    return label;
}

} // namespace

CompareView::CompareView(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_leftTitle(title(this))
    , m_rightTitle(title(this))
    , m_summary(title(this))
{
    setObjectName(QStringLiteral("surface"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(QStringLiteral("Comparison with the parent"));
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    auto* sides = new QHBoxLayout;
    sides->setSpacing(1);
    for (const bool isLeft : {true, false}) {
        auto* column = new QVBoxLayout;
        column->setSpacing(0);
        auto* head = new QHBoxLayout;
        head->addWidget(isLeft ? m_leftTitle : m_rightTitle);
        head->addStretch(1);
        if (!isLeft) {
            head->addWidget(m_summary);
        }
        column->addLayout(head);
        auto*& editor = isLeft ? m_left : m_right;
        editor = new CodeEditor(theme, Language::Cpp, this);
        editor->setReadOnly(true);
        column->addWidget(editor, 1);
        sides->addLayout(column, 1);
        if (isLeft) {
            sides->addWidget(new Hairline(Qt::Vertical, this));
        }
    }
    rows->addLayout(sides, 1);
    // A side follows only when it is elsewhere: the pair cannot chase each other.
    const auto link = [this](CodeEditor* from, CodeEditor* to) {
        connect(from, &CodeEditor::scrolled, to, [to](int row) {
            if (to->firstVisibleRow() != row) {
                to->setFirstVisibleRow(row);
            }
        });
    };
    link(m_left, m_right);
    link(m_right, m_left);
}

void CompareView::setTexts(const QString& path,
                           const QString& leftTitle,
                           const QString& left,
                           const QString& rightTitle,
                           const QString& right)
{
    const int row = path == m_path ? m_right->firstVisibleRow() : 0;
    m_path = path;
    m_leftTitle->setText(leftTitle);
    m_rightTitle->setText(rightTitle);
    m_left->setReadOnly(false);
    m_right->setReadOnly(false);
    m_left->setText(left);
    m_right->setText(right);
    m_left->setReadOnly(true);
    m_right->setReadOnly(true);

    const QStringList leftLines = left.split(QLatin1Char('\n'));
    const QStringList rightLines = right.split(QLatin1Char('\n'));
    std::vector<LineMark> leftMarks(static_cast<std::size_t>(leftLines.size()), LineMark::None);
    std::vector<LineMark> rightMarks(static_cast<std::size_t>(rightLines.size()), LineMark::None);
    std::vector<int> leftFill(leftMarks.size(), 0);
    std::vector<int> rightFill(rightMarks.size(), 0);
    m_changeRows.clear();
    int visibleRow = 0;
    int added = 0;
    int removed = 0;
    for (const DiffRun& run : diffLines(leftLines, rightLines)) {
        const int leftCount = run.leftTo - run.leftFrom;
        const int rightCount = run.rightTo - run.rightFrom;
        if (!run.same) {
            m_changeRows.push_back(visibleRow);
            added += rightCount;
            removed += leftCount;
            for (int i = run.leftFrom; i < run.leftTo; ++i) {
                leftMarks[static_cast<std::size_t>(i)] = LineMark::Removed;
            }
            for (int i = run.rightFrom; i < run.rightTo; ++i) {
                rightMarks[static_cast<std::size_t>(i)] = LineMark::Added;
            }
            const int missing = rightCount - leftCount;
            auto& fill = missing > 0 ? leftFill : rightFill;
            const int below = (missing > 0 ? run.leftTo : run.rightTo) - 1;
            if (missing != 0 && below >= 0) {
                fill[static_cast<std::size_t>(below)] = std::abs(missing);
            }
        }
        visibleRow += std::max(leftCount, rightCount);
    }
    m_left->setLineMarks(leftMarks);
    m_right->setLineMarks(rightMarks);
    m_left->setFillersBelow(leftFill);
    m_right->setFillersBelow(rightFill);
    m_summary->setText(m_changeRows.empty()
                           ? QStringLiteral("the same text")
                           : QStringLiteral("+%1 −%2 lines").arg(added).arg(removed));
    showRow(row);
}

// Both by hand: an editor that was never shown has no scroll bar yet that could tell the other.
void CompareView::showRow(int row)
{
    m_right->setFirstVisibleRow(row);
    m_left->setFirstVisibleRow(row);
}

void CompareView::showFirstChange()
{
    if (!m_changeRows.empty()) {
        showRow(std::max(0, m_changeRows.front() - 3));
    }
}

void CompareView::nextChange(int direction)
{
    const int now = m_right->firstVisibleRow();
    int target = -1;
    for (const int row : m_changeRows) {
        const int top = std::max(0, row - 3);
        if (direction > 0 && top > now) {
            target = top;
            break;
        }
        if (direction < 0 && top < now) {
            target = top;
        }
    }
    if (target >= 0) {
        showRow(target);
    }
}

} // namespace lathe::ui
