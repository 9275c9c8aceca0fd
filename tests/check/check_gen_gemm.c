/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"
#include "kernels/core/epilogue.h"

#include <math.h>

static void swap_last(struct kern_view *view)
{
    uint32_t m = view->rank - 2, n = view->rank - 1, size = view->sizes[m];
    int64_t stride = view->strides[m];
    view->sizes[m] = view->sizes[n];
    view->strides[m] = view->strides[n];
    view->sizes[n] = size;
    view->strides[n] = stride;
}

/* Columns are packed instead of rows. */
static void transpose(struct kern_view *view)
{
    uint32_t sizes[KERN_RANK_MAX];
    memcpy(sizes, view->sizes, sizeof(sizes));
    sizes[view->rank - 2] = view->sizes[view->rank - 1];
    sizes[view->rank - 1] = view->sizes[view->rank - 2];
    kern_view_set_packed(view, view->type, view->rank, sizes);
    swap_last(view);
}

/* A matrix per batch: packed rows or columns, or any layout; batches may share one. */
static void matrix(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                   const uint32_t *batch, uint32_t rows, uint32_t columns)
{
    uint32_t sizes[KERN_RANK_MAX];
    bool transposed = check_chance(rng, 2);
    memcpy(sizes, batch, (rank - 2) * sizeof(*sizes));
    sizes[rank - 2] = transposed ? columns : rows;
    sizes[rank - 1] = transposed ? rows : columns;
    if (check_chance(rng, 3))
        check_view(rng, out, type, rank, sizes);
    else
        kern_view_set_packed(out, type, rank, sizes);
    for (uint32_t d = 0; d + 2 < rank; d++) {
        if (check_chance(rng, 4))
            out->strides[d] = 0;
    }
    if (check_chance(rng, 12))
        out->strides[rank - 1 - check_pick(rng, 2)] = 0;
    if (transposed)
        swap_last(out);
}

void check_few(struct check_case *c, const struct kern_view *y)
{
    if (kern_view_elements(y) >= 64)
        return;
    for (uint32_t i = 0; i < c->op.input_count; i++)
        c->data[i] = CHECK_DATA_POSITIVE;
    if (c->op.kind == KERN_GEMM)
        c->op.u.gemm.alpha = c->op.u.gemm.beta = 1;
}

void check_half(struct check_rng *rng, struct kern_op *op, uint32_t factors, struct kern_view *y)
{
    if (check_chance(rng, 2))
        return;
    op->flags |= KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
    for (uint32_t t = 0; t < factors; t++)
        if (check_chance(rng, 2))
            op->tensors[t].type = ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    if (check_chance(rng, 2))
        y->type = ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

DML_TENSOR_DATA_TYPE check_byte_type(struct check_rng *rng)
{
    return check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_INT8 : DML_TENSOR_DATA_TYPE_UINT8;
}

/* A step between the first of a requantisation and those after it; its operand is a new input like the scale. */
static void insert_step(struct check_case *c, uint8_t code, bool one, enum check_data data)
{
    struct kern_map *map = &c->epilogue;
    struct kern_op *op = &c->op;
    const uint32_t operand = op->input_count, inputs = operand - op->epilogue_input + 2;
    op->tensors[operand + 1] = op->tensors[operand];
    op->tensors[operand] = op->tensors[op->epilogue_input];
    if (one)
        memset(op->tensors[operand].strides, 0, sizeof(op->tensors[operand].strides));
    c->data[operand] = data;
    op->input_count++;
    memmove(&map->inst[2], &map->inst[1], (map->inst_count - 1u) * sizeof(*map->inst));
    map->inst_count++;
    map->load_type[inputs - 1] = map->load_type[0];
    map->inst[1] = map->inst[0];
    map->inst[1].code = code;
    map->inst[1].src[1] = (uint8_t)(inputs - 1);
    for (uint32_t i = 1; i < map->inst_count; i++)
        map->inst[i].src[0] = (uint8_t)(inputs + i - 1);
    map->store[0] = (uint8_t)(inputs + map->inst_count - 1);
}

/* clamp(rint((x * scale [+ bias]) [/ divisor]) + zero point) */
static void requantize(struct check_rng *rng, struct check_case *c, uint32_t dim)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &c->op;
    struct kern_map *map = &c->epilogue;
    uint32_t at = op->input_count;
    bool is_signed = check_chance(rng, 3);
    op->epilogue = map;
    op->epilogue_input = at;
    op->tensors[at + 1] = op->tensors[at + 2] = op->tensors[at];
    op->tensors[at + 2].type = is_signed ? DML_TENSOR_DATA_TYPE_INT8 : DML_TENSOR_DATA_TYPE_UINT8;
    for (uint32_t t = at; t < at + 2; t++) {
        op->tensors[t].type = t == at ? DML_TENSOR_DATA_TYPE_FLOAT32 : op->tensors[at + 2].type;
        for (uint32_t d = 0; d < op->tensors[t].rank; d++)
            op->tensors[t].strides[d] = t == at && d == dim && !check_chance(rng, 3);
        c->data[t] = t == at ? CHECK_DATA_SMALL : CHECK_DATA_SPECIAL;
    }
    op->input_count = at + 2;
    map->load_type[0] = map->load_type[1] = map->load_type[2] = f32;
    map->inst[0] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { 0, 1 }, { { 0 } } };
    map->inst[1] = (struct kern_map_inst){ KERN_MAP_RINT, f32, f32, { 3 }, { { 0 } } };
    map->inst[2] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { 4, 2 }, { { 0 } } };
    map->inst[3] = (struct kern_map_inst){ KERN_MAP_CLAMP, f32, f32, { 5 }, { { 0 } } };
    map->inst[3].imm[0].f32 = is_signed ? -128 : 0;
    map->inst[3].imm[1].f32 = is_signed ? 127 : 255;
    map->inst_count = 4;
    map->store[0] = 6;
    if (check_chance(rng, 4)) /* a fraction is cut off */
        map->inst[1].code = KERN_MAP_RELU;
    else if (check_chance(rng, 2))
        insert_step(c, KERN_MAP_DIV, true, check_chance(rng, 8) ? CHECK_DATA_SPECIAL : CHECK_DATA_SMALL);
    if (check_chance(rng, 3))
        insert_step(c, KERN_MAP_ADD, false, CHECK_DATA_NORMAL);
}

