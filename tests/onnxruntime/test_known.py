# SPDX-License-Identifier: Apache-2.0
"""Which values the host computes while a graph is compiled: the provider's cuts and the compiler agree, for all operators.

    test_known.py LIBRARY [--match REGEX] [--verbose]

Each case of ONNX's node tests that is one node, and each of empty_cases.py's of operators that ONNX does not have, runs between
others:
  sizes      its inputs follow from a shape, and a size follows from its result,
  If, Loop   the same in an inner graph, with what it needs outside,
  computed   one input in turn is computed by an operator of the device.
Positions of more numbers than the host computes with are also found, where sizes are free.
What the CPU provider computes of such a model the execution provider computes, too.
"""
import argparse
import collections
import re
import sys

from provider import np, onnx, session # first: it skips where a package is missing
from empty_cases import contrib_cases
from single_nodes import Case, by_cpu, converters, in_processes, onnx_cases, wrong
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ADDED = {FLOAT, TensorProto.DOUBLE, TensorProto.INT32, INT64} # ONNX Runtime's CPU provider adds these alone
node = helper.make_node
X = np.arange(35, dtype=np.float32).reshape(5, 7)
CONSTANTS = {"_zero": [0], "_one": [1], "_five": 5, "_all": [-1], "_first": 0}


def infos(feeds):
    return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), [f"{n}_{d}" for d in range(x.ndim)])
            for n, x in feeds.items()]


def model_of(case, nodes, inputs, outputs, constants):
    tensors = [numpy_helper.from_array(x, n) for n, x in constants.items()]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, tensors), opset_imports=case.opsets,
                             ir_version=10).SerializeToString()


# ---- an operator between a shape and a size ----


def around(case):
    """Nodes from _x [n, m] to _y: the case's inputs plus a zero that the shape of _x is needed for, its first result, a size
    of one or two, and what _x has up to there."""
    nodes = [node("Shape", ["_x"], ["_shape"]), node("Gather", ["_shape", "_first"], ["_n"]), node("Sub", ["_n", "_five"], ["_nothing"])]
    inner = helper.make_node("Identity", ["_x"], ["_x"])
    inner.CopyFrom(case.node)
    values = {}
    for name, x in case.feeds.items():
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        wide = kind if kind in ADDED | {BOOL} else INT64 if x.dtype.kind in "iu" else FLOAT
        nodes += [node("Cast", ["_nothing"], [f"{name}_none"], to=wide),
                  node("Or" if kind == BOOL else "Add", [f"{name}_value", f"{name}_none"], [f"{name}_wide"]),
                  node("Cast", [f"{name}_wide"], [name], to=kind)]
        values[f"{name}_value"] = x.astype(helper.tensor_dtype_to_np_dtype(wide))
    result = case.node.output[0]
    nodes += [inner, node("Cast", [result], ["_floats"], to=FLOAT), node("Reshape", ["_floats", "_all"], ["_line"]),
              node("Slice", ["_line", "_zero", "_one"], ["_head"]), node("Greater", ["_head", "_limit"], ["_large"]),
              node("Cast", ["_large"], ["_rest"], to=INT64), node("Add", ["_rest", "_one"], ["_size"]),
              node("Slice", ["_x", "_zero", "_size"], ["_cut"]), node("Exp", ["_cut"], ["_y"])]
    constants = {n: np.array(v, np.int64) for n, v in CONSTANTS.items()}
    constants.update(values, _limit=np.array([0.123], np.float32))
    return nodes, constants


def plain_sizes(case):
    nodes, constants = around(case)
    return model_of(case, nodes, infos({"_x": X}), [helper.make_tensor_value_info("_y", FLOAT, None)], constants), {"_x": X}


def if_sizes(case):
    nodes, constants = around(case)
    branch = helper.make_graph(nodes, "then", [], [helper.make_tensor_value_info("_y", FLOAT, None)])
    other = helper.make_graph([node("Neg", ["_x"], ["_z"])], "else", [], [helper.make_tensor_value_info("_z", FLOAT, None)])
    feeds = {"_x": X, "_c": np.array(True)}
    return model_of(case, [node("If", ["_c"], ["_r"], then_branch=branch, else_branch=other)], infos(feeds),
                    [helper.make_tensor_value_info("_r", FLOAT, None)], constants), feeds


