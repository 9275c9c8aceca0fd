# SPDX-License-Identifier: Apache-2.0
"""What tests that walk all operators share: the operators that the converters know, ONNX's node tests of them, and processes
for runs that may end one."""
import collections
import multiprocessing
import os
import re

from provider import Log, np, onnx, ort # first: it skips where a package is missing
import onnx.reference

CONVERTERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "onnx", "convert", "converters.def")
Case = collections.namedtuple("Case", "node opsets feeds outputs") # feeds: arrays by name; outputs: types by name


def converters():
    """(domain, operator) of every row, and whether the host computes it of what is known."""
    with open(CONVERTERS, encoding="utf-8") as file:
        rows = re.findall(r'^ONNX_CONVERTER\("([^"]*)", "(\w+)", *\d+, [^,]*, (\d)', file.read(), re.M)
    return {(domain, op): folds != "0" for domain, op, folds in rows}


def array(x):
    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)


def onnx_cases(most):
    """operator -> cases of ONNX's own node tests that are one node of plain tensors, `most` for each operator."""
    from onnx.backend.test.case.node import collect_testcases
    with Log():
        tests = collect_testcases(None)
    cases, seen = collections.defaultdict(list), set()
    for test in tests:
        graph = test.model.graph
        node = graph.node[0] if len(graph.node) == 1 else None
        infos = [*graph.input, *graph.output]
        if node is None or node.domain or not all(i.type.HasField("tensor_type") for i in infos):
            continue
        feeds = {i.name: array(x) for i, x in zip(graph.input, test.data_sets[0][0])}
        key = (node.op_type, tuple((x.ndim, x.dtype) for x in feeds.values()), tuple(sorted(a.name for a in node.attribute)))
        if key in seen or len(cases[node.op_type]) >= most or any(x.dtype.kind not in "fiub" for x in feeds.values()):
            continue
        seen.add(key)
        outputs = {o.name: o.type.tensor_type.elem_type for o in graph.output}
        cases[node.op_type].append(Case(node, test.model.opset_import, feeds, outputs))
    return cases


def by_numpy(model, feeds):
    """What the onnx package computes, as ONNX Runtime leaves some results as they were allocated; None: it refuses."""
    try:
        return onnx.reference.ReferenceEvaluator(onnx.load_from_string(model)).run(None, feeds)
    except Exception: # pylint: disable=broad-except; NumPy raises anything
        return None


def by_cpu(model, feeds, otherwise=True):
    """What ONNX Runtime's CPU provider computes; None: it refuses; otherwise: what it has no kernel for NumPy may compute."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        return by_numpy(model, feeds) if otherwise else None
    except Exception: # pylint: disable=broad-except; it has no common base
        return None


def wrong(got, want):
    """What differs, or None."""
    for i, (g, w) in enumerate(zip(got, want)):
        if not isinstance(w, np.ndarray):
            return f"output {i} is no tensor"
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"output {i} is {g.dtype}{g.shape} instead of {w.dtype}{w.shape}"
        if not np.allclose(g.astype("f8"), w.astype("f8"), 2e-3, 2e-3, equal_nan=True):
            return f"output {i} is {g.reshape(-1)[:4]} instead of {w.reshape(-1)[:4]}"
    return None


def in_processes(function, items, seconds=8):
    """function(item) of each in a process of its own kind; where it dies or hangs the result is a text that says so."""
    results = []
    while len(results) < len(items):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.Process(target=send_all, args=(function, items[len(results):], theirs), daemon=True)
        worker.start()
        theirs.close()
        try:
            while len(results) < len(items):
                if not ours.poll(seconds):
                    raise TimeoutError
                results.append(ours.recv())
        except (EOFError, TimeoutError) as why:
            worker.kill()
            worker.join()
            results.append("it takes too long" if isinstance(why, TimeoutError) else f"the process ended with {worker.exitcode}")
        worker.join()
    return results


def send_all(function, items, pipe):
    for item in items:
        pipe.send(function(item))
    pipe.close()
