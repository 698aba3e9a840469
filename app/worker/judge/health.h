// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference_variant.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::worker {

/// Whether a task is worth anybody's work: what its reference does, told in one sentence a finding.
/// It speaks of the task, never of a candidate.
class HealthCheck
{
public:
    /// variant must be ready.
    HealthCheck(ReferenceVariant& variant, std::uint64_t freeBytes, int cancelFd, Ledger& ledger);

    /// Only Cancelled is an error; a reference that fails is a finding.
    Result<void> run();
    /// A baseline that could not be compiled, or gave other values.
    void add(std::string finding) { m_findings.push_back(std::move(finding)); }
    [[nodiscard]] const std::vector<std::string>& findings() const { return m_findings; }
    /// {"findings", "limits", "callUs", "bytes"}.
    [[nodiscard]] nlohmann::json detail() const;

private:
    using Digests = std::vector<std::string>;
    /// The reference's outputs on a bound set; empty when it failed.
    Result<Digests> outputsOf(std::int64_t set);
    Result<void> determinism();
    Result<void> dependence();
    Result<void> inputDependence(std::size_t input, const Digests& base);
    void seeds();
    void values();
    void axes(std::size_t output, const std::vector<double>& values);
    void memory();
    Result<void> runTime();

    ReferenceVariant& m_variant;
    std::uint64_t m_freeBytes;
    int m_cancelFd;
    Ledger& m_ledger;
    std::vector<std::string> m_findings;
    Digests m_base;
    double m_callUs = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace lathe::worker
