# SPDX-License-Identifier: Apache-2.0
"""Tensors in the memory of a device of its own, and several devices in one process: the CPU and a Vulkan device.

test_device.py LIBRARY [several]
"""
import gc
import os
import sys
import threading

os.environ["ANYDML_ADAPTERS"] = "cpu,vulkan"

from provider import NAME, SKIP, WINDOWS_NAME, cpu_session, devices, np, onnx, ort, session  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

SIZE = 5003
VULKAN = 1
TENSORS = {"device_tensors": "true"}
OPTIONS = [{}, TENSORS]


def make_model(nodes, inputs, outputs, initializers=()):
    """inputs, outputs: (name, type, shape)."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*x) for x in inputs],
                              [helper.make_tensor_value_info(*x) for x in outputs], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def flat(nodes):
    return make_model(nodes, [("x", TensorProto.FLOAT, ["n"])], [("y", TensorProto.FLOAT, ["n"])])


TWICE = flat([helper.make_node("Add", ["x", "x"], ["y"])])


def on_device(x):
    return ort.OrtValue.ortvalue_from_numpy(x, "dml", VULKAN)


def test_in_place(library):
    """Tensors of the device are read and written where they lie: what comes into them after they were bound counts."""
    s = session(library, TWICE, fallback=False, options=TENSORS, adapter=VULKAN)
    x = np.arange(SIZE, dtype=np.float32)
    value, out = on_device(x), on_device(np.zeros(SIZE, np.float32))
    assert value.device_name().lower() in ("dml", "gpu"), value.device_name()
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", out)
    for factor in (1, 3, -7):
        value.update_inplace(x * factor)
        s.run_with_iobinding(binding)
        assert np.array_equal(out.numpy(), 2 * factor * x), f"factor {factor}"
    binding.bind_ortvalue_input("x", out)  # a result as the next input, and back
    binding.bind_ortvalue_output("y", value)
    s.run_with_iobinding(binding)
    assert np.array_equal(value.numpy(), 4 * -7 * x)


def test_names(library):
    """What a session under one name leaves on the device, a session under the other reads and writes in place."""
    one, other = (session(library, TWICE, fallback=False, options=TENSORS, adapter=VULKAN, name=name)
                  for name in (NAME, WINDOWS_NAME))
    x = np.arange(SIZE, dtype=np.float32)
    value, out = on_device(x), on_device(np.zeros(SIZE, np.float32))
    for s, source, target in ((one, value, out), (other, out, value), (one, value, out)):
        binding = s.io_binding()
        binding.bind_ortvalue_input("x", source)
        binding.bind_ortvalue_output("y", target)
        s.run_with_iobinding(binding)
    assert np.array_equal(out.numpy(), 8 * x)


def test_outputs(library):
    """Outputs that ONNX Runtime allocates, on the device or on the host; and plain runs."""
    s = session(library, TWICE, fallback=False, options=TENSORS, adapter=VULKAN)
    x = np.linspace(-3, 9, SIZE, dtype=np.float32)
    for where, number in (("dml", VULKAN), ("cpu", 0)):
        binding = s.io_binding()
        binding.bind_ortvalue_input("x", on_device(x))
        binding.bind_output("y", where, number)
        s.run_with_iobinding(binding)
        assert np.array_equal(binding.get_outputs()[0].numpy(), 2 * x), where
    for size in (SIZE, 3, 40000):
        assert np.array_equal(s.run(None, {"x": x[:size]})[0], 2 * x[:size])


def test_bound_without(library):
    """Sessions that work in the host's memory take such tensors, too: inputs are copied when they are bound."""
    s = session(library, TWICE, fallback=False, adapter=VULKAN)
    x = np.arange(SIZE, dtype=np.float32)
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", on_device(x))
    out = on_device(np.zeros(SIZE, np.float32))
    binding.bind_ortvalue_output("y", out)
    s.run_with_iobinding(binding)
    assert np.array_equal(out.numpy(), 2 * x)


def test_values(library):
    """Sizes that depend on an input's value, and outputs that are known before they run."""
    model = make_model([helper.make_node("Reshape", ["x", "shape"], ["y"]), helper.make_node("Shape", ["x"], ["z"])],
                       [("x", TensorProto.FLOAT, ["n"]), ("shape", TensorProto.INT64, [2])],
                       [("y", TensorProto.FLOAT, ["a", "b"]), ("z", TensorProto.INT64, [1])])
    s = session(library, model, options=TENSORS, adapter=VULKAN)
    x = np.arange(24, dtype=np.float32)
    for shape in ((4, 6), (8, 3), (4, 6)):
        y, z = s.run(None, {"x": x, "shape": np.array(shape, np.int64)})
        assert y.shape == shape and np.array_equal(y.ravel(), x) and z.tolist() == [24]


