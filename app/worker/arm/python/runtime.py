# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The arm's Python side: what has Python itself as its subject. Compiled into lathe-arm, called from model_host.cpp."""
import ast
import gc
import json
import os
import random
import sys
import traceback
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from _lathe_domains import check_domain, domain_bound, drawn, laid_out
from _lathe_extensions import Extensions, mentioned
from _lathe_values import (KEYWORDS, ArmError, can_grad, is_keywords, literal_value, map_tensors, numbers_as_tensors,
                           tensors_of)

OWN_FILE = "<lathe>"
NARROW_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
# What a load asks to be compared besides what forward returns.
BACKWARD, BUFFERS = 1, 2


# In the zygote: phases neither walk nor, by writing counters, copy what all of them share.
gc.collect()
gc.freeze()


class Float64Everywhere(TorchDispatchMode):
    """The golden's arithmetic: a cast to a narrower float inside forward must not cost precision."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else torch imports its compiler (a second) only to keep out of this method

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if isinstance(value, torch.dtype) and value in NARROW_FLOATS else value

        return function(*[widen(a) for a in args], **{k: widen(v) for k, v in (kwargs or {}).items()})


KEPT_BYTES = 16 << 20


def version_of(tensor):
    """Counts the writes that PyTorch makes; a kernel's own writes it does not see."""
    return None if tensor.is_inference() else tensor._version


