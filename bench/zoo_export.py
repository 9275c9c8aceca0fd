# SPDX-License-Identifier: Apache-2.0
"""Writes the networks of zoo_networks.py as ONNX models with inputs and reference outputs, several at a time.

FOLDER/NAME.npz has the inputs (x0, x1, ...) and the outputs (y0, y1, ...) that torch computes in float32 on the CPU, which all
types of a network are compared with; FOLDER/NAME.onnx is the network in float32 and NAME_f16.onnx in float16, in which
normalisations and the like keep the float32 that the module computes them in.
"""
import os
import tempfile
import time
import warnings

import zoo_networks

OPSET = 20
EXTERNAL = 1 << 30  # bytes of weights beyond which they are in a file of their own


def file_of(folder, name, kind):
    """kind: float32, float16, or one of zoo_forms.py."""
    end = {"float32": "", "float16": "_f16"}.get(kind, f"_{kind}")
    return os.path.join(folder, f"{name}{end}.onnx")


def reference(path, module, inputs):
    import numpy as np
    import torch
    with torch.no_grad():
        outputs = zoo_networks.outputs_of(module(*inputs))
    if not all(torch.isfinite(y).all() for y in outputs):
        raise ValueError("results in float32 are not finite")
    arrays = {f"x{i}": x.numpy() for i, x in enumerate(inputs)} | {f"y{i}": y.numpy() for i, y in enumerate(outputs)}
    np.savez(path, **arrays)
    return len(outputs)


def attend_in_half():
    """torch's exporter writes the scale and masks of attention in float32 whatever the type, and a graph that is not valid."""
    import torch
    from torch.onnx._internal.torchscript_exporter import symbolic_helper, symbolic_opset14 as opset

    def attention(g, query, key, value, mask=None, dropout=0.0, causal=False, scale=None, groups=False):
        dtype = query.type().dtype()
        if dtype == torch.float16:
            number = symbolic_helper._maybe_get_const(scale, "f")
            if isinstance(number, float):
                scale = g.op("Constant", value_t=torch.tensor(number, dtype=dtype))
            if symbolic_helper._maybe_get_const(causal, "b"):
                mask, causal = opset._causal_attention_mask(g, query, key), False
                mask = g.op("Cast", mask, to_i=10).setType(query.type())
            elif mask is not None and not symbolic_helper._is_none(mask) and mask.type().dtype() == torch.bool:
                zero, least = (g.op("Constant", value_t=torch.tensor([x], dtype=dtype)) for x in (0.0, -float("inf")))
                mask = g.op("Where", mask, zero, least).setType(query.type())
        return opset.scaled_dot_product_attention(g, query, key, value, mask, dropout, causal, scale, groups)
    torch.onnx.register_custom_op_symbolic("aten::scaled_dot_product_attention", attention, OPSET)


def check(path):
    """Exporters write graphs whose types do not agree."""
    import onnx
    onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False), check_type=True, strict_mode=True)


def save(model, path):
    import onnx
    if os.path.exists(path + ".data"):
        os.remove(path + ".data")
    large = sum(len(t.raw_data) for t in model.graph.initializer) > EXTERNAL
    onnx.save(model, path, save_as_external_data=large, location=os.path.basename(path) + ".data" if large else None)


def shorten(graph):
    """Names nodes and their results n0_Conv, n1_Relu, ...: profiles of all programs then have the same short names. ONNX Runtime
    names some of its nodes by results."""
    names = {o.name: o.name for o in graph.output}
    for number, node in enumerate(graph.node):
        node.name = f"n{number}_{node.op_type}"
        for i, result in enumerate(node.output):
            if result and result not in names:
                names[result] = node.name if i == 0 else f"{node.name}.{i}"

    def rename(some):
        for node in some.node:
            for values in (node.input, node.output):
                values[:] = [names.get(v, v) for v in values]
            for attribute in node.attribute:
                for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    rename(inner)
        for o in some.output:
            o.name = names.get(o.name, o.name)
    rename(graph)
    del graph.value_info[:]


