/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of chains: products of few rows that follow one another in one dispatch. Included by C and CUDA. */
#ifndef SHADERS_META_GEMM_CHAIN_PARAMS_H
#define SHADERS_META_GEMM_CHAIN_PARAMS_H

#include "shaders/meta/gemm_meta_params.h"

#define GEMM_CHAIN_MAX    4 /* products */
#define GEMM_CHAIN_M      32
#define GEMM_CHAIN_N      96
#define GEMM_CHAIN_GROUPS 132 /* workgroups; any number computes all */

/* Of one tile and split, along K: 32 elements each. */
#define GEMM_CHAIN_UNITS 24

/* Counters, zero when the dispatch begins: 0: pieces of work taken; then for each step and GEMM_CHAIN_M rows tiles that
 * are done, each counter in a line of its own; and for each tile of a step with splits how many of those are summed. */
#define GEMM_CHAIN_LINE 32 /* counters */

/* A piece of work is a part of the depth (a split) of a tile of GEMM_CHAIN_M x GEMM_CHAIN_N results. */
struct gemm_chain_step {
    u64 counters, partials; /* of all steps alike */
    u64 gamma, beta;        /* A is what is normalised first, along K, and times gamma plus beta, unless they are 0 */
    u64 normal;             /* where that is stored, too */
    struct gemm_meta_params product;
    float epsilon;
    i32 normal_m;
    u32 first;         /* pieces of the steps before */
    u32 splits, units; /* of the depth; of a split */
    u32 done;             /* counter of the first rows, */
    u32 before, per_rows; /* and of the step before; that one's tiles for them, or 0 */
    u32 split_counter;
    u32 first_partial; /* in pieces */
    u32 count, pieces; /* steps, and pieces, of all of them */
};

struct gemm_chain_params {
    struct gemm_chain_step steps[GEMM_CHAIN_MAX];
};

#define GEMM_CHAIN_ADDRESSES (5 + 4 + META_EPILOGUE_STEPS)

/* Numbers that become 0. */
struct meta_zero_params {
    u64 at;
    u32 words, unused;
};

#endif
