/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph is compiled for, and with. */
#ifndef GRAPH_OPTIONS_H
#define GRAPH_OPTIONS_H

#include "graph/keep.h"

struct graph_backend;  /* backend.h */
struct graph_plan;     /* plan/plan.h */
struct graph_store;    /* plan/store.h */
struct kern_tuning;    /* tuning/tuning.h */
struct shader_choices; /* shaders/choices.h */

/* A failure ends the plan with that result. */
typedef HRESULT graph_chosen_fn(void *context, const struct graph_plan *plan);

struct graph_options {
    uint64_t disabled_passes;     /* bit i = pass i of passes.def; from ANYDML_DISABLE_PASS="name,name" or "all" */
    uint32_t cpu;                 /* base_cpu_flags() */
    uint32_t shader_capabilities; /* enum shader_capability, of the adapter that is compiled for */
    uint32_t multiprocessors;     /* of that adapter; 0: not known */
    bool specialized; /* likewise: small ops have pipelines of their own, which are faster but take time to create */
    uint32_t threads;
    const struct graph_backend *backend; /* the target */
    struct graph_store *store; /* of constants and packed weights; NULL: packed at initialisation, nothing is shared */
    uint64_t constant_bytes_max; /* that the device can hold; 0: any */
    /* NULL, or called when all kernels are chosen and no constant has been kept or released yet. */
    graph_chosen_fn *chosen;
    graph_keep_fn *keep; /* NULL, or takes all constants but small ones instead of the store, which stays unused */
    void *context;       /* of both */
    const struct kern_tuning *tuning;     /* NULL: none */
    const struct shader_choices *choices; /* likewise, of SPIR-V adapters */
};
/* threads 0: the number of the process's threads. No store, no tuning. */
void graph_options_init(struct graph_options *options, const struct graph_backend *backend, uint32_t threads);

#endif
