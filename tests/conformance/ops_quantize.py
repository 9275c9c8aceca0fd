# SPDX-License-Identifier: Apache-2.0
"""Quantisation: the formulas step by step in FLOAT32, which is exact to the bit, halves rounded to even."""
import numpy as np

from conformance import INT4, UINT4, Case, Nibbles, edge, highest, is_float, lowest, operator

SCALE, SCALE_ZERO_POINT = 1, 2
F32 = np.float32


def _type(array):
    return getattr(array, "nibbles", None) or array.dtype


def _finish(values, dtype):
    """Values in range as an array of a type that may have 4 bits."""
    if isinstance(dtype, Nibbles):
        return dtype.wrap(values.astype(np.int64))
    return values.astype(dtype)


def _quantize(x, scale, zero, dtype):
    """zero: numbers. NaN is unspecified."""
    with np.errstate(all="ignore"):
        q = np.rint(x.astype(F32) / scale.astype(F32)) + np.asarray(zero, F32)
    clipped = np.clip(q, lowest(dtype), highest(dtype))
    result = _finish(np.where(np.isnan(q), 0, clipped), dtype)
    return np.ma.masked_array(result, np.isnan(q)) if np.isnan(q).any() else result


def _plain(array):
    return np.asarray(array, np.float64).astype(np.int64)


def _dequantize(q, scale, zero, dtype):
    difference = (_plain(q) - _plain(zero)).astype(F32)
    with np.errstate(all="ignore"):
        return (difference * scale.astype(F32)).astype(dtype)


def _scales(g, shape, dtype):
    low, high = g.pick((0.02, 0.3), (0.5, 2), (-1, -0.1), (4, 40))
    return g.array(shape, dtype, low=low, high=high)


def _integers(g, shape, dtype, most=None):
    low, high = lowest(dtype), highest(dtype)
    if most:
        low, high = max(low, -most), min(high, most)
    return g.array(shape, dtype, low=low, high=high)


# ---- ELEMENT_WISE_QUANTIZE_LINEAR, ELEMENT_WISE_DEQUANTIZE_LINEAR ----


def _values(g, shape):
    if not is_float(g.dtype):
        return g.array(shape, low=-3000, high=3000)
    if g.chance(0.5):  # ties
        return (np.round(g.array(shape, low=-300, high=300)) / 2).astype(g.dtype)
    return g.array(shape, low=-40, high=40, special=g.chance(0.3))


@operator("ELEMENT_WISE_QUANTIZE_LINEAR", types="InputTensor")
def quantize_linear(g):
    shape, out = g.shape(), g.pick(*g.types("OutputTensor"))
    x = _values(g, shape)
    scale = g.array(shape, x.dtype if is_float(g.dtype) else F32, low=1, high=1) if g.chance(0.2) else _scales(
        g, shape, x.dtype if is_float(g.dtype) else F32)
    zero = _integers(g, shape, out) if g.chance(0.7) else None
    want = _quantize(x, scale, 0 if zero is None else zero, out)
    return Case({"InputTensor": x, "ScaleTensor": scale, "ZeroPointTensor": zero}, {"OutputTensor": want})


@operator("ELEMENT_WISE_DEQUANTIZE_LINEAR", types="InputTensor")
def dequantize_linear(g):
    shape, out = g.shape(), g.pick(*g.types("OutputTensor"))
    q, scale = _integers(g, shape, g.dtype), _scales(g, shape, out)
    zero = _integers(g, shape, g.dtype) if g.chance(0.7) else None
    want = _dequantize(q, scale, np.zeros(shape) if zero is None else zero, out)
    return Case({"InputTensor": q, "ScaleTensor": scale, "ZeroPointTensor": zero}, {"OutputTensor": want},
                rtol=0, atol=0)


@edge("ELEMENT_WISE_QUANTIZE_LINEAR")
def quantize_linear_edges():
    inf = np.inf
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30, inf, -inf, 127.5, 128.5, 254.5, 255.5, -128.5, 0.0, -0.0], F32)
    cases = []
    for dtype in (np.uint8, np.int8):
        for zero in (None, 0, 1, highest(dtype), lowest(dtype)):
            z = None if zero is None else np.full(x.shape, zero, dtype)
            for scale in (1, 0.5, 3, -1):
                s = np.full(x.shape, scale, F32)
                cases.append(Case({"InputTensor": x, "ScaleTensor": s, "ZeroPointTensor": z},
                                  {"OutputTensor": _quantize(x, s, 0 if zero is None else zero, dtype)}))
    n = np.array([2**31 - 1, -2**31, 3, 5, -3], np.int32)
    for scale in (2, 2**24):
        s = np.full(n.shape, scale, F32)
        cases.append(Case({"InputTensor": n, "ScaleTensor": s}, {"OutputTensor": _quantize(n, s, 0, np.uint8)}))
    return cases


