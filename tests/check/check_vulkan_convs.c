/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with channels innermost, of which all is loaded and stored by whole vectors, as random cases seldom are:
 * with parts of the sums in one workgroup and in several, subgroups side by side, and pixels of several images in one
 * tile. */
#include "check_vulkan_map.h"

#include "check_window.h"

#include "shaders/gemm/shader_tile.h"

static const struct {
    uint32_t batch, in, size, out, groups, kernel, step, pad;
    bool bare; /* without a bias */
} convs[] = { { 2, 64, 37, 136, 1, 3, 1, 1, false }, { 3, 40, 19, 72, 1, 3, 1, 0, false },
              { 1, 3, 29, 66, 1, 7, 2, 3, false },   { 2, 136, 9, 30, 1, 2, 3, 1, false },
              { 5, 8, 6, 20, 1, 5, 1, 2, true },     { 1, 64, 9, 40, 1, 3, 1, 1, false },
              { 3, 32, 5, 64, 1, 3, 2, 1, false },   { 1, 512, 4, 32, 1, 1, 1, 0, true },
              { 1, 256, 3, 72, 1, 3, 1, 1, false },  { 1, 8, 70, 136, 1, 1, 1, 0, false },
              { 2, 32, 12, 32, 2, 3, 1, 1, true },   { 2, 24, 11, 24, 24, 3, 1, 1, false },
              { 1, 16, 13, 16, 16, 5, 2, 2, false }, { 3, 72, 14, 72, 72, 3, 2, 1, false },
              { 1, 40, 9, 40, 40, 5, 1, 2, true },   { 2, 136, 7, 136, 136, 3, 1, 0, false },
              { 1, 32, 37, 32, 1, 3, 1, 1, false },  { 1, 64, 35, 72, 1, 3, 1, 1, false },
              { 2, 3, 75, 64, 1, 7, 2, 3, false },   { 3, 3, 40, 72, 1, 3, 1, 1, true },
              { 1, 5, 21, 24, 1, 5, 1, 2, false },   { 2, 32, 37, 3, 1, 3, 1, 1, false },
              { 1, 24, 66, 8, 1, 3, 1, 1, true },    { 2, 72, 7, 72, 72, 7, 1, 3, false },
              { 1, 40, 15, 40, 40, 5, 2, 2, false }, { 1, 136, 21, 264, 1, 3, 1, 1, false } };

/* Number i of the list, with so many input channels; except for the types. */
static void set_window(uint32_t i, uint32_t channels, DML_TENSOR_DATA_TYPE *types, struct check_case *out)
{
    const uint32_t size = (convs[i].size + 2 * convs[i].pad - convs[i].kernel) / convs[i].step + 1,
                   groups = convs[i].groups;
    *out = (struct check_case){ .op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 }, .norm_wise = true };
    struct kern_conv *conv = &out->op.u.conv;
    struct kern_view *t = out->op.tensors;
    conv->spatial = 2;
    conv->groups = groups;
    conv->has_bias = !convs[i].bare;
    for (uint32_t d = 0; d < 2; d++) {
        conv->strides[d] = convs[i].step;
        conv->dilations[d] = 1;
        conv->pad_start[d] = convs[i].pad;
    }
    kern_view_set_packed(&t[0], types[0], 4, (uint32_t[]){ convs[i].batch, channels, convs[i].size, convs[i].size });
    kern_view_set_packed(&t[1], types[1], 4,
                         (uint32_t[]){ convs[i].out, channels / groups, convs[i].kernel, convs[i].kernel });
    if (conv->has_bias)
        kern_view_set_packed(&t[out->op.input_count++], types[2], 4, (uint32_t[]){ 1, convs[i].out, 1, 1 });
    kern_view_set_packed(&t[out->op.input_count], types[3], 4,
                         (uint32_t[]){ convs[i].batch, convs[i].out, size, size });
    check_channels_last(&t[0]);
    check_filter_last(&t[1]);
    check_channels_last(&t[out->op.input_count]);
}

bool check_vulkan_convs(uint32_t i, DML_TENSOR_DATA_TYPE type, struct check_case *out)
{
    if (i >= ARRAY_SIZE(convs))
        return false;
    set_window(i, convs[i].in, (DML_TENSOR_DATA_TYPE[]){ type, type, type, type }, out);
    return true;
}

/* A dimension before the others, whose only window is in the padding beside the only element. */
static void add_beside(uint32_t *values, uint32_t value)
{
    values[2] = values[1];
    values[1] = values[0];
    values[0] = value;
}

