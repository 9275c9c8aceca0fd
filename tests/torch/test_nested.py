# SPDX-License-Identifier: Apache-2.0
"""Nested tensors of layout torch.jagged, part by part against dense tensors of the CPU, without fallback."""
import unittest

import torch
import torch.nn.functional as F
import torch_directml

DEVICE = torch_directml.device()


class Nested(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        torch_directml.fallbacks(clear=True)

    def tearDown(self):
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def close(self, have, want):
        """Relative to the largest element: what cancels in sums leaves the rounding errors of its terms."""
        largest = want.detach().abs().max().item() if want.numel() else 0.0
        torch.testing.assert_close(have.detach().cpu(), want.detach().to(have.dtype), rtol=1e-5, atol=1e-5 * max(1.0, largest))

    def parts(self, *sizes, lengths=(3, 0, 5, 1)):
        return [torch.randn(length, *sizes) for length in lengths]

    def nested(self, parts, **more):
        return torch.nested.nested_tensor([p.to(DEVICE) for p in parts], layout=torch.jagged, **more)

    def test_padding(self):
        for sizes in ((), (4,), (2, 3)):
            parts = self.parts(*sizes)
            x = self.nested(parts, requires_grad=True)
            y = x.to_padded_tensor(-2.0)
            want = torch.full((4, 5, *sizes), -2.0)
            for i, part in enumerate(parts):
                want[i, :len(part)] = part
            self.close(y, want)
            factors = torch.randn(want.shape)
            (y * factors.to(DEVICE)).sum().backward()
            self.close(x.grad.values(), torch.cat([f[:len(p)] for f, p in zip(factors, parts)]))
        self.close(self.nested(self.parts(2, lengths=(0, 0))).to_padded_tensor(1.0, output_size=(2, 3, 2)), torch.ones(2, 3, 2))

    def test_shorter_and_longer_padding(self):
        values, offsets = torch.randn(9, 2), torch.tensor([0, 3, 3, 8, 9])
        for dtype in (torch.int32, torch.int64):
            for longest in (0, 1, 4, 7):
                rows = [values[a:b][:longest] for a, b in zip(offsets, offsets[1:])]
                want = torch.stack([F.pad(r, (0, 0, 0, longest - len(r)), value=0.5) for r in rows])
                args = [offsets.to(DEVICE, dtype)]
                have = torch.ops.aten._jagged_to_padded_dense_forward(values.to(DEVICE), args, [longest], 0.5)
                self.close(have, want)
                # What the padded tensor is too short for is zero.
                back = torch.ops.aten._padded_dense_to_jagged_forward(want.to(DEVICE), args, 9)
                full = [F.pad(r, (0, 0, 0, int(b - a) - len(r))) for r, a, b in zip(rows, offsets, offsets[1:])]
                self.close(back, torch.cat(full))
                self.assertEqual(torch.ops.aten._padded_dense_to_jagged_forward(want.to(DEVICE), args).shape, (9, 2))
        with self.assertRaisesRegex(RuntimeError, "offsets must have one dimension"):
            torch.ops.aten._jagged_to_padded_dense_forward(values.to(DEVICE), [offsets[None].to(DEVICE)], [3])
        with self.assertRaisesRegex(NotImplementedError, "one jagged dimension, not 2"):
            torch.ops.aten._jagged_to_padded_dense_forward(values.to(DEVICE), [offsets.to(DEVICE)] * 2, [3, 3])
        with self.assertRaisesRegex(RuntimeError, "the size 4 in the first one"):
            torch.ops.aten._padded_dense_to_jagged_forward(torch.zeros(3, 2, 2, device=DEVICE), [offsets.to(DEVICE)], 9)

    def test_layers(self):
        parts = self.parts(6)
        linear, norm = torch.nn.Linear(6, 4), torch.nn.LayerNorm(4)
        x = self.nested(parts, requires_grad=True)
        y = norm.to(DEVICE)(F.gelu(linear.to(DEVICE)(x)))
        factors = torch.randn(9, 4)  # the squares of what is normalised always have the same sum
        (y.values() * factors.to(DEVICE)).sum().backward()
        got = [y.values(), x.grad.values(), linear.weight.grad, norm.bias.grad]
        linear, norm = linear.cpu().double(), norm.cpu().double()
        linear.zero_grad(), norm.zero_grad()
        dense = torch.cat(parts).double().requires_grad_()
        want = norm(F.gelu(linear(dense)))
        (want * factors).sum().backward()
        for have, expected in zip(got, [want, dense.grad, linear.weight.grad, norm.bias.grad]):
            self.close(have, expected)

    def test_reductions(self):
        parts = self.parts(4, lengths=(3, 2, 5, 1))
        x = self.nested(parts)
        for function in (torch.sum, torch.mean, torch.amax):
            self.close(function(x, dim=1), torch.stack([function(p, dim=0) for p in parts]))
        self.close(torch.softmax(x, 1).values(), torch.cat([p.softmax(0) for p in parts]))
        self.close((x * torch.ones(4, 1, 4, device=DEVICE) + x).values(), torch.cat(parts) * 2)

    def attended(self, device, q, k, v, **more):
        return F.scaled_dot_product_attention(*(t.transpose(0, 1).to(device) for t in (q, k, v)), **more).transpose(0, 1)

    def test_attention(self):
        for causal, same in ((False, True), (True, True), (False, False)):
            more = {"is_causal": causal, "scale": 0.3}
            q = self.parts(2, 8)
            k, v = (self.parts(2, 8, lengths=(3, 0, 5, 1) if same else (2, 3, 1, 4)) for _ in range(2))
            inputs = [self.nested(t, requires_grad=True) for t in (q, k, v)]
            y = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in inputs), **more).transpose(1, 2)
            (y * y).values().sum().backward()
            leaves = [[p.requires_grad_() for p in t] for t in (q, k, v)]
            want = [self.attended("cpu", *part, **more) for part in zip(*leaves)]
            sum(w.square().sum() for w in want).backward()
            self.close(y.values(), torch.cat(want))
            for have, expected in zip(inputs, leaves):
                self.close(have.grad.values(), torch.cat([p.grad if p.grad is not None else torch.zeros_like(p)
                                                          for p in expected]))
        with self.assertRaisesRegex(ValueError, "Masks"):
            F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in inputs), attn_mask=torch.ones(1, device=DEVICE))


if __name__ == "__main__":
    unittest.main()
