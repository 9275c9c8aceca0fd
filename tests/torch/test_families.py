# SPDX-License-Identifier: Apache-2.0
"""Families of operators that must run on the device, results and gradients, against the CPU in float64: complex numbers,
Fourier transforms, sampling by grids, linear algebra, distances, running extremes, results of sizes that values decide."""
import unittest

import torch
import torch.nn.functional as F
import torch_directml

DEVICE = torch_directml.device()
ROUNDOFF = 2.0 ** -24


def wide(t):
    return t.to({torch.float32: torch.float64, torch.complex64: torch.complex128}.get(t.dtype, t.dtype))


def leaves(result):
    return [result] if isinstance(result, torch.Tensor) else [t for t in result if isinstance(t, torch.Tensor)]


class Families(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)

    def check(self, function, *args, grad=True, rtol=1.3e-6, atol=1e-5, whole=0, roundings=0):
        """function of tensors on the device, without fallback, and in float64 on the CPU; gradients of a random sum.
        Tolerances are torch.testing's; `whole` is relative to the largest element instead, where the condition of a matrix
        or a large sum makes small elements of large ones. With `roundings` results may also differ by what inputs make of them,
        in float64, whose elements move by as many roundings of the largest: the errors of stable algorithms are of this kind."""
        def run(place, change=lambda t: t):
            inputs = [change(place(a)).detach().requires_grad_(grad and a.is_floating_point()) if isinstance(a, torch.Tensor)
                      else a for a in args]
            results = leaves(function(*inputs))
            sums = [t for t in results if t.requires_grad]
            if not sums:
                return results
            generator = torch.Generator().manual_seed(5)
            total = sum((torch.view_as_real(t) if t.is_complex() else t)
                        .mul(place(torch.randn((*t.shape, 2) if t.is_complex() else t.shape, generator=generator))).sum()
                        for t in sums)
            wanted = [i for i in inputs if isinstance(i, torch.Tensor) and i.requires_grad]
            grads = torch.autograd.grad(total, wanted, allow_unused=True)
            return results + [g for g in grads if g is not None]
        torch_directml.fallbacks(clear=True)
        got = run(lambda t: t.to(DEVICE))
        self.assertEqual(torch_directml.fallbacks(clear=True), {})
        want = run(wide)
        for g, w, room in zip(got, want, self.rooms(run, want, roundings), strict=True):
            self.assertEqual(g.device.type, "dml")
            most = float(w.detach().abs().nan_to_num(0, 0, 0).max()) if whole and w.numel() else 0
            torch.testing.assert_close(g.detach().cpu(), w.detach().to(g.dtype), rtol=rtol, atol=max(atol, whole * most) + room,
                                       equal_nan=True)

    def rooms(self, run, want, roundings):
        """The largest distance of each result from what moved inputs give."""
        rooms, generator = [0.0] * len(want), torch.Generator().manual_seed(9)

        def moved(t):
            if not t.is_floating_point() or not t.numel():
                return t
            signs = torch.randint(0, 2, t.shape, generator=generator).double() * 2 - 1
            return t + signs * (roundings * ROUNDOFF * t.abs().max())
        for _ in range(8 if roundings else 0):
            rooms = [max(room, float((m - w).detach().abs().nan_to_num(0, 0, 0).max()) if w.numel() else 0.0)
                     for room, m, w in zip(rooms, run(wide, moved), want)]
        return rooms


