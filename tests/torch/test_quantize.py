# SPDX-License-Identifier: Apache-2.0
"""Quantization-aware training: fake quantization and its observers on the device, against the CPU, without fallback."""
import copy
import unittest
import warnings

import torch
import torch.ao.quantization as quantization
import torch_directml
from torch import nn

DEVICE = torch_directml.device()


class Quantize(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        torch_directml.fallbacks(clear=True)

    def tearDown(self):
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def both(self, function, x, *args):
        """Results and gradients, on the CPU and on the device."""
        found = []
        for device in ("cpu", DEVICE):
            leaf = x.to(device, copy=True).requires_grad_()
            y = function(leaf, *(a.to(device) if isinstance(a, torch.Tensor) else a for a in args))
            (y * y).sum().backward()
            found.append((y.detach().cpu(), leaf.grad.cpu()))
        for want, have in zip(*found):
            torch.testing.assert_close(have, want, rtol=1e-6, atol=1e-5)

    def test_tensors(self):
        for sizes in ((), (0,), (7,), (3, 4, 5)):
            x = torch.randn(sizes) * 20
            for scale, zero, least, most in ((0.1, 0, -128, 127), (0.3, 5, 0, 255), (1.7, -3, -8, 7)):
                self.both(torch.fake_quantize_per_tensor_affine, x, scale, zero, least, most)
                for on in (0, 1):
                    numbers = torch.tensor([scale]), torch.tensor([zero], dtype=torch.int32), torch.tensor([on])
                    self.both(lambda t, s, z, o: torch._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
                        t, s, z, o, least, most)[0], x, *numbers)
        edges = torch.tensor([0.05, -0.05, 0.15, 12.7, 12.75, -12.8, -12.85, 1e6, -1e6, 0.0, -0.0])
        self.both(torch.fake_quantize_per_tensor_affine, edges, 0.1, 0, -128, 127)
        self.both(torch.fake_quantize_per_tensor_affine, torch.randn(4, 6)[:, ::2].t(), 0.1, 0, -128, 127)

    def test_channels(self):
        x = torch.randn(3, 4, 5) * 20
        for axis in range(3):
            count = x.shape[axis]
            scale = torch.rand(count) + 0.05
            for zero in (torch.randint(-5, 6, (count,), dtype=torch.int32), torch.rand(count) * 4):
                self.both(torch.fake_quantize_per_channel_affine, x, scale, zero, axis, -128, 127)
        with self.assertRaisesRegex(RuntimeError, "scale"):
            torch.fake_quantize_per_channel_affine(x.to(DEVICE), scale.to(DEVICE), zero.to(DEVICE), 0, -128, 127)
        torch_directml.fallbacks(clear=True)

    def test_training(self):
        """Weights are observed by channel, activations as a whole; then observers and quantization are disabled in turn."""
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 4)).train()
        model.qconfig = quantization.get_default_qat_qconfig("fbgemm")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch recommends torchao
            quantization.prepare_qat(model, inplace=True)
        images, found = torch.randn(3, 5, 3, 6, 6), []
        for device in ("cpu", DEVICE):
            net = copy.deepcopy(model).to(device)
            optimizer, losses = torch.optim.SGD(net.parameters(), 0.01), []
            for i, x in enumerate(images):
                optimizer.zero_grad()
                loss = net(x.to(device)).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach().cpu())
                net.apply([quantization.disable_observer, quantization.disable_fake_quant, lambda m: m][i])
            found.append(losses + [t.detach().cpu() for t in net.state_dict().values()])
        for want, have in zip(*found):
            torch.testing.assert_close(have, want, rtol=2e-4, atol=2e-4)


if __name__ == "__main__":
    unittest.main()
