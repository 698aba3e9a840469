// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/accept_dialog.h>
#include <lathe/ui/evaluation/checklist.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace lathe::ui {

AcceptDialog::AcceptDialog(const Theme& theme,
                           const session::CandidateRow& candidate,
                           const EvaluationPtr& result,
                           const QString& signer,
                           QWidget* parent)
    : QDialog(parent)
    , m_note(new QPlainTextEdit(this))
{
    const bool accepted = candidate.accepted && !candidate.accepted->withdrawn;
    setWindowTitle(accepted ? QStringLiteral("Accepted candidate")
                            : QStringLiteral("Accept candidate"));
    setMinimumWidth(520);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(18, 16, 18, 14);
    rows->setSpacing(10);
    auto* title =
        new QLabel(QStringLiteral("%1 %2").arg(candidate.number).arg(qs(candidate.label)), this);
    title->setFont(theme.uiFont(15, QFont::DemiBold));
    rows->addWidget(title);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(6);
    grid->setColumnStretch(2, 1);
    // A record says itself what it is of; before there is one, the result's tier decides.
    const bool provisional =
        accepted ? candidate.accepted->provisional : result && result->provisional();
    bool canAccept = false;
    int row = 0;
    for (const CheckRow& check :
         result ? acceptChecklist(*result, canAccept) : std::vector<CheckRow>()) {
        auto* glyph = new QLabel(check.glyph, this);
        glyph->setStyleSheet(QStringLiteral("color: %1").arg(theme.colour(check.tone).name()));
        auto* detail = new QLabel(check.detail, this);
        detail->setObjectName(QStringLiteral("detail"));
        detail->setWordWrap(true);
        grid->addWidget(glyph, row, 0, Qt::AlignTop);
        grid->addWidget(new QLabel(check.what, this), row, 1, Qt::AlignTop);
        grid->addWidget(detail, row, 2);
        ++row;
    }
    rows->addLayout(grid);
    rows->addWidget(new Hairline(Qt::Horizontal, this));
    auto* who = new QLabel(this);
    who->setObjectName(QStringLiteral("detail"));
    who->setWordWrap(true);
    if (accepted) {
        const auto& record = *candidate.accepted;
        who->setText(QStringLiteral("Accepted%1 by %2 on %3. %4\n%5")
                         .arg(provisional ? QStringLiteral(" provisionally") : QString(),
                              qs(record.who),
                              clockText(record.when),
                              record.signatureValid
                                  ? QStringLiteral("The signature is valid.")
                                  : QStringLiteral("The signature does NOT fit the record."),
                              qs(record.note)));
    } else {
        who->setText(
            QStringLiteral("%1Signed by %2 with this installation's key: it proves that this "
                           "installation measured this, nothing more. It can be withdrawn.")
                .arg(provisional ? QStringLiteral("Provisional, %1. Shift+F5 runs it. ")
                                       .arg(qs(result->provisionalBecause()))
                                 : QString(),
                     signer));
    }
    rows->addWidget(who);
    m_note->setObjectName(QStringLiteral("field"));
    m_note->setAccessibleName(QStringLiteral("Note"));
    m_note->setPlaceholderText(accepted
                                   ? QStringLiteral("Why it is withdrawn")
                                   : QStringLiteral("Note: what was looked at, where it is going"));
    m_note->setTabChangesFocus(true);
    m_note->setFixedHeight(72);
    rows->addWidget(m_note);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    auto* act = buttons->addButton(accepted      ? QStringLiteral("Withdraw")
                                   : provisional ? QStringLiteral("Accept provisionally")
                                                 : QStringLiteral("Accept"),
                                   QDialogButtonBox::AcceptRole);
    act->setDefault(true);
    act->setEnabled(accepted || canAccept);
    rows->addWidget(buttons);
    act->setShortcut(QKeySequence(QStringLiteral("Ctrl+Return")));
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this, accepted] {
        if (accepted) {
            Q_EMIT withdrawRequested(note());
        } else {
            Q_EMIT acceptRequested(note());
        }
        accept();
    });
    m_note->setFocus();
}

QString AcceptDialog::note() const
{
    return m_note->toPlainText().trimmed();
}

} // namespace lathe::ui
