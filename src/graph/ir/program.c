/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenation of element-wise programs: registers are renumbered, equal inputs are merged, and the store and load of
 * the first program's result become a conversion. */
#include "graph/ir/program.h"

#include "graph/ir/uses.h"
#include "graph/ir/view.h"

void graph_program_of(const struct graph_op *op, struct graph_program *out)
{
    out->map = op->k.u.map;
    out->input_count = op->k.input_count;
    for (uint32_t i = 0; i < op->k.input_count; i++)
        out->inputs[i] = (struct graph_operand){ op->value[i], op->k.tensors[i] };
}

void graph_program_of_epilogue(const struct graph_op *host, struct graph_program *out)
{
    memset(out, 0, sizeof(*out));
    if (host->k.epilogue)
        out->map = *host->k.epilogue;
    else
        out->map.load_type[0] = DML_TENSOR_DATA_TYPE_FLOAT32;
    out->inputs[0].value = GRAPH_NONE;
    out->input_count = 1;
    for (uint32_t t = host->k.epilogue_input; host->k.epilogue && t < host->k.input_count; t++)
        out->inputs[out->input_count++] = (struct graph_operand){ host->value[t], host->k.tensors[t] };
}

/* Adds the op's inputs from number `first` on as inputs of the program from `skip` on. */
static bool replace_inputs(struct graph_op *op, uint32_t first, const struct graph_program *program, uint32_t skip)
{
    const struct graph_op old = *op;
    uint32_t count = first + program->input_count - skip;
    if (count + old.k.output_count > KERN_TENSORS_MAX)
        return false;
    for (uint32_t t = skip; t < program->input_count; t++) {
        op->value[first + t - skip] = program->inputs[t].value;
        op->k.tensors[first + t - skip] = program->inputs[t].view;
    }
    for (uint32_t t = 0; t < old.k.output_count; t++) {
        op->value[count + t] = old.value[old.k.input_count + t];
        op->k.tensors[count + t] = old.k.tensors[old.k.input_count + t];
    }
    op->k.input_count = count;
    return true;
}

bool graph_op_set_program(struct graph_op *op, const struct graph_program *program)
{
    if (!replace_inputs(op, 0, program, 0))
        return false;
    op->k.u.map = program->map;
    return true;
}

bool graph_op_set_epilogue(struct graph_op *op, const struct graph_program *program)
{
    uint32_t own = op->k.epilogue ? op->k.epilogue_input : op->k.input_count;
    if (!replace_inputs(op, own, program, 1))
        return false;
    op->k.epilogue = &program->map;
    op->k.epilogue_input = own;
    return true;
}

bool graph_map_in_shape(const struct graph_op *map, const struct kern_view *shape, struct graph_op *out)
{
    const struct kern_view *own = &map->k.tensors[map->k.input_count];
    *out = *map;
    if (own->rank == shape->rank && !memcmp(own->sizes, shape->sizes, own->rank * sizeof(*own->sizes)))
        return true;
    for (uint32_t t = 0; t < map->k.input_count + map->k.output_count; t++)
        if (!graph_view_reshape(&map->k.tensors[t], shape->rank, shape->sizes, &out->k.tensors[t]))
            return false;
    return true;
}

static bool add_input(struct graph_program *program, const struct graph_operand *input, uint8_t load, uint8_t *out_reg)
{
    uint32_t i;
    for (i = 0; i < program->input_count; i++)
        if (program->inputs[i].value == input->value && program->map.load_type[i] == load &&
            graph_view_equal(&program->inputs[i].view, &input->view))
            break;
    if (i == KERN_TENSORS_MAX)
        return false;
    if (i == program->input_count) {
        program->inputs[i] = *input;
        program->map.load_type[i] = load;
        program->input_count++;
    }
    *out_reg = (uint8_t)i;
    return true;
}

/* Appends one instruction on renumbered registers; `*out_reg` is its result. */
static bool append(struct graph_program *program, struct kern_map_inst inst, uint8_t *out_reg)
{
    if (program->map.inst_count == KERN_MAP_INST_MAX)
        return false;
    *out_reg = (uint8_t)(program->input_count + program->map.inst_count);
    program->map.inst[program->map.inst_count++] = inst;
    return true;
}

