# SPDX-License-Identifier: Apache-2.0
"""Makes a network of images of one size one of another size: convert(model, (height, width)).

Inputs and outputs are declared again. Ends of a Slice along height and width move as its input shrinks, which is by a whole
factor less than the model's.
"""
import wire

DIMENSION = 1  # of a TensorShapeProto; within, its value


def sizes_of(info):
    shape = wire.one(wire.one(wire.one(info, 2), 1), 2)
    return [wire.one(value, 1) for n, value in wire.fields(shape) if n == DIMENSION]


def slice_ends(graph):
    return {[v for k, v in wire.fields(body) if k == wire.NODE_INPUT][2]
            for n, body in wire.fields(graph) if n == wire.GRAPH_NODE and wire.one(body, wire.NODE_KIND) == b"Slice"}


def resize_graph(graph, size):
    old = sizes_of(wire.one(graph, wire.GRAPH_INPUT))[2:]
    ends, out = slice_ends(graph), b""
    for n, value in wire.fields(graph):
        if n in (wire.GRAPH_INPUT, wire.GRAPH_OUTPUT):
            have = sizes_of(value)
            have[2:] = [have[2 + d] * size[d] // old[d] for d in range(2)]
            value = wire.value_info(wire.one(value, 1).decode(), wire.FLOAT, have)
        elif n == wire.GRAPH_INITIALIZER and wire.one(value, wire.TENSOR_NAME) in ends:
            name, array = wire.read_tensor(value)
            array = array.copy()
            for d in range(2):
                array[d] -= (old[d] - size[d]) // round(old[d] / array[d])
            value = wire.tensor(name, array)
        out += wire.field(n, value)
    return out


def convert(model, size):
    return b"".join(wire.field(n, resize_graph(v, size) if n == wire.MODEL_GRAPH else v) for n, v in wire.fields(model))
