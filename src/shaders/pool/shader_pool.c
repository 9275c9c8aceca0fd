/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for pooling and its gradient. */
#include "shaders/pool/shader_pool.h"

#include "shaders/pool/pool_params.h"

_Static_assert(POOL_AVERAGE == KERN_POOL_AVERAGE && POOL_LP == KERN_POOL_LP && POOL_MAX == KERN_POOL_MAX,
               "the shaders have these numbers");

/* Extends the view to rank 5. */
static void spread(struct kern_view *view)
{
    const struct kern_view old = *view;
    view->rank = 5;
    for (uint32_t d = 0; d < 5; d++) {
        const bool missing = d >= 2 && d < 7 - old.rank;
        const uint32_t from = d < 2 ? d : d + old.rank - 5;
        view->sizes[d] = missing ? 1 : old.sizes[from];
        view->strides[d] = missing ? 0 : old.strides[from];
    }
}

static void spread_all(const struct kern_op *op, struct kern_op *out)
{
    *out = *op;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        spread(&out->tensors[t]);
}

/* x, y: the shape's tensors. */
static struct pool_params params_of(const struct kern_pool *pool, uint32_t x, uint32_t y)
{
    struct pool_params out = { .mode = pool->mode,
                               .p = pool->p,
                               .include_padding = pool->include_padding,
                               .has_indices = pool->has_indices,
                               .whole_indices = pool->whole_indices,
                               .x = x,
                               .y = y };
    for (uint32_t d = 0; d < 3; d++) {
        const bool present = d + pool->spatial >= 3;
        const uint32_t from = present ? d + pool->spatial - 3 : 0;
        out.window[d] = present ? pool->window[from] : 1;
        out.strides[d] = present ? pool->strides[from] : 1;
        out.dilations[d] = present ? pool->dilations[from] : 1;
        out.pad[d] = present ? pool->pad_start[from] : 0;
    }
    return out;
}

/* The shaders compute positions in 32 bits. */
static const char *shape_unsupported(const struct kern_op *op, const struct pool_shape *s)
{
    for (uint32_t d = 0; d < 3; d++)
        if (s->pad[d] + s->dilation[d] + s->in[d] > INT32_MAX || (s->out[d] - 1) * s->stride[d] > INT32_MAX)
            return "the shaders do not count that many elements";
    return shader_block_unsupported(op);
}

static uint64_t elements_of(const struct kern_op *op, uint32_t tensor)
{
    return kern_view_elements(&op->tensors[tensor]);
}

/* The number of invocations that share one of `results`, computed from up to `taps`: several for many taps and few
 * results. */
static uint32_t choose_lanes(uint64_t results, uint64_t taps)
{
    uint32_t lanes = 1;
    while (lanes < SHADER_GROUP_SIZE && lanes * 8 <= taps && (taps > 256 || results * lanes < 65536))
        lanes *= 2;
    return lanes;
}

/* A workgroup's share of results is a unit. */
static uint64_t units_of(uint64_t results, uint32_t lanes)
{
    const uint32_t slots = SHADER_GROUP_SIZE / lanes;
    return (results + slots - 1) / slots;
}

static void add(const struct kern_op *op, enum shader_code code, uint64_t results, uint64_t taps,
                struct shader_work *out)
{
    struct kern_op wide;
    spread_all(op, &wide);
    shader_add(out, code, &wide, units_of(results, choose_lanes(results, taps)), 1, sizeof(struct pool_params));
}

static void write(const struct kern_op *op, const struct shader_place *places, uint64_t results, uint64_t taps,
                  struct pool_params *params, uint32_t *words)
{
    struct kern_op wide;
    spread_all(op, &wide);
    params->lanes = choose_lanes(results, taps);
    shader_block_write(&wide, places, units_of(results, params->lanes), params, sizeof(*params), words);
}

/* The maximum number of taps of a window inside of the image; and of windows that contain an element. */
static uint64_t taps_of(const struct pool_shape *s)
{
    uint64_t taps = 1;
    for (uint32_t d = 0; d < 3; d++)
        taps *= (uint64_t)BASE_MIN(s->window[d], s->in[d]);
    return taps;
}

