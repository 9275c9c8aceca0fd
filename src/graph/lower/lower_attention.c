/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-head attention: heads, stacked tensors and masks are views; biases and caches are written before the one op
 * that attends. */
#include "graph/lower/lower.h"

struct attention {
    struct graph_lowering *lowering;
    const struct graph_operand *query, *key, *value, *query_key, *key_value, *query_key_value;
    const struct graph_operand *bias, *mask, *relative, *past_key, *past_value, *past_lengths;
    const struct graph_operand *output, *present_key, *present_value;
    uint32_t query_heads, key_heads;
    float scale, filter;
    DML_MULTIHEAD_ATTENTION_MASK_TYPE mask_type;
    /* as views [batch, heads, sequence, size]; value GRAPH_NONE: all keys are past keys */
    struct graph_operand q, k, v;
};

/* The last `count` dimensions; the preceding ones have size 1. */
static struct graph_operand trailing(const struct graph_operand *operand, uint32_t count)
{
    struct graph_operand out = *operand;
    uint32_t skipped = operand->view.rank - count;
    out.view.rank = count;
    for (uint32_t d = 0; d < count; d++) {
        out.view.sizes[d] = operand->view.sizes[skipped + d];
        out.view.strides[d] = operand->view.strides[skipped + d];
    }
    return out;
}

/* {batch, sequence, heads * size} as [batch, heads, sequence, size] */
static struct graph_operand token_heads(const struct graph_operand *tokens, uint32_t heads)
{
    struct graph_operand from = trailing(tokens, 3), out = from;
    uint32_t size = from.view.sizes[2] / heads;
    out.view.rank = 4;
    out.view.sizes[1] = heads;
    out.view.sizes[2] = from.view.sizes[1];
    out.view.sizes[3] = size;
    out.view.strides[1] = from.view.strides[2] * size;
    out.view.strides[2] = from.view.strides[1];
    out.view.strides[3] = from.view.strides[2];
    return out;
}

/* One part of {batch, sequence, heads, parts, size} as [batch, heads, sequence, size] */
static struct graph_operand stacked_heads(const struct graph_operand *stacked, uint32_t part)
{
    static const uint32_t order[] = { 0, 2, 1, 4 };
    struct graph_operand out = *stacked;
    out.view.rank = 4;
    out.view.offset += (int64_t)part * stacked->view.strides[3];
    for (uint32_t d = 0; d < 4; d++) {
        out.view.sizes[d] = stacked->view.sizes[order[d]];
        out.view.strides[d] = stacked->view.strides[order[d]];
    }
    return out;
}

static void find_sources(struct attention *at)
{
    at->q.value = at->k.value = at->v.value = GRAPH_NONE;
    if (lower_present(at->query_key_value)) {
        at->q = stacked_heads(at->query_key_value, 0);
        at->k = stacked_heads(at->query_key_value, 1);
        at->v = stacked_heads(at->query_key_value, 2);
    }
    if (lower_present(at->query_key)) {
        at->q = stacked_heads(at->query_key, 0);
        at->k = stacked_heads(at->query_key, 1);
    }
    if (lower_present(at->key_value)) {
        at->k = stacked_heads(at->key_value, 0);
        at->v = stacked_heads(at->key_value, 1);
    }
    if (lower_present(at->query))
        at->q = token_heads(at->query, at->query_heads);
    if (lower_present(at->key))
        at->k = token_heads(at->key, at->key_heads);
    if (lower_present(at->value))
        at->v = token_heads(at->value, at->key_heads);
}

/* A temporary like `heads` that is stored in the order of tokens. */
static struct graph_operand temp_tokens(const struct attention *at, const struct graph_operand *heads)
{
    static const uint32_t order[] = { 0, 2, 1, 3 };
    const uint32_t *s = heads->view.sizes;
    const uint32_t sizes[] = { s[0], s[2], s[1], s[3] };
    struct graph_operand out = graph_temp(at->lowering->graph, heads->view.type, 4, sizes);
    out.view = graph_view_permute(&out.view, order);
    return out;
}

