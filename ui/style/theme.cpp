// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/style/font_features.h>
#include <lathe/ui/style/theme.h>

#include <QApplication>
#include <QFontDatabase>
#include <QPalette>
#include <QStyleFactory>

namespace lathe::ui {
namespace {

// Colour names in the sheet are replaced by the palette's values, so the sheet reads like the
// design.
const char* const kStyleSheet = R"(
QMainWindow, QDialog { background: @bg1; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; }
QSplitter::handle { background: @line; }
QToolTip { background: @bg1; color: @text; border: 1px solid @line; padding: 4px 7px; }
QToolBar#topBar { background: @bg1; border: 0; border-bottom: 1px solid @line; spacing: 8px; padding: 0 12px 0 6px; min-height: 40px; max-height: 40px; }
QStatusBar { background: @bg1; border-top: 1px solid @line; min-height: 24px; max-height: 24px; }
QStatusBar::item { border: 0; }
QStatusBar QLabel { color: @text2; font-size: 12px; }
QWidget#dockPane { background: @bg1; }
QWidget#surface { background: @bg2; }
QLabel#section { color: @text2; font-size: 12px; font-weight: 600; }
QLabel#sectionNote { color: @text3; font-size: 12px; }
QLabel#small { color: @text3; font-size: 11px; }
QLabel#detail { color: @text2; font-size: 12px; }
QFrame#hairline { background: @line; border: 0; }
QMenu { background: @bg1; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 26px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: @sel; }
QMenu::item:disabled { color: @text3; }
QMenu::separator { height: 1px; background: @line; margin: 4px 6px; }
QToolButton { background: transparent; border: 0; border-radius: 5px; padding: 3px 8px; }
QToolButton:hover { background: @bg3; }
QToolButton::menu-indicator { image: none; }
QToolButton#pick { background: @bg2; border: 1px solid @line; padding: 3px 9px; }
QToolButton#pick:hover { border-color: @text3; }
QToolButton#quiet { color: @text2; padding: 1px 6px; }
QPushButton { background: @bg3; border: 0; border-radius: 5px; padding: 5px 12px; font-weight: 500; }
QPushButton:hover { background: @line; }
QPushButton:default { background: @accent; color: @onAccent; }
QPushButton:disabled { background: transparent; color: @text3; }
QPushButton:focus { outline: none; border: 1px solid @accent; }
QPushButton#search { background: @bg2; color: @text3; border: 1px solid @line; padding: 3px 10px; text-align: left; font-weight: 400; }
QLineEdit, QPlainTextEdit#field, QComboBox { background: @bg2; border: 1px solid @line; border-radius: 5px; padding: 4px 8px; selection-background-color: @sel; selection-color: @text; }
QLineEdit:focus, QPlainTextEdit#field:focus { border-color: @accent; }
QPlainTextEdit { background: @bg2; border: 0; selection-background-color: @sel; selection-color: @text; }
QTextBrowser { background: @bg2; border: 0; padding: 8px 16px; selection-background-color: @sel; selection-color: @text; }
QAbstractItemView { background: transparent; border: 0; outline: 0; selection-background-color: @sel; selection-color: @text; alternate-background-color: @bg2; }
QListView, QTreeView, QTableView { show-decoration-selected: 1; }
QTreeView::item, QListView::item { min-height: 26px; }
QTreeView::item:selected, QListView::item:selected { background: @sel; color: @text; }
QTreeView::branch { background: transparent; image: none; border-image: none; }
QTreeView::branch:selected { background: @sel; }
QTableView { background: @bg2; gridline-color: @bg3; }
QTableView::item { padding: 0 10px; }
QHeaderView { background: @bg2; border: 0; }
QHeaderView::section { background: @bg2; color: @text3; border: 0; border-bottom: 1px solid @line; padding: 5px 10px; font-size: 11px; font-weight: 400; }
QTabBar { background: @bg1; }
QTabBar::tab { background: @bg1; color: @text2; padding: 5px 13px; border: 0; border-top: 2px solid transparent; min-height: 19px; }
QTabBar::tab:selected { background: @bg2; color: @text; border-top: 2px solid @accent; }
QTabBar::tab:hover:!selected { color: @text; }
QTabBar#files::tab { color: @text3; padding: 5px 9px; border-top: 2px solid transparent; font-size: 12px; }
QTabBar#files::tab:selected { background: @bg1; color: @text; border-top: 2px solid transparent; }
QScrollBar { background: transparent; border: 0; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: @bg3; border-radius: 4px; margin: 1px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: @text3; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }
QDockWidget { titlebar-close-icon: none; titlebar-normal-icon: none; }
QFrame#card { background: @bg1; border: 1px solid @line; border-radius: 6px; }
QCheckBox, QRadioButton { spacing: 8px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
)";

} // namespace

Theme::Theme(bool dark, QObject* parent)
    : QObject(parent)
    , m_dark(dark)
    , m_fontsFound(!QFontDatabase::families().isEmpty())
    , m_uiFamily(registerTextFamily())
    , m_codeFamily(registerCodeFamily())
{}

void Theme::setDark(bool dark)
{
    if (dark != m_dark) {
        m_dark = dark;
        Q_EMIT changed();
    }
}

QColor Theme::colour(Tone tone) const
{
    const Palette& p = palette();
    switch (tone) {
    case Tone::Good:
        return p.good;
    case Tone::Bad:
        return p.bad;
    case Tone::Warn:
        return p.warn;
    case Tone::Muted:
        return p.text3;
    case Tone::Accent:
        return p.accent;
    case Tone::Neutral:
        break;
    }
    return p.text;
}

QFont Theme::uiFont(int pixels, QFont::Weight weight) const
{
    QFont font(m_uiFamily);
    font.setPixelSize(pixels);
    font.setWeight(weight);
    return font;
}

QFont Theme::codeFont(int pixels) const
{
    QFont font(m_codeFamily);
    font.setPixelSize(pixels);
    font.setFixedPitch(true);
    return font;
}

QString Theme::styleSheet() const
{
    const Palette& p = palette();
    QString sheet = QString::fromLatin1(kStyleSheet);
    const std::pair<const char*, QColor> names[] = {
        {"@bg0", p.bg0},
        {"@bg1", p.bg1},
        {"@bg2", p.bg2},
        {"@bg3", p.bg3},
        {"@line", p.line},
        {"@text2", p.text2},
        {"@text3", p.text3},
        {"@text", p.text},
        {"@accent", p.accent},
        {"@sel", p.selection},
        {"@onAccent", p.onAccent},
    };
    for (const auto& [name, value] : names) {
        sheet.replace(QLatin1String(name), value.name());
    }
    return sheet;
}

void Theme::applyTo(QApplication& application) const
{
    application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    application.setFont(uiFont());
    applyPaletteTo(application);
    applySheetTo(application);
}

void Theme::applyPaletteTo(QApplication& application) const
{
    const Palette& p = palette();
    QPalette q;
    q.setColor(QPalette::Window, p.bg1);
    q.setColor(QPalette::WindowText, p.text);
    q.setColor(QPalette::Base, p.bg2);
    q.setColor(QPalette::AlternateBase, p.bg1);
    q.setColor(QPalette::Text, p.text);
    q.setColor(QPalette::Button, p.bg3);
    q.setColor(QPalette::ButtonText, p.text);
    q.setColor(QPalette::Highlight, p.selection);
    q.setColor(QPalette::HighlightedText, p.text);
    q.setColor(QPalette::PlaceholderText, p.text3);
    q.setColor(QPalette::Link, p.accent);
    q.setColor(QPalette::ToolTipBase, p.bg1);
    q.setColor(QPalette::ToolTipText, p.text);
    q.setColor(QPalette::Disabled, QPalette::Text, p.text3);
    q.setColor(QPalette::Disabled, QPalette::ButtonText, p.text3);
    application.setPalette(q);
}

void Theme::applySheetTo(QApplication& application) const
{
    application.setStyleSheet(styleSheet());
}

} // namespace lathe::ui
