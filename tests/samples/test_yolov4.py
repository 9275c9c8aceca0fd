#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sample_yolov4 against numpy (darknet.py): test_yolov4.py SAMPLE [quick]. Weights are random; quick: only a small network."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import darknet

SAMPLE, *QUICK = sys.argv[1:]


def small(rng):
    """Every kind of layer and option, with random numbers of channels."""
    a, b, c = (2 * int(one) for one in rng.integers(2, 7, 3))
    classes = int(rng.integers(1, 5))
    anchors = (5, 7, 11, 9, 20, 16, 31, 40)
    cfg = darknet.Cfg(64, 48)
    cfg.conv(a, 3).conv(b, 3, 2, "leaky").route(-1, groups=2, group_id=1).conv(b // 2, 3, groups=2 if b % 4 == 0 else 1)
    cfg.route(-1, -2).add("maxpool", size=2, stride=2).conv(c, 1, 1, "relu").conv(c, 3, 1, "logistic", batch_normalize=0)
    cfg.add("shortcut", **{"from": -2, "activation": "leaky"}).add("maxpool", size=5, stride=1).add("maxpool", size=3, stride=2)
    cfg.conv(a, 2, 1, "mish", pad=0, padding=1).add("shortcut", **{"from": "-1,-1", "activation": "linear"})
    cfg.yolo((2, 3), anchors, classes, 1.1).route(6, 7).conv(a, 3, 1, "leaky", batch_normalize=0)
    cfg.add("upsample", stride=2).route(-1, 1, groups=2, group_id=0)
    return cfg.yolo((0, 1), anchors, classes, 1)


def write_ppm(path, pixels):
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % pixels.shape[1::-1] + pixels.tobytes())


def read_ppm(path):
    with open(path, "rb") as file:
        magic, width, height, most = b" ".join(file.readline() for _ in range(3)).split()
        assert (magic, most) == (b"P6", b"255")
        return np.frombuffer(file.read(), np.uint8).reshape(int(height), int(width), 3)


def letterbox(pixels, size):
    """The image in the middle of grey, for images that already have one side of the network's size."""
    height, width, _ = pixels.shape
    out = np.full((3, size[1], size[0]), 0.5, np.float32)
    top, left = (size[1] - height) // 2, (size[0] - width) // 2
    out[:, top:top + height, left:left + width] = (pixels / np.float32(255)).transpose(2, 0, 1)
    return out


