/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes by metacommands: conv_int.cu. */
#include "shaders/meta/shader_conv_meta.h"

#define VECTOR 16 /* bytes that are loaded at once */

/* Tiles of m pixels and n channels; nanoseconds of a tile of the busiest multiprocessor, and of a kilobyte of its
 * operands. The first one is for tests of all. */
static const struct kernel {
    enum shader_meta code;
    uint32_t m, n, round, kilobyte;
} kernels[] = {
    { SHADER_META_conv_int_128x64, 128, 64, 4200, 29 },
    { SHADER_META_conv_int_64x32, 64, 32, 2450, 15 },
    { SHADER_META_conv_int_32x32, 32, 32, 1900, 17 },
    { SHADER_META_conv_int_16x16, 16, 16, 2650, 9 },
};

static uint32_t forced;

uint32_t shader_conv_int_meta_kernels(void)
{
    return ARRAY_SIZE(kernels);
}

void shader_conv_int_meta_force(uint32_t kernel)
{
    forced = kernel;
}

static uint32_t count(uint64_t size, uint64_t tile)
{
    return (uint32_t)((size + tile - 1) / tile);
}

static bool is_byte(const struct kern_view *view)
{
    return view->type == DML_TENSOR_DATA_TYPE_INT8 || view->type == DML_TENSOR_DATA_TYPE_UINT8;
}

/* Vectors of this many elements along dimension 1 start at multiples of their size. */
static bool is_wide(const struct kern_view *view, int64_t vector)
{
    if (view->offset % vector || view->sizes[1] % vector || view->strides[1] != 1)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != 1 && view->sizes[d] > 1 && view->strides[d] % vector)
            return false;
    return true;
}

/* Elements of the depth are contiguous: taps outside, input channels inside. */
static bool wide_filter(const struct kern_view *w, const struct conv_params *conv)
{
    const int channels = (int)conv->in_group;
    return is_wide(w, VECTOR) && (conv->kernel[2] == 1 || conv->w[4] == channels) &&
           (conv->kernel[1] == 1 || conv->w[3] == conv->kernel[2] * channels);
}

/* 8-bit results with an epilogue that ends within their range, or plain sums. */
static const char *result_unsupported(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    struct kern_epilogue epilogue;
    const char *found = shader_meta_bytes_unsupported(op, 1);
    if (found)
        return found;
    if (!op->epilogue)
        return y->type == DML_TENSOR_DATA_TYPE_INT32 ? NULL : "no metacommand for these data types";
    shader_epilogue_match(op, &epilogue);
    const struct kern_epilogue_step *last = &epilogue.step[epilogue.count - 1];
    const float low = y->type == DML_TENSOR_DATA_TYPE_INT8 ? -128 : 0, high = low + 255;
    if (!is_byte(y) || epilogue.count > CONV_INT_STEPS || last->code != KERN_MAP_CLAMP || last->p < low ||
        last->q > high)
        return "no metacommand with this epilogue";
    for (uint32_t i = 0; i < epilogue.count; i++) { /* single numbers, or of channels */
        const struct kern_view *view = &op->tensors[epilogue.step[i].tensor];
        for (uint32_t d = 0; epilogue.step[i].tensor && d < view->rank; d++)
            if (d != 1 && view->sizes[d] > 1 && view->strides[d])
                return "no metacommand with this epilogue";
    }
    return NULL;
}

const char *shader_conv_int_meta_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (!op->u.conv.integer || !is_byte(&op->tensors[0]) || !is_byte(&op->tensors[1]))
        return "no metacommand for these data types";
    found = shader_conv_meta_shape_unsupported(&s);
    if (found)
        return found;
    if (s.groups != 1 || !conv_is_plane(&s))
        return "no metacommand for such windows";
    const struct conv_params conv = shader_conv_parameters(op);
    if (s.out_group < TUNE_META_CONV_CHANNELS_MIN)
        return "too few channels";
    if (!is_wide(&op->tensors[0], VECTOR) || !wide_filter(&op->tensors[1], &conv))
        return "no metacommand for these strides";
    return result_unsupported(op);
}

