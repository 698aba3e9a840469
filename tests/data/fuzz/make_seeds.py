#!/usr/bin/env python3
# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the hand-made seeds seed-*, one folder a fuzz target, from docs/protocol.md and the formats' documents alone.
Files of other names were found by a fuzzer and are kept because they once broke something or reach far."""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent


def save(target, name, data):
    folder = HERE / target
    folder.mkdir(exist_ok=True)
    (folder / f"seed-{name}").write_bytes(data if isinstance(data, bytes) else data.encode())


def frame(kind, request, body, *attachments):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    data = struct.pack("<IHHQ", len(text), kind, len(attachments), request) + text
    return data + b"".join(struct.pack("<Q", len(a)) + a for a in attachments)


def frames():
    hello = frame(1, 0, {"version": 1, "software": "x"})
    save("frame", "hello", hello)
    save("frame", "two-and-a-half", hello + frame(2, 258, {}, b"abc", b"") + frame(6, 258, {})[:9])
    save("frame", "no-json", frame(7, 0, b""))
    save("frame", "unknown-type", hello + frame(99, 1, {}))
    save("frame", "json-too-long", struct.pack("<IHHQ", 1 << 31, 3, 0, 1))
    save("frame", "attachment-too-long", frame(3, 1, {})[:6] + struct.pack("<HQ", 1, 1) + b"{}" + struct.pack("<Q", 1 << 62))
    save("frame", "not-json", frame(3, 1, b"{\"a\":"))


TASK = {"key": "k", "attachment": 0, "variants": [{"name": "v", "constants": [{"name": "rows", "literal": "4"}],
        "device": "cpu", "headline": True, "hidden": False}], "precision": "pytorch-default", "mode": "eval",
        "weights": "frozen", "mutates": [0], "libraries": ["cublas"], "tolerance": {"relative": 1e-3, "absolute": None},
        "stochastic": "none", "forwardTimeoutSeconds": 5, "importTimeoutSeconds": 8}
CANDIDATE = {"id": "c", "parent": "p", "format": "native", "files": [{"path": "model_new.py", "attachment": 1},
             {"path": "kernels/k.cpp", "attachment": 2}], "flags": ["-O2"]}
REQUEST = {"method": "evaluate", "task": TASK, "candidate": CANDIDATE, "parent": CANDIDATE, "tier": "accept", "until": "bench",
           "device": "cuda", "deviceIndex": 1, "variants": ["v"], "against": ["eager"], "minSeconds": 1.5,
           "maxNoisePercent": 0.5, "timeoutSeconds": 60, "replaySeed": 18446744073709551615}
EVENTS = {
    "stage": {"stage": "build", "text": "compiling", "fraction": 0.5},
    "build": {"report": {"status": "failed", "seconds": 1.5, "cached": False, "diagnostics": [
        {"file": "k.cpp", "line": 3, "column": 5, "severity": "error", "message": "expected ;"}],
        "kernels": [{"name": "f", "registers": 32, "sharedBytes": None, "spillStoreBytes": 0, "spillLoadBytes": 8}]},
        "attachment": 0},
    "gate": {"gate": {"name": "numerics", "status": "warn", "reason": "close", "detail": {"maxAbs": "NaN", "index": [1, 2]}}},
    "timing": {"row": {"arm": "eager", "variant": "v", "protocol": "warm", "samples": 3, "discarded": 1, "medianUs": 2.5,
               "lowUs": 2, "highUs": 3, "p10Us": 2, "p90Us": 3, "cvPercent": None, "samplesUs": [1, 2.5, 1e300]}},
    "comparison": {"comparison": {"arm": "candidate", "against": "eager", "variant": "v", "protocol": "cold", "ratio": 1.5,
                   "low": 1.4, "high": 1.6, "verdict": "faster"}},
    "trace": {"arm": "candidate", "variant": "v", "protocol": "evidence", "calls": 3, "attachment": 0},
    "log": {"source": "tool", "text": "line\n"},
    "warning": {"text": "loaded"},
}
DONE = {"verdict": "correct", "reason": "", "target": {"name": "local", "device": "d", "driver": "", "toolchain": "g++",
        "torch": "2.11", "sandbox": "bubblewrap"}, "conditions": {"threads": 2, "affinity": "0,1", "allocator": "a", "load": 0.5,
        "clocks": "", "throttle": ""}, "controls": {}, "evidence": {"variant": "v", "kernels": []}, "limit": {"us": 3.5},
        "attested": [], "aaFloorPercent": 0.4, "seeds": [1, 18446744073709551615], "workerSeconds": 1, "compilerSeconds": 2,
        "armSeconds": 3, "samplingSeconds": 4, "exitCode": 0}


def messages():
    def text(kind, body, *attachments):
        return kind + json.dumps(body).encode() + b"\0" + b"".join(a + b"\0" for a in attachments)
    save("messages", "request", text(b"q", REQUEST, b"import torch", b"class ModelNew: pass", b"int k;"))
    save("messages", "baseline", text(b"q", {"method": "baseline", "task": TASK, "supersedes": 4}, b"x"))
    save("messages", "exec", text(b"x", dict(REQUEST, method="exec", command=["perf", "stat"]), b"", b"", b""))
    save("messages", "path-outside", text(b"q", {"method": "evaluate", "task": TASK, "candidate": {
        "files": [{"path": "../../etc/passwd", "attachment": 0}]}}, b"x"))
    for name, body in EVENTS.items():
        save("messages", f"event-{name}", text(b"e", dict(body, event=name), b"text \xff"))
    save("messages", "done", text(b"d", DONE))
    save("messages", "done-empty", text(b"d", {}))
    save("messages", "failure", text(b"f", {"code": "refused", "message": "no", "detail": "why"}))
    save("messages", "hello", text(b"h", {"version": 1, "software": "lathe-worker 0.1.0", "pid": 4711, "target": DONE["target"],
         "devices": ["cpu", "cuda:0"], "capabilities": [{"name": "n", "status": "missing", "found": "", "fix": "f"}]}))


def field(tag, kind, payload):
    return struct.pack("<HHI", tag, kind, len(payload)) + payload + b"\0" * (-len(payload) % 8)


def packet(kind, serial, *fields):
    body = b"".join(fields)
    return struct.pack("<IHHII", 0x4d52414c, kind, len(fields), serial, len(body)) + body


def strings(*texts):
    return struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(t)) + t for t in texts)


def tensor(dtype, shape, strides=None):
    data = struct.pack("<BBBB", dtype, len(shape), strides is not None, 0)
    return data + struct.pack(f"<{len(shape)}q", *shape) + struct.pack(f"<{len(strides or [])}q", *(strides or []))


def arm():
    none, true, five = b"\0", b"\1" + struct.pack("<q", 1), b"\2" + struct.pack("<q", 5)
    half, text, place = b"\3" + struct.pack("<d", 0.5), b"\4" + struct.pack("<I", 2) + b"hi", b"\5" + struct.pack("<q", 0)
    pair = b"\6" + struct.pack("<I", 2) + place + half
    table = b"\x08" + struct.pack("<I", 2) + text + b"\7" + struct.pack("<I", 1) + five
    nested = b"".join(b"\7" + struct.pack("<I", 1) for _ in range(31)) + none
    values = lambda *v: struct.pack("<I", len(v)) + b"".join(v)  # noqa: E731
    save("arm_reader", "null", packet(29, 1, field(1, 1, struct.pack("<q", 258))))
    save("arm_reader", "described", packet(62, 2, field(9, 5, strings(b"", b"rows")), field(10, 6, struct.pack("<I", 3)
         + tensor(7, [2, 3]) + tensor(8, [4, 4], [1, 4]) + tensor(5, [])), field(11, 7, values(pair, true, table))))
    save("arm_reader", "everything", packet(28, 3, field(1, 1, struct.pack("<q", -1)), field(2, 1, struct.pack("<q", 2)),
         field(3, 2, struct.pack("<3q", 1, 2, 3)), field(4, 3, struct.pack("<2d", 0.5, float("nan"))), field(5, 4, b"text"),
         field(6, 4, b""), field(7, 4, b"three"), field(8, 4, b"\xff\0"), field(77, 9, b"unknown")))
    save("arm_reader", "deep", packet(63, 4, field(11, 7, values(nested))))
    save("arm_reader", "too-deep", packet(63, 4, field(11, 7, values(b"\7" + struct.pack("<I", 1) + nested))))
    save("arm_reader", "huge-extent", packet(62, 5, field(10, 6, struct.pack("<I", 1) + tensor(9, [1 << 31, 1 << 31, 4]))))
    save("arm_reader", "huge-count", packet(62, 5, field(10, 6, struct.pack("<I", 0xffffffff))))
    save("arm_reader", "twice", packet(60, 6, field(1, 1, struct.pack("<q", 1)), field(1, 1, struct.pack("<q", 2))))
    save("arm_reader", "cut", packet(60, 6, field(5, 4, b"some text"))[:-3])


def tasks():
    whole = {"title": "Scale", "suite": "s", "reference": "reference.py", "notes": "notes.md", "precision": "bf16", "mode": "eval",
             "weights": "frozen", "mutates": [1], "libraries": ["blas"], "tolerance": {"relative": 0.001, "absolute": 1e-6},
             "stochastic": "none", "forwardTimeoutSeconds": 5, "importTimeoutSeconds": 60, "variants": [
                 {"name": "big", "headline": True, "device": "cpu", "constants": {"rows": 512, "dtype": "it's \\ \"x\"\n\u00e9"}},
                 {"name": "odd", "hidden": True, "constants": {"rows": [1, 2.5, True, None, [False]]}}]}
    save("task_json", "whole", json.dumps(whole, indent=2))
    save("task_json", "empty-object", "{}")
    save("task_json", "nothing", "")
    save("task_json", "list", "[1, 2")
    save("task_json", "unknown-member", '{"colour": "red"}')
    save("task_json", "wrong-types", '{"variants": {"name": 3}, "mutates": "x", "tolerance": -1, "mode": "fly"}')
    save("task_json", "same-variant-twice", '{"variants": [{"name": "a"}, {"name": "a"}]}')
    save("task_json", "path-outside", '{"reference": "../../etc/passwd"}')
    save("task_json", "python", '{"variants": [{"name": "a", "constants": {"n": 1}}]}\0"""doc\nstring"""\nn: int = 3\n'
         "m = n = (1,\n 2)\n@deco\nclass Model(Base):\n    def forward(self): '''x'''\nasync def f(): pass\n"
         "def get_inputs(a=\"\\\"#\"):\n\treturn [] # class Hidden:\ndef get_init_inputs(): return r'\\'\n")
    save("task_json", "open-string", '{}\0class Model: pass\nx = """never\ndef get_inputs(): pass\n')


