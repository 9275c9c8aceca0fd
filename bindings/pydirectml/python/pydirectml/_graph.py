# SPDX-License-Identifier: Apache-2.0
"""Graphs of expressions. All operator functions call make()."""
from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterable, Sequence
from ctypes import addressof, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from . import _enums, _native
from ._enums import ExecutionFlags, OperatorType, TensorDataType, TensorFlags
from ._schema import OPERATORS
from ._types import DTYPES, FusedActivation, TensorDesc, bits_of, number, numbers

if TYPE_CHECKING:
    from ._device import Device, Model

__all__ = ["Expression", "GraphBuilder"]

Number = Union[float, int]
# An output: whether it is requested, its data type (0: inferred), its sizes ((): inferred).
PLAIN = (True, 0, ())


class GraphBuilder(_native.Single):
    """Builds a graph for a device. Operator functions may be called from several threads; a lock serializes them."""

    def __init__(self, device: Device) -> None:
        from ._device import Device as DeviceType
        if not isinstance(device, DeviceType):
            raise TypeError(f"GraphBuilder: device = {device!r}, must be a Device")
        self._device, self._lock = device, threading.RLock()
        self._inputs: dict[int, TensorDesc] = {}
        self._constants: list[Any] = [] # kept, because compiling the graph reads their elements
        hresult, self._handle = _native.create(_native.graph_create, device._dml)
        _native.check(hresult, "AnydmlGraphCreate")
        _native.keep(self, _native.graph_destroy, self._handle)

    @property
    def device(self) -> Device:
        return self._device

    def build(self, flags: ExecutionFlags, outputs: Sequence[Expression]) -> Model:
        """Compiles the graph with these outputs. May be called repeatedly. Other threads may run concurrently, unless they use
        this graph. Raises ValueError if the graph is invalid, and Error if the device does not support it."""
        from ._device import Model as ModelType
        if not isinstance(flags, int):
            raise TypeError(f"build: flags = {flags!r}, must be ExecutionFlags")
        outputs = list(outputs)
        for i, one in enumerate(outputs):
            _belongs(one, self, f"build: outputs[{i}]")
        if len(set(outputs)) != len(outputs):
            raise ValueError("build: outputs has an expression twice; identity() creates a copy of it")
        with self._lock:
            handles = (c_void_p * len(outputs))(*(one._handle for one in outputs))
            hresult, compiled = _native.create(_native.graph_compile, self._handle, number(flags, "build: flags"),
                                               len(outputs), handles)
            if hresult >= 0x80000000:
                self._raise(hresult)
            return ModelType(self, compiled, outputs)

    def _raise(self, hresult: int = _native.E_INVALIDARG) -> None:
        """Raises the graph's error, and restores the graph to its state before the failed call."""
        message = _native.graph_message(self._handle).decode()
        if _native.graph_clear_error(self._handle) >= 0x80000000:
            raise MemoryError(message)
        _native.check(hresult, "", message + self._device._reason())

    def _wrap(self, handle: Optional[int], parents: Sequence[Expression] = (), index: Optional[int] = None) -> Expression:
        if not handle:
            self._raise()
        return Expression._make(self, handle or 0, parents, index)


