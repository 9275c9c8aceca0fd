/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph is compiled for, and with. */
#ifndef GRAPH_OPTIONS_H
#define GRAPH_OPTIONS_H

#include "base/base.h"

struct graph_backend;  /* backend.h */
struct graph_store;    /* plan/store.h */
struct kern_tuning;    /* tuning/tuning.h */
struct shader_choices; /* shaders/choices.h */

struct graph_options {
    uint32_t disabled_passes;     /* bit i = pass i of passes.def; from ANYDML_DISABLE_PASS="name,name" or "all" */
    uint32_t cpu;                 /* base_cpu_flags() */
    uint32_t shader_capabilities; /* enum shader_capability, of the adapter that is compiled for */
    uint32_t threads;
    const struct graph_backend *backend; /* the target */
    struct graph_store *store; /* of constants and packed weights; NULL: packed at initialisation, nothing is shared */
    const struct kern_tuning *tuning;     /* NULL: none */
    const struct shader_choices *choices; /* likewise, of SPIR-V adapters */
};
/* threads 0: the number of the process's threads. No store, no tuning. */
void graph_options_init(struct graph_options *options, const struct graph_backend *backend, uint32_t threads);

#endif
