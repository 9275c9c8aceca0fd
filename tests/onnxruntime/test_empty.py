# SPDX-License-Identifier: Apache-2.0
"""Tensors without elements: every operator that the converters know, with a size of zero in each dimension in turn.

    test_empty.py LIBRARY COMMAND [--match REGEX] [--verbose]

ONNX's own node tests, and single nodes of operators that they lack (empty_cases.py), get a zero in one dimension of one
input, in all dimensions of one size, and in one dimension of all inputs. What ONNX Runtime's CPU provider computes of that,
the provider computes with declared and with open sizes, and the command computes. An operator that no case is about fails.
"""
import argparse
import collections
import re
import subprocess
import sys
import tempfile
import warnings

from provider import np, session # first: it skips where a package is missing
from empty_cases import contrib_cases
from single_nodes import Case, by_cpu, by_numpy, converters, in_processes, onnx_cases, wrong
from onnx import helper

warnings.filterwarnings("ignore")
OLDEST = 7 # operator set that the command reads
# Operators without cases, and why.
WITHOUT = {
    "Loop": "its body decides", "If": "its branches decide", "Scan": "its body decides", "Constant": "it has no input",
    **dict.fromkeys(("SwiGLU", "Scale", "BiasAdd", "BiasSplitGelu", "GroupNorm", "SkipGroupNorm", "Irfft", "Rfft", "NhwcConv",
                     "NhwcFusedConv"), "ONNX Runtime has none for the CPU"),
}
# What ONNX Runtime computes of inputs that do not fit together, or leaves as it was allocated: operator, what, why.
ACCEPTED = [
    ("NegativeLogLikelihoodLoss|SoftmaxCrossEntropyLoss", r"(weight|w)\[0\]", "weights of no class"),
    ("DynamicQuantizeMatMul|MatMulIntegerToFloat", r"x1\[3, 0\]", "a bias for no column"),
    ("DynamicQuantizeMatMul|MatMulIntegerToFloat|QAttention", r"x0\[2(, 3)?, 0\]", "it forgets the bias"),
    ("LSTM|RNN|GRU|DynamicQuantizeLSTM", r"(X|x0)\[(0|\d+, \d+, 0)\b", "it leaves some results as they were allocated"),
    ("QGemm", r"x0\[2, 0\]", "it leaves the result as it was allocated"),
    ("Attention|QAttention", r"x1\[8, 0\]", "no columns for queries"),
    ("Skip(Simplified)?LayerNormalization", r"x0\[0, 3, 8\] x1\[2", "batches of 0 and 2"),
    ("GatherBlockQuantized", r"x0\[0, 16\]", "indices into no rows"),
    ("GatherND", r"batch_dims.*indices\[0, 1\]", "batches of 2 and 0"),
    ("RoiAlign", "mode.: b'max'", "whose maximum is of weighted pixels, for which DirectML has nothing"),
]


def model_of(case, feeds, symbolic):
    """symbolic: every dimension has a name of its own."""
    infos = []
    for name, x in feeds.items():
        dims = [f"{name}_{d}" for d in range(x.ndim)] if symbolic else x.shape
        infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), dims))
    results = [helper.make_tensor_value_info(n, t, None) for n, t in case.outputs.items()]
    graph = helper.make_graph([case.node], "g", infos, results)
    return helper.make_model(graph, opset_imports=case.opsets, ir_version=10).SerializeToString()


def choices(case):
    """What gets a size of zero: a text, and pairs of an input and a dimension."""
    dims = [(name, d) for name, x in case.feeds.items() for d in range(x.ndim)]
    for name, d in dims:
        yield f"{name}[{d}]", {(name, d)}
    for size in sorted({case.feeds[name].shape[d] for name, d in dims}):
        yield f"sizes of {size}", {(name, d) for name, d in dims if case.feeds[name].shape[d] == size}
    for back in range(1, 5):
        yield f"dimension {-back} of all", {(name, d) for name, d in dims if case.feeds[name].ndim - d == back}


def variants(case):
    """(what, feeds) with sizes of zero."""
    seen = set()
    for what, chosen in choices(case):
        feeds = {}
        for name, x in case.feeds.items():
            dims = tuple(0 if (name, d) in chosen else size for d, size in enumerate(x.shape))
            feeds[name] = x if dims == x.shape else np.zeros(dims, x.dtype)
        key = tuple(x.shape for x in feeds.values())
        if key not in seen:
            seen.add(key)
            yield what, feeds


