# SPDX-License-Identifier: Apache-2.0
"""Tables and plots of the results of bench/gpu.py, between the marks of a document and in the folder next to it."""
import json
import os

MARK = "<!-- bench/gpu.py -->"
COLOURS = ("#d62728", "#4e79a7", "#8cb6de", "#b9b9b9")


class Failed(SystemExit):
    pass


def number(value):
    if value is None:
        return "-"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def ratio(ours, theirs):
    return "-" if ours is None or theirs is None else f"{ours / theirs:.2f}"


def rate(work, ms, unit):
    """Formats work per time, in 1e9 units of work per millisecond; unit: the name of that unit."""
    return "-" if ms is None else f"{work / ms / 1e9:.{0 if work / ms / 1e9 >= 100 else 1 if unit == 'T' else 2}f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""] if rows else []


# ---- plots ----

def bars(title, groups, series, limit, line=None):
    """Plots bars. groups: (label, [value or None for each of `series`]); values beyond the limit are clipped."""
    bar, gap, height, top, left = 15, 14, 220, 70, 46
    group = bar * len(series) + gap
    width = max(left + group * len(groups) + 16, 560)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + height + 120}" '
           f'viewBox="0 0 {width} {top + height + 120}">',
           "<style>text{font:11px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#333}.t{font-size:15px;font-weight:bold}"
           ".v{font-size:8px;text-anchor:middle}.e{text-anchor:end}</style>",
           '<rect width="100%" height="100%" fill="#fff"/>', f'<text class="t" x="{left}" y="26">{title}</text>']
    x = left
    for colour, name in zip(COLOURS, series):
        out.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="48">{name}</text>')
        x += 34 + 7 * len(name)
    for tick in [limit * i / 5 for i in range(6)]:
        y = top + height * (1 - tick / limit)
        out.append(f'<path d="M{left} {y:.1f}H{width - 8}" stroke="#e4e4e4"/>'
                   f'<text class="e" x="{left - 6}" y="{y + 4:.1f}">{tick:g}</text>')
    if line:
        y = top + height * (1 - line / limit)
        out.append(f'<path d="M{left} {y:.1f}H{width - 8}" stroke="#555" stroke-dasharray="5 3"/>')
    for g, (label, values) in enumerate(groups):
        x = left + gap / 2 + group * g
        for colour, name, value in zip(COLOURS, series, values):
            if value is not None:
                size = height * min(value, limit) / limit
                y = top + height - size
                text = f"{value:.0f}" if value >= 10 else f"{value:.2f}"
                out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar - 2}" height="{size:.1f}" fill="{colour}"><title>'
                           f"{label}, {name}: {text}</title></rect>"
                           f'<text class="v" x="{x + bar / 2 - 1:.1f}" y="{y - 3:.1f}">{text}</text>')
            x += bar
        at, below = left + group * g + group / 2 + 6, top + height + 12
        out.append(f'<text class="e" transform="translate({at:.1f} {below}) rotate(-28)">{label}</text>')
    return "\n".join(out + ["</svg>", ""])


def share(a, b):
    return None if a is None or b is None else a / b


# ---- parts: lines of the document, and images by name ----

def networks(found, images):
    rows = []
    for r in found:
        device, graph, gpu = r["device"], r["torch"], r["webgpu"]
        rows.append([r["label"], r["type"], number(device), number(r["run"]), number(r["copies"]), number(gpu),
                     ratio(r["copies"], gpu), number(graph), ratio(device, graph)])
    groups = [(f"{r['label']} {r['type'][5:]}", [share(r["device"], r["torch"])]) for r in found if r["torch"]]
    if groups:
        images["networks"] = bars("Device time relative to PyTorch's CUDA graph, batch 1 (lower is faster)", groups,
                                    ["AnyDML"], 1.5, 1)
    image = ["![networks, batch 1]({folder}/gpu-networks.svg)", ""] if groups else []
    return [*image, *table(["network, batch 1", "type", "device", "run", "copies", "WebGPU", "copies / WebGPU", "graph",
                              "device / graph"], rows)]


def batch(found, _):
    return table(["network, batch 32", "type", "device", "run", "graph", "device / graph"],
                 [[r["label"], r["type"], number(r["device"]), number(r["run"]), number(r["torch"]),
                   ratio(r["device"], r["torch"])] for r in found])


