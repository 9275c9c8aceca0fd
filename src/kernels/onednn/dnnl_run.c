/* SPDX-License-Identifier: Apache-2.0 */
/* Execution and packing of what dnnl.c has built. */
#include "kernels/onednn/dnnl_op.h"

#include "base/hash.h"
#include "base/parallel.h"
#include "kernels/gemm/gemm.h"

#include <stdlib.h>

void kern_dnnl_plan(const struct kern_op *op, const void *opaque, uint32_t threads, struct kern_work *out)
{
    const struct dnnl_state *state = opaque;
    *out = (struct kern_work){ .units = 1, .grain = 1, .scratch_bytes = state->scratch_bytes };
}

struct copy_job {
    const struct dnnl_copy *copy;
    const void *from;
    float *to;
};

#define COPY_CHUNK 4096

static uint32_t copy_chunks(const struct kern_view *view)
{
    return (uint32_t)((view->sizes[view->rank - 1] + (uint64_t)COPY_CHUNK - 1) / COPY_CHUNK);
}

static void copy_parts(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct copy_job *job = context;
    const struct kern_view *view = &job->copy->view;
    uint32_t last = view->rank - 1, length = view->sizes[last], chunks = copy_chunks(view);
    for (size_t part = begin; part < end; part++) {
        uint32_t at[KERN_RANK_MAX], first = (uint32_t)(part % chunks) * COPY_CHUNK;
        dense_row_at(view, part / chunks, at);
        int64_t index = job->copy->start + dense_offset(view, at, last) + first * view->strides[last];
        dense_load_row(job->from, index, view->strides[last], view->type, BASE_MIN(length - first, COPY_CHUNK),
                       job->to + part / chunks * length + first);
    }
}

static void copy_run(const struct dnnl_copy *copy, const void *from, void *to)
{
    struct copy_job job = { copy, from, to };
    uint64_t grain = dense_grain(BASE_MIN(copy->view.sizes[copy->view.rank - 1], COPY_CHUNK));
    base_parallel_for(dense_rows(&copy->view) * copy_chunks(&copy->view), grain, copy_parts, &job);
}

struct finish_job {
    struct kern_call call;
    const struct dnnl_state *state;
    const float *source;
};

#define FINISH_CHUNK 512

static void finish_chunk(const struct finish_job *job, void *scratch, uint64_t row, uint32_t first)
{
    const struct kern_view *source = &job->state->finish_view;
    uint32_t last = source->rank - 1, at[KERN_RANK_MAX];
    uint32_t count = BASE_MIN(source->sizes[last] - first, FINISH_CHUNK);
    float values[FINISH_CHUNK];
    dense_row_at(source, row, at);
    at[last] = first;
    dense_load_row(job->source, dense_offset(source, at, source->rank), source->strides[last],
                   DML_TENSOR_DATA_TYPE_FLOAT32, count, values);
    if (job->state->finish_c)
        gemm_add_c(&job->call, at, count, false, values);
    dense_finish_f32(&job->call, scratch, at, count, values);
}

/* One part per thread of the plan, because each needs its scratch. */
static void finish_parts(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct finish_job *job = context;
    const struct dnnl_state *state = job->state;
    const struct kern_view *source = &state->finish_view;
    uint32_t chunks = (source->sizes[source->rank - 1] + FINISH_CHUNK - 1) / FINISH_CHUNK;
    uint64_t total = dense_rows(source) * chunks;
    for (size_t part = begin; part < end; part++) {
        char *scratch = NULL;
        if (state->finish_worker_bytes)
            scratch = (char *)job->call.scratch + state->finish_worker_offset + part * state->finish_worker_bytes;
        for (uint64_t i = total * part / state->threads; i < total * (part + 1) / state->threads; i++)
            finish_chunk(job, scratch, i / chunks, (uint32_t)(i % chunks) * FINISH_CHUNK);
    }
}

static void finish_run(const struct kern_call *call, const struct dnnl_state *state)
{
    struct kern_op op = state->finish_op;
    op.epilogue = state->finish_epilogue ? call->op->epilogue : NULL; /* the caller's program may have moved */
    struct finish_job job = { .call = *call, .state = state };
    job.call.op = &op;
    job.source = state->finish_scratch ? (const float *)((char *)call->scratch + state->finish_offset)
                                       : call->data[op.input_count];
    uint64_t grain = kern_view_elements(&state->finish_view) < 16384 ? state->threads : 1;
    base_parallel_for(state->threads, grain, finish_parts, &job);
}

static bool slot_bind(struct dnnl_slot *slot, const struct dnnl_state *state, const struct kern_call *call)
{
    for (uint32_t i = 0; i < state->buffer_count; i++) {
        const struct dnnl_buffer *buffer = &state->buffers[i];
        void *handle = buffer->scratch ? (char *)call->scratch + buffer->offset : call->data[buffer->tensor];
        if (handle == slot->handle[i])
            continue;
        if (!dnnl_safe_memory_set_data_handle(slot->memory[i], handle))
            return false;
        slot->handle[i] = handle;
    }
    return true;
}

