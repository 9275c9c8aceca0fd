# SPDX-License-Identifier: Apache-2.0
"""Operators whose results OpInfo cannot compare or does not call: random numbers, optimizers' steps, attention."""
import unittest

import torch
import torch.nn.functional as F
import torch_directml

DEVICE = torch_directml.device()
N = 100000


class Random(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(11)

    def check(self, values, mean, std, msg=None):
        """Within 6 standard errors."""
        values = values.cpu().double()
        self.assertLess(abs(float(values.mean()) - mean), 6 * std / N ** 0.5, msg)
        self.assertLess(abs(float(values.std()) / std - 1), 0.05, msg)

    def test_distributions(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            u = torch.rand(N, device=DEVICE, dtype=dtype)
            self.assertTrue(bool(((u >= 0) & (u < 1)).all()), dtype)
            if dtype != torch.bfloat16:  # 8 digits: the mean is half a step below 0.5
                self.check(u, 0.5, 12 ** -0.5, dtype)
            self.check(torch.randn(N, device=DEVICE, dtype=dtype), 0, 1, dtype)
        empty = torch.empty(N, device=DEVICE)
        self.check(empty.uniform_(-3, 5), 1, 8 / 12 ** 0.5)
        self.check(empty.normal_(2, 3), 2, 3)
        self.check(empty.exponential_(2.0), 0.5, 0.5)
        self.check(empty.geometric_(0.25), 4, 12 ** 0.5)
        self.check(empty.bernoulli_(0.3), 0.3, 0.21 ** 0.5)
        self.check(torch.randint(-5, 6, (N,), device=DEVICE), 0, 10 ** 0.5)

    def test_seeds(self):
        torch.manual_seed(5)
        first = torch.randn(1001, device=DEVICE)
        second = torch.randn(1001, device=DEVICE)
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, torch.randn(1001, device=DEVICE)))
        self.assertFalse(torch.equal(first, second))

    def test_permutation(self):
        p = torch.randperm(1009, device=DEVICE)
        self.assertEqual(p.sort()[0].tolist(), list(range(1009)))
        self.assertNotEqual(p.tolist(), list(range(1009)))

    def test_multinomial(self):
        weights = torch.tensor([1.0, 2.0, 0.0, 7.0], device=DEVICE)
        counts = torch.multinomial(weights, N, True).cpu().bincount(minlength=4) / N
        self.assertLess(float((counts - torch.tensor([0.1, 0.2, 0, 0.7])).abs().max()), 0.01)
        for _ in range(20):
            self.assertEqual(sorted(torch.multinomial(weights, 3).tolist()), [0, 1, 3])

    def test_dropout(self):
        x = torch.ones(N, device=DEVICE, requires_grad=True)
        y = F.dropout(x, 0.25)
        y.sum().backward()
        self.assertTrue(torch.equal(x.grad, y.detach()))
        self.check(y.detach(), 1, (0.25 / 0.75) ** 0.5)