class Host:
    """One phase's model and what belongs to it."""

    def __init__(self, device):
        self.device = device
        self.stage = "wire"
        self.model = None
        self.call = None
        self.task = None
        self.user_paths = []
        self.frozen = False
        self.generated_scopes = []
        self.unwrapped = []
        self.flags = 0
        self.upcast = False
        self.keywords = {"get_inputs": {}, "Model": {}}
        self.buffers = []

    # -- loading ---------------------------------------------------------------------------------------------------

    def load_reference(self, path, constants, seed, mode, precision, upcast, compile_mode, flags):
        self.flags = flags
        self.user_paths.append(path)
        self.stage = "import"
        set_precision(precision)
        tree = parse(path)
        self.stage = "constants"
        replace_constants(tree, self.split_keywords(dict(zip(constants[::2], constants[1::2]))))
        self.stage = "import"
        self.task = run_module("lathe_task", path, tree)
        self.stage = "init"
        arguments = self.positional(self.init_inputs(seed))
        seed_all(seed)
        model = attribute(self.task, "Model", "the task")(*arguments, **self.keywords["Model"])
        self.adopt(model, mode)
        self.upcast = upcast
        if upcast:
            model.double()
        if compile_mode:
            self.watch_generated_code()
            self.call = torch.compile(model, mode=None if compile_mode == "default" else compile_mode)
        if not upcast:
            set_autocast(self.device, precision)
        self.watch()
        self.settle()

    def split_keywords(self, constants):
        """Takes the keyword arguments ("get_inputs.batch") out of the constants."""
        plain = {}
        for name, literal in constants.items():
            callee, dot, keyword = name.partition(".")
            if dot:
                self.keywords[callee][keyword] = literal_value(name, literal)
            else:
                plain[name] = literal
        return plain

    @staticmethod
    def positional(arguments):
        """get_init_inputs' list without the keyword arguments that travel behind it."""
        return arguments[:-1] if arguments and is_keywords(arguments[-1]) else arguments

    def init_inputs(self, seed=None):
        self.stage = "init"
        if seed is not None:
            seed_all(seed)
        get = getattr(self.task, "get_init_inputs", None)
        arguments = [] if get is None else get()
        if not isinstance(arguments, (list, tuple)):
            raise ArmError("get_init_inputs() must return a list, it returned " + type(arguments).__name__)
        keywords = [{KEYWORDS: self.keywords["Model"]}] if self.keywords["Model"] else []
        return list(arguments) + keywords

    def load_candidate(self, folder, init_inputs, names, tensors, frozen, seed, mode, precision, flags):
        self.flags = flags
        self.user_paths.append(folder.rstrip("/") + "/")
        # Last, so that nothing of the candidate's can shadow a library's module.
        sys.path.append(folder)
        self.stage = "import"
        set_precision(precision)
        if mentioned(folder):
            Extensions(folder, False).install()
        path = os.path.join(folder, "model_new.py")
        self.task = run_module("model_new", path, parse(path))
        self.frozen, self.seed, self.mode = bool(frozen), seed, mode
        self.new_instance(init_inputs)
        self.take_weights(names, tensors)

    def new_instance(self, init_inputs):
        self.stage = "init"
        seed_all(self.seed)
        keywords = init_inputs[-1][KEYWORDS] if init_inputs and is_keywords(init_inputs[-1]) else {}
        model = attribute(self.task, "ModelNew", "model_new.py")(*self.positional(init_inputs), **keywords)
        self.adopt(model, self.mode)

    def take_weights(self, names, tensors):
        self.stage = "load"
        load_weights(self.model, dict(zip(names, tensors)), self.frozen)
        if callable(getattr(self.model, "prepare", None)):
            self.stage = "prepare"
            self.model.prepare()
        self.call = self.model
        self.watch()
        self.settle()

    def replace_weights(self, init_inputs, names, tensors, new_instance):
        if new_instance:
            self.new_instance(init_inputs)
        self.take_weights(names, tensors)

    def discover(self, folder):
        """The extensions that the candidate asks for when it is imported, as JSON."""
        self.user_paths.append(folder.rstrip("/") + "/")
        sys.path.append(folder)
        self.stage = "import"
        extensions = Extensions(folder, True)
        extensions.install()
        path = os.path.join(folder, "model_new.py")
        run_module("model_new", path, parse(path))
        return json.dumps(extensions.asked)

    def adopt(self, model, mode):
        if not isinstance(model, torch.nn.Module):
            raise ArmError(type(model).__name__ + " is not a torch.nn.Module")
        model.train(mode == "train")
        if self.device != "cpu":
            model.to(self.device)
        self.model = self.call = model

    def watch(self):
        """Last of all: what is compared besides what forward returns."""
        self.stage = "load"
        if self.flags & BUFFERS:
            self.buffers = self.kept_buffers(lambda buffer: True)
        else:
            # What a task does not compare is kept all the same where it is small, as state is: outputs may depend on it.
            self.buffers = self.kept_buffers(lambda buffer: buffer.nbytes <= KEPT_BYTES)
        if self.flags & BACKWARD:
            self.call = with_gradients(self.call, self.model)

    def kept_buffers(self, wanted):
        """[name, buffer, what it held when it was loaded, its version then]"""
        return [[name, buffer, buffer.detach().clone(), version_of(buffer)]
                for name, buffer in sorted(self.model.named_buffers()) if buffer is not None and wanted(buffer)]

    def settle(self):
        # What was loaded lives as long as the process: the collector need not walk it between calls.
        gc.collect()
        gc.freeze()

    # -- inputs and weights ----------------------------------------------------------------------------------------

    def make_inputs(self, seed, rules=(), vary=False):
        self.stage = "inputs"
        seed_all(seed)
        inputs = attribute(self.task, "get_inputs", "the task")(**self.keywords["get_inputs"])
        if isinstance(inputs, dict):
            inputs = self.by_name(inputs)
        if not isinstance(inputs, (list, tuple)):
            raise ArmError("get_inputs() must return a list, it returned " + type(inputs).__name__)
        inputs = [self.placed(value) for value in inputs]
        for index, domain, below, layout in rules:
            inputs[index:index + 1] = [self.ruled(inputs, index, domain, below, layout, vary)]
        if self.flags & BACKWARD:
            inputs.append(self.cotangents(inputs))
        return inputs

    def by_name(self, inputs):
        """A dictionary of inputs in the order of forward's parameters."""
        import inspect

        names = list(inspect.signature(self.model.forward).parameters)
        unknown = sorted(set(inputs) - set(names))
        if unknown:
            raise ArmError("get_inputs() names what forward does not take: " + ", ".join(map(str, unknown)))
        ordered = [inputs[name] for name in names if name in inputs]
        if names[:len(ordered)] != [name for name in names if name in inputs]:
            raise ArmError("get_inputs() leaves out a parameter of forward that comes before another it gives")
        return ordered

    def ruled(self, inputs, index, domain, below, layout, vary):
        if index >= len(inputs):
            raise ArmError(f"task.json speaks of input {index}, but get_inputs() returns {len(inputs)}")
        value = inputs[index]
        if not isinstance(value, torch.Tensor):
            raise ArmError(f"task.json gives input {index} a domain or layout, but it is no tensor, it is a "
                           + type(value).__name__)
        if domain != "given":
            bound = domain_bound(self.task, index, below) if below else 0
            check_domain(index, value, domain, bound)
            if vary:
                value = drawn(value, domain, bound)
        return laid_out(index, value, layout)

    def cotangents(self, inputs):
        """What the outputs' gradients are: one random tensor for each floating output."""
        copies = map_tensors(inputs, lambda t: t.to(wide_of(t)) if self.upcast and can_grad(t) else t.clone())
        with torch.no_grad():
            outputs = tensors_of(self.wide(self.model, copies) if self.upcast else self.model(*copies))
        self.restore()
        return tuple(cotangent(t) for t in outputs if can_grad(t))

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
            own = arguments[:-1] if self.flags & BACKWARD else arguments  # without the outputs' gradients
            if not supports(*own):
                raise ArmError("the candidate declares this shape unsupported")

    # -- what is compared besides the result ------------------------------------------------------------------------

    def restore(self):
        """Every compared call begins with the buffers as they were loaded."""
        with torch.no_grad():
            for row in self.buffers:
                _, buffer, first, version = row
                if self.flags & BUFFERS or version_of(buffer) != version:
                    buffer.copy_(first)
                    row[3] = version_of(buffer)

    def observe(self, result, changed):
        """The result with all that has to be compared; changed: name and tensor of each mutable input."""
        result = numbers_as_tensors(result, torch.get_default_dtype())
        if not changed and not self.flags & BUFFERS:
            return result
        seen = {"lathe.outputs": result}
        if changed:
            seen["lathe.mutated"] = dict(changed)
        if self.flags & BUFFERS:
            seen["lathe.buffers"] = {name: buffer.detach() for name, buffer, _, _ in self.buffers}
        return seen

    # -- running ---------------------------------------------------------------------------------------------------

    def golden(self, arguments):
        return self.wide(self.call, arguments)

    @staticmethod
    def wide(call, arguments):
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with Float64Everywhere():
                return call(*arguments)
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


