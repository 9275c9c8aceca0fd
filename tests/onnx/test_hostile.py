# SPDX-License-Identifier: Apache-2.0
"""Models with one wrong field never crash the command: every one runs, or is refused in one line with code 2.

    test_hostile.py ANYDML [--all] [--match REGEX] [--keep FOLDER]

The models are ONNX's own node tests, one per operator, and those of hostile_models.py, each changed in one place: attributes with other values or types,
inputs that are missing, of other shapes or known, initializers of another length, outputs that occur twice. --all
runs every change; otherwise every operator gets some, the same ones each time.
"""
import argparse
import copy
import os
import re
import resource
import subprocess
import sys
import tempfile
import warnings
import zlib

from hostile_models import contributed
from onnx_tool import np, onnx
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")
MOST, LEAST = 2**63 - 1, -2**63
NUMBERS = (-1, 0, 3, 2**31, -2**31, MOST, LEAST)
KINDS = onnx.AttributeProto
MEMORY = 8 << 30
SAMPLE = 2 # changes of an operator without --all, and those whose names end so:
ALWAYS = ("no_inputs", "no_outputs", "as integers", "as floats")


# ---- changes: pairs (name, function of the model and its inputs) ----

def attribute_changes(position, attribute):
    def change(name, value, kind=None):
        def act(model, _):
            a = model.graph.node[0].attribute[position]
            for member in ("i", "f", "s", "t", "g", "ints", "floats", "strings"):
                a.ClearField(member)
            made = onnx.helper.make_attribute(a.name, value) if kind is None else onnx.AttributeProto(name=a.name, type=kind)
            a.CopyFrom(made)
        return f"{attribute.name} {name}", act

    def drop(model, _):
        del model.graph.node[0].attribute[position]

    yield f"{attribute.name} dropped", drop
    yield change("as text", "nonsense")
    yield change("as a float", float("nan"))
    yield change("as a list", [1, 2, 3])
    yield change("as an empty tensor", None, KINDS.TENSOR)
    yield change("as an empty graph", None, KINDS.GRAPH)
    if attribute.type == KINDS.INT:
        for number in NUMBERS:
            yield change(number, number)
    elif attribute.type == KINDS.INTS:
        values = list(attribute.ints)
        for number in NUMBERS:
            yield change(f"all {number}", [number] * max(len(values), 1))
            yield change(f"last {number}", values[:-1] + [number])
        yield change("empty", None, KINDS.INTS)
        yield change("longer", values + values + [1])
        yield change("shorter", values[:-1] if len(values) > 1 else [1] * 9)
        yield change("as floats", [float(v) for v in values] or [1.0])
        yield change("as texts", ["a"] * max(len(values), 1))
    elif attribute.type in (KINDS.FLOATS, KINDS.STRINGS):
        values = list(attribute.floats) + list(attribute.strings)
        yield change("as integers", list(range(len(values))) or [1])
        yield change("shorter", values[:-1] or None, None if values[1:] else attribute.type)
        yield change("longer", values + values[:1])
        yield change("as others", ["a"] * len(values) if attribute.floats else [float("nan")] * len(values))
    elif attribute.type == KINDS.FLOAT:
        for number in (float("inf"), -1e38, 0.0):
            yield change(number, number)


