#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures networks and single operators on a GPU, compared with ONNX Runtime's WebGPU provider and PyTorch, in one run.

usage: gpu.py [--anydml build/tools/anydml] [--device NUMBER] [--parts networks,batch,memory,...] [--filter TEXT] [--types float16,float32]
              [--seconds 0.3] [--rounds 1] [--limit SECONDS] [--json FILE] [--folder FOLDER]
       gpu.py --page docs/performance/vulkan-results.md FILE.json...

Parts: networks (of networks.py, FLOAT16 and FLOAT32, batch 1), batch (32 images, FLOAT16), and the operators of
gpu_cases.py: gemm, products, convolutions, attention, decode, memory, order. Columns of networks, in milliseconds:
  device   AnyDML, from the first dispatch to the end of the last one, by GPU timestamps
  run      AnyDML, one execution by the CPU's clock: includes submission and wait, without copies
  copies   the same with inputs and outputs copied over the bus
  WebGPU   session.run() of ONNX Runtime with onnxruntime-ep-webgpu: with copies
  graph    PyTorch, a network of the same architecture replayed as a CUDA graph: without copies, by GPU timestamps
Operators are measured by GPU timestamps only, as ten back-to-back executions, compared with the same operator of PyTorch
(cuBLAS, cuDNN and its own kernels) in a CUDA graph of ten; for memory-bound operators also the bytes read and written as a
fraction of the rate of a copy on this device.

With --limit no measurement starts after this number of seconds: parts may be measured one after the other, each with its own
file. --page writes tables and plots of all these files (later files take precedence) between the marks of the document and
to the folder next to it.

Columns of peers that are not installed are empty. The programs alternate; the minimum of all rounds' medians counts. Requires
numpy and onnx; onnxruntime with onnxruntime-ep-webgpu, and PyTorch with torchvision and transformers, as peers. GPUs lower
their clocks when idle, so each measurement first runs for a fifth of a second.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import gpu_cases
import gpu_page
import gpu_peers
import networks
import onnx

NETWORKS = ["resnet50", "mobilenetv2", "squeezenet11", "bert_base_s128", "bert_layer1_s128", "yolo416",
            "super_resolution"]


def device_of(args):
    """Returns the properties of the device, or of the first one that is not a CPU."""
    found = subprocess.run([args.anydml, "devices", "--json"], capture_output=True, text=True, check=True)
    devices = json.loads(found.stdout)
    if args.device is not None:
        return devices[args.device]
    return next(d for d in devices if d["kind"] != "cpu")


def anydml(args, path, options=()):
    """Returns (device, run, with copies) in milliseconds, or None."""
    command = [args.anydml, "bench", path, "--device", str(args.device), "--seconds",
               str(args.seconds + gpu_peers.WARM), "--json", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stderr.strip()[-300:], file=sys.stderr)
        return None
    found = json.loads(result.stdout)
    return found.get("device_ms"), found.get("no_copies_ms"), found["median_ms"]


def least(values):
    """Returns the minimum of each column."""
    columns = [[v for v in column if v is not None] for column in zip(*[v for v in values if v is not None])]
    return [min(column, default=None) for column in columns]


def turns(args, *programs):
    rounds = [[program() for program in programs] for _ in range(args.rounds)]
    return [least(column) for column in zip(*rounds)]


def over(args):
    return args.limit and time.perf_counter() - args.start > args.limit


def keep(args, results, record):
    results.append(record)
    print(json.dumps(record), flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(dict(conditions=args.conditions, results=results), file, indent=1)


def one(value):
    return None if value is None else (value,)


def measure_networks(args, results, part):
    batch = 32 if part == "batch" else 1
    names = ("resnet50", "mobilenetv2") if batch > 1 else NETWORKS
    for dtype in args.types.split(","):
        for name in names:
            if dtype == "int8" or args.filter not in name or (batch > 1 and dtype == "float32" and name != "resnet50"):
                continue
            if over(args):
                return
            path = networks.write(args.folder, name, dtype == "float16", batch)
            ours, gpu, graph = turns(
                args, lambda: anydml(args, path), lambda: one(
                    gpu_peers.ask("webgpu", path, args.seconds) if batch == 1 else None),
                lambda: one(None if name.startswith("yolo") else
                            gpu_peers.ask("network", name, dtype, batch, args.seconds)))
            device, run, copies = ours or (None, None, None)
            keep(args, results, dict(part=part, label=name, type=dtype, device=device, run=run, copies=copies,
                                     webgpu=gpu[0] if gpu else None, torch=graph[0] if graph else None))
            os.remove(path)


def copy_rate(args):
    """Returns the bytes read and written per millisecond: 512 MiB copied, or negated by a kernel, whichever is faster."""
    x = f"x = torch.rand({2**27}, device='cuda'); y = torch.empty_like(x)"
    taken = least([(gpu_peers.ask("operator", x, s, args.seconds),) for s in ("y.copy_(x)", "torch.neg(x, out=y)")])
    return taken[0] and 2**30 / taken[0]


def measure_operators(args, results, part):
    if part in ("memory", "decode"):
        args.conditions["copy"] = copy_rate(args)
    path = os.path.join(args.folder, "single.onnx")
    for case in gpu_cases.PARTS[part]():
        if args.filter not in case.label or not any(case.type.startswith(t) for t in args.types.split(",")):
            continue
        if over(args):
            return
        onnx.save(case.make(), path)
        ours, theirs = turns(args, lambda: anydml(args, path, (*case.options, "--in-a-row", "10")), lambda: one(
            gpu_peers.ask("operator", case.setup, case.statement, args.seconds) if case.statement else None))
        keep(args, results, dict(part=part, label=case.label, type=case.type, device=ours[0] if ours else None,
                                 torch=theirs[0] if theirs else None, bytes=case.bytes, flops=case.flops))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anydml", default="build/tools/anydml")
    parser.add_argument("--device", type=int)
    parser.add_argument("--folder")
    parser.add_argument("--parts", default="networks,batch," + ",".join(gpu_cases.PARTS))
    parser.add_argument("--filter", default="")
    parser.add_argument("--types", default="float16,float32,int8")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=0)
    parser.add_argument("--json")
    parser.add_argument("--page")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    if args.page:
        gpu_page.write(args.page, args.files)
        return
    args.start = time.perf_counter()
    device = device_of(args)
    args.device = device["index"]
    args.conditions = dict(date=time.strftime("%Y-%m-%d"), device=device, seconds=args.seconds, rounds=args.rounds,
                           versions=gpu_peers.versions())
    results = []
    with tempfile.TemporaryDirectory() as folder:
        args.folder = args.folder or folder
        os.makedirs(args.folder, exist_ok=True)
        for part in args.parts.split(","):
            measure = measure_networks if part in ("networks", "batch") else measure_operators
            measure(args, results, part)
    gpu_peers.stop()


if __name__ == "__main__":
    main()
