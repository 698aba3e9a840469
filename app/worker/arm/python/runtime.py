# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The arm's Python side: what has Python itself as its subject. Compiled into lathe-arm, called from model_host.cpp."""
import ast
import gc
import os
import random
import sys
import traceback
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode

OWN_FILE = "<lathe>"
NARROW_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


# In the zygote: phases neither walk nor, by writing counters, copy what all of them share.
gc.collect()
gc.freeze()


class ArmError(Exception):
    """A failure that is already one sentence for a person."""


class Float64Everywhere(TorchDispatchMode):
    """The golden's arithmetic: a cast to a narrower float inside forward must not cost precision."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else torch imports its compiler (a second) only to keep out of this method

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if isinstance(value, torch.dtype) and value in NARROW_FLOATS else value

        return function(*[widen(a) for a in args], **{k: widen(v) for k, v in (kwargs or {}).items()})


class Host:
    """One phase's model and what belongs to it."""

    def __init__(self, device):
        self.device = device
        self.stage = "wire"
        self.model = None
        self.call = None
        self.task = None
        self.user_paths = []
        self.generated_scopes = []
        self.unwrapped = []

    # -- loading ---------------------------------------------------------------------------------------------------

    def load_reference(self, path, constants, seed, mode, precision, upcast, compile_mode):
        self.user_paths.append(path)
        self.stage = "import"
        set_precision(precision)
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read(), path)
        self.stage = "constants"
        replace_constants(tree, dict(zip(constants[::2], constants[1::2])))
        self.stage = "import"
        self.task = run_module("lathe_task", path, tree)
        self.stage = "init"
        arguments = self.init_inputs(seed)
        seed_all(seed)
        model = attribute(self.task, "Model", "the task")(*arguments)
        self.adopt(model, mode)
        if upcast:
            model.double()
        if compile_mode:
            self.watch_generated_code()
            self.call = torch.compile(model, mode=None if compile_mode == "default" else compile_mode)
        self.settle()

    def init_inputs(self, seed=None):
        self.stage = "init"
        if seed is not None:
            seed_all(seed)
        get = getattr(self.task, "get_init_inputs", None)
        arguments = [] if get is None else get()
        if not isinstance(arguments, (list, tuple)):
            raise ArmError("get_init_inputs() must return a list, it returned " + type(arguments).__name__)
        return list(arguments)

    def load_candidate(self, folder, init_inputs, names, tensors, frozen, seed, mode, precision):
        self.user_paths.append(folder.rstrip("/") + "/")
        # Last, so that nothing of the candidate's can shadow a library's module.
        sys.path.append(folder)
        self.stage = "import"
        set_precision(precision)
        path = os.path.join(folder, "model_new.py")
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read(), path)
        self.task = run_module("model_new", path, tree)
        self.stage = "init"
        seed_all(seed)
        model = attribute(self.task, "ModelNew", "model_new.py")(*init_inputs)
        self.adopt(model, mode)
        self.stage = "load"
        load_weights(model, dict(zip(names, tensors)), frozen)
        if callable(getattr(model, "prepare", None)):
            self.stage = "prepare"
            model.prepare()
        self.settle()

    def adopt(self, model, mode):
        if not isinstance(model, torch.nn.Module):
            raise ArmError(type(model).__name__ + " is not a torch.nn.Module")
        model.train(mode == "train")
        if self.device != "cpu":
            model.to(self.device)
        self.model = self.call = model

    def settle(self):
        # What was loaded lives as long as the process: the collector need not walk it between calls.
        gc.collect()
        gc.freeze()

    # -- inputs and weights ----------------------------------------------------------------------------------------

    def make_inputs(self, seed):
        self.stage = "inputs"
        seed_all(seed)
        inputs = attribute(self.task, "get_inputs", "the task")()
        if not isinstance(inputs, (list, tuple)):
            raise ArmError("get_inputs() must return a list, it returned " + type(inputs).__name__)
        return [self.placed(value) for value in inputs]

    def placed(self, value):
        if isinstance(value, torch.Tensor):
            return value.detach().to(self.device)
        if isinstance(value, (list, tuple)):
            return type(value)(self.placed(item) for item in value)
        if isinstance(value, dict):
            return {key: self.placed(item) for key, item in value.items()}
        return value

    def weights(self):
        self.stage = "load"
        if self.model is None:
            raise ArmError("no model is loaded")
        state = self.model.state_dict()
        pairs = [(name, value.detach()) for name, value in state.items() if isinstance(value, torch.Tensor)]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def check_supported(self, arguments):
        supports = getattr(self.model, "supports", None)
        if callable(supports):
            self.stage = "declined"
            if not supports(*arguments):
                raise ArmError("the candidate declares this shape unsupported")

    # -- running ---------------------------------------------------------------------------------------------------

    def golden(self, arguments):
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with Float64Everywhere():
                return self.call(*arguments)
        finally:
            torch.set_default_dtype(default)

    # Kernels that Inductor generates are plain globals of the modules it writes. They are wrapped only while a trace
    # runs, so that the evidence sees the same code from the same cache as the timing does.

    def watch_generated_code(self):
        from torch._inductor.async_compile import AsyncCompile

        wait, scopes = AsyncCompile.wait, self.generated_scopes

        def remembering_wait(compiler, scope):
            wait(compiler, scope)
            scopes.append(scope)

        AsyncCompile.wait = remembering_wait

    def wrap_generated(self, record, clock):
        def traced(name, kernel):
            def call(*arguments):
                start = clock()
                result = kernel(*arguments)
                record(name, start, clock())
                return result

            return call

        for scope in self.generated_scopes:
            for name, kernel in list(scope.items()):
                if name.startswith("cpp_fused") and callable(kernel):
                    self.unwrapped.append((scope, name, kernel))
                    scope[name] = traced(name, kernel)

    def unwrap_generated(self):
        for scope, name, kernel in self.unwrapped:
            scope[name] = kernel
        self.unwrapped.clear()

    # -- failures --------------------------------------------------------------------------------------------------

    def describe(self, error):
        """(stage, sentence, traceback, line, file) of an exception."""
        summary = traceback.TracebackException.from_exception(error)
        stack = summary.stack
        mine = [frame for frame in stack if self.is_users(frame.filename)]
        summary.stack = traceback.StackSummary.from_list([frame for frame in stack if frame.filename != OWN_FILE])
        file, line = (mine[-1].filename, mine[-1].lineno or 0) if mine else ("", 0)
        if isinstance(error, SyntaxError):
            file, line = error.filename or file, error.lineno or line
        first = (str(error).strip().splitlines() or [""])[0]
        sentence = first if isinstance(error, ArmError) else type(error).__name__ + (": " + first if first else "")
        return self.stage, sentence, "".join(summary.format()), int(line), file

    def is_users(self, filename):
        return any(filename == path or (path.endswith("/") and filename.startswith(path)) for path in self.user_paths)