/* to = from + the bias of its heads, which starts at element `first` of the bias tensor; a copy if there is no bias. */
static void add_bias(const struct attention *at, const struct graph_operand *from, uint64_t first,
                     const struct graph_operand *to)
{
    if (!lower_present(at->bias)) {
        lower_move(at->lowering, *from, *to);
        return;
    }
    struct graph_operand in[] = { *from, trailing(at->bias, 1) };
    int64_t stride = in[1].view.strides[0];
    struct kern_view view = { .type = in[1].view.type, .rank = 4 };
    view.offset = in[1].view.offset + (int64_t)first * stride;
    memcpy(view.sizes, from->view.sizes, sizeof(view.sizes));
    view.strides[1] = stride * from->view.sizes[3];
    view.strides[3] = stride;
    in[1].view = view;
    struct lower_map map;
    lower_map_begin(&map, at->lowering, in, 2, lower_real_type(from->view.type));
    lower_map_end(&map, to, lower_emit2(&map, KERN_MAP_ADD, 0, 1));
}

static struct graph_operand with_bias(const struct attention *at, const struct graph_operand *from, uint64_t first)
{
    if (!lower_present(at->bias))
        return *from;
    struct graph_operand to = temp_tokens(at, from);
    add_bias(at, from, first, &to);
    return to;
}

static struct graph_operand rows_of(const struct graph_operand *operand, uint32_t first, uint32_t count)
{
    const uint32_t start[] = { 0, 0, first, 0 };
    uint32_t sizes[4];
    struct graph_operand out = *operand;
    memcpy(sizes, operand->view.sizes, sizeof(sizes));
    sizes[2] = count;
    out.view = graph_view_slice(&operand->view, start, sizes, NULL);
    return out;
}

/* The keys (or values) to attend to: the past and the new ones, in `present` if it is requested. */
static struct graph_operand join_past(const struct attention *at, const struct graph_operand *fresh, uint64_t bias,
                                      const struct graph_operand *past, const struct graph_operand *present)
{
    bool has_past = lower_present(past), has_new = fresh->value != GRAPH_NONE, wanted = lower_present(present);
    struct graph_operand to = { GRAPH_NONE, { 0 } }, old = to;
    uint32_t length = 0;
    if (has_past) {
        old = trailing(past, 4);
        length = old.view.sizes[2];
    }
    if (!has_new) {
        if (wanted)
            lower_move(at->lowering, old, trailing(present, 4));
        return old;
    }
    if (!has_past && !wanted)
        return with_bias(at, fresh, bias);
    if (wanted) {
        to = trailing(present, 4);
    } else {
        uint32_t sizes[4];
        memcpy(sizes, fresh->view.sizes, sizeof(sizes));
        sizes[2] += length;
        to = graph_temp(at->lowering->graph, fresh->view.type, 4, sizes);
    }
    struct graph_operand end = rows_of(&to, length, fresh->view.sizes[2]);
    if (has_past)
        lower_move(at->lowering, old, rows_of(&to, 0, length));
    add_bias(at, fresh, bias, &end);
    return has_past || lower_present(at->bias) ? to : *fresh;
}

/* Stores the new keys (or values) after those that the cache in `present` already contains. */
static struct graph_operand append(const struct attention *at, const struct graph_operand *fresh, uint64_t bias,
                                   const struct graph_operand *present)
{
    struct graph_operand in[] = { with_bias(at, fresh, bias), trailing(at->past_lengths, 1) };
    struct graph_operand cache = trailing(present, 4);
    lower_op(at->lowering, KERN_APPEND, in, 2, &cache, 1);
    return cache;
}

/* `count` elements of the mask tensor's last dimension, starting at `first`. */
static struct graph_operand mask_part(const struct graph_operand *mask, uint32_t first, uint32_t count)
{
    struct graph_operand out = trailing(mask, 1);
    out.view.offset += (int64_t)first * out.view.strides[0];
    out.view.sizes[0] = count;
    return out;
}

/* Appends the masks as the op's inputs; returns how many inputs there are. */
static uint32_t add_masks(const struct attention *at, struct graph_operand *in, struct kern_attention *params)
{
    uint32_t count = 3, batch = at->q.view.sizes[0];
    params->has_mask = lower_present(at->relative);
    if (params->has_mask)
        in[count++] = trailing(at->relative, 4);
    switch (at->mask_type) {
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE:
        break;
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH:
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END: /* lengths of the keys precede them */
        params->has_end = true;
        in[count++] = mask_part(at->mask, 0, batch);
        break;
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START: {
        struct graph_operand rows = trailing(at->mask, 2), start = rows;
        start.view.offset += rows.view.strides[0];
        params->has_end = params->has_start = true;
        in[count++] = mask_part(&rows, 0, batch);
        in[count++] = mask_part(&start, 0, batch);
        break;
    }
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN:
        params->has_keep = true;
        in[count++] = trailing(at->mask, 4);
        break;
    }
    if (lower_present(at->past_lengths)) {
        params->has_past = true;
        params->causal = at->mask_type == DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE;
        params->new_keys = at->k.view.sizes[2];
        in[count++] = trailing(at->past_lengths, 1);
    }
    return count;
}