def test_other_providers(library):
    """Nodes of the CPU provider between the provider's."""
    model = flat([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Optional", ["a"], ["b"]),
                  helper.make_node("OptionalGetElement", ["b"], ["c"]), helper.make_node("Neg", ["c"], ["y"])])
    x = np.linspace(-1, 1, SIZE, dtype=np.float32)
    s = session(library, model, options=TENSORS, adapter=VULKAN)
    for _ in range(3):
        assert np.array_equal(s.run(None, {"x": x})[0], -np.maximum(x, 0))


def test_weights(library):
    """The same network on both devices and on the CPU provider."""
    rng = np.random.default_rng(5)
    weights = [onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("w", (33, 17)), ("b", (17,)))]
    model = make_model([helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])],
                       [("x", TensorProto.FLOAT, [7, 33])], [("y", TensorProto.FLOAT, [7, 17])], weights)
    x = rng.standard_normal((7, 33)).astype(np.float32)
    want = cpu_session(model).run(None, {"x": x})[0]
    ours = [session(library, model, fallback=False, options={"device_id": number}) for number in ("0", "1")]
    ours += [session(library, model, fallback=False, adapter=VULKAN, options=options) for options in OPTIONS]
    for s in ours + ours:
        np.testing.assert_allclose(s.run(None, {"x": x})[0], want, rtol=1e-4, atol=1e-5)


def test_wrong_options(library):
    """The option is for the device that the session was made with; the CPU's tensors lie in its memory anyway."""
    try:
        session(library, TWICE, fallback=False, options={"device_id": "1", **TENSORS}, adapter=0).run(
            None, {"x": np.zeros(3, np.float32)})
        assert False, "a session on another device"
    except Exception as error:  # pylint: disable=broad-except
        assert "device_tensors" in str(error) or "fallback" in str(error).lower(), error
    x = np.arange(SIZE, dtype=np.float32)
    assert np.array_equal(session(library, TWICE, fallback=False, options=TENSORS, adapter=0).run(None, {"x": x})[0], 2 * x)


def test_by_name(_):
    """`device_id` finds the device whose tensors the session reads and writes, as the host looks for them."""
    if tuple(map(int, ort.__version__.split(".")[:2])) < (1, 31):
        return  # the first device is taken, or none
    s = ort.InferenceSession(TWICE, providers=[(NAME, {"device_id": str(VULKAN), **TENSORS})])
    assert s.get_providers()[0] == NAME, s.get_providers()
    x = np.arange(SIZE, dtype=np.float32)
    value, out = on_device(x), on_device(np.zeros(SIZE, np.float32))
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", out)
    s.run_with_iobinding(binding)
    assert np.array_equal(out.numpy(), 2 * x)


def test_several(library, count):
    """Every device at once, in threads, each with sessions by its number; values go from each one to the next."""
    x = np.linspace(-3, 3, SIZE, dtype=np.float32)
    failures = []

    def use(number):
        try:
            s = session(library, TWICE, fallback=False, options={"device_id": str(number)})
            for factor in range(1, 9):
                if not np.array_equal(s.run(None, {"x": x * factor + number})[0], 2 * (x * factor + number)):
                    failures.append(f"device {number}, factor {factor}")
        except Exception as error:  # pylint: disable=broad-except
            failures.append(f"device {number}: {error}")

    threads = [threading.Thread(target=use, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    value = None
    for number in range(VULKAN, count):
        s = session(library, TWICE, fallback=False, options=TENSORS, adapter=number)
        binding = s.io_binding()
        binding.bind_ortvalue_input("x", value or ort.OrtValue.ortvalue_from_numpy(x, "dml", number))
        binding.bind_output("y", "dml", number)
        s.run_with_iobinding(binding)
        value = binding.get_outputs()[0]
    assert np.array_equal(value.numpy(), x * 2 ** (count - VULKAN))


def test_memory_goes(library):
    """Device tensors that are dropped make room."""
    before = len(open("/proc/self/maps", encoding="ascii").readlines())
    for _ in range(50):
        values = [on_device(np.zeros(1 << 16, np.float32)) for _ in range(4)]
        del values
    gc.collect()
    grown = len(open("/proc/self/maps", encoding="ascii").readlines()) - before
    assert grown < 40, f"{grown} more mappings"


def main():
    library = sys.argv[1]
    found = devices(library)
    if len(found) <= VULKAN:
        print("skipped: no Vulkan device")
        return SKIP
    assert [d.ep_metadata["device_id"] for d in found] == [str(i) for i in range(len(found))]
    if len(sys.argv) > 2:  # and only that
        if len(found) <= VULKAN + 1:
            print("skipped: only one Vulkan device")
            return SKIP
        test_several(library, len(found))
        return 0
    if not found[VULKAN].memory_info(ort.OrtDeviceMemoryType.DEFAULT):
        print("this ONNX Runtime has no device tensors")
        OPTIONS.remove(TENSORS)
        test_weights(library)
        return 0
    test_weights(library)
    for test in (test_in_place, test_by_name, test_names, test_outputs, test_bound_without, test_values, test_other_providers,
                 test_wrong_options, test_memory_goes):
        test(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
