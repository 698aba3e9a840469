// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/style/palette.h>

#include <QFont>
#include <QObject>
#include <QString>

class QApplication;

namespace lathe::ui {

enum class Tone { Neutral, Good, Bad, Warn, Muted, Accent };

/// The look in use: palette and fonts. Made once in main, passed to every widget that paints. GUI
/// thread.
class Theme : public QObject
{
    Q_OBJECT
public:
    explicit Theme(bool dark, QObject* parent = nullptr);

    [[nodiscard]] const Palette& palette() const { return m_dark ? darkPalette() : lightPalette(); }
    [[nodiscard]] bool isDark() const { return m_dark; }
    void setDark(bool dark);
    [[nodiscard]] QColor colour(Tone tone) const;

    /// 13 px text, 11-12 px small print, 15 px answers. Sizes are device-independent pixels.
    [[nodiscard]] QFont uiFont(int pixels = 13, QFont::Weight weight = QFont::Normal) const;
    [[nodiscard]] QFont codeFont(int pixels = 13) const;
    /// False when the system has no usable font at all: text would be boxes.
    [[nodiscard]] bool fontsFound() const { return m_fontsFound; }

    /// Once, before the first widget: style, font and colours.
    void applyTo(QApplication& application) const;
    /// After changed(), each of them a pass over every widget there is: in events of their own.
    void applyPaletteTo(QApplication& application) const;
    void applySheetTo(QApplication& application) const;

Q_SIGNALS:
    void changed();

private:
    [[nodiscard]] QString styleSheet() const;
    bool m_dark;
    bool m_fontsFound = true;
    QString m_uiFamily;
    QString m_codeFamily;
};

} // namespace lathe::ui
