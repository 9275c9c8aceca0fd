/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: convolutions, matrix multiplications and pooling. Strides and dilations default to 1, padding to 0;
 * outputSizes are computed unless they are given. */
#ifndef ANYDML_DMLX_DENSE_H
#define ANYDML_DMLX_DENSE_H

#include "dmlx_graph.h"

namespace dml
{

namespace detail
{

/* The windows over [N, C, spatial...]; each list has one number per spatial dimension. */
struct Windows {
    std::vector<uint32_t> sizes, strides, dilations, startPadding, endPadding, outputPadding;

    Windows(const Expression &input, Span<const uint32_t> windowSizes, Span<const uint32_t> windowStrides,
            Span<const uint32_t> windowDilations, Span<const uint32_t> start, Span<const uint32_t> end,
            Span<const uint32_t> output = {})
    {
        Check(SizesOf(input).size() > 2, "windows need an input of at least 3 dimensions");
        m_input = SizesOf(input);
        sizes = Fill(windowSizes, 1);
        strides = Fill(windowStrides, 1);
        dilations = Fill(windowDilations, 1);
        startPadding = Fill(start, 0);
        endPadding = Fill(end, 0);
        outputPadding = Fill(output, 0);
    }
    UINT Rank() const
    {
        return Count(m_input.size() - 2);
    }

    /* The output sizes from the number of windows that fit. */
    TensorDimensions Forward(uint32_t channels) const
    {
        TensorDimensions output = { m_input[0], channels };
        for (size_t i = 0; i < sizes.size(); i++) {
            uint32_t room = m_input[i + 2] + startPadding[i] + endPadding[i], extent = Extent(i);
            Check(strides[i] != 0, "strides must be at least 1");
            Check(room >= extent, "a window must fit into the padded input");
            output.push_back((room - extent) / strides[i] + 1);
        }
        return output;
    }
    /* The output sizes whose number of forward windows equals the input's elements. */
    TensorDimensions Backward(uint32_t channels) const
    {
        TensorDimensions output = { m_input[0], channels };
        for (size_t i = 0; i < sizes.size(); i++)
            output.push_back((m_input[i + 2] - 1) * strides[i] + Extent(i) + outputPadding[i] - startPadding[i] -
                             endPadding[i]);
        return output;
    }

  private:
    std::vector<uint32_t> Fill(Span<const uint32_t> given, uint32_t value) const
    {
        Check(given.empty() || given.size() == m_input.size() - 2, "windows: one number for each spatial dimension");
        return given.empty() ? std::vector<uint32_t>(m_input.size() - 2, value)
                             : std::vector<uint32_t>(given.begin(), given.end());
    }
    uint32_t Extent(size_t i) const
    {
        return (sizes[i] - 1) * dilations[i] + 1;
    }

