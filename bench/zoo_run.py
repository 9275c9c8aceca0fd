# SPDX-License-Identifier: Apache-2.0
"""Runs the networks of bench/zoo.py: the processes that measure one network each, and AnyDML's command."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import all as networks_on_cpus
import gpu
import gpu_peers
import numpy as np
import turns
import zoo_cpu
import zoo_export
import zoo_networks

TRACES = 5  # of whose steps the shortest count; of long runs 2


class Failed(Exception):
    pass


def short(text):
    return " ".join(text.split())[-500:]


def output_of(command, end, env=None, before=None):
    """Returns stdout; raises Failed with the end of stderr."""
    try:
        left = end - time.monotonic()
        if left <= 0:
            raise Failed("the time limit")
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=left)
    except subprocess.TimeoutExpired:
        raise Failed(f"the time limit, in {before or os.path.basename(command[0])}") from None
    if result.returncode:
        lines = [line for line in result.stderr.strip().splitlines() if line.strip()]
        raise Failed(f"exit code {result.returncode}: {short(' '.join(lines[-2:]))}")
    return result.stdout


def conditions(args):
    found = dict(date=time.strftime("%Y-%m-%d"), adapter=args.adapter, type=args.type[0], batch=args.batch,
                 seconds=args.seconds, peers=args.peers, versions={}, steps=args.steps)
    if args.adapter == "cpu":
        import importlib.metadata
        found |= dict(machine=networks_on_cpus.machine(), cpus=os.cpu_count(), threads=args.threads, clock=args.clock)
        found["versions"] = {p: importlib.metadata.version(p) for p in args.peers}
    else:
        found |= dict(device=gpu.device_of(args), versions=gpu_peers.versions())
        args.device = found["device"]["index"]
    return found


# ---- steps ----

def run_once(command, path, arrays, end, env):
    """Runs the model with `anydml run` on its inputs; returns what it prints, its outputs, and its steps: [milliseconds,
    kernel, names of nodes, operator]."""
    import onnx
    inputs, _ = zoo_cpu.load(arrays)
    graph = onnx.load(path, load_external_data=False).graph
    with tempfile.TemporaryDirectory() as folder:
        trace, files = os.path.join(folder, "trace.json"), []
        for i in graph.input:
            file = os.path.join(folder, f"{i.name}.npy")
            kind = onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
            np.save(file, inputs[int(i.name[1:])].astype(kind))
            files += ["--input", f"{i.name}={file}"]
        for o in graph.output:
            files += ["--output", f"{o.name}={folder}/{o.name}.npy"]
        text = output_of([*command, *files, "--trace", trace], end, env)
        found = [np.load(os.path.join(folder, f"{o.name}.npy")) for o in graph.output]
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)
    events = events["traceEvents"] if isinstance(events, dict) else events
    steps = [[e["dur"] / 1e3, e["args"].get("kernel", ""), names_of(e), e["args"].get("op", e["name"])] for e in events
             if e.get("cat") == "step"]
    return text, found, steps


def trace_of(command, path, arrays, count, end, env):
    """Returns the steps of run_once(), the least of several traces."""
    least = []
    for _ in range(count):
        found = run_once(command, path, arrays, end, env)[2]
        least = [min(pair) for pair in zip(least, found)] if len(least) == len(found) else found
    return least


def names_of(event):
    names = event["args"].get("names", event["name"])
    return re.findall(r'"([^"]+)"', names) or [names]


def matched(steps, nodes):
    """Returns [milliseconds, operators] of a peer's nodes for each step, by the names that zoo_export.py gives to nodes, and the
    time of nodes without a step, by operator."""
    by_name, taken, found, rest = {}, set(), [], {}
    for number, (_, name, _, _) in enumerate(nodes):
        for base in re.findall(r"(?<![A-Za-z0-9_])n\d+_[A-Za-z]+", name) or [name]:
            by_name.setdefault(base, []).append(number)
    for _, _, names, _ in steps:
        theirs = sorted({i for n in names for i in by_name.get(n, [])} - taken)
        taken.update(theirs)
        found.append([sum(nodes[i][2] for i in theirs), [nodes[i][0] for i in theirs]])
    for number, (op, _, ms, _) in enumerate(nodes):
        if number not in taken:
            rest[op] = rest.get(op, 0) + ms
    return found, sorted(rest.items(), key=lambda r: -r[1])


def losses(steps, peers, count):
    """Returns the steps that lose the most to the fastest peer, with the time of each peer's nodes of the same names."""
    found = {key: matched(steps, nodes) for key, nodes in peers.items()}
    best = min(peers, key=lambda key: sum(node[2] for node in peers[key]))
    rows = [dict(kernel=kernel, names=names[:4], ms=ms, peers={key: found[key][0][i] for key in peers})
            for i, (ms, kernel, names, _) in enumerate(steps)]
    rows.sort(key=lambda r: r["peers"][best][0] - r["ms"])
    return rows[:count], {key: rest[:count] for key, (_, rest) in found.items()}