/* min(max(rint(sum * scale) + zero, low), high). */
static bool quantizes(const struct kern_op *op)
{
    static const enum kern_map_code codes[] = { KERN_MAP_MUL, KERN_MAP_RINT, KERN_MAP_ADD, KERN_MAP_CLAMP };
    struct kern_epilogue epilogue;
    if (!op->epilogue || !shader_epilogue_match(op, &epilogue) || epilogue.count != ARRAY_SIZE(codes))
        return false;
    for (uint32_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (epilogue.step[i].code != codes[i])
            return false;
    for (uint32_t t = epilogue.step[2].tensor, d = 0; t && d < op->tensors[t].rank; d++)
        if (op->tensors[t].sizes[d] > 1 && op->tensors[t].strides[d])
            return false; /* zero points of channels */
    return true;
}

static uint32_t tiles_m(const struct kernel *kernel, const struct conv_params *conv, uint32_t images)
{
    return count((uint64_t)conv->out_sizes[1] * (uint64_t)conv->out_sizes[2] * images, kernel->m);
}

static uint32_t tiles_of(const struct kernel *kernel, const struct conv_params *conv, uint32_t images)
{
    return tiles_m(kernel, conv, images) * count(conv->out_group, kernel->n);
}

static uint64_t cost(const struct kernel *kernel, const struct kern_op *op, const struct conv_params *conv)
{
    const uint32_t images = op->tensors[op->input_count].sizes[0];
    const uint64_t depth = (uint64_t)conv->in_group * conv->by_plane.size;
    const uint64_t rounds = count(tiles_of(kernel, conv, images), shader_multiprocessors(op));
    return rounds * (kernel->round + (kernel->m + kernel->n) * depth * kernel->kilobyte / 1024);
}

static const struct kernel *choose(const struct kern_op *op, const struct conv_params *conv)
{
    const struct kernel *best = &kernels[0];
    for (uint32_t i = 1; i < ARRAY_SIZE(kernels); i++)
        if (cost(&kernels[i], op, conv) < cost(best, op, conv))
            best = &kernels[i];
    return forced ? &kernels[(forced - 1) % ARRAY_SIZE(kernels)] : best;
}

void shader_conv_int_meta_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct conv_params conv = shader_conv_parameters(op);
    const uint32_t images = op->tensors[op->input_count].sizes[0];
    const struct kernel *kernel = choose(op, &conv);
    shader_meta_add(out, kernel->code, (uint32_t[3]){ tiles_of(kernel, &conv, images), 1, 1 }, CONV_META_ADDRESSES,
                    sizeof(struct conv_meta_params));
}

void shader_conv_int_meta_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    const struct conv_params conv = shader_conv_parameters(op);
    const struct kern_view *y = &op->tensors[op->input_count];
    const struct kernel *kernel = choose(op, &conv);
    struct conv_meta_params *p = (struct conv_meta_params *)words;
    (void)index; /* there is one */
    *p = shader_conv_meta_parameters(&conv, y->sizes[0]);
    p->tiles_m = tiles_m(kernel, &conv, y->sizes[0]);
    p->tiles = tiles_of(kernel, &conv, y->sizes[0]);
    p->x = shader_meta_place(&places[0]);
    p->w = shader_meta_place(&places[1]);
    p->y = shader_meta_place(&places[op->input_count]);
    if (conv.bias >= 0)
        p->bias = shader_meta_place(&places[conv.bias]);
    shader_meta_epilogue_write(op, 1, places, &p->epilogue);
    if (conv.x_zero >= 0)
        p->epilogue.operands[CONV_INT_X_ZERO] = shader_meta_place(&places[conv.x_zero]);
    if (conv.w_zero >= 0)
        p->epilogue.operands[CONV_INT_W_ZERO] = shader_meta_place(&places[conv.w_zero]);
    p->r_channel = conv.zero_step;
    p->wide_y = is_wide(y, 4);
    p->flags = (op->tensors[0].type == DML_TENSOR_DATA_TYPE_UINT8 ? CONV_INT_X_UNSIGNED : 0) |
               (op->tensors[1].type == DML_TENSOR_DATA_TYPE_UINT8 ? CONV_INT_W_UNSIGNED : 0) |
               (is_byte(y) ? CONV_INT_BYTES : 0) | (quantizes(op) ? CONV_INT_QUANTIZES : 0);
}
