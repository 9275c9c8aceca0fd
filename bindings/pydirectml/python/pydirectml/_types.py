# SPDX-License-Identifier: Apache-2.0
"""Value types: descriptions of tensors, sizes, activations, and tensors in memory."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Optional, overload

import numpy
import numpy.typing

from ._enums import OperatorType, TensorDataType, TensorFlags

__all__ = ["Dimensions", "FusedActivation", "ScaleBias", "Size2D", "TensorData", "TensorDesc", "TensorPolicy"]

# bfloat16 is stored as its bits; two 4-bit integers share a byte, the first one in the lower half.
DTYPES: dict[TensorDataType, numpy.dtype[Any]] = {
    TensorDataType.BFLOAT16: numpy.dtype(numpy.uint16), TensorDataType.UINT4: numpy.dtype(numpy.uint8),
    TensorDataType.INT4: numpy.dtype(numpy.uint8),
    **{one: numpy.dtype(one.name.lower()) for one in TensorDataType
       if one.name not in ("UNKNOWN", "BFLOAT16", "UINT4", "INT4")}}


def bits_of(data_type: TensorDataType) -> int:
    """The size of one element in bits."""
    return 4 if data_type in (TensorDataType.UINT4, TensorDataType.INT4) else DTYPES[data_type].itemsize * 8


def number(value: Any, what: str, low: int = 0, high: int = 0xFFFFFFFF) -> int:
    """Checks that value is an integer from low to high, and returns it. what: its name in messages."""
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} = {value!r}, must be an integer") from None
    if not low <= result <= high:
        raise ValueError(f"{what} = {result}, must be from {low} to {high}")
    return result


def numbers(values: Any, what: str, low: int = 0, high: int = 0xFFFFFFFF) -> tuple[int, ...]:
    """Checks that values are integers from low to high, and returns them."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what} = {values!r}, must be a sequence of integers")
    return tuple(number(one, f"{what}[{i}]", low, high) for i, one in enumerate(values))


class Dimensions(tuple[int, ...]):
    """Sizes of a tensor, outermost first: a tuple of integers from 0 to 2^32 - 1."""

    def __new__(cls, sizes: Iterable[int] = ()) -> Dimensions:
        return super().__new__(cls, numbers(sizes, "Dimensions"))


class TensorPolicy:
    """The layout of tensors: a function of data type, flags and sizes that returns strides in elements, or None for packed
    tensors."""

    def __init__(self, strides: Optional[Callable[[TensorDataType, TensorFlags, Dimensions],
                                                  Optional[Sequence[int]]]] = None) -> None:
        self._strides = strides

    def strides(self, data_type: TensorDataType, flags: TensorFlags, sizes: Dimensions) -> Optional[Sequence[int]]:
        """Returns the strides in elements; None: packed."""
        return self._strides(data_type, flags, sizes) if self._strides else None

    @staticmethod
    def default() -> TensorPolicy:
        """Packed tensors, last dimension innermost."""
        return TensorPolicy()

    @staticmethod
    def interleaved_channel() -> TensorPolicy:
        """The second dimension is innermost (NHWC)."""
        return TensorPolicy(_interleave)


def _interleave(_type: TensorDataType, _flags: TensorFlags, sizes: Dimensions) -> Sequence[int]:
    strides = [1] * len(sizes)
    stride = sizes[1] if len(sizes) > 1 else 1
    for i in reversed(range(len(sizes))):
        if i != 1:
            strides[i] = stride
            stride *= sizes[i]
    return strides


