# SPDX-License-Identifier: Apache-2.0
"""Operators on windows: pooling, resampling, their gradients, and windows as columns. References: the formulas in numpy
(FLOAT64), and PyTorch's functions and autograd where they mean the same."""
import itertools

import numpy as np
import torch
import torch.nn.functional as F

from conformance import Case, edge, highest, is_float, lowest, operator

UNLIKE_ZERO = 1e-30  # equal values; zeros of both signs


# ---- pooling ---------------------------------------------------------------------------------------------------------

class Windows:
    """Random legal geometry over `spatial` dimensions."""

    def __init__(self, g, spatial, dilated, most=14):
        self.spatial = spatial
        self.sizes, self.window, self.strides, self.dilations, self.start, self.end, self.out = ([] for _ in range(7))
        whole = g.chance(0.1)
        for _ in range(spatial):
            n = g.integer(1, most if spatial < 3 else 7)
            start, end = (g.integer(0, 2), g.integer(0, 2)) if g.chance(0.5) else (0, 0)
            window, stride, dilation = g.integer(1, min(4, n + start + end)), g.integer(1, 3), 1
            if g.chance(0.1):
                window = g.integer(1, n + 5)  # may be larger than what it looks at
            if dilated and g.chance(0.4):
                dilation = g.integer(1, 3)
            if whole:
                window, stride, dilation, start, end = n, 1, 1, 0, 0
            self.sizes.append(n), self.window.append(window), self.strides.append(stride)
            self.dilations.append(dilation), self.start.append(start), self.end.append(end)
            self.out.append(g.pick(g.integer(*self.usual(-1)), g.integer(1, self.usual(-1)[1] + 4)) if g.chance(0.4)
                            else self.usual(-1)[0])

    def usual(self, d):
        """Output sizes that clients send: from the exact formula to the ceiling, or to the formula that forgets the
        dilation. All others are legal too."""
        padded = self.sizes[d] + self.start[d] + self.end[d]
        span = (self.window[d] - 1) * self.dilations[d] + 1

        def count(span, up):
            return 1 if padded < span else (padded - span + up) // self.strides[d] + 1

        return count(span, 0), max(count(span, self.strides[d] - 1), count(self.window[d], 0))

    def fields(self, dilated):
        fields = {"Strides": self.strides, "WindowSize": self.window, "StartPadding": self.start,
                  "EndPadding": self.end}
        return {**fields, "Dilations": self.dilations} if dilated else fields

    def taps(self, d):
        """Positions [out, window] in dimension d, and which lie inside."""
        at = (np.arange(self.out[d])[:, None] * self.strides[d] - self.start[d]
              + np.arange(self.window[d])[None, :] * self.dilations[d])
        return at, (at >= 0) & (at < self.sizes[d])

    def flat(self):
        """Row-major positions [windows..., taps] in the spatial dimensions, and which lie inside."""
        place, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
        for d in range(self.spatial):
            at, valid = self.taps(d)
            place = (place[:, None, :, None] * self.sizes[d] + at[None, :, None, :]).reshape(
                place.shape[0] * at.shape[0], -1)
            inside = (inside[:, None, :, None] & valid[None, :, None, :]).reshape(place.shape)
        return np.where(inside, place, 0), inside

    def counts(self, include_padding):
        place, inside = self.flat()
        return np.full(len(place), float(np.prod(self.window))) if include_padding else inside.sum(1).astype(float)

    def gathered(self, x):
        """x [N, C, ...] as [N, C, windows, taps], and which lie inside."""
        place, inside = self.flat()
        return x.reshape(*x.shape[:2], -1)[:, :, place], inside


def average(x, w, include_padding):
    values, inside = w.gathered(x.astype(np.float64))
    count = w.counts(include_padding)
    total = np.where(inside, values, 0).sum(-1)
    mean = np.where(count > 0, total / np.maximum(count, 1), 0)
    return mean.reshape(*x.shape[:2], *w.out)


