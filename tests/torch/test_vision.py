#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of torchvision beside those of the CPU: results, gradients, bad arguments, and that none runs on the CPU."""
import importlib.util
import unittest

import torch

import torch_directml

if importlib.util.find_spec("torchvision"):
    import torchvision
    from torchvision import ops

DEVICE = torch_directml.device()
# A software driver compiles each pipeline for long: with memory of its own (test_vulkan), few shapes.
FEW = not torch.ops.torch_directml.host_memory(DEVICE.index)


def some(cases):
    return cases[:1] if FEW else cases


def boxes(generator, count, extent, least=0.0):
    """Corners (x1, y1, x2, y2)."""
    corners = torch.rand(count, 2, 2, generator=generator).sort(1).values
    corners[:, 1] += least
    return corners.flatten(1) * extent


@unittest.skipUnless(importlib.util.find_spec("torchvision"), "there is no torchvision")
class Torchvision(unittest.TestCase):
    def setUp(self):
        self.generator = torch.Generator().manual_seed(3)
        torch_directml.fallbacks(clear=True)

    def tearDown(self):
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def beside(self, function, tensors, differentiable=(), dtype=torch.float32, rtol=1e-4, atol=1e-4):
        """function(*tensors) on both devices, and the gradients of a weighted sum of its first result."""
        found = []
        for device in ("cpu", DEVICE):
            own = [t.to(device, dtype if t.is_floating_point() else t.dtype, copy=True) for t in tensors]
            for i in differentiable:
                own[i].requires_grad_()
            results = function(*own)
            results = list(results) if isinstance(results, tuple) else [results]
            first = results[0]
            if differentiable:
                by = torch.linspace(-1, 2, first.numel(), dtype=dtype).view(first.shape).to(device)
                (first * by).sum().backward()
            found.append([r.detach().cpu() for r in results] + [own[i].grad.cpu() for i in differentiable])
        for want, have in zip(*found):
            self.assertEqual((have.dtype, have.shape), (want.dtype, want.shape))
            torch.testing.assert_close(have, want, rtol=rtol, atol=atol, equal_nan=True)

    def rois(self, count, batch, height, width):
        """Some outside of the image, some smaller than a pixel, one inverted; halves of pixels."""
        corners = (torch.rand(count, 2, 2, generator=self.generator).sort(1).values * torch.tensor([width, height]) * 1.5 - 4)
        corners = (corners * 2).round() / 2
        if count > 2:
            corners[0, 1] = corners[0, 0] + 0.25
            corners[1] = corners[1].flip(0)
        image = torch.randint(0, batch, (count, 1), generator=self.generator)
        return torch.cat([image.float(), corners.flatten(1)], 1)

    def test_nms(self):
        for count, extent in ((300, 60), (0, 1), (1, 9), (7, 9), (2500, 400))[:2 if FEW else 5]:
            x = boxes(self.generator, count, extent, 0.05)
            scores = (torch.rand(count, generator=self.generator) * 50).round() / 50  # with equal ones
            for threshold in some((0.3, 0.0, 0.1, 0.5, 0.7, 1.0)):
                self.beside(lambda x, s: ops.nms(x, s, threshold), (x, scores))
            group = torch.randint(0, 4, (count,), generator=self.generator)
            if count <= 300:  # torchvision itself takes another way for more boxes on the CPU
                self.beside(lambda x, s, g: ops.batched_nms(x, s, g, 0.4), (x, scores, group))
        # Each box overlaps the next one only: every other remains.
        chain = torch.arange(1500.0)[:, None] + torch.tensor([0, 0, 1.8, 1])
        self.beside(lambda x, s: ops.nms(x, s, 0.2), (chain, -torch.arange(1500.0)))
        # A share of exactly the threshold, which float32 rounds up (0.1, 0.3) or down (0.7): none is suppressed.
        for tenths in (1, 3, 7):
            x = torch.tensor([[0, 0, 10, 1], [0, 0, tenths, 1.0]])
            self.beside(lambda x, s: ops.nms(x, s, tenths / 10), (x, torch.tensor([1, 0.5])))
        self.beside(lambda x, s: ops.nms(x, s, 0.5), (torch.zeros(5, 4), torch.ones(5)))  # 0 / 0
        if not FEW:
            self.beside(lambda x, s: ops.nms(x, s, 0.5), (boxes(self.generator, 40, 9), torch.rand(40)), dtype=torch.float64)

    def test_half_precision(self):
        """Types that the kernels of the CPU do not have, near those that they have."""
        x, scores = boxes(self.generator, 300, 64).half(), torch.randperm(300, generator=self.generator).half()
        kept = ops.nms(x.to(DEVICE), scores.to(DEVICE), 0.5)
        self.assertEqual(kept.tolist(), ops.nms(x.float(), scores.float(), 0.5).tolist())
        x, rois = torch.randn(2, 8, 11, 9, generator=self.generator), self.rois(6, 2, 11, 9)
        for dtype in some((torch.bfloat16, torch.float16)):
            x = x.to(dtype)
            for function in (lambda x, r: ops.roi_pool(x, r, 2), lambda x, r: ops.ps_roi_pool(x, r, 2),
                             lambda x, r: ops.ps_roi_align(x, r, 2)):
                own, want = x.to(DEVICE).requires_grad_(), x.float().requires_grad_()
                y, z = function(own, rois.to(DEVICE, dtype)), function(want, rois.to(dtype).float())
                y.sum().backward()
                z.sum().backward()
                torch.testing.assert_close(y.float().cpu(), z, rtol=2e-2, atol=2e-2, equal_nan=True)
                torch.testing.assert_close(own.grad.float().cpu(), want.grad, rtol=2e-2, atol=5e-2, equal_nan=True)

    def test_roi_pool(self):
        for batch, channels, height, width, count in some(((2, 3, 25, 19, 9), (1, 5, 7, 40, 4), (3, 2, 12, 12, 0), (1, 1, 1, 1, 3))):
            x, rois = torch.randn(batch, channels, height, width, generator=self.generator), self.rois(count, batch, height, width)
            x = (x * 4).round()  # with equal ones
            for size, scale in some((((3, 5), 1.0), ((1, 1), 0.5), ((7, 7), 0.25))):
                self.beside(lambda x, r: torch.ops.torchvision.roi_pool(x, r, scale, *size), (x, rois), (0,))
                if not FEW:
                    self.beside(lambda x, r: ops.roi_pool(x, r, size, scale), (x, rois), (0,), torch.float64)
        x = torch.full((1, 1, 4, 4), float("nan"))
        x[..., 1, 1] = -float("inf")
        self.beside(lambda x, r: ops.roi_pool(x, r, 2), (x, torch.tensor([[0, 0, 0, 3, 3.0]])))

    def test_position_sensitive_pooling(self):
        for batch, channels, height, width, count in some(((2, 3, 25, 19, 9), (1, 2, 7, 40, 4), (3, 2, 12, 12, 0))):
            for size, scale in some((((3, 2), 1.0), ((1, 1), 0.5))):
                x = torch.randn(batch, channels * size[0] * size[1], height, width, generator=self.generator)
                rois = self.rois(count, batch, height, width)
                self.beside(lambda x, r: torch.ops.torchvision.ps_roi_pool(x, r, scale, *size), (x, rois), (0,))
                if not FEW:
                    self.beside(lambda x, r: ops.ps_roi_pool(x, r, size, scale), (x, rois), (0,), torch.float64)
                for ratio in (-1, 2) if FEW else (-1, 1, 2, 3):
                    self.beside(lambda x, r: torch.ops.torchvision.ps_roi_align(x, r, scale, *size, ratio), (x, rois), (0,))
                    if not FEW:
                        self.beside(lambda x, r: ops.ps_roi_align(x, r, size, scale, ratio), (x, rois), (0,), torch.float64)
        with self.assertRaisesRegex(RuntimeError, "multiple of pooling height"):
            ops.ps_roi_pool(torch.zeros(1, 5, 4, 4, device=DEVICE), torch.zeros(1, 5, device=DEVICE), 2)

    def test_deformable_convolution(self):
        # batch, channels, filters, groups, offset groups, image, filter, stride, padding, dilation
        cases = ((2, 4, 6, 1, 1, (9, 7), (3, 3), (1, 1), (1, 1), (1, 1)), (1, 4, 6, 2, 2, (10, 8), (3, 2), (2, 1), (0, 2), (1, 2)),
                 (3, 6, 3, 3, 2, (5, 5), (1, 1), (1, 1), (0, 0), (1, 1)), (1, 2, 2, 1, 1, (1, 6), (1, 3), (1, 2), (1, 1), (1, 1)))
        for batch, channels, filters, groups, offset_groups, image, size, stride, padding, dilation in cases[1:2] if FEW else cases:
            out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(image, size, stride, padding, dilation)]
            taps = size[0] * size[1]
            x = torch.randn(batch, channels, *image, generator=self.generator)
            weight = torch.randn(filters, channels // groups, *size, generator=self.generator)
            bias = torch.randn(filters, generator=self.generator)
            mask = torch.rand(batch, offset_groups * taps, *out, generator=self.generator)
            for spread in (1,) if FEW else (0, 1, 4):  # of the pixels themselves, where gradients of offsets jump; outside of the image
                offset = torch.randn(batch, 2 * offset_groups * taps, *out, generator=self.generator) * spread
                for with_mask in some((True, False)):
                    for dtype in some((torch.float32, torch.float64)):
                        self.beside(lambda x, o, w, b, m: ops.deform_conv2d(x, o, w, b, stride, padding, dilation,
                                                                            m if with_mask else None),
                                    (x, offset, weight, bias, mask), (0, 1, 2, 3, 4) if with_mask else (0, 1, 2, 3), dtype, atol=1e-3)
            whole = offset.round()
            self.beside(lambda x, o, w: ops.deform_conv2d(x, o, w, None, stride, padding, dilation), (x, whole, weight), (0, 1, 2), atol=1e-3)
        layer = ops.DeformConv2d(3, 4, 3).to(DEVICE)
        with self.assertRaisesRegex(RuntimeError, "offset"):
            layer(torch.zeros(1, 3, 6, 6, device=DEVICE), torch.zeros(1, 18, 6, 6, device=DEVICE))


if __name__ == "__main__":
    unittest.main()
