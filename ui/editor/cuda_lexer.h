// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <Qsci/qscilexercpp.h>

namespace lathe::ui {

/// C++ with CUDA's keywords, and the types kernels are written with as a second set.
class CudaLexer : public QsciLexerCPP
{
    Q_OBJECT
public:
    explicit CudaLexer(QObject* parent = nullptr);
    const char* keywords(int set) const override;
};

} // namespace lathe::ui