class TensorDesc:
    """Type, sizes and layout of a tensor: 1 to 8 sizes, strides in elements. The third and later parameters may be given by
    name. Raises TypeError or ValueError for invalid arguments."""

    @overload
    def __init__(self, data_type: TensorDataType, sizes: Sequence[int],
                 tensor_policy: TensorPolicy = ...) -> None: ...
    @overload
    def __init__(self, data_type: TensorDataType, flags: TensorFlags, sizes: Sequence[int],
                 tensor_policy: TensorPolicy = ...) -> None: ...
    @overload
    def __init__(self, data_type: TensorDataType, sizes: Sequence[int],
                 strides: Optional[Sequence[int]]) -> None: ...
    @overload
    def __init__(self, data_type: TensorDataType, flags: TensorFlags, sizes: Sequence[int],
                 strides: Optional[Sequence[int]], total_tensor_size_in_bytes: int = ...,
                 guaranteed_base_offset_alignment: int = ...) -> None: ...

    def __init__(self, data_type: TensorDataType, *arguments: Any, **named: Any) -> None:
        given = list(arguments)
        flags = given.pop(0) if given and isinstance(given[0], int) else named.pop("flags", TensorFlags.NONE)
        for name in ("sizes", "strides", "total_tensor_size_in_bytes", "guaranteed_base_offset_alignment"):
            if given and (name != "strides" or not isinstance(given[0], TensorPolicy)):
                if name in named:
                    raise TypeError(f"TensorDesc: {name} is given twice")
                named[name] = given.pop(0)
            elif given:
                named["tensor_policy"] = given.pop(0)
        if given or "sizes" not in named:
            raise TypeError("TensorDesc: must have a data type, sizes, and then a policy or strides")
        self._set(data_type, flags, **named)

    def _set(self, data_type: TensorDataType, flags: int, sizes: Sequence[int],
             strides: Optional[Sequence[int]] = None, total_tensor_size_in_bytes: int = 0,
             guaranteed_base_offset_alignment: int = 0, tensor_policy: Optional[TensorPolicy] = None) -> None:
        try:
            self._data_type, self._flags = TensorDataType(data_type), TensorFlags(number(flags, "flags", 0, 1))
        except (TypeError, ValueError) as error:
            raise ValueError(f"TensorDesc: {error}") from None
        if self._data_type == TensorDataType.UNKNOWN:
            raise ValueError("TensorDesc: data_type = UNKNOWN, must be a data type")
        self._sizes = Dimensions(numbers(sizes, "TensorDesc: sizes", 1))
        if not 1 <= len(self._sizes) <= 8:
            raise ValueError(f"TensorDesc: {len(self._sizes)} sizes, must be 1 to 8")
        if tensor_policy is not None:
            strides = tensor_policy.strides(self._data_type, self._flags, self._sizes)
        self._strides = None if strides is None else numbers(strides, "TensorDesc: strides")
        if self._strides is not None and len(self._strides) != len(self._sizes):
            raise ValueError(f"TensorDesc: {len(self._strides)} strides, must match the number of sizes ({len(self._sizes)})")
        least = (self.used_bytes + 3) // 4 * 4
        self._total = number(total_tensor_size_in_bytes, "TensorDesc: total_tensor_size_in_bytes", 0, 1 << 63) or least
        if self._total < least or self._total % 4:
            raise ValueError(f"TensorDesc: total_tensor_size_in_bytes = {self._total}, must be at least {least} and a "
                             "multiple of 4")
        self._alignment = number(guaranteed_base_offset_alignment, "TensorDesc: guaranteed_base_offset_alignment")

    @property
    def data_type(self) -> TensorDataType:
        return self._data_type

    @property
    def flags(self) -> TensorFlags:
        return self._flags

    @property
    def sizes(self) -> Dimensions:
        return self._sizes

    @property
    def strides(self) -> Optional[tuple[int, ...]]:
        """In elements; None: packed."""
        return self._strides

    @property
    def total_tensor_size_in_bytes(self) -> int:
        return self._total

    @property
    def guaranteed_base_offset_alignment(self) -> int:
        return self._alignment

    @property
    def used_bytes(self) -> int:
        """The number of bytes up to the end of the last element."""
        elements = 1
        if self._strides is None:
            for size in self._sizes:
                elements *= size
        else:
            elements += sum((size - 1) * stride for size, stride in zip(self._sizes, self._strides))
        return (elements * bits_of(self._data_type) + 7) // 8

    def __repr__(self) -> str:
        strides = "" if self._strides is None else f", strides {list(self._strides)}"
        return f"dml.TensorDesc({self._data_type.name}, {list(self._sizes)}{strides})"


class Size2D(NamedTuple):
    width: int = 0
    height: int = 0


class ScaleBias(NamedTuple):
    """x * scale + bias, applied to the input of an operator."""
    scale: float
    bias: float


class FusedActivation(NamedTuple):
    """An activation that is fused into another operator; its parameters are in the order of its own function."""
    activation: OperatorType = OperatorType.INVALID
    param_1: float = 0.0
    param_2: float = 0.0


class TensorData(numpy.ndarray[Any, Any]):
    """The elements of a tensor: a numpy array, which supports the buffer protocol. TensorData(array) is a view of the array."""

    def __new__(cls, data: numpy.typing.ArrayLike) -> TensorData:
        return numpy.asarray(data).view(cls)
