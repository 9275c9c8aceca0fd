# SPDX-License-Identifier: Apache-2.0
"""Networks on the device beside the same ones on the CPU: results, gradients, training, autocast."""
import copy
import unittest

import torch
import torch_directml
from torch import nn

DEVICE = torch_directml.device()


def close(got, want, tolerance=1e-5):
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=tolerance, atol=tolerance)


def train(test, module, batch, loss_function, optimizer, steps=10, tolerance=1e-4):
    """The same steps on both: losses and parameters must stay together."""
    here, there = module, copy.deepcopy(module).to(DEVICE)
    mine, theirs = optimizer(here.parameters()), optimizer(there.parameters())
    first = None
    for step in range(steps):
        torch.manual_seed(step)
        inputs, target = batch()
        want = loss_function(here(inputs), target)
        got = loss_function(there(inputs.to(DEVICE)), target.to(DEVICE))
        close(got, want, tolerance)
        first = first if first is not None else want.item()
        for optim, loss in ((mine, want), (theirs, got)):
            optim.zero_grad()
            loss.backward()
            optim.step()
    for a, b in zip(here.parameters(), there.parameters()):
        test.assertEqual(b.device, DEVICE)
        close(b, a, tolerance)
    return first, want.item()


class LongTraining(unittest.TestCase):
    """Loss curves of 200 steps beside the CPU's in float64 and float32, and memory that stays as it is."""
    STEPS = 200

    def curve(self, device, dtype, make, batch, loss_function, compiled=False):
        torch.manual_seed(4)
        module = make().to(device, dtype)
        run = torch_directml.compile(module) if compiled else module
        optimizer = torch.optim.AdamW(module.parameters(), 1e-3)
        losses, memory = [], []
        for step in range(self.STEPS):
            torch.manual_seed(step)
            inputs, target = (t.to(device, dtype if t.is_floating_point() else t.dtype) for t in batch())
            loss = loss_function(run(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if device == DEVICE:
                memory.append(torch.dml.memory_allocated())
        del loss, inputs, target
        return torch.tensor(losses, dtype=torch.float64), memory

    def same(self, name, *case):
        truth, _ = self.curve("cpu", torch.float64, *case)
        cpu, _ = self.curve("cpu", torch.float32, *case)
        self.assertLess(truth[-10:].mean(), truth[:10].mean() * 0.9, name)
        for compiled in (False, True):
            got, memory = self.curve(DEVICE, torch.float32, *case, compiled=compiled)
            mine, theirs = float((got - truth).abs().max()), float((cpu - truth).abs().max())
            print(f"{name}{', compiled' if compiled else ''}: losses {truth[0]:.4f} to {truth[-1]:.4f}, at most {mine:.1e} "
                  f"from float64's (the CPU's {theirs:.1e}), memory {memory[4]} to {memory[-1]} bytes", flush=True)
            self.assertLessEqual(mine, max(4 * theirs, 1e-5), name)
            self.assertEqual(memory[4], memory[-1], name)  # the first steps make the optimizer's state

    def test_images(self):
        def batch():
            x = torch.randn(16, 3, 12, 12)
            return x, (x.mean((2, 3)) * 20).long().sum(1).clamp(-2, 2) + 2
        self.same("convolutions", lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3), nn.GELU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 5)), batch, nn.functional.cross_entropy)

    def test_tokens(self):
        def batch():
            x = torch.randint(0, 13, (8, 10))
            return x, (x * 3 + 1) % 13
        self.same("transformer", lambda: nn.Sequential(
            nn.Embedding(13, 32), nn.TransformerEncoderLayer(32, 4, 48, dropout=0, batch_first=True), nn.Linear(32, 13)),
            batch, lambda x, y: nn.functional.cross_entropy(x.flatten(0, 1), y.flatten()))