def first_maximum(x, w):
    """(maxima, positions in the channel, whether there is one): NaN and padding are never chosen."""
    values, inside = w.gathered(x)
    usable = np.broadcast_to(inside, values.shape)
    floats = is_float(x.dtype)
    if floats:
        usable = usable & ~np.isnan(values)
    least = -np.inf if floats else lowest(x.dtype)
    best = np.where(usable, values, np.asarray(least, x.dtype)).max(-1)
    chosen = np.argmax(usable & (values == best[..., None]), -1)
    place = np.take_along_axis(np.broadcast_to(w.flat()[0], values.shape), chosen[..., None], -1)[..., 0]
    return best, place, usable.any(-1)


def batch(g, w):
    return (g.integer(1, 2), g.integer(1, 18 if np.prod(w.sizes) < 60 else 4), *w.sizes)


@operator("AVERAGE_POOLING", "AVERAGE_POOLING1", types="InputTensor")
def average_pooling(g):
    dilated = g.op.endswith("1")
    w = Windows(g, g.integer(2, 3), dilated)
    x, padding = g.array(batch(g, w)), g.chance(0.5)
    return Case({"InputTensor": x, **w.fields(dilated), "IncludePadding": int(padding)},
                {"OutputTensor": average(x, w, padding).astype(x.dtype)})


@operator("LP_POOLING", "LP_POOLING1", types="InputTensor")
def lp_pooling(g):
    dilated = g.op.endswith("1")
    w = Windows(g, g.integer(2, 3), dilated)
    x, p = g.array(batch(g, w)), g.pick(1, 2, 2, 3, 4)
    values, inside = w.gathered(np.abs(x.astype(np.float64)))
    y = np.where(inside, values ** p, 0).sum(-1) ** (1 / p)
    return Case({"InputTensor": x, **w.fields(dilated), "P": p},
                {"OutputTensor": y.reshape(*x.shape[:2], *w.out).astype(x.dtype)})


@operator("MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2", types="InputTensor")
def max_pooling(g):
    dilated = g.op.endswith("2")
    w = Windows(g, g.integer(2, 3), dilated)
    x = g.array(batch(g, w), special=g.chance(0.5))
    if g.chance(0.3):
        x = np.array(x.astype(np.int8) % 3, x.dtype)  # many equal ones
    best, place, found = first_maximum(x, w)
    shape = (*x.shape[:2], *w.out)
    outputs = {"OutputTensor": best.reshape(shape).astype(x.dtype)}
    if g.op != "MAX_POOLING" and g.chance(0.7):
        channel = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1) * int(np.prod(w.sizes))
        index = np.where(found, channel + place, 0)
        outputs["OutputIndicesTensor"] = index.reshape(shape).astype(g.pick(np.uint32, np.uint64))
    return Case({"InputTensor": x, **w.fields(dilated)}, outputs, rtol=UNLIKE_ZERO if is_float(x.dtype) else None)


@operator("AVERAGE_POOLING_GRAD", types="InputGradientTensor")
def average_pooling_grad(g):
    w = Windows(g, g.integer(2, 3), False)
    if g.chance(0.3):
        w.out = [g.integer(1, 9) for _ in w.out]  # gradients of unrelated sizes
    n, c, *_ = batch(g, w)
    dy, padding = g.array((n, c, *w.out)), g.chance(0.5)
    place, inside = w.flat()
    share = dy.astype(np.float64).reshape(n, c, -1) / np.maximum(w.counts(padding), 1)
    dx = np.zeros((n, c, int(np.prod(w.sizes))))
    for window, tap in zip(*np.nonzero(inside)):
        dx[:, :, place[window, tap]] += share[:, :, window]
    return Case({"InputGradientTensor": dy, **w.fields(False), "IncludePadding": int(padding)},
                {"OutputGradientTensor": dx.reshape(n, c, *w.sizes).astype(dy.dtype)})


