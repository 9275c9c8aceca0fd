#!/usr/bin/python3
"""Files of models and of their weights: test_files.py ANYDML

What is no file of a model or of weights is refused in one line; so is a file that loses bytes while it is in use.
"""
import os
import subprocess
import sys
import time

import numpy as np

import wire
from tool import Tool

SHAPE = [1, 4]
EXTERNAL, LOCATION = 13, 14


def outside(name, dims, **entries):
    """A tensor of floats whose data are in another file."""
    pairs = b"".join(wire.field(EXTERNAL, wire.field(1, key) + wire.field(2, str(value)))
                     for key, value in entries.items())
    return (b"".join(wire.field(wire.TENSOR_DIMS, d) for d in dims) + wire.field(wire.TENSOR_TYPE, wire.FLOAT) +
            wire.field(wire.TENSOR_NAME, name) + pairs + wire.field(LOCATION, 1))


def model(tensor, dims=SHAPE):
    """y = x + w"""
    graph = wire.field(wire.GRAPH_NODE, wire.node("Add", ["x", "w"], ["y"])) + wire.field(wire.GRAPH_INITIALIZER, tensor)
    graph += wire.field(wire.GRAPH_INPUT, wire.value_info("x", wire.FLOAT, dims))
    graph += wire.field(wire.GRAPH_OUTPUT, wire.value_info("y", wire.FLOAT, dims))
    return wire.field(1, 8) + wire.field(wire.MODEL_GRAPH, graph) + wire.field(8, wire.field(1, "") + wire.field(2, 17))


def check_outside(tool, x):
    """Weights in a file beside the model, at any offset."""
    weights = np.linspace(1, 2, 4, dtype=np.float32)
    tool.file("weights.bin", b"abc" + weights.tobytes())
    for offset in (3, "3"):
        path = tool.file("outside.onnx", model(outside("w", SHAPE, location="weights.bin", offset=offset)))
        y = tool.file("y.npy")
        tool.works("run", path, "--input", x, "--output", y)
        tool.test(np.allclose(np.load(y), np.ones(SHAPE) + weights), f"weights at {offset!r}")
    path = tool.file("outside.onnx", model(outside("w", SHAPE, location="weights.bin", length=16)))
    tool.works("run", path, "--input", x)


def check_outside_wrong(tool, x):
    os.mkfifo(tool.file("pipe.bin"))
    os.mkdir(tool.file("folder.bin"))
    tool.file("nothing.bin", b"")
    tool.file("short.bin", bytes(15))
    for words, entries in (
            (("too short", ": w"), {"location": "weights.bin", "offset": 4}),
            (("too short",), {"location": "weights.bin", "offset": 19}),
            (("too short",), {"location": "weights.bin", "offset": 20}),
            (("too short",), {"location": "weights.bin", "offset": 2 ** 64 - 1}),
            (("too short",), {"location": "short.bin"}),
            (("bad offset",), {"location": "weights.bin", "offset": 2 ** 64}),
            (("bad offset",), {"location": "weights.bin", "offset": -1}),
            (("bad offset",), {"location": "weights.bin", "offset": "0x3"}),
            (("bad offset",), {"location": "weights.bin", "offset": ""}),
            (("missing.bin",), {"location": "missing.bin"}),
            (("pipe.bin",), {"location": "pipe.bin"}),
            (("folder.bin",), {"location": "folder.bin"}),
            (("nothing.bin",), {"location": "nothing.bin"}),
            (("too long",), {"location": "w" * 5000}),
            (("cannot be located",), {"offset": 3}),
            (("cannot be located",), {"location": tool.file("weights.bin")}),
            (("cannot be located",), {"location": "../weights.bin"}),
            (("cannot be located",), {"location": "folder.bin/../weights.bin"})):
        path = tool.file("outside.onnx", model(outside("w", SHAPE, **entries)))
        tool.fails(["run", path, "--input", x], "outside.onnx", *words, timeout=60)


def check_no_model(tool, x):
    os.mkfifo(tool.file("pipe.onnx"))
    tool.file("nothing.onnx", b"")
    tool.file("zeros.onnx", bytes(100))
    for path in (tool.file("pipe.onnx"), tool.file("nothing.onnx"), tool.file("zeros.onnx"), tool.folder.name,
                 "/dev/null", "/dev/zero"):
        for command in (["run", path, "--input", x], ["bench", path], ["graph", path]):
            tool.fails(command, path, timeout=60)
    locked = tool.file("locked.onnx", model(wire.tensor("w", np.ones(SHAPE, np.float32))))
    os.chmod(locked, 0)
    if not os.access(locked, os.R_OK):  # root reads it all the same
        tool.fails(["run", locked, "--input", x], locked)


def wait_for(condition):
    end = time.time() + 60
    while time.time() < end and not condition():
        time.sleep(0.01)


def check_lost(tool):
    """The model is cut short while the command waits for somebody to read its trace."""
    dims = [512, 1024]
    x, path, pipe = tool.file("large.npy"), tool.file("lost.onnx"), tool.file("trace.pipe")
    np.save(x, np.ones(dims, np.float32))
    tool.file("lost.onnx", model(wire.tensor("w", np.ones(dims, np.float32)), dims))
    os.mkfifo(pipe)
    process = subprocess.Popen([tool.path, "run", path, "--input", x], stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL, env={**os.environ, "ANYDML_TRACE": pipe})

    def mapped():
        try:
            with open(f"/proc/{process.pid}/maps", encoding="utf-8", errors="replace") as maps:
                return "lost.onnx" in maps.read() or process.poll() is not None
        except OSError:
            return True
    wait_for(mapped)
    os.truncate(path, 100)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb"):
        try:
            _, said = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
    tool.test(process.returncode == 2 and len(said.splitlines()) == 1 and "lost.onnx" in said,
              f"a model cut short: code {process.returncode}, {said!r}")


def main():
    tool = Tool(sys.argv[1])
    x = tool.file("x.npy")
    np.save(x, np.ones(SHAPE, np.float32))
    check_outside(tool, x)
    check_outside_wrong(tool, x)
    check_no_model(tool, x)
    check_lost(tool)
    tool.finish()


if __name__ == "__main__":
    main()
