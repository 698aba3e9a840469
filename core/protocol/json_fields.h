// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/json.h>
#include <lathe/base/result.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::protocol {

/// Reads members of one JSON object. Absent and null members leave the target as it is; a member of
/// the wrong type is remembered as the error. Never throws.
class Fields
{
public:
    Fields(const nlohmann::json& object, std::string_view what)
        : m_object(object)
        , m_what(what)
    {
        if (!object.is_object()) {
            m_error = m_what + " is not an object";
        }
    }

    const nlohmann::json* find(const char* key) const
    {
        if (!m_object.is_object()) {
            return nullptr;
        }
        const auto it = m_object.find(key);
        return it == m_object.end() || it->is_null() ? nullptr : &*it;
    }
    /// Absent or null is an error.
    Fields& need(const char* key)
    {
        if (find(key) == nullptr) {
            wrong(key, "is missing");
        }
        return *this;
    }
    Fields& read(const char* key, std::string& out)
    {
        if (const auto* value = find(key)) {
            if (const auto* text = value->get_ptr<const std::string*>()) {
                out = *text;
            } else {
                wrong(key, "is not a text");
            }
        }
        return *this;
    }
    Fields& read(const char* key, double& out)
    {
        if (const auto* value = find(key)) {
            if (value->is_number()) {
                out = value->get<double>();
            } else {
                wrong(key, "is not a number");
            }
        }
        return *this;
    }
    Fields& read(const char* key, bool& out)
    {
        if (const auto* value = find(key)) {
            if (value->is_boolean()) {
                out = value->get<bool>();
            } else {
                wrong(key, "is not true or false");
            }
        }
        return *this;
    }
    Fields& read(const char* key, std::int64_t& out)
    {
        if (const auto* value = find(key)) {
            if (!toInteger(*value, out)) {
                wrong(key, "is not an integer");
            }
        }
        return *this;
    }
    Fields& read(const char* key, int& out)
    {
        std::int64_t wide = out;
        read(key, wide);
        if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
            wrong(key, "is out of range");
        } else {
            out = static_cast<int>(wide);
        }
        return *this;
    }
    Fields& read(const char* key, std::uint64_t& out)
    {
        if (const auto* value = find(key)) {
            if (value->is_number_unsigned()) {
                out = value->get<std::uint64_t>();
            } else {
                wrong(key, "is not an unsigned integer");
            }
        }
        return *this;
    }
    template <class T>
    Fields& read(const char* key, std::optional<T>& out)
    {
        if (find(key) != nullptr) {
            T value{};
            read(key, value);
            out = value;
        }
        return *this;
    }
    template <class T>
    Fields& read(const char* key, std::vector<T>& out)
    {
        const auto* value = find(key);
        if (value == nullptr) {
            return *this;
        }
        if (!value->is_array()) {
            wrong(key, "is not a list");
            return *this;
        }
        out.clear();
        for (const auto& item : *value) {
            const nlohmann::json wrapper{{"item", item}};
            Fields one(wrapper, m_what + "." + key);
            T element{};
            one.need("item").read("item", element);
            if (one.failed()) {
                adopt(one);
                return *this;
            }
            out.push_back(std::move(element));
        }
        return *this;
    }
    /// A name of an enumeration.
    template <class Enum, class Parse>
    Fields& readEnum(const char* key, Enum& out, Parse parse)
    {
        std::string name;
        if (find(key) != nullptr) {
            read(key, name);
            if (const auto value = parse(name)) {
                out = *value;
            } else {
                wrong(key, "is unknown: " + name);
            }
        }
        return *this;
    }
    /// A list of objects, each read by `parse`, which returns Result<T>.
    template <class T, class Parse>
    Fields& readObjects(const char* key, std::vector<T>& out, Parse parse)
    {
        const auto* value = find(key);
        if (value == nullptr) {
            return *this;
        }
        if (!value->is_array()) {
            wrong(key, "is not a list");
            return *this;
        }
        out.clear();
        for (const auto& item : *value) {
            auto element = parse(item);
            if (!element) {
                take(element.error());
                return *this;
            }
            out.push_back(std::move(*element));
        }
        return *this;
    }
    /// JSON of its own, kept as text.
    Fields& readJsonText(const char* key, std::string& out)
    {
        if (const auto* value = find(key)) {
            out = dumpJson(*value);
        }
        return *this;
    }
    void wrong(const char* key, const std::string& how)
    {
        if (m_error.empty()) {
            m_error = m_what + "." + key + " " + how;
        }
    }
    void take(const Error& error)
    {
        if (m_error.empty()) {
            m_error = error.message;
        }
    }
    void adopt(const Fields& other)
    {
        if (m_error.empty()) {
            m_error = other.m_error;
        }
    }
    [[nodiscard]] bool failed() const { return !m_error.empty(); }
    [[nodiscard]] tl::unexpected<Error> error() const { return fail(ErrorCode::Parse, m_error); }

private:
    static bool toInteger(const nlohmann::json& value, std::int64_t& out)
    {
        if (value.is_number_unsigned()) {
            const auto number = value.get<std::uint64_t>();
            if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
                return false;
            }
            out = static_cast<std::int64_t>(number);
            return true;
        }
        if (value.is_number_integer()) {
            out = value.get<std::int64_t>();
            return true;
        }
        return false;
    }

    const nlohmann::json& m_object;
    std::string m_what;
    std::string m_error;
};

/// A JSON text to embed; what is not JSON becomes an empty object, because it must not break the
/// message around it.
inline nlohmann::json embedded(const std::string& text)
{
    auto parsed = parseJson(text);
    return parsed ? *parsed : nlohmann::json::object();
}

} // namespace lathe::protocol
