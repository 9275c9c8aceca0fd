#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files of models and of their weights: test_files.py ANYDML

What is no file of a model or of weights is refused in one line; so is a file that loses bytes while it is in use.
"""
import json
import os
import struct
import subprocess
import sys
import time

import numpy as np

import pictures
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
            (("cannot be located",), {"location": ""}),
            (("length",), {"location": "weights.bin", "length": 15}),
            (("length",), {"location": "weights.bin", "length": 17}),
            (("bad offset or length",), {"location": "weights.bin", "length": "all"})):
        path = tool.file("outside.onnx", model(outside("w", SHAPE, **entries)))
        tool.fails(["run", path, "--input", x], "outside.onnx", *words, timeout=60)


def check_links(tool, x):
    """Weights are read where the model's folder is, however links lead there, and nowhere else."""
    inside, beside, blobs = (tool.file(name) for name in ("m/n", "secret", "blobs"))
    for folder in (inside, beside, blobs):
        os.makedirs(folder)
    weights = np.linspace(1, 2, 4, dtype=np.float32)
    for name in ("m/n/weights.bin", "secret/weights.bin", "blobs/w5"):
        tool.file(name, weights.tobytes())
    os.symlink("n/weights.bin", tool.file("m/file.bin"))
    os.symlink("n", tool.file("m/folder"))
    os.symlink("../secret/weights.bin", tool.file("m/bad_file.bin"))
    os.symlink("../secret", tool.file("m/bad_folder"))
    os.symlink(beside + "/weights.bin", tool.file("m/n/far.bin"))

    def path_of(location, name="m/m.onnx"):
        return tool.file(name, model(outside("w", SHAPE, location=location)))
    for location in ("n/weights.bin", "file.bin", "folder/weights.bin", "n/../file.bin"):
        y = tool.file("y.npy")
        tool.works("run", path_of(location), "--input", x, "--output", y)
        tool.test(np.allclose(np.load(y), np.ones(SHAPE) + weights), location)
    for location in ("bad_file.bin", "bad_folder/weights.bin", "n/far.bin", "../secret/weights.bin", "../m2/none.bin/../x"):
        wanted = "No such" if "none" in location else "does not lie in the model's folder"
        tool.fails(["run", path_of(location), "--input", x], location, wanted)
    # A store keeps files by what they hold, with links for their names.
    path_of("model.data", "blobs/m7")
    os.makedirs(tool.file("snapshot"))
    os.symlink("../blobs/m7", tool.file("snapshot/model.onnx"))
    os.symlink("../blobs/w5", tool.file("snapshot/model.data"))
    tool.works("run", tool.file("snapshot/model.onnx"), "--input", x)
    os.remove(tool.file("snapshot/model.data"))
    os.symlink("../secret/weights.bin", tool.file("snapshot/model.data"))
    tool.fails(["run", tool.file("snapshot/model.onnx"), "--input", x], "does not lie in the model's folder")


def check_future(tool, x):
    """An operator set that nobody here has read."""
    text = model(wire.tensor("w", np.ones(SHAPE, np.float32))).replace(wire.field(2, 17), wire.field(2, 99))
    tool.fails(["run", tool.file("future.onnx", text), "--input", x], "opset 99 is not supported (7 to")


def check_trace(tool, x):
    """What the environment says to write to is a file of its own: no link, no pipe."""
    path = tool.file("m.onnx", model(wire.tensor("w", np.ones(SHAPE, np.float32))))
    target, link = tool.file("target", b"precious"), tool.file("link.json")
    os.symlink("target", link)
    for place, word in ((link, "symbolic link"), (tool.file("pipe.bin"), "No such device"), ("/dev/null/x", "Not a directory")):
        run = tool.run("run", path, "--input", x, ANYDML_TRACE=place, ANYDML_LOG="warn")
        tool.test(run.returncode == 0 and "ANYDML_TRACE" in run.stderr and word in run.stderr, f"{place}: {run.stderr}")
    with open(target, "rb") as file:
        tool.test(file.read() == b"precious", "a trace was written through a link")
    tool.works("run", path, "--input", x, ANYDML_TRACE=tool.file("new.json"))
    with open(tool.file("new.json"), encoding="utf-8") as file:
        tool.test(len(json.load(file)["traceEvents"]) > 0, "a trace")


