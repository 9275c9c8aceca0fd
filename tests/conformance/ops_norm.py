# SPDX-License-Identifier: Apache-2.0
"""Normalisations, softmax and their gradients, from the formulas of the specification, in float64."""
import numpy as np
import torch

import conformance
from conformance import Case, activate, edge, operator


def _wide(x):
    return np.asarray(x, np.float64)


def _f32(x):
    return float(np.float32(x))


def _axes(g, rank):
    axes = [axis for axis in range(rank) if g.chance(0.5)] or [g.integer(0, rank - 1)]
    g.rng.shuffle(axes)
    return [int(axis) for axis in axes]


def _like(x, y):
    return y.astype(x.dtype)


def _length(shape, axes):
    return int(np.prod([shape[axis] for axis in axes]))


# ---- softmax -------------------------------------------------------------------------------------------------------

def _softmax(x, axes):
    shifted = _wide(x) - np.max(_wide(x), axes, keepdims=True)
    return np.exp(shifted) / np.sum(np.exp(shifted), axes, keepdims=True)


def _log_softmax(x, axes):
    shifted = _wide(x) - np.max(_wide(x), axes, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axes, keepdims=True))


def _hardmax(x, axes):
    """1 at the first largest element of each group, counted row-major over its axes in their order of dimension."""
    axes = sorted(axes)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    turned = np.transpose(x, others + axes)
    rows = turned.reshape(-1, _length(x.shape, axes))
    y = np.zeros(rows.shape)
    y[np.arange(len(rows)), np.argmax(rows, 1)] = 1
    return np.transpose(y.reshape(turned.shape), np.argsort(others + axes))


SOFTMAX = {"SOFTMAX": _softmax, "LOG_SOFTMAX": _log_softmax, "HARDMAX": _hardmax}


def _ties(g, x):
    return np.round(x).astype(x.dtype) if g.chance(0.5) else x


@operator("ACTIVATION_SOFTMAX", "ACTIVATION_LOG_SOFTMAX", "ACTIVATION_HARDMAX")
def softmax(g):
    rank = g.integer(1, 8)
    shape = (1,) * max(0, rank - 2) + g.shape(min(rank, 2), min(rank, 2))
    x = _ties(g, g.array(shape, low=-20, high=20))
    y = SOFTMAX[g.op.removeprefix("ACTIVATION_")](x, (len(shape) - 1,))
    return Case({"InputTensor": x}, {"OutputTensor": _like(x, y)})


@operator("ACTIVATION_SOFTMAX1", "ACTIVATION_LOG_SOFTMAX1", "ACTIVATION_HARDMAX1")
def softmax1(g):
    shape = g.shape(most=g.pick(500, 20000))
    axes = _axes(g, len(shape))
    x = _ties(g, g.array(shape, low=-20, high=20))
    y = SOFTMAX[g.op.removeprefix("ACTIVATION_").rstrip("1")](x, tuple(axes))
    return Case({"InputTensor": x, "Axes": axes}, {"OutputTensor": _like(x, y)})


@edge("ACTIVATION_HARDMAX1")
def hardmax1_page():
    x = np.float32([12, 0, -101, 11, 3, 234, 0, -101]).reshape(2, 2, 2)
    return [Case({"InputTensor": x, "Axes": [0, 2]},
                 {"OutputTensor": np.float32([0, 0, 0, 1, 0, 1, 0, 0]).reshape(2, 2, 2)})]


@edge("ACTIVATION_HARDMAX")
def hardmax_long():
    x = np.zeros((3, 70001), np.float32)
    x[1, 69999] = x[1, 70000] = 1
    x[2, :] = -np.inf
    y = np.zeros(x.shape, np.float32)
    y[0, 0] = y[1, 69999] = y[2, 0] = 1
    return [Case({"InputTensor": x}, {"OutputTensor": y}), Case({"InputTensor": x.T[:5].copy()},
                                                                 {"OutputTensor": np.float32([[1, 0, 0]] * 5)})]


