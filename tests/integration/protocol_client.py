# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""A second, independent speaker of the worker protocol, written from docs/protocol.md alone."""
import json
import os
import select
import struct
import subprocess
import time

HELLO, REQUEST, EVENT, DONE, FAILURE, CANCEL, SHUTDOWN = 1, 2, 3, 4, 5, 6, 7


class Worker:
    """One `lathe-worker serve` process. Not thread-safe."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.buffer = b""
        self.next_id = 1
        self.send(HELLO, 0, {"version": 1, "software": "protocol_client"})
        frame = self.receive(60)
        if frame["type"] != HELLO:
            raise RuntimeError(f"expected a hello, got {frame}")
        self.hello = frame["json"]

    def send(self, kind, request, body, attachments=()):
        text = json.dumps(body).encode()
        data = struct.pack("<IHHQ", len(text), kind, len(attachments), request) + text
        for attachment in attachments:
            data += struct.pack("<Q", len(attachment)) + attachment
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def take(self, count, deadline):
        while len(self.buffer) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("the worker did not answer in time")
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise EOFError("the worker closed its output")
            self.buffer += chunk
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def receive(self, timeout):
        deadline = time.monotonic() + timeout
        size, kind, count, request = struct.unpack("<IHHQ", self.take(16, deadline))
        body = json.loads(self.take(size, deadline))
        attachments = []
        for _ in range(count):
            (length,) = struct.unpack("<Q", self.take(8, deadline))
            attachments.append(self.take(length, deadline))
        return {"type": kind, "request": request, "json": body, "attachments": attachments}

    def start(self, source, files=None, fmt="native", method="evaluate", variants=None, only=None, task=None, flags=(),
              parent=None, **extra):
        """Sends a request, returns its id. files: {path: text}; parent: such files as well; variants: [{name, constants: {name: literal}}], the
        task's; only: the names of those to judge."""
        attachments = [source.encode()]
        body = {"method": method, "tier": "quick", "until": "verify", "device": "cpu"}
        body["task"] = {"key": "test/task", "attachment": 0, "variants": [], "weights": "mutable"}
        for variant in variants or [{"name": "default", "headline": True}]:
            row = dict(variant)
            row["constants"] = [{"name": k, "literal": v} for k, v in variant.get("constants", {}).items()]
            body["task"]["variants"].append(row)
        body["task"].update(task or {})
        if files is not None:
            rows = []
            for path, text in files.items():
                rows.append({"path": path, "attachment": len(attachments)})
                attachments.append(text.encode() if isinstance(text, str) else text)
            body["candidate"] = {"id": "c", "format": fmt, "files": rows, "flags": list(flags)}
        if parent is not None:
            rows = [{"path": path, "attachment": len(attachments) + i} for i, path in enumerate(parent)]
            attachments += [text.encode() if isinstance(text, str) else text for text in parent.values()]
            body["parent"] = {"id": "p", "format": fmt, "files": rows, "flags": list(flags)}
        if only:
            body["variants"] = list(only)
        body.update(extra)
        request = self.next_id
        self.next_id += 1
        self.send(REQUEST, request, body, attachments)
        return request

    def wait(self, request, timeout=120):
        """Collects events until the request ends: {"done": ..., "failure": ..., "events": [...]}."""
        out = {"done": None, "failure": None, "events": []}
        deadline = time.monotonic() + timeout
        while True:
            frame = self.receive(max(0.01, deadline - time.monotonic()))
            if frame["request"] != request:
                continue
            if frame["type"] == EVENT:
                out["events"].append((frame["json"], frame["attachments"]))
            elif frame["type"] in (DONE, FAILURE):
                out["done" if frame["type"] == DONE else "failure"] = frame["json"]
                return out

    def close(self):
        try:
            self.send(SHUTDOWN, 0, {})
            self.process.wait(10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def words_of(outcome):
    """Everything the outcome says about why, in lower case."""
    parts = []
    for part in (outcome["done"], outcome["failure"]):
        if part:
            parts += [str(part.get("reason", "")), str(part.get("message", "")), str(part.get("detail", ""))]
    for event, _ in outcome["events"]:
        if event["event"] == "gate" and event["gate"]["status"] == "fail":
            parts.append(event["gate"]["reason"])
            parts.append(json.dumps(event["gate"].get("detail", {})))
        if event["event"] == "build":
            for row in event["report"].get("diagnostics", []):
                parts.append(f"{row.get('file')}:{row.get('line')}: {row.get('message')}")
    return " ".join(parts).lower()
