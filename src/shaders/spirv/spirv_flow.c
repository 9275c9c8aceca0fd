/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of functions for constant parameters: what is executed, and which numbers are constant (sparse conditional
 * constant propagation, through calls; of variables: the meet of all stores). */
#include "shaders/spirv/spirv_module.h"

#include <stdlib.h>

struct spirv_value spirv_value_of(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t id)
{
    const uint32_t local = writer->module.local[id];
    return local == UINT32_MAX ? writer->module.known[id] : copy->values[local];
}

bool spirv_is_constant(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t id)
{
    return spirv_value_of(writer, copy, id).state == SPIRV_CONSTANT &&
           spirv_is_number(&writer->module, spirv_type_of(&writer->module, id));
}

/* Whether a branch to the label is one to the start of a loop that the block is in: its condition remains, since a loop
 * has a branch back. */
static bool is_back(const struct spirv_module *module, uint32_t block, uint32_t label)
{
    return module->place[label] <= block;
}

/* Whether the block's last instruction may go on at word `i` of it. */
static bool goes(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t block, uint32_t i)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t end = module->blocks[block].end, op = spirv_opcode(module, end), *words = module->words + end;
    if (op == OpBranch)
        return i == 1;
    struct spirv_value value = spirv_value_of(writer, copy, words[1]);
    if (op == OpBranchConditional) {
        if (is_back(module, block, words[2]) || is_back(module, block, words[3]))
            value.state = SPIRV_VARIES;
        return i > 1 && i < 4 &&
               (value.state == SPIRV_VARIES || (value.state == SPIRV_CONSTANT && i == (value.number ? 2u : 3u)));
    }
    if (op != OpSwitch || i < 2 || i % 2)
        return false;
    if (value.state != SPIRV_CONSTANT)
        return value.state == SPIRV_VARIES;
    for (uint32_t j = 3; j < spirv_length(module, end); j += 2)
        if (words[j] == value.number)
            return i == j + 1;
    return i == 2;
}

bool spirv_continues(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t from, uint32_t label)
{
    const uint32_t end = writer->module.blocks[from].end, *words = writer->module.words + end;
    for (uint32_t i = 1; i < spirv_length(&writer->module, end); i++)
        if (words[i] == label && goes(writer, copy, from, i))
            return true;
    return false;
}

uint32_t spirv_only_target(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t block)
{
    const uint32_t end = writer->module.blocks[block].end, op = spirv_opcode(&writer->module, end);
    uint32_t target = 0, count = 0;
    for (uint32_t i = 1; (op == OpBranchConditional || op == OpSwitch) && i < spirv_length(&writer->module, end); i++)
        if (goes(writer, copy, block, i)) {
            target = writer->module.words[end + i];
            count++;
        }
    return count == 1 ? target : 0;
}

uint32_t spirv_variable_of(const struct spirv_module *module, uint32_t pointer)
{
    uint32_t by = spirv_defined_by(module, pointer);
    while (by == OpAccessChain || by == OpInBoundsAccessChain) {
        pointer = module->words[module->definition[pointer] + 3];
        by = spirv_defined_by(module, pointer);
    }
    return by == OpVariable && module->local[pointer] != UINT32_MAX ? pointer : 0;
}

/* ---- values ---- */

static bool lower(struct spirv_value *value, struct spirv_value by)
{
    const struct spirv_value before = *value;
    if (by.state == SPIRV_NOTHING || before.state == SPIRV_VARIES)
        return false;
    if (before.state == SPIRV_NOTHING)
        *value = by;
    else if (by.state == SPIRV_VARIES || by.number != before.number)
        *value = (struct spirv_value){ SPIRV_VARIES, 0 };
    return value->state != before.state;
}

static struct spirv_value value_of_phi(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t at,
                                       uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    struct spirv_value value = { SPIRV_NOTHING, 0 };
    for (uint32_t i = 3; i + 1 < spirv_length(module, at); i += 2) {
        const uint32_t from = module->place[module->words[at + i + 1]];
        if (copy->reached[from - copy->function->first_block] &&
            spirv_continues(writer, copy, from, module->blocks[block].label))
            lower(&value, spirv_value_of(writer, copy, module->words[at + i]));
    }
    return value;
}

static struct spirv_value value_of_load(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t pointer = module->words[at + 3], by = spirv_defined_by(module, pointer);
    if (module->local[pointer] != UINT32_MAX && (by == OpVariable || by == OpFunctionParameter))
        return copy->values[module->local[pointer]];
    return (struct spirv_value){ SPIRV_VARIES, 0 };
}

