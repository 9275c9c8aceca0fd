# SPDX-License-Identifier: Apache-2.0
"""What torch itself and libraries expect of every device: the attributes of its module, parameters that stay the same when
a module moves, checkpointing, errors where CUDA or the CPU has them, and memory that does not grow with the steps."""
import copy
import importlib.util
import unittest
from unittest import mock

import torch
import torch.nn.functional as F
import torch_directml
from torch import nn
from torch.nn.attention.flex_attention import flex_attention
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

DEVICE = torch_directml.device()


class Module(unittest.TestCase):
    """torch.dml."""

    def test_checkpoints_draw_the_same_numbers_again(self):
        for reentrant in (False, True):
            x = torch.ones(64, 32, device=DEVICE, requires_grad=True)

            def function(x):
                return F.dropout(x, 0.5) * x

            torch.manual_seed(0)
            checkpoint(function, x, use_reentrant=reentrant).sum().backward()
            found, x.grad = x.grad.clone(), None
            torch.manual_seed(0)
            function(x).sum().backward()
            self.assertTrue(torch.equal(found, x.grad), f"use_reentrant={reentrant}")

    def test_what_is_asked_of_device_modules(self):
        dml = torch.get_device_module("dml")
        self.assertTrue(dml._initialized and dml.is_initialized())
        properties = dml.get_device_properties(0)
        self.assertEqual(properties.name, torch_directml.device_name(0))
        self.assertEqual(properties.total_memory, dml.mem_get_info(0)[1])
        self.assertEqual((properties.major, properties.minor), dml.get_device_capability("dml:0"))
        self.assertEqual(len(dml.default_generators), dml.device_count())
        self.assertEqual(dml._get_generator(DEVICE).initial_seed(), dml.default_generators[0].initial_seed())
        self.assertEqual(dml.default_stream().stream_id, 0)
        with dml.stream(None), dml.StreamContext(dml.Stream()):
            self.assertNotEqual(dml.current_stream(), dml.default_stream())
        self.assertTrue(dml.can_device_access_peer(0, 0))
        self.assertFalse(dml.is_current_stream_capturing())
        kept = torch.empty(1 << 20, dtype=torch.uint8, device=DEVICE)
        summary = dml.memory_summary()
        self.assertIn(str(dml.memory_allocated()), summary)
        self.assertLess(len(dml.memory_summary(abbreviated=True)), len(summary))
        del kept
        dml.reset_max_memory_allocated()
        self.assertEqual(dml.max_memory_allocated(), dml.memory_allocated())
        called = []
        dml._lazy_call(lambda: called.append(1))
        self.assertEqual(called, [1])
        self.assertTrue(torch.equal(dml.random.get_rng_state(), dml.get_rng_state()))
        self.assertEqual(dml.memory.memory_allocated(), dml.memory_allocated())
        with dml.amp.autocast():
            self.assertEqual((torch.ones(2, 2, device=DEVICE) @ torch.ones(2, 2, device=DEVICE)).dtype, torch.float16)
        self.assertEqual(dml.amp.GradScaler(init_scale=4.0).scale(torch.ones(1, device=DEVICE)).item(), 4)
        with self.assertRaises(AttributeError):
            dml.no_such_thing

    def test_data_parallel_on_one_device(self):
        module = nn.Linear(3, 2).to(DEVICE)
        x = torch.ones(4, 3, device=DEVICE)
        self.assertTrue(torch.equal(nn.DataParallel(module)(x), module(x)))

    def test_version(self):
        self.assertRegex(torch_directml.__version__, r"^\d+\.\d+\.\d+$")


