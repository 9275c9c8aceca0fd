#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time to compile a graph by its number of nodes: graphs of several shapes, from 10 to 100,000 nodes.

usage: compile.py [--program build/bench/compile] [--shapes LIST] [--nodes LIST] [--rounds 3] [--limit SECONDS]
                  [--json FILE] [--from FILE] [--write docs/performance/compile-time.md]

Each graph is an ONNX file of small tensors, compiled by one process. The figure is CPU time of all threads, including system
time, so that other programs on the machine have little influence; the minimum of the rounds counts. Phases: reading the file;
compiling, from the model to the compiled operator; initialising and the first run. --write inserts the table between the two
marks of the document and writes the plot next to it. Requires onnx and numpy.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MARK = "<!-- bench/compile.py -->"


class Graph:
    """Builder of nodes; methods that add an operator return the name of its result."""

    def __init__(self, name, shape):
        self.name, self.nodes, self.constants, self.shape = name, [], [], shape
        self.random = np.random.default_rng(1)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, *shape):
        return self.constant(self.random.standard_normal(shape, np.float32) * np.float32(0.1))

    def apply(self, op, *inputs, outputs=1, **attributes):
        number = len(self.nodes)
        names = [f"v{number}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{number}", **attributes))
        return names if outputs > 1 else names[0]

    def save(self, path, result):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        with open(path, "wb") as file:
            file.write(model.SerializeToString())


# ---- shapes: functions of a graph and the approximate number of nodes that return the result's name ----

def chain(g, count):
    """Element-wise operators in sequence, each different from the one before."""
    ops = ("Sigmoid", "Tanh", "Abs", "Relu", "Softplus", "Neg", "Elu", "Exp", "Sin", "Softsign")
    x = "x"
    for i in range(count):
        x = g.apply(ops[i % len(ops)], x) if i % 3 else g.apply("Add", x, g.weight(1, 16))
    return x


def shared(g, count):
    """GEMMs with one weight, activations between them."""
    w, x = g.weight(16, 16), "x"
    for i in range(count):
        x = g.apply("Tanh", x) if i % 2 else g.apply("MatMul", x, w)
    return x


