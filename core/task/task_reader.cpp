// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "task_reader.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lathe::task {
namespace {

using Json = nlohmann::ordered_json;

std::string pythonString(const std::string& text)
{
    static const char* const kHex = "0123456789abcdef";
    std::string out = "'";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\' || c == '\'') {
            out.push_back('\\');
            out.push_back(c);
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\x";
            out.push_back(kHex[byte >> 4U]);
            out.push_back(kHex[byte & 15U]);
        } else {
            out.push_back(c);
        }
    }
    return out + "'";
}

} // namespace

bool isLiteral(const Json& value)
{
    if (value.is_array()) {
        return std::all_of(value.begin(), value.end(), isLiteral);
    }
    return value.is_number() || value.is_string() || value.is_boolean() || value.is_null();
}

std::string pythonLiteral(const Json& value)
{
    if (value.is_boolean()) {
        return value.get<bool>() ? "True" : "False";
    }
    if (value.is_null()) {
        return "None";
    }
    if (value.is_string()) {
        return pythonString(value.get<std::string>());
    }
    if (value.is_array()) {
        std::string out = "[";
        for (const auto& item : value) {
            out += (out.size() > 1 ? ", " : "") + pythonLiteral(item);
        }
        return out + "]";
    }
    return dumpJson(value); // a number: both languages write it alike
}

TaskReader::TaskReader(std::string file, std::string text, std::vector<Finding>& findings)
    : m_file(std::move(file))
    , m_text(std::move(text))
    , m_findings(findings)
{}

