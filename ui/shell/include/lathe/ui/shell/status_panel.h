// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <QStatusBar>

class QLabel;
class QToolButton;

namespace lathe::ui {

class Meter;
class Theme;

/// The line at the bottom: worker and sandbox, lock, the running job with cancel, the model.
class StatusPanel : public QStatusBar
{
    Q_OBJECT
public:
    explicit StatusPanel(const Theme& theme, QWidget* parent = nullptr);
    void setWorker(const session::WorkerStatus& status);
    /// fraction < 0: unknown. An empty text hides the job.
    void setJob(const QString& text, double fraction);
    void setModel(const QString& provider);
    void showNote(const QString& text, bool problem);
    [[nodiscard]] QString noteText() const;

Q_SIGNALS:
    void cancelClicked();

private:
    const Theme& m_theme;
    QLabel* m_worker;
    QLabel* m_sandbox;
    QLabel* m_lock;
    QLabel* m_note;
    QLabel* m_job;
    Meter* m_meter;
    QToolButton* m_cancel;
    QLabel* m_model;
    session::WorkerStatus m_status;
};

} // namespace lathe::ui
