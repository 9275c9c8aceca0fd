#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The anydml command: test_tool.py ANYDML SAMPLES

Results against numpy, .npy files and images of all kinds, and one line with exit code 2 for everything that a user can get
wrong.
"""
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import numpy as np

import pictures
import reference
import wire
from tool import Tool

# Image.resize((5, 7), BICUBIC) of Pillow 9.4 on pattern(9, 6), its red channel.
PILLOW_5x7 = [[12, 78, 156, 180, 20],
              [126, 143, 69, 138, 150],
              [204, 112, 136, 187, 138],
              [146, 136, 169, 130, 82],
              [94, 162, 131, 64, 68],
              [147, 120, 131, 139, 72],
              [160, 143, 204, 212, 37]]


def pattern(width, height):
    """An image with flat parts, edges and noise, the same everywhere."""
    y, x, c = np.mgrid[0:height, 0:width, 0:3]
    return ((x * 37 + y * 91 + c * 53 + (x * y * 17) % 29 * 5) % 256).astype(np.uint8)


def identity(code, dims):
    return wire.model([wire.node("Identity", ["x"], ["y"])], [("x", code, dims)], [("y", code, dims)])


def check_basics(tool):
    tool.test("anydml 0." in tool.works("--version"), "--version")
    tool.test("usage" in tool.works("--help"), "--help")
    for command in ("devices", "run", "bench", "graph", "ops", "tune", "doctor", "telemetry"):
        tool.test(f"usage: anydml {command}" in tool.works(command, "--help"), f"{command} --help")
    devices = json.loads(tool.works("devices", "--json"))
    tool.test(len(devices) >= 1 and [d["index"] for d in devices] == list(range(len(devices))), "devices --json")
    text = tool.works("devices")
    for device in devices:
        tool.test(device["name"] in text, "devices names " + device["name"])
        tool.test(float(device["feature_level"]) >= 5, "feature level")
    ops = json.loads(tool.works("ops", "--json"))
    names = [op["name"] for op in ops["operators"]]
    tool.test(len(names) == len(set(names)) >= 177, f"ops lists {len(names)} operators")
    runs = {op["name"]: op["devices"] for op in ops["operators"]}
    # A GPU may lack GEMM; every device adds.
    tool.test(any("float32" in types for types in runs["DML_OPERATOR_GEMM"]), "GEMM runs in float32")
    tool.test(all("float32" in types for types in runs["DML_OPERATOR_ELEMENT_WISE_ADD"]), "ADD runs everywhere")
    more = {op["name"]: op["extensions"] for op in ops["operators"]}
    tool.test(any("bfloat16" in types for types in more["DML_OPERATOR_GEMM"]), "GEMM runs in bfloat16")
    heading, *lines = tool.works("ops").splitlines()
    lines = [line for line in lines if line.startswith("DML_OPERATOR_")]  # and not the lines below
    tool.test(len(lines) >= 177 and heading.startswith("operator "), "ops as text")
    bars = [at for at, letter in enumerate(heading) if letter == "|"]
    tool.test(len(bars) == len(next(iter(runs.values()))) and "device 0, " in heading, f"a column for each device: {heading}")
    tool.test(all([at for at, letter in enumerate(line) if letter == "|"] == bars for line in lines), "columns of ops")


def check_usage(tool, model):
    tool.fails([], "missing command")
    tool.fails(["jump"], "unknown command 'jump'")
    for command in ("devices", "run", "bench", "graph", "ops", "telemetry"):
        tool.fails([command, "--bad"], "unknown option '--bad'")
    tool.fails(["devices", "extra"], "unexpected argument 'extra'")
    tool.fails(["run"], "model is missing")
    tool.fails(["bench"], "model is missing")
    tool.fails(["run", model, "--input"], "--input needs a value")
    for option, value in (("--device", "x"), ("--threads", "0"), ("--repeat", "0"), ("--range", "1..0"),
                          ("--range", "5"), ("--mean", "1,2"), ("--std", "0"), ("--layout", "nc")):
        tool.fails(["run", model, option, value], option, value)
    tool.fails(["run", model, "--trace", "/nonexistent/trace.json"], "/nonexistent/trace.json")
    tool.fails(["bench", model, "--seconds", "x"], "--seconds")
    tool.fails(["bench", model, "--input-shape", "picture=1x3xbig"], "picture=1x3xbig")
    tool.fails(["bench", model, "--input-shape", "nothing=1"], "nothing=1", "does not have that input")
    tool.fails(["bench", model, "--input-shape", "picture=1x4x8x8"], "picture=1x4x8x8")
    tool.fails(["bench", model, model], "unexpected argument", model)
    tool.fails(["bench", model, "--trace", "/nonexistent/trace.json"], "/nonexistent/trace.json")
    tool.fails(["bench", model, "--python", "python3"], "--python", "--compare")
    tool.fails(["bench", "--compare"], "model is missing")
    tool.fails(["bench", "--compare", model, "--trace", tool.file("t.json")], "--compare can be combined with")
    tool.fails(["bench", "--compare", model, "--device", "1"], "--compare can be combined with")
    tool.fails(["bench", "--compare", "/nonexistent.onnx"], "/nonexistent.onnx")
    tool.fails(["bench", "--compare", model, "--python", "/nonexistent/python"], "/nonexistent/python", "ANYDML_PYTHON")
    tool.fails(["bench", "--compare", model], "/nonexistent/python", ANYDML_PYTHON="/nonexistent/python")
    for python in (sys.executable + ":/nonexistent/python", sys.executable + ":/bin/false"):
        tool.fails(["bench", "--compare", model, "--python", python], python.split(":")[1])
    tool.fails(["graph"], "model is missing")
    tool.fails(["graph", model, model], "unexpected argument")
    tool.fails(["graph", "/nonexistent.onnx"], "/nonexistent.onnx")
    tool.fails(["graph", model], "picture", "--input-shape")
    tool.fails(["graph", model, "--text", "--svg"], "--text", "--svg")
    tool.fails(["graph", model, "--input-shape", "picture=1x3x8x8", "--input-shape", "picture=1x3x9x9"], "picture=1x3x9x9",
               "picture=1x3x8x8", "already")
    tool.fails(["graph", model, "--after", "--before"], "--before", "--after")
    tool.fails(["graph", model, "-o"], "-o needs a value")
    tool.fails(["graph", model, "--device", "99", "--input-shape", "picture=1x3x8x8"], "device 99")
    tool.fails(["graph", model, "--input-shape", "picture=1x3x8x8", "-o", "/nonexistent/g.svg"], "/nonexistent/g.svg")


def check_models(tool, x):
    tool.fails(["run", "/nonexistent.onnx", "--input", x], "/nonexistent.onnx")
    tool.fails(["run", tool.folder.name, "--input", x], tool.folder.name)
    tool.fails(["run", tool.file("text.onnx", b"This is no model."), "--input", x], "text.onnx")
    tool.fails(["run", tool.file("empty.onnx", b""), "--input", x], "empty.onnx")
    unknown = wire.model([wire.node("Frobnicate", ["x"], ["y"])], [("x", wire.FLOAT, [1, 3, 10, 12])],
                         [("y", wire.FLOAT, [1, 3, 10, 12])])
    tool.fails(["run", tool.file("unknown.onnx", unknown), "--input", x], "Frobnicate")
    loose = wire.model([wire.node("Relu", ["nowhere"], ["y"])], [("x", wire.FLOAT, [1, 3, 10, 12])],
                       [("y", wire.FLOAT, [1, 3, 10, 12])])
    tool.fails(["run", tool.file("loose.onnx", loose), "--input", x], "nowhere")
    clash = wire.model([wire.node("Add", ["x", "w"], ["y"])], [("x", wire.FLOAT, [1, 3, 10, 12])],
                       [("y", wire.FLOAT, [1, 3, 10, 12])], [("w", np.zeros(7, np.float32))])
    tool.fails(["run", tool.file("clash.onnx", clash), "--input", x], "Add")


def check_files(tool, model, x):
    tool.fails(["run", model], "--input is missing", "picture")
    tool.fails(["run", model, "--input", "/nonexistent.npy"], "/nonexistent.npy")
    tool.fails(["run", model, "--input", "/nonexistent.png"], "/nonexistent.png")
    tool.fails(["run", model, "--input", model], ".npy, .png, .jpg or that of a video")
    tool.fails(["run", model, "--input", "nothing=" + x], "nothing=", "picture")
    tool.fails(["run", model, "--input", x, "--input", x], "only 1 input")
    tool.fails(["run", model, "--input", "picture=" + x, "--input", "picture=" + x], "given twice")
    tool.fails(["run", model, "--input", x, "--output", "y.txt"], "y.txt")
    tool.fails(["run", model, "--input", x, "--output", "nothing=y.npy"], "nothing=y.npy", "upscaled")
    tool.fails(["run", model, "--input", x, "--output", "/nonexistent/y.npy"], "/nonexistent/y.npy")
    tool.fails(["run", model, "--input", x, "--device", "99"], "device 99")
    tool.fails(["run", model, "--input", x, "--labels", "/nonexistent.txt"], "/nonexistent.txt")
    for shape in ((1, 4, 10, 12), (3, 10, 12)):
        path = tool.file("shape.npy")
        np.save(path, np.zeros(shape, np.float32))
        tool.fails(["run", model, "--input", path], "picture", str(shape[1]), "height")
    np.save(path, np.zeros((1, 3, 0, 12), np.float32))
    empty = tool.file("empty.npy")
    result = tool.run("run", model, "--input", path, "--output", empty)
    tool.test(result.returncode == 0 and np.load(empty).size == 0, f"an empty picture: {result.stderr.strip()!r}")
    np.save(path, np.zeros((1, 3, 10, 12), np.int32))
    tool.fails(["run", model, "--input", path], "int32", "float32")
    np.save(path, np.zeros((1, 3, 10, 12), np.complex64))
    tool.fails(["run", model, "--input", path], "shape.npy")
    np.save(path, np.zeros((1, 3, 10, 12), ">f4"))
    tool.fails(["run", model, "--input", path], "shape.npy")
    np.save(path, np.asfortranarray(np.zeros((1, 3, 10, 12), np.float32)))
    tool.fails(["run", model, "--input", path], "Fortran")


def check_damaged_inputs(tool, model, x):
    with open(x, "rb") as file:
        good = file.read()
    for size in [*range(0, 140, 7), len(good) - 1]:
        tool.fails(["run", model, "--input", tool.file("cut.npy", good[:size])], "cut.npy")
    for old, new in ((b"(1, 3, 10, 12)", b"(1, 3, 99999, 99999)"), (b"(1, 3, 10, 12)", b"(-1, 3, 10, 12)"),
                     (b"'shape'", b"'sharp'"), (b"'<f4'", b"'<f9'"), (b"'<f4'", b"'<"), (b"'<f4'", b"''"),
                     (b"\x93NUMPY\x01", b"\x93NUMPY\x09"), (b"(1, 3, 10, 12)", b"(1, 3, 10, 12"),
                     (b"(1, 3, 10, 12)", b"(4294967296, 4294967296, 4294967296)")):
        bad = good.replace(old, new)
        tool.fails(["run", model, "--input", tool.file("bad.npy", bad)], "bad.npy")
    png = pictures.png(pattern(12, 10))
    for size in (0, 5, 20, 60, len(png) - 20):
        tool.fails(["run", model, "--input", tool.file("cut.png", png[:size])], "cut.png")
    broken = bytearray(png)
    broken[len(png) // 2] ^= 255
    tool.fails(["run", model, "--input", tool.file("bad.png", bytes(broken))], "bad.png")
    tool.fails(["run", model, "--input", tool.file("bad.jpg", b"\xff\xd8\xff" + b"x" * 50)], "bad.jpg")


def check_network(tool, path, x):
    with open(path, "rb") as file:
        want = reference.upscale(file.read(), np.load(x))
    y = tool.file("y.npy")
    text = tool.works("run", path, "--input", x, "--output", y)
    tool.test("float32[1,3,20,24]" in text and "time" in text, "shapes and time are printed")
    have = np.load(y)
    tool.test(have.dtype == np.float32 and have.shape == want.shape, "shape of the result")
    tool.test(np.abs(have - want).max() < 1e-4, f"network: difference {np.abs(have - want).max()}")
    tool.works("run", path, "--input", "picture=" + x, "--output", "upscaled=" + y, "--repeat", "3", "--threads", "1")
    tool.test(np.abs(np.load(y) - want).max() < 1e-4, "the same by name, repeated, with one thread")
    bench = json.loads(tool.works("bench", path, "--input-shape", "picture=1x3x10x12", "--seconds", "0.1", "--json"))
    tool.test(0 < bench["min_ms"] <= bench["median_ms"] <= bench["p90_ms"] <= bench["p99_ms"] and bench["runs"] >= 5, "bench --json")
    tool.test(bench["device_ms"] > 0 and bench["no_copies_ms"] > 0, f"the parts of a run: {bench}")
    text = tool.works("bench", path, "--input-shape", "picture=1x3x10x12", "--seconds", "0")
    tool.test(all(part in text for part in ("\nrun  ", "\nno copies  ", "\non device  ", "median")), "bench: " + text)


def check_vulkan(tool, path, x):
    """The same on a Vulkan device, where there is one."""
    vulkan = {"ANYDML_ADAPTERS": "vulkan"}
    if tool.run("devices", **vulkan).returncode:
        print("no Vulkan device: not tested there")
        return
    with open(path, "rb") as file:
        want = reference.upscale(file.read(), np.load(x))
    y = tool.file("y.npy")
    tool.works("run", path, "--input", x, "--output", y, **vulkan)
    tool.test(np.abs(np.load(y) - want).max() < 1e-4, f"network on Vulkan: difference {np.abs(np.load(y) - want).max()}")
    bench = json.loads(tool.works("bench", path, "--input-shape", "picture=1x3x10x12", "--seconds", "0", "--json", **vulkan))
    tool.test(bench["device_ms"] > 0 and bench["no_copies_ms"] > 0, f"the parts of a run: {bench}")
    graph = tool.works("graph", path, "--input-shape", "picture=1x3x10x12", **vulkan)
    tool.test("\nplan: " in graph and "\n#0 " in graph, f"the plan: {graph}")
    tool.test(tool.works("graph", path, "--input-shape", "picture=1x3x10x12", ANYDML_VULKAN_CAPS="", **vulkan) == graph,
              "ANYDML_VULKAN_CAPS that is empty: all of them")
    check_trace(tool, path, x, "vulkan")


def check_trace(tool, path, x, adapter):
    """One run and its steps, each within it and behind the one before, with what they did and how fast."""
    device = {"ANYDML_ADAPTERS": adapter}
    how = ("threads", "dispatches")[adapter == "vulkan"]
    trace = tool.file("trace.json")
    text = tool.works("run", path, "--input", x, "--trace", trace, "--threads", "1", **device)
    with open(trace, encoding="utf-8") as file:
        data = json.load(file)
    runs = [e for e in data["traceEvents"] if e["cat"] == "run"]
    steps = [e for e in data["traceEvents"] if e["cat"] == "step"]
    tool.test(len(runs) == 1 and len(data["traceEvents"]) == len(steps) + 1, "the trace has one run")
    tool.test(f"trace   {len(steps)} steps" in text and trace in text, f"the trace is reported: {text}")
    tool.test(data["otherData"]["peak_gflops"] > 0 and data["otherData"]["peak_gb_per_s"] > 0, "peaks are measured")
    begin, end = runs[0]["ts"], runs[0]["ts"] + runs[0]["dur"]
    for step in steps:
        args = step["args"]
        tool.test(begin - 1e-2 <= step["ts"] and step["ts"] + step["dur"] <= end + 1e-2, "steps lie in the run")
        begin = step["ts"]
        tool.test(args["kernel"] and "->" in args["shapes"] and args[how] >= 1 and args["roofline"] > 0, f"a step: {step}")
        moved, seconds = args["bytes_read"] + args["bytes_written"], step["dur"] / 1e6
        tool.test(abs(args["rate_gb_per_s"] - moved / seconds / 1e9) <= 0.02 * args["rate_gb_per_s"] + 0.01, "GB/s")
    total = sum(step["args"]["flops"] for step in steps)
    tool.test(total == runs[0]["args"]["flops"] > 0, "operations of the steps and of the run")
    tool.works("bench", path, "--input-shape", "picture=1x3x10x12", "--seconds", "0", "--trace", trace, **device)
    with open(trace, encoding="utf-8") as file:
        tool.test(len(json.load(file)["traceEvents"]) == len(steps) + 1, "bench --trace")
    check_profile(tool, path, len(steps), device)


def check_profile(tool, path, steps, device):
    """The dearest steps, dearest first, each with what bounds it."""
    shape = ["--input-shape", "picture=1x3x10x12"]
    for command in ["bench", path, *shape, "--seconds", "0", "--profile"], ["profile", path, *shape]:
        text = tool.works(*command, **device)
        lines = text[text.find("profile "):].splitlines()
        rows = [line.split() for line in lines[2:]]
        tool.test(f"in {steps} steps" in lines[0] and len(rows) == min(steps, 10), f"{command}: {lines}")
        tool.test(all(row[3] in ("compute", "memory", "cache", "-") for row in rows), f"what bounds each step: {lines}")
        times = [float(row[0]) for row in rows]
        tool.test(times == sorted(times, reverse=True), f"dearest first: {lines}")
    tool.fails(["profile", path, "--seconds", "1"], "unknown option")
    tool.fails(["profile"], "the model is missing")
    table = tool.works("bench", path, "--input-shape", "picture=1x3x10x12", "--seconds", "0", "--devices", "all",
                       **device).splitlines()
    tool.test(len(table) >= 2 and all(float(line.split()[2]) > 0 for line in table[1:]), f"bench --devices: {table}")
    tool.fails(["bench", path, "--devices", "1"], "--devices must be 'all'")
    tool.fails(["bench", path, "--devices", "all", "--json"], "--devices does not go with")
    tool.fails(["bench", "/no/such/model.onnx", "--devices", "all"], "/no/such/model.onnx")
    tool.fails(["bench", path, "--profile", "--json"], "--profile does not go with --json")


def check_costs(tool):
    """A product of 7 x 5 and 5 x 3 matrices is 210 operations; with a constant one there is nothing else."""
    model = tool.file("product.onnx", wire.model([wire.node("MatMul", ["x", "w"], ["y"])], [("x", wire.FLOAT, [7, 5])],
                                                 [("y", wire.FLOAT, [7, 3])], [("w", np.ones((5, 3), np.float32))]))
    trace = tool.file("trace.json")
    tool.works("bench", model, "--seconds", "0", "--trace", trace, ANYDML_ADAPTERS="cpu")
    with open(trace, encoding="utf-8") as file:
        steps = [e["args"] for e in json.load(file)["traceEvents"] if e["cat"] == "step"]
    tool.test([s["flops"] for s in steps] == [210], f"operations of a product: {steps}")
    tool.test(steps[0]["bytes_read"] == 4 * (35 + 15) and steps[0]["bytes_written"] == 4 * 21, "bytes of a product")


def check_graph(tool, path):
    shape = ["--input-shape", "picture=1x3x10x12"]
    after = tool.works("graph", path, *shape, ANYDML_ADAPTERS="cpu")
    tool.test(after.startswith("graph: 1 inputs") and "\nplan: " in after and "(at least " in after and
              "\n#0 " in after, "graph --after --text")
    before = tool.works("graph", path, *shape, "--before", "--text", ANYDML_ADAPTERS="cpu")
    tool.test(before.count(" ; node ") > after.partition("plan: ")[0].count(" ; node ") and "plan: " not in before,
              "passes leave fewer operators")
    for option in ("--before", "--after"):
        svg = tool.file("graph.svg")
        tool.test(tool.works("graph", path, *shape, "--svg", option, "-o", svg, ANYDML_ADAPTERS="cpu") == "",
                  "a picture goes to its file")
        root = xml.etree.ElementTree.parse(svg).getroot()
        text = " ".join(t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text"))
        nodes = (before if option == "--before" else after.partition("plan: ")[2]).count(" ; node ")
        tool.test(f"{nodes} operators" in text and "conv" in text and "f32[1,3,10,12]" in text, f"graph --svg {option}")
        tool.test(("temporary buffer" in text) == (option == "--after"), "the memory belongs to the plan")
    tool.test("<svg" in tool.works("graph", path, *shape, "--svg", ANYDML_ADAPTERS="cpu"), "a picture on stdout")
    tool.test(tool.works("graph", path, *shape, "-o", "/dev/stdout", ANYDML_ADAPTERS="cpu") == after, "a pipe without a path")


def check_types(tool):
    """Every type goes in and comes out unchanged; others are converted where nothing is lost."""
    values = np.array([[0, 1, 2, 100], [7, 5, 3, 1]])
    x, y = tool.file("x.npy"), tool.file("y.npy")
    for code, numpy in wire.TYPES.items():
        model = tool.file("identity.onnx", identity(code, [2, "n"]))
        np.save(x, values.astype(numpy))
        tool.works("run", model, "--input", x, "--output", y)
        have = np.load(y)
        tool.test(have.dtype == numpy and np.array_equal(have, values.astype(numpy)), f"round trip of {numpy}")
    model = tool.file("identity.onnx", identity(wire.INT32, [2, 4]))
    for numpy in (np.uint8, np.int16, np.int64, np.uint64):
        np.save(x, values.astype(numpy))
        tool.works("run", model, "--input", x, "--output", y)
        tool.test(np.array_equal(np.load(y), values), f"{numpy} to int32")
    np.save(x, values << 40)
    tool.fails(["run", model, "--input", x], "does not fit", "int32")
    model = tool.file("identity.onnx", identity(wire.FLOAT16, [3]))
    np.save(x, np.array([0.1, -65504, 1e-7]))
    tool.works("run", model, "--input", x, "--output", y)
    tool.test(np.array_equal(np.load(y), np.array([0.1, -65504, 1e-7], np.float16)), "float64 to float16")


def check_symbols(tool):
    model = tool.file("add.onnx", wire.model([wire.node("Add", ["a", "b"], ["y"])],
                                             [("a", wire.FLOAT, ["n", 2]), ("b", wire.FLOAT, ["n", 2])],
                                             [("y", wire.FLOAT, ["n", 2])]))
    a, b, y = tool.file("a.npy"), tool.file("b.npy"), tool.file("y.npy")
    np.save(a, np.ones((3, 2), np.float32))
    np.save(b, np.arange(6, dtype=np.float32).reshape(3, 2))
    tool.works("run", model, "--input", "b=" + b, "--input", a, "--output", y)
    tool.test(np.array_equal(np.load(y), np.load(a) + np.load(b)), "two inputs, one by name")
    np.save(b, np.ones((4, 2), np.float32))
    tool.fails(["run", model, "--input", a, "--input", b], "'n'", "3", "4")


def check_labels(tool):
    model = tool.file("identity.onnx", identity(wire.FLOAT, [1, 6]))
    x, labels = tool.file("x.npy"), tool.file("labels.txt", b"zero\none\ntwo\nthree\nfour\nfive\n")
    np.save(x, np.array([[3, 9, 1, 7, 5, 2]], np.float32))
    lines = tool.works("run", model, "--input", x, "--labels", labels).splitlines()
    top = [line.split()[-1] for line in lines if line.startswith("  ")]
    tool.test(top == ["one", "three", "four", "zero", "five"], f"top five: {top}")


def check_folders(tool):
    """Each file of a folder once, in the order of their names, with shapes that change and outputs under the same names."""
    model = tool.file("free.onnx", identity(wire.FLOAT, [1, 3, "h", "w"]))
    inputs, outputs = tool.file("in"), tool.file("out")
    os.mkdir(inputs)
    os.mkdir(outputs)
    tool.fails(["run", model, "--input", inputs], "no .npy, .png or .jpg")
    drawn = {"c.png": pattern(9, 6), "a.png": pattern(9, 6)[::-1].copy(), "b.png": pattern(5, 8),
             "d.png": pattern(5, 8)[:, ::-1].copy()}
    for name, pixels in drawn.items():
        tool.file("in/" + name, pictures.png(pixels))
    array = np.random.default_rng().random((1, 3, 4, 5), np.float32)
    np.save(os.path.join(inputs, "e.npy"), array)
    tool.file("in/notes.txt", b"no device found")
    lines = tool.works("run", model, "--input", inputs, "--output", outputs).splitlines()
    read = [line.rsplit("/", 1)[1] for line in lines if line.startswith("input")]
    tool.test(read == ["a.png", "b.png", "c.png", "d.png", "e.npy"], f"files in order: {read}")
    tool.test(lines[-1].startswith("time    5 files in ") and " per second" in lines[-1], f"throughput: {lines[-1]}")
    tool.test(sorted(os.listdir(outputs)) == read, "results under the same names")
    for name, pixels in drawn.items():
        tool.test(np.array_equal(pictures.read_png(os.path.join(outputs, name)), pixels), f"{name} of a folder")
    tool.test(np.array_equal(np.load(os.path.join(outputs, "e.npy")), array), "e.npy of a folder")
    tool.fails(["run", model, "--input", inputs, "--repeat", "2"], "--repeat", "one image")
    tool.fails(["run", model, "--input", inputs, "--output", tool.file("y.npy")], "folder for outputs")
    tool.file("in/f.png", b"no picture")
    result = tool.run("run", model, "--input", inputs)
    tool.test(result.returncode == 2 and result.stderr.count("\n") == 1 and "f.png" in result.stderr, f"a bad file: {result.stderr}")

    add = tool.file("add.onnx", wire.model([wire.node("Add", ["a", "b"], ["y"])],
                                           [("a", wire.FLOAT, ["n", 2]), ("b", wire.FLOAT, ["n", 2])], [("y", wire.FLOAT, ["n", 2])]))
    b, numbers = tool.file("b.npy"), tool.file("numbers")
    np.save(b, np.ones((3, 2), np.float32))
    os.mkdir(numbers)
    for i in range(3):
        np.save(os.path.join(numbers, f"{i}.npy"), np.full((3, 2), i, np.float32))
    tool.fails(["run", add, "--input", "b=" + b, "--input", numbers, "--output", numbers], "0.npy is an input")
    sums = tool.file("sums")
    os.mkdir(sums)
    tool.works("run", add, "--input", "b=" + b, "--input", numbers, "--output", sums)
    for i in range(3):
        tool.test((np.load(os.path.join(numbers, f"{i}.npy")) == i).all(), f"{i}.npy stays as it was")
        tool.test((np.load(os.path.join(sums, f"{i}.npy")) == i + 1).all(), f"{i}.npy and an input that stays")
    np.save(os.path.join(numbers, "3.npy"), np.zeros((4, 2), np.float32))
    tool.fails(["run", add, "--input", numbers, "--input", numbers], "only one input may be a folder")
    result = tool.run("run", add, "--input", "a=" + numbers, "--input", b)
    tool.test(result.returncode == 2 and "dimension 'n'" in result.stderr, f"sizes that do not fit: {result.stderr}")


def check_pictures(tool):
    x = pattern(9, 6)
    y = tool.file("y.npy")
    free = tool.file("free.onnx", identity(wire.FLOAT, [1, 3, "h", "w"]))
    grey, indices = x[:, :, :1], (x[:, :, :1] % 4).astype(np.uint8)
    palette = np.array([[1, 2, 3], [50, 60, 70], [255, 0, 9], [7, 250, 100]], np.uint8)
    kinds = {
        "rgb": (pictures.png(x), x),
        "rgba": (pictures.png(np.concatenate([x, 255 - grey], 2)), x),
        "grey": (pictures.png(grey), grey.repeat(3, 2)),
        "greya": (pictures.png(np.concatenate([grey, grey], 2)), grey.repeat(3, 2)),
        "deep": (pictures.png(x.astype(np.uint16) * 257), x),
        "palette": (pictures.png(indices, palette), palette[indices[:, :, 0]]),
    }
    for kind, (png, want) in kinds.items():
        tool.works("run", free, "--input", tool.file(kind + ".png", png), "--output", y)
        have = np.load(y)[0].transpose(1, 2, 0) * 255
        tool.test(have.shape == want.shape and np.abs(have - want).max() < 1e-3, f"PNG of kind {kind}")
    rgb = tool.file("rgb.png")
    tool.works("run", free, "--input", rgb, "--output", y, "--range", "-1..1", "--mean", "0.5,0,1", "--std", "2")
    want = (x / 127.5 - 1 - [0.5, 0, 1]) / 2
    tool.test(np.abs(np.load(y)[0].transpose(1, 2, 0) - want).max() < 1e-5, "range, mean and std")
    bytes_model = tool.file("bytes.onnx", identity(wire.UINT8, ["h", "w", 3]))
    tool.works("run", bytes_model, "--input", rgb, "--output", y, "--layout", "nhwc")
    tool.test(np.array_equal(np.load(y), x), "uint8, channels last")
    luma = tool.file("luma.onnx", identity(wire.FLOAT, [1, 1, "h", "w"]))
    tool.works("run", luma, "--input", rgb, "--output", y, "--range", "0..255")
    want = x @ np.array([0.299, 0.587, 0.114])
    tool.test(np.abs(np.load(y)[0, 0] - want).max() <= 0.51, "luma")
    many = tool.file("many.onnx", identity(wire.FLOAT, [2, 5, 4, 4]))
    tool.fails(["run", many, "--input", rgb], "channels")


def check_written_pictures(tool):
    x = pattern(9, 6)
    free = tool.file("free.onnx", identity(wire.FLOAT, [1, 3, "h", "w"]))
    rgb, out, back = tool.file("rgb.png", pictures.png(x)), tool.file("out.png"), tool.file("back.npy")
    tool.works("run", free, "--input", rgb, "--output", out)
    tool.test(np.array_equal(pictures.read_png(out), x), "a picture comes out as it went in")
    flat = tool.file("flat.png", pictures.png(np.full((16, 16, 3), (200, 100, 50), np.uint8)))
    jpeg = tool.file("out.jpg")
    tool.works("run", free, "--input", flat, "--output", jpeg)
    tool.works("run", free, "--input", jpeg, "--output", back, "--range", "0..255")
    tool.test(np.abs(np.load(back)[0, :, 8, 8] - [200, 100, 50]).max() <= 3, "JPEG, written and read")
    path = tool.file("wild.npy")
    np.save(path, np.array([-5, 0, 0.5, 1, 9, np.nan] * 3, np.float32).reshape(1, 3, 1, 6))
    tool.works("run", free, "--input", path, "--output", out)
    tool.test(pictures.read_png(out)[0, :5, 0].tolist() == [0, 0, 128, 255, 255], "values outside 0..1 are clamped")
    line = tool.file("line.onnx", identity(wire.FLOAT, [4]))
    np.save(path, np.zeros(4, np.float32))
    tool.fails(["run", line, "--input", path, "--output", out], "not an image")


def check_resizing(tool):
    """Against Pillow's own results, both ways at once."""
    model, y = tool.file("fixed.onnx", identity(wire.UINT8, [1, 3, 7, 5])), tool.file("y.npy")
    tool.works("run", model, "--input", tool.file("rgb.png", pictures.png(pattern(9, 6))), "--output", y)
    have = np.load(y)[0, 0].tolist()
    tool.test(have == PILLOW_5x7, f"bicubic resizing: {have}")


