#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs torch's own test data on torch_directml and compares with the CPU: operators (OpInfo, forward and backward), their
wrong arguments, modules, optimizers, gradients by differences, and which of the core ATen operators there are.

    conformance.py [--parts opinfo,module] [--dtypes float32,int64] [--only REGEX] [--samples N] [--seconds S]
                   [--jobs N] [--json FILE] [--markdown FILE] [--command TEXT] [-v]

Each case runs in one of --jobs processes, which are started again when one crashes or takes too long. --json keeps the
results; with a file that exists, cases that do not run now stay as they are, so that a page can be made in parts.
Exits with 1 if a case failed. Needs torch_directml, torch and expecttest in the Python that runs it."""
import argparse
import collections
import datetime
import json
import os
import re
import select
import subprocess
import sys
import threading

DTYPES = ["float32", "float16", "bfloat16", "int64"]
# The parts that are about one type, or about those that have gradients.
PART_DTYPES = {"opinfo": DTYPES, "module": DTYPES[:3], "optimizer": DTYPES[:3], "errors": ["float32"],
               "gradcheck": ["float64"], "network": ["float32"]}
TITLES = {"opinfo": "operators (OpInfo), forward and backward", "module": "modules (module_db), forward and backward",
          "optimizer": "optimizers (optim_db), four steps", "errors": "wrong arguments (OpInfo's error inputs)",
          "gradcheck": "gradients against differences (gradcheck, fast mode)",
          "network": "networks of torchvision and transformers: results, and losses of up to 20 training steps (the samples)"}


# ---- a worker: one case a line, one result a line ----

def work(limits):
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what torch prints is no result
    import warnings
    warnings.simplefilter("ignore")
    import torch
    import torch_directml
    import conformance_cases as cases
    import conformance_tolerances
    torch.set_num_threads(1)
    names = {part: list(table) for part, (_, table) in cases.PARTS.items()}
    facts = {"torch": torch.__version__, "device": torch_directml.device_name(0), "core": core_operators(torch),
             "tolerances": conformance_tolerances.table()}
    print(json.dumps([names, facts]), file=results, flush=True)
    for line in sys.stdin:
        print(json.dumps(cases.run_case(line.strip(), cases.Limits(*limits))), file=results, flush=True)


def core_operators(torch):
    """How each overload of core ATen is there: a kernel of the device, made of others, or none (the CPU's)."""
    found = {}
    for packet in torch.ops.aten:
        for overload in getattr(torch.ops.aten, packet).overloads():
            op = getattr(getattr(torch.ops.aten, packet), overload)
            if torch.Tag.core in op.tags:
                has = [torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) for key in
                       ("PrivateUse1", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
                        "CompositeExplicitAutogradNonFunctional")]
                found[op.name()] = "kernel" if has[0] else "composed" if any(has[1:]) else "none"
    return found


