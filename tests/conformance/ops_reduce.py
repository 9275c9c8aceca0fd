# SPDX-License-Identifier: Apache-2.0
"""REDUCE with each of its functions, ARGMIN and ARGMAX."""
import numpy as np

from conformance import Case, edge, highest, is_float, lowest, operator

ARGMAX, ARGMIN, AVERAGE, L1, L2, LOG_SUM, LOG_SUM_EXP, MAX, MIN, MULTIPLY, SUM, SUM_SQUARE = range(12)
MINMAX = (ARGMAX, ARGMIN, MAX, MIN)
SUMS = (L1, MULTIPLY, SUM, SUM_SQUARE)
ONLY_FLOAT = (AVERAGE, L2, LOG_SUM, LOG_SUM_EXP)


def _flat(x, axes):
    """The reduced dimensions last, as one; and the output's shape."""
    kept = [i for i in range(x.ndim) if i not in axes]
    moved = x.transpose(kept + sorted(axes))
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
    return moved.reshape([x.shape[i] for i in kept] + [-1]), shape


def _position(x, axes, largest, last, dtype):
    flat, shape = _flat(x, axes)
    if last:
        flat = flat[..., ::-1]
    at = np.argmax(flat, -1) if largest else np.argmin(flat, -1)
    return (flat.shape[-1] - 1 - at if last else at).reshape(shape).astype(dtype)


def _axes(g, rank):
    return [int(axis) for axis in g.rng.permutation(rank)[:g.integer(1, rank)]]


def _with_ties(g, shape):
    if g.chance(0.5):
        return g.array(shape, low=0, high=3) if not is_float(g.dtype) else np.round(g.array(shape, low=-2, high=2))
    limits = {} if is_float(g.dtype) else {"low": lowest(g.dtype), "high": highest(g.dtype)}
    return g.array(shape, **limits)


def _float_result(function, f):
    if function == LOG_SUM_EXP:
        m = f.max(-1, keepdims=True)
        return np.log(np.exp(f - m).sum(-1)) + m[..., 0]
    return {AVERAGE: lambda: f.mean(-1), L1: lambda: np.abs(f).sum(-1), L2: lambda: np.sqrt((f * f).sum(-1)),
            LOG_SUM: lambda: np.log(f.sum(-1)), MULTIPLY: lambda: f.prod(-1), SUM: lambda: f.sum(-1),
            SUM_SQUARE: lambda: (f * f).sum(-1)}[function]()


def _integer_result(function, x):
    """Wraps in the element's width."""
    signed = x.dtype.kind == "i"
    wide = x.astype(np.uint64) if not signed else x.astype(np.int64)
    return {L1: lambda: (np.abs(wide) if signed else wide).sum(-1, dtype=wide.dtype),
            MULTIPLY: lambda: wide.prod(-1, dtype=wide.dtype), SUM: lambda: wide.sum(-1, dtype=wide.dtype),
            SUM_SQUARE: lambda: (wide * wide).sum(-1, dtype=wide.dtype)}[function]().astype(x.dtype)


@operator("REDUCE", types="InputTensor")
def reduce(g):
    sums = SUMS if g.dtype.itemsize >= 4 or is_float(g.dtype) else ()
    function = g.pick(*MINMAX, *sums, *(ONLY_FLOAT if is_float(g.dtype) else ()))
    shape = g.shape(most=g.pick(200, 4000))
    axes = _axes(g, len(shape))
    x = _with_ties(g, shape) if function in MINMAX or not is_float(g.dtype) else g.array(shape)
    fields = {"InputTensor": x, "Function": function, "Axes": axes}
    flat, out = _flat(x, axes)
    if function in (ARGMAX, ARGMIN):
        to = g.pick(*(np.dtype(name) for name in ("int64", "int32", "uint64", "uint32")))
        return Case(fields, {"OutputTensor": _position(x, axes, function == ARGMAX, False, to)})
    if function in (MAX, MIN):
        return Case(fields, {"OutputTensor": (flat.max(-1) if function == MAX else flat.min(-1)).reshape(out)}, rtol=1e-30)
    if not is_float(g.dtype):
        return Case(fields, {"OutputTensor": _integer_result(function, flat).reshape(out)})
    if function == LOG_SUM:
        x = fields["InputTensor"] = np.abs(x) + g.dtype.type(0.01)
    if function == MULTIPLY:
        x = fields["InputTensor"] = (1 + x / 16).astype(g.dtype)
    f = _flat(x, axes)[0].astype(np.float64)
    want = _float_result(function, f).reshape(out)
    # A sum's error grows with what is added, not with what is left.
    unit = 2e-3 if g.dtype == np.float16 else 1e-6
    scale = np.abs(f).sum(-1).max() if function in (SUM, LOG_SUM) else 0
    if np.abs(want).max() > 6e4 and g.dtype == np.float16:
        return None
    if function == MULTIPLY:
        return Case(fields, {"OutputTensor": want.astype(g.dtype)}, rtol=unit * 4, atol=1e-30)
    return Case(fields, {"OutputTensor": want.astype(g.dtype)}, rtol=unit * 4,
                atol=unit * (1 + scale / f.shape[-1] if function in (AVERAGE, LOG_SUM) else 1 + scale * 0.02))


@operator("ARGMIN", "ARGMAX", types="InputTensor")
def arg(g):
    shape = g.shape(most=g.pick(200, 4000))
    axes = _axes(g, len(shape))
    x = _with_ties(g, shape)
    last = g.integer(0, 1)
    to = g.pick(*g.types("OutputTensor"))
    return Case({"InputTensor": x, "Axes": axes, "AxisDirection": last},
                {"OutputTensor": _position(x, axes, g.op == "ARGMAX", last == 1, to)})


