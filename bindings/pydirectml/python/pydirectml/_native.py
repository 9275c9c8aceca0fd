# SPDX-License-Identifier: Apache-2.0
"""libpydirectml.so, and through it libdirectml.so: prototypes, structs, errors. Long calls (compiling, running, opening a
device) release the interpreter's lock; calls that build a graph take microseconds and keep it."""
from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

E_INVALIDARG, E_OUTOFMEMORY, NOT_FOUND, UNSUPPORTED = 0x80070057, 0x8007000E, 0x887A0002, 0x887A0004
_MEANINGS = {E_INVALIDARG: "E_INVALIDARG", E_OUTOFMEMORY: "E_OUTOFMEMORY", NOT_FOUND: "DXGI_ERROR_NOT_FOUND",
             UNSUPPORTED: "DXGI_ERROR_UNSUPPORTED: the device lacks a data type or an operator", 0x80004005: "E_FAIL",
             0x887A0005: "DXGI_ERROR_DEVICE_REMOVED"}


class Error(RuntimeError):
    """A failure of DirectML or Direct3D 12. hresult: its code. Wrong arguments raise ValueError or TypeError instead."""

    def __init__(self, text: str, hresult: int) -> None:
        super().__init__(text)
        self.hresult = hresult


class BufferTensorDesc(Structure):
    _fields_ = [("DataType", c_uint32), ("Flags", c_uint32), ("DimensionCount", c_uint32),
                ("Sizes", POINTER(c_uint32)), ("Strides", POINTER(c_uint32)), ("TotalTensorSizeInBytes", c_uint64),
                ("GuaranteedBaseOffsetAlignment", c_uint32)]


class OperatorDesc(Structure):
    _fields_ = [("Type", c_uint32), ("Desc", c_void_p)]


class Output(Structure):
    _fields_ = [("Expression", c_void_p), ("DataType", c_uint32), ("DimensionCount", c_uint32), ("Sizes", c_void_p)]


class Slot(Structure):
    _fields_ = [("bytes", c_uint64), ("owned", c_uint32)]


class Memory(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_uint64)]


def _path() -> str:
    """The path of the library: next to this file, or PYDIRECTML_LIBRARY, for tests of a build folder."""
    return os.environ.get("PYDIRECTML_LIBRARY") or str(Path(__file__).resolve().parent / "libpydirectml.so")


def _declare(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


_slow, _quick = ctypes.CDLL(_path()), ctypes.PyDLL(_path())
_tensor, _out = POINTER(BufferTensorDesc), POINTER(c_void_p)

adapter_count = _declare(_slow, "pydml_adapter_count", c_uint32)
device_create = _declare(_slow, "pydml_device_create", c_uint32, c_int32, c_uint32, c_uint32, _out)
device_destroy = _declare(_slow, "pydml_device_destroy", None, c_void_p)
device_dml = _declare(_quick, "pydml_device_dml", c_void_p, c_void_p)
device_name = _declare(_quick, "pydml_device_name", c_char_p, c_void_p)
device_is_gpu = _declare(_quick, "pydml_device_is_gpu", c_uint32, c_void_p)
device_message = _declare(_quick, "pydml_device_message", None, c_void_p, c_char_p, c_uint32)
model_create = _declare(_slow, "pydml_model_create", c_uint32, c_void_p, c_void_p, POINTER(Slot), c_uint32,
                        POINTER(Slot), c_uint32, _out)
model_destroy = _declare(_slow, "pydml_model_destroy", None, c_void_p)
model_run = _declare(_slow, "pydml_model_run", c_uint32, c_void_p, POINTER(Memory), POINTER(Memory))
model_is_shared = _declare(_quick, "pydml_model_is_shared", c_uint32, c_void_p)

graph_create = _declare(_quick, "AnydmlGraphCreate", c_uint32, c_void_p, _out)
graph_destroy = _declare(_quick, "AnydmlGraphDestroy", None, c_void_p)
graph_message = _declare(_quick, "AnydmlGraphMessage", c_char_p, c_void_p)
graph_clear_error = _declare(_quick, "AnydmlGraphClearError", c_uint32, c_void_p)
graph_compile = _declare(_slow, "AnydmlGraphCompile", c_uint32, c_void_p, c_uint32, c_uint32, _out, _out)
graph_tensor = _declare(_quick, "AnydmlGraphTensor", _tensor, c_void_p)
graph_input = _declare(_quick, "AnydmlGraphInputTensor", c_void_p, c_void_p, c_uint32, _tensor)
graph_constant = _declare(_quick, "AnydmlGraphConstant", c_void_p, c_void_p, c_uint32, c_uint32, POINTER(c_uint32),
                          c_void_p)
graph_reinterpret = _declare(_quick, "AnydmlGraphReinterpret", c_void_p, c_void_p, c_void_p, c_uint32, c_uint32,
                             POINTER(c_uint32), POINTER(c_uint32))
graph_broadcast = _declare(_quick, "AnydmlGraphBroadcast", c_void_p, c_void_p, c_void_p, c_uint32, POINTER(c_uint32))
graph_operator = _declare(_quick, "AnydmlGraphOperator", c_void_p, c_void_p, POINTER(OperatorDesc), _out,
                          POINTER(Output))


def check(hresult: int, what: str, message: str = "") -> None:
    """Raises an exception if the HRESULT is a failure: MemoryError, ValueError or Error."""
    if hresult < 0x80000000:
        return
    if hresult == E_OUTOFMEMORY:
        raise MemoryError(message or what)
    if hresult == E_INVALIDARG and message:
        raise ValueError(message)
    raise Error(message or f"{what}: 0x{hresult:08x} {_MEANINGS.get(hresult, '')}".rstrip(), hresult)


def uints(values: Any) -> Any:
    """An array of UINT from checked numbers."""
    return (c_uint32 * len(values))(*values)


def create(function: Any, *arguments: Any) -> tuple[int, int]:
    """Calls a function; returns (HRESULT, the handle that it stores through its last parameter)."""
    out = c_void_p()
    hresult = function(*arguments, byref(out))
    return hresult, out.value or 0


class Single:
    """An object with a handle of the libraries. It cannot be copied, since a copy would outlive the handle, nor pickled, since
    the handle is not valid in another process."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} can be neither copied nor pickled: create another one")


_open: dict[int, Any] = {} # the finalizer of each handle, in the order of creation


def keep(owner: object, destroy: Any, handle: int) -> None:
    """Destroys a handle when its owner is freed, or when the program ends."""
    finalizer = _open[handle] = weakref.finalize(owner, _let_go, destroy, handle)
    finalizer.atexit = False


def _let_go(destroy: Any, handle: int) -> None:
    del _open[handle]
    destroy(handle)


@atexit.register
def _close() -> None:
    """Destroys all handles at exit, unless other threads still run: these may use them, so the handles then leak."""
    if threading.active_count() == 1:
        for finalizer in reversed(list(_open.values())):
            finalizer()
