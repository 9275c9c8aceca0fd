/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: reductions, running sums, normalisation and recurrent networks. */
#ifndef ANYDML_DMLX_NORM_H
#define ANYDML_DMLX_NORM_H

#include "dmlx_graph.h"

#include <numeric>

namespace dml
{

/* Reduces all dimensions if no axes are given. The output type defaults to the input's, or to UINT32 for indices. */
inline Expression Reduce(Expression input, DML_REDUCE_FUNCTION function, Span<const uint32_t> axes = {},
                         DML_TENSOR_DATA_TYPE outputDataType = DML_TENSOR_DATA_TYPE_UNKNOWN)
{
    TensorDimensions sizes = detail::SizesOf(input), every(sizes.size());
    std::iota(every.begin(), every.end(), 0u);
    if (axes.empty())
        axes = every;
    for (uint32_t axis : axes) {
        detail::Check(axis < sizes.size(), "Reduce: an axis must be below the rank");
        sizes[axis] = 1;
    }
    bool indices = function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN;
    if (outputDataType == DML_TENSOR_DATA_TYPE_UNKNOWN)
        outputDataType = indices ? DML_TENSOR_DATA_TYPE_UINT32 : detail::TypeOf(input);
    detail::Operator op(input);
    DML_REDUCE_OPERATOR_DESC desc = { function, op.In(input), op.Out(outputDataType, sizes), detail::Count(axes.size()),
                                      axes.data() };
    return op.Make(DML_OPERATOR_REDUCE, desc);
}

inline Expression CumulativeSummation(Expression input, uint32_t axis, DML_AXIS_DIRECTION axisDirection,
                                      bool hasExclusiveSum)
{
    return detail::Map<DML_CUMULATIVE_SUMMATION_OPERATOR_DESC>(DML_OPERATOR_CUMULATIVE_SUMMATION, input, axis,
                                                               axisDirection, hasExclusiveSum);
}

#if DML_TARGET_VERSION >= 0x3100
inline Expression CumulativeProduct(Expression input, uint32_t axis, DML_AXIS_DIRECTION axisDirection,
                                    bool hasExclusiveProduct)
{
    return detail::Map<DML_CUMULATIVE_PRODUCT_OPERATOR_DESC>(DML_OPERATOR_CUMULATIVE_PRODUCT, input, axis,
                                                             axisDirection, hasExclusiveProduct);
}
#endif

/* ---- normalisation ---- */

inline Expression BatchNormalization(Expression input, Expression mean, Expression variance, Expression scale,
                                     Expression bias, bool spatial, float epsilon,
                                     FusedActivation fusedActivation = FusedActivation::None())
{
    detail::Operator op(input);
    DML_BATCH_NORMALIZATION_OPERATOR_DESC desc = { op.In(input), op.In(mean), op.In(variance),
                                                   op.In(scale), op.In(bias), op.Out(input),
                                                   spatial,      epsilon,     op.Fused(fusedActivation) };
    return op.Make(DML_OPERATOR_BATCH_NORMALIZATION, desc);
}

struct BatchNormalizationGradOutputs {
    Expression gradient;
    Expression scaleGradient;
    Expression biasGradient;
};

namespace detail
{

/* The two gradients differ in name only. */
template <typename Desc>
BatchNormalizationGradOutputs BatchGrad(DML_OPERATOR_TYPE type, const Expression &input,
                                        const Expression &inputGradient, const Expression &mean,
                                        const Expression &variance, const Expression &scale, float epsilon)
{
    Operator op(input);
    Desc desc = { op.In(input),  op.In(inputGradient), op.In(mean),   op.In(variance), op.In(scale),
                  op.Out(input), op.Out(scale),        op.Out(scale), epsilon };
    op.Make(type, desc);
    return { op.Result(0), op.Result(1), op.Result(2) };
}

} /* namespace detail */

#if DML_TARGET_VERSION >= 0x3100
inline BatchNormalizationGradOutputs BatchNormalizationGrad(Expression input, Expression inputGradient, Expression mean,
                                                            Expression variance, Expression scale, float epsilon)
{
    return detail::BatchGrad<DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC>(DML_OPERATOR_BATCH_NORMALIZATION_GRAD, input,
                                                                         inputGradient, mean, variance, scale, epsilon);
}
#endif

#if DML_TARGET_VERSION >= 0x4100
inline BatchNormalizationGradOutputs BatchNormalizationTrainingGrad(Expression input, Expression inputGradient,
                                                                    Expression mean, Expression variance,
                                                                    Expression scale, float epsilon)
{
    return detail::BatchGrad<DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC>(
        DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD, input, inputGradient, mean, variance, scale, epsilon);
}

struct BatchNormalizationTrainingOutputs {
    Expression output;
    Expression mean;
    Expression variance;
};

inline BatchNormalizationTrainingOutputs
BatchNormalizationTraining(Expression input, Expression scale, Expression bias, Optional<Expression> fusedAdd,
                           float epsilon, FusedActivation fusedActivation = FusedActivation::None())
{
    detail::Operator op(input);
    DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC desc = { op.In(input),    op.In(scale),  op.In(bias),
                                                            op.In(fusedAdd), op.Out(input), op.Out(scale),
                                                            op.Out(scale),   epsilon,       op.Fused(fusedActivation) };
    op.Make(DML_OPERATOR_BATCH_NORMALIZATION_TRAINING, desc);
    return { op.Result(0), op.Result(1), op.Result(2) };
}
#endif

#if DML_TARGET_VERSION >= 0x6300
inline Expression MeanVarianceNormalization(Expression input, Optional<Expression> scale, Optional<Expression> bias,
                                            Span<const uint32_t> axes, bool normalizeVariance, bool normalizeMean,
                                            float epsilon, FusedActivation fusedActivation = FusedActivation::None())
{
    detail::Operator op(input);
    DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC desc = {
        op.In(input), op.In(scale),  op.In(bias),       op.Out(input), detail::Count(axes.size()),
        axes.data(),  normalizeMean, normalizeVariance, epsilon,       op.Fused(fusedActivation)
    };
    return op.Make(DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2, desc);
}
#else
inline Expression MeanVarianceNormalization(Expression input, Optional<Expression> scale, Optional<Expression> bias,
                                            Span<const uint32_t> axes, bool normalizeVariance, float epsilon,
                                            FusedActivation fusedActivation = FusedActivation::None())
{
    detail::Operator op(input);
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC desc = { op.In(input),
                                                            op.In(scale),
                                                            op.In(bias),
                                                            op.Out(input),
                                                            detail::Count(axes.size()),
                                                            axes.data(),
                                                            normalizeVariance,
                                                            epsilon,
                                                            op.Fused(fusedActivation) };
    return op.Make(DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, desc);
}
#endif

inline Expression LocalResponseNormalization(Expression input, bool crossChannel, uint32_t localSize, float alpha,
                                             float beta, float bias)
{
    return detail::Map<DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC>(DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION, input,
                                                                       crossChannel, localSize, alpha, beta, bias);
}

/* ---- recurrent networks ---- */

enum class GRUOutputOptions { Both, Sequence, Single };

struct GRUOutputs {
    Expression sequence; /* {steps, directions, batch, hidden} */
    Expression single;   /* {1, directions, batch, hidden} */
};

/* One layer over an input {1, steps, batch, features}. Outputs that outputOptions does not request are empty. */
inline GRUOutputs GRU(Expression input, Expression weight, Expression recurrence, Optional<Expression> bias,
                      Optional<Expression> hiddenInit, Optional<Expression> sequenceLengths,
                      Span<const FusedActivation> activationDescs, DML_RECURRENT_NETWORK_DIRECTION direction,
                      bool linearBeforeReset, GRUOutputOptions outputOptions)
{
    const TensorDimensions &x = detail::SizesOf(input), &r = detail::SizesOf(recurrence);
    detail::Check(x.size() == 4 && r.size() == 4, "GRU: input and recurrence need 4 dimensions");
    uint32_t directions = direction == DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL ? 2 : 1;
    TensorDimensions sequence = { x[1], directions, x[2], r[3] }, single = { 1, directions, x[2], r[3] };
    DML_TENSOR_DATA_TYPE type = detail::TypeOf(input);
    detail::Operator op(input);
    std::vector<DML_OPERATOR_DESC> activations;
    for (const FusedActivation &activation : activationDescs) {
        detail::Check(activation.activation != DML_OPERATOR_INVALID, "GRU: an activation must not be None");
        activations.push_back(*op.Fused(activation));
    }
    DML_GRU_OPERATOR_DESC desc = { op.In(input),
                                   op.In(weight),
                                   op.In(recurrence),
                                   op.In(bias),
                                   op.In(hiddenInit),
                                   op.In(sequenceLengths),
                                   op.Out(type, sequence, outputOptions != GRUOutputOptions::Single),
                                   op.Out(type, single, outputOptions != GRUOutputOptions::Sequence),
                                   detail::Count(activations.size()),
                                   activations.data(),
                                   direction,
                                   linearBeforeReset };
    op.Make(DML_OPERATOR_GRU, desc);
    return { op.Result(0), op.Result(1) };
}

} /* namespace dml */

#endif