def by_kernel(steps, count):
    kernels = {}
    for ms, kernel, _, _ in steps:
        kernels.setdefault(kernel, []).append(ms)
    return sorted(([sum(t), len(t), kernel] for kernel, t in kernels.items()), reverse=True)[:count]


# ---- the CPU ----

def run_cpu(args, name, end):
    path, arrays = zoo_export.file_of(args.folder, name, args.type[0]), os.path.join(args.folder, f"{name}.npz")
    env = dict(networks_on_cpus.environment(args.threads), ANYDML_THREADS=str(args.threads))
    options = dict(model=path, arrays=arrays, library=args.provider, threads=args.threads, clock=args.clock, peers=args.peers,
                   seconds=args.seconds, above=args.above if args.steps else None)
    pin = ["taskset", "-c", turns.pinned(args.threads)]
    watch = networks_on_cpus.Watch([])
    text = output_of([*pin, sys.executable, zoo_cpu.__file__, json.dumps(options)], end, env, "measuring")
    result = json.loads(text.splitlines()[-1])
    result["others"] = watch.result()
    peers = result.pop("peer_steps")
    for _ in range(args.loading):
        for key, program in result["programs"].items():
            text = output_of([*pin, sys.executable, zoo_cpu.__file__, json.dumps(options | dict(alone=key))], end, env, "loading")
            found = json.loads(text.splitlines()[-1])
            kept = program.setdefault("alone", found)
            program["alone"] = {k: min(v, kept[k]) for k, v in found.items()} if "ms" in found and "ms" in kept else kept
    if peers:
        try:
            add_steps(args, result, peers, path, arrays, [*pin, args.anydml], end, env)
        except Failed as failure:  # times are there
            result["steps_error"] = str(failure)
    return result


def add_steps(args, result, peers, path, arrays, anydml, end, env):
    command = [*anydml, "run", path, "--device", "cpu", "--threads", str(args.threads)]
    count = TRACES if result["programs"]["anydml"]["min_ms"] < zoo_cpu.LONG_MS / 4 else 2
    steps = trace_of(command, path, arrays, count, end, env)
    result["steps"], result["rest"] = losses(steps, peers, args.steps)
    result["kernels"] = by_kernel(steps, args.steps)
    result["step_count"], result["step_ms"] = len(steps), sum(s[0] for s in steps)
    result["peer_ms"] = {key: sum(node[2] for node in nodes) for key, nodes in peers.items()}


# ---- a GPU ----