class Training(unittest.TestCase):
    def test_mlp(self):
        torch.manual_seed(1)
        weights = torch.randn(12, 1)

        def batch():
            x = torch.randn(32, 12)
            return x, torch.tanh(x @ weights)

        for optimizer in (lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), lambda p: torch.optim.Adam(p, 1e-2),
                          lambda p: torch.optim.AdamW(p, 1e-2, weight_decay=0.1), lambda p: torch.optim.RMSprop(p, 1e-3),
                          lambda p: torch.optim.AdamW(p, 1e-2, foreach=True)):
            module = nn.Sequential(nn.Linear(12, 37), nn.GELU(), nn.LayerNorm(37), nn.Linear(37, 19), nn.SiLU(),
                                   nn.Linear(19, 1))
            first, last = train(self, module, batch, nn.functional.mse_loss, optimizer, 30)
            self.assertLess(last, first)

    def test_cnn(self):
        torch.manual_seed(2)
        module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(8, 12, 3, stride=2, groups=2, bias=False), nn.GroupNorm(3, 12), nn.LeakyReLU(),
                               nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5))
        first, last = train(self, module, lambda: (torch.randn(6, 3, 17, 15), torch.randint(0, 5, (6,))),
                            nn.functional.cross_entropy, lambda p: torch.optim.SGD(p, 0.01, momentum=0.9))
        self.assertNotEqual(first, last)

    def test_transposed_convolutions_and_one_dimension(self):
        for module, shape in ((nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2), (2, 4, 5, 6)),
                              (nn.Conv1d(4, 6, 5, dilation=2), (2, 4, 20)), (nn.Conv3d(2, 3, 3), (1, 2, 5, 6, 7)),
                              (nn.Conv2d(3, 4, 3, padding="same", padding_mode="reflect"), (2, 3, 8, 9))):
            there = copy.deepcopy(module).to(DEVICE)
            x = torch.randn(shape, requires_grad=True)
            y = x.detach().to(DEVICE).requires_grad_(True)
            want, got = module(x), there(y)
            close(got, want)
            g = torch.randn_like(want)
            want.backward(g)
            got.backward(g.to(DEVICE))
            close(y.grad, x.grad)
            for a, b in zip(module.parameters(), there.parameters()):
                close(b.grad, a.grad)

    def test_recurrent_networks(self):
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            for options in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}):
                module = kind(5, 7, **options)
                there = copy.deepcopy(module).to(DEVICE)
                x = torch.randn(4, 3, 5, requires_grad=True)
                y = x.detach().to(DEVICE).requires_grad_(True)
                (want, state), (got, final) = module(x), there(y)
                close(got, want)
                for a, b in zip(state if kind is nn.LSTM else [state], final if kind is nn.LSTM else [final]):
                    close(b, a)
                (want.square().sum() + sum(s.sum() for s in state)).backward()
                (got.square().sum() + sum(s.sum() for s in final)).backward()
                close(y.grad, x.grad)
                for a, b in zip(module.parameters(), there.parameters()):
                    close(b.grad, a.grad)
        cell = nn.LSTMCell(3, 4)
        there = copy.deepcopy(cell).to(DEVICE)
        x = torch.randn(2, 3)
        for a, b in zip(cell(x), there(x.to(DEVICE))):
            close(b, a)

    def test_gradients_of_zeros(self):
        x = torch.randn(3, device=DEVICE, requires_grad=True)
        gradient, = torch.autograd.grad(torch.sgn(x).abs().sum(), [x])
        self.assertEqual(gradient.cpu().tolist(), [0, 0, 0])

    def test_shared_parameters(self):
        module = torch.nn.ModuleDict({"table": torch.nn.Embedding(7, 5), "head": torch.nn.Linear(5, 7, bias=False)})
        module["head"].weight = module["table"].weight
        module.to(DEVICE)
        self.assertIs(module["head"].weight, module["table"].weight)
        self.assertEqual(module["head"].weight.device.type, "dml")
        self.assertEqual(len(list(module.parameters())), 1)

    def test_transformer(self):
        torch.manual_seed(3)
        module = nn.Sequential(nn.Embedding(11, 16), nn.TransformerEncoderLayer(16, 4, 32, dropout=0, batch_first=True),
                               nn.Linear(16, 11))
        module.train()
        first, last = train(self, module, lambda: (torch.randint(0, 11, (4, 9)), torch.randint(0, 11, (4, 9))),
                            lambda x, y: nn.functional.cross_entropy(x.flatten(0, 1), y.flatten()),
                            # The bias of keys has no gradient but roundings, of which AdamW makes steps all the same.
                            lambda p: torch.optim.AdamW(p, 1e-3), 5, tolerance=2e-3)
        self.assertNotEqual(first, last)

    def test_attention(self):
        q, k, v = (torch.randn(2, 4, 6, 8) for _ in range(3))
        mask = torch.rand(6, 6) > 0.3
        mask[:, 0] = True
        for options in ({}, {"is_causal": True}, {"attn_mask": mask}, {"attn_mask": torch.randn(6, 6)}):
            leaves = [t.clone().requires_grad_(True) for t in (q, k, v)]
            twins = [t.to(DEVICE).requires_grad_(True) for t in (q, k, v)]
            want = nn.functional.scaled_dot_product_attention(*leaves, **options)
            got = nn.functional.scaled_dot_product_attention(
                *twins, **{key: x.to(DEVICE) if torch.is_tensor(x) else x for key, x in options.items()})
            close(got, want)
            want.square().sum().backward()
            got.square().sum().backward()
            for a, b in zip(leaves, twins):
                close(b.grad, a.grad)

    def test_dropout_of_attention(self):
        """Probabilities are dropped at the rate that is asked for, the rest is scaled up; the gradient has the same ones."""
        rate, tokens, size = 0.3, 40, 64
        q, k = (torch.randn(3, 2, tokens, 16, device=DEVICE) for _ in range(2))
        v = torch.eye(size, device=DEVICE)[:tokens].expand(3, 2, -1, -1).clone().requires_grad_(True)
        kept = nn.functional.scaled_dot_product_attention(q, k, v)[..., :tokens]
        torch.manual_seed(3)
        out = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=rate)
        ratio = (out[..., :tokens] / kept).detach().cpu()  # v is a unit matrix: the probabilities themselves
        dropped = ratio == 0
        self.assertAlmostEqual(dropped.float().mean().item(), rate, delta=0.03)
        close(ratio[~dropped], torch.full((int((~dropped).sum()),), 1 / (1 - rate)))
        out.sum().backward()
        close(v.grad[..., 0], out[..., :tokens].sum(-2).cpu())
        torch.manual_seed(3)
        again = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=rate)
        self.assertTrue(torch.equal(out, again))
        other = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=rate)
        self.assertFalse(torch.equal(out, other))

    def test_gradcheck(self):
        x = torch.randn(3, 4, dtype=torch.float64, device=DEVICE, requires_grad=True)
        y = torch.randn(4, 2, dtype=torch.float64, device=DEVICE, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda a, b: (a.tanh() @ b).softmax(-1).log().sum(0), (x, y)))


