# SPDX-License-Identifier: Apache-2.0
"""Indices: those out of range raise as on the CPU; bags, segments, alignments of labels, counts and bits, against the CPU."""
import unittest

import torch
import torch.nn.functional as F
import torch_directml

from test_families import DEVICE, ROUNDOFF, Families


class OutOfRange(unittest.TestCase):
    def raises_as_on_the_cpu(self, function, *tensors):
        for inside in (True, False):
            for place in ("cpu", DEVICE):
                moved = [t.to(place) if isinstance(t, torch.Tensor) else t for t in tensors]
                if inside:  # the same plan then refuses what is outside
                    moved[-1] = moved[-1].clamp(0, 1)
                    function(*moved)
                    continue
                with self.assertRaises(Exception) as caught:
                    function(*moved)
                if place == "cpu":
                    wanted = caught.exception
        self.assertIs(type(caught.exception), type(wanted), caught.exception)
        self.assertEqual(str(caught.exception).splitlines()[0].split(" (")[0].rstrip("."),
                         str(wanted).splitlines()[0].split(" (")[0].rstrip("."))

    def test_messages(self):
        x, bad = torch.randn(5, 4), torch.tensor([[0, 1], [5, 0]])
        flat = torch.tensor([0, 3, 5])
        for function, *tensors in (
                (lambda t, i: t[i], x, bad), (lambda t, i: t[:, i], x, torch.tensor([0, -5])),
                (lambda t, i: t[i, i], x, torch.tensor([1, 4])),
                (lambda t, i: t.index_select(0, i), x, flat), (lambda t, i: t.index_select(0, i), x, -flat),
                (lambda t, i: t.gather(1, i), x, bad), (lambda t, i: t.take(i), x, torch.tensor([0, 20])),
                (lambda t, i: F.embedding(i, t), x, bad), (lambda t, i: F.nll_loss(t.log_softmax(1), i), x[:3], flat),
                (lambda t, i: t.clone().scatter_(1, i, 1.0), x, bad),
                (lambda t, i: t.clone().scatter_add_(1, i, t), x, bad),
                (lambda t, i: t.clone().index_put_((i,), t[0]), x, flat),
                (lambda t, i: t.clone().index_add_(0, i, t[:3]), x, flat),
                (lambda t, i: t.clone().index_copy_(0, i, t[:3]), x, flat),
                (lambda t, i: t.clone().index_fill_(0, i, 2.0), x, flat),
                (lambda t, i: t.clone().put_(i, t[0, :2]), x, torch.tensor([3, -21])),
                (lambda t, i: t.index_select(0, i.int()), x, flat)):
            self.raises_as_on_the_cpu(function, *tensors)

    def test_ignored_classes_may_be_anything(self):
        x, target = torch.randn(4, 3), torch.tensor([0, 77, 2, 77])
        want = F.cross_entropy(x, target, ignore_index=77)
        got = F.cross_entropy(x.to(DEVICE), target.to(DEVICE), ignore_index=77)
        torch.testing.assert_close(got.cpu(), want)
        with self.assertRaises(IndexError):
            F.cross_entropy(x.to(DEVICE), target.to(DEVICE), ignore_index=76)

    def test_from_the_end(self):
        x = torch.randn(5, 4)
        i = torch.tensor([-1, -5, 2])
        for function in (lambda t, i: t[i], lambda t, i: t.take(i), lambda t, i: t.clone().index_fill_(0, i, 1.0)):
            self.assertTrue(torch.equal(function(x.to(DEVICE), i.to(DEVICE)).cpu(), function(x, i)))


