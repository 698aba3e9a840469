# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import importlib.abc
import importlib.util


class _EmbeddedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the further Python files of this export importable by their names."""

    def __init__(self, texts):
        self._texts = texts

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in self._texts else None

    def exec_module(self, module):
        exec(compile(self._texts[module.__name__], module.__name__ + ".py", "exec"), module.__dict__)
