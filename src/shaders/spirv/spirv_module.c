/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a module: where everything is, what its constants are, and how its functions use their parameters. */
#include "shaders/spirv/spirv_module.h"

#include <stdlib.h>

uint32_t spirv_operands(const struct spirv_module *module, uint32_t at, uint32_t *out_count)
{
    const struct spirv_op *op = spirv_op(spirv_opcode(module, at));
    const uint32_t before = op ? 1u + op->result + op->literals : 1;
    const uint32_t length = spirv_length(module, at), rest = length > before ? length - before : 0;
    *out_count = op ? BASE_MIN(op->ids, rest) : 0;
    return at + before;
}

bool spirv_is_number(const struct spirv_module *module, uint32_t type)
{
    const uint32_t by = spirv_defined_by(module, type);
    return by == OpTypeBool || (by == OpTypeInt && module->words[module->definition[type] + 2] == 32);
}

/* ---- positions ---- */

static bool define(struct spirv_module *module, uint32_t at, uint32_t id, uint32_t local)
{
    if (!id || id >= module->bound || module->definition[id])
        return false;
    module->definition[id] = at;
    module->local[id] = local;
    return true;
}

static void note_decoration(struct spirv_module *module, uint32_t at)
{
    const uint32_t id = module->words[at + 1];
    uint32_t *place = &module->decorations[id];
    while (*place)
        place = &module->next_decoration[*place];
    *place = at;
}

/* false: unknown. */
static bool read_global(struct spirv_module *module, uint32_t at)
{
    const uint32_t op = spirv_opcode(module, at), length = spirv_length(module, at), *words = module->words + at;
    const struct spirv_op *row = spirv_op(op);
    if (op == OpEntryPoint) {
        module->entry = length > 3 && !module->entry ? words[2] : 0; /* one, and only one */
        return module->entry != 0;
    }
    if (op == OpDecorate && words[1] < module->bound)
        note_decoration(module, at);
    if (op == OpDecorate || op == OpMemberDecorate || op == OpExecutionMode)
        return words[1] < module->bound;
    if (op == OpExtInstImport)
        return length > 2 && define(module, at, words[1], UINT32_MAX);
    if (!row) /* without a result, and with no id that could change, or without a meaning */
        return op == OpCapability || op == OpExtension || op == OpMemoryModel || (op >= OpSource && op <= OpLine) ||
               op == OpModuleProcessed;
    if (op == OpTypeForwardPointer)
        return length == 3 && words[1] < module->bound;
    if (!row->result || length <= row->result || !define(module, at, words[row->result], UINT32_MAX))
        return false;
    if (op == OpTypeBool)
        module->bool_type = words[1];
    if (op == OpTypeInt && length == 4 && words[2] == 32 && !words[3])
        module->uint_type = words[1];
    return true;
}

static bool add_block(struct spirv_module *module, uint32_t at)
{
    const uint32_t id = module->words[at + 1];
    module->place[id] = module->block_count;
    module->blocks[module->block_count++] = (struct spirv_block){ .label = id, .begin = at + 2 };
    return true;
}

/* One instruction in a function. */
static bool read_local(struct spirv_module *module, struct spirv_function *function, uint32_t at)
{
    const uint32_t op = spirv_opcode(module, at), length = spirv_length(module, at), *words = module->words + at;
    const struct spirv_op *row = spirv_op(op);
    struct spirv_block *block = function->blocks ? &module->blocks[module->block_count - 1] : NULL;
    if (op == OpLine || op == OpNoLine)
        return true;
    if (!row || length <= row->result || (block && block->end && op != OpLabel) ||
        (!block && op != OpLabel && op != OpFunctionParameter))
        return false;
    if (row->result && !define(module, at, words[row->result], function->locals++))
        return false;
    if (op == OpFunctionParameter)
        return !block && ++function->parameters <= SPIRV_PARAMETERS_MAX;
    if (op == OpLabel) {
        function->blocks++;
        return (!block || block->end) && add_block(module, at);
    }
    if (op == OpLoopMerge || op == OpSelectionMerge)
        block->merge = at;
    else if (op >= OpBranch && op <= OpUnreachable)
        block->end = at;
    return true;
}

