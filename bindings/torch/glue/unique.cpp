// SPDX-License-Identifier: Apache-2.0
// Unique elements and unique rows.
#include "glue.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// Unique rows of `rows`, in which equal rows are adjacent; `different`: for each row except the first, whether it
// differs from the previous one.
Three of_runs(const Tensor &rows, const Tensor &different, bool inverse, bool counts)
{
    Tensor none = at::empty({ 0 }, rows.options().dtype(at::kLong)), first = none, run = none, lengths = none;
    if (rows.size(0)) {
        Tensor starts = at::cat({ at::ones({ 1 }, rows.options().dtype(at::kBool)), different });
        first = starts.nonzero().squeeze(1);
        if (inverse)
            run = starts.to(at::kLong).cumsum(0) - 1;
        if (counts)
            lengths = at::cat({ first.slice(0, 1), at::full({ 1 }, rows.size(0), first.options()) }) - first;
    }
    return { rows.index_select(0, first), run, lengths };
}

// For each row except the first, which elements differ from those of the previous one.
Tensor changes(const Tensor &rows)
{
    return rows.narrow(0, 0, std::max<int64_t>(rows.size(0) - 1, 0)).ne(rows.slice(0, 1));
}

Three unique2(const Tensor &self, bool, bool inverse, bool counts)
{
    auto [values, order] = self.reshape({ -1 }).sort();
    auto [found, run, lengths] = of_runs(values, changes(values), inverse, counts);
    if (inverse)
        run = at::empty_like(run).scatter_(0, order, run).reshape(self.sizes());
    return { found, run, lengths };
}

std::tuple<Tensor, Tensor> unique(const Tensor &self, bool sorted, bool inverse)
{
    auto [found, run, lengths] = unique2(self, sorted, inverse, false);
    return { found, run };
}

// ---- along one dimension ----

// The slices along `dim`, as rows of a matrix.
Tensor rows_of(const Tensor &self, int64_t dim)
{
    int64_t empty = std::count(self.sizes().begin(), self.sizes().end(), 0);
    TORCH_CHECK(self.size(dim) || empty == 1,
                "Number of zero sized dimensions is more than one, so unique cannot be applied ");
    TORCH_CHECK(!self.size(dim) || !empty,
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    Tensor first = self.movedim(dim, 0);
    return first.reshape({ first.size(0), first.size(0) ? -1 : 0 });
}

// Slices along `dim` of self: rows `found` of them.
Tensor slices_of(const Tensor &self, int64_t dim, const Tensor &found)
{
    auto sizes = self.movedim(dim, 0).sizes().vec();
    sizes[0] = found.size(0);
    return found.reshape(sizes).movedim(0, dim);
}

// For each column, the number of different smaller elements of each element.
Tensor ranks(const Tensor &columns)
{
    auto [values, order] = columns.sort(0);
    Tensor steps = changes(values).to(at::kLong).cumsum(0);
    Tensor rank = at::cat({ steps.new_zeros({ 1, columns.size(1) }), steps });
    return at::empty_like(rank).scatter_(0, order, rank);
}

// The ranks of the rows in lexicographic order, equal ones for equal rows. Each step joins pairs of adjacent columns:
// as many sorts as the logarithm of the number of columns, instead of one for each column.
Tensor lexicographic_ranks(const Tensor &rows)
{
    Tensor rank = ranks(rows);
    while (rank.size(1) > 1) {
        int64_t pairs = rank.size(1) / 2;
        Tensor joined = ranks(rank.slice(1, 0, 2 * pairs, 2) * rank.size(0) + rank.slice(1, 1, 2 * pairs, 2));
        rank = at::cat({ joined, rank.slice(1, 2 * pairs) }, 1);
    }
    return rank.squeeze(1);
}

Three unique_dim(const Tensor &self, int64_t dim, bool, bool, bool)
{
    Tensor rows = rows_of(self, dim);
    if (!rows.size(0))
        return { self.clone(), rows.new_empty({ 0 }, at::kLong), rows.new_empty({ 0 }, at::kLong) };
    auto [rank, order] = lexicographic_ranks(rows).sort();
    auto [found, run, lengths] = of_runs(order, changes(rank), true, true);
    run = at::empty_like(run).scatter_(0, order, run);
    return { slices_of(self, dim, rows.index_select(0, found)), run, lengths };
}

Three unique_consecutive(const Tensor &self, bool inverse, bool counts, std::optional<int64_t> dim)
{
    Tensor rows = dim ? rows_of(self, *dim) : self.reshape({ -1 });
    Tensor different = changes(rows);
    auto [found, run, lengths] = of_runs(rows, dim ? different.any(1) : different, inverse, counts);
    if (dim)
        found = slices_of(self, *dim, found);
    else if (inverse)
        run = run.reshape(self.sizes());
    return { found, run, lengths };
}

Three unique_dim_consecutive(const Tensor &self, int64_t dim, bool, bool)
{
    return unique_consecutive(self, true, true, dim);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_unique", unique);
    m.impl("_unique2", unique2);
    m.impl("unique_consecutive", unique_consecutive);
    m.impl("unique_dim", unique_dim);
    m.impl("unique_dim_consecutive", unique_dim_consecutive);
}

} // namespace
} // namespace dml