class Complex(Families):
    def test_arithmetic(self):
        a, b, c, d = torch.randn(4, 3, 5, 7)

        def pair(op):
            return lambda *t: op(torch.complex(t[0], t[1]), torch.complex(t[2], t[3]))
        for op in (torch.add, torch.sub, torch.mul, torch.div, lambda x, y: x @ y.mT, lambda x, y: x.conj() * y,
                   lambda x, y: torch.sub(x, y, alpha=2.5), lambda x, y: x * (2 - 3j) + y / (1 + 1j), lambda x, y: x.abs(),
                   lambda x, y: x.sgn(), lambda x, y: x.angle(), lambda x, y: x.exp(), lambda x, y: x.sum((0, 2)),
                   lambda x, y: torch.cat([x, y], 1).flip(2).roll(1, 0), lambda x, y: (x.real * y.imag).sum(),
                   lambda x, y: x.reciprocal(), lambda x, y: x[:, 1:4:2], lambda x, y: -x.mT.tril()):
            self.check(pair(op), a, b, c, d)
        self.check(torch.polar, a.abs(), b)
        self.check(lambda x: torch.view_as_complex(x), torch.randn(3, 4, 2))

    def test_extremes(self):
        x = torch.tensor([3e38 + 3e38j, 1e-30 + 1e-30j, 0j, complex("inf"), complex("nan")], dtype=torch.complex64)
        torch.testing.assert_close(x.to(DEVICE).abs().cpu(), x.abs(), equal_nan=True)
        y = torch.tensor([1e30 + 1e30j, 2e-30 - 1e-30j], dtype=torch.complex64)
        torch.testing.assert_close((y.to(DEVICE) / y.to(DEVICE)).cpu(), torch.ones(2, dtype=torch.complex64))

    def test_functions(self):
        a, b, c, d = torch.randn(4, 3, 5, 7)

        def one(op):
            return lambda *t: op(torch.complex(t[0], t[1]))
        for op in (torch.log, torch.sqrt, torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh, torch.tanh, torch.sigmoid,
                   torch.rsqrt, torch.log2, torch.log10, lambda z: z ** 2, lambda z: z ** -3, lambda z: z ** 0.5,
                   lambda z: z ** 1.7, lambda z: z ** (1 - 2j), lambda z: 2 ** z, torch.mean, lambda z: z.mean((0, 2), keepdim=True),
                   lambda z: z.prod(1), lambda z: z[0, 0].prod(), lambda z: z.cumsum(2), lambda z: z.cumprod(1), torch.var,
                   lambda z: z.std(1, correction=0), lambda z: torch.var_mean(z, (0, 1)), lambda z: torch.linalg.vector_norm(z, 3, 1),
                   torch.linalg.vector_norm):
            self.check(one(op), a, b, rtol=1e-5, whole=1e-6)
            self.check(one(op), *torch.randn(2, 1, 2, 3))
        for op in (torch.pow, lambda x, y: torch.lerp(x, y, 0.3), lambda x, y: torch.lerp(x, y, x),
                   lambda x, y: torch.addcmul(x, x, y, value=2), lambda x, y: torch.addcdiv(x, x, y)):
            self.check(lambda *t, op=op: op(torch.complex(t[0], t[1]), torch.complex(t[2], t[3])), a, b, c, d, rtol=1e-5, whole=1e-6)

    def test_functions_on_axes(self):
        """The sides of branch cuts, and zeros."""
        x = torch.tensor([0, 1, -1, 1j, -1j, -4, complex(-4, -0.0), complex(9, -0.0), 80 + 1j, -80 + 1j], dtype=torch.complex64)
        torch_directml.fallbacks(clear=True)
        for function in (torch.log, torch.sqrt, torch.sin, torch.cosh, torch.tanh, torch.tan, torch.rsqrt):
            got, want = function(x[1:].to(DEVICE)).cpu(), function(x[1:].to(torch.complex128)).to(torch.complex64)
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
        self.assertEqual(x[:1].to(DEVICE).sqrt().tolist(), [0])
        self.assertEqual([(x[:1].to(DEVICE) ** k).tolist() for k in (0, 1.5, 2)], [[1], [0], [0]])
        self.assertTrue((x[:1].to(DEVICE) ** -1.5).isnan().all().item())
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def test_other_functions_fall_back(self):
        x = torch.randn(5, dtype=torch.complex64)
        torch.testing.assert_close(x.to(DEVICE).asin().cpu(), x.asin())


    def test_matrices(self):
        """Products that are added to others, and vectors. With beta 0, what they are added to is not read."""
        x, y, b = (torch.randn(*sizes, dtype=torch.complex64) for sizes in ((3, 4), (4, 5), (3, 5)))
        xs, ys = torch.randn(2, 3, 4, dtype=torch.complex64), torch.randn(2, 4, 5, dtype=torch.complex64)
        v, w = torch.randn(4, dtype=torch.complex64), torch.randn(3, dtype=torch.complex64)
        factors = ({}, {"alpha": 2, "beta": 0.5}, {"alpha": 1 - 2j, "beta": 3j}, {"alpha": 0.5, "beta": 0})
        for more in factors:
            for function, *args in ((torch.addmm, b, x, y), (torch.addmm, b[0], x, y), (torch.baddbmm, b, xs, ys),
                                    (torch.addbmm, b, xs, ys), (torch.addmv, w, x, v), (torch.addr, x, w, v),
                                    (torch.addmm, b, x[:, :0], y[:0]), (torch.addmv, w, x[:, :0], v[:0])):
                if more.get("beta") == 0:
                    args[0] = torch.full_like(args[0], float("nan"))
                self.check(lambda *t: function(*t, **more), *args, grad=False)
        for function, *args in ((torch.mv, x, v), (torch.dot, v, v + 1), (torch.vdot, v, v + 1), (torch.dot, v[:0], v[:0]),
                                (F.linear, x, y.t(), b[0]), (torch.bmm, xs, ys)):
            self.check(function, *args, grad=False)

    def test_moves(self):
        x, y = (torch.randn(3, 4, dtype=torch.complex64) for _ in range(2))
        i = torch.tensor([2, 0])
        self.check(lambda s, t, k: (s.index_copy(0, k, t[:2]), s.scatter(0, k[:, None].expand(2, 4), t), s.take(k)), x, y, i)


