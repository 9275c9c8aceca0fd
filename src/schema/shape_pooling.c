/* Rules of pooling over {N, C, [D], H, W}. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

struct pooling {
    struct schema_tensor input, output;
    const UINT *window, *strides, *start, *end;
    const UINT *dilations; /* NULL: dense */
};

#define POOLING_OF(DESC, DILATIONS)                                                                                    \
    {                                                                                                                  \
        .input = SCHEMA_TENSOR_OF(DESC, InputTensor), .output = SCHEMA_TENSOR_OF(DESC, OutputTensor),                  \
        .window = (DESC)->WindowSize, .strides = (DESC)->Strides, .start = (DESC)->StartPadding,                       \
        .end = (DESC)->EndPadding, .dilations = DILATIONS,                                                             \
    }

static bool check_batch(struct schema_check *check, const struct schema_tensor *tensor,
                        const struct schema_tensor *other)
{
    return schema_expect_size(check, tensor, 0, other->desc->Sizes[0], "the batch") &&
           schema_expect_size(check, tensor, 1, other->desc->Sizes[1], "the channels");
}

/* Windows that start at multiples of the stride: all that fit, at least one, and with `ceil` one that begins inside. */
static uint64_t count_windows(uint64_t padded, uint64_t span, uint64_t stride, bool ceil)
{
    if (padded < span)
        return 1;
    return (padded - span + (ceil ? stride - 1 : 0)) / stride + 1;
}

/* Besides the exact number of windows clients send the ceiling, and for dilated windows the number for dense ones. What
 * lies outside the input is padding to the kernels in any case. Limits of the attributes keep all this within 64 bits.
 */
static bool check_axis(struct schema_check *check, const struct pooling *pool, uint32_t i)
{
    const uint64_t in = pool->input.desc->Sizes[i + 2], size = pool->output.desc->Sizes[i + 2];
    const uint64_t padded = in + pool->start[i] + pool->end[i], window = pool->window[i];
    const uint64_t span = (window - 1) * (pool->dilations ? pool->dilations[i] : 1) + 1;
    const uint64_t least = count_windows(padded, span, pool->strides[i], false);
    const uint64_t ceiling = count_windows(padded, span, pool->strides[i], true);
    const uint64_t dense = count_windows(padded, window, pool->strides[i], false);
    const uint64_t most = BASE_MAX(ceiling, dense);
    if (size >= least && size <= most)
        return true;
    return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                       "%s: Sizes[%" PRIu32 "] = %" PRIu64 ", must be %" PRIu64 " to %" PRIu64
                       ", the windows over InputTensor",
                       pool->output.name, i + 2, size, least, most);
}

static bool check_pooling(struct schema_check *check, const struct pooling *pool)
{
    if (!check_batch(check, &pool->output, &pool->input))
        return false;
    for (uint32_t i = 0; i + 2 < check->rank; i++)
        if (!check_axis(check, pool, i))
            return false;
    return true;
}

bool schema_rule_average_pooling(struct schema_check *check)
{
    const DML_AVERAGE_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, NULL);
    return check_pooling(check, &pool);
}

bool schema_rule_average_pooling1(struct schema_check *check)
{
    const DML_AVERAGE_POOLING1_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, desc->Dilations);
    return check_pooling(check, &pool);
}

bool schema_rule_lp_pooling(struct schema_check *check)
{
    const DML_LP_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, NULL);
    return check_pooling(check, &pool);
}

bool schema_rule_lp_pooling1(struct schema_check *check)
{
    const DML_LP_POOLING1_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, desc->Dilations);
    return check_pooling(check, &pool);
}

bool schema_rule_max_pooling(struct schema_check *check)
{
    const DML_MAX_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, NULL);
    return check_pooling(check, &pool);
}

bool schema_rule_max_pooling1(struct schema_check *check)
{
    const DML_MAX_POOLING1_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, NULL);
    return check_pooling(check, &pool);
}

bool schema_rule_max_pooling2(struct schema_check *check)
{
    const DML_MAX_POOLING2_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, desc->Dilations);
    return check_pooling(check, &pool);
}

/* A scale or zero point: one element, or one for each channel on axis 1 (on axis 0 if it is the only one). */
static bool check_per_channel(struct schema_check *check, const struct schema_tensor *tensor, uint32_t channels)
{
    const uint32_t axis = tensor->desc && tensor->desc->DimensionCount > 1 ? 1 : 0;
    return schema_expect_vector(check, tensor, axis, channels, "the channels of InputTensor");
}

bool schema_rule_quantized_average_pooling(struct schema_check *check)
{
    const DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct pooling pool = POOLING_OF(desc, desc->Dilations);
    const struct schema_tensor parameters[] = {
        SCHEMA_TENSOR_OF(desc, InputScaleTensor),
        SCHEMA_TENSOR_OF(desc, InputZeroPointTensor),
        SCHEMA_TENSOR_OF(desc, OutputScaleTensor),
        SCHEMA_TENSOR_OF(desc, OutputZeroPointTensor),
    };
    if (!check_pooling(check, &pool))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
        if (!check_per_channel(check, &parameters[i], pool.input.desc->Sizes[1]))
            return false;
    return true;
}

/* The documented relation between the sizes of gradients is typical, not required; kernels skip what lies outside. */
bool schema_rule_average_pooling_grad(struct schema_check *check)
{
    const DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    return check_batch(check, &output, &input);
}

bool schema_rule_max_pooling_grad(struct schema_check *check)
{
    const DML_MAX_POOLING_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor gradient = SCHEMA_TENSOR_OF(desc, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    return check_batch(check, &gradient, &output);
}