def stream():
    def event(body):
        return "data: " + (body if isinstance(body, str) else json.dumps(body)) + "\n\n"

    def delta(members, finish=None, **more):
        return event(dict({"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}, **more))
    call = lambda **m: delta({"tool_calls": [m]})  # noqa: E731
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}, "cost": 0.01}
    save("model_stream", "tools", ": keep-alive\n\n" + delta({"role": "assistant", "content": None}, model="m")
         + delta({"reasoning_content": "because"}) + delta({"content": "gr\u00fc\u00df"})
         + call(index=0, id="a", type="function", function={"name": "write_file", "arguments": ""})
         + call(index=0, function={"arguments": '{"path":"k'}) + call(index=0, function={"arguments": '.cpp"}'})
         + call(index=1, id="b", function={"name": "compile", "arguments": "{}"}) + delta({}, "tool_calls")
         + event({"choices": [], "usage": usage}) + event("[DONE]"))
    save("model_stream", "crlf", "\ufeffevent: x\r\nid: 1\r\ndata: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\"a\"},"
         "\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\r")
    save("model_stream", "error-inside", event({"error": {"message": "busy", "code": 429, "type": "rate", "status": 429}}))
    save("model_stream", "whole-body", json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "x",
         "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"k": [1]}}}]}, "finish_reason": "stop"}],
         "usage": usage}))
    save("model_stream", "error-body", '{"error": "no such model"}')
    save("model_stream", "html", "<html><title>502 Bad Gateway</title><body>x</body></html>")
    save("model_stream", "broken-arguments", call(index=0, id="a", function={"name": "f", "arguments": '{"a": [1, '})
         + delta({}, "length"))
    save("model_stream", "same-index", call(index=0, id="a", function={"name": "f", "arguments": "{}"})
         + call(index=0, id="b", function={"name": "g", "arguments": "{}"}) + delta({"refusal": "no"}, "stop"))
    save("model_stream", "odd-types", event({"choices": {"delta": 1}}) + event({"choices": [[], None, {"delta": {"content": 3,
         "tool_calls": [7, {"index": "x", "function": []}]}, "finish_reason": 5}]}) + event("nonsense"))


