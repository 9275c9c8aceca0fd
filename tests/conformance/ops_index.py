# SPDX-License-Identifier: Apache-2.0
"""Operators that go by index or by position. They move bits, so all are exact; numpy's indexing is the reference."""
import numpy as np

from conformance import Case, edge, is_float, lowest, highest, operator


def _resolve(indices, size):
    """Places in [0, size) and where the indices are good; 0 where they are not."""
    if indices.dtype.kind == "u":
        good = indices < indices.dtype.type(size)
        return np.where(good, indices, 0).astype(np.int64), good
    wide = indices.astype(np.int64)
    wide = np.where(wide < 0, wide + size, wide)
    good = (wide >= 0) & (wide < size)
    return np.where(good, wide, 0), good


def _indices(g, shape, size, wild=0.15):
    """Random indices into `size` elements of a random type; signed ones are negative now and then. With a chance of
    `wild` some are out of range."""
    dtype = g.pick(*g.types("IndicesTensor"))
    result = g.array(shape, dtype, low=-size if dtype.kind == "i" and g.chance(0.5) else 0, high=size - 1)
    if g.chance(wild):
        bad = [size, highest(dtype), lowest(dtype) if dtype.kind == "i" else size + 1, highest(dtype) // 2]
        where = g.rng.random(shape) < 0.2
        result[where] = np.array(bad, dtype=dtype)[g.rng.integers(len(bad), size=int(where.sum()))]
    return result


def _sizes(g, low, high, most=4):
    return tuple(g.integer(1, g.pick(1, 2, most, 3 * most)) for _ in range(g.integer(low, high)))


def _lead(array, rank):
    """The same elements with leading dimensions of size 1."""
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def _masked(values, good):
    """What an index out of range reads is not specified; it must be read from somewhere, though."""
    good = np.broadcast_to(good.reshape(good.shape + (1,) * (values.ndim - good.ndim)), values.shape)
    return np.ma.masked_array(values, ~good) if not good.all() else values


@operator("GATHER", types="InputTensor")
def gather(g):
    shape = _sizes(g, 1, 4, 6)
    axis = g.integer(0, len(shape) - 1)
    picked = _sizes(g, 0, 3)
    rank = g.integer(max(len(shape), len(picked), len(shape) - 1 + len(picked), 1), 8)
    x, indices = g.array(shape, special=True), _indices(g, picked, shape[axis])
    places, good = _resolve(indices, shape[axis])
    y = np.take(x, places, axis=axis)
    good = np.broadcast_to(good.reshape((1,) * axis + good.shape + (1,) * (len(shape) - axis - 1)), y.shape)
    return Case({"InputTensor": _lead(x, rank), "IndicesTensor": _lead(indices, rank),
                 "Axis": rank - len(shape) + axis, "IndexDimensions": len(picked)},
                {"OutputTensor": _masked(_lead(y, rank), _lead(good, rank))}, bits=True)


@edge("GATHER")
def gather_shapes():
    x = np.arange(30, dtype=np.int16).reshape(5, 2, 1, 3)
    rows = np.array([[4, -5, 0, 3]], dtype=np.int32)
    line = np.arange(7, dtype=np.float32)
    return [
        # index dimensions that have no room: the first is 1 and falls away
        Case({"InputTensor": x, "IndicesTensor": rows.reshape(1, 1, 1, 4), "Axis": 0, "IndexDimensions": 2},
             {"OutputTensor": x[[4, 0, 0, 3]]}),
        Case({"InputTensor": x, "IndicesTensor": rows.reshape(1, 1, 1, 4), "Axis": 0, "IndexDimensions": 4},
             {"OutputTensor": x[[4, 0, 0, 3]]}),
        # as many index dimensions as there are dimensions
        Case({"InputTensor": line, "IndicesTensor": np.uint64([6, 0, 6]), "Axis": 0, "IndexDimensions": 1},
             {"OutputTensor": np.float32([6, 0, 6])}),
        # a scalar index
        Case({"InputTensor": line, "IndicesTensor": np.int64([-2]), "Axis": 0, "IndexDimensions": 0},
             {"OutputTensor": np.float32([5])}),
        Case({"InputTensor": x, "IndicesTensor": np.uint32([[[[1]]]]), "Axis": 1, "IndexDimensions": 0},
             {"OutputTensor": x[:, 1].reshape(1, 5, 1, 3)}),
        Case({"InputTensor": x, "IndicesTensor": np.uint32([[[[2]]]]), "Axis": 3, "IndexDimensions": 0},
             {"OutputTensor": x[..., 2].reshape(1, 5, 2, 1)}),
    ]


@edge("GATHER")
def gather_large():
    rng = np.random.default_rng(3)
    table = rng.standard_normal((3000, 96)).astype(np.float32)
    words = rng.integers(-3000, 3000, (1, 700))
    slabs = rng.standard_normal((3, 400000)).astype(np.float32)
    return [Case({"InputTensor": table, "IndicesTensor": words, "Axis": 0, "IndexDimensions": 1},
                 {"OutputTensor": table[words[0]]}),
            Case({"InputTensor": slabs, "IndicesTensor": np.uint32([[2, 0]]), "Axis": 0, "IndexDimensions": 1},
                 {"OutputTensor": slabs[[2, 0]]})]


@operator("GATHER_ELEMENTS", types="InputTensor")
def gather_elements(g):
    shape = g.shape()
    axis = g.integer(0, len(shape) - 1)
    length = g.integer(1, 2 * shape[axis] + 2) if np.prod(shape) < 5000 else shape[axis]
    x = g.array(shape, special=True)
    indices = _indices(g, shape[:axis] + (length,) + shape[axis + 1:], shape[axis])
    places, good = _resolve(indices, shape[axis])
    return Case({"InputTensor": x, "IndicesTensor": indices, "Axis": axis},
                {"OutputTensor": _masked(np.take_along_axis(x, places, axis), good)}, bits=True)


def _tuples(g, sizes, listed, wild=0.15):
    """Index tuples [listed..., T] into dimensions of these sizes: as given, the places, and which tuples are good."""
    columns = [_indices(g, listed, size, wild) for size in sizes]
    given = np.stack(columns, -1).astype(g.pick(*{column.dtype for column in columns}))
    places, good = zip(*(_resolve(given[..., t], size) for t, size in enumerate(sizes)))
    return given, places, np.logical_and.reduce(good)


def _one_type(g):
    """Pins the type of the indices, so that the columns of tuples agree."""
    dtype = g.pick(*g.types("IndicesTensor"))

    class Pinned:
        def __getattr__(self, name):
            return getattr(g, name)

        def types(self, field):
            return [dtype] if field == "IndicesTensor" else g.types(field)

    return Pinned()


@operator("GATHER_ND", "GATHER_ND1", types="InputTensor")
def gather_nd(g):
    g = _one_type(g)
    shape = _sizes(g, 1, 5, 5)
    batch = g.integer(0, min(len(shape) - 1, 3)) if g.op == "GATHER_ND1" else 0
    tuple_ = g.integer(1, len(shape) - batch)
    listed = shape[:batch] + _sizes(g, 0, 2, 5)
    inner = shape[batch + tuple_:]
    listed = listed[:max(batch, 8 - len(inner))][:7]
    rank = g.integer(max(len(shape), len(listed) + 1, len(listed) + len(inner), 1), 8)
    x = g.array(shape, special=True)
    indices, places, good = _tuples(g, shape[batch:batch + tuple_], listed)
    grids = [np.arange(n).reshape((n,) + (1,) * (len(listed) - d - 1)) for d, n in enumerate(shape[:batch])]
    y = np.asarray(x[tuple(grids) + places])
    good = np.broadcast_to(good.reshape(good.shape + (1,) * len(inner)), y.shape)
    fields = {"InputTensor": _lead(x, rank), "IndicesTensor": _lead(indices, rank), "InputDimensionCount": len(shape),
              "IndicesDimensionCount": len(listed) + 1}
    if g.op == "GATHER_ND1":
        fields["BatchDimensionCount"] = batch
    return Case(fields, {"OutputTensor": _masked(_lead(y, rank), _lead(good, rank))}, bits=True)


@edge("GATHER_ND1")
def gather_nd_page():
    x = np.arange(12, dtype=np.int64).reshape(1, 3, 2, 2)
    indices = np.int32([[[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [-1, 0]]]])
    return [Case({"InputTensor": x, "IndicesTensor": indices, "InputDimensionCount": 3, "IndicesDimensionCount": 3,
                  "BatchDimensionCount": 1}, {"OutputTensor": np.int64([[[[0, 3], [7, 4], [9, 10]]]])})]


@operator("SCATTER_ELEMENTS", types="InputTensor")
def scatter_elements(g):
    shape = g.shape()
    axis = g.integer(0, len(shape) - 1)
    length = g.integer(1, 2 * shape[axis] + 2) if np.prod(shape) < 5000 else shape[axis]
    x = g.array(shape, special=True)
    updates = g.array(shape[:axis] + (length,) + shape[axis + 1:], special=True)
    indices = _indices(g, updates.shape, shape[axis])
    places, good = _resolve(indices, shape[axis])
    y = x.copy()
    for i in range(length):  # one after the other: the last update of an element wins
        at = [slice(None)] * len(shape)
        at[axis] = slice(i, i + 1)
        at = tuple(at)
        old = np.take_along_axis(y, places[at], axis)
        np.put_along_axis(y, places[at], np.where(good[at], updates[at], old), axis)
    return Case({"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates, "Axis": axis},
                {"OutputTensor": y}, bits=True)


@operator("SCATTER_ND", types="InputTensor")
def scatter_nd(g):
    g = _one_type(g)
    shape = _sizes(g, 1, 5, 6)
    tuple_ = g.integer(1, len(shape))
    inner = shape[tuple_:]
    listed = _sizes(g, 0, 2, 6)
    rank = g.integer(max(len(shape), len(listed) + 1, len(listed) + len(inner), 1), 8)
    x, updates = g.array(shape, special=True), g.array(listed + inner, special=True)
    indices, places, good = _tuples(g, shape[:tuple_], listed)
    y = x.copy()
    for at in np.ndindex(*listed):
        if good[at]:
            y[tuple(int(column[at]) for column in places)] = updates[at]
    return Case({"InputTensor": _lead(x, rank), "IndicesTensor": _lead(indices, rank),
                 "UpdatesTensor": _lead(updates, rank), "InputDimensionCount": len(shape),
                 "IndicesDimensionCount": len(listed) + 1}, {"OutputTensor": _lead(y, rank)}, bits=True)


@edge("SCATTER_ELEMENTS")
def scatter_order():
    n = 300000
    rng = np.random.default_rng(4)
    x, updates, places = np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32), rng.integers(0, n, n)
    y = x.copy()
    y[places] = updates  # of repeated places numpy keeps the last
    row = np.uint16([[1, 2, 3, 4, 5]])
    return [Case({"InputTensor": x, "IndicesTensor": places, "UpdatesTensor": updates, "Axis": 0},
                 {"OutputTensor": y}),
            Case({"InputTensor": row, "IndicesTensor": np.int64([[1, 3]]), "UpdatesTensor": np.uint16([[11, 21]]),
                  "Axis": 1}, {"OutputTensor": np.uint16([[1, 11, 3, 21, 5]])}),
            Case({"InputTensor": row, "IndicesTensor": np.int64([[1, 1, -6, 5]]),
                  "UpdatesTensor": np.uint16([[11, 21, 31, 41]]), "Axis": 1},
                 {"OutputTensor": np.uint16([[1, 21, 3, 4, 5]])})]


@edge("SCATTER_ND")
def scatter_rows():
    rng = np.random.default_rng(5)
    x, updates = rng.standard_normal((1000, 70)).astype(np.float32), rng.standard_normal((4000, 70)).astype(np.float32)
    rows = rng.integers(-1000, 1000, (4000, 1))
    y = x.copy()
    for row, update in zip(rows[:, 0], updates):
        y[row] = update
    return [Case({"InputTensor": x, "IndicesTensor": rows, "UpdatesTensor": updates, "InputDimensionCount": 2,
                  "IndicesDimensionCount": 2}, {"OutputTensor": y})]


@operator("MAX_UNPOOLING", types="InputTensor")
def max_unpooling(g):
    shape, target = g.shape(4, 4), g.shape(4, 4)
    x = g.array(shape, special=True)
    indices = _indices(g, shape, int(np.prod(target)))
    places, good = _resolve(indices.ravel(), int(np.prod(target)))
    y = np.zeros(int(np.prod(target)), x.dtype)
    for place, value in zip(places[good], x.ravel()[good]):
        y[place] = value
    return Case({"InputTensor": x, "IndicesTensor": indices}, {"OutputTensor": y.reshape(target)}, bits=True)


@operator("ONE_HOT", types="ValuesTensor")
def one_hot(g):
    shape = g.shape()
    axis = g.integer(0, len(shape) - 1)
    depth = shape[axis]
    values = _sizes(g, 1, len(shape), 3)
    if np.prod(values) < 2:
        values = values[:-1] + (g.integer(2, 4),)
    values = _lead(g.array(values, special=True), len(shape))
    if g.chance(0.3):
        values = np.moveaxis(values, -1, 0)
    indices = _indices(g, shape[:axis] + (1,) + shape[axis + 1:], depth)
    places, good = _resolve(indices, depth)
    line = np.arange(depth).reshape((depth,) + (1,) * (len(shape) - axis - 1))
    off, on = values.ravel()[:2]
    return Case({"IndicesTensor": indices, "ValuesTensor": values, "Axis": axis},
                {"OutputTensor": np.where((line == places) & good, on, off)}, bits=True)


@edge("ONE_HOT")
def one_hot_wide():
    """2^32 + 1 is not 1; values of any rank."""
    indices = np.array([[(1 << 32) + 1], [1], [-1], [-4]], dtype=np.int64)
    return [Case({"IndicesTensor": indices, "ValuesTensor": np.int8([7, 9]).reshape(shape), "Axis": 1},
                 {"OutputTensor": np.int8([[7, 7, 7], [7, 9, 7], [7, 7, 9], [7, 7, 7]])})
            for shape in ((1, 2), (2,), (1, 2, 1, 1))]


@operator("REVERSE_SUBSEQUENCES", types="InputTensor")
def reverse_subsequences(g):
    shape = g.shape()
    axis = g.integer(0, len(shape) - 1)
    size = shape[axis]
    dtype = g.pick(*g.types("SequenceLengthsTensor"))
    x = g.array(shape, special=True)
    lengths = g.array(shape[:axis] + (1,) + shape[axis + 1:], dtype, low=0, high=size + 2)
    if g.chance(0.1):
        lengths.flat[0] = highest(dtype)
    clamped = np.minimum(lengths, dtype.type(size)).astype(np.int64)
    line = np.arange(size).reshape((size,) + (1,) * (len(shape) - axis - 1))
    places = np.where(line < clamped, clamped - 1 - line, line)
    return Case({"InputTensor": x, "SequenceLengthsTensor": lengths, "Axis": axis},
                {"OutputTensor": np.take_along_axis(x, places, axis)}, bits=True)


def _matrix_shape(g):
    batch = tuple(g.integer(1, 3) for _ in range(g.integer(0, 2)))
    return batch + (g.pick(1, g.integer(1, 9), g.integer(1, 60)), g.pick(1, g.integer(1, 9), g.integer(1, 60)))


def _diagonal(shape):
    return np.broadcast_to(np.arange(shape[-1])[None, :] - np.arange(shape[-2])[:, None], shape)


INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


@operator("DIAGONAL_MATRIX", types="OutputTensor")
def diagonal_matrix(g):
    shape = _matrix_shape(g)
    offset = g.pick(0, 0, g.integer(-10, 10), g.integer(-60, 60), INT_MIN, INT_MAX)
    value = float(np.float32(g.rng.uniform(0 if g.dtype.kind == "u" else -100, 100)))
    y = np.where(_diagonal(shape) == offset, np.array(value if is_float(g.dtype) else int(value)).astype(g.dtype),
                 g.dtype.type(0))
    return Case({"Offset": offset, "Value": value}, {"OutputTensor": y}, rtol=0, atol=0)


@operator("DIAGONAL_MATRIX1", types="OutputTensor")
def diagonal_matrix1(g):
    shape = _matrix_shape(g)
    begin, end = (g.pick(0, 1, g.integer(-20, 20), g.integer(-60, 60), INT_MIN, INT_MAX) for _ in range(2))
    t = _diagonal(shape)
    fill = (begin <= t) & (t < end) if begin <= end else ~((end <= t) & (t < begin))
    value = g.array(1, special=True)[0]
    x = g.array(shape, special=True) if g.chance(0.7) else None
    fields = {"Value": value, "DiagonalFillBegin": begin, "DiagonalFillEnd": end}
    if x is not None:
        fields["InputTensor"] = x
    return Case(fields, {"OutputTensor": np.where(fill, value, g.dtype.type(0) if x is None else x)})


@operator("SLICE_GRAD", types="InputGradientTensor")
def slice_grad(g):
    shape = g.shape()
    offsets, windows, strides, sizes, at = [], [], [], [], []
    for n in shape:
        offset = g.integer(0, n - 1)
        window = g.integer(1, n - offset)
        step = g.pick(1, 1, 2, 3, -1, -2, -3, window + 1, -window)
        size = g.integer(1, 1 + (window - 1) // abs(step))
        start = offset + (window - 1 if step < 0 else 0)
        at.append(start + step * np.arange(size))
        offsets.append(offset), windows.append(window), strides.append(step), sizes.append(size)
    dy = g.array(tuple(sizes), special=True)
    dx = np.zeros(shape, g.dtype)
    dx[np.ix_(*at)] = dy
    return Case({"InputGradientTensor": dy, "InputWindowOffsets": offsets, "InputWindowSizes": windows,
                 "InputWindowStrides": strides}, {"OutputGradientTensor": dx}, bits=True)


@operator("FILL_VALUE_SEQUENCE", types="OutputTensor")
def fill_value_sequence(g):
    shape = g.shape()
    count = int(np.prod(shape))
    if is_float(g.dtype):
        start, delta = g.exact(g.rng.uniform(-4, 4, 2).astype(g.dtype))
        y = (np.float64(start) + np.arange(count, dtype=np.float64) * np.float64(delta)).astype(g.dtype)
        return Case({"ValueStart": start, "ValueDelta": delta}, {"OutputTensor": y.reshape(shape)}, ulp=1)
    start, delta = (g.array(1, low=lowest(g.dtype), high=highest(g.dtype))[0] for _ in range(2))
    bits = 8 * g.dtype.itemsize
    wrapped = [(int(start) + k * int(delta)) % (1 << bits) for k in range(count)]
    y = np.array(wrapped, dtype=f"u{g.dtype.itemsize}").view(g.dtype)
    return Case({"ValueStart": start, "ValueDelta": delta}, {"OutputTensor": y.reshape(shape)})


@edge("FILL_VALUE_SEQUENCE")
def fill_value_sequence_long():
    n = 200001
    down = np.uint8((10 - 2 * np.arange(n)) % 256)
    return [Case({"ValueStart": np.uint8(10), "ValueDelta": np.uint8(254)}, {"OutputTensor": down}),
            Case({"ValueStart": np.float32(0.5), "ValueDelta": np.float32(0.25)},
                 {"OutputTensor": np.float32(0.5 + 0.25 * np.arange(n)).reshape(3, n // 3)})]


def _nonzero(x, columns, count_rank, list_rank):
    found = np.argwhere(x != 0)[:, x.ndim - columns:].astype(np.uint32)
    rows = np.ma.masked_all((x.size, columns), dtype=np.uint32)
    rows[:len(found)] = found
    if len(found) == x.size:
        rows = rows.filled()
    return {"OutputCountTensor": np.full((1,) * count_rank, len(found), np.uint32),
            "OutputCoordinatesTensor": rows.reshape((1,) * (list_rank - 2) + rows.shape)}


@operator("NONZERO_COORDINATES", types="InputTensor")
def nonzero_coordinates(g):
    shape = g.shape()
    x = g.array(shape, special=True)
    x[g.rng.random(shape) < g.pick(0, 0.1, 0.5, 0.9, 1)] = 0
    if is_float(g.dtype):
        x[g.rng.random(shape) < 0.1] = -0.0
    least = len(shape)
    while least > 1 and shape[len(shape) - least] == 1:
        least -= 1
    return Case({"InputTensor": x}, _nonzero(x, g.integer(least, len(shape)), g.integer(1, 8), g.integer(2, 8)))


@edge("NONZERO_COORDINATES")
def nonzero_large():
    rng = np.random.default_rng(6)
    x = (rng.random((3, 70, 1000)) < 0.3).astype(np.uint8)
    return [Case({"InputTensor": x}, _nonzero(x, 3, 1, 2)),
            Case({"InputTensor": np.float32([np.nan, -0.0, 0, 1e-45, -np.inf])},
                 _nonzero(np.float32([1, 0, 0, 1, 1]), 1, 1, 2))]
