# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements: slices, joins, paddings, blocks, casts and fills. All are exact."""
import numpy as np

from conformance import Case, edge, is_float, lowest, highest, operator


@operator("SLICE")
def slice_(g):
    shape = g.shape()
    offsets, sizes, strides = [], [], []
    for n in shape:
        offsets.append(g.integer(0, n - 1))
        strides.append(g.integer(1, 3))
        sizes.append(g.integer(1, 1 + (n - 1 - offsets[-1]) // strides[-1]))
    x = g.array(shape, special=True)
    window = tuple(slice(o, o + s * (n - 1) + 1, s) for o, n, s in zip(offsets, sizes, strides))
    return Case({"InputTensor": x, "Offsets": offsets, "Sizes": sizes, "Strides": strides},
                {"OutputTensor": x[window]}, bits=True)


@operator("SLICE1")
def slice1(g):
    shape = g.shape()
    x = g.array(shape, special=True)
    offsets, windows, strides, sizes = [], [], [], []
    y = x
    for axis, n in enumerate(shape):
        offset = g.integer(0, n - 1)
        window = g.integer(1, n - offset)
        step = g.pick(1, 1, 2, 3, -1, -2, window + 1)
        size = g.integer(1, 1 + (window - 1) // abs(step))
        start = offset + (window - 1 if step < 0 else 0)
        y = np.take(y, [start + step * i for i in range(size)], axis=axis)
        offsets.append(offset), windows.append(window), strides.append(step), sizes.append(size)
    return Case({"InputTensor": x, "InputWindowOffsets": offsets, "InputWindowSizes": windows,
                 "InputWindowStrides": strides}, {"OutputTensor": y}, bits=True)


@edge("SLICE1")
def slice1_page():
    x = np.arange(1, 17, dtype=np.int32).reshape(1, 1, 4, 4)
    return [Case({"InputTensor": x, "InputWindowOffsets": [0, 0, 0, 1], "InputWindowSizes": [1, 1, 4, 3],
                  "InputWindowStrides": [1, 1, -2, 2]}, {"OutputTensor": np.int32([[[[14, 16], [6, 8]]]])})]


@edge("SLICE")
def slice_page():
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
    return [Case({"InputTensor": x, "Offsets": [0, 0, 1, 0], "Sizes": [1, 1, 2, 2], "Strides": [1, 1, 2, 3]},
                 {"OutputTensor": np.float32([[[[5, 8], [13, 16]]]])})]


def _cuts(g, size):
    count = g.integer(1, min(size, 6))
    cuts = sorted(g.rng.choice(np.arange(1, size), count - 1, replace=False)) if count > 1 else []
    return [int(cut) for cut in cuts]


@operator("SPLIT")
def split(g):
    shape = g.shape()
    axis = g.integer(0, len(shape) - 1)
    x = g.array(shape, special=True)
    return Case({"InputTensor": x, "Axis": axis},
                {"OutputTensors": [np.ascontiguousarray(part) for part in np.split(x, _cuts(g, shape[axis]), axis)]}, bits=True)


@operator("JOIN")
def join(g):
    shape = g.shape()
    axis = g.integer(0, len(shape) - 1)
    cuts = [0] + _cuts(g, shape[axis]) + [shape[axis]]
    parts = [g.array(shape[:axis] + (b - a,) + shape[axis + 1:], special=True) for a, b in zip(cuts, cuts[1:])]
    return Case({"InputTensors": parts, "Axis": axis}, {"OutputTensor": np.concatenate(parts, axis)}, bits=True)


def _many_parts():
    return [np.full((2, 1 + i % 3), i, np.int16) for i in range(40)]


@edge("JOIN")
def join_many():
    return [Case({"InputTensors": _many_parts(), "Axis": 1}, {"OutputTensor": np.concatenate(_many_parts(), 1)})]


@edge("SPLIT")
def split_many():
    return [Case({"InputTensor": np.concatenate(_many_parts(), 1), "Axis": 1}, {"OutputTensors": _many_parts()})]


MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _pad(x, start, end, mode, value):
    """Index arithmetic of the specification, dimension by dimension."""
    y = x
    for axis, (n, low, high) in enumerate(zip(x.shape, start, end)):
        at = np.arange(-low, n + high)
        if mode == "constant":
            inside = ((at >= 0) & (at < n)).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
            y = np.where(inside, np.take(y, np.clip(at, 0, n - 1), axis), np.asarray(value, x.dtype)).astype(x.dtype)
            continue
        if mode == "edge":
            at = np.clip(at, 0, n - 1)
        elif mode == "wrap":
            at = at % n
        elif mode == "symmetric":
            at = at % (2 * n)
            at = np.where(at < n, at, 2 * n - 1 - at)
        else:
            at = at % (2 * (n - 1)) if n > 1 else at * 0
            at = np.where(at < n, at, 2 * (n - 1) - at)
        y = np.take(y, at, axis)
    return y


@operator("PADDING", "PADDING1")
def padding(g):
    shape = g.shape(most=300)
    start = [g.integer(0, g.pick(0, 1, 3)) for _ in shape]
    end = [g.integer(0, g.pick(0, 1, 3)) for _ in shape]
    if np.prod([a + n + b for a, n, b in zip(start, shape, end)]) > 20000:
        return None
    mode = g.integer(0, 4)
    x = g.array(shape, special=True)
    fields = {"InputTensor": x, "PaddingMode": mode, "StartPadding": start, "EndPadding": end}
    if g.op == "PADDING":
        value = float(np.float32(g.rng.uniform(-5, 5)))
        fields["PaddingValue"] = value
        if not is_float(g.dtype):
            value = max(int(value), lowest(g.dtype))
    else:
        value = g.array((1,), low=None if is_float(g.dtype) else lowest(g.dtype),
                        high=None if is_float(g.dtype) else highest(g.dtype))[0]
        fields["PaddingValue"] = value
    return Case(fields, {"OutputTensor": _pad(x, start, end, MODES[mode], value)}, bits=True)


@edge("PADDING1")
def padding_long():
    """Reflections that fold several times, and exact 64-bit constants."""
    x = np.arange(3, dtype=np.int64)
    out = [Case({"InputTensor": x, "PaddingMode": mode, "StartPadding": [10], "EndPadding": [11], "PaddingValue": 2**62 + 1},
                {"OutputTensor": _pad(x, [10], [11], name, 2**62 + 1)}) for mode, name in enumerate(MODES)]
    one = np.uint8([[7]])
    return out + [Case({"InputTensor": one, "PaddingMode": mode, "StartPadding": [2, 1], "EndPadding": [1, 3]},
                       {"OutputTensor": _pad(one, [2, 1], [1, 3], name, 0)}) for mode, name in enumerate(MODES)]


@operator("TILE")
def tile(g):
    shape = g.shape(most=400)
    repeats = [g.pick(1, 1, 2, 3) for _ in shape]
    if np.prod(shape) * np.prod(repeats) > 20000:
        return None
    x = g.array(shape, special=True)
    return Case({"InputTensor": x, "Repeats": repeats}, {"OutputTensor": np.tile(x, repeats)}, bits=True)


def _to_integer(x, dtype):
    """Float to integer: toward zero; outside the range nothing is specified."""
    out = np.zeros(x.shape, dtype)
    whole = np.trunc(x.astype(np.float64))
    inside = np.isfinite(whole) & (whole >= float(np.iinfo(dtype).min)) & (whole < float(np.iinfo(dtype).max) + 1)
    if dtype.itemsize < 8:
        inside = np.isfinite(whole) & (whole >= np.iinfo(dtype).min) & (whole <= np.iinfo(dtype).max)
    out[inside] = whole[inside].astype(dtype)
    return np.ma.masked_array(out, ~inside)


@operator("CAST")
def cast(g):
    to = g.pick(*g.types("OutputTensor"))
    if is_float(g.dtype):
        x = g.array(g.shape(), low=-300, high=300, special=True)
        if g.chance(0.3):
            x = (x.astype(np.float64) * 1e4).astype(g.dtype)
    else:
        x = g.array(g.shape(), low=lowest(g.dtype), high=highest(g.dtype), special=True)
    if is_float(g.dtype) and not is_float(to):
        return Case({"InputTensor": x}, {"OutputTensor": _to_integer(x, to)})
    return Case({"InputTensor": x}, {"OutputTensor": x.astype(to)}, rtol=0, atol=0)


@edge("CAST")
def cast_all_types():
    """Every pair of types, at the ends of the ranges and at ties."""
    names = "float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8".split()
    out = []
    for a in map(np.dtype, names):
        if is_float(a):
            x = np.array([0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 127.9, 3.999, 100.0, 2049.0, 65504.0, 1e-7, 6e-8], a)
        else:
            x = np.array([lowest(a), highest(a), 0, 1, highest(a) // 2 + 1, highest(a) // 3, lowest(a) // 3,
                          highest(a) - 1], a)
        for b in map(np.dtype, names):
            with np.errstate(all="ignore"):
                want = _to_integer(x, b) if is_float(a) and not is_float(b) else x.astype(b)
            out.append(Case({"InputTensor": x}, {"OutputTensor": want}, rtol=0, atol=0))
    return out


def _to_depth(x, block, depth_first):
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // block, block, w // block, block)
    y = y.transpose((0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4))
    return np.ascontiguousarray(y.reshape(n, c * block * block, h // block, w // block))


@operator("SPACE_TO_DEPTH", "SPACE_TO_DEPTH1", "DEPTH_TO_SPACE", "DEPTH_TO_SPACE1")
def blocks(g):
    block, order = g.integer(1, 4), g.integer(0, 1) if g.op.endswith("1") else 0
    n, c, h, w = (g.integer(1, 4) for _ in range(4))
    wide = g.array((n, c, h * block, w * block), special=True)
    deep = _to_depth(wide, block, order == 0)
    a, b = (wide, deep) if g.op.startswith("SPACE") else (deep, wide)
    return Case({"InputTensor": a, "BlockSize": block, "Order": order} if g.op.endswith("1") else
                {"InputTensor": a, "BlockSize": block}, {"OutputTensor": b}, bits=True)


@operator("FILL_VALUE_CONSTANT")
def fill(g):
    value = g.array((1,), low=None if is_float(g.dtype) else lowest(g.dtype),
                    high=None if is_float(g.dtype) else highest(g.dtype), special=True)
    return Case({"Value": value[0]}, {"OutputTensor": np.broadcast_to(value, g.shape()).copy()}, bits=True)


@operator("VALUE_SCALE_2D")
def value_scale(g):
    channels = g.pick(1, 3)
    shape = (g.integer(1, 3), channels, g.integer(1, 9), g.integer(1, 9))
    x = g.array(shape)
    scale = np.float32(g.rng.uniform(-2, 2))
    bias = g.rng.uniform(-3, 3, channels).astype(np.float32)
    want = np.float64(scale) * x.astype(np.float64) + bias.astype(np.float64).reshape(1, -1, 1, 1)
    return Case({"InputTensor": x, "Scale": float(scale), "Bias": bias}, {"OutputTensor": want.astype(g.dtype)},
                rtol=2e-3 if g.dtype == np.float16 else 1e-6, atol=2e-3 if g.dtype == np.float16 else 1e-6)
