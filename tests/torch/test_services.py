# SPDX-License-Identifier: Apache-2.0
"""What torch does with every device: profiling, the deterministic mode, and tensors sent to other processes."""
import io
import json
import os
import tempfile
import unittest
import warnings
from multiprocessing.reduction import ForkingPickler

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
import torch_directml
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

DEVICE = torch_directml.device()
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def on_device(recorded):
    """By name of torch's operator: the activities of the device below it."""
    found = {}
    for event in recorded.events():
        if event.device_type == torch.autograd.DeviceType.CPU:
            found.setdefault(event.name, []).extend(kernel.name for kernel in event.kernels)
    return found


class Profiler(unittest.TestCase):
    def test_operators(self):
        x = torch.randn(200, 200, device=DEVICE, requires_grad=True)
        (x @ x).relu().sum().backward()  # plans are made
        with profile(activities=BOTH, record_shapes=True) as recorded:
            with record_function("my step"):
                (x @ x).relu().sum().backward()
            torch.dml.synchronize()
        found = on_device(recorded)
        self.assertEqual(found["aten::mm"], ["mm"] * 3)
        self.assertEqual(found["aten::relu"], ["relu"])
        self.assertIn("my step", found)
        times = {event.key: event for event in recorded.key_averages()}
        self.assertGreater(times["aten::mm"].device_time_total, 0)
        self.assertLessEqual(times["aten::mm"].device_time_total, times["aten::mm"].cpu_time_total)
        self.assertGreaterEqual(times["my step"].device_time_total, times["aten::relu"].device_time_total)
        self.assertIn("aten::mm", recorded.key_averages(group_by_input_shape=True).table(sort_by="self_device_time_total"))
        (x @ x).relu()  # nothing is recorded now
        self.assertEqual(on_device(recorded), found)

    def test_processor_alone(self):
        x = torch.randn(5, device=DEVICE)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            x.exp()
        self.assertEqual(on_device(recorded)["aten::exp"], [])
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            kept = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)
        self.assertEqual(sum(e.self_device_memory_usage for e in recorded.key_averages()), kept.numel())

    def test_compiled_graphs_and_trace(self):
        function = torch.compile(lambda x: (x.exp() + 1).log() * x, backend="directml")
        x = torch.randn(50, device=DEVICE)
        function(x)
        with profile(activities=BOTH) as recorded:
            function(x)
            x.cpu()
        self.assertEqual(on_device(recorded)["torch_directml::run_plan"], ["graph"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            recorded.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                kernels = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
        self.assertEqual([k["name"] for k in kernels], ["graph", "copy"])
        self.assertTrue(all(k["dur"] > 0 for k in kernels))


class Tracing(unittest.TestCase):
    def test_convolutions(self):
        """A trace holds the convolutions, with gradients, and runs on the device, also after saving."""
        torch.manual_seed(2)
        model = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.ConvTranspose2d(4, 2, 3), nn.Flatten())
        x = torch.randn(2, 3, 9, 9)
        model(x).square().sum().backward()
        want = [model(x), model[0].weight.grad.clone()]
        model.zero_grad()
        model.to(DEVICE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch recommends torch.export
            traced = torch.jit.trace(model, x.to(DEVICE))
            self.assertEqual(str(traced.inlined_graph).count("aten::_convolution("), 2)
            traced(x.to(DEVICE)).square().sum().backward()
            buffer = io.BytesIO()
            torch.jit.save(traced, buffer)
            buffer.seek(0)
            loaded = torch.jit.load(buffer, map_location=DEVICE)
            for y in (traced(x.to(DEVICE)), loaded(x.to(DEVICE)), torch.jit.freeze(loaded.eval())(x.to(DEVICE))):
                torch.testing.assert_close(y.cpu(), want[0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(model[0].weight.grad.cpu(), want[1], rtol=1e-4, atol=1e-4)


class Deterministic(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True)

    def tearDown(self):
        torch.use_deterministic_algorithms(False)

    def test_new_memory_is_filled(self):
        for make in (lambda **k: torch.empty(5, 3, **k), lambda **k: torch.empty_strided((5, 3), (1, 5), **k),
                     lambda **k: torch.empty(0, **k).resize_(5, 3), lambda **k: torch.empty_like(torch.ones(5, 3, **k))):
            self.assertTrue(make(device=DEVICE).isnan().all().item())
            self.assertEqual(set(make(device=DEVICE, dtype=torch.int16).flatten().tolist()), {32767})
        torch.utils.deterministic.fill_uninitialized_memory = False
        try:
            torch.zeros(4096, device=DEVICE).add(1)  # leaves a block that was written
            self.assertFalse(torch.empty(4096, device=DEVICE).isnan().any().item())
        finally:
            torch.utils.deterministic.fill_uninitialized_memory = True

    def test_same_bits_each_time(self):
        """Operators whose CUDA kernels add in any order: here the order is fixed, so that nothing has to raise."""
        torch.manual_seed(0)
        table, rows = torch.randn(7, 33, device=DEVICE), torch.randint(0, 7, (3000,), device=DEVICE)
        values = torch.randn(3000, 33, device=DEVICE)
        image, weight = torch.randn(4, 6, 31, 29, device=DEVICE), torch.randn(8, 6, 3, 3, device=DEVICE)
        signal = torch.randn(2, 3, 500, device=DEVICE)

        def gradient(function, *leaves):
            leaves = [leaf.clone().requires_grad_() for leaf in leaves]
            out = function(*leaves)
            return torch.autograd.grad((out * torch.linspace(-1, 1, out.numel(), device=DEVICE).view_as(out)).sum(), leaves)

        cases = {
            "index_add": lambda: [table.index_add(0, rows, values)],
            "scatter_add": lambda: [table.scatter_add(0, rows[:, None].expand(-1, 33), values)],
            "index_put": lambda: [table.index_put((rows,), values, accumulate=True)],
            "put": lambda: [table.clone().put_(rows % 230, values[:, 0])],
            "cumsum": lambda: [values.cumsum(0)],
            "embedding": lambda: gradient(lambda t: F.embedding(rows, t), table),
            "gather": lambda: gradient(lambda t: t.gather(0, rows[:, None].expand(-1, 33)), table),
            "convolution": lambda: gradient(lambda x, w: F.conv2d(x, w, padding=1), image, weight),
            "max pooling": lambda: gradient(lambda x: F.max_pool2d(x, 3, 1), image),
            "interpolate": lambda: gradient(lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), image),
            "padding": lambda: gradient(lambda x: F.pad(x, (7, 9), mode="reflect"), signal),
            "nll_loss": lambda: gradient(lambda t: F.nll_loss(t.log_softmax(1)[rows % 7], rows).expand(1), table),
        }
        for name, case in cases.items():
            first = [t.clone() for t in case()]
            for _ in range(5):
                for a, b in zip(first, case()):
                    self.assertTrue(torch.equal(a, b), name)


def child(inbox, outbox, model):
    """Takes tensors, checks and changes them, sends one of its own, and waits until that has been looked at."""
    whole, part, plain, empty = inbox.get()
    result = {"devices": [str(t.device) for t in (whole, part, plain, empty, model.weight)],
              "views": part.tolist() == whole[1:, ::2].tolist(), "one storage": part.untyped_storage().data_ptr() ==
              whole.untyped_storage().data_ptr(), "plain": plain.tolist(), "empty": tuple(empty.shape),
              "parameter": isinstance(model.weight, nn.Parameter) and model.weight.requires_grad,
              "product": model(whole[:, :2]).tolist()}
    whole.mul_(2)
    with torch.no_grad():
        model.weight.fill_(3)
    torch.dml.synchronize()
    outbox.put(result)
    mine = torch.arange(4, dtype=torch.int64, device=DEVICE)
    outbox.put(mine)
    inbox.get()
    outbox.put(mine.tolist())


class Sharing(unittest.TestCase):
    def test_with_a_child(self):
        context = mp.get_context("spawn")
        inbox, outbox = context.Queue(), context.Queue()
        torch.manual_seed(1)
        whole = torch.randn(3, 5, device=DEVICE)
        model, part, before = nn.Linear(2, 2).to(DEVICE), whole[1:, ::2], whole.clone()
        want = model(before[:, :2]).tolist()
        process = context.Process(target=child, args=(inbox, outbox, model))
        process.start()
        inbox.put((whole, part, torch.ones(2), torch.empty(0, 3, device=DEVICE)))
        result = outbox.get(timeout=120)
        self.assertEqual(result.pop("product"), want)
        self.assertEqual(result, {"devices": ["dml:0", "dml:0", "cpu", "dml:0", "dml:0"], "views": True, "one storage": True,
                                  "plain": [1, 1], "empty": (0, 3), "parameter": True})
        shared = torch.ops.torch_directml.host_memory(0)  # others get copies
        self.assertEqual(whole.tolist(), (before * 2 if shared else before).tolist())
        self.assertEqual(part.tolist(), whole[1:, ::2].tolist())
        self.assertEqual((model.weight == 3).all().item(), shared)
        theirs = outbox.get(timeout=120)
        self.assertEqual((theirs.tolist(), theirs.dtype, theirs.device), ([0, 1, 2, 3], torch.int64, DEVICE))
        theirs.add_(10)
        torch.dml.synchronize()
        inbox.put("go on")
        self.assertEqual(outbox.get(timeout=120), [10, 11, 12, 13] if shared else [0, 1, 2, 3])
        process.join(60)
        self.assertEqual(process.exitcode, 0)
        self.assertEqual((theirs + 1).tolist(), [11, 12, 13, 14] if shared else [11, 12, 13, 14])

    def test_within_the_process(self):
        queue, x = mp.get_context("spawn").Queue(), torch.arange(6.0, device=DEVICE)
        queue.put((x, x[2:], torch.complex(x, x).conj()))
        whole, part, conjugate = queue.get(timeout=60)
        whole[3] = 50
        self.assertEqual(part.tolist(), [2, 50, 4, 5])
        self.assertEqual(conjugate.tolist(), [complex(i, -i) for i in range(6)])
        if torch.ops.torch_directml.host_memory(0):
            self.assertEqual(x.data_ptr(), whole.data_ptr())
            with self.assertRaisesRegex(RuntimeError, "resizable"):
                whole.resize_(1000)

    def test_what_cannot_be_sent(self):
        with self.assertRaisesRegex(RuntimeError, "non-leaf tensor"):
            ForkingPickler.dumps(torch.ones(2, device=DEVICE, requires_grad=True) * 2)


if __name__ == "__main__":
    unittest.main()
