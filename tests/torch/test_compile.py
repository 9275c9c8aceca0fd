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
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=1e-5, atol=1e-5)


class Compile(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(3)

    def compare(self, module, inputs, least_operators):
        """Forward and backward; the DirectML graphs together must have that many operators."""
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

    def test_attention_with_rows_that_are_masked_as_a_whole(self):
        class Attention(nn.Module):
            def __init__(self, mask):
                super().__init__()
                self.inner = nn.Linear(12, 36)
                self.register_buffer("mask", mask)

            def forward(self, x):
                q, k, v = (t.unflatten(-1, (3, 4)).transpose(1, 2) for t in self.inner(x).chunk(3, -1))
                return nn.functional.scaled_dot_product_attention(q, k, v, self.mask).transpose(1, 2).flatten(2)

        mask = torch.rand(7, 7) > 0.4
        mask[2] = False
        for each in (None, mask, torch.where(mask, 0.5, -torch.inf)):
            self.compare(Attention(each), torch.randn(2, 7, 12), 8)

    def test_cnn(self):
        self.compare(nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Flatten(), nn.Linear(96, 4)), torch.randn(2, 3, 8, 8), 1)

    def test_images_for_backward_lie_as_convolutions_like_it(self):
        """Wide enough for Winograd's algorithm, forward and for both gradients; with a stride, a pooling and NaN."""
        module = nn.Sequential(nn.Conv2d(3, 32, 5, 2, 2), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                               nn.Conv2d(32, 40, 3, padding=1, bias=False), nn.BatchNorm2d(40), nn.ReLU(),
                               nn.Conv2d(40, 33, 3, padding=1), nn.ReLU(), nn.Conv2d(33, 6, 3, 2), nn.Flatten())
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
            compiled = self.compare(module, torch.randn(3, 3, 53, 49), 12)
        images = [t for t in kept if t.device.type == "dml" and t.dim() == 4 and t.shape[0] == 3 and t.shape[1] > 3]
        self.assertGreaterEqual(len(images), 4)
        for image in images:
            self.assertTrue(image.is_contiguous(memory_format=torch.channels_last), image.shape)
        x = torch.randn(3, 3, 53, 49)
        x[1, 2, 7, 9] = float("nan")
        with torch.no_grad():
            self.assertTrue(torch.equal(compiled(x.to(DEVICE)).isnan().cpu(), module(x).isnan()))

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

    def test_parameters_stay_packed_until_they_change(self):
        """Each way of writing to a parameter or buffer is seen, and nothing else packs again."""
        plans = []

        class Plan(compiler._Plan):
            def __init__(self, *args):
                super().__init__(*args)
                plans.append(self)

        module = nn.Sequential(nn.Conv2d(3, 40, 3), nn.BatchNorm2d(40), nn.ReLU(), nn.Flatten(), nn.Linear(1440, 33))
        there = copy.deepcopy(module).to(DEVICE)
        module.eval(), there.eval()
        compiled = torch.compile(there, backend="directml")
        before, x = compiler._Plan, torch.randn(2, 3, 8, 8)

        def same():
            with torch.no_grad():
                close(compiled(x.to(DEVICE)), module(x))
            return sum(plan.packed() for plan in plans)

        def through_data(m):
            m[4].weight.data.mul_(-2)

        def in_place(m):
            with torch.no_grad():
                m[0].weight.add_(0.5)

        def statistics(m):
            m[1].running_mean.fill_(0.25)
            m[1].running_var.copy_(torch.rand(40) + 0.5)

        def by_a_view(m):
            m[4].weight.detach()[3:7, 5] = 4

        def exchanged(m):
            m[4].bias = nn.Parameter(torch.ones(33).to(m[4].bias.device))

        def by_a_copy(m):
            m[4].bias.data.copy_(torch.linspace(-1, 1, 33))

        compiler._Plan = Plan
        try:
            packed = same()
            self.assertGreater(packed, 0)
            for change in (through_data, in_place, statistics, by_a_view, exchanged, by_a_copy):
                x = torch.randn(2, 3, 8, 8)
                self.assertEqual(same(), packed, "nothing has changed")
                torch.manual_seed(5)
                change(module)
                torch.manual_seed(5)
                change(there)
                now = same()
                self.assertGreater(now, packed, change.__name__)
                packed = now
        finally:
            compiler._Plan = before

    def test_parameters_that_always_change(self):
        """They are packed with each run no longer, once that was of no use."""
        there = nn.Linear(20, 30).to(DEVICE)
        compiled = torch.compile(there, backend="directml")

        def run(times):
            for _ in range(times):
                with torch.no_grad():
                    x = torch.randn(4, 20)
                    there.weight.add_(0.01)
                    close(compiled(x.to(DEVICE)), nn.functional.linear(x, there.weight.cpu(), there.bias.cpu()))

        run(1)
        _, made = counted(lambda: run(40))
        self.assertEqual(made["graphs"], 1)
        _, made = counted(lambda: run(40))
        self.assertEqual(made["graphs"], 0)

    def test_lengths_without_another_trace(self):
        """dynamic=True and mark_dynamic: one graph of torch's, a plan for each size; right for each."""
        module = nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True)
        there = copy.deepcopy(module).to(DEVICE)

        def traces():
            return torch._dynamo.utils.counters["stats"]["unique_graphs"]

        def check(compiled, length, mark):
            x = torch.randn(2, length, 16)
            y = x.to(DEVICE)
            if mark:
                torch._dynamo.mark_dynamic(y, 1)
            x.requires_grad_(), y.requires_grad_()
            module.zero_grad(), there.zero_grad()
            want, got = module(x), compiled(y)
            close(got, want)
            want.square().sum().backward()
            got.square().sum().backward()
            close(y.grad, x.grad)
            close(there.linear1.weight.grad, module.linear1.weight.grad)

        for mark in (False, True):
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            compiled = torch.compile(there, backend="directml", dynamic=None if mark else True)
            for length in (5, 9, 7, 30, 9, 5):
                check(compiled, length, mark)
            self.assertEqual(traces(), 1)
            self.assertEqual(compiler.statistics["problems"], [])

    def test_sizes_in_arithmetic(self):
        def function(x):
            n = x.shape[0]
            return x.reshape(n * 2, -1).sum(1) / (n + 1) + torch.arange(n * 2, device=x.device)

        compiled = torch.compile(function, backend="directml", dynamic=True)
        for n in (3, 8, 5):
            x = torch.randn(n, 6)
            close(compiled(x.to(DEVICE)), function(x))

    def test_training_step_as_one_graph(self):
        """A functional training step (torch.func): forward, backward and the optimizer are one DirectML graph."""
        module = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))

        def step(parameters, momenta, x, y):
            def loss_of(values):
                return (torch.func.functional_call(module, values, (x,)) - y).square().mean()
            gradients, loss = torch.func.grad_and_value(loss_of)(parameters)
            momenta = {k: 0.9 * momenta[k] + gradients[k] for k in momenta}
            return {k: parameters[k] - 0.1 * momenta[k] for k in parameters}, momenta, loss

        here = {k: v.detach().clone() for k, v in module.named_parameters()}
        there = {k: v.to(DEVICE) for k, v in here.items()}
        my, your = ({k: torch.zeros_like(v) for k, v in values.items()} for values in (here, there))
        compiled = torch.compile(step, backend="directml", fullgraph=True)
        x = torch.randn(16, 6)
        y = x.sum(1, keepdim=True)
        _, made = counted(lambda: compiled(there, your, x.to(DEVICE), y.to(DEVICE)))
        self.assertEqual((made["graphs"], made["eager_operators"], made["problems"]), (1, 0, 0))
        for _ in range(20):
            here, my, want = step(here, my, x, y)
            there, your, got = compiled(there, your, x.to(DEVICE), y.to(DEVICE))
            close(got, want)
        for key, value in here.items():
            close(there[key], value)
        self.assertLess(got.item(), 0.5)

    def test_exported_programs(self):
        """torch.export: programs run on the device as they are, and compiled; sizes may be dynamic."""
        module = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.GELU(), nn.AdaptiveAvgPool2d(2),
                               nn.Flatten(), nn.Linear(24, 4)).eval()
        there = copy.deepcopy(module).to(DEVICE)
        batch = torch.export.Dim("batch", min=2, max=64)
        program = torch.export.export(there, (torch.randn(4, 3, 9, 9, device=DEVICE),), dynamic_shapes=({0: batch},))
        program = program.run_decompositions()
        plain, compiled = program.module(), torch.compile(program.module(), backend="directml")
        for size in (4, 7, 2):
            x = torch.randn(size, 3, 9, 9)
            with torch.no_grad():
                for run in (plain, compiled):
                    close(run(x.to(DEVICE)), module(x))

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
        with self.assertRaisesRegex(Exception, "does not support options"):
            torch.compile(lambda x: x + 1, backend="directml", options={"a": 1})(torch.ones(2, device=DEVICE))


if __name__ == "__main__":
    unittest.main()
