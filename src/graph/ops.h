/* SPDX-License-Identifier: Apache-2.0 */
/* The graph compiler's intermediate representation, and its translation from a checked description to a plan.
 *
 *   graph_lower*  each DirectML operator becomes a few ops, without optimisation (lower_<family>.c)
 *   graph_passes  small rewrites, each switchable by name (pass_<name>.c)
 *   graph_plan    order, kernels, offsets in the temporary and the persistent buffer (plan.c)
 *
 * Passes and planner know the target only through struct graph_backend (backend.h).
 *
 * A value is a run of bytes with one position in memory; an operand is a view into a value. Several views of one value,
 * of different type and shape, are normal: therefore slices, concatenations, transposes and reinterpreting edges cost
 * nothing. */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include "base/arena.h"
#include "base/pages.h"
#include "graph/keep.h"
#include "kernels/core/kernel.h"
#include "schema/schema.h"

#define GRAPH_NONE UINT32_MAX

/* Worker scratch up to this size lives on the worker's stack, so that small operators need no temporary buffer. */
#define GRAPH_STACK_SCRATCH_BYTES 65536

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
 * copied with the transform. False: out of memory. */
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
    bool defers; /* large constants are computed when they are read: a keeper takes them one by one */
    struct graph_derivation *deferred; /* of constants only; `run` NULL: done */
    uint32_t deferred_count, deferred_capacity;
    uint32_t input_count, output_count; /* slots of the compiled operator */
    uint32_t flags;                     /* DML_EXECUTION_FLAGS */
    bool failed;                        /* a builder call ran out of memory; checked once at the end */
    uint32_t node;                      /* assigned to the ops that graph_op_add creates from now on */
    const char *origin;                 /* likewise */
    const char **node_names;            /* [node]: owned by the caller, for messages; NULL: unnamed */
    uint32_t named_nodes;
    graph_constant_done_fn *constant_done; /* NULL, or called when a node's constant is not read any more */
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

/* ---- constants (constant.c) -------------------------------------------------------------------------------------- */
#define GRAPH_CONSTANT_ALIGNMENT 16 /* alignment that kernels may assume */

/* Adds a constant: a copy of `data`, or a reference to `data` of the description's node, which must remain valid until
 * the graph is compiled. GRAPH_NONE and graph->failed if out of memory. */
uint32_t graph_constant_add(struct graph *graph, const void *data, uint64_t size_bytes);
uint32_t graph_constant_lend(struct graph *graph, uint32_t node, const void *data, uint64_t data_bytes,
                             uint64_t size_bytes);
/* Makes the value a constant with these bytes, base_pages_acquire(&graph->pages, its size), which the graph owns from
 * now on. */
void graph_constant_put(struct graph *graph, uint32_t value, void *taken);
/* A new dense constant of this type and shape, whose bytes must be written by the caller; NULL and graph->failed if out
 * of memory. */
void *graph_constant_new(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes,
                         struct graph_operand *out);
/* All its bytes, aligned, until it is released. NULL and graph->failed when memory is short. */
const void *graph_constant_data(struct graph *graph, uint32_t value);
/* The same without a copy: NULL when there would have to be one. */
const void *graph_constant_ready(const struct graph_value *constant);
/* Writes all its bytes. */
void graph_constant_copy(const struct graph_value *constant, void *to);
/* Computes it now if it is deferred. False and graph->failed when memory is short. */
bool graph_constant_derive(struct graph *graph, uint32_t value);
/* Drops the last use of the constant. */
void graph_constant_release(struct graph *graph, uint32_t value);

/* ---- views (view.c): pure functions on operands; no data moves --------------------------------------------------- */
bool graph_view_from_desc(const DML_BUFFER_TENSOR_DESC *desc, struct kern_view *out);
struct kern_view graph_view_broadcast(const struct kern_view *view, uint32_t rank,
                                      const uint32_t *sizes); /* size 1 -> n by stride 0, aligned right */