/* A single query of several heads that share keys: [batch, key heads, heads of each, ...] has them side by side. */
static void gather_heads(struct graph_operand *operand, uint32_t key_heads)
{
    struct kern_view *view = &operand->view;
    uint32_t each = view->sizes[1] / key_heads;
    view->sizes[1] = key_heads;
    view->sizes[2] = each;
    view->strides[2] = view->strides[1];
    view->strides[1] *= each;
}

static HRESULT attend(const struct attention *at, struct graph_operand q, struct graph_operand k,
                      struct graph_operand v)
{
    struct graph_operand in[KERN_TENSORS_MAX] = { q, k, v };
    struct graph_operand out = token_heads(at->output, at->query_heads);
    struct kern_attention params = { .scale = at->scale, .filter = at->filter };
    uint32_t count = add_masks(at, in, &params);
    if (q.view.sizes[2] == 1 && at->query_heads > at->key_heads) {
        gather_heads(&in[0], at->key_heads);
        gather_heads(&out, at->key_heads);
        if (params.has_mask)
            gather_heads(&in[3], at->key_heads);
        if (params.has_keep)
            gather_heads(&in[3 + params.has_mask], at->key_heads);
        if (params.causal)
            params.new_keys = 1; /* of the one query */
        params.causal = false;
    }
    struct graph_op *op = lower_op(at->lowering, KERN_ATTENTION, in, count, &out, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.attention = params;
    return lower_done(at->lowering);
}

static HRESULT lower_attention(struct attention *at)
{
    find_sources(at);
    uint64_t query_bias = (uint64_t)at->query_heads * at->q.view.sizes[3], value_bias = query_bias;
    if (at->k.value != GRAPH_NONE)
        value_bias += (uint64_t)at->key_heads * at->k.view.sizes[3];
    struct graph_operand q = with_bias(at, &at->q, 0), k, v;
    if (lower_present(at->past_lengths)) {
        k = append(at, &at->k, query_bias, at->present_key);
        v = append(at, &at->v, value_bias, at->present_value);
    } else {
        k = join_past(at, &at->k, query_bias, at->past_key, at->present_key);
        v = join_past(at, &at->v, value_bias, at->past_value, at->present_value);
    }
    return at->lowering->graph->failed ? E_OUTOFMEMORY : attend(at, q, k, v);
}

#define ATTENTION_OF(LOWERING, DESC, QUERY_HEADS, KEY_HEADS)                                                           \
    {                                                                                                                  \
        .lowering = LOWERING, .query = &(LOWERING)->inputs[0], .key = &(LOWERING)->inputs[1],                          \
        .value = &(LOWERING)->inputs[2], .query_key = &(LOWERING)->inputs[3], .key_value = &(LOWERING)->inputs[4],     \
        .query_key_value = &(LOWERING)->inputs[5], .bias = &(LOWERING)->inputs[6], .mask = &(LOWERING)->inputs[7],     \
        .relative = &(LOWERING)->inputs[8], .past_key = &(LOWERING)->inputs[9], .past_value = &(LOWERING)->inputs[10], \
        .output = &(LOWERING)->outputs[0], .present_key = &(LOWERING)->outputs[1],                                     \
        .present_value = &(LOWERING)->outputs[2], .query_heads = QUERY_HEADS, .key_heads = KEY_HEADS,                  \
        .scale = (DESC)->Scale, .filter = (DESC)->MaskFilterValue, .mask_type = (DESC)->MaskType,                      \
    }

HRESULT lower_multihead_attention(struct graph_lowering *lowering)
{
    static const struct graph_operand absent = { .value = GRAPH_NONE };
    const DML_MULTIHEAD_ATTENTION_OPERATOR_DESC *desc = LOWER_DESC(lowering, MULTIHEAD_ATTENTION);
    struct attention at = ATTENTION_OF(lowering, desc, desc->HeadCount, desc->HeadCount);
    at.past_lengths = &absent;
    return lower_attention(&at);
}

HRESULT lower_multihead_attention1(struct graph_lowering *lowering)
{
    const DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC *desc = LOWER_DESC(lowering, MULTIHEAD_ATTENTION1);
    struct attention at = ATTENTION_OF(lowering, desc, desc->QueryHeadCount, desc->KeyValueHeadCount);
    at.past_lengths = &lowering->inputs[11];
    return lower_attention(&at);
}
