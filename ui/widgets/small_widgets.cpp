// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/widgets/painting.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QAction>
#include <QHBoxLayout>
#include <QPainter>
#include <QTextDocumentFragment>

#include <algorithm>

namespace lathe::ui {

void setSpokenText(QLabel& label, const QString& topic, const QString& text)
{
    label.setText(text);
    const QString plain = label.textFormat() == Qt::PlainText
                              ? text
                              : QTextDocumentFragment::fromHtml(text).toPlainText();
    label.setAccessibleName(topic + QStringLiteral(": ") + plain.simplified());
}

ActionButton::ActionButton(const Theme& theme, QAction* action, bool primary, QWidget* parent)
    : QAbstractButton(parent)
    , m_theme(theme)
    , m_action(action)
    , m_primary(primary)
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setFocusPolicy(Qt::TabFocus);
    connect(action, &QAction::changed, this, &ActionButton::follow);
    connect(action, &QAction::enabledChanged, this, &ActionButton::follow);
    connect(this, &QAbstractButton::clicked, action, [action] { action->trigger(); });
    follow();
}

void ActionButton::follow()
{
    setEnabled(m_action->isEnabled());
    setText(m_action->text());
    setAccessibleName(m_action->text());
    setToolTip(m_action->toolTip());
    updateGeometry();
    update();
}

QSize ActionButton::sizeHint() const
{
    const int text =
        QFontMetrics(m_theme.uiFont(13, QFont::Medium)).horizontalAdvance(this->text());
    const QString keys = m_action->property("keys").toString();
    const int small =
        keys.isEmpty() ? 0 : 7 + QFontMetrics(m_theme.codeFont(11)).horizontalAdvance(keys);
    return {20 + text + small, 26};
}

void ActionButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = m_theme.palette();
    QColor back = m_primary ? p.accent : p.bg3;
    QColor fore = m_primary ? p.onAccent : p.text;
    if (!isEnabled()) {
        back = Qt::transparent;
        fore = p.text3;
    } else if (isDown() || underMouse()) {
        back = m_primary ? back.lighter(110) : p.line;
    }
    painter.setPen(hasFocus() ? QPen(p.accent, 1) : QPen(Qt::NoPen));
    painter.setBrush(back);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    QRect area = rect().adjusted(10, 0, -6, 0);
    const int used =
        drawText(painter, area, Qt::AlignLeft, text(), m_theme.uiFont(13, QFont::Medium), fore);
    const QString keys = m_action->property("keys").toString();
    if (!keys.isEmpty()) {
        area.setLeft(area.left() + used + 7);
        fore.setAlphaF(0.75F);
        drawText(painter, area, Qt::AlignLeft, keys, m_theme.codeFont(11), fore);
    }
}

void ActionButton::enterEvent(QEnterEvent*)
{
    update();
}
void ActionButton::leaveEvent(QEvent*)
{
    update();
}

PickButton::PickButton(const QString& accessibleName, QWidget* parent)
    : QToolButton(parent)
{
    setObjectName(QStringLiteral("pick"));
    setAccessibleName(accessibleName);
    setPopupMode(QToolButton::InstantPopup);
    setFixedHeight(26);
}

void PickButton::setChoice(const QString& text)
{
    setText(text + QStringLiteral(" ▾"));
}

Meter::Meter(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setFixedHeight(4);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void Meter::setFraction(double fraction)
{
    m_fraction = std::clamp(fraction, -1.0, 1.0);
    update();
}

void Meter::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_theme.palette().bg3);
    painter.drawRoundedRect(rect(), 2, 2);
    if (m_fraction > 0) {
        painter.setBrush(m_theme.palette().accent);
        painter.drawRoundedRect(QRectF(0, 0, std::max(4.0, width() * m_fraction), height()), 2, 2);
    }
}

StageBar::StageBar(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setFixedHeight(15);
}

void StageBar::setPieces(std::vector<Tone> pieces)
{
    m_pieces = std::move(pieces);
    update();
}

void StageBar::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    const int count = std::max(14, static_cast<int>(m_pieces.size()));
    const double area = width() - 24;
    const double piece = (area - 2.0 * (count - 1)) / count;
    for (int i = 0; i < count; ++i) {
        QColor colour = m_theme.palette().bg3;
        if (i < static_cast<int>(m_pieces.size())) {
            const Tone tone = m_pieces[static_cast<std::size_t>(i)];
            colour = tone == Tone::Neutral ? m_theme.palette().compiled
                     : tone == Tone::Muted ? m_theme.palette().reference
                                           : m_theme.colour(tone);
        }
        painter.setBrush(colour);
        painter.drawRoundedRect(QRectF(12 + i * (piece + 2), 2, std::max(1.0, piece), 5), 2, 2);
    }
}

SectionHeader::SectionHeader(const QString& title, QWidget* parent)
    : QWidget(parent)
    , m_row(new QHBoxLayout(this))
    , m_note(new QLabel(this))
{
    setFixedHeight(30);
    m_row->setContentsMargins(12, 0, 8, 0);
    m_row->setSpacing(10);
    auto* label = new QLabel(title, this);
    label->setObjectName(QStringLiteral("section"));
    m_note->setObjectName(QStringLiteral("sectionNote"));
    m_row->addWidget(label);
    m_row->addWidget(m_note);
    m_row->addStretch(1);
}

void SectionHeader::setNote(const QString& note)
{
    m_note->setText(note);
}

Hairline::Hairline(Qt::Orientation orientation, QWidget* parent)
    : QFrame(parent)
{
    setObjectName(QStringLiteral("hairline"));
    if (orientation == Qt::Horizontal) {
        setFixedHeight(1);
    } else {
        setFixedWidth(1);
    }
}

ElidedLabel::ElidedLabel(const Theme& theme, int pixels, Tone tone, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_pixels(pixels)
    , m_tone(tone)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text)
{
    m_text = text;
    setToolTip(text);
    setAccessibleName(text);
    updateGeometry();
    update();
}

QSize ElidedLabel::sizeHint() const
{
    const QFontMetrics metrics(m_theme.uiFont(m_pixels));
    return {metrics.horizontalAdvance(m_text) + 2, metrics.height() + 1};
}

QSize ElidedLabel::minimumSizeHint() const
{
    return {40, sizeHint().height()};
}

void ElidedLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const QColor colour =
        m_tone == Tone::Neutral ? m_theme.palette().text2 : m_theme.colour(m_tone);
    drawText(painter, rect(), Qt::AlignLeft, m_text, m_theme.uiFont(m_pixels), colour);
}

} // namespace lathe::ui
