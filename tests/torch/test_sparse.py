# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors of layout torch.sparse_coo: each operator has the results and gradients of the CPU in float64, without the
fallback to the CPU."""
import io
import unittest

import torch
import torch_directml
from torch import nn

DEVICE = torch.device("dml", 0)


def sparse(sizes, dense_dims=0, count=None, dtype=torch.float64, seed=0):
    """A tensor of the CPU with some equal indices, so that it is not coalesced."""
    g = torch.Generator().manual_seed(seed)
    split = len(sizes) - dense_dims
    cells = 1
    for size in sizes[:split]:
        cells *= size
    count = count if count is not None else max(cells // 2, 2)
    indices = torch.stack([torch.randint(size, (count,), generator=g) for size in sizes[:split]])
    values = torch.randn(count, *sizes[split:], generator=g, dtype=torch.float64)
    return torch.sparse_coo_tensor(indices, values.to(dtype), sizes)


def dense(x):
    return x.to_dense() if x.layout == torch.sparse_coo else x


UNARY = ("abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac log1p nan_to_num rad2deg round sgn sign sin sinh "
         "sqrt tan tanh trunc neg relu isnan isinf signbit").split()
MATRIX = dict(a=sparse((5, 7)), b=sparse((5, 7), seed=1), c=sparse((7, 4), seed=2), few=sparse((5, 7), count=3, seed=3),
              none=sparse((5, 7), count=0), d=torch.randn(7, 3, dtype=torch.float64), e=torch.randn(5, 7, dtype=torch.float64),
              f=torch.randn(5, 3, dtype=torch.float64), v=torch.randn(7, dtype=torch.float64), row=torch.randn(1, 7, dtype=torch.float64),
              rows=torch.tensor([4, 0, 0, 2]), batch=sparse((3, 4, 5), seed=4), g=torch.randn(3, 5, 2, dtype=torch.float64),
              wide=sparse((6, 5, 3), 1, seed=5), whole=torch.randn(6, 5, 3, dtype=torch.float64), table=sparse((9, 4), 1, seed=6),
              h=torch.randn(9, 4, dtype=torch.float64))
CALLS = {
    "coalesce": lambda a: a.coalesce(), "coalesce wide": lambda wide: wide.coalesce(), "coalesce none": lambda none: none.coalesce(),
    "add": lambda a, b: a + b, "add coalesced": lambda a, b: a.coalesce() + b.coalesce(), "sub": lambda a, b: a - b,
    "add alpha": lambda a, b: torch.add(a, b, alpha=-2.5), "add wide": lambda wide: wide + wide.coalesce(),
    "dense + sparse": lambda e, a: e + a, "dense + rows": lambda h, table: h + table, "dense - sparse": lambda whole, wide: whole - wide,
    "add_": lambda h, table: h.clone().add_(table, alpha=-0.5), "add_ sparse": lambda a, b: a.clone().add_(b),
    "mul": lambda a, b: a.coalesce() * b.coalesce(), "mul equal indices": lambda a, b: a * b, "mul few": lambda a, few: a * few, "mul none": lambda a, none: a * none, "mul number": lambda a: a * 2.5,
    "mul dense": lambda a, e: a * e, "mul wide": lambda wide: wide * wide, "mul_": lambda a: a.clone().mul_(3),
    "div": lambda a: a / 4, "pow": lambda a: a ** 2, "sum": lambda a: a.sum(), "sum dims": lambda a: torch.sparse.sum(a, 0),
    "sum dense": lambda wide: torch.sparse.sum(wide, [0, 2]), "sum all": lambda wide: torch.sparse.sum(wide, [0, 1]),
    "norm": lambda a: a.norm(), "vector_norm": lambda a: torch.linalg.vector_norm(a), "any": lambda a: a.bool().any(),
    "t": lambda a: a.t(), "transpose": lambda batch: batch.transpose(0, 2), "permute": lambda batch: batch.permute(2, 0, 1),
    "unsqueeze": lambda a: a.unsqueeze(1), "cat": lambda a, b: torch.cat([a, b], 1), "narrow_copy": lambda a: a.narrow_copy(1, 2, 3),
    "select": lambda a: a.select(0, 2), "index_select": lambda a, rows: a.index_select(0, rows),
    "index_select column": lambda a, rows: a.index_select(1, rows), "index_select dense": lambda wide: wide.index_select(2, torch.tensor([2, 0], device=wide.device)),
    "to float32": lambda a: a.float(), "zeros_like": lambda a: torch.zeros_like(a),
    "mm": lambda a, d: torch.sparse.mm(a, d), "matmul": lambda a, d: a @ d, "mv": lambda a, v: a @ v, "mm t": lambda a, f: a.t() @ f,
    "addmm": lambda a, d, f: torch.sparse.addmm(f, a, d, beta=0.5, alpha=2), "mm none": lambda none, d: none @ d,
    "mm sparse": lambda a, c: torch.sparse.mm(a, c), "bmm": lambda batch, g: torch.bmm(batch, g), "dense @ sparse": lambda d, a: d.t() @ a.t(),
    "softmax": lambda a: torch.sparse.softmax(a, 1), "softmax 0": lambda a: torch.sparse.softmax(a, 0),
    "log_softmax": lambda batch: torch.sparse.log_softmax(batch, 1), "softmax dense": lambda wide: torch.sparse.softmax(wide, 2),
    "softmax wide": lambda wide: torch.sparse.softmax(wide, 1),
    "sparse_mask": lambda e, a: e.sparse_mask(a.coalesce()), "sparse_mask sparse": lambda a, b: a.coalesce().sparse_mask(b.coalesce()),
    "to_sparse": lambda e: (e * (e > 0)).to_sparse(), "to_sparse 1": lambda e: e.to_sparse(1), "resparse": lambda wide: wide.to_sparse(2),
}


class Sparse(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch_directml.fallbacks(clear=True)

    def equal(self, got, wanted, name, places=1e-12):
        self.assertEqual((got.layout, got.shape, got.dtype, got.device), (wanted.layout, wanted.shape, wanted.dtype, DEVICE), name)
        if wanted.layout == torch.sparse_coo:
            self.assertEqual(got.sparse_dim(), wanted.sparse_dim(), name)
            self.assertGreaterEqual(got.is_coalesced(), wanted.is_coalesced(), name)
            if wanted.is_coalesced():
                self.assertEqual(got.indices().tolist(), wanted.indices().tolist(), name)
        torch.testing.assert_close(dense(got).cpu(), dense(wanted), rtol=places, atol=places, equal_nan=True, msg=lambda m: f"{name}: {m}")

    def test_operators(self):
        for name, call in CALLS.items():
            arguments = call.__code__.co_varnames[:call.__code__.co_argcount]
            want = call(*(MATRIX[a] for a in arguments))
            got = call(*(MATRIX[a].to(DEVICE) for a in arguments))
            self.equal(got, want, name)
        self.assertEqual(torch_directml.fallbacks(), {})

    def test_functions(self):
        """Those with f(0) = 0, also in place and into another tensor."""
        a = (sparse((5, 7)) * 0.3).coalesce()
        for name in UNARY:
            f = getattr(torch, name)
            self.equal(f(a.to(DEVICE)), f(a), name)
            if hasattr(a, name + "_") and name != "nan_to_num":
                self.equal(getattr(a.to(DEVICE), name + "_")(), f(a), name + "_")
        self.assertEqual({key for key in torch_directml.fallbacks() if "erfinv" not in key}, set())

    def test_gradients(self):
        skipped = {"any", "zeros_like", "to_sparse", "add_ sparse", "mul_", "coalesce none", "mm none", "narrow_copy", "mul none",
                   "mul equal indices", "mul few", "mul wide"}  # equal indices: the CPU's gradients count products twice
        for name, call in CALLS.items():
            arguments = call.__code__.co_varnames[:call.__code__.co_argcount]
            try:
                want = self.gradients(call, arguments, torch.device("cpu"))
            except (RuntimeError, NotImplementedError):
                continue  # torch has no formula for it
            for a, mine, theirs in zip(arguments, self.gradients(call, arguments, DEVICE), want):
                if theirs is not None and name not in skipped:
                    torch.testing.assert_close(dense(mine).cpu(), dense(theirs), rtol=1e-12, atol=1e-12, msg=lambda m: f"{name}, {a}: {m}")

    def gradients(self, call, arguments, device):
        inputs = [MATRIX[a].detach().clone().to(device) for a in arguments]
        for x in inputs:
            x.requires_grad_(x.is_floating_point())
        y = dense(call(*inputs))
        (y * torch.arange(1, y.numel() + 1, device=device, dtype=y.dtype).reshape(y.shape)).sum().backward()
        return [x.grad for x in inputs]

    def test_types(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool, torch.complex64):
            a = sparse((4, 6), dtype=dtype)
            self.equal(a.to(DEVICE).coalesce(), a.coalesce(), dtype, 2e-2 if dtype.itemsize == 2 else 1e-5)
            if dtype != torch.bool:
                d = torch.randn(6, 3).mul(3).to(dtype)
                mine = (a.to(DEVICE) @ d.to(DEVICE)).cpu()
                if dtype.itemsize > 2:
                    torch.testing.assert_close(mine, a @ d)
                else:
                    torch.testing.assert_close(mine, (a.to_dense().float() @ d.float()).to(dtype), rtol=2e-2, atol=2e-2)

    def test_values_have_gradients(self):
        """A graph's weights: torch.sparse_coo_tensor of values that are learned."""
        where = torch.tensor([[0, 2, 1, 2], [1, 0, 1, 3]])
        x = torch.randn(4, 3, dtype=torch.float64)
        grads = []
        for device in ("cpu", DEVICE):
            weights = torch.arange(1.0, 5, dtype=torch.float64, device=device).requires_grad_()
            y = torch.sparse.mm(torch.sparse_coo_tensor(where.to(device), weights, (3, 4)), x.to(device))
            y.square().sum().backward()
            grads.append(weights.grad.cpu())
        torch.testing.assert_close(*grads)

    def test_embeddings_train(self):
        """Sparse gradients of embeddings, with each optimizer that accepts them, clipped, accumulated."""
        for make in (lambda p: torch.optim.SparseAdam(p, lr=0.1), lambda p: torch.optim.SGD(p, lr=0.1),
                     lambda p: torch.optim.Adagrad(p, lr=0.1)):
            for bag in (None, "sum", "mean"):
                weights = []
                for device in ("cpu", DEVICE):
                    torch.manual_seed(1)
                    table = nn.EmbeddingBag(20, 5, sparse=True, mode=bag) if bag else nn.Embedding(20, 5, sparse=True, padding_idx=3)
                    table = table.double().to(device)
                    optimizer = make(list(table.parameters()))
                    for step in range(6):
                        picked = torch.tensor([[1, 3, 3], [step, 7, step]], device=device)
                        table(picked).square().sum().backward()
                        if step % 2:
                            self.assertEqual(table.weight.grad.layout, torch.sparse_coo)
                            nn.utils.clip_grad_norm_(table.parameters(), 0.5)
                            optimizer.step()
                            optimizer.zero_grad()
                    weights.append(table.weight.detach().cpu())
                torch.testing.assert_close(*weights, rtol=1e-10, atol=1e-10)
        self.assertEqual(torch_directml.fallbacks(), {})

    def test_saving(self):
        """torch.load checks the invariants of sparse tensors."""
        file = io.BytesIO()
        torch.save({"a": MATRIX["a"].coalesce().to(DEVICE), "wide": MATRIX["wide"].to(DEVICE)}, file)
        for where in (None, DEVICE, "cpu"):
            file.seek(0)
            loaded = torch.load(file, map_location=where)
            for name, x in loaded.items():
                self.assertEqual(x.device, torch.device(where or DEVICE))
                torch.testing.assert_close(x.to_dense().cpu(), MATRIX[name].to_dense())
        indices, values = torch.tensor([[1, 0]], device=DEVICE), torch.ones(2, device=DEVICE)
        torch.sparse_coo_tensor(indices.flip(1), values, (2,), check_invariants=True, is_coalesced=True)
        with self.assertRaisesRegex(RuntimeError, "uncoalesced COO tensor"):
            torch.sparse_coo_tensor(indices, values, (2,), check_invariants=True, is_coalesced=True)

    def test_what_is_refused(self):
        a = sparse((3, 3)).to(DEVICE)
        with self.assertRaisesRegex(RuntimeError, r"add\(sparse, dense\) is not supported"):
            a + a.to_dense()
        with self.assertRaisesRegex(RuntimeError, "cannot be multiplied"):
            a @ torch.ones(4, 2, device=DEVICE, dtype=torch.float64)
        with self.assertRaisesRegex(RuntimeError, "does not broadcast"):
            a * torch.ones(4, 2, device=DEVICE, dtype=torch.float64)
        with self.assertRaisesRegex(IndexError, "out of range"):
            a.index_select(0, torch.tensor([3], device=DEVICE))
        with self.assertRaisesRegex(NotImplementedError, "dml does not support this operator of sparse tensors"):
            torch.hspmm(a, a.to_dense())


if __name__ == "__main__":
    unittest.main()
