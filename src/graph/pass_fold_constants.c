/* Ops whose inputs are all known run now, on the host's kernels; their results become constants. */
#include "graph/pass.h"

#include "base/pages.h"

#include <stdlib.h>

#define FOLD_BYTES_MAX (UINT64_C(16) << 20)

bool graph_op_foldable(const struct graph *graph, const struct graph_op *op)
{
    uint64_t total = 0;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const struct graph_value *value = &graph->values[op->value[t]];
        bool input = t < op->k.input_count;
        if (value->place != (input ? GRAPH_CONSTANT : GRAPH_TEMP) || value->size_bytes > FOLD_BYTES_MAX ||
            !graph_operand_fits(graph, op, t))
            return false;
        total += value->size_bytes;
    }
    /* Without inputs it is a fill: making it where it is used costs less than keeping it. */
    return op->k.input_count > 0 && total <= FOLD_BYTES_MAX;
}

static bool written_once(const struct graph_uses *uses, const struct graph_op *op)
{
    for (uint32_t t = op->k.input_count; t < op->k.input_count + op->k.output_count; t++)
        if (graph_uses_of(uses, op->value[t]).writes != 1)
            return false;
    return true;
}

static void run_row(const struct kern_row *row, const struct kern_call *call, const struct kern_work *work)
{
    if (work->units)
        row->run(call, 0, work->units);
}

/* S_FALSE when no kernel takes the op. */
static HRESULT run_now(const struct kern_op *op, uint32_t cpu, void *const *data)
{
    struct kern_work work = { 0 };
    void *state = NULL, *scratch = NULL, *worker = NULL;
    HRESULT hr = S_FALSE;
    const struct kern_row *row = kern_find(op, cpu, 1, &state);
    if (!row)
        return S_FALSE;
    row->plan(op, state, 1, &work);
    scratch = aligned_alloc(64, base_align_up(work.scratch_bytes + 1, 64));
    worker = aligned_alloc(64, base_align_up(work.worker_scratch_bytes + 1, 64));
    hr = scratch && worker ? S_OK : E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        run_row(row, &(struct kern_call){ op, data, state, scratch, worker }, &work);
    free(scratch);
    free(worker);
    kern_release(row, state);
    return hr;
}

static HRESULT fold(struct graph *graph, const struct graph_uses *uses, const struct graph_options *options,
                    struct graph_op *op)
{
    void *data[KERN_TENSORS_MAX], *bases[KERN_TENSORS_MAX] = { NULL };
    uint32_t inputs = op->k.input_count, count = inputs + op->k.output_count;
    HRESULT hr = S_OK;
    for (uint32_t t = 0; t < count; t++) {
        /* Kernels only read what an input's pointer addresses. */
        bases[t] = t < inputs ? (void *)(uintptr_t)graph_constant_data(graph, op->value[t])
                              : base_pages_take(&graph->pages, graph->values[op->value[t]].size_bytes);
        hr = bases[t] ? hr : E_OUTOFMEMORY;
        data[t] = bases[t] ? (char *)bases[t] + graph_view_byte_offset(&op->k.tensors[t]) : NULL;
    }
    if (SUCCEEDED(hr))
        hr = run_now(&op->k, options->cpu, data);
    for (uint32_t t = inputs; t < count; t++) {
        if (hr == S_OK)
            graph_constant_put(graph, op->value[t], bases[t]);
        else
            base_pages_give(bases[t], graph->values[op->value[t]].size_bytes);
    }
    if (hr != S_OK)
        return hr;
    op->dead = true;
    for (uint32_t t = 0; t < inputs; t++)
        graph_constant_drop_unread(graph, uses, op->value[t]);
    return S_OK;
}

HRESULT graph_pass_fold_constants(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    HRESULT hr = graph_uses_init(&uses, graph) ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < graph->op_count; i++) {
        if (!graph_op_foldable(graph, graph->ops[i]) || !written_once(&uses, graph->ops[i]))
            continue;
        hr = fold(graph, &uses, options, graph->ops[i]);
        *changed |= hr == S_OK;
    }
    graph_uses_finish(&uses);
    return hr;
}
