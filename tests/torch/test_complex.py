# SPDX-License-Identifier: Apache-2.0
"""Complex numbers: operators that move, add and test elements have the CPU's results and gradients, without the fallback."""
import unittest

import torch
import torch.nn.functional as F
import torch_directml

DEVICE = torch.device("dml", 0)
ROWS = torch.tensor([0, 2, 2, 1])  # equal indices: their elements are added
CALLS = {
    "index_add": lambda x, i: x.index_add(0, i, x[:4], alpha=2), "index_add columns": lambda x, i: x.index_add(1, i[:3], x[:, :3]),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None].expand(4, 5), x[:4]),
    "index_put add": lambda x, i: x.clone().index_put_((i,), x[:4], accumulate=True),
    "index_put add twice": lambda x, i: x.clone().index_put_((i, i), x[:4, 0], accumulate=True),
    "index_put": lambda x, i: x.clone().index_put_((i[:2],), x[:2]), "mask": lambda x, i: x.clone().index_put_((x.real > 0,), x[0, 0]),
    "set": lambda x, i: torch.zeros_like(x).index_put((i[:2],), torch.tensor(3 + 2j, device=x.device, dtype=x.dtype)),
    "put": lambda x, i: x.clone().put_(i, x[:4, 0], accumulate=True), "index_fill": lambda x, i: x.index_fill(0, i, 1.5 - 2j),
    "index_fill real": lambda x, i: x.index_fill(0, i, 1.5), "scatter number": lambda x, i: x.scatter(0, i[:, None], 2 - 1j),
    "masked_scatter": lambda x, i: x.masked_scatter(x.real > 0, x.flip(0)), "pad": lambda x, i: F.pad(x, (1, 2), value=2.0),
    "reflect": lambda x, i: F.pad(x[None], (1, 2), mode="reflect"), "replicate": lambda x, i: F.pad(x[None], (1, 2), mode="replicate"),
    "trace": lambda x, i: x.trace(), "unfold": lambda x, i: x.unfold(0, 3, 1), "F.unfold": lambda x, i: F.unfold(x[None, None], 2),
    "subtracted": lambda x, i: 2 - x, "subtracted tensor": lambda x, i: torch.rsub(x, x.real, alpha=2), "nan_to_num": lambda x, i: torch.nan_to_num(x),
    "ones": lambda x, i: x + torch.ones(6, 5, dtype=x.dtype, device=x.device), "full": lambda x, i: torch.full_like(x, 2 + 1j) * x,
    "eye": lambda x, i: x[:5] @ torch.eye(5, 4, dtype=x.dtype, device=x.device), "cat": lambda x, i: torch.cat([x, x.conj()]),
    "stack": lambda x, i: torch.stack([x, x]), "flip": lambda x, i: x.flip(0), "roll": lambda x, i: x.roll(1, 0), "repeat": lambda x, i: x.repeat(2, 1),
    "tril": lambda x, i: x.tril(), "gather": lambda x, i: x.gather(0, i[:, None].expand(4, 5)), "index": lambda x, i: x[i],
    "index_select": lambda x, i: x.index_select(1, i), "take": lambda x, i: x.take(i), "slice": lambda x, i: x[1:5:2, 1],
    "zero": lambda x, i: x.clone().zero_(), "any": lambda x, i: (x * x.real.gt(1)).any(0), "all": lambda x, i: x.all(), "not": lambda x, i: x.logical_not(),
    "count": lambda x, i: (x * x.real.gt(0)).count_nonzero(1), "foreach": lambda x, i: torch._foreach_add([x, x], [x, x.flip(0)], alpha=2)[1],
    "foreach mul": lambda x, i: torch._foreach_mul([x], 0.5)[0], "foreach norm": lambda x, i: torch._foreach_norm([x])[0],
}


class Complex(unittest.TestCase):
    def results(self, call, x, device):
        x = x.detach().clone().to(device).requires_grad_()
        y = call(x, ROWS.to(device))
        if y.requires_grad:
            y.abs().square().sum().backward()
        return y.detach(), x.grad

    def test_operators(self):
        for dtype in (torch.complex64, torch.complex128):
            torch.manual_seed(0)
            x = torch.randn(6, 5, dtype=dtype)
            x[3, 3] = 0
            for name, call in CALLS.items():
                torch_directml.fallbacks(clear=True)
                got = self.results(call, x, DEVICE)
                self.assertEqual(torch_directml.fallbacks(), {}, f"{name} {dtype}")
                for mine, theirs in zip(got, self.results(call, x, "cpu")):
                    if theirs is not None:
                        torch.testing.assert_close(mine.cpu(), theirs, msg=lambda m: f"{name} {dtype}: {m}")

    def test_truth_of_parts(self):
        x = torch.tensor([0, 1, 1j, complex("nan"), complex(0, float("nan")), -0.0], dtype=torch.complex64)
        for f in (torch.any, torch.all, torch.count_nonzero, torch.logical_not, lambda x: torch.logical_xor(x, x.flip(0))):
            self.assertEqual(f(x.to(DEVICE)).tolist(), f(x).tolist())

    def test_random_numbers(self):
        """Each part has half of the variance, and both are independent."""
        torch_directml.fallbacks(clear=True)
        torch.manual_seed(0)
        z = torch.randn(200, 500, dtype=torch.complex64, device=DEVICE)
        z2 = torch.empty(100000, dtype=torch.complex128, device=DEVICE).normal_(2, 3)
        self.assertEqual(torch_directml.fallbacks(), {})
        parts = torch.view_as_real(z.cpu()).reshape(-1, 2)
        torch.testing.assert_close(torch.cov(parts.t()), torch.eye(2) / 2, rtol=0, atol=0.02)
        torch.testing.assert_close(parts.mean(0), torch.zeros(2), rtol=0, atol=0.02)
        self.assertAlmostEqual(abs(z2.cpu().mean() - 2).item(), 0, delta=0.06)
        self.assertAlmostEqual(z2.cpu().var().item(), 9, delta=0.2)
        self.assertEqual(len(set(parts[:1000].flatten().tolist())), 2000)


if __name__ == "__main__":
    unittest.main()
