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

class Batch:
    """Operators in one graph, because devices take their time to start."""
    MOST = 60 # outputs that one command writes

    def __init__(self, tool):
        self.tool = tool
        self.cases = []

    def check(self, operator, inputs, output, want, **attributes):
        """inputs: name: (type, numbers); output: its type."""
        self.cases.append((operator, inputs, output, want, attributes))
        if len(self.cases) == self.MOST:
            self.run()

    def run(self):
        nodes, edges, given, known, args = [], [], {}, {}, []
        for i, (operator, inputs, output, want, attributes) in enumerate(self.cases):
            fields = {"OutputTensor": {"DataType": output, "Sizes": [1, 1, 1, len(want)]}, **attributes}
            for key, (kind, values) in inputs.items():
                fields[key] = {"DataType": kind, "Sizes": [1, 1, 1, len(values)]}
                data = np.array(values, object).astype(np.float32 if kind == "FLOAT32" else TYPES[kind]).tobytes()
                name = known.setdefault((kind, data), f"x{len(known)}")
                if name not in given:
                    self.tool.file(name + ".raw", data)
                    given[name] = {"file": name + ".raw"}
                edges.append({"input": name, "to": f"n{i}.{key}"})
            edges.append({"from": f"n{i}.OutputTensor", "output": f"y{i}"})
            nodes.append({"name": f"n{i}", "type": "DML_OPERATOR_ELEMENT_WISE_" + operator, "desc": fields})
            args += ["--output", f"y{i}=" + self.tool.file(f"y{i}.raw")]
        graph = {"graph": {"nodes": nodes, "edges": edges}, "inputs": given}
        self.tool.works("dispatch", self.tool.file("case.json", json.dumps(graph).encode()), *args)
        for i, case in enumerate(self.cases):
            self.compare(self.tool.file(f"y{i}.raw"), *case)
        self.cases = []

    def compare(self, path, operator, inputs, output, want, attributes):
        what = f"{operator} {[kind for kind, _ in inputs.values()]} {attributes}"
        if not self.tool.test(os.path.exists(path), what + ": no result"):
            return
        got = np.fromfile(path, TYPES[output])[:len(want)].tolist()
        os.remove(path)
        wrong = [i for i, value in enumerate(want) if value is not None and got[i] != value]
        at = wrong[0] if wrong else 0
        self.tool.test(not wrong, f"{what}: {len(wrong)} of {len(want)}, such as of "
                                  f"{[values[at % len(values)] for _, values in inputs.values()]}: {got[at]}, wanted {want[at]}")


def test_pairs(batch, name):
    a, b = pairs(name, name)
    both = {"ATensor": (name, a), "BTensor": (name, b)}
    for operator, function in binary(name):
        batch.check(operator, both, name, [function(*one) for one in zip(a, b)])
    for operator, function in COMPARISONS.items():
        batch.check("LOGICAL_" + operator, both, "UINT8", [int(function(*one)) for one in zip(a, b)])
    for other in TYPES:
        a, b = pairs(name, other)
        batch.check("POW", {"InputTensor": (name, a), "ExponentTensor": (other, b)}, name,
                    [power(x, y, name) for x, y in zip(a, b)])


def test_single(batch, name):
    low, high = ends(name)
    x = numbers(name)
    one = {"InputTensor": (name, x)}
    for operator, function in unary(name):
        batch.check(operator, one, name, [function(a) for a in x])
    batch.check("BIT_COUNT", one, "UINT32", [bin(a & ((1 << width(name)) - 1)).count("1") for a in x])
    for least, most in ((-5, 9), (9, -5), (3, 3), (7, 2), (low, high), (100, 120)):
        least, most = max(low, least), max(low, min(high, most))
        text = {"MinMaxDataType": name, "Min": str(least), "Max": str(most)}
        batch.check("CLIP1", one, name, [max(least, min(a, most)) for a in x], **text)
        if max(abs(least), abs(most)) <= 1 << 24: # the limits are floats
            batch.check("CLIP", one, name, [min(most, max(least, a)) for a in x], Min=least, Max=most)
    for exponent in (0, 1, 2, 3, 5, 31, 64) if width(name) < 64 else ():
        batch.check("CONSTANT_POW", one, name, [wrap(a ** exponent, name) for a in x], Exponent=exponent)


def test_quantized(batch, name):
    low, high = ends(name)
    a, b = pairs(name, name)
    single = np.float32
    for sa, za, sb, zb, sc, zc in ((0.5, 3, 0.25, 7, 0.75, 1), (0.1, 0, 0.1, 0, 0.1, 0), (1, 100, 1, 20, 1, 50)):
        total = (single(a) - single(za)) * single(sa) + (single(b) - single(zb)) * single(sb)
        want = np.clip(np.rint(total / single(sc)) + zc, low, high).astype(int).tolist()
        batch.check("QUANTIZED_LINEAR_ADD",
                    {"ATensor": (name, a), "AScaleTensor": ("FLOAT32", [sa]), "AZeroPointTensor": (name, [za]),
                     "BTensor": (name, b), "BScaleTensor": ("FLOAT32", [sb]), "BZeroPointTensor": (name, [zb]),
                     "OutputScaleTensor": ("FLOAT32", [sc]), "OutputZeroPointTensor": (name, [zc])}, name, want)


def main():
    tool = Tool(sys.argv[1])
    batch = Batch(tool)
    for name in sys.argv[2:] or TYPES:
        test_pairs(batch, name)
        test_single(batch, name)
        if width(name) == 8:
            test_quantized(batch, name)
    batch.run()
    tool.finish()


if __name__ == "__main__":
    main()
