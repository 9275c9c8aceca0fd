# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan in `anydml run`: test_control.py ANYDML

The ONNX package's own node tests that have them, then models made here beside ONNX Runtime's CPU provider, then public
networks where their packages are installed (a detector of voices; one that puts vowels into Hebrew).
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np

from onnx_tool import OnnxTool, TensorProto, helper, numpy_helper, onnx, onnxruntime

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(np.int32): INT32, np.dtype(bool): BOOL}
info = helper.make_tensor_value_info
node = helper.make_node


def body_of(nodes, inputs, outputs, constants=None):
    """Inputs and outputs: (name, type) or (name, type, shape)."""

    def values(given):
        return [info(*v) if len(v) > 2 else info(*v, None) for v in given]

    return helper.make_graph(nodes, "body", values(inputs), values(outputs),
                             [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])


class Control(OnnxTool):

    def compare(self, what, nodes, inputs, outputs, constants=None, opset=21, free=True, limit=1e-5, wanted=None):
        """Outputs: (name, type). The sizes of inputs are free, or fixed. The same command runs twice: parts are kept.
        wanted: instead of what ONNX Runtime computes."""
        graph = helper.make_graph(
            nodes, "g", [info(n, TYPES[x.dtype], [None] * x.ndim if free else x.shape)
                         for n, x in inputs.items()], [info(n, t, None) for n, t in outputs],
            [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])
        domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=8)
        wanted = wanted or self.reference(model, inputs)
        names = [n for n, _ in outputs]
        result = self.run(*self.arguments(model, inputs, names), "--repeat", "2")
        if not self.test(result.returncode == 0, f"{what}: {result.stderr.strip()[-300:]}"):
            return
        for i, want in enumerate(wanted):
            got = np.load(self.file(f"out{i}.npy"))
            if self.same_form(f"{what}: {names[i]}", got, want):
                error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max() if got.size else 0.0
                error /= max(np.abs(want).max(), 1) if want.size else 1
                self.test(error <= limit, f"{what}: {names[i]} differs by {error}")

    def refuses(self, what, nodes, inputs, outputs, *fragments, constants=None, opset=21):
        graph = helper.make_graph(nodes, "g", [info(n, TYPES[x.dtype], x.shape) for n, x in inputs.items()],
                                  [info(n, t, None) for n, t in outputs],
                                  [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        self.fails(self.arguments(model, inputs, [n for n, _ in outputs]), *fragments)


# ---- the ONNX package's tests ----


def operators(graph):
    for n in graph.node:
        yield n.op_type
        for a in n.attribute:
            if a.HasField("g"):
                yield from operators(a.g)


def tensor_of(path):
    proto = onnx.TensorProto()
    proto.ParseFromString(pathlib.Path(path).read_bytes())
    return proto


def node_tests(tool):
    from onnx.backend.test.loader import load_model_tests
    cases = 0
    for case in load_model_tests(kind="node"):
        model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
        ports = list(model.graph.input) + list(model.graph.output)
        if not {"If", "Loop", "Scan"} & set(operators(model.graph)):
            continue
        if not all(v.type.HasField("tensor_type") for v in ports):
            continue  # sequences and optionals
        if any(v.type.tensor_type.elem_type == TensorProto.BFLOAT16 for v in ports):
            continue  # .npy files have none
        for folder in sorted(pathlib.Path(case.model_dir).glob("test_data_set_*")):
            inputs = {
                v.name: numpy_helper.to_array(tensor_of(folder / f"input_{i}.pb"))
                for i, v in enumerate(model.graph.input)
            }
            results = tool.execute(case.name, model, inputs, [v.name for v in model.graph.output])
            for i, got in enumerate(results or []):
                want = numpy_helper.to_array(tensor_of(folder / f"output_{i}.pb"))
                if tool.same_form(case.name, got, want):
                    same = np.allclose(got.astype(float), want.astype(float), rtol=1e-3, atol=1e-6, equal_nan=True)
                    tool.test(same, f"{case.name}: output {i}")
            cases += 1
    tool.test(cases >= 20, f"only {cases} cases of the ONNX package")


# ---- If ----


def branches(tool):
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    two, weight = np.array([2], np.float32), np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    # Both branches use outer values and weights, and have values of one name, which is also one outside.
    yes = body_of(
        [node("MatMul", ["x", "w"], ["t"]), node("Mul", ["t", "two"], ["y"])], [], [("y", FLOAT)], {"two": two})
    no = body_of([node("Relu", ["x"], ["t"]), node("Add", ["t", "bias"], ["y"])], [], [("y", FLOAT)], {"bias": two})
    outer = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["positive"]),
        node("If", ["positive"], ["z"], then_branch=yes, else_branch=no),
        node("Exp", ["z"], ["y0"])
    ]
    for sign in (1, -1):
        tool.compare(f"a computed condition {sign}", outer, {"x": sign * x}, [("y0", FLOAT)],
                     {"zero": np.array(0, np.float32), "w": weight})
        tool.compare(f"a condition that is an input {sign}", outer[2:], {"positive": np.array(sign > 0), "x": x},
                     [("y0", FLOAT)], {"w": weight})
    # The condition is the shape's; branches in branches; a branch that hands out an outer value.
    inner = node("If", ["deep"], ["i"],
                 then_branch=body_of([node("Neg", ["x"], ["a"])], [], [("a", FLOAT)]),
                 else_branch=body_of([node("Abs", ["x"], ["a"])], [], [("a", FLOAT)]))
    yes = body_of([inner, node("Add", ["i", "i"], ["a"])], [], [("a", FLOAT)])
    no = body_of([node("Identity", ["x"], ["a"])], [], [("a", FLOAT)])
    shape = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "first"], ["n"]),
        node("Equal", ["n", "size"], ["c"]),
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Less", ["m", "limit"], ["deep"]),
        node("If", ["c"], ["y0"], then_branch=yes, else_branch=no)
    ]
    for size in (2, 3):
        for limit in (-10, 10):
            tool.compare(f"branches in branches {size} {limit}", shape, {"x": x}, [("y0", FLOAT)],
                         {"first": np.array(0), "size": np.array(size), "limit": np.array(limit, np.float32)})


