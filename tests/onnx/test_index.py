# SPDX-License-Identifier: Apache-2.0
"""usage: test_index.py ANYDML: operators that go by index, order, bits and regions, Einsum, sampling, Fourier transforms,
losses, and the fused operators of com.microsoft."""
import itertools
import sys

from compare import Comparison, TensorProto, helper, make_model, np, onnx

ALL = ("f4", "f8", "f2", "bf")
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
MICROSOFT = "com.microsoft"
rng = np.random.default_rng(7)


def real(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def whole(low, high, shape, dtype=np.int64):
    return rng.integers(low, high, shape).astype(dtype)


def kind_of(dtype):
    return getattr(TensorProto, np.dtype(dtype).name.upper())


def gather_scatter(c):
    x = real(3, 4, 5)
    for axis in range(3):
        shape = [2, 3, 4]
        shape[axis] = 6
        c.case("GatherElements", {"x": x, "i": whole(-x.shape[axis], x.shape[axis], shape)}, kinds=ALL, axis=axis)
    c.case("GatherND", {"x": x, "i": whole(-3, 3, (2, 2, 2))}, kinds=ALL)
    c.case("GatherND", {"x": x, "i": whole(0, 4, (3, 2, 1))}, kinds=ALL, batch_dims=1)
    c.case("GatherND", {"x": x, "i": whole(0, 3, (2, 2), np.int32)}, domain=MICROSOFT)
    for reduction, axis in itertools.product(("none", "add", "mul", "max", "min"), range(3)):
        shape = [2, 3, 4]
        shape[axis] = x.shape[axis] - 1
        index = np.broadcast_to(np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(3)]), shape)
        if reduction != "none":
            index = index // 2 - 1
        c.case("ScatterElements", {"x": x, "i": index.astype(np.int64), "u": real(*shape)}, kinds=ALL, axis=axis,
               reduction=reduction)
    for reduction in ("none", "add", "mul", "max", "min"):
        index = np.array([[0, 1], [2, -1], [1, 1], [-1, 0]] if reduction == "none" else [[0, 1], [0, 1], [-1, 3], [2, 3]])
        c.case("ScatterND", {"x": x, "i": index, "u": real(4, 5)}, kinds=ALL, reduction=reduction)
        c.case("ScatterND", {"x": x, "i": index[:, :1], "u": real(4, 4, 5)} if reduction != "none" else
               {"x": x, "i": index[:3, :1], "u": real(3, 4, 5)}, kinds=ALL, reduction=reduction)
    for dtype in INTEGERS:
        x = whole(0, 100, (4, 5), dtype)
        y = [("y", kind_of(dtype))]
        c.case("GatherElements", {"x": x, "i": whole(-4, 4, (3, 5))}, y, axis=0)
        c.case("ScatterElements", {"x": x, "i": np.array([[0, 0, 1, 2, 3]]), "u": whole(0, 100, (1, 5), dtype)}, y)
        for reduction in ("add", "mul", "max", "min"):
            c.case("ScatterND", {"x": x, "i": np.array([[1], [1], [-1]]), "u": whole(0, 90, (3, 5), dtype)}, y,
                   reduction=reduction)


def reference_scatter(reduction, axis=None):
    """One update after the other, as numpy does it; along an axis, or rows."""
    function = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]

    def run(x, index, update):
        y = x.copy()
        at = index[:, 0] if axis is None else list(np.indices(index.shape))
        if axis is not None:
            at[axis] = index
            at = tuple(at)
        function.at(y, at, update)
        return [y]
    return run


