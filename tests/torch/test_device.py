# SPDX-License-Identifier: Apache-2.0
"""The device dml as torch sees it: memory, copies, random numbers, streams and errors."""
import copy
import gc
import io
import threading
import unittest

import numpy
import torch
import torch_directml

DEVICE = torch_directml.device()


class Memory(unittest.TestCase):
    def test_blocks_are_kept_and_given_back(self):
        gc.collect()
        torch.dml.empty_cache()
        before = torch.dml.memory_allocated()
        tensor = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)
        self.assertEqual(torch.dml.memory_allocated() - before, 1 << 20)
        address = tensor.data_ptr()
        del tensor
        self.assertEqual(torch.dml.memory_allocated(), before)
        self.assertGreaterEqual(torch.dml.memory_reserved(), before + (1 << 20))
        self.assertEqual(torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE).data_ptr(), address)
        torch.dml.empty_cache()
        self.assertLess(torch.dml.memory_reserved(), before + (1 << 20))
        self.assertGreaterEqual(torch.dml.max_memory_allocated(), before + (1 << 20))
        torch.dml.reset_peak_memory_stats()
        self.assertEqual(torch.dml.max_memory_allocated(), torch.dml.memory_allocated())
        free, total = torch.dml.mem_get_info()
        self.assertTrue(0 < free <= total)

    def test_out_of_memory(self):
        with self.assertRaisesRegex(torch.OutOfMemoryError, "Tried to allocate 1048576.00 GiB"):
            torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)
        total = torch.dml.mem_get_info()[1]
        torch.dml.set_per_process_memory_fraction(((64 << 20) + torch.dml.memory_reserved()) / total)
        try:
            with self.assertRaises(torch.OutOfMemoryError):
                torch.empty(256 << 20, dtype=torch.uint8, device=DEVICE)
            self.assertEqual(torch.ones(1000, device=DEVICE).sum().item(), 1000)  # and all goes on
            x = torch.ones(12 << 20, device=DEVICE, requires_grad=True)
            for use in (lambda: x.exp(), lambda: torch.cat([x, x]), lambda: torch.nonzero(x), lambda: x.sum().backward()):
                with self.assertRaisesRegex(torch.OutOfMemoryError, "Tried to allocate .* MiB"):
                    use()
            del x
            # What is kept of other sizes is given back first.
            torch.empty(48 << 20, dtype=torch.uint8, device=DEVICE)
            torch.empty(60 << 20, dtype=torch.uint8, device=DEVICE)
        finally:
            torch.dml.set_per_process_memory_fraction(1)
        torch.empty(256 << 20, dtype=torch.uint8, device=DEVICE)

    def test_pinned_memory(self):
        tensor = torch.arange(1000.0).pin_memory()
        self.assertTrue(tensor.is_pinned())
        self.assertTrue(tensor[10:].is_pinned())
        self.assertFalse(torch.arange(10.0).is_pinned())
        self.assertTrue(torch.equal(tensor.to(DEVICE, non_blocking=True).cpu(), torch.arange(1000.0)))

    def test_nothing_is_left_behind(self):
        x = torch.randn(100, device=DEVICE, requires_grad=True)

        def step():
            y = (x * 2 + 1).relu().reshape(10, 10)
            (y @ y.t()).sum().backward()
            x.grad = None

        step()
        gc.collect()
        before = torch.dml.memory_allocated()
        for _ in range(200):
            step()
        gc.collect()
        self.assertEqual(torch.dml.memory_allocated(), before)

    def test_hundred_thousand_operators(self):
        """Neither the device's memory nor the process grows: views, work in place, gradients, shapes that come again and
        again, numbers that change, errors, results that the fallback makes."""
        weight = torch.randn(8, 8, device=DEVICE, requires_grad=True)

        def work(i):  # 20 operators
            x = torch.ones(8, 5 + i % 40, device=DEVICE)
            y = (weight @ x).mul(1 + i / 7).add_(i)[2:, 1:].t()
            y = torch.cat([y.relu(), y.tanh()]).sum(0, keepdim=True).clone()
            y[0, 0] = 2
            y.mean().backward()
            weight.grad = None
            if i % 50 == 0:
                torch.linalg.eig(torch.eye(3, device=DEVICE))  # the CPU's
                with self.assertRaises(RuntimeError):
                    x @ x

        def resident():
            gc.collect()
            torch.dml.synchronize()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096

        for i in range(600):
            work(i)
        before, allocated = resident(), torch.dml.memory_allocated()
        for i in range(5000):
            work(i)
        self.assertEqual(torch.dml.memory_allocated(), allocated)
        self.assertLess(resident() - before, 4 << 20)


