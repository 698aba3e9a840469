// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python_outline.h"
#include "task_reader.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>

namespace lathe::task {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostVariants = 64;

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

bool isIndex(const Json& value)
{
    return value.is_number_unsigned() && value.get<std::uint64_t>() < 1024;
}

/// The part of a variant's name that a value of an axis adds: letters, digits, dots and dashes.
std::string nameOf(const Json& value)
{
    std::string out;
    for (const char c : value.is_string() ? value.get<std::string>() : dumpJson(value)) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                           || (c >= '0' && c <= '9') || c == '.' || c == '-';
        out.push_back(plain ? c : '_');
    }
    return out;
}

} // namespace

bool TaskReader::indexMember(const Json& object, const std::string& where, int& out)
{
    const auto it = object.find("index");
    if (it == object.end() || !isIndex(*it)) {
        error(where, "every entry of \"" + where + "\" needs an \"index\", counted from 0");
        return false;
    }
    out = it->get<int>();
    return true;
}

void TaskReader::mutates(const Json& object, std::vector<int>& out)
{
    const auto it = object.find("mutates");
    if (it == object.end()) {
        return;
    }
    if (!it->is_array() || !std::all_of(it->begin(), it->end(), isIndex)) {
        error("mutates", "\"mutates\" must be a list of input indexes, counted from 0");
        return;
    }
    out = it->get<std::vector<int>>();
}

void TaskReader::inputs(const Json& object, std::vector<protocol::InputRule>& out)
{
    const auto it = object.find("inputs");
    if (it == object.end()) {
        return;
    }
    if (!it->is_array()) {
        error("inputs", "\"inputs\" must be a list of objects");
        return;
    }
    std::set<int> seen;
    for (const Json& entry : *it) {
        protocol::InputRule rule;
        if (!entry.is_object() || !indexMember(entry, "inputs", rule.index)) {
            if (!entry.is_object()) {
                error("inputs", "every entry of \"inputs\" must be an object");
            }
            continue;
        }
        if (!seen.insert(rule.index).second) {
            error("inputs", "\"inputs\" names input " + std::to_string(rule.index) + " twice");
        }
        const std::string where = "input " + std::to_string(rule.index);
        unknownMembers(entry, {"index", "name", "domain", "below", "layout"}, where);
        choiceMember(entry,
                     "domain",
                     rule.domain,
                     {"given",
                      "any",
                      "positive",
                      "probabilities",
                      "labels",
                      "indices",
                      "triangular",
                      "mask",
                      "sorted"});
        choiceMember(entry,
                     "layout",
                     rule.layout,
                     {"given", "contiguous", "transposed", "channels_last", "offset"});
        const auto below = entry.find("below");
        const bool counted = rule.domain == "labels" || rule.domain == "indices";
        if (below != entry.end() && below->is_number_unsigned()
            && below->get<std::uint64_t>() > 0) {
            rule.below = std::to_string(below->get<std::uint64_t>());
        } else if (below != entry.end() && below->is_string()
                   && isPythonIdentifier(below->get<std::string>())) {
            rule.below = below->get<std::string>();
        } else if (below != entry.end()) {
            error("below",
                  "\"below\" of " + where
                      + " must be a number above 0 or the name of a top-level constant");
        }
        if (counted && below == entry.end()) {
            error("inputs",
                  where + " is declared " + rule.domain
                      + " and needs \"below\": how many there are, or the constant that says so");
        } else if (!counted && below != entry.end()) {
            warning("below",
                    "\"below\" of " + where
                        + " has no effect: only labels and indices have an upper end");
        }
        out.push_back(std::move(rule));
    }
}

void TaskReader::ties(const Json& entry, const std::string& where, protocol::OutputRule& rule)
{
    const auto of = entry.find("of");
    if (of == entry.end() || !of->is_object() || of->size() != 1
        || (of->begin().key() != "input" && of->begin().key() != "output")
        || !isIndex(of->begin().value())) {
        error("of",
              "\"of\" of " + where
                  + " must say whose values the indices point into: {\"input\": 0} or "
                    "{\"output\": 0}");
        return;
    }
    rule.of = of->begin().key() + ":" + std::to_string(of->begin().value().get<int>());
    const auto axis = entry.find("axis");
    if (axis != entry.end() && axis->is_number_integer() && axis->get<std::int64_t>() >= -16
        && axis->get<std::int64_t>() < 16) {
        rule.axis = axis->get<int>();
    } else if (axis != entry.end()) {
        error("axis", "\"axis\" of " + where + " must be the number of an axis, -1 the last");
    }
}

