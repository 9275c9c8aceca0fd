/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "kernels/core/number.h"

struct code {
    uint8_t code, arity;
    char types;
};

static const struct code codes[] = {
#define MAPOP(name, arity, types, formula) { KERN_MAP_##name, arity, #types[0] },
#include "kernels/core/mapops.def"
};

static const uint8_t compute_types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT64,
                                         DML_TENSOR_DATA_TYPE_INT32,   DML_TENSOR_DATA_TYPE_UINT32,
                                         DML_TENSOR_DATA_TYPE_INT64,   DML_TENSOR_DATA_TYPE_UINT64 };

static bool is_float(uint8_t type)
{
    return kern_type_class(type) == KERN_CLASS_FLOAT;
}

static bool has_type(const struct code *code, uint8_t type)
{
    return code->types == 'A' || (code->types == 'F') == is_float(type);
}

/* p and q. Powers of two where the formula multiplies or divides the argument of an exponential: rounding that argument
 * is not the function's error. */
static void random_immediates(struct check_rng *rng, struct kern_map_inst *inst)
{
    static const double exact[] = { 1, 0.5, 2, 0.25 };
    bool argument = inst->code == KERN_MAP_CELU || inst->code == KERN_MAP_SOFTPLUS ||
                    inst->code == KERN_MAP_PSOFTPLUS || inst->code == KERN_MAP_SWISH || inst->code == KERN_MAP_STANH;
    double p = argument ? exact[check_pick(rng, 4)] : check_uniform(rng, -3, 3);
    double q = argument ? exact[check_pick(rng, 4)] : check_uniform(rng, 0, 3);
    if (!is_float(inst->type))
        p = check_range(rng, 0, inst->code == KERN_MAP_SHR || inst->code == KERN_MAP_SHL ? 32 : 9);
    if (inst->code == KERN_MAP_WRAP || inst->code == KERN_MAP_BIT_COUNT || inst->code == KERN_MAP_SHL ||
        inst->code == KERN_MAP_SHR)
        p = check_pick(rng, 2) ? 8 : 32;
    kern_write(inst->type, &inst->imm[0], 0, kern_from_double(p));
    kern_write(inst->type, &inst->imm[1], 0, kern_from_double(q));
}

/* Results that rows may round differently must not be truncated to integers. */
static DML_TENSOR_DATA_TYPE output_type(struct check_rng *rng, const struct kern_map *map, uint8_t store)
{
    uint8_t code = map->inst_count == 1 ? map->inst[0].code : 0;
    bool inexact = code == KERN_MAP_POW || code == KERN_MAP_ATAN2 || code == KERN_MAP_MULADD || code == KERN_MAP_FMA ||
                   code == KERN_MAP_MOD_FLOOR || code == KERN_MAP_MEAN || code >= KERN_MAP_SQRT;
    return is_float(store) && inexact ? check_float_type(rng) : check_any_type(rng);
}

static void random_views(struct check_rng *rng, struct check_case *c, const uint8_t *load, uint8_t store, bool native)
{
    uint32_t sizes[KERN_RANK_MAX];
    struct kern_op *op = &c->op;
    /* Some are large enough for several tiles along each side. */
    uint32_t rank = check_sizes(rng, 6, check_chance(rng, 24) ? 40000 : 3000, sizes);
    for (uint32_t i = 0; i < op->input_count; i++) {
        DML_TENSOR_DATA_TYPE type = native ? load[i] : check_any_type(rng);
        check_view_broadcast(rng, &op->tensors[i], type, rank, sizes);
        op->u.map.load_type[i] = load[i];
        c->data[i] = CHECK_DATA_SPECIAL;
    }
    for (uint32_t j = 0; j < op->output_count; j++)
        check_view(rng, &op->tensors[op->input_count + j], native ? store : output_type(rng, &op->u.map, store), rank,
                   sizes);
}

/* Numbers near zero, where rows have cheaper ways than among all numbers. */
static void near_zero(struct check_case *c)
{
    for (uint32_t i = 0; i < c->op.input_count; i++)
        c->data[i] = c->op.u.map.inst[0].code == KERN_MAP_SELECT ? CHECK_DATA_SPARSE : CHECK_DATA_NORMAL;
}

