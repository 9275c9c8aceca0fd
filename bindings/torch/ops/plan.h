/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, and their cache. */
#ifndef ANYDML_TORCH_PLAN_H
#define ANYDML_TORCH_PLAN_H

#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>

/* The arguments of aten_find and aten_compile. */
struct aten_call {
    struct aten_device *device;
    const struct aten_op *op;
    const struct aten_arg *args;
    uint32_t arg_count;
    const struct aten_tensor *outputs;
    uint32_t output_count;
};

/* The key of a plan in the cache: op, types, sizes, strides and lists, followed by the numbers. */
struct aten_key {
    uint64_t stack[160], *words;      /* words: `stack`, or allocated memory */
    uint32_t capacity, layout, count; /* in words; `layout` excludes the numbers, `count` includes them */
    uint64_t layout_hash, hash;
    bool failed; /* out of memory */
};

/* The identity of the fixed inputs of a plan when they were packed. */
struct aten_fixed {
    pthread_rwlock_t lock; /* shared while running, exclusive while packing */
    atomic_ullong packed;
    struct {
        uint64_t address, version;
    } seen[]; /* [input] */
};

enum aten_plan_kind {
    ATEN_PLAN_EXACT,    /* for these numbers only */
    ATEN_PLAN_LIVE,     /* numbers are bound when the plan runs */
    ATEN_PLAN_COUNTING, /* not a plan: counts the misses of a layout, regardless of the numbers */
};

struct aten_plan {
    atomic_uint refs;
    enum aten_plan_kind kind;
    struct aten_device *device;
    IDMLCompiledOperator *op; /* NULL: there is nothing to compute */
    char *failure;            /* the operator cannot be compiled, for this reason */
    struct aten_binding *inputs;
    uint32_t input_count, number_count; /* number_count: inputs that are not tensors */
    struct aten_fixed *fixed;           /* NULL: there are no fixed inputs */
    struct aten_tensor *outputs;        /* without data */
    uint32_t output_count;
    uint32_t *slots; /* output k of `op` is outputs[slots[k]] */
    uint32_t slot_count;
    uint64_t draws;
    uint64_t bytes; /* approximate host memory of the plan */
    struct aten_bound *bounds;
    uint32_t bound_count;
    /* members of the cache, under its lock */
    uint64_t *key;
    uint32_t key_words;
    uint64_t hash;
    uint32_t misses; /* COUNTING */
    bool refused;    /* COUNTING: the operator's numbers are part of its plans */
    struct aten_plan *same_bucket, *newer, *older;
};

/* Compiles the graph into the plan; the caller keeps ownership of the graph. `layouts` NULL: results have the layouts
 * that are fastest to compute. */
bool aten_plan_fill(struct aten_plan *plan, struct aten_graph *g, struct aten_value **outputs,
                    const struct aten_tensor *layouts, uint32_t output_count);
void aten_plan_destroy(struct aten_plan *plan);

/* ---- cache.c: thread-safe; returned plans are referenced ---- */

void aten_key_make(struct aten_key *key, const struct aten_call *call, bool written);
void aten_key_finish(struct aten_key *key);
/* The plan for exactly these numbers, otherwise the live one. */
struct aten_plan *aten_cache_find(const struct aten_key *key);
/* Adds the plan and returns it, or the equal plan that another thread added before. */
struct aten_plan *aten_cache_add(const struct aten_key *key, struct aten_plan *plan);
/* Counts a miss. Returns true when a live plan should be tried. */
bool aten_cache_miss(const struct aten_key *key);
void aten_cache_refuse(const struct aten_key *key); /* the live plan failed */

#endif
