# SPDX-License-Identifier: Apache-2.0
"""Just enough of the protobuf wire format and of ONNX's messages to read, write and change models without a library."""
import struct

import numpy as np

FLOAT, UINT8, INT32, INT64, BOOL, FLOAT16, DOUBLE = 1, 2, 6, 7, 9, 10, 11
TYPES = {FLOAT: np.float32, UINT8: np.uint8, INT32: np.int32, INT64: np.int64, BOOL: np.bool_, FLOAT16: np.float16,
         DOUBLE: np.float64}
CODES = {np.dtype(numpy): code for code, numpy in TYPES.items()}

# Field numbers.
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE = 1, 5, 11, 12, 13
NODE_INPUT, NODE_OUTPUT, NODE_KIND, NODE_ATTRIBUTE = 1, 2, 4, 5
ATTRIBUTE_NAME, ATTRIBUTE_INT, ATTRIBUTE_TENSOR = 1, 3, 5
TENSOR_DIMS, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_NAME, TENSOR_RAW = 1, 2, 4, 8, 9


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """An integer, text or bytes (a message too), with its tag."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Pairs (number, value) of a message: integers, floats, or bytes."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 8 if kind == 1 else 4
            value, at = struct.unpack("<d" if kind == 1 else "<f", data[at:at + size])[0], at + size
        yield tag >> 3, value


def repeated_ints(data, number):
    """A repeated integer field, packed or not."""
    out = []
    for n, value in fields(data):
        if n == number and isinstance(value, int):
            out.append(value)
        elif n == number:
            at = 0
            while at < len(value):
                one, at = read_varint(value, at)
                out.append(one)
    return out


def one(data, number, otherwise=None):
    values = [value for n, value in fields(data) if n == number]
    return values[-1] if values else otherwise


def read_tensor(data):
    """Name and array of a TensorProto of floats or of raw data."""
    dims, raw = repeated_ints(data, TENSOR_DIMS), one(data, TENSOR_RAW)
    if raw is None:
        raw = b"".join(struct.pack("<f", v) if isinstance(v, float) else v
                       for n, v in fields(data) if n == TENSOR_FLOATS)
    array = np.frombuffer(raw, TYPES[one(data, TENSOR_TYPE)]).reshape(dims)
    return one(data, TENSOR_NAME, b"").decode(), array


def initializers(model):
    return dict(read_tensor(value) for n, value in fields(one(model, MODEL_GRAPH)) if n == GRAPH_INITIALIZER)


def tensor(name, array):
    array = np.ascontiguousarray(array)
    dims = b"".join(field(TENSOR_DIMS, d) for d in array.shape)
    return dims + field(TENSOR_TYPE, CODES[array.dtype]) + field(TENSOR_NAME, name) + field(TENSOR_RAW, array.tobytes())


def attribute(name, value):
    if isinstance(value, int):
        body = field(3, value) + field(20, 2)
    elif isinstance(value, float):
        body = field(2, value) + field(20, 1)
    elif isinstance(value, str):
        body = field(4, value) + field(20, 3)
    elif isinstance(value, np.ndarray):
        body = field(5, tensor("", value)) + field(20, 4)
    else:
        body = b"".join(field(8, v) for v in value) + field(20, 7)
    return field(ATTRIBUTE_NAME, name) + body


def node(kind, inputs, outputs, **attributes):
    return (b"".join(field(NODE_INPUT, i) for i in inputs) + b"".join(field(NODE_OUTPUT, o) for o in outputs) +
            field(NODE_KIND, kind) + b"".join(field(NODE_ATTRIBUTE, attribute(k, v)) for k, v in attributes.items()))


def value_info(name, code, dims):
    """Text among the dims is the name of a free dimension."""
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, code) + field(2, shape)))


def model(nodes, inputs, outputs, weights=(), opset=17):
    """A ModelProto. Inputs and outputs are (name, code, dims), weights (name, array)."""
    graph = b"".join(field(GRAPH_NODE, n) for n in nodes) + field(2, "test")
    graph += b"".join(field(GRAPH_INITIALIZER, tensor(*w)) for w in weights)
    graph += b"".join(field(GRAPH_INPUT, value_info(*i)) for i in inputs)
    graph += b"".join(field(GRAPH_OUTPUT, value_info(*o)) for o in outputs)
    return field(1, 8) + field(MODEL_GRAPH, graph) + field(8, field(1, "") + field(2, opset))
