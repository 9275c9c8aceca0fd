/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and resampling. */
#include "graph/lower/lower.h"

/* The fields that all pooling descriptions share, read from any of the structs. Padding at the end follows from the
 * sizes. */
struct window {
    const UINT *strides, *window, *start, *dilations; /* dilations NULL = 1 */
};

#define WINDOW(desc)                                                                                                   \
    {                                                                                                                  \
        (desc)->Strides, (desc)->WindowSize, (desc)->StartPadding, NULL                                                \
    }

static HRESULT pool_between(struct graph_lowering *lowering, const struct graph_operand *input,
                            const struct graph_operand *outputs, const struct window *window, struct kern_pool params)
{
    params.spatial = lowering->inputs[0].view.rank - 2;
    if (params.spatial < 1 || params.spatial > KERN_SPATIAL_MAX)
        return lower_unsupported(lowering, "this number of dimensions");
    for (uint32_t i = 0; i < params.spatial; i++) {
        params.window[i] = window->window[i];
        params.strides[i] = window->strides[i];
        params.dilations[i] = window->dilations ? window->dilations[i] : 1;
        params.pad_start[i] = window->start[i];
    }
    struct graph_op *op = lower_op(lowering, KERN_POOL, input, 1, outputs, params.has_indices ? 2 : 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.pool = params;
    return lower_done(lowering);
}

static HRESULT pool(struct graph_lowering *lowering, const struct window *window, struct kern_pool params)
{
    return pool_between(lowering, lowering->inputs, lowering->outputs, window, params);
}

HRESULT lower_average_pooling(struct graph_lowering *lowering)
{
    struct kern_pool params = { .mode = KERN_POOL_AVERAGE };
    if (lowering->desc->op->type == DML_OPERATOR_AVERAGE_POOLING1) {
        const DML_AVERAGE_POOLING1_OPERATOR_DESC *desc = LOWER_DESC(lowering, AVERAGE_POOLING1);
        struct window window = WINDOW(desc);
        window.dilations = desc->Dilations;
        params.include_padding = desc->IncludePadding;
        return pool(lowering, &window, params);
    }
    const DML_AVERAGE_POOLING_OPERATOR_DESC *desc = LOWER_DESC(lowering, AVERAGE_POOLING);
    struct window window = WINDOW(desc);
    params.include_padding = desc->IncludePadding;
    return pool(lowering, &window, params);
}

/* A scale or zero point, one or one per channel, viewed with the sizes of `like`. */
static struct graph_operand per_channel(const struct graph_operand *parameter, const struct kern_view *like)
{
    struct graph_operand result = *parameter;
    uint32_t axis = parameter->view.rank > 1 ? 1 : 0;
    result.view.rank = like->rank;
    for (uint32_t d = 0; d < like->rank; d++) {
        result.view.sizes[d] = like->sizes[d];
        result.view.strides[d] = d == 1 && parameter->view.sizes[axis] > 1 ? parameter->view.strides[axis] : 0;
    }
    return result;
}

/* x - zero point, exact in FLOAT32 */
static struct graph_operand centred(struct graph_lowering *lowering, const struct graph_operand *x,
                                    const struct graph_operand *zero_point)
{
    struct graph_operand inputs[2] = { *x };
    struct lower_map map;
    struct graph_operand result =
        graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, x->view.rank, x->view.sizes);
    if (lower_present(zero_point))
        inputs[1] = per_channel(zero_point, &x->view);
    lower_map_begin(&map, lowering, inputs, lower_present(zero_point) ? 2 : 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, &result, lower_present(zero_point) ? lower_emit2(&map, KERN_MAP_SUB, 0, 1) : 0);
    return result;
}

