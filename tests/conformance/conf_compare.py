# SPDX-License-Identifier: Apache-2.0
"""Whether a result is good enough."""
import numpy as np

from conf_schema import bfloat_values, is_float, type_name

# The tolerances of families, |got - want| <= atol + rtol * |want|, for FLOAT32 and FLOAT16 outputs; cases may ask for
# less or more. Integers and families that are not here are exact.
TOLERANCES = {
    #  family        FLOAT32 rtol, atol    FLOAT16 rtol, atol
    "elementwise": ((2e-6, 2e-7), (1.1e-3, 1e-5)),
    "activation": ((3e-6, 1e-6), (1.5e-3, 1e-5)),
    "reduce": ((1e-5, 1e-5), (2e-3, 1e-3)),
    "move": ((0, 0), (0, 0)),
    "dense": ((1e-5, 1e-5), (2e-3, 2e-3)),
    "window": ((1e-5, 1e-5), (2e-3, 1e-3)),
    "norm": ((2e-5, 2e-5), (3e-3, 3e-3)),
    "recurrent": ((2e-5, 2e-5), (4e-3, 4e-3)),
    "roi": ((3e-6, 3e-6), (2e-3, 2e-3)),
    "index": ((0, 0), (0, 0)),
    "sort": ((1e-5, 1e-5), (2e-3, 1e-3)),
    "quantize": ((1e-6, 1e-6), (1e-3, 1e-3)),
    "attention": ((1e-5, 1e-5), (4e-3, 4e-3)),
}
EXACT = ((0, 0), (0, 0))
BFLOAT_UNITS = 8      # units in the last place of FLOAT16 in one of bfloat16
FLOAT64_RTOL = 1e-12  # of results that may differ in the last digits
FLOAT64_ATOL = 1e-12


def tolerance(case, family, name):
    """(rtol, atol) of an output of this data type."""
    row = TOLERANCES.get(family, EXACT)
    exact = case.rtol == 0 and case.atol == 0 or row[0] == (0, 0) and case.rtol is None and case.atol is None
    if name == "BFLOAT16":  # the case was drawn for FLOAT32; hosts of a fused activation round before it, too
        return (0, 0) if exact else (BFLOAT_UNITS * row[1][0] or 2.4e-2, 2 * BFLOAT_UNITS * row[1][1] or 2.4e-2)
    if name == "FLOAT64":
        return (0, 0) if exact else (FLOAT64_RTOL, FLOAT64_ATOL)
    default = row[0] if name == "FLOAT32" else row[1] if name == "FLOAT16" else (0, 0)
    if case.rtol is not None or case.atol is not None:
        return case.rtol or 0, case.atol or 0
    return default


def ordered(array):
    """Floats as integers in the same order; neighbours differ by 1."""
    raw = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    low = np.int64(-(1 << (array.dtype.itemsize * 8 - 1)))
    return np.where(raw < 0, low - raw, raw)


def good_floats(got, want, case, rtol, atol, unit):
    """(which elements are good, their errors); unit: one in the last place, as ordered() counts."""
    nan = np.isnan(got) & np.isnan(want)
    same = (got == want) | nan
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
        error = np.where(same, 0, np.abs(g - w))
        if case.ulp is not None:
            good = same | (np.isfinite(g) & np.isfinite(w) & (np.abs(ordered(got) - ordered(want)) <= case.ulp * unit))
        elif rtol or atol:
            good = same | (error <= atol + rtol * np.abs(w))
        else:
            good = same & (nan | (np.signbit(got) == np.signbit(want)))
        good &= np.isfinite(g) | same
        return good, error / np.maximum(1, np.where(np.isfinite(w), np.abs(w), 1))


def is_subnormal(array):
    """Which elements are FLOAT32 or FLOAT64 numbers (or bfloat16 ones, as FLOAT32) below the least normal one, and not zero."""
    return (array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)


def compare(got, want, case, family, flushes=()):
    """(text of the first difference or None, worst error: absolute for |want| < 1, else relative). flushes: names of the
    types whose subnormal numbers the device may take for zeros; bfloat16 is as FLOAT32."""
    mask = ~np.ma.getmaskarray(want) if isinstance(want, np.ma.MaskedArray) else np.ones(np.shape(want), bool)
    want = want.data if isinstance(want, np.ma.MaskedArray) else want
    name = type_name(want)
    got = np.asarray(got)
    want = np.ascontiguousarray(np.asarray(want).astype(np.uint8) if want.dtype == np.bool_ else np.asarray(want))
    want = want.reshape(got.shape)
    rtol = atol = 0
    unit = 1
    if name == "BFLOAT16" and not case.bits:
        got, want, unit = bfloat_values(got), bfloat_values(want), 1 << 16
    if is_float(want.dtype) and not case.bits:
        rtol, atol = tolerance(case, family, name)
        good, error = good_floats(got, want, case, rtol, atol, unit)
        if type_name(want) in flushes:
            # Of bfloat16 also the least normal number: a subnormal result may have been rounded up to it.
            small = np.abs(want) <= np.finfo(np.float32).tiny if name == "BFLOAT16" else is_subnormal(want)
            good |= small & (got == 0)
    elif is_float(want.dtype):
        raw = f"u{want.dtype.itemsize}"
        good, error = got.view(raw) == want.view(raw), np.zeros(want.shape)
    elif case.rtol or case.atol:
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        good = error <= (case.atol or 0) + (case.rtol or 0) * np.abs(want.astype(np.float64))
    else:
        good, error = got == want, np.abs(got.astype(np.float64) - want.astype(np.float64))
    bad = ~good & mask
    error = np.where(mask & good, error, 0)
    worst = float(np.nanmax(error)) if error.size else 0.0
    if not bad.any():
        return None, worst
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    limit = f"{case.ulp} ulp" if case.ulp is not None else f"rtol {rtol:g}, atol {atol:g}"
    return (f"{int(bad.sum())} of {bad.size} elements differ ({limit}), first at {list(at)}: "
            f"got {got[at]!r}, want {want[at]!r}"), worst
