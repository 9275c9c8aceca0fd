"""ONNX's own node tests on the execution provider, with no fallback to the CPU provider.

    test_nodes.py LIBRARY [--match REGEX] [--json FILE] [--processes N]

Each case passes, fails, or is not claimed (the provider says why). A failure fails the test; so does a case of an operator
of the Windows provider that is not claimed and not among the reasons below.
"""
import argparse
import collections
import ctypes
import json
import multiprocessing
import re
import sys
import warnings

from provider import Log, cpu_session, np, onnx, ort, session

warnings.filterwarnings("ignore")
HALF_BYTES = (onnx.TensorProto.INT4, onnx.TensorProto.UINT4)
REASON = re.compile(r"left to another provider: (\S+) '[^']*': (.*)")


def collect():
    from onnx.backend.test.case.node import collect_testcases
    with Log():
        return {case.name: case for case in collect_testcases(None)}


def array(x):
    """Cases hold arrays, or tensors where numpy has no such type."""
    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)


def to_value(x, info):
    x = array(x)
    if x.dtype.kind in "fiub":
        return ort.OrtValue.ortvalue_from_numpy(np.array(x, order="C"))
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array(x, order="C"), info.type.tensor_type.elem_type)


def from_value(value):
    """What numpy does not have: bfloat16 as float32, and 4-bit integers (two a byte, the first one in the low half)."""
    kind, shape = value.element_type(), value.shape()
    count = int(np.prod(shape))
    if kind not in (onnx.TensorProto.BFLOAT16, *HALF_BYTES):
        return value.numpy()
    size = 2 * count if kind == onnx.TensorProto.BFLOAT16 else (count + 1) // 2
    data = np.frombuffer((ctypes.c_uint8 * size).from_address(value.data_ptr()), np.uint8)
    if kind == onnx.TensorProto.BFLOAT16:
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    halves = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[:count].astype(np.int8)
    if kind == onnx.TensorProto.INT4:
        halves = (halves ^ 8) - 8
    return halves.reshape(shape)


def difference(got, want, rtol, atol):
    want = array(want)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind not in "fiub" or got.dtype.kind not in "fiub":
        got, want = got.astype(np.float32), want.astype(np.float32)
    elif got.dtype != want.dtype:
        return f"type {got.dtype} instead of {want.dtype}"
    if got.dtype.kind == "f":
        got, want = got.astype(np.float64), want.astype(np.float64)
    try:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
    except AssertionError as why:
        return " ".join(str(why).split())[:200]
    return None


def run_case(library, case):
    """(state, why): pass, fail, none (not claimed) or host (ONNX Runtime itself cannot load or run the model)."""
    model = case.model.SerializeToString()
    with Log() as log:
        try:
            ours = session(library, model, fallback=False, level=0)
        except Exception as error:  # pylint: disable=broad-except
            why = str(error)
            ours = None
    if ours is None:
        reasons = REASON.findall(log.text)
        if "fallback" in why.lower() or reasons:
            return "none", "; ".join(sorted({f"{op}: {reason}" for op, reason in reasons}))[:300] or why[:200]
        try:
            cpu_session(model)
        except Exception:  # pylint: disable=broad-except
            return "host", why[:160]
        return "fail", why[:300]
    for inputs, outputs in case.data_sets:
        if any(isinstance(x, (list, dict)) or x is None for x in list(inputs) + list(outputs)):
            return "none", "sequences and optional values"
        if any(info.type.tensor_type.elem_type in HALF_BYTES for info in case.model.graph.input):
            return "host", "ONNX Runtime's Python module takes no 4-bit inputs"
        try:
            feeds = {i.name: to_value(x, info) for i, x, info in zip(ours.get_inputs(), inputs, case.model.graph.input)}
            got = ours.run_with_ort_values(None, feeds)
        except Exception as error:  # pylint: disable=broad-except
            return "fail", str(error)[:300]
        for i, want in enumerate(outputs):
            why = difference(from_value(got[i]), want, max(case.rtol, 1e-3), max(case.atol, 1e-7))
            if why:
                return "fail", f"output {i}: {why}"
    return "pass", ""


def work(library, names, queue):
    cases = collect()
    for name in names:
        queue.put((name, "start", ""))
        state, why = run_case(library, cases[name])
        queue.put((name, state, why))
    queue.put((None, "end", ""))


def run_all(library, names, processes):
    """Every case in one of a few processes; a case that takes its process down fails."""
    results, left = {}, list(names)
    while left:
        queue = multiprocessing.Queue()
        parts = [left[i::processes] for i in range(processes) if left[i::processes]]
        workers = [multiprocessing.Process(target=work, args=(library, part, queue)) for part in parts]
        for worker in workers:
            worker.start()
        running, open_cases = len(workers), {}
        while running:
            try:
                name, state, why = queue.get(timeout=60)
            except Exception:  # pylint: disable=broad-except
                if all(not w.is_alive() for w in workers):
                    break
                continue
            if state == "end":
                running -= 1
            elif state == "start":
                open_cases[name] = True
            else:
                open_cases.pop(name, None)
                results[name] = (state, why)
            if running and all(not w.is_alive() for w in workers) and queue.empty():
                break
        for worker in workers:
            worker.join(5)
        for name in open_cases:
            results[name] = ("fail", "the process died")
        left = [n for n in left if n not in results]
        if not open_cases:
            break
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--match", default="")
    parser.add_argument("--json")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    cases = collect()
    names = sorted(n for n in cases if re.search(args.match, n))
    results = run_all(args.library, names, args.processes)
    count = collections.Counter(state for state, _ in results.values())
    for name in names:
        state, why = results.get(name, ("fail", "did not run"))
        if state == "fail":
            print(f"FAILED: {name}: {why}")
    print(dict(count))
    if args.json:
        table = {n: {"state": s, "why": w, "operators": sorted({x.op_type for x in cases[n].model.graph.node})}
                 for n, (s, w) in results.items()}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"onnx": onnx.__version__, "onnxruntime": ort.__version__, "cases": table}, file, indent=0)
    return 1 if count["fail"] or len(results) < len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
