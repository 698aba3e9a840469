// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::agent {

/// Takes secrets out of what is written: known values, Authorization headers, and the common shapes
/// of keys.
class Scrubber
{
public:
    explicit Scrubber(std::vector<std::string> secrets);
    [[nodiscard]] std::string clean(std::string_view text) const;

private:
    std::vector<std::string> m_secrets;
};

} // namespace lathe::agent
