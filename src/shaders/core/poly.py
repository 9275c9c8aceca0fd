#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints poly.glsl: polynomials that interpolate a function at Chebyshev nodes, which is within a few per cent of the best
fit. Run it again when a degree or a range changes; the shaders include its output."""
import math


def fit(function, low, high, degree):
    count = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * math.cos(math.pi * (k + 0.5) / count) for k in range(count)]
    table = [function(x) for x in nodes]
    for step in range(1, count):  # divided differences
        for i in range(count - 1, step - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - step])
    poly = [table[-1]]
    for i in range(count - 2, -1, -1):  # Newton's form to powers of x
        poly = [0.0] + poly
        for k in range(len(poly) - 1):
            poly[k] -= nodes[i] * poly[k + 1]
        poly[0] += table[i]
    return poly


def series(first, ratio, terms=40):
    """sum of first * product of ratio(k): functions that lose digits near 0 when computed directly."""
    total, term = 0.0, first
    for k in range(terms):
        total += term
        term *= ratio(k)
    return total


def log_tail(f):  # (ln(1 + f) - f + f^2 / 2) / f^3
    if abs(f) > 0.05:
        return (math.log1p(f) - f + f * f / 2) / f**3
    return sum((-f) ** k / (k + 3) for k in range(30))


def erfcx(t):  # e^(x^2) erfc(x) where t = (x - 2) / (x + 2)
    x = 2 * (1 + t) / (1 - t)
    return math.exp(x * x) * math.erfc(x)


ROWS = [
    ("sin", "sin(x) / x, z = x^2, x to pi / 4", lambda z: series(1, lambda k: -z / ((2 * k + 2) * (2 * k + 3))), 0, 0.6169, 4),
    ("cos", "cos x, z = x^2, x to pi / 4", lambda z: series(1, lambda k: -z / ((2 * k + 1) * (2 * k + 2))), 0, 0.6169, 5),
    ("exp", "(e^z - 1 - z) / z^2, |z| to 0.5", lambda z: series(0.5, lambda k: z / (k + 3)), -0.5, 0.5, 6),
    ("log", "(ln(1 + z) - z + z^2 / 2) / z^3", log_tail, -0.293, 0.4143, 9),
    ("atan", "atan(x) / x, z = x^2, x to tan(pi / 8)",
     lambda z: sum((-z) ** k / (2 * k + 1) for k in range(40)), 0, 0.1716, 5),
    ("asin", "asin(x) / x, z = x^2, x to 0.5",
     lambda z: math.asin(math.sqrt(z)) / math.sqrt(z), 1e-12, 0.25, 6),
    ("erf", "erf(x) / x, z = x^2, x to 1", lambda z: math.erf(math.sqrt(z)) / math.sqrt(z), 1e-12, 1, 8),
    ("erfcx", "e^(x^2) erfc(x), z = (x - 2) / (x + 2), x from 0.8 to 11", erfcx, -0.4286, 0.6924, 12),
]

print("/* Made by poly.py. Lowest power first. */")
for name, meaning, function, low, high, degree in ROWS:
    coefficients = ["%.9g" % c for c in fit(function, low, high, degree)]
    coefficients = [c if "." in c or "e" in c else c + ".0" for c in coefficients]
    print(f"\n/* {meaning} */\nfloat poly_{name}(float z)\n{{")
    body = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        body = f"{c} + z * ({body})" if body != coefficients[-1] else f"{c} + z * {body}"
    print(f"    return {body};\n}}")
