# SPDX-License-Identifier: Apache-2.0
"""ELEMENT_WISE_*: arithmetic, comparisons, bits, rounding, clips (the quantisation operators are elsewhere)."""
import numpy as np

from conf_activations import erf
from conformance import Case, activate, bfloat_bits, bfloat_values, edge, highest, is_float, lowest, operator

FLOAT64 = np.float64


def _scaled(g, x, scale_bias):
    """x * scale + bias in float64; integers are truncated back (they are computed in floating point)."""
    if scale_bias is None:
        return x.astype(FLOAT64) if is_float(g.dtype) else x
    y = x.astype(FLOAT64) * scale_bias[0] + scale_bias[1]
    return y if is_float(g.dtype) else np.trunc(y).astype(g.dtype)


def _round(y, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(y).astype(dtype)


# ---- one float input ----

# name: (function, range of the input after ScaleBias)
REAL = {
    "ACOS": (np.arccos, (-1, 1)), "ASIN": (np.arcsin, (-1, 1)), "ATAN": (np.arctan, (-8, 8)), "COS": (np.cos, (-9, 9)),
    "EXP": (np.exp, (-9, 9)), "LOG": (np.log, (1e-3, 50)), "RECIP": (lambda x: 1 / x, (0.05, 9)), "SIN": (np.sin, (-9, 9)),
    "SQRT": (np.sqrt, (0, 99)), "TAN": (np.tan, (-1.4, 1.4)), "ERF": (erf, (-4, 4)), "SINH": (np.sinh, (-6, 6)),
    "COSH": (np.cosh, (-6, 6)), "TANH": (np.tanh, (-6, 6)), "ASINH": (np.arcsinh, (-50, 50)),
    "ACOSH": (np.arccosh, (1, 50)), "ATANH": (np.arctanh, (-0.98, 0.98)),
}


@operator(*("ELEMENT_WISE_" + name for name in REAL))
def real(g):
    function, (low, high) = REAL[g.op.removeprefix("ELEMENT_WISE_")]
    scale_bias = g.scale_bias()
    x = g.array(g.shape(), low=low, high=high)
    if scale_bias is not None:  # so that the scaled value is in the range
        scale = scale_bias[0] if abs(scale_bias[0]) > 0.25 else 0.5
        scale_bias = (scale, scale_bias[1])
        x = ((x.astype(FLOAT64) - scale_bias[1]) / scale).astype(g.dtype)
    u = _scaled(g, x, scale_bias)
    y = function(u)
    # The rounding of u, which the function magnifies, is the library's own.
    half = np.finfo(np.float32).eps * np.maximum(1, np.abs(u)) * 2
    sure = np.isfinite(y) & (np.abs(function(u + half) - y) < 1e-5) & (np.abs(function(u - half) - y) < 1e-5)
    atol, rtol = (1e-5, 1e-5) if g.dtype == np.float32 else (1e-4, 1.1e-3)
    return Case({"InputTensor": x, "ScaleBias": scale_bias}, {"OutputTensor": np.ma.masked_array(_round(y, g.dtype), ~sure)},
                rtol=rtol, atol=atol if scale_bias is not None else atol / 10)


# Special values: input, wanted.
SPECIAL = {
    "ACOS": ([1, -1, 2, -2], [0, np.pi, np.nan, np.nan]),
    "ASIN": ([1, -1, 2, np.nan], [np.pi / 2, -np.pi / 2, np.nan, np.nan]),
    "ATAN": ([np.inf, -np.inf, np.nan, 1e30], [np.pi / 2, -np.pi / 2, np.nan, np.pi / 2]),
    "COS": ([0, np.nan, 1e-6, 1000], [1, np.nan, 1, np.cos(1000)]),
    "EXP": ([np.inf, -np.inf, 1000, -1000, np.nan, 88], [np.inf, 0, np.inf, 0, np.nan, np.exp(88)]),
    "LOG": ([0, 1, np.inf, -1, np.nan, 1e-40], [-np.inf, 0, np.inf, np.nan, np.nan, np.log(float(np.float32(1e-40)))]),
    "RECIP": ([0.0, -0.0, np.inf, -4], [np.inf, -np.inf, 0, -0.25]),
    "SIN": ([0, np.nan, 1e-6, 1000], [0, np.nan, 1e-6, np.sin(1000)]),
    "SQRT": ([0, -1, np.inf, 4, np.nan], [0, np.nan, np.inf, 2, np.nan]),
    "TAN": ([0, np.nan, 1e-6], [0, np.nan, 1e-6]),
    "ERF": ([np.inf, -np.inf, 1e-6, 10, np.nan], [1, -1, 2e-6 / np.sqrt(np.pi), 1, np.nan]),
    "SINH": ([np.inf, -np.inf, 1e-6, 100, np.nan], [np.inf, -np.inf, 1e-6, np.inf, np.nan]),
    "COSH": ([np.inf, -np.inf, 0, 100], [np.inf, np.inf, 1, np.inf]),
    "TANH": ([np.inf, -np.inf, 1e-6, 100, np.nan], [1, -1, 1e-6, 1, np.nan]),
    "ASINH": ([np.inf, -np.inf, 1e-6, -1e30, 1e30, np.nan],
              [np.inf, -np.inf, 1e-6, np.arcsinh(-1e30), np.arcsinh(1e30), np.nan]),
    "ACOSH": ([1, np.inf, 0.5, 1e30, np.nan], [0, np.inf, np.nan, np.arccosh(1e30), np.nan]),
    "ATANH": ([1, -1, 2, 1e-6, np.nan], [np.inf, -np.inf, np.nan, 1e-6, np.nan]),
    "CEIL": ([-0.5, 1.2, -1.2, np.inf, -np.inf, np.nan, 1e30], [-0.0, 2, -1, np.inf, -np.inf, np.nan, np.float32(1e30)]),
    "FLOOR": ([-0.5, 1.2, -1.2, np.inf, -np.inf, np.nan, -0.0], [-1, 1, -2, np.inf, -np.inf, np.nan, -0.0]),
    "SIGN": ([-0.0, np.nan, np.inf, -np.inf, -1e-40], [0, 0, 1, -1, -1]),
    "NEGATE": ([0.0, -0.0, np.inf, np.nan], [-0.0, 0.0, -np.inf, np.nan]),
    "ABS": ([-0.0, -np.inf, np.nan, -1e-40], [0, np.inf, np.nan, np.float32(1e-40)]),
}
EXACT_SPECIAL = ("CEIL", "FLOOR", "NEGATE", "ABS", "SIGN", "SQRT")


def _special(name):
    x, want = SPECIAL[name]
    how = {"rtol": 0, "atol": 0} if name in EXACT_SPECIAL else {"rtol": 2e-6, "atol": 1e-30}
    return [Case({"InputTensor": np.float32(x)}, {"OutputTensor": np.float32(want)}, **how)]


for _name in SPECIAL:
    edge("ELEMENT_WISE_" + _name)(lambda name=_name: _special(name))


# ---- one input, any number ----

def _full(g, shape=None):
    """Values of the whole range of an integer, with extremes."""
    shape = g.shape() if shape is None else shape
    if is_float(g.dtype):
        return g.array(shape, special=True)
    limits = {"low": lowest(g.dtype), "high": highest(g.dtype)} if g.chance(0.5) else {}
    return g.array(shape, special=True, **limits)


@operator("ELEMENT_WISE_IDENTITY")
def identity(g):
    scale_bias = g.scale_bias()
    if scale_bias is None or (not is_float(g.dtype) and g.dtype.itemsize == 8):
        x = _full(g)
        return Case({"InputTensor": x}, {"OutputTensor": x.copy()}, bits=True)
    x = g.array(g.shape())
    if is_float(g.dtype):
        return Case({"InputTensor": x, "ScaleBias": scale_bias}, {"OutputTensor": _round(_scaled(g, x, scale_bias), g.dtype)},
                    rtol=1e-3 if g.dtype == np.float16 else 1e-6, atol=1e-3 if g.dtype == np.float16 else 1e-6)
    y = x.astype(FLOAT64) * scale_bias[0] + scale_bias[1]
    sure = (y > lowest(g.dtype)) & (y < highest(g.dtype)) & (np.abs(y - np.round(y)) > 1e-4)
    return Case({"InputTensor": x, "ScaleBias": scale_bias},
                {"OutputTensor": np.ma.masked_array(np.where(sure, np.trunc(y), 0).astype(g.dtype), ~sure)})


def _with_scale_bias(g, fields, function, outputs="OutputTensor"):
    """function(x * scale + bias), where the scaled value is not so near to an integer that its own rounding decides."""
    scale_bias = tuple(float(np.float32(x)) for x in g.rng.uniform(-2, 2, 2))
    x = g.array(g.shape(), low=-30, high=30) if is_float(g.dtype) or lowest(g.dtype) < 0 else g.array(g.shape(), low=0, high=60)
    u = x.astype(FLOAT64) * scale_bias[0] + scale_bias[1]
    sure = np.abs(u - np.round(u)) > 1e-4
    if not is_float(g.dtype):
        sure &= (u > lowest(g.dtype)) & (u < highest(g.dtype))
        u = np.where(sure, np.trunc(u), 0).astype(g.dtype)
    want = np.ma.masked_array(_round(function(u), g.dtype), ~sure)
    half = g.dtype == np.float16
    return Case({"InputTensor": x, "ScaleBias": scale_bias, **fields}, {outputs: want},
                **({"rtol": 1.1e-3 if half else 1e-6, "atol": 1e-3 if half else 1e-5} if is_float(g.dtype) else {}))


@operator("ELEMENT_WISE_ABS", "ELEMENT_WISE_NEGATE", "ELEMENT_WISE_SIGN", "ELEMENT_WISE_CEIL", "ELEMENT_WISE_FLOOR")
def exact_unary(g):
    name = g.op.removeprefix("ELEMENT_WISE_")
    if name in ("ABS", "CEIL", "FLOOR") and g.chance(0.3):
        return _with_scale_bias(g, {}, {"ABS": np.abs, "CEIL": np.ceil, "FLOOR": np.floor}[name])
    x = _full(g)
    if name == "SIGN":
        want = (x > 0).astype(g.dtype) - (x < 0).astype(g.dtype)
    else:
        want = {"ABS": np.abs, "NEGATE": np.negative, "CEIL": np.ceil, "FLOOR": np.floor}[name](x)
    return Case({"InputTensor": x}, {"OutputTensor": want.astype(g.dtype)}, rtol=0, atol=0)


@operator("ELEMENT_WISE_ROUND")
def round_(g):
    x = g.array(g.shape(), low=-40, high=40, special=True)
    if g.chance(0.5):
        x = (np.round(x * 2) / 2).astype(g.dtype)
    mode = g.integer(0, 2)
    away = np.copysign(np.floor(np.abs(x.astype(FLOAT64)) + 0.5), x)
    want = (np.rint(x), np.trunc(x), np.where(np.isfinite(x), away, x))[mode]
    return Case({"InputTensor": x, "RoundingMode": mode}, {"OutputTensor": want.astype(g.dtype)}, rtol=0, atol=0)


@edge("ELEMENT_WISE_ROUND")
def round_page():
    x = np.float32([-2.5, -1.75, -1.5, -1.25, 0, 1.25, 1.5, 1.75, 2.5, 0.49999997, -0.49999997, 8388609, -0.5, 0.5])
    want = [[-2, -2, -2, -1, 0, 1, 2, 2, 2, 0, -0.0, 8388609, -0.0, 0],
            [-2, -1, -1, -1, 0, 1, 1, 1, 2, 0, -0.0, 8388609, -0.0, 0],
            [-3, -2, -2, -1, 0, 1, 2, 2, 3, 0, -0.0, 8388609, -1, 1]]
    return [Case({"InputTensor": x, "RoundingMode": mode}, {"OutputTensor": np.float32(row)}, rtol=0, atol=0)
            for mode, row in enumerate(want)]


@operator("ELEMENT_WISE_IS_NAN", "ELEMENT_WISE_IS_INFINITY")
def is_special(g):
    x = g.array(g.shape(), special=True)
    if g.op == "ELEMENT_WISE_IS_NAN":
        return Case({"InputTensor": x}, {"OutputTensor": np.isnan(x).astype(g.pick(*g.types("OutputTensor")))})
    mode = g.integer(0, 2)
    want = (np.isinf(x), np.isposinf(x), np.isneginf(x))[mode]
    return Case({"InputTensor": x, "InfinityMode": mode}, {"OutputTensor": want.astype(np.uint8)})


@operator("ELEMENT_WISE_LOGICAL_NOT")
def logical_not(g):
    x = g.array(g.shape(), low=0, high=g.pick(1, 2, 300))
    return Case({"InputTensor": x}, {"OutputTensor": (x == 0).astype(g.dtype)})


def _bits(x):
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


@operator("ELEMENT_WISE_BIT_NOT", "ELEMENT_WISE_BIT_COUNT")
def bit_unary(g):
    x = _full(g)
    if g.op == "ELEMENT_WISE_BIT_NOT":
        return Case({"InputTensor": x}, {"OutputTensor": (~_bits(x)).view(g.dtype)}, bits=True)
    digits = np.unpackbits(_bits(x).reshape(x.shape + (1,)).view(np.uint8), axis=-1).sum(-1)
    return Case({"InputTensor": x}, {"OutputTensor": digits.astype(g.pick(*g.types("OutputTensor")))})


# ---- clips ----

def _fmax(a, b):
    return np.fmax(a, b) if is_float(a.dtype) else np.maximum(a, b)


def _fmin(a, b):
    return np.fmin(a, b) if is_float(a.dtype) else np.minimum(a, b)


def _bound(g, value):
    """A FLOAT bound as an element: truncated and saturated."""
    if g.bfloat:
        return g.dtype.type(bfloat_values(bfloat_bits(np.float32(value))))
    if is_float(g.dtype):
        return g.dtype.type(value)
    value = max(-2.0**100, min(2.0**100, value))
    return g.dtype.type(max(lowest(g.dtype), min(highest(g.dtype), int(value))))


def _limits(g):
    big = 3.4e38
    a, b = (float(np.float32(x)) for x in g.rng.uniform(-60, 60, 2))
    if g.chance(0.8):
        a, b = min(a, b), max(a, b)
    if g.dtype == np.float16:
        a, b = float(np.float16(a)), float(np.float16(b))
    return g.pick((a, b), (a, b), (a, b), (-big, b), (a, big)) if g.dtype != np.float16 else (a, b)


@operator("ELEMENT_WISE_CLIP", "ELEMENT_WISE_THRESHOLD")
def clip(g):
    low, high = _limits(g)
    if g.dtype == np.float64:  # the bounds are FLOAT
        low, high = float(np.float32(low)), float(np.float32(high))
    fields = {"Min": low, "Max": high} if g.op == "ELEMENT_WISE_CLIP" else {"Min": low}

    def function(u):
        y = _fmax(u, u.dtype.type(_bound(g, low)))
        return _fmin(y, u.dtype.type(_bound(g, high))) if "Max" in fields else y
    if g.chance(0.3):
        return _with_scale_bias(g, fields, function)
    x = _full(g)
    return Case({"InputTensor": x, **fields}, {"OutputTensor": function(x)}, rtol=1e-30)


def _typed_limits(g):
    a, b = _full(g, (1,))[0], _full(g, (1,))[0]
    if is_float(g.dtype) and (np.isnan(a) or np.isnan(b)):
        return None
    return (a, b) if a <= b or g.chance(0.3) else (b, a)


@operator("ELEMENT_WISE_CLIP1")
def clip1(g):
    limits = _typed_limits(g)
    if limits is None:
        return None
    fields = {"Min": limits[0], "Max": limits[1]}

    def function(u):
        low, high = (u.dtype.type(x) for x in limits)
        return _fmax(_fmin(u, high), low)
    if g.chance(0.3):
        return _with_scale_bias(g, fields, function)
    x = _full(g)
    return Case({"InputTensor": x, **fields}, {"OutputTensor": function(x)}, rtol=1e-30)


@operator("ELEMENT_WISE_CLIP_GRAD", "ELEMENT_WISE_CLIP_GRAD1")
def clip_grad(g):
    if g.op.endswith("1"):
        limits = typed = _typed_limits(g)
        if limits is None:
            return None
    else:
        limits = _limits(g)
        typed = tuple(_bound(g, x) for x in limits)
    x = _full(g)
    dy = _full(g, x.shape)
    want = np.where((x <= typed[0]) | (x >= typed[1]), g.dtype.type(0), dy)
    return Case({"InputTensor": x, "InputGradientTensor": dy, "Min": limits[0], "Max": limits[1]},
                {"OutputGradientTensor": want}, rtol=0, atol=0)


@edge("ELEMENT_WISE_CLIP")
def clip_ends():
    def one(x, low, high, want):
        return Case({"InputTensor": x, "Min": low, "Max": high}, {"OutputTensor": np.asarray(want, x.dtype)}, rtol=0, atol=0)
    return [
        one(np.float32([-5, 0, 5, np.nan]), 2, -2, [-2, -2, -2, -2]),
        one(np.int8([-128, 127, 3]), -2.9, 2.9, [-2, 2, 2]),
        one(np.uint8([0, 200, 255]), -7, 1e30, [0, 200, 255]),
        one(np.uint8([0, 200, 255]), 300, 400, [255, 255, 255]),
        one(np.int8([-7, 0, 7]), -300, -200, [-128, -128, -128]),
        one(np.int64([-2**63, 2**63 - 1, 2**53 + 1]), -3e38, 3e38, [-2**63, 2**63 - 1, 2**53 + 1]),
        one(np.uint64([0, 2**64 - 1]), -3e38, 3e38, [0, 2**64 - 1]),
        one(np.float32([np.nan, np.inf, -np.inf]), -1, 1, [-1, 1, -1]),
    ]


@edge("ELEMENT_WISE_CLIP1")
def clip1_ends():
    def one(x, low, high, want):
        return Case({"InputTensor": x, "Min": low, "Max": high}, {"OutputTensor": np.asarray(want, x.dtype)}, rtol=0, atol=0)
    return [
        one(np.int64([2**53 + 2, 2**62, -9]), 2**53 + 1, 2**62 - 1, [2**53 + 2, 2**62 - 1, 2**53 + 1]),
        one(np.float32([-5, 0, 5]), 2, -2, [2, 2, 2]),
    ]


# ---- two inputs ----

def _pair(g):
    x = _full(g)
    return x, _full(g, x.shape)


def _arith(name, a, b):
    """Floats in float64, integers in their own width, wrapping."""
    if is_float(a.dtype):
        a, b = a.astype(FLOAT64), b.astype(FLOAT64)
    return {"ADD": np.add, "SUBTRACT": np.subtract, "MULTIPLY": np.multiply}[name](a, b)


@operator("ELEMENT_WISE_ADD", "ELEMENT_WISE_SUBTRACT", "ELEMENT_WISE_MULTIPLY")
def arithmetic(g):
    a, b = _pair(g)
    want = _arith(g.op.removeprefix("ELEMENT_WISE_"), a, b)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": _round(want, g.dtype)}, ulp=1 if is_float(g.dtype) else None)


@operator("ELEMENT_WISE_ADD1")
def add1(g):
    a = g.array(g.shape())
    b = g.array(a.shape)
    fused = g.fused()
    want = activate(fused, a.astype(FLOAT64) + b)
    return Case({"ATensor": a, "BTensor": b, "FusedActivation": fused}, {"OutputTensor": _round(want, g.dtype)},
                rtol=2e-3 if g.dtype == np.float16 else 1e-5, atol=1e-3 if g.dtype == np.float16 else 4e-6)


@operator("ELEMENT_WISE_DIVIDE", "ELEMENT_WISE_MODULUS_TRUNCATE", "ELEMENT_WISE_MODULUS_FLOOR")
def divide(g):
    name = g.op.removeprefix("ELEMENT_WISE_")
    if is_float(g.dtype):
        a = g.array(g.shape(), special=name == "DIVIDE")
        b = g.array(a.shape, special=name == "DIVIDE")
        if name == "DIVIDE":
            want = a.astype(FLOAT64) / b
            return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": _round(want, g.dtype)}, ulp=1)
        b = np.where(np.abs(b) < 0.25, g.dtype.type(0.75), b)
        want = np.fmod(a, b) if name.endswith("TRUNCATE") else np.mod(a, b)
        quotient = a.astype(FLOAT64) / b  # next to an integer the formula and fmod part
        near = np.abs(quotient - np.round(quotient)) < 1e-3
        return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": np.ma.masked_array(want, near)},
                    atol=3e-3 if g.dtype == np.float16 else 2e-6)
    a, b = _pair(g)
    unknown = (b == 0) | ((a == lowest(g.dtype)) & (b == g.dtype.type(-1 if g.dtype.kind == "i" else highest(g.dtype))) &
                          (g.dtype.kind == "i"))
    safe = np.where(unknown, g.dtype.type(1), b)
    floor = a // safe
    rest = a - floor * safe
    exact = (rest != 0) & ((a < 0) != (safe < 0))
    if name == "DIVIDE":
        want = floor + exact.astype(g.dtype)
    elif name.endswith("FLOOR"):
        want = rest
    else:
        want = np.where(exact, rest - safe, rest)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": np.ma.masked_array(want.astype(g.dtype), unknown)})