class Fourier(Families):
    def test_lengths(self):
        """One product, two and three steps, a prime of each kind. Roundings are of the largest element."""
        for n in (1, 2, 3, 8, 13, 64, 97, 120, 127, 500, 509, 1024, 4096, 2 * 509, 30030):
            x, y = torch.randn(2, 3, n)
            self.check(lambda a, b: torch.fft.fft(torch.complex(a, b)), x, y, whole=1e-6)
            self.check(lambda a, b: torch.fft.ifft(torch.complex(a, b), norm="ortho"), x, y)
            self.check(torch.fft.rfft, x, whole=1e-6)
            self.check(lambda a, b: torch.fft.irfft(torch.complex(a, b), n=2 * n - 1, norm="forward"), x, y, whole=1e-6)
            if n > 1:
                self.check(lambda a, b: torch.fft.hfft(torch.complex(a, b), norm="ortho"), x, y)

    def test_dimensions(self):
        x = torch.randn(4, 6, 10)
        for norm in ("backward", "ortho", "forward"):
            self.check(lambda a: torch.fft.fft2(a, norm=norm), x, whole=1e-6)
            self.check(lambda a: torch.fft.rfftn(a, norm=norm), x, whole=1e-6)
            self.check(lambda a: torch.fft.fftn(a, dim=(2, 0), s=(7, 9), norm=norm), x, whole=1e-6)
            self.check(lambda a: torch.fft.irfftn(torch.complex(a, a.sin()), norm=norm), x, whole=1e-6)
        self.check(lambda a: torch.stft(a, 16, 4, window=torch.hann_window(16, dtype=a.dtype, device=a.device),
                                        return_complex=True), torch.randn(2, 100))


class Grid(Families):
    def test_sample(self):
        for size, points in (((2, 3, 7, 5), (2, 4, 6, 2)), ((2, 3, 4, 5, 6), (2, 3, 4, 5, 3))):
            x, grid = torch.randn(size), torch.rand(points) * 2.6 - 1.3
            for mode in ("bilinear", "nearest") + (("bicubic",) if len(size) == 4 else ()):
                for padding in ("zeros", "border", "reflection"):
                    for align in (False, True):
                        self.check(lambda a, b: F.grid_sample(a, b, mode, padding, align), x, grid, rtol=1e-5, atol=1e-5)

    def test_affine(self):
        theta = torch.randn(2, 2, 3)
        self.check(lambda t: F.affine_grid(t, (2, 3, 5, 6), align_corners=False), theta)


