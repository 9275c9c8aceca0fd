# SPDX-License-Identifier: Apache-2.0
"""Whole networks on the execution provider, with no fallback, against the CPU provider and known outputs; then the same
networks with a free batch dimension.

    test_networks.py LIBRARY [--shared FOLDER] [--match REGEX]

FOLDER holds trained networks: models/NAME/model.onnx with input.npy and expected.npy; those that are not there are left
out. bench/networks.py makes the others, with random weights.
"""
import argparse
import pathlib
import re
import sys
import tempfile
import time

from provider import cpu_session, feeds_of, np, onnx, relative_error, session

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
import networks  # noqa: E402

DEFAULT = ROOT.parent / "shared"
TRAINED = ["mnist", "squeezenet", "mobilenet_v2_features", "super_resolution_x3", "style_candy", "super_resolution_x2"]
# Networks of a few nodes: sizes of the input and the output, and what is computed of x.
SMALL = {
    "tiny_relu": ([1, 16], [1, 16], lambda net: net.relu("x")),
    "softmax_1536x128": ([1536, 128], [1536, 128], lambda net: net.apply("Softmax", "x", axis=-1)),
    "layernorm_128x768": ([1, 128, 768], [1, 128, 768], lambda net: net.normalise("x", 768)),
    "gelu_128x3072": ([1, 128, 3072], [1, 128, 3072], lambda net: net.gelu("x")),
    "matmul_128x768x768": ([128, 768], [128, 768], lambda net: net.apply("MatMul", "x", net.weight((768, 768), 0.04))),
    "conv_depthwise_96x112": ([1, 96, 112, 112], [1, 96, 56, 56], lambda net: net.relu(net.conv("x", 96, 96, 3, 2, 96))),
    "conv_64x56": ([1, 64, 56, 56], [1, 64, 56, 56], lambda net: net.relu(net.conv("x", 64, 64, 3))),
}
LARGE = ["bert_layer1_s128", "mobilenetv2", "yolo416", "resnet50"]
# The normalizations of this network differ between implementations by how variances are summed.
LIMITS = {"style_candy": 5e-4}
SLOW = {"style_candy", "super_resolution_x2"}  # with one batch size only


def limit_of(name, arrays):
    half = any(a.dtype == np.float16 for a in arrays)  # also known outputs that are stored in it
    return LIMITS.get(name, 1e-3 if half else 2e-5)


def compare(name, what, got, want, limit):
    errors = [relative_error(g, w) for g, w in zip(got, want)]
    good = len(got) == len(want) and max(errors) <= limit
    print(f"{'ok' if good else 'FAILED':7}{name}: {what}: {max(errors):.1e}, allowed {limit:.0e}", flush=True)
    return good


def free_batch(model):
    """The model with dimension 0 of every input and output unnamed, and reshapes that keep it."""
    for value in list(model.graph.input) + list(model.graph.output):
        dim = value.type.tensor_type.shape.dim
        if dim:
            dim[0].ClearField("dim_value")
            dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for tensor in model.graph.initializer:
        if tensor.name not in shapes:
            continue
        shape = onnx.numpy_helper.to_array(tensor).copy()
        if shape.size and shape[0] == 1:
            shape[0] = 0
            tensor.CopyFrom(onnx.numpy_helper.from_array(shape, tensor.name))
    return model


def runs(make, *args):
    try:
        return make(*args)
    except Exception as error:  # pylint: disable=broad-except
        return error


def check(library, name, path, given, expected):
    """given: the input arrays, or None for random ones; expected: known outputs."""
    begin = time.time()
    ours, cpu = session(library, str(path), fallback=False), cpu_session(str(path))
    feeds = feeds_of(cpu, np.random.default_rng(1))
    for x, value in zip(cpu.get_inputs(), given or []):
        feeds[x.name] = value
    got, want = ours.run(None, feeds), cpu.run(None, feeds)
    good = compare(name, "against the CPU provider", got, want, limit_of(name, want))
    for i, value in enumerate(expected):
        good &= compare(name, f"output {i} against what is known", [got[i].astype(value.dtype)], [value],
                        limit_of(name, [value]))
    del ours, cpu
    if good and name not in SLOW:
        good = check_batches(library, name, path, feeds)
    print(f"       {time.time() - begin:.1f} s")
    return good


def check_batches(library, name, path, feeds):
    model = free_batch(onnx.load(path)).SerializeToString()
    cpu, ours, good = cpu_session(model), session(library, model, fallback=False), True
    for batch in (1, 3, 2, 3):
        more = {key: np.concatenate([x * np.float32(1 - 0.1 * i) if x.dtype.kind == "f" else x for i in range(batch)])
                .astype(x.dtype) for key, x in feeds.items()}
        want, got = runs(cpu.run, None, more), runs(ours.run, None, more)
        if isinstance(want, Exception):
            print(f"       {name}: the CPU provider cannot run batch {batch}: {str(want)[:120]}")
            continue
        if isinstance(got, Exception):
            print(f"FAILED {name}: batch {batch}: {got}")
            good = False
            continue
        good &= compare(name, f"batch {batch}", got, want, limit_of(name, want))
    return good


def make_attention(name):
    net = networks.Network(name, [1, 128, 768], "qkv")
    net.output(net.attention(*"qkv", 128, 12, 64), [1, 128, 768])
    return net


def make_small(name):
    shape, result, compute = SMALL[name]
    net = networks.Network(name, shape)
    net.output(compute(net), result)
    return net


MAKERS = {**dict.fromkeys(SMALL, make_small), "attn_s128_h12_d64": make_attention,
          **{name: networks.NETWORKS[name] for name in LARGE}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--shared", type=pathlib.Path, default=DEFAULT)
    parser.add_argument("--match", default="")
    args = parser.parse_args()
    good = True
    for name in TRAINED:
        folder = args.shared / "models" / name
        if not (folder / "model.onnx").exists() or not re.search(args.match, name):
            continue
        expected = [np.load(p) for p in (folder / "expected.npy", folder / "expected_1.npy") if p.exists()]
        good &= check(args.library, name, folder / "model.onnx", [np.load(folder / "input.npy")], expected)
    with tempfile.TemporaryDirectory() as scratch:
        for name in [n for n in MAKERS if re.search(args.match, n)]:
            MAKERS[name](name).save(scratch)
            path = pathlib.Path(scratch) / f"{name}.onnx"
            good &= check(args.library, name, path, None, [])
            path.unlink()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
