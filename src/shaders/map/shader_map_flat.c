/* SPDX-License-Identifier: Apache-2.0 */
/* Short element-wise programs over much data (map_flat.comp): each has its own pipelines. */
#include "shaders/core/shader_block.h"
#include "shaders/core/shader_dims.h"
#include "shaders/map/map_flat_params.h"
#include "shaders/map/shader_map.h"

#define VECTOR_MAX 8 /* elements of an invocation */

/* Specialization constants behind the types. */
enum { SHAPE = 2, ACCESS, LOADS, STORES, INST };

_Static_assert(INST + MAP_FLAT_INST_MAX <= SHADER_CONSTANTS_MAX, "room for the constants");

struct flat {
    struct kern_op
        op; /* with the minimum number of dimensions, the last one that in which the result is most contiguous */
    uint32_t vector; /* elements */
    uint64_t units;  /* vectors */
};

static uint32_t line_of(const struct flat *flat)
{
    return flat->op.tensors[0].sizes[flat->op.tensors[0].rank - 1];
}

/* The elements in 16 bytes of the widest type that is not constant along the line. */
static uint32_t choose_vector(const struct flat *flat)
{
    const struct kern_op *op = &flat->op;
    uint32_t vector = VECTOR_MAX;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].strides[op->tensors[t].rank - 1])
            vector = BASE_MIN(vector, 16 / BASE_MAX(kern_type_bytes(op->tensors[t].type), 1));
    while (vector > 1 && vector / 2 >= line_of(flat))
        vector /= 2;
    return vector;
}

static void flat_of(const struct kern_op *op, struct flat *out)
{
    const struct kern_view *result = &op->tensors[op->input_count];
    uint32_t order[KERN_RANK_MAX];
    out->op = *op;
    for (uint32_t t = 0; t < op->input_count; t++)
        memcpy(out->op.tensors[t].sizes, result->sizes, sizeof(result->sizes));
    uint32_t rank = shader_dims_pick(result, UINT32_MAX, true, order, 0);
    if (!rank)
        order[rank++] = 0; /* a single element */
    shader_dims_permute(&out->op, order, rank);
    shader_dims_merge(&out->op, 0, &rank);
    out->vector = choose_vector(out);
    out->units = kern_view_elements(result) / line_of(out) * ((line_of(out) + out->vector - 1) / out->vector);
}

const char *shader_map_flat_unsupported(const struct kern_op *op)
{
    if (op->input_count > MAP_FLAT_INPUTS_MAX || op->output_count > MAP_FLAT_OUTPUTS_MAX ||
        op->u.map.inst_count > MAP_FLAT_INST_MAX)
        return "no shader for programs of this length";
    if (!shader_specializes(op, kern_view_elements(&op->tensors[op->input_count])))
        return "too few elements for this shader";
    return shader_size_unsupported(op);
}

static uint32_t access_of(const struct flat *flat, uint32_t t)
{
    const struct kern_view *view = &flat->op.tensors[t];
    const int64_t stride = view->strides[view->rank - 1];
    if (!stride && t < flat->op.input_count)
        return MAP_FLAT_ONCE;
    return stride == 1 && flat->vector * kern_type_bytes(view->type) >= 4 ? MAP_FLAT_DENSE : MAP_FLAT_STRIDED;
}

/* FLOAT16 is converted in pairs. */
static bool in_pairs(const struct flat *flat)
{
    bool found = false;
    for (uint32_t t = 0; t < flat->op.input_count + flat->op.output_count; t++)
        found |= flat->op.tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    return found && flat->vector > 1;
}

static uint32_t inst_word(const struct kern_map_inst *inst)
{
    uint32_t word = inst->code | (uint32_t)inst->type << 8 | (uint32_t)inst->to_type << 12;
    for (uint32_t s = 0; s < kern_map_arity[inst->code]; s++)
        word |= (inst->src[s] & 15u) << (16 + 4 * s) | (uint32_t)(inst->src[s] >> 4) << (29 + s);
    return word;
}

/* Whether there is a function of fewer bits (map_short.glsl). */
static bool has_short(const struct kern_map_inst *inst)
{
    const enum kern_map_code code = (enum kern_map_code)inst->code;
    return inst->type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           (code == KERN_MAP_EXP || code == KERN_MAP_SIGMOID || code == KERN_MAP_SWISH || code == KERN_MAP_TANH ||
            code == KERN_MAP_GELU);
}

/* The registers, as bits, that only become 16-bit results, directly or multiplied: other uses may amplify their
 * error. */
