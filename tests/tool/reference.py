# SPDX-License-Identifier: Apache-2.0
"""The demo's network in numpy, from its definition: what the anydml command is compared with."""
import numpy as np

import wire


def conv(x, weight, bias):
    """x [C, H, W], weight [K, C, R, R] with odd R, the size stays."""
    side = weight.shape[2]
    padded = np.pad(x, ((0, 0), (side // 2,) * 2, (side // 2,) * 2))
    out = np.empty((weight.shape[0],) + x.shape[1:], np.float64)
    out[:] = bias[:, None, None]
    for i in range(side):
        for j in range(side):
            part = padded[:, i:i + x.shape[1], j:j + x.shape[2]]
            out += np.tensordot(weight[:, :, i, j].astype(np.float64), part, 1)
    return out


def upscale(model, image):
    """image [1, 3, H, W], 0..1; float64 result [1, 3, 2H, 2W]."""
    w = wire.initializers(model)

    def layer(x, name):
        return conv(x, w[name + ".weight"], w[name + ".bias"])

    image = image[0].astype(np.float64)
    x = np.maximum(layer(image, "head"), 0)
    block = 0
    while f"block{block}_first.weight" in w:
        x = x + layer(np.maximum(layer(x, f"block{block}_first"), 0), f"block{block}_second")
        block += 1
    tail = layer(x, "tail")  # [3 * 2 * 2, H, W]: colour, row, column
    height, width = tail.shape[1:]
    detail = tail.reshape(3, 2, 2, height, width).transpose(0, 3, 1, 4, 2).reshape(3, 2 * height, 2 * width)
    return (image.repeat(2, 1).repeat(2, 2) + detail)[None]