class Moving(unittest.TestCase):
    """Module.to keeps parameters, as it does with CUDA."""

    def test_an_optimizer_made_before(self):
        module = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        module.to(DEVICE)
        before = module.weight.detach().clone()
        module(torch.ones(1, 3, device=DEVICE)).sum().backward()
        optimizer.step()
        self.assertTrue(torch.allclose(module.weight.cpu(), before.cpu() - 0.1))

    def test_what_hangs_on_parameters(self):
        module, seen = nn.Linear(2, 2), []
        module.weight.tag = 1
        module.weight.register_hook(lambda gradient: seen.append(gradient.device.type))
        module.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.device.type))
        weight = module.weight
        module(torch.ones(1, 2)).sum().backward()  # now there is a node that accumulates on the CPU
        seen.clear()
        module.to(DEVICE)
        self.assertIs(module.weight, weight)
        self.assertEqual((weight.tag, weight.device.type, weight.grad.device.type), (1, "dml", "dml"))
        module(torch.ones(1, 2, device=DEVICE)).sum().backward()
        self.assertEqual(seen, ["dml", "dml"])
        module.cpu()
        self.assertIs(module.weight, weight)
        self.assertEqual((weight.device.type, weight.grad.device.type), ("cpu", "cpu"))

    def test_shared_and_lazy_ones(self):
        module = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        module[1].weight = module[0].weight
        module.to(DEVICE).half().float()
        self.assertIs(module[1].weight, module[0].weight)
        lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).to(DEVICE)
        self.assertEqual(lazy(torch.ones(2, 5, device=DEVICE)).device.type, "dml")
        self.assertEqual(lazy[0].weight.device.type, "dml")

    def test_data(self):
        weight = nn.Linear(2, 2).weight
        want = weight.detach().clone()
        for device in (DEVICE, "cpu", DEVICE):
            weight.data = weight.data.to(device)
            self.assertEqual(weight.device, torch.device(device))
            self.assertTrue(torch.equal(weight.cpu(), want))
        weight.data = torch.zeros(5, dtype=torch.float64, device=DEVICE)
        self.assertEqual((weight.dtype, weight.shape), (torch.float64, (5,)))
        with self.assertRaisesRegex(RuntimeError, "incompatible tensor type"):
            weight.data = torch.zeros(5, device="meta")

    def test_copies(self):
        module = copy.deepcopy(nn.Linear(2, 2).to(DEVICE))
        self.assertEqual(module.weight.device.type, "dml")


class Memory(unittest.TestCase):
    def test_storages_that_were_resized(self):
        x, y = torch.ones(4, 4, device=DEVICE), torch.ones(4, 4, device=DEVICE)
        part, corner = x[2:], x[0, 0]
        x.untyped_storage().resize_(32)
        for read in (x.clone, x.cpu, lambda: x + 1, lambda: y.copy_(x), lambda: x.copy_(y), x.sum, part.relu,
                     lambda: torch.linalg.eigvals(x), x.tolist, lambda: y.add_(x), lambda: torch.stack([y, x])):
            with self.assertRaisesRegex(RuntimeError, "needs 64 bytes of its storage, which has been resized to 32"):
                read()
        x.untyped_storage().resize_(0)
        for read in (x.clone, x.cpu, corner.item, lambda: x.to(torch.float64)):
            with self.assertRaisesRegex(RuntimeError, "its storage, which has been resized to 0"):
                read()
        x.untyped_storage().resize_(64)
        x.fill_(3)
        self.assertEqual(x.sum().item(), 48)

    def test_optimizers_do_not_grow(self):
        """Steps of which each has other numbers, in lists: they are inputs of plans."""
        module = nn.Linear(16, 10).to(DEVICE)
        module(torch.ones(2, 16, device=DEVICE)).sum().backward()
        for kind in (torch.optim.Adam, torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adamax):
            optimizer = kind(module.parameters(), lr=1e-6)
            for _ in range(20):
                optimizer.step()
            before = torch.ops.torch_directml.cache(0)
            for _ in range(200):
                optimizer.step()
            self.assertLess(torch.ops.torch_directml.cache(0)[1] - before[1], 8, kind.__name__)

    def test_lists_of_numbers(self):
        values = [[0.5, 2, 3], [1, 2.5, 7]]
        for i in range(10):
            for numbers in values:
                numbers = [number + i for number in numbers]
                want = [torch.arange(3.0), torch.arange(4.0), torch.ones(2)]
                have = [x.to(DEVICE) for x in want]
                for name in ("_foreach_add", "_foreach_mul", "_foreach_div", "_foreach_pow"):
                    for a, b in zip(getattr(torch, name)(want, numbers), getattr(torch, name)(have, numbers)):
                        self.assertTrue(torch.allclose(b.cpu(), a), name)
        big = torch.tensor([(1 << 53) + 1], device=DEVICE)
        self.assertEqual([x.item() for x in torch._foreach_mul([big, big], [3, 1])], [3 * big.item(), big.item()])


