#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes and measures more than 40 networks that people run, with random weights: on a CPU beside ONNX Runtime and OpenVINO, on
a GPU beside PyTorch in CUDA graphs, eager and by torch.compile.

usage: zoo.py list
       zoo.py make FOLDER [--type float32,float16,dynamic,qdq,int4,int4a8] [--batch 1] [--jobs N] [--limit SECONDS] [NAME...]
       zoo.py run FOLDER --adapter cpu [--threads 1] [--clock cpu|wall] [--peers onnxruntime,openvino] [--type float32]
              [--loading ROUNDS]
              [--provider build/bindings/onnxruntime/libonnxruntime_ep_directml.so] [NAME...]
       zoo.py run FOLDER --adapter vulkan [--device NUMBER] [--jobs 8] [--peers graph,compiled] [--type float16] [--batch 1]
              [NAME...]
              both: [--anydml build/tools/anydml] [--seconds 1] [--limit 300] [--steps 5] [--above 0.95] [--json FILE]
              [--document FILE.md]
       zoo.py page DOCUMENT FILE.json...

make: writes NAME.onnx (NAME_f16.onnx), its weights beside it if they are more than 1 GB, and NAME.npz, its inputs and the
results of torch in float32 on the CPU. Networks whose library is not installed are left out with a line. Requires torch, onnx,
onnxscript, and torchvision, transformers and diffusers: scripts/prepare-zoo installs them and prints the Python program that
has them.

Types of 8 and 4 bits are made from NAME.onnx by ONNX Runtime's tools (zoo_forms.py), NAME_dynamic.onnx and so on; without torch.
Their results are compared with how far ONNX Runtime's and OpenVINO's are from the reference.

run: one process for each network, in which the programs alternate; the results of all are compared with the reference. A
network that fails has its error in the table, and each has a time limit.
  cpu     AnyDML in ONNX Runtime (its execution provider) beside ONNX Runtime's CPU provider and OpenVINO, with the same number
          of threads; the CPU time of the process (--clock wall: the time), which other processes on the machine disturb
          least. With several threads CPU time includes that of threads that wait for each other. --loading: also creation
          and first run of each program in processes of their own, in turns: in one process, the program that comes first pays
          for memory that the others use again.
  vulkan  anydml bench: the time on the device by its timestamps, an execution with copies, and compiling without and with
          cached pipelines; beside the same module of torch in a CUDA graph (the faster layout of images), and of
          torch.compile. Peers are prepared --jobs at a time, and measured alone. --batch must be that of make.

The tables are sorted by the ratio to the fastest peer: below 1, AnyDML is faster. --steps N shows, for each network, the N
steps that lose the most to ONNX Runtime's nodes of the same names (cpu, with ratios beyond --above), or take longest (vulkan).
--document writes the tables between the two marks of a document, --json keeps everything; page writes the tables of such files,
of which later ones take precedence.
"""
import argparse
import json
import os
import sys
import time

import zoo_forms
import zoo_networks
import zoo_page

LIBRARY = "build/bindings/onnxruntime/libonnxruntime_ep_directml.so"
PEERS = {"cpu": "onnxruntime,openvino", "vulkan": "graph,compiled"}


def chosen(names):
    """Returns the networks whose libraries are there; prints a line for each other one."""
    unknown = [name for name in names if name not in zoo_networks.NETWORKS]
    if unknown:
        raise SystemExit(f"zoo: unknown network {unknown[0]}; zoo.py list prints all")
    found = []
    for name in names or zoo_networks.NETWORKS:
        missing = zoo_networks.missing(name)
        if missing:
            print(f"{name} is left out: {' and '.join(missing)} cannot be imported", flush=True)
        else:
            found.append(name)
    return found


def make(args):
    import zoo_export
    os.makedirs(args.folder, exist_ok=True)
    types, forms = ([t for t in args.type if (t in zoo_forms.FORMS) == is_form] for is_form in (False, True))
    begin, failed = time.perf_counter(), []
    names = chosen(args.names)[::-1] if types else args.names  # the largest are last
    if types:
        failed = zoo_export.make_all(os.path.abspath(args.folder), names, types, args.batch, args.jobs, args.limit)
    if forms:
        failed += zoo_forms.make_all(os.path.abspath(args.folder), names, forms)
    print(f"{len(names) - len(failed)} networks made, {len(failed)} failed, {time.perf_counter() - begin:.0f} s")
    return bool(failed)


def run(args):
    import zoo_run
    args.peers = [p for p in (PEERS[args.adapter] if args.peers is None else args.peers).split(",") if p]
    args.type = args.type[:1] if args.type else ["float32" if args.adapter == "cpu" else "float16"]
    args.clock = args.clock or "cpu"
    data = dict(conditions=zoo_run.conditions(args), results=[])

    def keep(result):
        data["results"].append(result)
        print(zoo_page.line(data["conditions"], result), flush=True)
        if args.json:
            with open(args.json, "w", encoding="utf-8") as file:
                json.dump(data, file, indent=1)

    zoo_run.run_all(args, keep)
    print("\n" + "\n".join(zoo_page.lines(data)))
    if args.document:
        zoo_page.write(args.document, [data])
    return any("error" in r for r in data["results"])


def page(args):
    found = []
    for path in args.names:
        with open(path, encoding="utf-8") as file:
            found.append(json.load(file))
    zoo_page.write(args.folder, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("list", "make", "run", "page"))
    parser.add_argument("folder", nargs="?")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--loading", type=int, default=0)
    parser.add_argument("--type", default=None, type=lambda text: text.split(","))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--adapter", choices=PEERS, default="cpu")
    parser.add_argument("--device", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("cpu", "wall"))
    parser.add_argument("--peers")
    parser.add_argument("--anydml", default="build/tools/anydml")
    parser.add_argument("--provider", default=LIBRARY)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--above", type=float, default=0.95)
    parser.add_argument("--json")
    parser.add_argument("--document")
    args = parser.parse_intermixed_args()
    if args.command == "list":
        print("\n".join(zoo_networks.NETWORKS))
        return 0
    if not args.folder:
        parser.error("a folder is required")
    if args.type and not set(args.type) <= {"float32", "float16", *zoo_forms.FORMS}:
        parser.error(f"--type must be of float32, float16, {', '.join(zoo_forms.FORMS)}, with commas between")
    if args.command == "make":
        args.type = args.type or ["float32"]
    return {"make": make, "run": run, "page": page}[args.command](args) or 0


if __name__ == "__main__":
    sys.exit(main())