    TensorDimensions m_input;
};

/* The spatial sizes of a filter, which are the window of the convolution. */
inline std::vector<uint32_t> FilterWindow(const Expression &input, const Expression &filter)
{
    const TensorDimensions &sizes = SizesOf(filter);
    Check(sizes.size() > 2 && sizes.size() == SizesOf(input).size(), "input and filter need the same rank, 3 or more");
    return std::vector<uint32_t>(sizes.begin() + 2, sizes.end());
}

inline TensorDimensions Chosen(TensorDimensions given, const TensorDimensions &computed)
{
    return given.empty() ? computed : std::move(given);
}

} /* namespace detail */

/* ---- convolutions and matrix multiplications ---- */

inline Expression Convolution(Expression input, Expression filter, Optional<Expression> bias = NullOpt,
                              DML_CONVOLUTION_MODE mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                              DML_CONVOLUTION_DIRECTION direction = DML_CONVOLUTION_DIRECTION_FORWARD,
                              Span<const uint32_t> strides = {}, Span<const uint32_t> dilations = {},
                              Span<const uint32_t> startPadding = {}, Span<const uint32_t> endPadding = {},
                              Span<const uint32_t> outputPadding = {}, uint32_t groupCount = 1,
                              FusedActivation fusedActivation = FusedActivation::None(),
                              TensorDimensions outputSizes = {})
{
    std::vector<uint32_t> window = detail::FilterWindow(input, filter);
    detail::Windows w(input, window, strides, dilations, startPadding, endPadding, outputPadding);
    const TensorDimensions &f = detail::SizesOf(filter);
    outputSizes = detail::Chosen(std::move(outputSizes), direction == DML_CONVOLUTION_DIRECTION_FORWARD
                                                             ? w.Forward(f[0])
                                                             : w.Backward(f[1] * groupCount));
    detail::Operator op(input);
    DML_CONVOLUTION_OPERATOR_DESC desc = { op.In(input),
                                           op.In(filter),
                                           op.In(bias),
                                           op.Out(detail::TypeOf(input), outputSizes),
                                           mode,
                                           direction,
                                           w.Rank(),
                                           w.strides.data(),
                                           w.dilations.data(),
                                           w.startPadding.data(),
                                           w.endPadding.data(),
                                           w.outputPadding.data(),
                                           groupCount,
                                           op.Fused(fusedActivation) };
    return op.Make(DML_OPERATOR_CONVOLUTION, desc);
}

/* The same with separate parameters. */
class ConvolutionBuilder
{
  public:
    ConvolutionBuilder(Expression input, Expression filter, Optional<Expression> bias = NullOpt)
        : m_input(input), m_filter(filter), m_bias(bias)
    {
    }
    ConvolutionBuilder &Mode(DML_CONVOLUTION_MODE mode)
    {
        m_mode = mode;
        return *this;
    }
    ConvolutionBuilder &Direction(DML_CONVOLUTION_DIRECTION direction)
    {
        m_direction = direction;
        return *this;
    }
    ConvolutionBuilder &Strides(Span<const uint32_t> strides)
    {
        m_strides.assign(strides.begin(), strides.end());
        return *this;
    }
    ConvolutionBuilder &Dilations(Span<const uint32_t> dilations)
    {
        m_dilations.assign(dilations.begin(), dilations.end());
        return *this;
    }
    ConvolutionBuilder &StartPadding(Span<const uint32_t> startPadding)
    {
        m_startPadding.assign(startPadding.begin(), startPadding.end());
        return *this;
    }
    ConvolutionBuilder &EndPadding(Span<const uint32_t> endPadding)
    {
        m_endPadding.assign(endPadding.begin(), endPadding.end());
        return *this;
    }
    ConvolutionBuilder &OutputPadding(Span<const uint32_t> outputPadding)
    {
        m_outputPadding.assign(outputPadding.begin(), outputPadding.end());
        return *this;
    }
    ConvolutionBuilder &GroupCount(uint32_t groupCount)
    {
        m_groupCount = groupCount;
        return *this;
    }
    ConvolutionBuilder &FusedActivation(dml::FusedActivation fusedActivation)
    {
        m_fusedActivation = fusedActivation;
        return *this;
    }
    ConvolutionBuilder &OutputSizes(TensorDimensions outputSizes)
    {
        m_outputSizes = std::move(outputSizes);
        return *this;
    }
    Expression Build() const
    {
        return Convolution(m_input, m_filter, m_bias, m_mode, m_direction, m_strides, m_dilations, m_startPadding,
                           m_endPadding, m_outputPadding, m_groupCount, m_fusedActivation, m_outputSizes);
    }

