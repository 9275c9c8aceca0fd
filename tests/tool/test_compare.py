#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Comparing runtimes, with the command and with bench/all.py: test_compare.py ANYDML QUEUES BENCH

The peers are absent or copy their input; no time decides anything.
"""
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree

import wire
from tool import Tool

PEER = """
import numpy as np
__version__ = "0"
class SessionOptions:
    pass
class Input:
    name, type, shape = "x", "tensor(float)", [4, 4]
class InferenceSession:
    def __init__(self, *_, **__):
        pass
    def get_inputs(self):
        return [Input]
    def run(self, _, feeds):
        return [feeds["x"]]
"""


def identity(code, dims):
    return wire.model([wire.node("Identity", ["x"], ["y"])], [("x", code, dims)], [("y", code, dims)])


def check_compare(tool):
    """With a Python that has no peer, AnyDML is measured alone, and each peer that is not there gets a line."""
    model = tool.file("identity.onnx", identity(wire.FLOAT, [4, 4]))
    python = tool.file("alone")
    with open(python, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    os.chmod(python, 0o755)
    args = ["bench", "--compare", model, "--threads", "1", "--seconds", "0", "--python", python]
    result = tool.run(*args)
    lines = result.stderr.splitlines()
    tool.test(result.returncode == 0 and "| identity" in result.stdout, f"--compare: {result.stderr}")
    tool.test(len(lines) == 4 and all("is left out" in line for line in lines), f"peers that are not there: {lines}")
    rows = json.loads(tool.run(*args, "--json").stdout)["rows"]
    tool.test([row["runtime"] for row in rows] == ["anydml"] and rows[0]["median_ms"] > 0, "--compare --json")
    free = tool.file("free.onnx", identity(wire.FLOAT, [1, "n"]))
    result = tool.run("bench", "--compare", free, "--threads", "1", "--seconds", "0", "--python", python)
    tool.test(result.returncode == 0 and "| free" in result.stdout, f"a model with free sizes: {result.stderr}")


def check_scaling(tool, queues, bench):
    """bench/all.py --scaling with a peer that only copies: everything is measured and told, whatever the times are."""
    model = tool.file("identity.onnx", identity(wire.FLOAT, [4, 4]))
    folder = tool.file("peer")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "onnxruntime.py"), "w", encoding="utf-8") as file:
        file.write(PEER)
    document, data = tool.file("page.md", b"<!-- bench/all.py -->\n<!-- bench/all.py -->\n"), tool.file("all.json")
    command = [sys.executable, os.path.join(bench, "all.py")]
    both = len(os.sched_getaffinity(0)) > 1
    result = subprocess.run(command + ["--scaling", "--anydml", tool.path, "--queues", queues, "--python", sys.executable, "--peers",
                                       "onnxruntime", "--rounds", "1", "--seconds", "0", "--clients", "3", "--json", data,
                                       "--threads", "1,2,default" if both else "1,default", model],
                            capture_output=True, text=True, check=False, env=dict(os.environ, PYTHONPATH=folder))
    tool.test(result.returncode == 0, f"all.py --scaling: {result.stderr}")
    for head in ("| median / p99 ms", "| AnyDML's latency over", "| median ms with busy loops", "| 3 clients at once"):
        tool.test(head in result.stdout, f"{head}: {result.stdout}")
    with open(data, encoding="utf-8") as file:
        figures = json.load(file)
    tool.test(all(0 < row["median_ms"] <= row["p99_ms"] for row in figures["rows"] + figures["busy"]) and
              {row["runtime"] for row in figures["busy"]} == {"anydml", "onnxruntime"}, f"latencies: {figures}")
    tool.test([(row["runtime"], row["threads"]) for row in figures["clients"]] ==
              [("anydml", 0), ("onnxruntime", 0), ("onnxruntime", 1)] and
              all(row["runs_per_second"] > 0 for row in figures["clients"]), f"clients: {figures['clients']}")
    again = subprocess.run(command + ["--from", data, "--document", document] + (["--plot", tool.file("s.svg")] if both else []),
                           capture_output=True, text=True, check=False)
    page = open(document, encoding="utf-8").read()
    tool.test(again.returncode == 0 and again.stdout == result.stdout and "| 3 clients at once" in page, f"--from: {again.stderr}")
    if both:
        xml.etree.ElementTree.parse(tool.file("s.svg"))
        xml.etree.ElementTree.parse(tool.file("page/scaling.svg"))


LOOPS = """
import os, sys
sys.path.insert(0, sys.argv[1])
from all_scaling import BusyLoops
with BusyLoops() as busy:
    print(*(loop.pid for loop in busy.loops), flush=True)
    os.kill(os.getpid(), 9)
"""


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def check_busy(tool, bench):
    """Busy loops end with what began them, whatever ends it."""
    loops = subprocess.run([sys.executable, "-c", LOOPS, bench], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=False).stdout.split()
    end = time.monotonic() + 20
    while any(map(runs, loops)) and time.monotonic() < end:
        time.sleep(0.1)
    on = [pid for pid in loops if runs(pid)]
    for pid in on:
        os.kill(int(pid), 9)
    tool.test(loops and not on, f"busy loops go on: {on} of {loops}")


def main():
    tool = Tool(sys.argv[1])
    check_compare(tool)
    check_scaling(tool, sys.argv[2], sys.argv[3])
    check_busy(tool, sys.argv[3])
    tool.finish()


if __name__ == "__main__":
    main()