def traces():
    x = {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 5270687133531.919, "dur": 111.089}
    rows = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
            {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": -3}}, x,
            dict(x, name="inner", ts=x["ts"] + 5, dur=3), dict(x, cat="kernel,x", tid="stream 7", args={"stream": 7,
            "correlation": 9}), {"ph": "B", "name": "b", "pid": "p", "tid": 2, "ts": 1}, {"ph": "E", "pid": "p", "tid": 2, "ts": 9.5},
            {"ph": "i", "name": "instant", "ts": 4}]
    save("chrome_trace", "object", json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": rows}))
    save("chrome_trace", "array", json.dumps(rows))
    save("chrome_trace", "cut", json.dumps(rows)[:-20])
    save("chrome_trace", "odd-times", json.dumps([dict(x, dur=-5), dict(x, ts="12.5"), dict(x, ts=1e300), dict(x, ts=None),
         dict(x, ts=-1e12, dur=2e12), dict(x, dur=2305843009213693.951), dict(x, ts=2305843009213693.951)]))
    save("chrome_trace", "marks", json.dumps([{"ph": "E", "ts": 1}, {"ph": "B", "ts": -2305843009213693}, {"ph": "B", "ts": 3},
         {"ph": "E", "ts": 2305843009213693}]))
    save("chrome_trace", "none", '{"traceEvents": []}')
    save("chrome_trace", "not-utf8", b'[{"ph":"X","name":"k\xff","pid":1,"tid":1,"ts":1,"dur":1}]')


frames()
messages()
arm()
tasks()
stream()
traces()
