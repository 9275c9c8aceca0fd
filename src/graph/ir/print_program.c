/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs as text. */
#include "graph/ir/program.h"

#include "graph/ir/text.h"

static void print_immediate(struct graph_text *text, uint32_t type, const union kern_scalar *value)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        graph_text_add(text, "%.9g", value->f32);
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        graph_text_add(text, "%.17g", value->f64);
        break;
    case DML_TENSOR_DATA_TYPE_INT32:
        graph_text_add(text, "%d", value->i32);
        break;
    case DML_TENSOR_DATA_TYPE_UINT32:
        graph_text_add(text, "%u", value->u32);
        break;
    case DML_TENSOR_DATA_TYPE_INT64:
        graph_text_add(text, "%lld", (long long)value->i64);
        break;
    default:
        graph_text_add(text, "%llu", (unsigned long long)value->u64);
        break;
    }
}

struct program_text {
    const struct kern_map *map;
    uint32_t inputs;
    uint8_t uses[KERN_TENSORS_MAX + KERN_MAP_INST_MAX];
};

static void print_register(struct graph_text *text, const struct program_text *program, uint32_t reg);

static void print_instruction(struct graph_text *text, const struct program_text *program, uint32_t index)
{
    const struct kern_map_inst *inst = &program->map->inst[index];
    uint32_t arity = kern_map_arity[inst->code];
    static const union kern_scalar zero;
    bool second = memcmp(&inst->imm[1], &zero, sizeof(zero)) != 0;
    bool first = second || memcmp(&inst->imm[0], &zero, sizeof(zero)) != 0 || inst->code == KERN_MAP_CONST;
    if (inst->code == KERN_MAP_CONVERT)
        graph_text_add(text, "%s_to_", graph_type_name(inst->type));
    graph_text_add(text, "%s",
                   inst->code == KERN_MAP_CONVERT ? graph_type_name(inst->to_type) : graph_map_name(inst->code));
    graph_text_add(text, "(");
    for (uint32_t s = 0; s < arity; s++) {
        graph_text_add(text, "%s", s ? ", " : "");
        print_register(text, program, inst->src[s]);
    }
    for (uint32_t p = 0; p < (first ? 1u : 0u) + (second ? 1u : 0u); p++) {
        graph_text_add(text, "%s", arity || p ? ", " : "");
        print_immediate(text, inst->type, &inst->imm[p]);
    }
    graph_text_add(text, ")");
}

/* A register that is used once is printed as its expression, others get a name. */
static void print_register(struct graph_text *text, const struct program_text *program, uint32_t reg)
{
    if (reg < program->inputs)
        graph_text_add(text, "i%u", reg);
    else if (program->uses[reg] > 1)
        graph_text_add(text, "t%u", reg - program->inputs);
    else
        print_instruction(text, program, reg - program->inputs);
}

void graph_text_program(struct graph_text *text, const struct kern_map *map, uint32_t inputs, uint32_t outputs)
{
    struct program_text program = { map, inputs, { 0 } };
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            program.uses[map->inst[i].src[s]] += program.uses[map->inst[i].src[s]] < 2;
    for (uint32_t j = 0; j < outputs; j++)
        program.uses[map->store[j]] += program.uses[map->store[j]] < 2;
    for (uint32_t i = 0; i < inputs; i++)
        graph_text_add(text, "%si%u:%s", i ? " " : " {", i, graph_type_name(map->load_type[i]));
    graph_text_add(text, "%s", inputs ? ";" : " {");
    for (uint32_t i = 0; i < map->inst_count; i++) {
        if (program.uses[inputs + i] < 2)
            continue;
        graph_text_add(text, " t%u = ", i);
        print_instruction(text, &program, i);
        graph_text_add(text, ";");
    }
    for (uint32_t j = 0; j < outputs; j++) {
        graph_text_add(text, "%s", j ? ", " : " ");
        print_register(text, &program, map->store[j]);
    }
    graph_text_add(text, "}");
}
