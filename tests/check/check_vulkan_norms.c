/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations of groups of channels, or of lines: channels or pixels innermost, groups that vectors do not end with,
 * one or several dispatches, with scale and bias of each channel or each element, and with a residual and activations
 * at the end. Not all are for each row. */
#include "check_vulkan_map.h"

static void set_strides(struct kern_view *view, bool last)
{
    const uint32_t *s = view->sizes;
    const int64_t channels = (int64_t)s[1] * s[2], pixels = s[3];
    view->strides[0] = channels * pixels;
    view->strides[1] = s[2] * (last ? 1 : pixels);
    view->strides[2] = last ? 1 : pixels;
    view->strides[3] = last ? channels : 1;
}

/* A number for each channel, for each image and channel, for each element of an image, or for each element. */
static void set_parameter(struct kern_view *view, uint32_t which, bool last)
{
    if (which == 2 || which == 3)
        set_strides(view, last);
    else
        memcpy(view->strides, (int64_t[]){ which ? (int64_t)view->sizes[1] * view->sizes[2] : 0, view->sizes[2], 1, 0 },
               4 * sizeof(int64_t));
    if (which == 2)
        view->strides[0] = 0;
}

/* SWISH, or the sum with a residual of Y's layout, another, or one number for each channel, and then RELU. */
static void add_epilogue(uint32_t which, bool last, struct check_case *c)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &c->op;
    struct kern_map *map = &c->epilogue;
    op->epilogue_input = op->input_count;
    if (!which)
        return;
    op->epilogue = map;
    map->load_type[0] = map->load_type[1] = f32;
    if (which == 1) {
        map->inst[map->inst_count] = (struct kern_map_inst){ KERN_MAP_SWISH, f32, f32, { 0 } };
        map->inst[map->inst_count++].imm[0].f32 = 1;
        map->store[0] = 1;
        return;
    }
    op->tensors[op->input_count + 1] = op->tensors[op->input_count];
    set_parameter(&op->tensors[op->input_count++], which == 4 ? 0 : 3, last == (which == 2));
    map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { 0, 1 } };
    map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_RELU, f32, f32, { 2 } };
    map->store[0] = 3;
}

bool check_list_norms(uint32_t i, struct check_case *c)
{
    static const struct {
        uint32_t sizes[4]; /* images, groups, channels of one, pixels */
        bool last;         /* channels are innermost */
    } shapes[] = {
        { { 2, 32, 10, 64 }, true },  { { 1, 4, 80, 50 }, true },   { { 3, 5, 3, 1000 }, true },
        { { 2, 8, 1, 900 }, true },   { { 1, 1, 320, 49 }, true },  { { 1, 3, 7, 5000 }, true },
        { { 2, 6, 4, 301 }, true },   { { 2, 8, 20, 256 }, false }, { { 1, 3, 5, 4100 }, false },
        { { 2, 2, 3, 1225 }, false }, { { 1, 2, 40, 49 }, false },  { { 1, 1, 3, 30000 }, false },
        { { 1, 300, 2, 200 }, true }, { { 1, 2, 16, 9000 }, true }, { { 2, 40, 1, 320 }, false },
        { { 1, 9, 1, 77 }, false },   { { 3, 5, 1, 2056 }, false },
    };
    static const DML_TENSOR_DATA_TYPE types[][3] = {
        /* X, parameters, Y */
        { DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16 },
        { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32 },
        { DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16 },
        { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16 }
    };
    if (i >= ARRAY_SIZE(shapes) * 5)
        return false;
    const uint32_t variant = i % 5, shape = i / 5, *sizes = shapes[shape].sizes;
    const bool last = shapes[shape].last, other = (shape + variant) % 7 == 6; /* Y has the other layout */
    const DML_TENSOR_DATA_TYPE *type = types[(shape + variant) % ARRAY_SIZE(types)];
    struct kern_op *op = &c->op;
    *c = (struct check_case){ .op = { .kind = KERN_NORM, .output_count = 1 } };
    op->u.norm = (struct kern_norm){ .axes = 0xc,
                                     .epsilon = 1e-5f,
                                     .use_mean = variant != 3,
                                     .use_variance = i % 11 != 10,
                                     .has_scale = variant != 1,
                                     .has_bias = variant % 3 != 1 };
    const uint32_t own = 1 + op->u.norm.has_scale + op->u.norm.has_bias;
    for (uint32_t t = 0; t <= own; t++) {
        kern_view_set_packed(&op->tensors[t], type[t == own ? 2 : t > 0], 4, sizes);
        set_strides(&op->tensors[t], t == own ? last != other : last);
        if (t && t < own)
            set_parameter(&op->tensors[t], (variant + shape / 3) % 4, last);
    }
    op->input_count = own;
    add_epilogue((variant + shape) % 5, last != other, c);
    return true;
}