static void gen_single(struct check_rng *rng, struct check_case *c)
{
    const struct code *code = &codes[check_pick(rng, ARRAY_SIZE(codes))];
    uint8_t type, load[3];
    do
        type = check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_FLOAT32 : compute_types[check_pick(rng, 6)];
    while (!has_type(code, type) && code->types != 'I');
    if (code->types == 'I')
        type = compute_types[2 + check_pick(rng, 4)];
    struct kern_op *op = &c->op;
    struct kern_map_inst *inst = &op->u.map.inst[0];
    *inst = (struct kern_map_inst){ code->code, type, type, { 0, 1, 2 } };
    if (code->code == KERN_MAP_CONVERT)
        inst->to_type = compute_types[check_pick(rng, 6)];
    random_immediates(rng, inst);
    memset(load, type, sizeof(load));
    op->input_count = code->arity;
    op->output_count = 1;
    op->u.map.inst_count = 1;
    op->u.map.store[0] = code->arity;
    random_views(rng, c, load, inst->to_type, !check_chance(rng, 4));
    if (check_chance(rng, 4))
        near_zero(c);
}

/* (x - zero point) * scale, or x * factor + shift, of blocks of elements: what the quantized weights of models are, and
 * channels that are normalised. */
static void gen_blocks(struct check_rng *rng, struct check_case *c)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_UINT4,   DML_TENSOR_DATA_TYPE_INT4,
                                                  DML_TENSOR_DATA_TYPE_UINT8,   DML_TENSOR_DATA_TYPE_INT8,
                                                  DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32 };
    static const uint32_t lengths[] = { 16, 32, 33, 64, 96, 128, 10, 1024, 1500, 2500 };
    const DML_TENSOR_DATA_TYPE type = types[check_pick(rng, ARRAY_SIZE(types))];
    const DML_TENSOR_DATA_TYPE scale =
        check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_FLOAT32 : DML_TENSOR_DATA_TYPE_FLOAT16;
    const uint32_t length = lengths[check_pick(rng, ARRAY_SIZE(lengths))];
    const uint32_t sizes[] = { 1 + check_pick(rng, 3), 1 + check_pick(rng, 6000 / length), length };
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &c->op;
    struct kern_map *map = &op->u.map;
    op->input_count = 3;
    op->output_count = 1;
    for (uint32_t i = 0; i < 4; i++) {
        struct kern_view *view = &op->tensors[i];
        const bool block = i == 1 || i == 2;
        const bool kept = !block || !check_chance(rng, 8);
        kern_view_set_packed(view,
                             i == 1 && check_chance(rng, 2) ? type
                             : i == 0                       ? type
                                                            : scale,
                             3, (uint32_t[]){ sizes[0], sizes[1], block ? 1 : length });
        if (block && view->type == DML_TENSOR_DATA_TYPE_FLOAT16 && (rng->state >> 40 & 1)) /* no new random number */
            view->type = f32;
        view->sizes[2] = length;
        view->strides[2] = block ? 0 : 1;
        for (uint32_t d = 0; !kept && d < 2; d++)
            view->strides[d] = 0;
        c->data[i] = check_chance(rng, 2) ? CHECK_DATA_SPECIAL : CHECK_DATA_NORMAL;
        map->load_type[i] = f32;
    }
    if (check_chance(rng, 2)) {
        map->inst[0] = (struct kern_map_inst){ check_chance(rng, 2) ? KERN_MAP_SUB : KERN_MAP_ADD, f32, f32, { 0, 1 } };
        map->inst[1] = (struct kern_map_inst){ check_chance(rng, 2) ? KERN_MAP_MUL : KERN_MAP_DIV, f32, f32, { 3, 2 } };
        map->inst_count = 2;
    } else {
        map->inst[0] = (struct kern_map_inst){ KERN_MAP_FMA, f32, f32, { 0, 1, 2 } };
        map->inst_count = 1;
    }
    map->store[0] = (uint8_t)(check_chance(rng, 12) ? check_pick(rng, 3) : 2 + map->inst_count);
}

static DML_TENSOR_DATA_TYPE byte_type(struct check_rng *rng)
{
    return check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_INT8 : DML_TENSOR_DATA_TYPE_UINT8;
}

/* Instructions that follow one another with the same few operands, which rows keep in registers; some are how bytes are
 * made of FLOAT32. */
