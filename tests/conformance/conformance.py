#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator against independent references.

A file ops_<family>.py holds the cases of a family of operators:

    from conformance import operator, edge, Case

    @operator("TOP_K", "TOP_K1", types="InputTensor")  # `types`: the tensor field whose legal data types are iterated
    def top_k(g):                                      # g: Generator; returns one random legal Case
        return Case(fields={...}, outputs={...})

    @edge("TOP_K1")
    def top_k_ties():                                  # hand-written cases
        return [Case(...), ...]

The framework chooses strides, layouts, owned inputs and aliasing, runs the cases on the library through
conformance-driver and compares. Run this file with --help to see how.
"""
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as many processes as CPUs multiply matrices; read by the import

import numpy as np  # noqa: E402

from conf_schema import Schema, bfloat_bits, bfloat_values, Nibbles, NibbleArray, INT4, UINT4, dtype_of, is_float, lowest, highest  # noqa: F401
from conf_activations import activate, random_activation  # noqa: F401

HIGHEST_LEVEL = 0x6400
FUSE_ELEMENT, FUSE_CLIP, FUSE_SOFTMAX, FUSE_RECURRENT = 1, 2, 4, 8


class Case:
    """One operator call.

    fields: by name of the C struct's field. A numpy array is an input tensor, a list of them an array of tensors; numbers,
    lists of numbers; a tuple (scale, bias) for ScaleBias; (name, {attributes}) for FusedActivation, a list of those for
    activations; None or leaving it out: NULL or 0. Lengths of arrays and value types are filled in.
    outputs: by field, the expected result: its dtype and shape are those of the output tensor, elements masked with
    numpy.ma are not compared. A list of arrays for an array of tensors.
    rtol, atol: |got - want| <= atol + rtol * |want|; both 0: the same value and sign of zero. ulp: units in the last place
    instead. None: the family's tolerance, exact for integers. bits: the same bits, so NaN payloads count.
    packed: names of tensors (True: all) that keep their packed layout.
    owned: whether inputs may be OWNED_BY_DML."""

    def __init__(self, fields, outputs, rtol=None, atol=None, ulp=None, bits=False, packed=(), owned=True):
        self.fields, self.outputs = fields, outputs
        self.rtol, self.atol, self.ulp, self.bits, self.packed, self.owned = rtol, atol, ulp, bits, packed, owned


class Registered:
    def __init__(self, function, types, family):
        self.function, self.types, self.family = function, types, family


OPERATORS = {}  # name -> Registered
EDGES = {}      # name -> [(function, family)]
LACKS = []         # types in which the device does not compute: operators compute in FLOAT32 instead of FLOAT64
FLUSHED = []       # types of which no subnormal numbers are drawn: the device takes them for zeros


def _family(function):
    return function.__module__.removeprefix("ops_")


def operator(*names, types=None):
    def register(function):
        for name in names:
            assert name not in OPERATORS, name + " has cases already"
            OPERATORS[name] = Registered(function, types, _family(function))
        return function
    return register


def edge(*names):
    def register(function):
        for name in names:
            EDGES.setdefault(name, []).append((function, _family(function)))
        return function
    return register


class Generator:
    """What a case is drawn from."""
    level = HIGHEST_LEVEL

    def __init__(self, schema, op, dtype, types_field, seed, bfloat=False):
        """bfloat: the case becomes one of bfloat16, so that FLOAT32 arrays hold only numbers of that type."""
        self.schema, self.op, self.dtype, self.bfloat = schema, op, dtype, bfloat
        self.desc = schema.operators[op]
        self.types_field = types_field
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, p):
        return bool(self.rng.random() < p)

    def integer(self, low, high):
        """low <= result <= high."""
        return int(self.rng.integers(low, high + 1))

    def types(self, field):
        """The legal dtypes of a tensor field."""
        return [dtype_of(name) for name in self.desc.field(field).types]

    def shape(self, min_rank=None, max_rank=None, most=None):
        """Random sizes with at most `most` elements, 2000 and now and then enough for several threads; ranks default to
        those of the field under test."""
        if most is None:
            most = 100000 if self.chance(0.03) else 2000
        field = self.desc.field(self.types_field)
        low = field.min_rank if min_rank is None else min_rank
        high = field.max_rank if max_rank is None else max_rank
        rank = self.integer(low, high)
        sizes, left = [], max(1, most)
        for _ in range(rank):
            cap = min(left, self.pick(1, 2, 3, 5, 8, 17))
            sizes.append(self.integer(1, cap))
            left //= sizes[-1]
        if rank and self.chance(0.25):
            sizes[0] *= self.integer(1, left)
        self.rng.shuffle(sizes)
        return tuple(int(size) for size in sizes)

    def array(self, shape, dtype=None, low=None, high=None, special=False):
        """Random values, now and then constant along some dimensions so that they can be broadcast with stride 0."""
        dtype = self.dtype if dtype is None else dtype
        shape = (shape,) if np.isscalar(shape) else tuple(shape)
        drawn = list(shape)
        if self.chance(0.25):
            drawn = [1 if self.chance(0.4) else size for size in shape]
        values = self._draw(drawn, dtype, low, high)
        if special:
            self._sprinkle(values, dtype, low, high)
        values = self.exact(values, low, high)
        return _typed(np.broadcast_to(values, shape), dtype)

    def _draw(self, shape, dtype, low, high):
        if is_float(dtype):
            low, high = (-4.0, 4.0) if low is None and high is None else (low, high)
            low = high - 8.0 if low is None else low
            high = low + 8.0 if high is None else high
            return self.rng.uniform(low, high, shape).astype(dtype)
        least, most = lowest(dtype), highest(dtype)
        low = max(least, -100) if low is None else max(least, int(low))
        high = max(low, min(most, 100)) if high is None else min(most, int(high))
        return self.rng.integers(low, high, shape, dtype=_storage(dtype), endpoint=True)

    def exact(self, values, low=None, high=None):
        """Values that were made for an input as the type under test can hold them, within the bounds: for bfloat16, which
        stands as FLOAT32 in arrays, rounded to nearest or else toward zero."""
        if not self.bfloat or values.dtype != np.float32:
            return values
        rounded = bfloat_values(bfloat_bits(values))
        outside = np.zeros(values.shape, bool)
        if low is not None:
            outside |= rounded < low
        if high is not None:
            outside |= rounded > high
        toward_zero = (np.ascontiguousarray(values).view(np.uint32) & 0xFFFF0000).view(np.float32).reshape(values.shape)
        return np.where(outside, toward_zero, rounded).astype(np.float32)

    def _sprinkle(self, values, dtype, low, high):
        if is_float(dtype):
            info = np.finfo(dtype)
            extremes = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, info.min, info.tiny, info.smallest_subnormal]
            if dtype in map(dtype_of, FLUSHED):
                extremes[-1] = info.tiny
        else:
            extremes = [lowest(dtype), highest(dtype), 0, 1]
        extremes = [x for x in extremes if (low is None or not x < low) and (high is None or not x > high)]
        where = self.rng.random(values.shape) < 0.2
        if where.any():
            chosen = np.array(extremes, dtype=values.dtype)[self.rng.integers(len(extremes), size=values.shape)]
            values[where] = chosen[where]

    def scale_bias(self):
        """None, or (scale, bias) as float32 values."""
        if self.chance(0.5):
            return None
        return tuple(float(np.float32(x)) for x in self.rng.uniform(-2, 2, 2))

    def fused(self, clip=False):
        """None, or a random element-wise activation for FusedActivation."""
        return None if self.chance(0.4) else random_activation(self, clip)

    def activation(self):
        """A random activation of a recurrent operator."""
        return random_activation(self, False)


def _storage(dtype):
    return dtype.storage if isinstance(dtype, Nibbles) else dtype


def _typed(values, dtype):
    return dtype.wrap(values.copy()) if isinstance(dtype, Nibbles) else np.array(values, dtype=dtype)


if __name__ == "__main__":
    import conf_run
    sys.exit(conf_run.main())
