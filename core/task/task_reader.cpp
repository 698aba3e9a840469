// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "task_reader.h"

#include "python_outline.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

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

bool isScalarOrList(const Json& value)
{
    if (value.is_array()) {
        return std::all_of(value.begin(), value.end(), isScalarOrList);
    }
    return value.is_number() || value.is_string() || value.is_boolean() || value.is_null();
}

bool isVariantName(const std::string& name)
{
    const auto isAlnum = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !name.empty() && name.size() <= 64 && isAlnum(name.front())
           && std::all_of(name.begin(), name.end(), [&](char c) {
                  return isAlnum(c) || c == '.' || c == '-' || c == '_';
              });
}

} // namespace

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

void TaskReader::mutates(const Json& object, std::vector<int>& out)
{
    const auto it = object.find("mutates");
    if (it == object.end()) {
        return;
    }
    const auto isIndex = [](const Json& v) {
        return v.is_number_unsigned() && v.get<std::uint64_t>() < 1024;
    };
    if (!it->is_array() || !std::all_of(it->begin(), it->end(), isIndex)) {
        error("mutates", "\"mutates\" must be a list of input indexes, counted from 0");
        return;
    }
    out = it->get<std::vector<int>>();
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

void TaskReader::variant(const Json& entry,
                         std::set<std::string>& names,
                         std::vector<protocol::Variant>& out)
{
    protocol::Variant variant;
    if (!entry.is_object() || !entry.contains("name")) {
        error("variants", "every variant must be an object with a \"name\"");
        return;
    }
    if (!stringMember(entry, "name", variant.name) || !isVariantName(variant.name)) {
        error("variants",
              "a variant's \"name\" must be 1 to 64 letters, digits, dots, dashes or underscores");
        return;
    }
    if (!names.insert(variant.name).second) {
        error(variant.name,
              "two variants are named \"" + variant.name + "\"; give each its own name");
    }
    unknownMembers(
        entry, {"name", "constants", "device", "headline", "hidden"}, "variant " + variant.name);
    choiceMember(entry, "device", variant.device, {"any", "cpu", "cuda"});
    boolMember(entry, "headline", variant.headline);
    boolMember(entry, "hidden", variant.hidden);
    const auto constants = entry.find("constants");
    if (constants != entry.end() && !constants->is_object()) {
        error("constants",
              "\"constants\" of variant " + variant.name
                  + " must be an object of names and values");
    } else if (constants != entry.end()) {
        for (const auto& [name, value] : constants->items()) {
            if (!isPythonIdentifier(name)) {
                error(name,
                      "\"" + name
                          + "\" is not a Python name; constants replace top-level names of the "
                            "reference");
            } else if (!isScalarOrList(value)) {
                error(name,
                      "constant " + name
                          + " must be a number, string, true, false, null or a list of those");
            } else {
                variant.constants.push_back({name, pythonLiteral(value)});
            }
        }
    }
    if (variant.headline && variant.hidden) {
        error(variant.name, "variant " + variant.name + " cannot be both the headline and hidden");
    }
    out.push_back(std::move(variant));
}

void TaskReader::variants(const Json& object, std::vector<protocol::Variant>& out)
{
    const auto it = object.find("variants");
    if (it == object.end()) {
        return;
    }
    if (!it->is_array()) {
        error("variants", "\"variants\" must be a list");
        return;
    }
    std::set<std::string> names;
    for (const auto& entry : *it) {
        variant(entry, names, out);
    }
    const auto visible = [](const protocol::Variant& v) { return !v.hidden; };
    if (!out.empty() && std::none_of(out.begin(), out.end(), visible)) {
        error("variants", "every variant is hidden; at least one must be visible");
    }
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
        m_findings.push_back({"error",
                              m_file,
                              1,
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
                                                 "libraries",
                                                 "tolerance",
                                                 "stochastic",
                                                 "forwardTimeoutSeconds",
                                                 "importTimeoutSeconds"};
    unknownMembers(object, kKnown, "task.json");
    stringMember(object, "title", task.title);
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
    std::vector<std::string> tags;
    stringList(object, "tags", tags);
    mutates(object, spec.mutates);
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
