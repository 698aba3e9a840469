// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>
#include <lathe/protocol/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::agent {

/// The folder an agent works in. The candidate is model_new.py and the files directly in kernels/;
/// the agent may write nothing else through tools. What its shell leaves there is read without
/// following links.
class Workdir
{
public:
    /// Creates the folder and writes the starting files and reference.py (for reading; it is never
    /// read back).
    static Result<Workdir> create(const std::filesystem::path& folder,
                                  const protocol::CandidateSpec& start,
                                  std::string reference);

    [[nodiscard]] const std::filesystem::path& folder() const { return m_folder; }
    /// A file of the candidate, or reference.py.
    [[nodiscard]] Result<std::string> read(std::string_view path) const;
    Result<void> write(std::string_view path, std::string_view text);
    /// Candidate files, sorted.
    [[nodiscard]] Result<std::vector<std::string>> list() const;
    /// The candidate as it is now.
    [[nodiscard]] Result<protocol::CandidateSpec> snapshot() const;
    /// Makes the candidate's files those of the specification.
    Result<void> restore(const protocol::CandidateSpec& spec);

private:
    Workdir(std::filesystem::path folder,
            UniqueFd fd,
            std::string reference,
            std::string format,
            std::vector<std::string> flags);
    [[nodiscard]] Result<UniqueFd> folderOf(std::string_view path, bool create) const;
    std::filesystem::path m_folder;
    UniqueFd m_fd;
    std::string m_reference;
    std::string m_format;
    std::vector<std::string> m_flags;
};

/// Whether the agent may write this path: model_new.py, or a source or header directly in kernels/.
bool isCandidatePath(std::string_view path);

} // namespace lathe::agent
