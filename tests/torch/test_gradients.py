# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions' weights and of maxima on the Vulkan adapter against float64 on the CPU, and which kernels
compute them: those that need no columns of images in memory, and no sorted indices."""
import os
import subprocess
import sys
import tempfile
import unittest

os.environ["ANYDML_ADAPTERS"] = "vulkan"  # before the libraries are loaded

import torch  # noqa: E402
import torch_directml  # noqa: E402
from torch.nn import functional as F  # noqa: E402

if not torch_directml.is_available():
    print("no Vulkan adapter on this machine: skipped")
    sys.exit(0)
DEVICE = torch_directml.device()
SEED = int(os.environ.get("SEED", "0"))
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}

# Images, channels, output channels, groups, size, window, stride, padding, dilation.
CONVOLUTIONS = [(2, 20, 70, 1, (13, 14), 3, 1, 1, 1), (3, 3, 40, 1, (31, 30), 7, 2, 3, 1),
                (2, 32, 48, 2, (14, 13), 3, 2, 1, 2), (2, 40, 24, 1, (9, 10), 1, 1, 0, 1),
                (2, 24, 40, 1, (12, 9), 1, 2, 0, 1), (2, 12, 16, 1, (50,), 5, 3, 2, 2), (1, 9, 10, 1, (7, 6, 8), 2, 1, 1, 2)]
# Few rows in a group, small images, windows in the padding.
OTHERS = [(2, 16, 16, 16, (12, 11), 3, 1, 1, 1), (2, 5, 7, 1, (2, 2), 3, 1, 1, 1), (2, 6, 12, 1, (3, 3), 3, 1, 6, 1)]

# Size, window, stride, padding, dilation, whether sizes are rounded up.
POOLS = [((11, 9), 3, 2, 1, 1, False), ((11, 9), (2, 3), 2, 0, (2, 1), True), ((13, 14), 3, 1, 1, 2, False),
         ((7, 7), 2, 2, 0, 1, True), ((6, 7, 5), 2, 2, 1, 1, False), ((8, 8, 9), 3, 1, 1, 1, True), ((20,), 5, 3, 2, 1, False)]


def pooled(case, x, device, through):
    size, window, stride, padding, dilation, ceil = case
    x = x.to(device=device, dtype=through, copy=True).requires_grad_()
    pool = getattr(F, f"max_pool{len(size)}d")
    y, indices = pool(x, window, stride, padding, dilation, ceil, return_indices=True)
    generator = torch.Generator().manual_seed(SEED + 2)
    y.backward(torch.randint(-9, 10, y.shape, generator=generator).to(device=device, dtype=through))
    return x.grad.cpu().double(), indices.cpu()


def gradients(case, device, dtype, through, last=False, transposed=False):
    """Of input and weights; numbers are rounded to dtype, and computed with in `through`."""
    images, channels, outputs, groups, size, window, stride, padding, dilation = case
    generator = torch.Generator().manual_seed(SEED + 1)

    def random(shape, images):
        x = torch.randn(shape, generator=generator).to(dtype).to(through).to(device)
        return x.to(memory_format=torch.channels_last) if last and images else x

    x = random((images, channels, *size), True).requires_grad_()
    shape = (channels, outputs // groups) if transposed else (outputs, channels // groups)
    w = random((*shape, *(window,) * len(size)), False).requires_grad_()
    run = getattr(F, f"conv_transpose{len(size)}d" if transposed else f"conv{len(size)}d")
    y = run(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    y.backward(random(y.shape, True))
    return x.grad.cpu().double(), w.grad.cpu().double()


class Gradients(unittest.TestCase):
    def compare(self, case, dtype, *options):
        want, got = gradients(case, "cpu", dtype, torch.float64, *options), gradients(case, DEVICE, dtype, dtype, *options)
        for w, g in zip(want, got):
            torch.testing.assert_close(g, w, rtol=0, atol=TOLERANCE[dtype] * float(w.abs().max()),
                                       msg=lambda m, *at: f"{case}, {dtype}, {options}, seed {SEED}: {m}")

    def test_weights(self):
        for case in CONVOLUTIONS + OTHERS:
            for dtype in TOLERANCE:
                self.compare(case, dtype)

    def test_weights_of_channels_last(self):
        for case in CONVOLUTIONS[:2] + CONVOLUTIONS[3:5]:
            self.compare(case, torch.float32, True)
            self.compare(case, torch.float16, True)

    def test_weights_of_transposed(self):
        for case in CONVOLUTIONS[2:5]:
            self.compare(case, torch.float32, False, True)

    def test_maxima(self):
        """Sums of integers are exact in every type; elements are equal now and then."""
        generator = torch.Generator().manual_seed(SEED)
        for case in POOLS:
            for dtype in (*TOLERANCE, torch.float64):
                for last in (False, True) if len(case[0]) == 2 else (False,):
                    x = torch.randint(-20, 21, (2, 5, *case[0]), generator=generator)
                    x = x.to(memory_format=torch.channels_last) if last else x
                    want, got = pooled(case, x, "cpu", torch.float64), pooled(case, x, DEVICE, dtype)
                    self.assertTrue(torch.equal(want[1], got[1]), case)
                    self.assertTrue(torch.equal(want[0], got[0]), (case, dtype, last, SEED))

    def test_indices_of_others(self):
        """Positions outside of their windows count for nothing."""
        x, dy = torch.zeros(1, 1, 4, 4, device=DEVICE), torch.tensor([[[[1.0, 2], [4, 8]]]], device=DEVICE)
        indices = torch.tensor([[[[5, 3], [0, -1]]]], device=DEVICE)
        got = torch.ops.aten.max_pool2d_with_indices_backward(dy, x, [2, 2], [2, 2], [0, 0], [1, 1], False, indices)
        want = torch.zeros(16)
        want[5], want[3] = 1, 2
        self.assertEqual(got.flatten().tolist(), want.tolist())

    def test_kernels(self):
        """No images as columns are in memory."""
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            subprocess.run([sys.executable, "-W", "ignore", __file__, "--run"], check=True,
                           env=dict(os.environ, ANYDML_TRACE=trace))
            with open(trace, encoding="utf-8") as file:
                text = file.read()
        self.assertEqual(text.count(" conv_block: "), len(CONVOLUTIONS))
        self.assertNotIn("DML_OPERATOR_UNFOLD", text)
        self.assertEqual(text.count(" pool_grad_index: "), len(POOLS))
        self.assertNotIn("SCATTER", text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        for convolution in CONVOLUTIONS:
            gradients(convolution, DEVICE, torch.float32, torch.float32)
        for pooling in POOLS:
            pooled(pooling, torch.zeros(2, 5, *pooling[0]), DEVICE, torch.float32)
        sys.exit(0)
    unittest.main()
