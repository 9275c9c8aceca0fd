# SPDX-License-Identifier: Apache-2.0
"""What networks of convolutions are made of: results and gradients of fresh random inputs against float64 on the CPU,
in several types and layouts, and nothing of it computed by the CPU's kernels."""
import copy
import random
import unittest

import torch
import torch.nn.functional as F
import torch_directml
from torch import nn

DEVICE = torch_directml.device()
SEED = random.randrange(1 << 31)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}


def moved(values, device, dtype):
    return [v.detach().to(device, dtype if v.is_floating_point() else v.dtype).requires_grad_(v.requires_grad)
            if isinstance(v, torch.Tensor) else v for v in values]


def run(function, values, weights):
    """Results and the gradients of all floating point inputs."""
    out = function(*values)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    real = [y for y in out if y.requires_grad]
    weighted = sum((y * w.to(y.device, y.dtype)).sum() for y, w in zip(real, weights(real)))
    return out + list(torch.autograd.grad(weighted, [v for v in values if getattr(v, "requires_grad", False)]))


class Networks(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(SEED)
        torch_directml.fallbacks(clear=True)

    def tearDown(self):
        self.assertEqual(torch_directml.fallbacks(clear=True), {}, "nothing falls back")

    def compare(self, function, *values, dtypes=tuple(TOLERANCE)):
        for dtype in dtypes:
            rounded = moved(moved(values, "cpu", dtype), "cpu", torch.float64)
            kept = []

            def weights(results):
                if not kept:
                    kept.extend(torch.randn(y.shape, dtype=torch.float64).to(dtype) for y in results)
                return kept

            want = run(function, rounded, weights)
            got = run(function, moved(moved(values, "cpu", dtype), DEVICE, dtype), weights)
            self.assertEqual(len(got), len(want))
            for i, (g, w) in enumerate(zip(got, want)):
                g = g.detach().cpu().to(w.dtype)
                self.assertEqual(g.shape, w.shape)
                scale = float(w.detach().abs().max()) if w.numel() else 0
                torch.testing.assert_close(g, w.detach(), rtol=0, atol=TOLERANCE[dtype] * max(scale, 1),
                                           msg=lambda m: f"{dtype}, result {i}, seed {SEED}: {m}")

    def test_convolutions(self):
        for spatial in (1, 2, 3):
            conv, transposed = getattr(F, f"conv{spatial}d"), getattr(F, f"conv_transpose{spatial}d")
            x = torch.randn(2, 6, *(9, 8, 7)[:spatial], requires_grad=True)
            for groups, stride, padding, dilation, bias in ((1, 1, 1, 1, True), (2, 2, 0, 1, False), (6, 1, 2, 2, True),
                                                            (3, 3, 1, 1, True)):
                with self.subTest(spatial=spatial, groups=groups, stride=stride):
                    w = torch.randn(12, 6 // groups, *(3,) * spatial, requires_grad=True)
                    b = torch.randn(12, requires_grad=True) if bias else None
                    self.compare(lambda x, w, b: conv(x, w, b, stride, padding, dilation, groups), x, w, b)
                    w = torch.randn(6, 12 // groups, *(3,) * spatial, requires_grad=True)
                    self.compare(lambda x, w, b: transposed(x, w, b, stride, padding, stride - 1, groups, dilation),
                                 x, w, b)
        x = torch.randn(3, 4, 7, 5).to(memory_format=torch.channels_last).requires_grad_()
        self.compare(lambda x, w: F.conv2d(x, w), x, torch.randn(5, 4, 1, 1, requires_grad=True))
        self.compare(lambda x, w: F.conv2d(x, w, padding=1), x, torch.randn(5, 4, 3, 3, requires_grad=True))

    def test_pooling(self):
        x = torch.randn(2, 3, 11, 9, requires_grad=True)
        y = torch.randn(2, 3, 5, 7, 6, requires_grad=True)
        self.compare(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)
        self.compare(lambda x: F.max_pool2d(x, (2, 3), 2, 0, (2, 1), ceil_mode=True, return_indices=True), x[0])
        self.compare(lambda x: F.max_pool3d(x, 2, 2, 1, return_indices=True), y)
        self.compare(lambda x: F.avg_pool2d(x, 3, 2, 1), x)
        self.compare(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), x)
        self.compare(lambda x: F.avg_pool2d(x, (4, 2), 3, 1, ceil_mode=True), x)
        self.compare(lambda x: F.avg_pool3d(x, 3, 2, 1, divisor_override=5), y)
        for size in (1, (11, 3), (4, 5), (13, 2)):
            self.compare(lambda x: F.adaptive_avg_pool2d(x, size), x)
            self.compare(lambda x: F.adaptive_max_pool2d(x, size, return_indices=True), x)
        self.compare(lambda x: F.adaptive_avg_pool3d(x, (2, 7, 4)), y)
        self.compare(lambda x: F.adaptive_max_pool3d(x, (2, 7, 4), return_indices=True), y)

    def test_maxima_with_nan(self):
        """NaN is the maximum of its window, the last one if there are several, and gets the gradient."""
        x = torch.randn(2, 3, 9, 11)
        x[torch.rand(x.shape) < 0.04] = float("nan")
        x[0, 0, :4, :5] = float("-inf")
        y = torch.where(torch.rand(2, 5, 6, 7) < 0.05, float("nan"), torch.randn(2, 5, 6, 7))
        for pool, x in ((lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x),
                        (lambda x: F.max_pool2d(x, 2, 3, 0, (2, 1), ceil_mode=True, return_indices=True), x),
                        (lambda x: F.max_pool2d(x, 2, return_indices=True), x.to(memory_format=torch.channels_last)),
                        (lambda x: F.max_pool1d(x, 3, return_indices=True), x[0]),
                        (lambda x: F.adaptive_max_pool2d(x, (4, 3), return_indices=True), x),
                        (lambda x: F.adaptive_max_pool2d(x, (3, 11), return_indices=True), x),
                        (lambda x: F.max_pool3d(x, 2, 2, 1, return_indices=True), y)):
            for dtype in TOLERANCE:
                here = x.detach().to(dtype, copy=True).requires_grad_(True)
                there = here.detach().to(DEVICE).requires_grad_(True)
                want, got = pool(here), pool(there)
                for w, g in zip(want, got):
                    torch.testing.assert_close(g.cpu(), w, rtol=0, atol=0, equal_nan=True, msg=f"{dtype}, seed {SEED}")
                for (result, _), leaf in ((want, here), (got, there)):
                    result.backward(torch.ones_like(result))
                torch.testing.assert_close(there.grad.cpu(), here.grad, msg=f"{dtype}, seed {SEED}")

    def test_normalisations(self):
        x, w, b = torch.randn(4, 6, 5, 3) * 3 + 2, torch.randn(6), torch.randn(6)
        x, w, b = (t.requires_grad_() for t in (x, w, b))
        mean, variance = torch.randn(6), torch.rand(6) + 0.5
        for training in (True, False):
            def batch_norm(x, w, b, mean, variance):
                mean, variance = mean.clone(), variance.clone()
                y = F.batch_norm(x, mean, variance, w, b, training, 0.3)
                return y, mean, variance  # updated in place
            self.compare(batch_norm, x, w, b, mean, variance)
        self.compare(lambda x: F.instance_norm(x), x)
        self.compare(lambda x, w, b: F.group_norm(x, 3, w, b), x, w, b)
        for shape in ((3,), (5, 3)):
            w, b = torch.randn(shape, requires_grad=True), torch.randn(shape, requires_grad=True)
            self.compare(lambda x, w, b: F.layer_norm(x, shape, w, b), x, w, b)
            self.compare(lambda x: F.layer_norm(x, shape), x)

    def test_losses(self):
        x, t = torch.randn(5, 7, requires_grad=True), torch.randn(5, 7, requires_grad=True)
        p = torch.rand(5, 7) * 0.9 + 0.05
        image, classes = torch.randn(2, 4, 3, 5, requires_grad=True), torch.randint(0, 4, (2, 3, 5))
        labels, weight = torch.tensor([0, 6, -100, 3, 2]), torch.rand(7)
        for reduction in ("none", "mean", "sum"):
            self.compare(lambda x, t: F.mse_loss(x, t, reduction=reduction), x, t)
            self.compare(lambda x, t: F.smooth_l1_loss(x, t, reduction=reduction, beta=0.7), x, t)
            self.compare(lambda x, t: F.huber_loss(x, t, reduction=reduction, delta=0.7), x, t)
            self.compare(lambda x, p: F.binary_cross_entropy(torch.sigmoid(x), p, reduction=reduction), x, p,
                         dtypes=(torch.float32, torch.float64))
            self.compare(lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction), x, labels, weight)
            self.compare(lambda x, t: F.nll_loss(x, t, reduction=reduction, ignore_index=1), image, classes)

    def test_resampling_and_padding(self):
        x = torch.randn(2, 3, 7, 5, requires_grad=True)
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
            corners = (True, False) if mode[0] == "b" else (None,)
            for align in corners:
                for how in ({"scale_factor": 2}, {"size": (3, 11)}):
                    self.compare(lambda x: F.interpolate(x, mode=mode, align_corners=align, **how), x)
        self.compare(lambda x: F.interpolate(x, size=(3, 2), mode="bilinear", antialias=True), x)
        for mode in ("reflect", "replicate", "constant"):
            self.compare(lambda x: F.pad(x, (2, 1, 3, 0), mode=mode), x)
        self.compare(lambda x: F.pad(x, (-1, 2, 0, -3), value=2.5), x)
        self.compare(lambda x: F.fold(F.unfold(x, (3, 2), 1, 1, 2), (7, 5), (3, 2), 1, 1, 2), x)
        self.compare(lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), torch.randn(2, 8, 3, 2, requires_grad=True))

    def test_training(self):
        """A residual network: losses, parameters and running statistics after three steps are the CPU's."""
        class Block(nn.Module):
            def __init__(self, channels):
                super().__init__()
                self.body = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                                          nn.BatchNorm2d(channels), nn.ReLU(),
                                          nn.Conv2d(channels, channels, 3, padding=1, groups=channels),
                                          nn.BatchNorm2d(channels))

            def forward(self, x):
                return torch.relu(x + self.body(x))

        model = nn.Sequential(nn.Conv2d(3, 8, 5, 2, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Block(8),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
        x, t = torch.randn(16, 3, 21, 19), torch.randint(0, 5, (16,))
        models = [(copy.deepcopy(model).double(), "cpu", torch.float64), (copy.deepcopy(model).to(DEVICE), DEVICE,
                                                                           torch.float32)]
        for m, device, dtype in models:
            optimizer = torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9)
            for _ in range(3):
                optimizer.zero_grad()
                F.cross_entropy(m(x.to(device, dtype)), t.to(device)).backward()
                optimizer.step()
        for (name, want), got in zip(models[0][0].state_dict().items(), models[1][0].state_dict().values()):
            torch.testing.assert_close(got.cpu().to(want.dtype), want, rtol=2e-4, atol=2e-4, msg=f"{name}, seed {SEED}")


if __name__ == "__main__":
    unittest.main()
