#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes networks with random weights for bench/all.py and bench/quantize.py.

usage: networks.py FOLDER [--batch-norm] [--float16] [--batch 1] [NAME...]

Names (default: all): resnet50 (v1.5), mobilenetv2, squeezenet11, bert_base_s128 (12 layers, 128 tokens, 340 MB),
bert_layer1_s128 (one layer of it), yolo416 (a small YOLOv4), super_resolution (540p to 1080p). ONNX opset 17, float32, batch
1, fixed sizes. Batch normalisation is folded into the convolutions, as exporters do; with --batch-norm it remains as nodes,
in files NAME_bn.onnx. With --float16 all numbers are FLOAT16, in files NAME_f16.onnx. With --batch N networks for images have
batch N, in files NAME_bN.onnx. A network does not depend on the other ones that are made.
Results are meaningless; sizes and operators are those of the trained networks. Weights keep activations near 1 in all layers,
also for half precision. Requires numpy and onnx: .cache/peers/venv/bin/python, which scripts/prepare-peers creates.
"""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BRANCH = 0.4  # scale of values added to a shortcut, so that sums over many blocks stay small


class Network:
    """Builder of nodes and constants. Methods that add an operator return the name of its result."""

    batch_norm = False  # whether it remains as nodes
    half = False        # FLOAT16 instead of FLOAT32
    batch = 1           # of images, not of texts

    def __init__(self, name, shape, inputs=("x",)):
        self.name, self.nodes, self.constants, self.outputs = name, [], {}, []
        self.random = np.random.default_rng(1)
        self.inputs = [helper.make_tensor_value_info(i, self.type(), shape) for i in inputs]

    def type(self):
        return TensorProto.FLOAT16 if self.half else TensorProto.FLOAT

    def constant(self, name, value, exact=False):
        """Adds a constant with this name unless there is one. exact: keeps its type."""
        if name not in self.constants:
            if self.half and value.dtype == np.float32 and not exact:
                value = value.astype(np.float16)
            self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def weight(self, shape, deviation):
        array = self.random.standard_normal(shape, np.float32)
        array *= np.float32(deviation)
        return self.constant(f"weight{len(self.constants)}", array)

    def apply(self, op, *inputs, outputs=1, **attributes):
        number = len(self.nodes)
        names = [f"{op}{number}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}{number}", **attributes))
        return names if outputs > 1 else names[0]

    def output(self, value, shape):
        self.outputs.append(helper.make_tensor_value_info(value, self.type(), shape))

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants.values())
        name = self.name + ("_bn" if self.batch_norm else "") + ("_f16" if self.half else "")
        name += f"_b{self.batch}" if self.batch > 1 else ""
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        path = os.path.join(folder, name + ".onnx")
        onnx.save(model, path)
        return path

    # ---- images ----

    def conv(self, x, size_in, size_out, kernel=1, stride=1, groups=1, scale=1.0):
        """A convolution that keeps the size except for the stride, with He initialisation."""
        shape = (size_out, size_in // groups, kernel, kernel)
        inputs = [x, self.weight(shape, scale * (2 / np.prod(shape[1:]))**0.5), self.weight((size_out,), 0.01)]
        inputs = inputs[:2] if self.batch_norm else inputs
        x = self.apply("Conv", *inputs, kernel_shape=[kernel, kernel], strides=[stride, stride],
                       pads=4 * [kernel // 2], group=groups)
        return self.normalise_batch(x, size_out) if self.batch_norm else x

    def normalise_batch(self, x, size):
        """Normalisation with little effect, so that activations keep their magnitude."""
        number = len(self.constants)
        near_one = [self.constant(f"scale{number + i}", self.random.uniform(0.9, 1.1, size).astype(np.float32))
                    for i in range(2)]
        mean, bias = self.weight((size,), 0.01), self.weight((size,), 0.01)
        return self.apply("BatchNormalization", x, near_one[0], bias, mean, near_one[1])

    def relu(self, x):
        return self.apply("Relu", x)

    def relu6(self, x):
        return self.apply("Clip", x, self.constant("zero", np.float32(0)), self.constant("six", np.float32(6)))

    def leaky(self, x):
        return self.apply("LeakyRelu", x, alpha=0.1)

    def mish(self, x):
        return self.apply("Mul", x, self.apply("Tanh", self.apply("Softplus", x)))

    def pool(self, x, size, stride, pad):
        return self.apply("MaxPool", x, kernel_shape=[size, size], strides=[stride, stride], pads=4 * [pad])

    def classes(self, x, size):
        """The mean over the image, followed by one score for each of 1000 classes."""
        x = self.apply("Flatten", self.apply("GlobalAveragePool", x), axis=1)
        self.output(self.apply("Gemm", x, self.weight((1000, size), size**-0.5), self.weight((1000,), 0.01), transB=1),
                    [self.batch, 1000])

    # ---- text ----

    def dense(self, x, size_in, size_out):
        x = self.apply("MatMul", x, self.weight((size_in, size_out), 0.02))
        return self.apply("Add", x, self.weight((size_out,), 0.01))

    def normalise(self, x, size):
        return self.apply("LayerNormalization", x, self.constant("ones", np.ones(size, np.float32)),
                          self.weight((size,), 0.01), axis=-1, epsilon=1e-12)

    def gelu(self, x):
        scaled = self.apply("Div", x, self.constant("root2", np.float32(2**0.5)))
        both = self.apply("Add", self.apply("Erf", scaled), self.constant("one", np.float32(1)))
        return self.apply("Mul", self.apply("Mul", x, both), self.constant("half", np.float32(0.5)))

    def attention(self, q, k, v, tokens, heads, size):
        """Attention; tokens of inputs and output have adjacent heads."""
        split = self.constant("split", np.array([1, tokens, heads, size], np.int64))
        q, k, v = [self.apply("Transpose", self.apply("Reshape", x, split), perm=order)
                   for x, order in ((q, (0, 2, 1, 3)), (k, (0, 2, 3, 1)), (v, (0, 2, 1, 3)))]
        scores = self.apply("Div", self.apply("MatMul", q, k), self.constant("root", np.float32(size**0.5)))
        x = self.apply("MatMul", self.apply("Softmax", scores, axis=-1), v)
        return self.apply("Reshape", self.apply("Transpose", x, perm=(0, 2, 1, 3)),
                          self.constant("join", np.array([1, tokens, heads * size], np.int64)))


def resnet50(name):
    """Bottlenecks; the 3x3 convolution has the stride, which is the definition of v1.5."""
    net, channels = Network(name, [Network.batch, 3, 224, 224]), 64
    x = net.pool(net.relu(net.conv("x", 3, channels, 7, 2)), 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = net.relu(net.conv(x, channels, inner))
            y = net.relu(net.conv(y, inner, inner, 3, stride))
            y = net.conv(y, inner, 4 * inner, scale=BRANCH)
            if not block:
                x = net.conv(x, channels, 4 * inner, stride=stride, scale=0.7)
            x = net.relu(net.apply("Add", y, x))
            channels = 4 * inner
    net.classes(x, channels)
    return net


def mobilenetv2(name):
    """Inverted bottlenecks with depthwise convolutions."""
    net, channels = Network(name, [Network.batch, 3, 224, 224]), 32
    x = net.relu6(net.conv("x", 3, channels, 3, 2))
    # expansion factor, channels, blocks, stride of the first
    for factor, size, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                        (6, 160, 3, 2), (6, 320, 1, 1)):
        for stride in [first] + [1] * (blocks - 1):
            inner = factor * channels
            y = x if factor == 1 else net.relu6(net.conv(x, channels, inner))
            y = net.relu6(net.conv(y, inner, inner, 3, stride, groups=inner))
            y = net.conv(y, inner, size, scale=0.7)
            x = net.apply("Add", x, y) if (stride, channels) == (1, size) else y
            channels = size
    net.classes(net.relu6(net.conv(x, channels, 1280)), 1280)
    return net


def squeezenet11(name):
    """Fire modules: the output of a squeezing 1x1 convolution is the input of a 1x1 and a 3x3 convolution, concatenated."""
    net, channels = Network(name, [Network.batch, 3, 224, 224]), 64
    x = net.relu(net.apply("Conv", "x", net.weight((64, 3, 3, 3), 0.27), net.weight((64,), 0.01), kernel_shape=[3, 3],
                           strides=[2, 2]))
    for squeeze, size in ((0, 0), (16, 64), (16, 64), (0, 0), (32, 128), (32, 128), (0, 0), (48, 192), (48, 192),
                          (64, 256), (64, 256)):
        if not size:
            x = net.apply("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
            continue
        y = net.relu(net.conv(x, channels, squeeze))
        x = net.apply("Concat", *[net.relu(net.conv(y, squeeze, size, k)) for k in (1, 3)], axis=1)
        channels = 2 * size
    x = net.relu(net.conv(x, channels, 1000))
    net.output(net.apply("Flatten", net.apply("GlobalAveragePool", x), axis=1), [net.batch, 1000])
    return net


def bert(name, layers, tokens=128, heads=12, size=64):
    """The encoder of BERT, without the embeddings."""
    width = heads * size
    net, x = Network(name, [1, tokens, width]), "x"
    for _ in range(layers):
        y = net.attention(*[net.dense(x, width, width) for _ in range(3)], tokens, heads, size)
        x = net.normalise(net.apply("Add", net.dense(y, width, width), x), width)
        y = net.dense(net.gelu(net.dense(x, width, 4 * width)), 4 * width, width)
        x = net.normalise(net.apply("Add", y, x), width)
    net.output(x, [1, tokens, width])
    return net


def cross_stage(net, x, size):
    """Two more convolutions on the second half of the channels; (their result, that and all channels)."""
    x, half = net.mish(net.conv(x, size, size, 3)), size // 2
    _, part = net.apply("Split", x, net.constant(f"halves{size}", np.array([half, half], np.int64)), outputs=2, axis=1)
    once = net.mish(net.conv(part, half, half, 3))
    twice = net.mish(net.conv(once, half, half, 3))
    y = net.mish(net.conv(net.apply("Concat", twice, once, axis=1), size, size))
    return y, net.apply("Concat", x, y, axis=1)


def yolo416(name):
    """Cross-stage blocks with Mish, pyramid pooling, and two heads of 3 boxes with 80 classes, for 32 and 16 pixels."""
    net, boxes = Network(name, [Network.batch, 3, 416, 416]), 3 * (5 + 80)
    x = net.mish(net.conv("x", 3, 32, 3, 2))
    x = net.mish(net.conv(x, 32, 64, 3, 2))
    for size in (64, 128, 256):
        fine, x = cross_stage(net, x, size)
        x = net.pool(x, 2, 2, 0)
    x = net.leaky(net.conv(x, 512, 512, 3))
    x = net.leaky(net.conv(x, 512, 256))
    x = net.apply("Concat", x, *[net.pool(x, size, 1, size // 2) for size in (5, 9, 13)], axis=1)
    x = net.leaky(net.conv(x, 1024, 256))
    net.output(net.conv(net.leaky(net.conv(x, 256, 512, 3)), 512, boxes), [net.batch, boxes, 13, 13])
    x = net.leaky(net.conv(x, 256, 128))
    x = net.apply("Resize", x, "", net.constant("twofold", np.array([1, 1, 2, 2], np.float32), exact=True), mode="nearest",
                  nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    x = net.leaky(net.conv(net.apply("Concat", x, fine, axis=1), 128 + 256, 256, 3))
    net.output(net.conv(x, 256, boxes), [net.batch, boxes, 26, 26])
    return net


def super_resolution(name):
    """Super-resolution from 540p to 1080p."""
    net = Network(name, [Network.batch, 3, 540, 960])

    def twice(x):
        return net.apply("Resize", x, "", net.constant("twofold", np.array([1, 1, 2, 2], np.float32), exact=True),
                         mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")

    x = net.relu(net.conv("x", 3, 32, 5))
    x = net.relu(net.conv(net.relu(net.conv(x, 32, 64, 3)), 64, 64, 3))
    x = net.relu(net.conv(twice(x), 64, 32, 5))
    x = net.relu(net.conv(net.relu(net.conv(x, 32, 32, 3)), 32, 32, 3))
    net.output(net.apply("Add", net.conv(x, 32, 3, 3, scale=BRANCH), twice("x")), [net.batch, 3, 1080, 1920])
    return net


NETWORKS = {
    "resnet50": resnet50,
    "mobilenetv2": mobilenetv2,
    "squeezenet11": squeezenet11,
    "bert_base_s128": lambda name: bert(name, 12),
    "bert_layer1_s128": lambda name: bert(name, 1),
    "yolo416": yolo416,
    "super_resolution": super_resolution,
}


def write(folder, name, half=False, batch=1):
    """Writes the network, in FLOAT16 if half; returns the path of the file."""
    Network.half, Network.batch = half, batch
    return NETWORKS[name](name).save(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--batch-norm", action="store_true")
    parser.add_argument("--float16", action="store_true")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_intermixed_args()
    for name in args.names:
        if name not in NETWORKS:
            parser.error(f"unknown network {name}; must be one of {', '.join(NETWORKS)}")
    os.makedirs(args.folder, exist_ok=True)
    Network.batch_norm = args.batch_norm
    for name in args.names or NETWORKS:
        print(write(args.folder, name, args.float16, args.batch), flush=True)


if __name__ == "__main__":
    main()