static struct spirv_value value_of_operation(const struct spirv_writer *writer, const struct spirv_copy *copy,
                                             uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at), *words = module->words + at;
    struct spirv_value value = { SPIRV_CONSTANT, 0 };
    uint32_t numbers[3], count, first = spirv_operands(module, at, &count);
    if (!spirv_is_number(module, words[1]) || count > ARRAY_SIZE(numbers))
        return (struct spirv_value){ SPIRV_VARIES, 0 };
    for (uint32_t i = 0; i < count; i++) {
        const struct spirv_value operand = spirv_value_of(writer, copy, module->words[first + i]);
        if (operand.state == SPIRV_VARIES || value.state == SPIRV_VARIES)
            value.state = SPIRV_VARIES;
        else if (operand.state == SPIRV_NOTHING)
            value.state = SPIRV_NOTHING;
        numbers[i] = operand.number;
    }
    if (op == OpSelect) { /* the other operand does not matter */
        const struct spirv_value which = spirv_value_of(writer, copy, words[3]);
        if (which.state == SPIRV_CONSTANT)
            return spirv_value_of(writer, copy, words[which.number ? 4 : 5]);
    }
    if (value.state == SPIRV_CONSTANT && !spirv_fold(op, op == OpExtInst ? words[4] : 0, numbers, count, &value.number))
        value.state = SPIRV_VARIES;
    return value;
}

/* ---- calls ---- */

struct spirv_copy *spirv_callee(struct spirv_writer *writer, const struct spirv_copy *caller, uint32_t at,
                                bool *out_waits)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t *words = module->words + at;
    const struct spirv_function *function = &module->functions[module->place[words[3]]];
    struct spirv_value parameters[SPIRV_PARAMETERS_MAX];
    *out_waits = false;
    for (uint32_t i = 0; i < function->parameters; i++) {
        const uint32_t type = module->words[function->begin + 5 + 3 * i + 1];
        parameters[i] = spirv_value_of(writer, caller, words[4 + i]);
        if (spirv_defined_by(module, type) == OpTypePointer && !(function->read_only >> i & 1))
            parameters[i].state = SPIRV_VARIES;
        if (parameters[i].state != SPIRV_CONSTANT)
            parameters[i].number = 0;
        *out_waits |= parameters[i].state == SPIRV_NOTHING;
    }
    return *out_waits ? NULL : spirv_copy(writer, function, parameters);
}

/* A store to a variable as a whole, the function's own or its caller's. */
static bool store(const struct spirv_writer *writer, struct spirv_copy *copy, uint32_t pointer,
                  struct spirv_value value)
{
    const uint32_t by = spirv_defined_by(&writer->module, pointer), local = writer->module.local[pointer];
    if (by == OpFunctionParameter)
        return lower(&copy->stores[local], value);
    return by == OpVariable && local != UINT32_MAX && lower(&copy->values[local], value);
}

static bool run_call(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at)
{
    const uint32_t *words = writer->module.words + at;
    bool waits, changed = false;
    const struct spirv_copy *callee = spirv_callee(writer, copy, at, &waits);
    if (!callee) {
        writer->failed |= !waits;
        return false;
    }
    for (uint32_t i = 0; i < callee->function->parameters; i++)
        if (callee->function->simple >> i & 1)
            changed |= store(writer, copy, words[4 + i], callee->stores[i]);
    return lower(&copy->values[writer->module.local[words[2]]], callee->result) || changed;
}

/* ---- flow ---- */

static bool run_instruction(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t at, uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at), *words = module->words + at;
    struct spirv_value value = { SPIRV_VARIES, 0 };
    if (op == OpStore)
        return store(writer, copy, words[1], spirv_value_of(writer, copy, words[2]));
    if (op == OpFunctionCall)
        return run_call(writer, copy, at);
    if (!spirv_op(op)->result || op == OpLabel)
        return false;
    const uint32_t local = module->local[words[spirv_op(op)->result]];
    if (op == OpVariable)
        value.state =
            spirv_length(module, at) > 4 || module->uses[words[2]] & SPIRV_ESCAPES ? SPIRV_VARIES : SPIRV_NOTHING;
    else if (op == OpPhi)
        value = value_of_phi(writer, copy, at, block);
    else if (op == OpLoad)
        value = value_of_load(writer, copy, at);
    else if (spirv_op(op)->effect == EFFECT_NONE)
        value = value_of_operation(writer, copy, at);
    return lower(&copy->values[local], value);
}

static bool reach_next(struct spirv_writer *writer, struct spirv_copy *copy, uint32_t block)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t end = module->blocks[block].end, op = spirv_opcode(module, end);
    bool changed = false;
    for (uint32_t i = 1; op != OpReturnValue && i < spirv_length(module, end); i++)
        if (goes(writer, copy, block, i)) {
            uint8_t *reached = &copy->reached[module->place[module->words[end + i]] - copy->function->first_block];
            changed |= !*reached;
            *reached = 1;
        }
    return changed;
}

