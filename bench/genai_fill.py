# SPDX-License-Identifier: Apache-2.0
"""Creates random weights for models of onnxruntime-genai that store weights in the external file model.onnx.data.

    genai_fill.py FOLDER...

The graph itself is small, so it can be copied to another machine and filled there. Requires numpy and onnx. The magnitude of
the numbers keeps logits finite; the generated text is meaningless.
"""
import sys
from pathlib import Path

import numpy as np
import onnx

TYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.FLOAT16: np.float16, onnx.TensorProto.UINT8: np.uint8}
PERIOD = 1 << 22


def pools():
    """Returns PERIOD elements of each kind, which are repeated."""
    rng = np.random.default_rng(1)
    normal, spread = rng.standard_normal(PERIOD, np.float32), rng.random(PERIOD, np.float32)
    return {"weight": 0.03 * normal, "scale": 0.004 + 0.004 * spread, "norm": 0.9 + 0.2 * spread, "cache": 2 * spread - 1,
            "bytes": rng.integers(0, 256, PERIOD).astype(np.uint8)}


def kind_of(tensor):
    if tensor.data_type == onnx.TensorProto.UINT8:
        return "bytes"
    for part, kind in (("scales", "scale"), ("norm", "norm"), ("_cache", "cache")):
        if part in tensor.name:
            return kind
    return "weight"


def fill(folder, numbers):
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    with open(folder / "model.onnx.data", "wb") as file:
        for tensor in model.graph.initializer:
            if tensor.data_location != onnx.TensorProto.EXTERNAL:
                continue
            place = {entry.key: entry.value for entry in tensor.external_data}
            count = int(np.prod(tensor.dims, dtype=np.int64))
            period = numbers[kind_of(tensor)].astype(TYPES[tensor.data_type])
            file.seek(int(place["offset"]))
            for begin in range(0, count, PERIOD):
                file.write(period[:count - begin].data)


def main():
    numbers = pools()
    for folder in sys.argv[1:]:
        fill(Path(folder), numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