void check_integer_output(struct check_rng *rng, struct check_case *c, uint32_t dim)
{
    struct kern_op *op = &c->op;
    for (uint32_t i = 0; i < op->input_count; i++)
        c->data[i] = CHECK_DATA_SPECIAL;
    if (!op->epilogue) {
        if (check_chance(rng, 2))
            requantize(rng, c, dim);
        return;
    }
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16,
                                                  DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_UINT8 };
    op->tensors[op->input_count].type = types[check_pick(rng, ARRAY_SIZE(types))];
    for (uint32_t i = op->epilogue_input; i < op->input_count; i++)
        c->data[i] = CHECK_DATA_NORMAL;
}

/* A zero point that repeats along all dimensions but one, along which it may. */
static void zero_point(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                       const uint32_t *sizes, uint32_t along)
{
    int64_t stride = check_chance(rng, 3) ? 0 : 1 + check_pick(rng, 2);
    kern_view_set_packed(out, type, rank, sizes);
    for (uint32_t d = 0; d < rank; d++)
        out->strides[d] = d == along ? stride : 0;
}

static void integer_inputs(struct check_rng *rng, struct kern_op *op, uint32_t rank, const uint32_t *sizes, uint32_t k)
{
    struct kern_gemm *gemm = &op->u.gemm;
    DML_TENSOR_DATA_TYPE a = check_byte_type(rng), b = check_byte_type(rng);
    matrix(rng, &op->tensors[0], a, rank, sizes, sizes[rank - 2], k);
    matrix(rng, &op->tensors[1], b, rank, sizes, k, sizes[rank - 1]);
    gemm->integer = true;
    gemm->has_a_zero = check_chance(rng, 2);
    gemm->has_b_zero = check_chance(rng, 2);
    if (gemm->has_a_zero)
        zero_point(rng, &op->tensors[op->input_count++], a, rank, sizes, rank - 2);
    if (gemm->has_b_zero)
        zero_point(rng, &op->tensors[op->input_count++], b, rank, sizes, rank - 1);
}

