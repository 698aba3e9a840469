# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls native kernels of the TVM FFI C ABI with torch tensors, through ctypes alone."""

import ctypes
import types

import torch


class _Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Value(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("real", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class _Any(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", _Value)]


_INT, _BOOL, _FLOAT, _TENSOR = 1, 2, 3, 7  # type_index
_CPU, _CUDA = 1, 2
_CODES = {
    torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32), torch.int64: (0, 64),
    torch.uint8: (1, 8), torch.bool: (6, 8),
    torch.float16: (2, 16), torch.float32: (2, 32), torch.float64: (2, 64), torch.bfloat16: (4, 16),
    torch.complex64: (5, 64), torch.complex128: (5, 128),
    torch.float8_e4m3fn: (10, 8), torch.float8_e5m2: (12, 8),
}


def _describe(tensor, keep):
    if tensor.dtype not in _CODES:
        raise TypeError(f"kernels take no tensors of {tensor.dtype}")
    if tensor.device.type not in ("cpu", "cuda"):
        raise TypeError(f"kernels take no tensors on {tensor.device}")
    code, bits = _CODES[tensor.dtype]
    sizes = (ctypes.c_int64 * max(1, tensor.dim()))(*tensor.shape)
    strides = (ctypes.c_int64 * max(1, tensor.dim()))(*tensor.stride())
    device = _Device(_CUDA, tensor.device.index) if tensor.is_cuda else _Device(_CPU, 0)
    view = _Tensor(tensor.data_ptr(), device, tensor.dim(), _DataType(code, bits, 1), sizes, strides, 0)
    keep += [sizes, strides, view]
    return view


class _Kernel:
    def __init__(self, library, name):
        self.__name__ = name
        self._function = getattr(library, "__tvm_ffi_" + name)
        self._function.restype = ctypes.c_int
        self._library = library

    def __call__(self, *args):
        packed = (_Any * max(1, len(args)))()
        keep = []  # what packed points to must outlive the call
        device = None
        for slot, arg in zip(packed, args):
            if isinstance(arg, torch.Tensor):
                slot.type_index = _TENSOR
                slot.value.pointer = ctypes.addressof(_describe(arg, keep))
                device = arg.device if arg.is_cuda else device
            elif isinstance(arg, bool):
                slot.type_index, slot.value.integer = _BOOL, int(arg)
            elif isinstance(arg, int):
                slot.type_index, slot.value.integer = _INT, arg
            elif isinstance(arg, float):
                slot.type_index, slot.value.real = _FLOAT, arg
            else:
                raise TypeError(f"{self.__name__}: kernels take tensors, ints, floats and bools, not {type(arg).__name__}")
        result = _Any()
        if device is None:
            code = self._function(None, packed, len(args), ctypes.byref(result))
        else:
            with torch.cuda.device(device):
                stream = torch.cuda.current_stream(device).cuda_stream
                self._library.lathe_set_stream(ctypes.c_void_p(stream))
                code = self._function(None, packed, len(args), ctypes.byref(result))
        if code != 0:
            raise RuntimeError(f"{self.__name__}: {self._library.lathe_last_error().decode(errors='replace')}")


def load_kernels(path):
    """A module whose attributes are the library's exported kernels."""
    library = ctypes.CDLL(str(path))
    library.lathe_last_error.restype = ctypes.c_char_p
    library.lathe_set_stream.argtypes = [ctypes.c_void_p]
    module = types.ModuleType("lathe_native")

    def find(name):
        try:
            kernel = _Kernel(library, name)
        except AttributeError:
            raise AttributeError(f"the kernels export no function {name!r}") from None
        setattr(module, name, kernel)
        return kernel

    module.__getattr__ = find
    return module
