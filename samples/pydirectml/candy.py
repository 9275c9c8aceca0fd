# SPDX-License-Identifier: Apache-2.0
"""Style transfer: makes a photograph look like a painting. python candy.py MODEL.onnx PHOTO.jpg --output painted.png"""
import numpy as np
import pydirectml as dml

import common

RELU = dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)
SIDE = 720


def convolve(net, x, number, stride=1, padding=0):
    return dml.convolution(x, net.weight(f"conv{number}_weight"), net.channels(f"conv{number}_bias"), strides=[stride] * 2,
                           start_padding=[padding] * 2, end_padding=[padding] * 2)


def normalize(net, x, number, relu=True):
    """Instance normalisation: each plane has its own mean and deviation."""
    return dml.mean_variance_normalization(x, net.channels(f"norm{number}_scale"), net.channels(f"norm{number}_bias"), [2, 3],
                                           True, 1e-5, RELU if relu else None)


def crop(x, border, end=None):
    """Removes the border, or returns the range from `border` to `end`."""
    n, c, h, w = x.get_output_desc().sizes
    size = [h - 2 * border, w - 2 * border] if end is None else [end - border, end - border]
    return dml.slice(x, [0, 0, border, border], [n, c, *size], [1, 1, 1, 1])


def residual(net, x, number, shortcut):
    """Two convolutions whose result is added to the shortcut; returns the result and the sum."""
    y = normalize(net, convolve(net, x, number), number)
    y = normalize(net, convolve(net, y, number + 1), number + 1, relu=False)
    return y, y + crop(shortcut, 2)


def enlarge(net, x, number):
    """A transposed convolution that doubles height and width."""
    side = x.get_output_desc().sizes[2]
    x = dml.convolution(x, net.weight(f"conv{number}_weight"), net.channels(f"conv{number}_bias"),
                        dml.ConvolutionMode.CROSS_CORRELATION, dml.ConvolutionDirection.BACKWARD, strides=[2, 2],
                        output_padding=[1, 1])
    return normalize(net, crop(x, 1, 2 * side + 1), number)


def build(weights, device=None):
    net = common.Network(weights, device)
    sizes = [1, 3, SIDE, SIDE]
    image = net.input(sizes)
    x = image + dml.broadcast(net.channels("scaler_offset"), sizes)
    x = dml.padding(x, dml.PaddingMode.REFLECTION, 0, [0, 0, 40, 40], [0, 0, 40, 40])
    x = normalize(net, convolve(net, x, 0, 1, 4), 0)
    x = normalize(net, convolve(net, x, 1, 2, 1), 1)
    x = normalize(net, convolve(net, x, 2, 2, 1), 2)
    normalized, shortcut = None, x
    for number in (3, 5, 7, 9, 11):
        # The fourth block uses the normalised tensor before the sum as its shortcut, as in training.
        normalized, x = residual(net, x, number, normalized if number == 9 else shortcut)
        shortcut = x
    x = enlarge(net, enlarge(net, x, 13), 14)
    x = dml.activation_tanh(convolve(net, x, 15, 1, 4)) * 150
    x = x * dml.broadcast(net.channels("output_scale"), sizes) + dml.broadcast(net.channels("output_offset"), sizes)
    net.build(x)
    return net


def main():
    options = common.arguments(__doc__, "a photograph")
    net = build(common.load_weights(options.model), options.device)
    if options.image.endswith(".npy"):
        data = np.load(options.image)
    else:
        data = common.planes(common.load_picture(options.image, SIDE, SIDE)[:, :, ::-1]) # BGR, as in training
    painted = common.run(net, data, options.repeat)[0]
    print(f"values from {painted.min():.2f} to {painted.max():.2f}, mean {painted.mean():.3f}")
    if options.output and options.output.endswith(".npy"):
        np.save(options.output, painted)
    elif options.output:
        common.save_picture(options.output, common.to_bytes(painted[0, ::-1].transpose(1, 2, 0)))


if __name__ == "__main__":
    main()