class Linalg(Families):
    def matrices(self, *sizes):
        return torch.randn(sizes) + 3 * sizes[-1] ** 0.5 * torch.eye(sizes[-2], sizes[-1])

    def test_triangles(self):
        for n in (1, 2, 5, 33):
            a, b = self.matrices(2, n, n), torch.randn(2, n, 3)
            a = a / n + 2 * torch.eye(n)
            for upper in (False, True):
                self.check(lambda x, y: torch.linalg.solve_triangular(x, y, upper=upper), a, b)
                self.check(lambda x, y: torch.linalg.solve_triangular(x, y.mT, upper=upper, left=False), a, b)
                self.check(lambda x, y: torch.linalg.solve_triangular(x, y, upper=upper, unitriangular=True), a, b)
            self.check(lambda x: torch.linalg.cholesky(x @ x.mT), a)
            self.check(lambda x: torch.linalg.cholesky(x @ x.mT, upper=True), a)
            self.check(lambda x, y: torch.cholesky_solve(y, x.tril()), a, b)
            self.check(lambda x: torch.cholesky_inverse(x.tril()), a)
        info = torch.linalg.cholesky_ex(torch.tensor([[1.0, 2], [2, 1]], device=DEVICE)).info
        self.assertEqual(info.item(), 2)

    def test_lu(self):
        for n in (1, 2, 5, 16):
            a, b = self.matrices(3, n, n), torch.randn(3, n, 2)
            for f in (torch.linalg.inv, torch.linalg.det, torch.linalg.slogdet, torch.linalg.lu,
                      lambda x: torch.linalg.det(x.mT), lambda x: torch.linalg.inv(x.mT)):
                self.check(f, a, roundings=8 * n)
            self.check(torch.linalg.solve, a, b, roundings=8 * n)
            self.check(lambda x, y: torch.linalg.solve(x.mT, y.mT, left=False), a, b, roundings=8 * n)
            self.check(lambda x, y: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y), a, b, roundings=8 * n)
        for size in ((6, 4), (4, 6)):
            self.check(torch.linalg.lu, torch.randn(size), grad=False)
            self.check(lambda x: torch.lu_unpack(*torch.linalg.lu_factor(x)), torch.randn(size), grad=False)
        singular = torch.tensor([[1.0, 2], [2, 4]], device=DEVICE)
        self.assertEqual(torch.linalg.inv_ex(singular).info.item(), 2)
        self.assertEqual(torch.linalg.det(singular).item(), 0)
        self.assertRaises(RuntimeError, torch.linalg.inv, singular)

    def test_qr(self):
        for size in ((5, 5), (7, 4), (2, 4, 6), (3, 3, 1)):
            a = torch.randn(size)
            for mode in ("reduced", "complete", "r"):
                self.check(lambda x: torch.linalg.qr(x, mode), a, grad=mode == "reduced" and size[-2] >= size[-1])
        a, b = torch.randn(6, 4), torch.randn(6, 3)
        self.check(torch.geqrf, a, grad=False)
        self.check(lambda x: torch.linalg.householder_product(*torch.geqrf(x)), a, grad=False)
        for t in (False, True):
            self.check(lambda x, y: torch.ormqr(*torch.geqrf(x), y, True, t), a, b, grad=False)
            self.check(lambda x, y: torch.ormqr(*torch.geqrf(x), y.mT, False, t), a, b, grad=False)

    def test_singular_values(self):
        for size in ((1, 1), (4, 4), (2, 5, 5), (3, 7, 4), (2, 4, 9), (16, 16), (20, 3)):
            a = torch.randn(size)
            self.check(torch.linalg.svdvals, a, roundings=8 * max(size))
            self.check(torch.linalg.pinv, a, roundings=8 * max(size))
            for full in (False, True):
                u, s, v = torch.linalg.svd(a.to(DEVICE), full_matrices=full)
                self.assertEqual([t.shape for t in (u, s, v)], [t.shape for t in torch.linalg.svd(a, full)])
                k = s.shape[-1]
                torch.testing.assert_close(((u[..., :k] * s[..., None, :]) @ v[..., :k, :]).cpu(), a)
                torch.testing.assert_close((u.mT @ u).cpu(), torch.eye(u.shape[-1]).expand(u.mT.shape[:-1] + u.shape[-1:]),
                                           rtol=0, atol=1e-5)
                torch.testing.assert_close((v @ v.mT).cpu(), torch.eye(v.shape[-2]).expand(v.shape[:-1] + v.shape[-2:-1]),
                                           rtol=0, atol=1e-5)
        low = torch.randn(5, 2) @ torch.randn(2, 5)
        u = torch.linalg.svd(low.to(DEVICE))[0].cpu()
        torch.testing.assert_close(u.mT @ u, torch.eye(5), rtol=0, atol=1e-5)
        self.assertEqual(torch.linalg.matrix_rank(low.to(DEVICE)).item(), 2)
        self.assertEqual(torch.linalg.svdvals(torch.zeros(3, 3, device=DEVICE)).tolist(), [0, 0, 0])

    def test_exponential(self):
        for scale in (1e-3, 0.3, 3.0, 20.0):
            a = torch.randn(2, 4, 4)
            self.check(torch.linalg.matrix_exp, a * scale / 4, roundings=64)  # a dozen products of four terms


