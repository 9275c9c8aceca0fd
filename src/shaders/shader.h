/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel on SPIR-V adapters: struct shader_row, the counterpart of struct kern_row. A kernel plans one or several
 * dispatches of compute pipelines, which run in order and may share scratch memory. It is independent of device and
 * memory: the encoder of the dispatches uploads their parameter blocks and writes the table of addresses.
 *
 * Metacommands replace shaders on devices that support them (meta/): their parameters are a struct by value.
 *
 * Push constants of every other dispatch: the address of its parameter block, that of the table, which has the
 * addresses of the buffers of the program, and the number of its workgroups. Shaders may also read the block, and the
 * table's beginning, as uniform buffers: sets 0 and 1, binding 0. Workgroups are independent of each other, and may run
 * in several dispatches of ranges of them: gl_NumWorkGroups must not be used. */
#ifndef SHADERS_SHADER_H
#define SHADERS_SHADER_H

#include "kernels/core/kernel.h"

#define SHADER_DISPATCHES_MAX 64
#define SHADER_CONSTANTS_MAX  16

enum {
#define CAPABILITY(NAME, word) SHADER_CAPABILITY_NUMBER_##NAME,
#include "shaders/capabilities.def"
#undef CAPABILITY
};
enum shader_capability {
#define CAPABILITY(NAME, word) SHADER_CAPABILITY_##NAME = 1 << SHADER_CAPABILITY_NUMBER_##NAME,
#include "shaders/capabilities.def"
#undef CAPABILITY
};
/* The words of shaders.def. */
#define SHADER_NEEDS_BASE            0u
#define SHADER_NEEDS_INT64           SHADER_CAPABILITY_INT64
#define SHADER_NEEDS_FLOAT64         (SHADER_CAPABILITY_INT64 | SHADER_CAPABILITY_FLOAT64)
#define SHADER_NEEDS_SUBGROUP        SHADER_CAPABILITY_SUBGROUP
#define SHADER_NEEDS_SHARED          SHADER_CAPABILITY_SHARED
#define SHADER_NEEDS_WIDE            (SHADER_NEEDS_SHARED | SHADER_CAPABILITY_WIDE)
#define SHADER_NEEDS_SUBGROUP_SHARED (SHADER_NEEDS_SUBGROUP | SHADER_NEEDS_SHARED)
#define SHADER_NEEDS_DOT             SHADER_CAPABILITY_DOT
#define SHADER_NEEDS_DOT_SHARED      (SHADER_NEEDS_DOT | SHADER_NEEDS_SHARED)
#define SHADER_NEEDS_COOP            (SHADER_NEEDS_SHARED | SHADER_CAPABILITY_STORAGE | SHADER_CAPABILITY_COOP)
#define SHADER_NEEDS_COOP_BFLOAT16   (SHADER_NEEDS_COOP | SHADER_CAPABILITY_COOP_BFLOAT16)

/* The shaders of shaders.def. */
enum shader_code {
#define SHADER(name, family, source, needs, defines) SHADER_##name,
#include "shaders/shaders.def"
#undef SHADER
    SHADER_CODE_COUNT
};
/* The metacommands of cuda/metas.def. */
enum shader_meta {
#define META(name, source, threads, shared, defines) SHADER_META_##name,
#include "shaders/cuda/metas.def"
#undef META
    SHADER_META_COUNT,
    SHADER_META_NONE = SHADER_META_COUNT
};

/* What a dispatch runs. */
enum shader_form {
    SHADER_SPIRV,       /* a shader */
    SHADER_SPIRV_WORDS, /* the same for devices without SHADER_CAPABILITY_STORAGE */
    SHADER_METACOMMAND,
};
struct shader_identity {
    enum shader_form form;
    uint32_t number; /* enum shader_code or, of a metacommand, enum shader_meta */
};

static inline struct shader_identity shader_identity(enum shader_code code)
{
    return (struct shader_identity){ SHADER_SPIRV, code };
}

static inline bool shader_same(struct shader_identity a, struct shader_identity b)
{
    return a.form == b.form && a.number == b.number;
}

struct shader_dispatch {
    struct shader_identity shader;
    uint32_t constant_count; /* specialization constants: dispatches of one shader and equal ones share a pipeline */
    uint32_t constants[SHADER_CONSTANTS_MAX];
    uint32_t groups[3];
    uint32_t parameter_words;
    uint32_t repeats;   /* number of repetitions with the same parameters, each of which sees the writes of the previous
                           ones */
    uint32_t addresses; /* of metacommands: the number of 64-bit addresses at the start of their parameters */
};

static inline bool shader_is_meta(const struct shader_dispatch *dispatch)
{
    return dispatch->shader.form == SHADER_METACOMMAND;
}

/* The encoding of an address in a metacommand's parameters by `write`: 1 + the index of the buffer's address in the
 * table, above this many bits of offset. 0: none. */
#define SHADER_ADDRESS_BITS 40

