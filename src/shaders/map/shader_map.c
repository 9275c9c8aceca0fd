/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise ops and moves: one dispatch, with the parameter block that map_params.glsl describes. */
#include "shaders/map/shader_map.h"

enum {
    HEADER_WORDS = 16,
    TENSOR_WORDS = 24,
    INST_WORDS = 6,
    GROUP_SIZE = 256,
    GROUPS_MAX = 4096, /* invocations then process several elements each */
    REGISTERS_MAX = KERN_TENSORS_MAX + KERN_MAP_INST_MAX,
};

/* The shaders count elements in 32 bits, in strides of all invocations. */
#define ELEMENTS_MAX (UINT32_MAX - (uint64_t)GROUPS_MAX * GROUP_SIZE)

/* core/memory.glsl has these numbers. */
_Static_assert(DML_TENSOR_DATA_TYPE_FLOAT32 == 1 && DML_TENSOR_DATA_TYPE_FLOAT16 == 2 &&
                   DML_TENSOR_DATA_TYPE_UINT32 == 3 && DML_TENSOR_DATA_TYPE_UINT16 == 4 &&
                   DML_TENSOR_DATA_TYPE_UINT8 == 5 && DML_TENSOR_DATA_TYPE_INT32 == 6 &&
                   DML_TENSOR_DATA_TYPE_INT16 == 7 && DML_TENSOR_DATA_TYPE_INT8 == 8 &&
                   DML_TENSOR_DATA_TYPE_FLOAT64 == 9 && DML_TENSOR_DATA_TYPE_UINT64 == 10 &&
                   DML_TENSOR_DATA_TYPE_INT64 == 11 && DML_TENSOR_DATA_TYPE_UINT4 == 12 &&
                   DML_TENSOR_DATA_TYPE_INT4 == 13 && ANYDML_TENSOR_DATA_TYPE_BFLOAT16 == 15,
               "data types");

static void put64(uint32_t *words, int64_t value)
{
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)((uint64_t)value >> 32);
}

static uint32_t inst_count(const struct kern_op *op)
{
    return op->kind == KERN_MAP ? op->u.map.inst_count : 0;
}

static uint32_t parameter_words(const struct kern_op *op)
{
    return HEADER_WORDS + (op->input_count + op->output_count) * TENSOR_WORDS + inst_count(op) * INST_WORDS;
}

uint32_t shader_move_type(DML_TENSOR_DATA_TYPE type)
{
    switch (kern_type_bytes(type)) {
    case 0:
        return DML_TENSOR_DATA_TYPE_UINT4;
    case 1:
        return DML_TENSOR_DATA_TYPE_UINT8;
    case 2:
        return DML_TENSOR_DATA_TYPE_UINT16;
    case 4:
        return DML_TENSOR_DATA_TYPE_UINT32;
    default:
        return DML_TENSOR_DATA_TYPE_UINT64;
    }
}

static void write_tensors(const struct kern_op *op, const struct shader_place *places, uint32_t *words)
{
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        const struct kern_view *view = &op->tensors[t];
        uint32_t *at = words + HEADER_WORDS + t * TENSOR_WORDS, bytes = kern_type_bytes(view->type);
        at[0] = op->kind == KERN_MOVE ? shader_move_type(view->type) : (uint32_t)view->type;
        at[1] = places[t].base;
        put64(at + 4, (int64_t)places[t].offset);
        for (uint32_t d = 0; d < view->rank; d++)
            put64(at + 8 + 2 * d, view->strides[d] * (bytes ? bytes : 1));
    }
}

/* ---- registers ---- */

/* The instruction after which register i is dead. */
static void find_ends(const struct kern_op *op, uint32_t *ends)
{
    const struct kern_map *map = &op->u.map;
    memset(ends, 0, REGISTERS_MAX * sizeof(*ends));
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            ends[map->inst[i].src[s]] = i;
    for (uint32_t j = 0; j < op->output_count; j++)
        ends[map->store[j]] = map->inst_count;
}

struct allocation {
    uint8_t place[REGISTERS_MAX]; /* of each register of the program */
    bool taken[REGISTERS_MAX];
    uint32_t count;
};

static uint8_t take(struct allocation *allocation)
{
    uint8_t place = 0;
    while (allocation->taken[place])
        place++;
    allocation->taken[place] = true;
    allocation->count = BASE_MAX(allocation->count, place + 1u);
    return place;
}

