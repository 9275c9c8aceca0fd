# SPDX-License-Identifier: Apache-2.0
"""The results of devices, one file each, and docs/conformance.md from them all."""
import glob
import json
import os
import re

import conformance
from conf_compare import TOLERANCES

SHORT = ("FLOAT64", "FLOAT32", "FLOAT16", "BFLOAT16", "INT64", "INT32", "INT16", "INT8", "INT4", "UINT64", "UINT32", "UINT16",
         "UINT8", "UINT4", "edge")
COUNTS = ("cases", "failed", "unsupported", "worst")


# ---- what is kept of a result ----

def path_of(folder, out):
    return os.path.join(folder, re.sub("[^a-z0-9]+", "-", title(out).lower()).strip("-") + ".json")


def load_result(path):
    with open(path, encoding="utf-8") as file:
        out = json.load(file)
    out["operators"] = {op: {name: dict(zip(COUNTS, row)) for name, row in types.items()}
                        for op, types in out["operators"].items()}
    return out


def update_result(folder, part):
    """What ran again takes the place of what is kept of these operators."""
    out = load_result(path_of(folder, part))
    out["operators"].update(part["operators"])
    entries = [entry for types in out["operators"].values() for entry in types.values()]
    out.update({key: sum(entry[key] for entry in entries) for key in COUNTS[:3]})
    out.update({key: part[key] for key in ("device", "lacks", "flushes", "date")})
    store_result(folder, out)


def store_result(folder, out):
    """As FOLDER/<device>.json, a line for each operator: its types with the numbers of COUNTS."""
    kept = {key: value for key, value in out.items() if key not in ("operators", "adapter")}
    lines = []
    for op, types in out["operators"].items():
        rows = {name: [float(f"{entry[key]:.1e}") if key == "worst" else entry[key] for key in COUNTS]
                for name, entry in types.items()}
        lines.append(f'  {json.dumps(op)}: {json.dumps(rows)}')
    os.makedirs(folder, exist_ok=True)
    with open(path_of(folder, out), "w", encoding="utf-8") as file:
        file.write(json.dumps(kept)[:-1] + ',\n "operators": {\n' + ",\n".join(lines) + "}}\n")


def read_results(folder):
    """Those of all devices, the cpu adapter's first."""
    results = [load_result(path) for path in glob.glob(os.path.join(folder, "*.json"))]
    return sorted(results, key=lambda out: (out["device"] != "cpu", out["device"]))


# ---- the page ----

def title(out):
    """A device in few words: drivers put their versions in brackets."""
    return out["device"].split(" (")[0]


def cell(entry):
    if not entry:
        return ""
    text = str(entry["cases"])
    if entry["failed"]:
        text += f" **{entry['failed']} failed**"
    if entry["unsupported"]:
        text += f" ({entry['unsupported']} unsupported)"
    if entry["worst"] > 0:
        text += f" · {entry['worst']:.1e}"
    return text


def family_of(op):
    if op in conformance.OPERATORS:
        return conformance.OPERATORS[op].family
    return conformance.EDGES[op][0][1] if op in conformance.EDGES else ""


def rows_of(op, results):
    """(types, a cell for each device): types whose cells are all the same share a row."""
    rows = {}
    for name in SHORT:
        cells = tuple(cell(out["operators"].get(op, {}).get(name)) for out in results)
        if any(cells):
            rows.setdefault(cells, []).append(name)
    return [(names, cells) for cells, names in rows.items()]


def write_family(file, family, results, ops):
    file.write(f"\n## {family}\n\n| operator | types | {' | '.join(title(out) for out in results)} |\n"
               f"|---|---{'|---' * len(results)}|\n")
    for op in ops:
        present = {name for out in results for name in out["operators"].get(op, {})}
        assert present <= set(SHORT), present  # all that ran is shown
        for i, (names, cells) in enumerate(rows_of(op, results)):
            file.write(f"| {op if i == 0 else ''} | {', '.join(names)} | {' | '.join(cells)} |\n")


def write_markdown(path, results, schema):
    tested = {op for out in results for op in out["operators"]}
    families = sorted({family_of(op) for op in tested})
    with open(path, "w", encoding="utf-8") as file:
        file.write("""# Conformance

Written by `make conformance` (tests/conformance/conformance.py), which runs the cpu adapter, or with `DEVICE=N` the device of
that number in the list of `anydml devices`; what it said of each device is kept in tests/conformance/results. Every operator
is run through the public interfaces with random sizes, strides, gaps, broadcast dimensions, owned inputs and shared buffers,
and compared with a reference in numpy (float64), PyTorch or ONNX that is independent of this library. Memory around and between
the tensors' elements must stay untouched. ONNX's own node tests on the execution provider:
[conformance-onnx.md](conformance-onnx.md); shaders that were compiled for other GPUs: [conformance-gpu.md](conformance-gpu.md);
the libraries for Windows in Wine: [wine.md](wine.md#tests). The stand-in is a Direct3D 12 device of another runtime, into whose
command lists the operators are recorded ([interleave.md](interleave.md)).

| device | date | seed | cases | operators | failed | unsupported | missing | seconds |
|---|---|---|---|---|---|---|---|---|
""")
        for out in results:
            file.write(f"| {out['device']} | {out['date']} | {out['seed']} | {out['cases']} | {len(out['operators'])} of "
                       f"{len(schema.operators)} | {out['failed']} | {out['unsupported']} | {len(out['missing'])} | "
                       f"{out['seconds']:.0f} |\n")
        for out in results:
            if out["lacks"]:
                file.write(f"\n{title(out)} has no {', '.join(out['lacks'])}: such cases are unsupported there.\n")
            if out.get("flushes"):
                file.write(f"\n{title(out)} takes subnormal {' and '.join(out['flushes'])} numbers for zeros: cases with such "
                           "inputs are left out there, and a zero is as good as a subnormal result.\n")
        file.write("""
A cell has the number of cases and the worst error of a result: absolute where the wanted value is below 1, else relative.
Nothing behind the number means that every result was exact. The type is that of the operator's first tensor, or of the one
that decides; edge: cases written by hand. Types with the same cells share a row.

## Tolerances

|got - want| <= atol + rtol * |want|. Integers are exact. Cases state their own where the result is exact or known better,
and where it depends on the magnitude of the terms of a sum. For bfloat16, 8 (rtol) and 16 (atol) times those of FLOAT16;
for FLOAT64, 1e-12.

| family | FLOAT32 rtol, atol | FLOAT16 rtol, atol |
|---|---|---|
""")
        for family, ((rtol32, atol32), (rtol16, atol16)) in TOLERANCES.items():
            if family in families:
                file.write(f"| {family} | {rtol32:g}, {atol32:g} | {rtol16:g}, {atol16:g} |\n")
        for family in families:
            write_family(file, family, results, [op for op in sorted(tested) if family_of(op) == family])
        for out in results:
            for text in out["missing"]:
                file.write(f"\nMissing on {title(out)}: {text}\n")
