# SPDX-License-Identifier: Apache-2.0
"""Regions of interest. The references are written from the formulas: numpy in FLOAT64 on FLOAT32 corners for the
forward operators, PyTorch's automatic differentiation of the same formula for the gradients."""

import numpy as np

from conf_compare import TOLERANCES
from conformance import Case, edge, operator

NEAREST, LINEAR = 0, 1
AVERAGE, MAX = 2, 7
UINT32_MAX = 2**32 - 1


class Params:
    """The attributes; the defaults are what ROI_ALIGN fixes."""

    def __init__(self, **values):
        self.function, self.mode, self.scale_x, self.scale_y = AVERAGE, LINEAR, 1.0, 1.0
        self.input_offset, self.output_offset, self.outside = 0.5, -0.5, 0.0
        self.least, self.most, self.align = 1, UINT32_MAX, False
        self.__dict__.update(values)

    def fields(self, version):
        out = {
            "ReductionFunction": self.function,
            "InterpolationMode": self.mode,
            "SpatialScaleX": self.scale_x,
            "SpatialScaleY": self.scale_y,
            "MinimumSamplesPerOutput": self.least,
            "MaximumSamplesPerOutput": self.most,
        }
        if version != "grad":
            out["OutOfBoundsInputValue"] = self.outside
        if version != "0":
            out["InputPixelOffset"] = self.input_offset
            out["OutputPixelOffset"] = self.output_offset
            out["AlignRegionsToCorners"] = int(self.align)
        return out


