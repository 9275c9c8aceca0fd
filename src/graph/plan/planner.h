/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's parts. */
#ifndef GRAPH_PLANNER_H
#define GRAPH_PLANNER_H

#include "graph/backend.h"
#include "graph/plan/plan.h"
#include "graph/plan/store.h"

/* ---- offsets in one buffer (plan_blocks.c) ---- */

/* Bytes that are in use from step `first` to step `last`. */
struct plan_block {
    uint64_t size;
    uint32_t first, last;
    uint64_t offset; /* result */
    uint32_t value;  /* the first value stored there, or GRAPH_NONE: scratch memory */
};

/* Assigns each block an offset, a multiple of `alignment`, such that blocks in use at the same time do not overlap.
 * *out_bytes: total; *out_least: maximum in use at one time. E_OUTOFMEMORY also if the bytes exceed 64 bits. */
HRESULT plan_place_blocks(struct plan_block *blocks, uint32_t count, uint32_t alignment, uint64_t *out_bytes,
                          uint64_t *out_least);

/* ---- a plan in the making (plan.c) ---- */

struct plan_content {
    bool known;
    struct base_hash hash;
};

/* A constant as the plan has it: in host memory, or in the keeper's. Both NULL: not yet. */
struct plan_constant {
    const void *data;
    const struct graph_kept *kept;
};

struct plan_kept; /* plan_keep.c */

struct planner {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_plan *plan;
    char *error;
    uint32_t *block;               /* [value]: number in `blocks`, or GRAPH_NONE */
    uint64_t *resident;            /* [value]: offset in the persistent buffer, or UINT64_MAX */
    struct plan_constant *known;   /* [value]: a constant as the plan stores it */
    struct plan_content *contents; /* [value]: of constants */
    uint32_t *readers;             /* [value]: of constants: operands not yet served */
    void *scratch; /* an aligned copy of a constant that kernels cannot read in place: of `scratch_value` */
    uint64_t scratch_bytes;
    uint32_t scratch_value;
    uint64_t *made_at;     /* [value]: of derived ones, offset in the initializer's memory unless they are resident */
    uint64_t *owned_bytes; /* [value]: the number of leading bytes of an owned input that are read */
    uint32_t *packs, *next_pack; /* [value], [step]: the steps that pack the value, one for each layout */
    struct base_hash *layouts;   /* [step]: of its packed input */
    uint64_t *packed; /* [step]: offset of its packed input in the persistent buffer; of shared ones the size */
    struct plan_constant *shared; /* [step]: its packed input, in the store or the keeper's memory */
    struct plan_kept *kept;       /* what the keeper has, by key; kept_mask + 1 of them have room */
    uint32_t kept_mask;
    uint64_t later; /* bytes of constants that still have readers */
    struct plan_block *blocks;
    uint32_t block_count;
};

/* The kernel of each step; packing (plan_kernels.c). */
HRESULT plan_choose_kernels(struct planner *planner);
/* Appends room to the persistent buffer. */
HRESULT plan_add_persistent(struct planner *planner, uint64_t bytes, uint64_t *out_offset);
/* Packing, and the constants of all steps, whose kernels are chosen; no constant is read before. */
HRESULT plan_keep_all(struct planner *planner);
/* Packs the step's constant input with `bytes`, unless the store has it already; and a constant as the plan stores it
 * (plan_share.c). */
HRESULT plan_share_packed(struct planner *planner, uint32_t at, uint64_t bytes);
HRESULT plan_share_constant(struct planner *planner, uint32_t value);
/* Readers of constants, including deferred transforms; their bytes in all, for the keeper (plan_keep.c). */
HRESULT plan_count_readers(struct planner *planner);
/* Computes the constant if that is deferred, and releases constants that were needed for it only. */
HRESULT plan_derive_constant(struct planner *planner, uint32_t value);
/* One reader of the constant less; without any it is released. */
void plan_forget_reader(struct planner *planner, uint32_t value);
/* Hands the constant to the keeper, unless it has one of this key. */
HRESULT plan_keep(struct planner *planner, const struct graph_key *key, const struct graph_keeping *keeping,
                  struct plan_constant *out);
/* planner->known[value], which is a constant. */
HRESULT plan_know_constant(struct planner *planner, uint32_t value);
/* Memory and order of the initializer's transforms of owned inputs (plan_derive.c). */
HRESULT plan_derive(struct planner *planner);
/* Keeps the constants that the step reads unpacked, and releases those that no later step needs. */
HRESULT plan_keep_constants(struct planner *planner, uint32_t at);
/* Finds steps that run without barriers between them, once kernels are chosen (plan_chains.c). */
#define PLAN_CHAIN_MAX 32
HRESULT plan_find_chains(struct planner *planner);
/* Temporary values and scratch memory: blocks and their offsets (plan_temp.c). */
HRESULT plan_place_temporaries(struct planner *planner);
/* Sorts and merges the dimensions of an element-wise step for the output's memory order (plan_loops.c). */
void plan_tidy_loops(struct kern_op *op);

#endif
