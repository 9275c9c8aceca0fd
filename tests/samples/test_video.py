#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sample_super_resolution_video against the same network written in numpy: test_video.py SAMPLE MAKE_CLIP NETWORK PHOTOGRAPH
[quick]. Frames come and go as YUV4MPEG, a line of text before uncompressed planes. quick: only the pixels of a few frames."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnx.numpy_helper

SAMPLE, MAKE_CLIP, NETWORK, PHOTOGRAPH, *QUICK = sys.argv[1:]
LUMA = np.array([0.299, 0.587, 0.114])


def to_yuv(rgb):
    """[3, H, W] from 0 to 1 as ITU-R 601 with 16 to 235 (240)."""
    y = np.tensordot(LUMA, rgb, 1)
    blue, red = (rgb[2] - y) / (2 - 2 * LUMA[2]), (rgb[0] - y) / (2 - 2 * LUMA[0])
    return np.stack([16 + 219 * y, 128 + 224 * blue, 128 + 224 * red])


def to_rgb(yuv):
    y, blue, red = (yuv[0] - 16) / 219, (yuv[1] - 128) / 224, (yuv[2] - 128) / 224
    r, b = y + red * (2 - 2 * LUMA[0]), y + blue * (2 - 2 * LUMA[2])
    return np.clip(np.stack([r, (y - LUMA[0] * r - LUMA[2] * b) / LUMA[1], b]), 0, 1)