class Distances(Families):
    def test_all_pairs(self):
        x, y = torch.randn(2, 5, 3), torch.randn(2, 7, 3)
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
            self.check(lambda a, b: torch.cdist(a, b, p), x, y, rtol=1e-5, atol=1e-5)
            self.check(lambda a: F.pdist(a, p), x[0], rtol=1e-5, atol=1e-5)
        self.check(lambda a, b: torch.linalg.cross(a[:, :, None], b[:, None], dim=-1), x, y)
        self.check(lambda a: torch.renorm(a, 2, 1, 0.7), x)

    def test_margins(self):
        scores, target = torch.randn(5, 4), torch.tensor([1, 0, 3, 3, 2])
        labels = torch.tensor([[1, 2, -1, 0], [-1, 1, 1, 1], [3, -1, -1, -1], [0, 1, 2, 3], [2, 0, -1, -1]])
        for reduction in ("none", "mean", "sum"):
            for p in (1, 2):
                self.check(lambda s: F.multi_margin_loss(s, target.to(s.device), p, 0.8, torch.tensor(
                    [1.0, 2, 0.5, 3]).to(s), reduction=reduction), scores)
            self.check(lambda s: F.multilabel_margin_loss(s, labels.to(s.device), reduction=reduction), scores)


class Running(Families):
    def test_extremes(self):
        x = torch.randn(4, 37).mul(3).round()  # with equal ones
        x[1, 5] = float("nan")
        for dim in (0, 1):
            self.check(lambda t: torch.cummax(t, dim), x, grad=False)
            self.check(lambda t: torch.cummin(t, dim), x, grad=False)
        self.check(lambda t: torch.logcumsumexp(t * 20, 1), torch.randn(4, 37), roundings=37)  # one for each term
        self.check(lambda t: torch.cummax(t, 1), torch.randint(-5, 5, (3, 20)))

    def test_counts(self):
        x = torch.randn(1000)
        for args in ((10,), (7, -1, 1), (5, 0, 0.5)):
            self.check(lambda t: torch.histc(t, *args), x, grad=False)
        self.check(lambda t: torch.histogram(t, 8), x, grad=False)
        self.check(lambda t: torch.histogram(t, torch.tensor([-1, -0.5, 0.1, 2]).to(t), density=True), x, grad=False)
        self.check(lambda t: torch.mode(t, 1), torch.randint(0, 4, (6, 15)), grad=False)
        self.check(lambda t: torch.count_nonzero(t, 1), torch.randint(0, 2, (6, 15)))

    def test_bits(self):
        x = torch.cat([torch.randn(100) * torch.exp(torch.randn(100) * 20), torch.tensor(
            [0.0, -0.0, 1.0, 2.0, -4.0, 1e-40, -1e-44, 3e38, float("inf"), -float("inf"), float("nan")])])
        for f in (torch.frexp, lambda t: torch.nextafter(t, t.flip(0)), lambda t: torch.nextafter(t, torch.zeros_like(t)),
                  lambda t: torch.nextafter(t, torch.full_like(t, float("inf")))):
            for got, want in zip(leaves(f(x.to(DEVICE))), leaves(f(x)), strict=True):
                torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0, equal_nan=True)


