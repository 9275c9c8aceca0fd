# SPDX-License-Identifier: Apache-2.0
"""Activations that work element by element (the softmax and hardmax families are elsewhere)."""
import numpy as np

from conf_activations import ACTIVATIONS, random_attributes
from conformance import Case, activate, edge, is_float, operator


@operator(*("ACTIVATION_" + name for name in ACTIVATIONS if name != "RELU"))
def activation(g):
    attributes = random_attributes(g, g.op.removeprefix("ACTIVATION_"))
    low, high = g.pick((-4, 4), (-20, 20), (-0.1, 0.1))
    x = g.array(g.shape(), low=low, high=high)
    want = activate((g.op, attributes), x.astype(np.float64)).astype(g.dtype)
    return Case({"InputTensor": x, **attributes}, {"OutputTensor": want})


@operator("ACTIVATION_RELU")
def relu(g):
    x = g.array(g.shape(), special=True)
    want = np.where(np.isnan(x), x, np.maximum(x, 0)) if is_float(g.dtype) else np.maximum(x, 0)
    if is_float(g.dtype):
        want = np.ma.masked_array(want, np.isnan(x))  # max(0, NaN) is not specified
    return Case({"InputTensor": x}, {"OutputTensor": want}, atol=0 if not is_float(g.dtype) else 1e-30)


@operator("ACTIVATION_PARAMETERIZED_RELU")
def parameterized_relu(g):
    x = g.array(g.shape())
    s = g.array(x.shape)
    if is_float(g.dtype):
        want = np.where(x >= 0, x, s.astype(np.float64) * x).astype(g.dtype)
    else:
        want = np.where(x >= 0, x.astype(np.int64), s.astype(np.int64) * x).astype(g.dtype)  # wraps
    return Case({"InputTensor": x, "SlopeTensor": s}, {"OutputTensor": want})


@operator("ACTIVATION_RELU_GRAD", types="InputTensor")
def relu_grad(g):
    x = g.array(g.shape(), special=True)
    dy = g.array(x.shape, special=True)
    return Case({"InputTensor": x, "InputGradientTensor": dy}, {"OutputGradientTensor": np.where(x > 0, dy, 0).astype(g.dtype)},
                rtol=0, atol=0)


# At the ends of the ranges: name, attributes, input, wanted.
EXTREMES = [
    ("RELU", {}, [np.inf, -np.inf, -0.0], [np.inf, 0, 0]),
    ("SIGMOID", {}, [np.inf, -np.inf, 100, -80, np.nan], [1, 0, 1, 1.8048513878454153e-35, np.nan]),
    ("TANH", {}, [np.inf, -np.inf, 50, -50, 1e-6, np.nan], [1, -1, 1, -1, 1e-6, np.nan]),
    ("SOFTPLUS", {"Steepness": 1}, [1000, -1000, np.inf, -np.inf], [1000, 0, np.inf, 0]),
    ("PARAMETRIC_SOFTPLUS", {"Alpha": 2, "Beta": 1}, [1000, -1000, 0], [2000, 0, 2 * np.log(2)]),
    ("ELU", {"Alpha": 2}, [-np.inf, np.inf, -1e-6, 0, -1000], [-2, np.inf, 2 * np.expm1(-1e-6), 0, -2]),
    ("CELU", {"Alpha": 2}, [-np.inf, np.inf, -1e-6, 1000], [-2, np.inf, -1e-6 + 2.5e-13, 1000]),
    ("SCALED_ELU", {"Alpha": 2, "Gamma": 3}, [-np.inf, np.inf, 1000], [-6, np.inf, 3000]),
    ("GELU", {}, [20, -20, np.inf, 0], [20, 0, np.inf, 0]),
    ("HARD_SIGMOID", {"Alpha": 0.2, "Beta": 0.5}, [np.inf, -np.inf, 0], [1, 0, 0.5]),
    ("LEAKY_RELU", {"Alpha": 0.5}, [-np.inf, np.inf, -4], [-np.inf, np.inf, -2]),
    ("THRESHOLDED_RELU", {"Alpha": 1}, [1, 1.5, 0.5, np.inf], [0, 1.5, 0, np.inf]),
    ("SHRINK", {"Bias": 0.5, "Threshold": 1}, [1, -1, 1.5, -1.5, np.inf], [0, 0, 1, -1, np.inf]),
    ("SOFTSIGN", {}, [1e30, -1e30, 0, 1], [1, -1, 0, 0.5]),
    ("SWISH", {"SigmoidInputScale": 1}, [100, -100, 0], [100, 0, 0]),
    ("HARD_SWISH", {"Alpha": 0.25, "Beta": 0.5}, [10, -10, 0, 1], [10, 0, 0, 0.75]),
]


def _extremes(name):
    rows = [row for row in EXTREMES if row[0] == name]
    return [Case({"InputTensor": np.float32(x), **attributes}, {"OutputTensor": np.float32(want)}, rtol=3e-6, atol=1e-30)
            for _, attributes, x, want in rows]


for _name in {row[0] for row in EXTREMES}:
    edge("ACTIVATION_" + _name)(lambda name=_name: _extremes(name))
