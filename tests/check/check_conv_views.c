/* SPDX-License-Identifier: Apache-2.0 */
#include "check_vulkan_map.h"

#include "check_window.h"

#define WORK_MAX  6000000 /* multiplications, of which the reference makes some millions a second */
#define STEPS_MAX 8       /* SHADER_STEPS_MAX */

static uint32_t pick_of(struct check_rng *rng, const uint32_t *list, uint32_t count)
{
    return list[check_pick(rng, count)];
}

/* Channels last or planes, packed or within a larger tensor, at times where no vectors are. */
static void set_layout(struct check_rng *rng, struct kern_view *view, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                       const uint32_t *sizes)
{
    const uint32_t style = check_pick(rng, 8);
    const bool last = style < 6;
    const uint32_t gap = style < 3                  ? 0
                         : style == 5 || style == 7 ? 1 + check_pick(rng, 7)
                                                    : 8 * (1 + check_pick(rng, 4));
    kern_view_set_packed(view, type, rank, sizes);
    int64_t stride = last ? sizes[1] + gap : 1;
    for (uint32_t d = rank; d-- > 2; stride *= sizes[d])
        view->strides[d] = stride;
    view->strides[1] = last ? 1 : stride;
    view->strides[0] = last ? stride + (style == 4 ? 8 * stride : 0) : stride * (sizes[1] + gap);
}

/* Along some dimensions of the result, in an order of its own. */
static void set_operand(struct check_rng *rng, struct kern_view *view, const struct kern_view *y)
{
    static const uint32_t patterns[] = { 0x1f, 0x1f, 0x1f, 0x3, 0x3, 0x2, 0x1, 0x0, 0x1d, 0x1e, 0x6, 0xb, 0x10 };
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16,
                                                  DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32,
                                                  (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16 };
    const uint32_t pattern = pick_of(rng, patterns, ARRAY_SIZE(patterns));
    const DML_TENSOR_DATA_TYPE type = types[check_pick(rng, ARRAY_SIZE(types))];
    uint32_t small[KERN_RANK_MAX];
    if (pattern == 0x1f && check_pick(rng, 2)) {
        *view = *y;
        view->type = type;
        return;
    }
    for (uint32_t d = 0; d < y->rank; d++)
        small[d] = pattern >> d & 1 ? y->sizes[d] : 1;
    set_layout(rng, view, type, y->rank, small);
    for (uint32_t d = 0; d < y->rank; d++) {
        view->strides[d] = pattern >> d & 1 ? view->strides[d] : 0;
        view->sizes[d] = y->sizes[d];
    }
}

/* Up to `count` steps, each with the value of the one before it. Products are few, so that results stay finite. */
static void set_epilogue(struct check_rng *rng, uint32_t count, struct check_case *out)
{
    static const uint8_t
        binary[] = { KERN_MAP_ADD, KERN_MAP_ADD, KERN_MAP_ADD, KERN_MAP_SUB, KERN_MAP_MIN, KERN_MAP_MAX },
        unary[] = { KERN_MAP_RELU, KERN_MAP_CLAMP,  KERN_MAP_SWISH,      KERN_MAP_LEAKY_RELU, KERN_MAP_SIGMOID,
                    KERN_MAP_ABS,  KERN_MAP_MULADD, KERN_MAP_HARD_SWISH, KERN_MAP_GELU };
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &out->op;
    struct kern_map *map = &out->epilogue;
    const struct kern_view y = op->tensors[op->input_count];
    bool has_operand[STEPS_MAX];
    uint32_t operands = 0;
    op->epilogue_input = op->input_count;
    op->epilogue = map;
    *map = (struct kern_map){ .load_type = { f32 } };
    for (uint32_t i = 0; i < count; i++) {
        has_operand[i] = check_pick(rng, 3) != 0 && operands < 4;
        if (!has_operand[i])
            continue;
        out->data[op->input_count] = CHECK_DATA_NORMAL;
        set_operand(rng, &op->tensors[op->input_count++], &y);
        map->load_type[++operands] = f32;
    }
    op->tensors[op->input_count] = y;
    for (uint32_t i = 0, operand = 1; i < count; i++) {
        struct kern_map_inst *inst = &map->inst[map->inst_count++];
        const uint8_t value = (uint8_t)(i ? operands + i : 0);
        if (has_operand[i])
            *inst = (struct kern_map_inst){
                i ? binary[check_pick(rng, ARRAY_SIZE(binary))] : KERN_MAP_ADD, f32, f32, { value, (uint8_t)operand++ }
            };
        else
            *inst = (struct kern_map_inst){
                unary[check_pick(rng, ARRAY_SIZE(unary))], f32, f32, { value }, { { .f32 = 0.5f }, { .f32 = 40 } }
            };
        if (has_operand[i] && i == 1 && check_pick(rng, 3) == 0)
            inst->code = KERN_MAP_MUL;
    }
    map->store[0] = (uint8_t)(operands + count);
}