void TaskReader::outputs(const Json& object, std::vector<protocol::OutputRule>& out)
{
    const auto it = object.find("outputs");
    if (it == object.end()) {
        return;
    }
    if (!it->is_array()) {
        error("outputs", "\"outputs\" must be a list of objects");
        return;
    }
    std::set<int> seen;
    for (const Json& entry : *it) {
        protocol::OutputRule rule;
        if (!entry.is_object() || !indexMember(entry, "outputs", rule.index)) {
            if (!entry.is_object()) {
                error("outputs", "every entry of \"outputs\" must be an object");
            }
            continue;
        }
        if (!seen.insert(rule.index).second) {
            error("outputs", "\"outputs\" names output " + std::to_string(rule.index) + " twice");
        }
        const std::string where = "output " + std::to_string(rule.index);
        unknownMembers(entry, {"index", "name", "compare", "of", "axis", "tolerance"}, where);
        choiceMember(entry, "compare", rule.compare, {"values", "ties", "set", "codes"});
        tolerance(entry, rule.tolerance);
        if (rule.compare == "ties") {
            ties(entry, where, rule);
        } else if (entry.contains("of") || entry.contains("axis")) {
            warning("of",
                    "\"of\" and \"axis\" of " + where
                        + " have no effect: it does not compare ties");
        }
        out.push_back(std::move(rule));
    }
}

void TaskReader::free(const Json& object, std::vector<protocol::FreeDimension>& out)
{
    const auto it = object.find("free");
    if (it == object.end()) {
        return;
    }
    if (!it->is_object()) {
        error("free", "\"free\" must be an object of constants and their ranges");
        return;
    }
    for (const auto& [name, range] : it->items()) {
        protocol::FreeDimension dimension;
        dimension.name = name;
        const auto number = [&, &entry = range](const char* key, std::int64_t& value) {
            const auto member = entry.find(key);
            if (member == entry.end()) {
                return true;
            }
            if (!member->is_number_integer() || member->get<std::int64_t>() < 0) {
                return false;
            }
            value = member->get<std::int64_t>();
            return true;
        };
        if (!isPythonIdentifier(name) || !range.is_object() || !number("min", dimension.min)
            || !number("max", dimension.max) || !number("multiple", dimension.multiple)
            || !range.contains("max") || dimension.multiple < 1 || dimension.min > dimension.max) {
            error(
                name,
                "free dimension " + name
                    + " must be a constant's name with {\"min\": 1, \"max\": 64, \"multiple\": 1}");
            continue;
        }
        unknownMembers(range, {"min", "max", "multiple"}, "free dimension " + name);
        out.push_back(std::move(dimension));
    }
}

void TaskReader::constants(const Json& entry, protocol::Variant& out)
{
    const auto constants = entry.find("constants");
    if (constants == entry.end()) {
        return;
    }
    if (!constants->is_object()) {
        error("constants",
              "\"constants\" of variant " + out.name + " must be an object of names and values");
        return;
    }
    for (const auto& [name, value] : constants->items()) {
        if (!isPythonIdentifier(name)) {
            error(name,
                  "\"" + name
                      + "\" is not a Python name; constants replace top-level names of the "
                        "reference");
        } else if (!isLiteral(value)) {
            error(name,
                  "constant " + name
                      + " must be a number, string, true, false, null or a list of those");
        } else {
            out.constants.push_back({name, pythonLiteral(value)});
        }
    }
}