bool check_vulkan_beside(uint32_t i, enum kern_kind kind, struct check_case *out)
{
    static const uint32_t images[] = { 0, 1, 11, 16 };
    static const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    if (i >= ARRAY_SIZE(images))
        return false;
    set_window(images[i], convs[images[i]].in, (DML_TENSOR_DATA_TYPE[]){ f32, f32, f32, f32 }, out);
    struct kern_conv conv = out->op.u.conv;
    for (uint32_t t = 0; t < out->op.input_count + out->op.output_count; t++) {
        struct kern_view *view = &out->op.tensors[t];
        memmove(&view->sizes[3], &view->sizes[2], 2 * sizeof(*view->sizes));
        memmove(&view->strides[3], &view->strides[2], 2 * sizeof(*view->strides));
        view->sizes[2] = 1;
        view->strides[2] = 0;
        view->rank = 5;
    }
    add_beside(conv.strides, CHECK_STEPS_BESIDE.stride);
    add_beside(conv.dilations, 1);
    add_beside(conv.pad_start, CHECK_STEPS_BESIDE.start);
    conv.spatial = 3;
    out->op.u.conv = conv;
    if (kind != KERN_POOL)
        return true;
    struct kern_pool pool = { .mode = i % 2 ? KERN_POOL_MAX : KERN_POOL_AVERAGE, .spatial = 3, .p = 2 };
    struct kern_view *t = out->op.tensors, result = t[out->op.input_count];
    for (uint32_t d = 0; d < 3; d++) {
        pool.strides[d] = conv.strides[d];
        pool.dilations[d] = conv.dilations[d];
        pool.pad_start[d] = conv.pad_start[d];
        pool.window[d] = d ? convs[images[i]].kernel : 1;
    }
    const uint32_t sizes[] = { t[0].sizes[0], t[0].sizes[1], 1, result.sizes[3], result.sizes[4] };
    kern_view_set_packed(&t[1], f32, 5, sizes);
    if (i > 1)
        check_channels_last(&t[1]);
    else
        kern_view_set_packed(&t[0], f32, 5, (uint32_t[]){ sizes[0], sizes[1], 1, t[0].sizes[3], t[0].sizes[4] });
    out->op.kind = KERN_POOL;
    out->op.input_count = 1;
    out->op.u.pool = pool;
    return true;
}

/* ---- gradients of weights ---- */

/* Of a convolution of several images: an image of the gradient's is a channel, its window an image of the results. */
static const struct {
    uint32_t images, channels, out, groups, spatial, size, kernel, step, dilation, pad;
    bool last; /* channels are innermost */
} gradients[] = { { 3, 20, 70, 1, 2, 13, 3, 1, 1, 1, false }, { 2, 40, 33, 1, 2, 11, 3, 1, 1, 1, true },
                  { 2, 3, 130, 1, 2, 30, 7, 2, 1, 3, false }, { 3, 140, 20, 1, 2, 9, 1, 1, 1, 0, true },
                  { 2, 12, 24, 2, 2, 14, 3, 2, 2, 2, false }, { 4, 33, 140, 1, 2, 8, 1, 2, 1, 0, false },
                  { 1, 9, 10, 1, 3, 7, 2, 1, 2, 1, false },   { 2, 24, 70, 1, 1, 150, 5, 3, 2, 4, true },
                  { 3, 36, 36, 1, 2, 12, 3, 1, 1, 1, false }, { 2, 17, 19, 1, 2, 15, 4, 3, 1, 0, true } };