class Errors(unittest.TestCase):
    def test_negative_powers_of_integers(self):
        x = torch.tensor([1, 2, 3], device=DEVICE)
        for k in range(8):
            self.assertEqual((x ** k).tolist(), [1, 2 ** k, 3 ** k])
        with self.assertRaisesRegex(RuntimeError, "Integers to negative integer powers are not allowed"):
            x ** -1
        self.assertEqual((torch.tensor([3], device=DEVICE) ** 35).item(), 3 ** 35)

    def test_binary_cross_entropy(self):
        if not torch.ops.torch_directml.host_memory(0):
            self.skipTest("memory of devices cannot be looked at")
        half = torch.full((2,), 0.5, device=DEVICE)
        for wrong in (1.5, -0.1, float("nan")):
            with self.assertRaisesRegex(RuntimeError, "all elements of input should be between 0 and 1"):
                F.binary_cross_entropy(torch.full((2,), wrong, device=DEVICE), half)
            with self.assertRaisesRegex(RuntimeError, "all elements of target should be between 0 and 1"):
                F.binary_cross_entropy(half, torch.full((2,), wrong, device=DEVICE))

    def test_kinds_of_tensors_that_are_not_there(self):
        x = torch.eye(3, device=DEVICE)
        sparse, row = torch.eye(3).to_sparse(), torch.arange(3, device=DEVICE)
        for make in (x.to_sparse_csr, lambda: x.to_sparse(layout=torch.sparse_csr),
                     lambda: sparse.to_sparse_csr().to(DEVICE),
                     lambda: torch.sparse_csr_tensor(row, row[:2], x[0, :2])):
            with self.assertRaisesRegex(NotImplementedError, "dml does not support sparse tensors"):
                make()
        for make in (lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
                     lambda: torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).to(DEVICE)):
            with self.assertRaisesRegex(NotImplementedError, "dml does not support quantized tensors"):
                make()
        with self.assertRaisesRegex(NotImplementedError, "dml does not support tensors of layout torch._mkldnn"):
            x.to_mkldnn()
        self.assertEqual(sparse.to_sparse_csr().to(torch.float64).to_dense().sum().item(), 3)  # on the CPU all is as it was
        x.requires_grad_()
        for make in (lambda: torch.nested.as_nested_tensor([x, x]), lambda: torch.nested.nested_tensor([x, x])):
            with self.assertRaisesRegex(NotImplementedError, "dml does not support nested tensors"):
                make()

    def test_sparse_buffers(self):
        """Modules that have them move; they are taken apart and made dense, and nothing else."""
        for sizes, dense in (((5, 7), 0), ((4, 3, 2), 1), ((9,), 0), ((2, 3, 4), 0)):
            whole = torch.randn(sizes)
            whole[torch.rand(sizes[: len(sizes) - dense]) < 0.6] = 0
            module = nn.Module()
            module.register_buffer("mask", whole.to_sparse(len(sizes) - dense))
            mask = module.to(DEVICE).mask
            self.assertEqual((mask.device, mask.layout, mask.shape), (DEVICE, torch.sparse_coo, whole.shape))
            self.assertTrue(torch.equal(mask.to_dense().cpu(), whole))
            self.assertTrue(torch.equal(mask.cpu().to_dense(), whole))
            self.assertEqual(mask.indices().device, DEVICE)
            self.assertTrue(torch.equal(mask.clone().values().cpu(), module.mask.cpu().values()))
        twice = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1]], device=DEVICE), torch.tensor([1.0, 2, 4], device=DEVICE), (3,))
        self.assertEqual(twice.to_dense().tolist(), [3, 4, 0])
        self.assertEqual(torch.zeros(2, 2, layout=torch.sparse_coo, device=DEVICE).to_dense().tolist(), [[0, 0], [0, 0]])

    def test_compiling_without_a_backend(self):
        """Inductor is the default: libraries that call torch.compile get the backend directml for tensors of the device."""
        from torch_directml import compiler
        torch._dynamo.reset()
        with mock.patch.object(compiler, "directml", side_effect=compiler.directml) as used:
            layer, x = nn.Linear(2, 2), torch.ones(1, 2)
            expected = layer(x)
            moved = layer.to(DEVICE)
            result = torch.compile(moved, mode="reduce-overhead", fullgraph=True)(x.to(DEVICE))
            result.sum().backward()
            torch.testing.assert_close(result.cpu(), expected)
            made = torch.compile(lambda n: torch.ones(n, device=DEVICE) * n)  # a graph without inputs of the device
            self.assertEqual(made(3).tolist(), [3, 3, 3])
        self.assertEqual(used.call_count, 2)
        with mock.patch.object(compiler, "directml") as unused, mock.patch("torch._inductor.compile_fx.compile_fx",
                                                                           side_effect=lambda module, *_, **__: module):
            self.assertEqual(torch.compile(lambda x: x + 1)(torch.ones(2)).tolist(), [2, 2])  # the CPU's graphs are Inductor's
        unused.assert_not_called()
        torch._dynamo.reset()

    def test_counting_flops(self):
        """The numbers that the CPU counts, by torch.utils.flop_counter and by the profiler, also when an operator runs first."""
        q = torch.randn(2, 3, 8, 16)
        totals, recorded = [], []
        for device in ("cpu", DEVICE):
            x = q.to(device).requires_grad_()
            with FlopCounterMode(display=False) as counter:
                F.scaled_dot_product_attention(x, x, x, is_causal=True).sum().backward()
            totals.append(counter.get_total_flops())
            y = torch.randn(37, 41, device=device)
            with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiler:
                y @ y.t(), y * y, F.linear(y, y, y[:, 0])
            recorded.append({event.key: event.flops for event in profiler.key_averages() if event.flops})
        if torch.__version__ >= "2.15":  # those before do not count the CPU's attention
            self.assertGreater(totals[0], 0)
            self.assertEqual(totals[0], totals[1])
        self.assertEqual(recorded[0], recorded[1])

    def test_assertions(self):
        """torch._assert_async, by which compiled and exported programs check values."""
        for value in (torch.tensor(True), torch.tensor([2.5]), torch.tensor(-1)):
            torch._assert_async(value.to(DEVICE))
            torch._assert_async(value.to(DEVICE), "unused")
        for value in (torch.tensor(False), torch.tensor([0.0]), torch.tensor(0)):
            with self.assertRaisesRegex(RuntimeError, "Expected Tensor with single nonzero value, but got zero"):
                torch._assert_async(value.to(DEVICE))
            with self.assertRaisesRegex(RuntimeError, "the reason"):
                torch._assert_async(value.to(DEVICE), "the reason")
            with self.assertRaisesRegex(RuntimeError, "the reason"):
                torch.ops.aten._functional_assert_async.msg(value.to(DEVICE), "the reason", torch.ones(1, device=DEVICE))
        with self.assertRaises(RuntimeError):
            torch._assert_async(torch.ones(2, device=DEVICE))
        token = torch.ones(1, device=DEVICE)
        self.assertEqual(torch.ops.aten._functional_assert_async.msg(token > 0, "unused", token).tolist(), [1])

    def test_flex_attention(self):
        q = torch.ones(1, 2, 128, 16, device=DEVICE)
        with self.assertRaisesRegex(ValueError, "FlexAttention is only supported on .* on dml device"):
            flex_attention(q, q, q)


