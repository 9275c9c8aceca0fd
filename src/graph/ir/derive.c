/* SPDX-License-Identifier: Apache-2.0 */
/* Weight transforms: values that do not change once the operator is initialised, computed from constants, owned inputs
 * and other such values. If all inputs are constants, the results are, too: a transform runs immediately, or, if its
 * results are large and leave the host one by one, when they are read; otherwise the initializer's dispatch runs it
 * (plan_derive.c, exec.c). So a pass describes how weights are rearranged
 * without knowing who owns them; only decisions that depend on values require constants. */
#include "graph/ir/derive.h"

#include "graph/backend.h"
#include "graph/ir/constant.h"

#include "base/pages.h"
#include "base/parallel.h"
#include "kernels/core/dense.h"

#include <stdlib.h>

/* Smaller results are computed at once: passes may decide by them. */
#define DEFERRED_BYTES_MIN (UINT64_C(1) << 20)

bool graph_value_fixed(const struct graph *graph, const struct graph_options *options, uint32_t value)
{
    enum graph_place place = graph->values[value].place;
    return place == GRAPH_CONSTANT || (options->backend->derives && (place == GRAPH_OWNED || place == GRAPH_DERIVED));
}

static bool all_constant(const struct graph *graph, const uint32_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (graph->values[values[i]].place != GRAPH_CONSTANT)
            return false;
    return true;
}

static bool run(const struct graph *graph, const struct graph_derivation *d, const void *const *in, void *const *out)
{
    struct base_team before = base_parallel_enter(BASE_MAX(graph->threads, 1));
    const bool done = d->run(d->context, in, out);
    base_parallel_leave(before);
    return done;
}

static HRESULT run_now(struct graph *graph, const struct graph_derivation *d)
{
    const void **in = base_arena_alloc(&graph->arena, (d->input_count + 1) * sizeof(*in));
    void **out = base_arena_alloc(&graph->arena, (d->output_count + 1) * sizeof(*out));
    HRESULT hr = in && out ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < d->input_count; i++) {
        in[i] = graph_constant_data(graph, d->values[i]);
        hr = in[i] ? S_OK : E_OUTOFMEMORY;
    }
    for (uint32_t i = 0; out && i < d->output_count; i++) {
        out[i] = base_pages_acquire(&graph->pages, graph->values[d->values[d->input_count + i]].size_bytes);
        hr = out[i] ? hr : E_OUTOFMEMORY;
    }
    if (SUCCEEDED(hr) && !run(graph, d, in, out))
        hr = E_OUTOFMEMORY;
    for (uint32_t i = 0; out && i < d->output_count; i++) {
        uint32_t value = d->values[d->input_count + i];
        if (SUCCEEDED(hr))
            graph_constant_put(graph, value, out[i]);
        else
            base_pages_release(out[i], graph->values[value].size_bytes);
    }
    return hr;
}

/* Appends a copy to a list of derivations that wait; their inputs are needed until then. */
static bool append(struct graph *graph, const struct graph_derivation *derivation, struct graph_derivation **list,
                   uint32_t *count, uint32_t *capacity)
{
    const uint32_t values = derivation->input_count + derivation->output_count;
    struct graph_derivation made = *derivation;
    made.context = base_arena_copy(&graph->arena, derivation->context, derivation->context_bytes);
    made.values = base_arena_copy(&graph->arena, derivation->values, values * sizeof(*made.values));
    if (!made.context || !made.values || !base_array_reserve((void **)list, *count, capacity, sizeof(**list))) {
        graph->failed = true;
        return false;
    }
    (*list)[(*count)++] = made;
    for (uint32_t i = 0; i < derivation->input_count; i++)
        graph->values[derivation->values[i]].derives = true;
    return true;
}

static bool defer(struct graph *graph, const struct graph_derivation *derivation)
{
    if (!append(graph, derivation, &graph->deferred, &graph->deferred_count, &graph->deferred_capacity))
        return false;
    for (uint32_t i = 0; i < derivation->output_count; i++) {
        const uint32_t value = derivation->values[derivation->input_count + i];
        graph_constant_put(graph, value, NULL);
        graph->values[value].deferred = graph->deferred_count;
    }
    return true;
}

static bool worth_deferring(const struct graph *graph, const struct graph_derivation *derivation)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < derivation->output_count; i++)
        bytes += graph->values[derivation->values[derivation->input_count + i]].size_bytes;
    return graph->defers && bytes >= DEFERRED_BYTES_MIN;
}