/* Appends all of `source`; regs[0 .. its inputs) are the current registers of its inputs, regs[inputs ..] are
 * filled. */
static bool append_all(struct graph_program *program, const struct graph_program *source, uint8_t *regs)
{
    for (uint32_t i = 0; i < source->map.inst_count; i++) {
        struct kern_map_inst inst = source->map.inst[i];
        for (uint32_t s = 0; s < ARRAY_SIZE(inst.src); s++)
            inst.src[s] = inst.src[s] < source->input_count + i ? regs[inst.src[s]] : 0;
        if (!append(program, inst, &regs[source->input_count + i]))
            return false;
    }
    return true;
}

static DML_TENSOR_DATA_TYPE register_type(const struct graph_program *program, uint32_t reg)
{
    return reg < program->input_count ? program->map.load_type[reg]
                                      : program->map.inst[reg - program->input_count].to_type;
}

static bool convert(struct graph_program *program, DML_TENSOR_DATA_TYPE to, uint8_t *reg)
{
    DML_TENSOR_DATA_TYPE from = register_type(program, *reg);
    struct kern_map_inst inst = { .code = KERN_MAP_CONVERT, .type = (uint8_t)from, .to_type = (uint8_t)to };
    inst.src[0] = *reg;
    return from == to || append(program, inst, reg);
}

