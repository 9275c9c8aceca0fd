#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints poly.glsl, or with the argument "double" poly_f64.glsl: polynomials that interpolate a function at Chebyshev nodes,
which is within a few per cent of the best fit. Run it again when a degree or a range changes; the shaders include its output."""
import decimal
import math
import sys

decimal.getcontext().prec = 80
Real = decimal.Decimal if sys.argv[1:] == ["double"] else float


def fit(function, low, high, degree):
    count = degree + 1
    low, high = Real(low), Real(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * Real(math.cos(math.pi * (k + 0.5) / count)) for k in range(count)]
    table = [function(x) for x in nodes]
    for step in range(1, count):  # divided differences
        for i in range(count - 1, step - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - step])
    poly = [table[-1]]
    for i in range(count - 2, -1, -1):  # Newton's form to powers of x
        poly = [Real(0)] + poly
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

SINGLE = [
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
    ("short_erfcx", "the same to 20 bits, x from 0 to 10", erfcx, -1, 0.6667, 7),
]


# ---- the same in decimal numbers ----


def power_series(coefficient):
    """z -> sum of coefficient(k) z^k"""
    table = [coefficient(k) for k in range(140)]
    return lambda z: sum(c * z**k for k, c in enumerate(table))


def inverse(n):
    return 1 / decimal.Decimal(n)


def exact_erfcx(t):  # e^(x^2) erfc(x) (1 + 2 x) where t = (x - 4) / (x + 4): the continued fraction of erfc
    x = 4 * (1 + t) / (1 - t)
    y = x
    for k in range(6000, 0, -1):
        y = x + decimal.Decimal(k) / 2 / y
    return ROOT_OF_PI_INVERSE / y * (1 + 2 * x)


ROOT_OF_PI_INVERSE = decimal.Decimal("0.56418958354775628694807945156077258584405062932899885684408572171")
f = math.factorial
DOUBLE = [
    ("sin", "(sin(x) / x - 1) / z, z = x^2, x to pi / 4", power_series(lambda k: -((-1) ** k) * inverse(f(2 * k + 3))), 0, 0.6169, 6),
    ("cos", "(cos x - 1 + z / 2) / z^2, z = x^2, x to pi / 4", power_series(lambda k: (-1) ** k * inverse(f(2 * k + 4))), 0, 0.6169, 6),
    ("exp", "(e^z - 1 - z - z^2 / 2) / z^3, |z| to ln(2) / 2", power_series(lambda k: inverse(f(k + 3))), -0.3467, 0.3467, 10),
    ("log", "(artanh(x) / x - 1 - z / 3) / z^2, z = x^2, x to (sqrt(2) - 1)^2", power_series(lambda k: inverse(2 * k + 5)), 0, 0.02945, 7),
    ("atan", "(atan(x) / x - 1) / z, z = x^2, x to tan(pi / 8)",
     power_series(lambda k: -((-1) ** k) * inverse(2 * k + 3)), 0, 0.1716, 11),
    ("asin", "(asin(x) / x - 1) / z, z = x^2, x to 0.5",
     power_series(lambda k: f(2 * k + 2) * inverse(4 ** (k + 1) * f(k + 1) ** 2 * (2 * k + 3))), 0, 0.25, 13),
    ("erf", "erf(x) / x, z = x^2, x to 0.5",
     power_series(lambda k: 2 * ROOT_OF_PI_INVERSE * (-1) ** k * inverse(f(k) * (2 * k + 1))), 0, 0.25, 8),
    ("erfcx", "e^(x^2) erfc(x) (1 + 2 x), z = (x - 4) / (x + 4), x from 0.5 to 27.5", exact_erfcx, -0.7778, 0.7461, 21),
]


def literal(number):
    if Real is float:
        text = "%.9g" % number
        return text if "." in text or "e" in text else text + ".0"
    return repr(float(number)) + "lf"


kind = "float" if Real is float else "double"

print("/* Made by poly.py. Lowest power first. */")
for name, meaning, function, low, high, degree in SINGLE if Real is float else DOUBLE:
    coefficients = [literal(c) for c in fit(function, low, high, degree)]
    print(f"\n/* {meaning} */\n{kind} poly_{name}({kind} z)\n{{")
    body = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        body = f"{c} + z * ({body})" if body != coefficients[-1] else f"{c} + z * {body}"
    print(f"    return {body};\n}}")