def jpeg_header(width, height, kind=0xC2, scans=1):
    """The markers of a picture that holds no data; 0xC2: progressive, of which the decoder keeps all coefficients."""
    def part(marker, body):
        return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body
    quant = part(0xDB, b"\0" + bytes([1] * 64))
    frame = part(kind, struct.pack(">BHHB", 8, height, width, 3) + b"".join(bytes((c, 0x11, 0)) for c in (1, 2, 3)))
    huffman = part(0xC4, b"\0" + bytes([1] + [0] * 15) + b"\0")
    scan = part(0xDA, b"\x03\x01\0\x02\0\x03\0\0\0\0") + bytes(8)
    return b"\xff\xd8" + quant + frame + huffman + scan * scans + b"\xff\xd9"


def check_pictures(tool):
    """Pictures that are small files and huge in memory, or endless work, are refused before they are decoded."""
    path = tool.file("m.onnx", model(wire.tensor("w", np.ones([1, 3, 8, 8], np.float32)), [1, 3, 8, 8]))
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    limit = ["bash", "-c", 'ulimit -v 4000000; exec "$@"', "bash"]
    if subprocess.run(limit + [tool.path, "--version"], capture_output=True, check=False).returncode:
        limit = []  # a sanitizer reserves more than that before anything runs
    bomb = b"\x89PNG\r\n\x1a\n" + pictures.chunk(b"IHDR", header) + pictures.chunk(b"IDAT", b"")
    for name, data, why in (("bomb.png", bomb, "60000x60000"),
                            ("bomb.jpg", jpeg_header(65500, 65500), "65500x65500"),
                            ("wide.jpg", jpeg_header(16000, 16000), "memory"),
                            ("scans.jpg", jpeg_header(8, 8, scans=5000), "more than 200 scans")):
        tool.file(name, data)
        run = subprocess.run(limit + [tool.path, "run", path, "--input", tool.file(name)], capture_output=True, text=True,
                             check=False, timeout=60)
        tool.test(run.returncode == 2 and len(run.stderr.splitlines()) == 1 and why in run.stderr,
                  f"{name}: code {run.returncode}, {run.stderr}")


def check_no_model(tool, x):
    os.mkfifo(tool.file("pipe.onnx"))
    tool.file("nothing.onnx", b"")
    tool.file("zeros.onnx", bytes(100))
    for path, why in ((tool.file("pipe.onnx"), "no regular file"), (tool.file("nothing.onnx"), "it is empty"),
                      (tool.file("zeros.onnx"), "no ONNX model"), (tool.folder.name, "it is a folder"),
                      ("/dev/null", "no regular file"), ("/dev/zero", "no regular file"), ("/nowhere", "No such file")):
        for command in (["run", path, "--input", x], ["bench", path], ["graph", path]):
            tool.fails(command, path, why, timeout=60)
    locked = tool.file("locked.onnx", model(wire.tensor("w", np.ones(SHAPE, np.float32))))
    os.chmod(locked, 0)
    if not os.access(locked, os.R_OK):  # root reads it all the same
        tool.fails(["run", locked, "--input", x], locked)


def open_pipe(process, path):
    """The writing end of a pipe that the process reads from, or None where it ended without opening it: an open that waits
    for a reader would then wait for ever."""
    end = time.time() + 60
    while time.time() < end and process.poll() is None:
        try:
            file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
            continue
        os.set_blocking(file, True)
        return file
    return None


def check_lost(tool):
    """The model is cut short while the command waits for somebody to write its input."""
    dims = [1, 3, 256, 512]
    path, pipe = tool.file("lost.onnx"), tool.file("input.png")
    picture = pictures.png(np.zeros((256, 512, 3), np.uint8))
    tool.file("lost.onnx", model(wire.tensor("w", np.ones(dims, np.float32)), dims))
    os.mkfifo(pipe)
    process = subprocess.Popen([tool.path, "run", path, "--input", pipe], stderr=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL)
    end = open_pipe(process, pipe)
    if tool.test(end is not None, "the command reads its input"):
        os.truncate(path, 100)
        try:
            with os.fdopen(end, "wb") as file:
                file.write(picture)
        except BrokenPipeError:
            pass
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
    check_links(tool, x)
    check_future(tool, x)
    check_trace(tool, x)
    check_pictures(tool)
    check_no_model(tool, x)
    check_lost(tool)
    tool.finish()


if __name__ == "__main__":
    main()
