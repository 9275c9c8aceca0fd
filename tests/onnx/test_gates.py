# SPDX-License-Identifier: Apache-2.0
"""Products by one matrix whose results are multiplied by a gate of each batch: test_gates.py ANYDML

As diffusion transformers have them: (x @ w + bias) * gate + residual with a gate of [batch, 1, channels]. Products of many
rows take it into their epilogue. Compared with float64.
"""
import sys

import numpy as np

from node_compare import Compare
from onnx_tool import helper

node = helper.make_node
BATCHES, DEPTH, CHANNELS = 3, 24, 40


def main():
    c = Compare(sys.argv[1])
    nodes = [node("MatMul", ["x", "w"], ["product"]), node("Add", ["product", "bias"], ["sum"]),
             node("Mul", ["sum", "gate"], ["gated"]), node("Add", ["gated", "residual"], ["y"])]
    for kind, bound in ((np.float32, 1e-5), (np.float16, 8e-3)):
        for rows, fused in ((70, True), (130, True), (9, False)):
            x = {name: c.random.standard_normal(shape).astype(kind)
                 for name, shape in (("x", (BATCHES, rows, DEPTH)), ("gate", (BATCHES, 1, CHANNELS)),
                                     ("residual", (BATCHES, rows, CHANNELS)))}
            known = {"w": c.random.standard_normal((DEPTH, CHANNELS)).astype(kind) / np.array(5, kind),
                     "bias": c.random.standard_normal(CHANNELS).astype(kind)}
            wide = {name: value.astype(np.float64) for name, value in {**x, **known}.items()}
            want = {"y": ((wide["x"] @ wide["w"] + wide["bias"]) * wide["gate"] + wide["residual"]).astype(kind)}
            c.outputs(f"{kind.__name__}, {rows} rows", nodes, x, want, known, 17, bound, bound)
            path = c.file("graph.onnx", c.model(nodes, x, want, known, 17).SerializeToString())
            text = c.works("graph", path).split("plan:")[0]
            steps = [line.split()[0] for line in text.splitlines() if line[:1].isalpha() and not line.startswith("graph:")]
            c.test(steps == (["gemm"] if fused else steps), f"{rows} rows have the steps {steps}")
    c.finish()


if __name__ == "__main__":
    main()