class Expression(_native.Single):
    """A tensor of a graph. It keeps the graph alive."""

    _graph: GraphBuilder
    _handle: int
    _parents: Sequence[Expression] # operands of its operator
    _index: Optional[int]          # index of the input; None for other expressions

    def __init__(self) -> None:
        raise TypeError("an Expression is created by input_tensor() or an operator function")

    @classmethod
    def _make(cls, graph: GraphBuilder, handle: int, parents: Sequence[Expression], index: Optional[int]) -> Expression:
        self = cls.__new__(cls)
        self._graph, self._handle, self._parents, self._index = graph, handle, parents, index
        return self

    def get_output_desc(self) -> TensorDesc:
        desc = _native.graph_tensor(self._handle).contents
        rank = desc.DimensionCount
        return TensorDesc(TensorDataType(desc.DataType), TensorFlags(desc.Flags), desc.Sizes[:rank],
                          desc.Strides[:rank] if desc.Strides else None, desc.TotalTensorSizeInBytes,
                          desc.GuaranteedBaseOffsetAlignment)

    def __repr__(self) -> str:
        desc = self.get_output_desc()
        return f"dml.Expression({desc.data_type.name}, {list(desc.sizes)})"

    def __add__(self, other: Union[Expression, Number]) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_ADD", self, other)
        return result

    def __radd__(self, other: Number) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_ADD", other, self)
        return result

    def __sub__(self, other: Union[Expression, Number]) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_SUBTRACT", self, other)
        return result

    def __rsub__(self, other: Number) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_SUBTRACT", other, self)
        return result

    def __mul__(self, other: Union[Expression, Number]) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_MULTIPLY", self, other)
        return result

    def __rmul__(self, other: Number) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_MULTIPLY", other, self)
        return result

    def __truediv__(self, other: Union[Expression, Number]) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_DIVIDE", self, other)
        return result

    def __rtruediv__(self, other: Number) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_DIVIDE", other, self)
        return result

    def __mod__(self, other: Union[Expression, Number]) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_MODULUS_TRUNCATE", self, other)
        return result

    def __rmod__(self, other: Number) -> Expression:
        result: Expression = _pair("ELEMENT_WISE_MODULUS_TRUNCATE", other, self)
        return result

    def __neg__(self) -> Expression:
        return one("ELEMENT_WISE_NEGATE", (self,))


def one(name: str, inputs: tuple[Any, ...], attributes: tuple[Any, ...] = ()) -> Expression:
    """Adds an operator with one output whose type and sizes are inferred."""
    result: Expression = make(name, None, inputs, (PLAIN,), attributes)[0]
    return result


def _pair(name: str, a: Any, b: Any) -> Any:
    """Adds an operator of two tensors, one of which may be a number."""
    for value in (a, b):
        if not isinstance(value, (Expression, int, float, numpy.integer, numpy.floating)):
            return NotImplemented
    like = a if isinstance(a, Expression) else b
    return one(name, tuple(value if isinstance(value, Expression) else _like(value, like) for value in (a, b)))


def _like(value: Number, like: Expression) -> Expression:
    """A number as a tensor with the type and sizes of another."""
    desc = like.get_output_desc()
    filled = make("FILL_VALUE_CONSTANT", like._graph, (), ((True, desc.data_type, (1,) * len(desc.sizes)),),
                  (desc.data_type, value))[0]
    return broadcast(filled, desc.sizes)


def _belongs(value: Any, graph: GraphBuilder, what: str) -> None:
    if not isinstance(value, Expression):
        raise TypeError(f"{what} = {value!r}, must be an Expression")
    if value._graph is not graph:
        raise ValueError(f"{what}: is an expression of another graph")


def _graph_of(scope: Any, what: str) -> GraphBuilder:
    if not isinstance(scope, GraphBuilder):
        raise TypeError(f"{what}: scope = {scope!r}, must be a GraphBuilder")
    return scope


# ---- tensors without an operator ----


def input_tensor(scope: GraphBuilder, input_index: int, tensor_desc: TensorDesc) -> Expression:
    """Returns input number input_index of the model. Inputs with OWNED_BY_DML are read by the first compute() only. Raises
    ValueError if the graph already has this input."""
    graph = _graph_of(scope, "input_tensor")
    if not isinstance(tensor_desc, TensorDesc):
        raise TypeError(f"input_tensor: tensor_desc = {tensor_desc!r}, must be a TensorDesc")
    d = tensor_desc
    strides = None if d.strides is None else _native.uints(d.strides)
    native = _native.BufferTensorDesc(d.data_type, d.flags, len(d.sizes), _native.uints(d.sizes), strides,
                                      d.total_tensor_size_in_bytes, d.guaranteed_base_offset_alignment)
    with graph._lock:
        index = number(input_index, "input_tensor: input_index")
        if index in graph._inputs:
            raise ValueError(f"input_tensor: input_index = {index}: the graph already has this input")
        made = graph._wrap(_native.graph_input(graph._handle, index, native), (), index)
        graph._inputs[index] = d
        return made


