# SPDX-License-Identifier: Apache-2.0
"""Darknet's networks in numpy: .cfg files of YOLO v4 and its small sister, random weights, and what comes out, boxes included.
python3 darknet.py yolov4|yolov4-tiny prints the .cfg file."""
import struct
import sys

import numpy as np

# ---- .cfg files ----


class Cfg:
    """Sections one after the other; the names of numbers are Darknet's."""

    def __init__(self, width, height):
        self.sections = [("net", {"width": width, "height": height, "channels": 3})]

    def add(self, kind, **options):
        self.sections.append((kind, options))
        return self

    def conv(self, filters, size=1, stride=1, activation="mish", **more):
        return self.add("convolutional", **{"batch_normalize": 1, "filters": filters, "size": size, "stride": stride, "pad": 1,
                                            "activation": activation, **more})

    def route(self, *layers, **more):
        return self.add("route", layers=",".join(map(str, layers)), **more)

    def yolo(self, mask, anchors, classes, scale):
        self.conv(len(mask) * (5 + classes), activation="linear", batch_normalize=0)
        return self.add("yolo", mask=",".join(map(str, mask)), anchors=", ".join(map(str, anchors)), classes=classes,
                        num=len(anchors) // 2, scale_x_y=scale)

    def text(self):
        return "\n".join(f"[{kind}]\n" + "".join(f"{key} = {value}\n" for key, value in options.items())
                         for kind, options in self.sections)


def yolov4(width=608, height=608, classes=80):
    cfg = Cfg(width, height).conv(32, 3)
    for channels, residuals in ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4)): # CSPDarknet53
        half = channels if channels == 64 else channels // 2
        cfg.conv(channels, 3, 2).conv(half).route(-2).conv(half)
        for _ in range(residuals):
            cfg.conv(channels // 2).conv(half, 3).add("shortcut", **{"from": -3, "activation": "linear"})
        cfg.conv(half).route(-1, -(3 * residuals + 4)).conv(channels)

    def chain(channels, count, stride=1):
        for i in range(count):
            cfg.conv(channels * (1 + i % 2), 1 + i % 2 * 2, stride, "leaky")
    chain(512, 3)
    for size, route in ((5, (-2,)), (9, (-4,)), (13, (-1, -3, -5, -6))): # spatial pyramid
        cfg.add("maxpool", stride=1, size=size).route(*route)
    chain(512, 3)
    for channels, layer in ((256, 85), (128, 54)): # upwards
        chain(channels, 1)
        cfg.add("upsample", stride=2).route(layer)
        chain(channels, 1)
        cfg.route(-1, -3)
        chain(channels, 5)
    anchors = (12, 16, 19, 36, 40, 28, 36, 75, 76, 55, 72, 146, 142, 110, 192, 243, 459, 401)
    for channels, route, mask, scale in ((128, None, (0, 1, 2), 1.2), (256, -16, (3, 4, 5), 1.1), (512, -37, (6, 7, 8), 1.05)):
        if route: # and down again
            cfg.route(-4).conv(channels, 3, 2, "leaky").route(-1, route)
            chain(channels, 5)
        cfg.conv(2 * channels, 3, 1, "leaky").yolo(mask, anchors, classes, scale)
    return cfg


def yolov4_tiny(width=416, height=416, classes=80):
    cfg = Cfg(width, height).conv(32, 3, 2, "leaky").conv(64, 3, 2, "leaky")
    for channels in (64, 128, 256):
        cfg.conv(channels, 3, 1, "leaky").route(-1, groups=2, group_id=1)
        cfg.conv(channels // 2, 3, 1, "leaky").conv(channels // 2, 3, 1, "leaky").route(-1, -2)
        cfg.conv(channels, 1, 1, "leaky").route(-6, -1).add("maxpool", size=2, stride=2)
    cfg.conv(512, 3, 1, "leaky").conv(256, 1, 1, "leaky").conv(512, 3, 1, "leaky")
    anchors = (10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319)
    cfg.yolo((3, 4, 5), anchors, classes, 1.05).route(-4).conv(128, 1, 1, "leaky").add("upsample", stride=2).route(-1, 23)
    return cfg.conv(256, 3, 1, "leaky").yolo((1, 2, 3), anchors, classes, 1.05)


# ---- layers ----


def windows(x, size, stride, pads, fill):
    """[C, rows, columns, size, size] of x [C, H, W]; pads: of both axes, before and behind."""
    x = np.pad(x, ((0, 0), *pads), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (1, 2))[:, ::stride, ::stride]


def convolve(x, weight, stride, pad):
    count, inner, size, _ = weight.shape
    groups = x.shape[0] // inner
    if size == 1 and stride == 1 and groups == 1 and not pad:
        return np.tensordot(weight[:, :, 0, 0], x, 1)
    parts = windows(x, size, stride, ((pad, pad),) * 2, 0)
    split = count // groups
    return np.concatenate([np.tensordot(weight[g * split:(g + 1) * split], parts[g * inner:(g + 1) * inner], ((1, 2, 3), (0, 3, 4)))
                           for g in range(groups)])


def pool(x, size, stride, padding):
    """As Darknet counts: `padding` in all, and windows that end behind it see what there is."""
    pads = []
    for length in x.shape[1:]:
        out = (length + padding - size) // stride + 1
        pads.append((padding // 2, max(0, (out - 1) * stride + size - length - padding // 2)))
    return windows(x, size, stride, pads, -np.inf).max((3, 4))


ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "leaky": lambda x: np.where(x > 0, x, 0.1 * x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
}


class Network:
    """The network of a Cfg whose weights are random: each normalisation has about the mean and variance of what reaches it for
    the image `x`, as after training. The factors behind it keep small errors small through a hundred layers."""

    def __init__(self, cfg, rng, x):
        self.sections, self.rng = cfg.sections[1:], rng
        self.size = cfg.sections[0][1]["width"], cfg.sections[0][1]["height"]
        self.weights, self.made = [], []
        self.forward(x, True)

    def convolution(self, x, options, new):
        pad = options["size"] // 2 if options.get("pad") else options.get("padding", 0)
        if new:
            inner = x.shape[0] // options.get("groups", 1)
            shape = options["filters"], inner, options["size"], options["size"]
            weight = (self.rng.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
            y = convolve(x, weight.astype(x.dtype), options["stride"], pad)
            part = {"weight": weight, "bias": self.rng.normal(0, 0.5, len(y))}
            if options["batch_normalize"]:
                part["scale"] = self.rng.uniform(0.5, 1.0, len(y))
                part["mean"] = y.mean((1, 2)) + self.rng.normal(0, 0.1, len(y))
                part["variance"] = y.var() * self.rng.uniform(0.7, 1.3, len(y)) + 1e-3
            part = {key: np.asarray(value, np.float32) for key, value in part.items()}
            self.weights += [part[key] for key in ("bias", "scale", "mean", "variance", "weight") if key in part]
            self.made.append(part)
        else:
            part = self.made[self.at]
            y = convolve(x, part["weight"].astype(x.dtype), options["stride"], pad)
        self.at += 1
        if options["batch_normalize"]:
            factor = part["scale"] / np.sqrt(part["variance"] + np.float32(1e-5))
            y = (y - part["mean"][:, None, None]) * factor[:, None, None]
        return ACTIVATIONS[options["activation"]](y + part["bias"][:, None, None])

    def forward(self, x, new=False):
        """x: [3, H, W]. Gives (options of the layer, its input) for each [yolo]."""
        self.at, layers, heads = 0, [], []
        for kind, options in self.sections:
            def named(key):
                return [layers[int(one)] for one in str(options[key]).split(",")]
            if kind == "convolutional":
                x = self.convolution(x, options, new)
            elif kind == "maxpool":
                x = pool(x, options["size"], options["stride"], options.get("padding", options["size"] - 1))
            elif kind == "upsample":
                x = x.repeat(options["stride"], 1).repeat(options["stride"], 2)
            elif kind == "route":
                parts = [np.split(one, options.get("groups", 1))[options.get("group_id", 0)] for one in named("layers")]
                x = np.concatenate(parts)
            elif kind == "shortcut":
                x = ACTIVATIONS[options["activation"]](x + sum(named("from")))
            else:
                heads.append((options, x))
            layers.append(x)
        return heads

    def save(self, path):
        with open(path, "wb") as file:
            file.write(struct.pack("<3iq", 0, 2, 5, 12345))
            for one in self.weights:
                one.tofile(file)

    # ---- boxes ----

    def scores(self, heads):
        """All boxes of all classes: rows of left, top, right, bottom from 0 to 1, score, class."""
        rows = []
        for options, x in heads:
            mask = [int(one) for one in options["mask"].split(",")]
            anchors = np.array([float(one) for one in options["anchors"].split(",")]).reshape(-1, 2)[mask]
            x = x.astype(np.float64).reshape(len(mask), -1, *x.shape[1:])
            sigmoid = ACTIVATIONS["logistic"]
            scale = options["scale_x_y"]
            for index, anchor in enumerate(anchors):
                for row, column in np.ndindex(x.shape[2:]):
                    v = x[index, :, row, column]
                    centre = (np.array([column, row]) + sigmoid(v[:2]) * scale - (scale - 1) / 2) / x.shape[:1:-1]
                    half = np.exp(v[2:4]) * anchor / self.size / 2
                    scores = sigmoid(v[4]) * sigmoid(v[5:])
                    rows += [(*(centre - half), *(centre + half), score, kind) for kind, score in enumerate(scores)]
        return np.array(rows)


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:4], b[2:4])
    shared = np.prod(np.maximum(high - low, 0))
    return shared / (np.prod(a[2:4] - a[:2]) + np.prod(b[2:4] - b[:2]) - shared)


def detect(boxes, threshold, most=0.45):
    """The kept boxes, best first, and by how little any decision was taken."""
    boxes = boxes[boxes[:, 4] > threshold]
    boxes = boxes[np.argsort(-boxes[:, 4], kind="stable")]
    kept, margin = [], 1.0
    for box in boxes:
        pairs = [(overlap(box, other), other[4] - box[4]) for other in kept if other[5] == box[5]]
        margin = min([margin, *(abs(shared - most) for shared, _ in pairs), *(better for shared, better in pairs if shared > most)])
        if all(shared <= most for shared, _ in pairs):
            kept.append(box)
    return np.array(kept), margin


if __name__ == "__main__":
    sys.stdout.write({"yolov4": yolov4, "yolov4-tiny": yolov4_tiny}[sys.argv[1]]().text())
