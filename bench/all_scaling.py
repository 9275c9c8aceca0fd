# SPDX-License-Identifier: Apache-2.0
"""Measurements of all.py --scaling in addition to latencies by threads: busy CPUs, and concurrent clients of one device."""
import os
import re
import statistics
import subprocess
import sys

from all import (NAMES, Failed, Peer, digits, environment, measure, name_of, open_peers, table, threads_text, two, warn)

# Exits when its parent has exited, which a signal may have killed.
BUSY = """
import os, sys
parent = os.getppid()
os.sched_setaffinity(0, {int(sys.argv[1])})
print(flush=True)
while os.getppid() == parent:
    for _ in range(1000000):
        pass
"""


class BusyLoops:
    """One busy loop on each CPU, at the priority of the measured processes."""

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", BUSY, str(cpu)], stdout=subprocess.PIPE)
                      for cpu in sorted(os.sched_getaffinity(0))]
        for loop in self.loops:
            loop.stdout.readline()
        return self

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
        for loop in self.loops:
            loop.communicate()


def run_queues(args, model):
    """Runs clients with a queue and a compiled model each, on one device with default settings."""
    result = subprocess.run([args.queues, model, str(args.clients), str(max(args.seconds, 0.1))], capture_output=True, text=True,
                            env=environment(0), check=False)
    match = re.search(r"([\d.]+) runs per second", result.stdout)
    if not match:
        raise Failed(f"{args.queues}: {result.stderr.strip() or result.returncode}")
    return float(match.group(1))


def measure_clients(args, found, model):
    """Measures clients. With one thread each, clients of a peer do not share its threads, which is the setting for throughput."""
    everywhere = sorted(os.sched_getaffinity(0))
    peers = open_peers(found, model, 0, everywhere)
    try:
        for key, python in found.items():
            try:
                peers.append(Peer(key, python, model, 1, everywhere))
            except Failed as error:
                warn(f"{NAMES[key]} with one thread is left out of {name_of(model)}: {error}")
        runs = {("anydml", 0): [], **{(peer.key, peer.threads): [] for peer in peers}}
        for _ in range(args.rounds):
            runs[("anydml", 0)].append(run_queues(args, model))
            for peer in peers:
                runs[(peer.key, peer.threads)].append(peer.turn(max(args.seconds, 0.1), args.clients)["runs_per_second"])
    finally:
        for peer in peers:
            peer.end()
    return [{"model": name_of(model), "runtime": key, "threads": threads, "clients": args.clients,
             "runs_per_second": statistics.median(values)} for (key, threads), values in runs.items()]


def measure_more(args, found, data):
    data["clients"], data["busy"] = [], []
    for model in args.models:
        data["clients"] += measure_clients(args, found, model)
        with BusyLoops():
            data["busy"] += measure(args, found, model, 0)
        if not args.quiet:
            print(f"{name_of(model)}: clients and busy CPUs measured", file=sys.stderr, flush=True)


# ---- tables ----

def tails(results):
    """Returns a table of medians and 99th percentiles for every number of threads, and the speed-up over the first."""
    numbers = results.threads
    first = min((t for t in numbers if t), default=0)
    rows = []
    for model in results.models:
        for key in results.runtimes:
            cells = []
            for t in numbers:
                base, median = results.get(model, first, key), results.get(model, t, key)
                p99 = results.get(model, t, key, "p99_ms")
                cells.append(f"{digits(median)} / {digits(p99)} ({two(base / median)}x)" if median and base else "-")
            rows.append([model, NAMES[key], *cells])
    return table([f"median / p99 ms (speed-up over {threads_text(first)})", ""] + [threads_text(t) for t in numbers], rows)


def ratios(results):
    peers = [key for key in results.runtimes if key != "anydml"]
    rows = []
    for key in peers:
        have = {t: [r for r in (results.ratio(m, t, "anydml", key) for m in results.models) if r] for t in results.threads}
        rows.append([NAMES[key], "geometric mean"] + [two(results.geomean(t, "anydml", key)) for t in results.threads])
        rows.append([NAMES[key], "worst"] + [two(max(have[t], default=None)) for t in results.threads])
    return table(["AnyDML's latency over that of", ""] + [threads_text(t) for t in results.threads], rows) if peers else []


def busy_table(results):
    idle = {(row["model"], row["runtime"]): row for row in results.rows if row["threads"] == 0}
    rows = []
    for row in results.data["busy"]:
        quiet = idle.get((row["model"], row["runtime"]))
        rows.append([row["model"], NAMES[row["runtime"]], digits(quiet and quiet["median_ms"]), digits(quiet and quiet["p99_ms"]),
                     two(quiet and quiet["p99_ms"] / quiet["median_ms"]), digits(row["median_ms"]), digits(row["p99_ms"])])
    return table(["default threads", "", "median ms", "p99 ms", "p99 / median", "median ms with busy loops", "p99 ms"], rows)


def clients_table(results):
    rows = []
    for model in results.models:
        mine = next((r for r in results.data["clients"] if r["model"] == model and r["runtime"] == "anydml"), None)
        for row in results.data["clients"]:
            if row["model"] == model:
                ratio = mine["runs_per_second"] / row["runs_per_second"] if mine and row["runs_per_second"] else None
                rows.append([model, NAMES[row["runtime"]], threads_text(row["threads"]), f"{row['runs_per_second']:.1f}", two(ratio)])
    count = results.data["clients"][0]["clients"] if results.data["clients"] else 0
    return table([f"{count} clients at once", "", "threads", "runs per second", "AnyDML's over this"], rows)


def more_tables(results):
    lines = []
    for part in (tails(results), ratios(results), busy_table(results), clients_table(results)):
        lines += part + [""] if part else []
    return lines[:-1]