def loop_sizes(case):
    nodes, constants = around(case)
    nodes.append(node("Identity", ["_go"], ["_on"]))
    body = helper.make_graph(nodes, "body", [helper.make_tensor_value_info("_i", INT64, []),
                                             helper.make_tensor_value_info("_go", BOOL, [])],
                             [helper.make_tensor_value_info("_on", BOOL, []), helper.make_tensor_value_info("_y", FLOAT, None)])
    feeds = {"_x": X, "_trips": np.array(2)}
    return model_of(case, [node("Loop", ["_trips", ""], ["_r"], body=body)], infos(feeds),
                    [helper.make_tensor_value_info("_r", FLOAT, None)], constants), feeds


# ---- inputs that the device computes ----


def computed(case, name):
    """The model whose input `name` goes through Pad, which adds nothing and which the host does not compute."""
    kind = helper.np_dtype_to_tensor_dtype(case.feeds[name].dtype)
    x = case.feeds[name]
    nodes, inner, names = [], onnx.NodeProto(), {name: f"{name}_flat"}
    nodes += [node("Shape", [names[name]], ["_given"]), node("Reshape", [names[name], "_all"], ["_line"]),
              node("Pad", ["_line", "_pads"], ["_padded"]), node("Reshape", ["_padded", "_given"], [name])]
    inner.CopyFrom(case.node)
    feeds = {names.get(n, n): v for n, v in case.feeds.items()}
    outputs = [helper.make_tensor_value_info(n, t, None) for n, t in case.outputs.items()]
    constants = {"_all": np.array([-1]), "_pads": np.array([0, 0])}
    return (model_of(case, [*nodes, inner], infos(feeds), outputs, constants), feeds) if kind and x.size else None


def models(case):
    """name -> (model, feeds)"""
    found = {"sizes": plain_sizes(case), "If": if_sizes(case), "Loop": loop_sizes(case)}
    found.update({f"computed {name}": computed(case, name) for name in case.feeds})
    return {k: v for k, v in found.items() if v}


def many_positions():
    """The scores, of any number, above a limit, as detectors select them."""
    nodes = [node("Sigmoid", ["_x"], ["_scores"]), node("Reshape", ["_scores", "_all"], ["_line"]),
             node("Greater", ["_line", "_limit"], ["_high"]), node("NonZero", ["_high"], ["_places"]),
             node("Squeeze", ["_places", "_zero"], ["_rows"]), node("Gather", ["_line", "_rows"], ["_y"])]
    constants = {"_all": np.array([-1]), "_zero": np.array([0]), "_limit": np.array(0.6, np.float32)}
    feeds = {"_x": np.sin(np.arange(70000, dtype=np.float32)).reshape(7000, 10)}
    tensors = [numpy_helper.from_array(x, n) for n, x in constants.items()]
    graph = helper.make_graph(nodes, "g", infos(feeds), [helper.make_tensor_value_info("_y", FLOAT, ["_count"])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString(), feeds


# Where ONNX Runtime has no reference.
ACCEPTED = {("MaxUnpool", 1): "it spreads the indices over output_shape"}


def ours(library, model, feeds):
    try:
        return session(library, model, level=4).run(None, feeds)
    except Exception as error: # pylint: disable=broad-except
        return str(error)[-200:]


def compare(library, model, feeds, want):
    got = ours(library, model, feeds)
    return got if isinstance(got, str) else wrong(got, want)


def all_cases():
    """(domain, operator) -> cases"""
    cases = collections.defaultdict(list, {("", op): found for op, found in onnx_cases(2).items()})
    for domain, op, inner, opsets, feeds, outputs in contrib_cases():
        cases[domain, op].append(Case(inner, opsets, feeds, outputs))
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--match", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    cases, total = all_cases(), collections.Counter()
    for domain, op in [row for row in converters() if re.search(args.match, ".".join(row).lstrip("."))]:
        runs = [(i, name, *made) for i, case in enumerate(cases[domain, op]) for name, made in models(case).items()]
        wants = in_processes(lambda run: by_cpu(*run[2:], False), runs)
        known = [(*run, want) for run, want in zip(runs, wants) if isinstance(want, list) and (op, run[0]) not in ACCEPTED]
        results = in_processes(lambda run: compare(args.library, *run[2:]), known, 60)
        for (i, name, *_), bad in zip(known, results):
            total["failed" if bad else "passed"] += 1
            if bad:
                print(f"FAILED: {op} case {i}, {name}: {bad}", flush=True)
        total["refused"] += len(runs) - len(known)
        if args.verbose:
            print(f"{op}: {len(runs)} models, {len(known)} that ONNX Runtime computes", flush=True)
    model, feeds = many_positions()
    bad = in_processes(lambda run: compare(args.library, *run), [(model, feeds, by_cpu(model, feeds, False))], 60)[0]
    total["failed" if bad else "passed"] += 1
    if bad:
        print(f"FAILED: many positions: {bad}", flush=True)
    print(dict(total))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
