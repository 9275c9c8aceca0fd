/* SPDX-License-Identifier: Apache-2.0 */
/* What of a copy of a function its new code has: instructions whose results are used, and merge instructions. */
#include "shaders/spirv/spirv_module.h"

uint32_t spirv_only_value(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t id)
{
    const struct spirv_module *module = &writer->module;
    while (module->local[id] != UINT32_MAX) {
        const uint32_t at = module->definition[id], *words = module->words + at;
        uint32_t other = 0, count = 0;
        if (spirv_opcode(module, at) == OpSelect) {
            const struct spirv_value which = spirv_value_of(writer, copy, words[3]);
            count = which.state == SPIRV_CONSTANT;
            other = words[which.number ? 4 : 5];
        }
        if (spirv_opcode(module, at) == OpPhi) {
            uint32_t block = 0;
            while (at >= module->blocks[copy->function->first_block + block].end)
                block++;
            for (uint32_t i = 3; i + 1 < spirv_length(module, at); i += 2) {
                const uint32_t from = module->place[words[i + 1]];
                if (!copy->reached[from - copy->function->first_block] ||
                    !spirv_continues(writer, copy, from, module->blocks[copy->function->first_block + block].label))
                    continue;
                other = words[i];
                count++;
            }
        }
        if (count != 1)
            break;
        id = other;
    }
    return id;
}

/* ---- merge instructions ---- */

/* Whether block `from` is in a branch or loop that begins behind `header` and whose merge instruction is kept. */
static bool is_nested(const struct spirv_module *module, const struct spirv_copy *copy, uint32_t header, uint32_t from)
{
    const uint32_t first = copy->function->first_block;
    for (uint32_t h = header + 1; h <= from; h++)
        if (copy->kept[h - first] && module->place[module->words[module->blocks[h].merge + 1]] > from)
            return true;
    return false;
}

/* A loop that is left before its end, or a branch of which one way is possible, is no longer one. Its merge instruction
 * remains where blocks of inner branches leave it, which needs one (a switch with one target is such). */
static bool needs_merge(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t header)
{
    const struct spirv_module *module = &writer->module;
    const struct spirv_block *block = &module->blocks[header];
    const uint32_t first = copy->function->first_block, merge = module->words[block->merge + 1];
    if (spirv_opcode(module, block->merge) == OpLoopMerge) {
        for (uint32_t b = header; b < first + copy->function->blocks; b++)
            if (copy->reached[b - first] && spirv_continues(writer, copy, b, block->label))
                return true;
    } else if (!spirv_only_target(writer, copy, header)) {
        return true;
    }
    for (uint32_t b = header + 1; b < first + copy->function->blocks && b < module->place[merge]; b++)
        if (copy->reached[b - first] && spirv_continues(writer, copy, b, merge) && is_nested(module, copy, header, b))
            return true;
    return false;
}

/* Inner ones follow outer ones. */
static void mark_merges(const struct spirv_writer *writer, struct spirv_copy *copy)
{
    const uint32_t first = copy->function->first_block;
    for (uint32_t i = copy->function->blocks; i-- > 0;)
        copy->kept[i] =
            copy->reached[i] && writer->module.blocks[first + i].merge && needs_merge(writer, copy, first + i);
}

/* ---- results ---- */

static bool use(const struct spirv_writer *writer, struct spirv_copy *copy, uint32_t id)
{
    if (spirv_is_constant(writer, copy, id))
        return false;
    const uint32_t local = writer->module.local[spirv_only_value(writer, copy, id)];
    const bool changed = local != UINT32_MAX && !copy->used[local];
    if (changed)
        copy->used[local] = 1;
    return changed;
}

static bool use_arguments(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at)
{
    bool waits, changed = false;
    const struct spirv_copy *callee = spirv_callee(writer, copy, at, &waits);
    for (uint32_t i = 0; callee && i < callee->function->parameters; i++)
        if (callee->parameters[i].state != SPIRV_CONSTANT)
            changed |= use(writer, copy, writer->module.words[at + 4 + i]);
    return changed;
}

static bool use_operands(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at);
    uint32_t count, first = spirv_operands(module, at, &count);
    bool changed = false;
    if (op == OpFunctionCall)
        return use_arguments(writer, copy, at);
    for (uint32_t i = 0; i < count; i += op == OpPhi ? 2 : 1) {
        const uint32_t from =
            op == OpPhi ? module->place[module->words[first + i + 1]] - copy->function->first_block : 0;
        if (op != OpPhi || copy->reached[from])
            changed |= use(writer, copy, module->words[first + i]);
    }
    return changed;
}

/* Whether the instruction is part of the new code: known by its result, or by what it does. */
static bool is_used(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at);
    const struct spirv_op *row = spirv_op(op);
    bool waits;
    if (!row || op == OpLoopMerge || op == OpSelectionMerge)
        return false;
    const uint32_t local = row->result ? module->local[module->words[at + row->result]] : UINT32_MAX;
    if (op == OpStore) {
        const uint32_t variable = spirv_variable_of(module, module->words[at + 1]);
        return !variable || copy->used[module->local[variable]];
    }
    if (op == OpFunctionCall) {
        const struct spirv_copy *callee = spirv_callee(writer, copy, at, &waits);
        return (callee && callee->effects) || copy->used[local];
    }
    return row->effect == EFFECT_ANY || copy->used[local];
}

static bool use_end(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t end = module->blocks[block].end, op = spirv_opcode(module, end);
    const bool condition = (op == OpBranchConditional || op == OpSwitch) && !spirv_only_target(writer, copy, block);
    return (condition || op == OpReturnValue) && use(writer, copy, module->words[end + 1]);
}

static bool mark_blocks(struct spirv_writer *writer, struct spirv_copy *copy)
{
    const struct spirv_module *module = &writer->module;
    bool changed = false;
    for (uint32_t i = copy->function->blocks; i-- > 0;) {
        const uint32_t block = copy->function->first_block + i;
        if (!copy->reached[i])
            continue;
        changed |= use_end(writer, copy, block);
        for (uint32_t at = module->blocks[block].begin; at < module->blocks[block].end; at += spirv_length(module, at))
            if (is_used(writer, copy, at))
                changed |= use_operands(writer, copy, at);
    }
    return changed;
}

void spirv_mark(struct spirv_writer *writer, struct spirv_copy *copy)
{
    mark_merges(writer, copy);
    while (mark_blocks(writer, copy))
        ;
}
