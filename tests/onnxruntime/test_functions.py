# SPDX-License-Identifier: Apache-2.0
"""Functions of a model, in the graph and in bodies of If and Loop: the execution provider and `anydml run` beside the CPU provider.

    test_functions.py LIBRARY ANYDML
"""
import os
import sys

from provider import cpu_session, np, onnx, session # first: it skips where a package is missing
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
from tool import Tool  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LOCAL, OPSETS = "local.functions", [helper.make_opsetid("", 18), helper.make_opsetid("local.functions", 1)]
node = helper.make_node
info = helper.make_tensor_value_info


def call(op, inputs, outputs, **attributes):
    return node(op, inputs, outputs, domain=LOCAL, **attributes)


def graph_of(nodes, outputs, inputs=(), constants=()):
    return helper.make_graph(nodes, "inner", [info(*i) for i in inputs], [info(n, t, None) for n, t in outputs],
                             [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in constants])


def reference(name, attribute, kind):
    """An attribute that is the caller's."""
    given = onnx.AttributeProto(name=name, ref_attr_name=attribute, type=kind)
    return given


def with_reference(made, name, attribute, kind):
    made.attribute.append(reference(name, attribute, kind))
    return made


def functions():
    """Leaky(x; slope=0.25); Twice(x) = Leaky(Leaky(x)) + t; Choose(x, c): an If whose branches use x, the second calls Leaky;
    Own(z, c): an If whose branches have values of the callers' names; Maybe(x, bias), whose bias may be absent; Half, and another one of that name."""
    kind = onnx.AttributeProto.FLOAT
    leaky = helper.make_function(LOCAL, "Leaky", ["x"], ["y"], [with_reference(node("LeakyRelu", ["x"], ["t"]), "alpha", "slope", kind),
                                                                node("Identity", ["t"], ["y"])], OPSETS, [], [helper.make_attribute("slope", 0.25)])
    inner = with_reference(call("Leaky", ["t"], ["u"]), "slope", "alpha", kind)
    twice = helper.make_function(LOCAL, "Twice", ["x"], ["y"], [with_reference(call("Leaky", ["x"], ["t"]), "slope", "alpha", kind), inner,
                                                                node("Add", ["u", "t"], ["y"])], OPSETS, ["alpha"])
    yes = graph_of([node("Mul", ["x", "s"], ["t"]), node("Exp", ["t"], ["a"])], [("a", FLOAT)])
    no = graph_of([call("Leaky", ["x"], ["t"], slope=0.5), node("Add", ["t", "s"], ["b"])], [("b", FLOAT)])
    choose = helper.make_function(LOCAL, "Choose", ["x", "c"], ["y"], [node("Sigmoid", ["x"], ["s"]),
                                                                       node("If", ["c"], ["r"], then_branch=yes, else_branch=no),
                                                                       node("Neg", ["r"], ["y"])], OPSETS)
    # Names of inner graphs that callers use as well: a value, an initializer, an input of a body.
    scaled = graph_of([node("Exp", ["z"], ["x"]), node("Mul", ["x", "u"], ["w"]), node("Sub", ["w", "z"], ["r"])], [("r", FLOAT)], constants=[("u", 2)])
    body = graph_of([node("Add", ["x", "z"], ["u"]), node("Identity", ["go"], ["g"])], [("g", BOOL), ("u", FLOAT)],
                    [("i", INT64, []), ("go", BOOL, []), ("x", FLOAT, None)])
    rounds = graph_of([helper.make_node("Constant", [], ["t"], value_int=2), node("Neg", ["z"], ["w"]), node("Loop", ["t", "", "w"], ["r"], body=body)], [("r", FLOAT)])
    own = helper.make_function(LOCAL, "Own", ["z", "c"], ["y"], [node("If", ["c"], ["y"], then_branch=scaled, else_branch=rounds)], OPSETS)
    maybe = helper.make_function(LOCAL, "Maybe", ["x", "low"], ["y"], [node("Clip", ["x", "low"], ["y"])], OPSETS)
    halves = [helper.make_function(LOCAL, "Half", ["x"], ["y"], [helper.make_node("Constant", [], ["f"], value_float=f), node("Mul", ["x", "f"], ["y"])],
                                   OPSETS, overload=o) for o, f in (("", 0.5), ("other", 0.125))]
    return [leaky, twice, choose, own, maybe, *halves]


