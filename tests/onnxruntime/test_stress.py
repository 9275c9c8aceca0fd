# SPDX-License-Identifier: Apache-2.0
"""The execution provider under load: threads, many shapes, many sessions, corrupt models, wrong inputs, control flow.

    test_stress.py LIBRARY [--match REGEX] [--full] [--seed N]

Each part runs in a process of its own. --full: as often as a release wants it (minutes).
"""
import argparse
import gc
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

import stress_models as models
from provider import Log, cpu_session, devices, feeds_of, np, onnx, ort, relative_error, session

TOLERANCE = 1e-4
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


def close(got, want, limit=TOLERANCE):
    return len(got) == len(want) and all(relative_error(g, w) <= limit if g.dtype != bool else np.array_equal(g, w)
                                         for g, w in zip(got, want))


def resident():
    """Bytes of memory in use."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def handles():
    """(open files, threads)"""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def events(path, name):
    with open(path, encoding="utf-8") as file:
        return sum(event.get("name") == name for event in json.load(file))


def fail(text):
    print("FAILED:", text, flush=True)
    return False


# ---- threads ----

def hammer(sess, work, runs, wrong):
    """One thread: its feeds in turn, each output against what it must be."""
    for i in range(runs):
        feeds, want = work[i % len(work)]
        try:
            good = close(sess.run(None, feeds), want)
        except Exception as error:  # pylint: disable=broad-except
            wrong.append(str(error)[:200])
            return
        if not good:
            wrong.append(f"run {i} differs")
            return


def part_threads(args):
    runs, good = 1000 if args.full else 300, True
    path = models.SHARED / "models" / "mnist" / "model.onnx"
    cases = {"fixed": models.small_net((1, 3, 20, 20)), "free": models.small_net(), "attention": models.transformer_layer()}
    if path.exists():
        cases["mnist"] = path.read_bytes()
    for name, model in cases.items():
        ours, cpu, wrong = session(args.library, model, fallback=False), cpu_session(model), []
        rng, threads, begin = np.random.default_rng(args.seed), [], time.time()
        for k in range(8):
            # Sizes that other threads have too, and sizes of its own.
            feeds = [feeds_of(ours, rng, free) for free in (6, 9, 12 + k)]
            work = [(f, cpu.run(None, f)) for f in feeds]
            threads.append(threading.Thread(target=hammer, args=(ours, work, runs, wrong)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{name}: 8 threads x {runs} runs in {time.time() - begin:.1f} s, {len(wrong)} wrong", flush=True)
        good = good and (not wrong or fail(wrong[0]))
    return good


def part_churn(args):
    """Sessions come and go while others run."""
    stop, wrong, made = threading.Event(), [], [0, 0]
    kinds = [models.small_net(), models.transformer_layer(), models.tiny()]
    lasting, rng = session(args.library, kinds[0], fallback=False), np.random.default_rng(args.seed)
    feeds = feeds_of(lasting, rng, 8)
    want = cpu_session(kinds[0]).run(None, feeds)
    feeds = [(model, feeds_of(cpu_session(model), rng, 7)) for model in kinds]
    work = [(model, f, cpu_session(model).run(None, f)) for model, f in feeds]

    def runner():
        while not stop.is_set() and not wrong:
            if not close(lasting.run(None, {"x": feeds_of_lasting}), want):
                wrong.append("the lasting session differs")
            made[0] += 1

    def maker(k):
        i = k
        while not stop.is_set() and not wrong:
            model, inputs, outputs = work[i % len(work)]
            if not close(session(args.library, model, fallback=False).run(None, inputs), outputs):
                wrong.append("a new session differs")
            made[1] += 1
            i += 1

    feeds_of_lasting = feeds_of(lasting, np.random.default_rng(1), 8)["x"]
    want = cpu_session(kinds[0]).run(None, {"x": feeds_of_lasting})
    threads = [threading.Thread(target=runner) for _ in range(3)]
    threads += [threading.Thread(target=maker, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(30 if args.full else 5)
    stop.set()
    for thread in threads:
        thread.join()
    print(f"{made[0]} runs while {made[1]} sessions came and went, {len(wrong)} wrong")
    return not wrong or fail(wrong[0])


# ---- shapes ----

def part_shapes(args):
    """200 shapes in a row, twice through the last ones: a seen shape is not compiled again, an old one is."""
    kept, rng, good = 16, np.random.default_rng(args.seed), True
    model = models.small_net(channels=16)
    cpu = cpu_session(model)
    with tempfile.TemporaryDirectory() as folder:
        ours = session(args.library, model, False, {"shape_cache": str(kept)}, profile=pathlib.Path(folder) / "shapes")
        shapes = [(1 + i % 3, 3, 8 + i % 50, 8 + i // 5) for i in range(200)]
        order = shapes + shapes[-kept:] + shapes[-kept:] + shapes[:1]
        compiled, memory = len(set(shapes)) + 1, []
        for i, shape in enumerate(order):
            feeds = {"x": rng.standard_normal(shape, np.float32)}
            good = good and (close(ours.run(None, feeds), cpu.run(None, feeds)) or fail(f"shape {shape}"))
            if i in (99, 199):
                memory.append(resident())
        path = ours.end_profiling()
        count, runs = events(path, "dml_compile"), events(path, "dml_run")
    grown = (memory[1] - memory[0]) >> 20
    print(f"{len(order)} runs of {compiled - 1} shapes: {count} compilations, {runs} runs, {grown} MiB more after the second 100")
    if count != compiled or runs != len(order):
        good = fail(f"{compiled} compilations and {len(order)} runs are right")
    if grown > 24 and not SANITIZED:
        good = fail("memory grows with the shapes")
    return part_values(args) and good


def part_values(args):
    """The same for programs that depend on values."""
    with tempfile.TemporaryDirectory() as folder:
        ours = session(args.library, models.reshaper(), False, profile=pathlib.Path(folder) / "values")
        x, good = np.arange(-12, 12, dtype=np.float32), True
        shapes = [(2, 12), (3, 8), (4, 6), (24, 1), (-1, 2), (3, 8), (2, 12), (4, -1), (4, 6)]
        for shape in shapes:
            y = ours.run(None, {"x": x, "shape": np.array(shape, np.int64)})[0]
            good = good and (np.array_equal(y, np.maximum(x, 0).reshape(shape)) or fail(f"reshape to {shape}"))
        count = events(ours.end_profiling(), "dml_compile")
    print(f"{len(shapes)} runs of {len(set(shapes))} wanted shapes: {count} compilations")
    return good and (count == len(set(shapes)) or fail("each value is compiled once"))


def part_first_run(args):
    """How long the first run of a new shape takes, next to a run of a known one (printed, not judged)."""
    path = models.SHARED / "models" / "mobilenet_v2_features" / "model.onnx"
    if not path.exists():
        print("skipped: there is no", path)
        return True
    model = onnx.load(path)
    for value in list(model.graph.input) + list(model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    del model.graph.value_info[:]
    for tensor in model.graph.initializer:
        if any(n.op_type == "Reshape" and n.input[1] == tensor.name for n in model.graph.node):
            shape = onnx.numpy_helper.to_array(tensor).copy()
            shape[0] = 0
            tensor.CopyFrom(onnx.numpy_helper.from_array(shape, tensor.name))
    ours = session(args.library, model.SerializeToString(), False)
    x = np.load(path.parent / "input.npy")
    for batch in (1, 2, 3):
        feeds, times = {ours.get_inputs()[0].name: np.repeat(x, batch, 0)}, []
        for _ in range(8):
            begin = time.perf_counter()
            ours.run(None, feeds)
            times.append((time.perf_counter() - begin) * 1e3)
        print(f"MobileNetV2, batch {batch}: first run {times[0]:.1f} ms, then {min(times[1:]):.1f} ms: "
              f"{times[0] - min(times[1:]):.1f} ms for the new shape")
    return True


# ---- sessions ----

def part_sessions(args):
    """Sessions made, run and destroyed: nothing stays behind. The allocator takes memory in steps, so that a single stretch of
    sessions may grow; what leaks grows in each."""
    stretches, count, model, x = 4, 2500 if args.full else 100, models.tiny(), np.ones((1, 16), np.float32)
    want, grown = x * x + np.arange(16, dtype=np.float32), []
    for stretch in range(stretches + 1):  # the first one warms up
        begin, memory, held = time.time(), resident(), handles()
        for i in range(count):
            if not np.array_equal(session(args.library, model, False).run(None, {"x": x})[0], want):
                return fail(f"session {i} computes something else")
        if stretch:
            grown.append(resident() - memory)
            if handles() != held:
                return fail("files or threads are left open")
    print(f"{stretches} x {count} sessions, {(time.time() - begin) / count * 1e3:.2f} ms each: "
          f"{', '.join(str(g >> 10) for g in grown)} KiB more memory; files and threads: {held}")
    return SANITIZED or min(grown) < (64 << 10) + count * 128 or fail("memory grows")


# ---- bad models and inputs ----

def originals():
    found = {"tiny": models.tiny(), "net": models.small_net(), "fixed": models.small_net((1, 3, 9, 9)),
             "attention": models.transformer_layer(), "reshape": models.reshaper()}
    found.update({name: make() for name, make in models.CONTROL.items()})
    path = models.SHARED / "models" / "mnist" / "model.onnx"
    if path.exists():
        found["mnist"] = path.read_bytes()
    return found


def corrupted(model, rng):
    data = bytearray(model)
    if rng.integers(4) == 0:
        del data[int(rng.integers(len(data))):]
    for _ in range(int(rng.integers(1, 6))):
        if data:
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
    return bytes(data)


def feeds_for(name):
    if name in models.CONTROL:
        return models.control_feeds(name)[0]
    return feeds_of(cpu_session(originals()[name]), np.random.default_rng(0), 6)


def try_corrupted(library, name, seed):
    """In a child: what happens is an exception or a result. library "-": the CPU provider alone."""
    limit = 16 << 30
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if library != "-":
        devices(library)  # what fails here is no matter of the model
    model = corrupted(originals()[name], np.random.default_rng(seed))
    try:
        sess = cpu_session(model) if library == "-" else session(library, model)
        sess.run(None, feeds_for(name))
    except Exception:  # pylint: disable=broad-except
        return "refused"
    return "ran"


def corrupt_child(args):
    """Seeds from `first` on; prints each before it is tried, so that the parent knows who crashed."""
    names, counts = sorted(originals()), {"ran": 0, "refused": 0}
    for seed in range(args.first, args.first + args.count):
        print("seed", seed, flush=True)
        with Log():
            counts[try_corrupted(args.library, names[seed % len(names)], seed)] += 1
    print("done", counts["ran"], counts["refused"], flush=True)
    return True


def run_child(args, library, first, count):
    command = [sys.executable, __file__, library, "--part", "corrupt_child", "--first", str(first), "--count", str(count)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900, check=False)
    except subprocess.TimeoutExpired as late:
        return "time", (late.stdout or b"").decode(), ""
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")


def part_corrupt(args):
    total, at, good, ran, refused, host = 4000 if args.full else 400, args.seed, True, 0, 0, 0
    end = at + total
    while at < end and good:
        code, out, err = run_child(args, args.library, at, min(200, end - at))
        done = re.search(r"done (\d+) (\d+)", out)
        if done:
            ran, refused, at = ran + int(done[1]), refused + int(done[2]), at + 200
            continue
        seed = int((re.findall(r"seed (\d+)", out) or [at])[-1])
        if run_child(args, "-", seed, 1)[0] != 0:
            host += 1  # the host crashes without the provider, too
        else:
            good = fail(f"the process ends with {code} for corrupt model {seed}\n{err[-3000:]}")
        at = seed + 1
    print(f"{total} corrupt models: {refused} refused, {ran} ran, {host} that the host does not survive by itself")
    return good and (ran > 0 and refused > 0 or fail("some must run and some must not"))


def part_inputs(args):
    """Wrong types, shapes and values give an exception, and the session goes on."""
    good, x = True, np.zeros((1, 3, 8, 8), np.float32)
    wrong = [x.astype(np.float64), x.astype(np.int32), x[0], x[None], x[:, :2], np.zeros((1, 4, 8, 8), np.float32),
             np.float32(1), np.zeros((0,), np.float32), np.array("text"), [x]]
    for dims in ((1, 3, 8, 8), ("n", 3, "h", "w"), (None, None, None, None), ("n", "c", "h", "w")):
        ours = session(args.library, models.small_net(dims), fallback=False)
        for k, value in enumerate(wrong):
            try:
                ours.run(None, {"x": value})
                good = fail(f"dims {dims}: wrong input {k} is taken")
            except Exception:  # pylint: disable=broad-except
                pass
        if not np.isfinite(ours.run(None, {"x": x})[0]).all():
            good = fail("the session does not go on")
    ours, line = session(args.library, models.reshaper(), fallback=False), np.zeros(24, np.float32)
    for shape in ([5, 5], [-1, -1], [-2, 12], [1 << 62, 4], [-1, 0], [0, 0], [1 << 32, 1 << 32], [-(1 << 63), 1]):
        try:
            ours.run(None, {"x": line, "shape": np.array(shape, np.int64)})
            good = fail(f"reshaping 24 elements to {shape} works")
        except Exception:  # pylint: disable=broad-except
            pass
    try:
        ours.run(None, {"x": line[:0], "shape": np.array([1 << 32, 1 << 32])})
        good = fail("no elements become 2^64")
    except Exception:  # pylint: disable=broad-except
        pass
    good = good and ours.run(None, {"x": line, "shape": np.array([4, 6])})[0].shape == (4, 6)
    print("wrong inputs are refused" if good else "wrong inputs are taken")
    return good


def part_empty(args):
    """Tensors without elements: what is made of nothing."""
    neutral = {"ReduceSum": 0, "ReduceSumSquare": 0, "ReduceL1": 0, "ReduceL2": 0, "ReduceProd": 1,
               "ReduceMax": -np.inf, "ReduceMin": np.inf, "ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf,
               "ReduceMean": np.nan}
    good, x = True, np.ones((2, 3), np.float32)
    for op, value in neutral.items():
        ours = session(args.library, models.reducer(op), fallback=False)
        nothing, something = (ours.run(None, {"x": v})[0] for v in (x[:0], x))
        if not np.array_equal(nothing, np.full(3, -value, np.float32), equal_nan=True):
            good = fail(f"{op} of nothing is {-nothing}")
        if not close([something], cpu_session(models.reducer(op)).run(None, {"x": x})):
            good = fail(op)
        if ours.run(None, {"x": x[:, :0]})[0].shape != (0,):
            good = fail(f"{op} of no columns")
    ours = session(args.library, models.product(), fallback=False)
    for n, k, m in ((2, 0, 3), (0, 2, 3), (2, 3, 0), (0, 0, 0), (2, 4, 3)):
        a, b = np.ones((n, k), np.float32), np.full((k, m), 0.5, np.float32)
        if not close(ours.run(None, {"a": a, "b": b}), [np.exp(a @ b)]):
            good = fail(f"product of {a.shape} and {b.shape}")
    print("tensors without elements:", "right" if good else "wrong")
    return good


# ---- control flow ----

def part_control(args):
    """Bodies of Loop, If and Scan on the provider."""
    good = True
    for name, make in models.CONTROL.items():
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            with Log() as log:
                ours = session(args.library, model, level=0, profile=pathlib.Path(folder) / name)
            cpu, same = cpu_session(model), True
            for feeds in models.control_feeds(name) * 2:
                same = close(ours.run(None, feeds), cpu.run(None, feeds)) and same
            path = ours.end_profiling()
            runs, compiled = events(path, "dml_run"), events(path, "dml_compile")
        left = set(re.findall(r"left to another provider: (\S+) '", log.text)) - {"If", "Loop", "Scan"}
        print(f"{name}: {'right' if same else 'WRONG'}, {runs} runs of {compiled} programs, left to others: {left or 'none'}")
        if not same or not runs or left:
            good = fail(name)
    return good


PARTS = {"threads": part_threads, "churn": part_churn, "shapes": part_shapes, "first_run": part_first_run,
         "sessions": part_sessions, "corrupt": part_corrupt, "inputs": part_inputs, "empty": part_empty,
         "control": part_control}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--match", default="")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        return 0 if {**PARTS, "corrupt_child": corrupt_child}[args.part](args) else 1
    failed = []
    for name in [n for n in PARTS if re.search(args.match, n)]:
        print(f"-- {name}", flush=True)
        command = [sys.executable, __file__, args.library, "--part", name, "--seed", str(args.seed)]
        if subprocess.run(command + ["--full"] * args.full, check=False).returncode:
            failed.append(name)
    print("failed: " + ", ".join(failed) if failed else f"all parts passed (ONNX Runtime {ort.__version__})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