bool graph_constant_derive(struct graph *graph, uint32_t value)
{
    const uint32_t number = graph->values[value].deferred;
    if (!number)
        return !graph->failed;
    graph->failed |= FAILED(run_now(graph, &graph->deferred[number - 1]));
    graph->deferred[number - 1].run = NULL;
    return !graph->failed;
}

bool graph_derive(struct graph *graph, const struct graph_derivation *derivation)
{
    if (graph->failed)
        return false;
    if (all_constant(graph, derivation->values, derivation->input_count)) {
        if (worth_deferring(graph, derivation))
            return defer(graph, derivation);
        graph->failed = FAILED(run_now(graph, derivation));
        return !graph->failed;
    }
    if (!append(graph, derivation, &graph->derivations, &graph->derivation_count, &graph->derivation_capacity))
        return false;
    for (uint32_t i = 0; i < derivation->output_count; i++)
        graph->values[derivation->values[derivation->input_count + i]].place = GRAPH_DERIVED;
    return true;
}

bool graph_derivations_read(const struct graph *graph, uint32_t value)
{
    return graph->values[value].derives;
}

bool graph_derivations_trim(struct graph *graph)
{
    bool *read = calloc(graph->value_count + UINT64_C(1), sizeof(*read));
    uint32_t kept = graph->derivation_count;
    for (uint32_t i = 0; read && i < graph->op_count; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count; t++)
            read[graph->ops[i]->value[t]] |= !graph->ops[i]->dead;
    for (uint32_t i = graph->derivation_count; read && i-- > 0;) {
        const struct graph_derivation *d = &graph->derivations[i];
        bool used = false;
        for (uint32_t t = 0; t < d->output_count; t++)
            used |= read[d->values[d->input_count + t]];
        for (uint32_t t = 0; used && t < d->input_count; t++)
            read[d->values[t]] = true;
        if (used)
            graph->derivations[--kept] = *d;
    }
    if (read && graph->derivation_count)
        memmove(graph->derivations, graph->derivations + kept,
                (graph->derivation_count - kept) * sizeof(*graph->derivations));
    graph->derivation_count -= read ? kept : 0;
    graph->failed |= !read;
    free(read);
    return !graph->failed;
}

#define COPY_BYTES_MIN (UINT64_C(64) << 10) /* of elements that are worth a thread */

struct copying {
    const struct kern_view *from;
    const char *data;
    char *out;
};

#define GATHER(type)                                                                                                   \
    for (uint32_t i = 0; i < count; i++)                                                                               \
    ((type *)to)[i] = ((const type *)from)[i * step]

/* `step` in elements, of `bytes` each. */
static void gather_row(const char *from, int64_t step, size_t bytes, uint32_t count, char *to)
{
    if (step == 1)
        memcpy(to, from, count * bytes);
    else if (bytes == 1)
        GATHER(uint8_t);
    else if (bytes == 2)
        GATHER(uint16_t);
    else if (bytes == 4)
        GATHER(uint32_t);
    else
        for (uint32_t i = 0; i < count; i++)
            memcpy(to + i * bytes, from + i * step * (int64_t)bytes, bytes);
}

/* Of rows along the last dimension. */
static void copy_rows(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct copying *copying = context;
    const struct kern_view *from = copying->from;
    const size_t bytes = kern_type_bytes(from->type);
    const uint32_t count = from->sizes[from->rank - 1];
    const int64_t step = count > 1 ? from->strides[from->rank - 1] : 1;
    char *to = copying->out + begin * count * bytes;
    (void)worker;
    for (size_t row = begin; row < end; row++, to += count * bytes) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(from, row, at);
        const int64_t first = from->offset + dense_offset(from, at, from->rank);
        gather_row(copying->data + first * (int64_t)bytes, step, bytes, count, to);
    }
}

static bool run_copy(const void *context, const void *const *in, void *const *out)
{
    const struct kern_view *from = context;
    struct copying copying = { from, in[0], out[0] };
    const uint64_t row = from->sizes[from->rank - 1] * kern_type_bytes(from->type);
    base_parallel_for(dense_rows(from), (size_t)(COPY_BYTES_MIN / BASE_MAX(row, 1) + 1), copy_rows, &copying);
    return true;
}

bool graph_derive_copy(struct graph *graph, const char *name, uint32_t value, const struct kern_view *from, uint32_t to)
{
    const uint32_t values[] = { value, to };
    return graph_derive(graph, &(struct graph_derivation){ name, run_copy, from, sizeof(*from), 1, 1, values });
}
