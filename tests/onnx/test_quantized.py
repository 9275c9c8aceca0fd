# SPDX-License-Identifier: Apache-2.0
"""usage: test_quantized.py ANYDML: quantised ONNX operators against onnxruntime's CPU provider."""
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from node_compare import Compare, Packed, TensorProto, helper
from onnx_tool import has_vnni

MS = "com.microsoft"
F = np.float32


def scalar(value, dtype=F):
    return np.array(value, dtype)


def linear(c):
    """QuantizeLinear and DequantizeLinear: all granularities and integer types."""
    x = c.uniform(3, 6, 5, low=-40, high=40)
    shapes = {"all": ((), 0, 0), "axis 1": ((6,), 1, 0), "axis -1": ((5,), -1, 0), "blocks": ((3, 2, 5), 1, 3),
              "ragged": ((3, 2, 5), 1, 4)}
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        for name, (shape, axis, block) in shapes.items():
            big = np.iinfo(dtype).bits == 16
            scale = c.uniform(*shape, low=0.002 if big else 0.2, high=0.004 if big else 0.6)
            zero = c.integers(*shape, dtype=dtype)
            for kind in (F, np.float16):
                q = {"scale": scale.astype(kind), "zero": zero}
                attributes = {"axis": axis, **({"block_size": block} if block else {})}
                c.node("QuantizeLinear", {"x": x.astype(kind)}, q, what=f"{name} {dtype.__name__} {kind.__name__}",
                       atol=1 if kind is np.float16 else 0, **attributes)
                c.node("DequantizeLinear", {"x": c.integers(3, 6, 5, dtype=dtype)}, q,
                       what=f"{name} {dtype.__name__} {kind.__name__}", rtol=1e-3 if kind is np.float16 else 1e-6,
                       **attributes)
    c.node("QuantizeLinear", {"x": x}, {"scale": scalar(0.5)}, what="no zero point")
    c.node("QuantizeLinear", {"x": x}, {"scale": scalar(0.5)}, what="output_dtype", output_dtype=TensorProto.INT8)
    c.node("QuantizeLinear", {"x": x, "scale": scalar(0.5)}, {"zero": scalar(3, np.uint8)}, what="version 10",
           opset=10)
    c.node("DequantizeLinear", {"x": c.integers(4, 7, dtype=np.int32, low=-10**6, high=10**6)},
           {"scale": scalar(0.25)}, what="int32", rtol=1e-6)
    c.node("QuantizeLinear", {"x": x}, {"scale": scalar(0.5), "zero": scalar(3, np.int8)}, domain=MS, what="contrib")
    c.node("DequantizeLinear", {"x": c.integers(4, 7)}, {"scale": c.uniform(7), "zero": c.integers(7)}, domain=MS,
           what="contrib", axis=1)
    c.refuses("QuantizeLinear", {"x": x}, {"scale": scalar(0.5)}, "QuantizeLinear", "float8e4m3fn",
              output_dtype=TensorProto.FLOAT8E4M3FN)
    c.refuses("QuantizeLinear", {"x": x}, {"scale": c.uniform(4)}, "QuantizeLinear", "axis 1", axis=1)
    c.node("DynamicQuantizeLinear", {"x": x}, outputs=3, rtol=1e-6)
    c.node("DynamicQuantizeLinear", {"x": np.abs(x)}, outputs=3, what="positive", rtol=1e-6)
    c.node("DynamicQuantizeLinear", {"x": np.zeros((2, 2), F)}, outputs=3, what="zero", rtol=1e-6)
    c.node("DynamicQuantizeLinear", {"x": np.zeros((0, 3), F)}, outputs=3, what="empty", rtol=1e-6)


def four_bits(c):
    x = c.uniform(3, 7, 5, low=-8, high=8)
    for signed in (True, False):
        low, high = (-8, 7) if signed else (0, 15)
        kind = TensorProto.INT4 if signed else TensorProto.UINT4
        cast = helper.make_node("Cast", ["q"], ["y"], to=TensorProto.INT8 if signed else TensorProto.UINT8)
        for name, (shape, axis, block) in {"all": ((), 0, 0), "axis": ((7,), 1, 0), "blocks": ((3, 1, 5), 1, 7),
                                           "ragged": ((3, 2, 5), 1, 4)}.items():
            scale = c.uniform(*shape, low=0.5, high=1.5)
            zero = Packed(c.random.integers(low, high + 1, shape), signed)
            data = Packed(c.random.integers(low, high + 1, (3, 7, 5)), signed)
            attributes = {"axis": axis, **({"block_size": block} if block else {})}
            quantize = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes)
            c.graph(f"4-bit quantize {name} {signed}", [quantize, cast], {"x": x}, ["y"], {"s": scale, "z": zero})
            unpack = helper.make_node("DequantizeLinear", ["d", "s", "z"], ["w"], **attributes)
            add = helper.make_node("Add", ["w", "x"], ["y"])
            c.graph(f"4-bit dequantize {name} {signed}", [unpack, add], {"x": x}, ["y"],
                    {"s": scale, "z": zero, "d": data}, rtol=1e-6, atol=1e-6)
        quantize = helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=kind)
        c.graph(f"4-bit output_dtype {signed}", [quantize, cast], {"x": x}, ["y"], {"s": scalar(0.7)})
        pack = helper.make_node("Cast", ["i"], ["p"], to=kind)
        shape = helper.make_node("Reshape", ["p", "shape"], ["q"])
        numbers = c.integers(5, 3, dtype=np.int8, low=low, high=high) if signed else c.integers(5, 3, high=high)
        c.graph(f"4-bit reshape {signed}", [pack, shape, cast], {"i": numbers}, ["y"],
                {"shape": np.array([3, 5], np.int64)}, expect=[numbers.reshape(3, 5)])


