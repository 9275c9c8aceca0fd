# SPDX-License-Identifier: Apache-2.0
"""The device dml on the Vulkan adapter, whose memory the host does not see: addresses, copies, work that goes on while
the host does, training, compiled models. Shapes are few and small: a software driver compiles each pipeline for long."""
import copy
import ctypes
import gc
import io
import os
import subprocess
import sys
import threading
import unittest

os.environ["ANYDML_ADAPTERS"] = "vulkan"  # before the libraries are loaded

import torch  # noqa: E402
import torch_directml  # noqa: E402
from torch import nn  # noqa: E402

if not torch_directml.is_available():
    print("no Vulkan adapter on this machine: skipped")
    sys.exit(0)
DEVICE = torch_directml.device()


def close(got, want, tolerance=1e-5):
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=tolerance, atol=tolerance)


class Memory(unittest.TestCase):
    def test_addresses(self):
        x = torch.arange(64.0, device=DEVICE)
        self.assertFalse(torch.ops.torch_directml.host_memory(DEVICE.index))
        self.assertEqual(x.data_ptr() % 256, 0)
        view = x.view(8, 8)[1:, 2:]
        self.assertEqual(view.data_ptr(), x.data_ptr() + 4 * 10)
        self.assertEqual(x.t().data_ptr(), x.data_ptr())
        self.assertEqual(view.cpu().tolist(), torch.arange(64.0).view(8, 8)[1:, 2:].tolist())
        view += 100  # between its elements nothing changes
        want = torch.arange(64.0)
        want.view(8, 8)[1:, 2:] += 100
        self.assertEqual(x.tolist(), want.tolist())
        x[3:10] = x[5:12] * 2  # places that are no multiples of 16 bytes, and overlap
        want[3:10] = want[5:12].clone() * 2
        self.assertEqual(x.tolist(), want.tolist())
        address = x.data_ptr()
        del x, view
        gc.collect()
        self.assertEqual(torch.empty(64, device=DEVICE).data_ptr(), address)  # of the pool

    def test_copies_and_types(self):
        types = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                 torch.uint8, torch.bool)
        for dtype in types:
            x = torch.tensor([[0, 1, 2, 3, 5], [7, 11, 13, 17, 100]]).to(dtype)
            self.assertTrue(torch.equal(x.to(DEVICE).cpu(), x), dtype)
            self.assertTrue(torch.equal(x.t().to(DEVICE).t().cpu(), x), dtype)
            self.assertTrue(torch.equal(x.to(DEVICE).clone().cpu(), x), dtype)
            self.assertTrue(torch.equal(x[:, 1:3].to(DEVICE).contiguous().cpu(), x[:, 1:3]), dtype)
            self.assertTrue(torch.equal(x.to(DEVICE).to(torch.float32).cpu(), x.to(torch.float32)), dtype)
            self.assertTrue(torch.equal(x.float().to(DEVICE).to(dtype).cpu(), x), dtype)
        x = torch.randn(3, 4, 5)
        y = torch.zeros(5, 4, 3, device=DEVICE).permute(2, 1, 0)
        y.copy_(x)
        close(y, x, 0)
        pinned = torch.empty(3, 4, 5).pin_memory()
        pinned.copy_(y, non_blocking=True)
        torch.accelerator.synchronize()
        close(pinned, x, 0)
        self.assertEqual(torch.tensor(2.5, device=DEVICE).item(), 2.5)

    def test_amounts(self):
        free, total = torch.dml.mem_get_info()
        self.assertTrue(0 < free <= total)
        before = torch.dml.memory_allocated()
        x = torch.empty(1 << 20, device=DEVICE)
        self.assertEqual(torch.dml.memory_allocated() - before, 4 << 20)
        self.assertLessEqual(torch.dml.mem_get_info()[0], total - (4 << 20))
        self.assertGreaterEqual(torch.dml.memory_reserved(), 4 << 20)
        del x
        self.assertEqual(torch.dml.memory_allocated(), before)
        torch.dml.empty_cache()
        with self.assertRaises(torch.OutOfMemoryError):
            torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)
        self.assertEqual(torch.ones(3, device=DEVICE).sum().item(), 3)

    def test_saving(self):
        module = nn.Linear(3, 2).to(DEVICE)
        file = io.BytesIO()
        torch.save(module.state_dict(), file)
        for where in (None, "cpu", "dml"):
            file.seek(0)
            loaded = torch.load(file, map_location=where)
            self.assertEqual(loaded["weight"].device.type, "cpu" if where == "cpu" else "dml")
            close(loaded["weight"].cpu(), module.weight.detach().cpu(), 0)
        again = copy.deepcopy(module)
        self.assertNotEqual(again.weight.data_ptr(), module.weight.data_ptr())
        close(again.weight, module.weight.cpu(), 0)


