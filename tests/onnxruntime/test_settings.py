# SPDX-License-Identifier: Apache-2.0
"""Settings of sessions that the provider of Windows forbids, and this one allows: test_settings.py LIBRARY

Memory patterns, parallel execution, and runs of one session in several threads at once; in a model of which the CPU
provider has a part, so that ONNX Runtime has something to order and memory of its own.
"""
import itertools
import sys
import threading

from provider import NAME, WINDOWS_NAME, cpu_session, devices, np, onnx, ort, relative_error

from onnx import TensorProto, helper, numpy_helper  # isort: skip

rng = np.random.default_rng()
THREADS, RUNS, WIDTH = 4, 10, 32


def make_model():
    """Two branches on the device; in one of them an operator between that DirectML does not have."""
    constants = [numpy_helper.from_array(rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 8, name) for name in "abc"]
    constants.append(numpy_helper.from_array(np.array(0), "axis"))
    nodes = [helper.make_node("MatMul", ["x", "a"], ["left"]),
             helper.make_node("MatMul", ["x", "b"], ["right"]),
             helper.make_node("SequenceConstruct", ["left", "right"], ["pair"]),
             helper.make_node("ConcatFromSequence", ["pair"], ["both"], axis=0),
             helper.make_node("MatMul", ["both", "c"], ["y"]),
             helper.make_node("Tanh", ["right"], ["z"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, WIDTH]) for name in "yz"], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


def run(session, cpu, number, failures):
    for i in range(RUNS):
        x = np.random.default_rng(number * RUNS + i).standard_normal((1 + (number + i) % 3, WIDTH)).astype(np.float32)
        try:
            for got, want in zip(session.run(None, {"x": x}), cpu.run(None, {"x": x})):
                if not relative_error(got, want) < 1e-5:
                    failures.append(f"thread {number}, run {i}: {relative_error(got, want)}")
        except Exception as error:  # pylint: disable=broad-except
            failures.append(str(error))


def main():
    library, model = sys.argv[1], make_model()
    cpu = cpu_session(model)
    modes = (ort.ExecutionMode.ORT_SEQUENTIAL, ort.ExecutionMode.ORT_PARALLEL)
    for provider, pattern, mode in itertools.product((NAME, WINDOWS_NAME), (True, False), modes):
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.enable_mem_pattern, options.execution_mode = pattern, mode
        options.inter_op_num_threads = 2
        options.add_provider_for_devices([devices(library, provider)[0]], {})
        session, failures = ort.InferenceSession(model, options), []
        assert provider in session.get_providers(), session.get_providers()
        threads = [threading.Thread(target=run, args=(session, cpu, i, failures)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, (provider, pattern, mode, failures)
    print("ok")


main()