class Native(unittest.TestCase):
    """The device does it, not the CPU."""

    def setUp(self):
        torch_directml.fallbacks(clear=True)

    def tearDown(self):
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def test_attention_in_evaluation(self):
        torch.manual_seed(3)
        module = nn.MultiheadAttention(12, 2, batch_first=True).double().eval()  # an even number of heads
        x, y = torch.randn(2, 5, 12, dtype=torch.float64), torch.randn(2, 4, 12, dtype=torch.float64)
        padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
        future = torch.ones(5, 5).triu(1).bool()
        other = copy.deepcopy(module).to(DEVICE)
        bias = torch.randn(5, 5, dtype=torch.float64)
        for inputs, masks in (((x, x, x), {}), ((y, x, x), {}), ((x, x, x), {"key_padding_mask": padding}),
                              ((x, x, x), {"attn_mask": future}), ((x, x, x), {"attn_mask": bias}),
                              ((x, x, x), {"attn_mask": future, "key_padding_mask": padding})):
            for weights in ({"need_weights": False}, {}, {"average_attn_weights": False}):
                # Where gradients may be wanted, the CPU does it in parts; its other way takes biases for masks.
                want = module(*inputs, **masks, **weights)
                with torch.no_grad():
                    have = other(*(t.to(DEVICE) for t in inputs), **{k: m.to(DEVICE) for k, m in masks.items()}, **weights)
                torch.testing.assert_close(have[0].cpu(), want[0].detach())
                if weights.get("need_weights", True):
                    torch.testing.assert_close(have[1].cpu(), want[1].detach())

    def test_layers_of_encoders_in_evaluation(self):
        torch.manual_seed(4)
        x, padding = torch.randn(2, 3, 16, dtype=torch.float64), torch.tensor([[False, False, True], [False] * 3])
        for options in ({}, {"norm_first": True}, {"activation": "gelu"}):
            layer = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True, **options)
            module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not options).double().eval()
            want = module(x, src_key_padding_mask=padding).detach()
            plain = module(x).detach()
            module.to(DEVICE)
            with torch.no_grad():
                have = module(x.to(DEVICE), src_key_padding_mask=padding.to(DEVICE)).cpu()
                torch.testing.assert_close(module(x.to(DEVICE)).cpu(), plain)
            torch.testing.assert_close(have[~padding], want[~padding])

    def test_vmap_of_attention(self):
        q = torch.randn(3, 2, 2, 4, 8, dtype=torch.float64)
        for x in (q, q[0]):
            have = torch.func.vmap(lambda q: F.scaled_dot_product_attention(q, q, q))(x.to(DEVICE))
            torch.testing.assert_close(have.cpu(), F.scaled_dot_product_attention(x, x, x))

    def test_weight_norm(self):
        torch.manual_seed(6)
        for dim in (0, 2, -1):
            v, g = torch.randn(4, 3, 5, dtype=torch.float64), torch.randn([4, 3, 5][dim], dtype=torch.float64)
            g = g.reshape([g.numel() if d == dim % 3 else 1 for d in range(3)])
            slope, found = torch.randn(4, 3, 5, dtype=torch.float64), []
            for device in ("cpu", DEVICE):
                inputs = [t.to(device, copy=True).requires_grad_() for t in (v, g)]
                w = torch._weight_norm(*inputs, dim % 3)
                w.backward(slope.to(device))
                found.append([w.detach().cpu()] + [t.grad.cpu() for t in inputs])
            for want, have in zip(*found):
                torch.testing.assert_close(have, want)
        conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3)).to(DEVICE)
        conv(torch.ones(1, 3, 9, device=DEVICE)).sum().backward()

    def test_shifts(self):
        for dtype in (torch.int32, torch.int64, torch.uint8):
            x, by = torch.arange(8).to(dtype), torch.tensor([0, 1, 2, 3, 4, 5, 6, 7]).to(dtype)
            y, times = x.to(DEVICE), by.to(DEVICE)
            self.assertEqual(((y << 1).tolist(), (y << times).tolist()), ((x << 1).tolist(), (x << by).tolist()))
            self.assertEqual(((y >> 1).tolist(), (y >> times).tolist()), ((x >> 1).tolist(), (x >> by).tolist()))
            x <<= 2
            y <<= 2
            x >>= by
            y >>= times
            self.assertEqual((y.dtype, y.tolist()), (dtype, x.tolist()))


