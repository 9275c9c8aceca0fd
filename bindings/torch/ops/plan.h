/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, and the cache in which they are found again. */
#ifndef ANYDML_TORCH_PLAN_H
#define ANYDML_TORCH_PLAN_H

#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>

/* A call as aten_find and aten_compile have it. */
struct aten_call {
    struct aten_device *device;
    const struct aten_op *op;
    const struct aten_arg *args;
    uint32_t arg_count;
    const struct aten_tensor *outputs;
    uint32_t output_count;
};

/* What a plan is found by: op, types, sizes, strides and lists, and behind them the numbers. */
struct aten_key {
    uint64_t stack[160], *words;      /* words: stack, or memory of its own */
    uint32_t capacity, layout, count; /* words: without and with the numbers */
    uint64_t layout_hash, hash;
    bool failed; /* memory is short */
};

/* What the fixed inputs of a plan were when they were packed. */
struct aten_fixed {
    pthread_rwlock_t lock; /* shared by runs, exclusive where they are packed again */
    atomic_ullong packed;
    struct {
        uint64_t address, version;
    } seen[]; /* [input] */
};

enum aten_plan_kind {
    ATEN_PLAN_EXACT,    /* these numbers alone */
    ATEN_PLAN_LIVE,     /* numbers are bound when it runs */
    ATEN_PLAN_COUNTING, /* no plan: how often there was none for a layout, whatever the numbers */
};

struct aten_plan {
    atomic_uint refs;
    enum aten_plan_kind kind;
    struct aten_device *device;
    IDMLCompiledOperator *op; /* NULL: there is nothing to do */
    char *failure;            /* it cannot be compiled, and why */
    struct aten_binding *inputs;
    uint32_t input_count, number_count; /* number_count: of the inputs that are no tensors */
    struct aten_fixed *fixed;           /* NULL: no inputs are */
    struct aten_tensor *outputs;        /* without data */
    uint32_t output_count;
    uint32_t *slots; /* output k of `op` is this one of `outputs` */
    uint32_t slot_count;
    uint64_t draws;
    uint64_t bytes; /* of the host that it takes, about */
    struct aten_bound *bounds;
    uint32_t bound_count;
    /* in the cache, under its lock */
    uint64_t *key;
    uint32_t key_words;
    uint64_t hash;
    uint32_t misses; /* COUNTING */
    bool refused;    /* COUNTING: the operator's numbers are part of its plans */
    struct aten_plan *same_bucket, *newer, *older;
};

/* Compiles what the graph has into the plan; the graph stays the caller's. `layouts` NULL: results lie as it is best.
 */
bool aten_plan_fill(struct aten_plan *plan, struct aten_graph *g, struct aten_value **outputs,
                    const struct aten_tensor *layouts, uint32_t output_count);
void aten_plan_destroy(struct aten_plan *plan);

/* ---- cache.c: thread-safe; what it gives is referenced ---- */

void aten_key_make(struct aten_key *key, const struct aten_call *call, bool written);
void aten_key_finish(struct aten_key *key);
/* The plan for these numbers, or else the live one. */
struct aten_plan *aten_cache_find(const struct aten_key *key);
/* Takes the plan in, and gives it or the one that another thread added before. */
struct aten_plan *aten_cache_add(const struct aten_key *key, struct aten_plan *plan);
/* Counts a miss. Whether it is time to try a live plan. */
bool aten_cache_miss(const struct aten_key *key);
void aten_cache_refuse(const struct aten_key *key); /* that was of no use */

#endif
