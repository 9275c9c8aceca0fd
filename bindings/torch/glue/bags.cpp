// SPDX-License-Identifier: Apache-2.0
// Operators on elements that belong to bags (embedding_bag), as compositions: they compute the bag of each element,
// then gather and scatter by bag.
#include "glue.h"

#include <limits>

#include <ATen/ops/_embedding_bag_sparse_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/promote_types.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

at::ScalarType wide(at::ScalarType type)
{
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

bool given(const OptionalTensor &t)
{
    return t && t->defined();
}

// ---- bags of rows of a table ----

enum Mode : int64_t { kSum, kMean, kMax };

struct Bags {
    Tensor indices, of, counts; // bag of each index; number of elements of each bag without padding
    Tensor counted;             // which indices are not padding; undefined: all
    int64_t count;
};

Bags bags_of(const Tensor &indices, const Tensor &offsets, bool include_last, int64_t padding)
{
    Bags b;
    at::ScalarType type = at::promote_types(indices.scalar_type(), offsets.scalar_type());
    b.indices = indices.to(type);
    b.count = offsets.size(0) - include_last;
    Tensor starts = offsets.to(type).narrow(0, 0, b.count), at = at::arange(indices.size(0), b.indices.options());
    b.of = at::searchsorted(starts, at, false, true).to(type) - 1;
    Tensor each = at::ones_like(b.indices);
    if (padding >= 0) {
        b.counted = b.indices.ne(padding);
        each = b.counted.to(type);
    }
    b.counts = at::zeros({ offsets.size(0) }, b.indices.options()).index_add(0, b.of, each);
    return b;
}

Tensor cleared(const Tensor &rows, const Bags &b)
{
    return b.counted.defined() ? rows * b.counted.to(rows.scalar_type()).unsqueeze(1) : rows;
}

// For each bag and column, the index of the maximum; the first one if several are equal.
Tensor first_equal(const Tensor &rows, const Tensor &most, const Bags &b)
{
    Tensor at = at::arange(rows.size(0), b.indices.options()).unsqueeze(1), none = at::full_like(at, rows.size(0));
    Tensor hit = rows.eq(most.index_select(0, b.of));
    if (b.counted.defined())
        hit = hit.logical_and(b.counted.unsqueeze(1));
    Tensor to = b.of.unsqueeze(1).expand_as(rows).to(at::kLong);
    Tensor first = at::full({ b.count, rows.size(1) }, rows.size(0), b.indices.options());
    first = first.scatter_reduce(0, to, at::where(hit, at, none), "amin");
    Tensor found = first.lt(rows.size(0)), all = at::cat({ b.indices, at::zeros({ 1 }, b.indices.options()) });
    return at::where(found, all.index_select(0, first.reshape({ -1 })).reshape(first.sizes()), 0);
}

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

void check(const Tensor &weight, const Tensor &indices, const Tensor &offsets, int64_t mode, const OptionalTensor &each)
{
    auto index_type = [](const Tensor &t) { return t.scalar_type() == at::kLong || t.scalar_type() == at::kInt; };
    TORCH_CHECK(index_type(indices) && index_type(offsets), "embedding_bag: indices and offsets must be int or long");
    TORCH_CHECK(weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1,
                "embedding_bag: weight must have 2 dimensions, indices and offsets 1");
    TORCH_CHECK(!given(each) || mode == kSum, "embedding_bag: per_sample_weights only supported with mode='sum'");
    TORCH_CHECK(!given(each) || each->sizes() == indices.sizes(),
                "embedding_bag: per_sample_weights must have the shape of indices, ", indices.sizes(), ", not ",
                given(each) ? each->sizes() : indices.sizes());
}

Four forward(const Tensor &weight, const Tensor &indices, const Tensor &offsets, bool, int64_t mode, bool,
             const OptionalTensor &each, bool include_last, int64_t padding)
{
    check(weight, indices, offsets, mode, each);
    Bags b = bags_of(indices, offsets, include_last, padding < 0 ? -1 : padding);
    Tensor rows = weight.index_select(0, b.indices).to(wide(weight.scalar_type()));
    Tensor out = at::zeros({ b.count, weight.size(1) }, rows.options());
    if (mode == kMax) {
        constexpr double least = -std::numeric_limits<double>::infinity();
        Tensor counted = b.counted.defined() ? rows.masked_fill(b.counted.logical_not().unsqueeze(1), least) : rows;
        Tensor to = b.of.unsqueeze(1).expand_as(rows).to(at::kLong);
        Tensor most = at::full_like(out, least).scatter_reduce(0, to, counted, "amax");
        Tensor empty = b.counts.narrow(0, 0, b.count).eq(0).unsqueeze(1);
        return { most.masked_fill(empty, 0).to(weight.scalar_type()), b.of, b.counts, first_equal(rows, most, b) };
    }
    rows = cleared(given(each) ? rows * each->to(rows.scalar_type()).unsqueeze(1) : rows, b);
    out = out.index_add(0, b.of, rows);
    if (mode == kMean)
        out = out / b.counts.narrow(0, 0, b.count).clamp_min(1).to(out.scalar_type()).unsqueeze(1);
    return { out.to(weight.scalar_type()), b.of, b.counts, at::empty({ 0 }, b.indices.options()) };
}

// The gradient of the table: each index contributes the gradient of its bag.
Tensor backward(const Tensor &grad, const Tensor &indices, const Tensor &of, const Tensor &counts, const Tensor &most,
                int64_t rows, bool by_frequency, int64_t mode, const OptionalTensor &each, int64_t padding)
{
    Tensor dy = grad.to(wide(grad.scalar_type())), zeros = at::zeros({ rows, grad.size(1) }, dy.options());
    if (mode == kMax) {
        Tensor full = counts.narrow(0, 0, grad.size(0)).ne(0).unsqueeze(1);
        return zeros.scatter_add(0, most.to(at::kLong), dy * full.to(dy.scalar_type())).to(grad.scalar_type());
    }
    Tensor own = dy.index_select(0, of);
    auto scaled = [&own](const Tensor &by) { own = own * by.to(own.scalar_type()).unsqueeze(1); };
    if (mode == kMean)
        scaled(counts.index_select(0, of).clamp_min(1).to(own.scalar_type()).reciprocal());
    if (given(each))
        scaled(*each);
    if (padding >= 0)
        scaled(indices.ne(padding));
    if (by_frequency) {
        Tensor times = at::zeros({ rows }, own.options()).index_add(0, indices, at::ones_like(indices, own.options()));
        scaled(times.index_select(0, indices).reciprocal());
    }
    return zeros.index_add(0, indices, own).to(grad.scalar_type());
}

Tensor each_backward(const Tensor &grad, const Tensor &weight, const Tensor &indices, const Tensor &, const Tensor &of,
                     int64_t mode, int64_t padding)
{
    TORCH_CHECK(mode == kSum, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
    at::ScalarType type = wide(grad.scalar_type());
    Tensor y = (grad.index_select(0, of).to(type) * weight.index_select(0, indices).to(type)).sum(1);
    return (padding >= 0 ? y * indices.ne(padding).to(type) : y).to(grad.scalar_type());
}

Tensor backward_of_all(const Tensor &grad, const Tensor &indices, const Tensor &offsets, const Tensor &of,
                       const Tensor &counts, const Tensor &most, c10::SymInt rows, bool by_frequency, int64_t mode,
                       bool sparse, const OptionalTensor &each, int64_t padding)
{
    if (sparse)
        return at::_embedding_bag_sparse_backward_symint(grad, indices, offsets, of, counts, std::move(rows),
                                                         by_frequency, mode, each, padding);
    return backward(grad, indices, of, counts, most, rows.expect_int(), by_frequency, mode, each, padding);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_embedding_bag", forward);
    m.impl("_embedding_bag_forward_only", forward);
    m.impl("_embedding_bag_backward", backward_of_all);
    m.impl("_embedding_bag_per_sample_weights_backward", each_backward);
}

} // namespace
} // namespace dml
