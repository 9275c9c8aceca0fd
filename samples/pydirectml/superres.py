# SPDX-License-Identifier: Apache-2.0
"""Super-resolution: enlarges an image of 224 x 224 by 3. The network computes the brightness, a bicubic filter the colours.
python superres.py MODEL.onnx IMAGE.jpg --output large.png"""
import numpy as np
import pydirectml as dml

import common

RELU = dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)
SIDE, TIMES = 224, 3


def convolve(net, x, number, padding):
    return dml.convolution(x, net.weight(f"conv{number}_weight"), net.channels(f"conv{number}_bias"),
                           start_padding=[padding] * 2, end_padding=[padding] * 2, fused_activation=RELU)


def build(weights, device=None):
    net = common.Network(weights, device)
    x = net.input([1, 1, SIDE, SIDE])
    x = convolve(net, x, 1, 2)
    for number in (2, 3, 4):
        x = convolve(net, x, number, 1)
    # Interleaves nine planes to one, in blocks of 3 x 3 pixels; plane 0 is the upper left pixel.
    net.build(dml.depth_to_space(x, TIMES, dml.DepthSpaceOrder.COLUMN_ROW_DEPTH), x)
    return net


def enlarge_colours(pixels):
    """Enlarges Cb and Cr with the bicubic filter."""
    from PIL import Image
    side = (SIDE * TIMES, SIDE * TIMES)
    return [np.asarray(Image.fromarray(pixels[..., i]).resize(side, Image.Resampling.BICUBIC)) for i in (1, 2)]


def main():
    options = common.arguments(__doc__, "an image")
    net = build(common.load_weights(options.model), options.device)
    pixels = None
    if options.image.endswith(".npy"):
        data = np.load(options.image)
    else:
        pixels = common.load_picture(options.image, SIDE, SIDE, "YCbCr")
        data = pixels[None, None, :, :, 0] / np.float32(255)
    large = common.run(net, data, options.repeat)[0]
    print(f"{SIDE} x {SIDE} became {large.shape[3]} x {large.shape[2]}, mean brightness {large.mean():.4f}")
    if options.output and (options.output.endswith(".npy") or pixels is None):
        np.save(options.output, large)
    elif options.output:
        y = common.to_bytes(large[0, 0] * 255)
        common.save_picture(options.output, np.stack([y, *enlarge_colours(pixels)], axis=2), "YCbCr")


if __name__ == "__main__":
    main()
