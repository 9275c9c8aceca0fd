/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators on images and on regions of them. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

bool schema_rule_value_scale_2d(struct schema_check *check)
{
    const DML_VALUE_SCALE_2D_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    if (desc->ChannelCount != 1 && desc->ChannelCount != 3)
        return schema_fail(check, SCHEMA_ERROR_COUNT, "ChannelCount = %" PRIu32 ", must be 1 or 3", desc->ChannelCount);
    return schema_expect_size(check, &input, 1, desc->ChannelCount, "ChannelCount");
}

bool schema_rule_upsample_2d(struct schema_check *check)
{
    const DML_UPSAMPLE_2D_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    uint64_t sizes[SCHEMA_MAX_RANK];
    for (uint32_t i = 0; i < check->rank; i++)
        sizes[i] = input.desc->Sizes[i];
    sizes[check->rank - 2] *= desc->ScaleSize.Height;
    sizes[check->rank - 1] *= desc->ScaleSize.Width;
    return schema_expect_sizes(check, &output, sizes, "that of InputTensor times ScaleSize");
}

bool schema_rule_roi_pooling(struct schema_check *check)
{
    const DML_ROI_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor regions = SCHEMA_TENSOR_OF(desc, ROITensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const uint64_t roi[] = { regions.desc->Sizes[2], 5 };
    const uint64_t out[] = { roi[0], input.desc->Sizes[1], desc->PooledSize.Height, desc->PooledSize.Width };
    return schema_expect_trailing(check, &regions, 2, roi, "batch and corners of each region") &&
           schema_expect_sizes(check, &output, out, "that of {regions, channels, PooledSize}");
}

/* ROI_ALIGN, ROI_ALIGN1 and their gradient. `image` is {N, C, H, W}, `pooled` {regions, C, h, w}. */
struct regions {
    struct schema_tensor image, pooled, roi, batch;
    DML_REDUCE_FUNCTION function;
    UINT min_samples, max_samples;
};

static bool check_regions(struct schema_check *check, const struct regions *r)
{
    const uint64_t count = r->pooled.desc->Sizes[0];
    const uint64_t corners[] = { count, 4 };
    if (r->function != DML_REDUCE_FUNCTION_AVERAGE && r->function != DML_REDUCE_FUNCTION_MAX)
        return schema_fail(check, SCHEMA_ERROR_ENUM_VALUE, "ReductionFunction = %" PRIu32 ", must be AVERAGE or MAX",
                           (uint32_t)r->function);
    if (r->max_samples < r->min_samples)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "MaximumSamplesPerOutput = %" PRIu32 ", must be at least MinimumSamplesPerOutput (%" PRIu32
                           ")",
                           r->max_samples, r->min_samples);
    return schema_expect_trailing(check, &r->roi, 2, corners, "four corners of each region") &&
           schema_expect_trailing(check, &r->batch, 1, &count, "the regions") &&
           (!r->image.desc || schema_expect_size(check, &r->pooled, 1, r->image.desc->Sizes[1], "the channels"));
}

#define REGIONS_OF(DESC, IMAGE, POOLED)                                                                                \
    {                                                                                                                  \
        .image = SCHEMA_TENSOR_OF(DESC, IMAGE), .pooled = SCHEMA_TENSOR_OF(DESC, POOLED),                              \
        .roi = SCHEMA_TENSOR_OF(DESC, ROITensor), .batch = SCHEMA_TENSOR_OF(DESC, BatchIndicesTensor),                 \
        .function = (DESC)->ReductionFunction, .min_samples = (DESC)->MinimumSamplesPerOutput,                         \
        .max_samples = (DESC)->MaximumSamplesPerOutput,                                                                \
    }

bool schema_rule_roi_align(struct schema_check *check)
{
    const DML_ROI_ALIGN_OPERATOR_DESC *desc = check->desc;
    const struct regions regions = REGIONS_OF(desc, InputTensor, OutputTensor);
    return check_regions(check, &regions);
}

bool schema_rule_roi_align1(struct schema_check *check)
{
    const DML_ROI_ALIGN1_OPERATOR_DESC *desc = check->desc;
    const struct regions regions = REGIONS_OF(desc, InputTensor, OutputTensor);
    return check_regions(check, &regions);
}

bool schema_rule_roi_align_grad(struct schema_check *check)
{
    const DML_ROI_ALIGN_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct regions regions = REGIONS_OF(desc, InputTensor, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    const struct schema_tensor roi_output = SCHEMA_TENSOR_OF(desc, OutputROIGradientTensor);
    if (!output.desc && !roi_output.desc)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                           "OutputGradientTensor: NULL, must be given without OutputROIGradientTensor");
    if (!regions.image.desc && (roi_output.desc || desc->ReductionFunction == DML_REDUCE_FUNCTION_MAX))
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                           "InputTensor: NULL, must be given with OutputROIGradientTensor or MAX");
    return check_regions(check, &regions) && schema_expect_same_sizes(check, &output, &regions.image) &&
           schema_expect_same_sizes(check, &roi_output, &regions.roi) &&
           (!output.desc || schema_expect_size(check, &regions.pooled, 1, output.desc->Sizes[1], "the channels"));
}

bool schema_rule_grid_sample(struct schema_check *check)
{
    const ANYDML_GRID_SAMPLE_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor grid = SCHEMA_TENSOR_OF(desc, GridTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const uint32_t axes = check->rank - 2;
    uint64_t points[SCHEMA_MAX_RANK] = { input.desc->Sizes[0] };
    uint64_t sizes[SCHEMA_MAX_RANK] = { input.desc->Sizes[0], input.desc->Sizes[1] };
    if (desc->PaddingMode == DML_PADDING_MODE_WRAP)
        return schema_fail(check, SCHEMA_ERROR_ENUM_VALUE, "PaddingMode = WRAP is not supported");
    for (uint32_t i = 0; i < axes; i++)
        sizes[2 + i] = points[1 + i] = grid.desc->Sizes[1 + i];
    points[1 + axes] = axes;
    return schema_expect_sizes(check, &grid, points, "{batch of InputTensor, points, coordinates}") &&
           schema_expect_sizes(check, &output, sizes, "{batch and channels of InputTensor, points of GridTensor}");
}