/* A result may use the register of an operand whose last use is the instruction. */
static void allocate(const struct kern_op *op, struct allocation *out)
{
    const struct kern_map *map = &op->u.map;
    uint32_t ends[REGISTERS_MAX];
    memset(out, 0, sizeof(*out));
    find_ends(op, ends);
    for (uint32_t i = 0; i < op->input_count; i++)
        out->place[i] = take(out);
    for (uint32_t i = 0; i < map->inst_count; i++) {
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++) {
            uint8_t source = map->inst[i].src[s];
            if (ends[source] == i)
                out->taken[out->place[source]] = false;
        }
        uint32_t result = op->input_count + i;
        out->place[result] = take(out);
        if (ends[result] <= i) /* unused */
            out->taken[out->place[result]] = false;
    }
}

static uint32_t round_registers(uint32_t count)
{
    uint32_t rounded = 4;
    while (rounded < count)
        rounded *= 2;
    return BASE_MIN(rounded, REGISTERS_MAX);
}

/* ---- programs ---- */

uint32_t shader_map_register_type(const struct kern_op *op, uint32_t reg)
{
    return reg < op->input_count ? op->u.map.load_type[reg] : op->u.map.inst[reg - op->input_count].to_type;
}

static void write_program(const struct kern_op *op, const struct allocation *registers, uint32_t *words)
{
    const struct kern_map *map = &op->u.map;
    uint32_t tensors = op->input_count + op->output_count;
    for (uint32_t t = 0; t < tensors; t++) {
        uint32_t reg = t < op->input_count ? t : map->store[t - op->input_count];
        words[HEADER_WORDS + t * TENSOR_WORDS + 2] = shader_map_register_type(op, reg);
        words[HEADER_WORDS + t * TENSOR_WORDS + 3] = registers->place[reg];
    }
    uint32_t *at = words + HEADER_WORDS + tensors * TENSOR_WORDS;
    for (uint32_t i = 0; i < map->inst_count; i++, at += INST_WORDS) {
        const struct kern_map_inst *inst = &map->inst[i];
        at[0] = inst->code | (uint32_t)inst->type << 8 | (uint32_t)inst->to_type << 16 |
                (uint32_t)registers->place[op->input_count + i] << 24;
        for (uint32_t s = 0; s < kern_map_arity[inst->code]; s++)
            at[1] |= (uint32_t)registers->place[inst->src[s]] << 8 * s;
        put64(at + 2, inst->imm[0].i64);
        put64(at + 4, inst->imm[1].i64);
    }
}

/* Shaders with more types include those with fewer. */
static uint32_t variant_of_type(uint32_t type)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        return 2;
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64:
        return 1;
    default:
        return 0;
    }
}

enum shader_code shader_map_variant(enum shader_code plain, const struct kern_op *op)
{
    const struct kern_map *map = &op->u.map;
    uint32_t variant = 0;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        variant = BASE_MAX(variant, variant_of_type(op->tensors[t].type));
    for (uint32_t t = 0; t < op->input_count; t++)
        variant = BASE_MAX(variant, variant_of_type(map->load_type[t]));
    for (uint32_t i = 0; i < map->inst_count; i++) {
        variant = BASE_MAX(variant, variant_of_type(map->inst[i].type));
        variant = BASE_MAX(variant, variant_of_type(map->inst[i].to_type));
    }
    return (enum shader_code)(plain + variant);
}

/* Results of 1 or 0. */
static const bool truths[KERN_MAP_CODE_COUNT] = {
#define MAPOP(name, operands, types, formula)
#define MAPEXPR(name, operands, types, formula)
#define MAPTRUTH(name, operands, types, formula) [KERN_MAP_##name] = true,
#include "kernels/core/mapops.def"
};

static bool is_integer(uint32_t type)
{
    return type == DML_TENSOR_DATA_TYPE_UINT32 || type == DML_TENSOR_DATA_TYPE_INT32 ||
           type == DML_TENSOR_DATA_TYPE_UINT64 || type == DML_TENSOR_DATA_TYPE_INT64;
}

/* Whether a FLOAT32 register has all bits zero exactly when it is zero: never minus zero. */
static bool is_truth(const struct kern_op *op, uint32_t reg)
{
    if (reg < op->input_count)
        return op->tensors[reg].type == DML_TENSOR_DATA_TYPE_UINT8;
    const struct kern_map_inst *inst = &op->u.map.inst[reg - op->input_count];
    return truths[inst->code] || (inst->code == KERN_MAP_CONVERT && is_integer(inst->type));
}

