# SPDX-License-Identifier: Apache-2.0
"""Pages of all.py: tables, and plots as SVG files, in a document."""
import math
import os
import statistics

from all import NAMES, conditions, cost_table, digits, latency_table, threads_text, two
from all_scaling import more_tables

COLOURS = {"anydml": "#d62728", "onnxruntime": "#4e79a7", "openvino": "#8cb6de", "torch": "#b9b9b9", "torch_compile": "#8a8a8a"}


def plot(results, threads):
    """Plots bars of latencies relative to ONNX Runtime's (AnyDML's if that is missing): lower is better."""
    base = "onnxruntime" if "onnxruntime" in results.runtimes else "anydml"
    bar, gap, height, top, left, limit = 15, 22, 240, 74, 46, 2.5
    group = bar * len(results.runtimes) + gap
    width = max(left + group * len(results.models) + 16, 640)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + height + 92}" '
           f'viewBox="0 0 {width} {top + height + 92}">',
           "<style>text{font:11px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#333}.t{font-size:15px;font-weight:bold}"
           ".v{font-size:8.5px;text-anchor:middle}.e{text-anchor:end}</style>",
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text class="t" x="{left}" y="26">Latency relative to {NAMES[base]}, {threads_text(threads)}'
           " (lower is faster)</text>"]
    x = left
    for key in results.runtimes:
        out.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{COLOURS[key]}"/><text x="{x + 17}" y="48">{NAMES[key]}</text>')
        x += 34 + 7 * len(NAMES[key])
    for tick in (0, 0.5, 1, 1.5, 2, 2.5):
        y = top + height * (1 - tick / limit)
        style = 'stroke="#555" stroke-dasharray="5 3"' if tick == 1 else 'stroke="#e4e4e4"'
        out.append(f'<path d="M{left} {y:.1f}H{width - 8}" {style}/><text class="e" x="{left - 6}" y="{y + 4:.1f}">{tick:g}</text>')
    for m, model in enumerate(results.models):
        x = left + gap / 2 + group * m
        for key in results.runtimes:
            ratio = results.ratio(model, threads, key, base)
            if ratio:
                size = height * min(ratio, limit) / limit
                y = top + height - size
                out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar - 2}" height="{size:.1f}" fill="{COLOURS[key]}"><title>'
                           f"{model}, {NAMES[key]}: {digits(results.get(model, threads, key))} ms</title></rect>"
                           f'<text class="v" x="{x + bar / 2 - 1:.1f}" y="{y - 3:.1f}">{digits(ratio)[:4].rstrip(".")}</text>')
            x += bar
        at, below = left + group * m + group / 2 + 6, top + height + 12
        out.append(f'<text class="e" transform="translate({at:.1f} {below}) rotate(-24)">{model}</text>')
    return "\n".join(out + ["</svg>", ""])


def speed(results, models, runtime, least, threads):
    """Returns the speed-up over the smallest number of threads, as the geometric mean over the models."""
    return math.exp(statistics.mean(math.log(results.get(m, least, runtime) / results.get(m, threads, runtime)) for m in models))


def panel(results, models, title, numbers, left, top):
    """Plots the curves of one network, or the mean of several."""
    wide, high, most = 190, 150, numbers[-1] / numbers[0]
    out = [f'<text x="{left}" y="{top - 8}">{title}</text>']

    def place(threads, speed_up):
        return (f"{left + wide * math.log(threads / numbers[0]) / math.log(most):.1f},"
                f"{top + high * (1 - math.log(max(speed_up, 0.8) / 0.8) / math.log(most / 0.8)):.1f}")

    for t in numbers:
        x, y = place(t, t / numbers[0]).split(",")
        out.append(f'<path d="M{x} {top}V{top + high}M{left} {y}H{left + wide}" stroke="#e4e4e4"/>'
                   f'<text class="m" x="{x}" y="{top + high + 16}">{t}</text>'
                   f'<text class="e" x="{left - 6}" y="{float(y) + 4:.1f}">{t / numbers[0]:g}</text>')
    for key in results.runtimes:
        known = [m for m in models if all(results.get(m, t, key) for t in numbers)]
        speeds = [speed(results, known, key, numbers[0], t) for t in numbers] if known else []
        if speeds:
            out.append(f'<polyline points="{" ".join(place(t, s) for t, s in zip(numbers, speeds))}" fill="none" '
                       f'stroke="{COLOURS[key]}" stroke-width="2"><title>{NAMES[key]}: {", ".join(map(two, speeds))}'
                       "</title></polyline>")
    return out


def scaling_plot(results):
    """Speed-up over the smallest number of threads: all networks' geometric mean, then each network."""
    numbers = sorted(t for t in results.threads if t)
    groups = [("geometric mean", results.models)] + [(m, [m]) for m in results.models]
    across, rows = min(len(groups), 4), -(-len(groups) // 4)
    width, height = max(240 * across + 20, 640), 70 + 206 * rows
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           "<style>text{font:11px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#333}.t{font-size:15px;font-weight:bold}"
           ".e{text-anchor:end}.m{text-anchor:middle}</style>", '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text class="t" x="40" y="26">Speed by threads, {threads_text(numbers[0])} = 1 (higher is better)</text>']
    x = 40
    for key in results.runtimes:
        out.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{COLOURS[key]}"/><text x="{x + 17}" y="48">{NAMES[key]}</text>')
        x += 34 + 7 * len(NAMES[key])
    for i, (title, models) in enumerate(groups):
        out += panel(results, models, title, numbers, 40 + 240 * (i % 4), 84 + 206 * (i // 4))
    return "\n".join(out + ["</svg>", ""])


def write_plot(results, path):
    if len([t for t in results.threads if t]) < 2:
        raise ValueError("a plot of scaling requires at least two numbers of threads")
    with open(path, "w", encoding="utf-8") as file:
        file.write(scaling_plot(results))


def write_document(results, path):
    mark = "<!-- bench/all.py -->"
    with open(path, encoding="utf-8") as file:
        parts = file.read().split(mark)
    if len(parts) != 3:
        raise ValueError(f"{path} does not have two lines {mark}")
    folder = os.path.splitext(path)[0]
    os.makedirs(folder, exist_ok=True)
    lines = [conditions(results.data), ""]
    if len([t for t in results.threads if t]) > 1:
        write_plot(results, os.path.join(folder, "scaling.svg"))
        lines += [f"![speed by threads]({os.path.basename(folder)}/scaling.svg)", ""]
    for threads in results.threads:
        name = f"latency-{threads or 'default'}.svg"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(plot(results, threads))
        lines += [f"![latency, {threads_text(threads)}]({os.path.basename(folder)}/{name})", "", *latency_table(results, threads), ""]
    lines += ["Time to load or compile, and peak memory of the process (of the peers with Python), "
              f"{threads_text(results.threads[0])}:", "", *cost_table(results, results.threads[0])]
    if "clients" in results.data:
        lines += ["", *more_tables(results)]
    parts[1] = "\n\n" + "\n".join(lines) + "\n\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(mark.join(parts))
