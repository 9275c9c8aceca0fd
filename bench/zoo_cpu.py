# SPDX-License-Identifier: Apache-2.0
"""One network of bench/zoo.py on the CPU: AnyDML's execution provider, ONNX Runtime's CPU provider and OpenVINO in one process,
in turns.

usage: zoo_cpu.py JSON, the options of measure(); prints the result as its last line.
"""
import json
import os
import sys
import tempfile
import time

import numpy as np

LONG_MS = 2000  # of runs of which fewer are made


def least_runs(results):
    """Returns the number of runs of each program, and of profiles."""
    return 3 if max(r.get("first_ms", 0) for r in results.values()) < LONG_MS else 2


def load(path):
    """Returns the inputs and the reference outputs."""
    with np.load(path) as file:
        arrays = dict(file)
    inputs, outputs = ([arrays[f"{c}{i}"] for i in range(sum(k[0] == c for k in arrays))] for c in "xy")
    return inputs, outputs


def difference(found, wanted):
    """Returns the largest of all outputs' root mean squares of differences, relative to that of the reference; infinite if
    sizes differ or values are not finite."""
    if len(found) != len(wanted):
        return float("inf")
    worst = 0.0
    for a, b in zip(found, wanted):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if a.shape != b.shape or not np.isfinite(a).all():
            return float("inf")
        worst = max(worst, float(np.sqrt(np.mean((a - b) ** 2)) / (np.sqrt(np.mean(b**2)) + 1e-12)))
    return worst


# ---- programs: a function that makes one, which returns a function that runs it, and what must stay alive ----

def feeds_of(session, inputs):
    """Inputs in the types of the model; exporters may remove unused ones."""
    types = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
    return {i.name: inputs[int(i.name[1:])].astype(types[i.type]) for i in session.get_inputs()}


def session_of(options, device, strict):
    import onnxruntime as ort
    settings = ort.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options["threads"], 1
    settings.log_severity_level = 4
    if device is None:
        return ort.InferenceSession(options["model"], settings, providers=["CPUExecutionProvider"])
    settings.add_provider_for_devices([device], {})
    if strict:
        settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(options["model"], settings)


def runner(session, inputs):
    feeds = feeds_of(session, inputs)
    return lambda: session.run(None, feeds)


def openvino_request(options, inputs, **settings):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(options["model"]), "CPU", {
        "INFERENCE_NUM_THREADS": options["threads"], "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False, **settings})
    request = compiled.create_infer_request()
    for i in compiled.inputs:
        name = next(n for n in i.names if n[:1] == "x" and n[1:].isdigit())  # one tensor may have several names
        request.set_tensor(i, openvino.Tensor(inputs[int(name[1:])].astype(i.element_type.to_dtype())))
    return compiled, request


def openvino_of(options, inputs):
    compiled, request = openvino_request(options, inputs)

    def run():
        request.infer()
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]
    return run


def provider_device(library):
    import onnxruntime as ort
    ort.register_execution_provider_library("anydml", os.path.abspath(library))
    return next(d for d in ort.get_ep_devices() if d.ep_name == "AnyDMLExecutionProvider")


def begin(options, inputs, make, result):
    """Makes a program and runs it once; its errors are part of the result."""
    start = time.process_time()
    try:
        run = make()
        result["load_ms"] = (time.process_time() - start) * 1e3
        found = run()
        result["first_ms"] = (time.process_time() - start) * 1e3 - result["load_ms"]
        result["difference"] = difference(found, options["wanted"])
        return run
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        return None


def anydml_of(options, inputs, device, result):
    """All nodes in the provider; if it does not take them, those that it does."""
    try:
        return runner(session_of(options, device, True), inputs)
    except Exception as error:
        result["falls_back"] = " ".join(str(error).split())[:300]
        return runner(session_of(options, device, False), inputs)


def turns(options, programs, results):
    """Adds the median and the least milliseconds of each program, which alternate."""
    clock = time.process_time if options["clock"] == "cpu" else time.perf_counter
    times, end = {key: [] for key in programs}, time.perf_counter() + options["seconds"] * len(programs)
    while programs and (time.perf_counter() < end or len(next(iter(times.values()))) < least_runs(results)):
        for key, run in programs.items():
            start = clock()
            run()
            times[key].append((clock() - start) * 1e3)
    for key, taken in times.items():
        results[key] |= dict(ms=float(np.median(taken)), min_ms=min(taken), runs=len(taken))


