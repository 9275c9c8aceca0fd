/* SPDX-License-Identifier: Apache-2.0 */
/* Products with more tiles than the random cases have: several bands of them, and more batches than a dispatch has
 * workgroups. Of cooperative matrices, sizes of which all is loaded and stored by whole vectors. */
#include "check_vulkan_map.h"

#include "shaders/gemm/shader_tile.h"

struct sizes {
    uint32_t batches, m, n, k, kind, splits; /* kind: enum shader_tile_kind, or number of a tile from 1 on */
};

static const struct sizes tiles[] = { { 1, 650, 100, 33, SHADER_TILE_CHOSEN, 0 },
                                      { 1, 1200, 150, 20, SHADER_TILE_LARGE, 0 },
                                      { 4200, 8, 8, 9, SHADER_TILE_CHOSEN, 0 } };
static const struct sizes vectors[] = { { 2, 72, 136, 72, 0, 0 }, { 1, 136, 200, 104, 1, 1 }, { 1, 40, 264, 264, 2, 3 },
                                        { 1, 72, 72, 520, 3, 1 }, { 1, 72, 72, 520, 4, 2 },   { 2, 104, 40, 264, 5, 1 },
                                        { 1, 40, 104, 392, 6, 1 } };

/* Adds an operand that is along some dimensions of the result, whose rows begin `apart` elements behind another's end,
 * or whose last two dimensions are transposed in memory. */
static void add_operand(struct check_case *out, uint32_t dimensions, DML_TENSOR_DATA_TYPE type, uint32_t apart,
                        bool transposed)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &out->op;
    struct kern_map *map = &out->epilogue;
    struct kern_view *view = &op->tensors[op->input_count];
    const uint32_t order[] = { transposed ? 1 : 2, transposed ? 2 : 1, 0 };
    int64_t stride = 1;
    op->tensors[op->input_count + 1] = *view;
    view->type = type;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t d = order[i];
        view->strides[d] = dimensions >> d & 1 ? stride : 0;
        stride *= view->strides[d] ? view->sizes[d] : 1;
        stride += view->strides[d] ? apart : 0;
    }
    out->data[op->input_count] = CHECK_DATA_NORMAL;
    if (!op->epilogue)
        op->epilogue_input = op->input_count;
    op->epilogue = map;
    op->input_count++;
    map->load_type[0] = f32;
    map->load_type[op->input_count - op->epilogue_input] = f32;
}

/* The sum with all operands, and a maximum with 0. */
static void add_instructions(struct check_case *out)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_map *map = &out->epilogue;
    const uint32_t operands = out->op.input_count - out->op.epilogue_input;
    uint8_t last = 0;
    for (uint32_t i = 0; i < operands; i++) {
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { last, (uint8_t)(i + 1) } };
        last = (uint8_t)(operands + map->inst_count);
    }
    map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_RELU, f32, f32, { last } };
    map->store[0] = (uint8_t)(last + 1);
}

static void add_epilogue(struct check_case *out, uint32_t dimensions, DML_TENSOR_DATA_TYPE type)
{
    add_operand(out, dimensions, type, 0, false);
    add_instructions(out);
}

