/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: operators that move, gather, resize and generate elements. */
#ifndef ANYDML_DMLX_DATA_H
#define ANYDML_DMLX_DATA_H

#include "dmlx_graph.h"

#include <algorithm>

namespace dml
{

namespace detail
{

/* Sizes extended to `rank` dimensions by leading ones, or shortened by leading dimensions, which must be 1. */
inline TensorDimensions AlignRight(TensorDimensions sizes, size_t rank)
{
    while (sizes.size() > rank && sizes.front() == 1)
        sizes.erase(sizes.begin());
    if (sizes.size() < rank)
        sizes.insert(sizes.begin(), rank - sizes.size(), 1);
    return sizes;
}

inline uint32_t SizeOf(const Expression &input, uint32_t axis)
{
    Check(axis < SizesOf(input).size(), "an axis must be below the rank");
    return SizesOf(input)[axis];
}

inline TensorDimensions Replaced(const Expression &input, uint32_t axis, uint32_t size)
{
    TensorDimensions sizes = SizesOf(input);
    Check(axis < sizes.size(), "an axis must be below the rank");
    sizes[axis] = size;
    return sizes;
}

inline void CheckPerDimension(const Expression &input, size_t count)
{
    Check(count == SizesOf(input).size(), "an operator's list must have one number for each dimension");
}

} /* namespace detail */

inline Expression Cast(Expression input, DML_TENSOR_DATA_TYPE targetDataType)
{
    return detail::Map<DML_CAST_OPERATOR_DESC>(DML_OPERATOR_CAST, input, targetDataType);
}

/* ---- blocks ---- */

inline Expression Slice(Expression input, Span<const uint32_t> inputWindowOffsets,
                        Span<const uint32_t> inputWindowSizes, Span<const int32_t> inputWindowStrides)
{
    detail::CheckPerDimension(input, inputWindowOffsets.size());
    detail::CheckPerDimension(input, inputWindowSizes.size());
    detail::CheckPerDimension(input, inputWindowStrides.size());
    TensorDimensions sizes;
    for (size_t i = 0; i < inputWindowSizes.size(); i++) {
        int64_t stride = inputWindowStrides[i];
        detail::Check(stride != 0, "Slice: a stride must not be 0");
        sizes.push_back(
            static_cast<uint32_t>((inputWindowSizes[i] - int64_t{ 1 }) / (stride < 0 ? -stride : stride) + 1));
    }
    return detail::Resize<DML_SLICE1_OPERATOR_DESC>(DML_OPERATOR_SLICE1, input, sizes, detail::Count(sizes.size()),
                                                    inputWindowOffsets.data(), inputWindowSizes.data(),
                                                    inputWindowStrides.data());
}

inline std::vector<Expression> Split(Expression input, uint32_t axis, Span<const uint32_t> outputAxisSizes)
{
    detail::Operator op(input);
    const DML_TENSOR_DESC *whole = op.In(input);
    std::vector<DML_TENSOR_DESC> parts;
    for (uint32_t size : outputAxisSizes)
        parts.push_back(*op.Out(detail::TypeOf(input), detail::Replaced(input, axis, size)));
    detail::Check(!parts.empty(), "Split: at least one output");
    DML_SPLIT_OPERATOR_DESC desc = { whole, detail::Count(parts.size()), parts.data(), axis };
    op.Make(DML_OPERATOR_SPLIT, desc);
    return op.Results();
}

inline Expression Join(Span<const Expression> inputs, uint32_t axis)
{
    detail::Check(!inputs.empty(), "Join: at least one input");
    detail::Operator op(inputs[0]);
    std::vector<DML_TENSOR_DESC> parts;
    uint32_t size = 0;
    for (const Expression &input : inputs) {
        parts.push_back(*op.In(input));
        size += detail::SizeOf(input, axis);
    }
    DML_JOIN_OPERATOR_DESC desc = { detail::Count(parts.size()), parts.data(),
                                    op.Out(detail::TypeOf(inputs[0]), detail::Replaced(inputs[0], axis, size)), axis };
    return op.Make(DML_OPERATOR_JOIN, desc);
}

inline Expression Padding(Expression input, DML_PADDING_MODE paddingMode, float paddingValue,
                          Span<const uint32_t> startPadding, Span<const uint32_t> endPadding)
{
    detail::CheckPerDimension(input, startPadding.size());
    detail::CheckPerDimension(input, endPadding.size());
    TensorDimensions sizes = detail::SizesOf(input);
    for (size_t i = 0; i < sizes.size(); i++)
        sizes[i] += startPadding[i] + endPadding[i];
    return detail::Resize<DML_PADDING_OPERATOR_DESC>(DML_OPERATOR_PADDING, input, sizes, paddingMode, paddingValue,
                                                     detail::Count(sizes.size()), startPadding.data(),
                                                     endPadding.data());
}

inline Expression Tile(Expression input, Span<const uint32_t> repeats)
{
    detail::CheckPerDimension(input, repeats.size());
    TensorDimensions sizes = detail::SizesOf(input);
    for (size_t i = 0; i < sizes.size(); i++)
        sizes[i] *= repeats[i];
    return detail::Resize<DML_TILE_OPERATOR_DESC>(DML_OPERATOR_TILE, input, sizes, detail::Count(repeats.size()),
                                                  repeats.data());
}

inline Expression SpaceToDepth(Expression input, uint32_t blockSize,
                               DML_DEPTH_SPACE_ORDER order = DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW)
{
    TensorDimensions sizes = detail::SizesOf(input);
    detail::Check(sizes.size() == 4 && blockSize > 0, "SpaceToDepth: 4 dimensions and a blockSize of at least 1");
    sizes = { sizes[0], sizes[1] * blockSize * blockSize, sizes[2] / blockSize, sizes[3] / blockSize };
    return detail::Resize<DML_SPACE_TO_DEPTH1_OPERATOR_DESC>(DML_OPERATOR_SPACE_TO_DEPTH1, input, sizes, blockSize,
                                                             order);
}

inline Expression DepthToSpace(Expression input, uint32_t blockSize,
                               DML_DEPTH_SPACE_ORDER order = DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW)
{
    TensorDimensions sizes = detail::SizesOf(input);
    detail::Check(sizes.size() == 4 && blockSize > 0, "DepthToSpace: 4 dimensions and a blockSize of at least 1");
    sizes = { sizes[0], sizes[1] / (blockSize * blockSize), sizes[2] * blockSize, sizes[3] * blockSize };
    return detail::Resize<DML_DEPTH_TO_SPACE1_OPERATOR_DESC>(DML_OPERATOR_DEPTH_TO_SPACE1, input, sizes, blockSize,
                                                             order);
}

inline Expression ReverseSubsequences(Expression input, Expression sequenceLengths, uint32_t axis)
{
    return detail::Zip<DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC>(DML_OPERATOR_REVERSE_SUBSEQUENCES, input,
                                                               sequenceLengths, axis);
}

/* ---- indices ---- */

/* Sizes: the input's, with the axis replaced by the last indexDimensions sizes of the indices, aligned right. */
inline Expression Gather(Expression input, Expression indices, uint32_t axis, uint32_t indexDimensions)
{
    const TensorDimensions &x = detail::SizesOf(input), &i = detail::SizesOf(indices);
    detail::Check(axis < x.size() && indexDimensions <= i.size(),
                  "Gather: axis or indexDimensions are beyond the rank");
    TensorDimensions sizes(x.begin(), x.begin() + axis);
    sizes.insert(sizes.end(), i.end() - indexDimensions, i.end());
    sizes.insert(sizes.end(), x.begin() + axis + 1, x.end());
    detail::Operator op(input);
    DML_GATHER_OPERATOR_DESC desc = { op.In(input), op.In(indices),
                                      op.Out(detail::TypeOf(input), detail::AlignRight(sizes, x.size())), axis,
                                      indexDimensions };
    return op.Make(DML_OPERATOR_GATHER, desc);
}

inline Expression GatherElements(Expression input, Expression indices, uint32_t axis)
{
    detail::Operator op(input);
    DML_GATHER_ELEMENTS_OPERATOR_DESC desc = { op.In(input), op.In(indices),
                                               op.Out(detail::TypeOf(input), detail::SizesOf(indices)), axis };
    return op.Make(DML_OPERATOR_GATHER_ELEMENTS, desc);
}

#if DML_TARGET_VERSION >= 0x3000
/* Sizes: the indices' sizes without the last dimension, whose tuples select in the input, then the input's remaining
 * sizes. */
inline Expression GatherND(Expression input, Expression indices, uint32_t inputDimensionCount,
                           uint32_t indicesDimensionCount, uint32_t batchDimensionCount)
{
    const TensorDimensions &x = detail::SizesOf(input), &i = detail::SizesOf(indices);
    detail::Check(inputDimensionCount <= x.size() && indicesDimensionCount <= i.size() && indicesDimensionCount > 0,
                  "GatherND: dimension counts must not be above the rank");
    size_t picked = size_t{ batchDimensionCount } + i.back();
    detail::Check(picked <= inputDimensionCount, "GatherND: tuples must not be longer than the input's dimensions");
    TensorDimensions sizes(i.end() - indicesDimensionCount, i.end() - 1);
    sizes.insert(sizes.end(), x.end() - inputDimensionCount + static_cast<std::ptrdiff_t>(picked), x.end());
    detail::Operator op(input);
    DML_GATHER_ND1_OPERATOR_DESC desc = {
        op.In(input),        op.In(indices),        op.Out(detail::TypeOf(input), detail::AlignRight(sizes, x.size())),
        inputDimensionCount, indicesDimensionCount, batchDimensionCount
    };
    return op.Make(DML_OPERATOR_GATHER_ND1, desc);
}
#endif

inline Expression ScatterElements(Expression input, Expression indices, Expression updates, uint32_t axis)
{
    detail::Operator op(input);
    DML_SCATTER_ELEMENTS_OPERATOR_DESC desc = { op.In(input), op.In(indices), op.In(updates), op.Out(input), axis };
    return op.Make(DML_OPERATOR_SCATTER_ELEMENTS, desc);
}

inline Expression ScatterND(Expression input, Expression indices, Expression updates, uint32_t inputDimensionCount,
                            uint32_t indicesDimensionCount)
{
    detail::Operator op(input);
    DML_SCATTER_ND_OPERATOR_DESC desc = { op.In(input),  op.In(indices),      op.In(updates),
                                          op.Out(input), inputDimensionCount, indicesDimensionCount };
    return op.Make(DML_OPERATOR_SCATTER_ND, desc);
}

/* values: the element for "off", then the one for "on". */
inline Expression OneHot(Expression indices, Expression values, uint32_t outputLength, uint32_t axis)
{
    detail::Operator op(indices);
    DML_ONE_HOT_OPERATOR_DESC desc = { op.In(indices), op.In(values),
                                       op.Out(detail::TypeOf(values), detail::Replaced(indices, axis, outputLength)),
                                       axis };
    return op.Make(DML_OPERATOR_ONE_HOT, desc);
}

struct TopKOutputs {
    Expression value;
    Expression index; /* of UINT32 */
};

inline TopKOutputs TopK(Expression input, uint32_t axis, uint32_t k, DML_AXIS_DIRECTION axisDirection)
{
    TensorDimensions sizes = detail::Replaced(input, axis, k);
    detail::Operator op(input);
    DML_TOP_K1_OPERATOR_DESC desc = {
        op.In(input), op.Out(detail::TypeOf(input), sizes), op.Out(DML_TENSOR_DATA_TYPE_UINT32, sizes), axis, k,
        axisDirection
    };
    op.Make(DML_OPERATOR_TOP_K1, desc);
    return { op.Result(0), op.Result(1) };
}

#if DML_TARGET_VERSION >= 0x3000
struct NonZeroCoordinatesOutputs {
    Expression count;       /* {1} */
    Expression coordinates; /* {elements of the input, rank}; rows beyond the count are unspecified */
};

inline NonZeroCoordinatesOutputs NonZeroCoordinates(Expression input)
{
    uint32_t elements = 1;
    for (uint32_t size : detail::SizesOf(input))
        elements *= size;
    TensorDimensions coordinates = { elements, detail::Count(detail::SizesOf(input).size()) };
    detail::Operator op(input);
    DML_NONZERO_COORDINATES_OPERATOR_DESC desc = { op.In(input), op.Out(DML_TENSOR_DATA_TYPE_UINT32, { 1 }),
                                                   op.Out(DML_TENSOR_DATA_TYPE_UINT32, coordinates) };
    op.Make(DML_OPERATOR_NONZERO_COORDINATES, desc);
    return { op.Result(0), op.Result(1) };
}

inline Expression SliceGrad(Expression inputGradient, TensorDimensions outputGradientSizes,
                            Span<const uint32_t> inputWindowOffsets, Span<const uint32_t> inputWindowSizes,
                            Span<const int32_t> inputWindowStrides)
{
    detail::CheckPerDimension(inputGradient, inputWindowOffsets.size());
    detail::CheckPerDimension(inputGradient, inputWindowSizes.size());
    detail::CheckPerDimension(inputGradient, inputWindowStrides.size());
    return detail::Resize<DML_SLICE_GRAD_OPERATOR_DESC>(
        DML_OPERATOR_SLICE_GRAD, inputGradient, std::move(outputGradientSizes),
        detail::Count(inputWindowOffsets.size()), inputWindowOffsets.data(), inputWindowSizes.data(),
        inputWindowStrides.data());
}
#endif

/* ---- images ---- */

inline Expression ValueScale2D(Expression input, float scale, Span<const float> bias)
{
    return detail::Map<DML_VALUE_SCALE_2D_OPERATOR_DESC>(DML_OPERATOR_VALUE_SCALE_2D, input, scale,
                                                         detail::Count(bias.size()), bias.data());
}

inline Expression Upsample2D(Expression input, DML_SIZE_2D scaleSize, DML_INTERPOLATION_MODE interpolationMode)
{
    TensorDimensions sizes = detail::SizesOf(input);
    detail::Check(sizes.size() >= 2, "Upsample2D: the input needs a height and a width");
    sizes[sizes.size() - 2] *= scaleSize.Height;
    sizes[sizes.size() - 1] *= scaleSize.Width;
    return detail::Resize<DML_UPSAMPLE_2D_OPERATOR_DESC>(DML_OPERATOR_UPSAMPLE_2D, input, sizes, scaleSize,
                                                         interpolationMode);
}

namespace detail
{

/* The three lists of resampling; defaults: the ratio of the sizes, 0.5 and -0.5, which align the edges. */
struct Sampling {
    std::vector<float> scales, inputOffsets, outputOffsets;