def input_changes(position, info, array):
    def drop(model, _):
        model.graph.node[0].input[position] = ""

    def reshaped(name, other):
        def act(model, arrays):
            arrays[info.name] = other
            target = next(i for i in model.graph.input if i.name == info.name)
            target.CopyFrom(onnx.helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, other.shape))
        return f"input {position} {name}", act

    def known(name, value, cut=None, dims=None):
        def act(model, arrays):
            tensor = onnx.numpy_helper.from_array(value, info.name)
            if cut is not None:
                tensor.raw_data = tensor.raw_data[:len(tensor.raw_data) * cut // 4]
            if dims is not None:
                del tensor.dims[:]
                tensor.dims.extend(dims)
            model.graph.initializer.append(tensor)
            kept = [i for i in model.graph.input if i.name != info.name]
            del model.graph.input[:]
            model.graph.input.extend(kept)
            arrays.pop(info.name)
        return f"input {position} known, {name}", act

    yield f"input {position} dropped", drop
    if array is None or array.dtype.kind not in "fiub":
        return
    yield reshaped("scalar", array.ravel()[:1].reshape(()) if array.size else array)
    yield reshaped("one more dimension", array[None])
    yield reshaped("eight dimensions", array.reshape((1,) * max(0, 8 - array.ndim) + array.shape))
    if array.ndim:
        yield reshaped("empty", array[:0])
        yield reshaped("one longer", np.concatenate([array, array[:1]]) if array.size else array)
        yield reshaped("flat", array.ravel())
    yield known("as it is", array)
    yield known("half of its bytes", array, cut=2)
    yield known("no bytes", array, cut=0)
    yield known("negative size", array, dims=[-1])
    yield known("huge size", array, dims=[2**40, 2**40])
    if array.dtype.kind in "iu":
        info_of = np.iinfo(array.dtype)
        for number in (-1, 0, info_of.max, info_of.min, 2**31 - 1):
            if info_of.min <= number <= info_of.max:
                yield known(f"all {number}", np.full_like(array, number))


def graph_changes(model):
    node = model.graph.node[0]

    def own_input(m, _):
        m.graph.node[0].input[0] = m.graph.node[0].output[0]

    def twice(m, _):
        m.graph.node.append(copy.deepcopy(m.graph.node[0]))

    def same_outputs(m, _):
        for i in range(1, len(node.output)):
            m.graph.node[0].output[i] = node.output[0]
        m.graph.output.append(copy.deepcopy(m.graph.output[0]))

    def circle(m, _):
        first = m.graph.node[0].input[0]
        m.graph.node[0].input[0] = "around"
        m.graph.node.append(onnx.helper.make_node("Identity", [m.graph.node[0].output[0]], ["around"]))
        m.graph.node.append(onnx.helper.make_node("Identity", [first], ["unread"]))

    def no_inputs(m, _):
        del m.graph.node[0].input[:]

    def no_outputs(m, _):
        del m.graph.node[0].output[:]

    def many_inputs(m, _):
        m.graph.node[0].input.extend([m.graph.node[0].input[0]] * 20)

    def many_outputs(m, _):
        m.graph.node[0].output.extend(f"more{i}" for i in range(20))

    def unknown(m, _):
        m.graph.node[0].input[0] = "nowhere"

    def other_version(version):
        def act(m, _):
            m.opset_import[0].version = version
        return act

    if node.input:
        for change in (own_input, circle, no_inputs, many_inputs, unknown):
            yield change.__name__, change
    for change in (twice, same_outputs, no_outputs, many_outputs):
        yield change.__name__, change
    for version in (1, 0, -1, 2**40):
        yield f"version {version}", other_version(version)


def changes(model, arrays):
    node = model.graph.node[0]
    for position, attribute in enumerate(node.attribute):
        yield from attribute_changes(position, attribute)
    for position, name in enumerate(node.input):
        info = next((i for i in model.graph.input if i.name == name), None)
        if info is not None:
            yield from input_changes(position, info, arrays.get(name))
    yield from graph_changes(model)


# ---- running ----

def cases():
    """One test of each operator: its model, and its inputs by name."""
    seen = set()
    for case in sorted(collect_testcases(None), key=lambda c: c.name):
        nodes = case.model.graph.node if case.model else []
        if len(nodes) != 1 or (nodes[0].domain, nodes[0].op_type) in seen or not case.data_sets:
            continue
        given = case.data_sets[0][0]
        arrays = {i.name: onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x
                  for i, x in zip(case.model.graph.input, given)}
        if any(not isinstance(x, (np.ndarray, np.generic)) for x in arrays.values()):
            continue
        seen.add((nodes[0].domain, nodes[0].op_type))
        yield nodes[0].op_type, case.model, {k: np.asarray(x) for k, x in arrays.items()}
    yield from contributed()


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(tool, model, arrays, folder, sanitized):
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    args = [tool, "run", path]
    for number, (name, array) in enumerate(arrays.items()):
        if array.dtype.kind in "fiub":
            np.save(os.path.join(folder, f"{number}.npy"), array)
            args += ["--input", f"{name}={folder}/{number}.npy"]
    try:
        result = subprocess.run(args, capture_output=True, text=True, errors="replace", timeout=60, check=False,
                                preexec_fn=None if sanitized else limits)
    except subprocess.TimeoutExpired:
        return "timed out"
    lines = result.stderr.splitlines()
    if result.returncode == 0 and not lines:
        return None
    memory = result.returncode == 1 and "memory" in result.stderr.lower()
    if (result.returncode == 2 or memory) and len(lines) == 1:
        return None
    return f"code {result.returncode}, {result.stderr[-600:]!r}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--match", default="")
    parser.add_argument("--keep", help="where models that fail are written")
    options = parser.parse_args()
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
        os.environ[name] = (os.environ.get(name, "") + ":exitcode=99:allocator_may_return_null=1").lstrip(":")
    with open(options.tool, "rb") as file:
        content = file.read()
    sanitized = b"__asan_init" in content or b"__tsan_init" in content
    count = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for op, model, arrays in cases():
            if not re.search(options.match, op):
                continue
            made = list(changes(model, arrays))
            if not options.all: # spread over the kinds of changes, another part of them for each operator
                first = zlib.crc32(op.encode()) % len(made)
                some = {(first + i * len(made) // SAMPLE) % len(made) for i in range(SAMPLE)}
                made = [one for i, one in enumerate(made) if i in some or one[0].endswith(ALWAYS)]
            for name, act in made:
                changed, given = copy.deepcopy(model), dict(arrays)
                try:
                    act(changed, given)
                except (ValueError, TypeError): # not possible for this one
                    continue
                count += 1
                why = run(options.tool, changed, given, folder, sanitized)
                if why and not (op == "Loop" and why == "timed out"): # its model determines the number of iterations
                    failed += 1
                    print(f"FAILED: {model.graph.node[0].domain} {op}, {name}: {why}", flush=True)
                    if options.keep:
                        os.makedirs(options.keep, exist_ok=True)
                        with open(os.path.join(options.keep, re.sub(r"\W+", "_", f"{op} {name}") + ".onnx"), "wb") as file:
                            file.write(changed.SerializeToString())
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
