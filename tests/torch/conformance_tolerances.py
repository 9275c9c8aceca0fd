# SPDX-License-Identifier: Apache-2.0
"""How near results must be in conformance.py: all tolerances beyond torch's own are here, and the losses' in
conformance_networks.py."""
import collections
import functools
import re

import conformance_networks
import torch

# rtol, atol of results of these types: torch.testing's own, which are for one operation.
TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128)
TOLERANCE = {dtype: torch.testing._comparison.default_tolerances(dtype) for dtype in TYPES}
# How near results must be beyond TOLERANCE; whole: relative to the largest element, not to each.
Rule = collections.namedtuple("Rule", "rtol atol whole", defaults=(0, 0, False))
HALF, BFLOAT, FLOAT = torch.float16, torch.bfloat16, torch.float32
# All entries that need more than TOLERANCE and OpInfo's own overrides, and why: (cases, {type: rule}, reason).
ROUNDINGS = [
    (r"opinfo/linalg\..*", {dtype: Rule(whole=True) for dtype in TYPES},
     "small elements of a matrix come from large ones"),
    (r"opinfo/linalg\.householder_product", {FLOAT: Rule(5e-5, 0, True)},
     "of random vectors the reflections are none: roundings grow with each"),
    (r"opinfo/special\.hermite_polynomial_he", {FLOAT: Rule(3e-5)}, "roundings of a degree grow with the next ones"),
    (r"opinfo/acos", {HALF: Rule(1.2e-3)}, "1 - x^2 of the gradient is rounded; the CPU's next rounding goes the other way"),
    (r"opinfo/(linalg\.)?cross", {BFLOAT: Rule(1.6e-2, 0, True)}, "differences of products, each rounded"),
    (r"opinfo/special\.i1e", {HALF: Rule(0, 3e-5), BFLOAT: Rule(0, 2e-4)}, "the gradient is a difference of rounded values"),
    (r"opinfo/masked\.logsumexp", {HALF: Rule(0, 2e-4)}, "a logarithm near 0 of a rounded sum"),
    (r"opinfo/nn\.functional\.scaled_dot_product_attention", {HALF: Rule(1e-3, 0, True)},
     "weights are rounded before they are multiplied"),
    (r"opinfo/nn\.functional\.linear_cross_entropy.*", {HALF: Rule(2e-3)}, "sums of parts, each rounded"),
    (r"module/.*", {HALF: Rule(1e-3, 1e-3, True), BFLOAT: Rule(1.6e-2, 1e-2, True)},
     "layers upon layers, some normalised over four elements"),
    (r"module/nn\.MultiheadAttention", {FLOAT: Rule(1e-5)}, "products of products, summed in another order"),
]


def widest(rules):
    return functools.reduce(lambda a, b: Rule(max(a.rtol, b.rtol), max(a.atol, b.atol), a.whole or b.whole), rules, Rule())


def roundings_of(case, dtype):
    return widest(rules[dtype] for cases, rules, _ in ROUNDINGS if dtype in rules and re.fullmatch(cases, case))


def table():
    """ROUNDINGS and what networks may, as rows of text."""
    def text(rule):
        return f"{rule.rtol:g}{' of the largest' if rule.whole else ''}, {rule.atol:g}"
    rows = [(cases.replace("\\", ""), "; ".join(f"{str(d)[6:]}: {text(r)}" for d, r in rules.items()) if len(rules) < len(TYPES)
             else "all: relative to the largest", why) for cases, rules, why in ROUNDINGS]
    networks = conformance_networks
    return rows + [("network/.*", f"results {networks.RESULT_TOLERANCE:g} of the largest, losses {networks.LOSS_TOLERANCE:g}",
                    "layers upon layers, and twenty steps"),
                   (f"network/({'|'.join(sorted(networks.STEEP))})", f"losses {networks.STEEP_TOLERANCE:g} from the second step on",
                    "batches are normalised over 16 elements and less, which doubles roundings with each step")]
