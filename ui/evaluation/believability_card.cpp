// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/evaluation/believability_card.h>
#include <lathe/ui/evaluation/checklist.h>
#include <lathe/ui/style/theme.h>

#include <QGridLayout>
#include <QGuiApplication>
#include <QLabel>
#include <QScreen>

#include <algorithm>

namespace lathe::ui {

BelievabilityCard::BelievabilityCard(const Theme& theme,
                                     const std::vector<CardRow>& entries,
                                     QWidget* parent)
    : QFrame(parent, Qt::Popup)
{
    setObjectName(QStringLiteral("card"));
    setAttribute(Qt::WA_DeleteOnClose);
    setAccessibleName(QStringLiteral("How this number was measured"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(14, 12, 14, 12);
    grid->setHorizontalSpacing(14);
    grid->setVerticalSpacing(5);
    auto* title = new QLabel(QStringLiteral("How this number was measured"), this);
    title->setFont(theme.uiFont(13, QFont::DemiBold));
    grid->addWidget(title, 0, 0, 1, 2);
    int row = 1;
    for (const CardRow& entry : entries) {
        auto* name = new QLabel(entry.name, this);
        name->setObjectName(QStringLiteral("sectionNote"));
        auto* value = new QLabel(this);
        value->setTextFormat(Qt::PlainText);
        value->setText(entry.value);
        value->setObjectName(QStringLiteral("detail"));
        value->setWordWrap(true);
        value->setFixedWidth(430);
        value->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        grid->addWidget(name, row, 0, Qt::AlignTop);
        grid->addWidget(value, row, 1);
        ++row;
    }
}

void BelievabilityCard::showAt(const QPoint& global)
{
    adjustSize();
    QPoint at = global;
    if (const QScreen* screen = QGuiApplication::screenAt(global)) {
        const QRect area = screen->availableGeometry();
        at.setX(std::clamp(
            at.x(), area.left() + 4, std::max(area.left() + 4, area.right() - width() - 4)));
        at.setY(std::clamp(
            at.y(), area.top() + 4, std::max(area.top() + 4, area.bottom() - height() - 4)));
    }
    move(at);
    show();
}

} // namespace lathe::ui
