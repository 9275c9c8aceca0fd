# SPDX-License-Identifier: Apache-2.0
"""Special functions over their whole range against the CPU's in float64, poles and infinities too."""
import math
import unittest

import torch
import torch_directml

DEVICE = torch_directml.device()
EDGES = [0.0, -0.0, 1.0, -1.0, -2.0, 0.5, 1.5, 2.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 1e30, -1e30]


def spread(low, high):
    """Numbers of all sizes and both signs, those between `low` and `high` densely."""
    generator = torch.Generator().manual_seed(3)
    dense = torch.linspace(low, high, 4001)
    sizes = torch.exp(torch.rand(1000, generator=generator) * 20 - 12)
    return torch.cat([dense, sizes, -sizes, torch.tensor(EDGES)])


class Special(unittest.TestCase):
    def check(self, function, *args, rtol=2e-6, atol=1e-6):
        torch_directml.fallbacks(clear=True)
        got = function(*(a.to(DEVICE) if isinstance(a, torch.Tensor) else a for a in args))
        self.assertEqual(torch_directml.fallbacks(clear=True), {})
        want = function(*(a.double() if isinstance(a, torch.Tensor) else a for a in args))
        torch.testing.assert_close(got.cpu(), want.to(got.dtype), rtol=rtol, atol=atol, equal_nan=True)

    def test_gamma(self):
        x = spread(-20, 30)
        self.check(torch.lgamma, x)
        near = ((x < 0) & ((x - x.round()).abs() < 1e-3))  # close to poles the argument's rounding decides
        self.check(torch.digamma, x[~near])
        for n in range(5):
            self.check(lambda t: torch.polygamma(n, t), x[~near & (x > -12) & (x < 1e6) & (x.abs() > 1e-3)],
                       rtol=2e-5)
        self.assertTrue(torch.isnan(torch.digamma(torch.tensor([-1.0, -7.0], device=DEVICE))).all().item())
        self.assertEqual(torch.digamma(torch.tensor([0.0, -0.0], device=DEVICE)).tolist(), [-math.inf, math.inf])

    def test_zeta(self):
        s, q = torch.linspace(0, 12, 49), torch.linspace(-8, 40, 97)
        self.check(torch.special.zeta, s[:, None], q[None, :], rtol=1e-5)

    def test_incomplete_gamma(self):
        a, x = torch.cat([torch.linspace(0.01, 60, 97), torch.tensor([0.0, 200, 5e3, math.inf, -1])]), torch.cat([
            torch.linspace(0, 90, 181), torch.tensor([1e-6, 190, 210, 4900, 5100, math.inf, -1])])
        self.check(torch.igamma, a[:, None], x[None], atol=2e-6)
        self.check(torch.igammac, a[:, None], x[None], atol=2e-6)

    def test_erf(self):
        p = torch.cat([torch.linspace(-1.1, 1.1, 4001), 1 - 2.0 ** -torch.arange(1, 25), 2.0 ** -torch.arange(1.0, 120)])
        self.check(torch.erfinv, p)
        self.check(torch.special.ndtri, p)
        x = spread(-9, 30)
        self.check(torch.special.erfcx, x)
        self.check(torch.special.log_ndtr, x)
        self.check(torch.special.entr, x)
        self.check(torch.special.xlog1py, x, x.flip(0))

    def test_polynomials(self):
        """Of the device and of torch's CPU tensors that numbers become."""
        x, n = torch.linspace(-0.9, 0.9, 21), torch.arange(7)
        for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "hermite_polynomial_h",
                     "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
            function = getattr(torch.special, name)
            for args in ((x[:, None], n), (x, 5), (0.3, n)):
                with self.subTest(name, args=args):
                    self.check(function, *args, rtol=1e-5, atol=1e-5)

    def test_windows(self):
        for size in (0, 1, 2, 9, 100):
            for options in ({}, {"periodic": False}, {"periodic": True, "beta": 5.5}):
                got = torch.kaiser_window(size, **options, device=DEVICE)
                torch.testing.assert_close(got.cpu(), torch.kaiser_window(size, **options), rtol=2e-6, atol=1e-6)
        got = torch.kaiser_window(9, dtype=torch.float64, device=DEVICE)
        torch.testing.assert_close(got.cpu(), torch.kaiser_window(9, dtype=torch.float64))

    def test_small_tails(self):
        """Relative to each element: what is left of 1 - erf(x) has no digits."""
        for dtype, rtol, least in ((torch.float32, 1e-6, 1e-37), (torch.float16, 1e-3, 6e-5), (torch.bfloat16, 8e-3, 1e-37)):
            x = torch.linspace(-5, 9, 3001).to(dtype)
            want = torch.erfc(x.double())
            x, want = x[want > least], want[want > least]
            torch.testing.assert_close(torch.erfc(x.to(DEVICE)).cpu().double(), want, rtol=rtol, atol=0)

    def test_bessel(self):
        x = spread(-30, 40)
        for name in ("i0", "i1", "modified_bessel_i0", "modified_bessel_i1"):
            self.check(getattr(torch.special, name), x[x.abs() < 80], rtol=1e-5)
        for name in ("i0e", "i1e", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
                     "scaled_modified_bessel_k1"):
            self.check(getattr(torch.special, name), x[x.abs() < 1e8])
        for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"):
            self.check(getattr(torch.special, name), x[(x.abs() < 1e4)])
        self.check(torch.special.airy_ai, x[x.abs() < 40], atol=5e-6)  # the CPU's is 3e-6 off at -2.1


if __name__ == "__main__":
    unittest.main()
