// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention, forward and backward. torch dispatches the choice of the implementation to the device;
// here each of the two passes is one DirectML graph.
#include "glue.h"

#include <cmath>
#include <limits>

#include <ATen/ExpandUtils.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
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

int64_t choice(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &mask, double dropout,
               bool, std::optional<double>, bool)
{
    // Compilers get GEMMs and a softmax, which they fuse; vmap has batching rules only for these.
    auto seen_through = [](const Tensor &x) {
        const c10::TensorImpl *impl = x.unsafeGetTensorImpl();
        return impl->is_python_dispatch() || impl->has_symbolic_sizes_strides() || at::functorch::isBatchedTensor(x);
    };
    if (seen_through(query) || seen_through(key) || seen_through(value) ||
        (mask && mask->defined() && seen_through(*mask)))
        return kMath;
    bool floats = at::isFloatingType(query.scalar_type()) && query.scalar_type() == key.scalar_type() &&
                  query.scalar_type() == value.scalar_type();
    bool plain = !query.is_nested() && query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                 query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1) &&
                 query.size(1) == key.size(1);
    bool full = query.numel() && key.numel() && value.numel();
    return floats && plain && full && dropout == 0 && !(mask && mask->requires_grad()) ? kOverrideable : kMath;
}

double scale_of(const Tensor &query, std::optional<double> scale)
{
    return scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

at::ScalarType wide(at::ScalarType type)
{
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

// Scores of 16-bit types are computed in float32: the exponentials multiply rounding errors of scores.
Tensor scores(const Tensor &query, const Tensor &key, const OptionalTensor &bias, bool causal, double scale)
{
    at::ScalarType type = wide(query.scalar_type());
    Tensor s = at::matmul(query.to(type), key.to(type).transpose(-2, -1)) * scale;
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

// ---- torch_directml::attention: graphs of the C library on the device (op_attention.c), compositions elsewhere ----

Tensor composed(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &bias, bool causal,
                double scale)
{
    return at::matmul(weights(scores(query, key, bias, causal, scale)).to(value.scalar_type()), value);
}

// Returns the gradients of query, key, value and, if requested, of the bias.
std::tuple<Tensor, Tensor, Tensor, Tensor> composed_gradients(const Tensor &grad, const Tensor &query,
                                                              const Tensor &key, const Tensor &value,
                                                              const OptionalTensor &bias, bool causal, double scale,
                                                              bool wants_bias)
{
    // The scores are recomputed rather than derived from the forward pass's sums: the rounding of a large sum would
    // affect its whole row.
    Tensor p = weights(scores(query, key, bias, causal, scale)), db;
    at::ScalarType type = query.scalar_type();
    Tensor dv = at::matmul(p.to(type).transpose(-2, -1), grad);
    Tensor dp = at::matmul(grad.to(p.scalar_type()), value.to(p.scalar_type()).transpose(-2, -1));
    Tensor ds = at::_softmax_backward_data(dp, p, -1, p.scalar_type());
    if (wants_bias && bias && bias->defined())
        db = at::sum_to(ds, bias->sizes()).to(bias->scalar_type());
    ds = (ds * scale).to(type);
    return { at::matmul(ds, key), at::matmul(ds.transpose(-2, -1), query), dv, db };
}

Three composed_backward(const Tensor &grad, const Tensor &query, const Tensor &key, const Tensor &value,
                        const OptionalTensor &bias, bool causal, double scale)
{
    auto [dq, dk, dv, db] = composed_gradients(grad, query, key, value, bias, causal, scale, false);
    return { dq, dk, dv };
}

// The result's strides are those of [batch, tokens, heads, size], because its readers concatenate the heads.
Tensor meta(const Tensor &query, const Tensor &, const Tensor &value, const OptionalTensor &, bool, double)
{
    return at::empty({ query.size(0), query.size(2), query.size(1), value.size(3) }, query.options()).transpose(1, 2);
}

Three meta_backward(const Tensor &, const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &,
                    bool, double)
{
    return { at::empty_like(query), at::empty_like(key), at::empty_like(value) };
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
    TORCH_CHECK(dropout == 0, "_scaled_dot_product_fused_attention_overrideable: dropout_p must be 0 here");
    Tensor out = op.call(query, key, value, bias, causal, scale_of(query, scale));
    // The sums of rows are not kept: the backward pass needs the scores anyway.
    return { out,
             at::empty({ 0 }, query.options().dtype(at::kFloat)),
             Tensor(),
             Tensor(),
             query.sym_size(2),
             key.sym_size(2),
             Tensor(),
             Tensor(),
             Tensor() };
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Tensor &grad, const Tensor &query, const Tensor &key,
                                                    const Tensor &value, const Tensor &bias, std::array<bool, 4> wanted,
                                                    const Tensor &, const Tensor &, const Tensor &, const Tensor &,
                                                    c10::SymInt, c10::SymInt, double, bool causal, const Tensor &,
                                                    const Tensor &, std::optional<double> scale)
{
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("torch_directml::attention_backward", "")
                               .typed<decltype(composed_backward)>();
    double factor = scale_of(query, scale);
    if (wanted[3])
        return composed_gradients(grad, query, key, value, bias, causal, factor, true);
    auto [dq, dk, dv] =
        op.call(grad, query, key, value, bias.defined() ? OptionalTensor(bias) : std::nullopt, causal, factor);
    return { dq, dk, dv, Tensor() };
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
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
