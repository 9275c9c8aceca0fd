# SPDX-License-Identifier: Apache-2.0
"""The single operators of bench/gpu.py: models with one node, and the equivalent statements of PyTorch."""
import dataclasses
from collections.abc import Callable

import numpy as np
import onnx
import single

OTHER = {"float16": "float32", "float32": "float16"}
SIZE = {"float16": 2, "float32": 4, "int8": 1}


@dataclasses.dataclass
class Case:
    label: str
    type: str
    make: Callable          # creates the ONNX model
    setup: str = ""         # statements of PyTorch
    statement: str = ""     # of PyTorch; "": no comparison
    bytes: float = 0        # minimum bytes read and written
    flops: float = 0
    options: tuple = ()     # for anydml bench


def node_model(op, shapes, out, dtype, constants=None, out_type=None, domain="", **attributes):
    """Returns a model with one node; the inputs have these shapes and precede the constants."""
    names = [f"x{i}" for i in range(len(shapes))]
    node = onnx.helper.make_node(op, [*names, *(constants or {})], ["y"], domain=domain, **attributes)
    return single.model(node, [single.tensor(n, s, dtype) for n, s in zip(names, shapes)],
                        [single.tensor("y", out, out_type or dtype)], constants or {})


# ---- memory-bound ----

ROWS, COLUMNS = 16384, 4096  # of memory-bound operators: 128 MiB of FLOAT16
IMAGE = [16, 256, 128, 128]  # the same number of elements


def memory_setup(dtype):
    return (f"x, y = torch.rand(2, {ROWS}, {COLUMNS}, device='cuda').to(torch.{dtype})\n"
            f"ones, zeros = torch.ones({COLUMNS}, device='cuda', dtype=x.dtype), "
            f"torch.zeros({COLUMNS}, device='cuda', dtype=x.dtype)\n"
            f"places = torch.randperm({ROWS}, device='cuda')\n"
            f"image, of_channels = x.view({IMAGE}), torch.ones({IMAGE[1]}, device='cuda', dtype=x.dtype)")


def line_cases(dtype):
    """Yields (label, model, PyTorch's statement, number of tensors of this size that are read or written)."""
    shape, flip, other = [ROWS, COLUMNS], [COLUMNS, ROWS], OTHER[dtype]
    ones, zeros = np.ones(COLUMNS, dtype), np.zeros(COLUMNS, dtype)
    places = np.random.default_rng(1).permutation(ROWS)
    # In opset 17 the axes of a sum are an input, those of a mean an attribute.
    yield "add", lambda: node_model("Add", [shape, shape], shape, dtype), "x + y", 3
    yield "relu", lambda: node_model("Relu", [shape], shape, dtype), "torch.relu(x)", 2
    yield "sigmoid", lambda: node_model("Sigmoid", [shape], shape, dtype), "torch.sigmoid(x)", 2
    yield "gelu", lambda: node_model("Gelu", [shape], shape, dtype, domain="com.microsoft"), "F.gelu(x)", 2
    yield "softmax of rows", lambda: node_model("Softmax", [shape], shape, dtype, axis=-1), "torch.softmax(x, -1)", 2
    yield ("log-softmax of rows", lambda: node_model("LogSoftmax", [shape], shape, dtype, axis=-1),
           "torch.log_softmax(x, -1)", 2)
    yield ("layer normalization", lambda: node_model("LayerNormalization", [shape], shape, dtype,
                                                     {"scale": ones, "bias": zeros}, axis=-1),
           "F.layer_norm(x, (x.shape[1],), ones, zeros)", 2)
    yield "mean of rows", lambda: node_model("ReduceMean", [shape], [ROWS, 1], dtype, axes=[1]), "x.mean(1)", 1
    yield "mean of columns", lambda: node_model("ReduceMean", [shape], [1, COLUMNS], dtype, axes=[0]), "x.mean(0)", 1
    yield ("largest of rows, place", lambda: node_model("ArgMax", [shape], [ROWS, 1], dtype, out_type="int64", axis=1),
           "x.argmax(1)", 1)
    yield ("cumulative sum of rows", lambda: node_model("CumSum", [shape], shape, dtype, {"axis": np.array(1)}),
           "x.cumsum(1, dtype=x.dtype)", 2)
    yield "transpose", lambda: node_model("Transpose", [shape], flip, dtype, perm=[1, 0]), "x.t().contiguous()", 2
    yield ("gather rows", lambda: node_model("Gather", [shape], shape, dtype, {"i": places}, axis=0),
           "x.index_select(0, places)", 2)
    yield (f"cast to {other}",
           lambda: node_model("Cast", [shape], shape, dtype, out_type=other, to=single.TYPES[other]),
           f"x.to(torch.{other})", 1 + SIZE[other] / SIZE[dtype])