def _division_edge(results):
    a, b = np.int32([-7, 7, -7, 7, -8]), np.int32([3, -3, -3, 3, 4])
    big = np.int64([2**62 + 3, -2**62 - 3])
    return [Case({"ATensor": a, "BTensor": b}, {"OutputTensor": np.int32(results[:5])}),
            Case({"ATensor": big, "BTensor": np.int64([2**31, 2**31])}, {"OutputTensor": np.int64(results[5:])}),
            # No trap, whatever the values are.
            *(Case({"ATensor": np.array([lowest(t), 1, 0], t), "BTensor": np.array([highest(t) if lowest(t) == 0 else -1, 0, 0], t)},
                   {"OutputTensor": np.ma.masked_array(np.zeros(3, t), True)})
              for t in map(np.dtype, ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")))]


@edge("ELEMENT_WISE_DIVIDE")
def divide_edge():
    return _division_edge([-2, -2, 2, 2, -2, 2**31, -2**31])


@edge("ELEMENT_WISE_MODULUS_TRUNCATE")
def modulus_truncate_edge():
    return _division_edge([-1, 1, -1, 1, 0, 3, -3])


@edge("ELEMENT_WISE_MODULUS_FLOOR")
def modulus_floor_edge():
    return _division_edge([2, -2, -1, 1, 0, 3, 2**31 - 3])


@operator("ELEMENT_WISE_MAX", "ELEMENT_WISE_MIN")
def minmax(g):
    a, b = _pair(g)
    want = (_fmax if g.op.endswith("MAX") else _fmin)(a, b)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": want}, rtol=1e-30)  # which zero is not specified


@operator("ELEMENT_WISE_MEAN")
def mean(g):
    if is_float(g.dtype):
        a = g.array(g.shape())
        b = g.array(a.shape)
        want = (a.astype(FLOAT64) + b) / 2
        return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": _round(want, g.dtype)}, ulp=1)
    a = g.array(g.shape(), low=-2**29, high=2**29)
    b = g.array(a.shape, low=-2**29, high=2**29)
    both = a.astype(np.int64) + b
    odd = both % 2 != 0  # how an odd sum is rounded is not specified, toward zero is this library's way
    want = np.where(odd, np.trunc(both / 2), both // 2)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": want.astype(g.dtype)})


@operator("ELEMENT_WISE_DIFFERENCE_SQUARE")
def difference_square(g):
    a, b = _pair(g)
    d = _arith("SUBTRACT", a, b)
    if is_float(g.dtype):
        return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": _round(d * d, g.dtype)},
                    rtol=2e-3 if g.dtype == np.float16 else 1e-6, atol=1e-7)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": d * d})


@operator("ELEMENT_WISE_ATAN_YX")
def atan_yx(g):
    a = g.array(g.shape(), special=True)
    b = g.array(a.shape, special=True)
    want = np.ma.masked_array(_round(np.arctan2(a.astype(FLOAT64), b), g.dtype), (a == 0) & (b == 0))
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": want}, rtol=2e-3 if g.dtype == np.float16 else 2e-6, atol=1e-7)


COMPARE = {"EQUALS": np.equal, "GREATER_THAN": np.greater, "LESS_THAN": np.less,
           "GREATER_THAN_OR_EQUAL": np.greater_equal, "LESS_THAN_OR_EQUAL": np.less_equal}


@operator(*("ELEMENT_WISE_LOGICAL_" + name for name in COMPARE))
def compare(g):
    a, b = _pair(g)
    if g.chance(0.5):
        b = np.where(g.rng.random(a.shape) < 0.5, a, b)
    want = COMPARE[g.op.removeprefix("ELEMENT_WISE_LOGICAL_")](a, b)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": want.astype(g.pick(*g.types("OutputTensor")))})


def _compare_wide(name):
    a = np.uint64([2**64 - 1, 2**63, 2**53 + 1, 0])
    b = np.uint64([2**64 - 2, 2**63, 2**53, 2**63])
    c, d = np.int64([2**62 + 1, -2**63, 2**53 + 1]), np.int64([2**62, 2**63 - 1, 2**53 + 1])
    e, f = np.float32([np.nan, np.nan, 0.0, np.inf]), np.float32([np.nan, 1, -0.0, np.inf])
    return [Case({"ATensor": x, "BTensor": y}, {"OutputTensor": COMPARE[name](x, y).astype(np.uint32)})
            for x, y in ((a, b), (c, d), (e, f))]


for _name in COMPARE:  # neighbours that floats cannot tell apart
    edge("ELEMENT_WISE_LOGICAL_" + _name)(lambda name=_name: _compare_wide(name))


@operator("ELEMENT_WISE_LOGICAL_AND", "ELEMENT_WISE_LOGICAL_OR", "ELEMENT_WISE_LOGICAL_XOR")
def logical(g):
    a = g.array(g.shape(), low=0, high=g.pick(1, 2, 255))
    b = g.array(a.shape, low=0, high=2)
    want = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}[g.op.removeprefix("ELEMENT_WISE_LOGICAL_")](a, b)
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": want.astype(g.dtype)})


@operator("ELEMENT_WISE_BIT_AND", "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR")
def bit_binary(g):
    a, b = _pair(g)
    function = {"AND": np.bitwise_and, "OR": np.bitwise_or, "XOR": np.bitwise_xor}[g.op.removeprefix("ELEMENT_WISE_BIT_")]
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": function(_bits(a), _bits(b)).view(g.dtype)}, bits=True)


@operator("ELEMENT_WISE_BIT_SHIFT_LEFT", "ELEMENT_WISE_BIT_SHIFT_RIGHT")
def shift(g):
    width = g.dtype.itemsize * 8
    a = _full(g)
    b = g.array(a.shape, low=0, high=width + 1)
    function = np.left_shift if g.op.endswith("LEFT") else np.right_shift
    want = function(a, np.minimum(b, width - 1).astype(g.dtype))
    return Case({"ATensor": a, "BTensor": b}, {"OutputTensor": np.where(b < width, want, 0).astype(g.dtype)})


@operator("ELEMENT_WISE_IF", types="ATensor")
def if_(g):
    a, b = _pair(g)
    condition = g.array(a.shape, np.dtype("uint8"), low=0, high=g.pick(1, 255))
    return Case({"ConditionTensor": condition, "ATensor": a, "BTensor": b}, {"OutputTensor": np.where(condition != 0, a, b)},
                bits=True)


# ---- powers ----

def _integer_power(base, exponent, dtype):
    out = []
    for x, p in zip(base.ravel().tolist(), exponent.ravel().tolist()):
        out.append(pow(x, p) & ((1 << dtype.itemsize * 8) - 1))
    return np.array(out, np.uint64).astype(f"u{dtype.itemsize}").view(dtype).reshape(base.shape)


@operator("ELEMENT_WISE_POW", types="InputTensor")
def power(g):
    kind = g.pick(*g.types("ExponentTensor"))
    if not is_float(g.dtype):
        x = g.array(g.shape(), low=-6, high=6)
        if is_float(kind):
            p = np.round(g.array(x.shape, kind, low=0, high=2)).astype(kind)
            return Case({"InputTensor": x, "ExponentTensor": p},
                        {"OutputTensor": _integer_power(x, p.astype(np.int64), g.dtype)})
        p = g.array(x.shape, kind, low=0, high=g.pick(2, 9))
        return Case({"InputTensor": x, "ExponentTensor": p}, {"OutputTensor": _integer_power(x, p, g.dtype)})
    scale_bias = g.scale_bias()
    x = g.array(g.shape(), low=0.1, high=3)
    if scale_bias is not None:
        scale_bias = (float(np.float32(abs(scale_bias[0]) + 0.1)), abs(scale_bias[1]))
    u = _scaled(g, x, scale_bias)
    p = g.array(x.shape, kind, low=-3, high=3)
    if g.chance(0.3) and is_float(kind):
        p = np.round(p)
        x = x * np.where(g.rng.random(x.shape) < 0.5, -1, 1).astype(g.dtype) if scale_bias is None else x
        u = _scaled(g, x, scale_bias)
    want = _round(np.power(u, p.astype(FLOAT64)), g.dtype)
    return Case({"InputTensor": x, "ExponentTensor": p, "ScaleBias": scale_bias},
                {"OutputTensor": np.ma.masked_array(want, ~np.isfinite(want))}, rtol=4e-3 if g.dtype == np.float16 else 2e-5,
                atol=1e-5)


@operator("ELEMENT_WISE_CONSTANT_POW")
def constant_power(g):
    if not is_float(g.dtype):
        x = g.array(g.shape(), low=-6, high=6)
        p = g.pick(0, 1, 2, 3)
        return Case({"InputTensor": x, "Exponent": p}, {"OutputTensor": _integer_power(x, np.full(x.shape, p), g.dtype)})
    p = g.pick(0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -0.5, float(np.float32(g.rng.uniform(-3, 3))))
    if g.chance(0.3):
        scale_bias = (float(np.float32(g.rng.uniform(0.2, 2))), float(np.float32(g.rng.uniform(0, 1))))
        x = g.array(g.shape(), low=0.2, high=2)
        want = _round(np.power(_scaled(g, x, scale_bias), p), g.dtype)
        return Case({"InputTensor": x, "Exponent": p, "ScaleBias": scale_bias}, {"OutputTensor": want},
                    rtol=2e-3 if g.dtype == np.float16 else 1e-5)
    x = g.array(g.shape(), low=-3 if p == int(p) else 0.1, high=3)
    want = _round(np.power(x.astype(FLOAT64), p), g.dtype)
    return Case({"InputTensor": x, "Exponent": p}, {"OutputTensor": np.ma.masked_array(want, ~np.isfinite(want))},
                rtol=2e-3 if g.dtype == np.float16 else 1e-5, atol=1e-5)


@edge("ELEMENT_WISE_POW")
def power_ends():
    def one(x, p, want):
        return Case({"InputTensor": x, "ExponentTensor": p}, {"OutputTensor": np.asarray(want, x.dtype)}, rtol=1e-6)
    return [
        one(np.float32([-2, -2, 0, 0, -8]), np.float32([3, 0.5, 0, 2, 2]), [-8, np.nan, 1, 0, 64]),
        one(np.float32([2, -2]), np.int32([-2, 3]), [0.25, -8]),
        one(np.int32([3, -3, 46341, 2]), np.int32([19, 3, 1, 30]), [1162261467, -27, 46341, 2**30]),
        one(np.uint8([3, 2, 255]), np.uint8([5, 7, 1]), [243, 128, 255]),
        one(np.uint64([2**64 - 1, 2**64 - 1, 2**63, 2, 1, 2**64 - 1]), np.int8([-1, -2, -1, -1, -3, 3]), [0, 0, 0, 0, 1, 2**64 - 1]),
    ]
