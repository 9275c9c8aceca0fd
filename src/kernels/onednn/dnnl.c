/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/onednn/dnnl_op.h"

#include <pthread.h>
#include <stdlib.h>

/* Made by whoever asks first, or next where memory was short; kept for good. */
dnnl_engine_t dnnl_engine(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static _Atomic(dnnl_engine_t) known;
    dnnl_engine_t engine = atomic_load_explicit(&known, memory_order_acquire);
    if (engine)
        return engine;
    pthread_mutex_lock(&lock);
    engine = atomic_load(&known);
    if (!engine && dnnl_safe_engine_create(&engine, dnnl_cpu, 0))
        atomic_store(&known, engine);
    pthread_mutex_unlock(&lock);
    return engine;
}

struct dnnl_state *dnnl_state_create(const struct kern_op *op, uint32_t threads)
{
    struct dnnl_state *state = calloc(1, sizeof(*state));
    if (!state) {
        kern_fail();
        return NULL;
    }
    state->threads = threads ? threads : 1;
    state->probe = op->flags & KERN_FLAG_PROBE;
    return state;
}

void dnnl_slot_finish(struct dnnl_slot *slot)
{
    for (uint32_t i = 0; i < DNNL_BUFFERS_MAX; i++) {
        if (slot->memory[i])
            dnnl_memory_destroy(slot->memory[i]);
    }
    if (slot->stream)
        dnnl_stream_destroy(slot->stream);
}

bool dnnl_slot_init(struct dnnl_slot *slot, const struct dnnl_state *state)
{
    atomic_flag_clear(&slot->busy);
    if (!dnnl_safe_stream_create(&slot->stream, dnnl_engine(), dnnl_stream_default_flags))
        return false;
    for (uint32_t i = 0; i < state->buffer_count; i++) {
        if (!dnnl_safe_memory_create(&slot->memory[i], &state->buffers[i].md, dnnl_engine(), DNNL_MEMORY_NONE))
            return false;
    }
    return true;
}

