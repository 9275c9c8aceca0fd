# SPDX-License-Identifier: Apache-2.0
"""ONNX's own node tests on the execution provider, with no fallback to the CPU provider.

    test_nodes.py LIBRARY [--match REGEX] [--adapter NAME [--like NAME]] [--json FILE] [--markdown FILE]

Each case passes, fails, or is not claimed (the provider says why). A failure fails the test.
"""
import argparse
import collections
import ctypes
import json
import multiprocessing
import os
import re
import sys
import warnings

from provider import Log, cpu_session, np, onnx, ort, session

warnings.filterwarnings("ignore")
# The operators of ai.onnx that the Windows provider registers.
WINDOWS = set("""
Abs Acos Acosh Add Affine And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift
BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Col2Im Concat ConcatFromSequence
ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh Crop CumSum DepthToSpace DequantizeLinear Div Dropout
DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND
Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GroupNorm HardSigmoid Hardmax Identity
ImageScaler InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log
LogSoftmax LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean
MeanVarianceNormalization Min Mod Mul Neg NonZero Not OneHot Or PRelu Pad ParametricSoftplus Pow QLinearConv
QLinearMatMul QuantizeLinear RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign Round
ScaledTanh Scatter ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign SimplifiedLayerNormalization Sin
Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile
TopK Transpose Trilu Unsqueeze Upsample Where Xor
""".split())
REASON = re.compile(r"left to another provider: (\S+) '[^']*': (.*)")


def collect():
    from onnx.backend.test.case.node import collect_testcases
    with Log():
        return {case.name: case for case in collect_testcases(None)}


def array(x):
    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)


def to_value(x, info):
    x = array(x)
    if x.dtype.kind in "fiub":
        return ort.OrtValue.ortvalue_from_numpy(np.array(x, order="C"))
    packed = onnx.numpy_helper.from_array(x).raw_data
    value = ort.OrtValue.ortvalue_from_shape_and_type(list(x.shape), info.type.tensor_type.elem_type)
    ctypes.memmove(value.data_ptr(), packed, len(packed))
    return value


def to_array(value):
    """The elements of an OrtValue, also of types that ONNX Runtime does not give to numpy."""
    try:
        return value.numpy()
    except RuntimeError:
        proto = onnx.TensorProto(data_type=value.element_type(), dims=value.shape())
        count = int(np.prod(value.shape(), dtype=np.int64))
        four_bits = value.element_type() in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4)
        size = (count + 1) // 2 if four_bits else 2 * count
        proto.raw_data = ctypes.string_at(value.data_ptr(), size)
        return onnx.numpy_helper.to_array(proto)


def difference(got, want, rtol, atol):
    want = array(want)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind not in "fiub" or got.dtype.kind not in "fiub":
        got, want = got.astype(np.float32), want.astype(np.float32)
        rtol = max(rtol, 2**-6)  # bfloat16 has 8 bits
    elif got.dtype != want.dtype:
        return f"type {got.dtype} instead of {want.dtype}"
    if got.dtype == np.float16:
        rtol = max(rtol, 2**-8)
    if got.dtype.kind == "f":
        got, want = got.astype(np.float64), want.astype(np.float64)
        # What a float32 computation of the largest element may leave instead of a zero.
        finite = np.abs(want[np.isfinite(want)])
        atol = max(atol, 2.0**-22 * finite.max()) if finite.size else atol
    try:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
    except AssertionError as why:
        return " ".join(str(why).split())[:200]
    return None


def run_case(library, case, adapter):
    """(state, why): pass, fail, none (not claimed) or host (ONNX Runtime itself cannot load or run the model)."""
    model = case.model.SerializeToString()
    with Log() as log:
        try:
            ours = session(library, model, fallback=False, level=0, adapter=adapter)
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
        try:
            feeds = {i.name: to_value(x, info) for i, x, info in zip(ours.get_inputs(), inputs, case.model.graph.input)}
            got = ours.run_with_ort_values(None, feeds)
        except Exception as error:  # pylint: disable=broad-except
            return "fail", str(error)[:300]
        for i, want in enumerate(outputs):
            why = difference(to_array(got[i]), want, max(case.rtol, 1e-3), max(case.atol, 1e-7))
            if why:
                return "fail", f"output {i}: {why}"
    return "pass", ""


def work(library, names, adapter, pipe):
    cases = collect()
    keep = session(library, cases["test_abs"].model.SerializeToString(), adapter=adapter)  # the device, opened once
    for name in names:
        try:
            pipe.send((name, *run_case(library, cases[name], adapter)))
        except Exception as error:  # pylint: disable=broad-except
            pipe.send((name, "fail", f"the test cannot look at it: {error}"))
    del keep
    pipe.close()


