# SPDX-License-Identifier: Apache-2.0
"""Compiled models (EPContext): written, loaded without the original, compared with it, refused when they do not fit.

    test_context.py LIBRARY [--corruptions N] [--seed N]
"""
import argparse
import os
import random
import re
import shutil
import struct
import sys
import tempfile

from provider import NAME, SKIP, Log, cpu_session, devices, np, onnx, ort, relative_error, session

if not hasattr(ort, "ModelCompiler"):
    print("skipped: this ONNX Runtime has no ModelCompiler")
    sys.exit(SKIP)

from onnx import TensorProto, helper, numpy_helper

MASK = (1 << 64) - 1
failures = 0


def check(ok, text):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", text)


# ---- models ----

def tensor(name, shape, rng):
    return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)


def save(graph, path, external=False):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if external:
        onnx.save_model(model, path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    else:
        onnx.save_model(model, path)


def convolution(batch, rng):
    """Attributes of several kinds, a constant shape, an int64 initializer."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], auto_pad="NOTSET"),
        helper.make_node("LeakyRelu", ["c"], ["r"], alpha=0.25),
        helper.make_node("Constant", [], ["shape"], value=numpy_helper.from_array(np.array([0, -1], np.int64))),
        helper.make_node("Reshape", ["r", "shape"], ["f"]),
        helper.make_node("Gemm", ["f", "g"], ["y"], transB=1, alpha=0.5),
    ]
    weights = [tensor("w", (4, 3, 3, 3), rng), tensor("b", (4,), rng), tensor("g", (5, 4 * 6 * 6), rng)]
    return helper.make_graph(nodes, "convolution",
                             [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 6, 6])],
                             [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 5])], weights)


def split(batch, rng):
    """Texts belong to the host: two subgraphs around them."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Cast", ["m"], ["t"], to=TensorProto.STRING),
        helper.make_node("Cast", ["t"], ["d"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["d", "s"], ["e"]),
        helper.make_node("Tanh", ["e"], ["y"]),
    ]
    return helper.make_graph(nodes, "split",
                             [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 3])],
                             [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3, 3])],
                             [tensor("w", (3, 3), rng), tensor("s", (1,), rng)])


# ---- compiling ----

def options(library, entries=None):
    so = ort.SessionOptions()
    so.log_severity_level = 4
    for key, value in (entries or {}).items():
        so.add_session_config_entry(key, value)
    so.add_provider_for_devices([devices(library)[0]], {})
    return so


def by_compiler(library, path, out, embed):
    ort.ModelCompiler(options(library), path, embed_compiled_data_into_model=embed).compile_to_file(out)


def by_session(library, path, out, embed):
    ort.InferenceSession(path, options(library, {"ep.context_enable": "1", "ep.context_file_path": out,
                                                 "ep.context_embed_mode": "1" if embed else "0"}))


def context_nodes(path):
    return [n for n in onnx.load(path, load_external_data=False).graph.node if n.op_type == "EPContext"]


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def data_path(path):
    return path[:-len(".onnx")] + "_dml.bin"


def outputs(s, batch):
    x = np.random.default_rng(5).standard_normal([batch] + s.get_inputs()[0].shape[1:]).astype(np.float32)
    return s.run(None, {s.get_inputs()[0].name: x})[0]


