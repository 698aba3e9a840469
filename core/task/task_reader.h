// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/task/task.h>

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::task {

/// A Python literal for a JSON value: true -> True, null -> None, "a" -> 'a'.
std::string pythonLiteral(const nlohmann::ordered_json& value);

/// True for what pythonLiteral can write.
bool isLiteral(const nlohmann::ordered_json& value);

/// Reads task.json into a Task and collects every problem with its line; wrong types are errors,
/// unknown members are warnings.
class TaskReader
{
public:
    TaskReader(std::string file, std::string text, std::vector<Finding>& findings);
    /// Fills spec, title, suite; the names of the reference and the notes file. False when the text
    /// is no JSON object.
    bool read(Task& task, std::string& referenceName, std::string& notesName);

private:
    void error(std::string_view near, std::string message);
    void warning(std::string_view near, std::string message);
    [[nodiscard]] int lineOf(std::string_view quoted) const;
    bool stringMember(const nlohmann::ordered_json& object, const char* key, std::string& out);
    bool choiceMember(const nlohmann::ordered_json& object,
                      const char* key,
                      std::string& out,
                      const std::vector<std::string>& choices);
    void secondsMember(const nlohmann::ordered_json& object, const char* key, double& out);
    void stringList(const nlohmann::ordered_json& object,
                    const char* key,
                    std::vector<std::string>& out);
    void boolMember(const nlohmann::ordered_json& object, const char* key, bool& out);
    bool indexMember(const nlohmann::ordered_json& object, const std::string& where, int& out);
    void mutates(const nlohmann::ordered_json& object, std::vector<int>& out);
    void inputs(const nlohmann::ordered_json& object, std::vector<protocol::InputRule>& out);
    void outputs(const nlohmann::ordered_json& object, std::vector<protocol::OutputRule>& out);
    void
    ties(const nlohmann::ordered_json& entry, const std::string& where, protocol::OutputRule& rule);
    void free(const nlohmann::ordered_json& object, std::vector<protocol::FreeDimension>& out);
    void tolerance(const nlohmann::ordered_json& object, protocol::Tolerance& out);
    void timeouts(const nlohmann::ordered_json& object, protocol::TaskSpec& spec);
    void variants(const nlohmann::ordered_json& object, std::vector<protocol::Variant>& out);
    void variant(const nlohmann::ordered_json& entry,
                 std::set<std::string>& names,
                 std::vector<protocol::Variant>& out);
    void constants(const nlohmann::ordered_json& entry, protocol::Variant& out);
    void arguments(const nlohmann::ordered_json& entry, protocol::Variant& out);
    void axes(const nlohmann::ordered_json& entry,
              const protocol::Variant& base,
              std::set<std::string>& names,
              std::vector<protocol::Variant>& out);
    void unknownMembers(const nlohmann::ordered_json& object,
                        const std::set<std::string>& known,
                        std::string_view where);

    std::string m_file;
    std::string m_text;
    std::vector<Finding>& m_findings;
};

/// Marks the first visible variant of every device class as the headline where none is marked.
void ensureHeadlines(std::vector<protocol::Variant>& variants);

/// What loadTask and checkTask share: reads folder or file, appending every finding.
Task readTask(const std::filesystem::path& path, std::vector<Finding>& findings);

/// A reference resolved to a folder or a .py file, and the key it has as a shipped task ("" when it
/// is none).
struct Located
{
    std::filesystem::path path;
    std::string key;
};
Result<Located> locate(const std::string& reference,
                       const std::vector<std::filesystem::path>& roots);

} // namespace lathe::task
