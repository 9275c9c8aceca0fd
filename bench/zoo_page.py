# SPDX-License-Identifier: Apache-2.0
"""Tables of the results of bench/zoo.py."""
import math
import statistics

from all import digits, table, two
from gpu_page import Failed

import zoo_forms

MARK = "<!-- bench/zoo.py -->"
SHOWN = 2  # steps of a network in documents
NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "graph": "eager", "compiled": "torch.compile"}
TOLERANCE = {"float32": 1e-3, "float16": 3e-2}  # of root mean squares, relative to the reference's


def time_of(result, key):
    """Medians; on a CPU that others use, the least."""
    program = result.get("programs", {}).get(key, {})
    return program.get("min_ms", program.get("ms"))


def ratio(result, peers):
    """The time relative to that of the fastest peer."""
    ours, theirs = time_of(result, "anydml"), [t for t in (time_of(result, p) for p in peers) if t]
    return ours / min(theirs) if ours and theirs else None


def ratio_to(result, peer):
    return ratio(result, [peer])


def wrong(result, kind):
    """Returns why a result is not to be trusted, or nothing."""
    programs = result.get("programs", {})
    reasons = [] if "error" not in result else [result["error"]]
    limit = zoo_forms.tolerance([p for key, p in programs.items() if key != "anydml"])
    for key, program in programs.items():
        name = "AnyDML" if key == "anydml" else NAMES[key]
        if "error" in program:
            reasons.append(f"{name}: {program['error']}")
        elif program.get("difference", 0) > (TOLERANCE.get(kind) or limit):
            reasons.append(f"{name}: results differ from the reference by {program['difference']:.2g}")
    if "host" in programs.get("anydml", {}):
        reasons.append(f"AnyDML leaves to ONNX Runtime: {', '.join(programs['anydml']['host'])}")
    return "; ".join(reasons)


def line(conditions, result):
    """One line for those who wait."""
    times = ", ".join(f"{key} {digits(time_of(result, key))}" for key in ("anydml", *conditions["peers"]))
    found = ratio(result, conditions["peers"])
    return f"{result['name']}: {times} ms; ratio {two(found)}; {result.get('spent_s', 0):.0f} s {wrong(result, conditions['type'])}"


def summary(ratios, what):
    if not ratios:
        return f"{what}: no ratios."
    mean = math.exp(statistics.mean(math.log(r) for r in ratios))
    above = [sum(r > limit for r in ratios) for limit in (1.0, 1.05)]
    return (f"{what}: {len(ratios)} networks, geometric mean {mean:.2f}, worst {max(ratios):.2f}, "
            f"{above[0]} above 1.0, {above[1]} above 1.05.")


def introduction(data):
    c = data["conditions"]
    versions = "".join(f", {NAMES.get(name, name)} {version}" for name, version in c["versions"].items())
    if c["adapter"] == "cpu":
        busy = statistics.mean([r["others"] for r in data["results"] if "others" in r] or [0])
        what = "CPU time of the process" if c["clock"] == "cpu" else "time"
        said = f"busy: other processes used {busy:.1f} CPUs on average" if busy > 0.1 else "idle otherwise"
        return (f"{c['date']}, {c['cpus']} CPUs, {c['machine']}{versions}; {c['type']}, {c['threads']} thread"
                f"{'s' * (c['threads'] > 1)}, {what} of one run, the least, milliseconds. The machine was {said}.")
    device = c["device"]
    return (f"{c['date']}, {device['name']} (driver {device['driver']}){versions}; {c['type']}, milliseconds on the device, "
            f"medians of {c['seconds']:g} s.")


def main_table(data):
    c, rows = data["conditions"], []
    cpu = c["adapter"] == "cpu"
    known = sorted((r for r in data["results"] if ratio(r, c["peers"])), key=lambda r: -ratio(r, c["peers"]))
    rest = [r for r in data["results"] if not ratio(r, c["peers"]) and time_of(r, "anydml")]
    for result in known + rest:
        programs, ours = result["programs"], result["programs"]["anydml"]
        cells = [result["name"], digits(time_of(result, "anydml"))]
        for peer in c["peers"]:
            cells += [digits(time_of(result, peer)), two(ratio_to(result, peer))]
        cells += [two(ratio(result, c["peers"]))]
        if not cpu:
            cells += [digits(ours.get("copies_ms")), digits(programs.get("graph", {}).get("copies_ms"))]
        cells += [digits(ours.get("load_ms")), digits(ours.get("warm_load_ms"))]
        cells += [digits(programs.get(p, {}).get("load_ms")) for p in c["peers"] if p != "graph"]
        cells += [f"{ours['difference']:.1g}" if "difference" in ours else "-"]
        rows.append(cells)
    head = ["network", "AnyDML"]
    for peer in c["peers"]:
        head += [NAMES[peer], "ratio"]
    head += ["to the fastest"] + ([] if cpu else ["with copies", "eager with copies"]) + ["creation", "warm"]
    head += [f"{NAMES[p]} creation" for p in c["peers"] if p != "graph"] + ["difference"]
    return table(head, rows) if rows else []


