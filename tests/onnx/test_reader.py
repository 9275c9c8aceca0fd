#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Constants of models as the command reads them, compared with the onnx package: test_reader.py ANYDML

Every type that onnx can write, in raw_data, in the field of its type, as initializers and as attributes; models that onnx
makes with all their optional parts.
"""
import os
import subprocess
import sys
import tempfile

SKIP = 77
try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIP)

TYPES = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT8,
         TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32,
         TensorProto.INT64, TensorProto.UINT64, TensorProto.BOOL, TensorProto.INT4, TensorProto.UINT4]
SIGNED = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT8,
          TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.INT4)
SHAPES = ([], [1], [5], [2, 3], [3, 400, 2])


def values(kind, shape):
    """Small whole numbers that the type holds."""
    count = int(np.prod(shape, dtype=np.int64))
    lowest, highest = (0, 1) if kind == TensorProto.BOOL else (-8, 7) if kind in SIGNED else (0, 15)
    return [lowest + 3 * i % (highest - lowest + 1) for i in range(count)]


def tensor(kind, shape, name, raw):
    """In the field of its type, or the same as raw data."""
    typed = helper.make_tensor(name, kind, shape, values(kind, shape))
    if not raw:
        return typed
    return numpy_helper.from_array(numpy_helper.to_array(typed), name)


def make(kind, shape, raw, attribute):
    t = tensor(kind, shape, "w", raw)
    nodes = [helper.make_node("Constant", [], ["w"], value=t)] if attribute else []
    nodes += [helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT), helper.make_node("Add", ["x", "v"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [] if attribute else [t], doc_string="text that nothing reads")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10,
                              producer_name="a test", doc_string="more text")
    helper.set_model_props(model, {"key": "value"})
    return model, t


def run(tool, folder, model, shape):
    path, x, y = (os.path.join(folder, name) for name in ("m.onnx", "x.npy", "y.npy"))
    with open(path, "wb") as file:
        file.write(model)
    np.save(x, np.full(shape, 0.5, np.float32))
    if os.path.exists(y):
        os.remove(y)
    result = subprocess.run([tool, "run", path, "--input", x, "--output", y], capture_output=True, text=True,
                            check=False, env={**os.environ, "ANYDML_TELEMETRY": "0"})
    return np.load(y) if result.returncode == 0 else result.stderr.strip()


def main():
    tool, failed, count = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory(prefix="anydml-reader-") as folder:
        for kind in TYPES:
            for number, shape in enumerate(SHAPES):
                for raw in (False, True):
                    attribute = (number + raw) % 2 == 1
                    model, t = make(kind, shape, raw, attribute)
                    assert t.HasField("raw_data") == raw
                    want = np.reshape(np.array(values(kind, shape), np.float32), shape) + 0.5
                    own = numpy_helper.to_array(t).astype(np.float32) + 0.5
                    assert np.array_equal(own, want), (kind, shape, raw)
                    got = run(tool, folder, model.SerializeToString(), shape)
                    count += 1
                    if isinstance(got, str) or not np.array_equal(got, want):
                        failed += 1
                        print(f"FAILED: {TensorProto.DataType.Name(kind)} {shape} raw={raw} attribute={attribute}: "
                              f"{got if isinstance(got, str) else 'other values'}")
    print(f"{count} models, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