/* y = clamp(round-half-even(mean * input scale / output scale) + output zero point) */
static HRESULT requantize(struct graph_lowering *lowering, const struct graph_operand *mean)
{
    const struct graph_operand *slots = lowering->inputs, *y = &lowering->outputs[0];
    bool has_zero = lower_present(&slots[4]), is_signed = y->view.type == DML_TENSOR_DATA_TYPE_INT8;
    struct graph_operand inputs[4] = { *mean, per_channel(&slots[1], &y->view), per_channel(&slots[3], &y->view) };
    struct lower_map map;
    if (has_zero)
        inputs[3] = per_channel(&slots[4], &y->view);
    lower_map_begin(&map, lowering, inputs, has_zero ? 4 : 3, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t real = lower_emit2(&map, KERN_MAP_MUL, 0, 1);
    uint32_t q = lower_emit1(&map, KERN_MAP_RINT, lower_emit2(&map, KERN_MAP_DIV, real, 2), 0, 0);
    if (has_zero)
        q = lower_emit2(&map, KERN_MAP_ADD, q, 3);
    q = lower_emit1(&map, KERN_MAP_CLAMP, q, is_signed ? -128 : 0, is_signed ? 127 : 255);
    lower_map_end(&map, y, q);
    return lower_done(lowering);
}

/* Scales belong to whole channels: the mean is computed over integers, which are exact, and scaled afterwards. */
HRESULT lower_quantized_average_pooling(struct graph_lowering *lowering)
{
    const DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC *desc =
        LOWER_DESC(lowering, QUANTIZED_LINEAR_AVERAGE_POOLING);
    const struct kern_view *y = &lowering->outputs[0].view;
    struct kern_pool params = { .mode = KERN_POOL_AVERAGE, .include_padding = desc->IncludePadding };
    struct window window = WINDOW(desc);
    window.dilations = desc->Dilations;
    struct graph_operand x = centred(lowering, &lowering->inputs[0], &lowering->inputs[2]);
    struct graph_operand mean = graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, y->rank, y->sizes);
    HRESULT hr = pool_between(lowering, &x, &mean, &window, params);
    return FAILED(hr) ? hr : requantize(lowering, &mean);
}

HRESULT lower_lp_pooling(struct graph_lowering *lowering)
{
    struct kern_pool params = { .mode = KERN_POOL_LP };
    if (lowering->desc->op->type == DML_OPERATOR_LP_POOLING1) {
        const DML_LP_POOLING1_OPERATOR_DESC *desc = LOWER_DESC(lowering, LP_POOLING1);
        struct window window = WINDOW(desc);
        window.dilations = desc->Dilations;
        params.p = desc->P;
        return pool(lowering, &window, params);
    }
    const DML_LP_POOLING_OPERATOR_DESC *desc = LOWER_DESC(lowering, LP_POOLING);
    struct window window = WINDOW(desc);
    params.p = desc->P;
    return pool(lowering, &window, params);
}

HRESULT lower_max_pooling(struct graph_lowering *lowering)
{
    struct kern_pool params = { .mode = KERN_POOL_MAX };
    struct window window;
    switch (lowering->desc->op->type) {
    case DML_OPERATOR_MAX_POOLING:
        window = (struct window)WINDOW(LOWER_DESC(lowering, MAX_POOLING));
        break;
    case DML_OPERATOR_MAX_POOLING1:
        window = (struct window)WINDOW(LOWER_DESC(lowering, MAX_POOLING1));
        break;
    default:
        window = (struct window)WINDOW(LOWER_DESC(lowering, MAX_POOLING2));
        window.dilations = LOWER_DESC(lowering, MAX_POOLING2)->Dilations;
        break;
    }
    params.has_indices = lowering->desc->output_count > 1 && lower_present(&lowering->outputs[1]);
    params.whole_indices = true;
    return pool(lowering, &window, params);
}

/* All versions use the coordinate rule x = (o - output offset) / scale - input offset of RESAMPLE1 to 3. The older ones
 * round to nearest, halves up: floor(x + 0.5), which is floor with the input offset lowered by one half. */
/* Every result is the input at the same position. */
static bool resamples_nothing(const struct graph_lowering *lowering, const struct kern_resample *params)
{
    const struct kern_view *x = &lowering->inputs[0].view, *y = &lowering->outputs[0].view;
    const bool floors =
        params->mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR && params->rounding == DML_AXIS_DIRECTION_DECREASING;
    for (uint32_t d = 0; d < x->rank; d++) {
        const float offset = params->input_offsets[d] + params->output_offsets[d];
        if (x->sizes[d] != y->sizes[d] || params->scales[d] != 1 || (offset != 0 && !(floors && offset == -0.5f)))
            return false;
    }
    return true;
}