def cases():
    """name -> nodes, from x, c to y"""
    yield "a call", [call("Leaky", ["x"], ["y"])]
    yield "an attribute", [call("Leaky", ["x"], ["t"], slope=0.75), node("Exp", ["t"], ["y"])]
    yield "calls in calls", [call("Twice", ["x"], ["t"], alpha=0.1), call("Twice", ["t"], ["y"], alpha=-2.0)]
    yield "the same names outside", [node("Exp", ["x"], ["u"]), call("Twice", ["u"], ["t"], alpha=0.5), node("Add", ["t", "u"], ["y"])]
    yield "an absent input", [call("Maybe", ["x"], ["a"]), call("Maybe", ["x", "zero"], ["b"]), node("Sub", ["a", "b"], ["y"])]
    yield "an overload", [helper.make_node("Half", ["x"], ["a"], domain=LOCAL, overload="other"), call("Half", ["x"], ["b"]), node("Sub", ["a", "b"], ["y"])]
    yield "If in a function", [call("Choose", ["x", "c"], ["y"])]
    for name in ("t", "u", "w", "z"):
        yield f"own names of {name}", [node("Abs", ["x"], [name]), call("Own", [name, "c"], ["y"])]
    yield "own names of x", [call("Own", ["x", "c"], ["y"])]
    yield "own names of a result", [node("Abs", ["x"], ["a"]), call("Own", ["a", "c"], ["u"]), call("Own", ["u", "c"], ["y"])]
    for inner in ([call("Leaky", ["x"], ["r"], slope=0.5)], [call("Twice", ["x"], ["w"], alpha=0.3), call("Choose", ["w", "c"], ["r"])]):
        branch, other = graph_of(inner, [("r", FLOAT)]), graph_of([node("Neg", ["x"], ["q"])], [("q", FLOAT)])
        yield f"{inner[-1].op_type} in If", [node("If", ["c"], ["t"], then_branch=branch, else_branch=other), node("Abs", ["t"], ["y"])]
    body = graph_of([call("Twice", ["v"], ["a"], alpha=0.3), call("Choose", ["a", "c"], ["b"]), node("Sigmoid", ["b"], ["v_out"]),
                     node("Identity", ["go"], ["go_out"]), call("Leaky", ["v_out"], ["row"])],
                    [("go_out", BOOL), ("v_out", FLOAT), ("row", FLOAT)], [("i", INT64, []), ("go", BOOL, []), ("v", FLOAT, None)])
    yield "calls in Loop", [node("Loop", ["trips", "", "x"], ["last", "rows"], body=body), node("Add", ["last", "rows"], ["y"])]


def model_of(nodes, given):
    graph = helper.make_graph(nodes, "g", [info("x", FLOAT, ["n", "m"]), info("c", BOOL, [])], [info("y", FLOAT, None)],
                              [numpy_helper.from_array(np.array(3), "trips"), numpy_helper.from_array(np.array(0, np.float32), "zero")])
    return helper.make_model(graph, opset_imports=OPSETS, functions=given, ir_version=10)


def run_tool(tool, model, feeds):
    args = ["run", tool.file("m.onnx", model.SerializeToString()), "--output", f"y={tool.file('y.npy')}"]
    for name, x in feeds.items():
        np.save(tool.file(f"{name}.npy"), x)
        args += ["--input", f"{name}={tool.file(f'{name}.npy')}"]
    return args


def refused(tool, feeds):
    identity = node("Identity", ["x"], ["y"])
    circle = [helper.make_function(LOCAL, n, ["x"], ["y"], [call(other, ["x"], ["y"])], OPSETS) for n, other in (("A", "B"), ("B", "A"))]
    tool.fails(run_tool(tool, model_of([call("A", ["x"], ["y"])], circle), feeds), "nested too deeply, or call each other")
    many = [helper.make_function(LOCAL, f"F{i}", ["x"], ["y"], [call(f"F{i + 1}", ["x"], ["t"]), call(f"F{i + 1}", ["t"], ["y"])], OPSETS)
            for i in range(28)]
    many.append(helper.make_function(LOCAL, "F28", ["x"], ["y"], [identity], OPSETS))
    tool.fails(run_tool(tool, model_of([call("F0", ["x"], ["y"])], many), feeds), "too many nodes")
    tool.fails(run_tool(tool, model_of([call("Leaky", ["x", "x"], ["y"])], functions()), feeds), "too many inputs or outputs", "Leaky")
    tool.fails(run_tool(tool, model_of([call("Nothing", ["x"], ["y"])], functions()), feeds), "no converter for local.functions.Nothing")


def main():
    library, tool = sys.argv[1], Tool(sys.argv[2])
    x = np.random.default_rng(5).standard_normal((3, 5)).astype(np.float32)
    for what, nodes in cases():
        model = model_of(nodes, functions())
        for go in (True, False):
            feeds = {"x": x, "c": np.array(go)}
            want = cpu_session(model.SerializeToString()).run(None, feeds)[0]
            for how in ("provider", "command"):
                if how == "provider":
                    got = session(library, model.SerializeToString()).run(None, feeds)[0]
                else:
                    result = tool.run(*run_tool(tool, model, feeds))
                    if not tool.test(result.returncode == 0, f"{what}, {how}: {result.stderr.strip()[-300:]}"):
                        continue
                    got = np.load(tool.file("y.npy"))
                tool.test(got.shape == want.shape and np.allclose(got, want, atol=1e-5), f"{what} {go}, {how}: {got.ravel()[:4]}, {want.ravel()[:4]}")
    # ONNX Runtime refuses a function one output of which is an input; ONNX does not.
    model = model_of([call("Both", ["x"], ["a", "b", "d"]), node("Sub", ["b", "a"], ["e"]), node("Add", ["e", "d"], ["y"])],
                     [helper.make_function(LOCAL, "Both", ["x"], ["x", "a", "a"], [node("Abs", ["x"], ["a"])], OPSETS)])
    result = tool.run(*run_tool(tool, model, {"x": x, "c": np.array(True)}))
    tool.test(result.returncode == 0 and np.allclose(np.load(tool.file("y.npy")), 2 * abs(x) - x, atol=1e-6), f"outputs that are inputs: {result.stderr}")
    refused(tool, {"x": x, "c": np.array(True)})
    tool.finish()


if __name__ == "__main__":
    main()