/* All dispatches of a step. Each sees the writes of the previous ones. */
struct shader_work {
    const struct shader_row *row;
    uint64_t scratch_bytes; /* for all of them, aligned as tensors are */
    uint64_t packed_bytes;  /* of the op's input packed_input - 1; 0: it is read as it is */
    uint32_t dispatch_count;
    struct shader_dispatch dispatches[SHADER_DISPATCHES_MAX];
};

/* Dispatches that it records, repeated ones counted each time. */
uint32_t shader_commands(const struct shader_work *work);

/* A position in one of the step's buffers. */
struct shader_place {
    uint32_t base; /* number of the buffer's address in the table */
    uint64_t offset;
};

/* NULL: the kernel accepts such ops of its kind; else the unsupported reason, such as "no shader for FLOAT64". */
typedef const char *shader_unsupported_fn(const struct kern_op *op);
/* Fills `out`, which is zeroed except for the kernel. */
typedef void shader_plan_fn(const struct kern_op *op, struct shader_work *out);
/* Fills the parameter block of dispatch `index`, zeroed parameter_words words. places[t]: of element 0, ..., 0 of
 * tensor t; after them, of the scratch memory if there is any. */
typedef void shader_write_fn(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words);

/* Packs the op's input packed_input - 1 on the host, from `source`, its element 0, ..., 0, into zeros. */
typedef void shader_pack_fn(const struct kern_op *op, const void *source, void *packed);

/* How a kernel takes part in chains: whose parameters say for what it waits (meta/shader_chain.c). */
enum shader_chain_role {
    SHADER_CHAIN_NONE,
    SHADER_CHAIN_GEMM,
    SHADER_CHAIN_CONV,
    SHADER_CHAIN_NORM,
    SHADER_CHAIN_ATTENTION
};

struct shader_row {
    const char *name;
    enum kern_kind kind;
    uint32_t max_ulp; /* against the reference kernel */
    bool portable;    /* there for completeness: the ops that it replaces have faster kernels */
    enum shader_chain_role chain;
    shader_unsupported_fn *unsupported;
    shader_plan_fn *plan;
    shader_write_fn *write;
    /* NULL, or packs: if op->packed_input is set, `plan` may request it by packed_bytes, and places[] then has the
     * packed one.
     */
    shader_pack_fn *pack;
};

/* The best kernel that accepts the op on devices with these capabilities, and its plan; false and *out_reason: none,
 * for this reason. */
bool shader_find(const struct kern_op *op, uint32_t capabilities, struct shader_work *out, const char **out_reason);
/* Plans of kernels assume all capabilities: replaces their shaders by those for devices that have only these. */
void shader_adapt(struct shader_work *work, uint32_t capabilities);
/* ---- chains: steps without barriers between them (meta/shader_chain.c) ---- */

#define SHADER_CHAIN_MAX 32 /* steps */

struct shader_link {
    const struct kern_op *op;
    const struct shader_work *work; /* that is planned for it alone */
    const uint32_t *values;         /* of its tensors: equal ones are in the same buffer */
};

/* The number of leading steps that run without barriers between them; 0: none. */
uint32_t shader_chain_length(const struct shader_link *links, uint32_t count);
/* The dispatch of a step in one; out->row becomes the kernel that waits. */
void shader_chain_plan(const struct shader_link *link, struct shader_work *out);
/* Bytes that a chain requires to be zero before it runs. */
uint64_t shader_chain_bytes(uint32_t length);

/* A step of a chain. */
struct shader_chain_at {
    const struct kern_op *op;
    const struct shader_row *row;
    uint32_t number;
    const struct shader_work *previous;  /* of the step before; NULL: it is the first */
    const struct shader_place *counters; /* which are zero before */
};

void shader_chain_write(const struct shader_chain_at *at, const struct shader_place *places, uint32_t *words);
/* A dispatch that zeroes memory for all chains that follow. */
void shader_zero_plan(struct shader_work *out);
void shader_zero_write(const struct shader_place *place, uint64_t bytes, uint32_t *words);

/* Whether this kernel accepts it. */
bool shader_row_find(const struct shader_row *row, const struct kern_op *op, uint32_t capabilities,
                     struct shader_work *out, const char **out_reason);
/* The whole table, best first within a kind. */
const struct shader_row *shader_rows(uint32_t *out_count);

#define ROW(kind, name, max_ulp, speed, chain)                                                                         \
    shader_unsupported_fn shader_##name##_unsupported;                                                                 \
    shader_plan_fn shader_##name##_plan;                                                                               \
    shader_write_fn shader_##name##_write;
#define ROW_PACKS(kind, name, max_ulp, speed, chain)                                                                   \
    ROW(kind, name, max_ulp, speed, chain)                                                                             \
    shader_pack_fn shader_##name##_pack;
#include "shaders/rows.def"
#undef ROW_PACKS
#undef ROW

#endif
