/* SPDX-License-Identifier: Apache-2.0 */
/* Ops whose inputs are all known run now, on the host's kernels, and their results become constants; if some inputs are
 * owned, the initializer runs them. */
#include "graph/passes/pass.h"

#include "base/os.h"

#include <stdlib.h>

#define FOLD_BYTES_MAX (UINT64_C(16) << 20)

bool graph_op_foldable(const struct graph *graph, const struct graph_options *options, const struct graph_op *op)
{
    uint64_t total = 0;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const struct graph_value *value = &graph->values[op->value[t]];
        bool input = t < op->k.input_count;
        if (!(input ? graph_value_fixed(graph, options, op->value[t]) : value->place == GRAPH_TEMP) ||
            value->size_bytes > FOLD_BYTES_MAX || !graph_operand_fits(graph, op, t))
            return false;
        total += value->size_bytes;
    }
    /* Without inputs it is a fill: recomputing it is faster than storing it. */
    return op->k.input_count > 0 && total <= FOLD_BYTES_MAX;
}

static bool written_once(const struct graph_uses *uses, const struct graph_op *op)
{
    for (uint32_t t = op->k.input_count; t < op->k.input_count + op->k.output_count; t++)
        if (graph_uses_of(uses, op->value[t]).writes != 1)
            return false;
    return true;
}

static void run_row(const struct kern_row *row, const struct kern_call *call, const struct kern_work *work, void **data)
{
    kern_pack_first(row, work, call, data);
    if (work->units)
        row->run(call, 0, work->units);
}

struct context {
    struct kern_op op;
    struct kern_map epilogue; /* its program, if any */
    uint32_t cpu;
};

static bool run_op(const void *context, const void *const *in, void *const *out)
{
    const struct context *c = context;
    struct kern_op op = c->op;
    struct kern_work work = { 0 };
    void *data[KERN_TENSORS_MAX];
    op.epilogue = c->op.epilogue ? &c->epilogue : NULL;
    const struct kern_row *row = kern_find(&op, c->cpu); /* there was one when the op was folded */
    row->plan(&op, 1, &work);
    void *scratch = base_aligned_acquire(64, base_align_up(work.scratch_bytes + 1, 64));
    void *worker = base_aligned_acquire(64, base_align_up(work.worker_scratch_bytes + 1, 64));
    /* Kernels only read from input pointers. */
    for (uint32_t t = 0; t < op.input_count + op.output_count; t++)
        data[t] = (t < op.input_count ? (char *)(uintptr_t)in[t] : (char *)out[t - op.input_count]) +
                  graph_view_byte_offset(&op.tensors[t]);
    bool ok = scratch && worker;
    if (ok)
        run_row(row, &(struct kern_call){ &op, data, scratch, worker }, &work, data);
    base_aligned_release(scratch);
    base_aligned_release(worker);
    return ok;
}

static bool fold(struct graph *graph, const struct graph_uses *uses, const struct graph_options *options,
                 struct graph_op *op)
{
    struct context context = { .op = op->k, .cpu = options->cpu };
    if (!kern_find(&op->k, options->cpu))
        return false;
    context.op.tuning = NULL;
    if (op->k.epilogue)
        context.epilogue = *op->k.epilogue;
    struct graph_derivation derivation = {
        "fold_constants", run_op, &context, sizeof(context), op->k.input_count, op->k.output_count, op->value,
    };
    if (!graph_derive(graph, &derivation))
        return false;
    op->dead = true;
    for (uint32_t t = 0; t < op->k.input_count; t++)
        graph_constant_drop_unread(graph, uses, op->value[t]);
    return true;
}

HRESULT graph_pass_fold_constants(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    HRESULT hr = graph_uses_init(&uses, graph) ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < graph->op_count; i++) {
        if (!graph_op_foldable(graph, options, graph->ops[i]) || !written_once(&uses, graph->ops[i]))
            continue;
        *changed |= fold(graph, &uses, options, graph->ops[i]);
        hr = graph->failed ? E_OUTOFMEMORY : S_OK;
    }
    graph_uses_finish(&uses);
    return hr;
}