def run_module(name, path, tree):
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def attribute(module, name, owner):
    value = getattr(module, name, None)
    if value is None:
        raise ArmError(f"{owner} defines no {name}")
    return value


def seed_all(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def set_precision(policy):
    if policy in ("fp32-strict", "tf32"):
        torch.set_float32_matmul_precision("high" if policy == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = policy == "tf32"


def replace_constants(tree, constants):
    """Replaces the values of top-level assignments, so that everything derived from them follows."""
    values = {}
    for name, literal in constants.items():
        try:
            ast.literal_eval(literal)
            values[name] = ast.parse(literal, mode="eval").body
        except (ValueError, SyntaxError):
            raise ArmError(f"the constant {name} is given as {literal!r}, which is not a Python literal") from None
    found = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target = statement.target
        else:
            continue
        if isinstance(target, ast.Name) and target.id in values:
            found.add(target.id)
            old = statement.value
            statement.value = ast.parse(constants[target.id], mode="eval").body
            for node in ast.walk(statement.value):
                ast.copy_location(node, old)
    missing = sorted(set(values) - found)
    if missing:
        raise ArmError("the task has no top-level constant " + ", ".join(missing))


def load_weights(model, weights, frozen):
    own = getattr(model, "load_reference_state", None)
    if callable(own):
        with torch.no_grad():
            own(weights if frozen else {name: value.clone() for name, value in weights.items()})
        return
    state = model.state_dict()
    problems = []
    missing = sorted(set(state) - set(weights))
    unexpected = sorted(set(weights) - set(state))
    if missing:
        problems.append("ModelNew has, but the reference has not: " + ", ".join(missing))
    if unexpected:
        problems.append("the reference has, but ModelNew has not: " + ", ".join(unexpected))
    for name in sorted(set(state) & set(weights)):
        if state[name].shape != weights[name].shape:
            problems.append(f"{name} has shape {list(state[name].shape)}, the reference's {list(weights[name].shape)}")
    if problems:
        raise ArmError("the weights do not match (" + "; ".join(problems)
                       + "); define load_reference_state(self, state) to convert them")
    model.load_state_dict(weights, strict=True, assign=bool(frozen))
