// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/style/theme.h>

#include <QAbstractButton>
#include <QFrame>
#include <QLabel>
#include <QToolButton>

#include <vector>

class QAction;
class QHBoxLayout;

namespace lathe::ui {

/// Shows `text` (rich text or not) and lets a screen reader hear "topic: text", without the markup.
void setSpokenText(QLabel& label, const QString& topic, const QString& text);

/// A button that shows its action's text and, smaller, the shortcut; follows the action's state.
class ActionButton : public QAbstractButton
{
    Q_OBJECT
public:
    ActionButton(const Theme& theme, QAction* action, bool primary, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void follow();
    const Theme& m_theme;
    QAction* m_action;
    bool m_primary;
};

/// A field that opens a menu: "bf16, all 4 variants ▾".
class PickButton : public QToolButton
{
    Q_OBJECT
public:
    explicit PickButton(const QString& accessibleName, QWidget* parent = nullptr);
    void setChoice(const QString& text);
};

/// A thin bar of how much of a budget is used.
class Meter : public QWidget
{
    Q_OBJECT
public:
    explicit Meter(const Theme& theme, QWidget* parent = nullptr);
    void setFraction(double fraction); ///< 0..1; below 0: unknown, drawn empty
    [[nodiscard]] QSize sizeHint() const override { return {120, 4}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    double m_fraction = 0;
};

/// One coloured piece per step.
class StageBar : public QWidget
{
    Q_OBJECT
public:
    explicit StageBar(const Theme& theme, QWidget* parent = nullptr);
    void setPieces(std::vector<Tone> pieces);
    [[nodiscard]] QSize sizeHint() const override { return {200, 15}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    std::vector<Tone> m_pieces;
};

/// "Tasks  starter, 8"
class SectionHeader : public QWidget
{
    Q_OBJECT
public:
    explicit SectionHeader(const QString& title, QWidget* parent = nullptr);
    void setNote(const QString& note);
    [[nodiscard]] QHBoxLayout* row() const { return m_row; }

private:
    QHBoxLayout* m_row;
    QLabel* m_note;
};

/// A one pixel line in the theme's line colour.
class Hairline : public QFrame
{
    Q_OBJECT
public:
    explicit Hairline(Qt::Orientation orientation = Qt::Horizontal, QWidget* parent = nullptr);
};

/// One line of text, cut with an ellipsis where there is no room; the whole text is the tool tip.
class ElidedLabel : public QWidget
{
    Q_OBJECT
public:
    ElidedLabel(const Theme& theme, int pixels, Tone tone, QWidget* parent = nullptr);
    void setText(const QString& text);
    [[nodiscard]] const QString& text() const { return m_text; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    int m_pixels;
    Tone m_tone;
    QString m_text;
};

} // namespace lathe::ui
