#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Objects keep what they need and let go of the rest; threads; memory stays flat. On the first adapter."""
import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import unittest

import numpy as np
import pydirectml as dml
from pydirectml import _native

F32 = dml.TensorDataType.FLOAT32
NONE = dml.ExecutionFlags.NONE


def live_objects():
    """COM objects of the libraries in this process."""
    folder = os.path.join(os.path.dirname(_native._path()), "../../src")
    gc.collect()
    return [ctypes.CDLL(os.path.join(folder, name)).AnydmlLiveObjects() for name in ("libdirectml.so", "libd3d12.so")]


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def dense(device, size, weights):
    """(model, input, output) of y = relu(x w) + 1 with x [size, size]."""
    builder = dml.GraphBuilder(device)
    x = dml.input_tensor(builder, 0, dml.TensorDesc(F32, [size, size]))
    w = dml.input_tensor(builder, 1, dml.TensorDesc(F32, dml.TensorFlags.OWNED_BY_DML, [size, size]))
    y = dml.gemm(x, w, fused_activation=dml.FusedActivation(dml.OperatorType.ACTIVATION_RELU)) + 1
    return builder.build(NONE, [y]), x, y, dml.Binding(w, weights)


class Lifetimes(unittest.TestCase):
    def test_everything_goes(self):
        before = live_objects()
        data = np.ones((8, 8), np.float32)
        for _ in range(3):
            device = dml.Device(adapter=0)
            model, x, y, weights = dense(device, 8, data)
            device.compute(model, [dml.Binding(x, data), weights], [y])
            try:
                dml.gemm(x, y, y, alpha="one")
            except TypeError:
                pass
        self.assertNotEqual(live_objects(), before)
        del device, model, x, y, weights
        self.assertEqual(live_objects(), before)

    def test_parents_stay(self):
        data = np.arange(16, dtype=np.float32).reshape(4, 4)
        def make():
            device = dml.Device(adapter=0)
            return dense(device, 4, data.copy())
        model, x, y, weights = make()
        gc.collect()
        got, = model._device.compute(model, [dml.Binding(x, data.copy()), weights], [y])
        del weights, model, x
        gc.collect()
        np.testing.assert_allclose(got, np.maximum(data @ data, 0) + 1)
        self.assertEqual(y.get_output_desc().sizes, (4, 4))
        self.assertEqual((y * 2).get_output_desc().sizes, (4, 4)) # the builder is still there

    def test_results_outlive_all(self):
        def make():
            device = dml.Device(adapter=0)
            model, x, y, weights = dense(device, 4, np.eye(4, dtype=np.float32))
            return device.compute(model, [dml.Binding(x, np.eye(4, dtype=np.float32)), weights], [y])[0]
        got = make()
        gc.collect()
        np.testing.assert_array_equal(got, np.eye(4) + 1)

    def test_constants_stay_until_the_build(self):
        device = dml.Device(adapter=0)
        builder = dml.GraphBuilder(device)
        x = dml.input_tensor(builder, 0, dml.TensorDesc(F32, [1000]))
        y = x + dml.constant_data(builder, np.full(1000, 3, np.float32), dml.TensorDesc(F32, [1000]))
        gc.collect()
        junk = [np.full(1000, 9, np.float32) for _ in range(50)]
        for _ in range(2):
            model = builder.build(NONE, [y])
        del junk
        got, = device.compute(model, [dml.Binding(x, np.ones(1000, np.float32))], [y])
        np.testing.assert_array_equal(got, np.full(1000, 4))

    def test_a_program_that_ends_meanwhile(self):
        """Threads that are not joined compute while the interpreter goes away."""
        program = """if True:
            import threading, time, numpy as np, pydirectml as dml
            device = dml.Device(adapter=0)
            builder = dml.GraphBuilder(device)
            x = dml.input_tensor(builder, 0, dml.TensorDesc(dml.TensorDataType.FLOAT32, [64, 64]))
            y = dml.gemm(x, x)
            model = builder.build(dml.ExecutionFlags.NONE, [y])
            def work():
                while True:
                    device.compute(model, [dml.Binding(x, np.ones((64, 64), np.float32))], [y])
            for _ in range(2):
                threading.Thread(target=work, daemon=THREADS).start() if THREADS else None
            time.sleep(0.05)
            print("done")"""
        for daemon in ("True", "False"):
            for _ in range(3):
                ended = subprocess.run([sys.executable, "-c", program.replace("THREADS", daemon)], capture_output=True, text=True,
                                       timeout=60, check=False)
                self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "done\n", ""))

    def test_nothing_is_copied_or_sent(self):
        """A copy would hold handles that its original destroys; another process has none of them."""
        before = live_objects()
        device = dml.Device(adapter=0)
        model, x, y, weights = dense(device, 4, np.eye(4, dtype=np.float32))
        for one in (device, model._graph, model, x, dml.Binding(x, np.eye(4, dtype=np.float32))):
            for function in (copy.deepcopy, pickle.dumps) if isinstance(one, dml.Binding) else (copy.copy, copy.deepcopy,
                                                                                                pickle.dumps):
                with self.assertRaisesRegex(TypeError, "can be neither copied nor pickled"):
                    function(one)
        del device, model, x, y, weights, one
        self.assertEqual(live_objects(), before)

    def test_builders_in_cycles(self):
        before = live_objects()
        for _ in range(20):
            device = dml.Device(adapter=0)
            model, x, y, weights = dense(device, 4, np.eye(4, dtype=np.float32))
            device.self = [device, model, x, y, weights]
        del device, model, x, y, weights
        self.assertEqual(live_objects(), before)