@operator("MAX_POOLING_GRAD", types="InputTensor")
def max_pooling_grad(g):
    w = Windows(g, g.integer(2, 3), True)
    if g.chance(0.3):
        w.out = [g.integer(1, 9) for _ in w.out]
    x = g.array(batch(g, w), special=g.chance(0.3))
    if g.chance(0.3):
        x = np.round(x / 2).astype(x.dtype)
    dy = g.array((*x.shape[:2], *w.out))
    _, place, found = first_maximum(x, w)
    dx = np.zeros((*x.shape[:2], int(np.prod(w.sizes))))
    for n, c in np.ndindex(*x.shape[:2]):
        np.add.at(dx[n, c], place[n, c][found[n, c]], dy[n, c].astype(np.float64).reshape(-1)[found[n, c]])
    return Case({"InputTensor": x, "InputGradientTensor": dy, **w.fields(True)},
                {"OutputGradientTensor": dx.reshape(x.shape).astype(x.dtype)})


def _parameter(g, channels, rank, values):
    """One element or one for each channel, of a random legal rank."""
    each = g.chance(0.5)
    rank = g.pick(1, 2, rank) if each else g.integer(1, 5)
    shape = [1] * rank
    if each:
        shape[1 if rank > 1 else 0] = channels
    return values(shape)


def _spread(parameter, rank):
    """For [N, C, ...]."""
    return parameter.astype(np.float64).reshape(1, -1, *[1] * (rank - 2))


@operator("QUANTIZED_LINEAR_AVERAGE_POOLING", types="InputTensor")
def quantized_average_pooling(g):
    w = Windows(g, g.integer(2, 3), True)
    x, padding = g.array(batch(g, w), low=lowest(g.dtype), high=highest(g.dtype)), g.chance(0.5)
    rank, channels, out_type = x.ndim, x.shape[1], np.dtype(g.pick(np.int8, np.uint8))

    def scales(shape):
        return g.rng.uniform(0.02, 0.3, shape).astype(np.float32)

    def zeros(dtype):
        return lambda shape: g.rng.integers(lowest(dtype), highest(dtype), shape, dtype, endpoint=True)

    in_scale, out_scale = (_parameter(g, channels, rank, scales) for _ in range(2))
    in_zero = _parameter(g, channels, rank, zeros(x.dtype)) if g.chance(0.7) else None
    out_zero = _parameter(g, channels, rank, zeros(out_type)) if g.chance(0.7) else None
    real = (x - (0.0 if in_zero is None else _spread(in_zero, rank))) * _spread(in_scale, rank)
    q = average(real, w, padding) / _spread(out_scale, rank)
    doubtful = np.abs(q - np.floor(q) - 0.5) < 1e-3
    y = np.clip(np.rint(q) + (0 if out_zero is None else _spread(out_zero, rank)), lowest(out_type), highest(out_type))
    return Case({"InputTensor": x, "InputScaleTensor": in_scale, "InputZeroPointTensor": in_zero,
                 "OutputScaleTensor": out_scale, "OutputZeroPointTensor": out_zero, **w.fields(True),
                 "IncludePadding": int(padding)},
                {"OutputTensor": np.ma.array(y.astype(out_type), mask=doubtful)})


@edge("QUANTIZED_LINEAR_AVERAGE_POOLING")
def quantized_average_ties():
    x = np.uint8([[[[0, 1], [1, 2], [2, 3], [255, 255]]]])
    one = np.float32([1])
    fields = {"InputTensor": x, "InputScaleTensor": one, "OutputScaleTensor": one, "Strides": [1, 1],
              "WindowSize": [1, 2], "Dilations": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0]}
    far = {**fields, "OutputScaleTensor": np.float32([[[[0.5]]]]), "OutputZeroPointTensor": np.uint8([7])}
    return [Case(fields, {"OutputTensor": np.uint8([[[[0], [2], [2], [255]]]])}),
            Case(far, {"OutputTensor": np.uint8([[[[8], [10], [12], [255]]]])})]


def _plain(window, strides=(1, 1), start=(0, 0), end=(0, 0)):
    return {"Strides": list(strides), "WindowSize": list(window), "StartPadding": list(start), "EndPadding": list(end)}