def write(path, module, inputs, outputs, dynamo):
    """Exports to a folder of its own: exporters write large weights as many files."""
    import onnx
    import torch
    names = dict(input_names=[f"x{i}" for i in range(len(inputs))], output_names=[f"y{i}" for i in range(outputs)])
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        made = os.path.join(folder, os.path.basename(path))
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if dynamo:
                torch.onnx.export(module, inputs, made, dynamo=True, opset_version=OPSET, verbose=False, **names)
            else:
                attend_in_half()
                torch.onnx.export(module, inputs, made, dynamo=False, opset_version=OPSET, **names)
        check(made)
        model = onnx.load(made)
    shorten(model.graph)
    save(model, path)


def export(path, module, inputs, outputs, dynamo):
    """Returns the exporter that could: that of TorchScript where possible, whose graphs most models on the net have."""
    errors = []
    for way in ([True] if dynamo else [False, True]):
        try:
            write(path, module, inputs, outputs, way)
            return "dynamo" if way else "TorchScript"
        except Exception as error:  # of any exporter
            errors.append(f"{'dynamo' if way else 'TorchScript'}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    raise ValueError("; ".join(errors))


def make(folder, name, types, batch, threads):
    """Writes the files of one network; returns a line about them."""
    import torch
    torch.set_num_threads(threads)
    begin = time.perf_counter()
    module, inputs = zoo_networks.make(name, batch)
    outputs = reference(os.path.join(folder, f"{name}.npz"), module, inputs)
    said = [f"{name}: {sum(p.numel() for p in module.parameters()) / 1e6:.1f} million weights"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for kind in sorted(types, reverse=True):  # float32 first, before weights are halved
        half = kind == "float16"
        dtype, where = (torch.float16, device) if half else (torch.float32, "cpu")
        module = module.to(where, dtype)
        given = tuple(x.to(where, dtype if x.is_floating_point() else x.dtype) for x in inputs)
        way = export(file_of(folder, name, kind), module, given, outputs, name in zoo_networks.DYNAMO)
        said.append(f"{kind} by {way}")
    return ", ".join(said) + f", {time.perf_counter() - begin:.1f} s"


# ---- several at a time ----

def child(connection, *arguments):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # exporters print
    os.dup2(1, 2)
    try:
        connection.send((True, make(*arguments)))
    except Exception as error:
        connection.send((False, f"{arguments[1]}: {type(error).__name__}: {' '.join(str(error).split())[:600]}"))


def remove(folder, name):
    """What was written in part is not measured."""
    for path in [file_of(folder, name, kind) + more for kind in ("float32", "float16") for more in ("", ".data")]:
        if os.path.exists(path):
            os.remove(path)


def import_libraries(names):
    """Before the processes are forked: importing takes longer than most exports."""
    import onnx  # noqa: F401
    import torch  # noqa: F401
    for library in {library for name in names for library in zoo_networks.NETWORKS[name][0]}:
        __import__(library)


def make_all(folder, names, types, batch, jobs, limit):
    """Returns the messages of the networks that failed."""
    import multiprocessing
    from multiprocessing.connection import wait
    context = multiprocessing.get_context("fork")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a process whose libraries have used CUDA cannot be forked
    import_libraries(names)
    threads, waiting, running, failed = max(1, (os.cpu_count() or 1) // jobs), list(names), {}, []

    def done(connection, message):
        process, name, _ = running.pop(connection)
        process.kill()
        process.join()
        good, text = message or (False, f"{name}: took more than {limit} s" if message is None else f"{name}: its process ended")
        failed.extend([] if good else [text])
        if not good:
            remove(folder, name)
        print(text if good else f"FAILED {text}", flush=True)

    while waiting or running:
        while waiting and len(running) < jobs:
            ours, theirs = context.Pipe()
            name = waiting.pop(0)
            process = context.Process(target=child, args=(theirs, folder, name, types, batch, threads))
            process.start()
            theirs.close()
            running[ours] = process, name, time.monotonic() + limit
        for connection in wait(list(running), timeout=1):
            try:
                done(connection, connection.recv())
            except EOFError:
                done(connection, ())
        for connection in [c for c, (_, _, end) in running.items() if time.monotonic() > end]:
            done(connection, None)
    return failed
