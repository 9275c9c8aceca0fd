#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The operators of transformers against ONNX Runtime's CPU provider: test_transformers.py ANYDML [NAME]

Each case runs in several data types; ONNX Runtime computes in float32 from the same rounded numbers. What it has no
kernel for is computed here. Skips when onnxruntime is not installed."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
from tool import SKIP, Tool  # noqa: E402

try:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError:
    print("onnx or onnxruntime is not installed")
    sys.exit(SKIP)

MS = "com.microsoft"
TYPES = {"float32": (TensorProto.FLOAT, 2e-5), "float64": (TensorProto.DOUBLE, 2e-5),
         "float16": (TensorProto.FLOAT16, 1e-2), "bfloat16": (TensorProto.BFLOAT16, 8e-2)}
random = np.random.default_rng(7)


def real(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def ints(low, high, *shape, dtype=np.int32):
    return random.integers(low, high, shape).astype(dtype)


def rounded(x, kind):
    """float32 numbers that the type holds exactly"""
    if x is None or x.dtype != np.float32:
        return x
    if kind == "float16":
        return x.astype(np.float16).astype(np.float32)
    if kind == "bfloat16":
        bits = x.view(np.uint32).astype(np.uint64)
        return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
    return x


def model_of(op, domain, opset, inputs, outputs, constants, kind, attributes):
    """One node between casts from and to float32."""
    nodes, infos, initializers, names = [], [], [], []
    for i, x in enumerate(inputs):
        name = f"x{i}"
        if x is None:
            names.append("")
            continue
        if i in constants:
            initializers.append(onnx.numpy_helper.from_array(x, name))
        else:
            infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
        if x.dtype == np.float32 and kind != "float32":
            nodes.append(helper.make_node("Cast", [name], [name + "c"], to=TYPES[kind][0]))
            name += "c"
        names.append(name)
    results = [f"y{i}" if wanted else "" for i, wanted in enumerate(outputs)]
    nodes.append(helper.make_node(op, names, results, domain=domain, name="node", **attributes))
    graph_outputs = []
    for i, wanted in enumerate(outputs):
        if not wanted:
            continue
        name = f"y{i}"
        if wanted != "int" and kind != "float32":
            nodes.append(helper.make_node("Cast", [name], [name + "c"], to=TensorProto.FLOAT))
            name += "c"
        kind_out = TensorProto.INT32 if wanted == "int" else TensorProto.FLOAT
        graph_outputs.append(helper.make_tensor_value_info(name, kind_out, None))
    graph = helper.make_graph(nodes, "g", infos, graph_outputs, initializers)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def with_onnxruntime(op, domain, opset, inputs, outputs, constants, attributes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model = model_of(op, domain, opset, inputs, outputs, constants, "float32", attributes)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants}
    return session.run(None, feeds)


class Cases:
    def __init__(self, path, only):
        self.tool, self.only = Tool(path), only

    def run(self, name, op, inputs, outputs=(True,), domain=MS, opset=21, constants=(), expected=None, valid=None,
            tolerance=1.0, kinds=tuple(TYPES), **attributes):
        """expected: a function of the inputs instead of ONNX Runtime; valid: picks what of the outputs is defined."""
        for kind in kinds:
            label = f"{op} {name} {kind}"
            if self.only and self.only not in label:
                continue
            data = [rounded(x, kind) for x in inputs]
            try:
                want = (expected(*[None if x is None else x.astype(np.float64) for x in data]) if expected else
                        with_onnxruntime(op, domain, opset, data, outputs, constants, attributes))
            except Exception as error: # its exceptions have no common class
                self.tool.test(False, f"{label}: ONNX Runtime: {error}")
                continue
            self.compare(label, model_of(op, domain, opset, data, outputs, constants, kind, attributes), data, want,
                         constants, outputs, TYPES[kind][1] * tolerance, valid)

    def compare(self, label, model, data, want, constants, outputs, tolerance, valid):
        args = ["run", self.tool.file("m.onnx", model)]
        for i, x in enumerate(data):
            if x is not None and i not in constants:
                np.save(self.tool.file(f"{i}.npy"), x)
                args += ["--input", f"x{i}={self.tool.file(f'{i}.npy')}"]
        paths = [self.tool.file(f"out{i}.npy") for i, wanted in enumerate(outputs) if wanted]
        for path in paths:
            args += ["--output", path]
        result = self.tool.run(*args)
        if not self.tool.test(result.returncode == 0, f"{label}: {result.stderr.strip()[-300:]}"):
            return
        for i, path in enumerate(paths):
            have, wanted = np.load(path).astype(np.float64), np.asarray(want[i], np.float64)
            if not self.tool.test(have.shape == wanted.shape, f"{label}: output {i} is {have.shape}, {wanted.shape}"):
                continue
            have, wanted = (have, wanted) if valid is None else (valid(have, i), valid(wanted, i))
            size = max(1.0, np.abs(wanted).max(initial=0))
            worst = np.abs(have - wanted).max(initial=0) / size
            self.tool.test(worst <= tolerance, f"{label}: output {i} differs by {worst:.3g} of {size:.3g}")


def erf(x):
    return np.vectorize(__import__("math").erf, otypes=[np.float64])(x)


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def activations(c):
    x, bias = real(2, 5, 18, scale=2), real(18)
    c.run("", "BiasGelu", [x, bias])
    c.run("with bias", "FastGelu", [x, bias])
    c.run("plain", "FastGelu", [x])
    c.run("", "QuickGelu", [x])
    c.run("alpha", "QuickGelu", [x], alpha=0.7)
    c.run("", "Gelu", [x])
    c.run("tanh", "Gelu", [x], domain="", approximate="tanh")
    c.run("none", "Gelu", [x], domain="")
    c.run("", "BiasAdd", [x, bias, real(2, 5, 18)], expected=lambda x, b, s: [x + b + s])
    c.run("", "BiasSplitGelu", [x, bias], expected=lambda x, b: [(x + b)[..., :9] * gelu((x + b)[..., 9:])])


def norms(c):
    x, skip, gamma, beta, bias = real(2, 5, 24), real(2, 5, 24), real(24), real(24), real(24)
    for name, s in (("", skip), ("broadcast", real(5, 24)), ("broadcast 1", real(1, 5, 24))):
        c.run(name, "SkipLayerNormalization", [x, s, gamma, beta, bias], epsilon=1e-5)
        c.run(name, "SkipSimplifiedLayerNormalization", [x, s, gamma, bias], epsilon=1e-5)
    c.run("no beta, sum", "SkipLayerNormalization", [x, skip, gamma, None, bias], (True, False, False, True))
    c.run("sum", "SkipLayerNormalization", [x, skip, gamma, beta], (True, False, False, True))
    c.run("sum", "SkipSimplifiedLayerNormalization", [x, skip, gamma], (True, False, False, True))
    c.run("axis 1", "LayerNormalization", [x, real(5, 24), real(5, 24)], (True, True, True), domain="", axis=1,
          kinds=("float32",))
    c.run("statistics", "LayerNormalization", [x, gamma], (True, True, True), domain="", kinds=("float32",))
    c.run("no bias", "LayerNormalization", [x, gamma], domain="", epsilon=0.1)
    c.run("", "SimplifiedLayerNormalization", [x, gamma], domain="", kinds=("float32",))
    c.run("statistics", "SimplifiedLayerNormalization", [x, gamma], (True, True), domain="", kinds=("float32",))
    c.run("broadcast scale", "RMSNormalization", [x, real(5, 1)], domain="", opset=23, axis=1,
          expected=lambda x, s: [x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-5) * s])
    group_norms(c)
    embed(c)


