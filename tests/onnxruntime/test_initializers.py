# SPDX-License-Identifier: Apache-2.0
"""Initializers that the session's options replace: test_initializers.py LIBRARY

The values of SessionOptions.add_initializer() and add_external_initializers() count, not the model's, for every kind of
use: weights, lengths, and values that shapes depend on; in sessions of fixed and of free sizes, node by node too, and
from several threads at once.
"""
import os
import sys
import tempfile
import threading

from provider import devices, np, onnx, ort, relative_error # first: it skips where a package is missing
from onnx import TensorProto, helper, numpy_helper

LIMIT = 2e-6 # the same operators in another order of sums
_rng = np.random.default_rng()


def real(*shape):
    return _rng.standard_normal(shape).astype(np.float32)


# What it computes, the model's initializers, the session's instead of some of them, an input.
CASES = {
    "Mul": ([helper.make_node("Mul", ["x", "w"], ["y"])], {"w": np.ones(5, np.float32)}, {"w": real(5)}, real(3, 5)),
    "MatMul and Add": ([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])],
                       {"w": real(33, 17), "b": real(17)}, {"w": real(33, 17)}, real(4, 33)),
    "the bias alone": ([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"w": real(6, 7), "b": real(7)},
                       {"b": real(7)}, real(2, 6)),
    "Conv": ([helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3]), helper.make_node("Relu", ["c"], ["y"])],
             {"w": real(8, 3, 3, 3)}, {"w": real(8, 3, 3, 3)}, real(1, 3, 9, 8)),
    "LSTM": ([helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4)],
             {"w": real(1, 16, 3), "r": real(1, 16, 4)}, {"r": real(1, 16, 4)}, real(5, 2, 3)),
    "axes": ([helper.make_node("Squeeze", ["x", "a"], ["s"]), helper.make_node("Exp", ["s"], ["y"])],
             {"a": np.array([0])}, {"a": np.array([1])}, real(1, 1, 3)),
    "two parts of the graph": ([helper.make_node("Mul", ["x", "w"], ["m"]), helper.make_node("Unique", ["m"], ["u"]),
                                helper.make_node("Neg", ["u"], ["v"]), helper.make_node("Mul", ["v", "s"], ["y"])],
                               {"w": np.ones(4, np.float32), "s": np.ones(1, np.float32)},
                               {"w": real(4), "s": real(1)}, real(2, 4)),
}