def parse(path):
    with open(path, encoding="utf-8-sig") as file:
        return ast.parse(file.read(), path)


def wide_of(tensor):
    return torch.complex128 if tensor.is_complex() else torch.float64


def cotangent(output):
    if output.is_complex():
        return torch.randn(output.shape, dtype=torch.complex64, device=output.device)
    # Values that every float type holds, so that rounding them is nobody's error.
    return torch.randn(output.shape, device=output.device).mul(8).round().div(8)


def with_gradients(forward, model):
    """A call whose last argument are the gradients of the outputs, and whose result holds those of everything else."""

    def call(*arguments):
        *inputs, cotangents = arguments
        tracked = map_tensors(inputs, lambda t: t.detach().requires_grad_() if can_grad(t) else t)
        with torch.enable_grad():
            result = forward(*tracked)
        pairs = list(zip((t for t in tensors_of(result) if can_grad(t)), cotangents))
        pairs = [(output, head.to(output.dtype)) for output, head in pairs if output.requires_grad]
        if not pairs:
            raise ArmError("the task asks for gradients, but no output depends on an input or parameter that has one")
        leaves = [(f"input {i}", t) for i, t in enumerate(tensors_of(tracked)) if t.requires_grad]
        leaves += [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        outputs, heads = zip(*pairs)
        found = torch.autograd.grad(outputs, [leaf for _, leaf in leaves], heads, allow_unused=True)
        gradients = {name: torch.zeros_like(leaf, requires_grad=False).detach() if grad is None else grad
                     for (name, leaf), grad in zip(leaves, found)}
        own = getattr(model, "reference_gradients", None)
        if callable(own):
            kept = {name: value for name, value in gradients.items() if name.startswith("input ")}
            gradients = {**kept, **own({k: v for k, v in gradients.items() if k not in kept})}
        return {"lathe.outputs": map_tensors(result, torch.Tensor.detach), "lathe.gradients": gradients}

    return call


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


def set_autocast(device, policy):
    """For reference and baselines under a narrow policy; a candidate casts as it sees fit."""
    if policy in ("bf16", "fp16"):
        kind = torch.device(device).type
        torch.set_autocast_dtype(kind, torch.bfloat16 if policy == "bf16" else torch.float16)
        torch.set_autocast_enabled(kind, True)
        torch.set_autocast_cache_enabled(False)


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
    if frozen:
        # Buffers are the model's to write, in whatever mode; only parameters are shared.
        buffers = {name for name, _ in model.named_buffers()}
        weights = {name: value.clone() if name in buffers else value for name, value in weights.items()}
    model.load_state_dict(weights, strict=True, assign=bool(frozen))