def convolve(x, weight, bias):
    _, _, side, _ = weight.shape
    padded = np.pad(x, ((0, 0), (side // 2,) * 2, (side // 2,) * 2))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), (1, 2))
    return np.tensordot(weight, windows, ((1, 2, 3), (0, 3, 4))) + bias[:, None, None]


def upscale(rgb, weights):
    """What samples/super_resolution.h describes."""
    def layer(x, name):
        return convolve(x, weights[name + ".weight"].astype(np.float64), weights[name + ".bias"].astype(np.float64))
    x = np.maximum(layer(rgb, "head"), 0)
    for i in range(4):
        x = x + layer(np.maximum(layer(x, f"block{i}_first"), 0), f"block{i}_second")
    _, h, w = rgb.shape
    detail = layer(x, "tail").reshape(3, 2, 2, h, w).transpose(0, 3, 1, 4, 2).reshape(3, 2 * h, 2 * w)
    return rgb.repeat(2, 1).repeat(2, 2) + detail


def psnr(a, b):
    return 10 * np.log10(255 ** 2 / max(np.mean((a - b) ** 2), 1e-9))


def write_y4m(path, frames):
    _, h, w = frames[0].shape
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C444\n" % (w, h))
        for frame in frames:
            file.write(b"FRAME\n" + frame.tobytes())


def read_y4m(path):
    """Planes of 4:2:0 frames: a list of (y, u, v)."""
    with open(path, "rb") as file:
        head = file.readline().split()
        assert head[0] == b"YUV4MPEG2" and any(one.startswith(b"C420") for one in head), head
        w, h = (int(next(one for one in head if one[:1] == key)[1:]) for key in (b"W", b"H"))
        frames = []
        while file.readline() == b"FRAME\n":
            data = np.frombuffer(file.read(w * h * 3 // 2), np.uint8).astype(np.float64)
            frames.append((data[:w * h].reshape(h, w), *data[w * h:].reshape(2, h // 2, w // 2)))
        return frames


def sketch(rng, height, width):
    """Soft colours with hard edges, as random as images are: bytes [3, height, width] in YUV."""
    rows, columns = np.mgrid[0:height, 0:width]
    rgb = np.stack([0.5 + 0.4 * np.sin(rng.uniform(0.05, 0.4) * rows + rng.uniform(0.05, 0.4) * columns + rng.uniform(0, 6))
                    for _ in range(3)])
    for _ in range(4):
        y, x = rng.integers(0, height), rng.integers(0, width)
        rgb[:, y:y + 9, x:x + 9] = rng.uniform(0, 1, (3, 1, 1))
    return np.rint(to_yuv(rgb)).astype(np.uint8)


def box(data, name):
    """The content of the first box of an MP4 file that has this name."""
    at = data.index(name)
    return data[at + 4:at - 4 + struct.unpack(">I", data[at - 4:at])[0]]


def has_sdl():
    """Whether libavdevice shows frames with SDL, which needs no display here: FFmpeg 9 has XVideo alone."""
    devices = subprocess.run(["ffmpeg", "-v", "error", "-devices"], capture_output=True, text=True, check=True).stdout
    return "sdl2" in devices


class Video(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def run_sample(self, *arguments, **more):
        return subprocess.run([SAMPLE, *arguments], capture_output=True, text=True, check=False, timeout=250,
                              env=dict(os.environ, **more))

    def test_frames_are_those_of_the_network(self):
        weights = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(NETWORK).graph.initializer}
        seed = int.from_bytes(os.urandom(4), "little")
        rng = np.random.default_rng(seed)
        for height, width, count in [(28, 37, 3)] if QUICK else [(28, 37, 5), (41, 50, 1)]:
            frames = [sketch(rng, height, width) for _ in range(count)]
            write_y4m(self.path("small.y4m"), frames)
            done = self.run_sample(NETWORK, self.path("small.y4m"), self.path("large.y4m"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(f"{count} frames of {width}x{height} to {2 * width}x{2 * height} in "))
            results = read_y4m(self.path("large.y4m"))
            self.assertEqual(len(results), count)
            for frame, (y, u, v) in zip(frames, results):
                self.assertEqual(y.shape, (2 * height, 2 * width))
                want = to_yuv(np.clip(upscale(to_rgb(frame.astype(np.float64)), weights), 0, 1))
                soft = want[1:].reshape(2, height, 2, width, 2).mean((2, 4))
                self.assertGreater(psnr(y, want[0]), 48, f"seed {seed}")
                self.assertGreater(psnr(np.stack([u, v])[:, 2:-2, 2:-2], soft[:, 2:-2, 2:-2]), 36, f"seed {seed}")
                # An image enlarged without the network is not as near.
                self.assertLess(psnr(frame[0].repeat(2, 0).repeat(2, 1), want[0]), psnr(y, want[0]) - 4)

    @unittest.skipIf(QUICK, "quick")
    def test_clip_of_a_photograph(self):
        made = subprocess.run([MAKE_CLIP, PHOTOGRAPH, self.path("clip.mp4"), "96", "54", "7"], check=False)
        self.assertEqual(made.returncode, 0)
        done = self.run_sample(NETWORK, self.path("clip.mp4"), self.path("large.mp4"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name, count, width, height in (("clip.mp4", 7, 96, 54), ("large.mp4", 7, 192, 108)):
            with open(self.path(name), "rb") as file:
                data = file.read()
            self.assertEqual(struct.unpack(">I", box(data, b"stsz")[8:12])[0], count)
            self.assertEqual(struct.unpack(">II", box(data, b"tkhd")[-8:]), (width << 16, height << 16))

    @unittest.skipIf(QUICK, "quick")
    def test_window(self):
        write_y4m(self.path("small.y4m"), [np.full((3, 12, 14), 20 * i, np.uint8) for i in range(4)])
        if has_sdl():
            done = self.run_sample(NETWORK, self.path("small.y4m"), "window", SDL_VIDEODRIVER="dummy")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("4 frames of 14x12 to 28x24 in "))
        done = self.run_sample(NETWORK, self.path("small.y4m"), "window", SDL_VIDEODRIVER="none", DISPLAY="")
        self.assertEqual((done.returncode, done.stderr, done.stdout),
                         (2, "window: cannot open a window: is there a display?\n", ""))

    @unittest.skipIf(QUICK, "quick")
    def test_bad_input_is_one_line(self):
        with open(self.path("bad.mp4"), "wb") as file:
            file.write(os.urandom(1000))
        write_y4m(self.path("good.y4m"), [np.full((3, 4, 4), 99, np.uint8)])
        with open(self.path("empty.y4m"), "wb") as file:
            file.write(b"YUV4MPEG2 W4 H4 F25:1 Ip A1:1 C444\n")
        good = self.path("good.y4m")
        for arguments in ((NETWORK, good), (NETWORK, self.path("bad.mp4"), self.path("out.mp4")),
                          (NETWORK, self.path("none.mp4"), self.path("out.mp4")),
                          (NETWORK, self.path("empty.y4m"), self.path("out.mp4")),
                          (self.path("bad.mp4"), good, self.path("out.mp4")),
                          (NETWORK, good, self.path("out.unknown")), (NETWORK, good, self.path("none/out.mp4")),
                          (NETWORK, good, self.path("out.mp4"), "0")):
            done = self.run_sample(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