class Worker:
    def __init__(self, options):
        self.options, self.process = options, None

    def start(self):
        here = os.path.dirname(os.path.abspath(__file__))
        command = [sys.executable, "-W", "ignore", os.path.join(here, "conformance.py"), "--worker",
                   f"--samples={self.options.samples}", f"--seconds={self.options.seconds}"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=None if self.options.v else subprocess.DEVNULL,
                                        env={**os.environ, "OMP_NUM_THREADS": "1"})
        return self.answer(300)

    def answer(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.stop()
            raise TimeoutError(f"took more than {seconds:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.process = None
            raise ChildProcessError(f"the process ended with {f'signal {-code}' if code < 0 else code}")
        return json.loads(line)

    def run(self, case):
        try:
            if not self.process:
                self.start()
            print(case, file=self.process.stdin, flush=True)
            return self.answer(self.options.seconds * 2 + 60)
        except (TimeoutError, ChildProcessError, BrokenPipeError) as e:
            self.stop()
            return {"status": "fail", "why": str(e), "samples": 0, "fallbacks": {}, "seconds": 0}

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


# ---- all cases ----

def chosen_cases(names, options):
    parts = options.parts.split(",") if options.parts else list(PART_DTYPES)
    for part in parts:
        for dtype in PART_DTYPES[part]:
            if options.dtypes and dtype not in options.dtypes.split(",") and part in ("opinfo", "module", "optimizer"):
                continue
            for name in names[part]:
                if re.search(options.only, name):
                    yield f"{part}/{dtype}/{name}"


def run_all(options, results):
    """Adds to results; gives what a worker said of torch."""
    first = Worker(options)
    names, facts = first.start()
    cases = collections.deque(chosen_cases(names, options))
    total, lock, done = len(cases), threading.Lock(), [0]

    def serve(worker):
        while True:
            try:
                case = cases.popleft()
            except IndexError:
                worker.stop()
                return
            result = worker.run(case)
            with lock:
                results[case] = result
                done[0] += 1
                if result["status"] == "fail" or options.v:
                    print(f"{result['status']:8} {case} {result['why']} {' '.join(result['fallbacks'])}", flush=True)
                elif sys.stderr.isatty():
                    print(f"\r{done[0]} of {total} ", end="", file=sys.stderr)

    threads = [threading.Thread(target=serve, args=[w]) for w in [first] + [Worker(options) for _ in range(options.jobs - 1)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return facts


# ---- the page ----

def count(results, part, dtype):
    """Statuses, and the samples."""
    mine = [r for case, r in results.items() if case.startswith(f"{part}/{dtype}/")]
    return collections.Counter(r["status"] for r in mine), sum(r["samples"] for r in mine)


def dtypes_of(results, part):
    return [d for d in PART_DTYPES[part] if any(case.startswith(f"{part}/{d}/") for case in results)]


def share(n):
    ran = n["pass"] + n["fallback"] + n["fail"]
    return f"{100 * n['pass'] / ran:.1f} %" if ran else ""


def summary(results):
    yield "| part | type | entries | samples | right on the device | share | right, in part on the CPU | failed | left out |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for part in PART_DTYPES:
        for dtype in dtypes_of(results, part):
            n, samples = count(results, part, dtype)
            yield (f"| {TITLES[part]} | {dtype} | {n['pass'] + n['fallback'] + n['fail']} | {samples} | {n['pass']} | "
                   f"{'' if part == 'errors' else share(n)} | {n['fallback']} | {n['fail']} | {n['skip']} |")


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def grouped(results, status, text):
    """The cases of a status by what there is to say of them: [(text, {"part dtype, dtype": [entries]})]."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for case, r in results.items():
        if r["status"] == status:
            part, dtype, name = case.split("/", 2)
            groups[text(r)][part, name].append(dtype)
    for why, names in sorted(groups.items()):
        by_types = collections.defaultdict(list)
        for (part, name), dtypes in names.items():
            by_types[f"{part} {', '.join(dtypes)}"].append(f"`{name}`")
        yield escaped(why), {types: sorted(entries) for types, entries in sorted(by_types.items())}


def listed(groups):
    """All entries of each group."""
    for why, types in groups:
        text = "; ".join(f"{name}: {', '.join(entries)}" for name, entries in types.items())
        yield f"| {why} | {text} |"


def counted(results):
    """The cases that were left out, in numbers: no list of them tells a reader more than the reason does."""
    numbers = collections.defaultdict(collections.Counter)
    for case, r in results.items():
        if r["status"] == "skip":
            part, dtype, _ = case.split("/", 2)
            numbers[general(r["why"])][f"{part} {dtype}"] += 1
    for why, counts in sorted(numbers.items()):
        yield f"| {escaped(why)} | {', '.join(f'{name}: {n}' for name, n in counts.items())} |"


def general(why):
    """A reason without what only one sample has."""
    return re.sub(r"^sample \d+: ", "", why) if not why.startswith("on the CPU") else "the CPU raises for every sample"


def core_table(core, results):
    fallen = {name for r in results.values() for name in r["fallbacks"]}
    counts = collections.Counter(core.values())
    there = len(core) - counts["none"]
    yield "\n## Core ATen\n"
    yield ("Core ATen is the set of operators to which torch reduces exported programs. "
           f"{there} of its {len(core)} overloads are there:\n{counts['kernel']} with a kernel of the device, "
           f"{counts['composed']} composed of others by torch. [pytorch-operators.md](pytorch-operators.md) lists all operators.")
    missing = sorted(name for name, how in core.items() if how == "none")
    if missing:
        yield f"\nThe CPU's: {', '.join(f'`{name}`' for name in missing)}."
    partly = sorted(name for name in fallen if name in core and core[name] != "none")
    if partly:
        yield f"\nWith some types, above all integers, these run on the CPU: {', '.join(f'`{name}`' for name in partly)}."


INTRODUCTION = """# Conformance of torch_directml

torch ships test data for its own devices: samples of the arguments of each operator (OpInfo), module (module_db) and optimizer
(optim_db). This page is the result of all of them on [torch_directml](pytorch.md), the device `dml`, with the cpu adapter,
compared with torch's CPU: results, and gradients where there are any. Networks of torchvision and transformers, wrong arguments
and gradients against differences are further parts.

A result is right if one of these holds:

- It is as near to the CPU's as the [tolerances](#tolerances) ask for.
- In floating point: it is as near to the CPU's in float64, or at most twice (in 16 bits four times) as far from it as the
  CPU's result of the same type.
- Of modules in 16 bits: it is among what the CPU makes in float64 of inputs and weights changed by up to two units in their
  last place.
- Random results have the distribution of the CPU's.

An entry is an operator, module, optimizer or network, which has many samples. It counts as right on the device if no sample ran
on the CPU, as `torch_directml.fallbacks()` tells, and as failed if one is wrong.
"""

RUNNING = """
## Running it

    make conformance-torch                               # all parts, about half an hour on two CPUs; writes this page
    scripts/check-torch build -- tests/torch/conformance.py --parts opinfo --dtypes float32 --only 'conv|norm'
    scripts/check-torch build -- tests/torch/conformance.py --help

It needs torch, which `scripts/prepare-torch --networks` installs in `.cache`. The exit code is 1 if an entry failed, and failed
entries are printed with the sample and the reason. `make check-all` runs another part of the same data each day (test_opinfo).
"""


def page(data, command):
    facts, results = data["facts"], data["results"]
    yield INTRODUCTION
    yield "## Results\n"
    yield f"{data['date']}, torch {facts['torch']}, device \"{facts['device']}\":\n{command}.\n"
    yield from summary(results)
    for title, status, text in (("What failed", "fail", lambda r: general(r["why"])), ("What ran on the CPU, at least in part",
            "fallback", lambda r: ", ".join(f"`{name}`" for name in sorted(r["fallbacks"])))):
        rows = list(listed(grouped(results, status, text)))
        if rows:
            yield f"\n## {title}\n\n| {'reason' if status == 'fail' else 'operators of ATen'} | entries |\n|---|---|"
            yield from rows
    yield from core_table(facts["core"], results)
    yield "\n## What was left out\n\n| reason | entries |\n|---|---|"
    yield from counted(results)
    yield from tolerance_table(facts["tolerances"])
    yield RUNNING.rstrip("\n")


def tolerance_table(tolerances):
    yield "\n## Tolerances\n"
    yield ("The tolerances are those of `torch.testing.assert_close` (float32: 1.3e-6 relative, 1e-5 absolute; float16: 1e-3, 1e-5;\n"
           "bfloat16: 1.6e-2, 1e-5) and, for single operators, what OpInfo itself allows. torch's own comparison of CUDA with the\n"
           "CPU allows 1e-3 and 1e-3 for operators, 5e-2 for modules. All that is allowed beyond is in one list (`ROUNDINGS` in\n"
           "tests/torch/conformance_tolerances.py; losses in conformance_networks.py):\n")
    yield "| entries | type: relative, absolute | why |"
    yield "|---|---|---|"
    for entries, allowed, why in tolerances:
        yield f"| `{escaped(entries)}` | {allowed} | {escaped(why)} |"


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--parts")
    p.add_argument("--dtypes")
    p.add_argument("--only", default=".")
    p.add_argument("--samples", type=int, default=10**9)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--json")
    p.add_argument("--markdown")
    p.add_argument("--command", default="`make conformance-torch`", help="what the page says of how it was made")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("-v", action="store_true")
    options = p.parse_args()
    unknown = set((options.parts or "").split(",")) - {""} - set(PART_DTYPES)
    if unknown:
        p.error(f"--parts: no part {', '.join(sorted(unknown))}; there are {', '.join(PART_DTYPES)}")
    if options.jobs < 1 or options.samples < 1:
        p.error("--jobs and --samples must be at least 1")
    return options


def main():
    options = arguments()
    if options.worker:
        work((options.samples, options.seconds))
        return 0
    data = {"results": {}}
    if options.json and os.path.exists(options.json):
        with open(options.json) as f:
            data = json.load(f)
    now = {}
    data["facts"] = run_all(options, now)
    data["results"].update(now)
    data["date"] = datetime.date.today().isoformat()
    if options.json:
        with open(options.json, "w") as f:
            json.dump(data, f, indent=0)
    if options.markdown:
        with open(options.markdown, "w") as f:
            f.write("\n".join(page(data, options.command)) + "\n")
    n = collections.Counter(r["status"] for r in now.values())
    print(f"{n['pass']} right without the CPU, {n['fallback']} with it, {n['fail']} failed, {n['skip']} left out")
    return 1 if n["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