static bool read_functions(struct spirv_module *module)
{
    uint32_t at = module->functions_begin;
    while (at < module->count) {
        struct spirv_function *function = &module->functions[module->function_count];
        const uint32_t *words = module->words + at;
        if (spirv_opcode(module, at) != OpFunction || spirv_length(module, at) != 5 || words[1] >= module->bound ||
            words[4] >= module->bound || !define(module, at, words[2], UINT32_MAX))
            return false;
        *function = (struct spirv_function){ .id = words[2], .begin = at, .first_block = module->block_count };
        module->place[words[2]] = module->function_count++;
        for (at += 5; at < module->count && spirv_opcode(module, at) != OpFunctionEnd; at += spirv_length(module, at))
            if (!read_local(module, function, at))
                return false;
        if (at >= module->count || !function->blocks || !module->blocks[module->block_count - 1].end)
            return false;
        at += spirv_length(module, at);
    }
    return true;
}

/* The words that an instruction has at least. */
static uint32_t least_length(uint32_t op)
{
    const struct spirv_op *row = spirv_op(op);
    if (op == OpConstant || op == OpSpecConstant || op == OpTypeInt || op == OpTypePointer)
        return 4;
    if (op == OpFunctionCall || op == OpAccessChain || op == OpInBoundsAccessChain)
        return 4;
    if (op == OpFunction)
        return 5;
    return row ? 1u + row->result + row->literals + (row->ids == SPIRV_ALL ? 0 : row->ids)
           : op == OpDecorate || op == OpMemberDecorate || op == OpExecutionMode ? 3
                                                                                 : 1;
}

/* Lengths within the module, ids below the bound, and the number of functions and blocks for the allocation. */
static bool measure(const struct spirv_module *module, uint32_t *out_functions, uint32_t *out_blocks)
{
    for (uint32_t at = SPIRV_HEADER, length; at < module->count; at += length) {
        const uint32_t op = spirv_opcode(module, at);
        uint32_t ids, first = spirv_operands(module, at, &ids);
        length = spirv_length(module, at);
        if (length < least_length(op) || length > module->count - at)
            return false;
        for (uint32_t i = 0; i < ids; i++)
            if (module->words[first + i] >= module->bound)
                return false;
        const struct spirv_op *row = spirv_op(op);
        for (uint32_t i = 1; row && i <= row->result && i < length; i++)
            if (module->words[at + i] >= module->bound)
                return false;
        *out_functions += op == OpFunction;
        *out_blocks += op == OpLabel;
    }
    return true;
}

/* ---- constants ---- */

static uint32_t special_value(const struct spirv_module *module, uint32_t id, uint32_t value,
                              const struct spirv_constant *constants, uint32_t count)
{
    for (uint32_t at = module->decorations[id]; at; at = module->next_decoration[at])
        for (uint32_t i = 0; module->words[at + 2] == SPIRV_DECORATION_SPEC_ID && i < count; i++)
            if (spirv_length(module, at) > 3 && constants[i].id == module->words[at + 3])
                return constants[i].value;
    return value;
}

/* Those without an operator; false: the constant of a type for which special_value() has none. */
static bool read_constant(struct spirv_module *module, uint32_t at, const struct spirv_constant *constants,
                          uint32_t count)
{
    const uint32_t op = spirv_opcode(module, at), *words = module->words + at;
    struct spirv_value value = { SPIRV_CONSTANT, 0 };
    const bool number = spirv_is_number(module, words[1]);
    if (op == OpConstantTrue || op == OpSpecConstantTrue)
        value.number = 1;
    if (number && (op == OpConstant || op == OpSpecConstant))
        value.number = words[3];
    if (op == OpSpecConstant || op == OpSpecConstantTrue || op == OpSpecConstantFalse)
        value.number = special_value(module, words[2], value.number, constants, count);
    if (op == OpSpecConstantTrue || op == OpSpecConstantFalse)
        value.number = value.number != 0;
    if (number)
        module->known[words[2]] = value;
    return number || op == OpConstant || op == OpConstantNull;
}

uint32_t spirv_selected(const struct spirv_module *module, uint32_t at)
{
    const uint32_t *words = module->words + at;
    if (spirv_length(module, at) != 7 || words[3] != OpSelect || spirv_is_number(module, words[1]) ||
        module->known[words[4]].state != SPIRV_CONSTANT)
        return 0;
    const uint32_t id = module->known[words[4]].number ? words[5] : words[6], by = spirv_defined_by(module, id);
    const bool constant = by >= OpConstantTrue && by <= OpSpecConstantOp;
    return constant && module->definition[id] < at && spirv_type_of(module, id) == words[1] ? id : 0;
}

static bool read_operator(struct spirv_module *module, uint32_t at)
{
    const uint32_t *words = module->words + at, length = spirv_length(module, at);
    uint32_t numbers[3] = { 0 }, result = 0;
    if (spirv_selected(module, at))
        return true;
    if (length < 5 || length > 7 || !spirv_is_number(module, words[1]))
        return false;
    for (uint32_t i = 4; i < length; i++) {
        if (module->known[words[i]].state != SPIRV_CONSTANT)
            return false;
        numbers[i - 4] = module->known[words[i]].number;
    }
    if (!spirv_fold(words[3], 0, numbers, length - 4, &result))
        return false;
    module->known[words[2]] = (struct spirv_value){ SPIRV_CONSTANT, result };
    return true;
}

