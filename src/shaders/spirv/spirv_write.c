/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the functions of the new module. */
#include "shaders/spirv/spirv_module.h"

#include <stdlib.h>

uint32_t spirv_new_id(struct spirv_writer *writer)
{
    return writer->bound++;
}

/* ---- constants and types, each once ---- */

/* The place in the hash table for a constant: its id, or 0. */
static uint32_t *constant_place(struct spirv_writer *writer, uint32_t type, uint32_t number)
{
    enum { BUCKETS = 4096 }; /* more than shaders have constants */
    if (!writer->constants)
        writer->constants = calloc(BUCKETS * 3, sizeof(*writer->constants));
    if (!writer->constants || writer->constant_count >= BUCKETS - 1) {
        writer->failed = true;
        return NULL;
    }
    uint32_t at = (type * 2654435761u ^ number * 2246822519u) % BUCKETS;
    while (writer->constants[3 * at] &&
           (writer->constants[3 * at + 1] != type || writer->constants[3 * at + 2] != number))
        at = (at + 1) % BUCKETS;
    writer->constants[3 * at + 1] = type;
    writer->constants[3 * at + 2] = number;
    return &writer->constants[3 * at];
}

static void note_constants(struct spirv_writer *writer)
{
    const struct spirv_module *module = &writer->module;
    for (uint32_t at = SPIRV_HEADER; at < module->functions_begin && !writer->failed; at += spirv_length(module, at)) {
        const uint32_t op = spirv_opcode(module, at);
        if (op < OpConstantTrue || op > OpConstant || module->known[module->words[at + 2]].state != SPIRV_CONSTANT)
            continue;
        const uint32_t id = module->words[at + 2];
        uint32_t *place = constant_place(writer, module->words[at + 1], module->known[id].number);
        if (place && !*place) {
            *place = id;
            writer->constant_count++;
        }
    }
}

uint32_t spirv_constant_id(struct spirv_writer *writer, uint32_t type, uint32_t number)
{
    if (!writer->constants)
        note_constants(writer);
    uint32_t *place = constant_place(writer, type, number);
    if (!place)
        return 0;
    if (!*place) {
        *place = spirv_new_id(writer);
        writer->constant_count++;
        const bool is_bool = spirv_defined_by(&writer->module, type) == OpTypeBool;
        const uint32_t begin = spirv_begin(&writer->types, !is_bool ? OpConstant
                                                           : number ? OpConstantTrue
                                                                    : OpConstantFalse);
        spirv_put(&writer->types, (const uint32_t[]){ type, *place, number }, is_bool ? 2 : 3);
        spirv_end(&writer->types, begin);
        writer->used[type] = 1;
    } else if (*place < writer->module.bound) {
        writer->used[*place] = 1;
    }
    return *place;
}

/* `words`: the type of the result and those of the parameters. */
static uint32_t function_type(struct spirv_writer *writer, const uint32_t *words, uint32_t count)
{
    const struct spirv_module *module = &writer->module;
    for (uint32_t at = SPIRV_HEADER; at < module->functions_begin; at += spirv_length(module, at))
        if (spirv_opcode(module, at) == OpTypeFunction && spirv_length(module, at) == count + 2 &&
            !memcmp(module->words + at + 2, words, count * sizeof(*words))) {
            writer->used[module->words[at + 1]] = 1;
            return module->words[at + 1];
        }
    const struct spirv_words *types = &writer->types;
    for (uint32_t at = 0; at < types->count && !types->failed; at += types->at[at] >> 16)
        if (types->at[at] == (OpTypeFunction | (count + 2) << 16) &&
            !memcmp(types->at + at + 2, words, count * sizeof(*words)))
            return types->at[at + 1];
    const uint32_t id = spirv_new_id(writer), begin = spirv_begin(&writer->types, OpTypeFunction);
    spirv_put_word(&writer->types, id);
    spirv_put(&writer->types, words, count);
    spirv_end(&writer->types, begin);
    for (uint32_t i = 0; i < count; i++)
        writer->used[words[i]] = 1;
    return id;
}

/* ---- ids ---- */

static uint32_t id_of(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t id)
{
    const struct spirv_module *module = &writer->module;
    if (spirv_is_constant(writer, copy, id) && module->local[id] != UINT32_MAX)
        return spirv_constant_id(writer, spirv_type_of(module, id), spirv_value_of(writer, copy, id).number);
    id = spirv_only_value(writer, copy, id);
    if (module->local[id] == UINT32_MAX) {
        writer->used[id] = 1;
        return id;
    }
    uint32_t *place = &copy->ids[module->local[id]];
    if (!*place)
        *place = spirv_new_id(writer);
    return *place;
}

