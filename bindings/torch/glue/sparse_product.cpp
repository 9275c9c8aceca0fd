// SPDX-License-Identifier: Apache-2.0
// Sparse tensors of layout torch.sparse_coo: products, selection, softmax, and the gradients of these.
#include "sparse.h"

#include <limits>

#include <ATen/NativeFunctions.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

// ---- sparse times dense ----

// The sum of values * rows of `dense` at `from`, for each of `count` rows `to` of the result.
Tensor gather_sum(const Tensor &values, const Tensor &to, const Tensor &dense, const Tensor &from, int64_t count)
{
    at::ScalarType type = sparse_sum_type(dense.scalar_type());
    Tensor rows = dense.index_select(0, from).to(type) * values.to(type).unsqueeze(1);
    return at::zeros({ count, dense.size(1) }, rows.options()).index_add_(0, to, rows);
}

void check_matrices(const char *name, const Tensor &a, const Tensor &b)
{
    int64_t rank = a.dim();
    TORCH_CHECK(rank == b.dim() && a.is_sparse() && a.dense_dim() == 0 && a.size(-1) == b.size(-2), name,
                ": a sparse tensor of shape ", a.sizes(), " with ", a.is_sparse() ? a.dense_dim() : 0,
                " dense dimensions cannot be multiplied with one of shape ", b.sizes());
    TORCH_CHECK(a.scalar_type() == b.scalar_type(), name, ": expected equal types, not ", a.scalar_type(), " and ",
                b.scalar_type());
}

Tensor addmm(const Tensor &self, const Tensor &a, const Tensor &b, const at::Scalar &beta, const at::Scalar &alpha)
{
    TORCH_CHECK(b.layout() == at::kStrided && self.layout() == at::kStrided,
                "addmm: only mat1 may be sparse, not self or mat2");
    check_matrices("addmm", a, b);
    Tensor y = gather_sum(a._values(), a._indices().select(0, 0), b, a._indices().select(0, 1), a.size(0));
    if (!alpha.equal(1))
        y = y * alpha;
    if (!beta.equal(0)) // beta 0 ignores self, also its NaN
        y = y + self.to(y.scalar_type()) * beta;
    return y.to(b.scalar_type());
}

Tensor &addmm_out(const Tensor &self, const Tensor &a, const Tensor &b, const at::Scalar &beta, const at::Scalar &alpha,
                  Tensor &out)
{
    Tensor y = addmm(self, a, b, beta, alpha);
    at::native::resize_output(out, y.sizes());
    return out.copy_(y);
}

Tensor &addmm_(Tensor &self, const Tensor &a, const Tensor &b, const at::Scalar &beta, const at::Scalar &alpha)
{
    return self.copy_(addmm(self, a, b, beta, alpha));
}

Tensor bmm(const Tensor &a, const Tensor &b)
{
    TORCH_CHECK(a.dim() == 3 && b.layout() == at::kStrided && a.size(0) == b.size(0),
                "bmm: expected a sparse and a dense tensor of three dimensions and equal first sizes, not ", a.sizes(),
                " and ", b.sizes());
    check_matrices("bmm", a, b);
    Tensor batch = a._indices().select(0, 0);
    Tensor to = batch * a.size(1) + a._indices().select(0, 1), from = batch * b.size(1) + a._indices().select(0, 2);
    Tensor y = gather_sum(a._values(), to, b.reshape({ -1, b.size(2) }), from, a.size(0) * a.size(1));
    return y.to(b.scalar_type()).view({ a.size(0), a.size(1), b.size(2) });
}

// ---- elements with a common index ----

// Pairs (wanted, element) with equal keys: for each wanted key in turn, the positions of all equal ones in `sorted`.
std::pair<Tensor, Tensor> matches(const Tensor &wanted, const Tensor &sorted)
{
    Tensor first = at::searchsorted(sorted, wanted), counts = at::searchsorted(sorted, wanted, false, true) - first;
    Tensor which = at::repeat_interleave(counts);
    Tensor before = counts.cumsum(0) - counts; // pairs of earlier keys
    Tensor place = at::arange(which.size(0), which.options()) - before.index_select(0, which);
    return { which, first.index_select(0, which) + place };
}

Tensor sparse_times_sparse(const Tensor &a, const Tensor &b)
{
    check_matrices("sparse matmul", a, b);
    TORCH_CHECK(a.dim() == 2 && b.dense_dim() == 0, "sparse matmul: expected matrices of numbers");
    Tensor x = a.coalesce(), y = b.coalesce();
    auto [i, j] = matches(x._indices().select(0, 1), y._indices().select(0, 0));
    Tensor indices =
        at::stack({ x._indices().select(0, 0).index_select(0, i), y._indices().select(0, 1).index_select(0, j) });
    Tensor values = x._values().index_select(0, i) * y._values().index_select(0, j);
    return sparse_tensor(indices, values, { a.size(0), b.size(1) }, false).coalesce();
}

