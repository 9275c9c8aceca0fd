/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of pooling and its gradient. */
#include "kernels/pool/pool.h"
#include "shaders/core/shader_block.h"
#include "shaders/pool/pool_params.h"

_Static_assert(POOL_AVERAGE == KERN_POOL_AVERAGE && POOL_LP == KERN_POOL_LP && POOL_MAX == KERN_POOL_MAX,
               "the shaders have these numbers");

/* Makes the view's rank 5. */
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

/* The shaders count positions in 32 bits. */
static const char *shape_obstacle(const struct kern_op *op, const struct pool_shape *s)
{
    for (uint32_t d = 0; d < 3; d++)
        if ((s->window[d] - 1) * s->dilation[d] > INT32_MAX || s->pad[d] + s->dilation[d] + s->in[d] > INT32_MAX ||
            (s->out[d] - 1) * s->stride[d] > INT32_MAX)
            return "the shaders do not count that many elements";
    return shader_block_obstacle(op);
}

static uint64_t elements_of(const struct kern_op *op, uint32_t tensor)
{
    return kern_view_elements(&op->tensors[tensor]);
}

static void add(const struct kern_op *op, enum shader_code code, uint64_t units, struct shader_work *out)
{
    struct kern_op wide;
    spread_all(op, &wide);
    shader_add(out, code, &wide, units, SHADER_GROUP_SIZE, sizeof(struct pool_params));
}

static void write(const struct kern_op *op, const struct shader_place *places, uint64_t units,
                  const struct pool_params *params, uint32_t *words)
{
    struct kern_op wide;
    spread_all(op, &wide);
    shader_block_write(&wide, places, units, params, sizeof(*params), words);
}

/* ---- POOL ---- */

const char *shader_pool_any_obstacle(const struct kern_op *op)
{
    struct pool_shape s;
    if (!pool_shape_init(op, &s))
        return "there is no shader for it with tensors of these ranks";
    return shape_obstacle(op, &s);
}

void shader_pool_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool max = op->u.pool.mode == KERN_POOL_MAX;
    add(op, max ? SHADER_pool_max : shader_real_variant(SHADER_pool_real, op), elements_of(op, 1), out);
}

void shader_pool_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct pool_params params = params_of(&op->u.pool, 0, 1);
    write(op, places, elements_of(op, 1), &params, words);
}

/* ---- POOL_GRAD ---- */

static uint32_t grad_is_max(const struct kern_op *op)
{
    return op->u.pool_grad.mode == KERN_POOL_MAX;
}

const char *shader_pool_grad_any_obstacle(const struct kern_op *op)
{
    struct pool_shape s;
    if (op->u.pool_grad.mode == KERN_POOL_LP || !pool_shape_init(op, &s))
        return "there is no shader for it with tensors of these ranks";
    return shape_obstacle(op, &s);
}

/* Of a maximum, the positions of the greatest elements first. */
void shader_pool_grad_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const uint32_t max = grad_is_max(op);
    if (max) {
        out->scratch_bytes = 4 * elements_of(op, 1);
        add(op, SHADER_pool_max, elements_of(op, 1), out);
    }
    add(op, shader_real_variant(SHADER_pool_grad, op), elements_of(op, op->input_count), out);
}

void shader_pool_grad_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    const uint32_t max = grad_is_max(op);
    struct pool_params params = params_of(&op->u.pool_grad, max ? 0 : 1, max);
    params.scratch = max && !index;
    write(op, places, elements_of(op, params.scratch ? 1 : op->input_count), &params, words);
}