static void gen_quantize(struct check_rng *rng, struct check_case *c)
{
    static const uint8_t steps[] = { KERN_MAP_ADD,  KERN_MAP_SUB,  KERN_MAP_MUL,   KERN_MAP_DIV,
                                     KERN_MAP_RELU, KERN_MAP_RINT, KERN_MAP_CLAMP, KERN_MAP_CLAMP_NAN };
    static const enum check_data data[] = { CHECK_DATA_SPECIAL, CHECK_DATA_NORMAL, CHECK_DATA_SPARSE };
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &c->op;
    struct kern_map *map = &op->u.map;
    uint32_t sizes[KERN_RANK_MAX], rank = check_sizes(rng, 4, 6000, sizes);
    bool divides = check_chance(rng, 3);
    op->input_count = 2 + check_pick(rng, 4);
    op->output_count = 1;
    map->inst_count = 2 + check_pick(rng, 8);
    for (uint32_t i = 0; i < op->input_count; i++) {
        DML_TENSOR_DATA_TYPE type = check_chance(rng, 2) ? check_any_type(rng) : f32;
        kern_view_set_packed(&op->tensors[i], type, rank, sizes);
        for (uint32_t d = 0; d < rank && i > 0 && !check_chance(rng, 3); d++)
            op->tensors[i].strides[d] = 0;
        map->load_type[i] = f32;
        c->data[i] = data[check_pick(rng, ARRAY_SIZE(data))];
    }
    c->signed_zeros = true;
    if (divides) { /* zeros of either sign by one number */
        kern_view_set_packed(&op->tensors[0], f32, rank, sizes);
        memset(op->tensors[1].strides, 0, sizeof(op->tensors[1].strides));
        c->data[0] = CHECK_DATA_SPARSE;
        c->data[1] = CHECK_DATA_NORMAL;
        map->inst[0] = (struct kern_map_inst){ KERN_MAP_DIV, f32, f32, { 0, 1 } };
        map->inst_count = 2 + check_pick(rng, 2);
    }
    for (uint32_t i = divides; i < map->inst_count; i++) {
        struct kern_map_inst *inst = &map->inst[i];
        uint8_t last = (uint8_t)(i ? op->input_count + i - 1 : 0), other = (uint8_t)check_pick(rng, op->input_count);
        bool swaps = check_chance(rng, 4);
        *inst = (struct kern_map_inst){ steps[check_pick(rng, ARRAY_SIZE(steps))], f32, f32, { 0 } };
        inst->src[0] = swaps ? other : last;
        inst->src[1] = swaps ? last : other;
        inst->imm[0].f32 = -(float)check_pick(rng, 129);
        inst->imm[1].f32 = (float)check_pick(rng, 256);
    }
    map->store[0] = (uint8_t)(op->input_count + map->inst_count - 1 - (check_chance(rng, 6) ? check_pick(rng, 2) : 0));
    bool whole = map->inst[map->store[0] - op->input_count].code == KERN_MAP_RINT && check_chance(rng, 2);
    kern_view_set_packed(&op->tensors[op->input_count], whole ? byte_type(rng) : f32, rank, sizes);
}

/* Rows of some views are not adjacent; by no new random number. */
static void spread_rows(const struct check_rng *rng, struct kern_op *op)
{
    for (uint32_t i = 0; (rng->state >> 46 & 1) && i < op->input_count + op->output_count; i++)
        if (op->tensors[i].strides[0] && (rng->state >> (47 + i) & 1))
            op->tensors[i].strides[0] += 1 + i;
}

/* One instruction on bytes themselves. */
static void gen_plain_bytes(struct check_rng *rng, struct check_case *c)
{
    static const uint8_t plain[] = { KERN_MAP_ADD, KERN_MAP_SUB, KERN_MAP_MUL, KERN_MAP_MIN, KERN_MAP_MAX };
    const DML_TENSOR_DATA_TYPE type = byte_type(rng);
    const uint8_t word = type == DML_TENSOR_DATA_TYPE_INT8 ? DML_TENSOR_DATA_TYPE_INT32 : DML_TENSOR_DATA_TYPE_UINT32;
    const uint32_t sizes[2] = { 1 + check_pick(rng, 3), 300 + check_pick(rng, 4000) };
    const uint8_t swap = (uint8_t)check_pick(rng, 2);
    struct kern_op *op = &c->op;
    op->input_count = 2;
    op->output_count = 1;
    for (uint32_t i = 0; i < 3; i++)
        kern_view_set_packed(&op->tensors[i], type, 2, sizes);
    op->u.map.load_type[0] = op->u.map.load_type[1] = word;
    op->u.map.inst_count = 1;
    op->u.map.store[0] = 2;
    op->u.map.inst[0] = (struct kern_map_inst){ plain[check_pick(rng, 5)], word, word, { swap, (uint8_t)(1 - swap) } };
    spread_rows(rng, op);
}

/* Bytes to bytes: a sum or a product of what two stand for, or of one and a number, or one for each element of a row.
 */