def fan(g, count):
    """One tensor that all nodes read, half of it twice, and a tree of sums."""
    leaves = [g.apply("Mul", "x", g.weight(1, 16)) if i % 2 else g.apply("Sin", "x") for i in range(count // 2)]
    while len(leaves) > 1:
        leaves = [g.apply("Add", *leaves[i:i + 2]) if i + 1 < len(leaves) else leaves[i] for i in range(0, len(leaves), 2)]
    return leaves[0]


def heads(g, count):
    """GEMMs of one matrix with as many others as there are nodes, each followed by a softmax."""
    parts = [g.apply("Softmax", g.apply("MatMul", "x", g.weight(16, 16))) for _ in range(count // 2)]
    return parts[0] if len(parts) == 1 else g.apply("Concat", *parts, axis=1)


def residual(g, count):
    """Blocks of two convolutions with batch normalisation, and a sum."""
    x = "x"
    for _ in range(max(count // 7, 1)):
        y = x
        for last in (False, True):
            y = g.apply("Conv", y, g.weight(8, 8, 3, 3), pads=[1, 1, 1, 1])
            ones = [g.constant(np.ones(8, np.float32)) for _ in range(4)]
            y = g.apply("BatchNormalization", y, *ones)
            y = g.apply("Add", y, x) if last else y
            y = g.apply("Relu", y)
        x = y
    return x


def quantised(g, count):
    """Convolutions of dequantised bytes whose results are quantised again."""
    scale, zero, x = g.constant(np.float32(0.05)), g.constant(np.int8(3)), "x"
    wzero = g.constant(np.int8(0))
    q = g.apply("QuantizeLinear", x, scale, zero)
    for _ in range(max(count // 5, 1)):
        w = g.constant(g.random.integers(-100, 100, (8, 8, 1, 1), np.int8))
        y = g.apply("DequantizeLinear", q, scale, zero)
        w = g.apply("DequantizeLinear", w, scale, wzero)
        y = g.apply("Relu", g.apply("Conv", y, w))
        q = g.apply("QuantizeLinear", y, scale, zero)
    return g.apply("DequantizeLinear", q, scale, zero)


def moves(g, count):
    """Reshapes, transpositions and slices in sequence, and occasionally a sum."""
    shapes = [g.constant(np.array(s)) for s in ((4, 4, 4), (8, 8), (64, 1), (2, 32), (1, 64))]
    x = "x"
    for i in range(count // 2):
        x = g.apply("Reshape", x, shapes[i % 5])
        x = g.apply("Transpose", x) if i % 4 else g.apply("Softplus", x)
    return x


def joins(g, count):
    """One tensor split into as many parts as there are nodes, each changed, all concatenated."""
    size = max(count // 4, 2)
    part = [g.apply("Slice", "x", g.constant(np.array([i % 16])), g.constant(np.array([i % 16 + 1])), g.constant(np.array([1])))
            for i in range(size)]
    part = [g.apply("Softmax", p, axis=0) if i % 2 else g.apply("Tanh", p) for i, p in enumerate(part)]
    return g.apply("Concat", *part, axis=1)


def attention(g, count):
    """Transformer layers with normalisation and GELU written in parts."""
    x, two, half = "x", g.constant(np.float32(2)), g.constant(np.float32(0.5))
    root, one, eps = g.constant(np.float32(2**0.5)), g.constant(np.float32(1)), g.constant(np.float32(1e-5))

    def norm(x):
        d = g.apply("Sub", x, g.apply("ReduceMean", x, axes=[-1]))
        v = g.apply("ReduceMean", g.apply("Pow", d, two), axes=[-1])
        y = g.apply("Div", d, g.apply("Sqrt", g.apply("Add", v, eps)))
        return g.apply("Add", g.apply("Mul", y, g.weight(16)), g.weight(16))

    def project(x, size_in=16, size_out=16):
        return g.apply("Add", g.apply("MatMul", x, g.weight(size_in, size_out)), g.weight(size_out))

    for _ in range(max(count // 43, 1)):
        n = norm(x)
        q, k, v = project(n), project(n), project(n)
        s = g.apply("Softmax", g.apply("Mul", g.apply("MatMul", q, g.apply("Transpose", k, perm=[0, 2, 1])), half))
        x = g.apply("Add", x, project(g.apply("MatMul", s, v)))
        h = project(norm(x), 16, 32)
        e = g.apply("Add", g.apply("Erf", g.apply("Div", h, root)), one)
        x = g.apply("Add", x, project(g.apply("Mul", g.apply("Mul", h, e), half), 32, 16))
    return x


SHAPES = {
    "chain": (chain, [4, 16]), "shared": (shared, [4, 16]), "fan": (fan, [4, 16]), "heads": (heads, [4, 16]),
    "residual": (residual, [1, 8, 4, 4]), "quantised": (quantised, [1, 8, 4, 4]), "moves": (moves, [1, 64]),
    "joins": (joins, [4, 16]), "attention": (attention, [1, 8, 16]),
}


# ---- measuring ----

def measure(program, name, nodes, rounds, limit):
    """Returns a dictionary of the phases' CPU milliseconds; None if the process exceeds `limit` seconds."""
    make, shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        graph = Graph(name, shape)
        path = os.path.join(folder, "graph.onnx")
        graph.save(path, make(graph, nodes))
        best = {}
        for _ in range(rounds):
            try:
                done = subprocess.run([program, path, "1"], capture_output=True, text=True, timeout=limit,
                                      env={"ANYDML_ADAPTERS": "cpu", **os.environ})
            except subprocess.TimeoutExpired:
                return None
            if done.returncode:
                sys.exit(f"{program} {name} of {nodes} nodes: {done.stderr.strip() or done.returncode}")
            found = re.search(r"CPU time: read ([\d.]+) ms, compile ([\d.]+) ms, initialise and run ([\d.]+) ms", done.stdout)
            for key, value in zip(("read", "compile", "run"), found.groups()):
                best[key] = min(best.get(key, float("inf")), float(value))
            print(f"{name} {nodes}: {found.group(0)}", file=sys.stderr, flush=True)
        return {"nodes": len(graph.nodes), **best}


# ---- output ----

COLOURS = ("#d62728", "#4e79a7", "#59a14f", "#b07aa1", "#f28e2b", "#76b7b2", "#9c755f", "#333333", "#edc948")


def table(results, counts):
    lines = ["| graph | " + " | ".join(f"{c:,} nodes" for c in counts) + " | at the most: compile ms |",
             "|---|" + "---|" * (len(counts) + 1)]
    for name, rows in results.items():
        cells = [f"{1000 * r['compile'] / r['nodes']:.1f}" if r else "" for r in rows]
        last = [r for r in rows if r][-1]
        lines.append(f"| {name}: {SHAPES[name][0].__doc__.rstrip('.').lower()} | " + " | ".join(cells) + f" | {last['compile']:.0f} |")
    return lines


def plot(results):
    """Plots microseconds per node by the number of nodes, on logarithmic scales."""
    points = [(r["nodes"], 1000 * r["compile"] / r["nodes"]) for rows in results.values() for r in rows if r]
    x_low, x_high = np.log10(min(p[0] for p in points)), np.log10(max(p[0] for p in points))
    y_low, y_high = np.floor(np.log10(min(p[1] for p in points))), np.ceil(np.log10(max(p[1] for p in points)))
    left, top, width, height = 64, 48, 520, 320

    def at(nodes, us):
        return (left + width * (np.log10(nodes) - x_low) / max(x_high - x_low, 1),
                top + height * (y_high - np.log10(us)) / max(y_high - y_low, 1))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{top + height + 56}" viewBox="0 0 760 {top + height + 56}">',
           "<style>text{font:11px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#333}.t{font-size:15px;font-weight:bold}"
           ".e{text-anchor:end}.m{text-anchor:middle}</style>",
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text class="t" x="{left}" y="26">Compiling: microseconds of CPU time for each node</text>']
    for decade in range(int(y_low), int(y_high) + 1):
        y = at(10**x_low, 10.0**decade)[1]
        out.append(f'<path d="M{left} {y:.1f}H{left + width}" stroke="#ddd"/><text class="e" x="{left - 6}" y="{y + 4:.1f}">{10.0**decade:g}</text>')
    for decade in range(int(np.ceil(x_low - 1e-3)), int(x_high + 0.01) + 1):
        x = at(10.0**decade, 10**y_low)[0]
        out.append(f'<path d="M{x:.1f} {top}V{top + height}" stroke="#ddd"/><text class="m" x="{x:.1f}" y="{top + height + 16}">{10**decade:,}</text>')
    out.append(f'<text class="m" x="{left + width / 2}" y="{top + height + 40}">nodes</text>')
    for i, (name, rows) in enumerate(results.items()):
        colour = COLOURS[i % len(COLOURS)]
        line = [at(r["nodes"], 1000 * r["compile"] / r["nodes"]) for r in rows if r]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in line) + '"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
        y = top + 12 + 18 * i
        out.append(f'<rect x="{left + width + 18}" y="{y - 9}" width="12" height="12" fill="{colour}"/>'
                   f'<text x="{left + width + 36}" y="{y + 1}">{name}</text>')
    return "\n".join(out + ["</svg>", ""])


def write(results, counts, path):
    with open(path, encoding="utf-8") as file:
        parts = file.read().split(MARK)
    if len(parts) != 3:
        sys.exit(f"{path} does not have two lines {MARK}")
    folder = os.path.splitext(path)[0]
    with open(os.path.join(folder, "compile.svg"), "w", encoding="utf-8") as file:
        file.write(plot(results))
    lines = ["", f"![compile time]({os.path.basename(folder)}/compile.svg)", "",
             "Microseconds of CPU time for each node of the model:", "", *table(results, counts), ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write(MARK.join([parts[0], "\n".join(lines), parts[2]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bench/compile")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--nodes", default="10,100,1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300, help="seconds for one process")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--from", dest="given", help="file written by --json: prints its figures instead of measuring")
    parser.add_argument("--write")
    options = parser.parse_args()
    counts = [int(c) for c in options.nodes.split(",")]
    names = options.shapes.split(",")
    if set(names) - set(SHAPES):
        parser.error(f"--shapes: must be among {', '.join(SHAPES)}")
    if options.given:
        with open(options.given, encoding="utf-8") as file:
            results = json.load(file)
    else:
        results = {name: [measure(options.program, name, c, options.rounds, options.limit) for c in counts] for name in names}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print("\n".join(table(results, counts)))
    if options.write:
        write(results, counts, options.write)


main()
