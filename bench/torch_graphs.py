#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/torch_graphs.py [--threads N] [--blocks NAME,...] [--types float32,float16] [--onnx TOOL]: CPU time of one inference of
the blocks of tests/torch/graph_blocks.py, of the sizes of the networks: through torch.compile(backend="directml"), and with
TOOL (build/tools/anydml) of the same block exported to ONNX. Times are of all threads of the process, the least of --rounds:
machines that other programs use make only this comparable. Run it with scripts/check-torch BUILD -- bench/torch_graphs.py ..."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--blocks", default="vit,whisper,resnet,llama,unet")
    parser.add_argument("--types", default="float32,float16")
    parser.add_argument("--onnx")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=4)
    return parser.parse_args()


def torch_time(module, inputs, given):
    torch._dynamo.reset()
    there, moved = module.to("dml"), [x.to("dml") for x in inputs]
    run, times = torch.compile(there, backend="directml"), []
    with torch.no_grad():
        for _ in range(2):
            run(*moved)
        for _ in range(given.rounds):
            start = time.process_time()
            for _ in range(given.calls):
                run(*moved)
            times.append((time.process_time() - start) / given.calls)
    module.cpu()
    return min(times)


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def onnx_time(module, inputs, given):
    """The difference of a process with more runs and one with fewer."""
    with tempfile.TemporaryDirectory() as folder:
        model, command = os.path.join(folder, "model.onnx"), [given.onnx, "run", os.path.join(folder, "model.onnx")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module, tuple(inputs), model, dynamo=False, opset_version=20)
        for i, x in enumerate(inputs):
            numpy.save(os.path.join(folder, f"{i}.npy"), x.numpy())
            command += ["--input", os.path.join(folder, f"{i}.npy")]
        command += ["--device", "cpu", "--threads", str(given.threads), "--repeat"]

        def used(count):
            before = children()
            subprocess.run([*command, str(count)], check=True, stdout=subprocess.DEVNULL)
            return children() - before

        few, many = 2, 2 + given.calls * 4
        return (min(used(many) for _ in range(given.rounds)) - min(used(few) for _ in range(given.rounds))) / (many - few)


def main():
    given = options()
    print(f"{given.threads} threads; ms of CPU time" + ("" if not given.onnx else "; torch.compile, then ONNX"))
    for name in given.blocks.split(","):
        for kind in given.types.split(","):
            dtype = getattr(torch, kind)
            module, inputs = graph_blocks.made(name, graph_blocks.LARGE)
            module, inputs = module.to(dtype), [x.to(dtype) for x in inputs]
            times = [torch_time(module, inputs, given)]
            if given.onnx:
                times.append(onnx_time(module, inputs, given))
            print(name, kind, *[f"{1000 * t:.2f}" for t in times], flush=True)


if __name__ == "__main__":
    os.environ["ANYDML_THREADS"] = str(options().threads)  # before the libraries are loaded
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests", "torch"))
    import graph_blocks
    import numpy
    import torch
    import torch_directml  # noqa: F401
    main()