# ---- Loop ----


def loops(tool):
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    weight = np.linspace(-0.5, 0.5, 9, dtype=np.float32).reshape(3, 3)
    count = lambda n: np.array(n, np.int64)  # noqa: E731
    # A value and results per iteration; weights and computed values from outside.
    body = body_of([
        node("MatMul", ["v", "w"], ["p"]),
        node("Add", ["p", "offset"], ["v_out"]),
        node("ReduceSum", ["v_out"], ["row"], keepdims=0),
        node("Identity", ["c"], ["c_out"])
    ], [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)], [("c_out", BOOL), ("v_out", FLOAT), ("row", FLOAT)])
    nodes = [
        node("Tanh", ["x"], ["offset"]),
        node("Loop", ["n", "", "x"], ["last", "rows"], body=body),
        node("Neg", ["last"], ["y0"])
    ]
    for n in (0, 1, 7):
        tool.compare(f"Loop {n} times", nodes, {"n": count(n), "x": x},
                     [("y0", FLOAT), ("rows", FLOAT)] if n else [("y0", FLOAT)], {"w": weight})
    # A value that grows, up to a condition that the body computes; the count is not given.
    body = body_of([
        node("Concat", ["v", "x"], ["v_out"], axis=0),
        node("Shape", ["v_out"], ["s"]),
        node("ReduceSum", ["v_out"], ["sum"], keepdims=0),
        node("ReduceSum", ["s"], ["size"], keepdims=0),
        node("Less", ["size", "most"], ["c_out"])
    ], [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)], [("c_out", BOOL), ("v_out", FLOAT), ("sum", FLOAT)])
    nodes = [node("Loop", ["", "go", "x"], ["y0", "sums"], body=body)]
    tool.compare("Loop with a growing value", nodes, {"go": np.array(True), "x": x}, [("y0", FLOAT), ("sums", FLOAT)],
                 {"most": np.array(14)})
    tool.compare("Loop that does not begin", [
        node("Loop", ["n", "go", "x"], ["y0"],
             body=body_of([node("Identity", ["c"], ["c_out"]),
                           node("Exp", ["v"], ["v_out"])], [("i", INT64, []), ("c", BOOL, []),
                                                            ("v", FLOAT)], [("c_out", BOOL), ("v_out", FLOAT)]))
    ], {"n": count(5), "go": np.array(False), "x": x}, [("y0", FLOAT)])
    # Results of no iteration have the sizes that are declared.
    body = body_of([node("Identity", ["c"], ["c_out"]), node("Exp", ["x"], ["row"])],
                   [("i", INT64, []), ("c", BOOL, [])], [("c_out", BOOL), ("row", FLOAT, [2, 3])])
    for n in (0, 2):
        tool.compare(f"results of {n} iterations", [node("Loop", ["n", ""], ["y0"], body=body)],
                     {"n": count(n), "x": x}, [("y0", FLOAT)],
                     free=False)
    # The iteration's number chooses a row, cuts, and decides; a loop, a scan and a branch inside.
    body = body_of([
        node("Gather", ["x", "i"], ["row"], axis=0),
        node("Add", ["i", "one"], ["end"]),
        node("Unsqueeze", ["end", "zero"], ["ends"]),
        node("Slice", ["line", "zero", "ends"], ["cut"]),
        node("ReduceSum", ["cut"], ["part"], keepdims=0),
        node("Equal", ["i", "one"], ["odd"]),
        node("If", ["odd"], ["d"],
             then_branch=body_of([node("Mul", ["row", "part"], ["d1"])], [], [("d1", FLOAT)]),
             else_branch=body_of([node("Sub", ["row", "part"], ["d2"])], [], [("d2", FLOAT)])),
        node("Loop", ["three", "", "d"], ["e"],
             body=body_of([
                 node("Identity", ["c2"], ["c2_out"]),
                 node("Cast", ["i2"], ["f2"], to=FLOAT),
                 node("Add", ["v2", "f2"], ["w2"]),
                 node("Mul", ["w2", "row"], ["v2_out"])
             ], [("i2", INT64, []), ("c2", BOOL, []), ("v2", FLOAT)], [("c2_out", BOOL), ("v2_out", FLOAT)])),
        node("Add", ["v", "e"], ["v_out"]),
        node("Identity", ["c"], ["c_out"])
    ], [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)], [("c_out", BOOL), ("v_out", FLOAT), ("d", FLOAT)])
    nodes = [node("Loop", ["n", "", "start"], ["y0", "rows"], body=body)]
    tool.compare(
        "a Loop in a Loop", nodes, {"n": count(2), "x": x, "start": np.zeros(3, np.float32)}, [("y0", FLOAT),
                                                                                               ("rows", FLOAT)],
        {"one": np.array(1), "zero": np.array([0]), "three": np.array(3), "line": np.arange(5, dtype=np.float32)})
    # Other values beside, of other types; unused outputs.
    body = body_of([
        node("Add", ["k", "i"], ["k_out"]),
        node("Not", ["flag"], ["flag_out"]),
        node("Where", ["flag", "v", "x"], ["w"]),
        node("Neg", ["w"], ["v_out"]),
        node("Identity", ["c"], ["c_out"])
    ], [("i", INT64, []), ("c", BOOL, []), ("k", INT64), ("flag", BOOL), ("v", FLOAT)], [("c_out", BOOL),
                                                                                         ("k_out", INT64),
                                                                                         ("flag_out", BOOL),
                                                                                         ("v_out", FLOAT),
                                                                                         ("k_out", INT64),
                                                                                         ("flag", BOOL)])
    nodes = [node("Loop", ["n", "", "k", "flag", "x"], ["y0", "y1", "unused", "y2", "y3"], body=body)]
    tool.compare("values of several types", nodes,
                 {"n": count(5), "k": count(3), "flag": np.array([True, False, True]), "x": x}, [("y0", INT64),
                                                                                                 ("y1", BOOL),
                                                                                                 ("y2", INT64),
                                                                                                 ("y3", BOOL)])