EXTREMES = np.float32([[1e38, -1e38, 0], [-np.inf, 0, 0], [-1e4, -1e4, -1e4]])
EXTREME_LOGS = np.float32([[0, -2e38, -1e38], [-np.inf, -np.log(2), -np.log(2)], [-np.log(3)] * 3])


@edge("ACTIVATION_SOFTMAX")
def softmax_extremes():
    return [Case({"InputTensor": EXTREMES}, {"OutputTensor": np.exp(EXTREME_LOGS)})]


@edge("ACTIVATION_LOG_SOFTMAX")
def log_softmax_extremes():
    return [Case({"InputTensor": EXTREMES}, {"OutputTensor": EXTREME_LOGS})]


@edge("ACTIVATION_SOFTMAX1")
def softmax_huge():
    """One group, and a few, of more elements than one worker should take."""
    rng, cases = np.random.default_rng(2), []
    for shape, axes in (((1, 200000), (1,)), ((3, 130, 1200), (1, 2)), ((2, 64, 2053, 2), (1, 2)), ((3, 200003), (1,))):
        x = rng.uniform(-20, 20, shape).astype(np.float32)
        cases.append(Case({"InputTensor": x, "Axes": list(axes)}, {"OutputTensor": _like(x, _softmax(x, axes))},
                          rtol=1e-5, atol=1e-9))
    return cases


@edge("ACTIVATION_LOG_SOFTMAX1")
def log_softmax_huge():
    x = np.random.default_rng(2).uniform(-20, 20, (2, 160000)).astype(np.float16)
    return [Case({"InputTensor": x, "Axes": [1]}, {"OutputTensor": _like(x, _log_softmax(x, (1,)))})]


# ---- mean and variance ---------------------------------------------------------------------------------------------

def _parameter(g, shape, **range_):
    """A tensor of the shape with some sizes 1."""
    return g.array(tuple(1 if g.chance(0.5) else size for size in shape), **range_)


def _epsilon(g):
    return _f32(g.pick(1e-5, 1e-3, 0.1))


def _spread(g, x):
    """Not all nearly equal in a group: that would only show how the input was rounded."""
    return g.exact((x + g.rng.uniform(-1, 1, x.shape)).astype(x.dtype))


@operator("BATCH_NORMALIZATION")
def batch_normalization(g):
    shape = g.shape()
    x, fused, epsilon = g.array(shape), g.fused(), _epsilon(g)
    mean, scale, bias = (_parameter(g, shape) for _ in range(3))
    variance = _parameter(g, shape, low=0.1, high=4)
    y = _wide(scale) * (_wide(x) - mean) / np.sqrt(_wide(variance) + epsilon) + bias
    return Case({"InputTensor": x, "MeanTensor": mean, "VarianceTensor": variance, "ScaleTensor": scale,
                 "BiasTensor": bias, "Spatial": g.chance(0.5), "Epsilon": epsilon, "FusedActivation": fused},
                {"OutputTensor": _like(x, activate(fused, y))})


def _normalize(x, axes, use_mean, use_variance, epsilon, scale, bias):
    x = _wide(x)
    x = x - (np.mean(x, axes, keepdims=True) if use_mean else 0)
    if use_variance:
        x = x / np.sqrt(np.mean(x * x, axes, keepdims=True) + epsilon)
    return x * (1 if scale is None else _wide(scale)) + (0 if bias is None else _wide(bias))


def _scale_and_bias(g, shape):
    return [_parameter(g, shape) if g.chance(0.6) else None for _ in range(2)]


@operator("MEAN_VARIANCE_NORMALIZATION")
def mean_variance(g):
    shape = g.shape(most=g.pick(200, 20000))
    x, epsilon, fused = _spread(g, g.array(shape)), _epsilon(g), g.fused()
    cross, variance = g.chance(0.5), g.chance(0.7)
    scale, bias = _scale_and_bias(g, shape)
    y = _normalize(x, (1, 2, 3) if cross else (2, 3), True, variance, epsilon, scale, bias)
    return Case({"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias, "CrossChannel": cross,
                 "NormalizeVariance": variance, "Epsilon": epsilon, "FusedActivation": fused},
                {"OutputTensor": _like(x, activate(fused, y))}, **_tolerance(x))


