// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/timeline_panel.h>
#include <lathe/ui/style/theme.h>
#include <lathe/ui/timeline/timeline_view.h>

#include <QCoreApplication>
#include <QLabel>
#include <QThreadPool>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

namespace lathe::ui {
namespace {

TimelineRow rowOf(const evaluation::TraceRecord& record, const QString& candidateTitle)
{
    auto trace = profile::parseChromeTrace(record.chromeJson);
    TimelineRow row;
    const bool candidate = record.arm == "candidate";
    row.title = candidate ? candidateTitle : armText(record.arm);
    row.accent = candidate                             ? TimelineAccent::Candidate
                 : record.arm.rfind("compile", 0) == 0 ? TimelineAccent::Compiled
                 : record.arm == "eager"               ? TimelineAccent::Reference
                                                       : TimelineAccent::Other;
    row.emphasised = candidate;
    if (!trace) {
        row.subtitle = qs(trace.error().message);
        row.trace = std::make_shared<const profile::Trace>();
        return row;
    }
    std::int64_t kernels = 0;
    std::int64_t operators = 0;
    int outermost = std::numeric_limits<int>::max(); // operators stand below their forward's span
    for (const auto& lane : trace->lanes) {
        if (std::ranges::find(lane.category, profile::SpanCategory::Operator)
            != lane.category.end()) {
            outermost = std::min(outermost, lane.depth);
        }
    }
    for (const auto& lane : trace->lanes) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
            kernels += lane.category[i] == profile::SpanCategory::Kernel ? 1 : 0;
            operators +=
                lane.category[i] == profile::SpanCategory::Operator && lane.depth == outermost ? 1
                                                                                               : 0;
        }
    }
    const auto calls = std::max(1, record.calls);
    const auto count = (kernels > 0 ? kernels : operators) / calls;
    row.subtitle = QStringLiteral("%1, %2 %3%4")
                       .arg(timeText(static_cast<double>(trace->spanNs) / 1e3 / calls))
                       .arg(count)
                       .arg(kernels > 0 ? QStringLiteral("kernel") : QStringLiteral("op"),
                            count == 1 ? QString() : QStringLiteral("s"));
    row.trace = std::make_shared<const profile::Trace>(std::move(*trace));
    return row;
}

int orderOf(const std::string& arm)
{
    return arm == "eager"                 ? 0
           : arm.rfind("compile", 0) == 0 ? 1
           : arm == "parent"              ? 2
           : arm == "candidate"           ? 3
                                          : 4;
}

} // namespace

TimelinePanel::TimelinePanel(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_view(new TimelineView(this))
    , m_empty(new QLabel(QStringLiteral("Run (F5) traces eager, compile and the candidate"), this))
{
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->addWidget(m_empty);
    rows->addWidget(m_view, 1);
    m_empty->setObjectName(QStringLiteral("sectionNote"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_view->hide();
    setFocusProxy(m_view);
    m_view->setAccessibleName(QStringLiteral("Timelines of reference and candidate"));
    applyColors();
    connect(&theme, &Theme::changed, this, &TimelinePanel::applyColors);
}

void TimelinePanel::applyColors()
{
    const Palette& p = m_theme.palette();
    m_view->setColors({.background = p.bg2,
                       .surface = p.bg1,
                       .line = p.line,
                       .text = p.text,
                       .textMuted = p.text2,
                       .textFaint = p.text3,
                       .accent = p.accent,
                       .selection = p.text,
                       .match = p.warn,
                       .reference = p.reference,
                       .compiled = p.compiled,
                       .candidate = p.candidate,
                       .other = p.text3});
}

void TimelinePanel::setResult(const EvaluationPtr& result, const QString& candidateTitle)
{
    const std::string key =
        result ? result->id.text() + "/" + std::to_string(result->traces.size()) : std::string();
    if (key == m_shown || (result && result->traces.empty() && !result->finished)) {
        return; // the old rows stay until there is something to put in their place
    }
    m_shown = key;
    const auto generation = ++m_generation;
    if (!result || result->traces.empty()) {
        m_note.clear();
        m_view->setRows({});
        m_view->hide();
        m_empty->setText(result
                             ? QStringLiteral("No timeline: only correct candidates are traced, "
                                              "and slow ones in the full tier only")
                             : QStringLiteral("Run (F5) traces eager, compile and the candidate"));
        m_empty->show();
        return;
    }
    // One variant: times on one axis only mean something for the same sizes.
    std::string variant = result->traces.front().variant;
    for (const auto& record : result->traces) {
        variant = record.arm == "candidate" ? record.variant : variant;
    }
    m_note =
        QStringLiteral("aligned at first launch · %1 · separate evidence pass").arg(qs(variant));
    QThreadPool::globalInstance()->start(
        [panel = QPointer<TimelinePanel>(this), result, candidateTitle, generation, variant] {
            std::vector<const evaluation::TraceRecord*> records;
            for (const auto& record : result->traces) {
                if (record.variant == variant) {
                    records.push_back(&record);
                }
            }
            std::stable_sort(records.begin(), records.end(), [](const auto* a, const auto* b) {
                return orderOf(a->arm) < orderOf(b->arm);
            });
            std::vector<TimelineRow> rows;
            for (const auto* record : records) {
                rows.push_back(rowOf(*record, candidateTitle));
            }
            QMetaObject::invokeMethod(
                qApp,
                [panel, generation, rows = std::move(rows)]() mutable {
                    if (panel && panel->m_generation == generation) {
                        panel->m_empty->hide();
                        panel->m_view->show();
                        panel->m_view->setRows(std::move(rows));
                    }
                },
                Qt::QueuedConnection);
        });
}

} // namespace lathe::ui