def changing_types(tool):
    """What ONNX Runtime refuses: a value of another type than that of the iteration or branch before."""
    x = np.linspace(-2, 2, 4000, dtype=np.float32)

    def check(what, nodes, want):
        graph = helper.make_graph(nodes, "g", [info("x", FLOAT, [4000])], [info("y", FLOAT, None)], [
            numpy_helper.from_array(np.array(3), "n"),
            numpy_helper.from_array(np.array(1), "one"),
        ])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
        got = tool.execute(what, model, {"x": x}, ["y"])
        tool.test(got and got[0].shape == want.shape and np.array_equal(got[0], want), f"{what}: wrong values")

    double = node("Cast", ["x"], ["z1"], to=TensorProto.DOUBLE)
    body = body_of([node("Cast", ["v"], ["v_out"], to=TensorProto.DOUBLE), node("Identity", ["c"], ["c_out"])],
                   [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)], [("c_out", BOOL), ("v_out", TensorProto.DOUBLE)])
    check("a value whose type changes", [node("Loop", ["n", "", "x"], ["y"], body=body)], x.astype(np.float64))
    for first in (True, False):
        wide = body_of([double], [], [("z1", TensorProto.DOUBLE)])
        narrow = body_of([node("Identity", ["x"], ["z2"])], [], [("z2", FLOAT)])
        body = body_of([
            node("Equal", ["i", "one"], ["second"]),
            node("If", ["second"], ["z"], then_branch=wide if first else narrow, else_branch=narrow if first else wide),
            node("Abs", ["z"], ["a"]),
            node("Cast", ["a"], ["row"], to=FLOAT),
            node("Identity", ["c"], ["c_out"])
        ], [("i", INT64, []), ("c", BOOL, [])], [("c_out", BOOL), ("row", FLOAT)])
        check(f"branches of two types {first}", [node("Loop", ["n", ""], ["y"], body=body)], np.tile(np.abs(x), (3, 1)))