static bool read_constants(struct spirv_module *module, const struct spirv_constant *constants, uint32_t count)
{
    bool good = true;
    for (uint32_t id = 0; id < module->bound; id++)
        module->known[id].state = SPIRV_VARIES;
    for (uint32_t at = SPIRV_HEADER; good && at < module->functions_begin; at += spirv_length(module, at)) {
        const uint32_t op = spirv_opcode(module, at);
        if (op == OpSpecConstantOp)
            good = read_operator(module, at);
        else if (op >= OpConstantTrue && op <= OpSpecConstant && op != OpConstantComposite)
            good = read_constant(module, at, constants, count);
    }
    return good;
}

/* ---- variables ---- */

static bool is_pointer_type(const struct spirv_module *module, uint32_t type)
{
    return spirv_defined_by(module, type) == OpTypePointer &&
           module->words[module->definition[type] + 2] == SPIRV_STORAGE_FUNCTION;
}

static struct spirv_function *function_of(const struct spirv_module *module, uint32_t id)
{
    return spirv_defined_by(module, id) == OpFunction ? &module->functions[module->place[id]] : NULL;
}

/* What an instruction does with a variable in operand `i`. */
static enum spirv_use use_of(uint32_t op, uint32_t i, const struct spirv_function *callee)
{
    if (op == OpLoad && i == 0)
        return 0;
    if (op == OpStore && i == 0)
        return SPIRV_STORED;
    if (!callee || i == 0)
        return SPIRV_ESCAPES;
    return callee->read_only >> (i - 1) & 1 ? 0 : callee->simple >> (i - 1) & 1 ? SPIRV_STORED : SPIRV_ESCAPES;
}

/* false: a call of no function. */
static bool note_uses(struct spirv_module *module, uint32_t at)
{
    const uint32_t op = spirv_opcode(module, at), *words = module->words;
    uint32_t count, first = spirv_operands(module, at, &count);
    const struct spirv_function *callee = op == OpFunctionCall ? function_of(module, words[first]) : NULL;
    if (op == OpFunctionCall && (!callee || count != callee->parameters + 1))
        return false;
    for (uint32_t i = 0; i < count; i++)
        module->uses[words[first + i]] |= (uint8_t)use_of(op, i, callee);
    return true;
}

/* Whether it has fewer such parameters than thought. */
static bool note_parameters(struct spirv_module *module, struct spirv_function *function)
{
    uint32_t simple = 0, read_only = 0, at = function->begin + 5;
    for (uint32_t p = 0; p < function->parameters; p++, at += 3) {
        const uint32_t uses = module->uses[module->words[at + 2]];
        const bool variable = is_pointer_type(module, module->words[at + 1]) && !(uses & SPIRV_ESCAPES);
        simple |= (uint32_t)variable << p;
        read_only |= (uint32_t)(variable && !uses) << p;
    }
    const bool changed = simple != function->simple || read_only != function->read_only;
    function->simple = simple;
    function->read_only = read_only;
    return changed;
}

/* Until nothing changes: parameters are what the functions that they are passed to make of them. */
static bool find_uses(struct spirv_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        module->functions[i].read_only = module->functions[i].simple = (1u << module->functions[i].parameters) - 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = module->functions_begin; at < module->count; at += spirv_length(module, at))
            if (!note_uses(module, at))
                return false;
        for (uint32_t i = 0; i < module->function_count; i++)
            changed |= note_parameters(module, &module->functions[i]);
    }
    return true;
}

/* ---- the whole ---- */

static bool is_label(const struct spirv_module *module, const struct spirv_function *function, uint32_t id)
{
    return id < module->bound && spirv_defined_by(module, id) == OpLabel &&
           module->place[id] - function->first_block < function->blocks;
}

static bool check_merge(const struct spirv_module *module, const struct spirv_function *function, uint32_t at)
{
    const uint32_t length = spirv_length(module, at), *words = module->words + at;
    const bool loop = spirv_opcode(module, at) == OpLoopMerge;
    return length > (loop ? 3 : 2) && is_label(module, function, words[1]) &&
           (!loop || is_label(module, function, words[2]));
}

