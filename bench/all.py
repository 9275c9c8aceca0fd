#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares networks on the CPU in AnyDML, ONNX Runtime, OpenVINO, PyTorch and torch.compile, in one run on one machine.

usage: all.py [--anydml build/tools/anydml] [--python LIST] [--peers onnxruntime,openvino,torch,torch_compile]
              [--threads 1,2,default] [--rounds 5] [--seconds 1] [--fp16-compute] [--json FILE]
              [--document docs/performance/cpu.md] [--plot FILE.svg] MODEL.onnx...
       all.py --scaling [--clients 16] [--queues build/bench/queues] [the same options] MODEL.onnx...
       all.py --from FILE.json [--document docs/performance/cpu.md] [--plot FILE.svg]

All runtimes use the same CPUs, float32 (with --fp16-compute AnyDML uses half precision), batch 1 and random inputs. They
alternate round by round; while one runs, the others are stopped. A figure is the median over the rounds of each round's
median latency. Peers are imported by the Python programs of LIST, separated by ':' (default: ANYDML_PYTHON,
.cache/peers/venv, python3); peers that no Python can import are omitted. The results of the runtimes are compared with each
other, and the load by other processes is measured and reported. If `default` is given as a number of threads, each runtime
uses its default settings on all CPUs; with several numbers, a plot shows the latencies by threads. Prints Markdown; --json
writes all figures, --document inserts tables and plots into a document between its two `<!-- bench/all.py -->` marks, --plot
writes only the plot of scaling. scripts/prepare-peers installs the peers.

--scaling measures 1, 2, 4 ... threads, up to the number of CPUs, and the defaults; medians with the 99th percentile; the
defaults while a busy loop runs on every CPU; and the given number of concurrent clients of one device, each with its default
settings and with one thread (all_scaling.py).

A model requires about (peers + 1) x rounds x (seconds + 0.5) seconds per thread count, and the loading time of its peers.
"""
import argparse
import datetime
import json
import math
import os
import re
import resource
import select
import signal
import statistics
import subprocess
import sys
import time

# ---- code for the peers' processes: loads the network, then runs it for the number of seconds in each line of stdin ----

COMMON = r"""
import json, os, resource, sys, threading, time
import numpy as np
path, threads = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(1)
begin = time.perf_counter()

def feed(shape, kind):
    shape = [d if isinstance(d, int) and d > 0 else 1 for d in shape]
    kind = np.dtype(kind)
    return random.random(shape).astype(kind) if kind.kind == "f" else np.zeros(shape, kind)

def say(**values):
    print("\n" + json.dumps(values), flush=True)

def clients(make, count, seconds): # concurrent threads
    runs, gate = [0] * count, threading.Barrier(count + 1)
    def client(index):
        run = make()
        run()
        gate.wait()
        while time.perf_counter() < end:
            run()
            runs[index] += 1
    threads = [threading.Thread(target=client, args=(i,)) for i in range(count)]
    end = time.perf_counter() + 1e9
    for thread in threads:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    end = start + seconds
    for thread in threads:
        thread.join()
    say(runs_per_second=sum(runs) / (time.perf_counter() - start))

