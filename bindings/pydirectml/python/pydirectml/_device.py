# SPDX-License-Identifier: Apache-2.0
"""Devices, compiled models, and data for them."""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any, Optional

import numpy

from . import _native
from ._enums import TensorDataType, TensorFlags
from ._graph import Expression, GraphBuilder, needed_inputs
from ._types import DTYPES, TensorData, TensorDesc, bits_of, number

__all__ = ["Binding", "CompiledModel", "Device", "Model", "device_count"]


def device_count() -> int:
    """Returns the number of adapters, for Device(adapter=...); `anydml devices` lists them in the same order."""
    return int(_native.adapter_count())


def as_memory(data: Any, desc: TensorDesc, what: str) -> numpy.ndarray[Any, Any]:
    """Returns data as the bytes of a tensor: of its type in the native byte order, aligned, in C order. Copies data only if
    necessary."""
    raw = isinstance(data, (bytes, bytearray)) or isinstance(data, memoryview) and data.format == "B"
    expected = DTYPES[desc.data_type]
    if raw:
        array = numpy.frombuffer(data, numpy.uint8)
        if array.ctypes.data % expected.itemsize:
            array = array.copy()
    else:
        array = _converted(numpy.asarray(data), desc, what)
    elements = 1
    for size in desc.sizes:
        elements *= size
    exact = desc.total_tensor_size_in_bytes - desc.used_bytes < 4 # otherwise data includes bytes after the elements
    if not raw and desc.strides is None and exact and bits_of(desc.data_type) > 4 and array.size != elements:
        raise ValueError(f"{what}: the data has {array.size} elements, must have {elements} as the tensor is "
                         f"{list(desc.sizes)}")
    least = desc.used_bytes if exact else desc.total_tensor_size_in_bytes
    if array.nbytes < least:
        raise ValueError(f"{what}: the data has {array.nbytes} bytes, must have at least {least}")
    return numpy.require(array, requirements=["C", "A"])


def _converted(array: numpy.ndarray[Any, Any], desc: TensorDesc, what: str) -> numpy.ndarray[Any, Any]:
    """Converts the array to the tensor's type. All numbers can be converted to floating point, and integers to an integer type
    that represents all of them."""
    expected = DTYPES[desc.data_type]
    if array.dtype.kind in "iufb" and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype == expected or array.dtype.name == desc.data_type.name.lower():
        return array
    packed = desc.data_type in (TensorDataType.BFLOAT16, TensorDataType.UINT4, TensorDataType.INT4)
    if array.dtype == numpy.bool_ and expected == numpy.uint8:
        return array
    if packed or array.dtype.kind not in ("biuf" if expected.kind == "f" else "biu"):
        raise TypeError(f"{what}: the data is {array.dtype}, must be {expected} as the tensor is {desc.data_type.name}")
    if expected.kind != "f" and array.dtype.kind != "b" and array.size:
        limits = numpy.iinfo(expected)
        for value in (int(array.min()), int(array.max())):
            if not limits.min <= value <= limits.max:
                raise ValueError(f"{what}: the data has {value}, must be from {limits.min} to {limits.max} as the tensor "
                                 f"is {desc.data_type.name}")
    with numpy.errstate(over="ignore"): # numbers too large for the tensor's type become infinite
        return array.astype(expected)


class Binding:
    """An input of a model with its data.

    data: an array with the tensor's number of elements; it is copied now unless it has the tensor's type and is in C order,
    otherwise the Binding keeps a reference. For tensors with strides, and for bytes-like objects, data is the tensor's memory.
    Raises TypeError or ValueError if data does not match the tensor."""

    def __init__(self, expr: Expression, data: Any) -> None:
        if not isinstance(expr, Expression) or expr._index is None:
            raise TypeError(f"Binding: expr = {expr!r}, must be a result of input_tensor()")
        self._expression = expr
        self._array = as_memory(data, expr._graph._inputs[expr._index], f"Binding of input {expr._index}")

    @property
    def desc(self) -> TensorDesc:
        return self._expression.get_output_desc()


class Device(_native.Single):
    """A DirectML device.

    use_gpu: selects the default adapter, which is a GPU if there is one; False: the CPU. use_debug_layer: adds the message of
    the debug layer to errors. adapter: selects the adapter with this index instead. Raises ValueError if it does not exist."""

    def __init__(self, use_gpu: bool = True, use_debug_layer: bool = False, *, adapter: Optional[int] = None) -> None:
        index = -1 if adapter is None else number(adapter, "Device: adapter", 0, 0x7FFFFFFF)
        hresult, self._handle = _native.create(_native.device_create, index, bool(use_gpu), bool(use_debug_layer))
        if hresult == _native.NOT_FOUND and adapter is not None:
            raise ValueError(f"Device: adapter = {adapter}, must be below {device_count()}")
        _native.check(hresult, "Device: cannot open the device")
        _native.keep(self, _native.device_destroy, self._handle)
        self._debug = bool(use_debug_layer)

    @property
    def name(self) -> str:
        return str(_native.device_name(self._handle).decode(errors="replace"))

    @property
    def _dml(self) -> int:
        return int(_native.device_dml(self._handle))

    def _reason(self) -> str:
        """The debug layer's message about the last error."""
        if not self._debug:
            return ""
        text = ctypes.create_string_buffer(1024)
        _native.device_message(self._handle, text, len(text))
        return f" ({text.value.decode(errors='replace')})" if text.value else ""

    def compute(self, model: Model, inputs: Sequence[Binding], outputs: Sequence[Expression]) -> list[TensorData]:
        """Runs a model, waits for it, and returns one new array for each of `outputs`, which are outputs of the model in any
        order. Inputs with OWNED_BY_DML are read by the first run only and may be omitted later. Other threads may run
        concurrently. Raises ValueError if a needed input has no binding."""
        if not isinstance(model, Model):
            raise TypeError(f"compute: model = {model!r}, must be a Model")
        if model._device is not self:
            raise ValueError("compute: the model belongs to another device")
        return model._run(list(inputs), list(outputs))

    def __repr__(self) -> str:
        return f"dml.Device on {'GPU' if _native.device_is_gpu(self._handle) else 'CPU'}"