Tensor index_select(const Tensor &self, int64_t dim, const Tensor &index)
{
    dim = at::maybe_wrap_dim(dim, self.dim());
    TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): expected a vector of indices, not shape ", index.sizes());
    Tensor wanted = index.reshape({ -1 }).to(at::kLong);
    auto sizes = self.sizes().vec();
    sizes[static_cast<size_t>(dim)] = wanted.size(0);
    if (dim >= self.sparse_dim())
        return sparse_tensor(self._indices(), self._values().index_select(dim - self.sparse_dim() + 1, wanted), sizes,
                             self.is_coalesced());
    TORCH_CHECK_INDEX(!wanted.numel() || (wanted.ge(0).all() & wanted.lt(self.size(dim)).all()).item<bool>(),
                      "index_select(): index out of range for dimension ", dim, " of size ", self.size(dim));
    auto [sorted, order] = self._indices().select(0, dim).sort(true, 0, false);
    auto [to, from] = matches(wanted, sorted);
    Tensor elements = order.index_select(0, from), indices = self._indices().index_select(1, elements);
    indices.select(0, dim).copy_(to);
    return sparse_tensor(indices, self._values().index_select(0, elements), sizes, self.is_coalesced() && dim == 0);
}

Tensor sum_backward(const Tensor &grad, const Tensor &self, at::IntArrayRef dims)
{
    Tensor dense = grad.is_sparse() ? grad.to_dense() : grad, pattern = self.coalesce();
    std::vector<int64_t> summed;
    for (int64_t d : dims)
        summed.push_back(at::maybe_wrap_dim(d, self.dim()));
    std::sort(summed.begin(), summed.end());
    for (int64_t d : summed)
        dense = dense.unsqueeze(d);
    Tensor values = sparse_gather(dense, pattern).expand(pattern._values().sizes()).clone();
    return sparse_tensor(pattern._indices(), values, self.sizes(), true);
}

// ---- softmax of the elements that are present ----

// The set of each element: those that differ only in the index `dim`. And the number of sets.
std::pair<Tensor, int64_t> sets_of(const Tensor &self, int64_t dim)
{
    std::vector<int64_t> sizes = self.sizes().slice(0, static_cast<size_t>(self.sparse_dim())).vec();
    Tensor indices = self._indices().clone();
    indices.select(0, dim).zero_();
    auto [found, set, counts] = at::_unique2(sparse_keys(indices, sizes), true, true);
    return { set, found.size(0) };
}

Tensor over_sets(const Tensor &values, const Tensor &set, int64_t count, bool most)
{
    auto sizes = values.sizes().vec();
    sizes[0] = count;
    Tensor y = at::full(sizes, most ? -std::numeric_limits<double>::infinity() : 0.0, values.options());
    y = most ? y.index_reduce(0, set, values, "amax") : y.index_add(0, set, values);
    return y.index_select(0, set);
}

template <bool kLog> Tensor softmax(const Tensor &input, int64_t dim, bool)
{
    Tensor self = input.coalesce(), x = self._values();
    dim = at::maybe_wrap_dim(dim, self.dim());
    Tensor y;
    if (dim >= self.sparse_dim()) {
        int64_t d = dim - self.sparse_dim() + 1;
        y = kLog ? x.log_softmax(d) : x.softmax(d);
    } else {
        auto [set, count] = sets_of(self, dim);
        x = x - over_sets(x, set, count, true);
        Tensor sum = over_sets(x.exp(), set, count, false);
        y = kLog ? x - sum.log() : x.exp() / sum;
    }
    return sparse_tensor(self._indices(), y, self.sizes(), true);
}

template <bool kLog> Tensor softmax_backward(const Tensor &grad, const Tensor &output, int64_t dim, const Tensor &)
{
    Tensor self = output.coalesce(), y = self._values(), dy = sparse_lookup(grad.coalesce(), self);
    dim = at::maybe_wrap_dim(dim, self.dim());
    Tensor each = kLog ? dy : dy * y, sum;
    if (dim >= self.sparse_dim()) {
        sum = each.sum(dim - self.sparse_dim() + 1, true);
    } else {
        auto [set, count] = sets_of(self, dim);
        sum = over_sets(each, set, count, false);
    }
    return sparse_tensor(self._indices(), kLog ? dy - y.exp() * sum : each - y * sum, self.sizes(), true);
}

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m)
{
    m.impl("mm", TORCH_FN(static_cast<Tensor (*)(const Tensor &, const Tensor &)>(at::native::_sparse_mm)));
    m.impl("mm.out", at::native::_sparse_mm_out);
    m.impl("mv", at::native::mv_sparse);
    m.impl("addmm", addmm);
    m.impl("addmm.out", addmm_out);
    m.impl("addmm_", addmm_);
    m.impl("bmm", bmm);
    m.impl("_sparse_sparse_matmul", sparse_times_sparse);
    m.impl("index_select", index_select);
    m.impl("_sparse_sum_backward", sum_backward);
    m.impl("_sparse_softmax", softmax<false>);
    m.impl("_sparse_log_softmax", softmax<true>);
    m.impl("_sparse_softmax_backward_data", softmax_backward<false>);
    m.impl("_sparse_log_softmax_backward_data", softmax_backward<true>);
}

} // namespace
} // namespace dml
