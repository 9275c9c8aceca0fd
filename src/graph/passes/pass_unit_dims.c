/* SPDX-License-Identifier: Apache-2.0 */
/* Spatial dimensions of size 1 of a convolution or pooling go before the others: kernels run along the last dimension,
 * and a window of many rows and one column is a window of one dimension. Element-wise ops on what such an op writes
 * take its order, so that fusing finds equal views. */
#include "graph/passes/pass.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 2 /* the first spatial dimension */

/* How the spatial dimensions of a value were reordered by the op that writes it; rank 0: they were not. */
struct reorder {
    uint32_t rank, order[KERN_SPATIAL_MAX], sizes[KERN_RANK_MAX]; /* sizes before */
};

/* What the two kinds have in common. */
struct spatial {
    uint32_t count, window[KERN_SPATIAL_MAX];
    uint32_t *arrays[4]; /* one element for each spatial dimension; NULL: no more */
    const uint32_t *pad;
};

static bool spatial_of(struct graph_op *op, struct spatial *out)
{
    if (op->k.kind == KERN_CONV) {
        struct kern_conv *conv = &op->k.u.conv;
        *out = (struct spatial){ .count = conv->spatial,
                                 .arrays = { conv->strides, conv->dilations, conv->pad_start },
                                 .pad = conv->pad_start };
        for (uint32_t d = 0; d < conv->spatial; d++)
            out->window[d] = op->k.tensors[1].sizes[d + FIRST];
        return true;
    }
    if (op->k.kind == KERN_POOL) {
        struct kern_pool *pool = &op->k.u.pool;
        *out = (struct spatial){ .count = pool->spatial,
                                 .arrays = { pool->window, pool->strides, pool->dilations, pool->pad_start },
                                 .pad = pool->pad_start };
        memcpy(out->window, pool->window, sizeof(out->window));
        return true;
    }
    return false;
}

/* false: it is the order that is there. */
static bool find_order(const struct graph_op *op, const struct spatial *s, uint32_t *order)
{
    const struct kern_view *x = &op->k.tensors[0], *y = &op->k.tensors[op->k.input_count];
    uint32_t count = 0;
    bool other = false;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t d = 0; d < s->count; d++) {
            const bool unit =
                x->sizes[d + FIRST] == 1 && y->sizes[d + FIRST] == 1 && s->window[d] == 1 && s->pad[d] == 0;
            if (unit == (pass == 0)) {
                other = other || count != d;
                order[count++] = d;
            }
        }
    }
    return other;
}

static void permute(struct kern_view *view, const uint32_t *order, uint32_t count)
{
    const struct kern_view old = *view;
    for (uint32_t d = 0; d < count; d++) {
        view->sizes[d + FIRST] = old.sizes[order[d] + FIRST];
        view->strides[d + FIRST] = old.strides[order[d] + FIRST];
    }
}

static void permute_all(struct graph_op *op, uint32_t rank, const uint32_t *order, struct reorder *reorders)
{
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        struct kern_view *view = &op->k.tensors[t];
        if (view->rank != rank)
            continue;
        if (t >= op->k.input_count) {
            struct reorder *of = &reorders[op->value[t]];
            of->rank = rank;
            memcpy(of->order, order, (rank - FIRST) * sizeof(*order));
            memcpy(of->sizes, view->sizes, rank * sizeof(*view->sizes));
        }
        permute(view, order, rank - FIRST);
    }
}

static bool reorder_spatial(struct graph_op *op, struct reorder *reorders)
{
    struct spatial s;
    uint32_t order[KERN_SPATIAL_MAX];
    if (!spatial_of(op, &s) || !find_order(op, &s, order))
        return false;
    for (uint32_t a = 0; a < 4 && s.arrays[a]; a++) {
        uint32_t old[KERN_SPATIAL_MAX];
        memcpy(old, s.arrays[a], sizeof(old));
        for (uint32_t d = 0; d < s.count; d++)
            s.arrays[a][d] = old[order[d]];
    }
    permute_all(op, s.count + FIRST, order, reorders);
    return true;
}

/* An element-wise op on a reordered value, which it reads in the shape that was written. */
static bool reorder_map(struct graph_op *op, struct reorder *reorders)
{
    const struct reorder *of = NULL;
    for (uint32_t t = 0; t < op->k.input_count && !of; t++) {
        const struct reorder *candidate = &reorders[op->value[t]];
        const struct kern_view *view = &op->k.tensors[t];
        if (candidate->rank && view->rank == candidate->rank &&
            !memcmp(view->sizes, candidate->sizes, view->rank * sizeof(*view->sizes)))
            of = candidate;
    }
    for (uint32_t t = 0; of && t < op->k.input_count + op->k.output_count; t++)
        if (op->k.tensors[t].rank != of->rank)
            return false;
    if (of) {
        const struct reorder copy = *of;
        permute_all(op, copy.rank, copy.order, reorders);
    }
    return of != NULL;
}

HRESULT graph_pass_unit_dims(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct reorder *reorders = calloc(graph->value_count ? graph->value_count : 1, sizeof(*reorders));
    (void)options;
    if (!reorders)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        struct graph_op *op = graph->ops[i];
        if (op->dead)
            continue;
        if (op->k.kind == KERN_MAP ? reorder_map(op, reorders) : reorder_spatial(op, reorders))
            *changed = true;
    }
    free(reorders);
    return S_OK;
}
