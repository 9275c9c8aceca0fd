/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

uint64_t check_next(struct check_rng *rng)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * UINT64_C(2685821657736338717);
}

uint32_t check_pick(struct check_rng *rng, uint32_t count)
{
    return (uint32_t)((check_next(rng) >> 32) % count);
}

int32_t check_range(struct check_rng *rng, int32_t least, int32_t most)
{
    return least + (int32_t)check_pick(rng, (uint32_t)(most - least + 1));
}

bool check_chance(struct check_rng *rng, uint32_t one_in)
{
    return check_pick(rng, one_in) == 0;
}

double check_uniform(struct check_rng *rng, double least, double most)
{
    return least + (most - least) * (double)(check_next(rng) >> 11) / 9007199254740992.0;
}

uint32_t check_sizes(struct check_rng *rng, uint32_t max_rank, uint32_t target, uint32_t *out_sizes)
{
    uint32_t rank = 1 + check_pick(rng, max_rank), left = target;
    for (uint32_t i = 0; i < rank; i++)
        out_sizes[i] = 1;
    for (uint32_t n = 0; n < rank; n++) {
        uint32_t d = check_pick(rng, rank);
        uint32_t most = BASE_MIN(left, check_chance(rng, 3) ? 1500 : 9);
        if (out_sizes[d] != 1 || most < 2)
            continue;
        out_sizes[d] = 1 + check_pick(rng, most);
        left /= out_sizes[d];
    }
    return rank;
}

void check_view(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                const uint32_t *sizes)
{
    uint32_t order[KERN_RANK_MAX], style = check_pick(rng, 4);
    int64_t stride = 1;
    kern_view_set_packed(out, type, rank, sizes);
    if (style < 2)
        return;
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i;
    for (uint32_t i = rank; style == 2 && i > 1; i--) {
        uint32_t j = check_pick(rng, i), swapped = order[j];
        order[j] = order[i - 1];
        order[i - 1] = swapped;
    }
    for (uint32_t i = rank; i-- > 0;) {
        uint32_t gap = style == 3 && check_chance(rng, 2) ? 1 + check_pick(rng, 3) : 0;
        stride *= style == 3 && i == rank - 1 && check_chance(rng, 3) ? 2 : 1;
        out->strides[order[i]] = stride;
        stride = stride * sizes[order[i]] + gap;
    }
}

void check_view_broadcast(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                          const uint32_t *sizes)
{
    uint32_t small[KERN_RANK_MAX] = { 0 };
    uint32_t repeated = check_chance(rng, 2) ? 0 : check_chance(rng, 4) ? UINT32_MAX : check_pick(rng, 1u << rank);
    for (uint32_t i = 0; i < rank; i++)
        small[i] = repeated >> i & 1 ? 1 : sizes[i];
    check_view(rng, out, type, rank, small);
    for (uint32_t i = 0; i < rank; i++) {
        out->sizes[i] = sizes[i];
        if (repeated >> i & 1)
            out->strides[i] = 0;
    }
}

DML_TENSOR_DATA_TYPE check_float_type(struct check_rng *rng)
{
    if (!check_chance(rng, 2))
        return DML_TENSOR_DATA_TYPE_FLOAT32;
    return check_chance(rng, 3) ? ANYDML_TENSOR_DATA_TYPE_BFLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT16;
}

DML_TENSOR_DATA_TYPE check_any_type(struct check_rng *rng)
{
    static const DML_TENSOR_DATA_TYPE types[] = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16,     DML_TENSOR_DATA_TYPE_UINT32,
        DML_TENSOR_DATA_TYPE_UINT16,  DML_TENSOR_DATA_TYPE_UINT8,       DML_TENSOR_DATA_TYPE_INT32,
        DML_TENSOR_DATA_TYPE_INT16,   DML_TENSOR_DATA_TYPE_INT8,        DML_TENSOR_DATA_TYPE_FLOAT64,
        DML_TENSOR_DATA_TYPE_UINT64,  DML_TENSOR_DATA_TYPE_INT64,       DML_TENSOR_DATA_TYPE_UINT4,
        DML_TENSOR_DATA_TYPE_INT4,    ANYDML_TENSOR_DATA_TYPE_BFLOAT16,
    };
    return types[check_pick(rng, ARRAY_SIZE(types))];
}