@edge("ELEMENT_WISE_DEQUANTIZE_LINEAR")
def dequantize_linear_edges():
    """Differences that do not fit the element's type."""
    cases = []
    for dtype in (np.int32, np.uint32, np.int16, np.uint16, np.int8, np.uint8):
        low, high = lowest(dtype), highest(dtype)
        q, z = np.array([low, high, low, high], dtype), np.array([high, low, low, high], dtype)
        for out in (np.float32, np.float16):
            s = np.full(4, 2.0**-24, out)
            cases.append(Case({"InputTensor": q, "ScaleTensor": s, "ZeroPointTensor": z},
                              {"OutputTensor": _dequantize(q, s, z, out)}, rtol=0, atol=0))
    return cases


# ---- ELEMENT_WISE_QUANTIZED_LINEAR_ADD ----


def _add(a, sa, za, b, sb, zb, so, zo, dtype):
    left, right = _dequantize(a, sa, za, F32), _dequantize(b, sb, zb, F32)
    return _quantize(left + right, so, zo, dtype)


@operator("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", types="ATensor")
def quantized_add(g):
    shape, one = g.shape(), None
    one = (1,) * len(shape)
    b_type, out = g.pick(*g.types("BTensor")), g.pick(*g.types("OutputTensor"))
    a, b = _integers(g, shape, g.dtype), _integers(g, shape, b_type)
    scales = [_scales(g, one, F32) for _ in range(3)]
    zeros = [_integers(g, one, dtype) if g.chance(0.6) else None for dtype in (g.dtype, b_type, out)]
    za, zb, zo = (np.zeros(one) if zero is None else zero for zero in zeros)
    want = _add(a, scales[0], za, b, scales[1], zb, scales[2], zo, out)
    return Case({"ATensor": a, "AScaleTensor": scales[0], "AZeroPointTensor": zeros[0], "BTensor": b,
                 "BScaleTensor": scales[1], "BZeroPointTensor": zeros[1], "OutputScaleTensor": scales[2],
                 "OutputZeroPointTensor": zeros[2]}, {"OutputTensor": want})


# ---- DYNAMIC_QUANTIZE_LINEAR: as ONNX, with its formula for both types; an empty range has scale 1 ----


def _dynamic_case(x, dtype):
    low, high = F32(lowest(dtype)), F32(highest(dtype))
    least, most = np.minimum(F32(0), x.min().astype(F32)), np.maximum(F32(0), x.max().astype(F32))
    scale = (most - least) / (high - low) if most != least else F32(1)
    zero = np.clip(np.rint(low - least / scale), low, high)
    one = (1,) * x.ndim
    return Case({"InputTensor": x}, {"OutputTensor": _quantize(x, np.full(1, scale, F32), zero, dtype),
                                     "OutputScaleTensor": np.full(one, scale, F32),
                                     "OutputZeroPointTensor": np.full(one, zero).astype(dtype)}, rtol=0, atol=0)


@operator("DYNAMIC_QUANTIZE_LINEAR", types="InputTensor")
def dynamic_quantize(g):
    low, high = g.pick((-4, 4), (0.5, 7), (-9, -1), (-1, 100), (-3e-3, 1e-3))
    return _dynamic_case(g.array(g.shape(), low=low, high=high), g.pick(*g.types("OutputTensor")))


@edge("DYNAMIC_QUANTIZE_LINEAR")
def dynamic_quantize_edges():
    arrays = [np.zeros((2, 3), F32), np.array([5], F32), np.array([-5], F32), np.array([[-0.0]], F32),
              np.array([0, 2, -3, -2.5, 1.34, 0.5], F32), np.array([-1, -2.1, -1.3, -2.5, -3.34, -4], F32),
              np.linspace(-3, 5, 200001, dtype=F32), np.full((3, 1, 7), -1e-30, F32)]
    return [_dynamic_case(x.astype(t), dtype) for x in arrays for dtype in (np.uint8, np.int8)
            for t in (np.float32, np.float16) if t == np.float32 or x.size < 100]


# ---- QUANTIZE, DEQUANTIZE: a scale for each block of elements ----


