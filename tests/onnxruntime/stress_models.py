# SPDX-License-Identifier: Apache-2.0
"""Small models that the stress tests run, made with onnx.helper."""
import pathlib

from provider import np, onnx

SHARED = pathlib.Path(__file__).resolve().parents[2].parent / "shared"
FLOAT, INT, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info


def tensor(name, value, dtype=np.float32):
    return onnx.numpy_helper.from_array(np.asarray(value, dtype), name)


def finish(nodes, inputs, outputs, weights=(), opset=17):
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model.SerializeToString()


def body(name, nodes, inputs, outputs, weights=()):
    return onnx.helper.make_graph(nodes, name, inputs, outputs, list(weights))


def tiny():
    return finish([node("Mul", ["x", "x"], ["a"]), node("Add", ["a", "w"], ["y"])], [info("x", FLOAT, [1, 16])],
                  [info("y", FLOAT, [1, 16])], [tensor("w", np.arange(16)[None])])


def small_net(dims=("n", 3, "h", "w"), channels=8):
    """Two convolutions, arithmetic on shapes, a matrix product. dims: of the input."""
    rng = np.random.default_rng(5)
    weights = [tensor("w1", rng.standard_normal((channels, 3, 3, 3)) * 0.3), tensor("b1", rng.standard_normal(channels)),
               tensor("w2", rng.standard_normal((channels, channels, 3, 3)) * 0.2),
               tensor("w3", rng.standard_normal((channels, 10))),
               tensor("zero", [0], np.int64), tensor("one", [1], np.int64), tensor("rest", [-1], np.int64)]
    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4), node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2"], ["c2"], pads=[1] * 4, strides=[2, 2]), node("Tanh", ["c2"], ["t"]),
             node("GlobalAveragePool", ["t"], ["p"]), node("Shape", ["x"], ["s"]),
             node("Slice", ["s", "zero", "one"], ["batch"]), node("Concat", ["batch", "rest"], ["flat"], axis=0),
             node("Reshape", ["p", "flat"], ["f"]), node("MatMul", ["f", "w3"], ["m"]),
             node("Softmax", ["m"], ["y"], axis=-1)]
    return finish(nodes, [info("x", FLOAT, list(dims))], [info("y", FLOAT, [dims[0], 10])], weights)


def transformer_layer():
    rng = np.random.default_rng(6)
    weights = [tensor(f"w{i}", rng.standard_normal((32, 32)) * 0.2) for i in range(4)]
    weights += [tensor("scale", np.ones(32)), tensor("bias", np.zeros(32))]
    nodes = [node("MatMul", ["x", f"w{i}"], [f"p{i}"]) for i in range(3)]
    nodes += [node("Transpose", ["p1"], ["k"], perm=[0, 2, 1]), node("MatMul", ["p0", "k"], ["scores"]),
              node("Softmax", ["scores"], ["a"], axis=-1), node("MatMul", ["a", "p2"], ["v"]),
              node("MatMul", ["v", "w3"], ["o"]), node("Add", ["o", "x"], ["sum"]),
              node("LayerNormalization", ["sum", "scale", "bias"], ["y"], axis=-1)]
    return finish(nodes, [info("x", FLOAT, ["n", "length", 32])], [info("y", FLOAT, ["n", "length", 32])], weights)


def reshaper():
    """The shape of the output is an input: programs are made for its value."""
    return finish([node("Reshape", ["x", "shape"], ["r"]), node("Relu", ["r"], ["y"])],
                  [info("x", FLOAT, ["n"]), info("shape", INT, [2])], [info("y", FLOAT, [None, None])])


def reducer(op):
    """Over the first axis, which may be empty."""
    inputs, axes = (["x", "axes"], {}) if op == "ReduceSum" else (["x"], {"axes": [0]})
    return finish([node("Abs", ["x"], ["a"]), node(op, ["a"] + inputs[1:], ["r"], keepdims=0, **axes),
                   node("Neg", ["r"], ["y"])], [info("x", FLOAT, ["n", "m"])], [info("y", FLOAT, ["m"])],
                  [tensor("axes", [0], np.int64)])


def product():
    return finish([node("MatMul", ["a", "b"], ["p"]), node("Exp", ["p"], ["y"])],
                  [info("a", FLOAT, ["n", "k"]), info("b", FLOAT, ["k", "m"])], [info("y", FLOAT, ["n", "m"])])


# ---- control flow ----

def loop_state():
    """state = tanh(state * W + x): W and x come from outside; every state is an output."""
    rng = np.random.default_rng(7)
    inner = body("step", [node("MatMul", ["state", "w"], ["m"]), node("Add", ["m", "x"], ["a"]),
                          node("Tanh", ["a"], ["next"]), node("Identity", ["next"], ["out"]),
                          node("Identity", ["go"], ["again"])],
                 [info("i", INT, []), info("go", BOOL, []), info("state", FLOAT, ["n", 8])],
                 [info("again", BOOL, []), info("next", FLOAT, ["n", 8]), info("out", FLOAT, ["n", 8])])
    return finish([node("Relu", ["x0"], ["x"]), node("Loop", ["count", "", "x"], ["last", "all"], body=inner)],
                  [info("x0", FLOAT, ["n", 8]), info("count", INT, [])],
                  [info("last", FLOAT, ["n", 8]), info("all", FLOAT, ["k", "n", 8])],
                  [tensor("w", rng.standard_normal((8, 8)) * 0.5)])


