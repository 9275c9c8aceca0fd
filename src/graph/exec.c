/* SPDX-License-Identifier: Apache-2.0 */
/* Execution on the host: addresses are computed on the stack, kernels do the work. */
#include "graph/exec.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/parallel.h"

#include <stdlib.h>

static void *resolve(const struct graph_location *where, const struct graph_buffers *buffers)
{
    char *base = NULL;
    switch (where->buffer) {
    case GRAPH_BUFFER_INPUT:
        base = buffers->inputs[where->index];
        break;
    case GRAPH_BUFFER_OUTPUT:
        base = buffers->outputs[where->index];
        break;
    case GRAPH_BUFFER_TEMP:
        base = buffers->temp;
        break;
    case GRAPH_BUFFER_PERSISTENT:
        base = buffers->persistent;
        break;
    case GRAPH_BUFFER_CONSTANT:
        base = (char *)(uintptr_t)where->data;
        break; /* inputs only: never written */
    }
    return base + where->offset;
}

struct running {
    const struct graph_step *step;
    struct kern_call call;
    char *worker_scratch;
};

static void run_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct running *running = context;
    struct kern_call call = running->call;
    _Alignas(64) char scratch[GRAPH_STACK_SCRATCH_BYTES];
    call.worker_scratch = scratch;
    if (running->worker_scratch)
        call.worker_scratch = running->worker_scratch + worker * running->step->worker_scratch_stride;
    running->step->u.host.row->run(&call, begin, end);
}

static void run_step(const struct graph_step *step, const struct graph_buffers *buffers)
{
    void *data[KERN_TENSORS_MAX];
    const struct kern_work *work = &step->u.host.work;
    struct running running = { step, { &step->op, data, NULL, NULL }, NULL };
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++)
        data[t] = resolve(&step->where[t], buffers);
    if (step->scratch_bytes)
        running.call.scratch = (char *)buffers->temp + step->scratch_offset;
    if (step->worker_scratch_stride)
        running.worker_scratch = (char *)buffers->temp + step->worker_scratch_offset;
    kern_pack_first(step->u.host.row, work, &running.call, data);
    base_parallel_blocks(work->units, work->grain, step->ranges, work->calls, run_range, &running);
}

void graph_plan_run(const struct graph_plan *plan, const struct graph_buffers *buffers,
                    const struct graph_tracer *tracer)
{
    uint64_t *times = tracer ? malloc((plan->step_count + UINT64_C(1)) * sizeof(*times)) : NULL;
    if (times)
        times[0] = base_now_ns();
    for (uint32_t i = 0; i < plan->step_count; i++) {
        run_step(&plan->steps[i], buffers);
        if (times)
            times[i + 1] = base_now_ns();
    }
    if (times)
        tracer->run(tracer->context, plan, times);
    free(times);
}

static void run_init_step(const struct graph_plan *plan, const struct graph_init_step *init,
                          const struct graph_buffers *buffers)
{
    const struct graph_step *step = &plan->steps[init->step];
    const void *from = resolve(&init->source, buffers);
    char *to = (char *)buffers->persistent + init->destination;
    if (init->pack)
        step->u.host.row->pack(&step->op, from, to);
    else
        base_parallel_copy(to, from, init->size_bytes);
}

/* `scratch` has a pointer for each value of a transform. */
static bool derive(const struct graph_init_derivation *d, const struct graph_buffers *buffers, void **scratch)
{
    const struct graph_derivation *make = &d->make;
    for (uint32_t i = 0; i < make->input_count + make->output_count; i++)
        scratch[i] = resolve(&d->where[i], buffers);
    for (uint32_t i = 0; i < make->output_count; i++)
        memset(scratch[make->input_count + i], 0, d->bytes[i]);
    return make->run(make->context, (const void *const *)scratch, scratch + make->input_count);
}

static void *acquire_scratch(const struct graph_plan *plan)
{
    size_t most = 1;
    for (uint32_t i = 0; i < plan->derivation_count; i++)
        most = BASE_MAX(most, (size_t)plan->derivations[i].make.input_count + plan->derivations[i].make.output_count);
    return malloc(most * sizeof(void *));
}

HRESULT graph_plan_initialize(const struct graph_plan *plan, void *const *owned_inputs, void *persistent)
{
    struct graph_buffers buffers = { .inputs = owned_inputs, .persistent = persistent };
    void *scratch = plan->derivation_count ? acquire_scratch(plan) : NULL;
    uint32_t next = 0;
    buffers.temp = plan->init_temp_bytes ? base_aligned_acquire(256, plan->init_temp_bytes) : NULL;
    bool ok = (scratch || !plan->derivation_count) && (buffers.temp || !plan->init_temp_bytes);
    for (uint32_t turn = 0; ok && turn <= plan->derivation_count; turn++) {
        ok = !turn || derive(&plan->derivations[turn - 1], &buffers, scratch);
        for (; ok && next < plan->init_step_count && plan->init_steps[next].turn == turn; next++)
            run_init_step(plan, &plan->init_steps[next], &buffers);
    }
    base_aligned_release(buffers.temp);
    free(scratch);
    return ok ? S_OK : E_OUTOFMEMORY;
}
