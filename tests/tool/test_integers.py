#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators on integers against Python's: every pair of 8-bit numbers, corners of the wider types.
test_integers.py ANYDML [TYPE...]"""
import itertools
import json
import os
import sys

import numpy as np

from tool import Tool

TYPES = {"INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16, "UINT16": np.uint16, "INT32": np.int32,
         "UINT32": np.uint32, "INT64": np.int64, "UINT64": np.uint64}


def width(name):
    return np.dtype(TYPES[name]).itemsize * 8


def ends(name):
    info = np.iinfo(TYPES[name])
    return int(info.min), int(info.max)


def wrap(value, name):
    bits = width(name)
    value &= (1 << bits) - 1
    return value - (1 << bits) if name[0] == "I" and value >> (bits - 1) else value


def numbers(name):
    low, high = ends(name)
    if width(name) == 8:
        return list(range(low, high + 1))
    root = int(high ** 0.5)
    some = {0, 1, 2, 3, 5, 7, 10, 63, 64, 100, 12345, high, high - 1, high // 2, high // 2 + 1, root, root + 1,
            1 << width(name) // 2, width(name) - 1, width(name), 65535, 65536, 46341, (1 << 24) + 1, (1 << 53) + 1}
    return sorted(x for x in some | {-x for x in some} | {low, low + 1} if low <= x <= high)


def pairs(first, second):
    both = list(itertools.product(numbers(first), numbers(second)))
    return [a for a, _ in both], [b for _, b in both]


# ---- the operators; None: nothing is promised ----

def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b, name):
    if b >= 0:
        return wrap(pow(a, b, 1 << width(name)), name)
    if a in (1, -1):
        return a if b & 1 else 1
    return wrap(-1, name) if a == 0 else 0


def binary(name):
    bits = width(name)
    yield "ADD", lambda a, b: wrap(a + b, name)
    yield "SUBTRACT", lambda a, b: wrap(a - b, name)
    yield "MULTIPLY", lambda a, b: wrap(a * b, name)
    yield "DIVIDE", lambda a, b: wrap(quotient(a, b) if b else -1, name)
    yield "MODULUS_TRUNCATE", lambda a, b: wrap(a - b * quotient(a, b), name) if b else None
    yield "MODULUS_FLOOR", lambda a, b: wrap(a - b * (a // b), name) if b else None
    yield "MIN", min
    yield "MAX", max
    yield "BIT_AND", lambda a, b: a & b
    yield "BIT_OR", lambda a, b: a | b
    yield "BIT_XOR", lambda a, b: a ^ b
    if name[0] == "U":
        yield "BIT_SHIFT_LEFT", lambda a, b: wrap(a << b, name) if b < bits else 0
        yield "BIT_SHIFT_RIGHT", lambda a, b: a >> b if b < bits else 0
    if name in ("INT32", "UINT32"):
        yield "MEAN", lambda a, b: quotient(a + b, 2)
        yield "DIFFERENCE_SQUARE", lambda a, b: wrap((a - b) ** 2, name)


def unary(name):
    yield "SIGN", lambda a: (a > 0) - (a < 0)
    yield "BIT_NOT", lambda a: wrap(~a, name)
    yield "IDENTITY", lambda a: a
    if name[0] == "I":
        yield "ABS", lambda a: wrap(abs(a), name)
        yield "NEGATE", lambda a: wrap(-a, name)


COMPARISONS = {"EQUALS": lambda a, b: a == b, "GREATER_THAN": lambda a, b: a > b, "LESS_THAN": lambda a, b: a < b,
               "GREATER_THAN_OR_EQUAL": lambda a, b: a >= b, "LESS_THAN_OR_EQUAL": lambda a, b: a <= b}


# ---- running ----

def check(tool, operator, inputs, output, want, **attributes):
    """inputs: name: (type, numbers); output: its type."""
    description = {"OutputTensor": {"DataType": output, "Sizes": [1, 1, 1, len(want)]}, **attributes}
    given = {}
    for key, (kind, values) in inputs.items():
        description[key] = {"DataType": kind, "Sizes": [1, 1, 1, len(values)]}
        dtype = np.float32 if kind == "FLOAT32" else TYPES[kind]
        tool.file(key + ".raw", np.array(values, object).astype(dtype).tobytes())
        given[key] = {"file": key + ".raw"}
    path = tool.file("case.json", json.dumps({"type": "DML_OPERATOR_ELEMENT_WISE_" + operator, "desc": description,
                                              "inputs": given}).encode())
    out = tool.file("out.raw")
    tool.works("dispatch", path, "--output", "OutputTensor=" + out)
    if not os.path.exists(out):
        return
    got = np.fromfile(out, TYPES[output])[:len(want)].tolist()
    os.remove(out)
    wrong = [i for i, value in enumerate(want) if value is not None and got[i] != value]
    tool.test(not wrong, f"{operator} {[kind for kind, _ in inputs.values()]} {attributes}: {len(wrong)} of {len(want)}, "
                         f"such as {[values[wrong[0] % len(values)] for _, values in inputs.values()] if wrong else ''}: "
                         f"{got[wrong[0]] if wrong else ''}, wanted {want[wrong[0]] if wrong else ''}")


def test_pairs(tool, name):
    a, b = pairs(name, name)
    both = {"ATensor": (name, a), "BTensor": (name, b)}
    for operator, function in binary(name):
        check(tool, operator, both, name, [function(*one) for one in zip(a, b)])
    for operator, function in COMPARISONS.items():
        check(tool, "LOGICAL_" + operator, both, "UINT8", [int(function(*one)) for one in zip(a, b)])
    for other in TYPES:
        a, b = pairs(name, other)
        check(tool, "POW", {"InputTensor": (name, a), "ExponentTensor": (other, b)}, name,
              [power(x, y, name) for x, y in zip(a, b)])


def test_single(tool, name):
    low, high = ends(name)
    x = numbers(name)
    one = {"InputTensor": (name, x)}
    for operator, function in unary(name):
        check(tool, operator, one, name, [function(a) for a in x])
    check(tool, "BIT_COUNT", one, "UINT32", [bin(a & ((1 << width(name)) - 1)).count("1") for a in x])
    for least, most in ((-5, 9), (9, -5), (3, 3), (7, 2), (low, high), (100, 120)):
        least, most = max(low, least), max(low, min(high, most))
        text = {"MinMaxDataType": name, "Min": str(least), "Max": str(most)}
        check(tool, "CLIP1", one, name, [max(least, min(a, most)) for a in x], **text)
        if max(abs(least), abs(most)) <= 1 << 24: # the limits are floats
            check(tool, "CLIP", one, name, [min(most, max(least, a)) for a in x], Min=least, Max=most)
    for exponent in (0, 1, 2, 3, 5, 31, 64) if width(name) < 64 else ():
        check(tool, "CONSTANT_POW", one, name, [wrap(a ** exponent, name) for a in x], Exponent=exponent)


def test_quantized(tool, name):
    low, high = ends(name)
    a, b = pairs(name, name)
    single = np.float32
    for sa, za, sb, zb, sc, zc in ((0.5, 3, 0.25, 7, 0.75, 1), (0.1, 0, 0.1, 0, 0.1, 0), (1, 100, 1, 20, 1, 50)):
        total = (single(a) - single(za)) * single(sa) + (single(b) - single(zb)) * single(sb)
        want = np.clip(np.rint(total / single(sc)) + zc, low, high).astype(int).tolist()
        check(tool, "QUANTIZED_LINEAR_ADD",
              {"ATensor": (name, a), "AScaleTensor": ("FLOAT32", [sa]), "AZeroPointTensor": (name, [za]),
               "BTensor": (name, b), "BScaleTensor": ("FLOAT32", [sb]), "BZeroPointTensor": (name, [zb]),
               "OutputScaleTensor": ("FLOAT32", [sc]), "OutputZeroPointTensor": (name, [zc])}, name, want)


def main():
    tool = Tool(sys.argv[1])
    for name in sys.argv[2:] or TYPES:
        test_pairs(tool, name)
        test_single(tool, name)
        if width(name) == 8:
            test_quantized(tool, name)
    tool.finish()


if __name__ == "__main__":
    main()