def from_provider(library, model, feeds):
    """Arrays, or a text that says why not."""
    try:
        return session(library, model, level=4).run(None, feeds)
    except Exception as error: # pylint: disable=broad-except
        return str(error)[-200:]


def from_command(command, model, feeds, outputs):
    with tempfile.TemporaryDirectory() as folder:
        args = [command, "run", f"{folder}/m.onnx"]
        with open(args[2], "wb") as file:
            file.write(model)
        for i, (name, x) in enumerate(feeds.items()):
            np.save(f"{folder}/i{i}.npy", x)
            args += ["--input", f"{name}={folder}/i{i}.npy"]
        for i, name in enumerate(outputs):
            args += ["--output", f"{name}={folder}/o{i}.npy"]
        done = subprocess.run(args, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            return f"code {done.returncode}: {done.stderr.strip()[-200:]}"
        return [np.load(f"{folder}/o{i}.npy") for i in range(len(outputs))]


def differences(results, want):
    texts = {how: got if isinstance(got, str) else wrong(got, want) for how, got in results.items()}
    return "; ".join(f"{how}: {why}" for how, why in texts.items() if why)


def compare(library, command, case, what, feeds, want):
    """What is wrong, or an empty text. Only the first input's dimensions go through the command, which takes a process."""
    model, symbolic = model_of(case, feeds, False), model_of(case, feeds, True)
    results = {"open sizes": from_provider(library, symbolic, feeds), "declared sizes": from_provider(library, model, feeds)}
    recent = all(o.version >= OLDEST for o in case.opsets if o.domain in ("", "ai.onnx"))
    if command and recent and what.startswith(next(iter(feeds))):
        results["command"] = from_command(command, model, feeds, case.outputs)
    bad = differences(results, want)
    if not bad:
        return ""
    if isinstance(results["open sizes"], str) and by_cpu(symbolic, feeds) is None: # ONNX Runtime itself wants to know some
        del results["open sizes"]
        bad = differences(results, want)
    other = by_numpy(model, feeds)
    return "" if other and not differences(results, other) else bad


def accepted(op, text):
    return any(re.fullmatch(ops, op) and re.search(what, text) for ops, what, _ in ACCEPTED)


def walk(library, command, op, cases):
    """Counts and failures of an operator."""
    count, failures = collections.Counter(), []
    todo = [(case, what, feeds) for case in cases for what, feeds in variants(case)]
    wants = in_processes(lambda v: by_cpu(model_of(v[0], v[2], False), v[2]), todo)
    known = [(*v, want) for v, want in zip(todo, wants)
             if isinstance(want, list) and all(isinstance(w, np.ndarray) for w in want)]
    count["refused"] = len(todo) - len(known)
    for (case, what, feeds, want), bad in zip(known, in_processes(lambda v: compare(library, command, *v), known, 60)):
        attributes = {a.name: helper.get_attribute_value(a) for a in case.node.attribute}
        shapes = " ".join(f"{n}{list(x.shape)}" for n, x in feeds.items())
        text = f"{attributes} {what}: {shapes} {[list(w.shape) for w in want]}: {bad}"
        state = "passed" if not bad else "accepted" if accepted(op, text) else "failed"
        count[state] += 1
        failures += [text] if state == "failed" else []
    return count, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("command")
    parser.add_argument("--match", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    cases = {("", op): found for op, found in onnx_cases(4).items()}
    for domain, op, *rest in contrib_cases():
        cases.setdefault((domain, op), []).append(Case(*rest))
    bad, total = 0, collections.Counter()
    for domain, op in converters():
        if op in WITHOUT or not re.search(args.match, op):
            continue
        count, failures = walk(args.library, args.command, op, cases.get((domain, op), []))
        total += count
        if not cases.get((domain, op)):
            failures.append("no case is about it")
        bad += len(failures)
        for text in failures:
            print(f"FAILED: {domain}{'.' if domain else ''}{op} {text}", flush=True)
        if args.verbose:
            print(f"{op}: {dict(count)}", flush=True)
    print(f"{total['passed']} passed, {total['refused']} ONNX Runtime refuses, {total['accepted']} it should, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