@unittest.skipUnless(importlib.util.find_spec("torchvision"), "there is no torchvision")
class Torchvision(unittest.TestCase):
    def test_roi_align(self):
        """Results and gradients for the input; regions outside of the image, smaller than a pixel, and none."""
        import torchvision.ops
        generator = torch.Generator().manual_seed(8)
        for batch, channels, height, width, count in ((2, 3, 25, 19, 9), (1, 5, 7, 40, 4), (3, 2, 12, 12, 0)):
            x = torch.randn(batch, channels, height, width, generator=generator)
            corners = torch.rand(count, 2, 2, generator=generator).sort(1).values * torch.tensor([width, height]) * 1.4 - 4
            image = torch.randint(0, batch, (count, 1), generator=generator)
            for ratio, aligned, scale in ((-1, False, 1.0), (0, True, 0.5), (1, False, 0.25), (2, True, 1.0), (3, False, 0.5)):
                rois, found = torch.cat([image.float(), corners.flatten(1) / scale], 1), []
                for device, dtype in (("cpu", torch.float64), (DEVICE, torch.float32)):
                    torch_directml.fallbacks(clear=True)
                    own = x.to(device, dtype).detach().requires_grad_()
                    y = torchvision.ops.roi_align(own, rois.to(device, dtype), (3, 5), scale, ratio, aligned)
                    y.square().sum().backward()
                    found.append((y.detach().cpu(), own.grad.cpu()))
                self.assertEqual(torch_directml.fallbacks(), {})
                for want, have in zip(*found):
                    torch.testing.assert_close(have, want.float(), rtol=1e-4, atol=1e-5)