class Order(unittest.TestCase):
    def test_much_work_and_one_wait(self):
        """Memory goes back to the pool, and to the device, while work that uses it waits."""
        x, want = torch.zeros(33, device=DEVICE), 0
        for step in range(2000):
            x = x + 1 if step % 2 else torch.add(x, x, alpha=0) + 1
            if step % 700 == 0:
                torch.dml.empty_cache()
            want += 1
        self.assertEqual(x.tolist(), [want] * 33)

    def test_numbers_that_change(self):
        x = torch.zeros(5, device=DEVICE)
        for step in range(3000):
            x += step % 10 + 0.5
        self.assertEqual(x.tolist(), [300 * 50.0] * 5)

    def test_streams_and_events(self):
        begin, end = torch.Event("dml", enable_timing=True), torch.Event("dml", enable_timing=True)
        plain, stream = torch.Event("dml"), torch.Stream("dml")
        begin.record()
        with stream:
            x = torch.ones(16, 16, device=DEVICE)
            for _ in range(20):
                y = x + x
            plain.record()
            end.record()
        torch.accelerator.current_stream().wait_event(plain)
        plain.synchronize()
        self.assertTrue(plain.query() and end.query())
        self.assertGreater(begin.elapsed_time(end), 0)
        stream.synchronize()
        self.assertTrue(stream.query())
        self.assertEqual(y[3, 3].item(), 2)

    def test_threads(self):
        problems = []

        def work(seed):
            try:
                x = torch.full((7,), float(seed), device=DEVICE)
                for step in range(200):
                    x = x * 2 - seed + (step % 3)
                    x -= step % 3
                if x.tolist() != [float(seed)] * 7:
                    problems.append((seed, x.tolist()))
            except BaseException as error:  # pylint: disable=broad-except
                problems.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def test_random_numbers(self):
        torch.manual_seed(7)
        a, b = torch.rand(1000, device=DEVICE), torch.rand(1000, device=DEVICE)
        state = torch.dml.get_rng_state()
        c = torch.rand(1000, device=DEVICE)
        torch.manual_seed(7)
        self.assertTrue(torch.equal(a.cpu(), torch.rand(1000, device=DEVICE).cpu()))
        torch.dml.set_rng_state(state)
        self.assertTrue(torch.equal(c.cpu(), torch.rand(1000, device=DEVICE).cpu()))
        self.assertFalse(torch.equal(a.cpu(), b.cpu()))
        self.assertTrue(0 <= a.min().item() and a.max().item() < 1 and abs(a.mean().item() - 0.5) < 0.05)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))))


class Networks(unittest.TestCase):
    def train(self, compiled):
        torch.manual_seed(3)
        here = Network()
        there = copy.deepcopy(here).to(DEVICE)
        run = torch.compile(there, backend="directml") if compiled else there
        mine, theirs = (torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (here, there))
        losses = []
        for step in range(6):
            generator = torch.Generator().manual_seed(step)
            x, t = torch.randn(8, 6, generator=generator), torch.randint(0, 4, (8,), generator=generator)
            want = nn.functional.cross_entropy(here(x), t)
            got = nn.functional.cross_entropy(run(x.to(DEVICE)), t.to(DEVICE))
            close(got, want)
            for optimizer, loss in ((mine, want), (theirs, got)):
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(want.item())
        for a, b in zip(here.parameters(), there.parameters()):
            close(b, a, 2e-5)
        self.assertLess(losses[-1], losses[0] + 1)
        self.assertEqual(torch_directml.fallbacks(), {})

    def test_training(self):
        torch_directml.fallbacks(clear=True)
        self.train(False)

    def test_compiled_training(self):
        torch_directml.fallbacks(clear=True)
        self.train(True)

    def test_parameters_are_constants(self):
        """In inference, until they change; parameters that change again and again become inputs, as do those for which the
        device has too little memory."""
        from torch_directml import compiler
        torch.manual_seed(4)
        here = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5)).eval()
        here[1].running_mean.normal_(), here[1].running_var.uniform_(0.5, 2)
        there = copy.deepcopy(here).to(DEVICE)

        def run(compiled):
            before, x = compiler.statistics["graphs"], torch.randn(2, 3, 5, 5)
            with torch.no_grad():
                close(compiled(x.to(DEVICE)), here(x), 2e-5)
            return compiler.statistics["graphs"] - before

        def changed():
            with torch.no_grad():
                for m in (here, there):
                    m[4].weight.mul_(1.25)

        def exchanged():
            for m in (here, there):
                m[4].bias = nn.Parameter(torch.full((5,), 0.5, device=m[4].bias.device))

        def statistics():
            for m in (here, there):
                m[1].running_mean.data.add_(1)

        compiled = torch.compile(there, backend="directml")
        self.assertEqual([run(compiled) for _ in range(3)], [1, 0, 0])
        for change in (changed, exchanged):
            change()
            self.assertGreaterEqual(run(compiled), 1, change)
            self.assertEqual(run(compiled), 0)
        statistics()
        run(compiled)
        for _ in range(3):
            changed()
            self.assertEqual(run(compiled), 0, "inputs by now")
        amounts, torch.dml.mem_get_info = torch.dml.mem_get_info, lambda *_: (64, 1 << 30)
        try:
            torch._dynamo.reset()
            compiled = torch.compile(there, backend="directml")
            run(compiled)
            changed()
            self.assertEqual(run(compiled), 0, "inputs from the beginning")
        finally:
            torch.dml.mem_get_info = amounts

        class Full(compiler._Builder):
            def __init__(self, module, device_index, fixed):
                if any(tensor is not None for tensor in fixed):
                    raise compiler.Unsupported("out of memory")
                super().__init__(module, device_index, fixed)

        builder, compiler._Builder = compiler._Builder, Full
        try:
            torch._dynamo.reset()
            self.assertEqual(run(torch.compile(there, backend="directml")), 1, "without constants")
        finally:
            compiler._Builder = builder

    def test_fallback(self):
        x = torch.tensor([[2.0, 1], [1, 3]])
        torch_directml.fallbacks(clear=True)
        got = torch.linalg.eigvals(x.to(DEVICE))
        self.assertEqual(got.device, DEVICE)
        close(torch.view_as_real(got.cpu()).sort(0)[0], torch.view_as_real(torch.linalg.eigvals(x)).sort(0)[0])
        self.assertEqual(list(torch_directml.fallbacks(clear=True)), ["aten::_linalg_eigvals"])

    def test_vision(self):
        """The compositions of torchvision's operators: devices in host memory do not use them for regions."""
        test = os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_vision.py")
        ran = subprocess.run([sys.executable, test], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=int(os.environ.get("VERBOSE", "1")))
