// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>
#include <lathe/ui/adapters/session_adapter.h>

#include <QDialog>

class QPlainTextEdit;
class QPushButton;

namespace lathe::ui {

class Theme;

/// The checklist before a candidate is accepted, or the record of one that is, with the way back.
class AcceptDialog : public QDialog
{
    Q_OBJECT
public:
    AcceptDialog(const Theme& theme,
                 const session::CandidateRow& candidate,
                 const EvaluationPtr& result,
                 const QString& signer,
                 QWidget* parent);
    [[nodiscard]] QString note() const;

Q_SIGNALS:
    void acceptRequested(const QString& note);
    void withdrawRequested(const QString& note);

private:
    QPlainTextEdit* m_note;
};

} // namespace lathe::ui
