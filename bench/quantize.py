#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes 8-bit networks for bench/all.py: quantize.py FOLDER MODEL.onnx...

Writes FOLDER/NAME.qdq.onnx (QuantizeLinear and DequantizeLinear around float operators) and FOLDER/NAME.qop.onnx (QLinearConv
and similar) with ONNX Runtime's static quantisation: uint8 activations, int8 weights with a scale for each channel, ranges
from two random inputs. Results are meaningless; the times are those of real networks. Requires onnx and onnxruntime:
.cache/peers/venv/bin/python, which scripts/prepare-peers creates."""
import os
import sys
import tempfile

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class RandomInputs(CalibrationDataReader):
    def __init__(self, model, count=2):
        random = np.random.default_rng(0)
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        self.feeds = iter([{i.name: self.feed(random, i) for i in session.get_inputs()} for _ in range(count)])

    @staticmethod
    def feed(random, info):
        shape = [size if isinstance(size, int) else 1 for size in info.shape]
        if "int64" in info.type:
            return random.integers(0, 1000, shape)
        return random.standard_normal(shape).astype(np.float32)

    def get_next(self):
        return next(self.feeds, None)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, models = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for model in models:
        name = os.path.splitext(os.path.basename(model))[0]
        with tempfile.TemporaryDirectory() as room:
            ready = os.path.join(room, "ready.onnx")
            quant_pre_process(model, ready, skip_symbolic_shape=True)
            for end, form in (("qdq", QuantFormat.QDQ), ("qop", QuantFormat.QOperator)):
                quantize_static(ready, os.path.join(folder, f"{name}.{end}.onnx"), RandomInputs(ready), quant_format=form,
                                per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return 0


if __name__ == "__main__":
    sys.exit(main())
