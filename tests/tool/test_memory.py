#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Small models that ask for much memory are refused in one line; the system never has to end the process.
test_memory.py ANYDML

A limit of the address space simulates a machine with little memory, so that the test does not fill the real one."""
import resource
import subprocess
import sys

import numpy as np

import wire
from tool import SKIP, Tool

LIMIT = 3 << 30


def ints(*values):
    return np.array(values, np.int64)


def run(tool, name, model, *args, code):
    path = tool.file(name + ".onnx", model)
    result = subprocess.run([tool.path, "run", path, *args], capture_output=True, text=True, timeout=250, check=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)))
    lines = result.stderr.splitlines()
    tool.test(result.returncode in code and len(lines) == (result.returncode != 0),
              f"{name}: code {result.returncode}, {result.stderr[-400:]!r}")
    return result.stderr


def main():
    with open(sys.argv[1], "rb") as file:
        if b"__asan_init" in (content := file.read()) or b"__tsan_init" in content:
            sys.exit(SKIP)  # their shadow memory is larger than any limit
    tool = Tool(sys.argv[1])
    x = [("x", wire.FLOAT, [1, 1])]
    np.save(tool.file("x.npy"), np.ones((1, 1), np.float32))
    given = ["--input", tool.file("x.npy")]
    side = 30000  # 3.6 GB as float32: more than the limit, and a size that DirectML allows
    much = wire.model([wire.node("Tile", ["x", "d"], ["y"])], x, [("y", wire.FLOAT, ["a", "b"])],
                      [("d", ints(side, side))])
    text = run(tool, "output", much, *given, code=[2])
    tool.test("bytes of memory" in text and "are available" in text, text)
    within = wire.model([wire.node("Tile", ["x", "d"], ["t"]), wire.node("CumSum", ["t", "axis"], ["u"]),
                         wire.node("Transpose", ["u"], ["v"], perm=[1, 0]), wire.node("CumSum", ["v", "axis"], ["w"]),
                         wire.node("ReduceMax", ["w"], ["y"])], x, [("y", wire.FLOAT, [1, 1])],
                        [("d", ints(20000, 20000)), ("axis", np.array(0, np.int64))])
    text = run(tool, "temporaries", within, *given, code=[2])
    tool.test("bytes of memory" in text, text)
    # Of a model that runs part by part, too.
    random = wire.model([wire.node("RandomNormal", [], ["r"], shape=[32768, 32768]), wire.node("Relu", ["r"], ["y"])], [],
                        [("y", wire.FLOAT, [32768, 32768])])
    text = run(tool, "host", random, code=[1, 2])
    tool.test("out of memory" in text, text)
    # Folding of constants: each result is small, their number is not.
    count = 250
    folded = [node for i in range(count)
              for node in (wire.node("Expand", [f"c{i}", "d"], [f"e{i}"]), wire.node("CumSum", [f"e{i}", "axis"], [f"f{i}"]))]
    chain = wire.model(folded + [wire.node("Concat", [f"f{i}" for i in range(count)], ["t"], axis=0),
                                 wire.node("Add", ["t", "x"], ["y"])], x, [("y", wire.FLOAT, ["a", "b"])],
                       [("d", ints(2000, 2000)), ("axis", np.array(0, np.int64))] +
                       [(f"c{i}", np.full((1, 1), i, np.float32)) for i in range(count)])
    run(tool, "constants", chain, *given, code=[1, 2])
    beyond = wire.model([wire.node("Tile", ["x", "d"], ["y"])], x, [("y", wire.FLOAT, ["a", "b"])],
                        [("d", ints(1 << 20, 1 << 20))])
    text = run(tool, "elements", beyond, *given, code=[2])
    tool.test("1099511627776 elements" in text, text)
    small = wire.model([wire.node("Tile", ["x", "d"], ["y"])], x, [("y", wire.FLOAT, ["a", "b"])], [("d", ints(200, 300))])
    run(tool, "small", small, *given, code=[0])
    tool.finish()


if __name__ == "__main__":
    main()
