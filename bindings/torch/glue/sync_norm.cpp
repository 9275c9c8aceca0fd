// SPDX-License-Identifier: Apache-2.0
// The parts of batch normalization between which torch.nn.SyncBatchNorm exchanges sums with other processes, as
// compositions. Channels are dimension 1; sums and statistics of 16-bit floats are float32.
#include "glue.h"

#include <ATen/ops/full.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using Optional = const std::optional<Tensor> &;

at::ScalarType wide(const Tensor &x)
{
    return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::vector<int64_t> others(const Tensor &x)
{
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < x.dim(); d++)
        if (d != 1)
            dims.push_back(d);
    return dims;
}

// Reshapes one value per channel so that it broadcasts over x.
Tensor along(const Tensor &x, const Tensor &channels)
{
    std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
    sizes[1] = channels.numel();
    return channels.reshape(sizes).to(wide(x));
}

void check(const Tensor &x, const char *name)
{
    TORCH_CHECK(x.dim() >= 2 && x.is_floating_point(), name,
                ": input must be floating point and have at least 2 "
                "dimensions, not ",
                x.sizes(), " of ", x.scalar_type());
}

std::tuple<Tensor, Tensor> moments(const Tensor &x)
{
    Tensor y = x.to(wide(x)), mean = y.mean(others(x));
    return { mean, (y - along(x, mean)).square().mean(others(x)) };
}

std::tuple<Tensor, Tensor> stats(const Tensor &input, double eps)
{
    check(input, "batch_norm_stats");
    auto [mean, variance] = moments(input);
    return { mean, (variance + eps).rsqrt() };
}

void update(Optional running, const Tensor &value, double momentum)
{
    if (running && running->defined())
        running->mul_(1 - momentum).add_(value.to(running->scalar_type()), momentum);
}

std::tuple<Tensor, Tensor> update_stats(const Tensor &input, Optional running_mean, Optional running_var,
                                        double momentum)
{
    check(input, "batch_norm_update_stats");
    auto [mean, variance] = moments(input);
    auto count = static_cast<double>(input.numel() / input.size(1));
    update(running_mean, mean, momentum);
    update(running_var, variance * (count / (count - 1)), momentum);
    return { mean, variance };
}

Tensor elemt(const Tensor &input, Optional weight, Optional bias, const Tensor &mean, const Tensor &invstd, double)
{
    check(input, "batch_norm_elemt");
    Tensor y = (input.to(wide(input)) - along(input, mean)) * along(input, invstd);
    if (weight && weight->defined())
        y = y * along(input, *weight);
    if (bias && bias->defined())
        y = y + along(input, *bias);
    return y.to(input.scalar_type());
}

Tensor &elemt_out(const Tensor &input, Optional weight, Optional bias, const Tensor &mean, const Tensor &invstd,
                  double eps, Tensor &out)
{
    out.resize_(input.sizes());
    return out.copy_(elemt(input, weight, bias, mean, invstd, eps));
}

// Combines the statistics of all processes: each row has one process's mean, 1 / deviation and number of elements.
std::tuple<Tensor, Tensor> gather_with_counts(const Tensor &, const Tensor &mean, const Tensor &invstd,
                                              Optional running_mean, Optional running_var, double momentum, double eps,
                                              const Tensor &counts)
{
    Tensor each = counts.reshape({ -1, 1 }).to(mean.scalar_type()), count = each.sum();
    Tensor all = (mean * each).sum(0) / count;
    Tensor within = invstd.square().reciprocal() - eps;
    Tensor squares = ((within + (mean - all).square()) * each).sum(0);
    update(running_mean, all, momentum);
    update(running_var, squares / (count - 1), momentum);
    return { all, (squares / count + eps).rsqrt() };
}

std::tuple<Tensor, Tensor> gather(const Tensor &input, const Tensor &mean, const Tensor &invstd, Optional running_mean,
                                  Optional running_var, double momentum, double eps, int64_t count)
{
    Tensor counts = at::full({ mean.size(0) }, count, mean.options());
    return gather_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward_reduce(const Tensor &gradient, const Tensor &input,
                                                           const Tensor &mean, const Tensor &invstd, Optional weight,
                                                           bool input_g, bool weight_g, bool bias_g)
{
    check(input, "batch_norm_backward_reduce");
    Tensor dy = gradient.to(wide(input)), sum = dy.sum(others(input));
    Tensor product = (dy * (input.to(wide(input)) - along(input, mean))).sum(others(input));
    at::ScalarType type = weight && weight->defined() ? weight->scalar_type() : sum.scalar_type();
    return { input_g ? sum : Tensor(), input_g ? product : Tensor(), weight_g ? (product * invstd).to(type) : Tensor(),
             bias_g ? sum.to(type) : Tensor() };
}

Tensor backward_elemt(const Tensor &gradient, const Tensor &input, const Tensor &mean, const Tensor &invstd,
                      Optional weight, const Tensor &sum, const Tensor &product, const Tensor &counts)
{
    check(input, "batch_norm_backward_elemt");
    Tensor share = counts.sum().to(wide(input)).reciprocal();
    Tensor slope = along(input, product * share * invstd.square());
    Tensor dx =
        gradient.to(wide(input)) - along(input, sum * share) - (input.to(wide(input)) - along(input, mean)) * slope;
    Tensor scale = weight && weight->defined() ? invstd * weight->to(invstd.scalar_type()) : invstd;
    return (dx * along(input, scale)).to(input.scalar_type());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("batch_norm_stats", stats);
    m.impl("batch_norm_update_stats", update_stats);
    m.impl("batch_norm_elemt", elemt);
    m.impl("batch_norm_elemt.out", elemt_out);
    m.impl("batch_norm_gather_stats", gather);
    m.impl("batch_norm_gather_stats_with_counts", gather_with_counts);
    m.impl("batch_norm_backward_reduce", backward_reduce);
    m.impl("batch_norm_backward_elemt", backward_elemt);
}

} // namespace
} // namespace dml
