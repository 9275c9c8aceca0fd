// SPDX-License-Identifier: Apache-2.0
// torch's LSTM and GRU call fused cells on every device except for the CPU. These are compositions of operators; each
// stores in its workspace the values that its backward pass needs.
#include "glue.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

Tensor with_bias(const Tensor &gates, const OptionalTensor &bias)
{
    return bias && bias->defined() ? gates + *bias : gates;
}

Tensor value_or_none(const OptionalTensor &a)
{
    return a && a->defined() ? *a : Tensor();
}

// Gates: input, forget, cell, output. The workspace holds them after their activations.
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor &input_gates, const Tensor &hidden_gates, const Tensor &cx,
                                        const OptionalTensor &input_bias, const OptionalTensor &hidden_bias)
{
    Tensor gates = with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias);
    auto parts = gates.chunk(4, 1);
    Tensor i = parts[0].sigmoid(), f = parts[1].sigmoid(), g = parts[2].tanh(), o = parts[3].sigmoid();
    Tensor cy = at::addcmul(f * cx, i, g);
    return { o * cy.tanh(), cy, at::cat({ i, f, g, o }, 1) };
}

std::tuple<Tensor, Tensor, Tensor> lstm_backward(const OptionalTensor &grad_hy, const OptionalTensor &grad_cy,
                                                 const Tensor &cx, const Tensor &cy, const Tensor &workspace,
                                                 bool has_bias)
{
    Tensor dh = value_or_none(grad_hy), dc = value_or_none(grad_cy);
    if (!dh.defined() && !dc.defined())
        return {};
    auto parts = workspace.chunk(4, 1);
    const Tensor &i = parts[0], &f = parts[1], &g = parts[2], &o = parts[3];
    Tensor tanh_cy = cy.tanh(), d_output = at::zeros_like(cy);
    if (dh.defined()) {
        d_output = at::sigmoid_backward(dh * tanh_cy, o);
        Tensor through = at::tanh_backward(dh * o, tanh_cy);
        dc = dc.defined() ? dc + through : through;
    }
    Tensor gates = at::cat(
        { at::sigmoid_backward(dc * g, i), at::sigmoid_backward(dc * cx, f), at::tanh_backward(dc * i, g), d_output },
        1);
    return { gates, dc * f, has_bias ? gates.sum({ 0 }) : Tensor() };
}

// Gates: reset, update, new. Workspace: the gates after activation, the hidden part of the new gate, and hx.
std::tuple<Tensor, Tensor> gru(const Tensor &input_gates, const Tensor &hidden_gates, const Tensor &hx,
                               const OptionalTensor &input_bias, const OptionalTensor &hidden_bias)
{
    auto in = with_bias(input_gates, input_bias).chunk(3, 1), hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
    Tensor r = (in[0] + hidden[0]).sigmoid(), z = (in[1] + hidden[1]).sigmoid();
    Tensor n = at::addcmul(in[2], r, hidden[2]).tanh();
    return { at::addcmul(n, z, hx - n), at::cat({ r, z, n, hidden[2], hx }, 1) };
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_backward(const Tensor &grad, const Tensor &workspace,
                                                                bool has_bias)
{
    auto parts = workspace.chunk(5, 1);
    const Tensor &r = parts[0], &z = parts[1], &n = parts[2], &hidden = parts[3], &hx = parts[4];
    Tensor dn = at::tanh_backward(grad - grad * z, n), dz = at::sigmoid_backward(grad * (hx - n), z);
    Tensor dr = at::sigmoid_backward(dn * hidden, r);
    Tensor input = at::cat({ dr, dz, dn }, 1), into_hidden = at::cat({ dr, dz, dn * r }, 1);
    return { input, into_hidden, grad * z, has_bias ? input.sum({ 0 }) : Tensor(),
             has_bias ? into_hidden.sum({ 0 }) : Tensor() };
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_thnn_fused_lstm_cell", lstm);
    m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_backward);
    m.impl("_thnn_fused_gru_cell", gru);
    m.impl("_thnn_fused_gru_cell_backward", gru_backward);
}

} // namespace
} // namespace dml
