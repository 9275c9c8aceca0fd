# SPDX-License-Identifier: Apache-2.0
"""Blocks of networks as exporters write them, for steps_ort.py: each function returns nodes, inputs and constants. Types are
FLOAT32; as_float16 makes a block FLOAT16, as exports of networks in half precision are."""

import numpy as np
from onnx import helper

RANDOM = np.random.default_rng(1)


class Block:
    """Nodes and constants of a graph that grows at its end. Methods return the names of results."""

    def __init__(self, **inputs):
        self.nodes, self.constants = [], {}
        self.inputs = {name: RANDOM.standard_normal(sizes).astype(np.float32) for name, sizes in inputs.items()}

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def weights(self, *sizes, scale=None):
        return self.constant((RANDOM.standard_normal(sizes) * (sizes[0]**-0.5 if scale is None else scale)).astype(np.float32))

    def scalar(self, value):
        return self.constant(np.float32(value))

    def reshape(self, x, *sizes):
        return self.node("Reshape", x, self.constant(np.array(sizes, np.int64)))

    def linear(self, x, inner, columns):
        return self.node("Add", self.node("MatMul", x, self.weights(inner, columns)), self.weights(columns, scale=0.1))

    def norm(self, x, size):
        return self.node("LayerNormalization", x, self.weights(size, scale=1), self.weights(size, scale=1), axis=-1, epsilon=1e-5)

    def conv(self, x, outs, ins, size):
        weights = self.weights(outs, ins, size, size, scale=(ins * size * size)**-0.5)
        return self.node("Conv", x, weights, self.weights(outs, scale=0.1), kernel_shape=[size] * 2, pads=[size // 2] * 4)

    def group_norm(self, x, n, channels, size, groups=32):
        """As PyTorch's exporter writes it."""
        x = self.node("InstanceNormalization", self.reshape(x, 0, groups, -1), self.constant(np.ones(groups, np.float32)),
                      self.constant(np.zeros(groups, np.float32)), epsilon=1e-5)
        x = self.node("Mul", self.reshape(x, n, channels, size, size), self.weights(channels, 1, 1, scale=1))
        return self.node("Add", x, self.weights(channels, 1, 1, scale=0.1))

    def silu(self, x):
        return self.node("Mul", x, self.node("Sigmoid", x))

    def gelu(self, x):
        half = self.node("Mul", x, self.node("Add", self.node("Erf", self.node("Div", x, self.scalar(2**0.5))), self.scalar(1)))
        return self.node("Mul", half, self.scalar(0.5))

    def quick_gelu(self, x):
        return self.node("Mul", x, self.node("Sigmoid", self.node("Mul", x, self.scalar(1.702))))

    def slice(self, x, axis, start, end):
        return self.node("Slice", x, *(self.constant(np.array([v], np.int64)) for v in (start, end, axis)))

    def roll(self, x, shift, size):
        """Shifts axes 1 and 2, of `size` elements, as torch.roll is exported."""
        for axis in (1, 2):
            at = -shift % size
            x = self.node("Concat", self.slice(x, axis, at, 1 << 40), self.slice(x, axis, 0, at), axis=axis)
        return x

    def end(self, x):
        self.nodes[-1].output[0] = "y"
        assert x == f"v{len(self.nodes) - 1}_0"
        return self.nodes, self.inputs, self.constants


def convnext(channels, size):
    b = Block(x=(1, channels, size, size))
    x = b.node("Conv", "x", b.weights(channels, 1, 7, 7, scale=0.14), b.weights(channels), group=channels, kernel_shape=[7, 7],
               pads=[3] * 4)
    x = b.norm(b.node("Transpose", x, perm=[0, 2, 3, 1]), channels)
    x = b.linear(b.gelu(b.linear(x, channels, 4 * channels)), 4 * channels, channels)
    x = b.node("Transpose", b.node("Mul", x, b.weights(channels)), perm=[0, 3, 1, 2])
    return b.end(b.node("Add", "x", x))


def heads(b, x, batch, tokens, count, depth):
    return b.node("Transpose", b.reshape(x, batch, tokens, count, depth), perm=[0, 2, 1, 3])


def swin(channels, size, count, window=7, shift=3):
    """A block with shifted windows: relative position bias, mask of the windows that shifts joined, roll there and back."""
    b, tokens, depth = Block(x=(1, size * size, channels)), window * window, channels // count
    windows, side = (size // window)**2, size // window
    x = b.roll(b.reshape(b.norm("x", channels), 1, size, size, channels), -shift, size)
    x = b.node("Transpose", b.reshape(x, 1, side, window, side, window, channels), perm=[0, 1, 3, 2, 4, 5])
    x = b.linear(b.reshape(x, windows, tokens, channels), channels, 3 * channels)
    x = b.node("Transpose", b.reshape(x, windows, tokens, 3, count, depth), perm=[2, 0, 3, 1, 4])
    q, k, v = (b.node("Gather", x, b.constant(np.int64(i)), axis=0) for i in range(3))
    scores = b.node("MatMul", b.node("Mul", q, b.scalar(depth**-0.5)), b.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.node("Add", scores, b.weights(1, count, tokens, tokens))
    mask = np.where(RANDOM.integers(0, 4, (1, windows, 1, tokens, tokens)) == 0, -100, 0).astype(np.float32)
    scores = b.node("Add", b.reshape(scores, 1, windows, count, tokens, tokens), b.constant(mask))
    scores = b.node("Softmax", b.reshape(scores, windows, count, tokens, tokens), axis=-1)
    x = b.node("Transpose", b.node("MatMul", scores, v), perm=[0, 2, 1, 3])
    x = b.linear(b.reshape(x, windows, tokens, channels), channels, channels)
    x = b.node("Transpose", b.reshape(x, 1, side, side, window, window, channels), perm=[0, 1, 3, 2, 4, 5])
    x = b.roll(b.reshape(x, 1, size, size, channels), shift, size)
    y = b.node("Add", "x", b.reshape(x, 1, size * size, channels))
    x = b.linear(b.gelu(b.linear(b.norm(y, channels), channels, 4 * channels)), 4 * channels, channels)
    return b.end(b.node("Add", y, x))


def clip(channels, tokens, count):
    b, depth = Block(x=(1, tokens, channels)), channels // count
    x = b.norm("x", channels)
    q, k, v = (b.linear(x, channels, channels) for _ in range(3))
    q = heads(b, b.node("Mul", q, b.scalar(depth**-0.5)), 1, tokens, count, depth)
    k, v = (heads(b, t, 1, tokens, count, depth) for t in (k, v))
    scores = b.node("Softmax", b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    x = b.node("Transpose", b.node("MatMul", scores, v), perm=[0, 2, 1, 3])
    y = b.node("Add", "x", b.linear(b.reshape(x, 1, tokens, channels), channels, channels))
    x = b.linear(b.quick_gelu(b.linear(b.norm(y, channels), channels, 4 * channels)), 4 * channels, channels)
    return b.end(b.node("Add", y, x))


def resnet(n, channels, size):
    """A residual block of a diffusion model's UNet, behind a convolution."""
    b = Block(x=(n, channels, size, size), t=(n, 320))
    x = b.conv("x", channels, channels, 1)
    y = b.conv(b.silu(b.group_norm(x, n, channels, size)), channels, channels, 1)
    t = b.linear(b.silu("t"), 320, channels)
    y = b.node("Add", y, b.reshape(t, n, channels, 1, 1))
    y = b.conv(b.silu(b.group_norm(y, n, channels, size)), channels, channels, 1)
    return b.end(b.node("Add", x, y))


def self_attention(n, tokens, channels, count):
    """Attention and GEGLU of that UNet."""
    b = Block(x=(n, tokens, channels))
    x = b.norm("x", channels)
    q, k, v = (heads(b, b.node("MatMul", x, b.weights(channels, channels)), n, tokens, count, channels // count) for _ in range(3))
    scores = b.node("Mul", b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2])), b.scalar((channels // count)**-0.5))
    x = b.node("Transpose", b.node("MatMul", b.node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = b.node("Add", "x", b.linear(b.reshape(x, n, tokens, channels), channels, channels))
    h = b.linear(b.norm(y, channels), channels, 4 * channels)
    gate, h = b.slice(h, 2, 2 * channels, 4 * channels), b.slice(h, 2, 0, 2 * channels)
    return b.end(b.node("Add", y, b.linear(b.node("Mul", h, b.gelu(gate)), 2 * channels, channels)))


def as_float16(nodes, inputs, constants):
    halves = ({k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in part.items()} for part in (inputs, constants))
    return (nodes, *halves)


BLOCKS = (("ConvNeXt block of 96x56x56", convnext, (96, 56)), ("ConvNeXt block of 384x14x14", convnext, (384, 14)),
          ("Swin block of 96x56x56", swin, (96, 56, 3)), ("Swin block of 384x14x14", swin, (384, 14, 12)),
          ("UNet block of 2x320x64x64", resnet, (2, 320, 64)), ("UNet block of 2x320x16x16", resnet, (2, 320, 16)),
          ("UNet attention of 2x1024x160", self_attention, (2, 1024, 160, 4)), ("CLIP block of 50x768", clip, (768, 50, 12)), ("CLIP block of 197x768", clip, (768, 197, 12)))


def blocks():
    for name, build, sizes in BLOCKS:
        parts = build(*sizes)
        yield (name, *parts)
        yield (f"{name}, FLOAT16", *as_float16(*parts))