def products(c):
    for left, right in (((5, 9), (9, 7)), ((2, 3, 5, 9), (9, 7)), ((2, 1, 5, 9), (3, 9, 4)), ((9,), (9, 4))):
        for ta, tb in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
            a, b, what = c.integers(*left, dtype=ta), c.integers(*right, dtype=tb), f"{left} {right} {ta} {tb}"
            az, bz, columns = scalar(c.integers(dtype=ta), ta), c.integers(right[-1], dtype=tb), right[-1]
            c.node("MatMulInteger", {"a": a, "b": b}, what=what)
            c.node("MatMulInteger", {"a": a, "b": b}, {"az": az, "bz": scalar(3, tb)}, what=what)
            if len(right) == 2:
                c.node("MatMulInteger", {"a": a}, {"b": b, "az": az, "bz": bz}, what=what + " columns")
            # Halved, since ONNX Runtime has no exact form of this one without VNNI (onnx_tool.py).
            q = {"as": scalar(0.02), "az": az, "b": b if ta == tb else b // 2, "bs": scalar(0.03), "bz": scalar(4, tb),
                 "ys": scalar(0.4), "yz": scalar(9, ta)}
            c.node("QLinearMatMul", {"a": a}, q, what=what, atol=1)
            q.update(bs=c.uniform(columns, low=0.01, high=0.05), bz=bz)
            if len(right) == 2:
                c.node("QLinearMatMul", {"a": a}, q, what=what + " columns", atol=1)
            f = {"as": scalar(0.02), "bs": c.uniform(columns, low=0.01, high=0.05), "az": az, "bz": bz,
                 "bias": c.uniform(columns)}
            if len(right) == 2:
                c.node("MatMulIntegerToFloat", {"a": a, "b": b}, f, domain=MS, what=what, rtol=1e-5, atol=1e-5)
    for left, right in (((2, 0), (0, 4)), ((3, 2, 0), (3, 0, 4)), ((0, 3), (3, 4))): # nothing to sum up, or no row
        a, what = c.integers(*left), f"empty: {left} {right}"
        q = {"as": scalar(0.02), "az": scalar(3, np.uint8), "b": c.integers(*right), "bs": scalar(0.03),
             "bz": scalar(4, np.uint8), "ys": scalar(0.4), "yz": scalar(9, np.uint8)}
        sums = np.zeros((*left[:-1], right[-1]), np.int32) # ONNX Runtime's own kernels leave memory as it is
        c.node("MatMulInteger", {"a": a, "b": q["b"]}, {"az": q["az"], "bz": q["bz"]}, what=what, expect=[sums])
        c.node("QLinearMatMul", {"a": a}, q, what=what, expect=[(sums + 9).astype(np.uint8)])
    a, b = c.integers(2, 3, 4, dtype=np.int8), c.integers(2, 4, 5, dtype=np.int8)
    rows, columns = c.integers(2, 3, 1, dtype=np.int8), c.integers(2, 1, 5, dtype=np.int8)
    sums = np.matmul(a.astype(np.int32) - rows, b.astype(np.int32) - columns).astype(np.int32)
    c.node("MatMulInteger", {"a": a, "b": b}, {"az": rows, "bz": columns}, what="zero points per batch",
           expect=[sums])
    q = {"as": c.uniform(2, 3, 1, low=0.01, high=0.1), "az": rows, "b": b,
         "bs": c.uniform(2, 1, 5, low=0.01, high=0.1), "bz": columns, "ys": scalar(0.4), "yz": scalar(-3, np.int8)}
    real = np.clip(np.rint(sums * q["as"] * q["bs"] / F(0.4)) - 3, -128, 127).astype(np.int8)
    c.node("QLinearMatMul", {"a": a}, q, what="scales per batch", atol=1, expect=[real])
    for tb in (np.uint8, np.int8):
        for columns in ((), (6,)):
            b = {"b": c.integers(8, 6, dtype=tb), "bs": c.uniform(*columns, low=0.01, high=0.05),
                 "bz": c.integers(*columns, dtype=tb) if columns else scalar(5, tb), "bias": c.uniform(6)}
            c.node("DynamicQuantizeMatMul", {"a": c.uniform(3, 5, 8)}, b, domain=MS, what=f"{tb} {columns}",
                   rtol=1e-4, atol=1e-4)
    for ta, tb, out in ((0, 0, np.uint8), (0, 1, np.uint8), (1, 1, None)):
        a, b = c.integers(*((8, 5) if ta else (5, 8))), c.integers(*((6, 8) if tb else (8, 6)), dtype=np.int8)
        q = {"as": scalar(0.02), "az": scalar(120, np.uint8), "b": b, "bs": c.uniform(6, low=0.01, high=0.05),
             "bz": np.zeros(6, np.int8), "c": c.integers(6, dtype=np.int32, low=-999, high=999)}
        q.update({"ys": scalar(0.4), "yz": scalar(9, out)} if out else {})
        c.node("QGemm", {"a": a}, q, domain=MS, what=f"{ta} {tb} {out}", atol=1 if out else 1e-4, rtol=0 if out
               else 1e-5, transA=ta, transB=tb, alpha=0.5)