def anydml_gpu(args, path, arrays, end):
    """Two processes: one without cached pipelines that measures, one with them whose results are compared."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, ANYDML_CACHE_DIR=folder, ANYDML_TELEMETRY="0", __GL_SHADER_DISK_CACHE_PATH=folder)
        try:
            text = output_of([args.anydml, "bench", path, "--device", str(args.device), "--seconds",
                              str(args.seconds + gpu_peers.WARM), "--json"], end, env)
            answer = json.loads(text)
            found |= dict(ms=answer.get("device_ms") or answer["median_ms"], run_ms=answer.get("no_copies_ms"),
                          copies_ms=answer["median_ms"], load_ms=answer["compile_ms"] + answer["initialize_ms"])
            found |= compared(args, path, arrays, end, env)
        except Failed as failure:
            found["error"] = str(failure)
    steps = found.pop("steps", [])
    return found, steps


def compared(args, path, arrays, end, env):
    text, found, steps = run_once([args.anydml, "run", path, "--device", str(args.device)], path, arrays, end, env)
    times = re.search(r"compiling ([0-9.]+) ms, initialising ([0-9.]+) ms", text)
    return dict(difference=zoo_cpu.difference(found, zoo_cpu.load(arrays)[1]), steps=steps,
                warm_load_ms=float(times[1]) + float(times[2]) if times else None)


class Wave:
    """The peers of some networks, prepared at the same time."""

    def __init__(self, args, names):
        import multiprocessing

        import zoo_torch
        context = multiprocessing.get_context("spawn")  # the libraries of this process may have used CUDA
        self.workers, self.ready = {}, {}
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, (os.cpu_count() or 1) // args.jobs)))
        for name in names:
            ours, theirs = context.Pipe()
            given = theirs, name, args.type[0], args.batch, "compiled" in args.peers
            process = context.Process(target=zoo_torch.serve, args=given)
            process.start()
            theirs.close()
            self.workers[name] = process, ours
        end = time.monotonic() + args.limit
        for name in names:
            self.ready[name] = self.answer(name, end)

    def answer(self, name, end):
        connection = self.workers[name][1]
        try:
            return connection.recv() if connection.poll(max(0, end - time.monotonic())) else dict(error="the time limit")
        except EOFError:
            return dict(error="its process ended")

    def measure(self, name, seconds, end):
        if self.ready[name] != "ready":
            return self.ready[name]
        self.workers[name][1].send(seconds)
        return self.answer(name, end)

    def stop(self):
        for process, connection in self.workers.values():
            connection.close()
            process.kill()
            process.join()


def run_gpu(args, name, wave, end):
    path, arrays = zoo_export.file_of(args.folder, name, args.type[0]), os.path.join(args.folder, f"{name}.npz")
    programs = {}
    programs["anydml"], steps = anydml_gpu(args, path, arrays, end)
    if wave:
        found = wave.measure(name, args.seconds, end)
        for key in args.peers:
            error = found.get("error") or found.get(f"{key}_error")
            programs[key] = found.get(key) or dict(error=error or "no result")
        if "compiled" in programs and "compile_s" in found:
            programs["compiled"]["load_ms"] = found["compile_s"] * 1e3
    top = sorted(steps, reverse=True)[:args.steps]
    return dict(programs=programs, kernels=by_kernel(steps, args.steps), step_count=len(steps), step_ms=sum(s[0] for s in steps),
                steps=[dict(kernel=kernel, names=names[:3], op=op[:120], ms=ms) for ms, kernel, names, op in top])


# ---- all networks ----

def made(args, keep):
    """Returns the networks of the folder; those that were asked for and are not there have an error."""
    kind = args.type[0]
    names = args.names or [n for n in zoo_networks.NETWORKS if os.path.exists(zoo_export.file_of(args.folder, n, kind))]
    for name in names:
        if not os.path.exists(zoo_export.file_of(args.folder, name, kind)):
            keep(dict(name=name, error="not made"))
    return [n for n in names if os.path.exists(zoo_export.file_of(args.folder, n, kind))]


def guarded(run, args, name, *more):
    begin = time.monotonic()
    try:
        result = run(args, name, *more, begin + args.limit)
    except Exception as failure:  # of one network
        result = dict(error=short(f"{'' if isinstance(failure, Failed) else type(failure).__name__ + ': '}{failure}"))
    size = sum(os.path.getsize(f) for f in glob.glob(zoo_export.file_of(args.folder, name, args.type[0]) + "*"))
    return dict(name=name, file_bytes=size, spent_s=time.monotonic() - begin, **result)


def has_cuda():
    """In another process, which ends with what CUDA holds."""
    program = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode == 0


def run_all(args, keep):
    names = made(args, keep)
    if args.adapter == "cpu":
        for name in names:
            keep(guarded(run_cpu, args, name))
        return
    peers = args.peers and has_cuda()
    if peers:
        zoo_export.import_libraries(names)
    for start in range(0, len(names), args.jobs if peers else len(names) or 1):
        some = names[start:start + args.jobs] if peers else names
        wave = Wave(args, some) if peers else None
        for name in some:
            keep(guarded(run_gpu, args, name, wave))
        if wave:
            wave.stop()
