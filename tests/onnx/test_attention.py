# SPDX-License-Identifier: Apache-2.0
"""Attention as torch exports it, in single operators: test_attention.py ANYDML

Q and K are multiplied by the root of the scale, K is transposed before that, windows are a second dimension of batches,
and weights that are NaN, of queries whose keys are all masked, become 0. Compared with float64.
"""
import sys

import numpy as np

from node_compare import Compare
from onnx_tool import helper

node = helper.make_node
BATCHES, HEADS, QUERIES, KEYS, SIZE = 3, 4, 9, 13, 24


def heads_of(name, rows, out, order):
    return [node("Reshape", [name, rows], [f"{name}_heads"]),
            node("Transpose", [f"{name}_heads"], [out], perm=order)]


def scaled(form, given, out, constant):
    """torch's multiplication by the root, a division, or none"""
    if form == "plain":
        return [node("Identity", [given], [out])]
    return [node("Mul" if form == "mul" else "Div", [given, constant], [out])]


def graph_of(form_q, form_k, mask, safe):
    """[B, L, H * D] to [B, L, H * D]"""
    nodes = (heads_of("q", "rows_q", "q4", [0, 2, 1, 3]) + heads_of("k", "rows_k", "k4", [0, 2, 3, 1]) +
             heads_of("v", "rows_k", "v4", [0, 2, 1, 3]) + scaled(form_q, "q4", "qs", "c") + scaled(form_k, "k4", "ks", "c") +
             [node("MatMul", ["qs", "ks"], ["s"])])
    last = "s"
    if mask:
        nodes.append(node("Add", [last, "mask"], ["sm"]))
        last = "sm"
    nodes.append(node("Softmax", [last], ["w"], axis=-1))
    last = "w"
    if safe:
        nodes += [node("IsNaN", ["w"], ["nan"]), node("Where", ["nan", "zero", "w"], ["w0"])]
        last = "w0"
    return nodes + [node("MatMul", [last, "v4"], ["y4"]), node("Transpose", ["y4"], ["y5"], perm=[0, 2, 1, 3]),
                    node("Reshape", ["y5", "rows_y"], ["y"])]


def einsum_graph(mask):
    """The same by Einsum, K multiplied by the whole scale, as in MaxViT"""
    nodes = (heads_of("q", "rows_q", "q4", [0, 2, 1, 3]) + heads_of("k", "rows_k", "k4", [0, 2, 1, 3]) +
             heads_of("v", "rows_k", "v4", [0, 2, 1, 3]) + scaled("mul", "k4", "ks", "c") +
             [node("Einsum", ["q4", "ks"], ["s"], equation="bhid,bhjd->bhij")])
    nodes += [node("Add", ["s", "mask"], ["sm"])] if mask else []
    return nodes + [node("Softmax", ["sm" if mask else "s"], ["w"], axis=-1),
                    node("Einsum", ["w", "v4"], ["y4"], equation="bhij,bhjd->bhid"),
                    node("Transpose", ["y4"], ["y5"], perm=[0, 2, 1, 3]), node("Reshape", ["y5", "rows_y"], ["y"])]


def two_masks():
    """Positions by head and windows by batch, as in Swin"""
    nodes = graph_of("mul", "mul", True, False)
    at = next(i for i, n in enumerate(nodes) if n.op_type == "Softmax")
    return nodes[:at] + [node("Add", ["windows", "sm"], ["sw"]), node("Softmax", ["sw"], ["w"], axis=-1)] + nodes[at + 1:]


def reference(x, factor, mask, safe):
    q, k, v = (x[name].astype(np.float64).reshape(BATCHES, -1, HEADS, SIZE).transpose(0, 2, 1, 3) for name in "qkv")
    scores = factor * (q @ k.transpose(0, 1, 3, 2)) + (0 if mask is None else mask.astype(np.float64))
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where((total == 0) & safe, 1, np.where(total == 0, np.nan, total))
    return (weights @ v).transpose(0, 2, 1, 3).reshape(BATCHES, QUERIES, HEADS * SIZE)


