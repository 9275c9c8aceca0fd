#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files of models and of their weights: test_files.py ANYDML

What is no file of a model or of weights is refused in one line; so is a file that loses bytes while it is in use.
"""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import xml.etree.ElementTree

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
        wanted = "No such" if "none" in location else "is not in the model's folder"
        tool.fails(["run", path_of(location), "--input", x], location, wanted)
    # A store keeps files by what they hold, with links for their names.
    path_of("model.data", "blobs/m7")
    os.makedirs(tool.file("snapshot"))
    os.symlink("../blobs/m7", tool.file("snapshot/model.onnx"))
    os.symlink("../blobs/w5", tool.file("snapshot/model.data"))
    tool.works("run", tool.file("snapshot/model.onnx"), "--input", x)
    os.remove(tool.file("snapshot/model.data"))
    os.symlink("../secret/weights.bin", tool.file("snapshot/model.data"))
    tool.fails(["run", tool.file("snapshot/model.onnx"), "--input", x], "is not in the model's folder")


def check_future(tool, x):
    """An unknown operator set."""
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


def limit_files(size):
    """In a new process: files end at that many bytes, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_trace_ends(tool, x):
    """A trace is JSON whenever the program ends, and says when the disk is full."""
    path, place = tool.file("m.onnx", model(wire.tensor("w", np.ones(SHAPE, np.float32)))), tool.file("full.json")
    tool.works("run", path, "--input", x, ANYDML_TRACE=place)
    whole = os.path.getsize(place)
    for size in (0, whole // 4, whole // 2, whole - 1):
        run = subprocess.run([tool.path, "run", path, "--input", x], capture_output=True, text=True, timeout=120, check=False,
                             env={**os.environ, "ANYDML_TRACE": place}, preexec_fn=lambda most=size: limit_files(most))
        tool.test(run.returncode == 0 and "ANYDML_TRACE" in run.stderr and run.stderr.count("\n") == 1, f"a full disk: {run}")
        if size:
            with open(place, encoding="utf-8") as file:
                json.load(file)
    # One that is ended in the middle of its work.
    place = tool.file("ended.json")
    process = subprocess.Popen([tool.path, "bench", path, "--seconds", "600"], env={**os.environ, "ANYDML_TRACE": place},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.time() + 120
    while process.poll() is None and time.time() < end and not (os.path.exists(place) and os.path.getsize(place) > 100000):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    with open(place, encoding="utf-8") as file:
        tool.test(process.returncode == -signal.SIGINT and len(json.load(file)["traceEvents"]) > 10, "a trace that is ended")


def check_stdout(tool, x):
    """What cannot be printed is a failure, whether the output is full or closed; files that were asked for are whole."""
    path, y = tool.file("m.onnx", model(wire.tensor("w", np.ones(SHAPE, np.float32)))), tool.file("printed.npy")
    case = tool.file("case.json", json.dumps({
        "type": "DML_OPERATOR_ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": {"DataType": "FLOAT32", "Sizes": [2]},
                                                               "OutputTensor": {"DataType": "FLOAT32", "Sizes": [2]}},
        "inputs": {"InputTensor": [1, 2]}}).encode())
    for command in (["run", path, "--input", x, "--output", y], ["bench", path, "--seconds", "0"],
                    ["bench", path, "--seconds", "0", "--json"], ["profile", path], ["graph", path], ["graph", path, "--svg"],
                    ["dispatch", case], ["dispatch", case, "--json"], ["dispatch", "--schema"], ["devices"], ["devices", "--json"],
                    ["ops"], ["ops", "--json"], ["run", "--help"], ["--help"], ["--version"]):
        for where in (">/dev/full", ">&-"):
            run = subprocess.run(["bash", "-c", f'exec "$@" {where}', "bash", tool.path, *command], stderr=subprocess.PIPE, text=True,
                                 check=False, timeout=300)
            tool.test(run.returncode == 1 and "standard output" in run.stderr and run.stderr.count("\n") == 1,
                      f"{command} {where}: code {run.returncode}, {run.stderr!r}")
        if y in command:
            tool.test(np.array_equal(np.load(y), np.full(SHAPE, 2, np.float32)), "the output's file")
    for where in ("<&-", "2>&-"):
        run = subprocess.run(["bash", "-c", f'exec "$@" {where}', "bash", tool.path, "run", path, "--input", x, "--output", y],
                             capture_output=True, check=False, timeout=300)
        tool.test(run.returncode == 0 and np.load(y).shape == tuple(SHAPE), f"{where}: {run}")


def check_full_disk(tool, x):
    """A file that cannot be written to its end: the reason, and no part of it is left."""
    path = tool.file("m.onnx", model(wire.tensor("w", np.ones(SHAPE, np.float32))))
    large, y = tool.file("large.onnx", model(wire.tensor("w", np.ones((300, 300), np.float32)), [300, 300])), tool.file("y.npy")
    np.save(y, np.ones((300, 300), np.float32))
    for command in (["graph", path, "-o"], ["graph", path, "--svg", "-o"], ["run", path, "--input", x, "--output"],
                    ["run", large, "--input", y, "--output"]):
        for size in (0, 1, 100, 100000 if large in command else 101):
            place = tool.file("part.npy")
            run = subprocess.run([tool.path, *command, place], capture_output=True, text=True, timeout=120, check=False,
                                 preexec_fn=lambda most=size: limit_files(most))
            tool.test(run.returncode == 1 and "File too large" in run.stderr and run.stderr.count("\n") == 1 and
                      not any(name.startswith("part.npy") for name in os.listdir(os.path.dirname(place))), f"{command} {size}: {run}")


def check_outputs(tool, x):
    """An output is no input, whatever leads there, and no two outputs are one file; nothing is touched before."""
    weights = np.linspace(1, 2, 4, dtype=np.float32)
    os.mkdir(tool.file("o"))
    tool.file("o/w.bin", weights.tobytes())
    path = tool.file("o/m.onnx", model(outside("w", SHAPE, location="w.bin")))
    labels, given = tool.file("o/labels.npy", b"one\n"), tool.file("o/x.npy")
    np.save(given, np.ones(SHAPE, np.float32))
    os.link(given, tool.file("o/hard.npy"))
    os.symlink("x.npy", tool.file("o/soft.npy"))
    os.symlink("w.bin", tool.file("o/weights.npy"))
    os.symlink("m.onnx", tool.file("o/model.npy"))
    before = {name: open(tool.file("o/" + name), "rb").read() for name in os.listdir(tool.file("o"))}
    run = ["run", path, "--input", given, "--labels", labels]
    for name in ("x.npy", "hard.npy", "soft.npy", "weights.npy", "model.npy", "labels.npy", "../o/x.npy"):
        tool.fails([*run, "--output", tool.file("o/" + name)], "cannot write", "that is the input")
        tool.fails([*run, "--trace", tool.file("o/" + name)], "cannot write", "that is the input")
    for name in ("m.onnx", "w.bin", "weights.npy", "model.npy"):
        for command in (["graph", path, "-o"], ["bench", path, "--seconds", "0", "--trace"], ["profile", path, "--trace"]):
            tool.fails([*command, tool.file("o/" + name)], "cannot write", "that is the input")
    tool.fails([*run, "--output", tool.file("o/y.npy"), "--trace", tool.file("o/../o/y.npy")], "another output")
    # Folders: the same one, by a link, and another that has one of the files.
    for folder in ("f", "g"):
        os.mkdir(tool.file(folder))
    for name in ("a.npy", "b.npy"):
        np.save(tool.file("f/" + name), np.ones(SHAPE, np.float32))
    os.link(tool.file("f/b.npy"), tool.file("g/b.npy"))
    os.symlink("f", tool.file("f.link"))
    for folder in ("f", "f.link", "g"):
        tool.fails(["run", path, "--input", tool.file("f"), "--output", tool.file(folder)], "is an input")
    os.remove(tool.file("g/b.npy"))
    tool.works("run", path, "--input", tool.file("f"), "--output", tool.file("g"))
    tool.test(sorted(os.listdir(tool.file("g"))) == ["a.npy", "b.npy"], "the results of a folder")
    for name, data in before.items():
        with open(tool.file("o/" + name), "rb") as file:
            tool.test(file.read() == data, f"{name} was changed")
    for name in ("a.npy", "b.npy"):
        tool.test(np.array_equal(np.load(tool.file("f/" + name)), np.ones(SHAPE)), f"{name} was changed")
    # A pipe or a device among the files would be waited for.
    os.mkfifo(tool.file("f/pipe.npy"))
    tool.fails(["run", path, "--input", tool.file("f")], "pipe.npy", "not a regular file", timeout=60)
    os.remove(tool.file("f/pipe.npy"))
    os.symlink("/dev/zero", tool.file("f/zero.png"))
    tool.fails(["run", path, "--input", tool.file("f")], "zero.png", "not a regular file", timeout=60)


def check_names(tool, x):
    """Names are shown without what a terminal would obey, and images of graphs are XML whatever names hold."""
    def named(node, name):
        graph = wire.field(wire.GRAPH_NODE, wire.node("Add", [name, "w"], [name + "y"])
                           + wire.field(3, node))
        graph += wire.field(wire.GRAPH_INITIALIZER, wire.tensor("w", np.ones(SHAPE, np.float32)))
        graph += wire.field(wire.GRAPH_INPUT, wire.value_info(name, wire.FLOAT, SHAPE))
        graph += wire.field(wire.GRAPH_OUTPUT, wire.value_info(name + "y", wire.FLOAT, SHAPE))
        return wire.field(1, 8) + wire.field(wire.MODEL_GRAPH, graph) + wire.field(8, wire.field(1, "") + wire.field(2, 17))

    def plain(text):
        return all(c >= " " and not "\x7f" <= c <= "\x9f" or c == "\n" for c in text)
    evil = "x\x1b]0;pwn\x07\x9b2J\x7f\r"
    path = tool.file("names.onnx", named("n\x1b[31m", evil))
    for command in (["run", path, "--input", x], ["bench", path, "--seconds", "0"], ["profile", path], ["graph", path],
                    ["graph", path, "--before"], ["graph", path, "--svg"]):
        text = tool.works(*command)
        tool.test(plain(text), f"{command}: {text!r}")
    result = tool.run("run", path)
    tool.test(result.returncode == 2 and plain(result.stderr) and "x?]0;pwn" in result.stderr, f"no input: {result}")
    result = tool.run("run", path, "--input", x, ANYDML_LOG="debug")
    tool.test(plain(result.stderr), f"messages of the libraries: {result.stderr!r}")
    for letter in ("é", "€", "😀", "\ufffe", "\x85"):
        for shift in range(4):
            path = tool.file("letters.onnx", named("n" * shift + letter * 100, "x" * shift + letter * 100))
            for option in ("--before", "--after"):
                svg = tool.file("letters.svg")
                tool.works("graph", path, "--svg", option, "-o", svg)
                with open(svg, "rb") as file:
                    text = file.read()
                try:
                    xml.etree.ElementTree.fromstring(text.decode("utf-8"))
                    shown = letter in "\ufffe\x85" or letter * 10 in text.decode("utf-8")
                    tool.test(shown, f"{letter!r} is not shown")
                except (UnicodeDecodeError, xml.etree.ElementTree.ParseError) as error:
                    tool.test(False, f"graph --svg with {letter!r}: {error}")


def jpeg_header(width, height, kind=0xC2, scans=1):
    """The markers of an image that holds no data; 0xC2: progressive, of which the decoder keeps all coefficients."""
    def part(marker, body):
        return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body
    quant = part(0xDB, b"\0" + bytes([1] * 64))
    frame = part(kind, struct.pack(">BHHB", 8, height, width, 3) + b"".join(bytes((c, 0x11, 0)) for c in (1, 2, 3)))
    huffman = part(0xC4, b"\0" + bytes([1] + [0] * 15) + b"\0")
    scan = part(0xDA, b"\x03\x01\0\x02\0\x03\0\0\0\0") + bytes(8)
    return b"\xff\xd8" + quant + frame + huffman + scan * scans + b"\xff\xd9"


def check_pictures(tool):
    """Images that are small files and huge in memory, or endless work, are refused before they are decoded."""
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
    for path, why in ((tool.file("pipe.onnx"), "not a regular file"), (tool.file("nothing.onnx"), "it is empty"),
                      (tool.file("zeros.onnx"), "not an ONNX model"), (tool.folder.name, "it is a folder"),
                      ("/dev/null", "not a regular file"), ("/dev/zero", "not a regular file"), ("/nowhere", "No such file")):
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
    """The model is cut short while the command waits for a writer of its input."""
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
    check_trace_ends(tool, x)
    check_stdout(tool, x)
    check_full_disk(tool, x)
    check_outputs(tool, x)
    check_names(tool, x)
    check_pictures(tool)
    check_no_model(tool, x)
    check_lost(tool)
    tool.finish()


if __name__ == "__main__":
    main()