class Memory(unittest.TestCase):
    def test_flat(self):
        device = dml.Device(adapter=0)
        data = np.ones((32, 32), np.float32)
        host = _native.model_is_shared(dense(device, 32, data)[0]._handle)
        def builds(count):
            for _ in range(count):
                model, x, y, weights = dense(device, 32, data)
                device.compute(model, [dml.Binding(x, data), weights], [y])
                try:
                    dml.gemm(x, y, strange=1)
                except TypeError:
                    pass
        model, x, y, weights = dense(device, 32, data)
        device.compute(model, [dml.Binding(x, data), weights], [y])
        def runs(count):
            for _ in range(count):
                device.compute(model, [dml.Binding(x, data)], [y])
        for work, count in ((builds, 300 if host else 20), (runs, 10000 if host else 300)):
            work(count // 2) # caches fill
            gc.collect()
            before = resident()
            work(count)
            gc.collect()
            self.assertLess(resident() - before, 12 << 20, work.__name__)


class Threads(unittest.TestCase):
    def in_threads(self, count, work):
        problems = []
        def guarded(i):
            try:
                work(i)
            except Exception as error:
                problems.append(error)
        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(problems, [])

    def test_one_model(self):
        """Also the first run, which reads the weights."""
        device = dml.Device(adapter=0)
        weights = np.random.default_rng(1).standard_normal((16, 16)).astype(np.float32)
        model, x, y, binding = dense(device, 16, weights)
        def work(i):
            data = np.full((16, 16), i, np.float32)
            for _ in range(20):
                got, = device.compute(model, [dml.Binding(x, data), binding], [y])
                np.testing.assert_allclose(got, np.maximum(data @ weights, 0) + 1, rtol=1e-4, atol=1e-4)
        self.in_threads(4, work)

    def test_one_builder(self):
        device = dml.Device(adapter=0)
        builder = dml.GraphBuilder(device)
        x = dml.input_tensor(builder, 0, dml.TensorDesc(F32, [4]))
        data = np.float32([1, 2, 3, 4])
        def work(i):
            for k in range(8):
                y = x * (i + 1) + k
                try:
                    dml.gemm(x, x)
                except ValueError:
                    pass
                model = builder.build(NONE, [y])
                np.testing.assert_array_equal(device.compute(model, [dml.Binding(x, data)], [y])[0], data * (i + 1) + k)
        self.in_threads(4, work)

    def test_devices_of_their_own(self):
        def work(i):
            for _ in range(2):
                device = dml.Device(adapter=0)
                model, x, y, weights = dense(device, 8, np.eye(8, dtype=np.float32) * i)
                got, = device.compute(model, [dml.Binding(x, np.ones((8, 8), np.float32)), weights], [y])
                np.testing.assert_array_equal(got, np.full((8, 8), i + 1))
        self.in_threads(4, work)

    def test_others_go_on_while_a_model_runs(self):
        device = dml.Device(adapter=0)
        size = 1024
        data = np.ones((size, size), np.float32)
        model, x, y, weights = dense(device, size, data)
        bindings, steps = [dml.Binding(x, data), weights], 0
        thread = threading.Thread(target=lambda: [device.compute(model, bindings, [y]) for _ in range(5)])
        thread.start()
        while thread.is_alive():
            steps += 1
        self.assertGreater(steps, 1000)


if __name__ == "__main__":
    unittest.main()