# make() gives what runs the network once; each client has its own.
def serve(make, version):
    run = make()
    first = np.asarray(run(), np.float64)
    say(version=version, load_ms=(time.perf_counter() - begin) * 1e3, mean=float(first.mean()), size=first.size,
        spread=float(first.std()))
    for line in sys.stdin:
        seconds, count = map(float, line.split())
        if count:
            clients(make, int(count), seconds)
            continue
        times = []
        end = time.perf_counter() + seconds / 10
        run()
        while time.perf_counter() < end:
            run()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        times.sort()
        say(median_ms=times[len(times) // 2] * 1e3, p99_ms=float(np.percentile(times, 99)) * 1e3, min_ms=times[0] * 1e3,
            runs=len(times), peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

ONNXRUNTIME = COMMON + r"""
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = threads # 0: its default
options.inter_op_num_threads = 1
options.log_severity_level = 3
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
kinds = {"float": "f4", "float16": "f2", "double": "f8", "bool": "?"}
feeds = {}
for i in session.get_inputs():
    kind = i.type[7:-1]
    feeds[i.name] = feed(i.shape, kinds.get(kind, kind))
serve(lambda: lambda: session.run(None, feeds)[0], ort.__version__)
"""

# On CPUs with bfloat16, OpenVINO would use it for float32 by default.
OPENVINO = COMMON + r"""
import openvino
core = openvino.Core()
model = core.read_model(path)
if model.is_dynamic():
    model.reshape({i.any_name: [d.get_length() if d.is_static else 1 for d in i.partial_shape] for i in model.inputs})
compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
    "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
def make():
    request = compiled.create_infer_request()
    for index, i in enumerate(compiled.inputs):
        request.set_input_tensor(index, openvino.Tensor(feed(list(i.shape), i.element_type.to_dtype())))
    def run():
        request.infer()
        return request.get_output_tensor(0).data
    return run
serve(make, openvino.__version__.split("-")[0])
"""

TORCH = COMMON + r"""
import onnx, torch
from onnx2torch import convert
from onnx2torch.node_converters.reshape import OnnxReshape
if threads:
    torch.set_num_threads(threads)
# The converter computes shapes from tensors at each run, which costs time and which Dynamo does not follow.
def reshape(self, x, shape):
    if not hasattr(self, "sizes"):
        self.sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(shape.tolist())]
    return torch.reshape(x, self.sizes)
OnnxReshape.forward = reshape
graph = onnx.load(path)
inner = {i.name for i in graph.graph.initializer}
feeds = []
for i in graph.graph.input:
    if i.name not in inner:
        kind = onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
        feeds.append(torch.from_numpy(feed([d.dim_value for d in i.type.tensor_type.shape.dim], kind)))
model = convert(graph).eval()
if COMPILE:
    model(*feeds) # the converter's reshapes have learnt their sizes
    model = torch.compile(model)
def run():
    with torch.inference_mode():
        out = model(*feeds)
    return (out[0] if isinstance(out, (list, tuple)) else out).numpy()
serve(lambda: run, torch.__version__)
"""

PEERS = {
    "onnxruntime": ("ONNX Runtime", ("numpy", "onnxruntime"), ONNXRUNTIME),
    "openvino": ("OpenVINO", ("numpy", "openvino"), OPENVINO),
    "torch": ("PyTorch", ("numpy", "torch", "onnx", "onnx2torch"), "COMPILE = False\n" + TORCH),
    "torch_compile": ("torch.compile", ("numpy", "torch", "onnx", "onnx2torch"), "COMPILE = True\n" + TORCH),
}
NAMES = {"anydml": "AnyDML", **{key: peer[0] for key, peer in PEERS.items()}}
LOAD_LIMIT = 900  # seconds; torch.compile calls a compiler
NOISY = 0.1       # CPUs used by other processes beyond which a figure is marked


class Failed(Exception):
    """An error with a one-line message and an exit code."""

    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


def warn(text):
    print("anydml bench: " + " ".join(text.split())[:400], file=sys.stderr, flush=True)


# ---- other load on the machine ----

def busy_seconds():
    """Returns the CPU time of the whole machine that was not idle."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(f) for f in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def process_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_seconds(pids):
    total = sum(process_seconds(pid) for pid in pids)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


class Watch:
    """Measures the number of CPUs that other processes used since it was created, including steal time."""

    def __init__(self, pids):
        self.pids, self.start = pids, time.perf_counter()
        self.others = busy_seconds() - own_seconds(pids)

    def result(self):
        spent = max(time.perf_counter() - self.start, 1e-3)
        return max(0.0, (busy_seconds() - own_seconds(self.pids) - self.others) / spent)


# ---- the processes ----

def environment(threads):
    numbers = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)} if threads else {}
    return dict(os.environ, **numbers, ANYDML_ADAPTERS="cpu", OMP_PROC_BIND="false", ANYDML_TELEMETRY="0", PYTHONDONTWRITEBYTECODE="1")


class Peer:
    """The process of a peer with its network, which is stopped except for its turns."""

    def __init__(self, key, python, model, threads, processors):
        self.key, self.threads = key, threads
        self.process = subprocess.Popen(
            [python, "-c", PEERS[key][2], model, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment(threads),
            preexec_fn=lambda: os.sched_setaffinity(0, processors))
        self.rest = b""
        try:
            self.about = self.answer(LOAD_LIMIT)
        except BaseException:  # including the user's Ctrl-C
            self.end()
            raise
        self.process.send_signal(signal.SIGSTOP)

    def answer(self, limit):
        end = time.monotonic() + limit
        output = self.process.stdout.fileno()
        while True:
            *lines, self.rest = self.rest.split(b"\n")
            for line in lines:
                if line.startswith(b"{"):
                    return json.loads(line)
            if not select.select([output], [], [], max(0, end - time.monotonic()))[0]:
                raise Failed(f"no answer within {limit} s")
            data = os.read(output, 65536)
            if not data:
                lines = self.process.stderr.read().decode(errors="replace").strip().splitlines() or ["it ended"]
                raise Failed(next((line for line in reversed(lines) if "Error: " in line), lines[-1]))
            self.rest += data

    def turn(self, seconds, clients=0):
        """Runs the network for some seconds; returns latencies, or with clients their runs per second."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{seconds} {clients}\n".encode())
        self.process.stdin.flush()
        result = self.answer(60 + 20 * seconds)
        self.process.send_signal(signal.SIGSTOP)
        return result

    def end(self):
        self.process.kill()
        self.process.communicate()


def run_anydml(args, model, threads, processors, seconds):
    command = [args.anydml, "bench", model, "--seconds", str(seconds), "--json"]
    command += ["--threads", str(threads)] if threads else []
    result = subprocess.run(command + ["--fp16-compute"] * args.fp16_compute,
                            capture_output=True, text=True, env=environment(threads), check=False,
                            preexec_fn=lambda: os.sched_setaffinity(0, processors))
    if result.returncode:
        raise Failed(result.stderr.strip() or f"anydml bench ended with {result.returncode}",
                     2 if result.returncode == 2 else 1)
    values = json.loads(result.stdout)
    return {"median_ms": values["median_ms"], "p99_ms": values["p99_ms"], "min_ms": values["min_ms"], "runs": values["runs"],
            "load_ms": values["compile_ms"] + values["initialize_ms"], "peak_mib": values["peak_rss_bytes"] / 2**20}


def find_peers(args):
    """Finds the Python program for each peer; prints a line for each peer that none can import."""
    wanted = sorted({module for key in args.peers for module in PEERS[key][1]})
    program = "import importlib.util, sys; print(' '.join(m for m in sys.argv[1:] if importlib.util.find_spec(m)))"
    have = {}
    for python in args.python:
        try:
            result = subprocess.run([python, "-c", program, *wanted], capture_output=True, text=True, check=True)
            have[python] = set(result.stdout.split())
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failed(f"--python {python}: {getattr(error, 'strerror', None) or 'it does not run programs'}", 2) from None
    found = {}
    for key in args.peers:
        python = next((p for p in have if have[p].issuperset(PEERS[key][1])), None)
        if python:
            found[key] = python
        else:
            warn(f"{NAMES[key]} is left out: {' and '.join(args.python)} cannot import "
                 + " and ".join(m for m in PEERS[key][1] if not any(m in modules for modules in have.values())))
    return found


def open_peers(found, model, threads, processors):
    peers = []
    for key, python in found.items():
        try:
            peers.append(Peer(key, python, model, threads, processors))
        except Failed as error:
            warn(f"{NAMES[key]} is left out of {name_of(model)}: {error}")
    for peer in peers[1:]:
        a, b = peers[0].about, peer.about
        if abs(a["mean"] - b["mean"]) > 1e-2 * (a["spread"] + abs(a["mean"])) + 1e-6 or a["size"] != b["size"]:
            warn(f"{name_of(model)}: results of {NAMES[peer.key]} differ from those of {NAMES[peers[0].key]} "
                 f"(mean {b['mean']:.6g}, {a['mean']:.6g})")
    return peers


def measure(args, found, model, threads):
    processors = sorted(os.sched_getaffinity(0))[:threads or None]
    peers = open_peers(found, model, threads, processors)
    pids = [peer.process.pid for peer in peers]
    turns = {"anydml": [], **{peer.key: [] for peer in peers}}
    others = {key: [] for key in turns}
    try:
        for number in range(args.rounds):
            runs = [("anydml", lambda: run_anydml(args, model, threads, processors, args.seconds))]
            runs += [(peer.key, lambda peer=peer: peer.turn(args.seconds)) for peer in peers]
            for key, run in runs[number % len(runs):] + runs[:number % len(runs)]:
                watch = Watch(pids)
                turns[key].append(run())
                others[key].append(watch.result())
    finally:
        for peer in peers:
            peer.end()
    abouts = {peer.key: peer.about for peer in peers}
    return [row_of(key, name_of(model), threads, turns[key], abouts.get(key, {}), others[key]) for key in turns]


def row_of(key, model, threads, turns, about, others):
    return {"model": model, "threads": threads, "runtime": key, "version": about.get("version", ""),
            "median_ms": statistics.median(t["median_ms"] for t in turns),
            "p99_ms": statistics.median(t["p99_ms"] for t in turns), "min_ms": min(t["min_ms"] for t in turns),
            "rounds_ms": [t["median_ms"] for t in turns],
            "load_ms": about.get("load_ms") or statistics.median(t["load_ms"] for t in turns),
            "peak_mib": max(t["peak_mib"] for t in turns), "others": statistics.mean(others)}


def name_of(model):
    folder, name = os.path.split(os.path.abspath(model))
    return os.path.basename(folder) if name == "model.onnx" else os.path.splitext(name)[0]


# ---- tables ----

class Results:
    def __init__(self, data):
        self.data, self.rows = data, data["rows"]
        self.threads = list(dict.fromkeys(row["threads"] for row in self.rows))
        self.models = list(dict.fromkeys(row["model"] for row in self.rows))
        self.runtimes = [key for key in NAMES if any(row["runtime"] == key for row in self.rows)]
        self.index = {(row["model"], row["threads"], row["runtime"]): row for row in self.rows}

    def get(self, model, threads, runtime, field="median_ms"):
        row = self.index.get((model, threads, runtime))
        return row[field] if row else None

    def ratio(self, model, threads, runtime, to):
        """The latency of one runtime divided by that of another."""
        a, b = self.get(model, threads, runtime), self.get(model, threads, to)
        return a / b if a and b else None

    def geomean(self, threads, runtime, to):
        ratios = [r for r in (self.ratio(m, threads, runtime, to) for m in self.models) if r]
        return math.exp(statistics.mean(math.log(r) for r in ratios)) if ratios else None


def digits(value):
    return "-" if value is None else f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def two(value):
    return "-" if value is None else f"{value:.2f}"


def threads_text(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}" if threads else "default threads"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def latency_table(results, threads):
    peers = [key for key in results.runtimes if key != "anydml"]
    rows = []
    for model in results.models:
        cells = [digits(results.get(model, threads, "anydml"))]
        for key in peers:
            cells += [digits(results.get(model, threads, key)), two(results.ratio(model, threads, "anydml", key))]
        noisy = any((results.get(model, threads, key, "others") or 0) > NOISY for key in results.runtimes)
        rows.append([model + (" *" if noisy else ""), *cells])
    means = [cell for key in peers for cell in ("", two(results.geomean(threads, "anydml", key)))]
    if peers:
        rows.append(["geometric mean", "", *means])
    header = [threads_text(threads), "AnyDML ms"]
    for key in peers:
        header += [NAMES[key] + " ms", "ratio"]
    return table(header, rows)


def cost_table(results, threads):
    rows = [[model] + [cell for key in results.runtimes for cell in
                       (digits(results.get(model, threads, key, "load_ms")), digits(results.get(model, threads, key, "peak_mib")))]
            for model in results.models]
    header = ["model"]
    for key in results.runtimes:
        header += [NAMES[key] + " load ms", "peak MiB"]
    return table(header, rows)


def conditions(data):
    worst = max((row["others"] for row in data["rows"]), default=0)
    versions = "".join(f"; {NAMES[key]} {version}" for key, version in data["versions"].items())
    quiet = (f"The machine was idle: other processes used at most {worst:.2f} CPUs during any measurement." if worst <= NOISY else
             f"The machine was loaded: other processes used up to {worst:.2f} CPUs; figures in rows with * are unreliable.")
    return (f"{data['date']}, {data['processors']} CPUs, {data['machine']}{versions}. float32, batch 1, pinned, "
            f"alternating in {data['rounds']} rounds of {data['seconds']:g} s; medians. A ratio below 1 means that AnyDML is faster. "
            f"{quiet} Load before and after: {data['load_before']:.2f}, {data['load_after']:.2f}.")


# ---- output ----

def machine():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        match = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.M)
    return match.group(1).strip() if match else os.uname().machine