bool dnnl_state_finish(struct dnnl_state *state)
{
    if (state->probe)
        return true;
    state->slots = calloc(DNNL_SLOTS, sizeof(*state->slots));
    if (!state->slots) {
        kern_fail();
        return false;
    }
    for (uint32_t i = 0; i < DNNL_SLOTS; i++) {
        if (!dnnl_slot_init(&state->slots[i], state))
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
        dnnl_slot_finish(&state->slots[i]);
    for (uint32_t i = 0; i < state->stage_count; i++)
        dnnl_primitive_destroy(state->stages[i].primitive);
    free(state->slots);
    free(state);
}

uint32_t dnnl_buffer_tensor(struct dnnl_state *state, const dnnl_memory_desc_t *md, uint32_t tensor)
{
    if (state->buffer_count == DNNL_BUFFERS_MAX)
        return DNNL_BUFFERS_MAX;
    state->buffers[state->buffer_count] = (struct dnnl_buffer){ .md = *md, .tensor = tensor };
    return state->buffer_count++;
}

uint32_t dnnl_buffer_scratch(struct dnnl_state *state, const dnnl_memory_desc_t *md)
{
    uint32_t number = dnnl_buffer_tensor(state, md, 0);
    if (number < DNNL_BUFFERS_MAX) {
        state->buffers[number].scratch = true;
        state->buffers[number].offset = dense_take(&state->scratch_bytes, dnnl_memory_desc_get_size(md), 64);
    }
    return number;
}

bool dnnl_md_init(dnnl_memory_desc_t *out, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                  const dnnl_dims_t strides)
{
    return (strides ? dnnl_memory_desc_init_by_strides(out, rank, dims, type, strides)
                    : dnnl_memory_desc_init_by_tag(out, rank, dims, type, dnnl_format_tag_any)) == dnnl_success;
}

bool dnnl_md_last(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *out)
{
    dnnl_dims_t strides = { 0, 1 };
    int64_t step = like->dims[1];
    for (int d = like->ndims - 1; d >= 2; step *= like->dims[d--])
        strides[d] = step;
    strides[0] = step;
    return dnnl_md_init(out, like->ndims, like->dims, like->data_type, strides);
}

bool dnnl_attr_create(dnnl_primitive_attr_t *out)
{
    return dnnl_safe_primitive_attr_create(out) &&
           dnnl_safe_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
}

const dnnl_memory_desc_t *dnnl_query_md(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

bool dnnl_is_named(const_dnnl_primitive_desc_t pd, const char *part)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name ||
           strstr(name, part);
}

void dnnl_arg(struct dnnl_args *args, int arg, uint32_t buffer)
{
    args->arg[args->count] = arg;
    args->buffer[args->count++] = buffer;
}

bool dnnl_stage_add(struct dnnl_state *state, const_dnnl_primitive_desc_t pd, const struct dnnl_args *args)
{
    if (state->stage_count == DNNL_STAGES_MAX)
        return false;
    struct dnnl_stage *stage = &state->stages[state->stage_count];
    *stage = (struct dnnl_stage){ .args = *args };
    const dnnl_memory_desc_t *pad = dnnl_query_md(pd, dnnl_query_scratchpad_md);
    if (pad && dnnl_memory_desc_get_size(pad))
        dnnl_arg(&stage->args, DNNL_ARG_SCRATCHPAD, dnnl_buffer_scratch(state, pad));
    for (uint32_t i = 0; i < stage->args.count; i++) {
        if (stage->args.buffer[i] >= DNNL_BUFFERS_MAX)
            return false;
    }
    if (!state->probe && !dnnl_safe_primitive_create(&stage->primitive, pd))
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
    bool ok =
        dnnl_attr_create(&attr) && dnnl_safe_reorder_primitive_desc_create(&pd, &state->buffers[from].md, dnnl_engine(),
                                                                           &state->buffers[to].md, dnnl_engine(), attr);
    if (ok)
        ok = dnnl_stage_add(state, pd, &(struct dnnl_args){ 2, { DNNL_ARG_FROM, DNNL_ARG_TO }, { from, to } });
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

bool dnnl_view_is_last(const struct kern_view *view)
{
    bool pixels = false;
    for (uint32_t d = 2; d < view->rank; d++)
        pixels = pixels || view->sizes[d] > 1;
    return pixels && view->sizes[1] > 1 && view->strides[1] == 1;
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

uint32_t dnnl_buffer_input(struct dnnl_state *state, const dnnl_memory_desc_t *md, uint32_t tensor, bool direct,
                           const struct kern_view *view, int64_t start)
{
    uint32_t number = dnnl_buffer_tensor(state, md, tensor);
    if (!direct && number < DNNL_BUFFERS_MAX) {
        struct dnnl_copy *copy = &state->copies[state->copy_count++]; /* at most one each for X, W and bias */
        *copy = copy_make(tensor, view, start);
        copy->offset = dense_take(&state->scratch_bytes, kern_view_elements(view) * sizeof(float), 64);
        state->buffers[number].scratch = true;
        state->buffers[number].offset = copy->offset;
    }
    return number;
}

uint32_t dnnl_buffer_packed(struct dnnl_state *state, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *wanted,
                            bool direct, const struct kern_view *view, int64_t start)
{
    dnnl_primitive_desc_t pd = NULL;
    if (direct && dnnl_memory_desc_equal(from, wanted))
        return dnnl_buffer_tensor(state, wanted, 1);
    state->packs = true;
    state->pack_from = *from;
    state->pack_to = *wanted;
    state->pack_copies = !direct;
    if (!direct)
        state->pack_copy = copy_make(1, view, start);
    /* Winograd's layout, for one, is made from dense weights only. */
    bool ok = dnnl_safe_reorder_primitive_desc_create(&pd, from, dnnl_engine(), wanted, dnnl_engine(), NULL);
    dnnl_primitive_desc_destroy(pd);
    return ok ? dnnl_buffer_tensor(state, wanted, 1) : DNNL_BUFFERS_MAX;
}

uint32_t dnnl_buffer_zero(struct dnnl_state *state, uint32_t tensor, DML_TENSOR_DATA_TYPE type)
{
    dnnl_memory_desc_t md;
    if (state->zero_count == ARRAY_SIZE(state->zeros) ||
        !dnnl_md_init(&md, 1, (dnnl_dims_t){ 1 }, dnnl_s32, (dnnl_dims_t){ 1 }))
        return DNNL_BUFFERS_MAX;
    uint32_t number = dnnl_buffer_scratch(state, &md);
    if (number < DNNL_BUFFERS_MAX)
        state->zeros[state->zero_count++] = (struct dnnl_zero){ tensor, type, state->buffers[number].offset };
    return number;
}

bool dnnl_output_like(const struct kern_op *op, uint32_t tensor)
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
        ok = ok && (!dnnl_output_like(op, t) || dense_view_merges(&op->tensors[t], d));
    if (!ok)
        return;
    dense_view_merge(&state->finish_view, d);
    for (uint32_t t = 0; t <= op->input_count; t++) {
        if (dnnl_output_like(op, t))
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
        state->finish_worker_offset =
            dense_take(&state->scratch_bytes, state->finish_worker_bytes * state->threads, 64);
    }
    state->finish_op = *op;
    dense_memory_order(&op->tensors[out], order);
    state->finish_view = dense_permute(source, order);
    for (uint32_t t = 0; t <= out; t++) {
        if (dnnl_output_like(op, t))
            state->finish_op.tensors[t] = dense_permute(&op->tensors[t], order);
    }
    for (uint32_t d = source->rank - 1; d-- > 0;)
        finish_merge(state, d);
}