struct kern_view graph_view_permute(const struct kern_view *view, const uint32_t *order);
struct kern_view graph_view_slice(const struct kern_view *view, const uint32_t *start, const uint32_t *sizes,
                                  const int32_t *steps);
/* false when the dimensions cannot be regrouped without moving data. */
bool graph_view_reshape(const struct kern_view *view, uint32_t rank, const uint32_t *sizes, struct kern_view *out);
bool graph_view_equal(const struct kern_view *a, const struct kern_view *b);
/* Bytes from the value's start to the last element's end. */
uint64_t graph_view_span_bytes(const struct kern_view *view);
/* The lowest and highest element that the view touches; false when that does not fit 64 bits. */
bool graph_view_bounds(const struct kern_view *view, int64_t *out_low, int64_t *out_high);
/* Byte offset of element 0,...,0 from the value's start. */
int64_t graph_view_byte_offset(const struct kern_view *view);
/* No two indices address the same element (may return false for unusual strides of which this is true). */
bool graph_view_injective(const struct kern_view *view);
/* `from` and `to` show the same elements in two values (the sides of a MOVE, sizes equal); `view` refers to from's
 * value: *out shows the same elements in to's value. false if no view can, or if `view` covers elements outside of
 * `from`.
 */
bool graph_view_through(const struct kern_view *from, const struct kern_view *to, const struct kern_view *view,
                        struct kern_view *out);
/* Two views of one value surely share no bytes. */
bool graph_views_disjoint(const struct kern_view *a, const struct kern_view *b);
/* Elements of both views, possibly of different types, have the same width and the same positions. */
bool graph_views_same_places(const struct kern_view *a, const struct kern_view *b);

/* ---- lowering (lower.c, lower_<family>.c, lowerings.def) --------------------------------------------------------- */
struct graph_lowering {
    struct graph *graph;
    const struct schema_desc *desc;      /* desc->desc.Desc is the operator's C struct */
    const struct graph_operand *inputs;  /* per input slot; value GRAPH_NONE = absent optional */
    const struct graph_operand *outputs; /* per output slot; likewise */
    uint32_t node;
    char *error; /* at least 256 bytes: the unsupported reason, for the log */
};
typedef HRESULT graph_lower_fn(struct graph_lowering *lowering);
/* Appends the ops of one operator; DXGI_ERROR_UNSUPPORTED (with lowering->error) if there is no lowering. */
HRESULT graph_lower(struct graph_lowering *lowering);

/* Whole graphs: one operator, or a DML_GRAPH_DESC whose nodes were already checked. nodes[i] = copy of node i's
 * description, or NULL for a constant node (then the DML_CONSTANT_DATA_GRAPH_NODE_DESC of the desc is used). */
HRESULT graph_from_operator(struct graph *graph, const struct schema_desc *desc, uint32_t flags, char *error);
HRESULT graph_from_desc(struct graph *graph, const DML_GRAPH_DESC *desc, const struct schema_desc *const *nodes,
                        uint32_t flags, char *error);

/* ---- passes (passes.c, pass_<name>.c, passes.def) ---------------------------------------------------------------- */
struct graph_backend; /* backend.h */
struct graph_store;
struct graph_blob;
struct graph_plan;
/* A failure ends the plan with that result. */
typedef HRESULT graph_chosen_fn(void *context, const struct graph_plan *plan);
struct graph_options {
    uint32_t disabled_passes;     /* bit i = pass i of passes.def; from ANYDML_DISABLE_PASS="name,name" or "all" */
    uint32_t cpu;                 /* base_cpu_flags() */
    uint32_t shader_capabilities; /* enum shader_capability, of the adapter that is compiled for */
    uint32_t threads;
    const struct graph_backend *backend; /* the target */
    struct graph_store *store; /* of constants and packed weights; NULL: packed at initialisation, nothing is shared */
    uint64_t constant_bytes_max; /* that the device can hold; 0: any */
    /* NULL, or called when all kernels are chosen and no constant has been kept or released yet. */
    graph_chosen_fn *chosen;
    graph_keep_fn *keep; /* NULL, or takes all constants but small ones instead of the store, which stays unused */
    void *context;       /* of both */
    const struct kern_tuning *tuning;     /* NULL: none (tuning.h) */
    const struct shader_choices *choices; /* likewise, of SPIR-V adapters (shaders/choices.h) */
};
/* threads 0: the number of the process's threads. No store, no tuning. */
void graph_options_init(struct graph_options *options, const struct graph_backend *backend, uint32_t threads);
HRESULT graph_run_passes(struct graph *graph, const struct graph_options *options);

