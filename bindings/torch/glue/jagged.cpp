// SPDX-License-Identifier: Apache-2.0
// Nested tensors of layout torch.jagged: the rows of all parts in one tensor, and the offset of the first row of each
// part.
#include "glue.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

// One offset more than there are parts: the last one is the number of rows.
Tensor checked(at::TensorList offsets, const char *name)
{
    TORCH_CHECK_NOT_IMPLEMENTED(offsets.size() == 1, name, ": dml supports one jagged dimension, not ", offsets.size());
    TORCH_CHECK(offsets[0].dim() == 1 && offsets[0].numel(), name,
                ": offsets must have one dimension and at least one element, not the sizes ", offsets[0].sizes());
    return offsets[0].to(at::kLong);
}

// `rows` with this value where the mask of its first dimensions is set.
Tensor filled(const Tensor &rows, Tensor mask, double value)
{
    while (mask.dim() < rows.dim())
        mask = mask.unsqueeze(-1);
    return rows.masked_fill(mask, value);
}

Tensor to_padded(const Tensor &values, at::TensorList all, c10::SymIntArrayRef longest, double padding)
{
    constexpr const char *name = "_jagged_to_padded_dense_forward";
    Tensor offsets = checked(all, name);
    TORCH_CHECK(longest.size() == 1, name, ": max_lengths must have one element, not ", longest.size());
    int64_t parts = offsets.numel() - 1, length = longest[0].expect_int();
    std::vector<int64_t> sizes = values.sizes().vec();
    sizes[0] = length;
    sizes.insert(sizes.begin(), parts);
    if (!values.size(0))
        return at::full(sizes, padding, values.options());
    Tensor row = offsets.narrow(0, 0, parts).unsqueeze(1) + at::arange(length, offsets.options());
    Tensor outside = row.ge(offsets.slice(0, 1).unsqueeze(1));
    row = row.masked_fill(outside, 0).reshape({ -1 });
    return filled(values.index_select(0, row).reshape(sizes), outside, padding);
}

// Rows that the padded tensor is too short for are zeros.
Tensor from_padded(const Tensor &padded, at::TensorList all, std::optional<c10::SymInt> total)
{
    constexpr const char *name = "_padded_dense_to_jagged_forward";
    Tensor offsets = checked(all, name);
    int64_t parts = offsets.numel() - 1;
    TORCH_CHECK(padded.dim() >= 2 && padded.size(0) == parts, name,
                ": the padded tensor must have at least two dimensions "
                "and the size ",
                parts, " in the first one, not the sizes ", padded.sizes());
    int64_t count = total ? total->expect_int() : offsets[parts].item<int64_t>(), length = padded.size(1);
    std::vector<int64_t> sizes = padded.sizes().slice(1).vec();
    sizes[0] = count;
    if (!count || !parts || !length)
        return at::zeros(sizes, padded.options());
    Tensor at = at::arange(count, offsets.options()), ends = offsets.slice(0, 1);
    Tensor part = at::bucketize(at, ends, false, true).clamp_max(parts - 1);
    Tensor place = at - offsets.index_select(0, part);
    Tensor outside = place.ge(length).logical_or(at.ge(ends.index_select(0, part)));
    Tensor row = part * length + place.clamp_max(length - 1);
    return filled(padded.flatten(0, 1).index_select(0, row), outside, 0);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_jagged_to_padded_dense_forward", to_padded);
    m.impl("_padded_dense_to_jagged_forward", from_padded);
}

} // namespace
} // namespace dml