def loading_lines(data):
    """Creation and first run in a process of its own, in which ONNX Runtime's copy of the model is included."""
    keys, rows = ["anydml", *data["conditions"]["peers"]], []
    for result in data["results"]:
        found = [result.get("programs", {}).get(key, {}).get("alone", {}) for key in keys]
        if not all("ms" in one for one in found):
            continue
        cells = [result["name"], digits(found[0]["ms"]), f"{found[0]['peak_mib']:.0f}"]
        for one in found[1:]:
            cells += [digits(one["ms"]), two(found[0]["ms"] / one["ms"]), f"{one['peak_mib']:.0f}",
                      two(found[0]["peak_mib"] / one["peak_mib"])]
        rows.append(cells)
    head = ["network", "AnyDML ms", "peak MiB"]
    for key in keys[1:]:
        head += [f"{NAMES[key]} ms", "ratio", "peak MiB", "ratio"]
    return table(head, rows) if rows else []


def failures(data):
    found = [(r["name"], wrong(r, data["conditions"]["type"])) for r in data["results"]]
    return [f"- {name}: {text}" for name, text in found if text]


def step_lines(data, shown):
    """The steps of networks that are slower than the fastest peer; on a GPU without peers of all."""
    c, rows = data["conditions"], []
    peers = c["peers"] if c["adapter"] == "cpu" else []
    for result in sorted(data["results"], key=lambda r: -(ratio(r, c["peers"]) or 0)):
        if not result.get("steps") or (c["peers"] and (ratio(result, c["peers"]) or 0) <= 1):
            continue
        for number, step in enumerate(result["steps"][:shown]):
            first = f"{result['name']}, {two(ratio(result, c['peers']))}" if number == 0 else ""
            cells = [first, step["kernel"], " ".join(step["names"])[:70], digits(step["ms"])]
            for peer in peers:
                ms, ops = step["peers"].get(peer, (None, []))
                cells.append(f"{digits(ms)} {' '.join(dict.fromkeys(ops))[:30]}".strip())
            rows.append(cells)
        if peers and not shown:
            rest = [", ".join(f"{op} {digits(ms)}" for op, ms in result["rest"].get(p, [])[:shown]) for p in peers]
            rows.append(["", "", "without a step", "", *rest])
    head = ["network, ratio", "kernel", "nodes", "AnyDML", *[NAMES[p] for p in peers]]
    return table(head, rows) if rows else []


def lines(data, shown=None):
    """shown: steps of each network, all that were kept if None."""
    c = data["conditions"]
    out = [introduction(data), ""]
    for peers in [[p] for p in c["peers"]] + [c["peers"]] * (len(c["peers"]) > 1):
        ratios = [r for r in (ratio(result, peers) for result in data["results"]) if r]
        out += [summary(ratios, f"Ratio to {NAMES[peers[0]] if len(peers) == 1 else 'the fastest'}"), ""]
    out += [*main_table(data), ""]
    loading = loading_lines(data) if c["adapter"] == "cpu" else []
    if loading:
        out += ["CPU time of creation and first run, and peak of memory, each in a process of its own, in turns, the least:", "",
                *loading, ""]
    bad = failures(data)
    out += (["Failures and differences:", "", *bad, ""] if bad else [])
    steps = step_lines(data, shown) if c["steps"] else []
    out += (["Steps of the networks above 1.0:", "", *steps, ""] if steps else [])
    return out


def merged(files):
    """Results of the same conditions are one table, in which later ones take precedence."""
    found = {}
    for data in files:
        key = tuple(str(data["conditions"].get(k)) for k in ("adapter", "type", "batch", "threads", "clock"))
        one = found.setdefault(key, dict(conditions={}, results={}))
        one["conditions"] = data["conditions"]
        one["results"] |= {r["name"]: r for r in data["results"]}
    return [dict(conditions=one["conditions"], results=list(one["results"].values())) for one in found.values()]


def write(path, files):
    with open(path, encoding="utf-8") as file:
        parts = file.read().split(MARK)
    if len(parts) != 3:
        raise Failed(f"{path} does not have two lines {MARK}")
    parts[1] = "\n\n" + "\n".join(text for one in merged(files) for text in lines(one, SHOWN)) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(MARK.join(parts))