class Model(_native.Single):
    """A compiled graph, made by GraphBuilder.build(). It keeps its device and its builder alive."""

    def __init__(self, graph: GraphBuilder, compiled: int, outputs: Sequence[Expression]) -> None:
        """Called by GraphBuilder.build(). Takes over its reference to the compiled operator."""
        self._graph, self._device, self._outputs = graph, graph.device, list(outputs)
        self._inputs = dict(graph._inputs)
        self._needed = needed_inputs(outputs)
        self._descs = [one.get_output_desc() for one in outputs]
        slots = (_native.Slot * (max(self._inputs, default=-1) + 1))()
        for index, desc in self._inputs.items():
            slots[index].bytes = desc.total_tensor_size_in_bytes
            slots[index].owned = bool(desc.flags & TensorFlags.OWNED_BY_DML)
        self._owned = {index for index in self._inputs if slots[index].owned}
        made = (_native.Slot * len(outputs))()
        for slot, desc in zip(made, self._descs):
            slot.bytes = desc.total_tensor_size_in_bytes
        self._bytes = [slot.bytes for slot in slots]
        hresult, self._handle = _native.create(_native.model_create, self._device._handle, compiled, slots, len(slots),
                                               made, len(made))
        _native.check(hresult, "build: allocation of the model's memory", self._device._reason().strip(" ()"))
        _native.keep(self, _native.model_destroy, self._handle)
        self._lock = threading.Lock()
        self._ready = False

    def _memory(self, bindings: list[Binding], keep: list[Any]) -> Any:
        """The memory of the inputs. Checks that bindings belong to this model and that needed inputs are bound. keep: receives
        arrays that must be kept until the run is complete."""
        memory = (_native.Memory * len(self._bytes))()
        bound = set()
        for i, one in enumerate(bindings):
            if not isinstance(one, Binding):
                raise TypeError(f"compute: inputs[{i}] = {one!r}, must be a Binding")
            index = one._expression._index
            if one._expression._graph is not self._graph or index not in self._inputs:
                raise ValueError(f"compute: inputs[{i}]: belongs to another graph, or was created after the model")
            if index in bound:
                raise ValueError(f"compute: inputs[{i}]: input {index} is bound twice")
            bound.add(index)
            array = one._array
            if array.nbytes < self._bytes[index]: # reinterpret() may read the bytes that round the size up
                rest = numpy.zeros(self._bytes[index] - array.nbytes, numpy.uint8)
                array = numpy.concatenate((array.reshape(-1).view(numpy.uint8), rest))
                keep.append(array)
            memory[index].data, memory[index].bytes = array.ctypes.data, array.nbytes
        missing = self._needed - bound - (self._owned if self._ready else set())
        if missing:
            raise ValueError(f"compute: input {min(missing)} has no binding")
        return memory

    def _run(self, bindings: list[Binding], outputs: list[Expression]) -> list[TensorData]:
        for i, one in enumerate(outputs):
            if not any(one is mine for mine in self._outputs):
                raise ValueError(f"compute: outputs[{i}]: is not an output of the model")
        memory = [_memory_of(desc) for desc in self._descs]
        results = [_tensor_in(array, desc) for array, desc in zip(memory, self._descs)]
        keep: list[Any] = []
        made = (_native.Memory * len(memory))()
        for slot, array in zip(made, memory):
            slot.data, slot.bytes = array.ctypes.data, array.nbytes
        # The first run reads owned inputs, and models on other devices than the CPU own buffers: such runs are serialized.
        if self._ready and _native.model_is_shared(self._handle):
            hresult = _native.model_run(self._handle, self._memory(bindings, keep), made)
        else:
            with self._lock:
                hresult = _native.model_run(self._handle, self._memory(bindings, keep), made)
                self._ready = self._ready or hresult < 0x80000000
        if hresult >= 0x80000000:
            _native.check(hresult, "compute", self._device._reason().strip(" ()"))
        return [results[next(i for i, mine in enumerate(self._outputs) if mine is one)] for one in outputs]


CompiledModel = Model


def _memory_of(desc: TensorDesc) -> numpy.ndarray[Any, Any]:
    """Allocates the memory of an output; gaps of strides, which are not written, are zero."""
    allocate = numpy.empty if desc.strides is None else numpy.zeros
    return allocate(desc.total_tensor_size_in_bytes, numpy.uint8)


def _tensor_in(memory: numpy.ndarray[Any, Any], desc: TensorDesc) -> TensorData:
    """The elements of an output as a view of its memory."""
    dtype = DTYPES[desc.data_type]
    if bits_of(desc.data_type) == 4:
        return TensorData(memory[:desc.used_bytes])
    strides = None if desc.strides is None else [stride * dtype.itemsize for stride in desc.strides]
    return TensorData(numpy.ndarray(desc.sizes, dtype, memory, strides=strides))