def _arg_page(largest):
    line = np.float32([3, 2, 1, 2, 3] if largest else [1, 2, 3, 2, 1]).reshape(1, 1, 1, 5)
    square = np.float32([1, 2, 3, 3, 0, 4, 2, 5, 2]).reshape(1, 1, 3, 3)
    out = [Case({"InputTensor": line, "Axes": [3], "AxisDirection": last},
                {"OutputTensor": np.full((1, 1, 1, 1), 4 * last, np.uint64)}) for last in (0, 1)]
    out.append(Case({"InputTensor": square, "Axes": [2, 3]},
                    {"OutputTensor": np.full((1, 1, 1, 1), 7 if largest else 4, np.int64)}))
    ends = np.float32([np.nan, -np.inf, np.nan, np.inf]).reshape(4, 1)  # not specified: a number wins over NaN
    out.append(Case({"InputTensor": ends, "Axes": [0]}, {"OutputTensor": np.full((1, 1), 3 if largest else 1, np.uint32)}))
    equal = np.zeros((3, 1, 4), np.int8)
    return out + [Case({"InputTensor": equal, "Axes": [0, 2], "AxisDirection": last},
                       {"OutputTensor": np.full((1, 1, 1), 11 * last, np.uint32)}) for last in (0, 1)]


@edge("ARGMAX")
def argmax_page():
    return _arg_page(True)


@edge("ARGMIN")
def argmin_page():
    return _arg_page(False)


@edge("REDUCE")
def reduce_ends():
    """Sums that overflow where the result does not; 64 bits that a float cannot hold."""
    def one(x, function, want, **how):
        x = np.asarray(x)
        return Case({"InputTensor": x, "Function": function, "Axes": [0]}, {"OutputTensor": np.array([want], x.dtype)}, **how)
    big = 2**62 + 1
    return [
        one(np.int64([big, 1, -1]), SUM, big),
        one(np.int64([big, big - 1]), MAX, big),
        one(np.uint64([2**64 - 1, 2**64 - 2]), MIN, 2**64 - 2),
        one(np.uint64([2**63 + 3, 3]), MULTIPLY, (2**63 + 3) * 3 % 2**64),
        one(np.int32([-2**31, -1]), SUM, 2**31 - 1),
        one(np.int32([-5, 3]), L1, 8),
        one(np.uint32([2**31, 2**31, 7]), SUM, 7),
        one(np.float32([1000, 1000]), LOG_SUM_EXP, 1000 + np.log(2), rtol=1e-6),
        one(np.float32([-1000, -1001]), LOG_SUM_EXP, -1000 + np.log1p(np.exp(-1)), rtol=1e-6),
        one(np.float16([60000, 60000]), AVERAGE, 60000, rtol=1e-3),
        one(np.float16([300, 400]), L2, 500, rtol=1e-3),
        one(np.float32([-np.inf, 1]), MIN, -np.inf),
        one(np.float32([np.inf, 1]), SUM, np.inf),
        one(np.float32([np.nan, 1]), SUM, np.nan),
        one(np.float32([1, np.nan, 2]), MAX, 2),  # not specified: a number wins over NaN
        one(np.float32([np.nan, np.nan]), MIN, np.nan),
        one(np.float32([np.inf, 1]), LOG_SUM_EXP, np.inf),
        one(np.float32([-np.inf, -np.inf]), LOG_SUM_EXP, -np.inf),
        one(np.ones(100000, np.float32) / 3, SUM, 100000 / 3, rtol=1e-5),
        one(np.ones(5000, np.float16), SUM, 5000, rtol=0, atol=0),
    ]


@edge("REDUCE")
def reduce_no_axes():
    """Each element is a sum of its own."""
    x = np.float32([[-2, 3], [4, 0.5]])
    wanted = {SUM: x, L1: np.abs(x), SUM_SQUARE: x * x, MAX: x, AVERAGE: x, L2: np.abs(x), LOG_SUM_EXP: x,
              ARGMAX: np.zeros(x.shape, np.int32)}
    return [Case({"InputTensor": x, "Function": function, "Axes": []}, {"OutputTensor": want}, rtol=1e-6)
            for function, want in wanted.items()]


@edge("REDUCE")
def reduce_large():
    """Enough for several threads, along either end."""
    x = (np.arange(300 * 1000) % 101 - 50).astype(np.float32).reshape(300, 1000)
    out = [Case({"InputTensor": x, "Function": SUM, "Axes": [axis]}, {"OutputTensor": x.sum(axis, keepdims=True)})
           for axis in (0, 1)]
    return out + [Case({"InputTensor": x, "Function": MAX, "Axes": [0, 1]}, {"OutputTensor": np.float32([[50]])})]


# ---- positions in huge groups, which are looked for in parts ---------------------------------------------------------

def _huge_positions(op):
    rng, cases = np.random.default_rng(13), []
    for shape, axes in (((1, 3, 400, 500), (2, 3)), ((262144,), (0,)), ((4, 64, 2048), (0, 1, 2))):
        for kind in ("distinct", "ties", "one"):
            x = rng.normal(size=shape).astype(np.float32)
            if kind == "ties":
                x = np.round(x)
            if kind == "one":
                x[...] = 1
            for last in (0, 1):
                fields = {"InputTensor": x, "Axes": list(axes), "AxisDirection": last}
                cases.append(Case(fields, {"OutputTensor": _position(x, axes, op == "ARGMAX", last == 1, np.uint32)}))
    return cases


@edge("ARGMAX")
def argmax_huge():
    return _huge_positions("ARGMAX")


@edge("ARGMIN")
def argmin_huge():
    return _huge_positions("ARGMIN")
