#include "kernels/dnnl_op.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;

static void engine_create(void)
{
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        engine = NULL;
}

dnnl_engine_t dnnl_engine(void)
{
    pthread_once(&engine_once, engine_create);
    return engine;
}

/* ---- building -------------------------------------------------------------------------------------------------------
 */

struct dnnl_state *dnnl_state_create(const struct kern_op *op, uint32_t threads)
{
    struct dnnl_state *state = calloc(1, sizeof(*state));
    if (!state)
        return NULL;
    state->threads = threads ? threads : 1;
    state->probe = op->flags & KERN_FLAG_PROBE;
    return state;
}

static void slot_finish(struct dnnl_slot *slot)
{
    for (uint32_t i = 0; i < DNNL_BUFFERS_MAX; i++) {
        if (slot->memory[i])
            dnnl_memory_destroy(slot->memory[i]);
    }
    if (slot->stream)
        dnnl_stream_destroy(slot->stream);
}

static bool slot_init(struct dnnl_slot *slot, const struct dnnl_state *state)
{
    atomic_flag_clear(&slot->busy);
    if (dnnl_stream_create(&slot->stream, dnnl_engine(), dnnl_stream_default_flags) != dnnl_success)
        return false;
    for (uint32_t i = 0; i < state->buffer_count; i++) {
        if (dnnl_memory_create(&slot->memory[i], &state->buffers[i].md, dnnl_engine(), DNNL_MEMORY_NONE) !=
            dnnl_success)
            return false;
    }
    return true;
}

bool dnnl_state_finish(struct dnnl_state *state)
{
    if (state->probe)
        return true;
    state->slots = calloc(DNNL_SLOTS, sizeof(*state->slots));
    if (!state->slots)
        return false;
    for (uint32_t i = 0; i < DNNL_SLOTS; i++) {
        if (!slot_init(&state->slots[i], state))
            return false;
    }
    return true;
}

void kern_dnnl_destroy(void *opaque)
{
    struct dnnl_state *state = opaque;
    if (!state)
        return;
    for (uint32_t i = 0; state->slots && i < DNNL_SLOTS; i++)
        slot_finish(&state->slots[i]);
    for (uint32_t i = 0; i < state->stage_count; i++)
        dnnl_primitive_destroy(state->stages[i].primitive);
    free(state->slots);
    free(state);
}

static uint32_t buffer_add(struct dnnl_state *state, const dnnl_memory_desc_t *md)
{
    if (state->buffer_count == DNNL_BUFFERS_MAX)
        return DNNL_BUFFERS_MAX;
    state->buffers[state->buffer_count] = (struct dnnl_buffer){ .md = *md };
    return state->buffer_count++;
}

static uint64_t scratch_take(struct dnnl_state *state, uint64_t bytes)
{
    uint64_t offset = state->scratch_bytes;
    state->scratch_bytes += base_align_up(bytes, 64);
    return offset;
}

uint32_t dnnl_buffer_tensor(struct dnnl_state *state, const dnnl_memory_desc_t *md, uint32_t tensor)
{
    uint32_t number = buffer_add(state, md);
    if (number < DNNL_BUFFERS_MAX)
        state->buffers[number].tensor = tensor;
    return number;
}

uint32_t dnnl_buffer_scratch(struct dnnl_state *state, const dnnl_memory_desc_t *md)
{
    uint32_t number = buffer_add(state, md);
    if (number < DNNL_BUFFERS_MAX) {
        state->buffers[number].scratch = true;
        state->buffers[number].offset = scratch_take(state, dnnl_memory_desc_get_size(md));
    }
    return number;
}

bool dnnl_attr_create(dnnl_primitive_attr_t *out)
{
    return dnnl_primitive_attr_create(out) == dnnl_success &&
           dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user) == dnnl_success;
}

const dnnl_memory_desc_t *dnnl_query_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

bool dnnl_is_reference(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name ||
           strstr(name, "ref") != NULL;
}