def model_of(nodes, constants, x, free):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [f"n{i}" for i in range(x.ndim)] if free else
                                                   x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def session(library, model, values, external=False, entries=None):
    """Of the provider, or (library None) of the CPU."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if external:
        options.add_external_initializers(list(values), list(values.values()))
    else:
        for name, value in values.items():
            options.add_initializer(name, value)
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    if not library:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    options.add_provider_for_devices(devices(library)[:1], {})
    return ort.InferenceSession(model, options)


def test_values(library):
    for name, (nodes, constants, replaced, x) in CASES.items():
        values = {key: ort.OrtValue.ortvalue_from_numpy(value) for key, value in replaced.items()}
        own = session(None, model_of(nodes, constants, x, False), {}).run(None, {"x": x})[0]
        for free in (False, True):
            model = model_of(nodes, constants, x, free)
            want = session(None, model_of(nodes, {**constants, **replaced}, x, free), {}).run(None, {"x": x})[0]
            for entries in ({}, {"ep.dml.disable_graph_fusion": "1"}):
                ours = session(library, model, values, entries=entries)
                for _ in range(2):
                    error = relative_error(ours.run(None, {"x": x})[0], want)
                    assert error <= LIMIT, (name, free, entries, error)
            assert relative_error(session(library, model, {}).run(None, {"x": x})[0], own) <= LIMIT, name


def test_external(library):
    """Values for weights whose file is not there."""
    for name in ("MatMul and Add", "Conv"):
        nodes, constants, replaced, x = CASES[name]
        values = {key: ort.OrtValue.ortvalue_from_numpy(value) for key, value in replaced.items()}
        for free in (False, True):
            model = onnx.load_from_string(model_of(nodes, constants, x, free))
            for t in model.graph.initializer:
                if t.name in values:
                    size = len(t.raw_data)
                    t.ClearField("raw_data")
                    t.data_location = TensorProto.EXTERNAL
                    for key, value in (("location", "missing.bin"), ("offset", "0"), ("length", str(size))):
                        t.external_data.add(key=key, value=value)
            want = session(None, model_of(nodes, {**constants, **replaced}, x, free), {}).run(None, {"x": x})[0]
            ours = session(library, model.SerializeToString(), values, external=True)
            error = relative_error(ours.run(None, {"x": x})[0], want)
            assert error <= LIMIT, (name, free, error)


def external_model(folder, name):
    """Its path, its input, what the CPU provider computes; the weights are the file weights.bin beside it."""
    nodes, constants, _, x = CASES[name]
    path, file = os.path.join(folder, "external.onnx"), os.path.join(folder, "weights.bin")
    model = model_of(nodes, constants, x, True)
    if os.path.exists(file):
        os.remove(file)
    onnx.save_model(onnx.load_from_string(model), path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    return path, file, x, session(None, model, {}).run(None, {"x": x})[0]


def test_working_folder(library, folder):
    """A file of the same name where the process works is not the model's."""
    path, file, x, want = external_model(folder, "Conv")
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as elsewhere:
        with open(os.path.join(elsewhere, "weights.bin"), "wb") as other:
            other.write(bytes(os.path.getsize(file)))
        os.chdir(elsewhere)
        try:
            got = session(library, path, {}).run(None, {"x": x})[0]
        finally:
            os.chdir(before)
    assert relative_error(got, want) <= LIMIT, "weights of another file"


def test_cut_while_used(library, folder):
    """Another program cuts the file of the weights short before the session compiles; mapped weights would end the process."""
    for name in ("MatMul and Add", "Conv", "LSTM"):
        path, file, x, want = external_model(folder, name)
        before = os.getcwd()
        os.chdir(folder)
        try:
            ours = session(library, path, {})
        finally:
            os.chdir(before)
        os.truncate(file, 0)
        error = relative_error(ours.run(None, {"x": x})[0], want)
        assert error <= LIMIT, (name, error)


def test_shared(library):
    """One value for two sessions; the threads of one session meet at its first run."""
    nodes, constants, replaced, x = CASES["MatMul and Add"]
    model = model_of(nodes, constants, x, True)
    values = {key: ort.OrtValue.ortvalue_from_numpy(value) for key, value in replaced.items()}
    want = session(None, model_of(nodes, {**constants, **replaced}, x, True), {}).run(None, {"x": x})[0]
    sessions = [session(library, model, values) for _ in range(2)]
    errors = []

    def run(ours):
        errors.append(relative_error(ours.run(None, {"x": x})[0], want))

    threads = [threading.Thread(target=run, args=(ours,)) for ours in sessions * 3]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(errors) == 6 and max(errors) <= LIMIT, errors


def test_compiled(library, folder):
    """A compiled model holds the model's weights, so that a session which replaces them cannot write one."""
    nodes, constants, replaced, x = CASES["Conv"]
    values = {key: ort.OrtValue.ortvalue_from_numpy(value) for key, value in replaced.items()}
    entries = {"ep.context_enable": "1", "ep.context_file_path": os.path.join(folder, "m.onnx")}
    try:
        session(library, model_of(nodes, constants, x, False), values, entries=entries)
    except Exception as error: # pylint: disable=broad-except; its own class in each version
        assert "may not replace 'w'" in str(error), error
    else:
        assert not os.path.exists(entries["ep.context_file_path"]), "a compiled model with the wrong weights"


def main():
    library = os.path.abspath(sys.argv[1])
    test_values(library)
    test_external(library)
    test_shared(library)
    with tempfile.TemporaryDirectory() as folder:
        test_compiled(library, folder)
        test_working_folder(library, folder)
        test_cut_while_used(library, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