def one_model(library, folder, name, graph, batches, compile_model, embed, external):
    text = f"{name}, {compile_model.__name__}, embed {embed}, external {external}"
    source, moved = os.path.join(folder, "source"), os.path.join(folder, "moved")
    os.makedirs(source)
    path, out = os.path.join(source, "m.onnx"), os.path.join(source, "compiled.onnx")
    save(graph, path, external)
    plain = session(library, path)
    want = [outputs(plain, b) for b in batches]
    compile_model(library, path, out, embed)
    nodes = context_nodes(out)
    check(len(nodes) == (2 if name == "split" else 1), f"{text}: {len(nodes)} EPContext nodes")
    check(os.path.exists(data_path(out)) != embed, f"{text}: the file beside the model")
    for node in nodes:
        a = attributes(node)
        check(a["source"] == NAME.encode() and a["embed_mode"] == int(embed) and a["main_context"] == 1 and
              a["partition_name"] == node.name.encode() and a["hardware_architecture"].startswith(b"anydml-context=") and
              re.fullmatch(rb"\d+\.\d+\.\d+", a["ep_sdk_version"]), f"{text}: attributes of {node.name}")
    os.makedirs(moved)
    for file in os.listdir(source):
        if file.startswith("compiled"):
            shutil.move(os.path.join(source, file), os.path.join(moved, file))
    shutil.rmtree(source)
    out = os.path.join(moved, "compiled.onnx")
    loaded = session(library, out, fallback=name == "split")
    check(all(np.array_equal(w, outputs(loaded, b)) for w, b in zip(want, batches)), f"{text}: other outputs")
    with open(out, "rb") as file:
        in_memory = session(library, file.read(), entries={"ep.context_file_path": out})
    check(np.array_equal(want[0], outputs(in_memory, batches[0])), f"{text}: other outputs from memory")


def test_models(library):
    for name, graph in (("convolution", convolution), ("split", split)):
        for batch, batches in ((2, [2]), ("n", [1, 4, 1])):
            for compile_model in (by_compiler, by_session):
                for embed in (False, True):
                    with tempfile.TemporaryDirectory() as folder:
                        one_model(library, folder, name, graph(batch, np.random.default_rng(1)), batches, compile_model,
                                  embed, external=batch == "n" and not embed)


# ---- the bytes ----

def base_hash(data):
    """src/base/hash.c."""
    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) & MASK

    def step(lane, word):
        return rotate((lane + word * 0xd1b54a32d192ed03) & MASK, 29) * 0x9e6c63d0876a9a47 & MASK

    def finish(x):
        x = (x ^ x >> 31) * 0xa24baed4963ee407 & MASK
        x = (x ^ x >> 29) * 0x9fb21c651e98df25 & MASK
        return x ^ x >> 32

    lanes = [finish(i + 1) for i in range(8)]
    words = struct.unpack(f"<{(len(data) + 63) // 64 * 8}Q", data + bytes(-len(data) % 64))
    for i, word in enumerate(words):
        lanes[i % 8] = step(lanes[i % 8], word)
    low, high = len(data), ~len(data) & MASK
    for lane in lanes:
        low, high = finish(step(low, lane)), finish(step(high, rotate(lane, 32)))
    return struct.pack("<QQ", low, high)


def sealed(data):
    return data[:32] + base_hash(data[48:]) + data[48:]


def refusal(library, path, batch=2):
    """The message with which the session is refused; None when it is not."""
    try:
        outputs(session(library, path, level=4), batch)
    except Exception as why:  # every kind that ONNX Runtime has
        return str(why)
    return None


def prepare(library, folder, embed):
    path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "c.onnx")
    save(convolution(2, np.random.default_rng(1)), path)
    by_compiler(library, path, out, embed)
    return out


def test_refusals(library):
    with tempfile.TemporaryDirectory() as folder:
        out = prepare(library, folder, embed=False)
        with open(data_path(out), "rb") as file:
            good = file.read()
        check(sealed(good) == good, "the hash of the test")
        cases = {
            "another kind of device": (sealed(good.replace(b";device=cpu;", b";device=gpu;")), "device=gpu"),
            "another version": (good[:8] + b"\x07" + good[9:], "another version"),
            "empty": (b"", "cannot be read"),
            "short": (good[:40], "damaged"),
            "cut": (good[:-64], "damaged"),
            "no such part": (sealed(good[:52] + b"?" + good[53:]), "not there"),
        }
        for name, (data, text) in cases.items():
            os.unlink(data_path(out))
            with open(data_path(out), "wb") as file:
                file.write(data)
            why = refusal(library, out)
            check(why and NAME in why and text in why, f"{name}: {why}")
        os.unlink(data_path(out))
        check("cannot be read" in (refusal(library, out) or ""), "no file")
        model = onnx.load(out)
        for bad in ("/etc/passwd", "../m.onnx", "a/../../m.onnx", ".."):
            attr = next(a for a in context_nodes_of(model)[0].attribute if a.name == "ep_cache_context")
            attr.s = bad.encode()
            onnx.save(model, out)
            check("in the folder of the model" in (refusal(library, out) or ""), f"the path {bad}")
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "far.bin"), "wb") as file:
                file.write(good)
            os.symlink(os.path.join(other, "far.bin"), os.path.join(os.path.dirname(out), "link.bin"))
            attr.s = b"link.bin"
            onnx.save(model, out)
            check("is not in the model's folder" in (refusal(library, out) or ""), "a link that leaves the folder")