@edge("AVERAGE_POOLING_GRAD")
def average_grad_edges():
    dy = np.float32([[[[1, 2], [3, 4]]]])
    dx = np.float32([[[[0.25, 0.75, 0.5], [1, 2.5, 1.5], [0.75, 1.75, 1]]]])
    cases = [Case({"InputGradientTensor": dy, **_plain((2, 2)), "IncludePadding": 0}, {"OutputGradientTensor": dx})]
    rng = np.random.default_rng(5)
    for size, k, s, p, padding in itertools.product((7, 12, 40), (2, 3), (1, 2), (0, 1), (0, 1)):
        x = torch.zeros(2, 3, size, size + 3, dtype=torch.float64, requires_grad=True)
        y = F.avg_pool2d(x, k, s, p, count_include_pad=bool(padding))
        gradient = rng.uniform(-1, 1, tuple(y.shape)).astype(np.float32)
        y.backward(torch.from_numpy(gradient.astype(np.float64)))
        cases.append(Case({"InputGradientTensor": gradient, **_plain((k, k), (s, s), (p, p), (p, p)),
                           "IncludePadding": padding}, {"OutputGradientTensor": x.grad.numpy().astype(np.float32)}))
    return cases


@edge("MAX_POOLING_GRAD")
def max_grad_edges():
    x = np.float32([[[[1, 2, 3], [2, 4, 2], [5, 6, 7]]]])
    dy = np.float32([[[[1, 2], [4, 5]]]])
    dx = np.float32([[[[0, 0, 0], [0, 3, 0], [0, 4, 5]]]])
    cases = [Case({"InputTensor": x, "InputGradientTensor": dy, **_plain((2, 2)), "Dilations": [1, 1]},
                  {"OutputGradientTensor": dx})]
    rng = np.random.default_rng(6)
    for size, k, s, d in itertools.product((9, 14, 40), (2, 3), (1, 2), (1, 2)):
        data = rng.permutation(2 * 3 * size * (size + 3)).reshape(2, 3, size, size + 3).astype(np.float32)
        tensor = torch.from_numpy(data.astype(np.float64)).requires_grad_()
        y = F.max_pool2d(tensor, k, s, k // 2, d)
        gradient = rng.uniform(-1, 1, tuple(y.shape)).astype(np.float32)
        y.backward(torch.from_numpy(gradient.astype(np.float64)))
        pad = (k // 2, k // 2)
        cases.append(Case({"InputTensor": data, "InputGradientTensor": gradient, **_plain((k, k), (s, s), pad, pad),
                           "Dilations": [d, d]}, {"OutputGradientTensor": tensor.grad.numpy().astype(np.float32)}))
    return cases


@edge("MAX_POOLING1")
def max_pooling_edges():
    x = np.float32([[[[1, 2, 3], [2, 4, 2], [5, 6, 7]]]])
    page = Case({"InputTensor": x, **_plain((2, 2))}, {"OutputTensor": np.float32([[[[4, 4], [6, 7]]]]),
                                                       "OutputIndicesTensor": np.uint32([[[[4, 4], [7, 8]]]])})
    nothing = np.full((1, 2, 2, 2), np.nan, np.float32)
    nothing[0, 1] = -np.inf
    nans = Case({"InputTensor": nothing, **_plain((2, 2))},
                {"OutputTensor": np.full((1, 2, 1, 1), -np.inf, np.float32),
                 "OutputIndicesTensor": np.uint64([[[[0]], [[4]]]])})
    return [page, nans]


@edge("MAX_POOLING2")
def max_pooling_torch():
    cases, rng = [], np.random.default_rng(7)
    for rank, size, k, s, d in itertools.product((2, 3), (9, 20), (2, 3), (1, 2), (1, 2)):
        shape = (2, 3, *[size + i for i in range(rank)]) if rank == 2 else (1, 2, 6, size, size + 1)
        data = rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)
        pool = F.max_pool2d if rank == 2 else F.max_pool3d
        y, index = pool(torch.from_numpy(data), k, s, k // 2, d, return_indices=True)
        channel = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * rank) * int(np.prod(shape[2:]))
        pad = [k // 2] * rank
        cases.append(Case({"InputTensor": data, **_plain([k] * rank, [s] * rank, pad, pad), "Dilations": [d] * rank},
                          {"OutputTensor": y.numpy(), "OutputIndicesTensor": (index.numpy() + channel).astype(np.uint32)}))
    return cases


@edge("AVERAGE_POOLING1")
def huge_windows():
    """Attributes at the ends of their ranges: padding of 1 before, so that the second window begins inside."""
    most = 1 << 30
    fields = {"InputTensor": np.float32([[[[1, 2], [3, 4]]]]), "Strides": [most, 1], "WindowSize": [most, most],
              "StartPadding": [0, 1], "EndPadding": [0, most - 1], "IncludePadding": 0}
    return [Case({**fields, "Dilations": [1, 1]}, {"OutputTensor": np.float32([[[[2.5, 2.5, 3]]]])}),
            Case({**fields, "Dilations": [most, most]}, {"OutputTensor": np.float32([[[[0]]]])})]


# ---- resampling ------------------------------------------------------------------------------------------------------

NEAREST, LINEAR = 0, 1
INCREASING, DECREASING = 0, 1


def _clamped(i, n):
    return np.clip(i, 0, n - 1).astype(np.int64)


def nearest_weights(n, out, scale, in_offset, out_offset, rounding):
    """(weights [out, n], which outputs lie so near to a boundary that rounding decides). rounding None: halves up."""
    scale, in_offset, out_offset = (float(np.float32(v)) for v in (scale, in_offset, out_offset))
    x = (np.arange(out) - out_offset) / scale - in_offset
    x = np.where(np.abs(x) < 1e-30, 0, x)
    shifted = x + 0.5 if rounding is None else x
    at = np.ceil(shifted) if rounding == INCREASING else np.floor(shifted)
    distance = np.abs(shifted - np.rint(shifted))
    weights = np.zeros((out, n))
    weights[np.arange(out), _clamped(at, n)] = 1
    return weights, (distance > 0) & (distance < 1e-5 * (1 + np.abs(x)))


def linear_weights(n, out, scale, in_offset, out_offset, antialiased=False):
    scale, in_offset, out_offset = (np.float32(v) for v in (scale, in_offset, out_offset))
    weights = np.zeros((out, n))
    for o in range(out):
        x = float((np.float32(o) - out_offset) / scale - in_offset)
        if antialiased and 1 / float(scale) > 2:
            f = 1 / float(scale)
            taps = np.arange(np.floor(x - f), np.ceil(x + f) + 1)
            share = np.maximum(0, 1 - np.abs(taps - x) / f)
            np.add.at(weights[o], _clamped(taps, n), share / share.sum())
        else:
            below = np.floor(x)
            weights[o, _clamped(below, n)] += 1 - (x - below)
            weights[o, _clamped(below + 1, n)] += x - below
    return weights


def applied(x, matrices):
    y = x.astype(np.float64)
    for axis, matrix in enumerate(matrices):
        y = np.moveaxis(np.tensordot(matrix, y, (1, axis)), 0, axis)
    return y


class Resampling:
    """Random scales and offsets between two shapes, as one matrix for each dimension."""

    def __init__(self, g, offsets, rounding, antialias=False):
        rank = g.integer(1, 4)
        self.mode, self.rounding = g.pick(NEAREST, LINEAR), g.pick(INCREASING, DECREASING)
        self.antialiased = antialias and g.chance(0.6)
        self.sizes, self.out, self.scales, self.inputs, self.outputs = [], [], [], [], []
        for d in range(rank):
            n = g.integer(1, 24 if d >= rank - 2 else 4)
            out = n if g.chance(0.3) else g.integer(1, 30 if d >= rank - 2 else 6)
            scale = out / n if g.chance(0.6) else g.pick(2.0, 0.5, 1.5, 0.25, 0.1, 3.0, float(g.rng.uniform(0.05, 4)))
            centre = not offsets or g.chance(0.5)
            self.sizes.append(n), self.out.append(out), self.scales.append(float(np.float32(scale)))
            self.inputs.append(0.5 if centre else float(np.float32(g.pick(0, -0.5, 0.25, g.rng.uniform(-2, 2)))))
            self.outputs.append(-0.5 if centre else float(np.float32(g.pick(0, 0.5, g.rng.uniform(-2, 2)))))
        self.matrices, self.doubtful = [], []
        for values in zip(self.sizes, self.out, self.scales, self.inputs, self.outputs):
            doubt = np.zeros(values[1], bool)
            if self.mode == NEAREST:
                matrix, doubt = nearest_weights(*values, self.rounding if rounding else None)
            else:
                matrix = linear_weights(*values, self.antialiased)
            self.matrices.append(matrix), self.doubtful.append(doubt)

    def fields(self, offsets, rounding):
        fields = {"InterpolationMode": self.mode, "Scales": self.scales}
        if offsets:
            fields.update(InputPixelOffsets=self.inputs, OutputPixelOffsets=self.outputs)
        return {**fields, "RoundingDirection": self.rounding} if rounding else fields

    def doubt(self):
        mask = np.zeros(self.out, bool)
        for axis, doubt in enumerate(self.doubtful):
            mask |= doubt.reshape([-1 if d == axis else 1 for d in range(len(self.out))])
        return mask


def _stored(y, dtype, mask, matrices):
    """In the tensor's type; integers round half to even. Unless the weights are exact, values near a tie may go
    either way."""
    if is_float(dtype):
        return np.ma.array(y.astype(dtype), mask=mask)
    rounded = np.clip(np.rint(y), lowest(dtype), highest(dtype)).astype(dtype)
    if not all((np.rint(matrix * 64) == matrix * 64).all() for matrix in matrices):
        mask = mask | (np.abs(y - np.floor(y) - 0.5) < 1e-3)
    return np.ma.array(rounded, mask=mask)


@operator("RESAMPLE", "RESAMPLE1", "RESAMPLE2", "RESAMPLE3", types="InputTensor")
def resample(g):
    offsets, rounding = g.op != "RESAMPLE", g.op in ("RESAMPLE2", "RESAMPLE3")
    r = Resampling(g, offsets, rounding, g.op == "RESAMPLE3")
    x = g.array(r.sizes, low=None if is_float(g.dtype) else lowest(g.dtype), high=None if is_float(g.dtype) else highest(g.dtype))
    y = applied(x, r.matrices)
    fields = {"InputTensor": x, **r.fields(offsets, rounding)}
    if g.op == "RESAMPLE3":
        fields["Antialiased"] = int(r.antialiased)
    return Case(fields, {"OutputTensor": _stored(y, x.dtype, r.doubt(), r.matrices)})


@operator("RESAMPLE_GRAD", "RESAMPLE_GRAD1", types="InputGradientTensor")
def resample_grad(g):
    rounding = g.op == "RESAMPLE_GRAD1"
    r = Resampling(g, True, rounding)
    if r.doubt().any():
        return None
    dy = g.array(r.out)
    dx = applied(dy, [matrix.T for matrix in r.matrices])
    return Case({"InputGradientTensor": dy, **r.fields(True, rounding)}, {"OutputGradientTensor": dx.astype(dy.dtype)})


@operator("UPSAMPLE_2D", types="InputTensor")
def upsample(g):
    lead = [g.integer(1, 3) for _ in range(g.integer(2, 3))]
    h, w, sh, sw = g.integer(1, 8), g.integer(1, 8), g.integer(1, 4), g.integer(1, 4)
    x, mode = g.array((*lead, h, w)), g.pick(NEAREST, LINEAR)
    if mode == NEAREST:
        y = np.repeat(np.repeat(x, sh, -2), sw, -1)
    else:
        eyes = [np.eye(n) for n in lead]
        y = applied(x, [*eyes, linear_weights(h, h * sh, sh, 0.5, -0.5), linear_weights(w, w * sw, sw, 0.5, -0.5)])
    return Case({"InputTensor": x, "ScaleSize": (sw, sh), "InterpolationMode": mode},
                {"OutputTensor": y.astype(x.dtype)})


@edge("RESAMPLE")
def resample_edges():
    cases, rng = [], np.random.default_rng(8)
    for n, out in ((5, 10), (8, 4), (7, 19), (33, 20), (16, 64)):
        x = rng.uniform(-1, 1, (1, 3, n, n + 1)).astype(np.float32)
        wide = 2 * (n + 1) if out == 2 * n else out
        y = F.interpolate(torch.from_numpy(x.astype(np.float64)), (out, wide), mode="bilinear", align_corners=False)
        cases.append(Case({"InputTensor": x, "InterpolationMode": LINEAR,
                           "Scales": [1, 1, out / n, wide / (n + 1)]}, {"OutputTensor": y.numpy().astype(np.float32)},
                          rtol=1e-5, atol=1e-5))
    x = np.uint8([[0, 1, 2, 255]])
    halves = np.uint8([[0, 0, 1, 1, 2, 65, 192, 255]])  # 0, .25, .75, 1.25, 1.75, 65.25, 191.75, 255
    cases.append(Case({"InputTensor": x, "InterpolationMode": LINEAR, "Scales": [1, 2]}, {"OutputTensor": halves}))
    cases.append(Case({"InputTensor": np.int8([-3, -2, 0, 1, 3, 4]), "InterpolationMode": LINEAR, "Scales": [0.5]},
                      {"OutputTensor": np.int8([-2, 0, 4])}))  # -2.5, .5, 3.5: halves to even
    cases.append(Case({"InputTensor": np.float32([1, 2]), "InterpolationMode": NEAREST, "Scales": [1.5]},
                      {"OutputTensor": np.float32([1, 2, 2])}))  # -1/6, 1/2, 7/6: halves up
    return cases


@edge("RESAMPLE2", "RESAMPLE3")
def resample_far():
    """A scale of FLT_MAX always reads element 0, whichever way it rounds."""
    x, far = np.float32([5, 6, 7]), float(np.finfo(np.float32).max)
    fields = {"InputTensor": x, "Scales": [far], "InputPixelOffsets": [0], "OutputPixelOffsets": [0]}
    return [Case({**fields, "InterpolationMode": mode, "RoundingDirection": rounding},
                 {"OutputTensor": np.full(6, 5, np.float32)}) for mode in (0, 1) for rounding in (0, 1)]


@edge("RESAMPLE3")
def resample_tiny():
    """A filter far wider than the input leaves its ends, and what is read beyond."""
    x = np.float32([2, 100, 100, 4])
    tiny = float(np.float32(1e-30))
    fields = {"InputTensor": x, "InterpolationMode": LINEAR, "Antialiased": 1, "OutputPixelOffsets": [0]}
    return [Case({**fields, "Scales": [tiny], "InputPixelOffsets": [0]}, {"OutputTensor": np.float32([3, 4, 4])}),
            Case({**fields, "Scales": [0.125], "InputPixelOffsets": [50]}, {"OutputTensor": np.float32([2, 2, 2])}),
            Case({**fields, "Scales": [0.125], "InputPixelOffsets": [-500]}, {"OutputTensor": np.float32([4, 4, 4])})]


@edge("RESAMPLE_GRAD", "RESAMPLE_GRAD1")
def resample_grad_torch():
    cases, rng = [], np.random.default_rng(9)
    for n, out in ((5, 10), (8, 4), (7, 19), (33, 20)):
        x = torch.zeros(1, 2, n, n, dtype=torch.float64, requires_grad=True)
        dy = rng.uniform(-1, 1, (1, 2, out, out)).astype(np.float32)
        F.interpolate(x, (out, out), mode="bilinear").backward(torch.from_numpy(dy.astype(np.float64)))
        cases.append(Case({"InputGradientTensor": dy, "InterpolationMode": LINEAR, "Scales": [1, 1, out / n, out / n],
                           "InputPixelOffsets": [0.5] * 4, "OutputPixelOffsets": [-0.5] * 4},
                          {"OutputGradientTensor": x.grad.numpy().astype(np.float32)}, rtol=1e-5, atol=1e-5))
    return cases


# ---- windows as columns ----------------------------------------------------------------------------------------------

def _columns(g):
    """(geometry, batch, channels): the window fits, and sizes are exact."""
    spatial = g.pick(1, 2, 2, 3, 4, 6)
    while True:
        w = Windows(g, min(spatial, 3), True, 10)
        if spatial > 3:
            for name in ("sizes", "window", "strides", "dilations", "start", "end", "out"):
                getattr(w, name)[:] = [min(v, 4) for v in getattr(w, name)] + [min(v, 2) for v in getattr(w, name)]
                del getattr(w, name)[spatial:]
            w.spatial = spatial
        w.dilations = [max(1, v) for v in w.dilations]
        spans = [(k - 1) * d + 1 for k, d in zip(w.window, w.dilations)]
        padded = [n + a + b for n, a, b in zip(w.sizes, w.start, w.end)]
        if any(span > size for span, size in zip(spans, padded)):
            continue
        w.out = [(size - span) // s + 1 for size, span, s in zip(padded, spans, w.strides)]
        if np.prod(w.out) * np.prod(w.window) < 6000:
            return w, g.integer(1, 2), g.integer(1, 3)


def _leading(g, array):
    return array.reshape(*[1] * g.integer(0, 8 - array.ndim), *array.shape) if g.chance(0.3) else array


def _fold_fields(w):
    return {"WindowSizes": w.window, "Strides": w.strides, "Dilations": w.dilations, "StartPadding": w.start,
            "EndPadding": w.end}


@operator("UNFOLD", types="InputTensor")
def unfold(g):
    w, n, c = _columns(g)
    x = g.array((n, c, *w.sizes), special=True)
    values, inside = w.gathered(x)
    y = np.where(inside, values, np.zeros((), x.dtype))  # [N, C, positions, taps]
    y = np.ascontiguousarray(np.swapaxes(y, 2, 3)).reshape(n, -1, y.shape[2])
    return Case({"InputTensor": _leading(g, x), **_fold_fields(w)}, {"OutputTensor": _leading(g, y)}, bits=True)


@operator("FOLD", types="InputTensor")
def fold(g):
    w, n, c = _columns(g)
    place, inside = w.flat()
    x = g.array((n, c * place.shape[1], place.shape[0]))
    wide = np.float64 if is_float(x.dtype) else x.dtype
    parts = x.astype(wide).reshape(n, c, place.shape[1], place.shape[0])
    y = np.zeros((n, c, int(np.prod(w.sizes))), wide)
    for window, tap in zip(*np.nonzero(inside)):
        y[:, :, place[window, tap]] += parts[:, :, tap, window]
    y = y.reshape(n, c, *w.sizes).astype(x.dtype)
    exact = {"rtol": 1e-14, "atol": 1e-13} if x.dtype == np.float64 else {}
    return Case({"InputTensor": _leading(g, x), **_fold_fields(w)}, {"OutputTensor": _leading(g, y)}, **exact)


def _torch_columns():
    for size, k, s, d, p in itertools.product((8, 21), (2, 3), (1, 2, 3), (1, 2), (0, 1)):
        yield size, {"kernel_size": (k, k + 1), "stride": s, "dilation": d, "padding": p}, {
            "WindowSizes": [k, k + 1], "Strides": [s, s], "Dilations": [d, d], "StartPadding": [p, p],
            "EndPadding": [p, p]}


@edge("UNFOLD")
def unfold_torch():
    cases, rng = [], np.random.default_rng(10)
    for size, options, fields in _torch_columns():
        x = rng.uniform(-1, 1, (2, 3, size, size + 1)).astype(np.float32)
        cases.append(Case({"InputTensor": x, **fields},
                          {"OutputTensor": F.unfold(torch.from_numpy(x), **options).numpy()}, bits=True))
    return cases


@edge("FOLD")
def fold_torch():
    cases, rng = [], np.random.default_rng(11)
    for size, options, fields in _torch_columns():
        shape = F.unfold(torch.zeros(2, 3, size, size + 1), **options).shape
        x = rng.uniform(-1, 1, tuple(shape)).astype(np.float32)
        y = F.fold(torch.from_numpy(x.astype(np.float64)), (size, size + 1), **options)
        cases.append(Case({"InputTensor": x, **fields}, {"OutputTensor": y.numpy().astype(np.float32)}))
    # Integer sums wrap: four windows of 100 in INT8.
    cases.append(Case({"InputTensor": np.full((1, 4, 4), 100, np.int8), "WindowSizes": [2, 2], "Strides": [1, 1],
                       "Dilations": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0]},
                      {"OutputTensor": np.array([[[[100, 200, 100], [200, 400, 200], [100, 200, 100]]]]).astype(np.int8)}))
    return cases