def constant_data(scope: GraphBuilder, data: Any, desc: TensorDesc) -> Expression:
    """Returns a packed constant tensor. data must not change until the graph is built for the last time."""
    from ._device import as_memory
    graph = _graph_of(scope, "constant_data")
    if not isinstance(desc, TensorDesc) or desc.strides is not None:
        raise TypeError(f"constant_data: desc = {desc!r}, must be a TensorDesc without strides")
    array = as_memory(data, desc, "constant_data")
    with graph._lock:
        graph._constants.append(array)
        return graph._wrap(_native.graph_constant(graph._handle, desc.data_type, len(desc.sizes),
                                                  _native.uints(desc.sizes), array.ctypes.data))


def reinterpret(input: Expression, new_type: TensorDataType, new_size: Optional[Sequence[int]] = None,
                new_strides: Optional[Sequence[int]] = None) -> Expression:
    """Returns a view of the same bytes with another type, sizes (default: those of the input) or strides in elements."""
    if not isinstance(input, Expression):
        raise TypeError(f"reinterpret: input = {input!r}, must be an Expression")
    sizes = input.get_output_desc().sizes if new_size is None else numbers(new_size, "reinterpret: new_size", 1)
    strides = None if new_strides is None else numbers(new_strides, "reinterpret: new_strides")
    if strides is not None and len(strides) != len(sizes):
        raise ValueError(f"reinterpret: {len(strides)} strides, must match the number of sizes ({len(sizes)})")
    graph = input._graph
    with graph._lock:
        return graph._wrap(_native.graph_reinterpret(
            graph._handle, input._handle, number(new_type, "reinterpret: new_type"), len(sizes), _native.uints(sizes),
            None if strides is None else _native.uints(strides)), (input,))


def broadcast(input: Expression, sizes: Sequence[int]) -> Expression:
    """Returns a view of the input broadcast to sizes: dimensions are aligned at the last one, and those that are 1 or missing
    are repeated."""
    if not isinstance(input, Expression):
        raise TypeError(f"broadcast: input = {input!r}, must be an Expression")
    checked = numbers(sizes, "broadcast: sizes", 1)
    graph = input._graph
    with graph._lock:
        return graph._wrap(_native.graph_broadcast(graph._handle, input._handle, len(checked), _native.uints(checked)),
                           (input,))


def needed_inputs(outputs: Sequence[Expression]) -> set[int]:
    """The indices of the inputs on which outputs depend."""
    found, seen, left = set(), set(outputs), list(outputs)
    while left:
        one = left.pop()
        if one._index is not None:
            found.add(one._index)
        new = [parent for parent in one._parents if parent not in seen]
        seen.update(new)
        left += new
    return found


# ---- sizes of outputs from parameters of functions ----


def with_size(input: Expression, axis: int, size: int) -> list[int]:
    """The input's sizes with the size of an axis replaced."""
    sizes = list(_sizes(input))
    if 0 <= axis < len(sizes): # the operator rejects other values
        sizes[axis] = size
    return sizes


def region_sizes(input: Expression, roi: Expression, height: int, width: int) -> list[int]:
    sizes, regions = _sizes(input), _sizes(roi)
    return [regions[-2] if len(regions) > 1 else 1, sizes[1] if len(sizes) > 1 else 1, height, width]


def picture_sizes(gradient: Expression, batch: int, height: int, width: int) -> list[int]:
    sizes = _sizes(gradient)
    return [batch, sizes[1] if len(sizes) > 1 else 1, height, width]


