/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of shaders/spirv: a module that has been read, what is known of its numbers, copies of its functions, and
 * the new module. Positions are numbers of words. */
#ifndef SHADERS_SPIRV_MODULE_H
#define SHADERS_SPIRV_MODULE_H

#include "shaders/spirv/spirv.h"

enum {
    SPIRV_HEADER = 5, /* words */
    SPIRV_MAGIC = 0x07230203,
    SPIRV_ALL = 0xffff,
    SPIRV_PARAMETERS_MAX = 16,
    SPIRV_STORAGE_FUNCTION = 7,
    SPIRV_DECORATION_SPEC_ID = 1,
};

/* Instructions that are part of a module's frame. */
enum {
    OpSource = 3,
    OpModuleProcessed = 330,
    OpMemberName = 6,
    OpLine = 8,
    OpExtension = 10,
    OpExtInstImport = 11,
    OpMemoryModel = 14,
    OpEntryPoint = 15,
    OpExecutionMode = 16,
    OpCapability = 17,
    OpFunction = 54,
    OpFunctionEnd = 56,
    OpDecorate = 71,
    OpMemberDecorate = 72,
    OpNoLine = 317,
#define OP(name, number, result, literals, ids, effect) Op##name = number,
#include "shaders/spirv/spirv_ops.def"
#undef OP
};

enum spirv_effect { EFFECT_NONE, EFFECT_OWN, EFFECT_ANY };

struct spirv_op {
    uint16_t number, ids;
    uint8_t result, literals, effect;
};

/* NULL: unknown. */
const struct spirv_op *spirv_op(uint32_t number);

/* ---- words that grow ---- */

struct spirv_words {
    uint32_t *at, count, room;
    bool failed; /* out of memory: later words are dropped */
};

void spirv_put(struct spirv_words *words, const uint32_t *from, uint32_t count);
void spirv_put_word(struct spirv_words *words, uint32_t word);
/* Begins an instruction, and ends it: its length is known then. */
uint32_t spirv_begin(struct spirv_words *words, uint32_t op);
void spirv_end(struct spirv_words *words, uint32_t begin);

/* ---- what is known of a number of 32 bits or a bool, or of the number in a variable ---- */

/* Values only go from NOTHING (no code that sets it has been found yet) over CONSTANT to VARIES. */
enum spirv_state { SPIRV_NOTHING, SPIRV_CONSTANT, SPIRV_VARIES };

struct spirv_value {
    enum spirv_state state;
    uint32_t number;
};

/* What an instruction of `op` makes of constants; literal: ExtInst's. false: nothing is known. */
bool spirv_fold(uint32_t op, uint32_t literal, const uint32_t *a, uint32_t count, uint32_t *out);

/* ---- the module that has been read ---- */

struct spirv_block {
    uint32_t label;
    uint32_t begin, merge,
        end; /* positions: behind the label; of the merge instruction, or 0; of the last instruction */
};

struct spirv_function {
    uint32_t id, begin; /* position of OpFunction */
    uint32_t parameters, first_block, blocks;
    uint32_t locals;    /* ids that are defined in it, the parameters first */
    uint32_t read_only; /* bit i: parameter i is a variable that it only reads ... */
    uint32_t simple;    /* ... or, as a whole, reads and sets */
};

/* How a variable is used besides being loaded: stored as a whole; in parts, or in ways that are not known. */
enum spirv_use { SPIRV_STORED = 1, SPIRV_ESCAPES = 2 };

struct spirv_module {
    const uint32_t *words;
    uint32_t count, bound;
    uint32_t entry;                /* the function's id */
    uint32_t functions_begin;      /* position */
    uint32_t uint_type, bool_type; /* ids */
    uint32_t *definition;          /* by id: position of the instruction, or 0 */
    uint32_t *local;               /* by id: number within its function; UINT32_MAX: global */
    uint32_t *place;               /* by id: number of the block or function with this label or name */
    uint32_t *decorations;         /* by id: position of the first OpDecorate, or 0 */
    uint32_t *next_decoration;     /* by position: of the next one of the same id */
    struct spirv_value *known;     /* by id: global constants */
    uint8_t *uses;                 /* by id of a variable: enum spirv_use */
    struct spirv_function *functions;
    struct spirv_block *blocks;
    uint32_t function_count, block_count;
};

