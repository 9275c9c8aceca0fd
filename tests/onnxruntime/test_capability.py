# SPDX-License-Identifier: Apache-2.0
"""Nodes whose sizes are not known yet: the execution provider takes all of them, and computes what the CPU provider does.

    test_capability.py LIBRARY [--match REGEX]

Decoders as the model builder of onnxruntime-genai writes them, whose caches have dimensions that are sums of others or
have a name of their own; then single nodes with a name for each dimension, whose sizes must agree with each other and
with attributes and weights.
"""
import argparse
import re
import sys

from provider import NAME, Log, cpu_session, np, relative_error, session # first: it skips where a package is missing
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
DOMAINS = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
LIMIT = 2e-5


def model_of(nodes, inputs, outputs, constants, opset=22):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*v) for v in inputs],
                              [helper.make_tensor_value_info(*v) for v in outputs],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    domains = [helper.make_opsetid("", opset), DOMAINS[1]]
    return helper.make_model(graph, opset_imports=domains, ir_version=10).SerializeToString()


# ---- decoders ----


class Decoder:
    """Layers of attention with caches, between an embedding and logits."""
    hidden, heads, key_heads, size, words, layers, longest = 64, 4, 2, 16, 97, 2, 64

    def __init__(self, packed=False, quantized=False, norm=False, cache_dim="kv_cache_dim"):
        self.rng, self.nodes, self.constants = np.random.default_rng(5), [], {"one": np.array([1], np.int64)}
        self.packed, self.quantized, self.norm, self.cache_dim = packed, quantized, norm, cache_dim

    def add(self, op, inputs, outputs=1, domain="", **attributes):
        name = f"n{len(self.nodes)}"
        names = [f"{name}_{i}" for i in range(outputs)] if isinstance(outputs, int) else [name, *outputs]
        self.nodes.append(helper.make_node(op, inputs, names, name=name, domain=domain, **attributes))
        return name if not isinstance(outputs, int) else names[0]

    def weight(self, *shape):
        name = f"w{len(self.constants)}"
        self.constants[name] = (self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        return name

    def product(self, x, inner, outer):
        if not self.quantized:
            return self.add("MatMul", [x, self.weight(inner, outer)])
        bits, scale = f"q{len(self.constants)}", f"s{len(self.constants)}"
        blocks = inner // 32
        self.constants[bits] = self.rng.integers(0, 256, (outer, blocks, 16)).astype(np.uint8)
        self.constants[scale] = self.rng.uniform(0.01, 0.03, (outer, blocks)).astype(np.float32)
        return self.add("MatMulNBits", [x, bits, scale],
                        domain="com.microsoft",
                        K=inner,
                        N=outer,
                        bits=4,
                        block_size=32)

    def lengths(self):
        """seqlens_k and total_sequence_length, from the mask."""
        counts = self.add("Sub", [self.add("ReduceSum", ["attention_mask", "one"], keepdims=0), "one"])
        self.constants["second"] = np.array(1, np.int64)
        total = self.add("Gather", [self.add("Shape", ["attention_mask"]), "second"])
        return self.add("Cast", [counts], to=INT32), self.add("Cast", [total], to=INT32)

    def head_norm(self, x, heads):
        """The norm of each head, between two reshapes that leave a dimension without a name."""
        self.constants.update(
            {"apart": np.array([0, -1, self.size]), f"back{heads}": np.array([0, -1, heads * self.size])})
        x = self.add("Reshape", [x, "apart"])
        self.constants[f"scale{len(self.nodes)}"] = np.ones(self.size, np.float32)
        x = self.add("SimplifiedLayerNormalization", [x, f"scale{len(self.nodes)}"], axis=-1, epsilon=1e-6)
        return self.add("Reshape", [x, f"back{heads}"])

    def attention(self, layer, x, lengths):
        keys = self.key_heads * self.size
        if self.packed:
            qkv = [self.product(x, self.hidden, self.heads * self.size + 2 * keys), "", ""]
        else:
            qkv = [self.product(x, self.hidden, n) for n in (self.heads * self.size, keys, keys)]
        if self.norm:
            qkv[:2] = self.head_norm(qkv[0], self.heads), self.head_norm(qkv[1], self.key_heads)
        caches = [f"{layer}.{part}" for part in ("key", "value")]
        y = self.add("GroupQueryAttention", [*qkv, *("past_key_values." + c for c in caches), *lengths, "cos", "sin"],
                     ["present." + c for c in caches],
                     "com.microsoft",
                     num_heads=self.heads,
                     kv_num_heads=self.key_heads,
                     scale=0.25,
                     do_rotary=1,
                     rotary_interleaved=0,
                     local_window_size=-1)
        return self.product(y, self.heads * self.size, self.hidden)

    def model(self):
        angles = np.outer(np.arange(self.longest), 1e4**(-np.arange(self.size // 2) / (self.size // 2)))
        self.constants.update(cos=np.cos(angles).astype(np.float32), sin=np.sin(angles).astype(np.float32))
        lengths = self.lengths()
        x = self.add("Gather", [self.weight(self.words, self.hidden), "input_ids"])
        inputs = [("input_ids", INT64, ["batch_size", "sequence_length"]),
                  ("attention_mask", INT64, ["batch_size", "total_sequence_length"])]
        outputs = [("logits", FLOAT, ["batch_size", "sequence_length", self.words])]
        for layer in range(self.layers):
            for part in ("key", "value"):
                shapes = [["batch_size", self.key_heads, f"{t}_sequence_length", self.cache_dim]
                          for t in ("past", "total")]
                inputs.append((f"past_key_values.{layer}.{part}", FLOAT, shapes[0]))
                outputs.append((f"present.{layer}.{part}", FLOAT, shapes[1]))
            x = self.add("Add", [x, self.attention(layer, x, lengths)])
        self.nodes.append(helper.make_node("Identity", [self.product(x, self.hidden, self.words)], ["logits"]))
        return model_of(self.nodes, inputs, outputs, self.constants)


def left_of(log):
    """Nodes that are not the execution provider's, and why."""
    left = re.findall(r"left to another provider: (\S+ '[^']*': .*)", log.text)
    return left if f"placed on [{NAME}]" in log.text else [*left, f"nothing is placed on {NAME}"]


def decode(library, model, batch, fallback):
    """A prompt, then one word at a time; the caches go from run to run. Returns the largest error."""
    with Log() as log:
        ours, cpu = session(library, model, fallback, level=0), cpu_session(model)
    left = left_of(log)
    rng, total, worst = np.random.default_rng(7), 0, 0.0
    past = {
        x.name: np.zeros((batch, Decoder.key_heads, 0, Decoder.size), np.float32)
        for x in cpu.get_inputs() if x.name.startswith("past")
    }
    for count in (5, 1, 1):
        total += count
        feeds = {
            "input_ids": rng.integers(0, Decoder.words, (batch, count)), "attention_mask": np.ones((batch, total),
                                                                                                   np.int64), **past
        }
        got, want = ours.run(None, feeds), cpu.run(None, feeds)
        worst = max(worst, *(relative_error(g, w) for g, w in zip(got, want)))
        past = {
            x.name.replace("present", "past_key_values"): value
            for x, value in zip(cpu.get_outputs(), want) if x.name.startswith("present")
        }
    return worst, left


DECODERS = {
    "decoder": {},
    "decoder, packed": {"packed": True},
    "decoder, norms of heads": {"norm": True},
    "decoder, 4 bits": {"quantized": True},
    "decoder, 4 bits, packed": {"quantized": True, "packed": True},
    "decoder, size of heads known": {"cache_dim": Decoder.size},
}


def decoders(library, match):
    good = True
    for name, options in DECODERS.items():
        if not re.search(match, name):
            continue
        for batch, fallback in ((1, True), (3, True), (1, False)):
            worst, left = decode(library, Decoder(**options).model(), batch, fallback)
            good &= tell(f"{name}, batch {batch}{'' if fallback else ', nothing may be left'}", worst, left)
    return good


# ---- single nodes ----


def nodes():
    """name -> (operator, attributes, [(array, symbolic shape)], constants by input, outputs, domain)"""
    rng = np.random.default_rng(11)

    def floats(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    return {
        "MatMul, batch against weights": ("MatMul", {}, [(floats(3, 5, 257), "bmk")], [floats(3, 257, 8)]),
        "MatMul, batch of weights broadcast": ("MatMul", {}, [(floats(2, 1, 5, 37), "bcmk")], [floats(6, 37, 9)]),
        "MatMul, every dimension": ("MatMul", {}, [(floats(2, 3, 5, 7), "abmk"), (floats(3, 7, 4), "bkn")], []),
        "Gemm": ("Gemm", {"transB": 1}, [(floats(5, 12), "mk"), (floats(8, 12), "nk"), (floats(8), "n")], []),
        "Einsum": ("Einsum", {"equation": "bhid,bhjd->bhij"}, [(floats(2, 3, 4, 5), "bhid"), (floats(2, 3, 6,
                                                                                                     5), "bhjd")], []),
        "PRelu": ("PRelu", {}, [(floats(2, 6, 4, 4), "nchw"), (floats(6, 1, 1), ["c", 1, 1])], []),
        "Concat of caches": ("Concat", {"axis": 2}, [(floats(2, 3, 4, 5), "bhpd"), (floats(2, 3, 2, 5), "bhsd")], []),
        "Add of a mask": ("Add", {}, [(floats(2, 3, 4, 6), "bhst"), (floats(2, 1, 1, 6), ["b", 1, 1, "t"])], []),
        "BatchNormalization": ("BatchNormalization", {}, [(floats(2, 5, 4), "ncw")],
                               [floats(5), floats(5), floats(5), floats(5)**2]),
        "LayerNormalization": ("LayerNormalization", {}, [(floats(2, 5, 24), "bsh"), (floats(24), "h"),
                                                          (floats(24), "h")], []),
        "GroupNormalization": ("GroupNormalization", {"num_groups": 3}, [(floats(2, 12, 5), "ncw"), (floats(12), "c"),
                                                                         (floats(12), "c")], []),
        "ReverseSequence": ("ReverseSequence", {"batch_axis": 0, "time_axis": 1}, [(floats(3, 5, 2), "btk"),
                                                                                   (np.array([2, 5, 1]), "b")], []),
        "ScatterND": ("ScatterND", {}, [(floats(7, 4), "ab"), (np.array([[1], [5]]), ["n", 1]), (floats(2,
                                                                                                        4), "nb")], []),
        "ScatterElements": ("ScatterElements", {"axis": 1}, [(floats(3, 6), "ab"),
                                                             (np.array([[1, 4], [0, 2], [5, 3]]), "an"),
                                                             (floats(3, 2), "an")], []),
        "ScatterND, messages of a graph": ("ScatterND", {"reduction": "add"},
                                           [(floats(5000, 32), "nf"), (rng.integers(0, 5000, (60000, 1)), ["e", 1]),
                                            (floats(60000, 32), "ef")], []),
        "ScatterElements, messages of a graph": ("ScatterElements", {"axis": 0, "reduction": "max"},
                                                 [(floats(5000, 4), "nf"), (rng.integers(0, 5000, (60000, 4)), "ef"),
                                                  (floats(60000, 4), "ef")], []),
        "GridSample": ("GridSample", {}, [(floats(2, 3, 6, 7), "nchw"), (floats(2, 4, 5, 2), "nijk")], []),
        "DFT": ("DFT", {}, [(floats(2, 12, 1), "btp")], []),
        "TopK": ("TopK", {}, [(floats(2, 300), "bn")], [np.array([100])], 2),
        "OneHot": ("OneHot", {}, [(np.array([[1, 4], [0, 2]]), "ab")], [np.array(6),
                                                                        np.array([0.5, 2], np.float32)]),
        "RoiAlign": ("RoiAlign", {"output_height": 2, "output_width": 2}, [(floats(2, 3, 9, 9), "nchw"),
                                                                           (np.array([[0, 0, 5, 5], [1, 2, 8, 6]],
                                                                                     np.float32), ["r", "k"]),
                                                                           (np.array([1, 0]), "r")], [], 1, "", 16),
        "Resize, much smaller": ("Resize", {"mode": "linear"}, [(floats(1, 1, 300, 200), "nchw")],
                                 [np.array([], np.float32),
                                  np.array([1, 1, 0.005, 0.01], np.float32)]),
        "LSTM": ("LSTM", {"hidden_size": 5}, [(floats(4, 2, 3), "tbk"), (floats(1, 20, 3), "dgk"),
                                              (floats(1, 20, 5), "dgh")], [], 3),
        "Attention with a cache": ("Attention", heads, [(floats(2, 3, 64), "bsq"), (floats(2, 3, 32), "bsk"),
                                                        (floats(2, 3, 32), "bsk"), (floats(3, 8), "st"),
                                                        (floats(2, 2, 5, 16), "bhpd"),
                                                        (floats(2, 2, 5, 16), "bhpd")], [], 3, "", 23),
        "MultiHeadAttention with a cache": ("MultiHeadAttention", {"num_heads": 4}, [
            (floats(2, 3, 32), "bsh"), (floats(2, 3, 32), "bsh"), (floats(2, 3, 32), "bsh"), None,
            (np.array([[1] * 8, [1] * 6 + [0] * 2], np.int32), "bt"), (floats(2, 4, 3, 8), "bnst"),
            (floats(2, 4, 5, 8), "bnpd"), (floats(2, 4, 5, 8), "bnpd")
        ], [], 3, "com.microsoft"),
        "RotaryEmbedding": ("RotaryEmbedding", {"num_heads": 4}, [(floats(2, 3, 32), "bsh"),
                                                                  (np.array([[0, 1, 2], [5, 6, 7]]), "bs"),
                                                                  (floats(9, 4), "ld"),
                                                                  (floats(9, 4), "ld")], [], 1, "com.microsoft"),
    }


def node_model(op, attributes, inputs, constants, outputs=1, domain="", opset=22):
    names = [f"x{i}" if v else "" for i, v in enumerate(inputs)] + [f"w{i}" for i in range(len(constants))]
    out = [f"y{i}" for i in range(outputs)]
    types = {i: helper.np_dtype_to_tensor_dtype(v[0].dtype) for i, v in enumerate(inputs) if v}
    node = helper.make_node(op, names, out, name="node", domain=domain, **attributes)
    ports = [(f"x{i}", types[i], list(v[1])) for i, v in enumerate(inputs) if v]
    indices = {"TopK": {1: INT64}}
    results = [(name, indices.get(op, {}).get(i, FLOAT), None) for i, name in enumerate(out)]
    feeds = {f"x{i}": v[0] for i, v in enumerate(inputs) if v}
    return model_of([node], ports, results, {f"w{i}": value for i, value in enumerate(constants)}, opset), feeds


def single(library, match):
    good = True
    for name, case in nodes().items():
        if not re.search(match, name):
            continue
        model, feeds = node_model(*case)
        with Log() as log:
            ours, cpu = session(library, model, level=0), cpu_session(model)
        left = left_of(log)
        worst = max(relative_error(g, w) for g, w in zip(ours.run(None, feeds), cpu.run(None, feeds)))
        good &= tell(name, worst, left)
    return good


def shape_sizes():
    """name -> nodes from s, the shape of x [n, m], to e, one integer: the end of what is cut out of x"""
    node = helper.make_node
    first = node("Gather", ["s", "i0"], ["a"])
    return {
        "Split": [node("Split", ["s", "parts"], ["a", "b"]), node("Div", ["a", "two"], ["e"])],
        "Split, one part empty": [node("Split", ["s", "uneven"], ["none", "a", "b"]), node("Div", ["a", "two"], ["e"])],
        "Split, equal parts": [node("Split", ["s"], ["e", "b"], num_outputs=2)],
        "Mod": [first, node("Mod", ["a", "four"], ["e"])],
        "Where": [first, node("Greater", ["a", "four"], ["g"]), node("Where", ["g", "four", "a"], ["e"])],
        "Pow": [node("Pow", ["two", "two"], ["p"]), first, node("Sub", ["a", "p"], ["e"])],
        "ReduceProd": [node("ReduceProd", ["s"], ["p"]), node("Div", ["p", "four"], ["e"])],
        "Clip": [first, node("Clip", ["a", "zero", "five"], ["e"])],
        "TopK": [node("TopK", ["s", "one"], ["v", "w"]), node("Sub", ["v", "four"], ["e"])],
        "ScatterND": [node("ScatterND", ["s", "at", "four"], ["a"]), node("Gather", ["a", "i0"], ["e"])],
        "float": [first, node("Cast", ["a"], ["f"], to=FLOAT), node("Sqrt", ["f"], ["q"]), node("Ceil", ["q"], ["c"]),
                  node("Cast", ["c"], ["e"], to=INT64)],
    }


def sizes(library, match):
    """What the host computes of a shape is the same for who cuts the graph and for who compiles it."""
    constants = {name: np.array(value, np.int64) for name, value in
                 (("i0", [0]), ("two", [2]), ("four", [4]), ("one", [1]), ("zero", 0), ("five", 5), ("parts", [1, 1]),
                  ("uneven", [0, 1, 1]), ("at", [[0]]), ("begin", [0]))}
    good = True
    for name, nodes in shape_sizes().items():
        if not re.search(match, name):
            continue
        nodes = [helper.make_node("Shape", ["x"], ["s"]), *nodes,
                 helper.make_node("Slice", ["x", "begin", "e", "begin"], ["cut"]), helper.make_node("Exp", ["cut"], ["y"])]
        used = {i for n in nodes for i in n.input}
        model = model_of(nodes, [("x", FLOAT, ["n", "m"])], [("y", FLOAT, None)],
                         {n: v for n, v in constants.items() if n in used}, 20)
        ours, cpu = session(library, model), cpu_session(model)
        worst = 0.0
        for shape in ((10, 3), (9, 4)):
            x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
            try:
                worst = max(worst, relative_error(ours.run(None, {"x": x})[0], cpu.run(None, {"x": x})[0]))
            except Exception as error: # pylint: disable=broad-except; a run that fails is a result
                print(str(error)[-200:])
                worst = float("inf")
        good &= tell(f"size from a shape by {name}", worst, [])
    return good


def open_rank(library, match):
    """A Loop whose captured value has no declared rank is the host's, like every other."""
    if not re.search(match, "Loop"):
        return True
    body = helper.make_graph([helper.make_node("Add", ["v", "w"], ["v_out"]), helper.make_node("Identity", ["c"], ["c_out"])],
                             "body", [helper.make_tensor_value_info("i", INT64, []),
                                      helper.make_tensor_value_info("c", BOOL, []),
                                      helper.make_tensor_value_info("v", FLOAT, None)],
                             [helper.make_tensor_value_info("c_out", BOOL, []),
                              helper.make_tensor_value_info("v_out", FLOAT, None)])
    model = model_of([helper.make_node("Reshape", ["x", "shape"], ["w"]),
                      helper.make_node("Loop", ["n", "", "w"], ["y"], body=body)],
                     [("x", FLOAT, ["a"]), ("shape", INT64, ["r"])], [("y", FLOAT, None)], {"n": np.array(2, np.int64)})
    feeds = {"x": np.arange(6, dtype=np.float32), "shape": np.array([2, 3])}
    worst = relative_error(session(library, model).run(None, feeds)[0], cpu_session(model).run(None, feeds)[0])
    return tell("Loop of a value without a rank", worst, [])


def tell(name, worst, left):
    good = worst <= LIMIT and not left
    print(f"{'ok' if good else 'FAILED':7}{name}: error {worst:.1e}{''.join('; ' + text for text in left)}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--match", default="")
    args = parser.parse_args()
    good = decoders(args.library, args.match)
    good &= sizes(args.library, args.match) and open_rank(args.library, args.match)
    return 0 if single(args.library, args.match) and good else 1


if __name__ == "__main__":
    sys.exit(main())