static bool is_half(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

bool graph_program_casts(const struct graph_program *program, DML_TENSOR_DATA_TYPE stored)
{
    bool same = program->input_count > 0;
    for (uint32_t i = 0; i < program->input_count; i++)
        same = same && (program->inputs[i].view.type == stored || program->inputs[i].value == GRAPH_NONE);
    return is_half(stored) && !same;
}

/* Narrow integers keep the low bits when stored: WRAP does the same in a register. */
static bool wrap(struct graph_program *program, DML_TENSOR_DATA_TYPE stored, uint8_t *reg)
{
    bool is_signed = stored == DML_TENSOR_DATA_TYPE_INT16 || stored == DML_TENSOR_DATA_TYPE_INT8;
    DML_TENSOR_DATA_TYPE type = is_signed ? DML_TENSOR_DATA_TYPE_INT32 : DML_TENSOR_DATA_TYPE_UINT32;
    struct kern_map_inst inst = { .code = KERN_MAP_WRAP, .type = (uint8_t)type, .to_type = (uint8_t)type };
    if (!convert(program, type, reg))
        return false;
    inst.src[0] = *reg;
    inst.imm[0].u32 = schema_data_type_bits(stored);
    return append(program, inst, reg);
}

/* Floats are truncated and saturated when stored as bytes. */
static bool saturate(struct graph_program *program, DML_TENSOR_DATA_TYPE stored, uint8_t *reg)
{
    const uint8_t type = DML_TENSOR_DATA_TYPE_INT32;
    const bool is_signed = stored == DML_TENSOR_DATA_TYPE_INT8;
    struct kern_map_inst inst = { .code = KERN_MAP_CLAMP, .type = type, .to_type = type };
    if (!convert(program, type, reg))
        return false;
    inst.src[0] = *reg;
    inst.imm[0].i32 = is_signed ? INT8_MIN : 0;
    inst.imm[1].i32 = is_signed ? INT8_MAX : UINT8_MAX;
    return append(program, inst, reg);
}

/* Each result is one of 256, of the byte that it depends on: kernels look them up, however long the program. */
static bool of_one_byte(const struct graph_program *program)
{
    uint32_t varying = 0, bytes = 0;
    for (uint32_t i = 0; i < program->input_count; i++) {
        const struct kern_view *view = &program->inputs[i].view;
        bool varies = program->inputs[i].value == GRAPH_NONE;
        for (uint32_t d = 0; d < view->rank && !varies; d++)
            varies = view->sizes[d] > 1 && view->strides[d];
        varying += varies;
        bytes += varies && schema_data_type_bits(view->type) == 8;
    }
    return varying == 1 && bytes == 1;
}

/* The register is 0 or 1. */
static bool is_truth(const struct graph_program *program, uint32_t reg)
{
    static const bool truths[KERN_MAP_CODE_COUNT] = {
#define MAPTRUTH(name, arity, types, expr) [KERN_MAP_##name] = true,
#define MAPEXPR(name, arity, types, expr)
#include "kernels/core/mapops.def"
        [KERN_MAP_IS_INF] = true,
    };
    return reg >= program->input_count && truths[program->map.inst[reg - program->input_count].code];
}

bool graph_program_of_floats(const struct graph_program *program)
{
    const uint8_t reg = program->map.store[0];
    return graph_is_float(register_type(program, reg)) && !is_truth(program, reg);
}

/* The register as it would be after a store as `stored`. */
static bool pass_storage(struct graph_program *program, DML_TENSOR_DATA_TYPE stored, DML_TENSOR_DATA_TYPE load,
                         uint8_t *reg)
{
    switch ((uint32_t)stored) {
    case DML_TENSOR_DATA_TYPE_FLOAT16:
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        return register_type(program, *reg) == DML_TENSOR_DATA_TYPE_FLOAT32 && load == DML_TENSOR_DATA_TYPE_FLOAT32;
    case DML_TENSOR_DATA_TYPE_INT16:
    case DML_TENSOR_DATA_TYPE_UINT16:
        return is_truth(program, *reg) || (!graph_is_float(register_type(program, *reg)) && wrap(program, stored, reg));
    case DML_TENSOR_DATA_TYPE_INT8:
    case DML_TENSOR_DATA_TYPE_UINT8:
        if (graph_is_float(register_type(program, *reg)) && !is_truth(program, *reg))
            return of_one_byte(program) && saturate(program, stored, reg);
        return is_truth(program, *reg) || wrap(program, stored, reg);
    case DML_TENSOR_DATA_TYPE_UINT4:
    case DML_TENSOR_DATA_TYPE_INT4:
    case DML_TENSOR_DATA_TYPE_UNKNOWN:
        return false;
    default:
        return convert(program, stored, reg);
    }
}

static bool add_inputs(struct graph_program *out, const struct graph_program *source, uint32_t skip, uint8_t *regs)
{
    for (uint32_t i = 0; i < source->input_count; i++)
        if (!(skip >> i & 1) && !add_input(out, &source->inputs[i], source->map.load_type[i], &regs[i]))
            return false;
    return true;
}

bool graph_program_join(const struct graph_program *first, const struct graph_program *second, uint32_t fed,
                        DML_TENSOR_DATA_TYPE stored, struct graph_program *out)
{
    uint8_t first_regs[KERN_TENSORS_MAX + KERN_MAP_INST_MAX] = { 0 };
    uint8_t second_regs[KERN_TENSORS_MAX + KERN_MAP_INST_MAX] = { 0 };
    memset(out, 0, sizeof(*out));
    if (graph_program_casts(first, stored))
        return false;
    if (!add_inputs(out, first, 0, first_regs) || !add_inputs(out, second, fed, second_regs) ||
        !append_all(out, first, first_regs))
        return false;
    for (uint32_t i = 0; i < second->input_count; i++) {
        if (!(fed >> i & 1))
            continue;
        second_regs[i] = first_regs[first->map.store[0]];
        if (!pass_storage(out, stored, second->map.load_type[i], &second_regs[i]) ||
            !convert(out, second->map.load_type[i], &second_regs[i]))
            return false;
    }
    if (!append_all(out, second, second_regs))
        return false;
    for (uint32_t j = 0; j < KERN_TENSORS_MAX; j++)
        if (second->map.store[j] < second->input_count + second->map.inst_count)
            out->map.store[j] = second_regs[second->map.store[j]];
    return true;
}

void graph_program_trim(struct graph_program *program)
{
    bool needed[KERN_TENSORS_MAX + KERN_MAP_INST_MAX] = { 0 };
    uint8_t regs[KERN_TENSORS_MAX + KERN_MAP_INST_MAX] = { 0 };
    struct graph_program out = { 0 };
    uint32_t inputs = program->input_count;
    needed[program->map.store[0]] = true;
    for (uint32_t i = program->map.inst_count; i--;)
        for (uint32_t s = 0; needed[inputs + i] && s < ARRAY_SIZE(program->map.inst[i].src); s++)
            if (s < kern_map_arity[program->map.inst[i].code])
                needed[program->map.inst[i].src[s]] = true;
    for (uint32_t i = 0; i < inputs; i++)
        if (needed[i])
            add_input(&out, &program->inputs[i], program->map.load_type[i], &regs[i]);
    for (uint32_t i = 0; i < program->map.inst_count; i++) {
        struct kern_map_inst inst = program->map.inst[i];
        if (!needed[inputs + i])
            continue;
        for (uint32_t s = 0; s < ARRAY_SIZE(inst.src); s++)
            inst.src[s] = s < kern_map_arity[inst.code] ? regs[inst.src[s]] : 0;
        append(&out, inst, &regs[inputs + i]);
    }
    out.map.store[0] = regs[program->map.store[0]];
    *program = out;
}

const char *graph_map_name(uint32_t code)
{
    static const char *const names[] = {
#define MAPOP(name, arity, types, formula) #name,
#include "kernels/core/mapops.def"
    };
    return code < ARRAY_SIZE(names) ? names[code] : "?";
}

bool graph_add_scaled(struct graph *graph, uint32_t at, const struct graph_op *of, struct graph_operand sums,
                      struct graph_operand c, float beta, struct graph_operand out)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    c.view = graph_view_broadcast(&c.view, out.view.rank, out.view.sizes);
    struct graph_op *op = graph_op_insert(graph, at, of, KERN_MAP, (struct graph_operand[]){ sums, c }, 2, &out);
    if (!op)
        return false;
    struct kern_map *map = &op->k.u.map;
    uint8_t last = 1;
    map->load_type[0] = map->load_type[1] = f32;
    if (beta != 1) {
        map->inst[0] = (struct kern_map_inst){ KERN_MAP_MULADD, f32, f32, { 1 }, { { .f32 = beta }, { 0 } } };
        map->inst_count = 1;
        last = 2;
    }
    map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { 0, last }, { { 0 } } };
    map->store[0] = (uint8_t)(1 + map->inst_count);
    return true;
}