class Axis:
    """Where the samples of one axis of a region lie: per bin, the numbers of the samples that are inside."""

    def __init__(self, low, high, scale, size, bins, p):
        with np.errstate(all="ignore"):
            self.start = np.float32(low) * np.float32(scale)
            end = np.float32(high) * np.float32(scale)
            self.extent = np.float32(end - self.start)
            wanted = np.ceil(np.abs(self.extent) / np.float32(bins))
        self.count = p.least if not wanted > p.least else int(min(float(wanted), float(p.most)))
        self.size, self.p = size, p
        self.span = bins * self.count - (1 if p.align else 0)
        self.middle = self.span == 0
        self.span = max(self.span, 1)
        total = bins * self.count
        inside = np.zeros(0, np.int64)
        if np.isfinite(self.start) and np.isfinite(self.extent):
            first, last = self.window(total)
            numbers = np.arange(first, last, dtype=np.int64)
            at = self.position(numbers)
            inside = numbers[(at >= -1) & (at <= size)]
        self.bins = [inside[inside // self.count == b] for b in range(bins)]

    def window(self, total):
        """A range of sample numbers that holds all that are inside: regions may have 2^32 samples."""
        step = float(self.extent) / self.span
        if step == 0 or total < 4096:
            return 0, min(total, 100000)
        ends = [(x + self.p.input_offset - float(self.start)) / step + self.p.output_offset for x in (-1, self.size)]
        low, high = min(ends) - 3, max(ends) + 3
        return int(max(0, min(low, total))), int(max(0, min(high, total)))

    def number(self, samples):
        return np.full(len(samples), 0.5) if self.middle else samples - self.p.output_offset

    def position(self, samples):
        step = float(self.extent) / self.span
        return self.number(samples) * step + float(self.start) - self.p.input_offset

    def share(self, b):
        return len(self.bins[b]) / self.count


def axes(roi, shape, bins, p):
    return (Axis(roi[0], roi[2], p.scale_x, shape[1], bins[1], p), Axis(roi[1], roi[3], p.scale_y, shape[0], bins[0], p))


def weights(at, size, mode):
    """One row of weights over the pixels per position."""
    rows = np.zeros((len(at), size))
    for row, x in zip(rows, at):
        if mode == NEAREST:
            row[int(min(max(np.floor(x + 0.5), 0), size - 1))] = 1
            continue
        x = min(max(x, 0.0), size - 1.0)
        below = int(np.floor(x))
        row[below] += 1 - (x - below)
        row[min(below + 1, size - 1)] += x - below
    return rows


def align(x, rois, batch, bins, p):
    x = x.astype(np.float64)
    n, channels, height, width = x.shape
    y = np.full((len(rois), channels) + bins, float(p.outside))
    for r, roi in enumerate(rois):
        if int(batch[r]) >= n:
            continue
        ax, ay = axes(roi, (height, width), bins, p)
        for oy in range(bins[0]):
            wy = weights(ay.position(ay.bins[oy]), height, p.mode)
            for ox in range(bins[1]):
                wx = weights(ax.position(ax.bins[ox]), width, p.mode)
                share = ax.share(ox) * ay.share(oy)
                if share == 0:
                    continue
                values = np.einsum("ah,chw,bw->cab", wy, x[int(batch[r])], wx).reshape(channels, -1)
                if p.function == AVERAGE:
                    y[r, :, oy, ox] = values.sum(1) / (ax.count * ay.count) + (p.outside * (1 - share) if share < 1 else 0)
                else:
                    best = values.max(1)
                    y[r, :, oy, ox] = np.maximum(best, p.outside) if share < 1 else best
    return y


def gradients(x, gradient, rois, batch, bins, p):
    import torch

    image = torch.tensor(x.astype(np.float64), requires_grad=True)
    corners = torch.tensor(rois.astype(np.float64), requires_grad=True)
    n, _, height, width = x.shape
    loss = image.sum() * 0 + torch.nan_to_num(corners, 0, 0, 0).sum() * 0

    def matrix(axis, b, low, high, scale, size):
        samples = axis.bins[b]
        start = low * scale
        start = start + (float(axis.start) - start).detach()
        extent = high * scale - low * scale
        extent = extent + (float(axis.extent) - extent).detach()
        at = torch.tensor(axis.number(samples).astype(np.float64)) * (extent / axis.span) + start - p.input_offset
        rows = torch.zeros((len(samples), size), dtype=torch.float64)
        lines = torch.arange(len(samples))
        if p.mode == NEAREST:
            picked = torch.floor(at.detach() + 0.5).clamp(0, size - 1).long()
            return rows.index_put((lines, picked), torch.ones(len(samples), dtype=torch.float64), accumulate=True)
        at = at.clamp(0, size - 1)
        below = torch.floor(at.detach())
        rows = rows.index_put((lines, below.long()), 1 - (at - below), accumulate=True)
        return rows.index_put((lines, (below.long() + 1).clamp(max=size - 1)), at - below, accumulate=True)

    for r, roi in enumerate(rois):
        if int(batch[r]) >= n:
            continue
        ax, ay = axes(roi, (height, width), bins, p)
        for oy in range(bins[0]):
            for ox in range(bins[1]):
                if not len(ax.bins[ox]) or not len(ay.bins[oy]):
                    continue
                wx = matrix(ax, ox, corners[r, 0], corners[r, 2], float(np.float32(p.scale_x)), width)
                wy = matrix(ay, oy, corners[r, 1], corners[r, 3], float(np.float32(p.scale_y)), height)
                values = torch.einsum("ah,chw,bw->cab", wy, image[int(batch[r])], wx).flatten(1)
                total = ax.count * ay.count
                out = values.sum(1) / total if p.function == AVERAGE else values.max(1).values
                loss = loss + (out * torch.tensor(gradient[r, :, oy, ox].astype(np.float64))).sum()
    loss.backward()
    return image.grad.numpy(), np.nan_to_num(corners.grad.numpy())


def whole(value):
    """To the nearest whole number, halves away from zero; NaN gives 0."""
    value = float(np.float32(value))
    if np.isnan(value):
        return 0
    value = min(max(value, -(2.0**40)), 2.0**40)
    return int(np.copysign(np.floor(abs(value) + 0.5), value))


def pool(x, rois, bins, scale):
    n, channels, height, width = x.shape
    y = np.zeros((len(rois), channels) + bins)
    for r, roi in enumerate(rois):
        with np.errstate(all="ignore"):
            x1, y1, x2, y2 = (whole(np.float32(v) * np.float32(scale)) for v in roi[1:])
        if not -1 < roi[0] < n:
            continue
        rw, rh = max(x2 - x1 + 1, 1), max(y2 - y1 + 1, 1)
        for oy in range(bins[0]):
            for ox in range(bins[1]):
                top, bottom = oy * rh // bins[0] + y1, -(-(oy + 1) * rh // bins[0]) + y1
                left, right = ox * rw // bins[1] + x1, -(-(ox + 1) * rw // bins[1]) + x1
                top, bottom = (min(max(v, 0), height) for v in (top, bottom))
                left, right = (min(max(v, 0), width) for v in (left, right))
                if bottom > top and right > left:
                    cell = x[int(roi[0]), :, top:bottom, left:right].astype(np.float64)
                    y[r, :, oy, ox] = np.fmax.reduce(cell.reshape(channels, -1), axis=1)
    return y


def random_regions(g, count, height, width, p, wild=True):
    """Corners around the image, some inverted, some empty, some that are no sensible numbers."""
    rois = np.empty((count, 4))
    for i in range(2):
        rois[:, 2 * i] = g.rng.uniform(-2, width + 2, count) / p.scale_x
        rois[:, 2 * i + 1] = g.rng.uniform(-2, height + 2, count) / p.scale_y
    if not g.chance(0.3):
        rois = np.concatenate([np.minimum(rois[:, :2], rois[:, 2:]), np.maximum(rois[:, :2], rois[:, 2:])], 1)
    if wild and g.chance(0.3):
        strange = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3e4, -3e4, 0.0]
        for _ in range(int(g.rng.integers(1, 4))):
            rois[g.rng.integers(count), g.rng.integers(4)] = strange[g.rng.integers(len(strange))]
    with np.errstate(over="ignore"):
        return g.exact(rois.astype(g.dtype))


def random_params(g, version):
    p = Params(
        function=AVERAGE if g.chance(0.6) else MAX,
        mode=LINEAR if g.chance(0.7) else NEAREST,
        scale_x=float(np.float32(g.rng.uniform(0.25, 2))),
        scale_y=float(np.float32(g.rng.uniform(0.25, 2))),
        outside=0.0 if g.chance(0.5) else float(np.float32(g.rng.uniform(-3, 3))),
        least=int(g.rng.integers(1, 4)),
    )
    p.most = UINT32_MAX if g.chance(0.5) else p.least + int(g.rng.integers(0, 3))
    if version != "0":
        p.align = g.chance(0.3)
        p.input_offset = 0.5 if g.chance(0.5) else float(np.float32(g.rng.uniform(-1, 1)))
        p.output_offset = -0.5 if g.chance(0.5) else float(np.float32(g.rng.uniform(-1, 1)))
    return p


def leading(g, array, most):
    """Leading dimensions of 1, as many as the operator may take."""
    ones = int(g.rng.integers(0, most - array.ndim + 1))
    return array.reshape((1,) * ones + array.shape)


def random_sizes(g):
    x = (int(g.rng.integers(1, 3)), int(g.rng.integers(1, 7)), int(g.rng.integers(1, 14)), int(g.rng.integers(1, 18)))
    return x, int(g.rng.integers(1, 5)), (int(g.rng.integers(1, 5)), int(g.rng.integers(1, 6)))


@operator("ROI_ALIGN", "ROI_ALIGN1", types="InputTensor")
def roi_align(g):
    version = "0" if g.op == "ROI_ALIGN" else "1"
    p = random_params(g, version)
    shape, count, bins = random_sizes(g)
    x = g.array(shape)
    rois = random_regions(g, count, shape[2], shape[3], p)
    batch = g.rng.integers(0, shape[0] + g.chance(0.1), count).astype(g.pick(np.uint32, np.uint64))
    y = align(x, rois, batch, bins, p)
    fields = {"InputTensor": x, "ROITensor": leading(g, rois, 4), "BatchIndicesTensor": leading(g, batch, 4)}
    fields.update(p.fields(version))
    return Case(fields=fields, outputs={"OutputTensor": y.astype(g.dtype)})


@operator("ROI_ALIGN_GRAD", types="InputGradientTensor")
def roi_align_grad(g):
    p = random_params(g, "grad")
    shape, count, bins = random_sizes(g)
    # all different: of equal samples rounding would choose the winner
    x = g.exact(g.rng.uniform(-4, 4, shape).astype(g.dtype))
    gradient = g.array((count, shape[1]) + bins)
    rois = random_regions(g, count, shape[2], shape[3], p, wild=False)
    batch = g.rng.integers(0, shape[0] + g.chance(0.1), count).astype(np.uint32)
    dx, droi = gradients(x, gradient, rois, batch, bins, p)
    leading_rois = leading(g, rois, 4)
    want = g.pick(1, 2, 3)
    outputs = {}
    if want & 1:
        outputs["OutputGradientTensor"] = dx.astype(g.dtype)
    if want & 2:
        with np.errstate(over="ignore"):
            outputs["OutputROIGradientTensor"] = droi.reshape(leading_rois.shape).astype(g.dtype)
    needed = want & 2 or p.function == MAX
    fields = {
        "InputTensor": x if needed or g.chance(0.5) else None,
        "InputGradientTensor": gradient,
        "ROITensor": leading_rois,
        "BatchIndicesTensor": leading(g, batch, 4),
    }
    fields.update(p.fields("grad"))
    scale = max([1.0] + [float(np.abs(v).max()) for v in (dx, droi) if v.size])
    rtol, atol = TOLERANCES["roi"][g.dtype == np.float16]
    return Case(fields=fields, outputs=outputs, rtol=rtol, atol=atol * scale)


@operator("ROI_POOLING", types="InputTensor")
def roi_pooling(g):
    shape, count, bins = random_sizes(g)
    p = Params(scale_x=float(np.float32(g.rng.uniform(0.25, 2))))
    p.scale_y = p.scale_x
    x = g.array(shape, special=g.chance(0.2))
    x = np.where(np.isnan(x), 1, x).astype(g.dtype)
    batch = g.rng.integers(0, shape[0] + g.chance(0.1), (count, 1)).astype(g.dtype)
    rois = np.concatenate([batch, random_regions(g, count, shape[2], shape[3], p)], 1)
    y = pool(x, rois, bins, p.scale_x)
    fields = {"InputTensor": x, "ROITensor": rois[None, None], "SpatialScale": p.scale_x,
              "PooledSize": (bins[1], bins[0])}
    # Exact except for the sign of a zero among zeros.
    return Case(fields=fields, outputs={"OutputTensor": y.astype(g.dtype)}, rtol=0, atol=1e-30)


def _align_case(x, rois, batch, bins, want=None, **values):
    x, rois = np.asarray(x, np.float32), np.asarray(rois, np.float32)
    batch, p = np.asarray(batch, np.uint32), Params(**values)
    y = align(x, rois, batch, bins, p) if want is None else np.asarray(want, np.float64)
    fields = {"InputTensor": x, "ROITensor": rois, "BatchIndicesTensor": batch}
    fields.update(p.fields("1"))
    return Case(fields=fields, outputs={"OutputTensor": y.astype(np.float32)}, rtol=2e-6, atol=2e-6)


@edge("ROI_ALIGN1")
def roi_align_untrusted():
    image = np.arange(1, 13).reshape(1, 1, 3, 4)
    whole_image = [[0, 0, 4, 3]]
    nan, inf, big = np.nan, np.inf, 1e30
    nothing = [[nan, 0, 4, 3], [0, nan, 4, 3], [-inf, 0, inf, 3], [inf, inf, inf, inf], [0, 0, inf, 3],
               [big, big, 2 * big, 2 * big], [-3e38, 0, 3e38, 3]]
    return [
        # by hand: the mean of 1..12, its largest value, one pixel
        _align_case(image, whole_image, [0], (1, 1), want=[[[[6.5]]]]),
        _align_case(image, whole_image, [0], (1, 1), want=[[[[12]]]], function=MAX, mode=NEAREST),
        _align_case(image, [[1.5, 1.5, 1.5, 1.5]], [0], (1, 1), want=[[[[6]]]]),
        # nothing of the region can be inside the image, whatever its numbers are
        _align_case(image, nothing, [0] * 7, (2, 2), want=np.full((7, 1, 2, 2), -7), outside=-7),
        _align_case(image, nothing, [0] * 7, (2, 2), want=np.full((7, 1, 2, 2), -7), outside=-7, function=MAX),
        _align_case(image, nothing, [0] * 7, (2, 2), want=np.full((7, 1, 2, 2), -7), outside=-7, least=UINT32_MAX),
        # images that do not exist
        _align_case(image, whole_image * 3, [1, 7, UINT32_MAX], (2, 2), want=np.full((3, 1, 2, 2), 5), outside=5),
        # 2^32 samples per output, nearly all outside
        _align_case(image, [[-1e9, -1e9, 1e9, 1e9]], [0], (1, 1), want=[[[[3]]]], outside=3),
        _align_case(image, [[-1e9, -1e9, 1e9, 1e9]], [0], (1, 1), want=[[[[12]]]], outside=3, function=MAX),
        # inverted: mirrored
        _align_case(image, [[4, 3, 0, 0]], [0], (3, 4), want=np.arange(12, 0, -1).reshape(1, 1, 3, 4)),
        # corners aligned: the samples are the pixels
        _align_case(image, [[0, 0, 3, 2]], [0], (3, 4), want=image, align=True, input_offset=0.0, output_offset=0.0, most=1),
        _align_case(image, [[0, 0, 2, 2]], [0], (1, 1), want=[[[[6]]]], align=True, input_offset=0.0, output_offset=0.0,
             most=1),
        # from -1 to the size edges repeat, beyond nothing is read
        _align_case(image, [[-0.5, 0.5, -0.5, 0.5], [-0.51, 0.5, -0.51, 0.5], [4.5, 3.5, 4.5, 3.5], [4.51, 1, 4.51, 1]],
             [0] * 4, (1, 1), want=np.reshape([1, 9, 12, 9], (4, 1, 1, 1)), outside=9),
        # nearest takes halves up
        _align_case(image, [[1, 1, 1, 1]], [0], (1, 1), want=[[[[6]]]], mode=NEAREST),
        # the maximum never chooses NaN
        _align_case([[[[1, np.nan], [3, 2]]]], [[0, 0, 2, 2]], [0], (1, 1), want=[[[[3]]]], function=MAX, mode=NEAREST),
    ]


@edge("ROI_POOLING")
def roi_pooling_untrusted():
    image = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 3, 4)
    nan, inf = np.nan, np.inf
    rois = np.array([[0, 0, 0, 3, 2], [0, 2, 1, 0, 0], [0, 0.5, 0, 1.5, 0], [1, 0, 0, 3, 2], [-1, 0, 0, 3, 2],
                     [nan, 0, 0, 3, 2], [0, 9, 9, 12, 12], [0, -inf, -inf, inf, inf], [0, nan, 0, nan, 0],
                     [0, -3e38, 0, 3e38, 0]], np.float32)
    # row 1 is malformed: one pixel at its start; row 2: halves round away from zero, columns 1 and 2
    want = np.array([12, 7, 3, 0, 0, 0, 0, 12, 1, 4], np.float32).reshape(10, 1, 1, 1)
    fields = {"InputTensor": image, "ROITensor": rois[None, None], "SpatialScale": 1.0, "PooledSize": (1, 1)}
    return [Case(fields=fields, outputs={"OutputTensor": want}, rtol=0, atol=0)]


@edge("ROI_ALIGN_GRAD")
def roi_align_grad_untrusted():
    nan, inf = np.nan, np.inf
    rois = np.array([[nan, 0, 4, 3], [0, 0, inf, 3], [-inf, -inf, inf, inf], [0, 0, 4, 3]], np.float32)
    p = Params(most=1)
    fields = {"InputTensor": np.ones((1, 1, 3, 4), np.float32), "InputGradientTensor": np.ones((4, 1, 3, 4), np.float32),
              "ROITensor": rois, "BatchIndicesTensor": np.array([0, 0, 0, 9], np.uint32)}
    fields.update(p.fields("grad"))
    outputs = {"OutputGradientTensor": np.zeros((1, 1, 3, 4), np.float32),
               "OutputROIGradientTensor": np.zeros((4, 4), np.float32)}
    seen = dict(fields, BatchIndicesTensor=np.zeros(4, np.uint32))
    once = dict(outputs, OutputGradientTensor=np.ones((1, 1, 3, 4), np.float32))
    return [Case(fields=fields, outputs=outputs, rtol=0, atol=0), Case(fields=seen, outputs=once, rtol=0, atol=1e-6)]
