# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet 1.1: classifies an image into the 1000 classes of ImageNet. python squeezenet.py MODEL.onnx PHOTO.jpg"""
import numpy as np
import pydirectml as dml

import common

RELU = dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)


def convolve(net, x, number, stride=1, padding=0):
    """Convolution, bias, Relu."""
    return dml.convolution(x, net.weight(f"conv{number}_weight"), net.channels(f"conv{number}_bias"),
                           strides=[stride] * 2, start_padding=[padding] * 2, end_padding=[padding] * 2,
                           fused_activation=RELU)


def fire(net, x, number):
    """Squeezes to few channels, which a 1x1 and a 3x3 convolution expand to many; their results are concatenated."""
    squeezed = convolve(net, x, number)
    return dml.join([convolve(net, squeezed, number + 1), convolve(net, squeezed, number + 2, padding=1)], 1)


def pool(x):
    return dml.max_pooling(x, [3, 3], [2, 2]).values


def build(weights, device=None):
    net = common.Network(weights, device)
    x = net.input([1, 3, 224, 224])
    x = pool(convolve(net, x, 0, stride=2))
    x = pool(fire(net, fire(net, x, 1), 4))
    x = pool(fire(net, fire(net, x, 7), 10))
    for number in (13, 16, 19, 22):
        x = fire(net, x, number)
    x = convolve(net, x, 25)
    x = dml.average_pooling(x, [1, 1], [13, 13], [0, 0], [0, 0], False)
    x = dml.reinterpret(x, dml.TensorDataType.FLOAT32, [1, 1000])
    net.build(dml.activation_soft_max(x))
    return net


def main():
    options = common.arguments(__doc__, "a photograph", labels=True)
    net = build(common.load_weights(options.model), options.device)
    probabilities = common.run(net, common.imagenet_input(options.image), options.repeat)[0].reshape(-1)
    common.print_top_five(probabilities, options)
    if options.output:
        np.save(options.output, probabilities)


if __name__ == "__main__":
    main()