/* ---- printing (print.c): stable text for people and golden tests. Writes to a growing string; caller frees ------- */
char *graph_print(const struct graph *graph);

/* ---- plan (plan.c) and host execution (exec.c) ------------------------------------------------------------------- */
enum graph_buffer {
    GRAPH_BUFFER_INPUT,
    GRAPH_BUFFER_OUTPUT,
    GRAPH_BUFFER_TEMP,
    GRAPH_BUFFER_PERSISTENT,
    GRAPH_BUFFER_CONSTANT
};

struct graph_location {
    enum graph_buffer buffer;
    uint32_t index;                /* input or output slot */
    uint64_t offset;               /* bytes */
    const void *data;              /* CONSTANT: all of it, */
    uint64_t bytes;                /* their number; */
    const struct graph_kept *kept; /* or, with `data` NULL, where the keeper has it */
};

struct shader_work; /* shaders/shader.h */

struct graph_step {
    struct kern_op op;
    const char *kernel; /* its name, static */
    /* Execution on the host: a kernel of kernels.def; */
    const struct kern_row *row;
    struct kern_work work;
    /* on SPIR-V adapters: dispatches of compute pipelines in order. */
    const struct shader_work *shaders;
    struct graph_location where[KERN_TENSORS_MAX]; /* of element 0,...,0 of each tensor */
    uint64_t scratch_bytes, scratch_offset;        /* for all of the step; in the temporary buffer */
    uint32_t
        chain;     /* steps from this one on that run without barriers between them; 0: none, or it is within a chain */
    uint32_t turn; /* number in a chain */
    bool zeroes;   /* memory that it clears first because chains require zeros: */
    uint64_t zeroed_bytes,
        zeroed_offset;              /* of the chain that begins here; in the plan's part of the temporary buffer */
    uint64_t worker_scratch_stride; /* for each of its ranges; 0: on the worker's stack */
    uint64_t worker_scratch_offset;
    const char *origin;
    const char *names; /* of its nodes: "\"conv1\" + \"relu1\""; "": unnamed */
    uint32_t node;
    uint32_t threads; /* the maximum that it can use */
    uint32_t ranges;  /* into which its units are split: each has worker scratch */
};

/* Work of the initializer: copy or pack one value into the persistent buffer. */
struct graph_init_step {
    struct graph_location source; /* INPUT = the initializer's input slot, CONSTANT, or the result of a transform */
    uint64_t destination;         /* offset in the persistent buffer */
    uint64_t size_bytes;          /* of the source, for copies */
    uint32_t step;                /* pack for this step */
    uint32_t turn;                /* runs after this many transforms, and before the next */
    bool pack;
};

/* The transforms: their results are in the persistent buffer, or temporarily in memory of the initializer. */
struct graph_init_derivation {
    struct graph_derivation make; /* its context, owned by the plan */
    struct graph_location *where; /* of inputs and outputs: TEMP = of that memory */
    uint64_t *bytes;              /* [output] */
};

