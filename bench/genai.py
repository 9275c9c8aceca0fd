# SPDX-License-Identifier: Apache-2.0
"""Measures tokens per second of onnxruntime-genai's models with the execution provider, compared with its own CPU provider.

    scripts/prepare-genai qwen2.5-0.5b-int4
    ONNX_VENV=genai/venv scripts/onnx-python bench/genai.py [--threads 2] [--rounds 3] [--json FILE] LIBRARY MODEL...
    ... bench/genai.py --page FILE.json...

MODEL: a folder for onnxruntime_genai.Model. Each program of a round is a separate process, so that only one model is in
memory; the programs alternate, in reverse order every other round. Prompts are timed at the second call, when their length has
been compiled; --json also has the first call. Decoding is the median over the tokens that follow a cache of the given length.
--prompts, --caches: other lengths. --runtime: uses ONNX Runtime without genai (genai_ort.py), if genai is not installed. --warm
SECONDS: time of untimed runs before each measurement; 4 on other adapters than the CPU, since idle GPUs lower their clocks.
--device vulkan: implies --runtime on that adapter, with tensors in its memory (device_tensors), compared with PyTorch in
FLOAT16 (genai_torch.py). --resident: only caches in device memory (resident_caches), as in programs that use genai. Prints
the tables of language models in docs/performance/archive: medians of the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

NAME = "AnyDMLExecutionProvider"


class Package:
    """The model in genai."""

    def __init__(self, args):
        import onnxruntime_genai as genai
        config = genai.Config(args.models[0])
        config.clear_providers()
        if args.library:
            genai.register_execution_provider_library("anydml", os.path.abspath(args.library))
            config.append_provider(NAME)
        options = {"intra_op_num_threads": args.threads, "log_severity_level": 3}
        config.overlay(json.dumps({"model": {"decoder": {"session_options": options}}}))
        self.genai = genai
        self.model = genai.Model(config)

    def generator(self, capacity):
        params = self.genai.GeneratorParams(self.model)
        params.set_search_options(max_length=capacity, min_length=capacity, do_sample=False)
        return self.genai.Generator(self.model, params)


class Runtime:
    """The model in ONNX Runtime."""

    def __init__(self, args):
        import genai_ort
        self.driver = genai_ort
        self.model = genai_ort.Model(args.models[0], args.library, args.threads, args.device is not None,
                                     args.resident)

    def generator(self, capacity):
        return self.driver.Generator(self.model, capacity)


class Torch(Runtime):
    """A network of the model's sizes in PyTorch."""

    def __init__(self, args):
        import genai_torch
        self.driver = genai_torch
        self.model = genai_torch.Model(args.models[0])


class Timer:
    """Times generators of one capacity with the vocabulary's first tokens as prompts."""

    def __init__(self, model, capacity, warm):
        self.model = model
        self.capacity = capacity
        self.warm = warm

    def generator(self):
        return self.model.generator(self.capacity)

    @staticmethod
    def append(generator, count):
        """Returns the seconds until the prompt's last logits are available."""
        begin = time.perf_counter()
        generator.append_tokens([3 + i % 500 for i in range(count)])
        return time.perf_counter() - begin

    def prompt(self, count):
        """Returns the times of the first and the second call with this length, or instead of the second the median after warming
        up."""
        first, generator = self.append(self.generator(), count), self.generator()
        times, begin = [], time.perf_counter()
        while not times or time.perf_counter() - begin < self.warm:
            times.append(self.append(generator, count))
            generator.rewind_to(0)
        return first, statistics.median(times[-15:])

    def decode(self, cache, tokens):
        """Returns the seconds of each token after a cache of this length; the first token runs nothing, the next may compile."""
        generator = self.generator()
        for at in range(0, cache, 512):
            self.append(generator, min(512, cache - at))
        times, start = [], time.perf_counter()
        while len(times) < tokens + 3 or time.perf_counter() - start < self.warm:
            if times and len(times) % (tokens + 3) == 0:
                generator.rewind_to(cache)
                self.append(generator, 1)  # genai requires a token after that
            begin = time.perf_counter()
            generator.generate_next_token()
            times.append(time.perf_counter() - begin)
        return times[-tokens:]