static bool run_blocks(struct spirv_writer *writer, struct spirv_copy *copy)
{
    const struct spirv_module *module = &writer->module;
    bool changed = false;
    for (uint32_t i = 0; i < copy->function->blocks && !writer->failed; i++) {
        const uint32_t block = copy->function->first_block + i;
        const struct spirv_block *b = &module->blocks[block];
        for (uint32_t at = b->begin; copy->reached[i] && at < b->end; at += spirv_length(module, at))
            if (spirv_opcode(module, at) != OpLine && spirv_opcode(module, at) != OpNoLine)
                changed |= run_instruction(writer, copy, at, block);
        if (copy->reached[i])
            changed |= reach_next(writer, copy, block);
    }
    return changed;
}

/* What still has no value is undefined: a variable that nothing sets. */
static bool give_up_nothing(struct spirv_writer *writer, struct spirv_copy *copy)
{
    const struct spirv_module *module = &writer->module;
    bool changed = false;
    for (uint32_t i = 0; i < copy->function->blocks; i++) {
        const struct spirv_block *b = &module->blocks[copy->function->first_block + i];
        for (uint32_t at = b->begin; copy->reached[i] && at < b->end; at += spirv_length(module, at)) {
            const struct spirv_op *op = spirv_op(spirv_opcode(module, at));
            const uint32_t local = op && op->result ? module->local[module->words[at + op->result]] : UINT32_MAX;
            if (local == UINT32_MAX || copy->values[local].state != SPIRV_NOTHING)
                continue;
            copy->values[local].state = SPIRV_VARIES;
            changed = true;
        }
    }
    return changed;
}

/* ---- effects ---- */

static bool has_effect(struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t at)
{
    const struct spirv_module *module = &writer->module;
    const uint32_t op = spirv_opcode(module, at);
    bool waits;
    if (op == OpStore)
        return !spirv_variable_of(module, module->words[at + 1]);
    if (op == OpFunctionCall) {
        const struct spirv_copy *callee = spirv_callee(writer, copy, at, &waits);
        return !callee || callee->effects;
    }
    return op < OpPhi ? spirv_op(op)->effect != EFFECT_NONE : op > OpUnreachable && spirv_op(op)->effect != EFFECT_NONE;
}

static void summarize(struct spirv_writer *writer, struct spirv_copy *copy)
{
    const struct spirv_module *module = &writer->module;
    for (uint32_t i = 0; i < copy->function->blocks; i++) {
        const struct spirv_block *b = &module->blocks[copy->function->first_block + i];
        if (!copy->reached[i])
            continue;
        for (uint32_t at = b->begin; at < b->end; at += spirv_length(module, at))
            if (spirv_opcode(module, at) != OpLine && spirv_opcode(module, at) != OpNoLine)
                copy->effects |= has_effect(writer, copy, at);
        if (spirv_opcode(module, b->end) == OpReturnValue)
            lower(&copy->result, spirv_value_of(writer, copy, module->words[b->end + 1]));
    }
    if (copy->result.state == SPIRV_NOTHING)
        copy->result.state = SPIRV_VARIES;
}

static bool analyse(struct spirv_writer *writer, struct spirv_copy *copy)
{
    const struct spirv_function *function = copy->function;
    copy->values = calloc(function->locals + 1u, sizeof(*copy->values));
    copy->reached = calloc(function->blocks + 1u, 1);
    copy->kept = calloc(function->blocks + 1u, 1);
    copy->used = calloc(function->locals + 1u, 1);
    copy->ids = calloc(function->locals + 1u, sizeof(*copy->ids));
    if (!copy->values || !copy->reached || !copy->kept || !copy->used || !copy->ids)
        return false;
    for (uint32_t i = 0; i < function->parameters; i++)
        copy->values[i] = copy->parameters[i];
    copy->reached[0] = 1;
    copy->analysing = true;
    while (!writer->failed && (run_blocks(writer, copy) || give_up_nothing(writer, copy)))
        ;
    if (!writer->failed)
        summarize(writer, copy);
    copy->analysing = false;
    return !writer->failed;
}

struct spirv_copy *spirv_copy(struct spirv_writer *writer, const struct spirv_function *function,
                              const struct spirv_value *parameters)
{
    const size_t bytes = function->parameters * sizeof(*parameters);
    for (struct spirv_copy *copy = writer->copies; copy; copy = copy->next)
        if (copy->function == function && !memcmp(copy->parameters, parameters, bytes))
            return copy->analysing ? NULL : copy; /* functions do not call themselves */
    struct spirv_copy *copy = calloc(1, sizeof(*copy));
    if (!copy)
        return NULL;
    copy->function = function;
    memcpy(copy->parameters, parameters, bytes);
    copy->next = writer->copies;
    writer->copies = copy;
    return analyse(writer, copy) ? copy : NULL;
}