@operator("MEAN_VARIANCE_NORMALIZATION1", "MEAN_VARIANCE_NORMALIZATION2")
def mean_variance1(g):
    shape = g.shape(most=g.pick(200, 20000))
    axes, x, epsilon, fused = _axes(g, len(shape)), _spread(g, g.array(shape)), _epsilon(g), g.fused()
    variance = g.chance(0.7)
    mean = True if g.op.endswith("1") else g.chance(0.6)
    scale, bias = _scale_and_bias(g, shape)
    y = _normalize(x, tuple(axes), mean, variance, epsilon, scale, bias)
    flags = {"NormalizeVariance": variance} if g.op.endswith("1") else {"UseMean": mean, "UseVariance": variance}
    return Case({"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias, "Axes": axes, "Epsilon": epsilon,
                 "FusedActivation": fused, **flags}, {"OutputTensor": _like(x, activate(fused, y))}, **_tolerance(x))


def _tolerance(x):
    """Few elements and a small epsilon magnify the rounding of the mean."""
    return {"rtol": 5e-5, "atol": 5e-5} if x.dtype == np.float32 else {"rtol": 4e-3, "atol": 6e-3}


@edge("MEAN_VARIANCE_NORMALIZATION1")
def mean_variance1_far_from_zero():
    """A mean a thousand times the deviation must not eat the digits."""
    rng = np.random.default_rng(3)
    cases = []
    for shape, axes in (((3, 5000), [1]), ((5000, 3), [0]), ((2, 8, 40, 40), [1, 2, 3]), ((1, 300000), [1]),
                        ((2, 24, 90, 80), [1, 2, 3]), ((24, 90, 3, 80), [0, 1, 3])):
        x = (1000 + rng.standard_normal(shape)).astype(np.float32)
        y = _normalize(x, tuple(axes), True, True, 1e-5, None, None)
        cases.append(Case({"InputTensor": x, "Axes": axes, "NormalizeVariance": True, "Epsilon": 1e-5},
                          {"OutputTensor": y.astype(np.float32)}, rtol=1e-5, atol=1e-4 if "FLOAT64" in conformance.LACKS else 1e-5))
    return cases


# ---- batch normalisation in training, gradients -------------------------------------------------------------------

def _repeated(x, small):
    return tuple(axis for axis in range(x.ndim) if small.shape[axis] == 1)


@operator("BATCH_NORMALIZATION_TRAINING")
def batch_normalization_training(g):
    shape = g.shape(most=g.pick(200, 20000))
    small = tuple(1 if g.chance(0.6) else size for size in shape)
    x, epsilon, fused = _spread(g, g.array(shape)), _epsilon(g), g.fused()
    scale, bias, add = g.array(small), g.array(small), g.array(shape) if g.chance(0.5) else None
    axes = _repeated(x, scale)
    mean = np.mean(_wide(x), axes, keepdims=True)
    variance = np.mean((_wide(x) - mean) ** 2, axes, keepdims=True)
    y = scale * (x - mean) / np.sqrt(variance + epsilon) + bias + (0 if add is None else _wide(add))
    return Case({"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias, "FusedAddTensor": add, "Epsilon": epsilon,
                 "FusedActivation": fused},
                {"OutputTensor": _like(x, activate(fused, y)), "OutputMeanTensor": _like(x, mean),
                 "OutputVarianceTensor": _like(x, variance)}, **_tolerance(x))


@edge("MEAN_VARIANCE_NORMALIZATION2")
def mean_variance2_huge():
    """All that follows the statistics of a huge group: scale, bias, activation, no variance."""
    rng, cases = np.random.default_rng(7), []
    for variance in (True, False):
        x = rng.uniform(-2, 3, (1, 16, 100, 100)).astype(np.float32)
        scale, bias = (rng.uniform(-2, 2, (1, 16, 1, 1)).astype(np.float32) for _ in range(2))
        for s, b in ((scale, bias), (scale, None), (None, bias), (None, None)):
            y = np.maximum(_normalize(x, (1, 2, 3), True, variance, 1e-3, s, b), 0)
            cases.append(Case({"InputTensor": x, "ScaleTensor": s, "BiasTensor": b, "Axes": [1, 2, 3], "UseMean": True,
                               "UseVariance": variance, "Epsilon": 1e-3, "FusedActivation": ("ACTIVATION_RELU", {})},
                              {"OutputTensor": _like(x, y)}))
    return cases