def _sizes(expression: Any) -> Sequence[int]:
    """() for values that are not expressions, which the operator rejects."""
    return expression.get_output_desc().sizes if isinstance(expression, Expression) else ()


# ---- operators ----

_ALIGNED = {"f": "f", "I": "I", "E": "I", "T": "I", "i": "i", "B": "i", "length": "I", "S": "II", "U": "Q"}


class _Row:
    """An operator: its fields, and the format of its description for the struct module."""

    def __init__(self, number_: int, name: str, fields: tuple[tuple[str, str, str], ...]) -> None:
        self.number, self.name, self.fields = number_, name, fields
        self.struct = struct.Struct("@" + "".join(_ALIGNED.get(kind, "P") for _, kind, _ in fields) + "0Q")


_rows: dict[str, _Row] = {}


def _row(name: str) -> _Row:
    row = _rows.get(name)
    if row is None:
        row = _rows[name] = _Row(*OPERATORS[name])
    return row


class _Call:
    """The arguments of one operator while it is added to a graph."""

    def __init__(self, row: _Row, graph: GraphBuilder, value_type: TensorDataType) -> None:
        self.row, self.graph, self.value_type = row, graph, value_type
        self.keep: list[Any] = []          # objects that pointers refer to, until the call returns
        self.lengths: dict[str, tuple[str, int]] = {}
        self.inputs: list[Optional[int]] = []
        self.parents: list[Expression] = []
        self.outputs: list[tuple[Any, Any, Any]] = []

    def what(self, field: str) -> str:
        return f"{self.row.name}: {field}"

    def pointer(self, thing: Any) -> int:
        self.keep.append(thing)
        return addressof(thing)

    def length(self, field: str, length_field: str, count: int) -> None:
        """Checks that arrays with the same length field have the same length."""
        first = self.lengths.setdefault(length_field, (field, count))
        if first[1] != count:
            raise ValueError(f"{self.what(field)} has {count} elements, but {first[0]} has {first[1]}")

    def tensor(self, field: str, value: Any, required: bool) -> None:
        if value is None and not required:
            self.inputs.append(None)
            return
        _belongs(value, self.graph, self.what(field))
        self.inputs.append(value._handle)
        self.parents.append(value)

    def tensors(self, field: str, length_field: str, values: Any) -> None:
        if isinstance(values, Expression) or not isinstance(values, Iterable):
            raise TypeError(f"{self.what(field)} = {values!r}, must be a sequence of Expressions")
        values = list(values)
        self.length(field, length_field, len(values))
        for i, one in enumerate(values):
            self.tensor(f"{field}[{i}]", one, True)

    def array(self, field: str, kind: str, length_field: str, values: Any) -> int:
        """The address of a copy of the array; 0 if it is omitted: (), or None for axes."""
        what = self.what(field)
        if values is None:
            return 0
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(f"{what} = {values!r}, must be a sequence of numbers")
        values = list(values)
        if not values and kind[-1] != "?":
            return 0
        if kind == "*f":
            checked: Any = [self.real(f"{field}[{i}]", one) for i, one in enumerate(values)]
            made: Any = (ctypes.c_float * len(checked))(*checked)
        elif kind == "*i":
            checked = numbers(values, what, -0x80000000, 0x7FFFFFFF)
            made = (ctypes.c_int32 * len(checked))(*checked)
        else:
            checked = numbers(values, what)
            made = (c_uint32 * max(len(checked), 1))(*checked)
        self.length(field, length_field, len(checked))
        return self.pointer(made)

    def real(self, field: str, value: Any) -> float:
        try:
            result = float(value)
            struct.pack("f", result)
            return result
        except OverflowError:
            return float("inf") if result > 0 else float("-inf")
        except (TypeError, ValueError):
            raise TypeError(f"{self.what(field)} = {value!r}, must be a number") from None

    def scalar(self, field: str, value: Any) -> int:
        """The bits of a DML_SCALAR_UNION of the type of the operator's value."""
        data_type = self.value_type
        if data_type not in DTYPES:
            raise ValueError(f"{self.what(field)}: the data type of the value is unknown")
        try:
            if data_type == TensorDataType.BFLOAT16:
                bits = int(numpy.float32(value).view(numpy.uint32))
                bits += 0 if value != value else 0x7FFF + (bits >> 16 & 1)
                return bits >> 16
            if bits_of(data_type) == 4:
                return number(value, self.what(field), -8, 15) & 0xFF
            dtype = DTYPES[data_type]
            if dtype.kind in "iu" and isinstance(value, (float, numpy.floating)):
                if value != int(value):
                    raise ValueError(f"{self.what(field)} = {value}, must be an integer as the tensor is {data_type.name}")
                value = int(value)
            if dtype.kind in "iu":
                limits = numpy.iinfo(dtype)
                value = number(value, self.what(field), int(limits.min), int(limits.max))
            with numpy.errstate(all="ignore"):
                return int.from_bytes(dtype.type(value).tobytes(), "little")
        except (TypeError, OverflowError):
            raise TypeError(f"{self.what(field)} = {value!r}, must be a number") from None

    def activation(self, field: str, given: Any) -> bytes:
        """A packed DML_OPERATOR_DESC. Descriptions of activations equal that of LINEAR or a prefix of it, except for CLIP."""
        if not isinstance(given, tuple) or len(given) != 3:
            raise TypeError(f"{self.what(field)} = {given!r}, must be a FusedActivation")
        kind = number(given[0], self.what(field))
        values = [self.real(field, one) for one in given[1:]]
        layout = "PPPff0Q" if kind == OperatorType.ELEMENT_WISE_CLIP else "PPff0Q"
        packed = struct.pack("@" + layout, *(0,) * (layout.count("P")), *values)
        desc = ctypes.create_string_buffer(packed.ljust(64, b"\0"), 64)
        return struct.pack("@IP", kind, self.pointer(desc))

    def fused(self, field: str, given: Any) -> int:
        if given is None or (isinstance(given, FusedActivation) and given.activation == OperatorType.INVALID):
            return 0
        packed = self.activation(field, given)
        return self.pointer(ctypes.create_string_buffer(packed, len(packed)))

    def activations(self, field: str, length_field: str, given: Any) -> int:
        packed = b"".join(self.activation(f"{field}[{i}]", one) for i, one in enumerate(given))
        self.length(field, length_field, len(given))
        return self.pointer(ctypes.create_string_buffer(packed, len(packed))) if packed else 0

    def attribute(self, field: str, kind: str, more: str, value: Any) -> Any:
        """The value of a field of the description."""
        if kind in ("I", "i", "E"):
            low, high = (-0x80000000, 0x7FFFFFFF) if kind == "i" else (0, 0xFFFFFFFF)
            if kind == "E" and not isinstance(value, getattr(_enums, more)):
                raise TypeError(f"{self.what(field)} = {value!r}, must be of {more}")
            return number(value, self.what(field), low, high)
        if kind == "B":
            return number(bool(value), self.what(field))
        if kind == "f":
            return self.real(field, value)
        if kind == "S":
            if not isinstance(value, (tuple, list)) or len(value) != 2:
                raise TypeError(f"{self.what(field)} = {value!r}, must be a Size2D")
            return numbers(value, self.what(field))
        if kind == "T":
            return self.value_type if value is None else number(value, self.what(field))
        if kind == "U":
            return self.scalar(field, value)
        if kind == "b":
            if value is None:
                return 0
            if not isinstance(value, tuple) or len(value) != 2:
                raise TypeError(f"{self.what(field)} = {value!r}, must be a ScaleBias")
            return self.pointer((ctypes.c_float * 2)(*(self.real(field, one) for one in value)))
        if kind == "F":
            return self.fused(field, value)
        return self.activations(field, more, value) if kind == "*F" else self.array(field, kind, more, value)

    def output(self, field: str, given: Any) -> tuple[Any, int, Any]:
        """Checks an output: (whether it is requested, data type, sizes)."""
        wanted, data_type, sizes = given
        checked = numbers(sizes, self.what(field) + " sizes") if sizes else ()
        return wanted, number(data_type, self.what(field) + " data type"), checked


