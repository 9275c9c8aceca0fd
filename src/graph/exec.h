/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of plans on the host. */
#ifndef GRAPH_EXEC_H
#define GRAPH_EXEC_H

#include "graph/plan/plan.h"

/* Base addresses of the bound buffers. Arrays are indexed by slot; entries not used may be NULL. */
struct graph_buffers {
    void *const *inputs;
    void *const *outputs;
    void *temp;
    void *persistent;
};

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

#endif
