#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the float32 tensors of an ONNX model into float16: to_fp16.py IN.onnx OUT.onnx

Weights, declared types, constants and Cast targets change; the regions and scales of Resize stay float32, as ONNX
demands.
"""
import sys

import numpy as np

import wire


def kept_names(graph):
    """What feeds the region and the scales of a Resize or Upsample."""
    names = set()
    for n, body in wire.fields(graph):
        if n != wire.GRAPH_NODE:
            continue
        inputs = [value for k, value in wire.fields(body) if k == wire.NODE_INPUT]
        kind = wire.one(body, wire.NODE_KIND)
        if kind == b"Resize":
            names.update(inputs[1:3])
        elif kind == b"Upsample":
            names.update(inputs[1:2])
    return names - {b""}


def tensor(body):
    if wire.one(body, wire.TENSOR_TYPE) != wire.FLOAT:
        return body
    name, array = wire.read_tensor(body)
    limit = np.finfo(np.float16).max
    return wire.tensor(name, np.clip(array, -limit, limit).astype(np.float16))


def value_info(body):
    def tensor_type(inner):
        return b"".join(wire.field(n, wire.FLOAT16 if n == 1 and v == wire.FLOAT else v)
                        for n, v in wire.fields(inner))

    def kind(inner):
        return b"".join(wire.field(n, tensor_type(v) if n == 1 else v) for n, v in wire.fields(inner))

    return b"".join(wire.field(n, kind(v) if n == 2 else v) for n, v in wire.fields(body))


def attribute(body, is_cast):
    name = wire.one(body, wire.ATTRIBUTE_NAME)
    out = b""
    for n, value in wire.fields(body):
        if n == wire.ATTRIBUTE_TENSOR:
            value = tensor(value)
        elif n == wire.ATTRIBUTE_INT and is_cast and name == b"to" and value == wire.FLOAT:
            value = wire.FLOAT16
        out += wire.field(n, value)
    return out


def node(body, kept):
    if any(n == wire.NODE_OUTPUT and value in kept for n, value in wire.fields(body)):
        return body
    is_cast = wire.one(body, wire.NODE_KIND) == b"Cast"
    return b"".join(wire.field(n, attribute(v, is_cast) if n == wire.NODE_ATTRIBUTE else v)
                    for n, v in wire.fields(body))


def graph(body):
    kept = kept_names(body)
    out = []
    for n, value in wire.fields(body):
        if n == wire.GRAPH_NODE:
            value = node(value, kept)
        elif n == wire.GRAPH_INITIALIZER and wire.one(value, wire.TENSOR_NAME) not in kept:
            value = tensor(value)
        elif n in (wire.GRAPH_INPUT, wire.GRAPH_OUTPUT, wire.GRAPH_VALUE) and wire.one(value, 1) not in kept:
            value = value_info(value)
        out.append(wire.field(n, value))
    return b"".join(out)


def convert(model):
    return b"".join(wire.field(n, graph(v) if n == wire.MODEL_GRAPH else v) for n, v in wire.fields(model))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        model = file.read()
    with open(sys.argv[2], "wb") as file:
        file.write(convert(model))


if __name__ == "__main__":
    main()