def masks_of(c):
    """None; by key; by head, query and key; and one that leaves a query without keys."""
    inside = c.random.random((1, 1, QUERIES, KEYS)) > 0.3
    inside[..., 0] = True
    empty = inside.copy()
    empty[0, 0, 2] = False
    number = c.random.standard_normal((1, HEADS, QUERIES, KEYS))
    return {"none": None, "keys": np.where(inside, 0, -np.inf), "heads": number, "empty": np.where(empty, 0, -np.inf)}


def fuses(c, nodes, x, want, constants, wanted=("attention",)):
    """Q, K and V are read where they are."""
    path = c.file("graph.onnx", c.model(nodes, x, want, constants, 20).SerializeToString())
    steps = [line.split()[0] for line in c.works("graph", path).split("plan:")[0].splitlines() if line[:1].isalpha()]
    c.test([step for step in steps if step != "graph:"] == list(wanted), f"the graph has the steps {steps}")


def main():
    c = Compare(sys.argv[1])
    factors = {"plain": 1.0, "mul": 0.45, "div": 1 / 0.45}
    for kind, bound in ((np.float32, 1e-5), (np.float16, 4e-3)):
        sizes = {"q": QUERIES, "k": KEYS, "v": KEYS}
        x = {name: c.random.standard_normal((BATCHES, rows, HEADS * SIZE)).astype(kind) for name, rows in sizes.items()}
        constants = {"rows_q": np.array([BATCHES, QUERIES, HEADS, SIZE]), "rows_k": np.array([BATCHES, KEYS, HEADS, SIZE]),
                     "rows_y": np.array([BATCHES, QUERIES, HEADS * SIZE]), "c": np.array(0.45, kind), "zero": np.array(0, kind)}
        masks = masks_of(c)
        for what in ("none", "keys", "heads"):
            mask = None if masks[what] is None else masks[what].astype(kind)
            nodes = einsum_graph(mask is not None)
            used = {i for n in nodes for i in n.input}
            known = {name: value for name, value in dict(constants, mask=mask).items() if name in used}
            want = {"y": reference(x, 0.45, mask, False).astype(kind)}
            c.outputs(f"{kind.__name__}, Einsum, {what}", nodes, x, want, known, 20, bound, bound)
            fuses(c, nodes, x, want, known)
        windows = np.where(c.random.random((BATCHES, 1, QUERIES, KEYS)) > 0.3, 0, -30).astype(kind)
        heads = masks["heads"].astype(kind)
        nodes = two_masks()
        want = {"y": reference(x, 0.45 * 0.45, heads + windows, False).astype(kind)}
        used = {i for n in nodes for i in n.input}
        known = {name: value for name, value in constants.items() if name in used}
        for what, given in ({"constant": {}, "given": {"mask": heads, "windows": windows}}).items():
            fixed = {**known, **({} if given else {"mask": heads, "windows": windows})}
            c.outputs(f"{kind.__name__}, two masks, {what}", nodes, {**x, **given}, want, fixed, 20, bound, bound)
            fuses(c, nodes, {**x, **given}, want, fixed, ("map", "attention") if given else ("attention",))
        for form_q in factors:
            for form_k in factors:
                for what, mask in masks.items():
                    for safe in (False, True):
                        if (what in ("keys", "heads")) != (form_q == form_k == "mul") and what != "none":
                            continue
                        if what == "empty" and not safe:
                            continue
                        nodes = graph_of(form_q, form_k, mask is not None, safe)
                        used = {i for n in nodes for i in n.input}
                        given = dict(constants, **({} if mask is None else {"mask": mask.astype(kind)}))
                        factor = float(np.float64(factors[form_q]) * factors[form_k])
                        want = reference(x, factor, None if mask is None else mask.astype(kind), safe)
                        known = {name: value for name, value in given.items() if name in used}
                        c.outputs(f"{kind.__name__}, {form_q}, {form_k}, {what}, {safe}", nodes, x, {"y": want.astype(kind)},
                                  known, 20, bound, bound)
                        if form_q == form_k == "mul":
                            fuses(c, nodes, x, {"y": want.astype(kind)}, known)
    c.finish()


if __name__ == "__main__":
    main()
