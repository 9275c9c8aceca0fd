#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures torch_directml on the cpu adapter, compared with torch's CPU backend and Inductor, and on a GPU, compared with CUDA.

usage: torch_bench.py [--build build] [--python .cache/torch/venv/bin/python] [--threads 2] [--filter TEXT]
                      [--ways cpu,dml,compiled,inductor] [--rounds 5] [--seconds 1] [--clock wall|cpu] [--json FILE]

Cases: the overhead of one call (a tiny addition, an operator that falls back), training steps and inference of networks with
random weights, and the time of torch.compile. Ways: cpu (eager on torch's CPU backend), dml (eager), compiled
(torch.compile(backend="directml")) and inductor (torch's compiler on the CPU; compiling lasts minutes). On a GPU, with larger
batches: --ways cuda,vulkan,vulkan_compiled (torch's CUDA, and torch_directml on the first Vulkan device); --python must then
have a torch with CUDA.

--clock cpu measures CPU time instead of wall time, for machines with other load; it requires --threads 1.

Each way of a case is a separate process, pinned to the same CPUs; they alternate, with rounds of --seconds. The table has the
minimum of all rounds' medians, and ratios to the time of cpu or cuda: the median of the rounds' ratios and, for machines with
other load, the minimum. Compile times are those of new processes, the minimum of all rounds. Requires scripts/torch/build-torch
BUILD. Prints a Markdown table.
"""
import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

import turns

WAYS = ("cpu", "dml", "compiled", "inductor")
GPU_WAYS = ("cuda", "vulkan", "vulkan_compiled")
BACKENDS = {"compiled": "directml", "vulkan_compiled": "directml", "inductor": "inductor"}  # of torch.compile
# case: (description, the ways that make sense)
CASES = {
    "add": ("x + y, [4, 4]", WAYS[:2]),
    "fallback": ("an operator that falls back, [4, 4]", WAYS[:2]),
    "resnet18_train": ("ResNet-18, batch 8, 224 x 224, training step with SGD", WAYS),
    "bert_train": ("BERT, 4 layers of 256, batch 8 of 128 tokens, training step with AdamW", WAYS),
    "resnet50": ("ResNet-50, batch 1, inference", WAYS),
    "bert_base": ("BERT-base, 128 tokens, inference", WAYS),
    "resnet18_train_64": ("ResNet-18, batch 64, 224 x 224, training step with SGD", GPU_WAYS),
    "bert_base_train_16": ("BERT-base, batch 16 of 128 tokens, training step with AdamW", GPU_WAYS),
    "resnet18_compile": ("ResNet-18, batch 8, compiling forward and backward", WAYS[2:]),
}


# ---- the networks (only workers import torch) ----

def networks():
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        """A block of ResNet: two convolutions of 3 x 3, or (wide) one between two of 1 x 1."""

        def __init__(self, channels, width, stride, wide):
            super().__init__()
            out = width * (4 if wide else 1)
            shapes = [(channels, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)] if wide else \
                [(channels, width, 3, stride), (width, out, 3, 1)]
            self.convs = nn.ModuleList(nn.Conv2d(i, o, k, s, k // 2, bias=False) for i, o, k, s in shapes)
            self.norms = nn.ModuleList(nn.BatchNorm2d(o) for _, o, _, _ in shapes)
            self.shortcut = nn.Sequential() if channels == out and stride == 1 else nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            y = x
            for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
                y = norm(conv(y))
                y = F.relu(y) if i + 1 < len(self.convs) else y
            return F.relu(y + self.shortcut(x))

    def resnet(depths, wide):
        layers, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                            nn.MaxPool2d(3, 2, 1)], 64
        for stage, depth in enumerate(depths):
            for i in range(depth):
                layers.append(Block(channels, 64 << stage, 2 if stage and not i else 1, wide))
                channels = (64 << stage) * (4 if wide else 1)
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))

    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x):
            q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = self.first(x + self.o(y))
            return self.second(x + self.down(F.gelu(self.up(x))))

    class Bert(nn.Module):
        def __init__(self, layers, width, heads, words):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 2)
            self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))

        def forward(self, tokens):
            x = self.norm(self.words(tokens) + self.places.weight[:tokens.shape[1]])
            for layer in self.layers:
                x = layer(x)
            return self.head(x[:, 0])

    torch.manual_seed(1)
    image = torch.randn(8, 3, 224, 224)
    return {
        "resnet18": lambda: (resnet((2, 2, 2, 2), False), image, torch.randint(1000, (8,))),
        "resnet18_64": lambda: (resnet((2, 2, 2, 2), False), torch.randn(64, 3, 224, 224), torch.randint(1000, (64,))),
        "resnet50": lambda: (resnet((3, 4, 6, 3), True), image[:1], None),
        "bert": lambda: (Bert(4, 256, 4, 8192), torch.randint(8192, (8, 128)), torch.randint(2, (8,))),
        "bert_base_16": lambda: (Bert(12, 768, 12, 30522), torch.randint(30522, (16, 128)), torch.randint(2, (16,))),
        "bert_base": lambda: (Bert(12, 768, 12, 30522), torch.randint(30522, (1, 128)), None),
    }


# ---- the workers ----

def compiled(model, way):
    import torch
    return torch.compile(model, backend=BACKENDS[way]) if way in BACKENDS else model


def training(name, optimizer, way, device):
    import torch
    model, x, y = networks()[name]()
    model, x, y = model.to(device), x.to(device), y.to(device)
    optimizer = optimizer(model.parameters())
    run, loss = compiled(model, way), torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        result = loss(run(x), y)
        result.backward()
        optimizer.step()
        return result
    return step, lambda result: result.item()


def inference(name, way, device):
    import torch
    model, x, _ = networks()[name]()
    model, x = model.to(device).eval(), x.to(device)
    run = compiled(model, way)

    def step():
        with torch.no_grad():
            return run(x)
    return step, lambda result: result.sum().item()


def fallen_back(device):
    """Returns a fast operator that falls back to the CPU."""
    import warnings

    import torch
    import torch_directml
    x = torch.rand(4, 4).add(1).to(device)
    warnings.simplefilter("ignore")
    for name, call in (("hash_tensor", getattr(torch, "hash_tensor", None)), ("ldl_factor", torch.linalg.ldl_factor)):
        torch_directml.fallbacks(clear=True)
        try:
            call(x)
        except Exception:  # pylint: disable=broad-except # of other arguments
            continue
        if sum(torch_directml.fallbacks(clear=True).values()) == 1:
            return name, call
    raise SystemExit("torch_bench: no operator falls back")


def make(case, way):
    """Returns a function to be timed, the number of calls that it makes, and a function that waits until its result has been
    computed."""
    import torch
    device = "cuda" if way == "cuda" else "cpu" if way in ("cpu", "inductor") else "dml"
    if device == "dml":
        import torch_directml  # noqa: F401 # registers the device
    if case == "add":
        x, y = torch.rand(4, 4, device=device), torch.rand(4, 4, device=device)
        return lambda: [x + y for _ in range(1000)][-1], 1000, lambda result: None
    if case == "fallback":
        import torch_directml  # noqa: F401
        _, call = fallen_back("dml")
        x = torch.rand(4, 4).add(1).to(device)
        return lambda: [call(x) for _ in range(1000)][-1], 1000, lambda result: None
    if case == "resnet18_compile":
        case = "resnet18_train"
    network = case.replace("_train", "")
    if network != case:
        optimizer = functools.partial(torch.optim.SGD, lr=1e-3, momentum=0.9) if network.startswith("resnet") else \
            functools.partial(torch.optim.AdamW, lr=1e-4)
        return training(network, optimizer, way, device)[:1] + (1, float)
    step, done = inference(case, way, device)
    return step, 1, done


def work(case, way, threads, seconds, clock):
    import torch
    torch.set_num_threads(threads)
    now = time.process_time if clock == "cpu" else time.perf_counter
    start = now()
    step, calls, done = make(case, way)
    made = now()
    done(step())
    first = now()
    done(step())
    second = now()
    print(json.dumps({"compile": (first - made) - (second - first), "load": made - start}), flush=True)
    for _ in sys.stdin:
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            start = now()
            done(step())
            times.append((now() - start) / calls)
        print(json.dumps(statistics.median(times)), flush=True)


# ---- alternating ----

class Worker:
    def __init__(self, args, case, way):
        root = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
        paths = [os.path.join(os.path.abspath(args.build), "bindings/torch/python"), os.environ.get("PYTHONPATH")]
        stubs = [os.path.join(root, ".cache/torch/stubs"), os.environ.get("LD_LIBRARY_PATH")]
        env = dict(os.environ, PYTHONPATH=":".join(filter(None, paths)), LD_LIBRARY_PATH=":".join(filter(None, stubs)),
                   OMP_NUM_THREADS=str(args.threads), ANYDML_ADAPTERS="vulkan" if way in GPU_WAYS else "cpu",
                   PYTHONDONTWRITEBYTECODE="1",
                   TORCH_DEVICE_BACKEND_AUTOLOAD="0")  # training with CUDA fails if dml is registered
        command = [args.python, "-W", "ignore", __file__, "--work", case, way, str(args.threads), str(args.seconds), args.clock]
        self.process = subprocess.Popen(["taskset", "-c", turns.pinned(args.threads), *command], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.first = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def time(self):
        if self.first is None:
            return turns.FAILED
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self._answer()
        return turns.FAILED if answer is None else answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(args, case, ways):
    """Returns {way: [seconds of each round]}"""
    if case.endswith("_compile"):
        times = {way: [] for way in ways}
        for _ in range(max(1, args.rounds // 2)):
            for way in ways:
                worker = Worker(args, case, way)
                times[way].append(worker.first["compile"] if worker.first else turns.FAILED)
                worker.end()
        return times
    workers = {way: Worker(args, case, way) for way in ways}
    rounds = [{way: worker.time() for way, worker in workers.items()} for _ in range(args.rounds)]
    for worker in workers.values():
        worker.end()
    return {way: [each[way] for each in rounds] for way in ways}


def text_of(seconds):
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms" if seconds < 10 else f"{seconds:.0f} s"


def row(case, times, ways):
    cells, base = [CASES[case][0]], next((way for way in ("cpu", "cuda") if way in times), None)
    for way in ways:
        if way not in times:
            cells.append("")
            continue
        cell = text_of(min(times[way]))
        if base and way != base:
            ratios = [a / b for a, b in zip(times[way], times[base])]
            cell += f", {statistics.median(ratios):.2f} ({min(ratios):.2f})"
        cells.append(cell)
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description="Compares torch_directml with torch's CPU backend.")
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=".cache/torch/venv/bin/python")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--ways", default=",".join(WAYS), type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--json")
    args = parser.parse_args()
    unknown = set(args.ways) - set(WAYS + GPU_WAYS)
    if unknown:
        parser.error(f"--ways must be among {', '.join(WAYS + GPU_WAYS)}, not {', '.join(sorted(unknown))}")
    print("| case | " + " | ".join(way + ("" if way in ("cpu", "cuda") else ", ratio (minimum)") for way in args.ways) + " |")
    print("|---" * (len(args.ways) + 1) + "|", flush=True)
    results = {}
    for case, (_, possible) in CASES.items():
        ways = [way for way in possible if way in args.ways]
        if args.filter not in case or not ways:
            continue
        results[case] = measure(args, case, ways)
        print(row(case, results[case], args.ways), flush=True)
    turns.keep(args, results)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]), sys.argv[6])
    else:
        main()