# ---- Scan ----


def scans(tool):
    x, z = np.arange(24, dtype=np.float32).reshape(2, 4, 3) / 8, np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    body = body_of([
        node("MatMul", ["s", "w"], ["p"]),
        node("Add", ["p", "a"], ["s_out"]),
        node("Mul", ["s_out", "factor"], ["m"]),
        node("ReduceSum", ["b"], ["sum"], keepdims=0),
        node("Add", ["m", "sum"], ["row"])
    ], [("s", FLOAT), ("a", FLOAT), ("b", FLOAT)], [("s_out", FLOAT), ("row", FLOAT), ("sum", FLOAT)],
                   {"w": np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)})
    inputs = {"s0": np.ones((2, 3), np.float32), "x": x, "z": z}
    for axes, directions, out_axes, out_directions in (([1, 0], [0, 0], [0, 0], [0, 0]), ([1, -2], [1, 0], [2,
                                                                                                            0], [0, 1]),
                                                       ([-2, 0], [0, 1], [-1, -1], [1, 1])):
        scan = node("Scan", ["s0", "x", "z"], ["s1", "rows", "sums"],
                    num_scan_inputs=2,
                    body=body,
                    scan_input_axes=axes,
                    scan_input_directions=directions,
                    scan_output_axes=out_axes,
                    scan_output_directions=out_directions)
        tool.compare(
            f"Scan {axes} {directions} {out_axes} {out_directions}",
            [node("Exp", ["k"], ["factor"]), scan, node("Neg", ["rows"], ["y0"])],
            {**inputs, "k": np.array(0.5, np.float32)}, [("s1", FLOAT), ("y0", FLOAT), ("sums", FLOAT)])
    # The first version: batch rows, of different lengths.
    body = body_of(
        [node("Add", ["s", "a"], ["s_out"]), node("Mul", ["s_out", "a"], ["row"])],
        [("s", FLOAT, [3]), ("a", FLOAT, [3])], [("s_out", FLOAT, [3]), ("row", FLOAT, [3])])
    for lengths, reverse in (("", 0), ("lengths", 0), ("", 1)):
        scan = node("Scan", [lengths, "s0", "x"], ["y0", "y1"], num_scan_inputs=1, body=body, directions=[reverse])
        given = {"s0": np.ones((2, 3), np.float32), "x": x}
        if lengths:
            given["lengths"] = np.array([3, 4])
        tool.compare(f"Scan of batch rows {lengths} {reverse}", [scan],
                     given, [("y0", FLOAT), ("y1", FLOAT)],
                     opset=8,
                     free=False)


