#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a trained network through the anydml command: test_models.py ANYDML MODELS NAME plain|no-pass|fp16|small

MODELS is a folder with NAME/model.onnx, NAME/input.npy, NAME/expected.npy. Skips when it is not there. small: an upper
left piece of the input, against the cpu adapter, for adapters that would take minutes for the whole.
"""
import os
import sys

import numpy as np

import resize
import to_fp16
from tool import SKIP, Tool

# Largest and mean absolute difference: float32 against the expected values, and float16 (three times what rounding
# input, weights and every layer's result to float16 costs; how it is accumulated makes up the rest).
LIMITS = {
    "mnist": {"float32": (1e-6, 1e-6), "float16": (6.3e-4, 6.3e-4)},
    "squeezenet": {"float32": (5e-6, 5e-6), "float16": (0.0066, 0.0066)},
    "mobilenet_v2_features": {"float32": (5e-5, 5e-5), "float16": (0.096, 0.0135)},
    "super_resolution_x3": {"float32": (1e-5, 1e-5), "float16": (0.0042, 6.6e-4)},
    "style_candy": {"float32": (0.1, 0.003), "float16": (12.3, 0.28)},
    "super_resolution_x2": {"float32": (1e-3, 1e-3), "float16": (0.0144, 5.1e-4)},
}

# Height and width for "small": what windows, paddings and cropping of the model allow.
SMALL = {"style_candy": (72, 72), "super_resolution_x2": (36, 60)}


def make_small(tool, name, folder):
    """The smaller model, its input, and what the cpu adapter makes of it."""
    size = SMALL[name]
    with open(os.path.join(folder, "model.onnx"), "rb") as file:
        model = tool.file("model.onnx", resize.convert(file.read(), size))
    small, expected = tool.file("input.npy"), tool.file("expected.npy")
    np.save(small, np.load(os.path.join(folder, "input.npy"))[:, :, :size[0], :size[1]])
    tool.works("run", model, "--input", small, "--output", expected, ANYDML_ADAPTERS="cpu")
    return model, small, [expected]


def compare(tool, name, path, expected_path, limits):
    have, want = np.load(path), np.load(expected_path)
    if not tool.test(have.shape == want.shape, f"{name}: shape {have.shape}, wanted {want.shape}"):
        return
    difference = np.abs(have.astype(np.float64) - want.astype(np.float64))
    print(f"{name}: largest difference {difference.max():.3g}, mean {difference.mean():.3g}")
    tool.test(difference.max() <= limits[0] and difference.mean() <= limits[1], f"{name}: limits are {limits}")


def main():
    anydml, models, name, mode = sys.argv[1:]
    folder = os.path.join(os.environ.get("ANYDML_MODELS", models), name)
    if not os.path.exists(os.path.join(folder, "model.onnx")):
        print(f"no {folder}/model.onnx")
        sys.exit(SKIP)
    tool = Tool(anydml)
    model = os.path.join(folder, "model.onnx")
    if mode == "fp16":
        with open(model, "rb") as file:
            model = tool.file("model.onnx", to_fp16.convert(file.read()))
    expected = [os.path.join(folder, n) for n in ("expected.npy", "expected_1.npy")]
    expected = [path for path in expected if os.path.exists(path)]
    given = os.path.join(folder, "input.npy")
    if mode == "small":
        model, given, expected = make_small(tool, name, folder)
    outputs = [tool.file(f"{i}.npy") for i in range(len(expected))]
    args = ["run", model, "--input", given]
    for path in outputs:
        args += ["--output", path]
    environment = {"ANYDML_DISABLE_PASS": "all"} if mode == "no-pass" else {}
    print(tool.works(*args, timeout=1500, **environment))
    if not tool.failed:
        for i, path in enumerate(outputs):
            compare(tool, f"{name} {i}", path, expected[i], LIMITS[name]["float16" if mode == "fp16" else "float32"])
    tool.finish()


if __name__ == "__main__":
    main()