bool dnnl_stage_add(struct dnnl_state *state, const_dnnl_primitive_desc_t pd, uint32_t count, const int *args,
                    const uint32_t *buffers)
{
    if (state->stage_count == DNNL_STAGES_MAX || count + 1 > DNNL_ARGS_MAX)
        return false;
    struct dnnl_stage *stage = &state->stages[state->stage_count];
    *stage = (struct dnnl_stage){ .count = count };
    memcpy(stage->args, args, count * sizeof(*args));
    memcpy(stage->buffers, buffers, count * sizeof(*buffers));
    const dnnl_memory_desc_t *pad = dnnl_query_md(pd, dnnl_query_scratchpad_md);
    if (pad && dnnl_memory_desc_get_size(pad)) {
        stage->args[stage->count] = DNNL_ARG_SCRATCHPAD;
        stage->buffers[stage->count++] = dnnl_buffer_scratch(state, pad);
    }
    for (uint32_t i = 0; i < stage->count; i++) {
        if (stage->buffers[i] >= DNNL_BUFFERS_MAX)
            return false;
    }
    if (!state->probe && dnnl_primitive_create(&stage->primitive, pd) != dnnl_success)
        return false;
    state->stage_count++;
    return true;
}

bool dnnl_stage_reorder(struct dnnl_state *state, uint32_t from, uint32_t to)
{
    if (from >= DNNL_BUFFERS_MAX || to >= DNNL_BUFFERS_MAX)
        return false;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    bool ok = dnnl_attr_create(&attr) &&
              dnnl_reorder_primitive_desc_create(&pd, &state->buffers[from].md, dnnl_engine(), &state->buffers[to].md,
                                                 dnnl_engine(), attr) == dnnl_success;
    if (ok)
        ok = dnnl_stage_add(state, pd, 2, (int[]){ DNNL_ARG_FROM, DNNL_ARG_TO }, (uint32_t[]){ from, to });
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return ok;
}

uint32_t dnnl_stage_reorder_in(struct dnnl_state *state, uint32_t from, const dnnl_memory_desc_t *wanted)
{
    if (from >= DNNL_BUFFERS_MAX || dnnl_memory_desc_equal(&state->buffers[from].md, wanted))
        return from;
    uint32_t to = dnnl_buffer_scratch(state, wanted);
    return dnnl_stage_reorder(state, from, to) ? to : DNNL_BUFFERS_MAX;
}

bool dnnl_pack_set(struct dnnl_state *state, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to)
{
    dnnl_primitive_desc_t pd = NULL;
    state->packs = true;
    state->pack_from = *from;
    state->pack_to = *to;
    /* Winograd's layout, for one, is made from dense weights only. */
    bool ok = dnnl_reorder_primitive_desc_create(&pd, from, dnnl_engine(), to, dnnl_engine(), NULL) == dnnl_success;
    dnnl_primitive_desc_destroy(pd);
    return ok;
}

dnnl_data_type_t dnnl_view_type(const struct kern_view *view)
{
    switch ((uint32_t)view->type) {
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        return dnnl_bf16;
    case DML_TENSOR_DATA_TYPE_UINT8:
        return dnnl_u8;
    case DML_TENSOR_DATA_TYPE_INT8:
        return dnnl_s8;
    case DML_TENSOR_DATA_TYPE_INT32:
        return dnnl_s32;
    default:
        return dnnl_f32;
    }
}

bool dnnl_view_direct(const struct kern_view *view, bool half)
{
    return (view->type == DML_TENSOR_DATA_TYPE_FLOAT32 || (half && view->type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)) &&
           dnnl_view_lies(view);
}

bool dnnl_view_lies(const struct kern_view *view)
{
    uint32_t order[KERN_RANK_MAX];
    uint64_t span = 1;
    dense_memory_order(view, order);
    for (uint32_t d = view->rank; d-- > 0;) {
        if (view->sizes[order[d]] == 1)
            continue;
        if (view->strides[order[d]] < (int64_t)span) /* negative, repeated or overlapping */
            return false;
        span = (uint64_t)view->strides[order[d]] * view->sizes[order[d]];
    }
    return true;
}

void dnnl_view_densify(struct kern_view *view)
{
    uint32_t order[KERN_RANK_MAX];
    int64_t stride = 1;
    dense_memory_order(view, order);
    for (uint32_t d = view->rank; d-- > 0;) {
        view->strides[order[d]] = stride;
        stride *= view->sizes[order[d]];
    }
    view->type = DML_TENSOR_DATA_TYPE_FLOAT32;
    view->offset = 0;
}

