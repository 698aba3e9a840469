// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/trajectory/trajectory_model.h>

#include <QStringList>

namespace lathe::ui {
namespace {

constexpr int kFoldedLetters = 140;

bool isTool(const agent::TrajectoryItem& item)
{
    return item.kind == "tool_call" || item.kind == "tool_result";
}

std::string_view firstWord(std::string_view title)
{
    return title.substr(0, title.find(' '));
}

struct Look
{
    QString glyph;
    Tone tone;
};

Look lookOf(const TrajectoryStep& step)
{
    const auto& item = step.item;
    if (item.kind == "thinking") {
        return {step.folded ? QStringLiteral("›") : QStringLiteral("⌄"), Tone::Muted};
    }
    if (item.kind == "steer") {
        return {QStringLiteral("↳"), Tone::Accent};
    }
    if (item.kind == "stopped") {
        return {QStringLiteral("■"), Tone::Muted};
    }
    if (item.kind == "divergence") {
        return {QStringLiteral("≠"), Tone::Warn};
    }
    if (!isTool(item)) {
        return {QStringLiteral("·"), Tone::Muted};
    }
    if (step.abandoned) {
        return {QStringLiteral("■"), Tone::Muted};
    }
    if (item.status == "failed") {
        return {QStringLiteral("✗"), Tone::Bad};
    }
    if (item.status == "running" || (item.kind == "tool_call" && !step.hasResult)) {
        return {QStringLiteral("◐"), Tone::Accent};
    }
    const std::string_view tool = firstWord(item.title);
    if (tool == "edit_file" || tool == "write_file") {
        return {QStringLiteral("✎"), Tone::Muted};
    }
    if (tool == "read_file" || tool == "list_files" || tool == "best_so_far") {
        return {QStringLiteral("▤"), Tone::Muted};
    }
    return {QStringLiteral("✓"), Tone::Good};
}

// A call of edit_file carries "- old" and "+ new" lines, one of write_file the text that was
// written.
QString diffOf(const TrajectoryStep& step)
{
    const std::string_view tool = firstWord(step.item.title);
    if (tool == "edit_file"
        && (step.item.text.rfind("- ", 0) == 0 || step.item.text.rfind("+ ", 0) == 0)) {
        return qs(step.item.text).trimmed();
    }
    if (tool != "write_file" || step.item.kind != "tool_call" || step.item.text.empty()) {
        return {};
    }
    QStringList lines;
    for (const QString& line : qs(step.item.text).trimmed().split(QLatin1Char('\n'))) {
        lines.append(QStringLiteral("+ ") + line);
    }
    return lines.join(QLatin1Char('\n'));
}

QString textOf(const TrajectoryStep& step)
{
    const QString all =
        qs(step.hasResult && !step.resultText.empty() ? step.resultText : step.item.text).trimmed();
    if (!step.folded) {
        return all;
    }
    if (step.item.kind == "thinking") {
        const QString beginning = all.section(QLatin1Char('\n'), 0, 1);
        return beginning.size() <= kFoldedLetters
                   ? beginning
                   : beginning.left(kFoldedLetters) + QStringLiteral("…");
    }
    return all.section(QLatin1Char('\n'), 0, 3);
}

QString metaOf(const TrajectoryStep& step)
{
    QStringList parts;
    if (step.item.kind == "thinking") {
        const auto lines = qs(step.item.text).trimmed().count(QLatin1Char('\n')) + 1;
        parts.append(lines == 1 ? QStringLiteral("1 line") : QStringLiteral("%1 lines").arg(lines));
    } else if (step.item.step > 0) {
        parts.append(QStringLiteral("step %1").arg(step.item.step));
    }
    if (step.item.seconds >= 0.05) {
        parts.append(QStringLiteral("%1 s").arg(step.item.seconds, 0, 'f', 1));
    }
    return parts.join(QStringLiteral(" · "));
}

QString titleOf(const agent::TrajectoryItem& item)
{
    if (item.kind == "thinking") {
        return QStringLiteral("thought");
    }
    if (item.kind == "assistant_text") {
        return QStringLiteral("says");
    }
    if (item.kind == "steer") {
        return QStringLiteral("you");
    }
    if (item.kind == "stopped") {
        return item.title.empty() || item.title == "stopped"
                   ? QStringLiteral("stopped")
                   : QStringLiteral("stopped: ") + qs(item.title);
    }
    const QString title = qs(item.title.empty() ? item.kind : item.title);
    const QString argument = title.section(QLatin1Char(' '), 1);
    QString tool = title.section(QLatin1Char(' '), 0, 0);
    if (tool == QLatin1String("edit_file") || tool == QLatin1String("write_file")) {
        return tool.section(QLatin1Char('_'), 0, 0) + QLatin1Char(' ')
               + argument.section(QLatin1Char('/'), -1);
    }
    tool.replace(QLatin1Char('_'), QLatin1Char(' ')); // an argument keeps its own: model_new.py
    return argument.isEmpty() ? tool : tool + QLatin1Char(' ') + argument;
}

} // namespace

void TrajectoryModel::setItems(const std::vector<agent::TrajectoryItem>& items)
{
    beginResetModel();
    m_steps.clear();
    for (const auto& item : items) {
        if (!merge(item)) {
            m_steps.push_back({.item = item});
        }
    }
    if (!m_steps.empty() && m_steps.back().item.kind == "stopped") {
        closeOpenCalls();
    }
    endResetModel();
}

// True when the item belongs to a row that is there.
bool TrajectoryModel::merge(const agent::TrajectoryItem& item)
{
    for (auto step = m_steps.rbegin(); step != m_steps.rend() && step->item.step == item.step;
         ++step) {
        const bool call = item.kind == "tool_result" && step->item.kind == "tool_call"
                          && !step->hasResult
                          && firstWord(step->item.title) == firstWord(item.title);
        const bool stream = step->item.partial && step->item.kind == item.kind;
        const bool again = item.seq > 0 && step->item.seq == item.seq && !step->item.partial
                           && step->item.kind == item.kind;
        if (call) {
            step->hasResult = !item.partial;
            step->resultText = item.text;
            step->item.status = item.status;
            step->item.seconds = item.seconds;
            step->item.headJson = item.headJson;
            if (!item.candidate.empty()) {
                step->item.candidate = item.candidate;
            }
            return true;
        }
        if (stream || again) {
            step->item = item;
            return true;
        }
    }
    return false;
}

void TrajectoryModel::add(const agent::TrajectoryItem& item)
{
    if (merge(item)) {
        int first = static_cast<int>(m_steps.size()) - 1;
        while (first > 0 && m_steps[static_cast<std::size_t>(first - 1)].item.step == item.step) {
            --first;
        }
        Q_EMIT dataChanged(index(first), index(static_cast<int>(m_steps.size()) - 1));
        return;
    }
    const int row = static_cast<int>(m_steps.size());
    beginInsertRows({}, row, row);
    m_steps.push_back({.item = item});
    endInsertRows();
    if (item.kind == "stopped") {
        closeOpenCalls();
        Q_EMIT dataChanged(index(0), index(row));
    }
}

// A run that ended leaves no call running.
void TrajectoryModel::closeOpenCalls()
{
    for (TrajectoryStep& step : m_steps) {
        step.abandoned = step.item.kind == "tool_call" && !step.hasResult;
    }
}

void TrajectoryModel::toggleFold(int row)
{
    auto& step = m_steps[static_cast<std::size_t>(row)];
    step.folded = !step.folded;
    Q_EMIT dataChanged(index(row), index(row));
}

std::vector<Tone> TrajectoryModel::stages() const
{
    std::vector<Tone> tones;
    for (const auto& step : m_steps) {
        if (!isTool(step.item)) {
            continue;
        }
        const std::string_view tool = firstWord(step.item.title);
        if (step.item.status == "failed") {
            tones.push_back(Tone::Bad);
        } else if (tool == "edit_file" || tool == "write_file") {
            tones.push_back(Tone::Accent);
        } else if (tool == "profile") {
            tones.push_back(Tone::Neutral);
        } else if (tool == "verify" || tool == "benchmark" || tool == "compile"
                   || tool == "submit") {
            tones.push_back(step.hasResult || step.item.kind == "tool_result" ? Tone::Good
                                                                              : Tone::Muted);
        } else {
            tones.push_back(Tone::Muted);
        }
    }
    return tones;
}

int TrajectoryModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_steps.size());
}

QVariant TrajectoryModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const TrajectoryStep& step = at(index.row());
    switch (role) {
    case Qt::DisplayRole:
    case TitleRole:
        return titleOf(step.item);
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1, %2, %3")
            .arg(titleOf(step.item), qs(step.item.status), textOf(step));
    case MetaRole:
        return metaOf(step);
    case TextRole:
        return diffOf(step).isEmpty() || step.item.status == "failed" ? textOf(step) : QString();
    case DiffRole:
        return diffOf(step);
    case GlyphRole:
        return lookOf(step).glyph;
    case ToneRole:
        return static_cast<int>(lookOf(step).tone);
    case CandidateRole:
        return qs(step.item.candidate);
    case FoldedRole:
        return step.folded;
    case KindRole:
        return qs(step.item.kind);
    default:
        return {};
    }
}

} // namespace lathe::ui
