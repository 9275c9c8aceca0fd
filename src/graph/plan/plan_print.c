/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/plan/planner.h"

#include "graph/ir/text.h"

static void print_location(struct graph_text *text, const struct graph_location *where)
{
    switch (where->buffer) {
    case GRAPH_BUFFER_INPUT:
        graph_text_add(text, "input %u", where->index);
        break;
    case GRAPH_BUFFER_OUTPUT:
        graph_text_add(text, "output %u", where->index);
        break;
    case GRAPH_BUFFER_TEMP:
        graph_text_add(text, "temp");
        break;
    case GRAPH_BUFFER_PERSISTENT:
        graph_text_add(text, "persistent");
        break;
    case GRAPH_BUFFER_CONSTANT:
        graph_text_add(text, "constant");
        return;
    }
    graph_text_add(text, "+%llu", (unsigned long long)where->offset);
}

static void print_step(struct graph_text *text, const struct graph_step *step, uint32_t number)
{
    graph_text_add(text, "#%u %s%s: ", number, step->kernel, step->turn ? " without a barrier" : "");
    graph_text_op(text, &step->op);
    if (step->node != GRAPH_NONE)
        graph_text_add(text, " ; node %u %s%s%s", step->node, step->origin, *step->names ? " " : "", step->names);
    graph_text_add(text, "\n");
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
        graph_text_add(text, "    %s ", t < step->op.input_count ? "in " : "out");
        graph_text_view(text, &step->op.tensors[t]);
        graph_text_add(text, " at ");
        print_location(text, &step->where[t]);
        graph_text_add(text, "%s\n", step->op.packed_input == t + 1 ? " packed" : "");
    }
    if (step->scratch_bytes || step->worker_scratch_stride)
        graph_text_add(text, "    scratch %llu at temp+%llu, per worker %llu at temp+%llu\n",
                       (unsigned long long)step->scratch_bytes, (unsigned long long)step->scratch_offset,
                       (unsigned long long)step->worker_scratch_stride,
                       (unsigned long long)step->worker_scratch_offset);
}

static void print_block(struct graph_text *text, const struct plan_block *block)
{
    graph_text_add(text, "block temp+%llu, %llu bytes, steps %u to %u, ", (unsigned long long)block->offset,
                   (unsigned long long)block->size, block->first, block->last);
    if (block->value == GRAPH_NONE)
        graph_text_add(text, "scratch\n");
    else
        graph_text_add(text, "%%%u\n", block->value);
}

char *graph_plan_print(const struct graph_plan *plan)
{
    struct graph_text text = { 0 };
    graph_text_add(&text, "plan: %u steps, temp %llu bytes (at least %llu), persistent %llu bytes\n", plan->step_count,
                   (unsigned long long)plan->temp_bytes, (unsigned long long)plan->temp_lower_bound,
                   (unsigned long long)plan->persistent_bytes);
    for (uint32_t i = 0; i < plan->init_step_count; i++) {
        const struct graph_init_step *init = &plan->init_steps[i];
        graph_text_add(&text, "init %s ", init->pack ? "pack" : "copy");
        print_location(&text, &init->source);
        graph_text_add(&text, ", %llu bytes -> persistent+%llu", (unsigned long long)init->size_bytes,
                       (unsigned long long)init->destination);
        if (init->pack)
            graph_text_add(&text, " for step %u", init->step);
        graph_text_add(&text, "\n");
    }
    for (uint32_t i = 0; i < plan->derivation_count; i++)
        graph_text_add(&text, "init %s\n", plan->derivations[i].make.name);
    for (uint32_t i = 0; i < plan->block_count; i++)
        print_block(&text, &plan->blocks[i]);
    for (uint32_t i = 0; i < plan->step_count; i++)
        print_step(&text, &plan->steps[i], i);
    return graph_text_detach(&text);
}