class Selection(Families):
    def test_places(self):
        for size in ((0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4, 5), ()):
            x = torch.randint(0, 3, size)
            self.check(torch.nonzero, x)
            self.check(lambda t: torch.nonzero_static(t, size=7, fill_value=-2), x)
        x, mask = torch.randn(4, 5), torch.rand(4, 5) > 0.5
        self.check(torch.masked_select, x, mask)
        self.check(torch.masked_select, x, mask[1])
        self.check(lambda t, m: t[m], x, mask)
        self.check(lambda t, m: t[:, m[0]], x, mask)
        self.check(lambda t, m: t[m[:, 0], 1:3], x, mask)
        self.check(lambda t, m: t[torch.tensor([1, 2]).to(t.device), :][:, m[2]], x, mask)
        self.check(lambda t, m: t.index_put((m[:, 1],), torch.full_like(t[0], 2)), x, mask)
        self.check(lambda t: torch.prod(t, 1), x * mask)

        def bad():
            return x.to(DEVICE)[mask[:, :3].to(DEVICE)]
        self.assertRaises(IndexError, bad)

    def test_unique(self):
        for x in (torch.randint(0, 5, (4, 7)), torch.randint(0, 3, (20,)).float(), torch.zeros(0)):
            self.check(lambda t: torch.unique(t, return_inverse=True, return_counts=True), x, grad=False)
            self.check(lambda t: torch.unique_consecutive(t, return_inverse=True, return_counts=True), x, grad=False)

    def test_unique_slices(self):
        cases = [(torch.randint(0, 3, (30, 4)), 0), (torch.randint(0, 2, (40, 2, 3)).float(), 0), (torch.zeros(0, 3), 0),
                 (torch.randint(0, 2, (2, 30)), 1), (torch.randint(0, 2, (3, 20, 2)).bool(), -2), (torch.randint(0, 4, (9,)), 0),
                 (torch.randint(-2, 2, (7, 1)), 0), (torch.randint(0, 2, (64, 5)).half(), 0), (torch.zeros(1, 5), 0),
                 (torch.tensor([[0.0, 1], [-0.0, 1], [float("nan"), 1], [float("inf"), -1]]), 0)]
        for x, dim in cases:
            for function in (torch.unique, torch.unique_consecutive):
                self.check(lambda t: function(t, dim=dim, return_inverse=True, return_counts=True), x, grad=False)
                self.check(lambda t: function(t, dim=dim), x, grad=False)
        for function in (torch.unique, torch.unique_consecutive):
            with self.assertRaisesRegex(RuntimeError, "aren't selected"):
                function(torch.zeros(3, 0, device=DEVICE), dim=0)
            with self.assertRaisesRegex(RuntimeError, "more than one"):
                function(torch.zeros(0, 0, device=DEVICE), dim=0)

    def test_equal(self):
        x = torch.randn(3, 4).to(DEVICE)
        self.assertTrue(torch.equal(x, x.clone()))
        self.assertFalse(torch.equal(x, x + 1))
        self.assertFalse(torch.equal(x, x[:2]))

    def test_polynomials(self):
        x, n = torch.linspace(-1.5, 1.5, 31)[:, None], torch.arange(-1.0, 9)
        for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
                     "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
                     "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
                     "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
                     "shifted_chebyshev_polynomial_w"):
            self.check(getattr(torch.special, name), x, n, grad=False)

    def test_matrices_of_bytes(self):
        """Exact sums, also of more products than element-wise multiplication takes; strides, no elements."""
        generator = torch.Generator().manual_seed(4)
        torch_directml.fallbacks(clear=True)
        for m, k, n in ((20, 16, 8), (33, 700, 17), (300, 400, 200), (17, 0, 8)):
            for types in ((torch.int8, torch.int8), (torch.uint8, torch.int8), (torch.uint8, torch.uint8)):
                x, y = (torch.randint(-128 if t == torch.int8 else 0, 128 if t == torch.int8 else 256, size, generator=generator).to(t)
                        for t, size in zip(types, ((m, k), (n, k))))
                want = (x.long() @ y.long().t()).int()
                if types[1] == torch.int8:
                    self.assertEqual(torch._int_mm(x.to(DEVICE), y.to(DEVICE).t()).cpu().tolist(), want.tolist())
                if types[0] == types[1]:  # wraps
                    self.assertEqual((x.to(DEVICE) @ y.to(DEVICE).t()).cpu().tolist(), want.to(types[0]).tolist())
                    batch = torch.bmm(x.to(DEVICE).expand(2, m, k), y.to(DEVICE).t().contiguous().expand(2, k, n))
                    self.assertEqual(batch[1].cpu().tolist(), want.to(types[0]).tolist())
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def test_float8(self):
        """Types that DirectML lacks are moved as bytes, NaN with its bits, and multiplied in float32."""
        generator = torch.Generator().manual_seed(4)
        every = torch.arange(256).to(torch.uint8).view(16, 16)
        torch_directml.fallbacks(clear=True)
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            x = every.view(dtype)
            index = torch.tensor([3, 0, 3])
            for function in (lambda x, i: torch.cat([x, x[2:5]], 0), lambda x, i: torch.stack([x, x.t()], 1),
                             lambda x, i: x.flip(1), lambda x, i: x.roll(3, 0), lambda x, i: x.repeat(2, 3),
                             lambda x, i: x.index_select(1, i), lambda x, i: x[i], lambda x, i: x.gather(0, i[None]),
                             lambda x, i: F.embedding(i, x), lambda x, i: torch.where(i[:1] > 1, x, x.t()),
                             lambda x, i: x.clone().zero_(), lambda x, i: torch.zeros_like(x),
                             lambda x, i: x.clone().index_copy_(0, i[:2], x[7:9])):
                want, have = function(every, index), function(x.to(DEVICE), index.to(DEVICE))
                self.assertEqual((have.dtype, have.view(torch.uint8).tolist()), (dtype, want.tolist()))
            a, b = (torch.randn(16, 32, generator=generator).to(dtype) for _ in range(2))
            if dtype == torch.float8_e5m2:  # the CPU takes one of each
                b = b.float().to(torch.float8_e4m3fn)
            for scales in ((torch.tensor(0.5), torch.tensor(3.0)), (torch.rand(16, 1) + 0.5, torch.rand(1, 16) + 0.5)):
                for more in ({"out_dtype": torch.float32}, {"out_dtype": torch.bfloat16, "bias": torch.randn(16).bfloat16()}):
                    want = (a.float() @ b.float().t()) * scales[0] * scales[1] + more.get("bias", torch.zeros(1)).float()
                    own = {k: v.to(DEVICE) if isinstance(v, torch.Tensor) else v for k, v in more.items()}
                    have = torch._scaled_mm(a.to(DEVICE), b.to(DEVICE).t(), *(s.to(DEVICE) for s in scales), **own)
                    torch.testing.assert_close(have.cpu(), want.to(more["out_dtype"]), rtol=1e-2 if own.get("bias") is not None else 1e-5, atol=1e-4)
            y = torch._scaled_mm(a.to(DEVICE), b.to(DEVICE).t(), *(torch.tensor(s).to(DEVICE) for s in (0.5, 2.0)),
                                 scale_result=torch.tensor(4.0).to(DEVICE), out_dtype=torch.float8_e4m3fn)
            want = torch._scaled_mm(a, b.t(), torch.tensor(0.5), torch.tensor(2.0), scale_result=torch.tensor(4.0),
                                    out_dtype=torch.float8_e4m3fn)
            torch.testing.assert_close(y.float().cpu(), want.float(), rtol=0.13, atol=0.01)
        self.assertEqual(torch_directml.fallbacks(clear=True), {})
        with self.assertRaisesRegex(RuntimeError, "scale_a"):
            torch._scaled_mm(a.to(DEVICE), b.to(DEVICE).t(), torch.ones(3).to(DEVICE), torch.ones(()).to(DEVICE))

    def test_matrices_whose_scales_are_named(self):
        kinds, scaled_mm = F.ScalingType, F.scaled_mm
        a, b = (torch.randn(16, 32).to(torch.float8_e4m3fn) for _ in range(2))
        product, bias = a.float() @ b.float().t(), torch.randn(16).bfloat16()
        own = [a.to(DEVICE), b.to(DEVICE).t()]
        torch_directml.fallbacks(clear=True)
        for kind, sa, sb in ((kinds.TensorWise, torch.tensor(0.5), torch.tensor([3.0])),
                             (kinds.RowWise, torch.rand(16, 1) + 0.5, torch.rand(1, 16) + 0.5)):
            for more in ({"output_dtype": torch.float32}, {"output_dtype": torch.bfloat16, "bias": bias}):
                want = product * sa * sb + more.get("bias", torch.zeros(1)).float()
                have = scaled_mm(*own, sa.to(DEVICE), kind, sb.to(DEVICE), kind,
                                 **{k: v.to(DEVICE) if isinstance(v, torch.Tensor) else v for k, v in more.items()})
                torch.testing.assert_close(have.cpu(), want.to(have.dtype), rtol=1e-2 if "bias" in more else 1e-5, atol=1e-4)
        self.assertEqual(torch_directml.fallbacks(clear=True), {})
        one = torch.ones((), device=DEVICE)
        with self.assertRaisesRegex(RuntimeError, "scale_a must have 16 elements"):
            scaled_mm(*own, one, kinds.RowWise, one, kinds.TensorWise)
        with self.assertRaisesRegex(NotImplementedError, r"scale_b: dml supports the recipes .* not 4"):
            scaled_mm(*own, one, kinds.TensorWise, one, kinds.BlockWise1x128)
        with self.assertRaisesRegex(NotImplementedError, "swizzled"):
            scaled_mm(*own, one, kinds.TensorWise, one, kinds.TensorWise, swizzle_a=F.SwizzleType.SWIZZLE_32_4_4)
        with self.assertRaisesRegex(RuntimeError, "contraction_dim"):
            scaled_mm(*own, one, kinds.TensorWise, one, kinds.TensorWise, contraction_dim=(0, 0))

    def test_embedding_with_a_maximum_norm(self):
        indices = torch.tensor([[0, 2, 2], [5, 1, 0]])
        for order in (2.0, 1.0, float("inf")):
            table, found = torch.randn(7, 5) * 2, []
            table[1] = 0
            for device in ("cpu", DEVICE):
                weight = table.to(device, copy=True).requires_grad_()
                y = F.embedding(indices.to(device), weight, max_norm=0.8, norm_type=order)
                y.square().sum().backward()
                found.append([t.detach().cpu() for t in (y, weight, weight.grad)])
            for want, have in zip(*found):
                torch.testing.assert_close(have, want)
        self.assertEqual(torch_directml.fallbacks(clear=True), {})

    def test_split(self):
        x = torch.randn(7, 3)
        self.check(lambda t: torch.tensor_split(t, torch.tensor([2, 5]).to(t.device)), x)


if __name__ == "__main__":
    unittest.main()