def ort_steps(options, inputs, runs, device=None):
    """Returns (operator, name, least milliseconds, provider) of each node by ONNX Runtime's profile. Nodes that
    it fuses or converts have names that begin with those of the model's nodes."""
    import onnxruntime as ort
    with tempfile.TemporaryDirectory() as folder:
        settings = ort.SessionOptions()
        settings.intra_op_num_threads, settings.log_severity_level = options["threads"], 4
        settings.enable_profiling, settings.profile_file_prefix = True, os.path.join(folder, "profile")
        if device:
            settings.add_provider_for_devices([device], {})
        session = ort.InferenceSession(options["model"], settings, **({} if device else {"providers": ["CPUExecutionProvider"]}))
        run = runner(session, inputs)
        for _ in range(runs):
            run()
        with open(session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    nodes = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            name, args = event["name"][:-len("_kernel_time")], event["args"]
            ms = event["dur"] / 1e3
            if name not in nodes or nodes[name][2] > ms:
                nodes[name] = args["op_name"], name, ms, args.get("provider", "")
    return list(nodes.values())


def openvino_steps(options, inputs, runs):
    """Returns (operator, names of the model's nodes with commas between, least milliseconds, kernel) of each node by OpenVINO's
    profile."""
    compiled, request = openvino_request(options, inputs, PERF_COUNT=True)
    names, nodes = {}, {}
    for op in compiled.get_runtime_model().get_ordered_ops():
        known = op.rt_info["originalLayersNames"] if "originalLayersNames" in op.rt_info else ""
        names[op.friendly_name] = str(getattr(known, "value", known))
    for _ in range(runs + 1):
        request.infer()
        for step in request.get_profiling_info():
            ms = step.real_time.total_seconds() * 1e3
            if ms and ms < nodes.get(step.node_name, (0, 0, float("inf")))[2]:
                nodes[step.node_name] = step.node_type, names.get(step.node_name) or step.node_name, ms, step.exec_type
    return list(nodes.values())


def peak_mib():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def alone(options):
    """Creation and first run of one program in this process."""
    inputs, options["wanted"] = load(options["arrays"])
    result = {}
    if options["alone"] == "anydml":
        device = provider_device(options["library"])
        begin(options, inputs, lambda: anydml_of(options, inputs, device, result), result)
    elif options["alone"] == "onnxruntime":
        begin(options, inputs, lambda: runner(session_of(options, None, False), inputs), result)
    else:
        begin(options, inputs, lambda: openvino_of(options, inputs), result)
    if "error" in result:
        return result
    return dict(ms=result["load_ms"] + result["first_ms"], peak_mib=peak_mib())


def measure(options):
    if options.get("alone"):
        return alone(options)
    inputs, options["wanted"] = load(options["arrays"])
    results = {key: {} for key in ("anydml", *options["peers"])}
    device, programs = provider_device(options["library"]), {}
    first = begin(options, inputs, lambda: anydml_of(options, inputs, device, results["anydml"]), results["anydml"])
    if first:
        del first
        again = {}
        programs["anydml"] = begin(options, inputs, lambda: anydml_of(options, inputs, device, {}), again)
        results["anydml"]["warm_load_ms"] = again["load_ms"]
    makes = {"onnxruntime": lambda: runner(session_of(options, None, False), inputs),
             "openvino": lambda: openvino_of(options, inputs)}
    for key in options["peers"]:
        programs[key] = begin(options, inputs, makes[key], results[key])
    programs = {key: run for key, run in programs.items() if run}
    turns(options, programs, results)
    if "falls_back" in results["anydml"]:
        nodes = ort_steps(options, inputs, 1, device)
        results["anydml"]["host"] = sorted({op for op, _, _, provider in nodes if provider == "CPUExecutionProvider"})
    programs.clear()
    times = [r["min_ms"] for key, r in results.items() if key != "anydml" and "min_ms" in r]
    slow = options["above"] is not None and times and results["anydml"].get("min_ms", 0) > options["above"] * min(times)
    count, steps = least_runs(results), {}
    for key, take in (("onnxruntime", ort_steps), ("openvino", openvino_steps)):
        if slow and "ms" in results.get(key, {}):
            steps[key] = take(options, inputs, count)
    return dict(programs=results, peer_steps=steps)


if __name__ == "__main__":
    print("\n" + json.dumps(measure(json.loads(sys.argv[1]))))
