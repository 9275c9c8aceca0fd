/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_plans.h"

#include "kernels/core/choice.h"
#include "kernels/core/packed_row.h"

#include <math.h>

/* Tiles of a block: its pixels of X and Y stay in the second-level cache next to a panel. */
#define BLOCK_BYTES (384 * 1024)

#define MOVED_BYTES (2 * 1024 * 1024)

/* Fewer pixels leave most of a tile empty. */
#define PIXELS_MIN 8

bool conv_pixels(const struct kern_view *view, int64_t *out_step)
{
    int64_t step = 0, next = 0;
    bool found = false;
    if (view->sizes[1] > 1 && view->strides[1] != 1)
        return false;
    for (uint32_t i = view->rank; i-- > 1;) {
        uint32_t d = i == 1 ? 0 : i; /* the batch comes last */
        if (view->sizes[d] == 1)
            continue;
        if (found && view->strides[d] != next)
            return false;
        if (!found)
            step = next = view->strides[d];
        found = true;
        next *= view->sizes[d];
    }
    *out_step = found ? step : view->sizes[1];
    return *out_step >= view->sizes[1];
}

bool conv_pw_pixels(const struct kern_view *view, int64_t *out_step)
{
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && conv_pixels(view, out_step);
}

bool conv_epilogue_init(const struct kern_op *op, struct kern_epilogue *out)
{
    static const struct kern_epilogue_support support = {
        CONV_EPILOGUE_MAX,
        { [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_LEAKY_RELU] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_ADD] = KERN_EPILOGUE_NUMBER | KERN_EPILOGUE_TENSOR,
          [KERN_MAP_MUL] = KERN_EPILOGUE_NUMBER,
          [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER,
          [KERN_MAP_MAX] = KERN_EPILOGUE_NUMBER },
    };
    bool result = kern_epilogue_match(op, &support, out);
    for (uint32_t i = 0; result && i < out->count; i++) {
        const struct kern_view *added = &op->tensors[out->step[i].tensor];
        result = !out->step[i].tensor ||
                 (added->type == DML_TENSOR_DATA_TYPE_FLOAT32 && added->rank == op->tensors[op->input_count].rank);
    }
    return result;
}

bool conv_pw_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out)
{
    bool result = conv_epilogue_init(op, &out->post);
    for (uint32_t i = 0; result && i < out->post.count; i++) {
        uint32_t tensor = out->post.step[i].tensor;
        out->step[i] = 0;
        result = !tensor || conv_pw_pixels(&op->tensors[tensor], &out->step[i]);
    }
    return result;
}

bool conv_pw_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_pw *out)
{
    const struct conv_shape *s = &out->s;
    *out = (struct conv_pw){ 0 };
    if (!conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) || !conv_shape_init(op, &out->s) || !conv_is_pointwise(s) ||
        memcmp(s->in, s->out, sizeof(s->in)) != 0 || !conv_pw_pixels(&op->tensors[0], &out->x_step) ||
        !conv_pw_pixels(&op->tensors[op->input_count], &out->y_step) || !conv_pw_epilogue(op, &out->epilogue))
        return false;
    uint32_t width = CONV_PW_VECS * lanes;
    out->pixels = (uint64_t)s->batch * (uint64_t)(s->out[0] * s->out[1] * s->out[2]);
    out->tiles = (out->pixels + rows - 1) / rows;
    out->k = s->in_channels;
    out->columns = s->out_channels;
    out->vecs = (s->out_channels + lanes - 1) / lanes;
    out->panels = (s->out_channels + width - 1) / width;
    uint64_t tile_bytes = ((uint64_t)out->k + out->columns) * rows * sizeof(float);
    uint64_t block = BASE_MAX(BLOCK_BYTES / tile_bytes, 4);
    out->blocks = (out->tiles + block - 1) / block;
    return out->pixels >= PIXELS_MIN;
}

/* Time over oneDNN's, as measured. With few multiply-adds for each element of tensors that leave the caches, writing is
 * what counts. */
static double pointwise_cost(const struct conv_pw *p)
{
#if defined(ANYDML_DNNL)
    return p->k <= 32 && p->pixels * ((uint64_t)p->k + p->columns) * sizeof(float) > MOVED_BYTES ? 1.1 : 0.9;
#else
    (void)p;
    return 0.1; /* nothing else is nearly as fast */
#endif
}

bool kern_conv_pw_f32_accepts(const struct kern_op *op)
{
    struct conv_pw p;
    return op->packed_input == 2 && conv_pw_init(op, 1, 1, &p) &&
           kern_pays(op, KERN_CHOICE_pointwise, pointwise_cost(&p));
}

double kern_conv_pw_cost(const struct kern_op *op)
{
    struct conv_pw p;
    return conv_pw_init(op, 1, 1, &p) ? pointwise_cost(&p) : INFINITY;
}

/* Units are vectors of a tile: block by block, there panel by panel. Who has the first of a panel's does the others. */
static uint64_t conv_pw_plan(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct kern_work *out)
{
    struct conv_pw p;
    conv_pw_init(op, rows, lanes, &p);
    *out = (struct kern_work){ .units = p.tiles * p.vecs };
    out->grain = dense_grain((uint64_t)p.k * rows);
    out->worker_scratch_bytes = (uint64_t)p.panels * CONV_PW_VECS * lanes * sizeof(float);
    return out->worker_scratch_bytes * p.k;
}

/* Zeros behind the last column. */
static void conv_pw_pack(const struct kern_op *op, uint32_t lanes, const float *source, float *packed)
{
    const struct kern_view *w = &op->tensors[1];
    uint32_t width = CONV_PW_VECS * lanes, columns = w->sizes[0], k = w->sizes[1];
    for (uint32_t first = 0; first < columns; first += width)
        for (uint32_t i = 0; i < k; i++)
            for (uint32_t c = first; c < first + width; c++)
                *packed++ = c < columns ? source[c * w->strides[0] + i * w->strides[1]] : 0;
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_pw_f32_##isa, conv_pw_plan(op, CONV_PW_ROWS_##isa, CONV_PW_LANES_##isa, out),                 \
                    conv_pw_pack(op, CONV_PW_LANES_##isa, source, packed))
KERN_EACH_ISA(ROW)
