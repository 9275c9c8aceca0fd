# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions: real ones in float64 (NumPy, PyTorch), those of integers exactly."""
import numpy as np
import torch

import conformance
from conformance import Case, activate, edge, highest, lowest, operator

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


# ---- what several operators share ----

def _bytes(g, shape, dtype, extreme=None):
    """The whole range of the type: sums shall be great."""
    if extreme is None:
        extreme = g.chance(0.1)
    values = g.array(shape, dtype, low=lowest(dtype), high=highest(dtype))
    return np.full(shape, g.pick(lowest(dtype), highest(dtype)), dtype) if extreme else values


def _wide(x):
    return x.astype(np.int64)


def _int32(x):
    return (x & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def _real(g, shape, dtype, size=2.0):
    return g.array(shape, dtype, low=-size, high=size)


def _finish(fused, exact, magnitude, dtype):
    """The expected array after the activation, with the tolerance of sums whose terms add up to `magnitude`. Where the
    activation jumps within the error of the sum, which in FLOAT16 devices may round first, anything goes."""
    half = dtype == np.float16
    error = 4e-6 * magnitude
    near = error + 2.0**-11 * np.abs(exact) if half else error
    result = activate(fused, exact)
    with np.errstate(all="ignore"):
        change = np.abs(activate(fused, exact + near) - activate(fused, exact - near))
        steep = np.ma.masked_array(result.astype(dtype), mask=change > 40 * near + 1e-6)
    return steep, {"rtol": 2e-3 if half else 2e-5, "atol": float(8 * np.max(error) + (1e-5 if half else 1e-6))}


def _scale(g, shape, low=0.01, high=0.2):
    return g.array(shape, np.dtype(np.float32), low=low, high=high)


def _quantized(exact, zero_point, dtype):
    """Round half to even, add, saturate; masked where a rounding error of the scales may tip the balance."""
    value = np.rint(exact) + zero_point
    tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < 1e-5 * np.maximum(1, np.abs(exact))
    inside = (value > lowest(dtype) - 2) & (value < highest(dtype) + 2)
    return np.ma.masked_array(np.clip(value, lowest(dtype), highest(dtype)).astype(dtype), mask=tie & inside)


# ---- matrix products ----

def _sizes(g):
    """(batch sizes, M, K, N)."""
    rank = g.integer(2, 4)
    batch = tuple(g.integer(1, 3) for _ in range(rank - 2))
    if g.chance(0.05):
        return batch[:0], g.integer(60, 130), g.integer(40, 200), g.integer(100, 300)
    return batch, g.pick(1, 2, g.integer(1, 20)), g.integer(1, 70), g.pick(1, g.integer(2, 9), g.integer(10, 80))


def _per(g, rank, count, axis, dtype=None, scale=False):
    """A scale or zero point of `rank` dimensions: one element, or one for each row (axis -2) or column (-1)."""
    shape = [1] * rank
    if rank + axis >= 0 and g.chance(0.5):
        shape[axis] = count
    if scale:
        return _scale(g, shape).astype(dtype or np.float32)
    bits = np.iinfo(dtype)
    return g.array(shape, dtype, low=max(bits.min, -300), high=min(bits.max, 300))


def _spread(x, rank, default=0):
    """As it multiplies [.., M, N] in float64 or int64; leading ones go."""
    if x is None:
        return default
    return x.reshape(x.shape[max(0, x.ndim - rank):])


@operator("GEMM", types="ATensor")
def gemm(g):
    batch, m, k, n = _sizes(g)
    trans_a, trans_b = g.pick(0, 1), g.pick(0, 1)
    a = _real(g, batch + ((k, m) if trans_a else (m, k)), g.dtype)
    b = _real(g, batch + ((n, k) if trans_b else (k, n)), g.dtype)
    c = _real(g, batch + (m, n), g.dtype) if g.chance(0.5) else None
    alpha, beta = (g.pick(1.0, 0.0, float(np.float32(g.rng.uniform(-2, 2)))) for _ in range(2))
    wide_a, wide_b = (np.swapaxes(x.astype(np.float64), -1, -2) if t else x.astype(np.float64)
                      for x, t in ((a, trans_a), (b, trans_b)))
    exact, magnitude = alpha * (wide_a @ wide_b), np.abs(alpha) * (np.abs(wide_a) @ np.abs(wide_b))
    if c is not None:
        exact, magnitude = exact + beta * c.astype(np.float64), magnitude + np.abs(beta * c.astype(np.float64))
    fields = {"ATensor": a, "BTensor": b, "CTensor": c, "TransA": trans_a, "TransB": trans_b, "Alpha": alpha,
              "Beta": beta}
    if g.chance(0.15):
        return _gemm_softmax(g, fields, exact)
    fused = g.fused(clip=True)
    result, tolerance = _finish(fused, exact, magnitude, g.dtype)
    return Case({**fields, "FusedActivation": fused}, {"OutputTensor": result}, **tolerance)


def _gemm_softmax(g, fields, exact):
    axes = [exact.ndim - 1]
    if g.chance(0.5):
        fields["FusedActivation"] = ("ACTIVATION_SOFTMAX", {})
    else:
        axes = sorted(int(axis) for axis in g.rng.permutation(exact.ndim)[:g.integer(1, exact.ndim)])
        fields["FusedActivation"] = ("ACTIVATION_SOFTMAX1", {"AxisCount": len(axes), "Axes": axes})
    powers = np.exp(exact - exact.max(axis=tuple(axes), keepdims=True))
    result = (powers / powers.sum(axis=tuple(axes), keepdims=True)).astype(g.dtype)
    half = g.dtype == np.float16
    # An intermediate result in half precision moves exponents of several hundred by whole units.
    return Case(fields, {"OutputTensor": result}, rtol=0.3 if half else 1e-3, atol=0.3 if half else 1e-5)


@operator("MATRIX_MULTIPLY_INTEGER", types="ATensor")
def matrix_multiply_integer(g):
    batch, m, k, n = _sizes(g)
    a, b = _bytes(g, batch + (m, k), g.dtype), _bytes(g, batch + (k, n), g.pick(*BYTES))
    a_zero = _per(g, g.integer(1, 4), m, -2, a.dtype) if g.chance(0.6) else None
    b_zero = _per(g, g.integer(1, 4), n, -1, b.dtype) if g.chance(0.6) else None
    rank = a.ndim
    left = _wide(a) - (_wide(_spread(a_zero, rank)) if a_zero is not None else 0)
    right = _wide(b) - (_wide(_spread(b_zero, rank)) if b_zero is not None else 0)
    return Case({"ATensor": a, "AZeroPointTensor": a_zero, "BTensor": b, "BZeroPointTensor": b_zero},
                {"OutputTensor": _int32(left @ right)})


@edge("MATRIX_MULTIPLY_INTEGER")
def matrix_multiply_integer_extremes():
    cases = []
    for a, b, a_zero, b_zero in ((255, 255, 0, 0), (0, 0, 255, 255), (255, 0, 0, 255)):
        for k in (1, 3, 4, 5, 33023, 33024, 33026):  # 33025 * 255 * 255 passes 2^31
            left = np.full((2, k), a, np.uint8)
            right = np.full((k, 3), b, np.uint8)
            exact = (a - a_zero) * (b - b_zero) * k
            cases.append(Case({"ATensor": left, "AZeroPointTensor": np.full((1, 1), a_zero, np.uint8), "BTensor": right,
                               "BZeroPointTensor": np.full((1, 3), b_zero, np.uint8)},
                              {"OutputTensor": _int32(np.full((2, 3), exact, np.int64))}))
    return cases


@operator("QUANTIZED_LINEAR_MATRIX_MULTIPLY", types="ATensor")
def quantized_matrix_multiply(g):
    batch, m, k, n = _sizes(g)
    a, b, out = _bytes(g, batch + (m, k), g.dtype, False), _bytes(g, batch + (k, n), g.pick(*BYTES), False), g.pick(*BYTES)
    parameters, rank = g.integer(1, 4), a.ndim
    a_scale, y_scale = (_per(g, parameters, m, -2, scale=True) for _ in range(2))
    b_scale = _per(g, parameters, n, -1, scale=True)
    y_scale = (y_scale * np.float32(g.pick(1, 10, 100))).astype(np.float32)
    zeros = [_per(g, parameters, count, axis, dtype) if g.chance(0.6) else None
             for count, axis, dtype in ((m, -2, a.dtype), (n, -1, b.dtype), (m, -2, out))]
    wide = [_wide(_spread(x, rank)) if x is not None else 0 for x in zeros]
    sums = (_wide(a) - wide[0]) @ (_wide(b) - wide[1])
    scales = [_spread(x, rank).astype(np.float64) for x in (a_scale, b_scale, y_scale)]
    exact = sums * scales[0] * scales[1] / scales[2]
    return Case({"ATensor": a, "AScaleTensor": a_scale, "AZeroPointTensor": zeros[0], "BTensor": b, "BScaleTensor": b_scale,
                 "BZeroPointTensor": zeros[1], "OutputScaleTensor": y_scale, "OutputZeroPointTensor": zeros[2]},
                {"OutputTensor": _quantized(exact, wide[2], out)})


@edge("QUANTIZED_LINEAR_MATRIX_MULTIPLY")
def quantized_matrix_multiply_ties():
    """Halves go to the even neighbour before the zero point is added; both ends saturate."""
    a = np.arange(-128, 128, dtype=np.int8).reshape(256, 1)
    one = np.ones((1, 1), np.float32)
    cases = []
    for zero in (-128, -1, 0, 1, 127):
        want = np.clip(np.rint(np.arange(-128, 128) * 0.5) + zero, -128, 127).astype(np.int8).reshape(256, 1)
        cases.append(Case({"ATensor": a, "AScaleTensor": one, "BTensor": np.ones((1, 1), np.uint8), "BScaleTensor": one,
                           "OutputScaleTensor": 2 * one, "OutputZeroPointTensor": np.full((1, 1), zero, np.int8)},
                          {"OutputTensor": want}))
    return cases


@operator("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", types="ATensor")
def matrix_multiply_to_float(g):
    batch, m, k, n = _sizes(g)
    out = g.pick(np.dtype(np.float32), np.dtype(np.float16))
    b_type = g.pick(*BYTES) if g.dtype.itemsize == 1 else g.dtype
    limit = 100 if out == np.float16 else 1 << (8 * g.dtype.itemsize)
    a = g.array(batch + (m, k), low=max(lowest(g.dtype), -limit), high=min(highest(g.dtype), limit))
    b = g.array(batch + (k, n), b_type, low=max(lowest(b_type), -limit), high=min(highest(b_type), limit))
    parameters, rank = g.integer(1, 4), a.ndim
    a_scale, b_scale = _per(g, parameters, m, -2, out, True), _per(g, parameters, n, -1, out, True)
    a_zero = _per(g, parameters, m, -2, a.dtype) if g.chance(0.6) else None
    b_zero = _per(g, parameters, n, -1, b.dtype) if g.chance(0.6) else None
    bias = _real(g, batch + (m, n), out) if g.chance(0.5) else None
    left, right = (x.astype(object) - (_spread(zero, rank).astype(object) if zero is not None else 0)
                   for x, zero in ((a, a_zero), (b, b_zero)))
    scale = _spread(a_scale, rank).astype(np.float64) * _spread(b_scale, rank).astype(np.float64)
    exact = (left @ right).astype(np.float64) * scale
    exact = exact if bias is None else exact + bias.astype(np.float64)
    with np.errstate(over="ignore"):
        result = exact.astype(out)
    masked = np.ma.masked_array(result, mask=(out == np.float16) & (np.abs(exact) > 65000))
    tolerance = {"rtol": 1e-3, "atol": 2e-3} if out == np.float16 else {"rtol": 1e-6, "atol": 1e-5}
    if "FLOAT64" in conformance.LACKS and g.dtype.itemsize > 1:  # sums of k products, each rounded
        terms = (np.abs(left) @ np.abs(right)).astype(np.float64) * np.abs(scale)
        tolerance["atol"] += float(np.max(terms, initial=0) * (k + 4) * 2**-24)
    return Case({"ATensor": a, "AScaleTensor": a_scale, "AZeroPointTensor": a_zero, "BTensor": b, "BScaleTensor": b_scale,
                 "BZeroPointTensor": b_zero, "BiasTensor": bias}, {"OutputTensor": masked}, **tolerance)


# ---- convolutions ----

class Steps:
    """Random sizes of a convolution that fit each other."""

    def __init__(self, g, spatial, backward=False, extra=False):
        """extra: with OutputPadding."""
        self.spatial, self.backward = spatial, backward
        depthwise = g.chance(0.25)
        self.groups = g.integer(2, 9) if depthwise else g.pick(1, 1, g.integer(1, 3))
        self.inner = 1 if depthwise else g.integer(1, 9)
        self.outer = g.integer(1, 2) if depthwise else g.integer(1, 9)
        self.batch = g.integer(1, 2)
        most = {1: 60, 2: 14, 3: 6}[spatial]
        self.size, self.kernel, self.strides, self.dilations = [], [], [], []
        self.start, self.end, self.padding, self.out, self.windows = [], [], [], [], []
        for _ in range(spatial):
            self._axis(g, most, extra)

    def _axis(self, g, most, extra):
        size, kernel, stride, dilation = g.integer(1, most), g.integer(1, 4), g.integer(1, 3), g.pick(1, 1, 2, 3)
        start, end, padding = g.integer(0, 3), g.integer(0, 3), g.pick(0, 0, g.integer(0, 2)) if extra else 0
        span = (kernel - 1) * dilation + 1
        if self.backward:
            given = max((size - 1) * stride + span - start - end, 1)
            out = given + g.integer(0, max(stride, dilation) - 1 + padding)
        else:
            given = max((size + start + end - span) // stride + 1, 1)
            out = given + g.integer(0, padding)
        if g.chance(0.3):  # the output's size decides
            out = g.pick(g.integer(1, given), given + g.integer(1, 6))
        windows = out - (0 if self.backward else min(padding, max(out - given, 0)))
        for where, value in ((self.size, size), (self.kernel, kernel), (self.strides, stride), (self.dilations, dilation),
                             (self.start, start), (self.end, end), (self.padding, padding), (self.out, out),
                             (self.windows, windows)):
            where.append(value)

    def fields(self):
        return {"DimensionCount": self.spatial, "Strides": self.strides, "Dilations": self.dilations,
                "StartPadding": self.start, "EndPadding": self.end, "GroupCount": self.groups}

    def input_shape(self):
        return (self.batch, self.groups * self.inner, *self.size)

    def filter_shape(self):
        if self.backward:
            return (self.groups * self.inner, self.outer, *self.kernel)
        return (self.groups * self.outer, self.inner, *self.kernel)

    @property
    def channels(self):
        return self.groups * self.outer

    def run(self, x, w):
        """The convolution in float64; exact for integers."""
        x, w = torch.from_numpy(np.array(x, np.float64)), torch.from_numpy(np.array(w, np.float64))
        reach = [(n - 1) * s + (k - 1) * d + 1
                 for n, s, k, d in zip(self.windows, self.strides, self.kernel, self.dilations)]
        after = [max(r - start - n, 0) for r, start, n in zip(reach, self.start, self.size)]
        pads = [p for pair in reversed(list(zip(self.start, after))) for p in pair]
        if not self.backward:
            function = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)[self.spatial - 1]
            read = (slice(None), slice(None), *(slice(0, r) for r in reach))
            y = function(torch.nn.functional.pad(x, pads)[read], w, None, self.strides, 0, self.dilations, self.groups)
            return self._fit(y.numpy(), [0] * self.spatial)
        function = (torch.nn.functional.conv_transpose1d, torch.nn.functional.conv_transpose2d,
                    torch.nn.functional.conv_transpose3d)[self.spatial - 1]
        y = function(x, w, None, self.strides, 0, 0, self.groups, self.dilations)
        return self._fit(y.numpy(), self.start)

    def _fit(self, y, start):
        """Elements from `start` on in the output's sizes, zeros where there are none."""
        result = np.zeros((self.batch, self.channels, *self.out))
        part = y[(slice(None), slice(None), *(slice(s, s + n) for s, n in zip(start, self.out)))]
        result[tuple(slice(0, n) for n in part.shape)] = part
        return result


def _column(x, spatial):
    return x.reshape(-1, *([1] * spatial))


@operator("CONVOLUTION", types="InputTensor")
def convolution(g):
    backward, cross = g.chance(0.4), g.pick(0, 1)
    steps = Steps(g, g.integer(1, 3), backward, extra=True)
    x, w = _real(g, steps.input_shape(), g.dtype), _real(g, steps.filter_shape(), g.dtype)
    bias = _real(g, (1, steps.channels, *[1] * steps.spatial), g.dtype) if g.chance(0.5) else None
    turned = w if cross else np.flip(w, tuple(range(2, w.ndim)))
    exact, magnitude = steps.run(x, turned), steps.run(np.abs(x), np.abs(turned))
    if bias is not None:
        exact, magnitude = exact + bias.astype(np.float64), magnitude + np.abs(bias.astype(np.float64))
    fused = g.fused(clip=True)
    result, tolerance = _finish(fused, exact, magnitude, g.dtype)
    if g.dtype == np.float16 and fused and fused[0] == "ACTIVATION_LINEAR":  # scales a constant filter, which is rounded
        tolerance["atol"] += float(2.0**-11 * abs(fused[1]["Alpha"]) * np.max(magnitude))
    return Case({"InputTensor": x, "FilterTensor": w, "BiasTensor": bias, "Mode": cross, "Direction": int(backward),
                 **steps.fields(), "OutputPadding": steps.padding, "FusedActivation": fused},
                {"OutputTensor": result}, **tolerance)


def _channel_parameter(g, rank, channels):
    """The shape of one value, or one per output channel."""
    shape = [1] * rank
    if g.chance(0.5):
        shape[1 if rank > 1 else 0] = channels
    return shape


@operator("CONVOLUTION_INTEGER", types="InputTensor")
def convolution_integer(g):
    steps = Steps(g, g.integer(1, 2))
    x, w = _bytes(g, steps.input_shape(), g.dtype), _bytes(g, steps.filter_shape(), g.pick(*BYTES))
    parameters = g.integer(1, 4)
    x_zero = _bytes(g, [1] * parameters, x.dtype) if g.chance(0.6) else None
    w_zero = _bytes(g, _channel_parameter(g, parameters, steps.channels), w.dtype) if g.chance(0.6) else None
    left = _wide(x) - (int(x_zero.ravel()[0]) if x_zero is not None else 0)
    right = _wide(w) - (_column(_wide(w_zero), steps.spatial + 1) if w_zero is not None else 0)
    exact = steps.run(left, right).astype(np.int64)
    return Case({"InputTensor": x, "InputZeroPointTensor": x_zero, "FilterTensor": w, "FilterZeroPointTensor": w_zero,
                 **steps.fields()}, {"OutputTensor": _int32(exact)})


@operator("QUANTIZED_LINEAR_CONVOLUTION", types="InputTensor")
def quantized_convolution(g):
    steps = Steps(g, g.integer(1, 2))
    x, w = _bytes(g, steps.input_shape(), g.dtype, False), _bytes(g, steps.filter_shape(), g.pick(*BYTES), False)
    out = g.pick(*BYTES)
    x_scale, y_scale = (_scale(g, [1] * g.integer(1, 4)) for _ in range(2))
    y_scale = (y_scale * np.float32(g.pick(1, 10, 100))).astype(np.float32)
    w_scale = _scale(g, _channel_parameter(g, g.integer(1, 4), steps.channels))
    x_zero, y_zero = (_bytes(g, [1] * g.integer(1, 4), t) if g.chance(0.6) else None for t in (x.dtype, out))
    w_zero = _bytes(g, _channel_parameter(g, g.integer(1, 4), steps.channels), w.dtype) if g.chance(0.6) else None
    bias = None
    if g.chance(0.5):
        limit = g.pick(100, 100000, (1 << 31) - 1)
        bias = g.array((1, steps.channels, *[1] * steps.spatial), np.dtype(np.int32), low=-limit, high=limit)
    left = _wide(x) - (int(x_zero.ravel()[0]) if x_zero is not None else 0)
    right = _wide(w) - (_column(_wide(w_zero), steps.spatial + 1) if w_zero is not None else 0)
    sums = steps.run(left, right)
    sums = _int32((sums if bias is None else sums + bias).astype(np.int64)).astype(np.float64)
    scale = x_scale.astype(np.float64).ravel()[0] * _column(w_scale.astype(np.float64), steps.spatial)
    exact = sums * scale / y_scale.astype(np.float64).ravel()[0]
    return Case({"InputTensor": x, "InputScaleTensor": x_scale, "InputZeroPointTensor": x_zero, "FilterTensor": w,
                 "FilterScaleTensor": w_scale, "FilterZeroPointTensor": w_zero, "BiasTensor": bias,
                 "OutputScaleTensor": y_scale, "OutputZeroPointTensor": y_zero, **steps.fields()},
                {"OutputTensor": _quantized(exact, int(y_zero.ravel()[0]) if y_zero is not None else 0, out)})
