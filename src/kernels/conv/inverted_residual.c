/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"

/* Depthwise results of a band: a quarter of a second-level cache. */
#define RESULTS_FLOATS (64 * 1024)

/* Rings of wider images would leave the caches. */
#define HELD_MAX (512 * 1024)

bool residual_shape(const struct kern_op *op, struct inverted_residual *out)
{
    const struct kern_view *x = &op->tensors[0], *w = &op->tensors[1], *y = &op->tensors[op->input_count];
    const struct kern_inverted_residual *p = &op->u.inverted_residual;
    *out = (struct inverted_residual){ x->sizes[0], x->sizes[1], p->image[0], p->image[1], p->middle,
                                       y->sizes[1], y->sizes[2], y->sizes[3], .p = p };
    if (x->rank != 4 || y->rank != 4 || x->sizes[0] != y->sizes[0] || !p->middle)
        return false;
    uint64_t taps = (uint64_t)p->window[0] * p->window[1];
    out->taps = (uint32_t)taps;
    uint64_t depth = (uint64_t)out->c * p->first[0] * p->first[1];
    out->depth = (uint32_t)depth;
    uint64_t all = (depth + taps + 2) * out->m + ((uint64_t)out->m + 1) * out->o;
    for (uint32_t d = 0; d < 2; d++)
        if (!p->image[d] || !p->window[d] || !p->strides[d] || !p->first[d] || !p->first_strides[d])
            return false;
    return depth <= UINT32_MAX && kern_view_packed(w) && kern_view_elements(w) == all &&
           w->type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

static void residual_pack_offsets(struct inverted_residual *b)
{
    b->b1 = (uint64_t)b->middle * b->depth; /* W1 precedes the others */
    b->wd = b->b1 + b->middle;
    b->w2 = b->wd + ((uint64_t)b->taps + 1) * b->middle; /* panel by panel, biases behind the taps */
    b->b2 = b->w2 + (uint64_t)b->out * b->m;
    b->packed = b->b2 + b->out;
}

/* Padding before the image is less than a window, and rows including the reach of windows fit 32 bits. */
static bool padding_fits(const struct inverted_residual *b)
{
    const struct kern_inverted_residual *p = b->p;
    const uint64_t out[] = { b->oh, b->ow };
    for (uint32_t d = 0; d < 2; d++)
        if (p->pad_start[d] >= p->window[d] || p->window[d] > HELD_MAX || p->image[d] > INT32_MAX ||
            (out[d] - 1) * p->strides[d] + p->window[d] > INT32_MAX)
            return false;
    return true;
}

/* Every pixel of X becomes one of the image. */
static bool is_pointwise(const struct kern_inverted_residual *p, const struct kern_view *x)
{
    bool result = true;
    for (uint32_t d = 0; d < 2; d++)
        result = result && p->first[d] == 1 && p->first_strides[d] == 1 && !p->first_start[d] &&
                 p->image[d] == x->sizes[2 + d];
    return result;
}

/* The first convolution as a separate op, which writes pixels. */
static void wide_op(const struct kern_op *op, const struct inverted_residual *b, struct kern_op *out)
{
    const struct kern_inverted_residual *p = b->p;
    const uint32_t w[] = { b->m, b->c, p->first[0], p->first[1] }, bias[] = { 1, b->m, 1, 1 };
    const uint32_t y[] = { b->batch, b->m, b->h, b->w };
    const int64_t row = (int64_t)b->m * b->w;
    memset(out, 0, sizeof(*out));
    out->kind = KERN_CONV;
    out->input_count = 3;
    out->output_count = 1;
    out->packed_input = 2;
    out->u.conv = (struct kern_conv){ .spatial = 2, .groups = 1, .has_bias = true, .dilations = { 1, 1 } };
    for (uint32_t d = 0; d < 2; d++) {
        out->u.conv.strides[d] = p->first_strides[d];
        out->u.conv.pad_start[d] = p->first_start[d];
    }
    out->tensors[0] = op->tensors[0];
    kern_view_set_packed(&out->tensors[1], DML_TENSOR_DATA_TYPE_FLOAT32, 4, w);
    kern_view_set_packed(&out->tensors[2], DML_TENSOR_DATA_TYPE_FLOAT32, 4, bias);
    kern_view_set_packed(&out->tensors[3], DML_TENSOR_DATA_TYPE_FLOAT32, 4, y);
    memcpy(out->tensors[3].strides, (const int64_t[]){ row * b->h, 1, row, b->m }, 4 * sizeof(int64_t));
}

/* A tile of it computes a panel, row by row. */
static bool wide_init(const struct kern_op *op, uint32_t lanes, struct inverted_residual *b)
{
    struct kern_op first;
    wide_op(op, b, &first);
    if (CONV_PW_VECS * lanes < CONV_SMALL_CIN_LANES || !conv_small_cin_init(&first, &b->few))
        return false;
    b->few.rows = 1;
    b->few.in_rows = b->few.s.kernel[1];
    return true;
}

bool residual_init(const struct kern_op *op, uint32_t lanes, struct inverted_residual *out)
{
    const struct kern_inverted_residual *p = &op->u.inverted_residual;
    uint32_t width = CONV_PW_VECS * lanes;
    if (!residual_shape(op, out))
        return false;
    out->wide = !is_pointwise(p, &op->tensors[0]);
    if (!padding_fits(out) ||
        !(out->wide ? wide_init(op, lanes, out) : conv_pw_pixels(&op->tensors[0], &out->x_step)) ||
        !conv_pw_pixels(&op->tensors[op->input_count], &out->y_step) || !conv_pw_epilogue(op, &out->epilogue))
        return false;
    out->middle = (uint32_t)base_align_up(out->m, width);
    out->out = (uint32_t)base_align_up(out->o, width);
    residual_pack_offsets(out);
    out->line = BASE_MAX(p->pad_start[1] + out->w, (out->ow - 1) * p->strides[1] + p->window[1]);
    out->held = (uint64_t)p->window[0] * out->line * out->middle;
    out->pitch = out->middle + CONV_PW_LANES_MAX; /* odd in lines: pixels share no sets of the cache */
    out->band = (uint32_t)BASE_MIN(BASE_MAX(RESULTS_FLOATS / ((uint64_t)out->ow * out->pitch), 1), out->oh);
    out->image = out->held + (uint64_t)out->band * out->ow * out->pitch;
    out->offsets = out->image + (out->wide ? (uint64_t)(out->few.in_rows * out->few.pitch * out->c) : 0);
    out->floats = out->offsets + (out->wide ? out->depth : 0);
    return out->held + (uint64_t)out->ow * out->pitch <= HELD_MAX;
}

#if defined(__aarch64__)
#define LANES_MIN CONV_PW_LANES_neon
#else
#define LANES_MIN CONV_PW_LANES_avx2
#endif

bool kern_inverted_residual_f32_accepts(const struct kern_op *op)
{
    struct inverted_residual b;
    return op->packed_input == 2 && residual_init(op, LANES_MIN, &b) && residual_init(op, CONV_PW_LANES_MAX, &b);
}

/* Units are rows of the output. Too few of them per thread would compute many expanded rows twice. */
static uint64_t residual_plan(const struct inverted_residual *b, struct kern_work *out)
{
    uint64_t row = (uint64_t)b->ow * b->m * ((uint64_t)b->o + b->taps + b->depth);
    *out = (struct kern_work){ .units = (uint64_t)b->batch * b->oh, .grain = BASE_MAX(dense_grain(row / 8), 2) };
    out->worker_scratch_bytes = b->floats * sizeof(float);
    return b->packed * sizeof(float);
}

static void residual_pack(const struct inverted_residual *b, uint32_t width, const float *from, float *packed)
{
    if (b->wide) {
        memset(packed, 0, b->b1 * sizeof(float));
        conv_small_cin_pack(&b->few, from, packed);
    } else {
        conv_pw_panels(from, (const int64_t[]){ b->c, 1 }, b->m, b->c, width, packed);
    }
    from += (uint64_t)b->m * b->depth;
    conv_pw_panels(from, (const int64_t[]){ 1, 1 }, b->m, 1, width, packed + b->b1);
    from += b->m;
    const float *bias = from + (uint64_t)b->taps * b->m;
    for (uint32_t i = 0; i < b->middle; i++)
        for (uint32_t t = 0; t <= b->taps; t++) {
            float value = i >= b->m ? 0 : t < b->taps ? from[(uint64_t)i * b->taps + t] : bias[i];
            packed[b->wd + (uint64_t)(i / width * (b->taps + 1) + t) * width + i % width] = value;
        }
    from = bias + b->m;
    conv_pw_panels(from, (const int64_t[]){ b->m, 1 }, b->o, b->m, width, packed + b->w2);
    conv_pw_panels(from + (uint64_t)b->m * b->o, (const int64_t[]){ 1, 1 }, b->o, 1, width, packed + b->b2);
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(inverted_residual_f32_##isa, struct inverted_residual,                                             \
                    residual_init(op, CONV_PW_LANES_##isa, &plan), residual_plan(&plan, out),                          \
                    residual_pack(&plan, CONV_PW_VECS *CONV_PW_LANES_##isa, source, packed))
KERN_EACH_ISA(ROW)
