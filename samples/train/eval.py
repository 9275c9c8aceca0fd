#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the PSNR of bicubic upscaling and of the network on photographs that were not used for training.

    eval.py MODEL.onnx [PICTURE ...] [--photos DIR] [--out FOLDER]

Images are used unmodified; --photos adds the held-out rows of photos.tsv from DIR (photos.py fetch DIR).
--out writes the images. The network runs in ONNX Runtime if that is installed, otherwise in PyTorch.
PSNR is computed over all pixels and the three colours of 8-bit images, as the demo prints it.
"""
import argparse
import math
import os

import numpy as np
from PIL import Image

import photos


def runner(path):
    """Returns a function from [1, 3, H, W] to [1, 3, 2H, 2W], both float32."""
    try:
        import onnxruntime
    except ImportError:
        import torch
        from network import read_onnx
        torch.set_num_threads(1)
        network = read_onnx(path).requires_grad_(False)
        return lambda x: network(torch.from_numpy(x)).numpy()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"picture": x})[0]


def upscaled(run, picture):
    x = np.asarray(picture, dtype=np.float32).transpose(2, 0, 1)[None] / 255
    y = np.clip(run(np.ascontiguousarray(x))[0] * 255, 0, 255)
    return Image.fromarray(np.rint(y).astype(np.uint8).transpose(1, 2, 0))


def psnr(a, b):
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return 10 * math.log10(255 * 255 / max(np.mean(difference * difference), 1e-12))


def pictures(args):
    for path in args.pictures:
        yield os.path.basename(path), photos.even(photos.open_rgb(path))
    if args.photos:
        for row in photos.rows("demo", "test"):
            yield row["name"], photos.test_picture(args.photos, row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("pictures", nargs="*")
    parser.add_argument("--photos")
    parser.add_argument("--out")
    args = parser.parse_args()
    run = runner(args.model)
    print(f"{'photograph':28} {'size':>10} {'bicubic':>9} {'network':>9} {'gain':>7}")
    for name, picture in pictures(args):
        low = photos.reduce_half(picture)
        rival, ours = photos.enlarge(low), upscaled(run, low)
        a, b = psnr(picture, rival), psnr(picture, ours)
        print(f"{name:28} {picture.width:>5}x{picture.height:<4} {a:9.2f} {b:9.2f} {b - a:+7.2f}")
        if args.out:
            os.makedirs(args.out, exist_ok=True)
            for kind, image in (("original", picture), ("bicubic", rival), ("network", ours)):
                image.save(os.path.join(args.out, f"{os.path.splitext(name)[0]}_{kind}.png"))


if __name__ == "__main__":
    main()
