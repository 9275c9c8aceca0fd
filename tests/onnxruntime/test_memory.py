# SPDX-License-Identifier: Apache-2.0
"""Memory of the execution provider: IoBinding with its tensors, shared allocators, and sessions that leave nothing.

    test_memory.py LIBRARY
"""
import gc
import os
import sys

from provider import SKIP, devices, np, onnx, ort, session
from onnx import TensorProto, helper

SIZE = 1 << 20


def make_model(nodes):
    shape = ["n"]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def weighted_model(size):
    weight = onnx.numpy_helper.from_array(np.ones((size, size), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, size])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


ADD = make_model([helper.make_node("Add", ["x", "x"], ["y"])])


def rss_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def new_value(library, kind, shape):
    """A tensor in the provider's memory, as Python names it or by the device's memory info."""
    if kind == "dml":
        return ort.OrtValue.ortvalue_from_shape_and_type(shape, np.float32, "dml", 0)
    info = devices(library)[0].memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
    return ort.OrtValue.ortvalue_from_shape_and_type(shape, np.float32, memory_info=info)


def test_bindings(library, kind):
    s = session(library, ADD, fallback=False)
    x = np.arange(SIZE, dtype=np.float32)
    value, out = new_value(library, kind, [SIZE]), new_value(library, kind, [SIZE])
    value.update_inplace(x)
    assert np.array_equal(value.numpy(), x)
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", out)
    for factor in (1, 3):
        value.update_inplace(x * factor)
        binding.bind_ortvalue_input("x", value)  # copied when it is bound
        s.run_with_iobinding(binding)
        assert np.array_equal(out.numpy(), 2 * factor * x), f"{kind} memory, factor {factor}"


def test_default_output(library):
    """Outputs that ONNX Runtime makes, as the binding or the default says."""
    s = session(library, ADD, fallback=False)
    x = np.arange(SIZE, dtype=np.float32)
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(x, "dml", 0))
    binding.bind_output("y", "dml", 0)
    s.run_with_iobinding(binding)
    out = binding.get_outputs()[0]
    assert np.array_equal(out.numpy(), 2 * x)
    assert np.array_equal(s.run(None, {"x": x})[0], 2 * x)


def test_inputs_stay(library):
    """Sessions take their inputs where the host and the CPU provider have them."""
    s = session(library, ADD, fallback=False)
    info = s.get_input_memory_infos()[0]
    assert info.device_mem_type != ort.OrtDeviceMemoryType.DEFAULT or info.name.lower() == "cpu", info.name


def test_other_providers(library):
    """Nodes of the CPU provider between the provider's."""
    s = session(library, make_model([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Optional", ["a"], ["b"]),
                                     helper.make_node("OptionalGetElement", ["b"], ["c"]),
                                     helper.make_node("Neg", ["c"], ["y"])]))
    x = np.linspace(-1, 1, SIZE, dtype=np.float32)
    for _ in range(3):
        assert np.array_equal(s.run(None, {"x": x})[0], -np.maximum(x, 0))


def test_shrinkage(library):
    """Temporary memory goes after a run that asks for it, and comes back."""
    nodes = [helper.make_node("Softmax", ["x"], ["a"], axis=0), helper.make_node("CumSum", ["a", "axis"], ["b"]),
             helper.make_node("Mul", ["b", "a"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16 * SIZE])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16 * SIZE])],
                              [onnx.numpy_helper.from_array(np.array(0, np.int64), "axis")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    s = session(library, model.SerializeToString(), fallback=False)
    feeds = {"x": np.zeros(16 * SIZE, np.float32)}
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    want = s.run(None, feeds)[0]
    gc.collect()
    kept = rss_bytes()
    got = s.run(None, feeds, options)[0]
    same = np.array_equal(got, want)
    del got
    gc.collect()
    trimmed = rss_bytes()
    assert same
    assert trimmed < kept - 32 * SIZE, f"{kept} bytes before, {trimmed} after"
    assert np.array_equal(s.run(None, feeds)[0], want)


def test_sessions_end(library, count=200):
    """What a session had is free after it."""
    model, x = weighted_model(256), np.ones((1, 256), np.float32)

    def use(times):
        for _ in range(times):
            s = session(library, model, fallback=False)
            s.run(None, {"x": x})
        del s
        gc.collect()

    use(count // 4)
    before = rss_bytes()
    use(count)
    grown = rss_bytes() - before
    print(f"{count} sessions of {256 * 256 * 4} bytes of weights: {grown} bytes more")
    assert grown < 8 << 20, f"{grown} bytes more after {count} sessions"


def main():
    library = sys.argv[1]
    if not devices(library):
        return SKIP
    test_bindings(library, "host")
    if devices(library)[0].memory_info(ort.OrtDeviceMemoryType.DEFAULT):  # hosts from 1.27
        test_bindings(library, "dml")
        test_default_output(library)
    test_inputs_stay(library)
    test_other_providers(library)
    test_shrinkage(library)
    test_sessions_end(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
