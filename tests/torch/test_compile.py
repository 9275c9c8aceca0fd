# SPDX-License-Identifier: Apache-2.0
"""torch.compile(backend="directml") beside the same networks run eagerly on the CPU."""
import copy
import unittest

import torch
import torch_directml
from torch import nn
from torch_directml import compiler  # only for what it counts: torch finds the backend by its entry point

DEVICE = torch_directml.device()


def counted(function):
    """What a call compiled."""
    before = {key: len(value) if isinstance(value, list) else value for key, value in compiler.statistics.items()}
    result = function()
    return result, {key: (len(value) if isinstance(value, list) else value) - before[key]
                    for key, value in compiler.statistics.items()}


def close(got, want):
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=1e-4, atol=1e-4)


class Compile(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(3)

    def compare(self, module, inputs, least_operators):
        """Forward and backward; the DirectML graphs together must have so many operators."""
        there = copy.deepcopy(module).to(DEVICE)
        compiled = torch.compile(there, backend="directml")
        x = inputs.clone().requires_grad_(inputs.is_floating_point())
        y = inputs.to(DEVICE).requires_grad_(inputs.is_floating_point())
        want = module(x)
        got, made = counted(lambda: compiled(y))
        close(got, want)
        gradient = torch.randn_like(want)
        want.backward(gradient)
        _, more = counted(lambda: got.backward(gradient.to(DEVICE)))
        self.assertEqual(compiler.statistics["problems"], [])
        self.assertGreaterEqual(made["operators"] + more["operators"], least_operators, (made, more))
        for a, b in zip(module.parameters(), there.parameters()):
            close(b.grad, a.grad)
        for a, b in zip(module.buffers(), there.buffers()):
            close(b, a)
        if x.grad is not None:
            close(y.grad, x.grad)
        return compiled

    def test_mlp(self):
        module = nn.Sequential(nn.Linear(7, 19), nn.Tanh(), nn.Linear(19, 23), nn.ReLU(), nn.Linear(23, 3))
        compiled = self.compare(module, torch.randn(5, 7), 6)
        for batch in (1, 2, 9):  # other sizes, other graphs
            x = torch.randn(batch, 7)
            close(compiled(x.to(DEVICE)), module(x))
        with torch.no_grad():
            x = torch.randn(5, 7)
            close(compiled(x.to(DEVICE)), module(x))

    def test_cnn(self):
        self.compare(nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Flatten(), nn.Linear(96, 4)), torch.randn(2, 3, 8, 8), 1)

    def test_transformer(self):
        module = nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True)
        self.compare(module, torch.randn(3, 5, 16), 8)

    def test_training_follows_the_eager_one(self):
        here = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
        there = copy.deepcopy(here).to(DEVICE)
        compiled = torch_directml.compile(there)
        mine, theirs = torch.optim.SGD(here.parameters(), 0.1), torch.optim.SGD(there.parameters(), 0.1)
        for _ in range(10):
            x = torch.randn(16, 6)
            y = x.sum(1, keepdim=True)
            want, got = (here(x) - y).square().mean(), (compiled(x.to(DEVICE)) - y.to(DEVICE)).square().mean()
            close(got, want)
            for optimizer, loss in ((mine, want), (theirs, got)):
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def test_functions_views_and_mixed_results(self):
        @torch_directml.compile
        def function(x, y):
            z = x.t()[1:].exp() + y.view(2, -1)[:, :3].sum()
            return z, z.transpose(0, 1) * 2, x

        def plain(x, y):
            z = x.t()[1:].exp() + y.view(2, -1)[:, :3].sum()
            return z, z.transpose(0, 1) * 2, x

        x, y = torch.randn(4, 5), torch.randn(12)
        for inputs in ((x, y), (torch.randn(5, 6)[1:, 1:], torch.randn(14)[2:])):
            results = function(*(t.to(DEVICE) for t in inputs))
            for got, want in zip(results, plain(*inputs)):
                close(got, want)
            moved = torch.randn(6, 7)
            view = moved.to(DEVICE)[1:5, 2:]  # a view with an offset, whose storage is larger
            close(function(view, y.to(DEVICE))[0], plain(moved[1:5, 2:], y)[0])

    def test_random_operators_stay_random(self):
        compiled = torch_directml.compile(nn.functional.dropout)
        x = torch.ones(1000, device=DEVICE)
        a, b = compiled(x, 0.5).cpu(), compiled(x, 0.5).cpu()
        self.assertFalse(torch.equal(a, b))
        self.assertEqual(sorted(set(a.tolist())), [0.0, 2.0])

    def test_options_are_refused(self):
        with self.assertRaisesRegex(Exception, "no options"):
            torch.compile(lambda x: x + 1, backend="directml", options={"a": 1})(torch.ones(2, device=DEVICE))


if __name__ == "__main__":
    unittest.main()
