/* SPDX-License-Identifier: Apache-2.0 */
/* Execution on the host: pointers are made on the stack, the rows do the work. */
#include "graph/ops.h"

#include "base/clock.h"
#include "base/parallel.h"

#include <stdlib.h>

#define COPY_GRAIN (UINT64_C(1) << 20)

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
    running->step->row->run(&call, begin, end);
}

/* Libraries must have the threads that they were prepared for. Where the system does not create them any more, the step
 * is prepared again for one. False: memory is short, or weights lie packed for a team. */
static bool run_alone(const struct graph_step *step, struct kern_call *call)
{
    const struct kern_row *row = step->row;
    struct kern_work work = { 0 };
    void *state = NULL, *scratch = NULL;
    struct base_team before = base_parallel_enter(1);
    bool done = row->create(&step->op, 1, &state);
    if (done && step->op.packed_input)
        done = !row->pack_layout || row->pack_layout(&step->op, state) == row->pack_layout(&step->op, step->state);
    if (done) {
        row->plan(&step->op, state, 1, &work);
        uint64_t shared = base_align_up(work.scratch_bytes, 64);
        scratch = aligned_alloc(64, base_align_up(shared + work.worker_scratch_bytes + 1, 64));
        call->worker_scratch = (char *)scratch + shared;
        done = scratch != NULL;
    }
    if (done) {
        call->state = state;
        call->scratch = scratch;
        row->run(call, 0, work.units);
        done = !kern_take_failure();
    }
    free(scratch);
    kern_release(row, state);
    base_parallel_leave(before);
    return done;
}

/* False: memory is short. */
static bool run_step(const struct graph_step *step, const struct graph_buffers *buffers)
{
    void *data[KERN_TENSORS_MAX];
    struct running running = { step, { &step->op, data, step->state, NULL, NULL }, NULL };
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++)
        data[t] = resolve(&step->where[t], buffers);
    if (step->scratch_bytes)
        running.call.scratch = (char *)buffers->temp + step->scratch_offset;
    if (step->state && base_parallel_grant(step->threads) < step->threads)
        return run_alone(step, &running.call);
    if (step->worker_scratch_stride)
        running.worker_scratch = (char *)buffers->temp + step->worker_scratch_offset;
    kern_pack_first(step->row, &step->work, &running.call, data);
    base_parallel_blocks(step->work.units, step->work.grain, step->ranges, step->work.calls, run_range, &running);
    return !step->state || !kern_take_failure();
}

HRESULT graph_plan_run(const struct graph_plan *plan, const struct graph_buffers *buffers,
                       const struct graph_tracer *tracer)
{
    bool done = true;
    kern_take_failure(); /* of others on this thread */
    uint64_t *times = tracer ? malloc((plan->step_count + UINT64_C(1)) * sizeof(*times)) : NULL;
    if (times)
        times[0] = base_now_ns();
    const bool by_openmp = base_parallel_by_openmp(plan->library_threads);
    for (uint32_t i = 0; done && i < plan->step_count; i++) {
        done = run_step(&plan->steps[i], buffers);
        if (times)
            times[i + 1] = base_now_ns();
    }
    base_parallel_by_openmp(by_openmp);
    if (times && done)
        tracer->run(tracer->context, plan, times);
    free(times);
    return done ? S_OK : E_OUTOFMEMORY;
}

struct copying {
    char *to;
    const char *from;
};

static void copy_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct copying *copying = context;
    (void)worker;
    memcpy(copying->to + begin, copying->from + begin, end - begin);
}

void graph_copy_bytes(void *to, const void *from, uint64_t bytes)
{
    struct copying copying = { to, from };
    base_parallel_for(bytes, COPY_GRAIN, copy_range, &copying);
}

/* False: memory is short. */
static bool run_init_step(const struct graph_plan *plan, const struct graph_init_step *init,
                          const struct graph_buffers *buffers)
{
    const struct graph_step *step = &plan->steps[init->step];
    const void *from = resolve(&init->source, buffers);
    char *to = (char *)buffers->persistent + init->destination;
    if (init->pack)
        step->row->pack(&step->op, step->state, from, to);
    else
        graph_copy_bytes(to, from, init->size_bytes);
    return !init->pack || !kern_take_failure();
}

/* `scratch` has a place for each value of a derivation. */
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
    kern_take_failure(); /* of others on this thread */
    buffers.temp = plan->init_temp_bytes ? aligned_alloc(256, plan->init_temp_bytes) : NULL;
    bool ok = (scratch || !plan->derivation_count) && (buffers.temp || !plan->init_temp_bytes);
    for (uint32_t turn = 0; ok && turn <= plan->derivation_count; turn++) {
        ok = !turn || derive(&plan->derivations[turn - 1], &buffers, scratch);
        for (; ok && next < plan->init_step_count && plan->init_steps[next].turn == turn; next++)
            ok = run_init_step(plan, &plan->init_steps[next], &buffers);
    }
    free(buffers.temp);
    free(scratch);
    return ok ? S_OK : E_OUTOFMEMORY;
}