static uint64_t windows_of(const struct pool_shape *s)
{
    uint64_t windows = 1;
    for (uint32_t d = 0; d < 3; d++)
        windows *= (uint64_t)BASE_MIN((s->window[d] - 1) * s->dilation[d] / s->stride[d] + 1, s->out[d]);
    return windows;
}

/* ---- POOL ---- */

const char *shader_pool_any_unsupported(const struct kern_op *op)
{
    struct pool_shape s;
    if (!pool_shape_init(op, &s))
        return "no shader for tensors of these ranks";
    return shape_unsupported(op, &s);
}

void shader_pool_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool max = op->u.pool.mode == KERN_POOL_MAX;
    struct pool_shape s;
    pool_shape_init(op, &s);
    add(op, max ? SHADER_pool_max : shader_real_variant(SHADER_pool_real, op), elements_of(op, 1), taps_of(&s), out);
}

void shader_pool_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    struct pool_params params = params_of(&op->u.pool, 0, 1);
    struct pool_shape s;
    pool_shape_init(op, &s);
    write(op, places, elements_of(op, 1), taps_of(&s), &params, words);
}

/* ---- POOL_GRAD ---- */

static uint32_t grad_is_max(const struct kern_op *op)
{
    return op->u.pool_grad.mode == KERN_POOL_MAX;
}

const char *shader_pool_grad_any_unsupported(const struct kern_op *op)
{
    struct pool_shape s;
    if (op->u.pool_grad.mode == KERN_POOL_LP || op->u.pool_grad.has_indices || !pool_shape_init(op, &s))
        return "no shader for tensors of these ranks";
    for (uint32_t d = 0; d < 3; d++)
        if ((s.window[d] - 1) * s.dilation[d] > INT32_MAX) /* windows that contain an element */
            return "the shaders do not count that many elements";
    return shape_unsupported(op, &s);
}

/* Of a maximum, the positions of the largest elements first. */
void shader_pool_grad_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const uint32_t max = grad_is_max(op);
    struct pool_shape s;
    pool_shape_init(op, &s);
    if (max) {
        out->scratch_bytes = 4 * elements_of(op, 1);
        add(op, SHADER_pool_max, elements_of(op, 1), taps_of(&s), out);
    }
    add(op, shader_real_variant(SHADER_pool_grad, op), elements_of(op, op->input_count), windows_of(&s), out);
}

void shader_pool_grad_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    const uint32_t max = grad_is_max(op);
    struct pool_params params = params_of(&op->u.pool_grad, max ? 0 : 1, max);
    struct pool_shape s;
    pool_shape_init(op, &s);
    params.scratch = max && !index;
    if (params.scratch)
        write(op, places, elements_of(op, 1), taps_of(&s), &params, words);
    else
        write(op, places, elements_of(op, op->input_count), windows_of(&s), &params, words);
}

/* ---- images by vectors ---- */

const char *shader_pool_image_unsupported(const struct kern_op *op, bool bytes, struct pool_shape *out)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    const bool is_byte = type == DML_TENSOR_DATA_TYPE_UINT8 || type == DML_TENSOR_DATA_TYPE_INT8;
    if (op->u.pool.mode == KERN_POOL_LP || op->u.pool.has_indices || !pool_shape_init(op, out))
        return "no shader for tensors of these ranks";
    if ((!(is_byte && bytes && op->u.pool.mode == KERN_POOL_MAX) && type != DML_TENSOR_DATA_TYPE_FLOAT32 &&
         type != DML_TENSOR_DATA_TYPE_FLOAT16 && type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16) ||
        op->tensors[1].type != type)
        return "no shader for these data types";
    bool fits = out->window[0] == 1 && out->in[0] == 1 && out->out[0] == 1 && !out->pad[0];
    for (uint32_t d = 1; d < 3; d++)
        fits &= out->pad[d] <= INT16_MAX && out->out[d] <= INT16_MAX && out->stride[d] <= INT16_MAX;
    return fits ? NULL : "no shader for such windows";
}
