#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention over many runs with lengths that vary, beside ONNX Runtime's own provider: caches in the same memory
for past and present, apart, and growing; texts that go on, and back. Of how many graphs are compiled test_lengths.py and
test_genai.py tell.
usage: test_caches.py libonnxruntime_ep_directml.so [resident]"""
import sys

from provider import cpu_session, np, onnx, ort, relative_error, session

from onnx import TensorProto, helper, numpy_helper  # isort: skip

FLOAT, INT32 = TensorProto.FLOAT, TensorProto.INT32
HEADS, KEYS, SIZE, ROWS = 6, 2, 16, 64
rng = np.random.default_rng()


def model(bias=False, **attributes):
    """Two layers that share their lengths; what the mask would tell comes as inputs. Nothing may become of rows that are not
    there: x / x would be NaN for zeros. bias: the first layer has one."""
    nodes, width, keys = [helper.make_node("Div", ["x", "x"], ["ones"]), helper.make_node("Mul", ["x", "ones"], ["x0"])], \
        HEADS * SIZE, KEYS * SIZE
    constants = {"cos": np.cos(rng.standard_normal((ROWS, SIZE // 2))).astype(np.float32),
                 "sin": np.sin(rng.standard_normal((ROWS, SIZE // 2))).astype(np.float32),
                 "w": rng.standard_normal((width, width + 2 * keys)).astype(np.float32) / 8}
    inputs = [("x", FLOAT, ["batch", "sequence", width]), ("lengths", INT32, ["batch"]), ("total", INT32, [])]
    outputs, x = [("y", FLOAT, ["batch", "sequence", width])], "x0"
    if bias:
        inputs.append(("bias", FLOAT, [1, 1, "sequence", "total"]))
    for layer in range(2):
        nodes.append(helper.make_node("MatMul", [x, "w"], [f"qkv{layer}"]))
        caches = [f"{part}{layer}" for part in ("k", "v")]
        x = "y" if layer else "middle"
        nodes.append(helper.make_node("GroupQueryAttention", [f"qkv{layer}", "", "", *caches, "lengths", "total", "cos",
                                                              "sin", "", "bias" if bias and not layer else ""], [x, *("new_" + c for c in caches)],
                                      domain="com.microsoft", num_heads=HEADS, kv_num_heads=KEYS, do_rotary=1,
                                      **attributes))
        inputs += [(c, FLOAT, ["batch", KEYS, "past", SIZE]) for c in caches]
        outputs += [("new_" + c, FLOAT, ["batch", KEYS, "present", SIZE]) for c in caches]
    infos = [[helper.make_tensor_value_info(*v) for v in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *infos, [numpy_helper.from_array(v, k) for k, v in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets)
    made.ir_version = 9
    return made.SerializeToString()


NAMES = [f"{part}{layer}" for layer in range(2) for part in ("k", "v")]


def valid(cache, lengths):
    return np.concatenate([cache[b, :, :n].ravel() for b, n in enumerate(lengths)])


class Shared:
    """Caches that stay where they are. Where nothing looks into them, they are not compared."""

    def __init__(self, made, batch, see):
        empty = [np.zeros((batch, KEYS, ROWS, SIZE), np.float32) for _ in NAMES]
        if see:  # what is not valid must not matter
            for x in empty:
                x[:] = np.nan
        self.session, self.see = made, see
        self.caches = {n: ort.OrtValue.ortvalue_from_numpy(x) for n, x in zip(NAMES, empty)}

    def run(self, feeds):
        binding = self.session.io_binding()
        binding.bind_output("y")
        for name, x in feeds.items():
            binding.bind_cpu_input(name, x)
        for name, x in self.caches.items():
            binding.bind_ortvalue_input(name, x)
            binding.bind_ortvalue_output("new_" + name, x)
        self.session.run_with_iobinding(binding)
        return binding.get_outputs()[0].numpy(), self.caches if self.see else {}


class Apart:
    """Caches with room, or (grow) just as long as they must be, which become those of the next run."""

    def __init__(self, made, batch, grow):
        self.session, self.grow = made, grow
        self.caches = {n: np.zeros((batch, KEYS, 0 if grow else ROWS, SIZE), np.float32) for n in NAMES}

    def run(self, feeds):
        y, *new = self.session.run(None, feeds | self.caches)
        self.caches = dict(zip(NAMES, new))
        return y, {n: ort.OrtValue.ortvalue_from_numpy(x) for n, x in self.caches.items()}


def text(ours, cpu, batch, steps, back):
    """Runs of as many new tokens; now and then what came last is forgotten."""
    total, worst = 0, 0.0
    for count in steps:
        if back and total > 8 and rng.random() < 0.3:
            total -= int(rng.integers(1, 8))
        if total + count > ROWS:
            break
        lengths = np.full(batch, total + count, np.int32)
        if not total and batch > 1:
            lengths[1:] = rng.integers(1, count + 1, batch - 1)
        feeds = {"x": rng.standard_normal((batch, count, HEADS * SIZE)).astype(np.float32),
                 "lengths": lengths - 1, "total": np.array(total + count, np.int32)}
        if "bias" in [i.name for i in cpu.session.get_inputs()]:
            feeds["bias"] = rng.standard_normal((1, 1, count, total + count)).astype(np.float32)
        (y, caches), (want, others) = ours.run(feeds), cpu.run(feeds)
        rows = lengths if not total else [count] * batch
        worst = max([worst, *(relative_error(y[b, :n], want[b, :n]) for b, n in enumerate(rows))])
        worst = max([worst, *(relative_error(valid(caches[n].numpy(), lengths), valid(others[n].numpy(), lengths))
                              for n in caches)])
        if not total and batch > 1 and len(set(lengths)) > 1:
            break  # rows that differ go on one token at a time, from where each of them is
        total += count
    return worst


def main():
    library, resident, ok = sys.argv[1], len(sys.argv) > 2, True
    for name, attributes in (("plain", {}), ("window", {"local_window_size": 7}), ("softcap", {"softcap": 5.0}),
                             ("scale", {"scale": 0.3, "rotary_interleaved": 1}), ("bias", {"bias": True})):
        if resident and name in ("softcap", "bias"):
            continue  # are not appended in place
        bytes_ = model(**attributes)
        made = session(library, bytes_, fallback=False, options={"resident_caches": "true"} if resident else {})
        cpu, worst = cpu_session(bytes_), {}
        for batch in (1, 3):
            for kind in ("shared",) if resident else ("shared", "apart", "growing"):
                for _ in range(2 if resident else 4):
                    steps = [int(n) for n in rng.integers(1, 24, 30)] if batch == 1 else \
                        [int(rng.integers(5, 20)), *[1] * 20]
                    mine = Shared(made, batch, not resident) if kind == "shared" else \
                        Apart(made, batch, kind == "growing")
                    theirs = Apart(cpu, batch, kind == "growing")
                    error = text(mine, theirs, batch, steps, kind != "growing" and batch == 1)
                    worst[kind] = max(worst.get(kind, 0), error)
        good = max(worst.values()) < 2e-5
        ok = ok and good
        print("ok:" if good else "FAILED:", name, {k: f"{v:.1e}" for k, v in worst.items()})
    sys.exit(not ok)


main()