/* Branches are to labels of the function, and switches are on numbers. */
static bool check_end(const struct spirv_module *module, const struct spirv_function *function, uint32_t at,
                      bool merges)
{
    const uint32_t op = spirv_opcode(module, at), length = spirv_length(module, at), *words = module->words + at;
    if (op == OpBranch)
        return length == 2 && is_label(module, function, words[1]);
    if (op == OpBranchConditional)
        return length > 3 && is_label(module, function, words[2]) && is_label(module, function, words[3]);
    if (op == OpReturnValue)
        return length == 2;
    bool good = op != OpSwitch || (length > 2 && length % 2 && merges && module->definition[words[1]] &&
                                   spirv_is_number(module, spirv_type_of(module, words[1])));
    for (uint32_t i = 2; op == OpSwitch && good && i < length; i += 2)
        good = is_label(module, function, words[i]);
    return good;
}

/* Operands are defined in the function, or outside of all. */
static bool check_operands(const struct spirv_module *module, const struct spirv_function *function, uint32_t at,
                           uint32_t end)
{
    const struct spirv_op *row = spirv_op(spirv_opcode(module, at));
    uint32_t count, first = spirv_operands(module, at, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = module->words[first + i], definition = module->definition[id];
        const bool own = definition > function->begin && definition < end;
        if (!definition || (module->local[id] != UINT32_MAX && !own))
            return false;
    }
    return !row || row->result < 2 || module->local[module->words[at + 1]] == UINT32_MAX;
}

static bool check_blocks(const struct spirv_module *module, const struct spirv_function *function)
{
    const uint32_t end = module->blocks[function->first_block + function->blocks - 1].end + 1;
    for (uint32_t at = function->begin + 5; at < end; at += spirv_length(module, at))
        if (!check_operands(module, function, at, end))
            return false;
    for (uint32_t i = 0; i < function->blocks; i++) {
        const struct spirv_block *block = &module->blocks[function->first_block + i];
        if (!check_end(module, function, block->end, block->merge != 0) ||
            (block->merge && !check_merge(module, function, block->merge)))
            return false;
        for (uint32_t at = block->begin; at < block->end; at += spirv_length(module, at))
            for (uint32_t w = 4; spirv_opcode(module, at) == OpPhi && w < spirv_length(module, at); w += 2)
                if (!is_label(module, function, module->words[at + w]))
                    return false;
    }
    return true;
}

static bool check_functions(const struct spirv_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        if (!check_blocks(module, &module->functions[i]))
            return false;
    return true;
}

static bool allocate(struct spirv_module *module, uint32_t functions, uint32_t blocks)
{
    module->definition = calloc(module->bound, sizeof(*module->definition));
    module->local = malloc(module->bound * sizeof(*module->local));
    module->place = calloc(module->bound, sizeof(*module->place));
    module->decorations = calloc(module->bound, sizeof(*module->decorations));
    module->next_decoration = calloc(module->count, sizeof(*module->next_decoration));
    module->known = calloc(module->bound, sizeof(*module->known));
    module->uses = calloc(module->bound, 1);
    module->functions = calloc(functions + 1u, sizeof(*module->functions));
    module->blocks = calloc(blocks + 1u, sizeof(*module->blocks));
    return module->definition && module->local && module->place && module->decorations && module->next_decoration &&
           module->known && module->uses && module->functions && module->blocks;
}

void spirv_module_free(struct spirv_module *module)
{
    free(module->definition);
    free(module->local);
    free(module->place);
    free(module->decorations);
    free(module->next_decoration);
    free(module->known);
    free(module->uses);
    free(module->functions);
    free(module->blocks);
}

bool spirv_module_read(struct spirv_module *module, const uint32_t *words, size_t count,
                       const struct spirv_constant *constants, uint32_t constant_count)
{
    enum { BOUND_MAX = 1 << 22 };
    uint32_t functions = 0, blocks = 0, at = SPIRV_HEADER;
    if (count <= SPIRV_HEADER || count > UINT32_MAX / 8 || words[0] != SPIRV_MAGIC || words[3] > BOUND_MAX)
        return false;
    *module = (struct spirv_module){ .words = words, .count = (uint32_t)count, .bound = words[3] };
    if (!measure(module, &functions, &blocks) || !allocate(module, functions, blocks))
        return false;
    memset(module->local, 0xff, module->bound * sizeof(*module->local)); /* global */
    for (; at < module->count && spirv_opcode(module, at) != OpFunction; at += spirv_length(module, at))
        if (!read_global(module, at))
            return false;
    module->functions_begin = at;
    return read_functions(module) && check_functions(module) && module->uint_type && module->entry &&
           module->entry < module->bound && function_of(module, module->entry) &&
           !function_of(module, module->entry)->parameters && read_constants(module, constants, constant_count) &&
           find_uses(module);
}