static void gen_bytes(struct check_rng *rng, struct check_case *c)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    const bool row = (rng->state >> 44 & 3) == 0; /* by no new random number */
    uint32_t sizes[2] = { 1 + check_pick(rng, 3), 300 + check_pick(rng, 4000) };
    struct kern_op *op = &c->op;
    struct kern_map *map = &op->u.map;
    struct kern_map_inst *inst = map->inst;
    op->input_count = 8;
    op->output_count = 1;
    if (row)
        sizes[0] = 40 * sizes[0] - 3, sizes[1] = sizes[1] % 120 + 7;
    for (uint32_t i = 0; i <= 8; i++) {
        bool line = i == 0 || i == 3 || i == 8;
        kern_view_set_packed(&op->tensors[i], i % 3 == 1 || i == 6 ? f32 : byte_type(rng), 2, sizes);
        for (uint32_t d = 0; d < 2 && !line; d++)
            op->tensors[i].strides[d] = 0;
        map->load_type[i] = f32;
        c->data[i] = line || !check_chance(rng, 8) ? CHECK_DATA_NORMAL : CHECK_DATA_SPECIAL;
    }
    bool one = check_chance(rng, 2);
    for (uint32_t d = 0; d < 2 && one; d++)
        op->tensors[3].strides[d] = 0;
    uint8_t zero = check_chance(rng, 4) ? 0 : 1, at = 8, a, b;
    if (row) {
        kern_view_set_packed(&op->tensors[3], f32, 2, sizes);
        op->tensors[3].strides[0] = one ? 0 : sizes[1];
    }
#define STEP(code, x, y) (inst[at - 8] = (struct kern_map_inst){ code, f32, f32, { x, y } }, at++)
    a = zero ? STEP(KERN_MAP_SUB, 0, 2) : 0;
    a = STEP(KERN_MAP_MUL, a, 1);
    b = zero && !row ? STEP(KERN_MAP_SUB, 3, 5) : 3;
    b = row ? b : STEP(KERN_MAP_MUL, b, 4);
    const bool swap = row && sizes[1] % 2;
    a = STEP(check_chance(rng, 2) ? KERN_MAP_ADD : KERN_MAP_MUL, swap ? b : a, swap ? a : b);
    a = STEP(KERN_MAP_DIV, a, 6);
    a = STEP(KERN_MAP_RINT, a, 0);
    a = zero ? STEP(KERN_MAP_ADD, a, 7) : a;
    a = STEP(KERN_MAP_CLAMP, a, 0);
#undef STEP
    inst[a - 8].imm[0].f32 = op->tensors[8].type == DML_TENSOR_DATA_TYPE_INT8 ? -128 : 0;
    inst[a - 8].imm[1].f32 = inst[a - 8].imm[0].f32 + 255;
    map->inst_count = at - 8;
    map->store[0] = a;
    spread_rows(rng, op);
}

/* A chain whose steps round the same way in every row. */
static void gen_chain(struct check_rng *rng, struct check_case *c)
{
    static const uint8_t steps[] = { KERN_MAP_ADD,    KERN_MAP_SUB, KERN_MAP_MUL, KERN_MAP_MIN,
                                     KERN_MAP_MAX,    KERN_MAP_ABS, KERN_MAP_NEG, KERN_MAP_EQ,
                                     KERN_MAP_SELECT, KERN_MAP_NOT, KERN_MAP_LE,  KERN_MAP_OR };
    struct kern_op *op = &c->op;
    struct kern_map *map = &op->u.map;
    uint8_t type = check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_FLOAT32 : compute_types[check_pick(rng, 6)];
    uint8_t load[8];
    memset(load, type, sizeof(load));
    op->input_count = 1 + check_pick(rng, 5);
    op->output_count = 1 + check_pick(rng, 3);
    map->inst_count = check_chance(rng, 8) ? KERN_MAP_INST_MAX : check_pick(rng, 12);
    for (uint32_t i = 0; i < map->inst_count; i++) {
        map->inst[i] = (struct kern_map_inst){ steps[check_pick(rng, ARRAY_SIZE(steps))], type, type };
        for (uint32_t s = 0; s < 3; s++)
            map->inst[i].src[s] = (uint8_t)check_pick(rng, op->input_count + i);
    }
    for (uint32_t j = 0; j < op->output_count; j++)
        map->store[j] = (uint8_t)(op->input_count + map->inst_count - 1 - check_pick(rng, map->inst_count + 1));
    random_views(rng, c, load, type, check_chance(rng, 2));
}

void check_gen_map(struct check_rng *rng, struct check_case *out)
{
    out->op.kind = KERN_MAP;
    switch (check_pick(rng, 12)) {
    case 0:
    case 1:
        gen_chain(rng, out);
        break;
    case 2:
        gen_blocks(rng, out);
        break;
    case 3:
        gen_quantize(rng, out);
        break;
    case 4:
        /* By no new random number: seeds stay what they were. */
        if ((rng->state >> 40 & 3) == 0)
            gen_plain_bytes(rng, out);
        else
            gen_bytes(rng, out);
        break;
    default:
        gen_single(rng, out);
    }
}