class Functions(unittest.TestCase):
    def test_parts_of_language_models(self):
        x, w1, w3, w2, wide = (torch.randn(shape) for shape in ((2, 5, 8), (12, 8), (12, 8), (8, 12), (24, 8)))
        b1, b2 = torch.randn(12), torch.randn(8)
        there = [t.to(DEVICE) for t in (x, w1, w3, w2, wide, b1, b2)]
        double = [t.double() for t in (x, w1, w3, w2, wide, b1, b2)]
        X, W1, W3, W2, WIDE, B1, B2 = double

        def silu(t):
            return t / (1 + (-t).exp())

        def check(got, want):
            close(got, want.float())

        check(torch_directml.rmsnorm(there[0], there[6], 1e-3), X / ((X * X).sum(-1, keepdim=True) / 8 + 1e-3).sqrt() * B2)
        check(torch_directml.mlp_llama(there[0], there[1], there[3], there[2]), silu(X @ W1.T) * (X @ W3.T) @ W2.T)
        check(torch_directml.mlp_phi3(there[0], there[4], there[3]),
              silu((X @ WIDE.T)[..., :12]) * (X @ WIDE.T)[..., 12:] @ W2.T)
        h = X @ W1.T + B1
        check(torch_directml.mlp_phi2(there[0], there[1], there[3], there[5], there[6]),
              0.5 * h * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (h + 0.044715 * h ** 3))) @ W2.T + B2)

    def test_rotary_positions(self):
        """Pairs are complex numbers, which their angle turns."""
        heads, tokens, size, dim, position = 3, 5, 12, 8, 4
        q, k = torch.randn(2, heads, tokens, size), torch.randn(2, 1, tokens, size)
        angles = torch.outer(torch.arange(20.0), torch.rand(dim // 2))
        both = torch.cat((angles, angles), -1)[None, None]
        there = [t.to(DEVICE).requires_grad_() for t in (q, k)]
        got = torch_directml.apply_rotary_position_emb(*there, both.cos().to(DEVICE), both.sin().to(DEVICE), position,
                                                       tokens, dim)
        turn = torch.polar(torch.ones(tokens, dim // 2), angles[position:position + tokens])
        for x, y in zip((q, k), got):
            pairs = torch.complex(x[..., :dim // 2], x[..., dim // 2:dim]) * turn
            close(y, torch.cat((pairs.real, pairs.imag, x[..., dim:]), -1))
        (got[0].sum() + got[1].sum()).backward()
        close(there[0].grad[..., dim:], torch.ones(2, heads, tokens, size - dim))
        for wrong in ((position, tokens, 7), (position, tokens, 10), (16, tokens, dim), (-1, tokens, dim),
                      (position, 4, dim)):
            with self.assertRaisesRegex(ValueError, "apply_rotary_position_emb"):
                torch_directml.apply_rotary_position_emb(q, k, both.cos(), both.sin(), *wrong)

    def test_attention_that_keeps_keys(self):
        """Token by token it is what all of them at once give, and that is the definition."""
        heads, tokens, size, batch = 4, 6, 8, 2
        for kv_heads in (4, 2):
            q = torch.randn(batch, tokens, heads * size)
            k, v = (torch.randn(batch, tokens, kv_heads * size) for _ in range(2))
            mask = torch.ones(tokens, tokens, dtype=torch.int32).tril().expand(1, heads, -1, -1)
            Q, K, V = (t.double().unflatten(-1, (-1, size)).transpose(1, 2) for t in (q, k, v))
            K, V = (t.repeat_interleave(heads // kv_heads, 1) for t in (K, V))
            scores = (Q @ K.mT / size ** 0.5).masked_fill(mask == 0, float("-inf"))
            want = (scores.softmax(-1) @ V).transpose(1, 2).flatten(2).float()
            q, k, v, mask = (t.to(DEVICE) for t in (q, k, v, mask))
            whole, keys, _ = torch_directml.multi_head_attention(q, k, v, heads * size, heads, None, None, mask)
            close(whole, want)
            self.assertEqual(keys.shape, (batch, kv_heads, tokens, size))
            past, parts = (None, None), []
            for i in range(tokens):
                y, *past = torch_directml.multi_head_attention(q[:, i:i + 1], k[:, i:i + 1], v[:, i:i + 1], heads * size,
                                                               heads, *past, mask[:, :, i:i + 1, :i + 1])
                parts.append(y)
            close(torch.cat(parts, 1), want)
            close(past[0], keys.cpu())
        for wrong in ((heads * size, 5), (size, 1), (heads * size, 0), (heads * size, heads, keys)):
            with self.assertRaisesRegex(ValueError, "multi_head_attention"):
                torch_directml.multi_head_attention(q, k, v, *wrong)


class Autocast(unittest.TestCase):
    def test_types(self):
        x = torch.randn(4, 4, device=DEVICE)
        for kind in (torch.float16, torch.bfloat16):
            with torch.autocast("dml", dtype=kind):
                self.assertTrue(torch.is_autocast_enabled("dml"))
                self.assertEqual((x @ x).dtype, kind)
                self.assertEqual(nn.functional.linear(x, x).dtype, kind)
                self.assertEqual((x @ x).softmax(-1).dtype, torch.float32)
                self.assertEqual((x @ x).exp().dtype, torch.float32)
                self.assertEqual(torch.cat([x @ x, x]).dtype, torch.float32)
                with torch.autocast("dml", enabled=False):
                    self.assertEqual((x @ x).dtype, torch.float32)
        self.assertEqual((x @ x).dtype, torch.float32)
        with torch.autocast("dml"), self.assertRaisesRegex(RuntimeError, "unsafe to autocast"):
            nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid())

    def test_training_with_a_scaler(self):
        torch.manual_seed(4)
        module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(DEVICE)
        optimizer, scaler = torch.optim.SGD(module.parameters(), 0.05), torch.amp.GradScaler("dml")
        x = torch.randn(64, 8, device=DEVICE)
        y = x.sum(1, keepdim=True)
        losses = []
        for _ in range(30):
            with torch.autocast("dml", dtype=torch.float16):
                loss = nn.functional.mse_loss(module(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 2)


if __name__ == "__main__":
    unittest.main()