def graph_network(c):
    """Messages of a graph's edges to its nodes: 60,000 edges to 5,000 nodes, which no dense product could hold."""
    edges, nodes, width = 60000, 5000, 16
    x, update = real(nodes, width), real(edges, width)
    rows = whole(-nodes, nodes, (edges, 1))
    rows[:3] = 7
    spread = np.ascontiguousarray(np.broadcast_to(rows, (edges, width)))
    mixed = whole(-nodes, nodes, (edges, width))
    for reduction in ("add", "mul", "max", "min"):
        near_one = 1 + update / 64 if reduction == "mul" else update
        c.case("ScatterND", {"x": x, "i": rows, "u": near_one}, reduction=reduction,
               reference=reference_scatter(reduction))
        for index in (spread, mixed):
            c.case("ScatterElements", {"x": x, "i": index, "u": near_one}, axis=0, reduction=reduction,
                   reference=reference_scatter(reduction, 0))
    c.case("ScatterElements", {"x": x.T.copy(), "i": mixed.T.copy(), "u": update.T.copy()}, axis=1, reduction="add",
           reference=reference_scatter("add", 1))


def order(c):
    x = real(3, 7, 5)
    for axis, largest in itertools.product(range(3), (0, 1)):
        c.case("TopK", {"x": x, "c_k": np.array([3])}, ["v", ("i", TensorProto.INT64)], kinds=("f4", "f8"), axis=axis,
               largest=largest)
    for dtype in INTEGERS:
        c.case("TopK", {"x": whole(0, 9, (3, 7), dtype), "c_k": np.array([4])},
               [("v", kind_of(dtype)), ("i", TensorProto.INT64)])
    for exclusive, reverse, axis in itertools.product((0, 1), (0, 1), (0, -1)):
        c.case("CumSum", {"x": x, "c_axis": np.array(axis)}, kinds=ALL, exclusive=exclusive, reverse=reverse)
    for upper, k in itertools.product((0, 1), (-9, -1, 0, 2, 9)):
        c.case("Trilu", {"x": x, "c_k": np.array(k)}, kinds=ALL, upper=upper)
        c.case("Trilu", {"x": whole(0, 9, (2, 3, 3, 4), np.int32), "c_k": np.array(k)}, [("y", TensorProto.INT32)],
               domain=MICROSOFT, upper=upper)
    c.case("ReverseSequence", {"x": x, "n": np.array([0, 7, 4])}, kinds=ALL, batch_axis=0, time_axis=1)
    for k in (-2, 0, 1):
        c.case("EyeLike", {"x": whole(0, 9, (3, 4))}, kinds=ALL, k=k, dtype=1)
    c.case("Compress", {"x": x, "c_condition": np.array([True, False, True])}, kinds=ALL, axis=0)
    c.case("Compress", {"x": x, "c_condition": np.array([True, False, True, True])}, kinds=ALL)
    c.case("NonZero", {"c_x": np.array([[1, 0, -2], [0, 0, 3.5]], np.float32)}, [("y", TensorProto.INT64)])
    for values in ((0, 10, 3), (10, 0, -3), (5, 1, 2), (0, 1, 0.1)):
        c.case("Range", {n: np.array(v, np.float32) for n, v in zip(("c_a", "c_b", "c_d"), values)})
    for dtype in (np.int16, np.int32, np.int64):
        c.case("Range", {n: np.array(v, dtype) for n, v in zip(("c_a", "c_b", "c_d"), (-3, 11, 4))},
               [("y", kind_of(dtype))])
    c.case("OneHot", {"i": whole(-6, 7, (2, 3)), "c_depth": np.array(5), "v": np.array([-1, 2], np.float32)}, kinds=ALL,
           axis=1)
    for shape in ((5, 4, 3), (2, 9, 5), (4, 6, 6)):
        c.case("CenterCropPad", {"x": x, "c_shape": np.array(shape)}, kinds=ALL)


def chain(c):
    """A view of another type in the middle of a graph."""
    x = real(3, 4)
    model = make_model("BitCast", {"x": x}, [("i", TensorProto.INT32)], {"to": TensorProto.INT32}, "", 26)
    node = onnx.helper.make_node
    del model.graph.node[:]
    model.graph.node.extend([node("Add", ["x", "x"], ["t"]), node("BitCast", ["t"], ["b"], to=TensorProto.INT32),
                             node("Add", ["b", "b"], ["i"])])
    name = model.graph.output[0].name
    for got in c.execute("BitCast between nodes", model, {"x": x}, [name]) or []:
        c.check("BitCast between nodes", got, (x + x).view(np.int32) * 2, 0)