/* false: not understood, or out of memory. `values` replace specialization constants. */
bool spirv_module_read(struct spirv_module *module, const uint32_t *words, size_t count,
                       const struct spirv_constant *constants, uint32_t constant_count);
void spirv_module_free(struct spirv_module *module);
/* The constant that an OpSpecConstantOp Select at `at` selects, if they are not numbers or bools; otherwise 0. */
uint32_t spirv_selected(const struct spirv_module *module, uint32_t at);

static inline uint32_t spirv_opcode(const struct spirv_module *module, uint32_t at)
{
    return module->words[at] & 0xffff;
}

static inline uint32_t spirv_length(const struct spirv_module *module, uint32_t at)
{
    return module->words[at] >> 16;
}

/* The opcode that defines an id; 0: none does. */
static inline uint32_t spirv_defined_by(const struct spirv_module *module, uint32_t id)
{
    return module->definition[id] ? spirv_opcode(module, module->definition[id]) : 0;
}

static inline uint32_t spirv_type_of(const struct spirv_module *module, uint32_t id)
{
    return module->words[module->definition[id] + 1];
}

/* Operands that are ids: from the returned position on. */
uint32_t spirv_operands(const struct spirv_module *module, uint32_t at, uint32_t *out_count);
/* Whether the type is bool or an integer of 32 bits. */
bool spirv_is_number(const struct spirv_module *module, uint32_t type);

/* ---- copies of functions ---- */

struct spirv_copy {
    const struct spirv_function *function;
    struct spirv_copy *next;
    struct spirv_value parameters[SPIRV_PARAMETERS_MAX];
    struct spirv_value stores[SPIRV_PARAMETERS_MAX]; /* what it sets parameters to that are variables */
    struct spirv_value result;
    struct spirv_value *values; /* by local: of the id, or of what the variable has */
    uint8_t *reached, *kept;    /* by block: is it executed; is its merge instruction kept */
    uint8_t *used;              /* by local */
    uint32_t *ids;              /* by local: in the new module, or 0 */
    uint32_t id;                /* in the new module, or 0 */
    bool analysing, effects;    /* more than its result */
};

struct spirv_writer {
    struct spirv_module module;
    struct spirv_copy *copies, *last;
    uint32_t bound;
    struct spirv_words types, decorations, functions; /* additions */
    uint8_t *used;                                    /* by id: global ones that the functions use */
    struct spirv_copy **queue;                        /* copies with an id, in the order of their functions */
    uint32_t queue_count, queue_room;
    uint32_t *constants, constant_count; /* hash table of ids */
    bool failed;
};

/* The copy for these parameters, analysed; NULL: failed. */
struct spirv_copy *spirv_copy(struct spirv_writer *writer, const struct spirv_function *function,
                              const struct spirv_value *parameters);
/* That of a call in a copy; *out_state SPIRV_NOTHING and NULL: the arguments have not been found yet. */
struct spirv_copy *spirv_callee(struct spirv_writer *writer, const struct spirv_copy *caller, uint32_t at,
                                bool *out_waits);
struct spirv_value spirv_value_of(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t id);
/* Whether the id is of a constant number; values of variables are what is in them. */
bool spirv_is_constant(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t id);
/* Whether the copy's block `from`, which is executed, may continue at the label. */
bool spirv_continues(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t from, uint32_t label);
/* The label at which a conditional block always continues, 0: several. */
uint32_t spirv_only_target(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t block);
/* The local variable that a pointer points into, 0: none, or not known. */
uint32_t spirv_variable_of(const struct spirv_module *module, uint32_t pointer);
/* The only possible value of an id that is defined by a phi or a selection; other ids are their own. */
uint32_t spirv_only_value(const struct spirv_writer *writer, const struct spirv_copy *copy, uint32_t id);

/* Marks what is used, and which merge instructions are kept. */
void spirv_mark(struct spirv_writer *writer, struct spirv_copy *copy);
/* Appends the function. */
void spirv_write_function(struct spirv_writer *writer, struct spirv_copy *copy);
uint32_t spirv_new_id(struct spirv_writer *writer);
uint32_t spirv_constant_id(struct spirv_writer *writer, uint32_t type, uint32_t number);

#endif
