/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: steps whose dispatches run without barriers, since their kernels wait for one another in memory (turn.cuh): a
 * barrier takes longer than some of them compute. Dispatches of a queue begin in order, so that a workgroup waits only
 * for such as have begun. */
#include "shaders/cuda/conv_meta_params.h"
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/cuda/attention_w_params.h"
#include "shaders/cuda/norm_meta_params.h"
#include "shaders/meta/shader_meta.h"

#include "kernels/core/number.h"

#define VECTOR 8 /* elements */

/* ---- normalisations ---- */

/* A tensor as rows along `axes` with contiguous elements. */
struct rows {
    uint32_t count, size;
    int64_t stride;
};

/* False: not possible. */
static bool find_rows(const struct kern_view *view, uint32_t axes, struct rows *out)
{
    bool first = true;
    int64_t next = 1;
    *out = (struct rows){ 1, 1, 0 };
    for (uint32_t d = view->rank; d-- > 0;) {
        const bool along = axes >> d & 1;
        if (view->sizes[d] == 1)
            continue;
        if (along && out->count > 1)
            return false;
        if (!along && first)
            next = out->stride = view->strides[d];
        if (view->strides[d] != next)
            return false;
        first = first && along;
        *(along ? &out->size : &out->count) *= view->sizes[d];
        next *= view->sizes[d];
    }
    return view->offset % VECTOR == 0 && out->stride % VECTOR == 0 && out->size % VECTOR == 0;
}

static bool find_norm(const struct kern_op *op, struct rows *out)
{
    const struct kern_norm *norm = &op->u.norm;
    if (op->epilogue || !norm->use_variance || !norm->has_scale)
        return false;
    for (uint32_t t = 0; t <= op->input_count; t++)
        if (op->tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT16 || !find_rows(&op->tensors[t], norm->axes, &out[t]) ||
            (t && t < op->input_count && out[t].stride))
            return false;
    return out[0].size <= NORM_META_LONGEST;
}

static const char *norm_unsupported(const struct kern_op *op)
{
    struct rows rows[4];
    return find_norm(op, rows) ? NULL : "no metacommand for normalizations of these tensors";
}

static void norm_plan(const struct kern_op *op, struct shader_work *out)
{
    struct rows rows[4];
    find_norm(op, rows);
    const bool is_long = rows->size > NORM_META_SIZE;
    const uint32_t each = is_long ? 1 : NORM_META_ROWS;
    shader_meta_add(out, is_long ? SHADER_META_norm_long : SHADER_META_norm_meta,
                    (uint32_t[3]){ (rows->count + each - 1) / each, 1, 1 }, 5, sizeof(struct norm_meta_params));
}

static void norm_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const uint32_t y = op->input_count;
    struct rows rows[4];
    find_norm(op, rows);
    *(struct norm_meta_params *)words =
        (struct norm_meta_params){ .x = shader_meta_place(&places[0]),
                                   .scale = shader_meta_place(&places[1]),
                                   .bias = op->u.norm.has_bias ? shader_meta_place(&places[2]) : 0,
                                   .y = shader_meta_place(&places[y]),
                                   .rows = rows[0].count,
                                   .size = rows[0].size,
                                   .x_row = (i32)rows[0].stride,
                                   .y_row = (i32)rows[y].stride,
                                   .epsilon = op->u.norm.epsilon,
                                   .use_mean = op->u.norm.use_mean };
}

/* What normalizations become in chains. Not in rows.def: alone it is no faster than the shaders. */
static const struct shader_row norm_meta = { .name = "norm_meta",
                                             .kind = KERN_NORM,
                                             .max_ulp = 32,
                                             .chain = SHADER_CHAIN_NORM,
                                             .unsupported = norm_unsupported,
                                             .plan = norm_plan,
                                             .write = norm_write };

/* ---- links ---- */

/* Data that kernels read before they wait must be complete before the chain starts. */
static bool is_written(const struct shader_link *links, uint32_t at, uint32_t t)
{
    for (uint32_t i = 0; i < at; i++)
        if (links[i].values[links[i].op->input_count] == links[at].values[t])
            return true;
    return false;
}

/* Whether there is a kernel that waits for link `at`. */
static bool waits(const struct shader_link *links, uint32_t at)
{
    const struct shader_work *work = links[at].work;
    const struct kern_op *op = links[at].op;
    const bool single = work->dispatch_count == 1 && !work->dispatches[0].repeats;
    switch (work->row->chain) {
    case SHADER_CHAIN_NORM:
        return !norm_meta.unsupported(op) && !is_written(links, at, 1) &&
               (!op->u.norm.has_bias || !is_written(links, at, 2));
    case SHADER_CHAIN_ATTENTION:
        return single;
    case SHADER_CHAIN_GEMM:
        return (single || shader_gemm_meta_joins(op)) && shader_gemm_meta_waits(op);
    case SHADER_CHAIN_CONV:
        return single && shader_conv_meta_waits(op) && !is_written(links, at, 1);
    case SHADER_CHAIN_NONE:
        break;
    }
    return false;
}

uint32_t shader_chain_length(const struct shader_link *links, uint32_t count)
{
    uint32_t length = 0;
    while (length < count && waits(links, length))
        length++;
    return length > 1 ? length : 0;
}

void shader_chain_plan(const struct shader_link *link, struct shader_work *out)
{
    if (link->work->row->chain == SHADER_CHAIN_NORM) {
        out->row = &norm_meta;
        norm_meta.plan(link->op, out);
    } else {
        out->row = link->work->row;
        out->dispatches[out->dispatch_count++] = link->work->dispatches[0];
        out->scratch_bytes = link->work->scratch_bytes;
    }
}

uint64_t shader_chain_bytes(uint32_t length)
{
    return (uint64_t)length * META_TURN_LINE * sizeof(u32);
}

void shader_chain_write(const struct shader_chain_at *at, const struct shader_place *places, uint32_t *words)
{
    const struct shader_place *counters = at->counters;
    const struct shader_work *previous = at->previous;
    const uint32_t *groups = previous ? previous->dispatches[previous->dispatch_count - 1].groups : NULL;
    const struct meta_turn turn = { .before = (at->number - 1) * META_TURN_LINE,
                                    .count = groups ? groups[0] * groups[1] * groups[2] : 0,
                                    .after = at->number * META_TURN_LINE };
    at->row->write(at->op, 0, places, words);
#define SET_TURN(params)                                                                                               \
    do {                                                                                                               \
        ((struct params *)words)->turn = turn;                                                                         \
        ((struct params *)words)->counters = shader_meta_place(counters);                                              \
    } while (0)
    switch (at->row->chain) {
    case SHADER_CHAIN_NORM:
        SET_TURN(norm_meta_params);
        break;
    case SHADER_CHAIN_ATTENTION:
        SET_TURN(attention_w_params);
        break;
    case SHADER_CHAIN_GEMM:
        SET_TURN(gemm_meta_params);
        break;
    case SHADER_CHAIN_CONV:
        SET_TURN(conv_meta_params);
        break;
    case SHADER_CHAIN_NONE:
        break;
    }
#undef SET_TURN
}

/* ---- zeros ---- */

void shader_zero_plan(struct shader_work *out)
{
    shader_meta_add(out, SHADER_META_meta_zero, (uint32_t[3]){ 1, 1, 1 }, 1, sizeof(struct meta_zero_params));
}

void shader_zero_write(const struct shader_place *place, uint64_t bytes, uint32_t *words)
{
    *(struct meta_zero_params *)words =
        (struct meta_zero_params){ .at = shader_meta_place(place), .vectors = (u32)(bytes / 16) };
}