  private:
    Expression m_input, m_filter;
    Optional<Expression> m_bias;
    DML_CONVOLUTION_MODE m_mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION;
    DML_CONVOLUTION_DIRECTION m_direction = DML_CONVOLUTION_DIRECTION_FORWARD;
    std::vector<uint32_t> m_strides, m_dilations, m_startPadding, m_endPadding, m_outputPadding;
    uint32_t m_groupCount = 1;
    dml::FusedActivation m_fusedActivation;
    TensorDimensions m_outputSizes;
};

inline Expression ConvolutionInteger(Expression input, Optional<Expression> inputZeroPoint, Expression filter,
                                     Optional<Expression> filterZeroPoint, Span<const uint32_t> strides = {},
                                     Span<const uint32_t> dilations = {}, Span<const uint32_t> startPadding = {},
                                     Span<const uint32_t> endPadding = {}, uint32_t groupCount = 1,
                                     TensorDimensions outputSizes = {})
{
    std::vector<uint32_t> window = detail::FilterWindow(input, filter);
    detail::Windows w(input, window, strides, dilations, startPadding, endPadding);
    outputSizes = detail::Chosen(std::move(outputSizes), w.Forward(detail::SizesOf(filter)[0]));
    detail::Operator op(input);
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC desc = { op.In(input),
                                                   op.In(inputZeroPoint),
                                                   op.In(filter),
                                                   op.In(filterZeroPoint),
                                                   op.Out(DML_TENSOR_DATA_TYPE_INT32, outputSizes),
                                                   w.Rank(),
                                                   w.strides.data(),
                                                   w.dilations.data(),
                                                   w.startPadding.data(),
                                                   w.endPadding.data(),
                                                   groupCount };
    return op.Make(DML_OPERATOR_CONVOLUTION_INTEGER, desc);
}

inline Expression QuantizedLinearConvolution(
    Expression input, Expression inputScale, Optional<Expression> inputZeroPoint, Expression filter,
    Expression filterScale, Optional<Expression> filterZeroPoint, Optional<Expression> bias, Expression outputScale,
    Optional<Expression> outputZeroPoint, DML_TENSOR_DATA_TYPE outputDataType, Span<const uint32_t> strides = {},
    Span<const uint32_t> dilations = {}, Span<const uint32_t> startPadding = {}, Span<const uint32_t> endPadding = {},
    uint32_t groupCount = 1, TensorDimensions outputSizes = {})
{
    std::vector<uint32_t> window = detail::FilterWindow(input, filter);
    detail::Windows w(input, window, strides, dilations, startPadding, endPadding);
    outputSizes = detail::Chosen(std::move(outputSizes), w.Forward(detail::SizesOf(filter)[0]));
    detail::Operator op(input);
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC desc = { op.In(input),
                                                            op.In(inputScale),
                                                            op.In(inputZeroPoint),
                                                            op.In(filter),
                                                            op.In(filterScale),
                                                            op.In(filterZeroPoint),
                                                            op.In(bias),
                                                            op.In(outputScale),
                                                            op.In(outputZeroPoint),
                                                            op.Out(outputDataType, outputSizes),
                                                            w.Rank(),
                                                            w.strides.data(),
                                                            w.dilations.data(),
                                                            w.startPadding.data(),
                                                            w.endPadding.data(),
                                                            groupCount };
    return op.Make(DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION, desc);
}

/* activation(alpha * transA(a) x transB(b) + beta * c) over the last two dimensions. */
inline Expression Gemm(Expression a, Expression b, Optional<Expression> c = NullOpt,
                       DML_MATRIX_TRANSFORM transA = DML_MATRIX_TRANSFORM_NONE,
                       DML_MATRIX_TRANSFORM transB = DML_MATRIX_TRANSFORM_NONE, float alpha = 1.0f, float beta = 1.0f,
                       FusedActivation fusedActivation = FusedActivation::None())
{
    const TensorDimensions &as = detail::SizesOf(a), &bs = detail::SizesOf(b);
    detail::Check(as.size() > 1 && bs.size() > 1, "Gemm: matrices need at least 2 dimensions");
    TensorDimensions sizes = as;
    sizes[as.size() - 2] = as[as.size() - (transA == DML_MATRIX_TRANSFORM_NONE ? 2 : 1)];
    sizes[as.size() - 1] = bs[bs.size() - (transB == DML_MATRIX_TRANSFORM_NONE ? 1 : 2)];
    detail::Operator op(a);
    DML_GEMM_OPERATOR_DESC desc = { op.In(a), op.In(b), op.In(c), op.Out(detail::TypeOf(a), sizes), transA,
                                    transB,   alpha,    beta,     op.Fused(fusedActivation) };
    return op.Make(DML_OPERATOR_GEMM, desc);
}

class GemmBuilder
{
  public:
    GemmBuilder(Expression a, Expression b, Optional<Expression> c = NullOpt) : m_a(a), m_b(b), m_c(c)
    {
    }
    GemmBuilder &TransA(DML_MATRIX_TRANSFORM transA)
    {
        m_transA = transA;
        return *this;
    }
    GemmBuilder &TransB(DML_MATRIX_TRANSFORM transB)
    {
        m_transB = transB;
        return *this;
    }
    GemmBuilder &Alpha(float alpha)
    {
        m_alpha = alpha;
        return *this;
    }
    GemmBuilder &Beta(float beta)
    {
        m_beta = beta;
        return *this;
    }
    GemmBuilder &FusedActivation(dml::FusedActivation fusedActivation)
    {
        m_fusedActivation = fusedActivation;
        return *this;
    }
    Expression Build() const
    {
        return Gemm(m_a, m_b, m_c, m_transA, m_transB, m_alpha, m_beta, m_fusedActivation);
    }

