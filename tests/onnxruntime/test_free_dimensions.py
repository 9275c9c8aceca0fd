# SPDX-License-Identifier: Apache-2.0
"""Free dimensions that a session fixes, by name and by denotation: test_free_dimensions.py LIBRARY

The graph is then compiled once, when the session is created, and for no other sizes; without an override it is compiled for
each size that runs bring. Results are those of ONNX Runtime's CPU provider.
"""
import json
import pathlib
import sys
import tempfile

from provider import NAME, WINDOWS_NAME, cpu_session, devices, np, onnx, ort, relative_error

from onnx import TensorProto, helper, numpy_helper  # isort: skip

rng = np.random.default_rng()
CHANNELS = 3
#: What the model calls its sizes, and what they denote (ONNX: IR.md, standard denotations).
BATCH, HEIGHT, WIDTH = ("batch", "DATA_BATCH"), ("rows", "DATA_FEATURE"), ("columns", "")


def make_model():
    """A convolution, a mean over the image and a softmax over the batch: none of them works on padded sizes."""
    weights = rng.standard_normal((4, CHANNELS, 3, 3)).astype(np.float32) / 4
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("ReduceMean", ["c"], ["m"], axes=[2, 3], keepdims=0),
             helper.make_node("Softmax", ["m"], ["s"], axis=0),
             helper.make_node("Shape", ["x"], ["shape"]),
             helper.make_node("ConstantOfShape", ["shape"], ["z"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2])),
             helper.make_node("Add", ["x", "z"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH[0], CHANNELS, HEIGHT[0], WIDTH[0]])
    for dim, (_, denotation) in zip((x.type.tensor_type.shape.dim[i] for i in (0, 2, 3)), (BATCH, HEIGHT, WIDTH)):
        dim.denotation = denotation
    outputs = [helper.make_tensor_value_info("s", TensorProto.FLOAT, [BATCH[0], 4]),
               helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)]
    graph = helper.make_graph(nodes, "g", [x], outputs, [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model.SerializeToString()


def compilations(path):
    """How often the graph was compiled before the first run, and then."""
    events = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    begin = min(event["ts"] for event in events if event["name"] == "model_run")
    early = [event["ts"] < begin for event in events if event["name"] == "dml_compile"]
    return sum(early), len(early) - sum(early)


def run(library, model, provider, overrides, fixed, sizes, compiled):
    """overrides: (how, key, size); fixed: the sizes that the session then has; sizes: of each run. compiled: how often the graph is
    compiled when the session is created, and later."""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.enable_profiling = True
        options.profile_file_prefix = str(pathlib.Path(folder) / "p")
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        for how, key, size in overrides:
            getattr(options, "add_free_dimension_override_by_" + how)(key, size)
        options.add_provider_for_devices([devices(library, provider)[0]], {})
        ours, cpu = ort.InferenceSession(model, options), cpu_session(model)
        shape = ours.get_inputs()[0].shape
        assert shape == fixed, (overrides, shape)
        for batch, height, width in sizes:
            x = rng.standard_normal((batch, CHANNELS, height, width)).astype(np.float32)
            for got, want in zip(ours.run(None, {"x": x}), cpu.run(None, {"x": x})):
                assert relative_error(got, want) < 1e-5, (overrides, x.shape)
        wrong = [dim + 1 if isinstance(dim, int) else 5 for dim in shape]
        wrong[1] = CHANNELS
        if any(isinstance(shape[i], int) for i in (0, 2, 3)):
            try:
                ours.run(None, {"x": np.zeros(wrong, np.float32)})
            except Exception as error:  # pylint: disable=broad-except
                assert "Expected" in str(error) or "dimension" in str(error), error
            else:
                raise AssertionError(f"{overrides}: runs with {wrong}")
        count = compilations(ours.end_profiling())
    assert count == compiled, f"{overrides}: compiled {count[0]} and {count[1]} times, not {compiled}"


def main():
    library, model = sys.argv[1], make_model()
    free = [BATCH[0], CHANNELS, HEIGHT[0], WIDTH[0]]
    by_name = [("name", BATCH[0], 2), ("name", HEIGHT[0], 7), ("name", WIDTH[0], 9)]
    for provider in (NAME, WINDOWS_NAME):
        run(library, model, provider, [], free, [(2, 7, 9), (3, 7, 9), (2, 7, 9), (2, 8, 9)], (0, 3))
        run(library, model, provider, by_name, [2, CHANNELS, 7, 9], [(2, 7, 9)] * 2, (1, 0))
        run(library, model, provider, [("denotation", BATCH[1], 2), ("denotation", HEIGHT[1], 7), ("name", WIDTH[0], 9)],
            [2, CHANNELS, 7, 9], [(2, 7, 9)] * 2, (1, 0))
        # Some of them: the rest is as before.
        run(library, model, provider, [("denotation", BATCH[1], 4)], [4, CHANNELS, HEIGHT[0], WIDTH[0]],
            [(4, 7, 9), (4, 6, 9), (4, 7, 9)], (0, 2))
        # What the model does not have changes nothing.
        run(library, model, provider, [("denotation", "DATA_TIME", 4), ("name", "nothing", 3)], free, [(1, 5, 6)], (0, 1))
    print("ok")


main()
