// SPDX-License-Identifier: Apache-2.0
// The fused operators that nn.MultiheadAttention and nn.TransformerEncoderLayer call in evaluation mode, as
// compositions: attention is then one graph.
#include "glue.h"

#include <cmath>

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// A mask for scores [batch, heads, queries, keys]. Booleans select the keys to exclude, numbers are added.
OptionalTensor mask_of(const OptionalTensor &mask, std::optional<int64_t> type)
{
    constexpr int64_t kOfKeys = 1; // mask type of [batch, keys]
    if (!mask || !mask->defined())
        return std::nullopt;
    Tensor wide = type == kOfKeys ? mask->reshape({ mask->size(0), 1, 1, mask->size(1) }) : *mask;
    return wide.scalar_type() == at::kBool ? wide.logical_not() : wide;
}

// Query, key and value, each [batch, heads, tokens, size].
std::vector<Tensor> project(const std::array<Tensor, 3> &inputs, const Tensor &weight, const Tensor &bias,
                            int64_t heads)
{
    std::vector<Tensor> made;
    if (inputs[0].is_same(inputs[1]) && inputs[1].is_same(inputs[2])) {
        made = at::linear(inputs[0], weight, bias).chunk(3, -1);
    } else {
        auto weights = weight.chunk(3), biases = bias.chunk(3);
        for (size_t i = 0; i < 3; i++)
            made.push_back(at::linear(inputs[i], weights[i], biases[i]));
    }
    for (Tensor &x : made)
        x = x.unflatten(-1, { heads, x.size(-1) / heads }).transpose(1, 2);
    return made;
}

Tensor weights_of(const std::vector<Tensor> &qkv, const OptionalTensor &mask)
{
    Tensor scores = at::matmul(qkv[0], qkv[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(qkv[0].size(-1)));
    if (mask)
        scores = mask->scalar_type() == at::kBool ? scores.masked_fill(mask->logical_not(), -INFINITY) : scores + *mask;
    return scores.softmax(-1);
}

std::tuple<Tensor, Tensor> attention(const Tensor &query, const Tensor &key, const Tensor &value, int64_t embed_dim,
                                     int64_t heads, const Tensor &qkv_weight, const Tensor &qkv_bias,
                                     const Tensor &weight, const Tensor &bias, const OptionalTensor &mask,
                                     bool need_weights, bool average, std::optional<int64_t> mask_type)
{
    TORCH_CHECK(query.dim() == 3 && key.dim() == 3 && value.dim() == 3 && query.size(2) == embed_dim && heads > 0 &&
                    embed_dim % heads == 0,
                "_native_multi_head_attention: query, key and value must be [batch, tokens, ", embed_dim,
                "], a multiple of ", heads, " heads, not ", query.sizes(), ", ", key.sizes(), " and ", value.sizes());
    auto qkv = project({ query, key, value }, qkv_weight, qkv_bias, heads);
    OptionalTensor seen = mask_of(mask, mask_type);
    Tensor made, weights;
    if (need_weights) {
        weights = weights_of(qkv, seen);
        made = at::matmul(weights, qkv[2]);
        weights = average ? weights.mean(1) : weights;
    } else {
        made = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], seen);
    }
    return { at::linear(made.transpose(1, 2).flatten(2), weight, bias), weights };
}

Tensor layer(const Tensor &src, int64_t embed_dim, int64_t heads, const Tensor &qkv_weight, const Tensor &qkv_bias,
             const Tensor &proj_weight, const Tensor &proj_bias, bool use_gelu, bool norm_first, double eps,
             const Tensor &norm_weight_1, const Tensor &norm_bias_1, const Tensor &norm_weight_2,
             const Tensor &norm_bias_2, const Tensor &ffn_weight_1, const Tensor &ffn_bias_1,
             const Tensor &ffn_weight_2, const Tensor &ffn_bias_2, const OptionalTensor &mask,
             std::optional<int64_t> mask_type)
{
    auto norm = [&](const Tensor &x, const Tensor &weight, const Tensor &bias, bool wanted) {
        return wanted ? at::layer_norm(x, { embed_dim }, weight, bias, eps) : x;
    };
    Tensor x = norm(src, norm_weight_1, norm_bias_1, norm_first);
    x = src + std::get<0>(attention(x, x, x, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
                                    false, true, mask_type));
    x = norm(x, norm_weight_1, norm_bias_1, !norm_first);
    Tensor y = at::linear(norm(x, norm_weight_2, norm_bias_2, norm_first), ffn_weight_1, ffn_bias_1);
    y = at::linear(use_gelu ? at::gelu(y) : at::relu(y), ffn_weight_2, ffn_bias_2);
    return norm(x + y, norm_weight_2, norm_bias_2, !norm_first);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_native_multi_head_attention", attention);
    m.impl("_transformer_encoder_layer_fwd", layer);
}

} // namespace
} // namespace dml
