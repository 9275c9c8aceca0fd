#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of samples/pydirectml: with random weights they compute what the same networks written in PyTorch compute.
Where ANYDML_MODELS names a folder with the trained networks (NAME/model.onnx, input.npy, expected.npy), their results are
those expected."""
import importlib
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import torch
import torch.nn.functional as F

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples/pydirectml")
sys.path.insert(0, SAMPLES)
MODELS = os.environ.get("ANYDML_MODELS", "")


class Weights(dict):
    """Random weights by name. A convolution's are scaled so that numbers keep their size from layer to layer."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def conv(self, name, out, inner, window, suffix="_weight"):
        scale = np.sqrt(2 / (inner * window * window))
        self[name + suffix] = (self.rng.standard_normal((out, inner, window, window)) * scale).astype(np.float32)

    def vector(self, name, count, low=-0.2, high=0.2):
        self[name] = self.rng.uniform(low, high, count).astype(np.float32)

    def tensor(self, name):
        return torch.from_numpy(self[name]).double()

    def conv2d(self, x, name, bias=None, **more):
        return F.conv2d(x, self.tensor(name + "_weight"), None if bias is None else self.tensor(bias).reshape(-1), **more)


def mnist(w):
    w.conv("conv1", 8, 1, 5)
    w.conv("conv2", 16, 8, 5)
    w.vector("conv1_plus", 8)
    w.vector("conv2_plus", 16)
    w["dense_weight"] = w.rng.standard_normal((256, 10)).astype(np.float32) / 16
    w.vector("dense_bias", 10)
    w["dense_bias"] = w["dense_bias"][None]

    def reference(x):
        x = F.max_pool2d(F.relu(w.conv2d(x, "conv1", "conv1_plus", padding=2)), 2)
        x = F.max_pool2d(F.relu(w.conv2d(x, "conv2", "conv2_plus", padding=2)), 3)
        return [torch.softmax(x.reshape(1, 256) @ w.tensor("dense_weight") + w.tensor("dense_bias"), 1)]
    return (1, 1, 28, 28), reference, 1e-5


def squeezenet(w):
    w.conv("conv0", 64, 3, 3)
    fires = [(1, 64, 16, 64), (4, 128, 16, 64), (7, 128, 32, 128), (10, 256, 32, 128), (13, 256, 48, 192), (16, 384, 48, 192),
             (19, 384, 64, 256), (22, 512, 64, 256)]
    for number, inner, few, many in fires:
        w.conv(f"conv{number}", few, inner, 1)
        w.conv(f"conv{number + 1}", many, few, 1)
        w.conv(f"conv{number + 2}", many, few, 3)
    w.conv("conv25", 1000, 512, 1)
    for i in range(26):
        w.vector(f"conv{i}_bias", w[f"conv{i}_weight"].shape[0])

    def conv(x, i, **more):
        return F.relu(w.conv2d(x, f"conv{i}", f"conv{i}_bias", **more))

    def reference(x):
        x = F.max_pool2d(conv(x, 0, stride=2), 3, 2)
        for i, *_ in fires:
            x = conv(x, i)
            x = torch.cat([conv(x, i + 1), conv(x, i + 2, padding=1)], 1)
            x = F.max_pool2d(x, 3, 2) if i in (4, 10) else x
        return [torch.softmax(conv(x, 25).mean((2, 3)), 1)]
    return (1, 3, 224, 224), reference, 1e-5


