/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which outputs may be bound over inputs. A plan states what each step reads and writes, so it can be proven
 * for each pair whether every element is read before it is overwritten. */
#include "graph/plan/alias.h"

#include "graph/backend.h"
#include "graph/ir/view.h"

#include <stdlib.h>

/* One operand in an input or an output. */
struct use {
    uint32_t step;
    bool in_order; /* the step reads each element before it writes it, if its operands have equal positions */
    struct kern_view view;
};

struct graph_aliases {
    uint32_t input_count;
    uint32_t *first; /* [slot]: inputs, then outputs; uses [first[slot], first[slot + 1]) */
    struct use *uses;
};

/* GRAPH_NONE: it is stored elsewhere. */
static uint32_t slot_of(const struct graph_plan *plan, const struct graph_location *where)
{
    if (where->buffer == GRAPH_BUFFER_INPUT)
        return where->index;
    return where->buffer == GRAPH_BUFFER_OUTPUT ? plan->input_count + where->index : GRAPH_NONE;
}

/* Visits the relevant operands: reads of inputs and writes of outputs. Without `uses` it only counts them. */
static void visit(const struct graph_plan *plan, uint32_t *next, struct use *uses)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct graph_step *step = &plan->steps[i];
        for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
            uint32_t slot = slot_of(plan, &step->where[t]);
            bool reads = t < step->op.input_count;
            if (slot == GRAPH_NONE || (reads && slot >= plan->input_count))
                continue;
            if (uses)
                uses[next[slot]] = (struct use){ i, plan->backend->in_place(&step->op), step->op.tensors[t] };
            next[slot]++;
        }
    }
}

HRESULT graph_aliases_create(const struct graph_plan *plan, struct graph_aliases **out)
{
    const uint64_t slots = (uint64_t)plan->input_count + plan->output_count;
    struct graph_aliases *aliases = calloc(1, sizeof(*aliases));
    uint32_t *next = calloc(slots + 1, sizeof(*next)), count = 0;
    *out = NULL;
    if (aliases)
        aliases->first = calloc(slots + 1, sizeof(*aliases->first));
    if (!aliases || !next || !aliases->first)
        goto fail;
    visit(plan, next, NULL);
    for (uint64_t slot = 0; slot < slots; slot++) {
        aliases->first[slot] = count;
        count += next[slot];
        next[slot] = aliases->first[slot];
    }
    aliases->input_count = plan->input_count;
    aliases->first[slots] = count;
    aliases->uses = calloc(count + UINT64_C(1), sizeof(*aliases->uses));
    if (!aliases->uses)
        goto fail;
    visit(plan, next, aliases->uses);
    free(next);
    *out = aliases;
    return S_OK;
fail:
    free(next);
    graph_aliases_destroy(aliases);
    return E_OUTOFMEMORY;
}

void graph_aliases_destroy(struct graph_aliases *aliases)
{
    if (!aliases)
        return;
    free(aliases->first);
    free(aliases->uses);
    free(aliases);
}

/* The bytes written do not overlap the bytes read. */
static bool harmless(const struct use *read, const struct use *write)
{
    if (read->step < write->step)
        return true;
    if (read->step > write->step)
        return graph_views_disjoint(&read->view, &write->view);
    return read->in_order && graph_views_same_places(&read->view, &write->view) && graph_view_injective(&write->view);
}

bool graph_aliases_allow(const struct graph_aliases *aliases, uint32_t input, uint32_t output)
{
    const uint32_t *reads = &aliases->first[input], *writes = &aliases->first[aliases->input_count + output];
    for (uint32_t w = writes[0]; w < writes[1]; w++)
        for (uint32_t r = reads[0]; r < reads[1]; r++)
            if (!harmless(&aliases->uses[r], &aliases->uses[w]))
                return false;
    return true;
}

static uint64_t bytes_used(const struct graph_aliases *aliases, uint32_t slot)
{
    uint64_t bytes = 0;
    for (uint32_t i = aliases->first[slot]; i < aliases->first[slot + 1]; i++)
        bytes = BASE_MAX(bytes, graph_view_span_bytes(&aliases->uses[i].view));
    return bytes;
}

uint64_t graph_aliases_bytes_read(const struct graph_aliases *aliases, uint32_t input)
{
    return bytes_used(aliases, input);
}

uint64_t graph_aliases_bytes_written(const struct graph_aliases *aliases, uint32_t output)
{
    return bytes_used(aliases, aliases->input_count + output);
}