int TaskReader::lineOf(std::string_view quoted) const
{
    const auto at =
        quoted.empty() ? std::string::npos : m_text.find("\"" + std::string(quoted) + "\"");
    if (at == std::string::npos) {
        return 0;
    }
    return 1
           + static_cast<int>(
               std::count(m_text.begin(), m_text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

void TaskReader::error(std::string_view near, std::string message)
{
    m_findings.push_back({"error", m_file, lineOf(near), std::move(message)});
}

void TaskReader::warning(std::string_view near, std::string message)
{
    m_findings.push_back({"warning", m_file, lineOf(near), std::move(message)});
}

bool TaskReader::stringMember(const Json& object, const char* key, std::string& out)
{
    const auto it = object.find(key);
    if (it == object.end()) {
        return false;
    }
    if (!it->is_string()) {
        error(key, std::string("\"") + key + "\" must be a string");
        return false;
    }
    out = it->get<std::string>();
    return true;
}

bool TaskReader::choiceMember(const Json& object,
                              const char* key,
                              std::string& out,
                              const std::vector<std::string>& choices)
{
    std::string text;
    if (!stringMember(object, key, text)) {
        return false;
    }
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
        error(key,
              std::string("\"") + key + "\" is \"" + text
                  + "\"; it must be one of: " + join(choices, ", "));
        return false;
    }
    out = text;
    return true;
}

void TaskReader::secondsMember(const Json& object, const char* key, double& out)
{
    const auto it = object.find(key);
    if (it == object.end()) {
        return;
    }
    if (!it->is_number() || !(it->get<double>() > 0) || it->get<double>() > 3600) {
        error(key,
              std::string("\"") + key + "\" must be a number of seconds above 0 and at most 3600");
        return;
    }
    out = it->get<double>();
}

void TaskReader::boolMember(const Json& object, const char* key, bool& out)
{
    const auto it = object.find(key);
    if (it == object.end()) {
        return;
    }
    if (!it->is_boolean()) {
        error(key, std::string("\"") + key + "\" must be true or false");
        return;
    }
    out = it->get<bool>();
}

void TaskReader::stringList(const Json& object, const char* key, std::vector<std::string>& out)
{
    const auto it = object.find(key);
    if (it == object.end()) {
        return;
    }
    if (!it->is_array()
        || !std::all_of(it->begin(), it->end(), [](const Json& v) { return v.is_string(); })) {
        error(key, std::string("\"") + key + "\" must be a list of strings");
        return;
    }
    out = it->get<std::vector<std::string>>();
}

void TaskReader::tolerance(const Json& object, protocol::Tolerance& out)
{
    const auto it = object.find("tolerance");
    if (it == object.end()) {
        return;
    }
    if (!it->is_object()) {
        error("tolerance", "\"tolerance\" must be an object with \"relative\" and \"absolute\"");
        return;
    }
    unknownMembers(*it, {"relative", "absolute"}, "tolerance");
    for (const auto& [key, value] : it->items()) {
        if (key != "relative" && key != "absolute") {
            continue;
        }
        if (!value.is_number() || !(value.get<double>() > 0)) {
            error(key, "\"tolerance." + key + "\" must be a number above 0");
            continue;
        }
        (key == "relative" ? out.relative : out.absolute) = value.get<double>();
    }
}

void TaskReader::timeouts(const Json& object, protocol::TaskSpec& spec)
{
    secondsMember(object, "forwardTimeoutSeconds", spec.forwardTimeoutSeconds);
    secondsMember(object, "importTimeoutSeconds", spec.importTimeoutSeconds);
}

void TaskReader::unknownMembers(const Json& object,
                                const std::set<std::string>& known,
                                std::string_view where)
{
    for (const auto& [key, value] : object.items()) {
        if (!known.contains(key) && !key.starts_with("x-")) {
            warning(key,
                    "\"" + key + "\" in " + std::string(where) + " is not known and has no effect");
        }
    }
}

bool TaskReader::read(Task& task, std::string& referenceName, std::string& notesName)
{
    auto parsed = parseOrderedJson(m_text);
    if (!parsed || !parsed->is_object()) {
        // The parser's own words hold the line.
        const std::string detail = parsed ? std::string() : parsed.error().detail;
        const auto at = detail.find("line ");
        const int line = at == std::string::npos ? 1 : std::atoi(detail.c_str() + at + 5);
        m_findings.push_back({"error",
                              m_file,
                              std::max(line, 1),
                              parsed ? "task.json must hold one JSON object"
                                     : "task.json is not valid JSON: " + parsed.error().detail});
        return false;
    }
    const Json& object = *parsed;
    static const std::set<std::string> kKnown = {"$schema",
                                                 "title",
                                                 "suite",
                                                 "reference",
                                                 "notes",
                                                 "tags",
                                                 "variants",
                                                 "precision",
                                                 "mode",
                                                 "weights",
                                                 "mutates",
                                                 "inputs",
                                                 "outputs",
                                                 "free",
                                                 "buffers",
                                                 "backward",
                                                 "libraries",
                                                 "tolerance",
                                                 "stochastic",
                                                 "forwardTimeoutSeconds",
                                                 "importTimeoutSeconds"};
    unknownMembers(object, kKnown, "task.json");
    if (!stringMember(object, "title", task.title) && !object.contains("title")) {
        warning({}, "no \"title\"; give the task a name that people see in lists");
    }
    stringMember(object, "suite", task.suite);
    for (auto [key, name] :
         {std::pair{"reference", &referenceName}, std::pair{"notes", &notesName}}) {
        if (stringMember(object, key, *name) && !isSafeRelativePath(*name)) {
            error(key, std::string("\"") + key + "\" must name a file inside the task's folder");
            return false;
        }
    }
    protocol::TaskSpec& spec = task.spec;
    choiceMember(object,
                 "precision",
                 spec.precision,
                 {"pytorch-default", "fp32-strict", "tf32", "bf16", "fp16"});
    choiceMember(object, "mode", spec.mode, {"eval", "train"});
    choiceMember(object, "weights", spec.weights, {"mutable", "frozen"});
    choiceMember(
        object, "stochastic", spec.stochastic, {"none", "explicit", "statistical", "unjudgeable"});
    stringList(object, "libraries", spec.libraries);
    stringList(object, "tags", task.tags);
    spec.buffers = spec.mode == "train" ? "compare" : "ignore";
    choiceMember(object, "buffers", spec.buffers, {"compare", "ignore"});
    boolMember(object, "backward", spec.backward);
    mutates(object, spec.mutates);
    inputs(object, spec.inputs);
    outputs(object, spec.outputs);
    free(object, spec.free);
    tolerance(object, spec.tolerance);
    timeouts(object, spec);
    variants(object, spec.variants);
    return true;
}

void ensureHeadlines(std::vector<protocol::Variant>& variants)
{
    if (variants.empty()) {
        protocol::Variant plain;
        plain.name = "default";
        variants.push_back(plain);
    }
    for (const std::string device : {"cpu", "cuda"}) {
        const auto fits = [&](const protocol::Variant& v) {
            return v.device == "any" || v.device == device;
        };
        if (std::any_of(variants.begin(), variants.end(), [&](const auto& v) {
                return v.headline && fits(v);
            })) {
            continue;
        }
        const auto first = std::find_if(
            variants.begin(), variants.end(), [&](const auto& v) { return fits(v) && !v.hidden; });
        if (first != variants.end()) {
            first->headline = true;
        }
    }
}

} // namespace lathe::task
