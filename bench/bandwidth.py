#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the memory-bound operators of the CPU adapter on large tensors: the bytes that an operation must read and write per
second, as a fraction of the machine's copy bandwidth, compared with numpy and PyTorch.

usage: bandwidth.py [--operators build/bench/operators] [--threads 1,2] [--seconds 0.5] [--filter TEXT] [--least]
                    [--json FILE]

Copy bandwidth is the higher one of numpy's and PyTorch's copies of the same bytes with the same number of threads, each thread
pinned to its own CPU. The three alternate in one run; each figure is a median, or with --least the shortest time (for machines
with other load). numpy does not use threads: its column is for one thread. Requires numpy and PyTorch, of any version:
Debian's, or .cache/peers/venv/bin/python, which scripts/prepare-peers creates. Prints a Markdown table. Differences below 5 %
are noise on a shared machine. Tensors of INT8 have only 16 MiB, which fit into large caches: their copies are measured in the
same caches.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

N = 4096  # tensors are N x N: 64 MiB of FLOAT32, larger than the caches
FLOATS = ("float32", "float16")
NUMBERS = FLOATS + ("int32",)
ALL = NUMBERS + ("int8",)


def case(label, operator, fields, bytes_per_element, torch_function=None, numpy_function=None, types=FLOATS):
    return [dict(label=label, operator=operator, fields=fields, bytes=bytes_per_element, torch=torch_function,
                 numpy=numpy_function, type=t) for t in types]


def part(x, *shape):
    """Returns the first elements as a view with this shape."""
    return x.view(-1)[:np.prod(shape)].view(*shape)


# Fields: {n} is N, {t} the data type. Bytes: per element of N x N in sizes of the type, counted as the operation must
# move them; a pair is such elements and additional bytes of other types.
UNARY = "InputTensor={n}x{n}:{t} OutputTensor={n}x{n}:{t}"
PLAIN = " ScaleBias=-"
BINARY = "ATensor={n}x{n}:{t} BTensor={n}x{n}:{t} OutputTensor={n}x{n}:{t}"
BLOCKS = ("InputTensor=1x1x{n}x{n}:{q} OutputTensor=1x1x{n}x{n}:{t} "
          "QuantizationTensors=1x1x{n}x128:{t}+1x1x{n}x128:{q} QuantizationType=2")
TWOFOLD = ("InputTensor=16x64x64x64:{t} OutputTensor=16x64x128x128:{t} Scales=1,1,2,2 InputPixelOffsets=0.5,0.5,0.5,0.5 "
           "OutputPixelOffsets=-0.5,-0.5,-0.5,-0.5 Antialiased=0 ")