static uint32_t short_registers(const struct kern_op *op)
{
    const struct kern_map *map = &op->u.map;
    uint32_t exact = 0;
    for (uint32_t k = 0; k < op->output_count; k++)
        if (kern_type_bytes(op->tensors[op->input_count + k].type) != 2)
            exact |= 1u << map->store[k];
    for (uint32_t i = map->inst_count; i-- > 0;) {
        const struct kern_map_inst *inst = &map->inst[i];
        const bool keeps = inst->code == KERN_MAP_MUL && !(exact >> (op->input_count + i) & 1);
        for (uint32_t s = 0; s < kern_map_arity[inst->code] && !keeps; s++)
            exact |= 1u << inst->src[s];
    }
    return ~exact;
}

#define SHORT_BIT (1u << 28)

static void set_constants(const struct flat *flat, uint32_t *constants)
{
    const struct kern_op *op = &flat->op;
    const struct kern_map *map = &op->u.map;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        constants[t / 8] |= (uint32_t)op->tensors[t].type << 4 * (t % 8);
        constants[ACCESS] |= access_of(flat, t) << 2 * t;
    }
    constants[SHAPE] = op->input_count | op->output_count << 4 | map->inst_count << 8 | flat->vector << 12 |
                       (op->tensors[0].rank - 1) << 16 | (uint32_t)in_pairs(flat) << 20;
    for (uint32_t t = 0; t < op->input_count; t++)
        constants[LOADS] |= (uint32_t)map->load_type[t] << 4 * t;
    for (uint32_t k = 0; k < op->output_count; k++)
        constants[STORES] |= ((map->store[k] & 15u) | shader_map_register_type(op, map->store[k]) << 4) << 8 * k;
    for (uint32_t k = 0; k < op->output_count; k++)
        constants[SHAPE] |= (uint32_t)(map->store[k] >> 4) << (24 + k);
    for (uint32_t i = 0; i < map->inst_count; i++) {
        constants[INST + i] = inst_word(&map->inst[i]);
        if (has_short(&map->inst[i]) && short_registers(op) >> (op->input_count + i) & 1)
            constants[INST + i] |= SHORT_BIT;
    }
}

static void plan_code(const struct kern_op *op, enum shader_code code, struct shader_work *out)
{
    struct flat flat;
    flat_of(op, &flat);
    struct shader_dispatch *dispatch =
        shader_add(out, code, &flat.op, flat.units, SHADER_GROUP_SIZE, sizeof(struct map_flat_params));
    memset(dispatch->constants, 0, sizeof(dispatch->constants));
    dispatch->constant_count = INST + MAP_FLAT_INST_MAX;
    set_constants(&flat, dispatch->constants);
}

void shader_map_flat_plan(const struct kern_op *op, struct shader_work *out)
{
    struct kern_op storage;
    op = shader_map_bits(op, &storage);
    plan_code(op, shader_map_variant(SHADER_map_flat, op), out);
}

void shader_map_flat_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    struct map_flat_params params = { 0 };
    struct flat flat;
    struct kern_op storage;
    (void)index; /* there is one */
    op = shader_map_bits(op, &storage);
    flat_of(op, &flat);
    const struct kern_view *result = &flat.op.tensors[op->input_count];
    params.line = line_of(&flat);
    params.by_vectors = shader_divisor((params.line + flat.vector - 1) / flat.vector);
    for (uint32_t d = 0; d + 1 < result->rank; d++)
        params.by_outer[d] = shader_divisor(result->sizes[result->rank - 2 - d]);
    for (uint32_t i = 0; i < op->u.map.inst_count; i++)
        for (uint32_t k = 0; k < 2; k++) {
            const uint64_t immediate = op->u.map.inst[i].imm[k].u64;
            params.immediates[4 * i + 2 * k] = (uint32_t)immediate;
            params.immediates[4 * i + 2 * k + 1] = (uint32_t)(immediate >> 32);
        }
    shader_block_write(&flat.op, places, flat.units, &params, sizeof(params), words);
}

/* ---- MOVE: a program without instructions ---- */

/* Types stand for widths; 64 bits are copied without arithmetic. */
static void move_program(const struct kern_op *op, struct kern_op *out)
{
    const bool wide = kern_type_bytes(op->tensors[0].type) == 8;
    *out = *op;
    memset(&out->u.map, 0, sizeof(out->u.map));
    out->u.map.load_type[0] = wide ? DML_TENSOR_DATA_TYPE_UINT64 : DML_TENSOR_DATA_TYPE_UINT32;
    for (uint32_t t = 0; t < 2; t++)
        out->tensors[t].type = (DML_TENSOR_DATA_TYPE)shader_move_type(op->tensors[t].type);
}

const char *shader_move_flat_unsupported(const struct kern_op *op)
{
    struct kern_op program;
    move_program(op, &program);
    return shader_map_flat_unsupported(&program);
}

void shader_move_flat_plan(const struct kern_op *op, struct shader_work *out)
{
    struct kern_op program;
    move_program(op, &program);
    plan_code(&program, SHADER_map_flat, out);
}

void shader_move_flat_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    struct kern_op program;
    move_program(op, &program);
    shader_map_flat_write(&program, index, places, words);
}
