# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2: classifies an image if the file has classifier_weight [classes, 1280]; otherwise prints the features before the
classifier, which are close to each other for similar photographs.
python mobilenet.py MODEL.onnx PHOTO.jpg --labels CLASSES.txt"""
import numpy as np
import pydirectml as dml

import common

RELU = dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)
# Channels and stride of each block's output.
BLOCKS = [(16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (32, 1), (64, 1), (64, 1), (64, 1), (64, 1), (96, 2), (96, 1), (96, 1),
          (160, 2), (160, 1), (160, 1), (320, 1)]


def convolve(net, x, name, stride=1, padding=0, groups=1, relu=True):
    """Convolution, batch normalisation, and an optional Relu."""
    x = dml.convolution(x, net.weight(name + "_weight"), strides=[stride] * 2, start_padding=[padding] * 2,
                        end_padding=[padding] * 2, group_count=groups)
    mean, variance, scale, bias = (net.channels(f"{name}_norm_{part}") for part in ("mean", "var", "scale", "bias"))
    return dml.batch_normalization(x, mean, variance, scale, bias, True, 1e-5, RELU if relu else None)


def block(net, x, name, stride, shortcut):
    """An inverted residual: a pointwise convolution to more channels, a depthwise one, and a pointwise one to fewer channels."""
    y = convolve(net, x, name + "_expand")
    y = convolve(net, y, name + "_depthwise", stride, 1, y.get_output_desc().sizes[1])
    y = convolve(net, y, name + "_project", relu=False)
    return x + y if shortcut else y


def build(weights, device=None):
    net = common.Network(weights, device)
    x = net.input([1, 3, 224, 224])
    x = convolve(net, x, "first", 2, 1)
    for i, (channels, stride) in enumerate(BLOCKS):
        x = block(net, x, f"block{i}", stride, stride == 1 and x.get_output_desc().sizes[1] == channels)
    x = convolve(net, x, "last")
    x = dml.average_pooling(x, [1, 1], [7, 7], [0, 0], [0, 0], False)
    x = dml.reinterpret(x, dml.TensorDataType.FLOAT32, [1, 1280])
    if "classifier_weight" in weights:
        bias = net.weight("classifier_bias", [1, -1]) if "classifier_bias" in weights else None
        x = dml.activation_soft_max(dml.gemm(x, net.weight("classifier_weight"), bias,
                                             trans_b=dml.MatrixTransform.TRANSPOSE))
    net.build(x)
    return net


def main():
    options = common.arguments(__doc__, "a photograph", labels=True)
    weights = common.load_weights(options.model)
    net = build(weights, options.device)
    result = common.run(net, common.imagenet_input(options.image), options.repeat)[0].reshape(-1)
    if "classifier_weight" in weights:
        common.print_top_five(result, options)
    else:
        print("largest features:", ", ".join(f"{i} ({result[i]:.4f})" for i in np.argsort(-result)[:5]))
    if options.output:
        np.save(options.output, result)


if __name__ == "__main__":
    main()
