# SPDX-License-Identifier: Apache-2.0
"""Element-wise activations, from the formulas of the specification, in float64."""
import numpy as np


def erf(x):
    """The error function to float64 accuracy, by its series and its continued fraction."""
    x = np.asarray(x, np.float64)
    a = np.minimum(np.abs(x), 7.0)
    series, term = np.array(a), np.array(a)
    for n in range(1, 120):
        term = -term * np.where(a < 3, a, 0) ** 2 / n
        series = series + term / (2 * n + 1)
    fraction = np.zeros_like(a)
    for n in range(120, 0, -1):
        fraction = (n / 2) / (np.maximum(a, 1) + fraction)
    tail = np.exp(-a * a) / ((np.maximum(a, 1) + fraction) * np.sqrt(np.pi))
    result = np.where(a < 3, 2 / np.sqrt(np.pi) * series, 1 - tail)
    return np.where(np.isnan(x), np.nan, np.copysign(result, x))


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def _hard_sigmoid(x, alpha, beta):
    return np.maximum(0, np.minimum(alpha * x + beta, 1))


def _threshold(condition, a, b):
    return np.where(condition, a, b)


# name: (attributes with the range of their random values, function of x and the attributes)
ACTIVATIONS = {
    "ELU": ({"Alpha": (0.1, 2)}, lambda x, a: _threshold(x >= 0, x, a * np.expm1(x))),
    "CELU": ({"Alpha": (0.2, 2)}, lambda x, a: np.maximum(0, x) + np.minimum(0, a * np.expm1(x / a))),
    "GELU": ({}, lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "HARD_SIGMOID": ({"Alpha": (-0.5, 0.5), "Beta": (-1, 1)}, _hard_sigmoid),
    "IDENTITY": ({}, lambda x: x),
    "LEAKY_RELU": ({"Alpha": (-1, 1)}, lambda x, a: _threshold(x >= 0, x, a * x)),
    "LINEAR": ({"Alpha": (-2, 2), "Beta": (-2, 2)}, lambda x, a, b: a * x + b),
    "PARAMETRIC_SOFTPLUS": ({"Alpha": (-2, 2), "Beta": (-2, 2)}, lambda x, a, b: a * np.logaddexp(0, b * x)),
    "RELU": ({}, lambda x: np.maximum(0, x)),
    "SCALED_ELU": ({"Alpha": (0.1, 2), "Gamma": (0.1, 2)}, lambda x, a, g: _threshold(x > 0, g * x, g * a * np.expm1(x))),
    "SCALED_TANH": ({"Alpha": (-2, 2), "Beta": (-2, 2)}, lambda x, a, b: a * np.tanh(b * x)),
    "SHRINK": ({"Bias": (-1, 1), "Threshold": (0, 2)},
               lambda x, b, t: _threshold(x > t, x - b, _threshold(x < -t, x + b, 0))),
    "SIGMOID": ({}, sigmoid),
    "SOFTPLUS": ({"Steepness": (1, 3)}, lambda x, s: np.logaddexp(0, s * x) / s),
    "SOFTSIGN": ({}, lambda x: x / (1 + np.abs(x))),
    "TANH": ({}, np.tanh),
    "THRESHOLDED_RELU": ({"Alpha": (-1, 2)}, lambda x, a: _threshold(x > a, x, 0)),
    # Never fused:
    "SWISH": ({"SigmoidInputScale": (-2, 2)}, lambda x, s: x * sigmoid(s * x)),
    "HARD_SWISH": ({"Alpha": (-0.5, 0.5), "Beta": (-1, 1)}, lambda x, a, b: x * _hard_sigmoid(x, a, b)),
}
NEVER_FUSED = ("SWISH", "HARD_SWISH")
JUMPS = ("SHRINK", "THRESHOLDED_RELU")  # a host that rounds to bfloat16 first may land on the other side


def random_attributes(g, name):
    return {field: float(np.float32(g.rng.uniform(low, high))) for field, (low, high) in ACTIVATIONS[name][0].items()}


def random_activation(g, clip):
    names = [name for name in ACTIVATIONS if name not in NEVER_FUSED and not (g.bfloat and name in JUMPS)]
    name = g.pick(*names, *(["CLIP"] if clip else []))
    if name == "CLIP":
        low, high = sorted(float(np.float32(x)) for x in g.rng.uniform(-2, 2, 2))
        return "ELEMENT_WISE_CLIP", {"Min": low, "Max": high}
    return "ACTIVATION_" + name, random_attributes(g, name)


def activate(fused, x):
    """The activation ("ACTIVATION_RELU", {...}) of a float64 array; None: x itself."""
    if fused is None:
        return x
    name, attributes = fused
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        if name == "ELEMENT_WISE_CLIP":
            return np.minimum(attributes["Max"], np.maximum(attributes["Min"], x))
        row = ACTIVATIONS[name.removeprefix("ACTIVATION_")]
        return row[1](x, *(float(np.float32(attributes[field])) for field in row[0]))
