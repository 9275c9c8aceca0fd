#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""anydml dispatch: operators and graphs in JSON against numpy, data in files, what is refused and how, and the JSON
Schema. test_dispatch.py ANYDML SAMPLES"""
import copy
import glob
import json
import os
import sys

import numpy as np

from tool import Tool

DTYPES = {"FLOAT32": np.float32, "FLOAT16": np.float16, "FLOAT64": np.float64, "INT8": np.int8, "UINT8": np.uint8,
          "INT16": np.int16, "UINT16": np.uint16, "INT32": np.int32, "UINT32": np.uint32, "INT64": np.int64,
          "UINT64": np.uint64}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def tensor(shape, dtype=np.float32, **more):
    return {"DataType": NAMES[np.dtype(dtype)], "Sizes": list(shape), **more}


def like(array, **more):
    return tensor(array.shape, array.dtype, **more)


def operator(name, inputs, **desc):
    """A file of one operator: input tensors with their data, other fields."""
    data = {key: value.tolist() for key, value in inputs.items()}
    fields = {key: like(value) for key, value in inputs.items()}
    return {"type": "DML_OPERATOR_" + name, "desc": {**fields, **desc}, "inputs": data}


class Dispatch:
    def __init__(self, tool):
        self.tool = tool
        self.count = 0

    def write(self, content):
        self.count += 1
        return self.tool.file(f"case{self.count}.json", (content if isinstance(content, str) else
                                                         json.dumps(content)).encode())

    def outputs(self, content, *args):
        text = self.tool.works("dispatch", self.write(content), "--json", *args)
        try:
            made = json.loads(text)["outputs"]
        except ValueError:
            return {}
        return {name: np.array([float(v) if isinstance(v, str) and not v.isdigit() else int(v) if isinstance(v, str)
                                else v for v in out["values"]], object).astype(DTYPES[out["DataType"]]).reshape(out["Sizes"])
                for name, out in made.items()}

    def check(self, what, content, tolerance=0, **expected):
        made = self.outputs(content)
        for name, want in expected.items():
            got = made.get(name)
            fine = got is not None and got.shape == want.shape and np.allclose(
                got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance, equal_nan=True)
            self.tool.test(fine, f"{what}: {name} is {got}, wanted {want}")

    def refuses(self, content, *fragments):
        self.tool.fails(["dispatch", self.write(content)], *fragments)


# ---- operators ----

def test_elementwise(d, g):
    a, b = g.normal(size=(2, 3, 4)).astype(np.float32), g.normal(size=(2, 3, 4)).astype(np.float32)
    d.check("add", operator("ELEMENT_WISE_ADD", {"ATensor": a, "BTensor": b}, OutputTensor=like(a)), OutputTensor=a + b)
    d.check("scale and bias", operator("ELEMENT_WISE_IDENTITY", {"InputTensor": a}, OutputTensor=like(a),
                                       ScaleBias={"Scale": 2, "Bias": -0.5}), 1e-6, OutputTensor=2 * a - 0.5)
    half = a.astype(np.float16)
    d.check("float16", operator("ELEMENT_WISE_ABS", {"InputTensor": half}, OutputTensor=like(half), ScaleBias=None),
            OutputTensor=np.abs(half))
    special = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    case = operator("ELEMENT_WISE_IDENTITY", {"InputTensor": special}, OutputTensor=like(special))
    case["inputs"]["InputTensor"] = ["nan", "inf", "-inf", 1]
    d.check("special numbers", case, OutputTensor=special)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        info = np.iinfo(dtype)
        x = np.array([info.min, 0, info.max], dtype)
        case = operator("ELEMENT_WISE_IDENTITY", {"InputTensor": x}, OutputTensor=like(x))
        case["inputs"]["InputTensor"] = [str(v) if v > 2**63 - 1 else v for v in x.tolist()]
        made = d.outputs(case).get("OutputTensor")
        d.tool.test(made is not None and made.tolist() == x.tolist(), f"{dtype}: {made}")
    x = np.array([3, -7, 2**40, -2**62], np.int64)
    d.check("int64", operator("ELEMENT_WISE_CLIP1", {"InputTensor": x}, OutputTensor=like(x), MinMaxDataType="INT64",
                              Min=-10, Max=2**33), OutputTensor=np.clip(x, -10, 2**33))
    d.check("fill", operator("FILL_VALUE_CONSTANT", {}, OutputTensor=tensor([2, 2], np.uint8),
                             ValueDataType="DML_TENSOR_DATA_TYPE_UINT8", Value=200),
            OutputTensor=np.full((2, 2), 200, np.uint8))


def test_dense(d, g):
    a, b = g.normal(size=(1, 1, 5, 7)).astype(np.float32), g.normal(size=(1, 1, 6, 7)).astype(np.float32)
    c = g.normal(size=(1, 1, 5, 6)).astype(np.float32)
    want = 0.5 * a.astype(np.float64) @ np.swapaxes(b, 2, 3).astype(np.float64)
    gemm = operator("GEMM", {"ATensor": a, "BTensor": b}, CTensor=None, OutputTensor=tensor(c.shape), TransA="NONE",
                    TransB="DML_MATRIX_TRANSFORM_TRANSPOSE", Alpha=0.5, Beta=1)
    d.check("gemm", gemm, 1e-5, OutputTensor=want)
    gemm["desc"]["CTensor"] = like(c, Flags="OWNED_BY_DML")
    gemm["inputs"]["CTensor"] = c.tolist()
    gemm["desc"]["FusedActivation"] = {"type": "DML_OPERATOR_ACTIVATION_LEAKY_RELU", "desc": {"Alpha": 0.25}}
    want = want + c
    d.check("gemm, owned C, leaky", gemm, 1e-5, OutputTensor=np.where(want > 0, want, 0.25 * want))
    strided = operator("GEMM", {"ATensor": a, "BTensor": b}, OutputTensor=tensor(c.shape, Strides=[64, 64, 12, 2]),
                       TransA="NONE", TransB="TRANSPOSE", Alpha=1, Beta=0)
    strided["desc"]["ATensor"]["Strides"] = [35, 35, 1, 5]
    d.check("gemm, strides", strided, 1e-5, OutputTensor=a.astype(np.float64) @ np.swapaxes(b, 2, 3))
    x, w = g.normal(size=(1, 2, 5, 5)).astype(np.float32), g.normal(size=(3, 2, 3, 3)).astype(np.float32)
    want = np.zeros((1, 3, 3, 3))
    for i in range(3):
        for k in range(3):
            want[0, :, i, k] = np.einsum("chw,ochw->o", x[0, :, i:i + 3, k:k + 3].astype(np.float64), w)
    d.check("convolution", operator("CONVOLUTION", {"InputTensor": x, "FilterTensor": w}, BiasTensor=None,
                                    OutputTensor=tensor(want.shape), Mode="CROSS_CORRELATION", Direction="FORWARD",
                                    Strides=[1, 1], Dilations=[1, 1], StartPadding=[0, 0], EndPadding=[0, 0],
                                    OutputPadding=[0, 0], GroupCount=1), 1e-4, OutputTensor=want)


def test_shapes(d, g):
    x = g.normal(size=(2, 3, 4)).astype(np.float32)
    d.check("reduce", operator("REDUCE", {"InputTensor": x}, OutputTensor=tensor([2, 1, 4]), Function="SUM", Axes=[1]),
            1e-5, OutputTensor=x.astype(np.float64).sum(1, keepdims=True))
    d.check("join", operator("JOIN", {}, InputTensors=[tensor([1, 2], np.int32), tensor([1, 3], np.int32)],
                             OutputTensor=tensor([1, 5], np.int32), Axis=1) |
            {"inputs": {"InputTensors[0]": [1, 2], "InputTensors[1]": [3, 4, 5]}},
            OutputTensor=np.array([[1, 2, 3, 4, 5]], np.int32))
    d.check("split", operator("SPLIT", {"InputTensor": np.arange(5, dtype=np.uint8)},
                              OutputTensors=[tensor([2], np.uint8), tensor([3], np.uint8)], Axis=0),
            **{"OutputTensors[0]": np.array([0, 1], np.uint8), "OutputTensors[1]": np.array([2, 3, 4], np.uint8)})
    d.check("slice", operator("SLICE1", {"InputTensor": x}, OutputTensor=tensor([2, 2, 2]), DimensionCount=3,
                              InputWindowOffsets=[0, 1, 0], InputWindowSizes=[2, 2, 4], InputWindowStrides=[1, 1, -2]),
            OutputTensor=x[:, 1:3, ::-2])
    d.check("upsample", operator("UPSAMPLE_2D", {"InputTensor": x[None, :1, :2, :2]}, OutputTensor=tensor([1, 1, 4, 6]),
                                 ScaleSize={"Width": 3, "Height": 2}, InterpolationMode="NEAREST_NEIGHBOR"),
            OutputTensor=x[None, :1, :2, :2].repeat(2, 2).repeat(3, 3))
    values = np.array([[3, 1, 2, 5]], np.float32)
    d.check("top k", operator("TOP_K1", {"InputTensor": values}, OutputValueTensor=tensor([1, 2]),
                              OutputIndexTensor=tensor([1, 2], np.uint32), Axis=1, K=2, AxisDirection="DECREASING"),
            OutputValueTensor=np.array([[5, 3]], np.float32), OutputIndexTensor=np.array([[3, 0]], np.uint32))


def test_recurrent(d, g):
    x, w = g.normal(size=(1, 3, 1, 2)).astype(np.float32), g.normal(size=(1, 1, 4, 2)).astype(np.float32)
    r = g.normal(size=(1, 1, 4, 4)).astype(np.float32)
    h, want = np.zeros(4), []
    for step in range(3):
        h = np.tanh(w[0, 0].astype(np.float64) @ x[0, step, 0] + r[0, 0].astype(np.float64) @ h)
        want.append(h)
    d.check("rnn", operator("RNN", {"InputTensor": x, "WeightTensor": w, "RecurrenceTensor": r},
                            OutputSequenceTensor=tensor([3, 1, 1, 4]),
                            ActivationDescs=[{"type": "DML_OPERATOR_ACTIVATION_TANH"}], Direction="FORWARD"),
            1e-5, OutputSequenceTensor=np.array(want).reshape(3, 1, 1, 4))


def test_graph(d, g):
    x, w = g.normal(size=(3, 4)).astype(np.float32), g.normal(size=(4, 2)).astype(np.float32)
    gemm = {"ATensor": like(x), "BTensor": like(w), "OutputTensor": tensor([3, 2]), "TransA": "NONE", "TransB": "NONE",
            "Alpha": 1, "Beta": 0}
    sum_ = {"ATensor": tensor([3, 2]), "BTensor": tensor([3, 2]), "OutputTensor": tensor([3, 2])}
    graph = {"graph": {"nodes": [{"name": "g", "type": "DML_OPERATOR_GEMM", "desc": gemm},
                                 {"name": "s.t", "type": "DML_OPERATOR_ELEMENT_WISE_ADD", "desc": sum_},
                                 {"name": "two", "constant": 2}],
                       "edges": [{"input": "x", "to": "g.ATensor"}, {"input": "w", "to": "g.BTensor"},
                                 {"from": "g.OutputTensor", "to": "s.t.ATensor"}, {"from": "two", "to": "s.t.BTensor"},
                                 {"from": "s.t.OutputTensor", "output": "y"}]},
             "inputs": {"x": x.tolist(), "w": w.tolist()}}
    want = x.astype(np.float64) @ w
    d.check("graph", graph, 1e-5, y=want + 2)
    both = copy.deepcopy(graph)
    both["graph"]["edges"].append({"from": "g.OutputTensor", "output": "product"})
    d.check("graph of two outputs", both, 1e-5, y=want + 2, product=want)
    owned = copy.deepcopy(graph)
    owned["graph"]["nodes"][0]["desc"]["BTensor"]["Flags"] = "OWNED_BY_DML"
    d.check("graph with owned weights", owned, 1e-5, y=want + 2)

    def broken(change, *fragments):
        case = copy.deepcopy(graph)
        change(case["graph"])
        d.refuses(case, *fragments)
    broken(lambda c: c["edges"][0].update(to="g.Atensor"), "graph.edges[0].to", '"g.Atensor"')
    broken(lambda c: c["edges"][0].update(to="h.ATensor"), "graph.edges[0].to", '"h.ATensor"')
    broken(lambda c: c["edges"][2].update({"from": "g.CTensor"}), "graph.edges[2].from", '"g.CTensor"')
    broken(lambda c: c["edges"][4].update({"from": "two"}), "graph.edges[4].from", "constant")
    broken(lambda c: c["edges"].pop(3), "graph.nodes[2].constant", "two")
    broken(lambda c: c["edges"].pop(0), "inputs.x", "does not exist")
    broken(lambda c: c["edges"].append({"from": "g.OutputTensor", "output": "y"}), "graph.edges[5].output", '"y"')
    broken(lambda c: c["nodes"][1].update(name="g"), "graph.nodes[1].name", '"g"')
    broken(lambda c: c["nodes"][1]["desc"]["ATensor"].update(Sizes=[2, 3]), "graph.nodes[1]", "ELEMENT_WISE_ADD",
           "Sizes")
    broken(lambda c: c["edges"].pop(2), "E_INVALIDARG")
    broken(lambda c: c.update(edges=[]), "graph.edges")
    broken(lambda c: c.update(nodes={}), "graph.nodes")
    d.refuses({"graph": 1}, "graph = 1")


# ---- data in files ----

def test_files(d, g):
    x = g.normal(size=(3, 4)).astype(np.float32)
    np.save(d.tool.file("x.npy"), x)
    d.tool.file("x.raw", x.T.tobytes())
    case = operator("ELEMENT_WISE_IDENTITY", {"InputTensor": x}, OutputTensor=like(x, Strides=[1, 3]))
    case["inputs"]["InputTensor"] = {"file": "x.npy"}
    case["outputs"] = {"OutputTensor": {"file": "made.npy"}}
    os.mkdir(d.tool.file("out"))
    d.refuses(case, "outputs.OutputTensor.file", "--outputs FOLDER")
    d.tool.works("dispatch", d.write(case), "--outputs", d.tool.file("out"))
    d.tool.test(np.array_equal(np.load(d.tool.file("out/made.npy")), x), "outputs of the file")
    d.tool.test(not os.path.exists(d.tool.file("made.npy")), "an output beside the file")
    raw, npy = d.tool.file("y.raw"), d.tool.file("y.npy")
    d.tool.works("dispatch", d.write(case), "--output", f"OutputTensor={raw}")
    with open(raw, "rb") as file:
        d.tool.test(file.read() == x.T.tobytes(), "raw output has the buffer's bytes")
    case["desc"]["InputTensor"]["Strides"] = [1, 3]
    case["inputs"]["InputTensor"] = {"file": "x.raw"}
    d.tool.works("dispatch", d.write(case), "--output", f"OutputTensor={npy}")
    d.tool.test(np.array_equal(np.load(npy), x), "raw input")
    d.tool.fails(["dispatch", d.write(case), "--output", "Y=" + npy], "--output Y=", "does not exist")
    d.tool.fails(["dispatch", d.write(case), "--output", "OutputTensor=/no/such/place"], "/no/such/place")
    d.tool.file("x.raw", b"123")
    d.refuses(case, "inputs.InputTensor.file", "3 bytes", "48")
    np.save(d.tool.file("x.npy"), np.ascontiguousarray(x.T))
    case["inputs"]["InputTensor"] = {"file": "x.npy"}
    d.refuses(case, "inputs.InputTensor.file", "float32[4,3]", "float32[3,4]")
    case["inputs"]["InputTensor"] = {"file": "missing.npy"}
    d.refuses(case, "missing.npy")
    case["inputs"]["InputTensor"] = {"file": "missing"}
    d.refuses(case, "missing")


def test_strange_files(d):
    """A file of another user reads nothing outside its folder, writes nothing but in the folder for outputs, waits for
    nothing, and gets no more memory than is allowed."""
    x = np.arange(6, dtype=np.uint8).reshape(1, 6)
    inner, out = d.tool.file("inner"), d.tool.file("inner_out")
    for folder in (inner, out, d.tool.file("inner/sub")):
        os.mkdir(folder)
    for name in ("secret.raw", "inner/sub/x.raw", "inner_out/victim"):
        d.tool.file(name, x.tobytes() + b"##")
    os.symlink("../secret.raw", d.tool.file("inner/link.raw"))
    os.symlink("..", d.tool.file("inner/up"))
    os.symlink("sub/x.raw", d.tool.file("inner/good.raw"))
    os.symlink("../secret.raw", d.tool.file("inner_out/link.raw"))
    os.symlink("new.raw", d.tool.file("inner_out/dangling.raw"))
    os.mkfifo(d.tool.file("inner/pipe"))
    os.mkfifo(d.tool.file("inner/pipe.npy"))
    os.mkfifo(d.tool.file("inner_out/pipe"))
    case = operator("ELEMENT_WISE_IDENTITY", {"InputTensor": x}, OutputTensor=like(x))

    def command(content, *args):
        return ["dispatch", d.tool.file("inner/case.json", json.dumps(content).encode()), *args]
    for name, why in (("sub/x.raw", None), ("good.raw", None), ("sub/../sub/x.raw", None), ("link.raw", "is not in the folder"),
                      ("../secret.raw", "is not in the folder"), ("up/secret.raw", "is not in the folder"),
                      (d.tool.file("inner/sub/x.raw"), "must be relative"), ("pipe", "not a regular file"),
                      ("pipe.npy", "not a regular file"), ("sub", "directory"), ("", "empty"), ("../" * 20 + "dev/zero", "is not in the folder")):
        given = {**case, "inputs": {"InputTensor": {"file": name}}}
        if why:
            d.tool.fails(command(given), "inputs.InputTensor.file", why, timeout=60)
        else:
            d.tool.works(*command(given))
    for name, why in (("y.raw", None), ("../secret.raw", "without a folder"), (d.tool.file("secret.raw"), "without a folder"),
                      ("a/b", "without a folder"), ("..", "without a folder"), (".", "without a folder"), ("", "without a folder"),
                      ("link.raw", "not a regular file"), ("dangling.raw", "not a regular file"), ("pipe", "not a regular file")):
        given = {**case, "outputs": {"OutputTensor": {"file": name}}}
        if why:
            d.tool.fails(command(given, "--outputs", out), "outputs.OutputTensor.file", why, timeout=60)
        else:
            d.tool.works(*command(given, "--outputs", out))
        d.tool.fails(command(given), "outputs.OutputTensor.file", "--outputs FOLDER")
    with open(d.tool.file("secret.raw"), "rb") as file:
        d.tool.test(file.read() == x.tobytes() + b"##", "a file outside was written")
    d.tool.test(sorted(os.listdir(out)) == ["dangling.raw", "link.raw", "pipe", "victim", "y.raw"], "what is in the folder")
    # What is read is not written: by its name, by a link, by a second name, in the folder for outputs.
    os.link(d.tool.file("inner/sub/x.raw"), d.tool.file("inner_out/same.raw"))
    os.symlink("inner/case.json", d.tool.file("case.link"))
    given = {**case, "inputs": {"InputTensor": {"file": "good.raw"}}}
    for path in ("inner/sub/x.raw", "inner/good.raw", "inner_out/same.raw", "inner/case.json", "case.link"):
        d.tool.fails(command(given, "--output", "OutputTensor=" + d.tool.file(path)), "that is the input")
    given["outputs"] = {"OutputTensor": {"file": "same.raw"}}
    d.tool.fails(command(given, "--outputs", out), "that is the input")
    with open(d.tool.file("inner/sub/x.raw"), "rb") as file:
        d.tool.test(file.read() == x.tobytes() + b"##", "an input was written")
    two = operator("SPLIT", {"InputTensor": np.arange(4, dtype=np.uint8)}, OutputTensors=[tensor([2], np.uint8)] * 2, Axis=0)
    names = [f"OutputTensors[{i}]=" + d.tool.file(path) for i, path in enumerate(("inner/new.raw", "inner/sub/../new.raw"))]
    d.tool.fails(command(two, "--output", names[0], "--output", names[1]), "another output")
    # Memory: bytes that a description claims, sizes with one number, outputs, temporary tensors.
    for change in ({"InputTensor": {**like(x), "TotalTensorSizeInBytes": 8000000000}},
                   {"OutputTensor": {**like(x), "TotalTensorSizeInBytes": 8000000000}},
                   {name: tensor([1, 2500000000], np.uint8) for name in ("InputTensor", "OutputTensor")}):
        large = copy.deepcopy(case)
        large["desc"].update(change)
        large["inputs"]["InputTensor"] = 1
        d.tool.fails(command(large), "more memory than is allowed", "--memory")
    small = operator("ELEMENT_WISE_IDENTITY", {}, InputTensor=tensor([1 << 20]), OutputTensor=tensor([1 << 20]))
    small["inputs"]["InputTensor"] = 1
    d.tool.fails(command(small, "--memory", "11"), "more memory than is allowed") # inputs are there twice
    d.tool.fails(command(small, "--memory", "0"), "--memory must be")
    d.tool.works(*command(small, "--memory", "28"))
    # A data file's size is allowed on top; strides of 0 make many elements of few bytes, which are stored one by one.
    d.tool.file("inner/data.raw", bytes(4 << 20))
    d.tool.works(*command({**small, "inputs": {"InputTensor": {"file": "data.raw"}}}, "--memory", "24"))
    wide = operator("REDUCE", {}, InputTensor=tensor([1, 1, 50000, 50000], Strides=[0, 0, 0, 0]),
                    OutputTensor=tensor([1, 1, 1, 1]), Function="MAX", Axes=[2, 3])
    d.tool.fails(command({**wide, "inputs": {"InputTensor": 1}}), "more memory than is allowed")
    # Constants: the file's, and the compiled graph's.
    graph = {"nodes": [{"name": "two", "constant": 2},
                       {"name": "sum", "type": "DML_OPERATOR_ELEMENT_WISE_ADD",
                        "desc": {name: tensor([1 << 20]) for name in ("ATensor", "BTensor", "OutputTensor")}}],
             "edges": [{"input": "x", "to": "sum.ATensor"}, {"from": "two", "to": "sum.BTensor"},
                       {"from": "sum.OutputTensor", "output": "y"}]}
    d.tool.fails(command({"graph": graph, "inputs": {"x": 1}}, "--memory", "19"), "more memory than is allowed")
    d.tool.works(*command({"graph": graph, "inputs": {"x": 1}}, "--memory", "40"))


def test_names(d):
    """What a terminal would obey comes out as question marks, or escaped in JSON."""
    x = np.ones((2, 2), np.float32)
    i, n, o = "i\x1b]0;pwn\x07", "n\x1b[31mX", "o\x1b[2J\x9b3J\x7fé€"
    node = {"name": n, "type": "DML_OPERATOR_ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": like(x), "OutputTensor": like(x)}}
    case = {"graph": {"nodes": [node], "edges": [{"input": i, "to": n + ".InputTensor"}, {"from": n + ".OutputTensor",
                                                                                       "output": o}]}}
    def plain(text):
        return all(c >= " " and not "\x7f" <= c <= "\x9f" or c == "\n" for c in text)
    given = {**case, "inputs": {i: x.tolist()}}
    text = d.tool.works("dispatch", d.write(given))
    d.tool.test(plain(text) and "o?[2J?3J?é€" in text, f"printed: {text!r}")
    text = d.tool.works("dispatch", d.write(given), "--json")
    d.tool.test(plain(text) and list(json.loads(text)["outputs"]) == [o], f"printed: {text!r}")
    for wrong in ({**case, "inputs": {n: 1}}, case, {"type": n}):
        result = d.tool.run("dispatch", d.write(wrong))
        d.tool.test(result.returncode == 2 and plain(result.stderr) and result.stderr.count("\n") == 1,
                    f"said: {result.stderr!r}")


# ---- what is refused ----

def test_bad(d):
    good = operator("REDUCE", {"InputTensor": np.ones((2, 3), np.float32)}, OutputTensor=tensor([2, 1]),
                    Function="SUM", Axes=[1])

    def broken(change, *fragments):
        case = copy.deepcopy(good)
        change(case)
        d.refuses(case, *fragments)
    d.tool.works("dispatch", d.write(good))
    desc = lambda **fields: lambda case: case["desc"].update(fields)
    broken(lambda c: c.pop("type"), "type is missing")
    broken(lambda c: c.update(type="DML_OPERATOR_REDUCES"), 'type = "DML_OPERATOR_REDUCES"')
    broken(lambda c: c.update(types=1), "types")
    broken(desc(Axis=1), "desc.Axis", "unknown field of DML_OPERATOR_REDUCE")
    broken(desc(Function="MEAN"), 'desc.Function = "MEAN"', "DML_REDUCE_FUNCTION_AVERAGE")
    broken(lambda c: c["desc"].pop("Function"), "desc.Function is missing")
    broken(desc(Axes=[-1]), "desc.Axes[0] = -1", "from 0 to 4294967295")
    broken(desc(Axes=[1.0]), "desc.Axes[0] = 1.0", "integer")
    broken(desc(Axes=1), "desc.Axes = 1", "array")
    broken(desc(Axes=[7]), "DML_OPERATOR_REDUCE", "Axes[0] = 7")
    broken(desc(AxisCount=2), "desc.Axes has 1 elements", "2 (AxisCount)")
    broken(desc(AxisCount=2, Axes=None), "Axes")
    broken(desc(InputTensor=None), "InputTensor: NULL")
    broken(desc(InputTensor=[]), "desc.InputTensor = []")
    broken(lambda c: c.update(desc=3), "desc = 3")
    for key, value, fragment in (("DataType", "FLOAT31", '"FLOAT31"'), ("DataType", 1, "= 1"), ("Sizes", [2, -3], "[1] = -3"),
                                 ("Sizes", [2, 0], "Sizes"), ("Sizes", [], "DML_OPERATOR_REDUCE"), ("Sizes", [2] * 9, "DML_OPERATOR_REDUCE"),
                                 ("Sizes", [2**32 - 1] * 8, "DML_OPERATOR_REDUCE"),
                                 ("Strides", [1], "has 1 elements"), ("Flags", "OWNED", '"OWNED"'), ("DimensionCount", 3, "3"),
                                 ("TotalTensorSizeInBytes", 4, "TotalTensorSizeInBytes = 4"),
                                 ("TotalTensorSizeInBytes", 2**50, "TotalTensorSizeInBytes"),
                                 ("Size", [1], "InputTensor.Size:")):
        broken(lambda c, k=key, v=value: c["desc"]["InputTensor"].update({k: v}), fragment)
    broken(lambda c: c.pop("inputs"), "inputs.InputTensor is missing")
    broken(lambda c: c["inputs"].update(InputTensor=[1, 2]), "inputs.InputTensor has 2 elements, must have 6")
    broken(lambda c: c["inputs"].update(InputTensor=[[1, 2], [3, "x"], 1, 1]), 'inputs.InputTensor[1][1] = "x"')
    broken(lambda c: c["inputs"].update(X=1), "inputs.X: the tensor does not exist")
    broken(lambda c: c.update(inputs=[]), "inputs = []")
    broken(lambda c: c.update(outputs={"OutputTensor": "a.npy"}), 'outputs.OutputTensor = "a.npy"')
    broken(lambda c: c.update(flags=["FAST"]), 'flags = "FAST"')
    gemm = operator("GEMM", {"ATensor": np.ones((2, 2), np.float32), "BTensor": np.ones((2, 2), np.float32)},
                    OutputTensor=tensor([2, 2]), TransA="NONE", TransB="NONE", Alpha="much", Beta=0)
    d.refuses(gemm, 'desc.Alpha = "much"')
    gemm["desc"].update(Alpha=1, FusedActivation={"type": "DML_OPERATOR_ACTIVATION_LEAKY_RELU"})
    d.refuses(gemm, "desc.FusedActivation.desc.Alpha is missing")
    gemm["desc"]["FusedActivation"] = {"type": "DML_OPERATOR_GEMM", "desc": gemm["desc"] | {"FusedActivation": None}}
    d.refuses(gemm, "FusedActivation")
    add = operator("ELEMENT_WISE_IDENTITY", {"InputTensor": np.ones(2, np.float32)}, OutputTensor=tensor([2]),
                   ScaleBias={"Scale": 1})
    d.refuses(add, "desc.ScaleBias.Bias is missing")
    text = json.dumps(good)
    for cut in range(0, len(text), 7):
        d.refuses(text[:cut], "case", "line")
    d.refuses(text + "x", "line 1")
    d.refuses("[1]", "= [1], must be an object")
    d.refuses('{"type": 1, "type": 2}', "line 1", "uplicate")
    d.refuses("[" * 100000, "line 1")
    d.refuses('{"type": "a\\u0000b"}', "line 1")
    d.tool.fails(["dispatch", "/no/such/file.json"], "/no/such/file.json")
    d.tool.fails(["dispatch"], "the file is missing")
    d.tool.fails(["dispatch", "a", "b"], "more than one file")
    path = d.write(good)
    d.tool.fails(["dispatch", path, "--device", "99"], "device 99 does not exist")
    d.tool.fails(["dispatch", path, "--iterations", "0"], "--iterations")
    d.tool.fails(["dispatch", path, "--output", "x"], "--output")


def test_schema(d, samples):
    schema = json.loads(d.tool.works("dispatch", "--schema"))
    rows = {row["if"]["properties"]["type"]["const"]: row["then"]["properties"]["desc"]["properties"]
            for row in schema["definitions"]["operator"]["allOf"]}
    d.tool.test(set(rows) == set(schema["definitions"]["type"]["enum"]) and len(rows) >= 177, "operators of the schema")
    d.tool.test(set(rows["DML_OPERATOR_RELU"] if "DML_OPERATOR_RELU" in rows else rows["DML_OPERATOR_ACTIVATION_RELU"])
                == {"InputTensor", "OutputTensor"}, "fields of the schema")
    paths = sorted(glob.glob(os.path.join(samples, "dispatch", "*.json")))
    d.tool.test(len(paths) >= 4, "samples")
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    for path in paths:
        d.tool.test("output" in d.tool.works("dispatch", path, "--iterations", "3"), path)
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if jsonschema:
            jsonschema.validate(content, schema)
            if "desc" in content:
                content["desc"]["Nothing"] = 1
                d.tool.test(list(jsonschema.Draft7Validator(schema).iter_errors(content)), f"{path}: wrong field")


def main():
    d = Dispatch(Tool(sys.argv[1]))
    g = np.random.default_rng(5)
    test_elementwise(d, g)
    test_dense(d, g)
    test_shapes(d, g)
    test_recurrent(d, g)
    test_graph(d, g)
    test_files(d, g)
    test_strange_files(d)
    test_names(d)
    test_bad(d)
    test_schema(d, sys.argv[2])
    d.tool.finish()


main()
