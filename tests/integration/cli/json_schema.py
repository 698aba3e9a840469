# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The part of JSON Schema 2020-12 that our schemas use; a keyword it does not know is an error, never ignored."""
import re

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "examples", "default", "format", "$comment"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
}


def same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def errors(value, schema, root=None, at="$"):
    """Every violation as one line; an empty list means valid."""
    root = schema if root is None else root
    if schema is True:
        return []
    if schema is False:
        return [f"{at}: nothing is allowed here"]
    found = []
    for keyword, rule in schema.items():
        found += check(keyword, rule, schema, value, root, at)
    return found


def check(keyword, rule, schema, value, root, at):
    if keyword in ANNOTATIONS or keyword in ("then", "else"):
        return []
    if keyword == "$ref":
        target = root
        for part in rule.removeprefix("#/").split("/"):
            target = target[part]
        return errors(value, target, root, at)
    if keyword == "type":
        kinds = [rule] if isinstance(rule, str) else rule
        return [] if any(TYPES[k](value) for k in kinds) else [f"{at}: {value!r} is no {' or '.join(kinds)}"]
    if keyword == "const":
        return [] if same(value, rule) else [f"{at}: {value!r} is not {rule!r}"]
    if keyword == "enum":
        return [] if any(same(value, r) for r in rule) else [f"{at}: {value!r} is not one of {rule}"]
    if keyword == "allOf":
        return [e for s in rule for e in errors(value, s, root, at)]
    if keyword in ("oneOf", "anyOf"):
        tried = [errors(value, s, root, at) for s in rule]
        good = sum(not t for t in tried)
        if good == 1 or (good > 1 and keyword == "anyOf"):
            return []
        return [f"{at}: {good} of the alternatives of {keyword} hold"] + min(tried, key=len)
    if keyword == "not":
        return [] if errors(value, rule, root, at) else [f"{at}: matches what it must not"]
    if keyword == "if":
        branch = "else" if errors(value, rule, root, at) else "then"
        return errors(value, schema.get(branch, True), root, at)
    if keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if not TYPES["number"](value):
            return []
        good = {"minimum": value >= rule, "maximum": value <= rule,
                "exclusiveMinimum": value > rule, "exclusiveMaximum": value < rule}[keyword]
        return [] if good else [f"{at}: {value} breaks {keyword} {rule}"]
    if keyword in ("minLength", "pattern"):
        if not isinstance(value, str):
            return []
        good = len(value) >= rule if keyword == "minLength" else re.search(rule, value)
        return [] if good else [f"{at}: {value!r} breaks {keyword} {rule}"]
    if keyword in ("items", "minItems", "maxItems", "uniqueItems"):
        if not isinstance(value, list):
            return []
        if keyword == "items":
            return [e for i, v in enumerate(value) for e in errors(v, rule, root, f"{at}[{i}]")]
        good = {"minItems": len(value) >= rule, "maxItems": len(value) <= rule,
                "uniqueItems": not rule or all(not same(a, b) for i, a in enumerate(value) for b in value[:i])}[keyword]
        return [] if good else [f"{at}: {len(value)} items break {keyword} {rule}"]
    if keyword in ("minProperties", "maxProperties"):
        if not isinstance(value, dict):
            return []
        good = len(value) >= rule if keyword == "minProperties" else len(value) <= rule
        return [] if good else [f"{at}: {len(value)} members break {keyword} {rule}"]
    if keyword in ("properties", "required", "additionalProperties", "patternProperties", "propertyNames"):
        return check_object(keyword, rule, schema, value, root, at) if isinstance(value, dict) else []
    raise ValueError(f"json_schema.py does not know the keyword {keyword}")


def check_object(keyword, rule, schema, value, root, at):
    if keyword == "required":
        return [f"{at}: {k} is missing" for k in rule if k not in value]
    if keyword == "properties":
        return [e for k, s in rule.items() if k in value for e in errors(value[k], s, root, f"{at}.{k}")]
    if keyword == "propertyNames":
        return [e for k in value for e in errors(k, rule, root, f"{at}.{k}")]
    if keyword == "patternProperties":
        return [e for p, s in rule.items() for k in value if re.search(p, k) for e in errors(value[k], s, root, f"{at}.{k}")]
    patterns = schema.get("patternProperties", {})
    return [e for k, v in value.items() if k not in schema.get("properties", {}) and not any(re.search(p, k) for p in patterns)
            for e in errors(v, rule, root, f"{at}.{k}")]