static HRESULT resample(struct graph_lowering *lowering, const struct kern_resample *params)
{
    if (resamples_nothing(lowering, params)) {
        lower_move(lowering, lowering->inputs[0], lowering->outputs[0]);
        return lower_done(lowering);
    }
    struct graph_op *op = lower_op(lowering, KERN_RESAMPLE, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.resample = *params;
    return lower_done(lowering);
}

static void resample_fill(struct kern_resample *params, uint32_t rank, const FLOAT *scales, const FLOAT *input_offsets,
                          const FLOAT *output_offsets)
{
    for (uint32_t i = 0; i < rank; i++) {
        params->scales[i] = scales[i];
        params->input_offsets[i] = input_offsets ? input_offsets[i] : 0.5f;
        params->output_offsets[i] = output_offsets ? output_offsets[i] : -0.5f;
    }
}

static void resample_round_half_up(struct kern_resample *params, uint32_t rank)
{
    params->rounding = DML_AXIS_DIRECTION_DECREASING;
    if (params->mode != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
        return;
    for (uint32_t i = 0; i < rank; i++)
        params->input_offsets[i] -= 0.5f;
}

HRESULT lower_resample(struct graph_lowering *lowering)
{
    struct kern_resample params = { 0 };
    uint32_t rank = lowering->inputs[0].view.rank;
    switch (lowering->desc->op->type) {
    case DML_OPERATOR_RESAMPLE: {
        const DML_RESAMPLE_OPERATOR_DESC *desc = LOWER_DESC(lowering, RESAMPLE);
        params.mode = desc->InterpolationMode;
        resample_fill(&params, rank, desc->Scales, NULL, NULL);
        resample_round_half_up(&params, rank);
        break;
    }
    case DML_OPERATOR_RESAMPLE1: {
        const DML_RESAMPLE1_OPERATOR_DESC *desc = LOWER_DESC(lowering, RESAMPLE1);
        params.mode = desc->InterpolationMode;
        resample_fill(&params, rank, desc->Scales, desc->InputPixelOffsets, desc->OutputPixelOffsets);
        resample_round_half_up(&params, rank);
        break;
    }
    case DML_OPERATOR_RESAMPLE2: {
        const DML_RESAMPLE2_OPERATOR_DESC *desc = LOWER_DESC(lowering, RESAMPLE2);
        params.mode = desc->InterpolationMode;
        params.rounding = desc->RoundingDirection;
        resample_fill(&params, rank, desc->Scales, desc->InputPixelOffsets, desc->OutputPixelOffsets);
        break;
    }
    default: {
        const DML_RESAMPLE3_OPERATOR_DESC *desc = LOWER_DESC(lowering, RESAMPLE3);
        params.mode = desc->InterpolationMode;
        params.antialiased = desc->Antialiased && params.mode == DML_INTERPOLATION_MODE_LINEAR;
        params.rounding = desc->RoundingDirection;
        resample_fill(&params, rank, desc->Scales, desc->InputPixelOffsets, desc->OutputPixelOffsets);
        break;
    }
    }
    return resample(lowering, &params);
}

HRESULT lower_upsample(struct graph_lowering *lowering)
{
    const DML_UPSAMPLE_2D_OPERATOR_DESC *desc = LOWER_DESC(lowering, UPSAMPLE_2D);
    struct kern_resample params = { .mode = desc->InterpolationMode };
    uint32_t rank = lowering->inputs[0].view.rank;
    FLOAT scales[KERN_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        scales[i] = 1;
    scales[rank - 2] = (FLOAT)desc->ScaleSize.Height;
    scales[rank - 1] = (FLOAT)desc->ScaleSize.Width;
    resample_fill(&params, rank, scales, NULL, NULL);
    resample_round_half_up(&params, rank);
    return resample(lowering, &params);
}