def measure_all(args):
    found = find_peers(args)
    data = {"date": datetime.date.today().isoformat(), "machine": machine(), "processors": os.cpu_count(),
            "rounds": args.rounds, "seconds": args.seconds, "load_before": os.getloadavg()[0], "versions": {}, "rows": []}
    for model in args.models:
        for threads in args.threads:
            rows = measure(args, found, model, threads)
            data["rows"] += rows
            data["versions"].update({row["runtime"]: row["version"] for row in rows if row["version"]})
            if not args.quiet:
                print(f"{rows[0]['model']}, {threads_text(threads)}: "
                      + ", ".join(f"{NAMES[r['runtime']]} {digits(r['median_ms'])}" for r in rows)
                      + f" ms; others {max(r['others'] for r in rows):.2f}", file=sys.stderr, flush=True)
    if args.scaling:
        from all_scaling import measure_more
        measure_more(args, found, data)
    data["load_after"] = os.getloadavg()[0]
    return data


def parse():
    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise Failed(message, 2)

    venv = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "..", ".cache", "peers", "venv", "bin", "python")
    pythons = os.environ.get("ANYDML_PYTHON") or (venv + ":" if os.path.exists(venv) else "") + "python3"
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--anydml", default="build/tools/anydml")
    parser.add_argument("--python", default=pythons)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--threads", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--fp16-compute", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--document")
    parser.add_argument("--plot")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--queues", default="build/bench/queues")
    parser.add_argument("--quiet", action="store_true")
    args = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    args.python = list(dict.fromkeys(p for p in args.python.split(":") if p))
    args.peers = [p for p in args.peers.split(",") if p]
    unknown = [p for p in args.peers if p not in PEERS]
    if unknown:
        raise Failed(f"unknown peer {unknown[0]}; must be one of {', '.join(PEERS)}", 2)
    try:
        args.threads = [0 if t == "default" else int(t) or -1 for t in args.threads.split(",") if t]
    except ValueError:
        raise Failed(f"--threads must be a list of numbers like 1,2, not '{args.threads}'", 2) from None
    usual = [1 << i for i in range(cpus.bit_length())] + [0] if args.scaling else [t for t in (1, 2) if t <= cpus]
    args.threads = args.threads or usual
    if not all(0 <= t <= cpus for t in args.threads) or args.rounds < 1 or args.seconds < 0:
        raise Failed(f"--threads must be from 1 to {cpus}, one CPU each, or default; --rounds at least 1; --seconds at least 0", 2)
    if bool(args.models) == bool(args.source):
        raise Failed("models, or --from with a file, are required", 2)
    if not 1 <= args.clients <= 64:
        raise Failed("--clients must be from 1 to 64", 2)
    return args


def main():
    args = parse()
    if args.source:
        with open(args.source, encoding="utf-8") as file:
            data = json.load(file)
    else:
        data = measure_all(args)
    results = Results(data)
    if args.json and args.json != "-":
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
    if args.json == "-":
        print(json.dumps(data))
    else:
        print(conditions(data))
        if "clients" in data:
            from all_scaling import more_tables
            print("\n" + "\n".join(more_tables(results)))
        else:
            for threads in results.threads:
                print("\n" + "\n".join(latency_table(results, threads)))
    if args.document or args.plot:
        from all_page import write_document, write_plot
        if args.document:
            write_document(results, args.document)
        if args.plot:
            write_plot(results, args.plot)


if __name__ == "__main__":
    sys.modules["all"] = sys.modules["__main__"]  # for all_page and all_scaling
    try:
        main()
    except Failed as failure:
        text = " ".join(str(failure).split())
        print(text if text.startswith("anydml") else "anydml bench: " + text, file=sys.stderr)
        sys.exit(failure.code)
    except (OSError, ValueError, KeyError) as failure:
        print(f"anydml bench: {failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("anydml bench: interrupted", file=sys.stderr)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that the waiting process sees what ended it
        os.kill(os.getpid(), signal.SIGINT)
