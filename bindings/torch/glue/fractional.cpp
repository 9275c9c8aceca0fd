// SPDX-License-Identifier: Apache-2.0
// Fractional maximum pooling: windows of one size whose starts are shifted by random numbers. The backward pass is a
// row of ops.def.
#include "glue.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

// The starts of each plane's windows, [batch, channels, out], from one number in [0, 1) for each plane; steps are
// rounded to the type of the numbers, as on the CPU.
Tensor starts(const Tensor &samples, int64_t in, int64_t out, int64_t window)
{
    Tensor last = at::full_like(samples, in - window, samples.options().dtype(at::kLong)).unsqueeze(-1);
    if (out == 1)
        return last;
    Tensor step = at::full({}, in - window, samples.options()) / static_cast<double>(out - 1);
    Tensor moved = samples.unsqueeze(-1);
    Tensor first = (at::arange(out - 1, samples.options()) + moved).mul(step).to(at::kLong);
    return at::cat({ first - moved.mul(step).to(at::kLong), last }, -1);
}

// Positions in the plane of each window's elements, [batch, channels, out..., window].
Tensor places(const Tensor &samples, at::IntArrayRef in, at::IntArrayRef out, at::IntArrayRef window)
{
    int64_t spatial = static_cast<int64_t>(in.size());
    Tensor all = at::zeros({}, samples.options().dtype(at::kLong));
    for (int64_t d = 0; d < spatial; d++) {
        // For two dimensions the random numbers are in reverse order.
        Tensor sample = samples.select(2, spatial == 2 ? 1 - d : d);
        Tensor at = starts(sample, in[d], out[d], window[d]).unsqueeze(-1) + at::arange(window[d], all.options());
        std::vector<int64_t> shape(static_cast<size_t>(2 + 2 * spatial), 1);
        shape[0] = samples.size(0);
        shape[1] = samples.size(1);
        shape[static_cast<size_t>(2 + d)] = out[d];
        shape[static_cast<size_t>(2 + spatial + d)] = window[d];
        all = all * in[d] + at.view(shape);
    }
    return all.flatten(2 + spatial);
}

std::tuple<Tensor, Tensor> pooled(const Tensor &self, at::IntArrayRef window, at::IntArrayRef out,
                                  const Tensor &samples)
{
    size_t spatial = window.size(), rank = static_cast<size_t>(self.dim());
    TORCH_CHECK(rank == spatial + 1 || rank == spatial + 2, "fractional_max_pool", spatial, "d: self has ", rank,
                " dimensions, must have ", spatial + 1, " or ", spatial + 2);
    TORCH_CHECK(out.size() == spatial && samples.dim() == 3 && samples.size(2) == static_cast<int64_t>(spatial),
                "fractional_max_pool", spatial,
                "d: output_size and the last of three dimensions of random_samples must have ", spatial, " elements");
    TORCH_CHECK(samples.scalar_type() == self.scalar_type(), "fractional_max_pool", spatial,
                "d: Expect _random_samples to have the same dtype as input");
    Tensor x = rank == spatial + 1 ? self.unsqueeze(0) : self;
    at::IntArrayRef in = x.sizes().slice(2);
    for (size_t d = 0; d < spatial; d++)
        TORCH_CHECK(window[d] > 0 && out[d] > 0 && out[d] + window[d] - 1 <= in[d], "fractional_max_pool", spatial,
                    "d: windows of ", window[d], " do not fit ", out[d], " times into ", in[d]);
    TORCH_CHECK(samples.size(0) >= x.size(0) && samples.size(1) >= x.size(1), "fractional_max_pool", spatial,
                "d: random_samples must have a number for each plane of self, ", x.size(0), " x ", x.size(1));
    Tensor mine = samples.narrow(0, 0, x.size(0)).narrow(1, 0, x.size(1)), index = places(mine, in, out, window);
    Tensor held = x.flatten(2).gather(2, index.flatten(2)).view(index.sizes());
    auto [maxima, which] = held.max(-1);
    // The first maximum, but the last NaN.
    Tensor behind = held.isnan().flip(-1).to(at::kLong).argmax(-1);
    which = at::where(maxima.isnan(), (held.size(-1) - 1) - behind, which);
    Tensor where = index.gather(-1, which.unsqueeze(-1)).squeeze(-1);
    if (rank == spatial + 1)
        return { maxima.squeeze(0), where.squeeze(0) };
    return { maxima, where };
}

std::tuple<Tensor &, Tensor &> pooled_out(const Tensor &self, at::IntArrayRef window, at::IntArrayRef out,
                                          const Tensor &samples, Tensor &maxima, Tensor &indices)
{
    auto [values, where] = pooled(self, window, out, samples);
    at::native::resize_output(maxima, values.sizes());
    at::native::resize_output(indices, where.sizes());
    maxima.copy_(values);
    indices.copy_(where);
    return std::tie(maxima, indices);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("fractional_max_pool2d", pooled);
    m.impl("fractional_max_pool3d", pooled);
    m.impl("fractional_max_pool2d.output", pooled_out);
    m.impl("fractional_max_pool3d.output", pooled_out);
}

} // namespace
} // namespace dml