def _spread(small, sizes):
    for axis, size in enumerate(sizes):
        small = np.repeat(small, size // small.shape[axis], axis)
    return small


def _middle(dtype):
    """What counts without a zero point."""
    return (highest(dtype) + 1) // 2 if lowest(dtype) == 0 else 0


def _blocks(g):
    """(sizes of the scale, sizes of the tensor)"""
    small = g.shape(most=g.pick(1, 40, 300))
    sizes = [n * (g.pick(1, 1, 2, 3, 16, 32) if g.chance(0.6) else 1) for n in small]
    while np.prod(sizes) > 60000:
        sizes = [n if g.chance(0.5) else size for n, size in zip(small, sizes)]
    return small, tuple(int(n) for n in sizes)


def _block_case(op, x, scale, zero, dtype):
    """dtype: of the quantised side for QUANTIZE, of the output for DEQUANTIZE."""
    quantised = dtype if op == "QUANTIZE" else _type(x)
    z = np.full(scale.shape, _middle(quantised)) if zero is None else _plain(zero)
    s, z = _spread(np.asarray(scale), x.shape), _spread(z, x.shape)
    want = _quantize(x, s, z, dtype) if op == "QUANTIZE" else _dequantize(x, s, z, dtype)
    tensors = [scale] if zero is None else [scale, zero]
    fields = {"InputTensor": x, "QuantizationTensors": tensors,
              "QuantizationType": SCALE if zero is None else SCALE_ZERO_POINT}
    return Case(fields, {"OutputTensor": want}, rtol=0, atol=0)


@operator("QUANTIZE", types="InputTensor")
def quantize(g):
    small, sizes = _blocks(g)
    out = g.pick(*g.types("OutputTensor"))
    zero = _integers(g, small, out) if g.chance(0.6) else None
    return _block_case(g.op, _values(g, sizes), _scales(g, small, g.dtype), zero, out)


@operator("DEQUANTIZE", types="InputTensor")
def dequantize(g):
    small, sizes = _blocks(g)
    zero = _integers(g, small, g.dtype) if g.chance(0.6) else None
    out = g.pick(*g.types("OutputTensor"))
    return _block_case(g.op, _integers(g, sizes, g.dtype), _scales(g, small, out), zero, out)


def _every_dimension_in_blocks(op):
    rng = np.random.default_rng(8)
    small, sizes = (2, 1, 2, 3, 2, 2, 2, 2), (4, 3, 4, 6, 4, 4, 4, 4)
    scale = rng.uniform(0.1, 1, small).astype(F32)
    for dtype in (UINT4, np.dtype(np.int8)):
        low, high = lowest(dtype), highest(dtype)
        zero = _finish(rng.integers(low, high, small, endpoint=True), dtype)
        if op == "QUANTIZE":
            yield _block_case(op, rng.uniform(-9, 9, sizes).astype(F32), scale, zero, dtype)
            yield _block_case(op, rng.uniform(-9, 9, sizes).astype(F32), scale, None, dtype)
        else:
            yield _block_case(op, _finish(rng.integers(low, high, sizes, endpoint=True), dtype), scale, zero, F32)


@edge("QUANTIZE")
def quantize_edges():
    x = np.linspace(-20, 20, 81, dtype=F32)
    return list(_every_dimension_in_blocks("QUANTIZE")) + [
        _block_case("QUANTIZE", x, np.ones(1, F32), None, dtype)
        for dtype in (INT4, UINT4, np.dtype(np.int8), np.dtype(np.uint8))]


@edge("DEQUANTIZE")
def dequantize_edges():
    """All values of the 4-bit types, and the shape of 4-bit weights."""
    rng, cases = np.random.default_rng(9), list(_every_dimension_in_blocks("DEQUANTIZE"))
    for dtype in (INT4, UINT4):
        values = dtype.wrap(np.arange(dtype.low, dtype.high + 1))
        cases += [_block_case("DEQUANTIZE", values, np.full(1, 0.5, out), None, np.dtype(out))
                  for out in (np.float32, np.float16)]
        weights = dtype.wrap(rng.integers(dtype.low, dtype.high, (96, 256), endpoint=True))
        scale = rng.uniform(0.01, 0.1, (96, 8)).astype(F32)
        zero = dtype.wrap(rng.integers(dtype.low, dtype.high, (96, 8), endpoint=True))
        cases.append(_block_case("DEQUANTIZE", weights, scale, zero, np.dtype(np.float32)))
    return cases