/* Sizes of X, W and Y. false: it is too much work. */
static bool set_sizes(struct check_rng *rng, struct kern_conv *conv, uint32_t *x, uint32_t *w, uint32_t *y)
{
    static const uint32_t channels[] = { 8, 16, 24, 40, 64, 72, 136, 17, 30 }, wide[] = { 32, 40, 64, 33, 36 };
    const bool is_long = conv->spatial == 1 && check_pick(rng, 4) == 0, flat = check_pick(rng, 2);
    conv->groups = check_pick(rng, 4) ? 1 : 2 + check_pick(rng, 2);
    w[1] = conv->groups == 1 ? pick_of(rng, channels, ARRAY_SIZE(channels)) : pick_of(rng, wide, ARRAY_SIZE(wide));
    w[0] = conv->groups == 1 ? pick_of(rng, channels, ARRAY_SIZE(channels)) : pick_of(rng, wide, ARRAY_SIZE(wide));
    if (is_long)
        w[1] = w[0] = 8, conv->groups = 1;
    w[0] *= conv->groups;
    x[0] = y[0] = is_long ? 1 : 1 + check_pick(rng, 3);
    x[1] = w[1] * conv->groups;
    y[1] = w[0];
    uint64_t work = (uint64_t)y[0] * y[1] * w[1];
    for (uint32_t d = 0; d < conv->spatial; d++) {
        const bool plane = conv->spatial == 3 && d == 0 && flat; /* windows of one */
        const uint32_t most = plane ? 4 : conv->spatial == 3 ? 9 : is_long ? 20000 : conv->spatial == 1 ? 300 : 24;
        w[2 + d] = plane ? 1 : 1 + check_pick(rng, 4);
        conv->strides[d] = 1 + (check_pick(rng, 3) == 0);
        conv->dilations[d] = 1 + (check_pick(rng, 6) == 0);
        conv->pad_start[d] = check_pick(rng, w[2 + d]);
        const uint32_t window = (w[2 + d] - 1) * conv->dilations[d] + 1;
        x[2 + d] = plane ? 1 + check_pick(rng, most) : window + check_pick(rng, most - window);
        y[2 + d] = (x[2 + d] + conv->pad_start[d] + check_pick(rng, w[2 + d]) - window) / conv->strides[d] + 1;
        work *= (uint64_t)w[2 + d] * y[2 + d];
    }
    return work <= WORK_MAX;
}

void check_conv_views(struct check_rng *rng, struct check_case *out)
{
    const DML_TENSOR_DATA_TYPE f16 = DML_TENSOR_DATA_TYPE_FLOAT16;
    uint32_t x[5], w[5], y[5];
    *out = (struct check_case){ .op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 }, .norm_wise = true };
    struct kern_op *op = &out->op;
    struct kern_conv *conv = &op->u.conv;
    conv->spatial = (uint32_t[]){ 1, 2, 2, 2, 3 }[check_pick(rng, 5)];
    do
        memset(x, 0, sizeof(x));
    while (!set_sizes(rng, conv, x, w, y));
    const uint32_t rank = conv->spatial + 2;
    conv->has_bias = check_pick(rng, 2);
    set_layout(rng, &op->tensors[0], f16, rank, x);
    kern_view_set_packed(&op->tensors[1], f16, rank, w);
    if (check_pick(rng, 8))
        check_filter_last(&op->tensors[1]);
    if (conv->has_bias)
        kern_view_set_packed(&op->tensors[op->input_count++], f16, rank, (uint32_t[5]){ 1, y[1], 1, 1, 1 });
    set_layout(rng, &op->tensors[op->input_count], f16, rank, y);
    op->epilogue_input = op->input_count;
    const uint32_t steps = check_pick(rng, 6) ? check_pick(rng, 4) : STEPS_MAX;
    if (steps)
        set_epilogue(rng, steps, out);
}
