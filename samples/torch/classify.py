# SPDX-License-Identifier: Apache-2.0
"""Classifies images with ResNet-18 and weights from a file: torchvision's (ImageNet) or those of fine_tune.py.

    python samples/torch/classify.py --weights resnet18-f37072fd.pth --labels imagenet_classes.txt cat.jpg
    python samples/torch/classify.py --weights shapes.pt --labels circle,square,triangle,cross --size 48 image.ppm

torchvision's weights are the file https://download.pytorch.org/models/resnet18-f37072fd.pth (45 MB). If torchvision is
installed, torch.save(torchvision.models.resnet18(weights="DEFAULT").state_dict(), "resnet18.pth") writes such a file, and
torchvision.models.ResNet18_Weights.DEFAULT.meta["categories"] are the labels. Images are PPM files; other formats require
Pillow. The weights are loaded to the CPU and moved to the device once; the network is compiled to one DirectML graph, which
runs for all images.
"""
import argparse
import os
import time

import torch
import torch.nn.functional as F
import torch_directml  # noqa: F401 (registers the device "dml")
from resnet import load, normalized


def read_ppm(path):
    with open(path, "rb") as file:
        data = file.read()
    fields = data.split(None, 4)
    if len(fields) < 4 or fields[0] != b"P6" or fields[3] != b"255":
        raise ValueError(f"{path}: not a PPM file with one byte per colour; other formats require Pillow")
    width, height = int(fields[1]), int(fields[2])
    pixels = torch.frombuffer(bytearray(data[-width * height * 3:]), dtype=torch.uint8)
    return pixels.view(height, width, 3).permute(2, 0, 1).float() / 255


def read(path):
    """Returns the image as a tensor [3, height, width] with values from 0 to 1."""
    if path.endswith(".ppm"):
        return read_ppm(path)
    from PIL import Image
    image = Image.open(path).convert("RGB")
    pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return pixels.view(image.height, image.width, 3).permute(2, 0, 1).float() / 255


def prepared(image, size):
    """Scales the shorter side to size * 256 / 224, as for training on ImageNet, and crops the centre [1, 3, size, size]."""
    height, width = image.shape[1:]
    scale = max(size * 256 / 224, size) / min(height, width)
    image = F.interpolate(image[None], (round(height * scale), round(width * scale)), mode="bilinear", antialias=True)
    top, left = (image.shape[2] - size) // 2, (image.shape[3] - size) // 2
    return normalized(image[:, :, top:top + size, left:left + size])


def main():
    parser = argparse.ArgumentParser(description="Classifies images.")
    parser.add_argument("images", nargs="+")
    parser.add_argument("--weights", required=True)
    parser.add_argument("--labels", help="comma-separated names, or a file with one name per line")
    parser.add_argument("--device", default="dml")
    parser.add_argument("--size", type=int, default=224, help="height and width of the network's input")
    parser.add_argument("--top", type=int, default=3)
    options = parser.parse_args()

    labels = None
    if options.labels and os.path.exists(options.labels):
        with open(options.labels, encoding="utf-8") as file:
            labels = file.read().splitlines()
    elif options.labels:
        labels = options.labels.split(",")
    model = load(options.weights).to(options.device).eval()
    network = torch.compile(model, backend="directml") if options.device.startswith("dml") else model
    for path in options.images:
        image = prepared(read(path), options.size)
        begin = time.perf_counter()
        with torch.inference_mode():
            scores = network(image.to(options.device)).softmax(1).cpu()[0]
        milliseconds = 1000 * (time.perf_counter() - begin)
        chances, numbers = scores.topk(min(options.top, len(scores)))
        found = ", ".join(f"{labels[n] if labels else f'class {n}'} {chance:.1%}" for chance, n in
                          zip(chances.tolist(), numbers.tolist()))
        print(f"{path}: {found} ({milliseconds:.0f} ms)")


if __name__ == "__main__":
    main()