/* That of the result at word `at`, with its decorations. */
static uint32_t result_of(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t id)
{
    const struct spirv_module *module = &writer->module;
    uint32_t *place = &copy->ids[module->local[id]];
    if (!*place)
        *place = spirv_new_id(writer);
    for (uint32_t at = module->decorations[id]; at; at = module->next_decoration[at]) {
        const uint32_t begin = spirv_begin(&writer->decorations, OpDecorate);
        spirv_put_word(&writer->decorations, *place);
        spirv_put(&writer->decorations, module->words + at + 2, spirv_length(module, at) - 2);
        spirv_end(&writer->decorations, begin);
    }
    return *place;
}

/* The function of a copy is written after those that ask for it first. */
static uint32_t function_id(struct spirv_writer *writer, struct spirv_copy *copy)
{
    if (copy->id)
        return copy->id;
    if (writer->queue_count == writer->queue_room) {
        const uint32_t room = writer->queue_room * 2 + 64;
        struct spirv_copy **queue = realloc(writer->queue, room * sizeof(*queue));
        if (!queue) {
            writer->failed = true;
            return 0;
        }
        writer->queue = queue;
        writer->queue_room = room;
    }
    writer->queue[writer->queue_count++] = copy;
    return copy->id = spirv_new_id(writer);
}

/* ---- instructions ---- */

static void write_call(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at)
{
    const uint32_t *words = writer->module.words + at;
    struct spirv_words *out = &writer->functions;
    bool waits;
    struct spirv_copy *callee = spirv_callee(writer, copy, at, &waits);
    if (!callee) {
        writer->failed = true;
        return;
    }
    const uint32_t begin = spirv_begin(out, OpFunctionCall);
    spirv_put_word(out, words[1]);
    writer->used[words[1]] = 1;
    spirv_put_word(out, result_of(writer, copy, words[2]));
    spirv_put_word(out, function_id(writer, callee));
    for (uint32_t i = 0; i < callee->function->parameters; i++)
        if (callee->parameters[i].state != SPIRV_CONSTANT)
            spirv_put_word(out, id_of(writer, copy, words[4 + i]));
    spirv_end(out, begin);
}

static void write_phi(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at, uint32_t label)
{
    const struct spirv_module *module = &writer->module;
    for (uint32_t i = 3; i + 1 < spirv_length(module, at); i += 2) {
        const uint32_t from = module->place[module->words[at + i + 1]];
        if (copy->reached[from - copy->function->first_block] && spirv_continues(writer, copy, from, label)) {
            spirv_put_word(&writer->functions, id_of(writer, copy, module->words[at + i]));
            spirv_put_word(&writer->functions, id_of(writer, copy, module->words[at + i + 1]));
        }
    }
}

static void write_instruction(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at, uint32_t label)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at), *words = module->words + at;
    const struct spirv_op *row = spirv_op(op);
    struct spirv_words *out = &writer->functions;
    if (op == OpFunctionCall) {
        write_call(writer, copy, at);
        return;
    }
    uint32_t count, first = spirv_operands(module, at, &count);
    const uint32_t begin = spirv_begin(out, op);
    if (row->result == 2) {
        writer->used[words[1]] = 1;
        spirv_put_word(out, words[1]);
    }
    if (row->result)
        spirv_put_word(out, result_of(writer, copy, words[row->result]));
    spirv_put(out, words + 1 + row->result, row->literals);
    if (op == OpPhi)
        write_phi(writer, copy, at, label);
    for (uint32_t i = 0; op != OpPhi && i < count; i++)
        spirv_put_word(out, id_of(writer, copy, module->words[first + i]));
    spirv_put(out, module->words + first + count, at + spirv_length(module, at) - first - count);
    spirv_end(out, begin);
}

/* ---- blocks ---- */

static void write_branch(struct spirv_writer *writer, uint32_t label)
{
    spirv_put(&writer->functions, (const uint32_t[]){ OpBranch | 2 << 16, label }, 2);
}