    Sampling(const TensorDimensions &small, const TensorDimensions &large, Span<const float> givenScales,
             Span<const float> givenInput, Span<const float> givenOutput)
        : scales(givenScales.begin(), givenScales.end()), inputOffsets(givenInput.begin(), givenInput.end()),
          outputOffsets(givenOutput.begin(), givenOutput.end())
    {
        size_t rank = small.size();
        Check(large.size() == rank, "resampling: outputSizes must have the input's rank");
        if (scales.empty())
            for (size_t i = 0; i < rank; i++)
                scales.push_back(static_cast<float>(static_cast<double>(large[i]) / small[i]));
        if (inputOffsets.empty())
            inputOffsets.assign(rank, 0.5f);
        if (outputOffsets.empty())
            outputOffsets.assign(rank, -0.5f);
        Check(scales.size() == rank && inputOffsets.size() == rank && outputOffsets.size() == rank,
              "resampling: one scale and one offset for each dimension");
    }
};

/* Computed from the scales if the caller gives no sizes. */
inline TensorDimensions SampledSizes(const Expression &input, TensorDimensions given, Span<const float> scales)
{
    const TensorDimensions &sizes = SizesOf(input);
    if (!given.empty())
        return given;
    Check(scales.size() == sizes.size(), "Resample: needs outputSizes or a scale for each dimension");
    for (size_t i = 0; i < sizes.size(); i++)
        given.push_back(std::max(1u, static_cast<uint32_t>(sizes[i] * static_cast<double>(scales[i]))));
    return given;
}

} /* namespace detail */

#if DML_TARGET_VERSION >= 0x6400
inline Expression Resample(Expression input, TensorDimensions outputSizes, DML_INTERPOLATION_MODE mode,
                           DML_AXIS_DIRECTION roundingDirection = DML_AXIS_DIRECTION_INCREASING,
                           Span<const float> scales = {}, Span<const float> inputPixelOffsets = {},
                           Span<const float> outputPixelOffsets = {}, bool antialiased = false)
{
    outputSizes = detail::SampledSizes(input, std::move(outputSizes), scales);
    detail::Sampling s(detail::SizesOf(input), outputSizes, scales, inputPixelOffsets, outputPixelOffsets);
    return detail::Resize<DML_RESAMPLE3_OPERATOR_DESC>(
        DML_OPERATOR_RESAMPLE3, input, outputSizes, mode, roundingDirection, detail::Count(outputSizes.size()),
        s.scales.data(), s.inputOffsets.data(), s.outputOffsets.data(), antialiased);
}
#elif DML_TARGET_VERSION >= 0x5100
inline Expression Resample(Expression input, TensorDimensions outputSizes, DML_INTERPOLATION_MODE mode,
                           DML_AXIS_DIRECTION roundingDirection = DML_AXIS_DIRECTION_INCREASING,
                           Span<const float> scales = {}, Span<const float> inputPixelOffsets = {},
                           Span<const float> outputPixelOffsets = {})
{
    outputSizes = detail::SampledSizes(input, std::move(outputSizes), scales);
    detail::Sampling s(detail::SizesOf(input), outputSizes, scales, inputPixelOffsets, outputPixelOffsets);
    return detail::Resize<DML_RESAMPLE2_OPERATOR_DESC>(DML_OPERATOR_RESAMPLE2, input, outputSizes, mode,
                                                       roundingDirection, detail::Count(outputSizes.size()),
                                                       s.scales.data(), s.inputOffsets.data(), s.outputOffsets.data());
}
#else
inline Expression Resample(Expression input, TensorDimensions outputSizes, DML_INTERPOLATION_MODE mode,
                           Span<const float> scales = {}, Span<const float> inputPixelOffsets = {},
                           Span<const float> outputPixelOffsets = {})
{
    outputSizes = detail::SampledSizes(input, std::move(outputSizes), scales);
    detail::Sampling s(detail::SizesOf(input), outputSizes, scales, inputPixelOffsets, outputPixelOffsets);
    return detail::Resize<DML_RESAMPLE1_OPERATOR_DESC>(DML_OPERATOR_RESAMPLE1, input, outputSizes, mode,
                                                       detail::Count(outputSizes.size()), s.scales.data(),
                                                       s.inputOffsets.data(), s.outputOffsets.data());
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* The gradient of Resample with the same scales: the output has the sizes of Resample's input. */
inline Expression ResampleGrad(Expression input, TensorDimensions outputSizes, DML_INTERPOLATION_MODE mode,
                               Span<const float> scales = {}, Span<const float> inputPixelOffsets = {},
                               Span<const float> outputPixelOffsets = {})
{
    detail::Sampling s(outputSizes, detail::SizesOf(input), scales, inputPixelOffsets, outputPixelOffsets);
    return detail::Resize<DML_RESAMPLE_GRAD_OPERATOR_DESC>(DML_OPERATOR_RESAMPLE_GRAD, input, outputSizes, mode,
                                                           detail::Count(outputSizes.size()), s.scales.data(),
                                                           s.inputOffsets.data(), s.outputOffsets.data());
}
#endif

#if DML_TARGET_VERSION >= 0x4000
/* roi {R, 4} and batchIndices {R} may have leading dimensions of size 1. */
inline Expression RoiAlign(Expression input, Expression roi, Expression batchIndices,
                           DML_REDUCE_FUNCTION reductionFunction, DML_INTERPOLATION_MODE interpolationMode,
                           float spatialScaleX, float spatialScaleY, float inputPixelOffset, float outputPixelOffset,
                           float outOfBoundsInputValue, uint32_t minimumSamplesPerOutput,
                           uint32_t maximumSamplesPerOutput, bool alignRegionsToCorners, uint32_t outputHeight,
                           uint32_t outputWidth)
{
    const TensorDimensions &r = detail::SizesOf(roi);
    detail::Check(r.size() >= 2 && detail::SizesOf(input).size() == 4, "RoiAlign: input {N, C, H, W} and roi {R, 4}");
    TensorDimensions sizes = { r[r.size() - 2], detail::SizesOf(input)[1], outputHeight, outputWidth };
    detail::Operator op(input);
    DML_ROI_ALIGN1_OPERATOR_DESC desc = { op.In(input),
                                          op.In(roi),
                                          op.In(batchIndices),
                                          op.Out(detail::TypeOf(input), sizes),
                                          reductionFunction,
                                          interpolationMode,
                                          spatialScaleX,
                                          spatialScaleY,
                                          inputPixelOffset,
                                          outputPixelOffset,
                                          outOfBoundsInputValue,
                                          minimumSamplesPerOutput,
                                          maximumSamplesPerOutput,
                                          alignRegionsToCorners };
    return op.Make(DML_OPERATOR_ROI_ALIGN1, desc);
}
#endif

#if DML_TARGET_VERSION >= 0x4100
struct RoiAlignGradOutputs {
    Expression outputGradient;
    Expression outputROIGradient;
};

/* An output that is not computed is empty. */
inline RoiAlignGradOutputs RoiAlignGrad(Optional<Expression> input, Expression inputGradient, Expression roi,
                                        Expression batchIndices, DML_REDUCE_FUNCTION reductionFunction,
                                        DML_INTERPOLATION_MODE interpolationMode, float spatialScaleX,
                                        float spatialScaleY, float inputPixelOffset, float outputPixelOffset,
                                        uint32_t minimumSamplesPerOutput, uint32_t maximumSamplesPerOutput,
                                        bool alignRegionsToCorners, uint32_t batchSize, uint32_t imageHeight,
                                        uint32_t imageWidth, bool computeOutputGradient, bool computeOutputROIGradient)
{
    detail::Check(detail::SizesOf(inputGradient).size() == 4, "RoiAlignGrad: inputGradient {R, C, h, w}");
    TensorDimensions image = { batchSize, detail::SizesOf(inputGradient)[1], imageHeight, imageWidth };
    DML_TENSOR_DATA_TYPE type = detail::TypeOf(inputGradient);
    detail::Operator op(inputGradient);
    DML_ROI_ALIGN_GRAD_OPERATOR_DESC desc = { op.In(input),
                                              op.In(inputGradient),
                                              op.In(roi),
                                              op.In(batchIndices),
                                              op.Out(type, image, computeOutputGradient),
                                              op.Out(type, detail::SizesOf(roi), computeOutputROIGradient),
                                              reductionFunction,
                                              interpolationMode,
                                              spatialScaleX,
                                              spatialScaleY,
                                              inputPixelOffset,
                                              outputPixelOffset,
                                              minimumSamplesPerOutput,
                                              maximumSamplesPerOutput,
                                              alignRegionsToCorners };
    op.Make(DML_OPERATOR_ROI_ALIGN_GRAD, desc);
    return { op.Result(0), op.Result(1) };
}
#endif

/* ---- generators ---- */

inline Expression FillValueConstant(Graph &graph, TensorDimensions outputSizes, DML_TENSOR_DATA_TYPE valueDataType,
                                    DML_SCALAR_UNION value)
{
    detail::Operator op(graph.Impl());
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC desc = { op.Out(valueDataType, std::move(outputSizes)), valueDataType,
                                                   value };
    return op.Make(DML_OPERATOR_FILL_VALUE_CONSTANT, desc);
}

inline Expression FillValueSequence(Graph &graph, TensorDimensions outputSizes, DML_TENSOR_DATA_TYPE valueDataType,
                                    DML_SCALAR_UNION valueStart, DML_SCALAR_UNION valueDelta)
{
    detail::Operator op(graph.Impl());
    DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC desc = { op.Out(valueDataType, std::move(outputSizes)), valueDataType,
                                                   valueStart, valueDelta };
    return op.Make(DML_OPERATOR_FILL_VALUE_SEQUENCE, desc);
}

#if DML_TARGET_VERSION >= 0x3000
struct RandomGeneratorOutputs {
    Expression values; /* of UINT32 */
    Expression state;  /* the state for the next call; empty unless requested */
};

inline RandomGeneratorOutputs RandomGenerator(Expression inputState, TensorDimensions outputSizes,
                                              bool outputState = true,
                                              DML_RANDOM_GENERATOR_TYPE type = DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10)
{
    detail::Operator op(inputState);
    DML_RANDOM_GENERATOR_OPERATOR_DESC desc = {
        op.In(inputState), op.Out(DML_TENSOR_DATA_TYPE_UINT32, std::move(outputSizes)),
        op.Out(detail::TypeOf(inputState), detail::SizesOf(inputState), outputState), type
    };
    op.Make(DML_OPERATOR_RANDOM_GENERATOR, desc);
    return { op.Result(0), op.Result(1) };
}
#endif

#if DML_TARGET_VERSION >= 0x6300
/* quantizationParameters: the scale, whose type the output has, and with SCALE_ZERO_POINT the zero point. */
inline Expression Dequantize(Expression input, Span<const Expression> quantizationParameters,
                             DML_QUANTIZATION_TYPE quantizationType)
{
    detail::Check(!quantizationParameters.empty(), "Dequantize: needs a scale");
    detail::Operator op(input);
    const DML_TENSOR_DESC *x = op.In(input);
    std::vector<DML_TENSOR_DESC> parameters;
    for (const Expression &parameter : quantizationParameters)
        parameters.push_back(*op.In(parameter));
    DML_DEQUANTIZE_OPERATOR_DESC desc = { x, quantizationType, detail::Count(parameters.size()), parameters.data(),
                                          op.Out(detail::TypeOf(quantizationParameters[0]), detail::SizesOf(input)) };
    return op.Make(DML_OPERATOR_DEQUANTIZE, desc);
}
#endif

} /* namespace dml */

#endif
