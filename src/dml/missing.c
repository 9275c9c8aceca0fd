/* SPDX-License-Identifier: Apache-2.0 */
/* Whether everything that a dispatch requires is bound. */
#include "dml/dml.h"

#include <stdio.h>

struct search {
    dml_bound_fn *bound;
    const void *context;
    struct dml_missing *out;
};

static bool lacks(const struct search *search, uint32_t descriptor, uint64_t bytes)
{
    uint64_t bound = search->bound(search->context, descriptor);
    search->out->descriptor = descriptor;
    search->out->bytes = bytes;
    search->out->bound = bound;
    return bound < BASE_MAX(bytes, 1);
}

static bool slots_lack(const struct search *search, const char *kind, const struct dml_slot *slots, uint32_t count,
                       enum dml_expect expect, uint32_t first)
{
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].expect != expect || !lacks(search, first + slots[i].descriptor, slots[i].bytes))
            continue;
        search->out->kind = kind;
        search->out->index = i;
        return true;
    }
    return false;
}

static bool resource_lacks(const struct search *search, const char *kind, uint32_t descriptor, uint64_t bytes)
{
    if (descriptor == GRAPH_NONE || !lacks(search, descriptor, bytes))
        return false;
    search->out->kind = kind;
    search->out->index = GRAPH_NONE;
    return true;
}

bool dml_missing_execution(const struct dml_compiled_operator *op, dml_bound_fn *bound, const void *context,
                           struct dml_missing *out)
{
    struct search search = { bound, context, out };
    out->op = op->what;
    out->target = GRAPH_NONE;
    return slots_lack(&search, "input", op->inputs, op->input_count, DML_EXPECT_BUFFER, 0) ||
           slots_lack(&search, "output", op->outputs, op->output_count, DML_EXPECT_BUFFER, 0) ||
           resource_lacks(&search, "temporary resource", op->temp_descriptor, op->program.temp_bytes) ||
           resource_lacks(&search, "persistent resource", op->persistent_descriptor, op->program.persistent_bytes);
}

bool dml_missing_initialization(const struct dml_target *targets, uint32_t count, dml_bound_fn *bound,
                                const void *context, struct dml_missing *out)
{
    struct search search = { bound, context, out };
    for (uint32_t i = 0; i < count; i++) {
        const struct dml_compiled_operator *op = targets[i].op;
        out->op = op->what;
        out->target = i;
        if (slots_lack(&search, "owned input", op->inputs, op->input_count, DML_EXPECT_OWNED, targets[i].first) ||
            resource_lacks(&search, "output, its persistent resource,", dml_target_persistent(&targets[i]),
                           op->program.persistent_bytes))
            return true;
    }
    return false;
}

void dml_missing_print(const struct dml_missing *missing, char *out)
{
    char index[24] = "", target[48] = "";
    if (missing->index != GRAPH_NONE)
        snprintf(index, sizeof(index), " %u", missing->index);
    if (missing->target != GRAPH_NONE)
        snprintf(target, sizeof(target), "operator %u of the initializer, ", missing->target);
    snprintf(out, DML_ERROR_BYTES, "%s%s: %s%s needs %llu bytes, %llu are bound", target, missing->op, missing->kind,
             index, (unsigned long long)missing->bytes, (unsigned long long)missing->bound);
}
