# SPDX-License-Identifier: Apache-2.0
"""Rewrites of the graphs of AOTAutograd before they are compiled: operators of torch whose results include what only other
devices need become operators of torch_directml."""
import contextlib
import math
import operator

import torch

_ops = torch.ops.torch_directml
_ATTENTION = torch.ops.aten._scaled_dot_product_fused_attention_overrideable.default
_ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_fused_attention_overrideable_backward.default
_PRODUCTS = {torch.ops.aten.bmm.default, torch.ops.aten.mm.default}


def _given(node):
    """The arguments of a node by name, with the defaults of the schema."""
    given = {schema.name: schema.default_value for schema in node.target._schema.arguments}
    given.update(zip((schema.name for schema in node.target._schema.arguments), node.args))
    given.update(node.kwargs)
    return given


def _val(node):
    return node.meta["val"]


def _mode(node):
    return getattr(_val(node), "fake_mode", None) or contextlib.nullcontext()


def _size(graph, node, dim):
    """A size as an argument: a number, or a node if it is symbolic."""
    size = _val(node).shape[dim]
    if isinstance(size, int):
        return size
    made = graph.call_function(torch.ops.aten.sym_size.int, (node, dim))
    made.meta["val"] = size
    return made


def _kept(graph, query, key, dropout):
    """The weights that dropout keeps: BOOL [batch, heads, queries, keys]."""
    sizes = [_size(graph, query, 0), _size(graph, query, 1), _size(graph, query, 2), _size(graph, key, 2)]
    q, k = _val(query), _val(key)
    drawn = graph.call_function(torch.ops.aten.rand.default, (sizes,), {"dtype": torch.float32, "device": q.device})
    kept = graph.call_function(torch.ops.aten.ge.Scalar, (drawn, dropout))
    with _mode(query):
        drawn.meta["val"] = q.new_empty((*q.shape[:3], k.shape[2]), dtype=torch.float32)
        kept.meta["val"] = drawn.meta["val"].new_empty(drawn.meta["val"].shape, dtype=torch.bool)
    return kept


def _items(node):
    """The readers of a node that returns several results, by index."""
    items = {}
    for user in node.users:
        if user.target is operator.getitem:
            items.setdefault(user.args[1], []).append(user)
    return items


def _attention(graph, node):
    """Returns the arguments that both passes share, for the backward pass."""
    given = _given(node)
    query, key, value, bias = (given[name] for name in ("query", "key", "value", "attn_bias"))
    scale = given["scale"]
    scale = 1 / math.sqrt(int(_val(query).shape[-1])) if scale is None else float(scale)
    dropout = float(given["dropout_p"])
    with graph.inserting_before(node):
        kept = _kept(graph, query, key, dropout) if dropout > 0 else None
        shared = (query, key, value, bias, bool(given["is_causal"]), scale, kept, dropout)
        made = graph.call_function(_ops.attention.default, shared)
    items = _items(node).get(0, [])
    made.meta = dict(node.meta)
    made.meta["val"] = _val(node)[0]
    for item in items:
        item.replace_all_uses_with(made)
    return shared


def _attention_backward(graph, node, shared):
    """The node has the indices of its results in common with the operator that replaces it; the fourth, the gradient of the
    mask, is not read: torch uses the parts where a mask has a gradient."""
    given = _given(node)
    with graph.inserting_before(node):
        made = graph.call_function(_ops.attention_backward.default, (given["grad_out"], *shared))
    made.meta = dict(node.meta)
    made.meta["val"] = tuple(_val(node)[:3])
    for item in [item for items in _items(node).values() for item in items]:
        item.replace_input_with(node, made)


def _erase_unused(graph, node):
    for items in _items(node).values():
        for item in items:
            if not item.users:
                graph.erase_node(item)
    if not node.users:
        graph.erase_node(node)


def settle_attention(graph):
    """Replaces scaled dot-product attention, whose forward pass returns sums of rows and a seed that its backward pass reads,
    by operators that recompute the scores in the backward pass."""
    passes = [(node, [n for n in graph.nodes if n.target is _ATTENTION_BACKWARD and _forward_of(n) is node])
              for node in graph.nodes if node.target is _ATTENTION]
    for node, backward in passes:
        if any(3 in _items(each) for each in backward):
            continue
        shared = _attention(graph, node)
        for each in backward:
            _attention_backward(graph, each, shared)
            _erase_unused(graph, each)
        _erase_unused(graph, node)


def _forward_of(node):
    """The forward pass whose results the backward pass reads."""
    out = _given(node)["out"]
    sums = _given(node)["logsumexp"]
    for each in (sums, out):
        while isinstance(each, torch.fx.Node) and each.target is not operator.getitem and each.all_input_nodes:
            each = each.all_input_nodes[0]  # through copies and detach
        if isinstance(each, torch.fx.Node) and each.target is operator.getitem and each.args[0].target is _ATTENTION:
            return each.args[0]
    return None


def settle_softmax(graph, is_view):
    """Replaces _safe_softmax by softmax for scores without a mask: these have no rows of -infinity, and eager attention uses
    softmax, too."""
    for node in graph.nodes:
        if node.target is torch.ops.aten._safe_softmax.default and len(node.args) == 2 and not node.kwargs:
            scores = node.args[0]
            while is_view(scores.target):
                scores = scores.args[0]
            if scores.target in _PRODUCTS:
                node.target, node.args = torch.ops.aten._softmax.default, (*node.args, False)
