# SPDX-License-Identifier: Apache-2.0
"""Trains a convolutional network on images of digits, as with MNIST; the sample draws the images itself.

    python samples/torch/digits.py                      # on the default device of torch_directml
    python samples/torch/digits.py --device cpu         # the same on PyTorch's CPU backend
    python samples/torch/digits.py --compile            # forward and backward passes as DirectML graphs
"""
import argparse
import time

import torch
import torch.nn.functional as F
import torch_directml  # noqa: F401 (registers the device "dml")
from torch import nn

# Digits of 5 x 7 dots; each number is a row, its bits are the dots.
GLYPHS = ((14, 17, 19, 21, 25, 17, 14), (4, 12, 4, 4, 4, 4, 14), (14, 17, 1, 2, 4, 8, 31), (31, 2, 4, 2, 1, 17, 14),
          (2, 6, 10, 18, 31, 2, 2), (31, 16, 30, 1, 1, 17, 14), (6, 8, 16, 30, 17, 17, 14), (31, 1, 2, 4, 8, 8, 8),
          (14, 17, 17, 14, 17, 17, 14), (14, 17, 17, 15, 1, 2, 12))


def draw(count, generator):
    """Returns images [count, 1, 28, 28] with values from 0 to 1, and their labels. Digits are rotated, scaled and shifted, with
    varying stroke width and noise."""
    dots = torch.tensor([[[row >> bit & 1 for bit in range(4, -1, -1)] for row in glyph] for glyph in GLYPHS])
    labels = torch.randint(0, 10, (count,), generator=generator)
    small = F.pad(dots[labels].float()[:, None], (3, 3, 2, 2))
    angle, stretch, shift, slant = torch.rand(4, count, 2, generator=generator).mul(2).sub(1)
    cos, sin, size = (angle[:, 0] * 0.3).cos(), (angle[:, 0] * 0.3).sin(), 1 + stretch * 0.25
    turn = torch.stack([torch.stack([cos * size[:, 0], sin + slant[:, 0] * 0.2, shift[:, 0] * 0.25], 1),
                        torch.stack([-sin, cos * size[:, 1], shift[:, 1] * 0.25], 1)], 1)
    images = F.grid_sample(small, F.affine_grid(turn, (count, 1, 28, 28), align_corners=False), align_corners=False)
    threshold = torch.rand(count, 1, 1, 1, generator=generator) * 0.3 + 0.25
    images = torch.sigmoid((images - threshold) * 12)
    return (images + torch.randn(images.shape, generator=generator) * 0.15).clamp(0, 1), labels


def network():
    return nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))


def accuracy(model, images, labels, device):
    model.eval()
    with torch.inference_mode():
        right = [(model(x.to(device)).argmax(1).cpu() == y).sum().item()
                 for x, y in zip(images.split(256), labels.split(256))]
    model.train()
    return sum(right) / len(labels)


def main():
    parser = argparse.ArgumentParser(description="Trains a network on images of digits.")
    parser.add_argument("--device", default="dml")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--compile", action="store_true", help='torch.compile(backend="directml")')
    options = parser.parse_args()

    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    test_pictures, test_labels = draw(1024, generator)
    model = network().to(options.device)
    step_model = torch.compile(model, backend="directml") if options.compile else model
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    begin = time.perf_counter()
    for step in range(1, options.steps + 1):
        images, labels = draw(options.batch, generator)
        loss = F.cross_entropy(step_model(images.to(options.device)), labels.to(options.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 50 == 0 or step == options.steps:
            print(f"step {step:4d}  loss {loss.item():.3f}  {time.perf_counter() - begin:.1f} s")
    print(f"accuracy {accuracy(model, test_pictures, test_labels, options.device):.3f} on 1024 other images")


if __name__ == "__main__":
    main()
