// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/result_strip.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace lathe::ui {
namespace {

// What a screen reader hears before each answer.
const QString kRight = QStringLiteral("Verdict");
const QString kFaster = QStringLiteral("Speed-up");
const QString kAgainst = QStringLiteral("Speed-up over the best baseline");
const QString kWhy = QStringLiteral("Why");

QLabel* richLabel(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::RichText);
    label->setTextInteractionFlags(Qt::LinksAccessibleByMouse);
    return label;
}

QLabel* question(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setObjectName(QStringLiteral("small"));
    return label;
}

QString span(const QString& text, const QColor& colour, int pixels, bool bold)
{
    return QStringLiteral("<span style=\"color:%1;font-size:%2px;font-weight:%3\">%4</span>")
        .arg(colour.name())
        .arg(pixels)
        .arg(bold ? 600 : 400)
        .arg(text.toHtmlEscaped());
}

QString number(const QString& text, const QColor& colour, int pixels)
{
    return QStringLiteral("<a href=\"card\" style=\"text-decoration:none;color:%1\">%2</a>")
        .arg(colour.name(), span(text, colour, pixels, true));
}

} // namespace

ResultStrip::ResultStrip(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_verdict(richLabel(this))
    , m_verdictDetail(new ElidedLabel(theme, 12, Tone::Neutral, this))
    , m_faster(richLabel(this))
    , m_fasterDetail(richLabel(this))
    , m_curve(new VariantCurve(theme, this))
    , m_why(richLabel(this))
    , m_stage(question(QString(), this))
{
    setObjectName(QStringLiteral("surface"));
    setAttribute(Qt::WA_StyledBackground);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(QStringLiteral("Result of the open candidate"));
    setMinimumWidth(300);
    auto* grid = m_grid = new QGridLayout(this);
    grid->setContentsMargins(16, 8, 16, 9);
    grid->setHorizontalSpacing(28);
    grid->setVerticalSpacing(1);
    auto* right = new QHBoxLayout;
    right->addWidget(question(QStringLiteral("right?"), this));
    right->addStretch(1);
    grid->addLayout(right, 0, 0);
    auto* faster = new QHBoxLayout;
    faster->addWidget(question(QStringLiteral("faster?"), this));
    faster->addStretch(1);
    faster->addWidget(m_stage);
    grid->addLayout(faster, 0, 1, 1, 2);
    grid->addWidget(m_verdict, 1, 0);
    grid->addWidget(m_faster, 1, 1);
    grid->addWidget(m_verdictDetail, 2, 0);
    grid->addWidget(m_fasterDetail, 2, 1);
    grid->addWidget(m_curve, 1, 2, 2, 1, Qt::AlignRight | Qt::AlignVCenter);
    grid->setColumnStretch(0, 4);
    grid->setColumnStretch(1, 5);
    grid->setRowMinimumHeight(1, 25);
    grid->setRowMinimumHeight(2, 21);
    auto* line = new Hairline(Qt::Horizontal, this);
    grid->addItem(new QSpacerItem(1, 7), 3, 0);
    grid->addWidget(line, 4, 0, 1, 3);
    grid->addItem(new QSpacerItem(1, 6), 5, 0);
    m_why->setMinimumWidth(1);
    m_faster->setMinimumWidth(1);
    m_fasterDetail->setMinimumWidth(1);
    m_verdict->setMinimumWidth(1);
    grid->addWidget(m_why, 6, 0, 1, 3);
    for (QLabel* label : {m_verdict, m_faster, m_fasterDetail, m_why}) {
        connect(label, &QLabel::linkActivated, this, &ResultStrip::numberClicked);
    }
    connect(&theme, &Theme::changed, this, &ResultStrip::render);
    showNothing(QString());
}

void ResultStrip::show(const StripContent& content)
{
    m_content = content;
    render();
}

void ResultStrip::showNothing(const QString& hint)
{
    m_content = {};
    m_hint = hint;
    render();
}

// A reason may use the whole line when there is no number to show beside it.
void ResultStrip::placeDetail(bool alone)
{
    m_fasterDetail->setVisible(!alone);
    m_curve->setVisible(!alone);
    m_grid->removeWidget(m_verdictDetail);
    m_grid->addWidget(m_verdictDetail, 2, 0, 1, alone ? 3 : 1);
}

void ResultStrip::render()
{
    const Palette& p = m_theme.palette();
    const StripContent& c = m_content;
    const QString gap = QStringLiteral("&nbsp;&nbsp;");
    if (!c.known) {
        placeDetail(true);
        setSpokenText(*m_verdict, kRight, span(QStringLiteral("○ not run"), p.text3, 15, true));
        m_verdictDetail->setText(m_hint);
        setSpokenText(*m_faster, kFaster, span(QStringLiteral("–"), p.text3, 15, true));
        setSpokenText(*m_fasterDetail, kAgainst, QString());
        setSpokenText(*m_why, kWhy, span(QStringLiteral("why?"), p.text3, 13, false));
        m_curve->setPoints({});
        m_stage->setText(QString());
        return;
    }
    setSpokenText(*m_verdict,
                  kRight,
                  number(c.glyph + QLatin1Char(' ') + c.verdict, m_theme.colour(c.verdictTone), 15)
                      + gap + span(c.verdictNote, p.text2, 12, false));
    m_verdictDetail->setText(c.verdictDetail);
    m_stage->setText(c.running ? c.stage : QString());
    const auto ratio = [&](const RatioAnswer& answer, int pixels) {
        return number((c.provisional ? QStringLiteral("~") : QString()) + ratioText(answer.ratio),
                      m_theme.colour(answer.tone),
                      pixels)
               + gap
               + span(intervalText(answer.low, answer.high) + QLatin1Char(' ') + answer.than,
                      p.text2,
                      12,
                      false);
    };
    QString first;
    QString second;
    if (c.vsParent) {
        first = ratio(*c.vsParent, 15);
        second = c.vsBest ? ratio(*c.vsBest, 12) : QString();
    } else if (c.vsBest) {
        first = ratio(*c.vsBest, 15);
    } else {
        first = span(QStringLiteral("–"), p.text3, 15, true) + gap
                + span(c.slownessNote, p.text2, 12, false);
    }
    if (c.vsPin) {
        second += (second.isEmpty() ? QString() : span(QStringLiteral(" · "), p.text2, 12, false))
                  + ratio(*c.vsPin, 12);
    }
    if (!c.worstVariant.isEmpty()) {
        second += (second.isEmpty() ? QString() : span(QStringLiteral(" · "), p.text2, 12, false))
                  + span(c.worstVariant, p.text2, 12, false);
    }
    setSpokenText(*m_faster, kFaster, first);
    setSpokenText(*m_fasterDetail, kAgainst, second);
    placeDetail(second.isEmpty() && c.curve.empty());
    m_curve->setPoints(c.curve);
    QString why = span(QStringLiteral("why?"), p.text3, 13, false);
    for (const WhyFact& fact : c.why) {
        why += QStringLiteral("&nbsp;&nbsp;&nbsp;&nbsp;&nbsp;&nbsp;")
               + number(fact.value, m_theme.colour(fact.tone), 13) + gap
               + span(fact.what, p.text2, 13, false);
    }
    setSpokenText(*m_why, kWhy, why);
}

} // namespace lathe::ui
