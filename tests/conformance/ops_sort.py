# SPDX-License-Identifier: Apache-2.0
"""TOP_K, running sums and products, RANDOM_GENERATOR, ADAM_OPTIMIZER."""
import numpy as np

from conformance import Case, edge, highest, is_float, lowest, operator

INCREASING, DECREASING = 0, 1

# ---- TOP_K: numpy's stable sort, which also puts NaN behind every number ----


def _order(x, axis, direction):
    """Positions of each line's elements in order; equal ones ascending whatever the direction."""
    if direction == INCREASING:
        return np.argsort(x, axis=axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(back, axis)


def _top_k_case(x, axis, k, direction, index_type):
    order = np.take(_order(x, axis, direction), np.arange(k), axis)
    fields = {"InputTensor": x, "Axis": axis, "K": k, "AxisDirection": direction}
    values = np.take_along_axis(x, order, axis)
    return Case(fields, {"OutputValueTensor": values, "OutputIndexTensor": order.astype(index_type)}, bits=True)


def _sortable(g, shape):
    how = g.integer(0, 3)
    if how == 0:
        return g.array(shape, special=True)
    if how == 1:  # many equal elements
        return g.array(shape, low=0, high=3) if not is_float(g.dtype) else np.round(g.array(shape, low=-2, high=2))
    limits = {} if is_float(g.dtype) else {"low": lowest(g.dtype), "high": highest(g.dtype)}
    return g.array(shape, **limits)


@operator("TOP_K", "TOP_K1", types="InputTensor")
def top_k(g):
    shape = (g.integer(1, 3), g.integer(16000, 30000)) if g.chance(0.05) else g.shape()
    axis = g.integer(0, len(shape) - 1)
    k = g.integer(1, max(1, shape[axis] // g.pick(1, 1, 8, 64)))
    direction = g.pick(INCREASING, DECREASING) if g.op == "TOP_K1" else DECREASING
    case = _top_k_case(_sortable(g, shape), axis, k, direction, g.pick(*g.types("OutputIndexTensor")))
    if g.op == "TOP_K":
        del case.fields["AxisDirection"]
    return case


@edge("TOP_K1")
def top_k_edges():
    nan, inf = np.nan, np.inf
    lines = [np.array([1, nan, -inf, 0.0, -0.0, inf, nan, -1, 0.0, -0.0], t) for t in (np.float32, np.float16)]
    lines += [np.full(300, 7, np.int32), np.arange(1000, dtype=np.uint16), np.arange(1000, dtype=np.int64)[::-1].copy(),
              np.array([2**63 - 1, -2**63, 0, -1, 2**63 - 1], np.int64), np.array([2**64 - 1, 0, 2**63], np.uint64),
              np.array([-128, 127, 0, -1], np.int8), np.full(17000, nan, np.float32),
              np.arange(40000, dtype=np.float32), -np.arange(40000, dtype=np.float32),
              np.repeat(np.arange(20000, dtype=np.int32) % 3, 2),
              # The elements that a regular sample sees say nothing about the others.
              np.where(np.arange(32768) % 32 == 0, 0, 5).astype(np.float32),
              np.where(np.arange(32768) % 32 == 0, 5, 0).astype(np.float32)]
    return [_top_k_case(x, 0, k, direction, np.uint32) for x in lines for direction in (INCREASING, DECREASING)
            for k in sorted({1, min(7, len(x)), min(len(x), 1500), len(x)})]


# ---- CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT: numpy in FLOAT64; integers wrap ----


def _cumulate(x, axis, direction, exclusive, product):
    wide = x.astype(np.float64) if is_float(x.dtype) else x
    if direction == DECREASING:
        wide = np.flip(wide, axis)
    with np.errstate(all="ignore"):
        sums = (np.cumprod if product else np.cumsum)(wide, axis=axis, dtype=wide.dtype)
        if exclusive:
            first = np.full_like(np.take(sums, [0], axis), 1 if product else 0)
            sums = np.concatenate([first, np.take(sums, np.arange(x.shape[axis] - 1), axis)], axis)
        if direction == DECREASING:
            sums = np.flip(sums, axis)
        return sums.astype(x.dtype)


def _cumulative_case(x, axis, direction, exclusive, product):
    fields = {"InputTensor": x, "Axis": axis, "AxisDirection": direction,
              "HasExclusiveProduct" if product else "HasExclusiveSum": int(exclusive)}
    half = x.dtype == np.float16
    return Case(fields, {"OutputTensor": _cumulate(x, axis, direction, exclusive, product)},
                rtol=1e-3 if half else 3e-7, atol=1e-6 if half else 1e-7)


@operator("CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT", types="InputTensor")
def cumulative(g):
    product = g.op == "CUMULATIVE_PRODUCT"
    shape = g.shape()
    if is_float(g.dtype) and product:
        x = g.array(shape, low=0.5, high=1.7)
    elif is_float(g.dtype):
        x = g.array(shape, special=g.chance(0.2))
        # Beside the largest numbers small ones vanish, and how many do depends on the order of the additions.
        x[np.isfinite(x) & (np.abs(x) > 4)] = 4
    else:
        x = g.array(shape, low=lowest(g.dtype), high=highest(g.dtype))
    axis = g.integer(0, len(shape) - 1)
    return _cumulative_case(x, axis, g.pick(INCREASING, DECREASING), g.chance(0.5), product)


@edge("CUMULATIVE_SUMMATION")
def long_sums():
    rng, cases = np.random.default_rng(3), []
    for shape, axis in (((1, 2**18 + 77), 1), ((2, 2**18 + 5, 2), 1), ((2**19,), 0), ((1, 1, 3, 1, 1, 2**18, 1, 2), 5)):
        for direction, exclusive in ((INCREASING, False), (DECREASING, True)):
            x = rng.uniform(-1, 2, shape).astype(np.float32)
            cases.append(_cumulative_case(x, axis, direction, exclusive, False))
            n = rng.integers(-2**31, 2**31, shape).astype(np.int32)
            cases.append(_cumulative_case(n, axis, direction, exclusive, False))
    inf = np.zeros(2**18, np.float32)
    inf[100000], inf[200000] = np.inf, -np.inf
    return cases + [_cumulative_case(inf, 0, INCREASING, False, False)]


@edge("CUMULATIVE_PRODUCT")
def products():
    rng = np.random.default_rng(4)
    odd = (rng.integers(-2**62, 2**62, 2**18 + 9) * 2 + 1).astype(np.int64)
    tiny = np.full(600, 1e-6, np.float32)
    tiny[0] = np.inf
    zero = np.full(600, 3, np.float32)
    zero[200] = 0
    zero[-1] = np.nan
    return [_cumulative_case(x, 0, direction, exclusive, True) for x in (odd, tiny, zero, tiny[::-1].copy())
            for direction in (INCREASING, DECREASING) for exclusive in (False, True)]


# ---- RANDOM_GENERATOR: Philox 4x32-10 as published, on 64-bit numpy integers ----

MASK = np.uint64(0xffffffff)


def _philox(counter, key):
    """counter: n Python integers of 128 bits; key: of 64 bits. Returns uint32 [n, 4]."""
    c = [np.array([value >> 32 * word & 0xffffffff for value in counter], np.uint64) for word in range(4)]
    k0, k1 = key & 0xffffffff, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xd2511f53), c[2] * np.uint64(0xcd9e8d57)
        high0, high1 = p0 >> np.uint64(32), p1 >> np.uint64(32)
        c = [high1 ^ c[1] ^ np.uint64(k0), p1 & MASK, high0 ^ c[3] ^ np.uint64(k1), p0 & MASK]
        k0, k1 = (k0 + 0x9e3779b9) & 0xffffffff, (k1 + 0xbb67ae85) & 0xffffffff
    return np.stack(c, -1).astype(np.uint32)


def _words(value, count):
    return [value >> 32 * word & 0xffffffff for word in range(count)]


def _random_case(counter, key, shape, state_rank, with_state):
    size = int(np.prod(shape))
    groups = (size + 3) // 4
    state_shape = (1,) * (state_rank - 1) + (6,)
    words = _philox([(counter + g) % 2**128 for g in range(groups)], key).reshape(-1)[:size].reshape(shape)
    after = np.array(_words((counter + groups) % 2**128, 4) + _words(key, 2), np.uint32).reshape(state_shape)
    state = np.array(_words(counter, 4) + _words(key, 2), np.uint32).reshape(state_shape)
    outputs = {"OutputTensor": words}
    if with_state:
        outputs["OutputStateTensor"] = after
    return Case({"InputStateTensor": state, "Type": 0}, outputs)


@operator("RANDOM_GENERATOR", types="OutputTensor")
def random_generator(g):
    counter = int.from_bytes(g.rng.bytes(16), "little")
    if g.chance(0.5):  # carries
        counter |= 2**(32 * g.integer(1, 4)) - 1
        counter -= g.integer(0, 40)
    key = int.from_bytes(g.rng.bytes(8), "little")
    shape = g.shape()
    return _random_case(counter, key, shape, g.integer(1, 8), g.chance(0.7))


# The answers published with the generator (Random123's known answers), and words of the PyPI package randomgen 1.26.1:
# counters whose carries reach the second, the third and beyond the last word. (counter, key, words)
RANDOM_KNOWN = [
    (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (2**128 - 1, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (0x0370734413198a2e85a308d3243f6a88, 0x299f31d0a4093822, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    (2**32 - 2, 1, "15efe612 dac2d8e0 81053f5e 622b4ccc 00790b3f bbcdb053 f78808c7 69fffa4d 833ff8dc 225c963c 232b88b3 "
                   "0b334b07 f8361f71"),
    (2**64 - 1, 0xfedcba9876543210, "fa2aa4a4 f2138e12 3ae9ae58 35fb76ef 09a4339f 9eccdb15 7cb2df13 3dcac842 4e5529ed"),
    (2**128 - 2, 0x0123456789abcdef, "600c42b0 796f0a9a 9ac71906 8f6750cb 2d8e471b f578e809 f781a438 6aaccdbf b850222e "
                                     "c58cb04b 14a7a020 7a84fff9"),
    (0x0f1e2d3c4b5a69788796a5b4c3d2e1f0, 0x5851f42d4c957f2d, "0593ab27 284c20cc b7f1c7b3 3d26200b 2faf2f5b"),
]


@edge("RANDOM_GENERATOR")
def random_known():
    cases = []
    for counter, key, words in RANDOM_KNOWN:
        want = np.array([int(word, 16) for word in words.split()], np.uint32)
        state = np.array(_words(counter, 4) + _words(key, 2), np.uint32)
        cases.append(Case({"InputStateTensor": state, "Type": 0}, {"OutputTensor": want}))
    return cases + [_random_case(2**128 - 2, 5, (13,), 1, True), _random_case(2**32 - 1, 2**63, (1, 1), 8, True),
                    _random_case(2**64 - 3, 1, (3, 5), 2, True), _random_case(7, 9, (200000,), 4, True)]


# ---- ADAM_OPTIMIZER: its formula in FLOAT64 ----


def _adam_case(x, m, v, grad, step, rate, beta1, beta2, epsilon):
    rate, beta1, beta2, epsilon = (float(np.float32(value)) for value in (rate, beta1, beta2, epsilon))
    wide = [tensor.astype(np.float64) for tensor in (x, m, v, grad)]
    t = float(step.reshape(-1)[0])
    with np.errstate(all="ignore"):
        first = beta1 * wide[1] + (1 - beta1) * wide[3]
        second = beta2 * wide[2] + (1 - beta2) * wide[3]**2
        alpha = np.sqrt(np.float64(1 - beta2**t)) / np.float64(1 - beta1**t)
        result = wide[0] - rate * alpha * first / (np.sqrt(second) + epsilon)
        outputs = [value.astype(x.dtype) for value in (result, first, second)]
    fields = {"InputParametersTensor": x, "InputFirstMomentTensor": m, "InputSecondMomentTensor": v,
              "GradientTensor": grad, "TrainingStepTensor": step, "LearningRate": rate, "Beta1": beta1, "Beta2": beta2,
              "Epsilon": epsilon}
    names = ("OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor")
    half = x.dtype == np.float16
    return Case(fields, dict(zip(names, outputs)), rtol=2e-3 if half else 2e-6, atol=1e-3 if half else 2e-6)


@operator("ADAM_OPTIMIZER", types="InputParametersTensor")
def adam(g):
    shape = g.shape()
    step_type = g.pick(*g.types("TrainingStepTensor"))
    step = np.full((1,) * len(shape), g.pick(1, 2, 10, 777, 2000), step_type)
    return _adam_case(g.array(shape), g.array(shape), g.array(shape, low=0, high=4), g.array(shape), step,
                      g.pick(0.001, 0.5), g.pick(0.9, 0, 0.5), g.pick(0.999, 0.5), g.pick(1e-8, 1e-3))


@edge("ADAM_OPTIMIZER")
def adam_first_step():
    x = np.linspace(-2, 2, 7, dtype=np.float32).reshape(1, 7)
    one = np.ones((1, 1), np.float32)
    return [_adam_case(x, 0 * x, 0 * x, x + 3, np.full((1, 1), t, np.uint32), 0.01, 0.9, 0.999, 1e-8)
            for t in (0, 1, 2**32 - 1)] + [_adam_case(one, one, one, one, np.ones((1, 1), np.uint32), 0.1, 0.9, 0.99, 1e-8)]