@edge("BATCH_NORMALIZATION_TRAINING")
def batch_normalization_training_torch():
    """Against PyTorch; far from zero, channels first and last."""
    rng = np.random.default_rng(4)
    cases = []
    for shape, channel in (((8, 6, 17, 19), 1), ((8, 17, 19, 70), 3), ((16, 3, 100, 110), 1)):
        x = (300 + 2 * rng.standard_normal(shape)).astype(np.float32)
        small = tuple(size if axis == channel else 1 for axis, size in enumerate(shape))
        scale, bias = (rng.uniform(-2, 2, small).astype(np.float32) for _ in range(2))
        planes = torch.tensor(np.moveaxis(x, channel, 1).astype(np.float64))
        y = torch.nn.functional.batch_norm(planes, None, None, torch.tensor(scale.ravel()).double(),
                                           torch.tensor(bias.ravel()).double(), True, 0.1, 1e-5)
        others = tuple(axis for axis in range(4) if axis != channel)
        cases.append(Case({"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias, "Epsilon": 1e-5},
                          {"OutputTensor": np.moveaxis(y.numpy(), 1, channel).astype(np.float32),
                           "OutputMeanTensor": np.mean(_wide(x), others, keepdims=True).astype(np.float32),
                           "OutputVarianceTensor": np.var(_wide(x), others, keepdims=True).astype(np.float32)},
                          rtol=1e-5, atol=1e-4 if "FLOAT64" in conformance.LACKS else 1e-5))
    return cases


def _leaf(x):
    return torch.tensor(_wide(x), requires_grad=True)


def _gradient_case(g, forward):
    """`forward(x, mean, variance, scale, bias, epsilon)` in PyTorch is what is differentiated."""
    shape = g.shape(most=g.pick(200, 20000))
    small = tuple(1 if g.chance(0.6) else size for size in shape)
    x, dy, epsilon = _spread(g, g.array(shape)), g.array(shape), _epsilon(g)
    scale = g.array(small)
    axes = _repeated(x, scale)
    mean = _like(x, np.mean(_wide(x), axes, keepdims=True))
    variance = _like(x, np.var(_wide(x), axes, keepdims=True))
    if forward is _constant_statistics:
        mean, variance = g.array(small), g.array(small, low=0.1, high=4)
    leaves = _leaf(x), _leaf(scale), _leaf(np.zeros(small))
    y = forward(leaves[0], torch.tensor(_wide(mean)), torch.tensor(_wide(variance)), leaves[1], leaves[2],
                epsilon, axes)
    y.backward(torch.tensor(_wide(dy)))
    grads = [leaf.grad.numpy() for leaf in leaves]
    return Case({"InputTensor": x, "InputGradientTensor": dy, "MeanTensor": mean, "VarianceTensor": variance,
                 "ScaleTensor": scale, "Epsilon": epsilon},
                {"OutputGradientTensor": _like(x, grads[0]), "OutputScaleGradientTensor": _like(x, grads[1]),
                 "OutputBiasGradientTensor": _like(x, grads[2])}, **_sum_tolerance(x, grads))


def _sum_tolerance(x, grads):
    """Sums of many terms of either sign: errors go with the terms, which are at most 4 each, times the slope."""
    slope = 1 + max(float(np.max(np.abs(grad), initial=0)) for grad in grads)
    return {"rtol": 1e-4, "atol": 1e-5 * slope} if x.dtype == np.float32 else {"rtol": 5e-3, "atol": 5e-3 * slope}


def _constant_statistics(x, mean, variance, scale, bias, epsilon, axes):
    return scale * (x - mean) / torch.sqrt(variance + epsilon) + bias


def _own_statistics(x, mean, variance, scale, bias, epsilon, axes):
    if not axes:
        own, spread = x, torch.zeros_like(x)
    else:
        own = x.mean(axes, keepdim=True)
        spread = ((x - own) ** 2).mean(axes, keepdim=True)
    return scale * (x - own) / torch.sqrt(spread + epsilon) + bias


@operator("BATCH_NORMALIZATION_GRAD")
def batch_normalization_grad(g):
    return _gradient_case(g, _constant_statistics)


@operator("BATCH_NORMALIZATION_TRAINING_GRAD")
def batch_normalization_training_grad(g):
    if g.dtype == np.float16 or g.chance(0.3):
        return _given_statistics_grad(g)
    return _gradient_case(g, _own_statistics)


def _given_statistics_grad(g):
    """The formula of the specification on statistics that are not those of the input."""
    shape = g.shape()
    small = tuple(1 if g.chance(0.6) else size for size in shape)
    x, dy, epsilon = _spread(g, g.array(shape)), g.array(shape), _epsilon(g)
    scale, mean, variance = g.array(small), g.array(small), g.array(small, low=0.2, high=4)
    axes = _repeated(x, scale)
    X, G, M, V = (_wide(one) for one in (x, dy, mean, variance))
    r = 1 / np.sqrt(V + epsilon)
    gc, xc = G - np.mean(G, axes, keepdims=True), X - np.mean(X, axes, keepdims=True)
    grads = [scale * r * (gc - xc * np.mean(G * xc, axes, keepdims=True) / (V + epsilon)),
             np.sum(G * (X - M) * r, axes, keepdims=True), np.sum(G, axes, keepdims=True)]
    return Case({"InputTensor": x, "InputGradientTensor": dy, "MeanTensor": mean, "VarianceTensor": variance,
                 "ScaleTensor": scale, "Epsilon": epsilon},
                {"OutputGradientTensor": _like(x, grads[0]), "OutputScaleGradientTensor": _like(x, grads[1]),
                 "OutputBiasGradientTensor": _like(x, grads[2])}, **_sum_tolerance(x, grads))


# ---- local response, Lp --------------------------------------------------------------------------------------------

def _regions(sums, size, cross, reverse=False):
    """Sums over each element's region: channels, or a square of pixels; reversed: over the regions it is part of."""
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    if reverse:
        before, after = after, before
    for axis in (1,) if cross else (2, 3):
        n = sums.shape[axis]
        total = np.concatenate([np.zeros_like(np.take(sums, [0], axis)), np.cumsum(sums, axis)], axis)
        end = np.minimum(np.arange(n) + after + 1, n)
        begin = np.maximum(np.arange(n) - before, 0)
        sums = np.take(total, end, axis) - np.take(total, begin, axis)
    return sums


def _response_attributes(g):
    return {"CrossChannel": g.chance(0.5), "LocalSize": g.pick(1, 2, 3, 4, 5, 5, 8, 70, 4294967295),
            "Alpha": _f32(g.rng.uniform(1e-4, 1)), "Beta": _f32(g.pick(0.75, 0.5, 1, g.rng.uniform(0.3, 2))),
            "Bias": _f32(g.rng.uniform(0.5, 3))}


def _base(x, a):
    return a["Bias"] + a["Alpha"] / a["LocalSize"] * _regions(x * x, a["LocalSize"], a["CrossChannel"])


@operator("LOCAL_RESPONSE_NORMALIZATION")
def local_response(g):
    x, attributes = g.array(g.shape(most=4000)), _response_attributes(g)
    y = _wide(x) / _base(_wide(x), attributes) ** attributes["Beta"]
    return Case({"InputTensor": x, **attributes}, {"OutputTensor": _like(x, y)})


@operator("LOCAL_RESPONSE_NORMALIZATION_GRAD")
def local_response_grad(g):
    x, attributes = g.array(g.shape(most=4000)), _response_attributes(g)
    dy = g.array(x.shape)
    leaf = _leaf(x)
    sums = leaf * leaf
    for axis in (1,) if attributes["CrossChannel"] else (2, 3):  # no region reaches farther than the tensor
        n, before = x.shape[axis], (attributes["LocalSize"] - 1) // 2
        before, after = min(before, n - 1), min(attributes["LocalSize"] - 1 - before, n - 1)
        rows = sums.movedim(axis, -1)
        line = torch.nn.functional.pad(rows.reshape(-1, 1, n), (before, after))
        line = torch.nn.functional.avg_pool1d(line, before + after + 1, 1) * (before + after + 1)
        sums = line.reshape(rows.shape).movedim(-1, axis)
    base = attributes["Bias"] + attributes["Alpha"] / attributes["LocalSize"] * sums
    (leaf / base ** attributes["Beta"]).backward(torch.tensor(_wide(dy)))
    return Case({"InputTensor": x, "InputGradientTensor": dy, **attributes},
                {"OutputGradientTensor": _like(x, leaf.grad.numpy())}, **_tolerance(x))


@edge("LOCAL_RESPONSE_NORMALIZATION_GRAD")
def local_response_grad_formula():
    """The formula of the specification, with a region that is not symmetric."""
    rng = np.random.default_rng(6)
    cases = []
    for cross in (True, False):
        for size in (2, 4, 5):
            x, dy = (rng.uniform(-3, 3, (2, 7, 6, 5)).astype(np.float32) for _ in range(2))
            a = {"CrossChannel": cross, "LocalSize": size, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.0}
            X, D = _wide(x), _base(_wide(x), a)
            inner = _regions(dy * X * D ** (-a["Beta"] - 1), size, cross, reverse=True)
            dx = dy * D ** -a["Beta"] - 2 * a["Alpha"] * a["Beta"] / size * X * inner
            cases.append(Case({"InputTensor": x, "InputGradientTensor": dy, **a},
                              {"OutputGradientTensor": dx.astype(np.float32)}))
    return cases


@operator("LP_NORMALIZATION")
def lp_normalization(g):
    shape = g.shape()
    x, axis, p, epsilon = g.array(shape), g.integer(0, len(shape) - 1), g.pick(1, 2), _f32(g.pick(1e-5, 0.5, 100))
    norm = np.sum(np.abs(_wide(x)) ** p, axis, keepdims=True) ** (1 / p)
    return Case({"InputTensor": x, "Axis": axis, "Epsilon": epsilon, "P": p},
                {"OutputTensor": _like(x, x / np.maximum(norm, epsilon))})


@edge("LP_NORMALIZATION")
def lp_normalization_zero():
    zero = np.zeros((2, 3), np.float32)
    return [Case({"InputTensor": zero, "Axis": 1, "Epsilon": 1e-5, "P": p}, {"OutputTensor": zero}) for p in (1, 2)]


# ---- reductions of huge groups, which go in parts --------------------------------------------------------------------

@edge("REDUCE")
def reduce_huge():
    rng, cases = np.random.default_rng(12), []
    functions = {"AVERAGE": np.mean, "L1": lambda x, axis, keepdims: np.sum(np.abs(x), axis, keepdims=keepdims),
                 "L2": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis, keepdims=keepdims)),
                 "LOG_SUM": lambda x, axis, keepdims: np.log(np.sum(x, axis, keepdims=keepdims)),
                 "LOG_SUM_EXP": lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis, keepdims=keepdims)),
                 "MAX": np.max, "MIN": np.min, "SUM": np.sum,
                 "SUM_SQUARE": lambda x, axis, keepdims: np.sum(x * x, axis, keepdims=keepdims)}
    numbers = {"AVERAGE": 2, "L1": 3, "L2": 4, "LOG_SUM": 5, "LOG_SUM_EXP": 6, "MAX": 7, "MIN": 8, "SUM": 10,
               "SUM_SQUARE": 11}
    for name, function in functions.items():
        for shape, axes in (((1, 3, 400, 500), (2, 3)), ((64, 4, 4000), (0, 2)), ((262144,), (0,))):
            x = rng.uniform(0.5, 4, shape).astype(np.float32)
            y = np.asarray(function(_wide(x), axis=axes, keepdims=True))
            cases.append(Case({"InputTensor": x, "Axes": list(axes), "Function": numbers[name]},
                              {"OutputTensor": _like(x, y)}, rtol=1e-5, atol=1e-5))
    return cases