class Layouts(unittest.TestCase):
    def test_channels_last(self):
        """Results of convolutions have channels last in memory where the CPU's have, in each dimension and through a network."""
        for dims, last in ((2, torch.channels_last), (3, torch.channels_last_3d)):
            conv, norm = (nn.Conv2d, nn.Conv3d)[dims - 2], (nn.BatchNorm2d, nn.BatchNorm3d)[dims - 2]
            for layer in (conv(3, 4, 3), conv(4, 4, 3, groups=2, stride=2), conv(4, 6, 1),
                          (nn.ConvTranspose2d, nn.ConvTranspose3d)[dims - 2](4, 6, 2, stride=2)):
                x = torch.randn(2, layer.in_channels, *[6] * dims)
                for image, filters in ((False, False), (True, False), (False, True), (True, True)):
                    found = []
                    for device in ("cpu", DEVICE):
                        own = copy.deepcopy(layer).to(device)
                        own = own.to(memory_format=last) if filters else own
                        own = nn.Sequential(own, norm(layer.out_channels).to(device), nn.ReLU())
                        y = own(x.to(device).contiguous(memory_format=last if image else torch.contiguous_format))
                        found.append((y.detach().cpu(), y.stride()))
                    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-4, atol=1e-4)
                    self.assertEqual(found[1][1], found[0][1], (dims, layer, image, filters))


class Counting(unittest.TestCase):
    def test_histograms_of_integers(self):
        generator = torch.Generator().manual_seed(1)
        for dtype in (torch.int32, torch.int64, torch.int8, torch.uint8):
            x = torch.randint(0, 60, (200,), generator=generator).to(dtype)
            for bins, least, most in ((60, 0, 59), (7, 0, 59), (4, 10, 30), (5, 0, 0)):
                low, high = (least, most) if least != most else (int(x.min()), int(x.max()))
                want = [0] * bins
                for value in x.tolist():
                    if low <= value <= high:
                        want[min((value - low) * bins // (high - low), bins - 1)] += 1
                found = torch.histc(x.to(DEVICE), bins=bins, min=least, max=most)
                self.assertEqual((found.dtype, found.tolist()), (dtype, want))

    def test_parts_of_synchronized_normalization(self):
        """Two shares of a batch, whose sums are put together by hand, are normalized as the whole is."""
        torch.manual_seed(5)
        whole = torch.randn(7, 3, 4, dtype=torch.float64)
        module = nn.BatchNorm1d(3).double()
        nn.init.normal_(module.weight)
        slope, want_x = torch.randn(7, 3, 4, dtype=torch.float64), whole.clone().requires_grad_()
        want = module(want_x)
        want.backward(slope)
        shares, slopes = [[t.to(DEVICE) for t in x.split([2, 5])] for x in (whole, slope)]
        weight, bias = (p.detach().to(DEVICE) for p in (module.weight, module.bias))
        mean, deviation = map(torch.stack, zip(*(torch.batch_norm_stats(x, module.eps) for x in shares)))
        counts = torch.tensor([8.0, 20.0], dtype=torch.float64, device=DEVICE)
        running_mean, running_var = torch.zeros(3).double().to(DEVICE), torch.ones(3).double().to(DEVICE)
        mean, deviation = torch.batch_norm_gather_stats_with_counts(shares[0], mean, deviation, running_mean, running_var,
                                                                    module.momentum, module.eps, counts)
        have = [torch.batch_norm_elemt(x, weight, bias, mean, deviation, module.eps) for x in shares]
        self.assertTrue(torch.allclose(torch.cat(have).cpu(), want.detach(), atol=1e-12))
        self.assertTrue(torch.allclose(running_mean.cpu(), module.running_mean))
        self.assertTrue(torch.allclose(running_var.cpu(), module.running_var))
        parts = [torch.batch_norm_backward_reduce(dy, x, mean, deviation, weight, True, True, True)
                 for dy, x in zip(slopes, shares)]
        sums = [sum(column) for column in zip(*parts)]
        self.assertTrue(torch.allclose(sums[2].cpu(), module.weight.grad))
        self.assertTrue(torch.allclose(sums[3].cpu(), module.bias.grad))
        have = [torch.batch_norm_backward_elemt(dy, x, mean, deviation, weight, sums[0], sums[1], counts.int())
                for dy, x in zip(slopes, shares)]
        self.assertTrue(torch.allclose(torch.cat(have).cpu(), want_x.grad, atol=1e-12))


if __name__ == "__main__":
    unittest.main()
