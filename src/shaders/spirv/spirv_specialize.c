/* SPDX-License-Identifier: Apache-2.0 */
/* A module for values of its specialization constants: the copies of functions that its entry point needs, and the
 * types, constants and variables that they need. */
#include "shaders/spirv/spirv_module.h"

#include <stdlib.h>

/* ---- what functions need ---- */

static bool is_needed(const struct spirv_writer *writer, uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at);
    const struct spirv_op *row = spirv_op(op);
    if (op == OpDecorate || op == OpMemberDecorate)
        return writer->used[module->words[at + 1]] && module->local[module->words[at + 1]] == UINT32_MAX &&
               !(op == OpDecorate && module->words[at + 2] == SPIRV_DECORATION_SPEC_ID);
    if ((op >= OpSource && op <= OpLine) || op == OpModuleProcessed)
        return false;
    return !row || !row->result || writer->used[module->words[at + row->result]];
}

/* Whether it was not known. */
static bool need(struct spirv_writer *writer, uint32_t id)
{
    const bool more = !writer->used[id];
    writer->used[id] = 1;
    return more;
}

/* Definitions may follow uses in types of pointers only: a few rounds, mostly from the last one to the first. */
static void need_operands(struct spirv_writer *writer)
{
    const struct spirv_module *module = &writer->module;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = SPIRV_HEADER; at < module->functions_begin; at += spirv_length(module, at)) {
            const uint32_t op = spirv_opcode(module, at);
            const struct spirv_op *row = spirv_op(op);
            if (!row || !is_needed(writer, at) || op == OpTypeForwardPointer)
                continue;
            uint32_t count, first = spirv_operands(module, at, &count);
            const uint32_t selected = op == OpSpecConstantOp ? spirv_selected(module, at) : 0;
            if (row->result == 2)
                changed |= need(writer, module->words[at + 1]);
            for (uint32_t i = 0; i < count && op != OpSpecConstantOp; i++)
                changed |= need(writer, module->words[first + i]);
            if (selected)
                changed |= need(writer, selected);
        }
    }
}

/* The interface: behind the name, whose last word has a zero. */
static uint32_t interface_at(const struct spirv_module *module, uint32_t at)
{
    uint32_t i = at + 3, end = at + spirv_length(module, at);
    while (i < end && (module->words[i] >> 24))
        i++;
    return i + 1;
}

static bool need_interface(struct spirv_writer *writer)
{
    const struct spirv_module *module = &writer->module;
    for (uint32_t at = SPIRV_HEADER; at < module->functions_begin; at += spirv_length(module, at)) {
        if (spirv_opcode(module, at) != OpEntryPoint)
            continue;
        for (uint32_t i = interface_at(module, at); i < at + spirv_length(module, at); i++) {
            if (module->words[i] >= module->bound)
                return false;
            writer->used[module->words[i]] = 1;
        }
    }
    /* Constants that have a meaning of their own, such as the size of workgroups. */
    for (uint32_t at = SPIRV_HEADER; at < module->functions_begin; at += spirv_length(module, at)) {
        enum { BUILT_IN = 11 };
        const uint32_t id = module->words[at + 1];
        if (spirv_opcode(module, at) == OpDecorate && module->words[at + 2] == BUILT_IN && id < module->bound)
            writer->used[id] = 1;
    }
    return true;
}

/* ---- the new module ---- */

static void put_constant(struct spirv_writer *writer, uint32_t at, struct spirv_words *out)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t type = module->words[at + 1], id = module->words[at + 2], number = module->known[id].number;
    const bool is_bool = spirv_defined_by(module, type) == OpTypeBool;
    const uint32_t begin = spirv_begin(out, !is_bool ? OpConstant : number ? OpConstantTrue : OpConstantFalse);
    spirv_put(out, (const uint32_t[]){ type, id, number }, is_bool ? 2 : 3);
    spirv_end(out, begin);
}

/* The constant that a Select selects, again, as its result. */
static void put_selected(const struct spirv_module *module, uint32_t at, struct spirv_words *out)
{
    const uint32_t id = module->words[at + 2];
    for (uint32_t selected; spirv_opcode(module, at) == OpSpecConstantOp && (selected = spirv_selected(module, at));)
        at = module->definition[selected];
    const uint32_t op = spirv_opcode(module, at), length = spirv_length(module, at);
    spirv_put_word(out, (op == OpSpecConstantComposite ? OpConstantComposite : op) | length << 16);
    spirv_put(out, (const uint32_t[]){ module->words[at + 1], id }, 2);
    spirv_put(out, module->words + at + 3, length - 3);
}

