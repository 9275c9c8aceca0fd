/* Which kernel runs each step, and what it wants packed beforehand. */
#include "graph/pass.h"
#include "graph/plan.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

HRESULT plan_add_persistent(struct planner *planner, uint64_t bytes, uint64_t *out_offset)
{
    uint64_t *end = &planner->plan->persistent_bytes;
    if (bytes > INT64_MAX - PLAN_ALIGN || *end > INT64_MAX - PLAN_ALIGN - bytes)
        return E_OUTOFMEMORY;
    *out_offset = *end;
    *end += base_align_up(bytes, PLAN_ALIGN);
    return S_OK;
}

static bool equal_epilogues(const struct kern_op *a, const struct kern_op *b)
{
    return a->epilogue == b->epilogue || (a->epilogue && b->epilogue && a->epilogue_input == b->epilogue_input &&
                                          !memcmp(a->epilogue, b->epilogue, sizeof(*a->epilogue)));
}

/* Equal but for where their data lie, so that one row packs the same bytes for both. */
static bool equal_steps(const struct graph_step *a, const struct graph_step *b)
{
    if (a->row != b->row || a->op.kind != b->op.kind || a->op.input_count != b->op.input_count ||
        a->op.flags != b->op.flags || a->op.packed_input != b->op.packed_input || !equal_epilogues(&a->op, &b->op) ||
        memcmp(&a->op.u, &b->op.u, sizeof(a->op.u)) != 0)
        return false;
    for (uint32_t t = 0; t < a->op.input_count + a->op.output_count; t++) {
        struct kern_view view = b->op.tensors[t];
        if (t + 1 != a->op.packed_input)
            view.offset = a->op.tensors[t].offset;
        if (!graph_view_equal(&a->op.tensors[t], &view))
            return false;
    }
    return true;
}

/* An earlier step that has the same bytes packed; GRAPH_NONE for none: this one will. */
static uint32_t find_packed(struct planner *planner, uint32_t at)
{
    const struct graph_step *steps = planner->plan->steps;
    uint32_t value = planner->graph->ops[at]->value[steps[at].op.packed_input - 1];
    for (uint32_t i = planner->packs[value]; i != GRAPH_NONE; i = planner->next_pack[i])
        if (equal_steps(&steps[i], &steps[at]))
            return i;
    planner->next_pack[at] = planner->packs[value];
    planner->packs[value] = at;
    return GRAPH_NONE;
}

static HRESULT add_pack(struct planner *planner, uint32_t at, uint64_t bytes)
{
    struct graph_plan *plan = planner->plan;
    const struct graph_step *step = &plan->steps[at];
    uint32_t input = step->op.packed_input - 1;
    const struct graph_value *value = &planner->graph->values[planner->graph->ops[at]->value[input]];
    if (planner->options->store && value->place == GRAPH_CONSTANT)
        return plan_share_packed(planner, at, bytes);
    uint32_t earlier = find_packed(planner, at);
    if (earlier != GRAPH_NONE) {
        planner->packed[at] = planner->packed[earlier];
        return S_OK;
    }
    struct graph_init_step *init = &plan->init_steps[plan->init_step_count++];
    init->pack = true;
    init->step = at;
    init->size_bytes = value->size_bytes;
    init->source.buffer = value->place == GRAPH_CONSTANT  ? GRAPH_BUFFER_CONSTANT
                          : value->place == GRAPH_DERIVED ? GRAPH_BUFFER_TEMP /* plan_derive.c knows where */
                                                          : GRAPH_BUFFER_INPUT;
    init->source.index = value->index;
    init->source.offset = (uint64_t)graph_view_byte_offset(&step->op.tensors[input]);
    /* The planner's constants are copied into the plan on first use; known[] finds the copy. */
    HRESULT hr = plan_add_persistent(planner, bytes, &planner->packed[at]);
    init->destination = planner->packed[at];
    return hr;
}

/* Looks for a row that packs input `packable` - 1; without one, for a row that packs nothing. */
static bool find_row(struct planner *planner, struct graph_step *step, uint32_t packable, uint64_t *out_packed_bytes)
{
    const struct graph_options *options = planner->options;
    uint32_t input = GRAPH_NONE;
    *out_packed_bytes = 0;
    step->op.packed_input = packable;
    step->op.tuning = options->tuning;
    step->row = kern_find(&step->op, options->cpu, graph_op_threads(&step->op, options->threads), &step->state);
    if (!packable)
        return step->row != NULL;
    if (step->row && step->row->pack_plan && step->row->pack_plan(&step->op, step->state, &input, out_packed_bytes) &&
        input + 1 == packable)
        return true;
    kern_release(step->row, step->state);
    step->state = NULL;
    return find_row(planner, step, 0, out_packed_bytes);
}

/* Ranges and threads of a step. Rows with state may use the team themselves. */
static void limit_workers(struct graph_step *step, uint32_t threads)
{
    uint64_t ranges = step->work.units / BASE_MAX(step->work.grain, 1);
    step->ranges = (uint32_t)BASE_MIN(BASE_MAX(ranges, 1), threads);
    step->threads = step->state || step->row->kind == KERN_RECURRENT ? threads : step->ranges;
}

static void add_to_run(struct graph_plan *plan, const struct graph_step *step)
{
    struct graph_cost cost;
    graph_op_cost(&step->op, &cost);
    plan->work += cost.read + cost.written + cost.flops;
    plan->threads = BASE_MAX(plan->threads, step->threads);
}

static HRESULT choose_row(struct planner *planner, uint32_t at)
{
    struct graph_step *step = &planner->plan->steps[at];
    uint64_t packed_bytes;
    if (!find_row(planner, step, graph_op_packable(planner->graph, planner->graph->ops[at]), &packed_bytes)) {
        struct graph_text text = { 0 };
        graph_text_op(&text, &step->op);
        for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
            graph_text_add(&text, " ");
            graph_text_view(&text, &step->op.tensors[t]);
        }
        char *what = graph_text_take(&text);
        snprintf(planner->error, 256, "%s: no kernel takes %s", step->origin, what ? what : "it");
        free(what);
        return DXGI_ERROR_UNSUPPORTED;
    }
    uint32_t threads = graph_op_threads(&step->op, planner->options->threads);
    step->row->plan(&step->op, step->state, threads, &step->work);
    limit_workers(step, threads);
    add_to_run(planner->plan, step);
    uint64_t start = base_now_ns();
    HRESULT hr = step->op.packed_input ? add_pack(planner, at, packed_bytes) : S_OK;
    if (SUCCEEDED(hr))
        hr = plan_keep_constants(planner, at);
    planner->plan->constants_ns += base_now_ns() - start;
    return hr;
}

HRESULT plan_choose_rows(struct planner *planner)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && planner->options->host && i < planner->plan->step_count; i++)
        hr = choose_row(planner, i);
    return hr;
}