class Bags(Families):
    def test_bags(self):
        table, indices = torch.randn(11, 5), torch.randint(11, (17,))
        offsets, each = torch.tensor([0, 3, 3, 9]), torch.randn(17)  # one bag is empty
        for mode in ("sum", "mean", "max"):
            for padding in (None, int(indices[4])):
                self.check(lambda t, i, o: F.embedding_bag(i, t, o, mode=mode, padding_idx=padding), table, indices, offsets)
        self.check(lambda t, w, i, o: F.embedding_bag(i, t, o, mode="sum", per_sample_weights=w), table, each, indices,
                   offsets)
        self.check(lambda t, i, o: F.embedding_bag(i, t, o, include_last_offset=True), table, indices,
                   torch.tensor([0, 3, 9, 17]))
        with self.assertRaises(IndexError):
            F.embedding_bag(torch.tensor([11], device=DEVICE), table.to(DEVICE), torch.tensor([0], device=DEVICE))

    def test_segments(self):
        x = torch.randn(9, 3)
        x[4, 1] = 0
        for how in ("sum", "mean", "max", "min", "prod"):
            self.check(lambda t, n: torch.segment_reduce(t, how, lengths=n, unsafe=False, initial=1.5), x,
                       torch.tensor([2, 0, 5, 2]))
            self.check(lambda t, n: torch.segment_reduce(t, how, offsets=n), x, torch.tensor([0, 2, 7, 9]))

    def test_alignments(self):
        lengths, inputs = (3, 0, 4), (12, 7, 9)
        targets = torch.tensor([[1, 2, 2, 0], [0, 0, 0, 0], [3, 1, 1, 1]])
        flat = torch.cat([t[:n] for t, n in zip(targets, lengths)])
        for labels in (targets, flat):
            for reduction in ("none", "mean"):
                self.check(lambda t, i: F.ctc_loss(t.log_softmax(2), i, inputs, lengths, reduction=reduction),
                           torch.randn(12, 3, 5), labels)
        self.check(lambda t, i: F.ctc_loss(t.log_softmax(2), i, (2, 2), (2, 1), zero_infinity=True), torch.randn(2, 2, 4),
                   torch.tensor([[1, 1], [2, 0]]))  # the first has no way

    def test_eigenvalues(self):
        for size in (1, 2, 5, 16):
            a = torch.randn(3, size, size)
            self.check(lambda t: torch.linalg.eigvalsh(t + t.mT), a, roundings=4 * size)
            self.check(lambda t: torch.linalg.eigh(t, UPLO="U")[0], a, grad=False, roundings=4 * size)
            values, vectors = torch.linalg.eigh(a.to(DEVICE))
            lower = a.tril() + a.tril(-1).mT
            norm = float(torch.linalg.matrix_norm(lower).max())
            torch.testing.assert_close((vectors * values[:, None] @ vectors.mT).cpu(), lower, rtol=0,
                                       atol=8 * size * ROUNDOFF * norm)
        same = torch.eye(6) * 2  # equal ones, and zero
        self.check(lambda t: torch.linalg.eigh(t)[0], same, grad=False)
        self.check(lambda t: torch.linalg.eigh(t)[0], torch.zeros(4, 4), grad=False)


class Integers(Families):
    def test_counts(self):
        x = torch.randint(9, (40,))
        self.check(lambda t: t.bincount(), x)
        self.check(lambda t: t.bincount(minlength=20), x)
        self.check(lambda t, w: t.bincount(w), x, torch.randn(40), grad=False)
        self.check(lambda t: torch.repeat_interleave(t), x)
        with self.assertRaises(RuntimeError):
            torch.tensor([1, -1], device=DEVICE).bincount()

    def test_divisors(self):
        for dtype in (torch.int64, torch.int32, torch.uint8):
            a, b = torch.randint(-40 if dtype.is_signed else 0, 90, (2, 60)).to(dtype)
            for function in (torch.gcd, torch.lcm):
                self.check(function, a, b)
                self.check(lambda s, t: function(s[:, None], t[None, :5]), a, b)

    def test_shifts(self):
        for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
            info = torch.iinfo(dtype)
            a = torch.cat([torch.randint(info.min // 2, info.max // 2, (50,)), torch.tensor([info.min, info.max, 0])]).to(dtype)
            by = torch.arange(-2 if dtype.is_signed else 0, info.bits + 3).to(dtype)
            for function in (torch.bitwise_left_shift, torch.bitwise_right_shift):
                self.check(lambda s, t: function(s[:, None], t), a, by)


if __name__ == "__main__":
    unittest.main()
