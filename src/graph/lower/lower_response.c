/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation and its gradient through sums over regions, which are poolings along one dimension after
 * another. */
#include "graph/lower/lower.h"

struct response {
    struct graph_lowering *lowering;
    bool cross_channel;
    uint32_t size;
    float alpha, beta, bias;
};

/* `values`, a dense FLOAT32 [N, C, H, W], as lines along dimension d: [outer, inner, size] with inner as the channels;
 * for the innermost dimension, the neighbours are adjacent: [outer, 1, H, W]. */
static void pooling_view(struct graph_operand *values, uint32_t d)
{
    const uint32_t *s = values->view.sizes;
    uint32_t outer = 1, inner = 1, last[] = { s[0] * s[1], 1, s[2], s[3] };
    for (uint32_t i = 0; i < 4; i++)
        *(i < d ? &outer : &inner) *= i == d ? 1 : s[i];
    struct kern_view view;
    if (d == 3) {
        kern_view_set_packed(&view, DML_TENSOR_DATA_TYPE_FLOAT32, 4, last);
    } else {
        kern_view_set_packed(&view, DML_TENSOR_DATA_TYPE_FLOAT32, 3, (const uint32_t[]){ outer, inner, s[d] });
        view.strides[1] = 1;
        view.strides[2] = inner;
        view.strides[0] = (int64_t)inner * s[d];
    }
    values->view = view;
}

/* Averages over the region along dimension d, as far as it reaches; *factor is multiplied by the number that turns them
 * into sums. */
static struct graph_operand pool_along(const struct response *response, const struct graph_operand *from, uint32_t d,
                                       bool reversed, double *factor)
{
    struct graph_operand in = *from, out = lower_temp_like(response->lowering, from), to = out;
    struct kern_pool params = { .mode = KERN_POOL_AVERAGE, .include_padding = true };
    uint32_t before = (response->size - 1) / 2, after = response->size - 1 - before, most = from->view.sizes[d] - 1;
    uint32_t low = BASE_MIN(reversed ? after : before, most), high = BASE_MIN(reversed ? before : after, most);
    pooling_view(&in, d);
    pooling_view(&to, d);
    params.spatial = in.view.rank - 2;
    for (uint32_t i = 0; i < params.spatial; i++)
        params.window[i] = params.strides[i] = params.dilations[i] = 1;
    params.window[params.spatial - 1] = low + high + 1;
    params.pad_start[params.spatial - 1] = low;
    *factor *= (double)low + high + 1;
    struct graph_op *op = lower_op(response->lowering, KERN_POOL, &in, 1, &to, 1);
    if (op)
        op->k.u.pool = params;
    return out;
}

/* Sum of `from` / *out_factor over each element's region; reversed: over the elements in whose regions it is. */
static struct graph_operand region_sums(const struct response *response, const struct graph_operand *from,
                                        bool reversed, double *out_factor)
{
    *out_factor = 1;
    if (response->cross_channel)
        return pool_along(response, from, 1, reversed, out_factor);
    struct graph_operand columns = pool_along(response, from, 2, reversed, out_factor);
    return pool_along(response, &columns, 3, reversed, out_factor);
}

static struct graph_operand single_temp(struct graph_lowering *lowering)
{
    return graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, 4, lowering->inputs[0].view.sizes);
}

static struct graph_operand square_sums(const struct response *response, double *out_factor)
{
    struct graph_operand squares = single_temp(response->lowering);
    struct lower_map map;
    lower_map_begin(&map, response->lowering, response->lowering->inputs, 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, &squares, lower_emit2(&map, KERN_MAP_MUL, 0, 0));
    return region_sums(response, &squares, false, out_factor);
}

/* Bias + Alpha / LocalSize * sum, from the register that holds sum / factor */
static uint32_t emit_base(struct lower_map *map, const struct response *response, uint32_t sums, double factor)
{
    return lower_emit1(map, KERN_MAP_MULADD, sums, response->alpha / (double)response->size * factor, response->bias);
}

static uint32_t emit_power(struct lower_map *map, uint32_t base, float exponent)
{
    uint32_t power = lower_emit_const(map, DML_TENSOR_DATA_TYPE_FLOAT32, (union kern_scalar){ .f32 = exponent });
    return lower_emit2(map, KERN_MAP_POW, base, power);
}

HRESULT lower_local_response(struct graph_lowering *lowering)
{
    const DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC *desc = LOWER_DESC(lowering, LOCAL_RESPONSE_NORMALIZATION);
    struct response response = { lowering, desc->CrossChannel, desc->LocalSize, desc->Alpha, desc->Beta, desc->Bias };
    if (desc->CrossChannel && desc->LocalSize <= 64) { /* the kernel keeps that many channels in registers */
        struct graph_op *op = lower_op(lowering, KERN_LRN, lowering->inputs, 1, lowering->outputs, 1);
        if (!op)
            return E_OUTOFMEMORY;
        op->k.u.lrn = (struct kern_lrn){ true, desc->LocalSize, desc->Alpha, desc->Beta, desc->Bias };
        return lower_done(lowering);
    }
    double factor;
    struct graph_operand in[] = { lowering->inputs[0], square_sums(&response, &factor) };
    struct lower_map map;
    lower_map_begin(&map, lowering, in, 2, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t power = emit_power(&map, emit_base(&map, &response, 1, factor), -desc->Beta);
    lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, KERN_MAP_MUL, 0, power));
    return lower_done(lowering);
}

/* With D = Bias + Alpha / LocalSize * sum of X^2 over the region:
 *   dX = dY * D^-Beta - 2 * Alpha * Beta / LocalSize * X * sum of dY * X * D^(-Beta - 1) over the regions X is in */
HRESULT lower_local_response_grad(struct graph_lowering *lowering)
{
    const DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC *desc =
        LOWER_DESC(lowering, LOCAL_RESPONSE_NORMALIZATION_GRAD);
    struct response response = { lowering, desc->CrossChannel, desc->LocalSize, desc->Alpha, desc->Beta, desc->Bias };
    const struct graph_operand *x = &lowering->inputs[0], *dy = &lowering->inputs[1];
    double factor;
    struct graph_operand in[] = { *x, *dy, square_sums(&response, &factor) };
    struct graph_operand outs[] = { single_temp(lowering), single_temp(lowering) };
    struct lower_map map;
    lower_map_begin(&map, lowering, in, 3, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t base = emit_base(&map, &response, 2, factor);
    uint32_t direct = lower_emit2(&map, KERN_MAP_MUL, 1, emit_power(&map, base, -desc->Beta));
    uint32_t share = lower_emit2(&map, KERN_MAP_DIV, lower_emit2(&map, KERN_MAP_MUL, direct, 0), base);
    lower_map_end_many(&map, outs, (const uint32_t[]){ direct, share }, 2);

    struct graph_operand last[] = { *x, outs[0], region_sums(&response, &outs[1], true, &factor) };
    lower_map_begin(&map, lowering, last, 3, DML_TENSOR_DATA_TYPE_FLOAT32);
    double slope = -2.0 * desc->Alpha * desc->Beta / desc->LocalSize * factor;
    uint32_t rest = lower_emit1(&map, KERN_MAP_MULADD, lower_emit2(&map, KERN_MAP_MUL, 0, 2), slope, 0);
    lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, KERN_MAP_ADD, 1, rest));
    return lower_done(lowering);
}
