# SPDX-License-Identifier: Apache-2.0
"""sample_style_transfer against ONNX Runtime's own CPU provider: test_style.py SAMPLE PROVIDER MODELS [quick]

A small network with the layers of style transfer and random weights, for each ONNX Runtime in .cache/onnxruntime; and the
trained one of the folder MODELS (style_candy/model.onnx, input.npy, expected.npy), where it is there. quick: only the small
network, once."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIP = 77
try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from PIL import Image
except ImportError as why:
    print("skipped:", why)
    sys.exit(SKIP)

SAMPLE, PROVIDER, MODELS, *QUICK = sys.argv[1:]
CACHE = Path(__file__).resolve().parents[2] / ".cache/onnxruntime"
RUNTIMES = sorted(CACHE.glob("venv*/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*"))[:1 if QUICK else None]
if not RUNTIMES:
    print("skipped: no ONNX Runtime in", CACHE)
    sys.exit(SKIP)


def style_network(rng, height, width):
    """Reflecting border, convolutions down and up with normalised planes between them, and back to 0 to 255."""
    nodes, weights = [], []

    def add(kind, x, *arrays, **attributes):
        names = []
        for array in arrays:
            names.append(f"w{len(weights)}")
            weights.append(onnx.numpy_helper.from_array(np.asarray(array), names[-1]))
        nodes.append(onnx.helper.make_node(kind, [*x, *names], [f"x{len(nodes)}"], **attributes))
        return [f"x{len(nodes) - 1}"]

    def conv(x, kind, out, into, size, **attributes):
        shape = (into, out, size, size) if kind == "ConvTranspose" else (out, into, size, size)
        return add(kind, x, rng.normal(0, 1 / np.sqrt(into * size * size), shape).astype(np.float32), **attributes)

    def norm(x, count):
        vectors = rng.uniform(0.5, 1.5, count).astype(np.float32), rng.uniform(-0.3, 0.3, count).astype(np.float32)
        return add("Relu", add("InstanceNormalization", x, *vectors, epsilon=1e-5))

    x = add("Sub", ["input"], np.array([110, 120, 130], np.float32).reshape(1, 3, 1, 1))
    x = add("Pad", x, np.array([0, 0, 4, 4, 0, 0, 4, 4], np.int64), mode="reflect")
    x = norm(conv(x, "Conv", 8, 3, 9), 8)
    x = norm(conv(x, "Conv", 12, 8, 3, strides=[2, 2], pads=[1, 1, 1, 1]), 12)
    y = norm(conv(x, "Conv", 12, 12, 3, pads=[1, 1, 1, 1]), 12)
    x = add("Add", [*x, *y])
    x = norm(conv(x, "ConvTranspose", 8, 12, 4, strides=[2, 2], pads=[1, 1, 1, 1]), 8)
    x = add("Tanh", conv(x, "Conv", 3, 8, 9, pads=[4, 4, 4, 4]))
    add("Add", add("Mul", x, np.float32(150)), np.float32(127))
    nodes[-1].output[0] = "output"
    shape = [1, 3, height, width]
    graph = onnx.helper.make_graph(nodes, "style", [onnx.helper.make_tensor_value_info("input", 1, shape)],
                                   [onnx.helper.make_tensor_value_info("output", 1, None)], weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def planes(pixels, blue_first):
    pixels = pixels[:, :, ::-1] if blue_first else pixels
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32)


def pixels_of(planes_, blue_first):
    pixels = planes_[0].transpose(1, 2, 0)
    return np.clip(np.rint(pixels[:, :, ::-1] if blue_first else pixels), 0, 255)


class Style(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def run_sample(self, runtime, *arguments):
        return subprocess.run([SAMPLE, runtime, PROVIDER, *arguments], capture_output=True, text=True, check=False, timeout=500)

    def paint(self, runtime, model, image, *options):
        done = self.run_sample(runtime, model, image, self.path("out.png"), *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.asarray(Image.open(self.path("out.png")).convert("RGB"), np.float64)

    def test_as_onnxruntime_paints(self):
        seed = int.from_bytes(os.urandom(4), "little")
        rng = np.random.default_rng(seed)
        for runtime in RUNTIMES:
            for fixed in ([False] if QUICK else [True, False]):
                height, width = (2 * int(one) for one in rng.integers(16, 40, 2))
                model = self.path("style.onnx")
                onnx.save(style_network(rng, *((height, width) if fixed else ("height", "width"))), model)
                # A fixed size takes the middle of an image that has the size on one side and more on the other.
                larger = rng.integers(0, 256, (height, width + (10 if fixed else 0), 3), np.uint8)
                Image.fromarray(larger).save(self.path("in.png"))
                middle = larger[:, 5:-5] if fixed else larger
                session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
                for options in [["bgr"]] if QUICK else [[], ["bgr"]]:
                    want = pixels_of(session.run(None, {"input": planes(middle, bool(options))})[0], bool(options))
                    got = self.paint(runtime, model, self.path("in.png"), *options)
                    self.assertEqual(got.shape, want.shape)
                    self.assertGreater(want.std(), 10)
                    self.assertLessEqual(np.abs(got - want).max(), 1, f"seed {seed}")
                    self.assertLess((got != want).mean(), 0.01, f"seed {seed}")

    @unittest.skipIf(QUICK or not os.path.exists(os.path.join(MODELS, "style_candy/model.onnx")), "no trained network")
    def test_trained_network(self):
        folder = os.path.join(MODELS, "style_candy")
        image = np.load(os.path.join(folder, "input.npy"))
        self.assertTrue((image == np.rint(image)).all())
        Image.fromarray(pixels_of(image, False).astype(np.uint8)).save(self.path("in.png"))
        got = self.paint(RUNTIMES[0], os.path.join(folder, "model.onnx"), self.path("in.png"))
        want = pixels_of(np.load(os.path.join(folder, "expected.npy")), False)
        self.assertLessEqual(np.abs(got - want).max(), 1)
        self.assertLess((got != want).mean(), 0.01)

    @unittest.skipIf(QUICK, "quick")
    def test_bad_input_is_one_line(self):
        model, image = self.path("style.onnx"), self.path("in.png")
        onnx.save(style_network(np.random.default_rng(0), 32, 32), model)
        Image.fromarray(np.zeros((32, 32, 3), np.uint8)).save(image)
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("no model\nand no picture\n")
        good = RUNTIMES[0], model, image, self.path("out.png")
        for at, bad in ((0, self.path("text")), (0, self.path("none")), (1, self.path("text")), (1, self.path("none")),
                        (2, self.path("text")), (2, self.path("none")), (3, self.path("out.unknown")), (3, self.path("no/out.png"))):
            done = self.run_sample(*good[:at], bad, *good[at + 1:])
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), (bad, done.stderr))
        done = self.run_sample(*good, "gbr")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
