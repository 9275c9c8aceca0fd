# SPDX-License-Identifier: Apache-2.0
"""docs/conformance.md from a result."""
import conformance
from conf_compare import TOLERANCES

SHORT = ("FLOAT64", "FLOAT32", "FLOAT16", "BFLOAT16", "INT64", "INT32", "INT16", "INT8", "INT4", "UINT64", "UINT32", "UINT16",
         "UINT8", "UINT4", "edge")


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


def write_family(file, family, out):
    ops = [op for op in out["operators"] if family_of(op) == family]
    present = {name for op in ops for name in out["operators"][op]}
    assert present <= set(SHORT), present  # all that ran is shown
    columns = [name for name in SHORT if name in present]
    file.write(f"\n## {family}\n\n| operator | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|\n")
    for op in ops:
        cells = (cell(out["operators"][op].get(name)) for name in columns)
        file.write(f"| {op} | {' | '.join(cells)} |\n")


def write_markdown(path, out, schema):
    families = sorted({family_of(op) for op in out["operators"]})
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""# Conformance

Written by `make conformance` (tests/conformance/conformance.py) on {out['date']}: adapter {out['adapter']}, seed
{out['seed']}, {out['seconds']:.0f} s. Every operator is run through the public interfaces with random sizes, strides, gaps,
broadcast dimensions, owned inputs and shared buffers, and compared with a reference in numpy (float64), PyTorch or ONNX
that knows nothing of this library. Memory around and between the tensors' elements must stay untouched. ONNX's own node
tests on the execution provider: [conformance-onnx.md](conformance-onnx.md).

**{out['cases']} cases of {len(out['operators'])} of {len(schema.operators)} operators: {out['failed']} failed,
{out['unsupported']} unsupported, {len(out['missing'])} missing.**

A cell has the number of cases and the worst error of a result: absolute where the wanted value is below 1, else relative.
Nothing behind the number means that every result was exact. The type is that of the operator's first tensor, or of the one
that decides; edge: cases written by hand.

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
            write_family(file, family, out)
        for text in out["missing"]:
            file.write(f"\nMissing: {text}\n")
