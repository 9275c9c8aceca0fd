/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: activations. */
#ifndef ANYDML_DMLX_ACTIVATION_H
#define ANYDML_DMLX_ACTIVATION_H

#include "dmlx_graph.h"

namespace dml
{

inline Expression ActivationElu(Expression input, float alpha = 1.0f)
{
    return detail::Map<DML_ACTIVATION_ELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_ELU, input, alpha);
}
inline Expression ActivationHardmax(Expression input)
{
    return detail::Map<DML_ACTIVATION_HARDMAX_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_HARDMAX, input);
}
inline Expression ActivationHardSigmoid(Expression input, float alpha = 0.2f, float beta = 0.5f)
{
    return detail::Map<DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_HARD_SIGMOID, input, alpha,
                                                                  beta);
}
inline Expression ActivationIdentity(Expression input)
{
    return detail::Map<DML_ACTIVATION_IDENTITY_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_IDENTITY, input);
}
inline Expression ActivationLeakyRelu(Expression input, float alpha = 0.01f)
{
    return detail::Map<DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_LEAKY_RELU, input, alpha);
}
inline Expression ActivationLinear(Expression input, float alpha, float beta)
{
    return detail::Map<DML_ACTIVATION_LINEAR_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_LINEAR, input, alpha, beta);
}
inline Expression ActivationLogSoftmax(Expression input)
{
    return detail::Map<DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_LOG_SOFTMAX, input);
}
inline Expression ActivationParametricSoftplus(Expression input, float alpha, float beta)
{
    return detail::Map<DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS,
                                                                         input, alpha, beta);
}
inline Expression ActivationRelu(Expression input)
{
    return detail::Map<DML_ACTIVATION_RELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_RELU, input);
}
inline Expression ActivationScaledElu(Expression input, float alpha = 1.67326319217681884765625f,
                                      float gamma = 1.05070102214813232421875f)
{
    return detail::Map<DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SCALED_ELU, input, alpha,
                                                                gamma);
}
inline Expression ActivationScaledTanh(Expression input, float alpha = 1.0f, float beta = 0.5f)
{
    return detail::Map<DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SCALED_TANH, input, alpha,
                                                                 beta);
}
inline Expression ActivationSigmoid(Expression input)
{
    return detail::Map<DML_ACTIVATION_SIGMOID_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SIGMOID, input);
}
inline Expression ActivationSoftmax(Expression input)
{
    return detail::Map<DML_ACTIVATION_SOFTMAX_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SOFTMAX, input);
}
inline Expression ActivationSoftplus(Expression input, float steepness = 1.0f)
{
    return detail::Map<DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SOFTPLUS, input, steepness);
}
inline Expression ActivationSoftsign(Expression input)
{
    return detail::Map<DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SOFTSIGN, input);
}
inline Expression ActivationTanh(Expression input)
{
    return detail::Map<DML_ACTIVATION_TANH_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_TANH, input);
}
inline Expression ActivationThresholdedRelu(Expression input, float alpha = 1.0f)
{
    return detail::Map<DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU, input,
                                                                      alpha);
}
inline Expression ActivationShrink(Expression input, float bias = 0.0f, float threshold = 0.5f)
{
    return detail::Map<DML_ACTIVATION_SHRINK_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SHRINK, input, bias, threshold);
}
inline Expression ActivationParameterizedRelu(Expression input, Expression slope)
{
    return detail::Zip<DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU,
                                                                        input, slope);
}
#if DML_TARGET_VERSION >= 0x3000
inline Expression ActivationCelu(Expression input, float alpha = 1.0f)
{
    return detail::Map<DML_ACTIVATION_CELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_CELU, input, alpha);
}
#endif
#if DML_TARGET_VERSION >= 0x5100
inline Expression ActivationGelu(Expression input)
{
    return detail::Map<DML_ACTIVATION_GELU_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_GELU, input);
}
inline Expression ActivationSoftmax(Expression input, Span<const uint32_t> axes)
{
    return detail::Map<DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC>(DML_OPERATOR_ACTIVATION_SOFTMAX1, input,
                                                              detail::Count(axes.size()), axes.data());
}
#endif

} /* namespace dml */

#endif