def bits(c):
    for dtype in INTEGERS:
        y = [("y", kind_of(dtype))]
        low = -100 if np.dtype(dtype).kind == "i" else 0
        a, b = whole(low, 100, (3, 4), dtype), whole(1, 20, (4,), dtype)
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            c.case(op, {"a": a, "b": b}, y)
        c.case("BitwiseNot", {"a": a}, y)
        for sign, fmod in itertools.product((1, -1) if low else (1,), (0, 1)):
            c.case("Mod", {"a": a, "b": (b * sign).astype(dtype)}, y, fmod=fmod)
        # Runtimes have no kernels for shifts of most types.
        for direction, shift in (("LEFT", np.left_shift), ("RIGHT", np.right_shift)):
            c.case("BitShift", {"a": a, "b": b % 8}, y, version=28, reference=lambda a, b, f=shift: [f(a, b)],
                   direction=direction)
    c.case("Mod", {"a": real(3, 4) * 9, "b": real(4)}, kinds=("f4", "f8"), fmod=1)
    special = np.array([1, np.inf, -np.inf, np.nan, 0], np.float32)
    c.case("IsNaN", {"x": special}, [("y", TensorProto.BOOL)], kinds=ALL)
    for negative, positive in itertools.product((0, 1), (0, 1)):
        c.case("IsInf", {"x": special}, [("y", TensorProto.BOOL)], kinds=ALL, detect_negative=negative,
               detect_positive=positive)