def run_all(library, names, adapter):
    """Every case in a process of its own kind: a case that takes the process down fails, the rest go on in a new one."""
    results, left = {}, list(names)
    while left:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.Process(target=work, args=(library, left, adapter, theirs))
        worker.start()
        theirs.close()
        try:
            while True:
                name, state, why = ours.recv()
                results[name] = (state, why)
        except EOFError:
            worker.join()
        left = [n for n in left if n not in results]
        if left:
            results[left[0]] = ("fail", f"the process died with code {worker.exitcode}")
            left = left[1:]
    return results


# Types of elements that DirectML has.
TYPES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 21, 22}


def is_standard(case):
    """A case of the Windows provider's operators, of types that DirectML has, and not of training."""
    graph = case.model.graph
    infos = [*graph.input, *graph.output, *graph.value_info]
    return (all(n.op_type in WINDOWS and n.domain == "" for n in graph.node) and "training" not in case.name and
            all(i.type.HasField("tensor_type") and i.type.tensor_type.elem_type in TYPES for i in infos))


def table(cases, results):
    """Markdown: per operator how many cases pass, are not claimed (and why), and fail."""
    rows, reasons = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    standard = collections.Counter()
    for name, (state, why) in sorted(results.items()):
        operators = {n.op_type for n in cases[name].model.graph.node}
        operator = name_of(name, operators)
        rows[operator][state] += 1
        if state in ("none", "fail", "host"):
            reasons[operator][re.sub(r"'[^']*'", "''", why)[:110]] += 1
        if is_standard(cases[name]) and state != "host":
            standard[state] += 1
    total = collections.Counter(state for state, _ in results.values())
    share = 100.0 * standard["pass"] / max(1, sum(standard.values()))
    lines = [
        "# ONNX node tests on the execution provider", "",
        "Made by `scripts/onnx-python tests/onnxruntime/test_nodes.py LIBRARY --markdown docs/conformance-onnx.md`: every case of "
        f"onnx {onnx.__version__} in ONNX Runtime {ort.__version__}, with fallback to the CPU provider forbidden.", "",
        f"{total['pass']} pass, {total['none']} are not claimed, {total['fail']} fail; {total['host']} more ONNX Runtime itself "
        "cannot load. Of the cases whose operators are all in the Windows provider's list, without those of training and of "
        f"types that DirectML lacks (8-bit floats and smaller, strings), {standard['pass']} of {sum(standard.values())} pass "
        f"({share:.1f} %).", "",
        "| operator | pass | not claimed | fail | host cannot | why |", "|---|---|---|---|---|---|"]
    for operator in sorted(rows):
        row = rows[operator]
        why = "; ".join(text for text, _ in reasons[operator].most_common(2)).replace("|", "/").replace("\n", " ")
        lines.append(f"| {operator} | {row['pass']} | {row['none']} | {row['fail']} | {row['host']} | {why} |")
    return "\n".join(lines) + "\n"


def name_of(case, operators):
    """The operator that a case is about: expanded functions consist of many."""
    if len(operators) == 1:
        return next(iter(operators))
    words = case.removeprefix("test_").replace("_", "").lower()
    named = [s.name for s in onnx.defs.get_all_schemas() if words.startswith(s.name.lower())]
    return max(named, key=len) if named else "several"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--match", default="")
    adapters = os.environ.get("ANYDML_ADAPTERS", "cpu").split(",")
    parser.add_argument("--adapter", choices=adapters, default=adapters[0], help="of those that ANYDML_ADAPTERS names")
    parser.add_argument("--like", choices=adapters, help="an adapter that must pass and claim the same")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    args = parser.parse_args()
    cases = collect()
    names = sorted(n for n in cases if re.search(args.match, n))
    results = run_all(args.library, names, adapters.index(args.adapter))
    others = {} if args.like is None else run_all(args.library, names, adapters.index(args.like))
    for name, (state, why) in others.items():
        if results.get(name, ("fail", ""))[0] != state:
            results[name] = ("fail", f"adapter {args.like} says {state} {why}; {results.get(name)}")
    count = collections.Counter(state for state, _ in results.values())
    for name in names:
        state, why = results.get(name, ("fail", "did not run"))
        if state == "fail":
            print(f"FAILED: {name}: {why}")
    print(dict(count))
    if args.json:
        states = {n: {"state": s, "why": w, "operators": sorted({x.op_type for x in cases[n].model.graph.node})}
                  for n, (s, w) in results.items()}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"onnx": onnx.__version__, "onnxruntime": ort.__version__, "cases": states}, file, indent=0)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as file:
            file.write(table(cases, results))
    return 1 if count["fail"] or len(results) < len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
