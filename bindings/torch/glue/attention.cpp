// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention, forward and backward. torch dispatches the choice of the implementation to the device;
// here each of the two passes is one DirectML graph.
#include "glue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <ATen/ExpandUtils.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/softmax.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// values of sdp::SDPBackend
constexpr int64_t kMath = 0, kOverrideable = 4;

bool is_batched(const Tensor &x)
{
    return at::functorch::isBatchedTensor(x);
}

// Compilers trace the operator that this selects, too, and build one operator of it (compiler.py); vmap has batching
// rules for the parts only.
int64_t choice(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &mask, double, bool,
               std::optional<double>, bool gqa)
{
    if (is_batched(query) || is_batched(key) || is_batched(value) || (mask && mask->defined() && is_batched(*mask)))
        return kMath;
    bool floats = at::isFloatingType(query.scalar_type()) && query.scalar_type() == key.scalar_type() &&
                  query.scalar_type() == value.scalar_type();
    if (!floats || query.is_nested() || query.dim() != 4 || key.dim() != 4 || value.dim() != 4 ||
        (mask && mask->requires_grad()))
        return kMath;
    const auto q = query.sym_sizes(), k = key.sym_sizes(), v = value.sym_sizes();
    bool plain = q[0] == k[0] && k[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3];
    bool full = q[0] != 0 && q[1] != 0 && q[2] != 0 && q[3] != 0 && k[1] != 0 && k[2] != 0 && v[3] != 0;
    return plain && full && (gqa ? q[1] % k[1] == 0 : q[1] == k[1]) ? kOverrideable : kMath;
}

// Three dimensions are heads, tokens and size.
Tensor of_any_rank(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &mask,
                   double dropout, bool causal, std::optional<double> scale, bool gqa)
{
    if (query.is_nested() || query.dim() != 3 || key.dim() != 3 || value.dim() != 3 || is_batched(query) ||
        is_batched(key) || is_batched(value))
        return at::native::scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale, gqa);
    return at::native::scaled_dot_product_attention(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0), mask,
                                                    dropout, causal, scale, gqa)
        .squeeze(0);
}

