// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <QWidget>

#include <vector>

namespace lathe::ui {

class Theme;

/// Speed-up over the best baseline, by candidate: a point each, a cross for one that is not
/// correct. Click opens it.
class SpeedupChart : public QWidget
{
    Q_OBJECT
public:
    explicit SpeedupChart(const Theme& theme, QWidget* parent = nullptr);
    void setCandidates(std::vector<session::CandidateRow> rows, const CandidateId& open);
    [[nodiscard]] QSize sizeHint() const override { return {248, 96}; }

Q_SIGNALS:
    void opened(const lathe::CandidateId& candidate);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] std::vector<QPointF> points() const;
    [[nodiscard]] int nearest(const QPointF& position) const;
    const Theme& m_theme;
    std::vector<session::CandidateRow> m_rows; ///< judged ones, by number
    CandidateId m_open;
};

} // namespace lathe::ui
