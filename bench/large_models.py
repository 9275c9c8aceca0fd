#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models of more than 4 GiB on a device, made on the spot, run by the anydml command, and checked with numpy.

large_models.py make CASE FOLDER          writes FOLDER/CASE.onnx, CASE.bin (weights) and the inputs
large_models.py run CASE FOLDER ANYDML    runs it with that command on Vulkan (DEVICE: another device) and prints the peak of
                                          the host's memory (VmHWM, anonymous, file) and of the device's, and times
large_models.py check CASE FOLDER         compares the outputs with float32 products of numpy

Cases: decoder (32 layers, 13.5 GB of float16), many (130 MatMuls of 32 MB), deep (one weight of 5.4 GB, float32),
tall (a temporary of 5.4 GB), small (decoder of 2 layers of 512, to try the script)."""
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np

ROWS = 64
SIZES = {"decoder": (32, 4096, 11008), "small": (2, 512, 1376)}
SHOWN = {"decoder": (0, 15, 31), "small": (0, 1)}
BLOCK = 1 << 26


class Weights:
    """Random numbers: windows of one block at different starts, so that no two weights are equal and making is fast."""
    def __init__(self, path, dtype):
        import onnx
        self.onnx, self.path, self.dtype = onnx, path, np.dtype(dtype)
        rng = np.random.default_rng(1)
        self.block = rng.standard_normal(BLOCK, dtype=np.float32)
        self.file, self.start, self.made = open(path, "wb"), 0, []

    def values(self, number, rows, columns):
        n, at = rows * columns, number * 7919 * 64 % BLOCK
        flat = np.empty(n, self.dtype)
        done = 0
        while done < n:
            k = min(n - done, BLOCK - at)
            np.multiply(self.block[at:at + k], np.float32(rows ** -0.5), out=flat[done:done + k], casting="unsafe")
            done, at = done + k, 0
        return flat.reshape(rows, columns)

    def add(self, name, rows, columns):
        w = self.values(len(self.made), rows, columns)
        self.file.seek(self.start)
        w.tofile(self.file)
        t = self.onnx.TensorProto(name=name, dims=[rows, columns], data_location=self.onnx.TensorProto.EXTERNAL,
                                  data_type=10 if self.dtype == np.float16 else 1)
        for key, value in (("location", os.path.basename(self.path)), ("offset", self.start), ("length", w.nbytes)):
            t.external_data.add(key=key, value=str(value))
        self.start = (self.start + w.nbytes + 65535) // 65536 * 65536
        self.made.append(t)
        return name


def save(folder, case, nodes, inputs, outputs, weights):
    from onnx import helper
    graph = helper.make_graph(nodes, case, inputs, outputs, weights.made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(f"{folder}/{case}.onnx", "wb") as f:
        f.write(model.SerializeToString())
    weights.file.close()
    print(case, "weights", weights.start / 1e9, "GB")


def make_decoder(folder, case):
    from onnx import TensorProto, helper
    layers, width, hidden = SIZES[case]
    w, nodes = Weights(f"{folder}/{case}.bin", np.float16), []
    def node(op, inputs, output):
        nodes.append(helper.make_node(op, inputs, [output]))
        return output
    h = "h"
    for i in range(layers):
        p = f"l{i}_"
        q, k, v = (node("MatMul", [h, w.add(p + "w" + n, width, width)], p + n) for n in "qkv")
        s = node("Add", [node("Mul", [q, node("Sigmoid", [k], p + "sk")], p + "qk"), v], p + "s")
        o = node("Tanh", [node("MatMul", [s, w.add(p + "wo", width, width)], p + "o")], p + "to")
        a = node("Add", [h, o], p + "a")
        g, u = (node("MatMul", [a, w.add(p + "w" + n, width, hidden)], p + n) for n in "gu")
        m = node("Mul", [node("Mul", [g, node("Sigmoid", [g], p + "sg")], p + "gs"), node("Tanh", [u], p + "tu")], p + "m")
        d = node("MatMul", [m, w.add(p + "wd", hidden, width)], p + "d")
        h = node("Tanh", [node("Add", [a, d], p + "ad")], p + "h")
    names = sorted({f"l{i - 1}_h" for i in SHOWN[case] if i} | {f"l{i}_h" for i in SHOWN[case]})
    info = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT16, [ROWS, width])
    save(folder, case, nodes, [info("h")], [info(n) for n in names], w)
    np.save(f"{folder}/{case}_h.npy", np.random.default_rng(2).uniform(-1, 1, (ROWS, width)).astype(np.float16))


def check_decoder(folder, case):
    layers, width, hidden = SIZES[case]
    w = Weights(os.devnull, np.float16)
    get = lambda layer, i, r, c: w.values(layer * 7 + i, r, c).astype(np.float32)
    load = lambda n: np.load(f"{folder}/{case}_{n}.npy").astype(np.float32)
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    bad = 0
    for i in SHOWN[case]:
        h, got = load(f"l{i - 1}_h" if i else "h"), load(f"l{i}_h")
        q, k, v = (h @ get(i, n, width, width) for n in range(3))
        a = h + np.tanh((q * sigmoid(k) + v) @ get(i, 3, width, width))
        g, u = a @ get(i, 4, width, hidden), a @ get(i, 5, width, hidden)
        want = np.tanh(a + (g * sigmoid(g) * np.tanh(u)) @ get(i, 6, hidden, width))
        error = np.abs(want - got)
        print(f"layer {i}: largest error {error.max():.4g}, mean {error.mean():.4g}, spread of results {want.std():.3f}")
        bad |= error.max() > 0.05 or not np.isfinite(got).all() or want.std() < 0.1
    return bad


def make_many(folder, case):
    from onnx import TensorProto, helper
    w, nodes, h = Weights(f"{folder}/{case}.bin", np.float32), [], "h"
    for i in range(130):
        nodes.append(helper.make_node("MatMul", [h, w.add(f"w{i}", 2048, 4096) if i % 2 == 0 else w.add(f"w{i}", 4096, 2048)],
                                      [f"p{i}"]))
        nodes.append(helper.make_node("Tanh", [f"p{i}"], [f"h{i}"]))
        h = f"h{i}"
    info = lambda n, c: helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, c])
    save(folder, case, nodes, [info("h", 2048)], [info("h0", 4096), info("h127", 2048), info("h128", 4096), info(h, 2048)], w)
    np.save(f"{folder}/{case}_h.npy", np.random.default_rng(2).uniform(-1, 1, (4, 2048)).astype(np.float32))


def check_many(folder, case):
    w = Weights(os.devnull, np.float32)
    load = lambda n: np.load(f"{folder}/{case}_{n}.npy")
    bad = 0
    for i, x in ((0, "h"), (128, "h127"), (129, "h128")):
        shape = (2048, 4096) if i % 2 == 0 else (4096, 2048)
        error = np.abs(np.tanh(load(x).astype(np.float64) @ w.values(i, *shape)) - load(f"h{i}"))
        print(f"MatMul {i}: largest error {error.max():.3g}")
        bad |= error.max() > 1e-3
    return bad


def make_deep(folder, case):
    from onnx import TensorProto, helper
    w = Weights(f"{folder}/{case}.bin", np.float32)
    nodes = [helper.make_node("MatMul", ["h", w.add("w", 4096, 327680)], ["y"])]
    info = lambda n, c: helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, c])
    save(folder, case, nodes, [info("h", 4096)], [info("y", 327680)], w)
    np.save(f"{folder}/{case}_h.npy", np.random.default_rng(2).uniform(-1, 1, (4, 4096)).astype(np.float32))


def check_deep(folder, case):
    h, got = np.load(f"{folder}/{case}_h.npy"), np.load(f"{folder}/{case}_y.npy")
    want = h @ np.memmap(f"{folder}/{case}.bin", np.float32, "r", shape=(4096, 327680))
    print("largest error", np.abs(want - got).max())
    return np.abs(want - got).max() > 1e-2


def make_tall(folder, case):
    from onnx import TensorProto, helper
    w = Weights(f"{folder}/{case}.bin", np.float32)
    nodes = [helper.make_node("MatMul", ["h", w.add("w", 8, 20480)], ["t"]),
             helper.make_node("ReduceMax", ["t"], ["y"], axes=[1], keepdims=1)]
    info = lambda n, c: helper.make_tensor_value_info(n, TensorProto.FLOAT, [65536, c])
    save(folder, case, nodes, [info("h", 8)], [info("y", 1)], w)
    np.save(f"{folder}/{case}_h.npy", np.random.default_rng(2).uniform(-1, 1, (65536, 8)).astype(np.float32))


def check_tall(folder, case):
    h, got = np.load(f"{folder}/{case}_h.npy"), np.load(f"{folder}/{case}_y.npy")
    w = Weights(os.devnull, np.float32).values(0, 8, 20480)
    want = np.concatenate([(h[i:i + 1024] @ w).max(1, keepdims=True) for i in range(0, len(h), 1024)])
    print("largest error", np.abs(want - got).max())
    return np.abs(want - got).max() > 1e-4


def device_memory(stop, out):
    while not stop.is_set():
        try:
            used = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                                  capture_output=True, text=True).stdout.split()
            out[0] = max(out[0], int(used[0]))
        except (OSError, ValueError, IndexError):
            return
        stop.wait(0.3)


def run(folder, case, anydml):
    import onnx
    model = onnx.load(f"{folder}/{case}.onnx", load_external_data=False)
    command = [anydml, "run", f"{folder}/{case}.onnx", "--device", os.environ.get("DEVICE", "vulkan"), "--input",
               f"h={folder}/{case}_h.npy"]
    for o in model.graph.output:
        command += ["--output", f"{o.name}={folder}/{case}_{o.name}.npy"]
    del model
    stop, device, peak, start = threading.Event(), [0], {}, time.time()
    watcher = threading.Thread(target=device_memory, args=(stop, device))
    watcher.start()
    process = subprocess.Popen(command + sys.argv[5:])
    while process.poll() is None:
        try:
            for key, kb in re.findall(r"(VmHWM|RssAnon|RssFile|VmLck):\s+(\d+)", open(f"/proc/{process.pid}/status").read()):
                peak[key] = max(peak.get(key, 0), int(kb))
        except OSError:
            pass
        time.sleep(0.01)
    stop.set()
    watcher.join()
    weights = os.path.getsize(f"{folder}/{case}.bin")
    print(f"{case}: exit {process.returncode}, {time.time() - start:.1f} s, weights {weights / 1e6:.0f} MB, "
          f"device peak {device[0]} MiB")
    print("  host peak: " + ", ".join(f"{k} {v * 1.024 / 1e3:.0f} MB" for k, v in peak.items()) +
          f"; VmHWM / weights = {peak.get('VmHWM', 0) * 1024 / weights:.3f}, bound 1.1 and 256 MB: " +
          f"{(1.1 * weights + 256e6) / 1e6:.0f} MB")
    return process.returncode


if __name__ == "__main__":
    what, case, folder = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    kind = "decoder" if case in SIZES else case
    if what == "run":
        sys.exit(run(folder, case, sys.argv[4]))
    sys.exit(bool(globals()[f"{what}_{kind}"](folder, case)))