bool check_vulkan_tiles(uint32_t i, bool coop, struct check_case *out)
{
    const DML_TENSOR_DATA_TYPE type = coop ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
    if (i >= (coop ? ARRAY_SIZE(vectors) : ARRAY_SIZE(tiles)))
        return false;
    const struct sizes *s = coop ? &vectors[i] : &tiles[i];
    *out = (struct check_case){ .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
    out->op.u.gemm.alpha = 1;
    kern_view_set_packed(&out->op.tensors[0], type, 3, (uint32_t[]){ s->batches, s->m, s->k });
    kern_view_set_packed(&out->op.tensors[1], type, 3, (uint32_t[]){ s->batches, s->k, s->n });
    kern_view_set_packed(&out->op.tensors[2], type, 3, (uint32_t[]){ s->batches, s->m, s->n });
    if (coop && i) {
        add_epilogue(out, (uint32_t[]){ 0, 4, 7, 2, 6, 4, 0 }[i], i == 5 ? DML_TENSOR_DATA_TYPE_FLOAT32 : type);
        shader_coop_force(s->kind, s->splits);
    } else if (coop)
        shader_coop_force(0, 0);
    else
        shader_tile_force((enum shader_tile_kind)s->kind);
    return true;
}

/* A matrix of `rows` x `columns`, or its transpose, in each of b. */
static void set_matrix(struct check_rng *rng, struct kern_view *view, DML_TENSOR_DATA_TYPE type, uint32_t b,
                       uint32_t rows, uint32_t columns, uint32_t one_of)
{
    const bool transposed = check_pick(rng, one_of) == 0;
    kern_view_set_packed(view, type, 3, (uint32_t[]){ b, transposed ? columns : rows, transposed ? rows : columns });
    if (!transposed)
        return;
    view->sizes[1] = rows;
    view->sizes[2] = columns;
    view->strides[1] = 1;
    view->strides[2] = rows;
}

void check_vulkan_coop(struct check_rng *rng, struct check_case *out)
{
    const DML_TENSOR_DATA_TYPE type =
        check_pick(rng, 3) ? DML_TENSOR_DATA_TYPE_FLOAT16 : (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    const uint32_t step = check_pick(rng, 3) ? 8 : 1, b = 1 + check_pick(rng, 2);
    const uint32_t most = check_pick(rng, 8) ? 150 : 600;
    const uint32_t m = (16 + check_pick(rng, most)) / step * step, n = (16 + check_pick(rng, most)) / step * step;
    /* Some kernels take whole panels along K only. */
    const uint32_t k = check_pick(rng, 3) ? (16 + check_pick(rng, 600)) / step * step : 128 * (1 + check_pick(rng, 6));
    *out = (struct check_case){ .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
    out->op.u.gemm.alpha = check_pick(rng, 2) ? 1 : 0.5f;
    set_matrix(rng, &out->op.tensors[0], type, b, m, k, 3);
    set_matrix(rng, &out->op.tensors[1], type, b, k, n, 2);
    set_matrix(rng, &out->op.tensors[2], check_pick(rng, 4) ? type : DML_TENSOR_DATA_TYPE_FLOAT32, b, m, n, 5);
    const uint32_t operands = check_pick(rng, 2) ? 1 + check_pick(rng, 2) : 0;
    for (uint32_t i = 0; i < operands; i++)
        add_operand(out, check_pick(rng, 8), check_pick(rng, 3) ? type : DML_TENSOR_DATA_TYPE_FLOAT32,
                    check_pick(rng, 3) ? 0 : 4 * check_pick(rng, 5), check_pick(rng, 4) == 0);
    if (operands)
        add_instructions(out);
    shader_coop_force(check_pick(rng, 8), 1 + check_pick(rng, 3));
}

#define BLOCK_CASES 12

/* Factors in vectors of four elements, or their transposes, of whole tiles, ends of them, or less than one; now and
 * then results that are none. */
bool check_vulkan_blocks(uint32_t i, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32,
                                                  DML_TENSOR_DATA_TYPE_FLOAT16,
                                                  (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16 };
    struct check_rng random = { (i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1 }, *rng = &random;
    if (i >= BLOCK_CASES)
        return false;
    check_next(rng);
    const DML_TENSOR_DATA_TYPE type = types[i % 4];
    const uint32_t b = 1 + check_pick(rng, 2), m = 4 * (2 + check_pick(rng, 50));
    const uint32_t n = 4 * (2 + check_pick(rng, 50)), k = i % 3 ? 4 * (2 + check_pick(rng, 80)) : 64 * (i % 2 + 1);
    *out = (struct check_case){ .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
    out->op.u.gemm.alpha = check_pick(rng, 2) ? 1 : 0.5f;
    set_matrix(rng, &out->op.tensors[0], type, b, m, k, 3);
    set_matrix(rng, &out->op.tensors[1], type, b, k, n, 2);
    set_matrix(rng, &out->op.tensors[2], check_pick(rng, 4) ? type : DML_TENSOR_DATA_TYPE_FLOAT32, b, m, n, 5);
    if (check_pick(rng, 2))
        add_epilogue(out, check_pick(rng, 8), check_pick(rng, 2) ? type : DML_TENSOR_DATA_TYPE_FLOAT32);
    shader_block_force(i % 5, 1 + check_pick(rng, 3));
    return true;
}

#define BYTE_CASES 8

/* Bytes in words along k or across it, with and without zero points. */
bool check_vulkan_block_bytes(uint32_t i, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT8 };
    struct check_rng random = { (i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1 }, *rng = &random;
    struct kern_op *op = &out->op;
    if (i >= BYTE_CASES)
        return false;
    check_next(rng);
    const uint32_t b = 1 + check_pick(rng, 2), m = 4 * (2 + check_pick(rng, 50));
    const uint32_t n = 4 * (2 + check_pick(rng, 50)), k = 16 * (1 + check_pick(rng, 24));
    *out = (struct check_case){ .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
    op->u.gemm.integer = true;
    set_matrix(rng, &op->tensors[0], types[i % 2], b, m, k, 3);
    set_matrix(rng, &op->tensors[1], types[i / 2 % 2], b, k, n, 2);
    op->u.gemm.has_a_zero = i % 3 != 0;
    op->u.gemm.has_b_zero = i % 4 != 1;
    for (uint32_t factor = 0; factor < 2; factor++) {
        struct kern_view *zero = &op->tensors[op->input_count];
        if (!(factor ? op->u.gemm.has_b_zero : op->u.gemm.has_a_zero))
            continue;
        op->input_count++;
        kern_view_set_packed(zero, op->tensors[factor].type, 3, (uint32_t[]){ b, m, n });
        for (uint32_t d = 0; d < 3; d++)
            zero->strides[d] = d == factor + 1 && i % 2;
    }
    set_matrix(rng, &op->tensors[op->input_count], DML_TENSOR_DATA_TYPE_INT32, b, m, n, 5);
    for (uint32_t t = 0; t < op->input_count; t++)
        out->data[t] = CHECK_DATA_SPECIAL;
    shader_block_force(i % 5, 1 + check_pick(rng, 3));
    return true;
}
