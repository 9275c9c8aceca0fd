// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention, forward and backward, as a composition of operators. torch asks a device's table which
// way to go; this one keeps the logarithms of the rows' sums, not the probabilities, for the backward pass.
#include "glue.h"

#include <cmath>
#include <limits>

#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// sdp::SDPBackend
constexpr int64_t kMath = 0, kOverrideable = 4;

int64_t choice(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &mask, double dropout,
               bool, std::optional<double>, bool)
{
    bool floats = at::isFloatingType(query.scalar_type()) && query.scalar_type() == key.scalar_type() &&
                  query.scalar_type() == value.scalar_type();
    bool plain = !query.is_nested() && query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                 query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1) &&
                 query.size(1) == key.size(1);
    // Compilers see products and softmax, which they fuse.
    bool traced = query.unsafeGetTensorImpl()->is_python_dispatch();
    bool full = query.numel() && key.numel() && value.numel();
    return !traced && floats && plain && full && dropout == 0 && !(mask && mask->requires_grad()) ? kOverrideable
                                                                                                  : kMath;
}

double scale_of(const Tensor &query, std::optional<double> scale)
{
    return scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

at::ScalarType wide(at::ScalarType type)
{
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

// In float32 for types of 16 bits: what is lost in scores is lost in their exponentials many times over.
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

using Results = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Results forward(const Tensor &query, const Tensor &key, const Tensor &value, const OptionalTensor &bias, double dropout,
                bool causal, bool, std::optional<double> scale)
{
    TORCH_CHECK(dropout == 0, "_scaled_dot_product_fused_attention_overrideable: dropout_p must be 0 here");
    Tensor s = scores(query, key, bias, causal, scale_of(query, scale)), sums = at::logsumexp(s, { -1 });
    // A row in which everything is masked gives zeros.
    Tensor none = at::isneginf(sums).unsqueeze(-1), p = at::softmax(s, -1).masked_fill(none, 0);
    Tensor out = at::matmul(p.to(value.scalar_type()), value);
    return { out, sums, Tensor(), Tensor(), query.sym_size(2), key.sym_size(2), Tensor(), Tensor(), Tensor() };
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Tensor &grad, const Tensor &query, const Tensor &key,
                                                    const Tensor &value, const Tensor &bias, std::array<bool, 4> wanted,
                                                    const Tensor &, const Tensor &sums, const Tensor &, const Tensor &,
                                                    c10::SymInt, c10::SymInt, double, bool causal, const Tensor &,
                                                    const Tensor &, std::optional<double> scale)
{
    double factor = scale_of(query, scale);
    Tensor s = scores(query, key, bias, causal, factor);
    // Not e^(s - sums): the rounding of large sums would go into all of a row.
    Tensor none = at::isneginf(sums).unsqueeze(-1), p = at::softmax(s, -1).masked_fill(none, 0);
    at::ScalarType type = query.scalar_type();
    Tensor dq, dk, dv, db;
    if (wanted[2])
        dv = at::matmul(p.to(type).transpose(-2, -1), grad);
    if (wanted[0] || wanted[1] || wanted[3]) {
        Tensor dp = at::matmul(grad, value.transpose(-2, -1)).to(p.scalar_type());
        Tensor ds = at::_softmax_backward_data(dp, p, -1, p.scalar_type());
        if (wanted[3] && bias.defined())
            db = at::sum_to(ds, bias.sizes()).to(bias.scalar_type());
        ds = (ds * factor).to(type);
        if (wanted[0])
            dq = at::matmul(ds, key);
        if (wanted[1])
            dk = at::matmul(ds.transpose(-2, -1), query);
    }
    return { dq, dk, dv, db };
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