def _find_graph(row: _Row, scope: Any, inputs: tuple[Any, ...]) -> GraphBuilder:
    if scope is not None:
        return _graph_of(scope, row.name)
    for one in inputs:
        for given in one if isinstance(one, (list, tuple)) else (one,):
            if isinstance(given, Expression):
                return given._graph
    raise TypeError(f"{row.name}: no input is an Expression")


def _value_type(scope: Any, inputs: tuple[Any, ...], outputs: Sequence[Any]) -> TensorDataType:
    """The type of scalars: that of the first tensor."""
    for one in inputs:
        if isinstance(one, Expression):
            return one.get_output_desc().data_type
    return outputs[0][1] or TensorDataType.FLOAT32 if scope is not None and outputs else TensorDataType.UNKNOWN


def _describe(call: _Call, inputs: Any, outputs: Any, attributes: Any) -> list[Any]:
    """The values of the description; its tensors remain 0, because the library ignores them."""
    give, out, values = iter(inputs), iter(outputs), iter(attributes)
    packed: list[Any] = []
    for field, kind, more in call.row.fields:
        value: Any = 0
        if kind in ("input", "maybe"):
            call.tensor(field, next(give), kind == "input")
        elif kind == "inputs":
            call.tensors(field, more, next(give))
        elif kind == "output":
            call.outputs.append(call.output(field, next(out)))
        elif kind == "outputs":
            parts = list(next(out))
            call.length(field, more, len(parts))
            call.outputs += [call.output(f"{field}[{i}]", one) for i, one in enumerate(parts)]
        elif kind != "length":
            value = call.attribute(field, kind, more, next(values))
        packed += value if kind == "S" else [value]
    at = 0
    for field, kind, _ in call.row.fields: # lengths, now that all arrays are known
        if kind == "length":
            packed[at] = call.lengths.get(field, ("", 0))[1]
        at += 2 if kind == "S" else 1
    return packed