class Copies(unittest.TestCase):
    TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8,
             torch.uint8, torch.bool, torch.complex64)

    def test_every_type_and_layout(self):
        for there in self.TYPES:
            for here in self.TYPES:
                if there.is_complex and not here.is_complex:
                    continue
                source = (torch.randn(5, 7, 3) * 3).to(there)
                for view in (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[1:, ::2], lambda t: t[:, :1].expand(5, 4, 3)):
                    want = view(source).to(here)
                    got = view(source.to(DEVICE)).to(here)
                    self.assertEqual(got.dtype, here)
                    self.assertTrue(torch.equal(got.cpu(), want), (there, here))
                    target = torch.zeros(2, *want.shape, dtype=here, device=DEVICE)[1]
                    target.copy_(view(source))
                    self.assertTrue(torch.equal(target.cpu(), want), (there, here))

    def test_gaps_stay(self):
        target = torch.zeros(6, 6, device=DEVICE)
        target[1::2, ::3] = torch.ones(3, 2)
        want = torch.zeros(6, 6)
        want[1::2, ::3] = 1
        self.assertTrue(torch.equal(target.cpu(), want))

    def test_views_of_complex_numbers(self):
        x = torch.randn(4, dtype=torch.complex64)
        y = x.to(DEVICE)
        self.assertTrue(torch.equal(y.conj().cpu(), x.conj().resolve_conj()))
        self.assertTrue(torch.equal(y.conj().imag.cpu(), x.conj().imag.resolve_neg()))
        self.assertTrue(torch.equal(torch.view_as_real(y).cpu(), torch.view_as_real(x)))
        self.assertEqual(y.conj()[1].item(), x.conj()[1].item())
        z = torch.empty_like(y).conj()
        z.copy_(x)
        self.assertTrue(torch.equal(z.cpu(), x))
        y.requires_grad_(True)
        torch.sgn(y).abs().sum().backward()
        self.assertEqual(y.grad.shape, y.shape)

    def test_resize_and_set(self):
        x = torch.arange(4.0, device=DEVICE)
        x.resize_(8)
        self.assertEqual(x.untyped_storage().nbytes(), 32)
        self.assertTrue(torch.equal(x[:4].cpu(), torch.arange(4.0)))
        y = torch.empty(0, device=DEVICE)
        y.set_(x)
        self.assertEqual(y.data_ptr(), x.data_ptr())
        y.set_(x.untyped_storage(), 2, (2, 2), (1, 2))
        self.assertEqual(y[0, 0].item(), 2)
        y.set_()
        self.assertEqual(y.numel(), 0)
        out = torch.empty(0, device=DEVICE)
        torch.mm(torch.ones(2, 3, device=DEVICE), torch.ones(3, 4, device=DEVICE), out=out)
        self.assertEqual(out.cpu().tolist(), [[3.0] * 4] * 2)

    def test_saving(self):
        module = torch.nn.Linear(3, 2).to(DEVICE)
        file = io.BytesIO()
        torch.save({"module": module.state_dict(), "x": module.weight.detach()}, file)
        for where in (None, "cpu", "dml", "dml:0", DEVICE):
            file.seek(0)
            loaded = torch.load(file, map_location=where)
            self.assertEqual(loaded["x"].device.type, "cpu" if where == "cpu" else "dml")
            self.assertTrue(torch.equal(loaded["module"]["weight"].cpu(), module.weight.detach().cpu()))
        file = io.BytesIO()
        torch.save(torch.arange(3.0), file)
        file.seek(0)
        self.assertEqual(torch.load(file, map_location="dml").device, DEVICE)
        again = copy.deepcopy(module)
        self.assertEqual(again.weight.device, DEVICE)
        self.assertNotEqual(again.weight.data_ptr(), module.weight.data_ptr())
        self.assertTrue(torch.equal(again.weight.cpu(), module.weight.cpu()))

    def test_dlpack(self):
        x = torch.arange(6.0, device=DEVICE).reshape(2, 3)
        address = x.data_ptr()
        for y in (torch.from_dlpack(torch.utils.dlpack.to_dlpack(x.t())), torch.from_dlpack(x.t())):
            self.assertEqual((y.device, y.data_ptr(), y.stride()), (DEVICE, address, (1, 3)))
        self.assertEqual(x.__dlpack_device__(), (12, 0))  # kDLExtDev
        del x  # its memory lives on in the other
        gc.collect()
        self.assertEqual((y + torch.zeros(3, 2, device=DEVICE)).tolist(), [[0, 3], [1, 4], [2, 5]])
        host = torch.from_dlpack(y, device="cpu")
        self.assertEqual((host.device.type, host.tolist()), ("cpu", [[0, 3], [1, 4], [2, 5]]))
        with self.assertRaisesRegex((BufferError, RuntimeError), "gradient|[Uu]nsupported device"):
            numpy.from_dlpack(y.clone().requires_grad_())

    def test_inference_mode(self):
        outside = torch.ones(3, 4, device=DEVICE)
        with torch.inference_mode():
            inside = torch.ones(3, 4, device=DEVICE)
            for x in (inside, outside):
                view = x.t()[1:].unfold(0, 2, 1).select(0, 0)
                self.assertEqual(view.shape, (3, 2))
                view += 1
                self.assertEqual(x.cpu()[0].tolist(), [1.0, 2, 2, 1])
            self.assertTrue(inside.is_inference() and (inside + 1).is_inference())
        outside.mul_(2)
        self.assertFalse(outside.is_inference())