def einsum(c):
    cases = [("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (3, 4)), ("ii", (4, 4)),
             ("ii->i", (4, 4)), ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)), ("i,j->ij", (3,), (4,)),
             ("ij->", (3, 4)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 2)), ("...ii->...i", (2, 3, 3)),
             ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)), ("abc,cd->abd", (2, 3, 4), (4, 5)), ("ab,cd->", (2, 3), (4, 5)),
             ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)), ("ij, ij", (3, 4), (3, 4)), ("i,i,i->i", (4,), (4,), (4,)),
             ("bA,Ab->bA", (3, 4), (4, 3)), ("iij,jk->ik", (3, 3, 4), (4, 2))]
    for equation, *shapes in cases:
        kinds = ALL if len(shapes) < 3 else ("f4", "f8")
        c.case("Einsum", {f"x{i}": real(*s) for i, s in enumerate(shapes)}, kinds=kinds, equation=equation)
        for dtype in (np.int32, np.int64):
            c.case("Einsum", {f"x{i}": whole(-9, 9, s, dtype) for i, s in enumerate(shapes)}, [("y", kind_of(dtype))],
                   equation=equation)
    # where ONNX Runtime has no kernel, or its shapes do not broadcast
    for equation, *shapes in (("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("...,...->...", (2, 3), (3,))):
        c.case("Einsum", {f"x{i}": real(*s) for i, s in enumerate(shapes)}, kinds=ALL, equation=equation,
               reference=lambda *x, e=equation: [np.einsum(e, *x)])
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64):
        c.case("Einsum", {"a": whole(0, 99, (3, 4), dtype), "b": whole(0, 99, (4, 5), dtype)}, [("y", kind_of(dtype))],
               equation="ij,jk->ik", reference=lambda a, b: [np.einsum("ij,jk->ik", a, b)])


def regions(c):
    x = real(2, 3, 8, 9)
    rois = np.array([[0, 0, 4, 4], [1.5, 2, 7, 6.25], [3, 3, 3.25, 3.5], [-2, -2, 12, 12]], np.float32)
    batch = np.array([0, 1, 1, 0])
    for mode, ratio in itertools.product(("half_pixel", "output_half_pixel"), (0, 2)):
        c.case("RoiAlign", {"x": x, "r": rois, "b": batch}, version=16, kinds=ALL, sampling_ratio=ratio, output_height=3,
               output_width=2, spatial_scale=0.75, coordinate_transformation_mode=mode)
    rois = np.array([[0, 1, 1, 6, 7], [1, 0, 2, 3, 3]], np.float32)
    c.case("MaxRoiPool", {"x": x, "r": rois}, pooled_shape=[2, 3], spatial_scale=1.0)
    # Windows larger than the input by less than the stride: one, of what there is.
    for op, sizes, kernel, strides, pads in itertools.product(("MaxPool", "AveragePool", "LpPool"), ((1, 3), (2, 5)), (3, 4),
                                                              (2, 3), (0, 1)):
        for options in ({}, {"ceil_mode": 1}, {"count_include_pad": 1}, {"ceil_mode": 1, "count_include_pad": 1}):
            if sizes[0] + 2 * pads - kernel <= -strides or (op != "AveragePool" and len(options) > (op == "MaxPool")) or \
                    (op == "MaxPool" and "count_include_pad" in options):
                continue
            for version in (18, 22) if op == "AveragePool" else (18,):
                c.case(op, {"x": real(1, 2, *sizes)}, kinds=ALL, version=version, kernel_shape=[kernel, 2],
                       strides=[strides, 1], pads=[pads, 0, pads, 0], **options)
    index = np.array([[[[1, 3], [9, 15]]]])
    c.case("MaxUnpool", {"x": real(1, 1, 2, 2), "i": index}, kinds=ALL, kernel_shape=[2, 2], strides=[2, 2])
    c.case("Col2Im", {"x": real(2, 3 * 6, 12), "c_image": np.array([5, 5]), "c_block": np.array([2, 3])}, kinds=ALL)
    c.case("Col2Im", {"x": real(1, 4, 9), "c_image": np.array([6, 6]), "c_block": np.array([2, 2])}, strides=[2, 2],
           dilations=[2, 2], pads=[0, 1, 1, 0])
    c.case("Crop", {"x": x}, version=9, border=[1, 2, 3, 0])
    c.case("ImageScaler", {"x": x}, version=9, bias=[1.0, -2.0, 3.0], scale=0.5)
    for op in ("Affine", "ParametricSoftplus", "ScaledTanh"):
        c.case(op, {"x": x}, version=9, alpha=1.5, beta=0.5)


def sampling(c):
    x, grid = real(2, 3, 6, 7), (rng.random((2, 4, 5, 2)) * 3 - 1.5).astype(np.float32)
    modes, paddings = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    for mode, padding, align in itertools.product(modes, paddings, (0, 1)):
        kinds = ALL if mode != "nearest" else ("f4",)
        c.case("GridSample", {"x": x, "g": grid}, version=20, kinds=kinds, loose=5, mode=mode, padding_mode=padding,
               align_corners=align)
        if mode != "cubic":
            c.case("GridSample", {"x": real(1, 2, 3, 4, 5), "g": (rng.random((1, 2, 3, 4, 3)) * 3 - 1.5).astype(np.float32)},
                   version=20, loose=5, mode=mode, padding_mode=padding, align_corners=align)
    c.case("GridSample", {"x": x, "g": grid}, domain=MICROSOFT, loose=5, mode="bicubic")
    for align in (0, 1):
        c.case("AffineGrid", {"t": real(2, 2, 3), "c_size": np.array([2, 1, 4, 5])}, version=20, kinds=ALL,
               align_corners=align)
        c.case("AffineGrid", {"t": real(2, 3, 4), "c_size": np.array([2, 1, 3, 4, 5])}, version=20, align_corners=align)
    for group, offsets in ((1, 1), (2, 1), (2, 2)):
        c.case("DeformConv", {"x": real(2, 4, 6, 7), "w": real(6, 4 // group, 3, 2), "o": real(2, offsets * 12, 4, 6),
                              "b": real(6), "m": real(2, offsets * 6, 4, 6)}, version=22, loose=5, group=group,
               offset_group=offsets)


def signals(c):
    for length, inverse, onesided, parts in ((None, 0, 0, 1), (None, 1, 0, 2), (None, 0, 1, 1), (12, 0, 1, 1), (5, 0, 0, 2)):
        for axis in (1, 2):
            c.case("DFT", {"x": real(2, 8, 9, parts), "c_length": None if length is None else np.array(length),
                           "c_axis": np.array(axis)}, version=20, kinds=ALL, loose=2, inverse=inverse, onesided=onesided)
    c.case("DFT", {"x": real(2, 5, 2), "c_n": None, "c_axis": np.array(1)}, version=20, inverse=1, onesided=1,
           reference=lambda x, *_: [np.fft.irfft(x[..., 0] + 1j * x[..., 1], axis=1)[..., None].astype(np.float32)])
    c.case("STFT", {"x": real(2, 40, 1), "c_step": np.array(6), "w": real(16)}, kinds=ALL, loose=2)
    c.case("STFT", {"x": real(2, 40, 1), "c_step": np.array(5), "w": None, "c_length": np.array(9)}, onesided=0)
    for op, periodic in itertools.product(("HannWindow", "HammingWindow", "BlackmanWindow"), (0, 1)):
        c.case(op, {"c_size": np.array(11)}, periodic=periodic)
    c.case("MelWeightMatrix", {"c_b": np.array(8), "c_d": np.array(64), "c_s": np.array(16000),
                               "c_l": np.array(0, np.float32), "c_u": np.array(8000, np.float32)})
    c.case("Rfft", {"x": real(3, 4, 10)}, domain=MICROSOFT, onesided=1, normalized=0, signal_ndim=1,
           reference=lambda x: [np.stack([np.fft.rfft(x).real, np.fft.rfft(x).imag], -1).astype(np.float32)])
    c.case("Irfft", {"x": real(3, 6, 2)}, domain=MICROSOFT, onesided=1, normalized=0, signal_ndim=1,
           reference=lambda x: [np.fft.irfft(x[..., 0] + 1j * x[..., 1]).astype(np.float32)])


def losses(c):
    scores, classes, weights = real(2, 5, 3, 4), whole(0, 5, (2, 3, 4)), np.abs(real(5))
    for reduction, w, ignore in itertools.product(("none", "sum", "mean"), (None, weights), ({}, {"ignore_index": 2})):
        inputs = {"s": scores, "t": classes, "w": w}
        c.case("NegativeLogLikelihoodLoss", inputs, version=13, kinds=ALL, reduction=reduction, **ignore)
        c.case("SoftmaxCrossEntropyLoss", inputs, ["y", "p"], version=13, kinds=ALL, reduction=reduction, **ignore)


def matrices(c):
    for n in range(1, 5):
        c.case("Det", {"x": real(3, n, n)}, kinds=ALL, loose=3)
    for ta, tb in itertools.product((0, 1), (0, 1)):
        a, b = real(2, 3, 4, 5), real(2, 3, 5, 6)
        inputs = {"a": a.swapaxes(2, 3).copy() if ta else a, "b": b.swapaxes(2, 3).copy() if tb else b}
        c.case("FusedMatMul", inputs, domain=MICROSOFT, kinds=ALL, transA=ta, transB=tb, alpha=0.5)
        c.case("FusedMatMulActivation", inputs, domain=MICROSOFT, transA=ta, transB=tb, activation="LeakyRelu",
               activation_alpha=0.25, reference=lambda x, z, ta=ta, tb=tb: [leaky(
                   np.matmul(x.swapaxes(2, 3) if ta else x, z.swapaxes(2, 3) if tb else z), 0.25)])
        inputs = {"a": real(4, 5) if not ta else real(5, 4), "b": real(5, 6) if not tb else real(6, 5), "c": real(6)}
        for activation in ("Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"):
            c.case("FusedGemm", inputs, domain=MICROSOFT, kinds=("f4",), transA=ta, transB=tb, alpha=0.5, beta=2.0,
                   activation=activation)
        c.case("FusedGemm", inputs, domain=MICROSOFT, transA=ta, transB=tb, activation="LeakyRelu", activation_alpha=0.3)
    c.case("FusedMatMul", {"a": real(4, 2, 3, 5), "b": real(2, 3, 5, 6)}, domain=MICROSOFT, transBatchA=1,
           reference=lambda a, b: [np.matmul(a.transpose(1, 2, 0, 3), b)])
    c.case("FusedMatMul", {"a": real(3, 4, 5), "b": real(6, 5)}, domain=MICROSOFT, transB=1, alpha=2.0)


def leaky(x, alpha):
    return np.where(x < 0, x * np.float32(alpha), x)


def distances_of(metric):
    def reference(x, z):
        squares = ((x[:, None].astype(np.float64) - z[None].astype(np.float64)) ** 2).sum(-1)
        return [(np.sqrt(squares) if metric == "euclidean" else squares).astype(np.float32)]
    return reference


def distances(c):
    for rows, count, size in ((1, 1, 1), (3, 5, 7), (40, 101, 16), (33, 200, 64), (130, 97, 65)):
        x, z = real(rows, size), real(count, size)
        for metric in ("euclidean", "sqeuclidean"):
            for name in ("z", "c_z"):
                c.case("CDist", {"x": x, name: z}, domain=MICROSOFT, metric=metric, kinds=("f4", "f8"),
                       reference=distances_of(metric))
    c.case("CDist", {"x": x, "z": z}, domain=MICROSOFT, reference=distances_of("sqeuclidean"))
    # Equal and nearly equal rows: no more than the square root of what rounding leaves of |x|^2 + |z|^2, never NaN.
    same = np.vstack([z[:50], z[:50] * np.float32(1 + 2e-4)])
    for name in ("z", "c_z"):
        c.case("CDist", {"x": z, name: same}, domain=MICROSOFT, metric="sqeuclidean",
               reference=distances_of("sqeuclidean"))
        c.case("CDist", {"x": z, name: same}, domain=MICROSOFT, metric="euclidean", loose=50,
               reference=distances_of("euclidean"))
    c.case("CDist", {"x": np.zeros((3, 0), np.float32), "z": np.zeros((4, 0), np.float32)}, domain=MICROSOFT,
           reference=distances_of("sqeuclidean"))
    bad = np.array([[np.nan, 1], [1, 0], [2, 3]], np.float32)
    c.case("CDist", {"x": bad, "c_z": bad[2:]}, domain=MICROSOFT, metric="euclidean", reference=distances_of("euclidean"))
    for x in (real(9), real(3, 9), real(2, 3, 9), whole(0, 99, 9), whole(0, 99, (2, 9), np.int32)):
        for index in (whole(0, 9, 4), whole(0, 9, (2, 3))):
            c.case("ArrayFeatureExtractor", {"x": x, "i": index}, [("y", helper.np_dtype_to_tensor_dtype(x.dtype))],
                   domain="ai.onnx.ml")


def first_few(c):
    """TopK of lines of all lengths around the sizes of blocks, with values that repeat."""
    for length, k in itertools.product((16, 65, 257, 20000), (1, 5, 16)):
        if k <= length:
            for x in (real(2, length), np.round(real(2, length)), -np.sort(real(2, length)), np.sort(real(2, length))):
                for largest in (0, 1):
                    c.case("TopK", {"x": x, "c_k": np.array([k])}, ["v", ("i", TensorProto.INT64)], largest=largest)


def convolutions(c):
    x, w, b = real(1, 4, 7, 8), real(6, 4, 3, 3), real(6)
    for activation, parameters in (("Relu", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.4])):
        extra = {"activation_params": parameters} if parameters else {}
        c.case("FusedConv", {"x": x, "w": w, "b": b}, domain=MICROSOFT, kinds=ALL, loose=2, activation=activation,
               pads=[1, 1, 1, 1], kernel_shape=[3, 3], **extra)
    c.case("FusedConv", {"x": x, "w": w, "b": b, "z": real(1, 6, 5, 6)}, domain=MICROSOFT, activation="Relu",
           kernel_shape=[3, 3])


    def plain(x, w, b):
        """Of a filter [M, C, H, W]"""
        return c.reference(_conv, {"x": x.transpose(0, 3, 1, 2).copy(), "w": w, "b": b})[0].transpose(0, 2, 3, 1)

    last = x.transpose(0, 2, 3, 1).copy()
    for name in ("w", "c_w"): # test_written.py has what says so
        c.case("NhwcConv", {"x": last, name: w.transpose(0, 2, 3, 1).copy(), "b": b}, domain=MICROSOFT,
               kernel_shape=[3, 3], reference=lambda x, w, b: [plain(x, w.transpose(0, 3, 1, 2).copy(), b)])
    c.case("NhwcConv", {"x": last, "w": w.transpose(0, 2, 3, 1).copy(), "b": b}, domain=MICROSOFT,
           reference=lambda x, w, b: [plain(x, w.transpose(0, 3, 1, 2).copy(), b)])
    c.case("NhwcFusedConv", {"x": last, "w": w, "b": b}, domain=MICROSOFT, kernel_shape=[3, 3], activation="Relu",
           reference=lambda x, w, b: [np.maximum(plain(x, w, b), 0)])
    c.case("NhwcMaxPool", {"x": whole(-128, 128, (1, 6, 7, 3), np.int8)}, [("y", TensorProto.INT8)], domain=MICROSOFT,
           kernel_shape=[2, 2], strides=[2, 1])
    c.case("ConvTransposeWithDynamicPads", {"x": x, "w": real(4, 2, 3, 3), "c_pads": np.array([1, 0, 1, 2])},
           domain=MICROSOFT, strides=[2, 2], kernel_shape=[3, 3])


def bounds(c):
    """Clip: high where low is above it, and NaN stays, in every type."""
    x = np.concatenate([real(29) * 4, np.array([np.inf, -np.inf, -0.0], np.float32)])
    for low, high in ((-1, 2), (2, -1), (-1, None), (None, 2), (None, None)):
        given = {n: None if v is None else np.array(v, np.float32) for n, v in (("low", low), ("high", high))}
        for kinds, values in ((ALL, x), (("f4", "f8", "f2"), np.append(x, np.float32(np.nan)))):
            for prefix in ("", "c_"):
                c.case("Clip", {"x": values, **{prefix + n: v for n, v in given.items()}}, kinds=kinds,
                       reference=lambda x, low, high: [np.minimum(np.maximum(x, x if low is None else low),
                                                               np.inf if high is None else high)
                                                       if low is not None or high is not None else x])
    for given in ({"min": -1.0, "max": 2.0}, {"min": 2.0, "max": -1.0}, {"min": -1.0}, {"max": 2.0}):
        low, high = given.get("min"), given.get("max", np.inf)
        c.case("Clip", {"x": np.append(x, np.float32(np.nan))}, version=10, **given,
               reference=lambda x: [np.minimum(x if low is None else np.maximum(x, np.float32(low)), np.float32(high))])
    for dtype in (np.int8, np.uint8, np.int32, np.int64, np.uint64):
        for low, high in ((3, 9), (9, 3)):
            c.case("Clip", {"x": whole(0, 20, 16, dtype), "c_low": np.array(low, dtype), "c_high": np.array(high, dtype)},
                   [("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))])


def empty(c):
    """Products with nothing to sum up."""
    for a, b in (((2, 0), (0, 4)), ((3, 2, 0), (3, 0, 4)), ((0, 3), (3, 4)), ((2, 3), (3, 0))):
        c.case("FusedMatMul", {"a": real(*a), "b": real(*b)}, domain=MICROSOFT, alpha=2.0,
               reference=lambda a, b: [2 * np.matmul(a, b)]) # ONNX Runtime's own kernel may leave memory as it is
        c.case("FusedMatMul", {"a": real(*a), "b": np.swapaxes(real(*b), -1, -2).copy()}, domain=MICROSOFT, transB=1,
               reference=lambda a, b: [np.matmul(a, np.swapaxes(b, -1, -2))])


def no_tokens(c):
    """Networks that read no tokens keep their states; tokens of no elements are as good as zeros."""
    hidden, gates = 5, {"RNN": 1, "GRU": 3, "LSTM": 4}
    for op, count in gates.items():
        states = ["h", "c"] if op == "LSTM" else ["h"]
        outputs = ["y", "y_h", "y_c"][:1 + len(states)]
        inputs = {"x": real(0, 2, 3), "w": real(1, count * hidden, 3), "r": real(1, count * hidden, hidden), "b": None,
                  "lengths": None, **{s: real(1, 2, hidden) for s in states}}
        c.case(op, inputs, outputs, hidden_size=hidden, version=14,
               reference=lambda x, w, r, b, l, *s: [np.zeros((0, 1, 2, hidden), np.float32), *s])
        for name in states:
            inputs[name] = None
        c.case(op, inputs, outputs, hidden_size=hidden, version=14,
               reference=lambda x, w, r, b, l, *s: [np.zeros((0, 1, 2, hidden), np.float32),
                                                    *[np.zeros((1, 2, hidden), np.float32)] * len(s)])
        full = {"x": np.zeros((4, 2, 1), np.float32), "w": real(1, count * hidden, 1), "r": real(1, count * hidden, hidden),
                "b": real(1, 2 * count * hidden)}
        want = c.reference(make_model(op, full, [(n, TensorProto.FLOAT) for n in outputs], {"hidden_size": hidden}, "", 14), full)
        none = {**full, "x": real(4, 2, 0), "w": real(1, count * hidden, 0)}
        c.case(op, none, outputs, hidden_size=hidden, version=14, reference=lambda *_, w=want: w)


def windows_of_nothing(c):
    """Convolutions of no channels give the bias, or zero."""
    for group in (1, 2):
        c.case("Conv", {"x": real(2, 0, 5, 4), "w": real(6, 0, 3, 3), "b": real(6)}, group=group,
               reference=lambda x, w, b: [np.broadcast_to(b[:, None, None], (2, 6, 3, 2))])
    c.case("Conv", {"x": real(2, 0, 5), "w": real(6, 0, 3)}, pads=[1, 1],
           reference=lambda x, w: [np.zeros((2, 6, 5), np.float32)])
    c.case("ConvTranspose", {"x": real(2, 0, 5, 4), "w": real(0, 6, 3, 3), "b": real(6)},
           reference=lambda x, w, b: [np.broadcast_to(b[:, None, None], (2, 6, 7, 6))])


def renamed(c):
    x = real(3, 4, 5)
    c.case("ExpandDims", {"x": x, "c_axis": np.array(-2, np.int32)}, domain=MICROSOFT,
           reference=lambda x, _: [np.expand_dims(x, -2)])
    c.case("Pad", {"x": x, "c_pads": np.array([1, 0, 2, 0, 3, 1]), "c_v": np.array(2.5, np.float32)}, domain=MICROSOFT)
    c.case("Range", {"c_a": np.array(1, np.float32), "c_b": np.array(6, np.float32)}, domain=MICROSOFT)
    c.case("UnfoldTensor", {"x": x}, domain=MICROSOFT, dim=1, size=2, step=2)
    c.case("UnfoldTensor", {"x": x}, domain=MICROSOFT, dim=-1, size=3, step=1)
    c.case("Scale", {"x": x}, scale=3.0, reference=lambda x: [x * 3])
    c.case("DynamicSlice", {"x": x, "c_s": np.array([1, 0]), "c_e": np.array([3, 9]), "c_a": np.array([0, 2])},
           reference=lambda x, *_: [x[1:3]])


if __name__ == "__main__":
    comparison = Comparison(sys.argv[1])
    _conv = make_model("Conv", {"x": real(1, 4, 7, 8), "w": real(6, 4, 3, 3), "b": real(6)}, [("y", TensorProto.FLOAT)],
                       {"kernel_shape": [3, 3]}, "", 21)
    for part in (gather_scatter, graph_network, order, chain, bits, einsum, regions, sampling, signals, losses, matrices,
                 distances, first_few, convolutions, bounds, empty, no_tokens, windows_of_nothing,
                 renamed):
        part(comparison)
    comparison.finish()
