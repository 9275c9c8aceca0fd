# SPDX-License-Identifier: Apache-2.0
"""Operators that the host computes between the programs of a model in `anydml run`: test_host.py ANYDML

Beside ONNX Runtime's CPU provider; NumPy where that leaves something open (NaN in Unique), and statistics for random numbers.
"""
import itertools
import sys

import numpy as np

from onnx_tool import OnnxTool, TensorProto, helper, numpy_helper

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64
ML = "ai.onnx.ml"
node = helper.make_node
rng = np.random.default_rng(16)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def type_of(x):
    return helper.np_dtype_to_tensor_dtype(x.dtype)


def model_of(nodes, inputs, outputs, ml=3, constants=None, opset=21):
    """Outputs: names. All sizes are free."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, type_of(x), [None] * x.ndim) for n, x in inputs.items()],
                              [helper.make_empty_tensor_value_info(n) for n in outputs],
                              [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])
    for output in graph.output: # a type that ONNX Runtime infers itself
        output.type.tensor_type.elem_type = 0
        output.ClearField("type")
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(ML, ml)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


class Host(OnnxTool):

    def compare(self, what, nodes, inputs, outputs, wanted=None, limit=1e-5, **keywords):
        model = model_of(nodes, inputs, outputs, **keywords)
        wanted = wanted or self.reference(model, inputs)
        for output, want in zip(model.graph.output, wanted): # the command asks for declared types
            output.type.CopyFrom(helper.make_tensor_type_proto(type_of(want), None))
        for name, got, want in zip(outputs, self.execute(what, model, inputs, outputs) or [], wanted):
            if self.same_form(f"{what}: {name}", got, want):
                same = np.allclose(got.astype(float), want.astype(float), rtol=limit, atol=limit, equal_nan=True)
                self.test(same, f"{what}: {name} is {got.ravel()[:8]} instead of {want.ravel()[:8]}")

    def refuses(self, what, nodes, inputs, outputs, *fragments, **keywords):
        model = model_of(nodes, inputs, outputs, **keywords)
        for output in model.graph.output:
            output.type.CopyFrom(helper.make_tensor_type_proto(FLOAT, None))
        self.fails(self.arguments(model, inputs, outputs), *fragments)


# ---- sizes that depend on values ----


def boxes_of(batch, count, centers):
    boxes = rng.random((batch, count, 4)).astype(np.float32)
    if centers:
        boxes[..., 2:] *= 0.4
    else:
        boxes[..., 2:] = boxes[..., :2] + (boxes[..., 2:] - 0.3) * 0.5 # also with the corners exchanged
    boxes[:, ::5, 2:] = boxes[:, ::5, :2] # and without an area
    return boxes


def suppression(tool):
    limits = {"most": np.array([4]), "iou": np.array([0.3], np.float32), "least": np.array([0.35], np.float32)}
    for batch, classes, count in ((1, 1, 40), (2, 3, 17), (2, 2, 0), (1, 3, 1), (3, 1, 300)):
        for centers, given in itertools.product((0, 1), (["most", "iou", "least"], ["most", "", "least"], ["most", "iou"], ["most"], [])):
            scores = rng.random((batch, classes, count)).astype(np.float32)
            scores[..., 1::4] = scores[..., :1] # equal ones
            if "least" in given:
                scores[..., 3::7] = np.nan
            suppress = node("NonMaxSuppression", ["b", "s", *given], ["y"], center_point_box=centers)
            tool.compare(f"NonMaxSuppression {batch, classes, count, centers, given}", [suppress],
                         {"b": boxes_of(batch, count, centers), "s": scores}, ["y"], constants={n: limits[n] for n in given if n})
    # As detectors have it: the device computes the scores, and then the boxes that were selected.
    nodes = [node("Sigmoid", ["s"], ["p"]), node("NonMaxSuppression", ["b", "p", "most", "iou", "least"], ["chosen"]),
             node("Gather", ["chosen", "two"], ["at"], axis=1), node("Gather", ["b", "at"], ["kept"], axis=1),
             node("Mul", ["kept", "scale"], ["y"]), node("Shape", ["chosen"], ["z"])]
    constants = {**limits, "two": np.array(2), "scale": np.array(640, np.float32)}
    for count in (30, 7):
        tool.compare(f"a detector's end, {count} boxes", nodes, {"b": boxes_of(1, count, 0), "s": floats(1, 2, count)}, ["y", "z"],
                     constants=constants)
    tool.refuses("an overlap above 1", [node("NonMaxSuppression", ["b", "s", "most", "iou"], ["y"])],
                 {"b": boxes_of(1, 3, 0), "s": floats(1, 1, 3)}, ["y"], "NonMaxSuppression", "iou_threshold is 2",
                 constants={"most": np.array([4]), "iou": np.array([2], np.float32)})
    tool.refuses("scores of other boxes", [node("NonMaxSuppression", ["b", "s"], ["y"])],
                 {"b": boxes_of(1, 3, 0), "s": floats(1, 1, 4)}, ["y"], "NonMaxSuppression", "do not fit")


def uniques(tool):
    names = ["y", "first", "back", "counts"]
    for dtype, sort in itertools.product((np.float32, np.int64, np.int8, np.float64), (0, 1)):
        for shape, axis in (((23,), None), ((3, 9), None), ((9, 2), 0), ((2, 9), 1), ((2, 9, 1), -2), ((0,), None), ((7, 1), -1)):
            attributes = {} if axis is None else {"axis": axis}
            tool.compare(f"Unique {dtype.__name__} {shape} {axis} sorted={sort}",
                         [node("Unique", ["x"], names, sorted=sort, **attributes)], {"x": rng.integers(-2, 3, shape).astype(dtype)}, names)
    x = np.array([3, np.nan, 1, np.nan, -np.inf, 3, 1], np.float32)
    tool.compare("Unique with NaN", [node("Unique", ["x"], names)], {"x": x}, names, wanted=list(np.unique(x, True, True, True)))
    large = np.array([2**53, 2**53 + 1, -2**63, 2**53])
    tool.compare("Unique of large integers", [node("Unique", ["x"], ["y"])], {"x": large}, ["y"])
    tool.compare("the third result of Unique alone", [node("Unique", ["x"], ["", "", "y"])], {"x": x[::2]}, ["y"],
                 wanted=[np.unique(x[::2], False, True)[1]])
    nodes = [node("Mul", ["x", "two"], ["d"]), node("Unique", ["d"], ["u"]), node("Exp", ["u"], ["y"])]
    tool.compare("Unique between operators", nodes, {"x": rng.integers(0, 4, (50,)).astype(np.float32)}, ["y"],
                 constants={"two": np.array(2, np.float32)})


# ---- random numbers ----


def sample(tool, what, nodes, inputs, types):
    model = model_of(nodes, inputs, list(types))
    for output in model.graph.output:
        output.type.CopyFrom(helper.make_tensor_type_proto(types[output.name], None))
    return tool.execute(what, model, inputs, list(types)) or [np.zeros(1)] * len(types)


def randoms(tool):
    n, x = 40000, np.full((200, 200), 0.25, np.float32)
    for kind in (FLOAT, DOUBLE, TensorProto.FLOAT16):
        nodes = [node("RandomNormal", [], ["a"], shape=[n], mean=2.0, scale=3.0, dtype=kind, seed=1.0),
                 node("RandomUniform", [], ["b"], shape=[4, n // 4], low=-2.0, high=6.0, dtype=kind),
                 node("RandomNormalLike", ["x"], ["c"], dtype=kind), node("RandomUniformLike", ["x"], ["d"], dtype=kind)]
        what = f"random numbers of type {kind}"
        a, b, c, d = (v.astype(float) for v in sample(tool, what, nodes, {"x": x}, dict.fromkeys("abcd", kind)))
        for v, shape, mean, deviation in ((a, (n,), 2, 3), (b, (4, n // 4), 2, 8 / 12**0.5), (c, x.shape, 0, 1),
                                          (d, x.shape, 0.5, 1 / 12**0.5)):
            error = max(abs(v.mean() - mean), abs(v.std() - deviation)) / deviation # five deviations of the mean
            tool.test(v.shape == shape and error < 5 / n**0.5, f"{what}: {v.shape}, mean {v.mean()}, deviation {v.std()}")
        tool.test(b.min() >= -2 and b.max() <= 6 and 0 <= d.min(), f"{what}: from {b.min()} to {b.max()}")
        normal = np.sort((a - 2) / 3)[[n // 40, n // 6, n // 2, n - n // 40]]
        tool.test(np.allclose(normal, [-1.96, -0.9674, 0, 1.96], atol=0.06), f"{what}: quantiles {normal}")
        tool.test(abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < 0.03, f"{what}: neighbours depend on each other")
    seeded = [node("RandomNormal", [], ["a"], shape=[9], seed=1.0), node("RandomNormal", [], ["b"], shape=[9], seed=2.0),
              node("RandomNormal", [], ["c"], shape=[9])]
    runs = [sample(tool, "seeds", seeded, {}, dict.fromkeys("abc", FLOAT)) for _ in range(2)]
    tool.test([np.array_equal(*pair) for pair in zip(*runs)] == [True, True, False] and not np.array_equal(*runs[0][:2]),
              f"seeds: {runs}")
    nodes = [node("Bernoulli", ["x"], ["a"]), node("Bernoulli", ["x"], ["b"], dtype=TensorProto.BOOL),
             node("Multinomial", ["logits"], ["c"], sample_size=n, dtype=INT64), node("Multinomial", ["logits"], ["d"])]
    logits = np.log(np.array([[1, 2, 3, 4], [5, 0, 5, 0]], np.float32) / 10, where=np.array([[1] * 4, [1, 0, 1, 0]], bool),
                    out=np.full((2, 4), -np.inf, np.float32))
    a, b, c, d = sample(tool, "Bernoulli and Multinomial", nodes, {"x": x, "logits": logits},
                        {"a": FLOAT, "b": TensorProto.BOOL, "c": INT64, "d": TensorProto.INT32})
    tool.test(a.shape == b.shape == x.shape and abs(a.mean() - 0.25) < 0.02 and abs(b.mean() - 0.25) < 0.02 and set(np.unique(a)) == {0, 1},
              f"Bernoulli: {a.mean()}, {b.mean()}")
    shares = [np.bincount(row, minlength=4) / n for row in c.astype(int)]
    tool.test(d.shape == (2, 1) and np.allclose(shares, np.exp(logits), atol=0.02), f"Multinomial: {shares}, {d}")
    tool.refuses("random integers", [node("RandomUniform", [], ["y"], shape=[3], dtype=TensorProto.INT32)], {}, ["y"], "data type 6")


# ---- trees ----

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def trees(count, depth, features, targets, name, modes=MODES, positive=False, weights_each=1):
    """Random trees of the given depth; the lists of names and numbers are in the order of the nodes, a parent before or
    behind its children."""
    lists = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                                 "missing_value_tracks_true")}
    leaves = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree, at, level):
        leaf = level == depth or (level and rng.random() < 0.2)
        value = 0.0 if leaf else round(float(rng.standard_normal()), 1)
        for key, v in (("treeids", tree), ("nodeids", at), ("featureids", 0 if leaf else int(rng.integers(features))),
                       ("modes", "LEAF" if leaf else modes[rng.integers(len(modes))]), ("values", value),
                       ("truenodeids", 0 if leaf else 2 * at + 1), ("falsenodeids", 0 if leaf else 2 * at + 2),
                       ("missing_value_tracks_true", int(rng.integers(2)))):
            lists[key].append(v)
        for target in rng.choice(targets, min(weights_each, len(targets)), replace=False) if leaf else []:
            weight = float(rng.standard_normal())
            for key, v in (("treeids", tree), ("nodeids", at), ("ids", int(target)), ("weights", abs(weight) / count if positive else weight)):
                leaves[key].append(v)
        if not leaf:
            grow(tree, 2 * at + 1, level + 1)
            grow(tree, 2 * at + 2, level + 1)

    for tree in range(count):
        grow(tree, 0, 0)
    named = {"treeids": "treeids", "nodeids": "nodeids", "ids": "ids", "weights": "weights"}
    return {**{f"nodes_{k}": v for k, v in lists.items()}, **{f"{name}_{named[k]}": v for k, v in leaves.items()}}


def features_of(rows, columns, dtype=np.float32):
    x = (np.round(rng.standard_normal((rows, columns)), 1) * (10 if dtype in (np.int32, np.int64) else 1)).astype(dtype)
    if x.dtype.kind == "f":
        x[::3, 1::2] = np.nan
    return x


def tree_regressors(tool):
    for dtype, targets in itertools.product((np.float32, np.float64), (1, 3)):
        x = features_of(21, 5, dtype)
        for aggregate, post in itertools.product(("SUM", "AVERAGE", "MIN", "MAX"), ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")):
            # ONNX Runtime forgets the base value of a target that no leaf has a weight for.
            base = {"base_values": floats(targets).tolist()} if rng.random() < 0.5 else {}
            given = trees(7, 4, 5, range(targets), "target", weights_each=targets if base else 1)
            tool.compare(f"TreeEnsembleRegressor {dtype.__name__} {targets} {aggregate} {post} {base}",
                         [node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=targets, aggregate_function=aggregate,
                               post_transform=post, **given, **base)], {"x": x}, ["y"])
    given = trees(3, 3, 4, range(1), "target", positive=True)
    nodes = [node("Mul", ["x", "x"], ["z"]), node("TreeEnsembleRegressor", ["z"], ["t"], domain=ML, n_targets=1, **given), node("Exp", ["t"], ["y"])]
    for rows in (9, 1, 0):
        tool.compare(f"trees between operators, {rows} rows", nodes, {"x": features_of(rows, 4)}, ["y"])
    given = {k: v for k, v in trees(2, 3, 4, range(2), "target").items() if k not in ("nodes_values", "target_weights")}
    count, leaves = len(given["nodes_treeids"]), len(given["target_ids"])
    given["nodes_values_as_tensor"] = numpy_helper.from_array(rng.standard_normal(count))
    given["target_weights_as_tensor"] = numpy_helper.from_array(rng.standard_normal(leaves))
    tool.compare("trees of doubles", [node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=2, **given)],
                 {"x": rng.standard_normal((30, 4))}, ["y"])


def tree_classifiers(tool):
    for classes, count in ((2, 1), (2, 2), (3, 3), (5, 5)): # count: of those that have weights
        for positive, post, base, each in itertools.product((True, False), ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"),
                                                            (0, 1, classes), (1, 2)):
            # ONNX Runtime forgets the base value of a class that no leaf has a weight for.
            if (base == 1 and count > 1) or (count == 1 and (each == 2 or base == 2)) or (base == 2 and each == 1):
                continue
            given = trees(6, 3, 4, range(classes) if count > 1 else [0], "class", positive=positive, weights_each=each)
            if base:
                given["base_values"] = floats(base).tolist()
            labels = rng.permutation(20)[:classes].tolist()
            outputs = ["label", "y"]
            if classes == count == 2: # both have scores: for ONNX Runtime, the label is 1 where that of the second is positive
                outputs = ["y"]
            tool.compare(f"TreeEnsembleClassifier {classes, count, positive, post, base, each}",
                         [node("TreeEnsembleClassifier", ["x"], ["label", "y"], domain=ML, classlabels_int64s=labels, post_transform=post, **given)],
                         {"x": features_of(16, 4, rng.choice([np.float32, np.float64, np.int64, np.int32]))}, outputs)
    given = trees(4, 3, 4, range(2), "class", weights_each=2)
    nodes = [node("TreeEnsembleClassifier", ["x"], ["label", "y"], domain=ML, classlabels_int64s=[4, 9], **given)]
    x = {"x": features_of(20, 4)}
    scores = tool.reference(model_of(nodes, x, ["y"]), x)[0]
    tool.compare("the label of the better of two classes", nodes, x, ["label"], wanted=[np.array([4, 9])[scores.argmax(1)]])
    given = trees(2, 2, 3, range(2), "class")
    tool.refuses("string labels", [node("TreeEnsembleClassifier", ["x"], ["label", "y"], domain=ML, classlabels_strings=["a", "b"], **given)],
                 {"x": features_of(2, 3)}, ["y"], "TreeEnsembleClassifier", "strings are not supported")


def numbered_trees(tool):
    """TreeEnsemble of version 5: a chain of tests, each of which may end in a leaf."""
    def tensor(values, dtype):
        return numpy_helper.from_array(np.array(values, dtype))
    for dtype, targets, aggregate, post in itertools.product((np.float32, np.float64), (1, 3), range(4), range(3)):
        count, members = 9, []
        modes = [int(rng.integers(7)) for _ in range(count)]
        for mode in modes:
            members += [*rng.integers(1, 6, 3), np.nan] if mode == 6 else []
        roots, x = [0, 5], features_of(18, 4, dtype)
        x[:, ::2] = np.round(np.abs(x[:, ::2]) * 3) # ONNX Runtime has sets of integers above 0 alone
        chain = [(i + 1 if i + 1 < count and i + 1 not in roots else None) for i in range(count)]
        given = {"nodes_featureids": [int(rng.integers(0, 2)) * 2 if mode == 6 else int(rng.integers(0, 4)) for mode in modes], "nodes_modes": tensor(modes, np.uint8),
                 "nodes_splits": tensor(np.round(rng.standard_normal(count), 1), dtype),
                 "nodes_truenodeids": [count + (i + 1 == count) if c is None else c for i, c in enumerate(chain)],
                 "nodes_trueleafs": [int(c is None) for c in chain], "nodes_falsenodeids": list(range(count)), "nodes_falseleafs": [1] * count,
                 "nodes_missing_value_tracks_true": rng.integers(0, 2, count).tolist(), "tree_roots": roots,
                 "leaf_targetids": rng.integers(0, targets, count + 2).tolist(), "leaf_weights": tensor(rng.standard_normal(count + 2), dtype)}
        if members:
            given["membership_values"] = tensor(members, dtype)
        both = [[node("TreeEnsemble", ["x"], ["y"], domain=ML, n_targets=targets, aggregate_function=aggregate, post_transform=p, **given)]
                for p in (post, (0, 2, 1)[post])] # ONNX Runtime takes the numbers of SOFTMAX and LOGISTIC for each other
        tool.compare(f"TreeEnsemble {dtype.__name__} {targets} {aggregate} {post} {modes}", both[0], {"x": x}, ["y"], ml=5,
                     wanted=tool.reference(model_of(both[1], {"x": x}, ["y"], 5), {"x": x}))


def broken_trees(tool):
    x = {"x": features_of(3, 3)}
    whole = trees(2, 3, 3, range(1), "target", modes=MODES[:1])
    inner = whole["nodes_modes"].index("BRANCH_LEQ")
    for change, what in (({"nodes_values": whole["nodes_values"][1:]}, "differ in length"), ({"target_ids": whole["target_ids"][1:]}, "differ in length"),
                         ({"nodes_truenodeids": [99] * len(whole["nodes_nodeids"])}, "does not exist"),
                         ({"nodes_nodeids": [0] * len(whole["nodes_nodeids"])}, "two nodes have one number"),
                         ({"nodes_featureids": [7] * len(whole["nodes_nodeids"])}, "read 8 features, the input has 3"),
                         ({"nodes_featureids": [-1] * len(whole["nodes_nodeids"])}, "is negative"),
                         ({"target_ids": [5] * len(whole["target_ids"])}, "target that does not exist"),
                         ({"nodes_modes": ["LEAF" if m == "LEAF" else "BRANCH_NEAR" for m in whole["nodes_modes"]]}, "'BRANCH_NEAR'"),
                         ({"aggregate_function": "MEDIAN"}, "SUM, AVERAGE, MIN or MAX"), ({"post_transform": "TANH"}, "'TANH'")):
        tool.refuses(f"trees with {list(change)}", [node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **{**whole, **change})],
                     x, ["y"], "TreeEnsembleRegressor", what)
    circle = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0] * 3, "nodes_modes": ["BRANCH_LEQ"] * 3,
              "nodes_values": [0.0] * 3, "nodes_truenodeids": [1, 2, 1], "nodes_falsenodeids": [1, 2, 1],
              "target_treeids": [0], "target_nodeids": [0], "target_ids": [0], "target_weights": [1.0]}
    tool.refuses("trees in a circle", [node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **circle)], x, ["y"], "circle")
    tool.test(inner == 0, "the first node is a branch")


# ---- linear models and features ----


def linear(tool):
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        x = features_of(11, 5, dtype)
        x = np.nan_to_num(x)
        for targets, post in itertools.product((1, 3), ("NONE", "SOFTMAX", "LOGISTIC")):
            if (targets == 1 and post != "NONE") or dtype is not np.float32: # what ONNX Runtime has
                continue
            tool.compare(f"LinearRegressor {dtype.__name__} {targets} {post}",
                         [node("LinearRegressor", ["x"], ["y"], domain=ML, targets=targets, post_transform=post,
                               coefficients=floats(5 * targets).tolist(), intercepts=floats(targets).tolist())], {"x": x}, ["y"], limit=1e-4)
        for rows, labels, post in itertools.product((1, 2, 3, 4), (2, 4), ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")):
            if labels != max(rows, 2):
                continue
            tool.compare(f"LinearClassifier {dtype.__name__} {rows} {labels} {post}",
                         [node("LinearClassifier", ["x"], ["label", "y"], domain=ML, classlabels_ints=list(range(3, 3 + labels)), multi_class=1,
                               post_transform=post, coefficients=(floats(5 * rows) / 8).tolist(), intercepts=floats(rows).tolist())],
                         {"x": x}, ["label", "y"], limit=1e-4)
    nodes = [node("LinearClassifier", ["x"], ["label", "scores"], domain=ML, classlabels_ints=[0, 1, 2], coefficients=floats(15).tolist(),
                  intercepts=floats(3).tolist()), node("Normalizer", ["scores"], ["y"], domain=ML, norm="L1"), node("Abs", ["label"], ["z"])]
    tool.compare("a classifier and what follows", nodes, {"x": floats(4, 5)}, ["z", "y"], limit=1e-4)
    zip_map = [*nodes[:2], node("ZipMap", ["y"], ["maps"], domain=ML, classlabels_int64s=[0, 1, 2])]
    model = model_of(zip_map, {"x": floats(4, 5)}, ["label", "maps"])
    model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(INT64, None))
    model.graph.output[1].type.CopyFrom(helper.make_sequence_type_proto(helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, []))))
    x = {"x": floats(4, 5)}
    label, maps = tool.reference(model, x)
    got = tool.execute("ZipMap", model, x, ["label", "maps"])
    tool.test(got and np.array_equal(got[0], label) and np.allclose(got[1], [list(m.values()) for m in maps], atol=1e-5), f"ZipMap: {got}")
    tool.refuses("coefficients of other features", [node("LinearRegressor", ["x"], ["y"], domain=ML, coefficients=[1.0, 2.0])],
                 x, ["y"], "LinearRegressor", "2 coefficients", "5 features")


def machines(tool):
    kernels = (("LINEAR", [1.0, 0.0, 0.0]), ("POLY", [0.3, 1.0, 3.0]), ("RBF", [0.4, 0.0, 0.0]), ("SIGMOID", [0.2, 0.1, 0.0]))
    for (kernel, params), one in itertools.product(kernels, (0, 1)):
        given = {"kernel_type": kernel, "kernel_params": params, "rho": [0.3], "one_class": one}
        tool.compare(f"SVMRegressor {kernel} {one}",
                     [node("SVMRegressor", ["x"], ["y"], domain=ML, n_supports=6, support_vectors=floats(24).tolist(), coefficients=floats(6).tolist(), **given)],
                     {"x": floats(9, 4)}, ["y"], limit=1e-4)
    for (kernel, params), sizes, proba, post in itertools.product(kernels, ([2, 3], [3, 1, 2], [1, 2, 2, 3]), (False, True), ("NONE", "LOGISTIC", "SOFTMAX")):
        classes, count = len(sizes), sum(sizes)
        pairs = classes * (classes - 1) // 2
        given = {"prob_a": floats(pairs).tolist(), "prob_b": floats(pairs).tolist()} if proba else {}
        tool.compare(f"SVMClassifier {kernel} {sizes} {proba} {post}",
                     [node("SVMClassifier", ["x"], ["label", "y"], domain=ML, kernel_type=kernel, kernel_params=params, post_transform=post, vectors_per_class=sizes,
                           classlabels_ints=list(range(5, 5 + classes)), support_vectors=floats(4 * count).tolist(), rho=floats(pairs).tolist(),
                           coefficients=floats((classes - 1) * count).tolist(), **given)], {"x": floats(9, 4)}, ["label", "y"], limit=1e-3)
    tool.refuses("vectors of other features", [node("SVMRegressor", ["x"], ["y"], domain=ML, n_supports=2, support_vectors=[1.0] * 5, coefficients=[1.0, 2.0], rho=[0.0])],
                 {"x": floats(2, 4)}, ["y"], "SVMRegressor", "5 values for 2 vectors of 4 features")


def features(tool):
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        x = np.nan_to_num(features_of(7, 4, dtype))
        x[2] = 0
        for norm in ("MAX", "L1", "L2"):
            tool.compare(f"Normalizer {dtype.__name__} {norm}", [node("Normalizer", ["x"], ["y"], domain=ML, norm=norm)], {"x": x}, ["y"])
            tool.compare(f"Normalizer of a vector {norm}", [node("Normalizer", ["x"], ["y"], domain=ML, norm=norm)], {"x": x[0]}, ["y"])
        for count in (1, 4):
            scale, offset = floats(count).tolist(), floats(count).tolist()
            tool.compare(f"Scaler {dtype.__name__} {count}", [node("Scaler", ["x"], ["y"], domain=ML, scale=scale, offset=offset)], {"x": x}, ["y"])
        if dtype in (np.float32, np.int64):
            name = "imputed_value_floats" if dtype is np.float32 else "imputed_value_int64s"
            for values, gap in itertools.product(([7], [1, 2, 3, 4]), (np.nan, 0) if dtype is np.float32 else (0,)):
                filled = features_of(7, 4) if dtype is np.float32 else x
                replaced = {"replaced_value_float": float(gap)} if dtype is np.float32 else {"replaced_value_int64": gap}
                tool.compare(f"Imputer {dtype.__name__} {values} {gap}",
                             [node("Imputer", ["x"], ["y"], domain=ML, **{name: [float(v) if dtype is np.float32 else v for v in values]}, **replaced)],
                             {"x": filled}, ["y"])
    tool.compare("Binarizer", [node("Binarizer", ["x"], ["y"], domain=ML, threshold=0.3)], {"x": np.array([[0.2, 0.3, 0.4, -1]], np.float32)}, ["y"])
    x, k = floats(3, 2), rng.integers(-3, 3, (3, 4))
    for given, widths in (({"a": x, "b": floats(3, 3)}, [2, 3]), ({"a": x, "b": floats(3, 3)}, [1, 5])):
        tool.compare(f"FeatureVectorizer {widths}", [node("FeatureVectorizer", list(given), ["y"], domain=ML, inputdimensions=widths)], given, ["y"])
    for zeros in (0, 1):
        tool.compare(f"OneHotEncoder {zeros}", [node("OneHotEncoder", ["k"], ["y"], domain=ML, cats_int64s=[-3, -2, -1, 0, 1, 2], zeros=zeros)], {"k": k}, ["y"])
    tool.compare("OneHotEncoder of floats", [node("OneHotEncoder", ["k"], ["y"], domain=ML, cats_int64s=[5, 0, 1])], {"k": k.astype(np.float32)}, ["y"])
    labels = {"keys_int64s": [-1, 0, 2], "keys_floats": [0.5, float("nan"), -2.0], "values_int64s": [5, 6, 7], "values_floats": [0.5, 1.5, 2.5]}
    for keys, values in itertools.product(("int64s", "floats"), repeat=2):
        data = k if keys == "int64s" else np.array([[0.5, np.nan, -2, 3]], np.float32)
        for default in ({}, {f"default_{values[:-1]}": 9 if values == "int64s" else 9.5}):
            tool.compare(f"LabelEncoder {keys} {values} {default}",
                         [node("LabelEncoder", ["x"], ["y"], domain=ML, **{n: labels[n] for n in (f"keys_{keys}", f"values_{values}")}, **default)],
                         {"x": data}, ["y"], ml=4)
    tensors = {"keys_tensor": numpy_helper.from_array(np.array([-1.0, 2.0])), "values_tensor": numpy_helper.from_array(np.array([3, 4], np.int16)),
               "default_tensor": numpy_helper.from_array(np.array([-7], np.int16))}
    tool.compare("LabelEncoder of tensors", [node("LabelEncoder", ["x"], ["y"], domain=ML, **tensors)], {"x": k.astype(np.float64)}, ["y"], ml=4,
                 wanted=[np.where(k == -1, 3, np.where(k == 2, 4, -7)).astype(np.int16)])
    tool.refuses("LabelEncoder of strings", [node("LabelEncoder", ["x"], ["y"], domain=ML, keys_strings=["a"], values_int64s=[1])], {"x": k}, ["y"],
                 "LabelEncoder", "strings are not supported", ml=4)


# ---- where they stand ----


def places(tool):
    """In a branch, in a loop's body, and operators that nothing computes."""
    unique = helper.make_graph([node("Unique", ["x"], ["u"])], "then", [], [helper.make_tensor_value_info("u", FLOAT, None)])
    other = helper.make_graph([node("Neg", ["x"], ["v"])], "else", [], [helper.make_tensor_value_info("v", FLOAT, None)])
    x = rng.integers(0, 5, (12,)).astype(np.float32)
    for go in (True, False):
        nodes = [node("If", ["c"], ["r"], then_branch=unique, else_branch=other), node("Exp", ["r"], ["y"])]
        tool.compare(f"Unique in a branch, {go}", nodes, {"x": x, "c": np.array(go)}, ["y"])
        tool.compare(f"Unique in a branch that is known, {go}", nodes, {"x": x}, ["y"], constants={"c": np.array(go)})
    body = helper.make_graph([node("Unique", ["v"], ["u"]), node("Sub", ["u", "one"], ["v_out"]), node("Identity", ["c"], ["c_out"])], "body",
                             [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                              helper.make_tensor_value_info("v", FLOAT, [None])],
                             [helper.make_tensor_value_info("c_out", TensorProto.BOOL, []), helper.make_tensor_value_info("v_out", FLOAT, [None])])
    tool.compare("Unique in a loop", [node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": x}, ["y"],
                 constants={"n": np.array(3), "one": np.array(1, np.float32)})
    # Of no elements, so that the host knows the result.
    tool.refuses("GatherND of other batches", [node("GatherND", ["x", "i"], ["y"], batch_dims=1)], {"x": np.zeros((5, 4, 0), np.float32)}, ["y"],
                 "GatherND", "dimension 0 is 5 of the input and 1 of the indices", constants={"i": np.array([[0]])})
    tool.refuses("an operator without a converter", [node("StringNormalizer", ["x"], ["y"])], {"x": x}, ["y"],
                 "StringNormalizer", "no converter for ai.onnx.StringNormalizer")
    text = helper.make_graph([node("LabelEncoder", ["x"], ["y"], domain=ML, keys_strings=["a"], values_int64s=[1])], "g",
                             [helper.make_tensor_value_info("x", TensorProto.STRING, [None])], [helper.make_tensor_value_info("y", INT64, [None])])
    text = helper.make_model(text, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(ML, 4)], ir_version=8)
    tool.fails(tool.arguments(text, {"x": x}, ["y"]), "input 'x' has the data type string, which is not supported")
    tool.refuses("an operator of ai.onnx.ml without a converter", [node("CategoryMapper", ["x"], ["y"], domain=ML)], {"x": x}, ["y"],
                 "no converter for ai.onnx.ml.CategoryMapper")


def main():
    tool = Host(sys.argv[1])
    for part in (suppression, uniques, randoms, tree_regressors, tree_classifiers, numbered_trees, broken_trees, linear, machines, features, places):
        if len(sys.argv) < 3 or sys.argv[2] in part.__name__:
            part(tool)
    tool.finish()


if __name__ == "__main__":
    main()