def gemm(found, images):
    rows = [[f"{r['label']} cubed", r["type"], number(r["device"]), rate(r["flops"], r["device"], "T"),
             rate(r["flops"], r["torch"], "T"), ratio(r["torch"], r["device"])] for r in found]
    types = list(dict.fromkeys(r["type"] for r in found))
    groups = [(f"{r['label']} {r['type']}", [share(r["flops"] / 1e9, ms) for ms in (r["device"], r["torch"])])
              for kind in types for r in found if r["type"] == kind]
    top = max([v for _, values in groups for v in values if v is not None], default=0)
    if top:
        images["gemm"] = bars("GEMM, 10^12 operations per second (higher is faster)", groups,
                                ["AnyDML", "cuBLAS"], 200 * (top // 200 + 1))
    image = ["![matrix products]({folder}/gpu-gemm.svg)", ""] if top else []
    return [*image, *table(["product", "type", "device, ms", "10^12/s", "cuBLAS 10^12/s", "of cuBLAS"], rows)]


def arithmetic(found, _):
    return table(["bound by arithmetic", "type", "device, ms", "10^12/s", "PyTorch, ms", "ratio"],
                 [[r["label"], r["type"], number(r["device"]), rate(r["flops"], r["device"], "T"), number(r["torch"]),
                   ratio(r["device"], r["torch"])] for r in found])


def order(found, _):
    return table(["order, sums of long lines, steps", "type", "device, ms", "PyTorch, ms", "ratio"],
                 [[r["label"], r["type"], number(r["device"]), number(r["torch"]), ratio(r["device"], r["torch"])]
                  for r in found])


def moved(found, images, name, title):
    rows, groups = [], []
    for r in found:
        ours, theirs = [share(share(r["bytes"], ms), r["copy"]) for ms in (r["device"], r["torch"])]
        rows.append([r["label"], r["type"], number(r["device"]), rate(r["bytes"], r["device"], "B"),
                     "-" if ours is None else f"{ours:.2f}", number(r["torch"]), ratio(r["device"], r["torch"])])
        groups.append((f"{r['label']} {r['type'][5:]}", [ours, theirs]))
    if any(values[0] is not None for _, values in groups):
        images[name] = bars(title, groups, ["AnyDML", "PyTorch"], 1.25, 0.85)
    image = [f"![{name}]({{folder}}/gpu-{name}.svg)", ""] if name in images else []
    return [*image, *table([name, "type", "device, ms", "TB/s", "of a copy", "PyTorch, ms", "ratio"], rows)]


def memory(found, images):
    return moved(found, images, "memory", "Bytes read and written, as a share of a copy's (higher is faster)")


def decode(found, _):
    return table(["GEMM with quantised weights", "device, ms", "TB/s", "of a copy"],
                 [[r["label"], number(r["device"]), rate(r["bytes"], r["device"], "B"),
                   ratio(share(r["bytes"], r["device"]), r["copy"])] for r in found])


PARTS = {"networks": networks, "batch": batch, "gemm": gemm, "products": arithmetic, "convolutions": arithmetic,
         "attention": arithmetic, "decode": decode, "memory": memory, "order": order}


# ---- the document ----

def load(files):
    """Loads results by part, label and type; later files replace results of earlier ones."""
    results, conditions = {}, {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        conditions = conditions | data["conditions"]
        for r in data["results"]:
            r["copy"] = data["conditions"].get("copy")
            results[r["part"], r["label"], r["type"]] = r
    return results, conditions


def introduction(conditions):
    versions = "".join(f", {name} {version}" for name, version in conditions.get("versions", {}).items())
    copy = conditions.get("copy")
    moves = f" A copy on this device moves {copy / 1e9:.2f} TB/s, read and written." if copy else ""
    device = conditions["device"]
    return (f"{conditions['date']}, {device['name']} (driver {device['driver']}){versions}; medians of "
            f"{conditions['seconds']:g} s, {conditions['rounds']} rounds, milliseconds. PyTorch and its cuBLAS and cuDNN run in "
            f"CUDA graphs without TF32; in columns of ratios, a value below 1 means that AnyDML is faster.{moves}")


def write(path, files):
    results, conditions = load(files)
    with open(path, encoding="utf-8") as file:
        parts = file.read().split(MARK)
    if len(parts) != 3:
        raise Failed(f"{path} does not have two lines {MARK}")
    folder, images = os.path.splitext(path)[0], {}
    lines = [introduction(conditions), ""]
    for part, show in PARTS.items():
        found = [r for key, r in results.items() if key[0] == part]
        lines += [line.replace("{folder}", os.path.basename(folder)) for line in show(found, images)] if found else []
    os.makedirs(folder, exist_ok=True)
    for name, image in images.items():
        with open(os.path.join(folder, f"gpu-{name}.svg"), "w", encoding="utf-8") as file:
            file.write(image)
    with open(path, "w", encoding="utf-8") as file:
        file.write(MARK.join([parts[0], "\n\n" + "\n".join(lines) + "\n", parts[2]]))
