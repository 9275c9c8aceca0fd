# SPDX-License-Identifier: Apache-2.0
"""The programs of samples/torch, with few steps: they learn, write what they say, and nothing of them runs on the CPU."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples/torch")


def run(name, *arguments):
    environment = {**os.environ, "TORCH_DIRECTML_FALLBACK": "error"}
    ran = subprocess.run([sys.executable, os.path.join(SAMPLES, name + ".py"), *arguments], capture_output=True, text=True,
                         env=environment, timeout=400, check=False)
    if ran.returncode:
        raise AssertionError(f"{name}: {ran.stdout}{ran.stderr}")
    return ran.stdout


def losses(text):
    return [float(number) for number in re.findall(r"loss ([0-9.]+)", text)]


def accuracy(text):
    return float(re.search(r"accuracy ([0-9.]+)", text)[1])


class Samples(unittest.TestCase):
    def test_digits(self):
        text = run("digits", "--steps", "100", "--batch", "32", "--compile")
        self.assertLess(losses(text)[-1], losses(text)[0] / 2, text)
        self.assertGreater(accuracy(text), 0.6, text)

    def test_fine_tuning_and_classification(self):
        with tempfile.TemporaryDirectory() as folder:
            weights = os.path.join(folder, "shapes.pt")
            text = run("fine_tune", "--steps", "30", "--size", "48", "--save", weights, "--images", folder)
            self.assertLess(losses(text)[-1], losses(text)[0], text)
            self.assertGreater(accuracy(text), 0.6, text)
            names = ["circle", "square", "triangle", "cross"]
            images = [os.path.join(folder, name + ".ppm") for name in names]
            lines = run("classify", "--weights", weights, "--labels", ",".join(names), "--size", "48",
                        *images).splitlines()
            self.assertEqual([line.split(": ")[0] for line in lines], images)
            found = [line.split(": ")[1].split()[0] for line in lines]
            self.assertGreaterEqual(sum(a == b for a, b in zip(found, names)), 2, lines)
            # A few steps from these weights do what as many from random ones cannot.
            text = run("fine_tune", "--weights", weights, "--steps", "10", "--size", "48", "--amp", "bfloat16")
            self.assertGreater(accuracy(text), 0.45, text)

    def test_language_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "loss.svg")
            text = run("gpt", "--steps", "30", "--batch", "4", "--length", "32", "--write", "20", "--plot", path)
            self.assertLess(losses(text)[-1], losses(text)[0] - 0.5, text)
            self.assertEqual(len(text.split("shows the loss\n")[1]), 21)
            lines = xml.etree.ElementTree.parse(path).getroot().findall("{http://www.w3.org/2000/svg}polyline")
            self.assertEqual([len(line.get("points").split()) for line in lines], [30, 30])


if __name__ == "__main__":
    unittest.main()