class Yolo(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.seed = int.from_bytes(os.urandom(4), "little")
        self.rng = np.random.default_rng(self.seed)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_sample(self, *arguments):
        return subprocess.run([SAMPLE, *arguments], capture_output=True, text=True, check=False, timeout=500)

    def picture(self, width, height):
        rows, columns = np.mgrid[0:height, 0:width]
        waves = [np.sin(self.rng.uniform(-1, 1) * rows + self.rng.uniform(-1, 1) * columns) for _ in range(3)]
        return np.clip(128 + 90 * np.stack(waves, 2) + self.rng.normal(0, 20, (height, width, 3)), 0, 255).astype(np.uint8)

    def expected(self, network, boxes, pixels, wanted):
        """A threshold that about `wanted` scores pass, and the boxes in pixels; None where a decision is a narrow one."""
        scores = np.sort(boxes[:, 4])[::-1][:wanted]
        gaps = scores[wanted // 2:-1] - scores[wanted // 2 + 1:]
        at = wanted // 2 + int(gaps.argmax())
        threshold = round(float(scores[at] + scores[at + 1]) / 2, 6)
        kept, margin = darknet.detect(boxes, threshold)
        if min(margin, gaps.max()) < 2e-4:
            return None
        size, shape = np.array(network.size), np.array(pixels.shape[1::-1])
        inner = np.floor(shape * (size / shape).min() + 1e-6)
        offset = (size - inner) // 2
        for i in (0, 2):
            kept[:, i:i + 2] = np.clip((kept[:, i:i + 2] * size - offset) / inner, 0, 1) * shape
        return threshold, kept

    def compare(self, cfg, width, height, wanted):
        found = None
        while not found: # a narrow decision says nothing, so there is another network
            pixels = self.picture(width, height)
            x = letterbox(pixels, (cfg.sections[0][1]["width"], cfg.sections[0][1]["height"]))
            network = darknet.Network(cfg, self.rng, x)
            found = self.expected(network, network.scores(network.forward(x.astype(np.float64))), pixels, wanted)
        network.save(self.path("random.weights"))
        threshold, kept = found
        write_ppm(self.path("in.ppm"), pixels)
        labels = self.write("labels", "".join(f"thing{i}\n" for i in range(100)))
        done = self.run_sample(self.write("random.cfg", "# a comment\n" + cfg.text()), self.path("random.weights"),
                               self.path("in.ppm"), self.path("out.ppm"), labels, f"{threshold:.6f}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        got = re.findall(r"^frame 0: thing(\d+) ([\d.]+) at ([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)$", done.stdout, re.M)
        got = np.array(got, np.float64)
        self.assertEqual(len(got), len(kept), f"seed {self.seed}")
        self.assertTrue((np.diff(got[:, 1]) <= 0).all())
        for box in kept: # boxes of nearly one score may have changed places
            errors = np.abs(got[:, 2:] - box[:4]).max(1) + 100 * np.abs(got[:, 1] - box[4]) + 1e9 * (got[:, 0] != box[5])
            self.assertLess(errors.min(), 0.1, f"seed {self.seed}: {box}")
        return pixels, read_ppm(self.path("out.ppm")), got

    def test_every_kind_of_layer(self):
        for _ in range(1 if QUICK else 4):
            before, after, boxes = self.compare(small(self.rng), 64, 40, 30)
            self.assertEqual(before.shape, after.shape)
            self.assertTrue((before != after).any())
            left, top, right, bottom = (int(one) for one in boxes[0, 2:]) # the best box is drawn last
            if bottom - top > 12: # its label, which may be inside, is not as high
                low = after[bottom - 1, left:right].reshape(-1, 3)
                self.assertTrue((low == low[:1]).all(), f"seed {self.seed}")

    @unittest.skipIf(QUICK, "quick")
    def test_yolov4(self):
        """With random weights of 258 MB; a small image says as much as a large one."""
        cfg = darknet.yolov4(64, 64)
        self.compare(cfg, 64, 50, 60)
        self.assertEqual(os.path.getsize(self.path("random.weights")), 257717640) # as the trained ones

    @unittest.skipIf(QUICK, "quick")
    def test_yolov4_tiny(self):
        self.compare(darknet.yolov4_tiny(128, 96), 90, 96, 60)
        self.assertEqual(os.path.getsize(self.path("random.weights")), 24251276)

    @unittest.skipIf(QUICK, "quick")
    def test_pictures_are_scaled(self):
        """An image of one colour is the same in every size."""
        cfg = darknet.yolov4_tiny(64, 64, 2)
        flat = np.full((64, 32, 3), (200, 40, 90), np.uint8)
        network = darknet.Network(cfg, self.rng, letterbox(flat, (64, 64)))
        network.save(self.path("w"))
        threshold = np.sort(network.scores(network.forward(letterbox(flat, (64, 64))))[:, 4])[-30]
        found = []
        for factor in (1, 3):
            write_ppm(self.path("in.ppm"), flat.repeat(factor, 0).repeat(factor, 1))
            done = self.run_sample(self.write("c", cfg.text()), self.path("w"), self.path("in.ppm"), self.path("out.ppm"), "",
                                   f"{threshold:.6f}")
            self.assertEqual(done.returncode, 0)
            found.append(np.array(re.findall(r"class (\d+) ([\d.]+) at (\S+) (\S+) (\S+) (\S+)", done.stdout), np.float64))
            found[-1][:, 2:] /= factor
        self.assertGreater(len(found[0]), 0)
        self.assertEqual(found[0].shape, found[1].shape)
        self.assertLess(np.abs(np.sort(found[0], 0) - np.sort(found[1], 0)).max(), 0.2)

    @unittest.skipIf(QUICK, "quick")
    def test_bad_input_is_one_line(self):
        write_ppm(self.path("in.ppm"), self.picture(8, 8))
        cfg = small(self.rng)
        network = darknet.Network(cfg, self.rng, self.rng.random((3, 48, 64), np.float32))
        network.save(self.path("w"))
        with open(self.path("w"), "rb") as file:
            data = file.read()
        for name, content in (("short", data[:-4]), ("long", data + b"abcd"), ("head", data[:10]), ("other", b"\xff" * 100)):
            with open(self.path(name), "wb") as file:
                file.write(content)
        text = cfg.text()
        good = self.write("c", text)
        cases = [(good, self.path(name), self.path("in.ppm"), self.path("o.ppm")) for name in ("short", "long", "head", "other", "none")]
        cases += [(good, self.path("w"), self.path("none.ppm"), self.path("o.ppm")), (good, self.path("w"), self.path("in.ppm")),
                  (good, self.path("w"), self.path("in.ppm"), self.path("o.ppm"), "", "much"),
                  (good, self.path("w"), self.path("in.ppm"), self.path("o.ppm"), self.path("none")),
                  (self.path("w"), self.path("w"), self.path("in.ppm"), self.path("o.ppm"))]
        for number, (old, new) in enumerate((("[upsample]", "[lstm]"), ("activation = mish", "activation = loud"),
                                             ("layers = 6,7", "layers = 6,99"), ("layers = -1,1", "layers = -1,5"),
                                             ("stride = 2", "stride = 0"), ("stride = 2", "stride = two"), ("mask = 2,3", "mask = 2,9"),
                                             ("classes = ", "classes = 1"), ("[net]", "[nut]"), ("width = 64", "width = 999999999"),
                                             ("width = 64", "width"), ("groups = 2", "groups = 3"), 
                                             ("layers = -1,-2", "layers ="), ("from = -2", "from = -99"))):
            self.assertIn(old, text)
            cases.append((self.write(f"c{number}", text.replace(old, new)), self.path("w"), self.path("in.ppm"), self.path("o.ppm")))
        for arguments in cases:
            done = self.run_sample(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), (arguments, done.stderr))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