# ---- values in between that must be known; the rest ----


def computed_shapes(tool):
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("ReduceMax", ["k"], ["m"], keepdims=1),
        node("Cast", ["m"], ["rows"], to=INT64),
        node("Concat", ["rows", "rest"], ["shape"], axis=0),
        node("Reshape", ["e", "shape"], ["r"]),
        node("Neg", ["r"], ["y0"])
    ]
    for rows in (3, 4):
        tool.compare(f"a computed shape, {rows} rows", nodes, {"x": x, "k": np.array([1, rows, 2], np.float32)},
                     [("y0", FLOAT)], {"rest": np.array([-1])})


def field(number, content):
    """Of a message: bytes of less than 2^14."""
    return bytes([number << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content


def refused(tool):
    x, go = np.ones((2, 3), np.float32), np.array(True)
    plain = [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)]
    body = body_of([node("Identity", ["c"], ["c_out"])], plain[:2], [("c_out", BOOL)])
    tool.refuses("Loop with a value too many", [node("Loop", ["n", "go", "x"], ["y"], body=body, name="turns")],
                 {"n": np.array(2), "go": go, "x": x}, [("y", FLOAT)], "turns", "2 inputs and 1 outputs")
    body = body_of([node("Concat", ["v", "x"], ["v_out"], axis=0),
                    node("Identity", ["c"], ["c_out"])], plain, [("c_out", BOOL), ("v_out", FLOAT), ("v_out", FLOAT)])
    tool.refuses("results that grow", [node("Loop", ["n", "", "x"], ["z", "y"], body=body, name="turns")],
                 {"n": np.array(2), "x": x}, [("y", FLOAT)], "turns", "differ between iterations", "v_out")
    body = body_of([node("Add", ["v", "nothing"], ["v_out"]),
                    node("Identity", ["c"], ["c_out"])], plain, [("c_out", BOOL), ("v_out", FLOAT)])
    tool.refuses("an unknown value in a body", [node("Loop", ["n", "", "x"], ["y"], body=body)],
                 {"n": np.array(2), "x": x}, [("y", FLOAT)], "Add", "nothing")
    body = body_of(
        [node("Identity", ["v"], ["c_out"]), node("Neg", ["v"], ["v_out"])], plain, [("c_out", FLOAT),
                                                                                     ("v_out", FLOAT)])
    tool.refuses("a condition that is none", [node("Loop", ["n", "", "x"], ["y"], body=body)],
                 {"n": np.array(2), "x": x}, [("y", FLOAT)], "Loop", "one boolean")
    scan = node("Scan", ["x", "z"], ["y"],
                num_scan_inputs=2,
                name="steps",
                body=body_of([node("Add", ["a", "b"], ["r"])], [("a", FLOAT), ("b", FLOAT)], [("r", FLOAT)]))
    tool.refuses("inputs of two lengths", [scan], {"x": x, "z": x[:1]}, [("y", FLOAT)], "steps", "2 and 1 elements")
    for axis, what in (("scan_input_axes", "axis -3 is outside the 2"), ("scan_output_axes", "along axis -3")):
        scan = node("Scan", ["x"], ["y"],
                    num_scan_inputs=1,
                    body=body_of([node("Abs", ["a"], ["r"])], [("a", FLOAT)], [("r", FLOAT)]),
                    **{axis: [-3]})
        tool.refuses(f"{axis} out of range", [scan], {"x": x}, [("y", FLOAT)], "Scan", what)
    branch = body_of([node("Neg", ["x"], ["a"])], [], [("a", FLOAT)])
    for condition, what in ((np.ones(2, bool), "one boolean"), (np.array(1.0, np.float32), "one boolean")):
        tool.refuses(f"If {condition}",
                     [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch, name="choice")],
                     {"c": condition, "x": x}, [("y", FLOAT)], "choice", what)
    deep = b""  # deeper than the onnx package can write it
    for _ in range(40):
        deep = field(1, field(2, b"y") + field(4, b"Loop") + field(5, field(1, b"body") + field(6, deep)))
    path = tool.file("deep.onnx", field(7, deep) + field(8, b"\x10\x15"))
    tool.fails(["run", path], path, "nested too deeply")


