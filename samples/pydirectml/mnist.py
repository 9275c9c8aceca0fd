# SPDX-License-Identifier: Apache-2.0
"""Recognises handwritten digits with two convolutions and a dense layer. python mnist.py MODEL.onnx DIGIT.png"""
import numpy as np
import pydirectml as dml

import common

RELU = dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)


def convolve(net, x, name):
    """A 5 x 5 convolution that keeps the size, with bias and Relu."""
    return dml.convolution(x, net.weight(name + "_weight"), net.channels(name + "_plus"), start_padding=[2, 2],
                           end_padding=[2, 2], fused_activation=RELU)


def build(weights, device=None):
    net = common.Network(weights, device)
    x = net.input([1, 1, 28, 28])
    x = convolve(net, x, "conv1")
    x = dml.max_pooling(x, [2, 2], [2, 2]).values
    x = convolve(net, x, "conv2")
    x = dml.max_pooling(x, [3, 3], [3, 3]).values
    x = dml.reinterpret(x, dml.TensorDataType.FLOAT32, [1, 256])
    x = dml.gemm(x, net.weight("dense_weight"), net.weight("dense_bias"))
    net.build(dml.activation_soft_max(x))
    return net


def prepare(path):
    """Reads the image as a white digit on black, with values from 0 to 1."""
    if path.endswith(".npy"):
        return np.load(path)
    digit = common.load_picture(path, 28, 28, "L").astype(np.float32)
    digit = 255 - digit if digit[0, 0] >= 128 else digit
    return digit[None, None] / max(digit.max(), 1)


def main():
    options = common.arguments(__doc__, "an image of a digit")
    net = build(common.load_weights(options.model), options.device)
    probabilities = common.run(net, prepare(options.image), options.repeat)[0].reshape(-1)
    for digit in np.argsort(-probabilities)[:3]:
        print(f"{digit}  {probabilities[digit]:.6f}")
    if options.output:
        np.save(options.output, probabilities)


if __name__ == "__main__":
    main()