bool graph_map_in_place(const struct kern_op *op)
{
    if (op->kind != KERN_MAP || op->output_count == 1)
        return op->kind == KERN_MAP || op->kind == KERN_MOVE;
    /* Results are stored in order: an input that is one of them may be overwritten before. */
    for (uint32_t j = 0; j < op->output_count; j++)
        if (op->u.map.store[j] < op->input_count)
            return false;
    return true;
}

/* Inputs value, scale, [zero point]; MUL([convert] [SUB(value, zero point)], scale). */
bool graph_dequantizes(const struct graph_op *op)
{
    const struct kern_map *map = &op->k.u.map;
    uint32_t inputs = op->k.input_count, at = 0, last = 0;
    if (op->k.kind != KERN_MAP || op->k.output_count != 1 || (inputs != 2 && inputs != 3))
        return false;
    if (inputs == 3) {
        const struct kern_map_inst *sub = &map->inst[at++];
        if (map->inst_count < 2 || sub->code != KERN_MAP_SUB || sub->src[0] != 0 || sub->src[1] != 2)
            return false;
        last = inputs;
    }
    if (at < map->inst_count && map->inst[at].code == KERN_MAP_CONVERT && map->inst[at].src[0] == last)
        last = inputs + at++;
    const struct kern_map_inst *mul = &map->inst[at];
    return at + 1 == map->inst_count && mul->code == KERN_MAP_MUL && mul->type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           mul->src[0] == last && mul->src[1] == 1 && map->load_type[1] == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           map->store[0] == inputs + at && op->k.tensors[inputs].type == DML_TENSOR_DATA_TYPE_FLOAT32;
}
