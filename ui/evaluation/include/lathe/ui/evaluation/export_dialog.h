// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

class QLineEdit;
class QRadioButton;

namespace lathe::ui {

/// Which form the hand-off has and where it goes.
class ExportDialog : public QDialog
{
    Q_OBJECT
public:
    ExportDialog(const QString& candidate, const QString& folder, QWidget* parent);
    [[nodiscard]] QString format() const;
    [[nodiscard]] QString folder() const;

Q_SIGNALS:
    void exportRequested(const QString& format, const QString& folder);

private:
    QRadioButton* m_kernelbench;
    QRadioButton* m_cpp;
    QLineEdit* m_folder;
};

} // namespace lathe::ui
