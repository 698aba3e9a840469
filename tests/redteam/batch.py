# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Several candidates in one request, each as variants of one task: for candidates that must all be correct, because an
evaluation ends at the first one that is not. A request needs one sandbox, and every sandbox imports torch."""
import re

REFERENCE = """
which = 0
SOURCES = {sources!r}
SOURCE_OF = {source_of!r}
space = {{"__name__": "lathe_task"}}
exec(SOURCES[SOURCE_OF[which]], space)
get_inputs = space["get_inputs"]


class Model(space["Model"]):
    def __init__(self, *arguments):
        super().__init__(*arguments[:-1])


def get_init_inputs():
    return [*space["get_init_inputs"](), which]
"""

CANDIDATE = """
import importlib


def ModelNew(*arguments):
    *own, which = arguments
    return importlib.import_module(f"kernel{which}").ModelNew(*own)
"""


def combine(members, seeds=1):
    """members: [(name, source of the reference, candidate)]. The reference's source, (format, files) and variants."""
    sources = sorted({source for _, source, _ in members})
    files, variants = {"model_new.py": CANDIDATE}, []
    for number, (name, _, (_, own)) in enumerate(members):
        for path, text in own.items():
            if path == "model_new.py":
                files[f"kernel{number}.py"] = re.sub(r"lathe_native\.(\w+)", rf"lathe_native.k{number}_\1", text)
            else:
                text = re.sub(r"LATHE_EXPORT\((\w+)", rf"LATHE_EXPORT(k{number}_\1", text)
                files[path.replace("kernels/", f"kernels/{number}/", 1)] = text
        label = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:48]
        variants += [{"name": f"{label}.{seed}", "headline": not variants and seed == 0,
                      "constants": {"which": str(number)}} for seed in range(seeds)]
    reference = REFERENCE.format(sources=sources, source_of=[sources.index(source) for _, source, _ in members])
    native = any(fmt == "native" for _, _, (fmt, _) in members)
    return reference, ("native" if native else "modelnew", files), variants