class Random(unittest.TestCase):
    def test_seeds_and_states(self):
        for draw in (lambda **k: torch.randn(33, device=DEVICE, **k), lambda **k: torch.rand(33, device=DEVICE, **k),
                     lambda **k: torch.randint(0, 1000, (33,), device=DEVICE, **k),
                     lambda **k: torch.randperm(33, device=DEVICE, **k)):
            torch.manual_seed(7)
            a, b = draw(), draw()
            self.assertFalse(torch.equal(a, b))
            torch.manual_seed(7)
            self.assertTrue(torch.equal(a, draw()))
            state = torch.dml.get_rng_state()
            b = draw()
            torch.dml.set_rng_state(state)
            self.assertTrue(torch.equal(b, draw()))
            generator = torch.Generator(device=DEVICE)
            self.assertEqual(generator.device, DEVICE)
            generator.manual_seed(3)
            a = draw(generator=generator)
            state = generator.get_state()
            b = draw(generator=generator)
            generator.set_state(state)
            self.assertTrue(torch.equal(b, draw(generator=generator)))
            self.assertTrue(torch.equal(a, draw(generator=generator.manual_seed(3))))
        torch.dml.manual_seed_all(9)
        self.assertEqual(torch.dml.initial_seed(), 9)
        with torch.random.fork_rng(devices=[0], device_type="dml"):
            state = torch.dml.get_rng_state()
            torch.rand(4, device=DEVICE)
        self.assertTrue(torch.equal(state, torch.dml.get_rng_state()))
        with self.assertRaisesRegex(RuntimeError, "RNG state"):
            torch.dml.set_rng_state(torch.zeros(3, dtype=torch.uint8))

    def test_distributions(self):
        torch.manual_seed(0)
        n = 100000
        x = torch.randn(n, device=DEVICE).cpu().double()
        self.assertLess(abs(x.mean().item()), 0.02)
        self.assertLess(abs(x.std().item() - 1), 0.02)
        x = torch.empty(n, device=DEVICE).uniform_(2, 5).cpu()
        self.assertTrue(2 <= x.min() and x.max() <= 5)
        self.assertLess(abs(x.mean().item() - 3.5), 0.02)
        x = torch.empty(n, device=DEVICE).bernoulli_(0.3).cpu()
        self.assertLess(abs(x.mean().item() - 0.3), 0.01)
        x = torch.nn.functional.dropout(torch.ones(n, device=DEVICE), 0.25).cpu()
        self.assertLess(abs((x == 0).float().mean().item() - 0.25), 0.01)
        self.assertLess(abs(x.max().item() - 4 / 3), 1e-5)
        self.assertEqual(sorted(torch.randperm(100, device=DEVICE).tolist()), list(range(100)))

    def test_gamma_distributions(self):
        """Means and variances within 6 standard errors, and how many are below the median."""
        torch_directml.fallbacks(clear=True)
        torch.manual_seed(0)
        n = 100000
        for alpha in (0.3, 1.0, 2.5, 90.0):
            for dtype in (torch.float32, torch.float64):
                x = torch._standard_gamma(torch.full((n,), alpha, dtype=dtype, device=DEVICE)).cpu().double()
                self.assertGreater(x.min(), 0)
                self.assertLess(abs(x.mean().item() / alpha - 1), 6 / (alpha * n) ** 0.5)
                self.assertLess(abs(x.var().item() / alpha - 1), 6 * ((6 / alpha + 2) / n) ** 0.5)
                at_most = torch.special.gammainc(torch.tensor(alpha).double(), torch.tensor(0.8 * alpha).double()).item()
                self.assertLess(abs((x <= 0.8 * alpha).double().mean().item() - at_most), 3 / n ** 0.5)
        self.assertGreater(torch._standard_gamma(torch.full((99,), 1e-4, device=DEVICE)).min().item(), 0)
        x = torch._sample_dirichlet(torch.tensor([0.5, 2, 7.5], device=DEVICE).expand(n, 3)).cpu().double()
        self.assertLess((x.sum(1) - 1).abs().max().item(), 1e-6)
        self.assertLess((x.mean(0) - torch.tensor([0.05, 0.2, 0.75]).double()).abs().max().item(), 6 * 0.14 / n ** 0.5)
        generator = torch.Generator(device=DEVICE)
        draws = [torch._standard_gamma(torch.ones(5, device=DEVICE), generator.manual_seed(2)) for _ in range(2)]
        self.assertTrue(torch.equal(*draws))
        self.assertEqual(torch_directml.fallbacks(clear=True), {})