/* Whether all results are 16-bit numbers that are only selected, by SELECT; `chosen` are the registers that hold
 * such. */
static bool chooses_halves(const struct kern_op *op, bool *chosen)
{
    const struct kern_map *map = &op->u.map;
    const uint32_t inputs = op->input_count;
    const DML_TENSOR_DATA_TYPE type = op->tensors[inputs].type;
    if (op->kind != KERN_MAP || (type != DML_TENSOR_DATA_TYPE_FLOAT16 && type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16))
        return false;
    for (uint32_t j = 0; j < op->output_count; j++) {
        if (op->tensors[inputs + j].type != type)
            return false;
        chosen[map->store[j]] = true;
    }
    for (uint32_t i = map->inst_count; i--;) {
        const struct kern_map_inst *inst = &map->inst[i];
        if (!chosen[inputs + i])
            continue;
        if (inst->code != KERN_MAP_SELECT || !is_truth(op, inst->src[0]))
            return false;
        chosen[inst->src[1]] = chosen[inst->src[2]] = true;
    }
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            if (chosen[map->inst[i].src[s]] && !(chosen[inputs + i] && s))
                return false;
    for (uint32_t t = 0; t < inputs; t++)
        if (chosen[t] && op->tensors[t].type != type)
            return false;
    for (uint32_t reg = 0; reg < inputs + map->inst_count; reg++)
        if (chosen[reg] && is_integer(shader_map_register_type(op, reg)))
            return false; /* which cuts fractions */
    return true;
}

const struct kern_op *shader_map_bits(const struct kern_op *op, struct kern_op *storage)
{
    bool chosen[REGISTERS_MAX] = { false };
    if (!chooses_halves(op, chosen))
        return op;
    *storage = *op;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (t >= op->input_count || chosen[t])
            storage->tensors[t].type = DML_TENSOR_DATA_TYPE_UINT16;
    for (uint32_t t = 0; t < op->input_count; t++)
        if (chosen[t])
            storage->u.map.load_type[t] = DML_TENSOR_DATA_TYPE_UINT32;
    for (uint32_t i = 0; i < op->u.map.inst_count; i++)
        if (chosen[op->input_count + i])
            storage->u.map.inst[i].type = storage->u.map.inst[i].to_type = DML_TENSOR_DATA_TYPE_UINT32;
    return storage;
}

static void plan_program(const struct kern_op *op, struct shader_dispatch *out)
{
    struct allocation registers;
    allocate(op, &registers);
    out->shader = shader_identity(shader_map_variant(SHADER_map, op));
    out->constant_count = 1;
    out->constants[0] = round_registers(registers.count);
}

const char *shader_map_unsupported(const struct kern_op *op)
{
    if (kern_view_elements(&op->tensors[op->input_count]) > ELEMENTS_MAX)
        return "the shaders do not count that many elements";
    return NULL;
}

void shader_map_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_dispatch *dispatch = &out->dispatches[out->dispatch_count++];
    uint64_t elements = kern_view_elements(&op->tensors[op->input_count]);
    struct kern_op storage;
    op = shader_map_bits(op, &storage);
    dispatch->groups[0] = (uint32_t)BASE_MIN((elements + GROUP_SIZE - 1) / GROUP_SIZE, GROUPS_MAX);
    dispatch->groups[1] = dispatch->groups[2] = 1;
    dispatch->parameter_words = parameter_words(op);
    dispatch->shader = shader_identity(SHADER_move);
    if (op->kind == KERN_MAP)
        plan_program(op, dispatch);
}

void shader_map_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct kern_view *result = &op->tensors[op->input_count];
    struct allocation registers;
    struct kern_op storage;
    (void)index; /* there is one */
    op = shader_map_bits(op, &storage);
    words[0] = (uint32_t)kern_view_elements(result);
    words[1] = result->rank;
    words[2] = op->input_count;
    words[3] = op->output_count;
    words[4] = inst_count(op);
    memcpy(words + 8, result->sizes, result->rank * sizeof(*words));
    write_tensors(op, places, words);
    if (op->kind == KERN_MAP) {
        allocate(op, &registers);
        write_program(op, &registers, words);
    }
}

const char *shader_move_unsupported(const struct kern_op *op)
{
    return shader_map_unsupported(op);
}

void shader_move_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_map_plan(op, out);
}

void shader_move_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    shader_map_write(op, index, places, words);
}