def test_cut_while_used(library):
    """Another program cuts the file short before a session runs; without a copy its weights would end the process."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "c.onnx")
        save(convolution("n", np.random.default_rng(1)), path)
        by_compiler(library, path, out, False)
        ours = session(library, out)
        with open(data_path(out), "r+b") as file:
            file.truncate(0)
        for batch in (2, 3):
            error = relative_error(outputs(ours, batch), outputs(cpu_session(path), batch))
            check(error < 1e-4, f"a file that was cut, batch {batch}: {error}")


def context_nodes_of(model):
    return [n for n in model.graph.node if n.op_type == "EPContext"]


def test_ports(library):
    """A context under a node with other inputs or outputs."""
    with tempfile.TemporaryDirectory() as folder:
        out = prepare(library, folder, embed=True)
        model = onnx.load(out)
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
        onnx.save(model, out)
        check("compiled with" in (refusal(library, out) or ""), "another type of output")
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
        model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2]))
        context_nodes_of(model)[0].output.append("z")
        onnx.save(model, out)
        check("compiled with" in (refusal(library, out) or ""), "one more output")


def test_compatibility(library):
    c = ort.capi._pybind_state
    if not hasattr(c, "get_model_compatibility_for_ep_devices"):
        return
    kinds = c.OrtCompiledModelCompatibility
    device = [devices(library)[0]]
    with tempfile.TemporaryDirectory() as folder:
        out = prepare(library, folder, embed=True)
        info = c.get_compatibility_info_from_model(out, NAME)
        ask = lambda text: c.get_model_compatibility_for_ep_devices(device, text)
        check(ask(info) == kinds.EP_SUPPORTED_OPTIMAL, f"compatible: {info}")
        check(ask(re.sub("version=[^;]*", "version=0.0.0", info)) == kinds.EP_SUPPORTED_PREFER_RECOMPILATION, "version")
        check(ask(info.replace("device=cpu", "device=gpu")) == kinds.EP_UNSUPPORTED, "device")
        check(ask("something else") == kinds.EP_UNSUPPORTED, "something else")


# ---- damage ----

def damaged(data, rng):
    data = bytearray(data)
    if rng.random() < 0.25:
        return bytes(data[:rng.randrange(len(data))])
    for _ in range(rng.choice((1, 1, 2, 8))):
        # The description, most of which matters, is small beside the weights.
        at = rng.randrange(len(data) if rng.random() < 0.3 else min(len(data), 1400))
        data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def test_corruption(library, count, seed):
    """As it is, each is refused; with the hash made right it is refused or runs."""
    rng = random.Random(seed)
    for embed in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            out = prepare(library, folder, embed)
            model = onnx.load(out)
            attr = next(a for a in context_nodes_of(model)[0].attribute if a.name == "ep_cache_context")
            if embed:
                good = attr.s
            else:
                with open(data_path(out), "rb") as file:
                    good = file.read()
            ran = 0
            for i in range(count):
                data = damaged(good, rng)
                if data == good:
                    continue
                seal = i % 2 and len(data) >= 48
                if seal:
                    data = sealed(data)
                if embed:
                    attr.s = data
                    onnx.save(model, out)
                else:
                    os.unlink(data_path(out))
                    with open(data_path(out), "wb") as file:
                        file.write(data)
                with Log():
                    why = refusal(library, out)
                ran += why is None
                check(seal or why, f"seed {seed}, embed {embed}, case {i}: accepted")
            print(f"embed {embed}: {count} damaged, {ran} of those with the right hash ran")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--corruptions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    test_models(args.library)
    test_refusals(args.library)
    test_cut_while_used(args.library)
    test_ports(args.library)
    test_compatibility(args.library)
    test_corruption(args.library, args.corruptions, args.seed)
    print("failures:", failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
