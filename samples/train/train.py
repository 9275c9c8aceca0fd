#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the x2 super-resolution network and writes it as ONNX.

    train.py DIR OUT.onnx [--minutes M] [--batch N] [--seed S]

DIR contains the photographs (photos.py fetch DIR). Training uses a GPU if PyTorch supports one, otherwise one CPU thread.
The file is written every few minutes, so it can be used before training ends.
"""
import argparse
import math
import random
import time

import numpy as np
import torch

import photos
from network import SCALE, Network, write_onnx

PATCH = 64  # side of a stored low-resolution patch
CROP = 48  # side of the patch for one step
SIDES = (512, 720, 1024, 1440, 2048)  # longest sides at which every photograph is used
FLAT = 1.0  # mean detail in grey levels below which a patch is considered flat
FLAT_KEPT = 8  # one of this many flat patches is kept
PEAK_RATE = 2e-3
WARM_UP = 0.02  # fraction of the time
ABSOLUTE = 0.5  # fraction of the time with the absolute error as loss, followed by the squared one
SAVE_EVERY = 120.0  # seconds


def patches(image):
    """Pairs (low, high) of uint8 patches, channels first, that cover the image."""
    low = np.asarray(photos.reduce_half(image)).transpose(2, 0, 1)
    high = np.asarray(image).transpose(2, 0, 1)
    for top in range(0, low.shape[1] - PATCH + 1, PATCH):
        for left in range(0, low.shape[2] - PATCH + 1, PATCH):
            a = low[:, top:top + PATCH, left:left + PATCH]
            b = high[:, top * SCALE:(top + PATCH) * SCALE, left * SCALE:(left + PATCH) * SCALE]
            yield a, b


def worth_keeping(low, high, rng):
    coarse = low.repeat(SCALE, axis=1).repeat(SCALE, axis=2)
    detail = np.abs(high.astype(np.int16) - coarse).mean()
    return detail >= FLAT or rng.randrange(FLAT_KEPT) == 0


def load(directory, rng):
    """Returns all training patches as two uint8 tensors. Large photographs are used in reduced sizes only: at full size most are
    blurred."""
    lows, highs = [], []
    for row in photos.rows("train"):
        image = photos.open_rgb(photos.original(directory, row))
        limit = max(image.size) if max(image.size) < 1200 else max(image.size) * 0.75
        for side in sorted({min(s, int(limit)) for s in SIDES}):
            for low, high in patches(photos.fitted(image, side)):
                if worth_keeping(low, high, rng):
                    lows.append(low)
                    highs.append(high)
    return torch.from_numpy(np.stack(lows)), torch.from_numpy(np.stack(highs))


def batch_of(lows, highs, count, rng):
    """Returns a random batch, cropped, rotated, mirrored and with permuted colour channels, as floats 0..1."""
    chosen = torch.randint(len(lows), (count,), device=lows.device)
    top, left = rng.randrange(PATCH - CROP + 1), rng.randrange(PATCH - CROP + 1)
    low = lows[chosen, :, top:top + CROP, left:left + CROP]
    high = highs[chosen, :, top * SCALE:(top + CROP) * SCALE, left * SCALE:(left + CROP) * SCALE]
    turns, mirror, order = rng.randrange(4), rng.randrange(2), rng.sample(range(3), 3)

    def prepared(x):
        x = torch.rot90(x[:, order], turns, (2, 3))
        return (x.flip(3) if mirror else x).float() / 255

    return prepared(low), prepared(high)


def rate_at(progress):
    if progress < WARM_UP:
        return PEAK_RATE * progress / WARM_UP
    return PEAK_RATE * 0.5 * (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP)))


def train(lows, highs, args, rng):
    network = Network().to(lows.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.0)
    start = saved = time.monotonic()
    step, progress, squared = 0, 0.0, 0.0
    while progress < 1:
        optimizer.param_groups[0]["lr"] = rate_at(progress)
        low, high = batch_of(lows, highs, args.batch, rng)
        error = network(low) - high
        loss = error.abs().mean() if progress < ABSOLUTE else error.square().mean() * 20
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            squared = error.square().mean().item()
        now = time.monotonic()
        progress = (now - start) / (args.minutes * 60)
        if now - saved > SAVE_EVERY or progress >= 1:
            saved = now
            batch_psnr = -10 * math.log10(squared or 1)
            print(f"{(now - start) / 60:6.1f} min  step {step}  batch PSNR {batch_psnr:.2f} dB", flush=True)
            write_onnx(network, args.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("out")
    parser.add_argument("--minutes", type=float, default=50)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lows, highs = (x.to(device) for x in load(args.photos, rng))
    print(f"{len(lows)} patches on {device}", flush=True)
    train(lows, highs, args, rng)


if __name__ == "__main__":
    main()