void TaskReader::arguments(const Json& entry, protocol::Variant& out)
{
    const auto arguments = entry.find("arguments");
    if (arguments == entry.end()) {
        return;
    }
    if (!arguments->is_object()) {
        error("arguments",
              "\"arguments\" of variant " + out.name
                  + " must be an object with \"get_inputs\" and \"Model\"");
        return;
    }
    unknownMembers(*arguments, {"get_inputs", "Model"}, "arguments of variant " + out.name);
    for (const char* callee : {"get_inputs", "Model"}) {
        const auto keywords = arguments->find(callee);
        if (keywords == arguments->end()) {
            continue;
        }
        if (!keywords->is_object()) {
            error(callee,
                  std::string("\"") + callee + "\" in the arguments of variant " + out.name
                      + " must be an object of names and values");
            continue;
        }
        for (const auto& [name, value] : keywords->items()) {
            if (!isPythonIdentifier(name) || !isLiteral(value)) {
                error(name,
                      "argument " + name + " of " + callee
                          + " must be a Python name with a number, string, true, false, null or a "
                            "list of those");
                continue;
            }
            out.constants.push_back({std::string(callee) + "." + name, pythonLiteral(value)});
        }
    }
}

void TaskReader::axes(const Json& entry,
                      const protocol::Variant& base,
                      std::set<std::string>& names,
                      std::vector<protocol::Variant>& out)
{
    const auto axes = entry.find("axes");
    std::vector<protocol::Variant> made{base};
    if (!axes->is_object() || axes->empty()) {
        error("axes",
              "\"axes\" of variant " + base.name
                  + " must be an object of constants and lists of values");
        return;
    }
    for (const auto& [name, values] : axes->items()) {
        if (!isPythonIdentifier(name) || !values.is_array() || values.empty()
            || !std::all_of(values.begin(), values.end(), isLiteral)) {
            error(name,
                  "axis " + name + " of variant " + base.name
                      + " must be the name of a top-level constant with a list of values");
            return;
        }
        std::vector<protocol::Variant> next;
        for (const protocol::Variant& variant : made) {
            for (const Json& value : values) {
                protocol::Variant point = variant;
                point.name += "." + name + "-" + nameOf(value);
                std::erase_if(point.constants, [&](const auto& c) { return c.name == name; });
                point.constants.push_back({name, pythonLiteral(value)});
                point.headline = base.headline && next.empty();
                next.push_back(std::move(point));
            }
        }
        made = std::move(next);
        if (made.size() + out.size() > kMostVariants) {
            error("axes",
                  "the axes of variant " + base.name + " make more than "
                      + std::to_string(kMostVariants) + " variants; name fewer values");
            return;
        }
    }
    for (protocol::Variant& variant : made) {
        if (!isVariantName(variant.name) || !names.insert(variant.name).second) {
            error("axes",
                  "the axes of variant " + base.name + " make the name \"" + variant.name
                      + "\", which is taken or too long; shorten the variant's name");
        }
        out.push_back(std::move(variant));
    }
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
    unknownMembers(entry,
                   {"name", "constants", "arguments", "axes", "device", "headline", "hidden"},
                   "variant " + variant.name);
    choiceMember(entry, "device", variant.device, {"any", "cpu", "cuda"});
    boolMember(entry, "headline", variant.headline);
    boolMember(entry, "hidden", variant.hidden);
    constants(entry, variant);
    arguments(entry, variant);
    if (variant.headline && variant.hidden) {
        error(variant.name, "variant " + variant.name + " cannot be both the headline and hidden");
    }
    if (entry.contains("axes")) {
        axes(entry, variant, names, out);
    } else {
        out.push_back(std::move(variant));
    }
}

void TaskReader::variants(const Json& object, std::vector<protocol::Variant>& out)
{
    const auto it = object.find("variants");
    if (it == object.end()) {
        return;
    }
    if (!it->is_array() || it->empty()) {
        error("variants", "\"variants\" must be a list of at least one");
        return;
    }
    std::set<std::string> names;
    for (const Json& entry : *it) {
        variant(entry, names, out);
    }
    const auto visible = [](const protocol::Variant& v) { return !v.hidden; };
    if (!out.empty() && std::none_of(out.begin(), out.end(), visible)) {
        error("variants", "every variant is hidden; at least one must be visible");
    }
}

} // namespace lathe::task