static bool slot_execute(struct dnnl_slot *slot, const struct dnnl_state *state, const struct kern_call *call)
{
    if (!slot_bind(slot, state, call))
        return false;
    for (uint32_t i = 0; i < state->stage_count; i++) {
        const struct dnnl_stage *stage = &state->stages[i];
        dnnl_exec_arg_t args[DNNL_ARGS_MAX];
        for (uint32_t a = 0; a < stage->args.count; a++)
            args[a] = (dnnl_exec_arg_t){ stage->args.arg[a], slot->memory[stage->args.buffer[a]] };
        if (!dnnl_safe_primitive_execute(stage->primitive, slot->stream, (int)stage->args.count, args))
            return false;
    }
    return dnnl_safe_stream_wait(slot->stream);
}

/* More threads than slots: objects for this call alone. */
static bool execute_apart(const struct dnnl_state *state, const struct kern_call *call)
{
    struct dnnl_slot slot = { .stream = NULL };
    bool ok = dnnl_slot_init(&slot, state) && slot_execute(&slot, state, call);
    dnnl_slot_finish(&slot);
    return ok;
}

static bool execute(const struct dnnl_state *state, const struct kern_call *call)
{
    for (uint32_t i = 0; i < DNNL_SLOTS; i++) {
        struct dnnl_slot *slot = &state->slots[i];
        if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
            continue;
        bool ok = slot_execute(slot, state, call);
        atomic_flag_clear_explicit(&slot->busy, memory_order_release);
        return ok;
    }
    return execute_apart(state, call);
}

static void run_steps(const struct kern_call *call, const struct dnnl_state *state)
{
    for (uint32_t i = 0; i < state->copy_count; i++)
        copy_run(&state->copies[i], call->data[state->copies[i].tensor],
                 (char *)call->scratch + state->copies[i].offset);
    for (uint32_t i = 0; i < state->zero_count; i++)
        *(int32_t *)((char *)call->scratch + state->zeros[i].offset) =
            (int32_t)dense_load(call->data[state->zeros[i].tensor], 0, state->zeros[i].type);
    if (!execute(state, call))
        kern_fail(); /* whatever it was */
    else if (state->finishes)
        finish_run(call, state);
}

void kern_dnnl_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct dnnl_state *state = call->state;
    if (begin == end)
        return;
    /* The library starts the whole team of the calling thread wherever it did not count threads itself. */
    bool fewer = state->threads < base_parallel_threads();
    struct base_team before = { 0 };
    if (fewer)
        before = base_parallel_enter(state->threads);
    run_steps(call, state);
    if (fewer)
        base_parallel_leave(before);
}

/* ---- packing ---- */

bool kern_dnnl_pack_plan(const struct kern_op *op, const void *opaque, uint32_t *out_input, uint64_t *out_bytes)
{
    const struct dnnl_state *state = opaque;
    if (!state->packs)
        return false;
    *out_input = 1;
    *out_bytes = dnnl_memory_desc_get_size(&state->pack_to);
    return true;
}

static bool pack_reorder(const struct dnnl_state *state, const void *source, void *packed)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_engine_t on = dnnl_engine();
    bool ok = dnnl_safe_reorder_primitive_desc_create(&pd, &state->pack_from, on, &state->pack_to, on, NULL) &&
              dnnl_safe_primitive_create(&reorder, pd) &&
              dnnl_safe_memory_create(&from, &state->pack_from, on, (void *)source) &&
              dnnl_safe_memory_create(&to, &state->pack_to, on, packed) &&
              dnnl_safe_stream_create(&stream, on, dnnl_stream_default_flags);
    if (ok) {
        dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
        ok = dnnl_safe_primitive_execute(reorder, stream, 2, args) && dnnl_safe_stream_wait(stream);
    }
    dnnl_stream_destroy(stream);
    dnnl_memory_destroy(to);
    dnnl_memory_destroy(from);
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(pd);
    return ok;
}

static void pack(const struct dnnl_state *state, const void *source, void *packed)
{
    void *copy = NULL;
    if (state->pack_copies) {
        copy = malloc(kern_view_elements(&state->pack_copy.view) * sizeof(float));
        if (!copy) {
            kern_fail();
            return;
        }
        copy_run(&state->pack_copy, source, copy);
    }
    if (!pack_reorder(state, copy ? copy : source, packed))
        kern_fail();
    free(copy);
}

#define PACK_ALONE_BYTES 65536 /* up to here a team is not worth waking */

void kern_dnnl_pack(const struct kern_op *op, const void *opaque, const void *source, void *packed)
{
    const struct dnnl_state *state = opaque;
    bool few = dnnl_memory_desc_get_size(&state->pack_to) <= PACK_ALONE_BYTES;
    struct base_team before = base_parallel_enter(few ? 1 : base_parallel_grant(base_parallel_threads()));
    pack(state, source, packed);
    base_parallel_leave(before);
}

/* Descriptors come zeroed from the library: equal layouts have equal bytes. Others could only cost a second copy. */
uint64_t kern_dnnl_pack_layout(const struct kern_op *op, const void *opaque)
{
    const struct dnnl_state *state = opaque;
    struct {
        dnnl_memory_desc_t from, to;
        struct kern_view view;
        int64_t start;
        bool copies;
    } layout;
    memset(&layout, 0, sizeof(layout));
    layout.from = state->pack_from;
    layout.to = state->pack_to;
    layout.copies = state->pack_copies;
    if (state->pack_copies) {
        layout.view = state->pack_copy.view;
        layout.start = state->pack_copy.start;
    }
    return base_hash(&layout, sizeof(layout)).low;
}
