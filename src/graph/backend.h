/* SPDX-License-Identifier: Apache-2.0 */
/* What a target of compilation offers to the graph compiler. Passes and the planner ask the backend and never what kind
 * it is; options->backend is the one that is compiled for. All of it is constant and thread-safe. */
#ifndef GRAPH_BACKEND_H
#define GRAPH_BACKEND_H

#include "base/hash.h"
#include "graph/ops.h"

enum graph_pass {
#define PASS(name, meaning) GRAPH_PASS_##name,
#include "graph/passes.def"
#undef PASS
    GRAPH_PASS_COUNT
};
#define GRAPH_PASS_BIT(name) (UINT32_C(1) << GRAPH_PASS_##name)
#define GRAPH_PASSES_ALL     UINT32_MAX

/* Of an op that no kernel takes. */
#define GRAPH_PRIORITY_NONE UINT32_MAX

/* Whether there is a kernel for the op. *out_reason, when there is none: why, as "there is no shader for it". */
typedef bool graph_supports_fn(const struct graph_options *options, const struct kern_op *op, const char **out_reason);
/* How good the op's kernel is: 0 is the best, numbers of ops of one kind compare. GRAPH_PRIORITY_NONE: it has none. */
typedef uint32_t graph_priority_fn(const struct graph_options *options, const struct kern_op *op);
/* A kernel of this priority is portable code, there for completeness and not for speed. */
typedef bool graph_portable_fn(uint32_t priority);
/* Products of factors of this type have kernels that are made for it: BFLOAT16, or UINT8 for weights that are read
 * quantised. */
typedef bool graph_multiplies_fn(const struct graph_options *options, DML_TENSOR_DATA_TYPE type);
/* Each element of an input is read before an element of the results is written to its place, provided that the two
 * views have equal places: so results may lie where inputs do. */
typedef bool graph_in_place_fn(const struct kern_op *op);
/* Gives step->op its kernel: fills `kernel`, what execution needs of it, op.packed_input and the scratch sizes; `arena`
 * lives as long as the step. Input packable - 1 may be packed ahead of time (0: none may); *out_packed_bytes then says
 * how large it gets. DXGI_ERROR_UNSUPPORTED: no kernel takes the op. */
typedef HRESULT graph_choose_fn(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                                uint32_t packable, uint64_t *out_packed_bytes);
/* How many of these steps, from the first one on and each with its kernel, run without barriers between them, and makes
 * them such. values[i]: of step i's tensors. *out_count 0: there are none. */
typedef HRESULT graph_chain_fn(struct base_arena *arena, struct graph_step *steps, const uint32_t *const *values,
                               uint32_t count, uint32_t *out_count);
/* Packs the step's input op.packed_input - 1 on the host, from `source`, its element 0, ..., 0. */
typedef void graph_pack_fn(const struct graph_step *step, const void *source, void *packed);
/* All that decides, beside the bytes themselves, what packing makes of them. */
typedef struct base_hash graph_pack_layout_fn(const struct graph_step *step);

struct graph_backend {
    const char *name;
    uint32_t passes;      /* bit i: row i of passes.def applies */
    uint32_t alignment;   /* bytes, of all in the temporary and the persistent buffer: a power of two up to 256 */
    uint32_t merged_rows; /* of a matrix at most, of which several products become one */
    bool derives;         /* the initializer runs derivations, so that owned inputs are as good as constants */
    graph_supports_fn *supports;
    graph_priority_fn *priority;
    graph_portable_fn *portable;
    graph_multiplies_fn *multiplies;
    graph_in_place_fn *in_place;
    graph_choose_fn *choose;
    graph_chain_fn *chain; /* NULL: there are always barriers, or no need of them */
    /* NULL: kernels pack, and the initializer's dispatch runs them (graph_init_step.pack). */
    graph_pack_fn *pack;
    graph_pack_layout_fn *pack_layout; /* needed when choose() packs */
};

/* The CPU: kernels of kernels.def. */
extern const struct graph_backend graph_backend_host;
/* Adapters that run SPIR-V: the rows of shaders/shader.c. */
extern const struct graph_backend graph_backend_spirv;

/* The in-place rule of element-wise kinds, which CPU and shaders run element by element. */
bool graph_map_in_place(const struct kern_op *op);

#endif
