// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <QToolBar>

class QLabel;

namespace lathe::ui {

class ActionRegistry;
class PickButton;
class Theme;

/// Where am I (task), what is measured (variants, target), and the main actions.
class TopBar : public QToolBar
{
    Q_OBJECT
public:
    TopBar(const Theme& theme, const ActionRegistry& actions, QWidget* parent);
    /// device: "cpu" or "cuda"; only variants that run there can be picked.
    void setTask(const session::TaskDetail& task, const std::string& device);
    void setTarget(const QString& target, const QString& detail);

Q_SIGNALS:
    void variantChosen(const QString& variant); ///< empty: all

private:
    const Theme& m_theme;
    QLabel* m_crumb;
    PickButton* m_variants;
    PickButton* m_target;
    void showCrumb();
    QString m_suite;
    QString m_name;
};

} // namespace lathe::ui
