/* SPDX-License-Identifier: Apache-2.0 */
/* The graph compiler's intermediate representation.
 *
 * A value is a run of bytes with one position in memory; an operand is a view into a value. Several views of one value,
 * of different type and shape, are normal: therefore slices, concatenations, transposes and reinterpreting edges cost
 * nothing. */
#ifndef GRAPH_IR_H
#define GRAPH_IR_H

#include "base/arena.h"
#include "base/pages.h"
#include "kernels/core/kernel.h"
#include "schema/schema.h"

#define GRAPH_NONE UINT32_MAX

enum graph_place {
    GRAPH_INPUT,    /* bound by the caller at execution; `index` = input slot */
    GRAPH_OWNED,    /* bound at initialisation (OWNED_BY_DML); `index` = input slot; copied to the persistent buffer */
    GRAPH_OUTPUT,   /* bound by the caller; `index` = output slot */
    GRAPH_CONSTANT, /* known now; `index` = the description's node that has it, or GRAPH_NONE */
    GRAPH_TEMP,     /* in the temporary buffer */
    GRAPH_DERIVED,  /* computed from owned inputs and constants by the initializer: derive.c */
};

struct graph_value {
    enum graph_place place;
    uint32_t index;
    uint64_t size_bytes;
    const char *name; /* owned by the caller, for messages; NULL: none */
    bool derives;     /* a derivation that waits reads it */
    /* CONSTANT: 1 + the number of the deferred derivation that will compute it; 0: the bytes are there */
    uint32_t deferred;
    /* CONSTANT, looked at through graph_constant_... only */
    const void *given;    /* the caller's bytes, anywhere; zeros follow up to size_bytes */
    uint64_t given_bytes; /* at most size_bytes */
    void *made;           /* all size_bytes, owned by the graph, from base_pages_acquire; NULL: none */
};

struct graph_operand {
    uint32_t value;
    struct kern_view view;
};

#define GRAPH_JOINED_MAX 6

/* op->k.tensors[i] is the view of value[i], i over inputs then outputs: an operand is the pair. */
struct graph_op {
    const char *origin; /* "DML_OPERATOR_GEMM": static */
    uint32_t node;      /* index of the DirectML node that it implements, GRAPH_NONE if a pass created it */
    bool dead;
    uint8_t joined_count;
    uint32_t joined[GRAPH_JOINED_MAX]; /* further nodes whose work it does, for messages */
    uint32_t value[KERN_TENSORS_MAX];  /* next to k's counts, because passes mostly read these */
    struct kern_op k;
};

/* Computes values from others that do not change. `in` has the addresses of the inputs' first bytes; all bytes that the
 * operator reads are valid there. `out` is zeroed memory for all bytes of each output. The context is plain data and is
 * copied with the transform. Large results are computed by the calling thread's team. False: out of memory. */
typedef bool graph_derive_fn(const void *context, const void *const *in, void *const *out);
struct graph_derivation {
    const char *name; /* static, for people */
    graph_derive_fn *run;
    const void *context;
    size_t context_bytes;
    uint32_t input_count, output_count;
    const uint32_t *values; /* inputs, then outputs, which nothing else writes */
};

typedef void graph_constant_done_fn(void *context, uint32_t node);
typedef void graph_constant_part_fn(void *context, uint32_t node, uint64_t offset, uint64_t bytes);

struct graph {
    struct base_arena arena;
    struct base_pages pages; /* of constants that are created here */
    struct graph_value *values;
    uint32_t value_count, value_capacity;
    struct graph_op **ops; /* in a legal order of execution */
    uint32_t op_count, op_capacity;
    uint32_t *inserted_before; /* [the last inserted_count ops]: the position that they belong before */
    uint32_t inserted_count, inserted_capacity;
    struct graph_derivation *derivations; /* in a legal order of execution */
    uint32_t derivation_count, derivation_capacity;
    uint32_t threads; /* that compute constants; 0: one */
    bool defers;      /* large constants are computed when they are read: a keeper takes them one by one */
    struct graph_derivation *deferred; /* of constants only; `run` NULL: done */
    uint32_t deferred_count, deferred_capacity;
    uint32_t input_count, output_count; /* slots of the compiled operator */
    uint32_t flags;                     /* DML_EXECUTION_FLAGS */
    bool runs_often;                    /* fast steps are worth a longer compilation */
    bool failed;                        /* a builder call ran out of memory; checked once at the end */
    uint32_t node;                      /* assigned to the ops that graph_op_add creates from now on */
    const char *origin;                 /* likewise */
    const char **node_names;            /* [node]: owned by the caller, for messages; NULL: unnamed */
    uint32_t named_nodes;
    graph_constant_done_fn *constant_done; /* NULL, or called when a node's constant is not read any more */
    graph_constant_part_fn *constant_part; /* NULL, or called before that for parts of large ones */
    void *constant_context;
    struct graph_priorities *priorities; /* priority.c; NULL but while passes run */
    struct graph_uses *uses;             /* uses.c; likewise */
};

/* In addition to DML_EXECUTION_FLAGS: recurrent matrices are not packed, because only CPU kernels read panels. */
#define GRAPH_FLAG_NO_PANELS (UINT32_C(1) << 31)

/* ---- building (graph.c). All return GRAPH_NONE / NULL and set graph->failed when memory is short. ---------------- */
void graph_init(struct graph *graph, uint32_t input_count, uint32_t output_count, uint32_t flags);
void graph_finish(struct graph *graph);
uint32_t graph_value_add(struct graph *graph, enum graph_place place, uint32_t index, uint64_t size_bytes);
/* A new dense temporary of this type and shape. */
struct graph_operand graph_temp(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes);
/* Appends an op of `kind` with these operands; the caller fills op->k.u. */
struct graph_op *graph_op_add(struct graph *graph, enum kern_kind kind, const struct graph_operand *inputs,
                              uint32_t input_count, const struct graph_operand *outputs, uint32_t output_count);
/* The same with one output, attributed to the node of `of`: inserted right before the op that is at position `at` now,
 * after earlier insertions there. Positions stay valid, and the new op is the last of graph->ops, until graph_settle
 * sorts all ops. */
struct graph_op *graph_op_insert(struct graph *graph, uint32_t at, const struct graph_op *of, enum kern_kind kind,
                                 const struct graph_operand *inputs, uint32_t input_count,
                                 const struct graph_operand *output);
/* `op` does the work of `other` from now on. */
void graph_op_join(struct graph_op *op, const struct graph_op *other);

/* Sorts inserted ops into their positions and removes dead ones. */
bool graph_settle(struct graph *graph);

#endif
