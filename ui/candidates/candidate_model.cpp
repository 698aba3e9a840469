// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_model.h>

#include <algorithm>
#include <functional>

namespace lathe::ui {

namespace {

QString authorText(session::Author author)
{
    switch (author) {
    case session::Author::Human:
        return QStringLiteral("a person");
    case session::Author::Agent:
        return QStringLiteral("the agent");
    case session::Author::Import:
        break;
    }
    return QStringLiteral("import");
}

QString acceptText(const session::CandidateRow& row)
{
    if (!row.accepted || row.accepted->withdrawn) {
        return {};
    }
    return QStringLiteral("\naccepted%1 by %2%3")
        .arg(row.accepted->provisional ? QStringLiteral(" provisionally") : QString(),
             qs(row.accepted->who),
             row.accepted->signatureValid ? QString() : QStringLiteral(", signature NOT valid"));
}

} // namespace

struct CandidateModel::Node
{
    session::CandidateRow row;
    Node* parent = nullptr;
    std::vector<std::unique_ptr<Node>> children;
};

CandidateModel::CandidateModel(QObject* parent)
    : QAbstractItemModel(parent)
    , m_root(std::make_unique<Node>())
{}

CandidateModel::~CandidateModel() = default;

CandidateModel::Node* CandidateModel::find(Node* below, const std::string& id) const
{
    for (const auto& child : below->children) {
        if (child->row.id.text() == id) {
            return child.get();
        }
        if (Node* deeper = find(child.get(), id)) {
            return deeper;
        }
    }
    return nullptr;
}

CandidateModel::Node* CandidateModel::nodeOf(const QModelIndex& index) const
{
    return index.isValid() ? static_cast<Node*>(index.internalPointer()) : m_root.get();
}

QModelIndex CandidateModel::indexOf(const Node* node) const
{
    if (node == nullptr || node == m_root.get()) {
        return {};
    }
    const auto& siblings = node->parent->children;
    const auto found = std::find_if(
        siblings.begin(), siblings.end(), [&](const auto& s) { return s.get() == node; });
    return createIndex(static_cast<int>(found - siblings.begin()), 0, node);
}

QModelIndex CandidateModel::indexOf(const CandidateId& candidate) const
{
    return indexOf(find(m_root.get(), candidate.text()));
}

void CandidateModel::setCandidates(const std::vector<session::CandidateRow>& rows)
{
    std::size_t known = 0;
    for (const auto& row : rows) {
        const Node* node = find(m_root.get(), row.id.text());
        known += node != nullptr && node->row.parent == row.parent ? 1 : 0;
    }
    if (known != static_cast<std::size_t>(count())) { // something went away or moved: another task
        beginResetModel();
        m_root = std::make_unique<Node>();
        endResetModel();
    }
    for (const auto& row : rows) {
        if (Node* node = find(m_root.get(), row.id.text())) {
            node->row = row;
            const QModelIndex changed = indexOf(node);
            Q_EMIT dataChanged(changed, changed);
            continue;
        }
        Node* above = row.parent ? find(m_root.get(), row.parent->text()) : nullptr;
        if (above == nullptr) {
            above = m_root.get();
        }
        const int at = static_cast<int>(above->children.size());
        beginInsertRows(indexOf(above), at, at);
        auto node = std::make_unique<Node>();
        node->row = row;
        node->parent = above;
        above->children.push_back(std::move(node));
        endInsertRows();
    }
}

void CandidateModel::setUnsaved(const CandidateId& parent)
{
    if (m_unsaved == parent) {
        return;
    }
    const CandidateId before = std::exchange(m_unsaved, parent);
    for (const CandidateId& id : {before, parent}) {
        if (const QModelIndex changed = indexOf(id); changed.isValid()) {
            Q_EMIT dataChanged(changed, changed);
        }
    }
}

void CandidateModel::setOpen(const CandidateId& candidate)
{
    const CandidateId before = std::exchange(m_open, candidate);
    for (const CandidateId& id : {before, candidate}) {
        if (const QModelIndex changed = indexOf(id); changed.isValid()) {
            Q_EMIT dataChanged(changed, changed);
        }
    }
}

const session::CandidateRow* CandidateModel::at(const QModelIndex& index) const
{
    return index.isValid() ? &nodeOf(index)->row : nullptr;
}

int CandidateModel::count() const
{
    const std::function<int(const Node&)> below = [&](const Node& node) {
        int sum = 0;
        for (const auto& child : node.children) {
            sum += 1 + below(*child);
        }
        return sum;
    };
    return below(*m_root);
}

int CandidateModel::branches() const
{
    const std::function<int(const Node&)> leaves = [&](const Node& node) {
        int sum = 0;
        for (const auto& child : node.children) {
            sum += child->children.empty() ? 1 : leaves(*child);
        }
        return sum;
    };
    return leaves(*m_root);
}

RowLook CandidateModel::look(const session::CandidateRow& row)
{
    if (row.running) {
        return {QStringLiteral("◐"), Tone::Accent, QStringLiteral("running"), Tone::Muted};
    }
    if (!row.verdict) {
        return {QStringLiteral("○"), Tone::Muted, QStringLiteral("not run"), Tone::Muted};
    }
    if (*row.verdict != protocol::Verdict::Correct) {
        return {QStringLiteral("✗"),
                Tone::Bad,
                QString::fromLatin1(protocol::toString(*row.verdict))
                    .replace(QLatin1Char('_'), QLatin1Char(' ')),
                Tone::Bad};
    }
    if (!row.best) {
        return {QStringLiteral("✓"), Tone::Good, QStringLiteral("correct"), Tone::Muted};
    }
    const bool provisional = row.tier == protocol::Tier::Quick;
    const bool accepted = row.accepted && !row.accepted->withdrawn;
    return {!accepted                   ? QStringLiteral("✓")
            : row.accepted->provisional ? QStringLiteral("☆")
                                        : QStringLiteral("★"),
            Tone::Good,
            (provisional ? QStringLiteral("~") : QString()) + ratioText(row.best->ratio),
            row.best->verdict == "faster" ? Tone::Good : Tone::Neutral};
}

QModelIndex CandidateModel::index(int row, int column, const QModelIndex& parent) const
{
    const Node* above = nodeOf(parent);
    if (column != 0 || row < 0 || row >= static_cast<int>(above->children.size())) {
        return {};
    }
    return createIndex(row, column, above->children[static_cast<std::size_t>(row)].get());
}

QModelIndex CandidateModel::parent(const QModelIndex& index) const
{
    return index.isValid() ? indexOf(nodeOf(index)->parent) : QModelIndex();
}

int CandidateModel::rowCount(const QModelIndex& parent) const
{
    return parent.column() > 0 ? 0 : static_cast<int>(nodeOf(parent)->children.size());
}

int CandidateModel::columnCount(const QModelIndex&) const
{
    return 1;
}

QVariant CandidateModel::data(const QModelIndex& index, int role) const
{
    const session::CandidateRow* row = at(index);
    if (row == nullptr) {
        return {};
    }
    const RowLook looks = look(*row);
    const QString label = row->label.empty() ? QStringLiteral("untitled") : qs(row->label);
    const bool unsaved = !m_unsaved.empty() && row->id == m_unsaved;
    const QString name = QStringLiteral("%1 %2%3")
                             .arg(row->number)
                             .arg(label, unsaved ? QStringLiteral(", edited") : QString());
    switch (role) {
    case Qt::DisplayRole:
        return name;
    case Qt::ToolTipRole:
        return QStringLiteral("%1 · by %2 · %3%4%5")
            .arg(name,
                 authorText(row->author),
                 clockText(row->createdAt),
                 acceptText(*row)
                     + (row->reason.empty() ? QString() : QStringLiteral("\n") + qs(row->reason)),
                 row->vsParent ? QStringLiteral("\n%1 %2 than its parent")
                                     .arg(ratioText(row->vsParent->ratio),
                                          intervalText(row->vsParent->low, row->vsParent->high))
                               : QString());
    case Qt::AccessibleTextRole:
        return QStringLiteral("candidate %1, %2").arg(name, looks.right);
    case GlyphRole:
        return unsaved ? QStringLiteral("✎") : looks.glyph;
    case GlyphToneRole:
        return static_cast<int>(unsaved ? Tone::Muted : looks.glyphTone);
    case RightRole:
        return looks.right + (row->pinned ? QStringLiteral(" ⚲") : QString());
    case RightToneRole:
        return static_cast<int>(looks.rightTone);
    case KeyRole:
        return qs(row->id.text());
    case AuthorRole:
        return row->author == session::Author::Agent    ? QStringLiteral("agent")
               : row->author == session::Author::Import ? QStringLiteral("import")
                                                        : QStringLiteral("you");
    case BoldRole:
        return row->id == m_open;
    case ItalicRole:
        return unsaved;
    default:
        return {};
    }
}

} // namespace lathe::ui