def make(name: str, scope: Optional[GraphBuilder], inputs: tuple[Any, ...], outputs: tuple[Any, ...],
         attributes: tuple[Any, ...]) -> list[Any]:
    """Adds one operator. inputs, outputs and attributes are in the order of its description, without lengths. Returns an
    Expression for each output, None for outputs that are not requested."""
    row = _row(name)
    graph = _find_graph(row, scope, inputs)
    with graph._lock:
        call = _Call(row, graph, _value_type(scope, inputs, outputs))
        values = _describe(call, inputs, outputs, attributes)
        desc = ctypes.create_string_buffer(row.struct.pack(*values), row.struct.size)
        results = (c_void_p * max(len(call.outputs), 1))()
        native = (_native.Output * max(len(call.outputs), 1))()
        for i, (wanted, data_type, sizes) in enumerate(call.outputs):
            native[i].Expression = addressof(results) + i * ctypes.sizeof(c_void_p) if wanted else None
            native[i].DataType, native[i].DimensionCount = data_type, len(sizes)
            native[i].Sizes = call.pointer(_native.uints(sizes)) if sizes else None
        first = _native.graph_operator(graph._handle, _native.OperatorDesc(row.number, addressof(desc)),
                                       (c_void_p * max(len(call.inputs), 1))(*call.inputs), native)
        if not first:
            graph._raise()
        return [graph._wrap(result, call.parents) if result else None for result in results][:len(call.outputs)]