def loop_grows():
    """The state grows by a row in every iteration: each has other shapes."""
    inner = body("step", [node("ReduceMean", ["state"], ["mean"], axes=[0], keepdims=1), node("Mul", ["mean", "x"], ["row"]),
                          node("Concat", ["state", "row"], ["next"], axis=0), node("Identity", ["go"], ["again"])],
                 [info("i", INT, []), info("go", BOOL, []), info("state", FLOAT, ["k", 4])],
                 [info("again", BOOL, []), info("next", FLOAT, ["k1", 4])])
    return finish([node("Loop", ["count", "", "x"], ["y"], body=inner)],
                  [info("x", FLOAT, [1, 4]), info("count", INT, [])], [info("y", FLOAT, ["k", 4])])


def loop_until():
    """Stops when the sum is large; the iteration's number is part of the sum and of a slice."""
    inner = body("step", [node("Cast", ["i"], ["f"], to=FLOAT), node("Add", ["state", "x"], ["a"]),
                          node("Add", ["a", "f"], ["next"]), node("ReduceMax", ["next"], ["most"], keepdims=0),
                          node("Less", ["most", "limit"], ["again"]), node("Unsqueeze", ["i", "zero"], ["begin"]),
                          node("Slice", ["next", "begin", "last", "zero"], ["part"]),
                          node("ReduceSum", ["part"], ["sum"], keepdims=0)],
                 [info("i", INT, []), info("go", BOOL, []), info("state", FLOAT, ["k"])],
                 [info("again", BOOL, []), info("next", FLOAT, ["k"]), info("sum", FLOAT, [])])
    return finish([node("Loop", ["", "yes", "x"], ["y", "sums"], body=inner)],
                  [info("x", FLOAT, ["k"]), info("limit", FLOAT, [])],
                  [info("y", FLOAT, ["k"]), info("sums", FLOAT, ["t"])],
                  [tensor("zero", [0], np.int64), tensor("last", [1 << 40], np.int64), tensor("yes", True, bool)])


def branches():
    """If inside If; the branches use values from both levels outside."""
    def branch(name, op, out):
        return body(name, [node(op, ["h", "w"], [f"{out}_1"]), node("Sigmoid", [f"{out}_1"], [out])], [],
                    [info(out, FLOAT, ["n", 6])])
    inner = body("inner", [node("Mul", ["h", "h"], ["square"]),
                           node("If", ["b"], ["deep"], then_branch=branch("t2", "MatMul", "deep1"),
                                else_branch=branch("e2", "Sub", "deep2")), node("Add", ["deep", "square"], ["in_y"])], [],
                 [info("in_y", FLOAT, ["n", 6])])
    other = branch("other", "Add", "else_y")
    rng = np.random.default_rng(8)
    return finish([node("Exp", ["x"], ["h"]), node("If", ["a"], ["r"], then_branch=inner, else_branch=other),
                   node("Neg", ["r"], ["y"])], [info("x", FLOAT, ["n", 6]), info("a", BOOL, []), info("b", BOOL, [])],
                  [info("y", FLOAT, ["n", 6])], [tensor("w", rng.standard_normal((6, 6)))])


def scan():
    """A running mean through a matrix, over the first axis."""
    inner = body("step", [node("MatMul", ["x_in", "w"], ["m"]), node("Add", ["state", "m"], ["next"]),
                          node("Relu", ["next"], ["y_out"])],
                 [info("state", FLOAT, ["n", 5]), info("x_in", FLOAT, ["n", 5])],
                 [info("next", FLOAT, ["n", 5]), info("y_out", FLOAT, ["n", 5])])
    rng = np.random.default_rng(9)
    return finish([node("Scan", ["h", "x"], ["last", "y"], body=inner, num_scan_inputs=1)],
                  [info("h", FLOAT, ["n", 5]), info("x", FLOAT, ["t", "n", 5])],
                  [info("last", FLOAT, ["n", 5]), info("y", FLOAT, ["t", "n", 5])],
                  [tensor("w", rng.standard_normal((5, 5)) * 0.5)])


CONTROL = {"loop_state": loop_state, "loop_grows": loop_grows, "loop_until": loop_until, "branches": branches,
           "scan": scan}


def control_feeds(name):
    rng = np.random.default_rng(10)

    def real(*dims):
        return rng.standard_normal(dims, np.float32)
    if name == "loop_state":
        return [{"x0": real(n, 8), "count": np.array(c, np.int64)} for n, c in ((1, 3), (4, 10), (4, 0), (2, 1), (1, 3))]
    if name == "loop_grows":
        return [{"x": real(1, 4), "count": np.array(c, np.int64)} for c in (1, 9, 40, 0, 5)]
    if name == "loop_until":
        return [{"x": np.abs(real(k)) + 1, "limit": np.array(v, np.float32)} for k, v in ((5, 30), (3, 100), (7, 0))]
    if name == "branches":
        return [{"x": real(n, 6), "a": np.array(a), "b": np.array(b)} for n, a, b in
                ((6, True, True), (6, True, False), (1, False, True), (6, False, False), (1, True, False))]
    return [{"h": real(n, 5), "x": real(t, n, 5)} for t, n in ((4, 2), (1, 1), (30, 3), (4, 2))]
