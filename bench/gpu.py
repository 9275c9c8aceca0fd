#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures networks and single operators on a GPU beside ONNX Runtime's WebGPU provider and PyTorch, in one run.

usage: gpu.py [--anydml build/tools/anydml] [--device 0] [--folder FOLDER] [--only networks,operators] [--filter TEXT]
              [--seconds 0.5] [--rounds 3] [--json FILE]

Networks are those of networks.py, in FLOAT32 and FLOAT16, batch 1. Columns, each in milliseconds:
  device   AnyDML, from the first dispatch to the end of the last by the GPU's own clock
  run      AnyDML, one execution by the processor's clock: with the submission and the wait, without copies
  copies   the same with inputs and outputs copied over the bus
  WebGPU   ONNX Runtime's session.run() with onnxruntime-ep-webgpu: with copies
  graph    PyTorch, a network of the same architecture replayed as a CUDA graph: without copies, by the GPU's clock
Operators are measured by the GPU's clock alone, beside the same operator of PyTorch (cuBLAS, cuDNN and its own kernels)
in a CUDA graph; what is bound by memory also as the share of the rate of a copy on this device, bytes read and written.
--only also takes parts of the operators: memory, order, products.

Peers that are not installed leave their columns empty. The programs take turns; the least median of all rounds counts.
Needs numpy and onnx; onnxruntime with onnxruntime-ep-webgpu, and PyTorch with torchvision and transformers, as peers.
Prints Markdown tables. A GPU lowers its clock when idle, so each measurement first runs for a fifth of a second.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import networks
import numpy as np
import onnx
import single

WARM = 0.2  # seconds


# ---- peers, in processes of their own: gpu.py --serve reads a list [name, argument...] in each line, JSON, and answers
# with milliseconds, or null where the peer fails ----

def median_of(run, seconds):
    """The median time of one call in milliseconds; the call waits for its own end."""
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def webgpu(path, seconds):
    import onnxruntime as ort
    import onnxruntime_ep_webgpu as plugin
    if all(d.ep_name != plugin.get_ep_name() for d in ort.get_ep_devices()):
        ort.register_execution_provider_library("webgpu", plugin.get_library_path())
    device = next(d for d in ort.get_ep_devices() if d.ep_name == plugin.get_ep_name())
    options = ort.SessionOptions()
    options.add_provider_for_devices([device], {})
    session = ort.InferenceSession(path, options)
    types = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
    random = np.random.default_rng(1)
    feed = {i.name: random.uniform(0, 1, i.shape).astype(types[i.type]) for i in session.get_inputs()}
    return median_of(lambda: session.run(None, feed), seconds)


def graph_of(torch, function, times):
    """A CUDA graph of so many calls, after calls on another stream that let libraries choose their kernels."""
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(5):
            function()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        for _ in range(times):
            function()
    return graph