def check_tune(tool):
    """What `anydml tune` measures is read by later compilations, and no harm is done by what is not what it wrote."""
    model = tool.file("product.onnx", identity(wire.FLOAT, [1, 3, 8, 8]))
    place = {"ANYDML_CACHE_DIR": tool.file("cache"), "ANYDML_TUNING": "on", "ANYDML_THREADS": "1"}

    def said(**more):
        run = tool.run("bench", model, "--seconds", "0", ANYDML_LOG="debug", **{**place, **more})
        tool.test(run.returncode == 0, f"bench: {run.stderr[-300:]}")
        return "\n".join(line for line in run.stderr.splitlines() if "tuning" in line)
    tool.test("No such file" in said(), "nothing was measured yet")
    if not os.environ.get("ANYDML_CPU_FLAGS"):  # the file's name depends on the instruction sets
        tool.test(said(ANYDML_CPU_FLAGS="") == said(), "ANYDML_CPU_FLAGS that is empty: all of them")
    found = json.loads(tool.works("tune", "--threads", "1", "--json", "--force", **place))
    tool.test(os.listdir(place["ANYDML_CACHE_DIR"]) == [os.path.basename(found["file"])], "one file")
    tool.test(len(found["points"]) > 10 and all(p["seconds"][0] > 0 and 0.1 <= p["correction"] <= 10
                                                for p in found["points"]), "measurements")
    tool.test("is used" in said(), "the file is used")
    tool.test(said(ANYDML_TUNING="off") == "", "ANYDML_TUNING=off")
    tool.test("No such file" in said(ANYDML_THREADS="2"), "another number of threads")
    with open(found["file"], "r+b") as file:
        file.truncate(200)
    tool.test("damaged" in said() or "another" in said(), "a damaged file")
    tool.fails(["tune", "--threads", "1", "--force"], "/dev/null/cache", ANYDML_CACHE_DIR="/dev/null/cache")
    tool.works("tune", "--threads", "1", "--force", **place)
    tool.test("is used" in said(), "measured again")
    os.chmod(found["file"], 0o666)
    tool.test("not permitted" in said(), "a file that others may write")
    os.chmod(found["file"], 0o600)
    os.rename(found["file"], found["file"] + ".txt")
    os.symlink(found["file"] + ".txt", found["file"])
    tool.test("symbolic links" in said(), "a link")
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        busy = tool.run("tune", "--threads", "1", **place)
        tool.test(busy.returncode == 1 and "the machine is busy" in busy.stderr and busy.stdout == "",
                  f"a busy machine: {busy.returncode}, {busy.stderr}")
    finally:
        loop.kill()
        loop.wait()


