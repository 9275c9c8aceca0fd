# SPDX-License-Identifier: Apache-2.0
"""Weights in the model's file: test_weights.py LIBRARY

They are in memory once: the peak of a process that creates a session and runs it is close to that of ONNX Runtime's own
provider, for fixed and for free sizes. Results are compared with numpy's; a file that is overwritten while a session of
free sizes uses it is an error for sizes that are not compiled yet, and no other session notices.
"""
import os
import subprocess
import sys
import tempfile

from provider import devices, np, onnx, ort, relative_error # first: it skips where a package is missing
from onnx import TensorProto, helper, numpy_helper

LAYERS, SIZE = 8, 2048 # 16 MiB each
LIMIT = 2e-5
PEAK = 1.15


def save(path, free, seed):
    """Shorter and longer weights, one that is read transposed, one that the host folds, one that a table is read from."""
    rng = np.random.default_rng(seed)
    weights = [(rng.standard_normal((SIZE, SIZE), np.float32) / SIZE**0.5) for _ in range(LAYERS)]
    bias = rng.standard_normal(SIZE, np.float32)
    nodes, constants, last = [], {"b": bias, "scale": np.float32(0.5)}, "x"
    for i, w in enumerate(weights):
        constants[f"w{i}"] = w
        if i == 1:
            nodes.append(helper.make_node("Gemm", [last, "w1", "b"], ["h1"], transB=1))
        elif i == 2:
            nodes += [helper.make_node("Mul", ["w2", "scale"], ["half"]), helper.make_node("MatMul", [last, "half"], ["h2"])]
        else:
            nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    rows = "n" if free else 3
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, SIZE])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, SIZE])],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def wanted(x):
        x = x.astype(np.float64)
        for i, w in enumerate(weights):
            x = x @ (w.T if i == 1 else w * 0.5 if i == 2 else w) + (bias if i == 1 else 0)
        return x.astype(np.float32)
    return wanted


def make_session(library, path):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    if not library:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    options.add_provider_for_devices(devices(library)[:1], {})
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(path, options)


def peak_kib():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def child(library, path, rows, result):
    """Writes the results for the given rows; prints how much the peak of memory grew."""
    ort.get_available_providers()
    if library:
        devices(library)
    before = peak_kib()
    s = make_session(library, path)
    found = [s.run(None, {"x": inputs(n)})[0] for n in rows]
    print(peak_kib() - before)
    np.savez(result, *found)


def inputs(rows):
    return np.random.default_rng(rows).standard_normal((rows, SIZE), np.float32)


def peak_of(library, path, rows, wanted):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "y.npz")
        out = subprocess.run([sys.executable, __file__, "child", library, path, ",".join(map(str, rows)), result],
                             capture_output=True, text=True, check=False)
        assert not out.returncode, out.stderr
        with np.load(result) as found:
            for n, y in zip(rows, found.values()):
                error = relative_error(y, wanted(inputs(n)))
                assert error < LIMIT, f"{rows}: {error}"
    return int(out.stdout.split()[-1])


def test_peaks(library, folder):
    for free in (False, True):
        path, rows = os.path.join(folder, f"model{free}.onnx"), [3, 40, 1] if free else [3]
        wanted = save(path, free, 1)
        ours, theirs = peak_of(library, path, rows, wanted), peak_of("", path, rows, wanted)
        print(f"{'free' if free else 'fixed'} sizes: {ours >> 10} MiB, ONNX Runtime {theirs >> 10} MiB")
        assert ours < PEAK * theirs, "the weights are in memory more than once"


def test_changed(library, folder):
    """A new file of the name changes nothing; the same one with other bytes is noticed."""
    path = os.path.join(folder, "model.onnx")
    wanted = save(path, True, 2)
    s = make_session(library, path)
    assert relative_error(s.run(None, {"x": inputs(2)})[0], wanted(inputs(2))) < LIMIT
    other = os.path.join(folder, "other.onnx")
    save(other, True, 3)
    os.replace(other, path)
    assert relative_error(s.run(None, {"x": inputs(50)})[0], wanted(inputs(50))) < LIMIT, "the new file was read"
    wanted = save(path, True, 4)
    s = make_session(library, path)
    assert relative_error(s.run(None, {"x": inputs(2)})[0], wanted(inputs(2))) < LIMIT
    with open(path, "r+b") as file:
        file.truncate(1 << 20)
    assert relative_error(s.run(None, {"x": inputs(2)})[0], wanted(inputs(2))) < LIMIT
    try:
        s.run(None, {"x": inputs(50)})
        raise AssertionError("a shortened file was used")
    except Exception as error:
        assert "has changed" in str(error), error


def main(library):
    with tempfile.TemporaryDirectory() as folder:
        test_peaks(library, folder)
        test_changed(library, folder)


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(sys.argv[2], sys.argv[3], [int(n) for n in sys.argv[4].split(",")], sys.argv[5])
    else:
        main(sys.argv[1])
