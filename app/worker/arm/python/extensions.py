# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""load_inline and load of torch.utils.cpp_extension: their sources go to Lathe's builder, what it made is loaded.

A first process imports the candidate only to learn which extensions it asks for. The builder compiles them in its own
sandbox; in every later process the same call finds its library by the hash of what it asked for."""
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import types

import torch

from _lathe_values import ArmError


def mentioned(folder):
    """Whether anything in the candidate's folder speaks of extensions; patching costs an import."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8-sig", errors="replace") as file:
                text = file.read()
            if "cpp_extension" in text or "load_inline" in text:
                return True
    return False


def listed(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


class Stub:
    """What a call gets while the sources are only being collected."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)

        def later(*_arguments, **_keywords):
            raise ArmError(f"{self._name}.{attribute} is called while model_new.py is imported; call it in the model")

        return later


class Extensions:
    """Takes the place of torch.utils.cpp_extension's two functions. folder: of the candidate; collecting: the first pass."""

    def __init__(self, folder, collecting):
        self.folder = folder
        self.collecting = collecting
        self.asked = []

    def install(self):
        try:
            from torch.utils import cpp_extension
        except ImportError:  # it needs setuptools, which our builder does not
            cpp_extension = torch.utils.cpp_extension = types.ModuleType("torch.utils.cpp_extension")
            sys.modules["torch.utils.cpp_extension"] = cpp_extension
        cpp_extension.load_inline = self.load_inline
        cpp_extension.load = self.load

    def load_inline(self, name, cpp_sources, cuda_sources=None, functions=None, extra_cflags=None, extra_ldflags=None,
                    extra_include_paths=None, is_python_module=True, no_implicit_headers=False, **_unused):
        text = "\n".join(listed(cpp_sources))
        if functions is not None:
            pairs = functions.items() if isinstance(functions, dict) else [(f, f) for f in listed(functions)]
            text += "\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
            text += "".join(f"  m.def({json.dumps(f)}, &{f}, {json.dumps(doc)});\n" for f, doc in pairs) + "}\n"
        files = [["main.cpp", text]]
        if listed(cuda_sources):
            files.append(["cuda.cu", "\n".join(listed(cuda_sources))])
        return self.asked_for(name, files, ["main.cpp"], extra_cflags, extra_ldflags, extra_include_paths, is_python_module,
                              not no_implicit_headers)

    def load(self, name, sources, extra_cflags=None, extra_ldflags=None, extra_include_paths=None, is_python_module=True,
             **_unused):
        files, units = [], []
        root = os.path.realpath(self.folder)
        for source in listed(sources):
            path = os.path.realpath(os.path.join(root, source))
            if not path.startswith(root + "/") or not os.path.isfile(path):
                raise ArmError(f"load() of {name} names {source}, which is no file of the candidate")
            units.append(os.path.relpath(path, root))
        for at, _, names in os.walk(root):  # headers that the sources include
            for entry in sorted(names):
                if entry.endswith((".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cuh", ".cu", ".inl")):
                    path = os.path.join(at, entry)
                    with open(path, encoding="utf-8") as file:
                        files.append([os.path.relpath(path, root), file.read()])
        return self.asked_for(name, sorted(files), units, extra_cflags, extra_ldflags, extra_include_paths, is_python_module,
                              False)

    def asked_for(self, name, files, units, cflags, ldflags, includes, is_module, header):
        if not str(name).isidentifier():
            raise ArmError(f"the extension's name {name!r} is not a Python name")
        if listed(includes):
            raise ArmError(f"the extension {name} names include folders of its own; put the headers beside model_new.py")
        request = {"name": name, "files": files, "units": units, "flags": listed(cflags), "link": listed(ldflags),
                   "header": header}
        key = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        if self.collecting:
            if all(known["key"] != key for known in self.asked):
                self.asked.append({**request, "key": key})
            return Stub(name)
        library = os.path.join(self.folder, "extensions", key, name + ".so")
        if not os.path.isfile(library):
            raise ArmError(f"the extension {name} was not built: call load_inline at the top level of model_new.py, with the "
                           "same sources in every process")
        if not is_module:
            torch.ops.load_library(library)
            return library
        loader = importlib.machinery.ExtensionFileLoader(name, library)
        module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, library, loader=loader))
        loader.exec_module(module)
        sys.modules[name] = module
        return module
