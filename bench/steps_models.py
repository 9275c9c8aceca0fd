#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""steps_models.py FOLDER [--only TEXT]: writes the blocks of steps_blocks.py as ONNX models, of FLOAT32 and FLOAT16, for
`anydml graph` and `anydml bench --profile`, which shows the time of each step. Requires the Python package onnx."""

import argparse
import pathlib
import re

from onnx import helper, numpy_helper, save

from steps_blocks import blocks

OPSET = 16  # without operators for GELU and groups: blocks have them in parts


def type_of(array):
    return numpy_helper.from_array(array).data_type


def write(path, name, nodes, inputs, constants):
    takes = [helper.make_tensor_value_info(k, type_of(v), v.shape) for k, v in inputs.items()]
    gives = [helper.make_tensor_value_info("y", type_of(next(iter(inputs.values()))), None)]
    graph = helper.make_graph(nodes, name, takes, gives, [numpy_helper.from_array(v, k) for k, v in constants.items()])
    norms = any(n.op_type == "LayerNormalization" for n in nodes)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17 if norms else OPSET)], ir_version=8)
    save(model, str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only blocks with this text in their names")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, nodes, inputs, constants in blocks():
        if args.only.lower() in name.lower():
            path = args.folder / (re.sub(r"[^a-z0-9]+", "-", name.lower()) + ".onnx")
            write(path, name, nodes, inputs, constants)
            print(path)


if __name__ == "__main__":
    main()