def convolutions(c):
    for spatial, groups, channels in (((9,), 1, 4), ((8, 7), 1, 4), ((8, 7), 2, 4), ((8, 7), 4, 4), ((5, 6, 4), 1, 2)):
        for tw in (np.uint8, np.int8):
            kernel = (3,) * len(spatial)
            x = {"x": c.integers(2, channels, *spatial)}
            w = c.integers(8, channels // groups, *kernel, dtype=tw)
            attributes = {"group": groups, "pads": [1, 0] * len(spatial), "strides": [2] * len(spatial)}
            what, zero = f"{spatial} group {groups} {tw}", scalar(7, tw)
            if len(spatial) < 3:
                c.node("ConvInteger", x, {"w": w, "xz": scalar(120, np.uint8), "wz": zero}, what=what, **attributes)
            else:
                c.node("ConvInteger", {**x, "w": w}, what=what, **attributes)
            q = {"xs": scalar(0.02), "xz": scalar(120, np.uint8), "w": w, "ws": scalar(0.01), "wz": zero,
                 "ys": scalar(0.1), "yz": scalar(110, np.uint8),
                 "bias": c.integers(8, dtype=np.int32, low=-5000, high=5000)}
            c.node("QLinearConv", x, q, what=what, atol=1, **attributes)
            if tw is np.int8:
                q.update(ws=c.uniform(8, low=0.005, high=0.02), wz=np.zeros(8, tw))
                c.node("QLinearConv", x, q, what=what + " channels", atol=1, **attributes)


def elementwise(c):
    for t in (np.uint8, np.int8):
        zero = {"xs": scalar(0.05), "xz": scalar(10, t)}
        out = {"ys": scalar(0.06), "yz": scalar(20, t)}
        for right in ((3, 4, 5), (5,), ()):
            x, z = {"x": c.integers(3, 4, 5, dtype=t)}, {"z": c.integers(*right, dtype=t) if right else scalar(9, t)}
            names = ["x", "xs", "xz", "z", "zs", "zz", "ys", "yz"]
            constants = {**zero, "zs": scalar(0.03), "zz": scalar(-3 if t is np.int8 else 90, t), **out}
            for op in ("QLinearAdd", "QLinearMul"):
                c.node(op, {**x, **z}, constants, domain=MS, what=f"{t} {right}", atol=1, order=names)
        x = {"x": c.integers(2, 3, 8, 9, dtype=t)}
        sigmoid = {"ys": scalar(1 / 256), "yz": scalar(np.iinfo(t).min, t)}
        c.node("QLinearSigmoid", x, {**zero, **sigmoid}, domain=MS, what=f"{t}", atol=1)
        c.node("QLinearLeakyRelu", x, {**zero, **out}, domain=MS, what=f"{t}", atol=1, alpha=0.2)
        for opset, axis in ((13, -1), (13, 1), (12, 1)):
            softmax(c, x, {**zero, **sigmoid}, t, opset, axis)
        for last in (0, 1):
            c.node("QLinearGlobalAveragePool", x, {**zero, **out}, domain=MS, what=f"{t} {last}", atol=1,
                   channels_last=last)
            for include in (0, 1):
                c.node("QLinearAveragePool", x, {**zero, **out}, domain=MS, what=f"{t} {last} {include}", atol=1,
                       kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], count_include_pad=include,
                       channels_last=last)
        parts = {f"x{i}": c.integers(2, i + 1, 5, dtype=t) for i in range(3)}
        constants, names = {**out}, ["ys", "yz"]
        for i in range(3):
            constants.update({f"s{i}": scalar(0.02 * (i + 1)), f"z{i}": scalar(11 * i, t)})
            names += [f"x{i}", f"s{i}", f"z{i}"]
        c.node("QLinearConcat", parts, constants, domain=MS, what=f"{t}", atol=1, order=names, axis=1)


def softmax(c, x, constants, t, opset, axis):
    node = helper.make_node("QLinearSoftmax", ["x", *constants], ["y"], domain=MS, axis=axis, opset=opset)
    c.graph(f"QLinearSoftmax {t} {opset} {axis}", [node], x, ["y"], constants, atol=1)


def pack(values, bits):
    """[rows, n] -> bytes [rows, ceil(n * bits / 8)], low bits first."""
    lanes = 8 // bits
    values = np.pad(values, [(0, 0), (0, -values.shape[1] % lanes)])
    parts = values.reshape(values.shape[0], -1, lanes).astype(np.int64) << (np.arange(lanes) * bits)
    return parts.sum(-1).astype(np.uint8)


