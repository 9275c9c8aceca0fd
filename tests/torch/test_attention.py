# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention: each of its passes is one plan, with results as the CPU has them in float64."""
import ctypes
import unittest

import torch
import torch_directml
from torch.nn.functional import scaled_dot_product_attention
from torch_directml import compiler

DEVICE = torch_directml.device()


def plans_made():
    """How many plans were compiled so far."""
    plans, made = ctypes.c_uint64(), ctypes.c_uint64()
    compiler._library().aten_cache(ctypes.c_uint64(0), ctypes.byref(plans), ctypes.byref(made))
    return made.value


def tensors(batch, heads, queries, keys, size, wide=None):
    """Query, key and value as projections give them: [batch, tokens, heads, size] in memory."""
    sizes = ((queries, size), (keys, size), (keys, wide or size))
    return [torch.randn(batch, tokens, heads, n, dtype=torch.float64).transpose(1, 2) for tokens, n in sizes]


class Attention(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        torch_directml.fallbacks(clear=True)

    def tearDown(self):
        self.assertEqual(torch_directml.fallbacks(), {})

    def compare(self, inputs, dtype=torch.float32, tolerance=5e-6, **more):
        here = [t.clone().requires_grad_() for t in inputs]
        there = [t.to(dtype).to(DEVICE).requires_grad_() for t in inputs]
        mask = more.pop("attn_mask", None)
        mine = mask.double() if mask is not None and mask.is_floating_point() else mask
        theirs = mask if mask is None else mask.to(DEVICE, dtype if mask.is_floating_point() else None)
        want = scaled_dot_product_attention(*here, attn_mask=mine, **more)
        got = scaled_dot_product_attention(*there, attn_mask=theirs, **more)
        torch.testing.assert_close(got.detach().cpu().double(), want.detach(), rtol=tolerance, atol=tolerance)
        gradient = torch.randn_like(want)
        want.backward(gradient)
        got.backward(gradient.to(dtype).to(DEVICE))
        for a, b in zip(here, there):
            torch.testing.assert_close(b.grad.cpu().double(), a.grad, rtol=tolerance, atol=10 * tolerance)

    def test_sizes(self):
        for sizes in ((2, 3, 8, 8, 16), (1, 1, 1, 1, 4), (3, 2, 5, 17, 7), (1, 4, 33, 9, 24, 12)):
            self.compare(tensors(*sizes))

    def test_causal_scale_and_masks(self):
        for queries, keys in ((9, 9), (4, 11), (11, 4)):
            inputs = tensors(2, 3, queries, keys, 8)
            self.compare(inputs, is_causal=True)
            self.compare(inputs, scale=0.7)
            self.compare(inputs, attn_mask=torch.rand(queries, keys) > 0.4)
            self.compare(inputs, attn_mask=torch.randn(2, 1, queries, keys))
            self.compare(inputs, attn_mask=torch.randn(3, queries, keys), scale=0.3)

    def test_rows_that_see_nothing(self):
        mask = torch.rand(6, 5) > 0.3
        mask[2] = False
        self.compare(tensors(2, 2, 6, 5, 4), attn_mask=mask)

    def test_types(self):
        for dtype, tolerance in ((torch.float64, 1e-12), (torch.float16, 2e-3), (torch.bfloat16, 1.6e-2)):
            self.compare(tensors(2, 2, 7, 7, 8), dtype, tolerance, is_causal=True)

    def test_gradient_of_the_mask(self):
        inputs, bias = tensors(2, 2, 5, 6, 4), torch.randn(1, 2, 5, 6, dtype=torch.float64)
        here, there = bias.clone().requires_grad_(), bias.float().to(DEVICE).requires_grad_()
        want = scaled_dot_product_attention(*inputs, attn_mask=here)
        got = scaled_dot_product_attention(*(t.float().to(DEVICE) for t in inputs), attn_mask=there)
        want.square().sum().backward()
        got.square().sum().backward()
        torch.testing.assert_close(there.grad.cpu().double(), here.grad, rtol=1e-5, atol=1e-5)

    def test_one_plan_each(self):
        q, k, v = (t.float().to(DEVICE).requires_grad_() for t in tensors(2, 3, 12, 12, 20))
        gradient = torch.randn(2, 3, 12, 20).to(DEVICE)
        before = plans_made()
        result = scaled_dot_product_attention(q, k, v, is_causal=True)
        self.assertEqual(plans_made() - before, 1)
        result.backward(gradient)
        self.assertEqual(plans_made() - before, 2)


if __name__ == "__main__":
    unittest.main()
