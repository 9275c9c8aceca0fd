// SPDX-License-Identifier: Apache-2.0
// segment_reduce and its gradient as compositions: elements along an axis belong to segments of given lengths.
#include "glue.h"

#include <limits>
#include <string>

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

struct Segments {
    Tensor of;      // segment of each element of the data; s.count for elements in no segment
    Tensor lengths; // with trailing dimensions of size 1, up to the rank of the data
    int64_t axis, count;
    at::ScalarType type; // type of the computation
};

Tensor like_data(const Tensor &t, int64_t dims)
{
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes.resize(static_cast<size_t>(dims), 1);
    return t.reshape(sizes);
}

Segments segments_of(const Tensor &data, const OptionalTensor &lengths, const OptionalTensor &offsets, int64_t axis)
{
    Segments s;
    s.axis = at::maybe_wrap_dim(axis, data.dim());
    at::ScalarType type = data.scalar_type();
    s.type = type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
    Tensor ends, last, each;
    if (offsets && offsets->defined()) {
        int64_t count = offsets->size(-1) - 1;
        ends = offsets->narrow(-1, 1, count).contiguous();
        each = ends - offsets->narrow(-1, 0, count);
    } else {
        each = *lengths;
        ends = each.cumsum(-1);
    }
    s.count = each.size(-1);
    std::vector<int64_t> shape = each.sizes().vec();
    shape.back() = data.size(s.axis);
    Tensor at = at::arange(data.size(s.axis), ends.options()).expand(shape).contiguous();
    Tensor of = at::searchsorted(ends, at, false, true).to(at::kLong);
    s.of = like_data(of, data.dim()).expand_as(data);
    s.lengths = like_data(each, data.dim()).to(s.type);
    return s;
}

// Reduces the elements of each segment, starting with `first`.
Tensor reduced(const Segments &s, const Tensor &data, const char *how, double first)
{
    std::vector<int64_t> sizes = data.sizes().vec();
    sizes[static_cast<size_t>(s.axis)] = s.count + 1;
    Tensor begin = at::full(sizes, first, data.options());
    return begin.scatter_reduce(s.axis, s.of, data, how).narrow(s.axis, 0, s.count);
}

// Repeats the segment's value for each of its elements.
Tensor spread(const Segments &s, const Tensor &values)
{
    std::vector<int64_t> sizes = values.sizes().vec();
    sizes[static_cast<size_t>(s.axis)] = 1;
    return at::cat({ values, at::zeros(sizes, values.options()) }, s.axis).gather(s.axis, s.of);
}

void check(const Tensor &data, const OptionalTensor &lengths, const OptionalTensor &indices,
           const OptionalTensor &offsets, int64_t axis, bool unsafe)
{
    bool by_lengths = lengths && lengths->defined(), by_offsets = offsets && offsets->defined();
    TORCH_CHECK(data.numel() > 0, "segment_reduce(): data must not be empty");
    TORCH_CHECK(by_lengths || by_offsets, "segment_reduce(): Either lengths or offsets must be defined.");
    TORCH_CHECK(!indices || !indices->defined(), "segment_reduce(): indices based reduction is not supported yet.");
    const Tensor &where = by_offsets ? *offsets : *lengths;
    TORCH_CHECK(where.dim() == at::maybe_wrap_dim(axis, data.dim()) + 1,
                "segment_reduce(): Expected axis to be the last dimension of lengths or offsets but got axis = ", axis,
                " and ", where.dim(), " dimensions");
    if (!by_offsets && !unsafe) {
        TORCH_CHECK(where.min().item<int64_t>() >= 0, "lengths contains negative value!");
        TORCH_CHECK(where.sum(-1).eq(data.size(axis)).all().item<bool>(),
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                    "when !unsafe.");
    }
}

Tensor forward(const Tensor &data, c10::string_view how, const OptionalTensor &lengths, const OptionalTensor &indices,
               const OptionalTensor &offsets, int64_t axis, bool unsafe, const std::optional<at::Scalar> &initial)
{
    check(data, lengths, indices, offsets, axis, unsafe);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Segments s = segments_of(data, lengths, offsets, axis);
    Tensor x = data.to(s.type), y;
    auto first = [&initial](double otherwise) { return initial ? initial->toDouble() : otherwise; };
    if (how == "max")
        y = reduced(s, x, "amax", first(-infinity));
    else if (how == "min")
        y = reduced(s, x, "amin", first(infinity));
    else if (how == "prod")
        y = reduced(s, x, "prod", first(1));
    else
        y = reduced(s, x, "sum", first(0));
    if (how == "mean" && initial) // an empty segment has the initial value
        y = y / s.lengths.clamp_min(1);
    else if (how == "mean")
        y = y / s.lengths;
    return y.to(data.scalar_type());
}

// For products: the product of all other elements of the segment.
Tensor others(const Segments &s, const Tensor &data, const Tensor &output, double first)
{
    Tensor zero = data.eq(0), one = at::ones_like(data);
    Tensor rest = spread(s, reduced(s, at::where(zero, one, data), "prod", first));
    Tensor zeros = spread(s, reduced(s, zero.to(data.scalar_type()), "sum", 0));
    return at::where(zero, at::where(zeros.gt(1), at::zeros_like(rest), rest), spread(s, output) / data);
}

Tensor backward(const Tensor &grad, const Tensor &output, const Tensor &data, c10::string_view how,
                const OptionalTensor &lengths, const OptionalTensor &offsets, int64_t axis,
                const std::optional<at::Scalar> &initial)
{
    Segments s = segments_of(data, lengths, offsets, axis);
    Tensor x = data.to(s.type), dy = grad.to(s.type), dx = spread(s, dy);
    if (how == "mean") {
        dx = spread(s, dy / s.lengths);
    } else if (how == "prod") {
        dx = dx * others(s, x, output.to(s.type), initial ? initial->toDouble() : 1);
    } else if (how != "sum") {
        // Among equal extremes torch divides positive gradients only.
        Tensor hit = x.isnan().logical_or(x.eq(spread(s, output.to(s.type)))).to(s.type);
        Tensor share = dx / spread(s, reduced(s, hit, "sum", 0)).clamp_min(1);
        dx = hit * at::where(dx.gt(0), share, dx);
    }
    return dx.to(data.scalar_type());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("segment_reduce", forward);
    m.impl("_segment_reduce_backward", backward);
}

} // namespace
} // namespace dml