WINDOWS = "WindowSizes=3,3 Strides=1,1 Dilations=1,1 StartPadding=1,1 EndPadding=1,1"
WINDOWS_BYTES = 16 * 64 * 28 * 64 * (1 + 9) / N**2
CASES = [
    *case("copy", "ELEMENT_WISE_IDENTITY", UNARY + PLAIN, 2, lambda x, y, o: o.copy_(x),
          lambda x, y, o: np.copyto(o, x), types=ALL),
    *case("add", "ELEMENT_WISE_ADD", BINARY, 3, lambda x, y, o: torch.add(x, y, out=o),
          lambda x, y, o: np.add(x, y, out=o), types=ALL),
    *case("multiply, row broadcast", "ELEMENT_WISE_MULTIPLY",
          "ATensor={n}x{n}:{t} BTensor={n}x{n}:{t}@0x1 OutputTensor={n}x{n}:{t}", 2,
          lambda x, y, o: torch.mul(x, y[:1], out=o), lambda x, y, o: np.multiply(x, y[:1], out=o)),
    *case("relu", "ACTIVATION_RELU", UNARY, 2, lambda x, y, o: torch.clamp_min(x, 0, out=o),
          lambda x, y, o: np.maximum(x, 0, out=o)),
    *case("sigmoid", "ACTIVATION_SIGMOID", UNARY, 2, lambda x, y, o: torch.sigmoid(x, out=o)),
    *case("gelu", "ACTIVATION_GELU", UNARY, 2, lambda x, y, o: torch.nn.functional.gelu(x)),
    *case("exp", "ELEMENT_WISE_EXP", UNARY + PLAIN, 2, lambda x, y, o: torch.exp(x, out=o), lambda x, y, o: np.exp(x, out=o)),
    *case("sin", "ELEMENT_WISE_SIN", UNARY + PLAIN, 2, lambda x, y, o: torch.sin(x, out=o), lambda x, y, o: np.sin(x, out=o)),
    *case("select", "ELEMENT_WISE_IF",
          "ConditionTensor={n}x{n}:UINT8 ATensor={n}x{n}:{t} BTensor={n}x{n}:{t} OutputTensor={n}x{n}:{t}", 3.25,
          lambda x, y, o: torch.where(x > 0.5, x, y), None, types=("float32",)),
    *case("cast to the other float", "CAST", "InputTensor={n}x{n}:{t} OutputTensor={n}x{n}:{u}", (0, 6),
          lambda x, y, o: x.to(torch.float16 if x.dtype == torch.float32 else torch.float32),
          lambda x, y, o: x.astype(np.float16 if x.dtype == np.float32 else np.float32)),
    *case("transpose", "ELEMENT_WISE_IDENTITY", "InputTensor={n}x{n}:{t}@1x{n} OutputTensor={n}x{n}:{t}" + PLAIN, 2,
          lambda x, y, o: o.copy_(x.t()), lambda x, y, o: np.copyto(o, x.T), types=ALL),
    *case("add, one input transposed", "ELEMENT_WISE_ADD",
          "ATensor={n}x{n}:{t}@1x{n} BTensor={n}x{n}:{t} OutputTensor={n}x{n}:{t}", 3,
          lambda x, y, o: torch.add(x.t(), y, out=o), lambda x, y, o: np.add(x.T, y, out=o)),
    *case("dequantize, 4 bits, blocks of 32", "DEQUANTIZE", BLOCKS.replace("{q}", "UINT4"), (4.5 + 4.5 / 32) / 4,
          types=("float32",)),
    *case("dequantize, 8 bits, blocks of 32", "DEQUANTIZE", BLOCKS.replace("{q}", "UINT8"), (5 + 5 / 32) / 4,
          types=("float32",)),
    *case("dequantize, 4 bits, blocks of 32", "DEQUANTIZE", BLOCKS.replace("{q}", "UINT4"), (2.5 + 2.5 / 32) / 2,
          types=("float16",)),
    *case("permute 0,2,3,1 (64 channels)", "ELEMENT_WISE_IDENTITY",
          "InputTensor=16x128x128x64:{t}@1048576x128x1x16384 OutputTensor=16x128x128x64:{t}" + PLAIN, 2,
          lambda x, y, o: o.view(16, 128, 128, 64).copy_(x.view(16, 64, 128, 128).permute(0, 2, 3, 1)),
          lambda x, y, o: np.copyto(o.reshape(16, 128, 128, 64), x.reshape(16, 64, 128, 128).transpose(0, 2, 3, 1)),
          types=ALL),
    *case("slice, every second column", "SLICE1",
          "InputTensor={n}x{n}:{t} OutputTensor={n}x{h}:{t} InputWindowOffsets=0,0 InputWindowSizes={n},{n} "
          "InputWindowStrides=1,2", 1.5, lambda x, y, o: o[:, :N // 2].copy_(x[:, ::2]),
          lambda x, y, o: np.copyto(o[:, :N // 2], x[:, ::2])),
    *case("join along columns", "JOIN", "InputTensors={n}x{h}:{t}+{n}x{h}:{t} OutputTensor={n}x{n}:{t} Axis=1", 2,
          lambda x, y, o: torch.cat((x[:, :N // 2], y[:, :N // 2]), 1, out=o),
          lambda x, y, o: np.concatenate((x[:, :N // 2], y[:, :N // 2]), 1, out=o), types=ALL),
    *case("pad by 2 (reflect)", "PADDING",
          "InputTensor={n}x{n}:{t} OutputTensor={p}x{p}:{t} PaddingMode=2 StartPadding=2,2 EndPadding=2,2", 2,
          lambda x, y, o: torch.nn.functional.pad(x[None], (2, 2, 2, 2), mode="reflect"), None, types=("float32",)),
    *case("tile 1x2", "TILE", "InputTensor={n}x{h}:{t} OutputTensor={n}x{n}:{t} Repeats=1,2", 1.5,
          lambda x, y, o: x[:, :N // 2].repeat(1, 2), lambda x, y, o: np.tile(x[:, :N // 2], (1, 2))),
    *case("sum of rows", "REDUCE", "InputTensor={n}x{n}:{t} OutputTensor={n}x1:{t} Axes=1 Function=10", 1,
          lambda x, y, o: torch.sum(x, 1), lambda x, y, o: np.sum(x, 1), types=NUMBERS),
    *case("sum of columns", "REDUCE", "InputTensor={n}x{n}:{t} OutputTensor=1x{n}:{t} Axes=0 Function=10", 1,
          lambda x, y, o: torch.sum(x, 0), lambda x, y, o: np.sum(x, 0), types=NUMBERS),
    *case("sum of all", "REDUCE", "InputTensor={n}x{n}:{t} OutputTensor=1x1:{t} Axes=0,1 Function=10", 1,
          lambda x, y, o: torch.sum(x), lambda x, y, o: np.sum(x)),
    *case("maximum of rows", "REDUCE", "InputTensor={n}x{n}:{t} OutputTensor={n}x1:{t} Axes=1 Function=7", 1,
          lambda x, y, o: torch.amax(x, 1), lambda x, y, o: np.max(x, 1), types=ALL),
    *case("argmax of rows", "ARGMAX", "InputTensor={n}x{n}:{t} OutputTensor={n}x1 Axes=1", 1,
          lambda x, y, o: torch.argmax(x, 1), lambda x, y, o: np.argmax(x, 1), types=ALL),
    *case("softmax of rows", "ACTIVATION_SOFTMAX1", UNARY + " Axes=1", 2, lambda x, y, o: torch.softmax(x, 1)),
    *case("softmax of columns", "ACTIVATION_SOFTMAX1", UNARY + " Axes=0", 2, lambda x, y, o: torch.softmax(x, 0)),
    *case("layer normalisation", "MEAN_VARIANCE_NORMALIZATION1",
          UNARY + " ScaleTensor={n}x{n}:{t}@0x1 BiasTensor={n}x{n}:{t}@0x1 Axes=1 Epsilon=0.00001 FusedActivation=-", 2,
          lambda x, y, o: torch.nn.functional.layer_norm(x, (N,), y[0], y[1])),
    *case("maximum of all", "REDUCE", "InputTensor={n}x{n}:{t} OutputTensor=1x1:{t} Axes=0,1 Function=7", 1,
          lambda x, y, o: torch.max(x), lambda x, y, o: np.max(x)),
    *case("argmax of columns", "ARGMAX", "InputTensor={n}x{n}:{t} OutputTensor=1x{n} Axes=0", 1,
          lambda x, y, o: torch.argmax(x, 0), lambda x, y, o: np.argmax(x, 0)),
    *case("argmin of all", "ARGMIN", "InputTensor={n}x{n}:{t} OutputTensor=1x1 Axes=0,1", 1,
          lambda x, y, o: torch.argmin(x), lambda x, y, o: np.argmin(x)),
    *case("log-softmax of rows", "ACTIVATION_LOG_SOFTMAX1", UNARY + " Axes=1", 2, lambda x, y, o: torch.log_softmax(x, 1)),
    *case("hardmax of rows", "ACTIVATION_HARDMAX1", UNARY + " Axes=1", 2,
          lambda x, y, o: torch.zeros_like(x).scatter_(1, torch.argmax(x, 1, keepdim=True), 1)),
    *case("batch normalisation", "BATCH_NORMALIZATION",
          "InputTensor=16x64x128x128:{t} MeanTensor=16x64x128x128:{t}@0x1x0x0 VarianceTensor=16x64x128x128:{t}@0x1x0x0 "
          "ScaleTensor=16x64x128x128:{t}@0x1x0x0 BiasTensor=16x64x128x128:{t}@0x1x0x0 OutputTensor=16x64x128x128:{t} "
          "Spatial=1 Epsilon=0.00001 FusedActivation=-", 2,
          lambda x, y, o: torch.nn.functional.batch_norm(x.view(16, 64, 128, 128), y[0, :64], y[1, :64], y[2, :64], y[3, :64])),
    *case("instance normalisation", "MEAN_VARIANCE_NORMALIZATION1",
          "InputTensor=16x64x128x128:{t} ScaleTensor=16x64x128x128:{t}@0x1x0x0 BiasTensor=16x64x128x128:{t}@0x1x0x0 "
          "OutputTensor=16x64x128x128:{t} Axes=2,3 Epsilon=0.00001 FusedActivation=-", 2,
          lambda x, y, o: torch.nn.functional.instance_norm(x.view(16, 64, 128, 128), None, None, y[0, :64], y[1, :64])),
    *case("gather of rows", "GATHER",
          "InputTensor={n}x{n}:{t} IndicesTensor=1x{n} OutputTensor={n}x{n}:{t} Axis=0 IndexDimensions=1", 2,
          lambda x, y, o: torch.index_select(x, 0, INDICES, out=o),
          lambda x, y, o: np.take(x, INDICES.numpy(), 0, out=o), types=ALL),
    *case("cumulative sum of rows", "CUMULATIVE_SUMMATION", UNARY + " Axis=1", 2,
          lambda x, y, o: torch.cumsum(x, 1), lambda x, y, o: np.cumsum(x, 1, out=o), types=NUMBERS),
    *case("max pooling 2x2", "MAX_POOLING",
          "InputTensor=16x64x128x128:{t} OutputTensor=16x64x64x64:{t} WindowSize=2,2 Strides=2,2 StartPadding=0,0 "
          "EndPadding=0,0", 1.25, lambda x, y, o: torch.nn.functional.max_pool2d(x.view(16, 64, 128, 128), 2), types=ALL),
    *case("global average pooling", "AVERAGE_POOLING",
          "InputTensor=16x64x128x128:{t} OutputTensor=16x64x1x1:{t} WindowSize=128,128 Strides=1,1 StartPadding=0,0 "
          "EndPadding=0,0", 1, lambda x, y, o: torch.nn.functional.adaptive_avg_pool2d(x.view(16, 64, 128, 128), 1)),
    *case("cast to float32", "CAST", "InputTensor={n}x{n}:{t} OutputTensor={n}x{n}:FLOAT32", (1, 4),
          lambda x, y, o: x.float(), lambda x, y, o: x.astype(np.float32), types=("int32", "int8")),
    *case("fill with a constant", "FILL_VALUE_CONSTANT", "OutputTensor={n}x{n}:{t}", 1, lambda x, y, o: o.fill_(0),
          lambda x, y, o: o.fill(0), types=ALL),
    *case("scatter along rows", "SCATTER_ELEMENTS",
          "InputTensor={n}x{n}:{t} IndicesTensor={n}x{n} UpdatesTensor={n}x{n}:{t} OutputTensor={n}x{n}:{t} Axis=1", (3, 4),
          lambda x, y, o: torch.scatter(x, 1, PLACES, y, out=o), types=ALL),
    *case("scatter of rows", "SCATTER_ND",
          "InputTensor={n}x{n}:{t} IndicesTensor={n}x1 UpdatesTensor={n}x{n}:{t} OutputTensor={n}x{n}:{t} "
          "InputDimensionCount=2 IndicesDimensionCount=2", 3, lambda x, y, o: torch.index_copy(x, 0, INDICES, y, out=o),
          types=ALL),
    *case("gather along rows", "GATHER_ELEMENTS",
          "InputTensor={n}x{n}:{t} IndicesTensor={n}x{n} OutputTensor={n}x{n}:{t} Axis=1", (2, 4),
          lambda x, y, o: torch.gather(x, 1, PLACES, out=o), types=ALL),
    *case("one-hot of rows", "ONE_HOT", "IndicesTensor={n}x1 ValuesTensor=1x2:{t} OutputTensor={n}x{n}:{t} Axis=1", 1,
          lambda x, y, o: o.zero_().scatter_(1, INDICES[:, None], 1), types=ALL),
    *case("coordinates of nonzeros (nearly all)", "NONZERO_COORDINATES",
          "InputTensor={n}x{n}:{t} OutputCountTensor=1 OutputCoordinatesTensor=16777216x2", (1, 8),
          lambda x, y, o: torch.nonzero(x), lambda x, y, o: np.nonzero(x), types=ALL),
    *case("resample 2x2, nearest", "RESAMPLE3", TWOFOLD.replace("0.5", "0") + "InterpolationMode=0 RoundingDirection=1",
          1.25,
          lambda x, y, o: torch.nn.functional.interpolate(part(x, 16, 64, 64, 64), scale_factor=2, mode="nearest")),
    *case("resample 2x2, linear", "RESAMPLE3", TWOFOLD + "InterpolationMode=1", 1.25,
          lambda x, y, o: torch.nn.functional.interpolate(part(x, 16, 64, 64, 64), scale_factor=2, mode="bilinear")),
    *case("unfold 3x3", "UNFOLD", "InputTensor=16x64x28x64:{t} OutputTensor=16x576x1792:{t} " + WINDOWS, WINDOWS_BYTES,
          lambda x, y, o: torch.nn.functional.unfold(part(x, 16, 64, 28, 64), 3, padding=1)),
    *case("fold 3x3", "FOLD", "InputTensor=16x576x1792:{t} OutputTensor=16x64x28x64:{t} " + WINDOWS, WINDOWS_BYTES,
          lambda x, y, o: torch.nn.functional.fold(part(x, 16, 576, 1792), (28, 64), 3, padding=1)),
    *case("local response normalisation", "LOCAL_RESPONSE_NORMALIZATION",
          "InputTensor=16x64x128x128:{t} OutputTensor=16x64x128x128:{t} CrossChannel=1 LocalSize=5 Alpha=0.0001 Beta=0.75 "
          "Bias=1", 2, lambda x, y, o: torch.nn.functional.local_response_norm(x.view(16, 64, 128, 128), 5)),
    *case("L2 normalisation of rows", "LP_NORMALIZATION",
          "InputTensor=1x1x{n}x{n}:{t} OutputTensor=1x1x{n}x{n}:{t} Axis=3 P=2 Epsilon=0.00001", 2,
          lambda x, y, o: torch.nn.functional.normalize(x, dim=1, out=o)),
    *case("depth to space, blocks of 2x2", "DEPTH_TO_SPACE1",
          "InputTensor=16x64x128x128:{t} OutputTensor=16x16x256x256:{t} BlockSize=2 Order=1", 2,
          lambda x, y, o: torch.nn.functional.pixel_shuffle(x.view(16, 64, 128, 128), 2), types=ALL),
]
# The same small values as in operators.c.
INDICES = torch.from_numpy(np.random.default_rng(1).integers(0, 64, N))
PLACES = torch.from_numpy(np.random.default_rng(1).integers(0, 64, (N, N)))


def time_of(function, args):
    function()
    times = []
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times) if args.least else statistics.median(times)


def ours(args, entry, threads, processors):
    t = entry["type"].upper()
    u = "FLOAT16" if t == "FLOAT32" else "FLOAT32"
    fields = entry["fields"].format(n=N, h=N // 2, p=N + 4, t=t, u=u)
    env = dict(os.environ, ANYDML_THREADS=str(threads), ANYDML_ADAPTERS="cpu", OMP_PROC_BIND="false")
    command = ["taskset", "-c", processors, args.operators, "--seconds", str(args.seconds), entry["operator"], fields]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if result.returncode:
        print(f"{entry['label']}: {result.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return float(result.stdout.split()[3 if args.least else 1])


def theirs(entry, x, y, out, args):
    try:
        return time_of(lambda: entry["torch"](x, y, out), args) if entry["torch"] else None
    except RuntimeError:  # not implemented for 'Half', according to PyTorch
        return None


def numbers(dtype):
    """Returns random floats below 1, or integers below 64."""
    kind = getattr(torch, dtype)
    return torch.rand(N, N).to(kind) if kind.is_floating_point else torch.randint(0, 64, (N, N), dtype=kind)


def measure(args, threads, cpus):
    processors = ",".join(map(str, cpus[:threads]))
    os.sched_setaffinity(0, cpus[:threads])
    torch.set_num_threads(threads)
    rows = []
    for dtype in ALL:
        cases = [entry for entry in CASES if entry["type"] == dtype and args.filter in entry["label"]]
        x, y = numbers(dtype), numbers(dtype)
        out = torch.empty_like(x)
        element = x.element_size()
        copy = min(time_of(lambda: out.copy_(x), args), time_of(lambda: np.copyto(out.numpy(), x.numpy()), args)
                   if threads == 1 else float("inf"))
        bandwidth = 2 * N * N * element / copy
        for entry in cases:
            elements, others = entry["bytes"] if isinstance(entry["bytes"], tuple) else (entry["bytes"], 0)
            moved = N * N * (elements * element + others)
            seconds = {"anydml": ours(args, entry, threads, processors), "torch": theirs(entry, x, y, out, args)}
            seconds["numpy"] = (time_of(lambda: entry["numpy"](x.numpy(), y.numpy(), out.numpy()), args)
                                if entry["numpy"] and threads == 1 else None)
            rows.append(dict(label=entry["label"], type=dtype, threads=threads, copy=bandwidth, bytes=moved,
                             **{k: (moved / v if v else None) for k, v in seconds.items()}))
            show(rows[-1])
    return rows


def show(row):
    def cell(rate):
        return f"{rate / row['copy']:.2f}" if rate else "-"
    gb = f"{row['anydml'] / 1e9:.1f}" if row["anydml"] else "-"
    print(f"| {row['label']} | {row['type']} | {row['threads']} | {gb} | {cell(row['anydml'])} | {cell(row['torch'])} | "
          f"{cell(row['numpy'])} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", default="build/bench/operators")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--filter", default="")
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    print("| operation | type | threads | AnyDML GB/s | AnyDML / copy | PyTorch / copy | numpy / copy |")
    print("|---|---|---|---|---|---|---|")
    np.seterr(over="ignore")  # sums of FLOAT16
    cpus = sorted(os.sched_getaffinity(0))
    rows = [row for threads in args.threads.split(",") for row in measure(args, int(threads), cpus)]
    print("\ncopy bandwidth: " + ", ".join(sorted({f"{r['type']}, {r['threads']} threads: {r['copy'] / 1e9:.1f} GB/s"
                                                   for r in rows})))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