/* The copy is dense in the view's own order of memory, so dimensions that lie together are taken as one. */
static struct dnnl_copy copy_make(uint32_t tensor, const struct kern_view *view, int64_t start)
{
    uint32_t order[KERN_RANK_MAX];
    dense_memory_order(view, order);
    struct dnnl_copy copy = { .tensor = tensor, .view = dense_permute(view, order), .start = start };
    for (uint32_t d = view->rank - 1; d-- > 0;) {
        if (dense_view_merges(&copy.view, d))
            dense_view_merge(&copy.view, d);
    }
    return copy;
}

void dnnl_pack_copy_set(struct dnnl_state *state, uint32_t tensor, const struct kern_view *view, int64_t start)
{
    state->pack_copy = copy_make(tensor, view, start);
}

uint64_t dnnl_copy_add(struct dnnl_state *state, uint32_t tensor, const struct kern_view *view, int64_t start)
{
    struct dnnl_copy copy = copy_make(tensor, view, start);
    copy.offset = scratch_take(state, kern_view_elements(view) * sizeof(float));
    state->copies[state->copy_count++] = copy; /* at most one each for X or A, W or B, bias and nothing else */
    return copy.offset;
}

uint32_t dnnl_buffer_zero(struct dnnl_state *state, uint32_t tensor, DML_TENSOR_DATA_TYPE type)
{
    dnnl_memory_desc_t md;
    if (state->zero_count == ARRAY_SIZE(state->zeros) ||
        dnnl_memory_desc_init_by_tag(&md, 1, (dnnl_dims_t){ 1 }, dnnl_s32, dnnl_a) != dnnl_success)
        return DNNL_BUFFERS_MAX;
    uint32_t number = dnnl_buffer_scratch(state, &md);
    if (number < DNNL_BUFFERS_MAX)
        state->zeros[state->zero_count++] = (struct dnnl_zero){ tensor, type, state->buffers[number].offset };
    return number;
}

/* The tensor has the output's shape and takes part in the last pass. */
static bool finishes_with(const struct kern_op *op, uint32_t tensor)
{
    return tensor == op->input_count || (tensor == 2 && op->kind == KERN_GEMM && op->u.gemm.has_c) ||
           (op->epilogue && tensor >= op->epilogue_input && tensor < op->input_count);
}

/* Longer rows: dimensions d and d + 1 as one, in all tensors of the last pass. */
static void finish_merge(struct dnnl_state *state, uint32_t d)
{
    struct kern_op *op = &state->finish_op;
    bool ok = dense_view_merges(&state->finish_view, d);
    for (uint32_t t = 0; t <= op->input_count; t++)
        ok = ok && (!finishes_with(op, t) || dense_view_merges(&op->tensors[t], d));
    if (!ok)
        return;
    dense_view_merge(&state->finish_view, d);
    for (uint32_t t = 0; t <= op->input_count; t++) {
        if (finishes_with(op, t))
            dense_view_merge(&op->tensors[t], d);
    }
}

void dnnl_finish_set(struct dnnl_state *state, const struct kern_op *op, bool scratch, uint64_t offset,
                     const struct kern_view *source, bool add_c, bool epilogue)
{
    uint32_t order[KERN_RANK_MAX], out = op->input_count;
    state->finishes = true;
    state->finish_scratch = scratch;
    state->finish_offset = offset;
    state->finish_c = add_c;
    state->finish_epilogue = epilogue;
    if (epilogue) {
        state->finish_worker_bytes = dense_epilogue_bytes(op);
        state->finish_worker_offset = scratch_take(state, state->finish_worker_bytes * state->threads);
    }
    state->finish_op = *op;
    dense_memory_order(&op->tensors[out], order);
    state->finish_view = dense_permute(source, order);
    for (uint32_t t = 0; t <= out; t++) {
        if (finishes_with(op, t))
            state->finish_op.tensors[t] = dense_permute(&op->tensors[t], order);
    }
    for (uint32_t d = source->rank - 1; d-- > 0;)
        finish_merge(state, d);
}

/* ---- running --------------------------------------------------------------------------------------------------------
 */