class Numbers(unittest.TestCase):
    TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8)

    def test_types_of_numbers(self):
        """2.5, and tensors without dimensions on the CPU, of each type in turn: plans of one are not the next one's."""
        numbers = [3, 2.5, True] + [torch.tensor(2.5).to(dtype) for dtype in self.TYPES]
        for order in (1, -1):
            for dtype in self.TYPES:
                x = torch.tensor([1, 2, 3]).to(dtype)
                for number in numbers[::order]:
                    for function in (torch.mul, torch.add, lambda a, b: 1 - a * b, torch.div, torch.eq,
                                     lambda a, b: torch.where(a > 1, a, b), lambda a, b: a.clone().float().mul_(2).add(b)):
                        want, got = function(x, number), function(x.to(DEVICE), number)
                        self.assertEqual(got.dtype, want.dtype, (dtype, number))
                        torch.testing.assert_close(got.cpu(), want)

    def test_floor_division_in_place(self):
        """Its overload has another name than the one that makes a new tensor."""
        torch_directml.fallbacks(clear=True)
        for dtype in (torch.int64, torch.float32):
            x = torch.arange(-6, 6, device=DEVICE, dtype=dtype)
            y = x.clone()
            x //= 4
            y.floor_divide_(torch.full((12,), 4, device=DEVICE))
            self.assertEqual((x.tolist(), y.tolist()), ([i // 4 for i in range(-6, 6)],) * 2)
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def test_complex_numbers(self):
        x = torch.tensor([1.0, -2, 3])
        for number in (2j, torch.tensor(2j, dtype=torch.complex128), torch.tensor(2j), 2j):
            torch.testing.assert_close((x.to(DEVICE) * number).cpu(), x * number)

    def test_numbers_beside_16_bits(self):
        """Numbers are not rounded to the tensor's type first."""
        for dtype in (torch.float16, torch.bfloat16):
            x = torch.randn(4000).to(dtype)
            for number in (3.14, 0.1, 1e-3, 0.125, torch.tensor(0.3)):
                for function in (lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a + b, lambda a, b: b - a,
                                 lambda a, b: a.clone().mul_(b)):
                    want = function(x.float(), number).to(dtype)
                    for _ in range(3):  # numbers may be inputs of the plan from the second call on
                        self.assertTrue(torch.equal(function(x.to(DEVICE), number).cpu(), want), (dtype, number))

    def test_interpolation(self):
        x, y = torch.randn(2, 300), torch.randn(2, 300)
        for weight in (0.1, 0.4999999999, 0.5, 0.9, 1.0, -3.0, float("inf"), float("nan")):
            torch.testing.assert_close(torch.lerp(x.to(DEVICE), y.to(DEVICE), weight).cpu(), torch.lerp(x, y, weight),
                                       equal_nan=True)


class Optimizers(unittest.TestCase):
    SHAPES = [(3, 4), (7,), (), (5, 1, 2)] * 10  # more than one part of a long list

    def train(self, device, make):
        torch.manual_seed(1)
        parameters = [torch.randn(s).to(device).requires_grad_() for s in self.SHAPES]
        optimizer = make(parameters)
        for i in range(5):
            for p in parameters:
                p.grad = torch.randn(p.shape).to(device)
            for group in optimizer.param_groups:
                group['lr'] = 0.01 * (i + 1)
            optimizer.step()
        return [p.detach().cpu() for p in parameters]

    def test_steps(self):
        adam = ({}, {'weight_decay': 0.1}, {'amsgrad': True}, {'maximize': True})
        sgd = ({}, {'momentum': 0.9}, {'momentum': 0.9, 'nesterov': True, 'weight_decay': 0.1},
               {'momentum': 0.9, 'dampening': 0.3, 'maximize': True})
        for kind, options in [(torch.optim.Adam, adam), (torch.optim.AdamW, adam), (torch.optim.SGD, sgd)]:
            for more in options:
                for how in ({'fused': True}, {'foreach': True}):
                    def make(parameters, kind=kind, more=more, how=how):
                        return kind(parameters, lr=0.1, **more, **how)
                    want = self.train('cpu', make)
                    torch_directml.fallbacks(clear=True)
                    got = self.train(DEVICE, make)
                    self.assertEqual(torch_directml.fallbacks(clear=True), {}, (kind, more, how))
                    for a, b in zip(got, want):
                        torch.testing.assert_close(a, b)


class Attention(unittest.TestCase):
    def run_on(self, device, tensors, grad, options):
        leaves = [t.detach().to(device).requires_grad_() for t in tensors]
        mask = options.get('attn_mask')
        more = {**options, 'attn_mask': mask.to(device) if mask is not None else None}
        y = F.scaled_dot_product_attention(*leaves, **more)
        y.backward(grad.to(device))
        return [y.detach().cpu()] + [t.grad.cpu() for t in leaves]

    def test_forward_and_backward(self):
        torch.manual_seed(2)
        for dtype, tolerance in ((torch.float32, 5e-6), (torch.float64, 1e-12), (torch.bfloat16, 1.6e-2)):
            for options in ({}, {'is_causal': True}, {'scale': 0.3}, {'enable_gqa': True},
                            {'attn_mask': torch.rand(5, 7) > 0.3}, {'attn_mask': torch.randn(2, 1, 5, 7).to(dtype)}):
                heads = 2 if options.get('enable_gqa') else 4
                tensors = [torch.randn(2, 4, 5, 8, dtype=dtype), torch.randn(2, heads, 7, 8, dtype=dtype),
                           torch.randn(2, heads, 7, 8, dtype=dtype)]
                grad = torch.randn(2, 4, 5, 8, dtype=dtype)
                want = self.run_on('cpu', tensors, grad, options)
                torch_directml.fallbacks(clear=True)
                got = self.run_on(DEVICE, tensors, grad, options)
                self.assertEqual(torch_directml.fallbacks(clear=True), {})
                for a, b in zip(got, want):
                    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


if __name__ == '__main__':
    unittest.main()