def growing(tool):
    """What loops hold is not bounded by the sizes in a model: they may take half of the memory, here 1 GB of addresses."""
    with open(tool.path, "rb") as program:
        if b"__asan_init" in program.read():
            return  # reserves more addresses
    same, x = node("Identity", ["c"], ["c2"]), {"x": np.ones(4, np.float32)}
    inputs = [("i", INT64), ("c", BOOL), ("v", FLOAT)]
    double = node("Concat", ["v", "v"], ["v2"], axis=0)
    twice = body_of([same, double], inputs, [("c2", BOOL), ("v2", FLOAT)])
    rows = body_of([same, node("Identity", ["v"], ["v2"]), node("Expand", ["v", "big"], ["r"])], inputs,
                   [("c2", BOOL), ("v2", FLOAT), ("r", FLOAT)], {"big": np.array([1 << 22, 4], np.int64)})
    state = body_of([double, node("Identity", ["e"], ["r"])], [("v", FLOAT), ("e", FLOAT)], [("v2", FLOAT), ("r", FLOAT)])
    for what, nodes, outputs in (
            ("value", [node("Loop", ["n", "", "x"], ["y"], body=twice)], [("y", FLOAT)]),
            ("collected", [node("Loop", ["n", "", "x"], ["y", "z"], body=rows)], [("y", FLOAT), ("z", FLOAT)]),
            ("state", [node("Scan", ["x", "s"], ["y", "z"], body=state, num_scan_inputs=1)], [("y", FLOAT), ("z", FLOAT)])):
        constants = {"n": np.array(100, np.int64), "s": np.zeros(100, np.float32)}
        graph = helper.make_graph(nodes, "g", [info("x", FLOAT, [4])], [info(n, t, None) for n, t in outputs],
                                  [numpy_helper.from_array(v, n) for n, v in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
        arguments = tool.arguments(model, x, [n for n, _ in outputs])
        result = subprocess.run(["sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh", tool.path, *map(str, arguments)],
                                capture_output=True, text=True, timeout=300, check=False)
        tool.test(result.returncode == 2 and "values of loops would take" in result.stderr and
                  "1024000000 (half of the memory)" in result.stderr, f"{what}: {result.returncode} {result.stderr[-300:]}")


def commands(tool):
    """bench and graph."""
    body = body_of([node("Exp", ["v"], ["v_out"]), node("Identity", ["c"], ["c_out"])], [("i", INT64, []),
                                                                                         ("c", BOOL, []), ("v", FLOAT)],
                   [("c_out", BOOL), ("v_out", FLOAT)])
    graph = helper.make_graph(
        [node("Loop", ["n", "", "x"], ["y"], body=body, name="turns")], "g",
        [info("n", INT64, []),
         info("x", FLOAT, ["batch", "?", "width"]),
         info("z", FLOAT, ["?", "width"])], [info("y", FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
    path = tool.file("loop.onnx", model.SerializeToString())
    result = tool.run("bench", path, "--seconds", "0")
    tool.test(
        result.returncode == 0 and "median" in result.stdout and result.stderr.count("\n") == 1
        and "--input-shape" in result.stderr, f"bench with free sizes: {result.stderr}")
    # "?" is no name: z's may differ from x's. A name has one size.
    result = tool.run("bench", path, "--seconds", "0", "--input-shape", "x=1x2x3", "--input-shape", "z=4x3")
    tool.test(result.returncode == 0 and not result.stderr, f"bench with sizes: {result.stderr}")
    tool.fails(["graph", path], "'x' is float32[batch,?,width]", "'z' is float32[?,width]", "--input-shape x=")
    tool.fails(["graph", path, "--input-shape", "x=1x2x3"], "turns", "several graphs")
    arrays = {"n": np.array(1), "x": np.ones((1, 2, 3), np.float32), "z": np.ones((4, 3), np.float32)}
    tool.compare("sizes without a name", list(graph.node), {k: arrays[k] for k in "nx"}, [("y", FLOAT)])
    tool.execute("a ? in two inputs", model, arrays, ["y"])
    arrays["z"] = np.ones((4, 5), np.float32)
    tool.fails(tool.arguments(model, arrays, ["y"]), "'width' is 3", "5 in 'z'")


def owned_weights(tool):
    trace = tool.file("owned.json")
    weight = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    body = body_of([node("MatMul", ["v", "w"], ["v_out"]), node("Identity", ["c"], ["c_out"])],
                   [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)], [("c_out", BOOL), ("v_out", FLOAT)])
    graph = helper.make_graph([node("Loop", ["n", "", "z"], ["y"], body=body)], "g", [info("z", FLOAT, [2, 8])],
                              [info("y", FLOAT, None)],
                              [numpy_helper.from_array(np.array(2), "n"), numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
    feeds = {"z": np.ones((2, 8), np.float32)}
    for options, kind in (([], "constant"), (["--owned-weights"], "owned")):
        result = tool.run(*tool.arguments(model, feeds, ["y"]), *options, ANYDML_TRACE=trace)
        text = pathlib.Path(trace).read_text()
        tool.test(result.returncode == 0 and f"= {kind}" in text and np.allclose(np.load(tool.file("out0.npy")),
                                                                               feeds["z"] @ weight @ weight, atol=1e-5),
                  f"weights of a loop's body: {kind}: {result.stderr}")
    # A weight that an operator has already used, with another shape.
    nodes = [node("MatMul", ["z", "w"], ["u"]), node("Reshape", ["w", "s"], ["r"]), node("MatMul", ["u", "r"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("z", FLOAT, [2, 4])], [info("y", FLOAT, [2, 4])],
                              [numpy_helper.from_array(weight.reshape(4, 16), "w"),
                               numpy_helper.from_array(np.array([16, 4]), "s")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
    feeds = {"z": feeds["z"][:, :4]}
    result = tool.run(*tool.arguments(model, feeds, ["y"]), "--owned-weights")
    expected = feeds["z"] @ weight.reshape(4, 16) @ weight.reshape(16, 4)
    tool.test(result.returncode == 0 and np.allclose(np.load(tool.file("out0.npy")), expected, atol=1e-5),
              f"an owned weight with another shape: {result.stderr}")


def unsorted(tool):
    """Nodes that stand before those whose results they use, in the graph and in a body; what an inner graph uses counts."""
    x = np.array([-1, 0.5, 2], np.float32)
    chain = [node("Exp", ["b"], ["y"]), node("Add", ["a", "x"], ["b"]), node("Relu", ["x"], ["a"])]
    tool.compare("unsorted nodes", chain, {"x": x}, [("y", FLOAT)])
    body = body_of([node("Mul", ["t", "late"], ["v_out"]), node("Neg", ["v"], ["t"]), node("Identity", ["c"], ["c_out"])],
                   [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT)], [("c_out", BOOL), ("v_out", FLOAT)])
    tool.compare("unsorted nodes of a body", [node("Loop", ["n", "", "x"], ["y"], body=body), node("Exp", ["x"], ["late"])],
                 {"x": x}, [("y", FLOAT)], {"n": np.array(3)}, wanted=[-x * np.exp(x)**3]) # ONNX Runtime refuses it
    tool.refuses("nodes in a circle", [node("Exp", ["b"], ["a"]), node("Neg", ["a"], ["b"])], {"x": x}, [("a", FLOAT)],
                 "'b' is not defined")


def split_sizes(tool):
    """Parts of a shape decide about sizes."""
    x = np.arange(20, dtype=np.float32).reshape(2, 10)
    nodes = [node("Shape", ["x"], ["s"]), node("Split", ["s", "parts"], ["none", "rows", "columns"]),
             node("Div", ["columns", "three"], ["half"]), node("Concat", ["none", "rows", "half"], ["e"], axis=0),
             node("Slice", ["x", "zeros", "e"], ["y"])]
    tool.compare("a shape that is split", nodes, {"x": x}, [("y", FLOAT)],
                 {"parts": np.array([0, 1, 1]), "three": np.array([3]), "zeros": np.array([0, 0])})


# ---- public networks ----


def folder_of(package):
    spec = importlib.util.find_spec(package)
    return pathlib.Path(spec.origin).parent if spec and spec.origin else None


def public(tool, path, feeds, limit):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    args, wanted = ["run", path], session.run(None, feeds)
    for name, x in feeds.items():
        np.save(tool.file(f"{name}.npy"), x)
        args += ["--input", f"{name}={tool.file(f'{name}.npy')}"]
    for i, output in enumerate(session.get_outputs()):
        args += ["--output", f"{output.name}={tool.file(f'out{i}.npy')}"]
    result = tool.run(*args)
    if not tool.test(result.returncode == 0, f"{path.name}: {result.stderr.strip()}"):
        return
    for i, want in enumerate(wanted):
        got = np.load(tool.file(f"out{i}.npy"))
        if tool.same_form(path.name, got, want):
            error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-6)
            tool.test(error <= limit, f"{path.name}: output {i} differs by {error}")


def networks(tool):
    rng, voice, vowels = np.random.default_rng(3), folder_of("silero_vad"), folder_of("piper")
    for path in sorted((voice / "data").glob("silero_vad*.onnx")) if voice else []:
        if "sequence" in path.name:
            continue
        for rate in (16000, ) if "16k" in path.name or "half" in path.name else (16000, 8000):
            feeds = {
                "input": rng.standard_normal((1, rate * 36 // 1000)).astype(np.float32) / 10, "state": np.zeros(
                    (2, 1, 128), np.float32)
            }
            if "half" not in path.name and "openvino" not in path.name:
                feeds["sr"] = np.array(rate)
            public(tool, path, feeds, 2e-3 if "half" in path.name else 1e-4)
    path = vowels and vowels / "hebrew" / "nakdimon.onnx"
    if path and path.exists():
        for shape in ((1, 20), (2, 33)):
            public(tool, path, {"input_1": rng.integers(1, 40, shape).astype(np.float32)}, 1e-4)
    print(f"public networks: {'voice' if voice else ''} {'vowels' if path else ''}")


def main():
    tool = Control(sys.argv[1])
    for part in (node_tests, branches, loops, changing_types, scans, computed_shapes, unsorted, split_sizes, refused, growing, commands, owned_weights, networks):
        part(tool)
    tool.finish()


if __name__ == "__main__":
    main()