struct graph_plan {
    struct base_arena arena; /* small constants and names live here */
    const struct graph_backend *backend;
    struct graph_store *store; /* must outlive the plan; NULL: nothing is shared */
    struct graph_blob **blobs; /* blobs that it holds from there */
    uint32_t blob_count;
    struct graph_step *steps;
    uint32_t step_count;
    struct graph_init_step *init_steps;
    uint32_t init_step_count;
    struct graph_init_derivation *derivations;
    uint32_t derivation_count;
    uint64_t init_temp_bytes; /* for transforms; allocated from the system while they run */
    uint32_t input_count, output_count;
    uint32_t threads;                      /* the maximum that a run can use */
    uint64_t work;                         /* bytes moved plus operations of a run */
    uint64_t temp_bytes, persistent_bytes; /* multiples of the backend's alignment */
    uint64_t temp_lower_bound;             /* maximum bytes of temporaries in use at the same time */
    uint64_t zeroed_bytes, zeroed_offset;  /* a part of the temporary buffer that chains require to be zero */
    const struct plan_block *blocks;       /* of the temporary buffer (plan.h) */
    uint32_t block_count;
    uint64_t constants_ns; /* that copying and packing constants took, for logs */
};

/* Releases the graph's constants as soon as they are in the plan or the store; the graph can only be finished then.
 * DXGI_ERROR_UNSUPPORTED with `error` filled if the backend has no kernel for an op. */
HRESULT graph_plan_create(struct graph *graph, const struct graph_options *options, struct graph_plan **out,
                          char *error);
void graph_plan_destroy(struct graph_plan *plan);
/* For constants that are stored elsewhere: such a plan can be described but not executed on the host. */
void graph_plan_release_constants(struct graph_plan *plan);
char *graph_plan_print(const struct graph_plan *plan);

/* ---- outputs bound to the bytes of inputs (alias.c) -------------------------------------------------------------- */
struct graph_aliases;

/* The inputs that the plan's steps read and the outputs that they write; does not need the plan afterwards. */
HRESULT graph_aliases_create(const struct graph_plan *plan, struct graph_aliases **out);
void graph_aliases_destroy(struct graph_aliases *aliases);
/* Whether the output may have exactly the memory of the input: each element of the input is read before it is
 * overwritten. Holds for any number of such pairs at once, as long as outputs do not overlap. */
bool graph_aliases_allow(const struct graph_aliases *aliases, uint32_t input, uint32_t output);
/* The number of leading bytes of the input that a run may read. */
uint64_t graph_aliases_bytes_read(const struct graph_aliases *aliases, uint32_t input);
/* Likewise, bytes of the output that it may write. */
uint64_t graph_aliases_bytes_written(const struct graph_aliases *aliases, uint32_t output);

/* Base addresses of the bound buffers. Arrays are indexed by slot; entries not used may be NULL. */
struct graph_buffers {
    void *const *inputs;
    void *const *outputs;
    void *temp;
    void *persistent;
};

/* What an op computes and moves (cost.c). Matrix products are exact; for other kinds a few operations per element are
 * counted.
 */
struct graph_cost {
    uint64_t flops;
    uint64_t read, written; /* bytes; broadcast elements count once */
};
void graph_op_cost(const struct kern_op *op, struct graph_cost *out);
/* The number of `threads` threads that are worth using: all, or one. */
uint32_t graph_op_threads(const struct kern_op *op, uint32_t threads);

/* Called after a run when tracing: step i ran from times_ns[i] to times_ns[i + 1]. */
struct graph_tracer {
    void (*run)(void *context, const struct graph_plan *plan, const uint64_t *times_ns);
    void *context;
};

/* Runs on the calling thread's team (base/parallel.h). No allocation, and no lock unless there is a tracer, which may
 * be NULL. */
void graph_plan_run(const struct graph_plan *plan, const struct graph_buffers *buffers,
                    const struct graph_tracer *tracer);
/* E_OUTOFMEMORY: the contents of `persistent` are then undefined. */
HRESULT graph_plan_initialize(const struct graph_plan *plan, void *const *owned_inputs, void *persistent);
/* memcpy by the calling thread's team. */
void graph_copy_bytes(void *to, const void *from, uint64_t bytes);

#endif
