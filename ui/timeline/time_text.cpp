// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "time_text.h"

#include <cmath>

namespace lathe::ui {

namespace {

struct Unit
{
    double ns;
    const char* name;
};
constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\u00b5s"}, {1, "ns"}};

const Unit& unitFor(double ns)
{
    for (const Unit& unit : kUnits)
        if (std::fabs(ns) >= unit.ns)
            return unit;
    return kUnits[3];
}

} // namespace

QString durationText(double ns)
{
    const Unit* unit = &unitFor(ns);
    // 999.9 us would be written as 1000: the next unit reads better.
    if (unit != &kUnits[0] && std::fabs(ns) / unit->ns >= 999.5)
        --unit;
    const double value = ns / unit->ns;
    const double size = std::fabs(value);
    const int decimals = unit == &kUnits[3] || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return QString::number(value, 'f', decimals) + QChar(u'\u00a0') + QString::fromUtf8(unit->name);
}

double tickStepNs(double nsPerPixel, double leastPixels)
{
    const double least = std::max(nsPerPixel * leastPixels, 1e-3);
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9))
            return factor * power;
    return 10 * power;
}

QString tickText(double timeNs, double stepNs)
{
    if (std::fabs(timeNs) < stepNs * 1e-6)
        return QStringLiteral("0");
    const Unit& unit = unitFor(std::fabs(timeNs));
    const double step = stepNs / unit.ns;
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
    return QString::number(timeNs / unit.ns, 'f', decimals) + QChar(u'\u00a0')
           + QString::fromUtf8(unit.name);
}

QString shortName(const QString& name)
{
    QString text = name;
    text.replace(QStringLiteral("(anonymous namespace)::"), QString());
    if (text.startsWith(QStringLiteral("void ")))
        text.remove(0, 5);
    for (const QChar end : {QChar(u'<'), QChar(u'(')})
        if (const qsizetype at = text.indexOf(end); at > 0)
            text.truncate(at);
    if (const qsizetype at = text.lastIndexOf(QStringLiteral("::"));
        at >= 0 && at + 2 < text.size())
        text.remove(0, at + 2);
    text = text.trimmed();
    return text.isEmpty() ? name : text;
}

} // namespace lathe::ui