  private:
    Expression m_a, m_b;
    Optional<Expression> m_c;
    DML_MATRIX_TRANSFORM m_transA = DML_MATRIX_TRANSFORM_NONE, m_transB = DML_MATRIX_TRANSFORM_NONE;
    float m_alpha = 1.0f, m_beta = 1.0f;
    dml::FusedActivation m_fusedActivation;
};

/* ---- pooling ---- */

#if DML_TARGET_VERSION >= 0x6200
inline Expression AveragePooling(Expression input, Span<const uint32_t> strides, Span<const uint32_t> windowSizes,
                                 Span<const uint32_t> startPadding, Span<const uint32_t> endPadding,
                                 Span<const uint32_t> dilations, bool includePadding, TensorDimensions outputSizes = {})
{
    detail::Windows w(input, windowSizes, strides, dilations, startPadding, endPadding);
    outputSizes = detail::Chosen(std::move(outputSizes), w.Forward(detail::SizesOf(input)[1]));
    return detail::Resize<DML_AVERAGE_POOLING1_OPERATOR_DESC>(
        DML_OPERATOR_AVERAGE_POOLING1, input, outputSizes, w.Rank(), w.strides.data(), w.sizes.data(),
        w.startPadding.data(), w.endPadding.data(), w.dilations.data(), includePadding);
}
#else
inline Expression AveragePooling(Expression input, Span<const uint32_t> strides, Span<const uint32_t> windowSizes,
                                 Span<const uint32_t> startPadding, Span<const uint32_t> endPadding,
                                 bool includePadding, TensorDimensions outputSizes = {})
{
    detail::Windows w(input, windowSizes, strides, {}, startPadding, endPadding);
    outputSizes = detail::Chosen(std::move(outputSizes), w.Forward(detail::SizesOf(input)[1]));
    return detail::Resize<DML_AVERAGE_POOLING_OPERATOR_DESC>(DML_OPERATOR_AVERAGE_POOLING, input, outputSizes, w.Rank(),
                                                             w.strides.data(), w.sizes.data(), w.startPadding.data(),
                                                             w.endPadding.data(), includePadding);
}
#endif

struct MaxPoolingOutputs {
    Expression values;
    Expression indices; /* of UINT32, empty unless requested */
};

inline MaxPoolingOutputs MaxPooling(Expression input, Span<const uint32_t> windowSize,
                                    Span<const uint32_t> strides = {}, Span<const uint32_t> startPadding = {},
                                    Span<const uint32_t> endPadding = {}, Span<const uint32_t> dilations = {},
                                    bool outputIndices = false, TensorDimensions outputSizes = {})
{
    detail::Windows w(input, windowSize, strides, dilations, startPadding, endPadding);
    outputSizes = detail::Chosen(std::move(outputSizes), w.Forward(detail::SizesOf(input)[1]));
    detail::Operator op(input);
    DML_MAX_POOLING2_OPERATOR_DESC desc = { op.In(input),
                                            op.Out(detail::TypeOf(input), outputSizes),
                                            op.Out(DML_TENSOR_DATA_TYPE_UINT32, outputSizes, outputIndices),
                                            w.Rank(),
                                            w.strides.data(),
                                            w.sizes.data(),
                                            w.startPadding.data(),
                                            w.endPadding.data(),
                                            w.dilations.data() };
    op.Make(DML_OPERATOR_MAX_POOLING2, desc);
    return { op.Result(0), op.Result(1) };
}

class MaxPoolingBuilder
{
  public:
    MaxPoolingBuilder(Expression input, Span<const uint32_t> windowSize)
        : m_input(input), m_windowSize(windowSize.begin(), windowSize.end())
    {
    }
    MaxPoolingBuilder &Strides(Span<const uint32_t> strides)
    {
        m_strides.assign(strides.begin(), strides.end());
        return *this;
    }
    MaxPoolingBuilder &StartPadding(Span<const uint32_t> startPadding)
    {
        m_startPadding.assign(startPadding.begin(), startPadding.end());
        return *this;
    }
    MaxPoolingBuilder &EndPadding(Span<const uint32_t> endPadding)
    {
        m_endPadding.assign(endPadding.begin(), endPadding.end());
        return *this;
    }
    MaxPoolingBuilder &Dilations(Span<const uint32_t> dilations)
    {
        m_dilations.assign(dilations.begin(), dilations.end());
        return *this;
    }
    MaxPoolingBuilder &OutputIndices(bool outputIndices)
    {
        m_outputIndices = outputIndices;
        return *this;
    }
    MaxPoolingBuilder &OutputSizes(TensorDimensions outputSizes)
    {
        m_outputSizes = std::move(outputSizes);
        return *this;
    }
    MaxPoolingOutputs Build() const
    {
        return MaxPooling(m_input, m_windowSize, m_strides, m_startPadding, m_endPadding, m_dilations, m_outputIndices,
                          m_outputSizes);
    }

  private:
    Expression m_input;
    std::vector<uint32_t> m_windowSize, m_strides, m_startPadding, m_endPadding, m_dilations;
    bool m_outputIndices = false;
    TensorDimensions m_outputSizes;
};

} /* namespace dml */

#endif