static void put_global(struct spirv_writer *writer, uint32_t at, struct spirv_words *out)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at), *words = module->words + at, length = spirv_length(module, at);
    if (op == OpSpecConstantOp && spirv_selected(module, at)) {
        put_selected(module, at, out);
    } else if (op == OpSpecConstantComposite) {
        spirv_put_word(out, OpConstantComposite | length << 16);
        spirv_put(out, words + 1, length - 1);
    } else if (op >= OpSpecConstantTrue && op <= OpSpecConstantOp) {
        put_constant(writer, at, out);
    } else if (op == OpEntryPoint || op == OpExecutionMode) {
        const uint32_t entry = writer->queue[0]->id, place = op == OpEntryPoint ? 2 : 1;
        spirv_put(out, words, place);
        spirv_put_word(out, entry);
        spirv_put(out, words + place + 1, length - place - 1);
    } else {
        spirv_put(out, words, length);
    }
}

/* Types, constants and variables follow the decorations. */
static bool is_type(uint32_t op)
{
    return (op >= OpTypeVoid && op <= OpVariable) || op == OpUndef || op == OpTypeCooperativeMatrixKHR;
}

static void put_module(struct spirv_writer *writer, struct spirv_words *out)
{
    const struct spirv_module *module = &writer->module;
    bool decorated = false;
    spirv_put(out, module->words, SPIRV_HEADER);
    for (uint32_t at = SPIRV_HEADER; at < module->functions_begin; at += spirv_length(module, at)) {
        if (!decorated && is_type(spirv_opcode(module, at))) {
            spirv_put(out, writer->decorations.at, writer->decorations.count);
            decorated = true;
        }
        if (is_needed(writer, at))
            put_global(writer, at, out);
    }
    spirv_put(out, writer->types.at, writer->types.count);
    spirv_put(out, writer->functions.at, writer->functions.count);
    if (!out->failed)
        out->at[3] = writer->bound;
}

static bool write_module(struct spirv_writer *writer, struct spirv_words *out)
{
    const struct spirv_module *module = &writer->module;
    const struct spirv_value parameters[1] = { { SPIRV_VARIES, 0 } }; /* it has none */
    struct spirv_copy *entry = spirv_copy(writer, &module->functions[module->place[module->entry]], parameters);
    writer->used = calloc(module->bound, 1);
    writer->queue = malloc(sizeof(*writer->queue));
    if (!entry || !writer->used || !writer->queue)
        return false;
    writer->queue_room = 1;
    writer->queue[writer->queue_count++] = entry;
    entry->id = spirv_new_id(writer);
    for (uint32_t i = 0; i < writer->queue_count && !writer->failed; i++)
        spirv_write_function(writer, writer->queue[i]);
    if (writer->failed || !need_interface(writer))
        return false;
    need_operands(writer);
    put_module(writer, out);
    return !writer->types.failed && !writer->decorations.failed && !writer->functions.failed && !out->failed;
}

static void finish(struct spirv_writer *writer)
{
    while (writer->copies) {
        struct spirv_copy *copy = writer->copies;
        writer->copies = copy->next;
        free(copy->values);
        free(copy->reached);
        free(copy->kept);
        free(copy->used);
        free(copy->ids);
        free(copy);
    }
    free(writer->types.at);
    free(writer->decorations.at);
    free(writer->functions.at);
    free(writer->used);
    free(writer->queue);
    free(writer->constants);
    spirv_module_free(&writer->module);
}

uint32_t *spirv_specialize(const uint32_t *words, size_t count, const struct spirv_constant *constants,
                           uint32_t constant_count, size_t *out_count)
{
    struct spirv_writer writer = { .failed = false };
    struct spirv_words out = { .at = NULL };
    const bool read = spirv_module_read(&writer.module, words, count, constants, constant_count);
    writer.bound = writer.module.bound;
    const bool good = read && write_module(&writer, &out);
    finish(&writer);
    if (good) {
        *out_count = out.count;
        return out.at;
    }
    free(out.at);
    return NULL;
}
