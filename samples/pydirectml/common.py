# SPDX-License-Identifier: Apache-2.0
"""Functions shared by the samples: arguments, weights from an ONNX file, a graph with its inputs, images. The network needs
only numpy and pydirectml; reading weights needs onnx, and reading images Pillow."""
import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pydirectml as dml


def missing(text):
    """Exits with one line on stderr."""
    sys.exit(text)


def arguments(description, what, labels=False):
    """Parses the command line. what: description of the image; labels: adds an option for the names of classes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("model", help="the ONNX file with the weights")
    parser.add_argument("image", help=f"{what}, or an .npy file with the network's input")
    parser.add_argument("--device", type=int, help="index of the adapter (anydml devices); default: the GPU, otherwise the CPU")
    parser.add_argument("--output", help="a file for the result: an image, or .npy")
    parser.add_argument("--repeat", type=int, default=1, help="number of runs of the network")
    if labels:
        parser.add_argument("--labels", help="a file with a class's name on each line; default: imagenet_categories.txt in the "
                            "folder of the model or its parent")
    out = parser.parse_args()
    if labels and out.labels and not Path(out.labels).is_file():
        missing(f"{out.labels} is missing: a file with a class's name on each line")
    for path in (out.model, out.image):
        if not Path(path).is_file():
            missing(f"{path} is missing; the weights are those of the network in Microsoft's samples, as an ONNX file")
    return out


def load_weights(path):
    """Returns all initializers of an ONNX file as {name: array}."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError:
        missing("the package onnx, which reads the weights, is missing: pip install onnx")
    return {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}


class Network:
    """Builds a graph and keeps the data of its inputs. Weights are owned by DirectML: the first compute() reads them once, and
    DirectML keeps them in the layout of its kernels."""

    def __init__(self, weights, device=None):
        self.weights = weights
        try:
            self.device = dml.Device(True, adapter=device)
        except ValueError as error: # the index is out of range
            missing(str(error))
        self.builder = dml.GraphBuilder(self.device)
        self.bindings, self.data_inputs = [], []

    def input(self, sizes):
        """Adds a float32 input with these sizes, an argument of compute()."""
        desc = dml.TensorDesc(dml.TensorDataType.FLOAT32, sizes)
        self.data_inputs.append(dml.input_tensor(self.builder, len(self.bindings) + len(self.data_inputs), desc))
        return self.data_inputs[-1]

    def weight(self, name, sizes=None):
        """Adds a tensor of the file as an owned input, optionally with other sizes for the same number of elements."""
        if name not in self.weights:
            missing(f"the file has no tensor {name}; samples/README.md describes the names that this program expects")
        data = np.ascontiguousarray(self.weights[name], np.float32)
        data = data if sizes is None else data.reshape(sizes)
        desc = dml.TensorDesc(dml.TensorDataType.FLOAT32, dml.TensorFlags.OWNED_BY_DML, data.shape)
        expression = dml.input_tensor(self.builder, len(self.bindings) + len(self.data_inputs), desc)
        self.bindings.append(dml.Binding(expression, data))
        return expression

    def channels(self, name):
        """Adds a vector of the file with one number per channel as [1, C, 1, 1]."""
        return self.weight(name, [1, -1, 1, 1])

    def build(self, *outputs):
        self.outputs = list(outputs)
        self.model = self.builder.build(dml.ExecutionFlags.NONE, self.outputs)

    def compute(self, *data):
        """Runs the model and returns the outputs as numpy arrays. The first call also binds the weights."""
        inputs = [dml.Binding(expression, np.ascontiguousarray(one, np.float32))
                  for expression, one in zip(self.data_inputs, data)]
        results = self.device.compute(self.model, inputs + self.bindings, self.outputs)
        self.bindings = []
        return [np.asarray(one) for one in results]


def run(network, data, repeat):
    """Runs the network `repeat` times, prints the device and the time, and returns the results."""
    start = time.perf_counter()
    results = network.compute(data)
    first = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(repeat - 1):
        results = network.compute(data)
    text = f"{network.device.name}: first run {first * 1e3:.1f} ms"
    if repeat > 1:
        text += f", then {(time.perf_counter() - start) / (repeat - 1) * 1e3:.2f} ms"
    print(text)
    return results


# ---- classes ----


def load_labels(options):
    """Returns the names of classes, or an empty list if there is no file with them."""
    beside = [folder / "imagenet_categories.txt" for folder in Path(options.model).resolve().parents[:2]]
    for path in [Path(options.labels)] if options.labels else beside:
        if path.is_file():
            return path.read_text(encoding="utf-8").splitlines()
    return []


def print_top_five(probabilities, options):
    labels = load_labels(options)
    for one in np.argsort(-probabilities, kind="stable")[:5]:
        print(f"{probabilities[one]:.5f}  {labels[one] if one < len(labels) else f'class {one}'}")


# ---- images ----


def load_picture(path, width, height, mode="RGB"):
    """Reads an image, crops it to the aspect ratio and resizes it; returns bytes [H, W, C] or [H, W]. mode: RGB, L or YCbCr."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        missing("Pillow, which reads the image, is missing: pip install pillow")
    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image)
        return np.asarray(ImageOps.fit(image.convert("RGB"), (width, height)).convert(mode))


def save_picture(path, pixels, mode="RGB"):
    """Writes bytes [H, W, C] as an image."""
    from PIL import Image
    Image.fromarray(pixels, mode).convert("RGB").save(path)


def to_bytes(values):
    """Rounds numbers and clamps them to 0..255."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def planes(pixels):
    """Converts [H, W, C] to [1, C, H, W] in float32."""
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32)


def imagenet_input(path):
    """Reads an image and normalises it as networks for ImageNet expect, [1, 3, 224, 224]."""
    if path.endswith(".npy"):
        return np.load(path)
    planar = planes(load_picture(path, 224, 224))
    mean, deviation = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32).reshape(2, 1, 3, 1, 1)
    return (planar / planar.max() - mean) / deviation