def replayed(torch, function, seconds, times):
    """The median of one call in milliseconds by the GPU's clock."""
    graph = graph_of(torch, function, times)
    first, last = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    taken = []

    def run():
        first.record()
        graph.replay()
        last.record()
        last.synchronize()
        taken.append(first.elapsed_time(last) / times)
    median_of(run, seconds)
    return statistics.median(taken[len(taken) // 4:])


def torch_network(name, dtype, seconds):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    if name.startswith("bert"):
        import transformers
        config = transformers.BertConfig(num_hidden_layers=12 if "base" in name else 1)
        module, x = transformers.BertModel(config, add_pooling_layer=False).encoder, torch.rand(1, 128, 768)
    else:
        import torchvision
        names = {"resnet50": "resnet50", "mobilenetv2": "mobilenet_v2", "squeezenet11": "squeezenet1_1"}
        module, x = getattr(torchvision.models, names[name])(), torch.rand(1, 3, 224, 224)
    module, x = module.eval().to("cuda", getattr(torch, dtype)), x.to("cuda", getattr(torch, dtype))
    return replayed(torch, lambda: module(x), seconds, 1)


def torch_operator(setup, statement, seconds):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    names = {"torch": torch, "F": torch.nn.functional}
    exec(setup, names)
    code = compile(statement, "statement", "eval")
    return replayed(torch, lambda: eval(code, names), seconds, 10)


# Function, and the modules it needs.
PEERS = {"webgpu": (webgpu, ["onnxruntime_ep_webgpu"]),
         "network": (torch_network, ["torch", "torchvision", "transformers"]),
         "operator": (torch_operator, ["torch"])}
servers = {}


def serve():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = PEERS[name][0](*arguments)
        except Exception as error:  # the next one may work
            print(f"{name} {arguments}: {str(error)[:300]}", file=sys.stderr)
            answer = None
        print(json.dumps(answer), file=out, flush=True)


def peer(args, name, *arguments):
    """Milliseconds; None where it is not installed or fails."""
    if not all(importlib.util.find_spec(module) for module in PEERS[name][1]):
        return None
    server = servers.get(name)
    if not server or server.poll() is not None:
        server = servers[name] = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE,
                                                  stdout=subprocess.PIPE, text=True)
    server.stdin.write(json.dumps([name, *arguments, args.seconds]) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    return json.loads(answer) if answer else None


# ---- AnyDML, on a device that is not the processor ----

def anydml(args, path):
    """(device, run, with copies) in milliseconds, or None."""
    command = [args.anydml, "bench", path, "--device", str(args.device), "--seconds", str(args.seconds + WARM), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stderr.strip()[-300:], file=sys.stderr)
        return None
    found = json.loads(result.stdout)
    return found["device_ms"], found["no_copies_ms"], found["median_ms"]


def least(values):
    values = [v for v in values if v is not None]
    if not values:
        return None
    return tuple(map(min, zip(*values))) if isinstance(values[0], tuple) else min(values)


def number(value):
    return "-" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def ratio(ours, theirs):
    return "-" if ours is None or theirs is None else f"{ours / theirs:.2f}"


def print_row(*cells):
    print(f"| {' | '.join(cells)} |", flush=True)


# ---- networks ----

def measure_networks(args, results):
    print_row("network", "type", "device", "run", "copies", "WebGPU", "copies / WebGPU", "graph", "device / graph")
    print_row(*["---"] * 9)
    for name, dtype in [(n, d) for n in networks.NETWORKS for d in ("float32", "float16") if args.filter in n]:
        path = networks.write(args.folder, name, dtype == "float16")
        known = not name.startswith("yolo")
        rounds = [(anydml(args, path), peer(args, "webgpu", path),
                   peer(args, "network", name, dtype) if known else None)
                  for _ in range(args.rounds)]
        ours, gpu, graph = [least(column) for column in zip(*rounds)]
        device, run, copies = ours or (None, None, None)
        print_row(name, dtype, number(device), number(run), number(copies), number(gpu), ratio(copies, gpu),
                  number(graph), ratio(device, graph))
        results.append(dict(network=name, type=dtype, device=device, run=run, copies=copies, webgpu=gpu, graph=graph))


# ---- operators ----

def node_model(op, shapes, out, dtype, constants=None, out_type=None, domain="", **attributes):
    """One node; the inputs have these shapes, then come the constants."""
    names = [f"x{i}" for i in range(len(shapes))]
    node = onnx.helper.make_node(op, [*names, *(constants or {})], ["y"], domain=domain, **attributes)
    return single.model(node, [single.tensor(n, s, dtype) for n, s in zip(names, shapes)],
                        [single.tensor("y", out, out_type or dtype)], constants or {})


ROWS, COLUMNS = 16384, 4096  # of what is bound by memory: 128 MiB of FLOAT16


def memory_cases(dtype):
    """(label, model, PyTorch's statement, tensors of that size that are read or written)."""
    shape, flip = [ROWS, COLUMNS], [COLUMNS, ROWS]
    other = {"float16": "float32", "float32": "float16"}[dtype]
    ones, zeros = np.ones(COLUMNS, dtype), np.zeros(COLUMNS, dtype)
    size = {"float16": 2, "float32": 4}
    cast = (size[dtype] + size[other]) / size[dtype]
    places = np.random.default_rng(1).permutation(ROWS)
    # Opset 17 has the axes of a sum as an input, those of a mean as an attribute.
    yield "add", lambda: node_model("Add", [shape, shape], shape, dtype), "x + y", 3
    yield "relu", lambda: node_model("Relu", [shape], shape, dtype), "torch.relu(x)", 2
    yield "sigmoid", lambda: node_model("Sigmoid", [shape], shape, dtype), "torch.sigmoid(x)", 2
    yield "softmax of rows", lambda: node_model("Softmax", [shape], shape, dtype, axis=-1), "torch.softmax(x, -1)", 2
    yield ("gelu", lambda: node_model("Gelu", [shape], shape, dtype, domain="com.microsoft"), "F.gelu(x)", 2)
    yield ("log-softmax of rows", lambda: node_model("LogSoftmax", [shape], shape, dtype, axis=-1),
           "torch.log_softmax(x, -1)", 2)
    yield ("layer normalization", lambda: node_model("LayerNormalization", [shape], shape, dtype,
                                                     {"scale": ones, "bias": zeros}, axis=-1),
           "F.layer_norm(x, (x.shape[1],), ones, zeros)", 2)
    yield "mean of rows", lambda: node_model("ReduceMean", [shape], [ROWS, 1], dtype, axes=[1]), "x.mean(1)", 1
    yield "mean of columns", lambda: node_model("ReduceMean", [shape], [1, COLUMNS], dtype, axes=[0]), "x.mean(0)", 1
    yield "transpose", lambda: node_model("Transpose", [shape], flip, dtype, perm=[1, 0]), "x.t().contiguous()", 2
    yield ("gather rows", lambda: node_model("Gather", [shape], shape, dtype, {"i": places}, axis=0),
           "x.index_select(0, places)", 2)
    yield from image_cases(dtype)
    yield (f"cast to {other}",
           lambda: node_model("Cast", [shape], shape, dtype, out_type=other, to=single.TYPES[other]),
           f"x.to(torch.{other})", cast)


IMAGE = [16, 256, 128, 128]  # as many elements


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
           "image.view(16, 128, 128, 256).permute(0, 3, 1, 2).contiguous()", 2)
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
    yield ("largest of rows, place", lambda: node_model("ArgMax", [[ROWS, COLUMNS]], [ROWS, 1], dtype, out_type="int64",
                                                        axis=1), "x.argmax(1)", 1)
    yield ("cumulative sum of rows", lambda: node_model("CumSum", [[ROWS, COLUMNS]], [ROWS, COLUMNS], dtype,
                                                        {"axis": np.array(1)}), "x.cumsum(1, dtype=x.dtype)", 2)


def resize(dtype):
    _, c, h, w = IMAGE
    node = onnx.helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    return single.model(node, [single.tensor("x", [4, c, h, w], dtype)],
                        [single.tensor("y", [4, c, 2 * h, 2 * w], dtype)], {"scales": np.array([1, 1, 2, 2], np.float32)})


def memory_setup(dtype):
    return (f"x, y = torch.rand(2, {ROWS}, {COLUMNS}, device='cuda').to(torch.{dtype})\n"
            f"ones, zeros = torch.ones({COLUMNS}, device='cuda', dtype=x.dtype), "
            f"torch.zeros({COLUMNS}, device='cuda', dtype=x.dtype)\n"
            f"places = torch.randperm({ROWS}, device='cuda')\n"
            f"image, of_channels = x.view({IMAGE}), torch.ones({IMAGE[1]}, device='cuda', dtype=x.dtype)")


# batch, channels, height and width, channels of the result, window, stride, groups
IMAGES = [(3, 224, 64, 7, 2, 1), (64, 56, 64, 3, 1, 1), (256, 14, 256, 3, 1, 1), (1024, 14, 256, 1, 1, 1),
          (512, 7, 512, 3, 1, 1), (144, 56, 144, 3, 1, 144)]


def product_cases(dtype):
    """(label, model, PyTorch's setup, PyTorch's statement, multiplications and additions)."""
    for m, k, n in ((1, 4096, 4096), (128, 768, 768), (384, 1024, 4096), (1024,) * 3, (2048,) * 3, (4096,) * 3):
        yield (f"product {m} x {k} x {n}", lambda s=(m, k, n): single.float_matmul(*s, dtype, True),
               f"a, b = [torch.rand(*s, device='cuda').to(torch.{dtype}) for s in (({m}, {k}), ({k}, {n}))]", "a @ b",
               2 * m * k * n)
    for shape in IMAGES:
        channels, size, out, kernel, stride, groups = shape
        yield (f"convolution {single.image(shape)}", lambda s=shape: single.float_conv(s, dtype),
               f"x, w, b = [torch.rand(*s, device='cuda').to(torch.{dtype}) for s in ((1, {channels}, {size}, {size}), "
               f"({out}, {channels // groups}, {kernel}, {kernel}), ({out},))]\n"
               "x, w = [v.contiguous(memory_format=torch.channels_last) for v in (x, w)]",
               f"F.conv2d(x, w, b, {stride}, {kernel // 2}, 1, {groups})",
               2 * channels // groups * kernel**2 * out * (size // stride)**2)
    for tokens in (128, 512, 2048):
        yield (f"attention, 12 heads of 64, {tokens} tokens", lambda t=tokens: attention(t, dtype),
               f"q, k, v = torch.rand(3, 1, 12, {tokens}, 64, device='cuda').to(torch.{dtype})",
               "F.scaled_dot_product_attention(q, k, v)", 4 * 12 * 64 * tokens**2)


def order_cases(dtype):
    """(label, model, PyTorch's setup, PyTorch's statement): what orders, adds up along long lines, or goes step by step."""
    for lines, length, count in ((1, 2**20, 2**20), (1, 2**24, 2**24), (ROWS, COLUMNS, COLUMNS), (1, 10**6, 50),
                                 (ROWS, COLUMNS, 50), (1000, 1000, 10)):
        what = "sort" if count == length else f"first {count} of"
        yield (f"{what} {lines} x {length}", lambda s=(lines, length, count): with_type(single.top(*s), dtype),
               f"x = torch.rand({lines}, {length}, device='cuda').to(torch.{dtype})",
               "torch.sort(x, descending=True)" if count == length else f"torch.topk(x, {count})")
    yield ("cumulative sum of 2^26", lambda: node_model("CumSum", [[2**26]], [2**26], dtype, {"axis": np.array(0)}),
           f"x = torch.rand(2**26, device='cuda').to(torch.{dtype})", "x.cumsum(0, dtype=x.dtype)")
    yield ("not zero, of 2^24", lambda: node_model("NonZero", [[2**24]], [1, "n"], dtype, out_type="int64"),
           f"x = torch.rand(2**24, device='cuda').to(torch.{dtype})", "x.nonzero_static(size=2**24)")
    for cell, hidden, steps, batch in (("LSTM", 256, 128, 1), ("LSTM", 512, 256, 8), ("LSTM", 1024, 256, 32),
                                       ("GRU", 512, 256, 8)):
        yield (f"{cell} {hidden}, {steps} steps, batch {batch}",
               lambda s=(cell, hidden, steps, batch): recurrent(*s, dtype),
               f"x = torch.rand({steps}, {batch}, {hidden}, device='cuda').to(torch.{dtype})\n"
               f"net = torch.nn.{cell}({hidden}, {hidden}).to('cuda', torch.{dtype})", "net(x)")


def recurrent(cell, hidden, steps, batch, dtype):
    gates = {"LSTM": 4, "GRU": 3}[cell] * hidden
    constants = {k: single.normal(1, gates, hidden, dtype=dtype) for k in ("w", "r")}
    constants["b"] = np.zeros([1, 2 * gates], dtype)
    node = onnx.helper.make_node(cell, ["x", "w", "r", "b"], ["y"], hidden_size=hidden,
                                 **({"linear_before_reset": 1} if cell == "GRU" else {}))
    return single.model(node, [single.tensor("x", [steps, batch, hidden], dtype)],
                        [single.tensor("y", [steps, 1, batch, hidden], dtype)], constants)


def with_type(found, dtype):
    for value in [found.graph.input[0], found.graph.output[0]]:
        value.type.tensor_type.elem_type = single.TYPES[dtype]
    return found


def attention(tokens, dtype):
    found = single.attention(tokens, 0)
    for value in [*found.graph.input, *found.graph.output]:
        value.type.tensor_type.elem_type = single.TYPES[dtype]
    return found


def compare(args, make, setup, statement):
    path = os.path.join(args.folder, "single.onnx")
    onnx.save(make(), path)
    rounds = [(anydml(args, path), peer(args, "operator", setup, statement)) for _ in range(args.rounds)]
    ours, theirs = [least(column) for column in zip(*rounds)]
    return ours and ours[0], theirs


def copy_rate(args):
    """Bytes read and written in a millisecond by a copy of 512 MiB."""
    x = f"x = torch.rand({2**27}, device='cuda'); y = torch.empty_like(x)"
    taken = least([peer(args, "operator", x, "y.copy_(x)") for _ in range(args.rounds)])
    return taken and 2**30 / taken


def measure_memory(args, results):
    rate = copy_rate(args)
    if rate:
        print(f"\nA copy on this device: {rate / 1e9:.2f} TB/s read and written\n")
    print_row("bound by memory", "type", "device, ms", "TB/s", "of a copy", "PyTorch, ms", "ratio")
    print_row(*["---"] * 7)
    for dtype, size in (("float32", 4), ("float16", 2)):
        for label, make, statement, tensors in memory_cases(dtype):
            if args.filter not in label:
                continue
            ours, theirs = compare(args, make, memory_setup(dtype), statement)
            moved = ours and tensors * size * ROWS * COLUMNS / ours
            print_row(label, dtype, number(ours), number(moved and moved / 1e9), ratio(moved, rate), number(theirs),
                      ratio(ours, theirs))
            results.append(dict(operator=label, type=dtype, device=ours, torch=theirs, rate=moved, copy=rate))


def measure_products(args, results):
    print_row("bound by arithmetic", "type", "device, ms", "TFLOP/s", "PyTorch, ms", "ratio")
    print_row(*["---"] * 6)
    for dtype in ("float32", "float16"):
        for label, make, setup, statement, flops in product_cases(dtype):
            if args.filter not in label:
                continue
            ours, theirs = compare(args, make, setup, statement)
            print_row(label, dtype, number(ours), number(ours and flops / ours / 1e9), number(theirs),
                      ratio(ours, theirs))
            results.append(dict(operator=label, type=dtype, device=ours, torch=theirs, flops=flops))


def measure_order(args, results):
    print_row("order, sums of long lines, steps", "type", "device, ms", "PyTorch, ms", "ratio")
    print_row(*["---"] * 5)
    for dtype in ("float32", "float16"):
        for label, make, setup, statement in order_cases(dtype):
            if args.filter not in label:
                continue
            ours, theirs = compare(args, make, setup, statement)
            print_row(label, dtype, number(ours), number(theirs), ratio(ours, theirs))
            results.append(dict(operator=label, type=dtype, device=ours, torch=theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anydml", default="build/tools/anydml")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--folder")
    parser.add_argument("--only", default="networks,operators")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        args.folder = args.folder or folder
        os.makedirs(args.folder, exist_ok=True)
        if "networks" in args.only:
            measure_networks(args, results)
        if "operators" in args.only or "memory" in args.only:
            measure_memory(args, results)
        if "operators" in args.only or "order" in args.only:
            print()
            measure_order(args, results)
        if "operators" in args.only or "products" in args.only:
            print()
            measure_products(args, results)
    for server in servers.values():
        server.kill()
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main()