void check_widen(const struct check_rng *rng, struct check_case *c)
{
    struct kern_op *op = &c->op;
    bool here = !op->epilogue && (rng->state >> 40 & 7) == 0;
    for (uint32_t t = 0; here && t < op->input_count + op->output_count; t++) {
        DML_TENSOR_DATA_TYPE *type = &op->tensors[t].type;
        if (*type == DML_TENSOR_DATA_TYPE_FLOAT32 || *type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
            *type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
            *type = DML_TENSOR_DATA_TYPE_FLOAT64;
    }
}

/* x * sigmoid(x * (1.5 + 0.25 * x * x)), as GELU by tanh is */
static void cubic_gate(struct kern_map *map, uint32_t inputs)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32, x = map->store[0], at = (uint8_t)(inputs + map->inst_count);
    struct kern_map_inst *inst = map->inst + map->inst_count;
    inst[0] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { x, x } };
    inst[1] = (struct kern_map_inst){ KERN_MAP_MULADD, f32, f32, { at }, { { .f32 = 0.25f }, { .f32 = 1.5f } } };
    inst[2] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { (uint8_t)(at + 1), x } };
    inst[3] = (struct kern_map_inst){ KERN_MAP_SIGMOID, f32, f32, { (uint8_t)(at + 2) } };
    inst[4] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { x, (uint8_t)(at + 3) } };
    map->inst_count += 5;
    map->store[0] = (uint8_t)(at + 4);
}

void check_epilogue(struct check_rng *rng, struct check_case *c, const struct kern_view *out_view)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_op *op = &c->op;
    struct kern_map *map = &c->epilogue;
    op->epilogue_input = op->input_count;
    if (!check_chance(rng, 3))
        return;
    op->epilogue = map;
    map->load_type[0] = f32;
    if (check_chance(rng, 2)) {
        op->tensors[op->input_count + 1] = op->tensors[op->input_count];
        check_view_broadcast(rng, &op->tensors[op->input_count], check_float_type(rng), out_view->rank,
                             out_view->sizes);
        c->data[op->input_count] = CHECK_DATA_NORMAL;
        op->input_count++;
        map->load_type[1] = f32;
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { 0, 1 } };
    }
    uint32_t inputs = 1 + op->input_count - op->epilogue_input;
    uint8_t last = map->inst_count ? (uint8_t)(inputs + map->inst_count - 1) : 0;
    if (check_chance(rng, 4)) { /* of numbers that are not negative, whose gate does not vanish */
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_RELU, f32, f32, { last } };
        map->store[0] = (uint8_t)(inputs + map->inst_count - 1);
        cubic_gate(map, inputs);
        return;
    }
    if (check_chance(rng, 3)) { /* max(min(x, 50), -30) */
        const uint8_t first = (uint8_t)(inputs + map->inst_count);
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_CONST, f32, f32, { 0 }, { { .f32 = 50 } } };
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_MIN, f32, f32, { last, first } };
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_CONST, f32, f32, { 0 }, { { .f32 = -30 } } };
        map->inst[map->inst_count++] =
            (struct kern_map_inst){ KERN_MAP_MAX, f32, f32, { (uint8_t)(first + 1), (uint8_t)(first + 2) } };
        map->store[0] = (uint8_t)(first + 3);
        return;
    }
    map->inst[map->inst_count] =
        (struct kern_map_inst){ check_chance(rng, 2) ? KERN_MAP_RELU : KERN_MAP_MULADD, f32, f32, { last } };
    map->inst[map->inst_count].imm[0].f32 = 0.5f;
    map->inst[map->inst_count++].imm[1].f32 = 0.25f;
    map->store[0] = (uint8_t)(inputs + map->inst_count - 1);
    /* Two in a row; of numbers that are not negative, whose swish does not vanish. */
    if (map->inst[map->inst_count - 1].code != KERN_MAP_RELU || !check_chance(rng, 3))
        return;
    static const uint8_t gates[] = { KERN_MAP_GELU, KERN_MAP_SWISH, KERN_MAP_HARD_SWISH, KERN_MAP_HARD_SIGMOID,
                                     KERN_MAP_SIGMOID };
    const uint8_t gate = gates[check_pick(rng, 5)], value = map->store[0];
    map->inst[map->inst_count] = (struct kern_map_inst){ gate, f32, f32, { value } };
    /* Errors of long sums must not grow where results do not: a sigmoid, whose slope is 1/4, is a factor. */
    map->inst[map->inst_count].imm[0].f32 = gate == KERN_MAP_HARD_SIGMOID ? 1.0f / 32 : 1.5f;
    map->inst[map->inst_count++].imm[1].f32 = 0.25f;
    map->store[0]++;
    if (gate != KERN_MAP_SIGMOID && (gate != KERN_MAP_HARD_SIGMOID || check_chance(rng, 2)))
        return;
    map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { value, map->store[0] } };
    map->store[0]++;
}