bool check_vulkan_gradients(uint32_t i, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16,
                                                  (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16 };
    const uint32_t at = i / 3, rank = at < ARRAY_SIZE(gradients) ? gradients[at].spatial + 2 : 0;
    uint32_t x[5], w[5], y[5];
    if (!rank)
        return false;
    const uint32_t groups = gradients[at].groups, of_group = gradients[at].channels / groups;
    *out = (struct check_case){ .op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 }, .norm_wise = true };
    struct kern_conv *conv = &out->op.u.conv;
    conv->spatial = rank - 2;
    conv->groups = groups;
    x[0] = of_group;
    x[1] = groups * gradients[at].images;
    w[0] = gradients[at].out;
    w[1] = gradients[at].images;
    y[0] = gradients[at].out; /* packed with its batch and channels exchanged */
    y[1] = of_group;
    for (uint32_t d = 0; d < conv->spatial; d++) {
        const uint32_t span = (gradients[at].kernel - 1) * gradients[at].dilation + 1, size = gradients[at].size + d;
        x[2 + d] = size;
        w[2 + d] = (size + 2 * gradients[at].pad - span) / gradients[at].step + 1;
        y[2 + d] = gradients[at].kernel;
        conv->strides[d] = gradients[at].dilation;
        conv->dilations[d] = gradients[at].step;
        conv->pad_start[d] = gradients[at].pad;
    }
    kern_view_set_packed(&out->op.tensors[0], types[i % 3], rank, x);
    kern_view_set_packed(&out->op.tensors[1], types[i % 3], rank, w);
    kern_view_set_packed(&out->op.tensors[2], types[i % 3], rank, y);
    for (uint32_t t = 0; t < 2 && gradients[at].last; t++)
        check_batch_innermost(&out->op.tensors[t]);
    struct kern_view *result = &out->op.tensors[2];
    const int64_t of_out = result->strides[0];
    result->sizes[0] = of_group;
    result->sizes[1] = gradients[at].out;
    result->strides[0] = result->strides[1];
    result->strides[1] = of_out;
    shader_block_force(i % 5, 1 + i % 4);
    shader_coop_force(i % 7, 1 + i % 4);
    return true;
}

/* ---- of bytes ---- */

/* Another input, before the result. */
static struct kern_view *add_input(struct kern_op *op, DML_TENSOR_DATA_TYPE type, const uint32_t *sizes)
{
    op->tensors[op->input_count + 1] = op->tensors[op->input_count];
    kern_view_set_packed(&op->tensors[op->input_count], type, 4, sizes);
    return &op->tensors[op->input_count++];
}

/* min(max(rint(sum * scale of the channel) + zero, 0), 255). */
static void quantize(struct check_case *out)
{
    uint32_t sizes[4];
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_map *map = &out->epilogue;
    memcpy(sizes, out->op.tensors[out->op.input_count].sizes, sizeof(sizes));
    out->op.epilogue_input = out->op.input_count;
    out->op.epilogue = map;
    struct kern_view *scale = add_input(&out->op, DML_TENSOR_DATA_TYPE_FLOAT32, sizes);
    out->data[out->op.input_count - 1] = CHECK_DATA_NORMAL;
    scale->strides[0] = scale->strides[2] = scale->strides[3] = 0;
    scale->strides[1] = 1;
    struct kern_view *zero = add_input(&out->op, DML_TENSOR_DATA_TYPE_UINT8, sizes);
    memset(zero->strides, 0, sizeof(zero->strides));
    for (uint32_t i = 0; i < 3; i++)
        map->load_type[i] = f32;
    map->inst[0] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { 0, 1 } };
    map->inst[1] = (struct kern_map_inst){ KERN_MAP_RINT, f32, f32, { 3 } };
    map->inst[2] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { 4, 2 } };
    map->inst[3] = (struct kern_map_inst){ KERN_MAP_CLAMP, f32, f32, { 5 }, { { .f32 = 0 }, { .f32 = 255 } } };
    map->inst_count = 4;
    map->store[0] = 6;
}

bool check_vulkan_byte_convs(uint32_t i, struct check_case *out)
{
    const DML_TENSOR_DATA_TYPE i8 = DML_TENSOR_DATA_TYPE_INT8, u8 = DML_TENSOR_DATA_TYPE_UINT8,
                               i32 = DML_TENSOR_DATA_TYPE_INT32;
    if (i >= ARRAY_SIZE(convs))
        return false;
    const bool quantized = i % 2;
    const uint32_t one[] = { 1, 1, 1, 1 }, all[] = { 1, convs[i].out, 1, 1 };
    DML_TENSOR_DATA_TYPE types[] = { i % 3 ? u8 : i8, i % 5 ? i8 : u8, i32, quantized ? u8 : i32 };
    set_window(i, (uint32_t)base_align_up(convs[i].in, convs[i].groups == 1 ? 16 : 1), types, out);
    out->op.u.conv.integer = true;
    out->op.u.conv.has_x_zero = i % 4 != 3;
    out->op.u.conv.has_w_zero = i % 4 > 1;
    if (out->op.u.conv.has_x_zero)
        add_input(&out->op, types[0], one);
    if (out->op.u.conv.has_w_zero)
        add_input(&out->op, types[1], all);
    if (quantized)
        quantize(out);
    return true;
}