def image_cases(dtype):
    n, c, h, w = IMAGE
    of_channels = {k: np.full(c, v, dtype) for k, v in (("scale", 1), ("bias", 0), ("mean", .5), ("variance", 2))}
    two = {k: of_channels[k] for k in ("scale", "bias")}
    yield ("batch normalization", lambda: node_model("BatchNormalization", [IMAGE], IMAGE, dtype, of_channels),
           "F.batch_norm(image, of_channels, of_channels, of_channels, of_channels)", 2)
    yield ("instance normalization", lambda: node_model("InstanceNormalization", [IMAGE], IMAGE, dtype, two),
           "F.instance_norm(image, weight=of_channels, bias=of_channels)", 2)
    yield ("transpose NCHW to NHWC", lambda: node_model("Transpose", [IMAGE], [n, h, w, c], dtype, perm=[0, 2, 3, 1]),
           "image.permute(0, 2, 3, 1).contiguous()", 2)
    yield ("transpose NHWC to NCHW", lambda: node_model("Transpose", [[n, h, w, c]], IMAGE, dtype, perm=[0, 3, 1, 2]),
           f"image.view({n}, {h}, {w}, {c}).permute(0, 3, 1, 2).contiguous()", 2)
    yield ("join channels", lambda: node_model("Concat", [[n, c // 2, h, w]] * 2, IMAGE, dtype, axis=1),
           "torch.cat((image[:, :128], image[:, 128:]), 1)", 2)
    yield ("pad by 1", lambda: node_model("Pad", [IMAGE], [n, c, h + 2, w + 2], dtype,
                                          {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}), "F.pad(image, (1, 1, 1, 1))", 2)
    yield ("max pooling 2x2", lambda: node_model("MaxPool", [IMAGE], [n, c, h // 2, w // 2], dtype, kernel_shape=[2, 2],
                                                 strides=[2, 2]), "F.max_pool2d(image, 2)", 1.25)
    yield ("average pooling 3x3", lambda: node_model("AveragePool", [IMAGE], IMAGE, dtype, kernel_shape=[3, 3],
                                                     pads=[1] * 4), "F.avg_pool2d(image, 3, 1, 1)", 2)
    yield ("resize 2x, bilinear", lambda: resize(dtype),
           "F.interpolate(image[:4], scale_factor=2, mode='bilinear')", 1.25)


def resize(dtype):
    _, c, h, w = IMAGE
    node = onnx.helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    return single.model(node, [single.tensor("x", [4, c, h, w], dtype)],
                        [single.tensor("y", [4, c, 2 * h, 2 * w], dtype)], {"scales": np.array([1, 1, 2, 2], np.float32)})


def memory():
    for dtype in ("float32", "float16"):
        for label, make, statement, tensors in [*line_cases(dtype), *image_cases(dtype)]:
            yield Case(label, dtype, make, memory_setup(dtype), statement, tensors * SIZE[dtype] * ROWS * COLUMNS)


# ---- order, sums along long lines, recurrence ----

def with_type(found, dtype):
    for value in [found.graph.input[0], found.graph.output[0]]:
        value.type.tensor_type.elem_type = single.TYPES[dtype]
    return found


def recurrent(cell, hidden, steps, batch, dtype):
    gates = {"LSTM": 4, "GRU": 3}[cell] * hidden
    constants = {k: single.normal(1, gates, hidden, dtype=dtype) for k in ("w", "r")}
    constants["b"] = np.zeros([1, 2 * gates], dtype)
    node = onnx.helper.make_node(cell, ["x", "w", "r", "b"], ["y"], hidden_size=hidden,
                                 **({"linear_before_reset": 1} if cell == "GRU" else {}))
    return single.model(node, [single.tensor("x", [steps, batch, hidden], dtype)],
                        [single.tensor("y", [steps, 1, batch, hidden], dtype)], constants)


def order_of(dtype):
    for lines, length, count in ((1, 2**20, 2**20), (1, 2**24, 2**24), (ROWS, COLUMNS, COLUMNS), (1, 10**6, 50),
                                 (ROWS, COLUMNS, 50), (1000, 1000, 10)):
        what = "sort" if count == length else f"first {count} of"
        yield (f"{what} {lines} x {length}", lambda s=(lines, length, count): with_type(single.top(*s), dtype),
               f"x = torch.rand({lines}, {length}, device='cuda').to(torch.{dtype})",
               "torch.sort(x, descending=True)" if count == length else f"torch.topk(x, {count})")
    yield ("cumulative sum of 2^26", lambda: node_model("CumSum", [[2**26]], [2**26], dtype, {"axis": np.array(0)}),
           f"x = torch.rand(2**26, device='cuda').to(torch.{dtype})", "x.cumsum(0, dtype=x.dtype)")
    for cell, hidden, steps, batch in (("LSTM", 256, 128, 1), ("LSTM", 512, 256, 8), ("LSTM", 1024, 256, 32),
                                       ("GRU", 512, 256, 8)):
        yield (f"{cell} {hidden}, {steps} steps, batch {batch}",
               lambda s=(cell, hidden, steps, batch): recurrent(*s, dtype),
               f"x = torch.rand({steps}, {batch}, {hidden}, device='cuda').to(torch.{dtype})\n"
               f"net = torch.nn.{cell}({hidden}, {hidden}).to('cuda', torch.{dtype})", "net(x)")


def order():
    for dtype in ("float32", "float16"):
        for label, make, setup, statement in order_of(dtype):
            yield Case(label, dtype, make, setup, statement)


# ---- compute-bound ----

def factors(m, k, n, dtype):
    return (f"a, b = [torch.rand(*s, device='cuda').to(torch.{dtype}) for s in (({m}, {k}), ({k}, {n}))]")


def integer_product(m, k, n):
    node = onnx.helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    return single.model(node, [single.tensor("x", [m, k], "int8")], [single.tensor("y", [m, n], "int32")],
                        {"w": single.small_integers(k, n)})


def gemm():
    """Square GEMMs with constant weights, as in networks."""
    for n in (1024, 2048, 4096, 8192):
        size, flops = (n, n, n), 2 * n**3
        yield Case(f"{n}", "float16, float32 sums", lambda s=size: single.float_matmul(*s, "float16", False),
                   factors(*size, "float16"), "a @ b", flops=flops)
        yield Case(f"{n}", "float16, float16 sums", lambda s=size: single.float_matmul(*s, "float16", False),
                   "torch.backends.cuda.matmul.allow_fp16_accumulation = True\n" + factors(*size, "float16"), "a @ b",
                   flops=flops, options=("--fp16-compute",))
        yield Case(f"{n}", "int8", lambda s=size: integer_product(*s),
                   f"a, b = torch.randint(-127, 127, (2, {n}, {n}), device='cuda').to(torch.int8)",
                   "torch._int_mm(a, b.t())", flops=flops)
        yield Case(f"{n}", "float32", lambda s=size: single.float_matmul(*s, "float32", False),
                   factors(*size, "float32"), "a @ b", flops=flops)


def products():
    """GEMMs with few rows, or of two inputs."""
    for dtype in ("float16", "float32"):
        for m, k, n, bound in ((1, 4096, 4096, False), (8, 4096, 4096, False), (128, 768, 768, False),
                               (128, 768, 3072, False), (128, 3072, 768, False), (384, 1024, 4096, False),
                               (4096, 4096, 4096, True)):
            yield Case(f"product {m} x {k} x {n}{', both bound' if bound else ''}", dtype,
                       lambda s=(m, k, n, dtype, bound): single.float_matmul(*s), factors(m, k, n, dtype), "a @ b",
                       flops=2 * m * k * n)


def convolution(shape, dtype):
    """Convolutions of NHWC images."""
    batch, channels, height, width, out, kernel, stride, groups = shape
    edges = [(size + 2 * (kernel // 2) - kernel) // stride + 1 for size in (height, width)]
    nodes = [onnx.helper.make_node("Transpose", ["x"], ["image"], perm=[0, 3, 1, 2]),
             onnx.helper.make_node("Conv", ["image", "w", "b"], ["result"], kernel_shape=[kernel] * 2,
                                   strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups),
             onnx.helper.make_node("Transpose", ["result"], ["y"], perm=[0, 2, 3, 1])]
    constants = {"w": single.normal(out, channels // groups, kernel, kernel, dtype=dtype),
                 "b": single.normal(out, dtype=dtype)}
    graph = onnx.helper.make_graph(nodes, "single", [single.tensor("x", [batch, height, width, channels], dtype)],
                                   [single.tensor("y", [batch, *edges, out], dtype)],
                                   [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


# batch, channels, height, width, channels of the result, window, stride, groups
IMAGES = [(1, 64, 56, 56, 64, 3, 1, 1), (1, 256, 14, 14, 256, 3, 1, 1), (1, 1024, 14, 14, 256, 1, 1, 1),
          (32, 64, 56, 56, 64, 3, 1, 1), (1, 64, 1080, 1920, 64, 3, 1, 1), (1, 3, 224, 224, 64, 7, 2, 1),
          (1, 512, 7, 7, 512, 3, 1, 1), (1, 144, 56, 56, 144, 3, 1, 144), (32, 144, 56, 56, 144, 3, 1, 144)]


def convolutions():
    for dtype in ("float16", "float32"):
        for shape in IMAGES:
            batch, channels, height, width, out, kernel, stride, groups = shape
            kind = f"{'depthwise ' if groups > 1 else ''}{kernel}x{kernel}{f' / {stride}' if stride > 1 else ''}"
            label = f"{kind}, {batch} x {channels} x {height} x {width}" + ("" if groups > 1 else f" to {out}")
            setup = (f"x, w, b = [torch.rand(*s, device='cuda').to(torch.{dtype}) for s in "
                     f"(({batch}, {channels}, {height}, {width}), ({out}, {channels // groups}, {kernel}, {kernel}), ({out},))]\n"
                     "x, w = [v.contiguous(memory_format=torch.channels_last) for v in (x, w)]")
            yield Case(label, dtype, lambda s=shape: convolution(s, dtype), setup,
                       f"F.conv2d(x, w, b, {stride}, {kernel // 2}, 1, {groups})",
                       flops=2 * batch * channels // groups * kernel**2 * out * (height // stride) * (width // stride))


def heads_of(heads, tokens, size, dtype):
    """Tokens with adjacent heads, as in networks."""
    found = single.attention(tokens, 0, heads, size)
    for value in [*found.graph.input, *found.graph.output]:
        value.type.tensor_type.elem_type = single.TYPES[dtype]
    return found


def attention():
    for dtype in ("float16", "float32"):
        for heads, tokens in ((12, 128), (12, 512), (16, 2048), (16, 8192)):
            if dtype == "float32" and tokens > 2048:
                continue
            yield Case(f"{heads} heads of 64, {tokens} tokens", dtype,
                       lambda s=(heads, tokens, 64, dtype): heads_of(*s),
                       f"q, k, v = torch.rand(3, 1, {heads}, {tokens}, 64, device='cuda').to(torch.{dtype})",
                       "F.scaled_dot_product_attention(q, k, v)", flops=4 * heads * 64 * tokens**2)


# ---- GEMM with quantised weights ----

def nbits(rows, k, n, bits, block, dtype):
    blocks = k // block
    constants = {"w": single.RNG.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8),
                 "s": (single.RNG.uniform(0.9, 1.1, n * blocks) / 1000).astype(dtype)}
    return node_model("MatMulNBits", [[rows, k]], [rows, n], dtype, constants, domain="com.microsoft", K=k, N=n,
                      bits=bits, block_size=block)


def decode():
    for rows in (1, 4):
        for bits, block in ((4, 32), (4, 128), (8, 32)):
            for k, n in ((4096, 4096), (4096, 14336)):
                yield Case(f"{rows} x {k} x {n}, {bits} bits, blocks of {block}", "float16",
                           lambda s=(rows, k, n, bits, block, "float16"): nbits(*s),
                           bytes=k * n * bits / 8 + 2 * k * n / block + 2 * rows * (k + n))


PARTS = {"memory": memory, "order": order, "gemm": gemm, "products": products, "convolutions": convolutions,
         "attention": attention, "decode": decode}