double scale_of(const Tensor &query, std::optional<double> scale)
{
    return scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

at::ScalarType wide(at::ScalarType type)
{
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

// Keys or values for each head of the queries.
Tensor for_heads(const Tensor &x, const Tensor &query)
{
    return x.size(1) == query.size(1) ? x : x.repeat_interleave(query.size(1) / x.size(1), 1);
}

// The sum over the heads of queries that share a head of `like`.
Tensor over_heads(const Tensor &x, const Tensor &like)
{
    return x.size(1) == like.size(1) ? x : x.unflatten(1, { like.size(1), -1 }).sum(2);
}

// Scores of 16-bit types are computed in float32: the exponentials multiply rounding errors of scores.
Tensor scores(const Tensor &query, const Tensor &key, const OptionalTensor &bias, bool causal, double scale)
{
    at::ScalarType type = wide(query.scalar_type());
    Tensor s = at::matmul(query.to(type), for_heads(key, query).to(type).transpose(-2, -1)) * scale;
    if (bias && bias->defined())
        s = s + *bias;
    if (causal) {
        Tensor later = at::ones({ query.size(-2), key.size(-2) }, query.options().dtype(at::kBool)).triu(1);
        s = s.masked_fill(later, -std::numeric_limits<double>::infinity());
    }
    return s;
}

using Three = std::tuple<Tensor, Tensor, Tensor>;

// A row in which everything is masked yields zeros.
Tensor weights(const Tensor &s)
{
    return at::softmax(s, -1).masked_fill(s.amax({ -1 }, true).isneginf(), 0);
}

// Weights that `keep` (BOOL) selects are scaled by 1 / (1 - dropout), the others are zeros.
Tensor dropped(const Tensor &x, const OptionalTensor &keep, double dropout)
{
    return keep && keep->defined() ? x * *keep * (dropout < 1 ? 1 / (1 - dropout) : 0) : x;
}

// ---- torch_directml::attention: graphs of the C library on the device (op_attention.c), compositions elsewhere ----

Tensor composed(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &bias, bool causal,
                double scale, const OptionalTensor &keep, double dropout)
{
    Tensor p = dropped(weights(scores(query, key, bias, causal, scale)), keep, dropout);
    return at::matmul(p.to(value.scalar_type()), for_heads(value, query));
}

// Returns the gradients of query, key, value and, if requested, of the bias.
std::tuple<Tensor, Tensor, Tensor, Tensor> composed_gradients(const Tensor &grad, const Tensor &query,
                                                              const Tensor &key, const Tensor &value,
                                                              const OptionalTensor &bias, bool causal, double scale,
                                                              const OptionalTensor &keep, double dropout,
                                                              bool wants_bias)
{
    // The scores are recomputed rather than derived from the forward pass's sums: the rounding of a large sum would
    // affect its whole row.
    Tensor p = weights(scores(query, key, bias, causal, scale)), db;
    at::ScalarType type = query.scalar_type();
    Tensor dv = at::matmul(dropped(p, keep, dropout).to(type).transpose(-2, -1), grad);
    Tensor dp = at::matmul(grad.to(p.scalar_type()), for_heads(value, query).to(p.scalar_type()).transpose(-2, -1));
    Tensor ds = at::_softmax_backward_data(dropped(dp, keep, dropout), p, -1, p.scalar_type());
    if (wants_bias && bias && bias->defined())
        db = at::sum_to(ds, bias->sizes()).to(bias->scalar_type());
    ds = (ds * scale).to(type);
    return { at::matmul(ds, for_heads(key, query)), over_heads(at::matmul(ds.transpose(-2, -1), query), key),
             over_heads(dv, value), db };
}

Three composed_backward(const Tensor &grad, const Tensor &query, const Tensor &key, const Tensor &value,
                        const OptionalTensor &bias, bool causal, double scale, const OptionalTensor &keep,
                        double dropout)
{
    auto [dq, dk, dv, db] = composed_gradients(grad, query, key, value, bias, causal, scale, keep, dropout, false);
    return { dq, dk, dv };
}

// Without gaps, with the order of the dimensions of `like` in memory, as torch's compiler assumes of the results:
// mostly [batch, tokens, heads, size], because the readers concatenate the heads.
Tensor dense(const Tensor &like, const c10::SymInt &size)
{
    const auto from = like.sym_strides();
    std::array<size_t, 4> order = { 0, 1, 2, 3 };
    std::stable_sort(order.begin(), order.end(),
                     [&from](size_t a, size_t b) { return from[a] != 0 && (from[b] == 0 || from[a] < from[b]); });
    std::array<c10::SymInt, 4> strides, sizes = { like.sym_size(0), like.sym_size(1), like.sym_size(2), size };
    c10::SymInt step = 1;
    for (size_t dim : order) {
        strides[dim] = step;
        step *= sizes[dim];
    }
    return at::empty_strided_symint(sizes, strides, like.options());
}

Tensor meta(const Tensor &query, const Tensor &, const Tensor &value, const OptionalTensor &, bool, double,
            const OptionalTensor &, double)
{
    return dense(query, value.sym_size(3));
}

Three meta_backward(const Tensor &, const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &,
                    bool, double, const OptionalTensor &, double)
{
    return { dense(query, query.sym_size(3)), dense(key, key.sym_size(3)), dense(value, value.sym_size(3)) };
}

TORCH_LIBRARY_IMPL(torch_directml, CPU, m)
{
    m.impl("attention", composed);
    m.impl("attention_backward", composed_backward);
}

TORCH_LIBRARY_IMPL(torch_directml, Meta, m)
{
    m.impl("attention", meta);
    m.impl("attention_backward", meta_backward);
}

// ---- torch's operators ----

using Results = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Results forward(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &bias, double dropout,
                bool causal, bool, std::optional<double> scale)
{
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("torch_directml::attention", "").typed<decltype(composed)>();
    OptionalTensor keep;
    if (dropout > 0)
        keep = at::rand({ query.size(0), query.size(1), query.size(2), key.size(2) }, query.options().dtype(at::kFloat))
                   .ge(dropout);
    Tensor out = op.call(query, key, value, bias, causal, scale_of(query, scale), keep, dropout);
    // The sums of rows are not kept: the backward pass needs the scores anyway. In the place of a seed are the weights
    // that dropout keeps; torch's compiler requires both tensors.
    const Tensor none = at::empty({}, at::kLong);
    return { out,
             at::empty({ 0 }, query.options().dtype(at::kFloat)),
             Tensor(),
             Tensor(),
             query.sym_size(2),
             key.sym_size(2),
             keep.value_or(none),
             none,
             Tensor() };
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Tensor &grad, const Tensor &query, const Tensor &key,
                                                    const Tensor &value, const Tensor &bias, std::array<bool, 4> wanted,
                                                    const Tensor &, const Tensor &, const Tensor &, const Tensor &,
                                                    c10::SymInt, c10::SymInt, double dropout, bool causal,
                                                    const Tensor &kept, const Tensor &, std::optional<double> scale)
{
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("torch_directml::attention_backward", "")
                               .typed<decltype(composed_backward)>();
    double factor = scale_of(query, scale);
    const OptionalTensor keep = dropout > 0 ? OptionalTensor(kept) : std::nullopt;
    if (wanted[3])
        return composed_gradients(grad, query, key, value, bias, causal, factor, keep, dropout, true);
    auto [dq, dk, dv] = op.call(grad, query, key, value, bias.defined() ? OptionalTensor(bias) : std::nullopt, causal,
                                factor, keep, dropout);
    return { dq, dk, dv, Tensor() };
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m)
{
    m.impl("scaled_dot_product_attention", of_any_rank);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("scaled_dot_product_attention", of_any_rank);
    m.impl("_fused_sdp_choice", choice);
    m.impl("_scaled_dot_product_fused_attention_overrideable", forward);
    m.impl("_scaled_dot_product_fused_attention_overrideable_backward", backward);
}

} // namespace
} // namespace dml

namespace at::native
{
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &dml::choice)
} // namespace at::native
