#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes that vary from run to run: how many graphs are compiled for them, and that results are those of ONNX Runtime's
own provider, for networks that may be filled in part and for those that may not.
usage: test_lengths.py libonnxruntime_ep_directml.so"""
import json
import pathlib
import sys
import tempfile

from provider import cpu_session, np, onnx, relative_error, session

from onnx import TensorProto, helper, numpy_helper  # isort: skip

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
rng = np.random.default_rng()
WIDTH, HEADS, WORDS = 24, 4, 50


def steps(size):
    """What a size is rounded up to; small ones stay as they are."""
    step = 1
    while step * 8 < size:
        step *= 2
    return size if size <= 4 else -(-size // step) * step


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], {}

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def real(self, *shape):
        return self.constant(rng.standard_normal(shape).astype(np.float32) / 4)

    def add(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, outputs):
        infos = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
        results = [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs]
        graph = helper.make_graph(self.nodes, "g", infos, results,
                                  [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                        helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 9
        return model.SerializeToString()


def rows(kind):
    """Tokens through a lookup, norms, products, heads, activations; then what the kind says."""
    g = Graph()
    x = g.add("Gather", g.real(WORDS, WIDTH), "ids")
    x = g.add("LayerNormalization", x, g.real(WIDTH), g.real(WIDTH), axis=-1)
    y = g.add("Add", g.add("MatMul", x, g.real(WIDTH, 2 * WIDTH)), g.real(2 * WIDTH))
    left, right = g.add("Split", y, g.constant(np.array([WIDTH, WIDTH])), outputs=2, axis=2)
    y = g.add("Concat", g.add("Mul", left, g.add("Sigmoid", right)), g.add("Tanh", left), axis=-1)
    y = g.add("MatMul", y, g.real(2 * WIDTH, WIDTH))
    heads = g.add("Reshape", y, g.constant(np.array([0, -1, WIDTH // HEADS])))
    heads = g.add("LayerNormalization", heads, g.real(WIDTH // HEADS), axis=-1)
    y = g.add("Add", x, g.add("Reshape", heads, g.constant(np.array([0, -1, WIDTH]))))
    shape = ["batch", "length", WIDTH]
    if kind == "transposed":
        y, shape = g.add("Transpose", y, perm=[2, 0, 1]), [WIDTH, "batch", "length"]
    elif kind == "softmax over tokens":
        y = g.add("Softmax", y, axis=1)
    elif kind == "mean of tokens":
        y, shape = g.add("ReduceMean", y, axes=[1], keepdims=0), ["batch", WIDTH]
    elif kind == "last token":
        y, shape = g.add("Gather", y, g.constant(np.array(-1)), axis=1), ["batch", WIDTH]
    elif kind in ("first and third", "first and last"):
        at = np.array([0, 2] if kind == "first and third" else [0, -1])
        y = g.add("Gather", g.add("Concat", y, y, y, axis=0), g.constant(at), axis=1)
        shape = [None, 2, WIDTH]
    elif kind == "reversed":
        ends = [np.array([v], np.int64) for v in (-1, -1000000, 1, -1)]
        y = g.add("Slice", y, *(g.constant(v) for v in ends))
    elif kind == "counted":
        count = g.add("Cast", g.add("Shape", y, start=1, end=2), to=FLOAT)
        y = g.add("Mul", y, count)
    elif kind == "products of tokens":
        y, shape = g.add("MatMul", y, g.add("Transpose", y, perm=[0, 2, 1])), ["batch", "length", "length"]
    elif kind == "heads and tokens in one":
        y, shape = g.add("Reshape", y, g.constant(np.array([0, -1, WIDTH // HEADS]))), ["batch", None, WIDTH // HEADS]
    elif kind == "a shape that a size may be":
        y = g.add("Reshape", y, g.constant(np.array([steps(23), -1])))
        shape = [steps(23), None]
    elif kind == "type of another":
        y = g.add("CastLike", g.constant(np.float32([[1, 2, 3]])), y)
        shape = [1, 3]
    elif kind == "running sums":
        y = g.add("CumSum", y, g.constant(np.array(1)))
    g.nodes.append(helper.make_node("Identity", [y], ["y"]))
    return g.model([("ids", INT64, ["batch", "length"])], [("y", FLOAT, shape)])


def two():
    """Two names of sizes, the same tensor joined of both, a mask over one of them."""
    g = Graph()
    x = g.add("MatMul", "x", g.real(WIDTH, WIDTH))
    z = g.add("MatMul", "z", g.real(WIDTH, WIDTH))
    g.nodes.append(helper.make_node("Add", [x, g.add("Relu", "x")], ["a"]))
    g.nodes.append(helper.make_node("Where", [g.add("Greater", z, g.constant(np.float32(0))), z, "z"], ["b"]))
    return g.model([("x", FLOAT, ["n", WIDTH]), ("z", FLOAT, [2, "m", WIDTH])],
                   [("a", FLOAT, ["n", WIDTH]), ("b", FLOAT, [2, "m", WIDTH])])


def run(library, name, model, runs, partial):
    """runs: the sizes of each run, by name; how often graphs are compiled must fit."""
    with tempfile.TemporaryDirectory() as folder:
        ours = session(library, model, fallback=False, profile=pathlib.Path(folder) / "p",
                       options={"shape_cache": "1000"})
        cpu, worst, seen = cpu_session(model), 0.0, set()
        first = {}
        for sizes in runs:
            feeds = {}
            for x in cpu.get_inputs():
                shape = [sizes.get(d, d) for d in x.shape]
                feeds[x.name] = rng.integers(0, WORDS, shape) if "int" in x.type else \
                    rng.standard_normal(shape).astype(np.float32)
            got, want = ours.run(None, feeds), cpu.run(None, feeds)
            worst = max([worst, *(relative_error(a, b) for a, b in zip(got, want))])
            key = []
            for dim, size in sorted(sizes.items()):
                if size > 4:
                    first.setdefault(dim, size)
                exact = not partial or size <= 4 or size == first[dim]
                key.append((dim, size, "exact") if exact else (dim, steps(size), "most"))
            seen.add(tuple(key))
        events = json.loads(pathlib.Path(ours.end_profiling()).read_text())
    compiled = sum(e["name"] == "dml_compile" for e in events)
    ok = worst < 2e-5 and compiled == len(seen)
    print(f"{'ok' if ok else 'FAILED'}: {name}: {len(runs)} runs, {compiled} compiled, {len(seen)} expected, "
          f"error {worst:.1e}")
    return ok


def main():
    library, ok = sys.argv[1], True
    lengths = [7, 3, *map(int, rng.integers(3, 70, 25)), 64, 65, 7]
    sizes = [{"batch": 1 + i % 3, "length": n} for i, n in enumerate(lengths)]
    for kind, partial in (("plain", True), ("transposed", True), ("softmax over tokens", False),
                          ("mean of tokens", False), ("last token", True), ("first and third", True), ("first and last", False), ("reversed", False), ("counted", False),
                          ("products of tokens", False), ("heads and tokens in one", False), ("running sums", False),
                          ("type of another", False), ("a shape that a size may be", False)):
        if kind == "a shape that a size may be":  # of one row of the batch, and sizes that divide
            sizes = [{"batch": 1, "length": n} for n in (7, 23, 9, 21, 3, 19, 15, 22, 18)]
        ok = run(library, kind, rows(kind), sizes, partial) and ok
    pairs = [{"n": int(n), "m": int(m)} for n, m in rng.integers(1, 40, (40, 2))]
    ok = run(library, "two sizes", two(), pairs, True) and ok
    ok = run(library, "many in the batch", rows("plain"), [{"batch": b, "length": 3} for b in (9, 5, 6, 20, 21)],
             True) and ok
    sys.exit(not ok)


main()