class Order(unittest.TestCase):
    def test_streams_and_events(self):
        begin, end = torch.Event("dml", enable_timing=True), torch.Event("dml", enable_timing=True)
        stream = torch.Stream("dml")
        begin.record()
        with stream:
            self.assertEqual(torch.accelerator.current_stream(), stream)
            x = torch.ones(100, 100, device=DEVICE)
            y = x @ x
            end.record()
        self.assertNotEqual(torch.accelerator.current_stream(), stream)
        end.synchronize()
        self.assertTrue(end.query() and stream.query())
        self.assertGreaterEqual(begin.elapsed_time(end), 0)
        torch.accelerator.current_stream().wait_event(end)
        y.record_stream(stream)
        stream.synchronize()
        self.assertEqual(y[3, 3].item(), 100)

    def test_threads(self):
        problems = []

        def work(seed):
            try:
                generator = torch.Generator().manual_seed(seed)
                for size in range(1, 40):
                    a, b = torch.randn(size, size, generator=generator), torch.randn(size, size, generator=generator)
                    a.requires_grad_(True)
                    x, y = a.detach().to(DEVICE).requires_grad_(True), b.to(DEVICE)
                    want = ((a @ b).relu() + b).tanh().sum()
                    got = ((x @ y).relu() + y).tanh().sum()
                    want.backward()
                    got.backward()
                    torch.testing.assert_close(got.cpu(), want)
                    torch.testing.assert_close(x.grad.cpu(), a.grad)
            except BaseException as error:  # pylint: disable=broad-except
                problems.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


class Errors(unittest.TestCase):
    def test_devices_do_not_mix(self):
        x, y = torch.ones(3, device=DEVICE), torch.ones(3)
        for call in (lambda: x + y, lambda: y + x, lambda: x.add_(y), lambda: torch.where(x > 0, x, y),
                     lambda: torch.cat([x, y]), lambda: torch.mm(x.view(1, 3), y.view(3, 1)),
                     lambda: torch.nn.functional.linear(x, y.view(1, 3)), lambda: torch._foreach_add([x], [y]),
                     lambda: torch.nn.functional.embedding(torch.tensor([0]), x.view(1, 3)), lambda: torch.equal(x, y),
                     lambda: x.index_put((torch.tensor([0, 1, 2]),), y), lambda: x.masked_fill(y > 0, 1),
                     lambda: torch.linalg.eigvals(x.view(1, 3).t() @ x.view(1, 3)).real + y,
                     lambda: torch.add(x, x, out=y), lambda: y.add_(x)):
            with self.assertRaisesRegex(RuntimeError, "Expected all tensors to be on the same device"):
                call()
        x[torch.tensor([0])] = y[0]
        x.copy_(y)
        with self.assertRaisesRegex(RuntimeError, r"dml:0 and cpu! \(when checking argument for argument other in method "
                                    r"aten::add"):
            x.add(y)
        self.assertEqual((x + torch.tensor(2.0)).tolist(), [3.0] * 3)  # a number is a number
        self.assertEqual((torch.tensor(2.0) * x).device, DEVICE)
        self.assertEqual(x[torch.tensor([0, 2])].tolist(), [1.0, 1.0])

    def test_wrong_arguments(self):
        x = torch.ones(2, 3, device=DEVICE)
        for call, text in ((lambda: x @ x, "mat1 and mat2 shapes cannot be multiplied"),
                           (lambda: x + torch.ones(2, 4, device=DEVICE), "must match the size"),
                           (lambda: x.view(7), "invalid for input of size 6"),
                           (lambda: torch.cat([x, x[:, 1:]]), "Sizes of tensors must match"),
                           (lambda: x.sum(5), "Dimension out of range"),
                           (lambda: x.to(torch.int64).add_(0.5), "can't be cast"),
                           (lambda: x.numpy(), "can't convert dml")):
            with self.assertRaises((RuntimeError, IndexError, TypeError)) as error:
                call()
            self.assertIn(text, str(error.exception))


if __name__ == "__main__":
    unittest.main()