/* A last step with one more tensor: a scale or gate, or what is added after an activation. The first may be a scale. */
static void end_in_tensor(struct check_rng *rng, struct check_case *c, const struct kern_view *y)
{
    struct kern_map *map = &c->epilogue;
    struct kern_op *op = &c->op;
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32, operand = (uint8_t)kern_epilogue_inputs(op);
    if (map->inst[0].code == KERN_MAP_ADD && check_chance(rng, 2)) {
        map->inst[0].code = KERN_MAP_MUL;
        c->data[op->epilogue_input] = CHECK_DATA_POSITIVE;
    }
    if (check_chance(rng, 2))
        return;
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            map->inst[i].src[s] += map->inst[i].src[s] >= operand;
    check_view_broadcast(rng, &op->tensors[op->input_count], y->type, y->rank, y->sizes);
    c->data[op->input_count++] = CHECK_DATA_POSITIVE;
    op->tensors[op->input_count] = *y;
    map->load_type[operand] = f32;
    map->inst[map->inst_count] = (struct kern_map_inst){
        check_chance(rng, 2) ? KERN_MAP_MUL : KERN_MAP_ADD, f32, f32, { (uint8_t)(map->store[0] + 1), operand }
    };
    map->store[0] = (uint8_t)(operand + 1 + map->inst_count++);
}

void check_gen_gemm(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_gemm *gemm = &op->u.gemm;
    uint32_t sizes[KERN_RANK_MAX], rank = 2 + check_pick(rng, 4), k = 1 + check_pick(rng, 70);
    bool integer = check_chance(rng, 3), large = check_chance(rng, 16); /* several blocks of work */
    DML_TENSOR_DATA_TYPE type = check_chance(rng, 6) ? DML_TENSOR_DATA_TYPE_FLOAT64 : check_float_type(rng);
    struct kern_view y;
    for (uint32_t d = 0; d + 2 < rank; d++)
        sizes[d] = 1 + check_pick(rng, 3);
    sizes[rank - 2] = 1 + check_pick(rng, check_chance(rng, 2) ? 5 : 40);
    sizes[rank - 1] = 1 + check_pick(rng, check_chance(rng, 4) ? 3 : 90);
    if (large) {
        rank = 2;
        sizes[0] = check_chance(rng, 3) ? 1 + check_pick(rng, 12) : 90 + check_pick(rng, 30);
        sizes[1] = 120 + check_pick(rng, 400);
        k += check_pick(rng, 500);
    }
    bool deep = !large && check_chance(rng, 16); /* sums that libraries cut among threads */
    if (deep) {
        sizes[rank - 2] = 1 + sizes[rank - 2] % 9;
        sizes[rank - 1] = 1 + sizes[rank - 1] % 20;
        k = 1500 + check_pick(rng, 3000);
    }
    if (integer && check_chance(rng, 2))
        k = (k + 15) / 16 * 16; /* whole vectors of bytes */
    op->kind = KERN_GEMM;
    op->input_count = 2;
    op->output_count = 1;
    if (integer) {
        type = DML_TENSOR_DATA_TYPE_INT32;
        integer_inputs(rng, op, rank, sizes, k);
    } else {
        matrix(rng, &op->tensors[0], type, rank, sizes, sizes[rank - 2], k);
        matrix(rng, &op->tensors[1], type, rank, sizes, k, sizes[rank - 1]);
    }
    gemm->alpha = check_chance(rng, 2) ? 1 : (float)check_uniform(rng, -2, 2);
    if (large || deep)
        gemm->alpha /= 16; /* long sums that an epilogue which clamps leaves mostly as they are */
    gemm->beta = check_chance(rng, 2) ? 1 : check_chance(rng, 5) ? 0 : (float)check_uniform(rng, 0.1, 2);
    gemm->has_c = !integer && check_chance(rng, 2);
    if (gemm->has_c)
        check_view_broadcast(rng, &op->tensors[op->input_count++], type, rank, sizes);
    if (check_chance(rng, 3))
        check_view(rng, &y, type, rank, sizes);
    else
        kern_view_set_packed(&y, type, rank, sizes);
    if (check_chance(rng, 4))
        transpose(&y);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        check_half(rng, op, 2, &y);
    op->tensors[op->input_count] = y;
    if (type != DML_TENSOR_DATA_TYPE_FLOAT64)
        check_epilogue(rng, out, &y);
    op->tensors[op->input_count] = y;
    if (op->epilogue && !integer)
        end_in_tensor(rng, out, &y);
    if (integer) {
        check_integer_output(rng, out, rank - 1);
        return;
    }
    out->norm_wise = true;
    /* One factor times a sum, which may cancel in all results. So may an epilogue that clamps make zeros of all that
     * are negative but one near zero, beside which no greater element says how far it may be off. */
    if (op->tensors[0].strides[rank - 1] == 0 || op->tensors[1].strides[rank - 2] == 0) {
        out->data[0] = out->data[1] = CHECK_DATA_POSITIVE;
        gemm->alpha = fabsf(gemm->alpha);
    }
    check_few(out, &y);
}
