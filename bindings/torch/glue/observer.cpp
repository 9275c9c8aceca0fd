// SPDX-License-Identifier: Apache-2.0
// Quantization-aware training: observes extremes of a tensor, and quantizes it in effect.
#include "glue.h"

#include <ATen/ops/_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.h>
#include <ATen/ops/_fused_moving_avg_obs_fq_helper.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/fake_quantize_per_channel_affine_cachemask.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

// The extremes that the CPU's implementation finds in a tensor are those of its extremes: two numbers for each channel,
// or two in all, from which it computes the parameters.
Tensor extremes(const Tensor &self, int64_t axis, bool channels)
{
    auto [low, high] = at::aminmax(channels ? self.movedim(axis, 0).flatten(1) : self.reshape({ 1, -1 }), 1);
    Tensor both = at::stack({ low, high }, 1).cpu();
    return channels ? both : both.reshape({ -1 });
}

std::tuple<Tensor, Tensor> observed(const Tensor &self, const Tensor &observe, const Tensor &quantize, Tensor &low,
                                    Tensor &high, Tensor &scale, Tensor &zero_point, double share, int64_t least,
                                    int64_t most, int64_t axis, bool channels, bool symmetric)
{
    std::array<Tensor *, 4> own = { &low, &high, &scale, &zero_point };
    std::array<Tensor, 4> there;
    for (size_t i = 0; i < own.size(); i++)
        there[i] = own[i]->cpu();
    at::_fused_moving_avg_obs_fq_helper(extremes(self, axis, channels), observe.cpu(), quantize.cpu(), there[0],
                                        there[1], there[2], there[3], share, least, most, 0, channels, symmetric);
    for (size_t i = 0; i < own.size(); i++)
        own[i]->resize_(there[i].sizes()).copy_(there[i]);
    if (!quantize.item<bool>())
        return { self.clone(), at::ones_like(self, self.options().dtype(at::kBool)) };
    if (channels)
        return at::fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, least, most);
    return at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(self, scale, zero_point, quantize, least,
                                                                         most);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_fused_moving_avg_obs_fq_helper", observed);
}

} // namespace
} // namespace dml
