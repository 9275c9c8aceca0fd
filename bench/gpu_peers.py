# SPDX-License-Identifier: Apache-2.0
"""The peers of bench/gpu.py: ONNX Runtime's WebGPU provider, and PyTorch in CUDA graphs.

Each peer runs in a separate long-lived process: gpu_peers.py reads a JSON list [name, argument...] from each line and prints
milliseconds, or null if the peer fails.
"""
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

WARM = 0.2  # seconds: a GPU lowers its clock when idle


def median_of(run, seconds):
    """Returns the median time of one call in milliseconds; the call must wait for its completion."""
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
    import numpy as np
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


# ---- PyTorch ----

def graph_of(torch, function, times):
    """Returns a CUDA graph of `count` calls, after calls on another stream in which libraries select their kernels."""
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
    """Returns the median time of one call in milliseconds by GPU timestamps."""
    return timed(torch, graph_of(torch, function, times), seconds, times)


def timed(torch, graph, seconds, times):
    """Returns the median time of one of the calls in a graph of `times` calls, as replayed() does."""
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


def plain(torch):
    """Disables TF32 and FLOAT16 accumulation unless a case states otherwise; libraries may benchmark their kernels."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_accumulation = False
    torch.backends.cudnn.benchmark = True


class SuperResolution:
    """The network of this name in networks.py."""

    def __init__(self, torch, dtype):
        self.torch = torch
        self.layers = []
        for size_in, size_out, kernel in ((3, 32, 5), (32, 64, 3), (64, 64, 3), (64, 32, 5), (32, 32, 3), (32, 32, 3),
                                          (32, 3, 3)):
            weights = torch.rand(size_out, size_in, kernel, kernel, device="cuda", dtype=dtype)
            self.layers.append((weights.contiguous(memory_format=torch.channels_last),
                                torch.zeros(size_out, device="cuda", dtype=dtype)))

    def __call__(self, image):
        f, x = self.torch.nn.functional, image
        for number, (weights, bias) in enumerate(self.layers):
            if number == 3:
                x = f.interpolate(x, scale_factor=2, mode="nearest")
            x = f.conv2d(x, weights, bias, padding=weights.shape[2] // 2)
            x = f.relu(x) if number < len(self.layers) - 1 else x
        return x + f.interpolate(image, scale_factor=2, mode="nearest")


def torch_network(name, dtype, batch, seconds):
    """Returns the faster one of both layouts of images."""
    import torch
    plain(torch)
    dtype = getattr(torch, dtype)
    if name.startswith("bert"):
        import transformers
        config = transformers.BertConfig(num_hidden_layers=12 if "base" in name else 1)
        module = transformers.BertModel(config, add_pooling_layer=False).encoder.eval().to("cuda", dtype)
        x = torch.rand(1, 128, 768, device="cuda", dtype=dtype)
        return replayed(torch, lambda: module(x), seconds, 1)
    if name == "super_resolution":
        module, x = SuperResolution(torch, dtype), torch.rand(batch, 3, 540, 960, device="cuda", dtype=dtype)
    else:
        import torchvision
        names = {"resnet50": "resnet50", "mobilenetv2": "mobilenet_v2", "squeezenet11": "squeezenet1_1"}
        module = getattr(torchvision.models, names[name])().eval().to("cuda", dtype)
        x = torch.rand(batch, 3, 224, 224, device="cuda", dtype=dtype)
    times = []
    for layout in (torch.contiguous_format, torch.channels_last):
        if hasattr(module, "to"):
            module = module.to(memory_format=layout)
        image = x.contiguous(memory_format=layout)
        times.append(replayed(torch, lambda: module(image), seconds / 2, 1))
    return min(times)


def torch_operator(setup, statement, seconds):
    import torch
    plain(torch)
    names = {"torch": torch, "F": torch.nn.functional}
    exec(setup, names)
    code = compile(statement, "statement", "eval")
    return replayed(torch, lambda: eval(code, names), seconds, 10)


# The function, and the modules that it imports.
PEERS = {"webgpu": (webgpu, ["onnxruntime_ep_webgpu"]),
         "network": (torch_network, ["torch"]),
         "operator": (torch_operator, ["torch"])}
servers = {}


def serve():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = PEERS[name][0](*arguments)
        except Exception as error:  # the next request may succeed
            print(f"{name} {arguments}: {str(error)[:300]}", file=sys.stderr)
            answer = None
        print(json.dumps(answer), file=out, flush=True)


def ask(name, *arguments):
    """Returns milliseconds; None if the peer is not installed or fails."""
    if not all(importlib.util.find_spec(module) for module in PEERS[name][1]):
        return None
    server = servers.get(name)
    if not server or server.poll() is not None:
        server = servers[name] = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE,
                                                  stdout=subprocess.PIPE, text=True)
    server.stdin.write(json.dumps([name, *arguments]) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    return json.loads(answer) if answer else None


def versions():
    """Returns the versions of the installed peers."""
    found = {}
    for name in ("torch", "onnxruntime", "onnxruntime-ep-webgpu"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def stop():
    for server in servers.values():
        server.kill()


if __name__ == "__main__":
    serve()
