# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention, from the rules of the specification, in float64; some cases against PyTorch."""
import numpy as np
import torch

from conformance import Case, edge, operator

NONE, LENGTH, END_START, PACKED, BOOLEAN = range(5)


def _wide(x):
    return np.asarray(x, np.float64)


def _leading(g, x, most=5):
    """The tensor with up to `most` dimensions by leading 1s."""
    return x.reshape((1,) * g.integer(0, most - x.ndim) + x.shape) if g.chance(0.3) else x


def _heads(tokens, heads):
    """{batch, sequence, heads * size} -> {batch, heads, sequence, size}"""
    batch, sequence, width = tokens.shape
    return tokens.reshape(batch, sequence, heads, width // heads).transpose(0, 2, 1, 3)


def _tokens(heads):
    batch, count, sequence, size = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(batch, sequence, count * size)


def _masked(mask_type, mask, batch, scores_shape):
    """True where keys are masked."""
    keys = np.arange(scores_shape[3])
    mask = None if mask is None else mask.astype(np.int64)
    if mask_type == NONE:
        return np.zeros(scores_shape, bool)
    if mask_type == BOOLEAN:
        return mask.reshape(scores_shape) == 0
    if mask_type == END_START:
        end, start = mask.reshape(2, batch)
        rows = (keys[None, :] >= end[:, None]) | (keys[None, :] < start[:, None])
    else:
        rows = keys[None, :] >= mask.reshape(-1)[:batch, None]
    return np.broadcast_to(rows[:, None, None, :], scores_shape)


def _softmax(scores):
    top = np.max(scores, -1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return weights / np.sum(weights, -1, keepdims=True)


def attend(q, k, v, scale, added, allowed=None):
    """Heads of float64; `added` to the scores, only `allowed` keys exist."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = scale * np.einsum("bnsh,bnth->bnst", q, k) + added
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
        v = np.where(np.any(allowed, axis=2)[..., None], v, 0)
    return np.einsum("bnst,bnth->bnsh", _softmax(scores), v)


class Problem:
    """Random sizes and tensors of one call."""

    def __init__(self, g):
        self.g, self.cached = g, g.op.endswith("1") and g.chance(0.5)
        source = g.pick("separate", "query_key", "key_value", "all", "past")
        self.source = "separate" if self.cached and source == "past" else source
        same = source in ("query_key", "all")
        self.key_heads = g.integer(1, 3)
        grouped = g.op.endswith("1") and not same
        self.heads = self.key_heads * (g.integer(1, 4) if grouped else 1)
        self.batch, self.sequence = g.integer(1, 3), g.pick(1, 1, 2, 5, g.integer(1, 80))
        self.keys = self.sequence if same else g.integer(1, g.pick(6, 40, 300))
        self.size = g.pick(1, 4, 8, 32, g.integer(1, 40))
        self.value_size = self.size if source in ("key_value", "all") else g.pick(self.size, g.integer(1, 40))
        self.fields, self.outputs = {}, {}
        self.has_past = not self.cached and (self.source == "past" or g.chance(0.4))
        self.past = g.integer(1, g.pick(5, 150)) if self.has_past else 0
        self.keys = 0 if self.source == "past" else self.keys
        self.total = self.past + self.keys + (g.integer(0, 6) if self.cached else 0)

    def array(self, *shape):
        return self.g.array(shape, low=-2, high=2)

    def sources(self):
        """Query, key and value as heads, and their tensors."""
        b, s, l, d = self.batch, self.sequence, self.keys, self.size
        q, k, v = self.array(b, s, self.heads * d), None, None
        if self.source != "past":
            k, v = self.array(b, l, self.key_heads * d), self.array(b, l, self.key_heads * self.value_size)
        parts = [x if x is None else _heads(x, h) for x, h in ((q, self.heads), (k, self.key_heads), (v, self.key_heads))]
        stack = lambda *heads: np.stack([x.transpose(0, 2, 1, 3) for x in heads], 3)
        if self.source == "query_key":
            self.fields.update(StackedQueryKeyTensor=stack(*parts[:2]), ValueTensor=_leading(self.g, v))
        elif self.source == "key_value":
            self.fields.update(QueryTensor=_leading(self.g, q), StackedKeyValueTensor=stack(*parts[1:]))
        elif self.source == "all":
            self.fields.update(StackedQueryKeyValueTensor=stack(*parts))
        else:
            self.fields.update(QueryTensor=_leading(self.g, q), KeyTensor=None if k is None else _leading(self.g, k),
                               ValueTensor=None if v is None else _leading(self.g, v))
        return [None if x is None else _wide(x) for x in parts]

    def bias(self, q, k, v):
        if self.g.chance(0.5):
            return q, k, v
        widths = [self.heads * self.size, self.key_heads * self.size if k is not None else 0,
                  self.key_heads * self.value_size if k is not None else 0]
        if k is None:  # the bias tensor has no part for keys that are not there, except for those values
            return q, k, v
        bias = self.array(sum(widths))
        self.fields["BiasTensor"] = _leading(self.g, bias)
        parts = np.split(_wide(bias), np.cumsum(widths)[:2])
        return [x + part.reshape(1, x.shape[1], 1, x.shape[3]) for x, part in zip((q, k, v), parts)]

    def join_past(self, k, v):
        """The keys and values to attend to."""
        if self.has_past:
            old = self.array(self.batch, self.key_heads, self.past, self.size), \
                self.array(self.batch, self.key_heads, self.past, self.value_size)
            self.fields.update(PastKeyTensor=_leading(self.g, old[0]), PastValueTensor=_leading(self.g, old[1]))
            k, v = (_wide(o) if x is None else np.concatenate([_wide(o), x], 2) for o, x in zip(old, (k, v)))
        if self.g.chance(0.5):
            self.outputs["OutputPresentKeyTensor"] = _leading(self.g, k.astype(self.g.dtype))
        if self.g.chance(0.5):
            self.outputs["OutputPresentValueTensor"] = _leading(self.g, v.astype(self.g.dtype))
        return k, v

    def cache(self, k, v):
        """Caches that hold nothing yet: what they held before is whatever the output's memory held."""
        lengths = np.zeros(self.batch, self.g.pick(np.int32, np.uint32))
        self.fields["PastSequenceLengthsTensor"] = _leading(self.g, lengths)
        out = []
        for name, x in (("Key", k), ("Value", v)):
            present = np.zeros(x.shape[:2] + (self.total,) + x.shape[3:])
            present[:, :, :self.keys] = x
            untouched = np.broadcast_to((np.arange(self.total) >= self.keys)[None, None, :, None], present.shape)
            self.outputs[f"OutputPresent{name}Tensor"] = np.ma.array(present.astype(self.g.dtype), mask=untouched)
            out.append(present)
        allowed = np.arange(self.total)[None, :] < self.keys
        if self.mask_type == NONE:
            allowed = allowed & (np.arange(self.total)[None, :] <= np.arange(self.sequence)[:, None])
        return out[0], out[1], np.broadcast_to(allowed, self.scores)

    @property
    def scores(self):
        return self.batch, self.heads, self.sequence, self.total

    def masks(self):
        """What is added to the scores."""
        g, total, batch = self.g, self.total, self.batch
        self.mask_type, mask = g.pick(NONE, LENGTH, END_START, PACKED, BOOLEAN), None
        if self.mask_type == BOOLEAN:
            mask = g.array(self.scores, dtype=np.int32, low=0, high=2)
        elif self.mask_type != NONE:
            length = g.rng.integers(-1, total + 2, batch)
            start = g.rng.integers(-1, total + 1, batch)
            more = g.rng.integers(0, 100, 2 * batch + 2)
            mask = {LENGTH: length[None], END_START: np.stack([length, start]),
                    PACKED: np.concatenate([length, more])}[self.mask_type].astype(np.int32)
        if mask is not None and (mask.ndim == 4 or g.chance(0.5)):
            mask = _leading(g, mask)
        relative = self.array(*self.scores) if g.chance(0.4) else None
        filter_ = float(np.float32(g.pick(-4, -16, -3.4028234663852886e38)))
        self.fields.update(MaskTensor=mask, MaskType=self.mask_type, MaskFilterValue=filter_,
                           RelativePositionBiasTensor=None if relative is None else _leading(g, relative))
        masked = _masked(self.mask_type, mask, batch, self.scores)
        # A row that is masked as a whole keeps its differences only as far as FLOAT32 holds them.
        return (0 if relative is None else _wide(relative)), np.where(masked, filter_, 0), masked

    def heads_fields(self):
        if self.g.op.endswith("1"):
            return {"QueryHeadCount": self.heads, "KeyValueHeadCount": self.key_heads}
        return {"HeadCount": self.heads}


@operator("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1")
def attention(g):
    p = Problem(g)
    q, k, v = p.bias(*p.sources())
    relative, masked, _ = p.masks()
    allowed = None
    if p.cached:
        k, v, allowed = p.cache(k, v)
    else:
        k, v = p.join_past(k, v)
    scale = float(np.float32(g.pick(p.size ** -0.5, 0.1)))
    scores = relative + masked
    if float(np.min(masked, initial=0)) < -1e30:  # FLOAT32 has no room for the score beside it
        scores = np.where(masked < 0, masked, relative)
    y = attend(q, k, v, scale, scores, allowed)
    y = _lowest_rows(y, q, k, v, masked, allowed) if float(np.min(masked, initial=0)) < -1e30 else y
    return Case({**p.fields, **p.heads_fields(), "Scale": scale},
                {"OutputTensor": _leading(g, _tokens(y).astype(g.dtype)), **p.outputs})


def _lowest_rows(y, q, k, v, masked, allowed):
    """Rows masked as a whole with the lowest float: all scores are that float, so all keys weigh the same."""
    exists = np.ones(masked.shape, bool) if allowed is None else allowed
    whole = np.all((masked < 0) | ~exists, -1)
    weights = exists / np.sum(exists, -1, keepdims=True)
    v = np.repeat(v, q.shape[1] // k.shape[1], 1)
    return np.where(whole[..., None], np.einsum("bnst,bnth->bnsh", weights, v), y)


def _plain_case(rng, batch, heads, sequence, keys, size, dtype, mask=None):
    q, k, v = (rng.uniform(-2, 2, (batch, n, heads * size)).astype(dtype) for n in (sequence, keys, keys))
    parts = [torch.tensor(_wide(_heads(x, heads))) for x in (q, k, v)]
    scores = parts[0] @ parts[1].transpose(2, 3) * size ** -0.5
    fields = {"QueryTensor": q, "KeyTensor": k, "ValueTensor": v, "HeadCount": heads, "Scale": size ** -0.5}
    if mask is not None:
        scores = scores.masked_fill(torch.tensor(mask == 0), -float("inf"))
        fields.update(MaskTensor=mask, MaskType=BOOLEAN, MaskFilterValue=-3.4028234663852886e38)
    y = torch.softmax(scores, -1) @ parts[2]
    return fields, _tokens(y.numpy()).astype(dtype)


@edge("MULTIHEAD_ATTENTION")
def attention_torch():
    """Against PyTorch: plain, causal by a mask, long, one query, FLOAT16."""
    rng, cases = np.random.default_rng(8), []
    for dtype in (np.float32, np.float16):
        tolerance = {} if dtype == np.float32 else {"rtol": 2e-3, "atol": 2e-3}  # no biases: one rounding fewer
        for batch, heads, sequence, keys, size in ((1, 12, 128, 128, 64), (2, 4, 65, 257, 32), (1, 2, 1, 1025, 64),
                                                   (1, 1, 7, 3000, 33), (1, 1, 300, 5, 80)):
            fields, y = _plain_case(rng, batch, heads, sequence, keys, size, dtype)
            cases.append(Case(fields, {"OutputTensor": y}, **tolerance))
        causal = np.ascontiguousarray(np.broadcast_to(np.tril(np.ones((200, 200), np.int32)), (1, 3, 200, 200)))
        fields, y = _plain_case(rng, 1, 3, 200, 200, 16, dtype, causal)
        cases.append(Case(fields, {"OutputTensor": y}, **tolerance))
    return cases


@edge("MULTIHEAD_ATTENTION1")
def attention_grouped():
    """32 query heads on 8 key heads, one query and several, a cache that begins."""
    rng, cases = np.random.default_rng(9), []
    for sequence in (1, 5, 150):
        q = rng.uniform(-2, 2, (2, sequence, 32 * 16)).astype(np.float32)
        k, v = (rng.uniform(-2, 2, (2, sequence, 8 * 16)).astype(np.float32) for _ in range(2))
        heads = [_wide(_heads(x, n)) for x, n in ((q, 32), (k, 8), (v, 8))]
        causal = np.broadcast_to(np.tril(np.ones((sequence, sequence), bool)), (2, 32, sequence, sequence))
        y = attend(*heads, 0.25, 0, causal)
        present = [np.concatenate([x, np.zeros((2, 8, 9, 16))], 2).astype(np.float32) for x in heads[1:]]
        fresh = np.broadcast_to((np.arange(sequence + 9) >= sequence)[None, None, :, None], present[0].shape)
        cases.append(Case({"QueryTensor": q, "KeyTensor": k, "ValueTensor": v, "QueryHeadCount": 32,
                           "KeyValueHeadCount": 8, "Scale": 0.25, "PastSequenceLengthsTensor": np.zeros(2, np.int32)},
                          {"OutputTensor": _tokens(y).astype(np.float32),
                           "OutputPresentKeyTensor": np.ma.array(present[0], mask=fresh),
                           "OutputPresentValueTensor": np.ma.array(present[1], mask=fresh)}))
    return cases