def group_norms(c):
    def normal(x, gamma, beta, last, swish, groups=3, epsilon=1e-5):
        y = x if last else np.moveaxis(x, 1, -1)
        g = y.reshape(y.shape[0], -1, groups, y.shape[-1] // groups)
        g = (g - g.mean((1, 3), keepdims=True)) / np.sqrt(g.var((1, 3), keepdims=True) + epsilon)
        y = g.reshape(y.shape) * gamma + beta
        y = y / (1 + np.exp(-y)) if swish else y
        return y if last else np.moveaxis(y, -1, 1)

    gamma, beta, bias = real(12), real(12), real(12)
    for last in (1, 0):
        x = real(2, 4, 5, 12) if last else real(2, 12, 4, 5)
        for swish in (0, 1):
            name = f"{'NHWC' if last else 'NCHW'}{' swish' * swish}"
            c.run(name, "GroupNorm", [x, gamma, beta], groups=3, channels_last=last, activation=swish,
                  expected=lambda *a, last=last, swish=swish: [normal(*a, last, swish)])
    x = real(2, 4, 5, 12)
    for skip in (real(2, 12), real(2, 1, 1, 12), real(2, 4, 5, 12)):
        def sums(x, gamma, beta, skip, bias):
            all_of = x + skip.reshape((2, 1, 1, 12) if skip.ndim == 2 else skip.shape) + bias
            return [normal(all_of, gamma, beta, True, True), all_of]
        c.run(f"{skip.shape}", "SkipGroupNorm", [x, gamma, beta, skip, bias], (True, True), groups=3, activation=1,
              expected=sums)


def embed(c):
    batch, length, size = 3, 6, 16
    ids, kinds = ints(0, 11, batch, length), ints(0, 2, batch, length)
    tables = [real(11, size), real(9, size), real(2, size), real(size), real(size)]
    mask = (np.arange(length) < np.array([[6], [2], [4]])).astype(np.int32)
    c.run("mask", "EmbedLayerNormalization", [ids, kinds, *tables, mask], (True, "int", True), epsilon=1e-5)
    c.run("no mask", "EmbedLayerNormalization", [ids, kinds, *tables], (True, "int"))
    no_kinds = [ids, None, *tables[:2], None, *tables[3:], None]
    c.run("places", "EmbedLayerNormalization", [*no_kinds, ints(0, 9, batch, length)], (True, "int", True))
    c.run("one row of places", "EmbedLayerNormalization", [*no_kinds, ints(0, 9, 1, length)], (True, "int"))


def rotary(c):
    batch, length, heads, size = 2, 5, 3, 8
    tokens, apart = real(batch, length, heads * size), real(batch, heads, length, size)
    cos, sin = np.cos(real(20, size // 2)), np.sin(real(20, size // 2))
    first, each = np.array([4], np.int64), ints(0, 20, batch, length, dtype=np.int64)
    for interleaved in (0, 1):
        for at, positions in (("first", first), ("each", each)):
            name = f"{at}{' interleaved' * interleaved}"
            c.run("tokens " + name, "RotaryEmbedding", [tokens, positions, cos, sin], interleaved=interleaved)
            c.run("heads " + name, "RotaryEmbedding", [apart, positions, cos, sin], interleaved=interleaved)
            part = [cos[:, :2].copy(), sin[:, :2].copy()]
            c.run("part " + name, "RotaryEmbedding", [tokens, positions, *part], interleaved=interleaved,
                  num_heads=heads, rotary_embedding_dim=4)
            c.run("part of heads " + name, "RotaryEmbedding", [apart, positions, *part], interleaved=interleaved,
                  num_heads=heads, rotary_embedding_dim=4)
    one = ints(0, 20, batch, 1, dtype=np.int64)
    c.run("one token", "RotaryEmbedding", [real(batch, 1, heads * size), one, cos, sin], scale=1.0)


BATCH, HEADS, SIZE = 2, 3, 8
WIDTH = HEADS * SIZE


def multi_head(c):
    length, keys, past = 4, 6, 5
    q, k, v = real(BATCH, length, WIDTH), real(BATCH, keys, WIDTH), real(BATCH, keys, WIDTH)
    op, bias = "MultiHeadAttention", real(3 * WIDTH)
    wide = real(BATCH, keys, HEADS * 5)
    masked = {"kinds": ("float32", "float64", "float16")} # the filter -10000 leaves bfloat16 no digits
    run = lambda name, inputs, *a, **kw: c.run(name, op, inputs, *a, num_heads=HEADS, **kw)  # noqa: E731
    run("plain", [q, k, v])
    run("scale", [q, k, v], scale=0.3)
    run("bias", [q, k, v, bias])
    run("value size", [q, k, wide, real(2 * WIDTH + HEADS * 5)])
    lengths, mask = np.array([3, 6], np.int32), ints(0, 2, BATCH, keys)
    mask[:, 0] = 1
    run("lengths", [q, k, v, None, lengths], **masked)
    run("mask", [q, k, v, bias, mask], **masked)
    run("mask per query", [q, k, v, None, ints(0, 2, BATCH, length, keys) | (np.arange(keys) == 1)], **masked)
    for b in (1, BATCH):
        for h in (1, HEADS):
            run(f"relative {b} {h}", [q, k, v, None, mask, real(b, h, length, keys)], **masked)
    k, v = real(BATCH, length, WIDTH), real(BATCH, length, WIDTH)
    cache = [real(BATCH, HEADS, past, SIZE), real(BATCH, HEADS, past, SIZE)]
    three = (True, True, True)
    run("causal", [q, k, v], unidirectional=1)
    run("causal, bias, present", [q, k, v, bias], three, unidirectional=1)
    run("causal, mask", [q, k, v, None, mask[:, :length].copy()], unidirectional=1, **masked)
    run("past", [q, k, v, None, None, None, *cache], three)
    run("past, causal, bias", [q, k, v, bias, None, None, *cache], three, unidirectional=1)
    all_keys = ints(0, 2, BATCH, past + length) | (np.arange(past + length) == 0)
    relative = real(1, HEADS, length, past + length)
    run("past, mask, relative", [q, k, v, None, all_keys, relative, *cache], three, **masked)
    run("scores", [q, k, v, bias, mask[:, :length].copy(), None, *[None] * 2], (True, True, True, True), **masked)
    one = [real(BATCH, 1, WIDTH) for _ in range(3)]
    run("one token", [*one, None, None, None, *cache], three, unidirectional=1)
    apart = [real(BATCH, HEADS, keys, SIZE), real(BATCH, HEADS, keys, SIZE)]
    run("keys as heads", [q, *apart, bias])
    run("keys as heads, mask", [q, *apart, None, mask], **masked)
    packed(c, q)
    decoder(c, one, cache)


def packed(c, q):
    """ONNX Runtime's CPU provider has none of these, but the unpacked ones."""
    def apart(q, k, v):
        return with_onnxruntime("MultiHeadAttention", MS, 21, [x.astype(np.float32) for x in (q, k, v)], (True,), (),
                                {"num_heads": HEADS})

    def parts(x, count):
        return [x[:, :, :, i].reshape(*x.shape[:2], -1) for i in range(count)]

    c.run("query, key, value", "MultiHeadAttention", [real(BATCH, 5, HEADS, 3, SIZE)], num_heads=HEADS,
          expected=lambda x: apart(*parts(x, 3)))
    c.run("key, value", "MultiHeadAttention", [q, real(BATCH, 5, HEADS, 2, SIZE)], num_heads=HEADS,
          expected=lambda q, x: apart(q, *parts(x, 2)))


def decoder(c, one, cache):
    """A query of one token: the same as MultiHeadAttention with the inputs in another order."""
    past = cache[0].shape[2]
    mask = ints(0, 2, BATCH, past + 1) | (np.arange(past + 1) == 0)

    def same(q, k, v, mask, _, past_key, past_value):
        inputs = [q, k, v, None, mask, None, past_key, past_value]
        inputs = [x if x is None else x.astype(np.int32 if x is mask else np.float32) for x in inputs]
        return with_onnxruntime("MultiHeadAttention", MS, 21, inputs, (True,) * 3, (), {"num_heads": HEADS})

    c.run("past, mask", "DecoderMaskedMultiHeadAttention", [*one, mask, None, *cache], (True,) * 3, num_heads=HEADS,
          expected=same, kinds=("float32", "float16"))


def projected(c):
    op, length, size, past = "Attention", 5, 10, 4
    base = [real(BATCH, length, size), real(size, 3 * WIDTH, scale=0.4), real(3 * WIDTH)]
    run = lambda name, inputs, *a, **kw: c.run(name, op, inputs, *a, num_heads=HEADS, tolerance=2, **kw)  # noqa: E731
    masked = {"kinds": ("float32", "float16")}
    run("plain", base)
    zeros = np.zeros(3 * WIDTH, np.float32) # without any, ONNX Runtime 1.31 reads beyond its inputs
    run("no bias, causal", base[:2], unidirectional=1, expected=lambda x, w: with_onnxruntime(
        op, MS, 21, [x.astype(np.float32), w.astype(np.float32), zeros], (True,), (),
        {"num_heads": HEADS, "unidirectional": 1}))
    run("sizes", [base[0], real(size, 2 * WIDTH + HEADS * 5, scale=0.4), real(2 * WIDTH + HEADS * 5)],
        qkv_hidden_sizes=[WIDTH, WIDTH, HEADS * 5])
    mask = ints(0, 2, BATCH, length) | (np.arange(length) == 0)
    run("mask", [*base, mask], **masked)
    run("mask, causal", [*base, mask], unidirectional=1, **masked)
    run("mask per query", [*base, ints(0, 2, BATCH, length, length) | (np.arange(length) == 2)], **masked)
    run("lengths", [*base, np.array([2, 5], np.int32)], **masked)
    run("ends and starts", [*base, np.array([4, 5, 1, 0], np.int32)], **masked)
    run("packed lengths", [*base, np.array([2, 5, 0, 5, 10, 0, 5, 10], np.int32)], **masked)
    cache = real(2, BATCH, HEADS, past, SIZE)
    run("past", [*base, None, cache], (True, True))
    run("past, causal", [*base, None, cache], (True, True), unidirectional=1)
    run("present", base, (True, True), unidirectional=1)
    run("relative", [*base, None, None, real(1, HEADS, length, length)])


def grouped(c):
    heads, size = 4, 16
    op, three = "GroupQueryAttention", (True, True, True)
    table = [np.cos(real(32, size // 2)), np.sin(real(32, size // 2))]

    def run(name, batch, length, key_heads, past, lengths, packed=False, extra=(), **kw):
        width, keys = heads * size, key_heads * size
        tokens = [real(batch, length, width), real(batch, length, keys), real(batch, length, keys)]
        if packed:
            tokens = [np.concatenate(tokens, 2), None, None]
        cache = [None, None] if past is None else [real(batch, key_heads, past, size) for _ in range(2)]
        last = np.array(lengths, np.int32) - 1
        inputs = [*tokens, *cache, last, np.array(max(lengths), np.int32), *extra]

        def valid(x, output):
            """Rows behind a batch row's length are not defined; nor are queries there."""
            first = max(lengths) == length
            rows = [x[b, :, :lengths[b]] if output else x[b, :lengths[b]] if first else x[b]
                    for b in range(batch)]
            return np.concatenate([r.ravel() for r in rows])

        c.run(name, op, inputs, three, constants=(6,), valid=valid, num_heads=heads, kv_num_heads=key_heads,
              kinds=("float32", "float16", "bfloat16"), **kw)

    for key_heads in (1, 2, 4):
        run(f"prompt {key_heads}", 2, 5, key_heads, None, [5, 3])
        run(f"prompt into cache {key_heads}", 2, 5, key_heads, 9, [5, 2])
        run(f"token {key_heads}", 2, 1, key_heads, 5, [6, 4])
        run(f"token into cache {key_heads}", 2, 1, key_heads, 12, [6, 9])
        run(f"tokens {key_heads}", 1, 3, key_heads, 5, [8])
        run(f"tokens into cache {key_heads}", 1, 3, key_heads, 16, [8])
        run(f"token, one row {key_heads}", 1, 1, key_heads, 16, [8])
    for interleaved in (0, 1):
        kw = {"do_rotary": 1, "rotary_interleaved": interleaved}
        run(f"rotary prompt {interleaved}", 2, 5, 2, None, [5, 3], extra=table, **kw)
        run(f"rotary token {interleaved}", 2, 1, 2, 12, [6, 9], extra=table, **kw)
        run(f"rotary packed tokens {interleaved}", 1, 3, 2, 16, [8], packed=True, extra=table, **kw)
    run("window prompt", 2, 7, 2, None, [7, 7], local_window_size=3)
    run("window token", 2, 1, 2, 12, [6, 9], local_window_size=3)
    run("window tokens", 1, 4, 2, 16, [9], local_window_size=3)
    run("softcap prompt", 1, 5, 2, None, [5], softcap=2.0)
    run("softcap token", 2, 1, 2, 12, [6, 9], softcap=2.0)
    run("smooth prompt", 1, 5, 2, None, [5], smooth_softmax=1)
    run("smooth token", 2, 1, 2, 12, [6, 9], smooth_softmax=1, scale=0.2)
    none = [None] * 3
    run("sink", 1, 5, 2, None, [5], extra=[*none, None, real(heads)])
    run("bias prompt", 1, 5, 2, None, [5], extra=[*none, real(1, heads, 5, 5)])
    run("bias token", 2, 1, 2, 12, [6, 9], extra=[*none, real(2, 1, 1, 9)])
    run("bias tokens", 1, 3, 2, 16, [8], extra=[*none, real(1, heads, 3, 8)])


def onnx_attention(c):
    """Beyond ONNX's own cases: types, and shapes that mix."""
    def run(name, heads, key_heads, length, keys, inputs=(), outputs=(True,), flat=False, opset=24, **kw):
        q, k, v = real(2, heads, length, 8), real(2, key_heads, keys, 8), real(2, key_heads, keys, 8)
        if flat:
            q, k, v = (x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1).copy() for x in (q, k, v))
            kw.update(q_num_heads=heads, kv_num_heads=key_heads)
        c.run(name, "Attention", [q, k, v, *inputs], outputs, domain="", opset=opset, tolerance=2, **kw)

    for flat in (False, True):
        for heads, key_heads in ((3, 3), (6, 2)):
            past = [real(2, key_heads, 4, 8), real(2, key_heads, 4, 8)]
            name = f"{heads} {key_heads} {'tokens' if flat else 'heads'} "
            run(name + "plain", heads, key_heads, 5, 7, flat=flat)
            run(name + "causal", heads, key_heads, 5, 5, flat=flat, is_causal=1)
            run(name + "causal, present", heads, key_heads, 5, 5, (), (True,) * 3, flat=flat, is_causal=1)
            run(name + "causal, past", heads, key_heads, 5, 5, [None, *past], (True,) * 3, flat=flat, is_causal=1)
            run(name + "one token", heads, key_heads, 1, 1, [None, *past], (True,) * 3, flat=flat, is_causal=1)
            run(name + "mask", heads, key_heads, 5, 7, [random.random((2, 1, 5, 7)) > 0.3], flat=flat)
            run(name + "number mask", heads, key_heads, 5, 7, [real(heads, 5, 7)], flat=flat)
            for mode in range(4):
                run(f"{name}scores {mode}", heads, key_heads, 5, 5, [real(5, 9), *past], (True,) * 4, flat=flat,
                    softcap=2.0, qk_matmul_output_mode=mode, is_causal=1 if mode in (0, 1) else 0,
                    kinds=("float32", "float64"))


def main():
    cases = Cases(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    for family in (activations, norms, rotary, multi_head, projected, grouped, onnx_attention):
        family(cases)
    cases.tool.finish()


if __name__ == "__main__":
    main()