def mobilenet(w):
    blocks = [(16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (32, 1), (64, 1), (64, 1), (64, 1), (64, 1), (96, 2), (96, 1),
              (96, 1), (160, 2), (160, 1), (160, 1), (320, 1)]

    def norm(name, count):
        w.vector(name + "_norm_scale", count, 0.5, 1.5)
        w.vector(name + "_norm_bias", count)
        w.vector(name + "_norm_mean", count)
        w.vector(name + "_norm_var", count, 0.5, 1.5)
    inner = 32
    w.conv("first", 32, 3, 3)
    for i, (channels, _) in enumerate(blocks):
        wide = inner if i == 0 else inner * 6
        for part, (out, into, window) in {"expand": (wide, inner, 1), "depthwise": (wide, 1, 3),
                                          "project": (channels, wide, 1)}.items():
            w.conv(f"block{i}_{part}", out, into, window)
        inner = channels
    w.conv("last", 1280, 320, 1)
    for name in [one[:-len("_weight")] for one in list(w)]:
        norm(name, w[name + "_weight"].shape[0])

    def conv(x, name, **more):
        return F.batch_norm(w.conv2d(x, name, **more), *(w.tensor(f"{name}_norm_{part}") for part in
                                                         ("mean", "var", "scale", "bias")), eps=1e-5)

    def reference(x):
        x = F.relu(conv(x, "first", stride=2, padding=1))
        for i, (channels, stride) in enumerate(blocks):
            y = F.relu(conv(x, f"block{i}_expand"))
            y = F.relu(conv(y, f"block{i}_depthwise", stride=stride, padding=1, groups=y.shape[1]))
            y = conv(y, f"block{i}_project")
            x = x + y if stride == 1 and x.shape[1] == channels else y
        return [F.relu(conv(x, "last")).mean((2, 3))]
    return (1, 3, 224, 224), reference, 1e-4


def superres(w):
    for i, (out, inner, window) in enumerate([(64, 1, 5), (64, 64, 3), (32, 64, 3), (9, 32, 3)], 1):
        w.conv(f"conv{i}", out, inner, window)
        w.vector(f"conv{i}_bias", out)

    def reference(x):
        for i, padding in ((1, 2), (2, 1), (3, 1), (4, 1)):
            x = F.relu(w.conv2d(x, f"conv{i}", f"conv{i}_bias", padding=padding))
        return [F.pixel_shuffle(x, 3), x]
    return (1, 1, 224, 224), reference, 1e-5


def candy(w):
    shapes = [(16, 3, 9), (32, 16, 3), (64, 32, 3)] + [(64, 64, 3)] * 10 + [(64, 32, 3), (32, 16, 3), (3, 16, 9)]
    for i, (out, inner, window) in enumerate(shapes):
        w.conv(f"conv{i}", out, inner, window) # of 13 and 14: from `out` channels to `inner`
        count = inner if i in (13, 14) else out
        w.vector(f"conv{i}_bias", count)
        w.vector(f"norm{i}_scale", count, 0.5, 1.5)
        w.vector(f"norm{i}_bias", count)
    w.vector("scaler_offset", 3, -120, -100)
    w.vector("output_scale", 3, 0.9, 1.1)
    w.vector("output_offset", 3, 100, 120)
    side = importlib.import_module("candy").SIDE = 120

    def conv(x, i, **more):
        return w.conv2d(x, f"conv{i}", f"conv{i}_bias", **more)

    def norm(x, i):
        return F.instance_norm(x, weight=w.tensor(f"norm{i}_scale"), bias=w.tensor(f"norm{i}_bias"), eps=1e-5)

    def channels(name):
        return w.tensor(name).reshape(1, 3, 1, 1)

    def reference(x):
        x = F.pad(x + channels("scaler_offset"), (40, 40, 40, 40), mode="reflect")
        for i, more in ((0, {"padding": 4}), (1, {"stride": 2, "padding": 1}), (2, {"stride": 2, "padding": 1})):
            x = F.relu(norm(conv(x, i, **more), i))
        normalized = None
        for i in (3, 5, 7, 9, 11):
            shortcut = normalized if i == 9 else x
            normalized = norm(conv(F.relu(norm(conv(x, i), i)), i + 1), i + 1)
            x = normalized + shortcut[:, :, 2:-2, 2:-2]
        for i in (13, 14):
            large = 2 * x.shape[2] + 1
            x = F.conv_transpose2d(x, w.tensor(f"conv{i}_weight"), w.tensor(f"conv{i}_bias"), 2, output_padding=1)
            x = F.relu(norm(x[:, :, 1:large, 1:large], i))
        return [torch.tanh(conv(x, 15, padding=4)) * 150 * channels("output_scale") + channels("output_offset")]
    return (1, 3, side, side), reference, 0.02


class Networks(unittest.TestCase):
    def test_random_weights(self):
        for seed, network in enumerate((mnist, squeezenet, mobilenet, superres, candy)):
            with self.subTest(network.__name__):
                weights = Weights(seed)
                sizes, reference, limit = network(weights)
                sample = importlib.import_module(network.__name__)
                x = weights.rng.uniform(0, 255 if network is candy else 1, sizes).astype(np.float32)
                net = sample.build(weights)
                for _ in range(2): # the second run has its weights already
                    results = net.compute(x)
                    for got, want in zip(results, reference(torch.from_numpy(x).double())):
                        want = want.numpy()
                        self.assertEqual(got.shape, want.shape)
                        self.assertGreater(want.std(), 1e-4) # numbers that say something
                        self.assertLess(np.abs(got - want).max(), limit * max(1, np.abs(want).max() / 100))
                    x = x[..., ::-1].copy()

    def test_mobilenet_names_classes(self):
        """As a program, with a file of weights that has a classifier."""
        import onnx
        import onnx.numpy_helper
        weights = Weights(int.from_bytes(os.urandom(4), "little"))
        sizes, features, _ = mobilenet(weights)
        weights["classifier_weight"] = weights.rng.standard_normal((7, 1280)).astype(np.float32)
        weights.vector("classifier_bias", 7)
        x = weights.rng.uniform(0, 1, sizes).astype(np.float32)
        want = features(torch.from_numpy(x).double())[0]
        weights["classifier_weight"] *= np.float32(2 / want.norm()) # scores that differ, none of which is 0 or 1
        want = torch.softmax(want @ weights.tensor("classifier_weight").T + weights.tensor("classifier_bias"), 1).numpy()[0]
        with tempfile.TemporaryDirectory() as scratch:
            model, image, labels, output = (os.path.join(scratch, name) for name in ("m.onnx", "in.npy", "names", "out.npy"))
            arrays = [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()]
            onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "weights", [], [], arrays)), model)
            np.save(image, x)
            with open(labels, "w", encoding="utf-8") as file:
                file.write("".join(f"thing {i}\n" for i in range(7)))
            run = [sys.executable, os.path.join(SAMPLES, "mobilenet.py"), model, image, "--output", output, "--labels"]
            done = subprocess.run([*run, labels], capture_output=True, text=True, check=True)
            self.assertLess(np.abs(np.load(output) - want).max(), 1e-4)
            lines = done.stdout.splitlines()[-5:]
            self.assertEqual([line.split("  ")[1] for line in lines], [f"thing {i}" for i in np.argsort(-np.load(output))[:5]])
            self.assertEqual([line.split("  ")[0] for line in lines], [f"{one:.5f}" for one in np.sort(np.load(output))[:1:-1]])
            done = subprocess.run([*run, "absent.txt"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (1, 1, ""))

    @unittest.skipUnless(os.path.isdir(MODELS), "ANYDML_MODELS names no folder with the trained networks")
    def test_trained_weights(self):
        importlib.import_module("candy").SIDE = 720
        for name, folder, limit, expected in (
                ("mnist", "mnist", 1e-6, ["expected"]), ("squeezenet", "squeezenet", 5e-6, ["expected"]),
                ("mobilenet", "mobilenet_v2_features", 5e-5, ["expected"]),
                ("superres", "super_resolution_x3", 1e-5, ["expected_1", "expected"]),
                ("candy", "style_candy", 0.1, ["expected"])):
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                path = os.path.join(MODELS, folder)
                output = os.path.join(scratch, "out.npy")
                subprocess.run([sys.executable, os.path.join(SAMPLES, name + ".py"), os.path.join(path, "model.onnx"),
                                os.path.join(path, "input.npy"), "--output", output], check=True, stdout=subprocess.DEVNULL)
                want = np.load(os.path.join(path, expected[0] + ".npy"))
                self.assertLess(np.abs(np.load(output).reshape(want.shape) - want).max(), limit)

    def test_what_is_missing_is_one_line(self):
        for name in ("mnist", "squeezenet", "mobilenet", "superres", "candy"):
            done = subprocess.run([sys.executable, os.path.join(SAMPLES, name + ".py"), "absent.onnx", "absent.png"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (1, 1, ""))
            self.assertIn("absent.onnx is missing", done.stderr)

    def test_weights_with_other_names_are_one_line(self):
        import onnx
        import onnx.numpy_helper
        with tempfile.TemporaryDirectory() as scratch:
            model, image = os.path.join(scratch, "m.onnx"), os.path.join(scratch, "in.npy")
            tensor = onnx.numpy_helper.from_array(np.zeros(3, np.float32), "of another program")
            onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "weights", [], [], [tensor])), model)
            np.save(image, np.zeros((1, 3, 224, 224), np.float32))
            for name, lacks in (("mnist", "conv1_weight"), ("squeezenet", "conv0_weight"), ("mobilenet", "first_weight"),
                                ("superres", "conv1_weight"), ("candy", "scaler_offset")):
                done = subprocess.run([sys.executable, os.path.join(SAMPLES, name + ".py"), model, image],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (1, 1, ""))
                self.assertIn(f"no tensor {lacks}", done.stderr)


if __name__ == "__main__":
    unittest.main()
