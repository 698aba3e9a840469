// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/evaluation/strip_content.h>

#include <QWidget>

class QGridLayout;
class QLabel;

namespace lathe::ui {

class ElidedLabel;
class Meter;
class VariantCurve;

/// The strip above the candidate that answers right? faster? why? in this order. Every number opens
/// the card.
class ResultStrip : public QWidget
{
    Q_OBJECT
public:
    explicit ResultStrip(const Theme& theme, QWidget* parent = nullptr);
    /// Replaces what is shown in place.
    void show(const StripContent& content);
    /// Nothing was run yet; the hint says how.
    void showNothing(const QString& hint);
    [[nodiscard]] const StripContent& content() const { return m_content; }

Q_SIGNALS:
    void numberClicked();

private:
    void render();
    void placeDetail(bool alone);
    const Theme& m_theme;
    StripContent m_content;
    QString m_hint;
    QGridLayout* m_grid = nullptr;
    QLabel* m_verdict;
    ElidedLabel* m_verdictDetail;
    QLabel* m_faster;
    QLabel* m_fasterDetail;
    VariantCurve* m_curve;
    QLabel* m_why;
    QLabel* m_stage;
};

/// Speed-up per variant as points with intervals around the line of 1.
class VariantCurve : public QWidget
{
    Q_OBJECT
public:
    explicit VariantCurve(const Theme& theme, QWidget* parent = nullptr);
    void setPoints(std::vector<VariantPoint> points);
    [[nodiscard]] QSize sizeHint() const override { return {190, 56}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    const Theme& m_theme;
    std::vector<VariantPoint> m_points;
};

} // namespace lathe::ui
