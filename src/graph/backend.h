/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the graph compiler and a compilation target. Passes and the planner call the backend in
 * options->backend and never test which one it is. Everything in it is constant and thread-safe. */
#ifndef GRAPH_BACKEND_H
#define GRAPH_BACKEND_H

#include "base/arena.h"
#include "base/hash.h"
#include "graph/options.h"
#include "kernels/core/kernel.h"

enum graph_pass {
#define PASS(name, meaning) GRAPH_PASS_##name,
#include "graph/passes/passes.def"
#undef PASS
    GRAPH_PASS_COUNT
};
_Static_assert(GRAPH_PASS_COUNT <= 64, "one bit each");
#define GRAPH_PASS_BIT(name) (UINT64_C(1) << GRAPH_PASS_##name)
#define GRAPH_PASSES_ALL     UINT64_MAX

struct graph_step; /* plan/plan.h */

/* Rank of an op that no kernel accepts. */
#define GRAPH_PRIORITY_NONE UINT32_MAX

/* Whether a kernel accepts the op; if none does, *out_reason receives the reason, such as "no shader for these data
 * types". */
typedef bool graph_supports_fn(const struct graph_options *options, const struct kern_op *op, const char **out_reason);
/* Rank of the op's kernel: 0 is the best; ranks of ops of one kind can be compared. GRAPH_PRIORITY_NONE: no kernel. */
typedef uint32_t graph_priority_fn(const struct graph_options *options, const struct kern_op *op);
/* A kernel of this priority is portable code, there for completeness and not for speed. */
typedef bool graph_portable_fn(uint32_t priority);
/* There are specialised GEMM kernels for factors of this type: BFLOAT16, or UINT8 for weights that are read
 * quantised. */
typedef bool graph_multiplies_fn(const struct graph_options *options, DML_TENSOR_DATA_TYPE type);
/* The device that is compiled for does not compute in this type. */
typedef bool graph_lacks_fn(const struct graph_options *options, DML_TENSOR_DATA_TYPE type);
/* Each element of an input is read before an element of a result is written to its position, provided that the two
 * views have equal positions; so results may be stored in place of inputs. */
typedef bool graph_in_place_fn(const struct kern_op *op);
/* Selects the kernel for step->op: fills `kernel`, the data that its execution needs, op.packed_input and the scratch
 * sizes; `arena` lives as long as the step. Input packable - 1 may be packed ahead of time (0: none may);
 * *out_packed_bytes then receives its packed size. DXGI_ERROR_UNSUPPORTED: no kernel accepts the op. */
typedef HRESULT graph_choose_fn(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                                uint32_t packable, uint64_t *out_packed_bytes);
/* Makes a chain of leading steps that run without barriers between them, and returns their number; each step has its
 * kernel already. values[i]: those of step i's tensors. *out_count 0: no chain. */
typedef HRESULT graph_chain_fn(struct base_arena *arena, struct graph_step *steps, const uint32_t *const *values,
                               uint32_t count, uint32_t *out_count);
/* Packs the step's input op.packed_input - 1 on the host, from `source`, its element 0, ..., 0. */
typedef void graph_pack_fn(const struct graph_step *step, const void *source, void *packed);
/* All inputs of packing besides the bytes themselves: equal keys mean equal packed bytes. */
typedef struct base_hash graph_pack_layout_fn(const struct graph_step *step);

struct graph_backend {
    const char *name;
    uint64_t passes;      /* bit i: pass i of passes.def applies */
    uint32_t alignment;   /* bytes, of all in the temporary and the persistent buffer: a power of two up to 256 */
    bool norms_last;      /* NORM of groups of channels is as fast in NHWC */
    bool lines_last;      /* 1-D convolutions are faster with channels last, too */
    uint32_t layout_work; /* multiplications in NHWC convolutions that are worth the copy of an element; 0: none are */
    uint32_t merged_rows; /* maximum rows of the common matrix for which several GEMMs are merged into one */
    bool derives; /* the initializer runs weight transforms, so that owned inputs can be treated like constants */
    graph_supports_fn *supports;
    graph_priority_fn *priority;
    graph_portable_fn *portable;
    graph_multiplies_fn *multiplies;
    graph_lacks_fn *lacks; /* NULL: nothing */
    graph_in_place_fn *in_place;
    graph_choose_fn *choose;
    graph_chain_fn *chain; /* NULL: there are always barriers, or no need of them */
    /* NULL: kernels pack, and the initializer's dispatch runs them (graph_init_step.pack). */
    graph_pack_fn *pack;
    graph_pack_layout_fn *pack_layout; /* needed when choose() packs */
};

/* The CPU: kernels of kernels.def. */
extern const struct graph_backend graph_backend_host;
/* Adapters that run SPIR-V: the kernels of shaders/shader.c. */
extern const struct graph_backend graph_backend_spirv;

#endif