void kern_dnnl_plan(const struct kern_op *op, const void *opaque, uint32_t threads, struct kern_work *out)
{
    const struct dnnl_state *state = opaque;
    (void)op;
    (void)threads;
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
    (void)worker;
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

static void finish_add_c(const struct kern_call *call, const uint32_t *at, uint32_t count, float *values)
{
    const struct kern_view *c = &call->op->tensors[2];
    int64_t step = c->sizes[c->rank - 1] > 1 ? c->strides[c->rank - 1] : 0, index = dense_offset(c, at, c->rank);
    for (uint32_t i = 0; i < count; i++)
        values[i] += call->op->u.gemm.beta * (float)dense_load(call->data[2], index + i * step, c->type);
}

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
        finish_add_c(&job->call, at, count, values);
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
    (void)worker;
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
        if (dnnl_memory_set_data_handle(slot->memory[i], handle) != dnnl_success)
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
        for (uint32_t a = 0; a < stage->count; a++)
            args[a] = (dnnl_exec_arg_t){ stage->args[a], slot->memory[stage->buffers[a]] };
        if (dnnl_primitive_execute(stage->primitive, slot->stream, (int)stage->count, args) != dnnl_success)
            return false;
    }
    return dnnl_stream_wait(slot->stream) == dnnl_success;
}

/* More threads than slots: objects for this call alone. */
static bool execute_apart(const struct dnnl_state *state, const struct kern_call *call)
{
    struct dnnl_slot slot = { .stream = NULL };
    bool ok = slot_init(&slot, state) && slot_execute(&slot, state, call);
    slot_finish(&slot);
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

void kern_dnnl_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct dnnl_state *state = call->state;
    if (begin == end)
        return;
    for (uint32_t i = 0; i < state->copy_count; i++)
        copy_run(&state->copies[i], call->data[state->copies[i].tensor],
                 (char *)call->scratch + state->copies[i].offset);
    for (uint32_t i = 0; i < state->zero_count; i++)
        *(int32_t *)((char *)call->scratch + state->zeros[i].offset) =
            (int32_t)dense_load(call->data[state->zeros[i].tensor], 0, state->zeros[i].type);
    if (!execute(state, call))
        base_log(BASE_LOG_ERROR, "oneDNN failed to execute a step");
    else if (state->finishes)
        finish_run(call, state);
}

/* ---- packing --------------------------------------------------------------------------------------------------------
 */

bool kern_dnnl_pack_plan(const struct kern_op *op, const void *opaque, uint32_t *out_input, uint64_t *out_bytes)
{
    const struct dnnl_state *state = opaque;
    (void)op;
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
    bool ok =
        dnnl_reorder_primitive_desc_create(&pd, &state->pack_from, on, &state->pack_to, on, NULL) == dnnl_success &&
        dnnl_primitive_create(&reorder, pd) == dnnl_success &&
        dnnl_memory_create(&from, &state->pack_from, on, (void *)source) == dnnl_success &&
        dnnl_memory_create(&to, &state->pack_to, on, packed) == dnnl_success &&
        dnnl_stream_create(&stream, on, dnnl_stream_default_flags) == dnnl_success;
    if (ok) {
        dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
        ok = dnnl_primitive_execute(reorder, stream, 2, args) == dnnl_success &&
             dnnl_stream_wait(stream) == dnnl_success;
    }
    dnnl_stream_destroy(stream);
    dnnl_memory_destroy(to);
    dnnl_memory_destroy(from);
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(pd);
    return ok;
}

void kern_dnnl_pack(const struct kern_op *op, const void *opaque, const void *source, void *packed)
{
    const struct dnnl_state *state = opaque;
    (void)op;
    void *copy = NULL;
    if (state->pack_copies) {
        copy = malloc(kern_view_elements(&state->pack_copy.view) * sizeof(float));
        if (!copy) {
            base_log(BASE_LOG_ERROR, "out of memory while packing weights");
            return;
        }
        copy_run(&state->pack_copy, source, copy);
    }
    if (!pack_reorder(state, copy ? copy : source, packed))
        base_log(BASE_LOG_ERROR, "oneDNN failed to pack weights");
    free(copy);
}

/* Descriptors come zeroed from the library: equal layouts have equal bytes. Others could only cost a second copy. */
uint64_t kern_dnnl_pack_layout(const struct kern_op *op, const void *opaque)
{
    const struct dnnl_state *state = opaque;
    (void)op;
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
