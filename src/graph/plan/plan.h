/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: steps with their kernels, and where their values are in memory. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "graph/ir/ir.h"
#include "graph/options.h"

/* Worker scratch up to this size lives on the worker's stack, so that small operators need no temporary buffer. */
#define GRAPH_STACK_SCRATCH_BYTES 65536

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
struct graph_blob;  /* store.h */
struct plan_block;  /* planner.h */

enum graph_target {
    GRAPH_TARGET_NONE,
    GRAPH_TARGET_HOST,  /* backend_host.c, exec.c */
    GRAPH_TARGET_SPIRV, /* backend_spirv.c; dml/spirv_program.c */
};

struct graph_step {
    struct kern_op op;
    const char *kernel; /* its name, static */
    /* What executes it; only the backend and what runs its plans look inside. */
    enum graph_target target;
    union {
        struct {
            const struct kern_row *row; /* a kernel of kernels.def */
            struct kern_work work;
        } host;
        struct {
            const struct shader_work *work; /* dispatches of compute pipelines in order */
        } spirv;
    } u;
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
    const struct plan_block *blocks;       /* of the temporary buffer */
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

#endif