def rss_peak():
    with open("/proc/self/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) << 10


def measure(args):
    """Runs one program of one round; returns its JSON."""
    begin = time.perf_counter()
    model = (Torch if args.torch else Runtime if args.runtime else Package)(args)
    result = {"load": time.perf_counter() - begin, "prompt": {}, "first": {}, "decode": {}}
    timer = Timer(model, max(args.prompts + args.caches) + args.tokens + 16, args.warm)
    for count in args.prompts:
        first, second = timer.prompt(count)
        result["first"][count], result["prompt"][count] = first, count / second
    for count in args.caches:
        result["decode"][count] = 1 / statistics.median(timer.decode(count, args.tokens))
    result["rss"] = rss_peak()
    print(json.dumps(result))
    sys.stdout.flush()


def child(args, model, ours):
    command = [sys.executable, __file__, "--child", "--threads", str(args.threads), "--tokens", str(args.tokens),
               "--prompts", ",".join(map(str, args.prompts)), "--caches", ",".join(map(str, args.caches))]
    command += ["--warm", str(args.warm)]
    command += ["--device", args.device] if args.device is not None else []
    command += (["--runtime"] if args.runtime else []) + (["--resident"] if args.resident else [])
    command += ["--torch"] if args.device is not None and not ours else []
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[-args.threads:]))
    if args.device is None:
        command = ["taskset", "-c", cores, *command]
    env = dict(os.environ, ANYDML_THREADS=str(args.threads), ANYDML_ADAPTERS=args.device or "cpu")
    done = subprocess.run(command + [args.library if ours else "", model], capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        print(done.stderr[-600:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def middle(rounds, kind, count):
    values = [r[kind][str(count)] for r in rounds if r]
    return statistics.median(values) if values else float("nan")


def table(results):
    """Returns the table of all results: {"model", "threads", "device", "prompts", "caches", "ours": [...], "peer": [...]}."""
    gpu = results[0]["device"] is not None
    peer = "PyTorch" if gpu else "genai's CPU provider"
    print(f"| model | {'' if gpu else 'threads | '}tokens per second | AnyDML | {peer} | time against it |")
    print(f"|---|{'' if gpu else '--:|'}---|--:|--:|--:|")
    for r in results:
        points = [("prompt", n, f"prompt of {n}") for n in r["prompts"]] + [
            ("decode", n, f"decoding, {n} in the cache") for n in r["caches"]]
        for kind, count, text in points:
            ours, other = middle(r["ours"], kind, count), middle(r["peer"], kind, count)
            threads = "" if gpu else f"{r['threads']} | "
            print(f"| {r['model']} | {threads}{text} | {ours:.1f} | {other:.1f} | {other / ours:.2f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("models", nargs="*")
    numbers = {"type": lambda text: [int(n) for n in text.split(",")]}
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--prompts", default=[128, 1024], **numbers)
    parser.add_argument("--caches", default=[128, 2048], **numbers)
    parser.add_argument("--device", choices=["vulkan"])
    parser.add_argument("--warm", type=float)
    parser.add_argument("--runtime", action="store_true")
    parser.add_argument("--resident", action="store_true")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--child", action="store_true")
    args = parser.parse_args()
    args.runtime |= args.device is not None
    if args.warm is None:
        args.warm = 0 if args.device is None else 4
    if args.child:
        measure(args)
        return
    if args.page:
        table([r for path in [args.library, *args.models] for r in json.loads(Path(path).read_text(encoding="utf-8"))])
        return
    results = []
    for model in args.models:
        rounds = {True: [], False: []}
        for i in range(args.rounds):
            for ours in ((True, False), (False, True))[i % 2]:
                rounds[ours].append(child(args, model, ours))
        results.append({"model": Path(model).name, "threads": args.threads, "prompts": args.prompts, "caches": args.caches,
                        "device": args.device,
                        "ours": rounds[True], "peer": rounds[False]})
        if args.json:
            Path(args.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    table(results)


if __name__ == "__main__":
    main()