static void write_end(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    const struct spirv_block *b = &module->blocks[block];
    const uint32_t op = spirv_opcode(module, b->end), *words = module->words + b->end;
    const uint32_t only = spirv_only_target(writer, copy, block);
    const bool kept = copy->kept[block - copy->function->first_block];
    struct spirv_words *out = &writer->functions;
    if (kept)
        write_instruction(writer, copy, b->merge, b->label);
    if (only && kept && spirv_opcode(module, b->merge) == OpSelectionMerge) {
        const uint32_t zero = spirv_constant_id(writer, module->uint_type, 0);
        spirv_put(out, (const uint32_t[]){ OpSwitch | 3 << 16, zero, id_of(writer, copy, only) }, 3);
    } else if (only) {
        write_branch(writer, id_of(writer, copy, only));
    } else if (op == OpSwitch) {
        const uint32_t begin = spirv_begin(out, op);
        for (uint32_t i = 1; i < spirv_length(module, b->end); i++)
            spirv_put_word(out, i == 1 || i % 2 == 0 ? id_of(writer, copy, words[i]) : words[i]);
        spirv_end(out, begin);
    } else {
        write_instruction(writer, copy, b->end, b->label);
    }
}

static bool is_written(const struct spirv_copy *copy, const struct spirv_module *module, uint32_t at)
{
    const struct spirv_op *row = spirv_op(spirv_opcode(module, at));
    return row && row->result && copy->used[module->local[module->words[at + row->result]]];
}

/* Whether an instruction does something besides its result. */
static bool acts(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at);
    bool waits;
    if (op == OpStore) {
        const uint32_t variable = spirv_variable_of(module, module->words[at + 1]);
        return !variable || copy->used[module->local[variable]];
    }
    if (op == OpFunctionCall) {
        const struct spirv_copy *callee = spirv_callee(writer, copy, at, &waits);
        return !callee || callee->effects;
    }
    return spirv_op(op) && op != OpLoopMerge && op != OpSelectionMerge && spirv_op(op)->effect == EFFECT_ANY;
}

static void write_label(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t label)
{
    spirv_put(&writer->functions, (const uint32_t[]){ OpLabel | 2 << 16, id_of(writer, copy, label) }, 2);
}

/* A block that is never executed, but that a merge instruction names. */
static void write_unreached(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t label = module->blocks[block].label, first = copy->function->first_block;
    for (uint32_t i = 0; i < copy->function->blocks; i++) {
        const struct spirv_block *header = &module->blocks[first + i];
        if (!copy->kept[i])
            continue;
        const bool loop = spirv_opcode(module, header->merge) == OpLoopMerge;
        if (loop && module->words[header->merge + 2] == label) {
            write_label(writer, copy, label);
            write_branch(writer, id_of(writer, copy, header->label));
            return;
        }
        if (module->words[header->merge + 1] == label) {
            write_label(writer, copy, label);
            spirv_put_word(&writer->functions, OpUnreachable | 1 << 16);
            return;
        }
    }
}

static void write_block(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    const struct spirv_block *b = &module->blocks[block];
    write_label(writer, copy, b->label);
    for (uint32_t at = b->begin; at < b->end; at += spirv_length(module, at))
        if (is_written(copy, module, at) || acts(writer, copy, at))
            write_instruction(writer, copy, at, b->label);
    write_end(writer, copy, block);
}

/* ---- functions ---- */

static void write_parameters(struct spirv_writer *writer, struct spirv_copy *copy)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t begin = copy->function->begin, *words = module->words + begin;
    uint32_t types[1 + SPIRV_PARAMETERS_MAX], count = 1;
    types[0] = words[1];
    for (uint32_t i = 0; i < copy->function->parameters; i++)
        if (copy->parameters[i].state != SPIRV_CONSTANT)
            types[count++] = words[5 + 3 * i + 1];
    writer->used[words[1]] = 1;
    const uint32_t type = function_type(writer, types, count);
    spirv_put(&writer->functions, (const uint32_t[]){ OpFunction | 5 << 16, words[1], copy->id, words[3], type }, 5);
    for (uint32_t i = 0; i < copy->function->parameters; i++)
        if (copy->parameters[i].state != SPIRV_CONSTANT)
            write_instruction(writer, copy, begin + 5 + 3 * i, 0);
}

void spirv_write_function(struct spirv_writer *writer, struct spirv_copy *copy)
{
    spirv_mark(writer, copy);
    write_parameters(writer, copy);
    for (uint32_t i = 0; i < copy->function->blocks && !writer->failed; i++) {
        if (copy->reached[i])
            write_block(writer, copy, copy->function->first_block + i);
        else
            write_unreached(writer, copy, copy->function->first_block + i);
    }
    spirv_put_word(&writer->functions, OpFunctionEnd | 1 << 16);
}