def nbits(c):
    for bits in (2, 4, 8):
        for k, n, block in ((64, 5, 32), (80, 6, 32), (96, 3, 32), (20, 7, 16)):
            blocks = -(-k // block)
            w = c.integers(n, blocks * block, low=0, high=2**bits - 1)
            packed = pack(w, bits).reshape(n, blocks, -1)
            scale = c.uniform(n, blocks, low=0.1, high=0.5)
            zeros = c.integers(n, blocks, low=0, high=2**bits - 1)
            floats = c.uniform(n, blocks, low=0, high=2**bits - 1)
            for zero in (None, "packed", "float"):
                z = np.full((n, blocks), 2.0**(bits - 1)) if zero is None else zeros if zero == "packed" else floats
                real = ((w.reshape(n, blocks, block) - z[..., None].astype(np.float64)) * scale[..., None])
                real = real.reshape(n, -1)[:, :k]
                bias, a = c.uniform(n), c.uniform(2, 3, k)
                constants = {"b": packed, "s": scale, "bias": bias}
                names = ["a", "b", "s", "", "", "bias"]
                if zero:
                    names[3] = "z"
                    constants["z"] = pack(zeros, bits) if zero == "packed" else floats
                for kind in (F, np.float16):
                    own = {m: x.astype(kind) if x.dtype == F else x for m, x in constants.items()}
                    want = (a.astype(kind).astype(np.float64) @ real.T + bias).astype(kind)
                    c.node("MatMulNBits", {"a": a.astype(kind)}, own, domain=MS, order=names, expect=[want],
                           what=f"{bits} bits {k} {n} {zero} {kind.__name__}", rtol=1e-4 if kind is F else 2e-2,
                           atol=1e-3 if kind is F else 2e-1, K=k, N=n, bits=bits, block_size=block)
    w, scale, a = pack(c.integers(8, 64, high=15), 4), c.uniform(8, 2), c.uniform(3, 64)
    c.node("MatMulNBits", {"a": a}, {"b": w.reshape(8, 2, 16), "s": scale}, domain=MS, what="onnxruntime", rtol=1e-4,
           atol=1e-4, K=64, N=8, bits=4, block_size=32)
    c.refuses("MatMulNBits", {"a": a}, {"b": w.reshape(8, 2, 16), "s": scale, "g": np.zeros(64, np.int32)}, "g_idx",
              domain=MS, order=["a", "b", "s", "", "g"], K=64, N=8, bits=4, block_size=32)


def level_4(c):
    """Activations in 8 bits may cost half a step of each block's largest element, and only where all products allow it."""
    k, n, block = 160, 40, 32
    for bits, rows in ((4, 1), (4, 3), (4, 40), (8, 1), (8, 40)):
        codes, scale = c.integers(n, k, high=2**bits - 1), c.uniform(n, k // block, low=0.1, high=0.5)
        a = c.uniform(rows, k) * np.where(c.uniform(rows, k) > 0.9, F(30), F(1))
        w = ((codes.reshape(n, -1, block) - 2.0**(bits - 1)) * scale[..., None]).reshape(n, k)
        most = np.repeat(np.abs(a).reshape(rows, -1, block).max(-1), block, axis=1)
        bound = (most / 253) @ np.abs(w).T
        packed = pack(codes, bits).reshape(n, k // block, -1)
        node = {"domain": MS, "K": k, "N": n, "bits": bits, "block_size": block}
        c.node("MatMulNBits", {"a": a}, {"b": packed, "s": scale}, what=f"level 4, {bits} bits, {rows} rows",
               expect=[(a @ w.T).astype(F)], atol=bound, accuracy_level=4, **node)
        nodes = [helper.make_node("MatMulNBits", ["a", "b", "s"], [f"y{level}"], accuracy_level=level, **node)
                 for level in (4, 0)]
        c.graph(f"levels 4 and 0, {bits} bits, {rows} rows", nodes, {"a": a}, ["y4", "y0"], {"b": packed, "s": scale},
                expect=[(a.astype(np.float64) @ w.T).astype(F)] * 2, atol=2e-3, rtol=1e-5)


def level_4_embedding(c):
    """Quantised rows that are gathered are no weights of a product: they do not take the permission away."""
    indices, k, n = np.array([[3, 0, 5]], np.int64), 64, 24
    constants = {"d": pack(c.integers(6, k, high=15), 4), "ds": c.uniform(6, 2, low=0.1, high=0.5),
                 "b": pack(c.integers(n, k, high=15), 4).reshape(n, 2, 16), "s": c.uniform(n * 2, low=0.1, high=0.5)}
    for level, flags in ((4, "0x30000000"), (0, "0x10000000")):
        nodes = [helper.make_node("GatherBlockQuantized", ["d", "i", "ds"], ["x"], domain=MS, block_size=32, bits=4,
                                  quantize_axis=1),
                 helper.make_node("MatMulNBits", ["x", "b", "s"], ["y"], domain=MS, K=k, N=n, bits=4, block_size=32,
                                  accuracy_level=level)]
        model = c.model(nodes, {"i": indices}, {"y": np.zeros((1, 3, n), F)}, constants, 21)
        result = c.run("graph", c.file("m.onnx", model.SerializeToString()))
        c.test(f"flags {flags}\n" in result.stdout, f"level {level}: {result.stdout[:60]} {result.stderr[-200:]}")


def gather_blocks(c):
    indices = np.array([[3, 0, 5], [1, 1, 4]], np.int64)
    for bits in (4, 8):
        for zero in (False, True):
            values = c.integers(6, 64, high=2**bits - 1)
            constants = {"d": pack(values, bits), "s": c.uniform(6, 4, low=0.1, high=0.5)}
            if zero:
                constants["z"] = pack(c.integers(6, 4, high=2**bits - 1), bits)
            c.node("GatherBlockQuantized", {"i": indices}, constants, domain=MS, what=f"{bits} {zero}", rtol=1e-6,
                   order=["d", "i", "s", "z"][:3 + zero], block_size=16, bits=bits, quantize_axis=1)
    for signed in (True, False):
        low, high = (-8, 7) if signed else (0, 15)
        data = Packed(c.random.integers(low, high + 1, (6, 32, 3)), signed)
        constants = {"d": data, "s": c.uniform(6, 2, 3, low=0.1, high=0.5),
                     "z": Packed(c.random.integers(low, high + 1, (6, 2, 3)), signed)}
        for axis in (0, 1, 2):
            c.node("GatherBlockQuantized", {"i": indices % 3}, constants, domain=MS, what=f"int4 {signed} {axis}",
                   rtol=1e-6, order=["d", "i", "s", "z"], block_size=16, gather_axis=axis, quantize_axis=1)


def attention(c):
    batch, length, width, heads, size = 2, 4, 6, 2, 3
    hidden = heads * size
    for name, mask, causal, past in (("plain", None, 0, 0), ("causal", None, 1, 0), ("length", (2,), 0, 0),
                                     ("raw", (2, 4), 0, 0), ("past", None, 1, 3), ("start", (4,), 0, 0)):
        x = {"x": c.integers(batch, length, width)}
        constants = {"w": c.integers(width, 3 * hidden, dtype=np.int8), "bias": c.uniform(3 * hidden),
                     "xs": scalar(0.02), "ws": scalar(0.01), "xz": scalar(128, np.uint8), "wz": scalar(0, np.int8)}
        names = ["x", "w", "bias", "xs", "ws", "m" if mask else "", "xz", "wz"]
        if mask:
            values = {(2,): [3, 4], (4,): [3, 4, 0, 1]}.get(mask) or c.random.integers(0, 2, mask).tolist()
            constants["m"] = np.array(values, np.int32)
            if mask == (2, 4):
                constants["m"][:, 0] = 1
        if past:
            x["p"] = c.uniform(2, batch, heads, past, size)
            names.append("p")
        c.node("QAttention", x, constants, domain=MS, what=name, order=names, outputs=2 if past else 1, rtol=1e-4,
               atol=1e-5, num_heads=heads, unidirectional=causal)


def lstm(c):
    """DynamicQuantizeLSTM: near the LSTM of the floats that the weights stand for, and near ONNX Runtime's: tokens and
    states may be rounded to 8 bits on the way."""
    for directions, columns, signed in ((1, False, False), (2, False, True), (1, True, True), (2, True, False)):
        dtype, inputs, hidden = np.int8 if signed else np.uint8, 19, 13
        x = {"x": c.uniform(6, 3, inputs), "lengths": np.array([6, 2, 4], np.int32),
             "h": c.uniform(directions, 3, hidden), "c": c.uniform(directions, 3, hidden)}
        weights = [c.integers(directions, n, 4 * hidden, dtype=dtype) for n in (inputs, hidden)]
        each = (directions, 4 * hidden) if columns else (directions,)
        scales = [c.uniform(*each, low=0.002, high=0.004) for _ in weights]
        zeros = [np.full(each, 0 if signed else 128, dtype) for _ in weights]
        bias, peephole = c.uniform(directions, 8 * hidden), c.uniform(directions, 3 * hidden)
        floats = [((w.astype(F) - z.reshape(directions, 1, -1).astype(F)) * s.reshape(directions, 1, -1)).swapaxes(1, 2).copy()
                  for w, s, z in zip(weights, scales, zeros)]
        attributes = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward"}
        plain = helper.make_node("LSTM", ["x", "w", "r", "b", "lengths", "h", "c", "p"], ["y0", "y1", "y2"], **attributes)
        constants = {"w": floats[0], "r": floats[1], "b": bias, "p": peephole}
        exact = c.reference(c.model([plain], x, dict.fromkeys(("y0", "y1", "y2")), constants, 21), x)
        constants = {"w": weights[0], "r": weights[1], "b": bias, "p": peephole, "ws": scales[0], "wz": zeros[0],
                     "rs": scales[1], "rz": zeros[1]}
        order, what = ["x", "w", "r", "b", "lengths", "h", "c", "p", "ws", "wz", "rs", "rz"], f"{directions} {columns} {signed}"
        for name, expect, limit in (("exact", exact, 0.02), ("onnxruntime", None, 0.05)):
            c.node("DynamicQuantizeLSTM", x, constants, outputs=3, domain=MS, what=f"{what} {name}", order=order,
                   atol=limit, expect=expect, **attributes)
        bad = {**constants, "ws": scales[0].reshape(-1)[:-1].reshape(-1)}
        bad["wz"] = np.zeros(bad["ws"].shape, dtype)
        if not columns and directions == 2:
            c.refuses("DynamicQuantizeLSTM", x, bad, "'ws'", "2 directions", domain=MS, order=order, **attributes)


def dynamic_lstm(c):
    """LSTMs of all sizes as quantize_dynamic writes them, with 7-bit weights: ONNX Runtime's sums saturate with 8 bits on
    CPUs without VNNI. The error is that of the rounding, and no greater than ONNX Runtime's."""
    for case in range(16):
        steps, batch, inputs, hidden = (int(c.random.integers(1, n)) for n in (12, 6, 90, 150))
        directions, columns = int(c.random.integers(1, 3)), bool(c.random.integers(2))
        x = {"x": c.uniform(steps, batch, inputs, low=-2, high=2), "h": c.uniform(directions, batch, hidden),
             "c": c.uniform(directions, batch, hidden)}
        floats = {"w": c.uniform(directions, 4 * hidden, inputs) * F(inputs**-0.5), "r": c.uniform(directions, 4 * hidden, hidden)
                  * F(hidden**-0.5), "b": c.uniform(directions, 8 * hidden)}
        attributes = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else ("forward", "reverse")[case % 2]}
        lstm = helper.make_node("LSTM", ["x", "w", "r", "b", "", "h", "c"], ["y0", "y1", "y2"], **attributes)
        plain = c.model([lstm], x, dict.fromkeys(("y0", "y1", "y2")), floats, 17)
        plain.ir_version = 8
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/quantised.onnx"
            quantize_dynamic(plain, path, op_types_to_quantize=["LSTM"], per_channel=columns, reduce_range=True,
                             weight_type=QuantType.QInt8 if case % 3 else QuantType.QUInt8)
            quantised = onnx.load(path)
        node, = (n for n in quantised.graph.node if n.op_type == "DynamicQuantizeLSTM")
        constants = {t.name: numpy_helper.to_array(t) for t in quantised.graph.initializer}
        what = f"quantize_dynamic {steps} {batch} {inputs} {hidden} {directions} {columns}"
        wanted = dict(zip(node.output, c.reference(plain, x)))
        theirs = c.reference(quantised, x)
        ours = c.execute(what, quantised, x, wanted)
        for name, our, their, want in zip(node.output, ours or [], theirs, wanted.values()):
            error, other = np.abs(our - want).max(), np.abs(their - want).max()
            c.test(error <= 1.2 * other + 0.003 and error < 0.06, f"{what} {name}: errors {error} and {other}")
            c.test(np.abs(our - their).max() <= 0.03, f"{what} {name}: {np.abs(our - their).max()} from ONNX Runtime")
        c.test(ours is not None and constants[node.input[1]].dtype.itemsize == 1, what)


def by_rows(model, x):
    """ONNX Runtime's results with a thread for each row of the batch: it then rounds the states of each row on their own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = x["x"].shape[1]
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, x)


def lstm_rounding(c):
    """Tokens and states have the levels that ONNX Runtime gives them: except for states next to the middle of two, results differ
    by the rounding of floats. Weights are of 7 bits where ONNX Runtime's sums saturate. The first step from states of zero
    is exact on every device, other steps where the kernel multiplies bytes."""
    few = not has_vnni()
    for case in range(24):
        signed, columns, directions, batch = bool(case & 1), bool(case & 2), 1 + (case >> 2 & 1), (1, 3, 1)[case % 3]
        first = case < 8
        steps = 1 if first else int(c.random.integers(2, 12))
        inputs, hidden = (int(c.random.integers(1, n)) for n in (90, 150))
        dtype, levels = np.int8 if signed else np.uint8, 128 if few else 256
        low = -levels // 2 if signed else 0
        each = (directions, 4 * hidden) if columns else (directions,)
        constants = {"b": c.uniform(directions, 8 * hidden), "p": c.uniform(directions, 3 * hidden)}
        for name, n in (("w", inputs), ("r", hidden)):
            zeros = np.full(each, low + levels // 2) if signed or columns else c.random.integers(50, 78, each)
            constants[name] = c.integers(directions, n, 4 * hidden, dtype=dtype, low=low, high=low + levels - 1)
            constants[name + "s"] = c.uniform(*each, low=0.5, high=1.5) * F(2 / levels / n**0.5)
            constants[name + "z"] = zeros.astype(dtype)
        x = {"x": c.uniform(steps, batch, inputs, low=-1, high=3)}
        states = ["", "", ""] if first else ["l", "h", "c"]
        if not first:
            x["l"] = np.append([steps], c.random.integers(1, steps + 1, batch - 1)).astype(np.int32)
            x["h"], x["c"] = c.uniform(directions, batch, hidden), c.uniform(directions, batch, hidden, low=-2, high=0.5)
        names = ["x", "w", "r", "b", *states, "p", "ws", "wz", "rs", "rz"]
        node = helper.make_node("DynamicQuantizeLSTM", names, ["y0", "y1", "y2"], domain=MS, hidden_size=hidden,
                                direction="bidirectional" if directions == 2 else ("forward", "reverse")[case // 8 % 2])
        model = c.model([node], x, dict.fromkeys(("y0", "y1", "y2")), constants, 17)
        want = by_rows(model, x)
        what = f"levels {steps} {batch} {inputs} {hidden} {directions} {signed} {columns}"
        model = c.model([node], x, dict(zip(("y0", "y1", "y2"), want)), constants, 17)
        if not first and "recurrent_bytes" not in c.run("graph", c.file("m.onnx", model.SerializeToString())).stdout:
            continue
        for i, (our, their) in enumerate(zip(c.execute(what, model, x, ("y0", "y1", "y2")) or [], want)):
            error = np.abs(our - their)
            c.test(np.median(error) < 2e-6 and error.max() < (2e-6 if first else 5e-3),
                   f"{what}: output {i} differs by {error.max()}, {np.median(error)} in the median")


def quantized_models(c):
    """Pairs of quantising nodes around float operators stay what they are."""
    node = helper.make_node
    constants = {"s": scalar(0.02), "z": scalar(128, np.uint8), "w": c.integers(4, 3, 3, 3, dtype=np.int8),
                 "ws": c.uniform(4, low=0.01, high=0.02), "wz": np.zeros(4, np.int8), "ys": scalar(0.1)}
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             node("DequantizeLinear", ["w", "ws", "wz"], ["dw"], axis=0),
             node("Conv", ["d", "dw"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
             node("QuantizeLinear", ["r", "ys", "z"], ["qr"]), node("DequantizeLinear", ["qr", "ys", "z"], ["y"])]
    c.graph("convolution between pairs", nodes, {"x": c.uniform(2, 3, 8, 8, low=-2, high=2)}, ["y"], constants,
            atol=0.1001)
    constants = {"s": scalar(0.02), "z": scalar(0, np.int8), "w": c.integers(16, 9, dtype=np.int8),
                 "ws": c.uniform(9, low=0.01, high=0.02)}
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             node("DequantizeLinear", ["w", "ws"], ["dw"], axis=1), node("MatMul", ["d", "dw"], ["y"])]
    c.graph("product of pairs", nodes, {"x": c.uniform(5, 16, low=-2, high=2)}, ["y"], constants, rtol=1e-4, atol=1e-4)


class Chain:
    """A random network of QDQ layers and what its steps give one by one. Scales are small multiples of powers of two, so
    that sums are exact in FLOAT32, but quotients by them are not, and many of those are halves."""

    def __init__(self, c, shape):
        self.c, self.nodes, self.constants, self.count = c, [], {}, 0
        self.kind = self.pick(np.uint8, np.int8)
        self.scale, self.zero = F(self.pick(3, 5, 7, 9) * 2.0**-9), self.kind(self.pick(0, 100))
        self.input = self.q = c.integers(*shape, dtype=self.kind)
        self.name = "x"

    def pick(self, *choices):
        return choices[self.c.random.integers(len(choices))]

    def add(self, op, inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, [f"t{self.count}"], **attributes))
        return f"t{self.count}"

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def dequantized(self, q, scale, zero, name=None, **attributes):
        """The node's result and its value, in float64: exact."""
        inputs = [name or self.constant(q), self.constant(scale), self.constant(zero)]
        form = (-1,) + (1,) * (q.ndim - 1) if attributes.get("axis") == 0 else np.shape(scale)
        value = (q.astype(np.float64) - np.reshape(zero, form)) * np.reshape(scale, form).astype(np.float64)
        return self.add("DequantizeLinear", inputs, **attributes), value

    def now(self):
        return self.dequantized(self.q, self.scale, self.zero, self.name)

    def quantize(self, name, value):
        """The result `value` of a node ends a layer."""
        assert np.all(value.astype(F) == value)
        if self.pick(0, 1):
            name, value = self.add("Relu", [name]), np.maximum(value, 0)
        size = np.std(value) / self.pick(20, 60, 200) + 1e-9
        self.kind = self.pick(np.uint8, np.int8)
        info = np.iinfo(self.kind)
        odd = self.pick(*range(3, 63, 2))
        self.scale = F(odd * 2.0**np.round(np.log2(size / odd)))
        self.zero = self.kind(self.pick(0, 100))
        self.q = np.clip(np.rint(value.astype(F) / self.scale) + F(self.zero), info.min, info.max).astype(self.kind)
        self.name = self.add("QuantizeLinear", [name, self.constant(self.scale), self.constant(self.zero)])

    def weights(self, shape, axis):
        each = self.pick((), (shape[axis],))
        scale = np.asarray(self.c.random.choice([1, 3, 5], each) * 2.0**-7, F)
        q = self.c.integers(*shape, dtype=np.int8, low=-1, high=1)
        return self.dequantized(q, scale, np.zeros(each, np.int8), **({"axis": axis} if each else {})), scale

    def conv(self, kernel, depthwise):
        x_name, x = self.now()
        n, channels, height, width = x.shape
        outs = channels if depthwise else self.pick(16, 24, 40)
        pad, stride, groups = kernel // 2, self.pick(1, 1, 2), channels if depthwise else 1
        (w_name, w), w_scale = self.weights((outs, channels // groups, kernel, kernel), 0)
        inputs = [x_name, w_name]
        padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        y = np.zeros((n, outs, (height - 1) // stride + 1, (width - 1) // stride + 1))
        for i in range(kernel):
            for j in range(kernel):
                tap = padded[:, :, i:i + height:stride, j:j + width:stride]
                y += tap * w[:, 0, i, j].reshape(-1, 1, 1) if depthwise else np.einsum("nchw,oc->nohw", tap, w[:, :, i, j])
        if self.pick(0, 1):
            scale = np.broadcast_to(F(self.scale) * w_scale, (outs,)).astype(F)
            bias = self.c.integers(outs, dtype=np.int32, low=-500, high=500)
            name, value = self.dequantized(bias, scale, np.zeros(outs, np.int32), axis=0)
            inputs.append(name)
            y += value.reshape(-1, 1, 1)
        self.quantize(self.add("Conv", inputs, group=groups, pads=[pad] * 4, strides=[stride] * 2), y)

    def add_residual(self):
        before = self.now()
        self.conv(1, True)
        if self.q.shape == before[1].shape:
            name, value = self.now()
            both = value + before[1]
            if np.all(both.astype(F) == both):
                self.quantize(self.add("Add", [name, before[0]]), both)

    def pool(self):
        name, x = self.now()
        height, width = x.shape[2] - 1, x.shape[3] - 1
        parts = [x[:, :, i:i + height, j:j + width] for i in (0, 1) for j in (0, 1)]
        y = np.max(parts, axis=0)
        pooled = self.add("MaxPool", [name], kernel_shape=[2, 2])
        inputs = [pooled, self.constant(self.scale), self.constant(self.zero)]
        info = np.iinfo(self.kind)
        self.name = self.add("QuantizeLinear", inputs)
        self.q = np.clip(np.rint(y.astype(F) / self.scale) + F(self.zero), info.min, info.max).astype(self.kind)

    def product(self):
        name, x = self.now()
        name, x = self.add("Flatten", [name], axis=2), x.reshape(x.shape[0] * x.shape[1], -1)
        x, name = x[:, :60], self.add("Slice", [name, self.constant(np.array([0])), self.constant(np.array([60])),
                                                self.constant(np.array([1]))])
        (w_name, w), _ = self.weights((x.shape[1], 20), 1)
        self.quantize(self.add("MatMul", [name, w_name]), x @ w)


def steps_one_by_one(c):
    """What is fused rounds as the steps do, to the bit. Most networks are of one layer: others hide a difference of 1."""
    for seed in range(60):
        c.random = np.random.default_rng(seed)
        chain = Chain(c, (1 + seed % 2, 16, 7 + seed % 5, 9))
        for _ in range(4 if seed % 4 == 0 else 0):
            layer = chain.pick(*range(6))
            if layer < 3:
                chain.conv((1, 3, 3)[layer], layer == 2)
            elif layer == 3:
                chain.add_residual()
            elif min(chain.q.shape[2:]) > 2:
                chain.pool()
        chain.conv(*chain.pick((1, False), (3, False), (3, True)))
        if seed % 5 == 0 and chain.q[0, 0].size >= 60:
            chain.product()
        chain.nodes[-1].output[0] = "y"
        c.graph(f"steps of seed {seed}", chain.nodes, {"x": chain.input}, ["y"], chain.constants, expect=[chain.q])


def other_floats(c):
    """bfloat16 through casts, and empty tensors."""
    node = helper.make_node
    x, scale = c.uniform(4, 6, low=-40, high=40), scalar(0.5)
    x = (x.view(np.uint32) & np.uint32(0xffff0000)).view(F)
    to = TensorProto.BFLOAT16
    casts = [node("Cast", ["x"], ["bx"], to=to), node("Cast", ["s"], ["bs"], to=to)]
    q = np.clip(np.rint(x / scale) + 7, -128, 127).astype(np.int8)
    constants = {"s": scale, "z": scalar(7, np.int8)}
    c.graph("bfloat16 quantize", [*casts, node("QuantizeLinear", ["bx", "bs", "z"], ["y"])], {"x": x}, ["y"], constants,
            expect=[q])
    nodes = [casts[1], node("DequantizeLinear", ["x", "bs", "z"], ["b"]), node("Cast", ["b"], ["y"],
                                                                                to=TensorProto.FLOAT)]
    c.graph("bfloat16 dequantize", nodes, {"x": q}, ["y"], constants, expect=[(q - F(7)) * scale])
    c.graph("float32 from a bfloat16 scale", [casts[1], node("DequantizeLinear", ["x", "bs", "z"], ["y"],
                                                             output_dtype=TensorProto.FLOAT)],
            {"x": q}, ["y"], constants, opset=23, expect=[(q - F(7)) * scale])
    c.node("QuantizeLinear", {}, {"x": np.zeros((0, 6), F), **constants}, what="empty")
    c.node("DequantizeLinear", {}, {"x": np.zeros((3, 0), np.int8), **constants}, what="empty")


def main():
    c = Compare(sys.argv[1])
    c.exact_bytes = True
    for family in (linear, four_bits, products, convolutions, elementwise, nbits, level_4, level_4_embedding,
                   gather_blocks, attention, lstm, dynamic_lstm, lstm_rounding, quantized_models, steps_one_by_one, other_floats):
        if len(sys.argv) < 3 or family.__name__ in sys.argv[2:]:
            family(c)
    return c.finish()


if __name__ == "__main__":
    sys.exit(main())