def check_interrupt(tool, model):
    """Ctrl-C ends a comparison in one line, and with it all that it began."""
    run = subprocess.Popen([tool.path, "bench", "--compare", model, "--seconds", "30"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    for _ in range(1200):  # until it is Python, which the name may be a script for, and has begun something
        python = "python" in os.path.basename(os.readlink(f"/proc/{run.pid}/exe"))
        with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
            if python and file.read().strip():
                break
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    tool.test(run.returncode == -signal.SIGINT and "Traceback" not in err and err.splitlines()[-1:] == ["anydml bench: interrupted"],
              f"Ctrl-C: {run.returncode}, {err[-500:]}")


def check_environment(tool, model):
    """A value that a variable cannot have is reported once, whatever else the command does."""
    for name, value, said in (("ANYDML_THREADS", "many", "1 to 4096"), ("ANYDML_LOG", "loud", "debug"),
                              ("ANYDML_CPU_FLAGS", "avx2,sse9", '"sse9"'), ("ANYDML_TUNING", "maybe", "on or off"),
                              ("ANYDML_ADAPTERS", "cpu,gpu", '"gpu"'), ("ANYDML_DISABLE_PASS", "views,all_of_them", '"all_of_them"')):
        run = tool.run("bench", model, "--seconds", "0", **{name: value})
        lines = run.stderr.splitlines()
        tool.test(run.returncode == 0 and len(lines) == 1 and name in lines[0] and said in lines[0],
                  f"{name}={value}: {run.returncode}, {run.stderr!r}")
    empty = dict.fromkeys(("THREADS", "LOG", "CPU_FLAGS", "TUNING", "ADAPTERS", "DISABLE_PASS", "HALF_PRECISION", "METACOMMANDS",
                           "VULKAN_CAPS", "VULKAN_WATCHDOG", "VULKAN_HARDWARE", "PIPELINE_CACHE"), "")
    run = tool.run("bench", model, "--seconds", "0", **{f"ANYDML_{name}": value for name, value in empty.items()})
    tool.test(run.returncode == 0 and not run.stderr, f"variables that are empty: {run.returncode}, {run.stderr!r}")
    for command in (["devices"], ["bench", model]):
        tool.fails(command, "ANYDML_ADAPTERS=foo", ANYDML_ADAPTERS="foo")
    run = tool.run("devices", ANYDML_LOG="info")
    tool.test('device on adapter 0, "' in run.stderr, f"the log names adapters: {run.stderr!r}")
    run = tool.run("devices", ANYDML_LOG="error", ANYDML_ADAPTERS="foo")
    tool.test(run.stderr.count("no adapter found") == 1, f"the log says that there is none: {run.stderr!r}")


def check_partial(tool, model, x):
    """A file that a command could not write completely is as it was before."""
    y = tool.file("kept.npy", b"before")
    tool.fails(["run", model, "--input", x, "--output", y, "--device", "999"], "device")
    with open(y, "rb") as file:
        tool.test(file.read() == b"before", "an output of a run that failed")
    os.chmod(y, 0o640)
    tool.works("run", model, "--input", x, "--output", y)
    tool.test(os.stat(y).st_mode & 0o777 == 0o640, "the mode of a file that was there")
    link = tool.file("link.npy")
    os.symlink("kept.npy", link)
    tool.works("run", model, "--input", x, "--output", link)
    tool.test(os.path.islink(link) and np.load(y).size > 1, "a link")
    small = ["bash", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "bash", tool.path, "run", model, "--input", x, "--output", y]
    before = os.stat(y).st_size
    run = subprocess.run(small, capture_output=True, text=True, check=False)
    tool.test(run.returncode == 1 and "completely" in run.stderr and os.stat(y).st_size == before,
              f"a full disk: {run.returncode}, {run.stderr}")
    left = [name for name in os.listdir(os.path.dirname(y)) if ".npy." in name]
    tool.test(not left, f"left behind: {left}")


def main():
    tool = Tool(sys.argv[1])
    model = os.path.join(sys.argv[2], "data", "super_resolution_x2.onnx")
    x = tool.file("picture.npy")
    np.save(x, pattern(12, 10).transpose(2, 0, 1)[None].astype(np.float32) / 255)
    check_basics(tool)
    check_usage(tool, model)
    check_models(tool, x)
    check_files(tool, model, x)
    check_damaged_inputs(tool, model, x)
    check_network(tool, model, x)
    check_vulkan(tool, model, x)
    check_trace(tool, model, x, "cpu")
    check_costs(tool)
    check_graph(tool, model)
    check_types(tool)
    check_symbols(tool)
    check_labels(tool)
    check_folders(tool)
    check_pictures(tool)
    check_written_pictures(tool)
    check_resizing(tool)
    check_tune(tool)
    check_environment(tool, tool.file("fixed.onnx", identity(wire.FLOAT, [1, 3, 8, 8])))
    check_partial(tool, model, x)
    check_interrupt(tool, tool.file("fixed.onnx"))
    tool.finish()


if __name__ == "__main__":
    main()
