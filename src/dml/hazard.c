/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings that must not share bytes because one of them is written. */
#include "dml/dml.h"

#include <stdio.h>

/* A binding with the bytes that are really used. */
struct used {
    const char *kind;
    uint32_t index;
    struct dml_range range;
    uint64_t bytes;
};

static bool overlap(const struct used *a, const struct used *b)
{
    return a->range.object && a->range.object == b->range.object && a->range.offset < b->range.offset + b->bytes &&
           b->range.offset < a->range.offset + a->bytes;
}

/* The same by address: two resources may share memory. */
static bool collide(const struct used *a, const struct used *b)
{
    return a->range.memory && a->range.memory == b->range.memory && a->range.place < b->range.place + b->bytes &&
           b->range.place < a->range.place + a->bytes;
}

static bool same(const struct used *a, const struct used *b)
{
    return a->range.place == b->range.place && a->bytes == b->bytes;
}

static bool report(char *message, const char *op, const struct used *a, const struct used *b, const char *why)
{
    snprintf(message, DML_ERROR_BYTES, "%s: %s %u (bytes %llu to %llu) and %s %u (bytes %llu to %llu) of one buffer %s",
             op, a->kind, a->index, (unsigned long long)a->range.offset,
             (unsigned long long)(a->range.offset + a->bytes - 1), b->kind, b->index,
             (unsigned long long)b->range.offset, (unsigned long long)(b->range.offset + b->bytes - 1), why);
    return true;
}

/* ---- execution ---- */

struct execution {
    const struct dml_compiled_operator *op;
    dml_range_fn *range;
    const void *context;
    struct used temp, persistent;
    bool copies; /* result: an input must be copied */
    char *message;
};

static struct used used_slot(const struct execution *run, const char *kind, const struct dml_slot *slots,
                             uint32_t index)
{
    const struct dml_slot *slot = &slots[index];
    struct used used = { kind, index, { 0 }, slot->bytes };
    if (slot->expect == DML_EXPECT_BUFFER)
        used.range = run->range(run->context, slot->descriptor);
    return used;
}

static struct used used_resource(const struct execution *run, const char *kind, uint32_t descriptor, uint64_t bytes)
{
    struct used used = { kind, 0, { 0 }, bytes };
    if (descriptor != GRAPH_NONE)
        used.range = run->range(run->context, descriptor);
    return used;
}

static bool input_hazard(const struct execution *run, uint32_t index)
{
    struct used input = used_slot(run, "input", run->op->inputs, index);
    if (overlap(&input, &run->temp))
        return report(run->message, run->op->what, &input, &run->temp, "overlap");
    return false;
}

/* The output is written before all of the overlapping input is read. */
static bool must_copy(const struct dml_compiled_operator *op, const struct used *input, const struct used *output)
{
    return collide(output, input) &&
           (!same(output, input) || !graph_aliases_allow(op->program.aliases, input->index, output->index));
}

static bool output_hazard(struct execution *run, uint32_t index)
{
    const struct dml_compiled_operator *op = run->op;
    struct used output = used_slot(run, "output", op->outputs, index);
    if (!output.range.object)
        return false;
    if (overlap(&output, &run->temp))
        return report(run->message, op->what, &output, &run->temp, "overlap");
    if (overlap(&output, &run->persistent))
        return report(run->message, op->what, &output, &run->persistent, "overlap");
    for (uint32_t i = 0; i < index; i++) {
        struct used other = used_slot(run, "output", op->outputs, i);
        if (overlap(&output, &other))
            return report(run->message, op->what, &output, &other, "overlap");
    }
    for (uint32_t i = 0; i < op->input_count; i++) {
        struct used input = used_slot(run, "input", op->inputs, i);
        if (overlap(&output, &input) && !same(&output, &input))
            return report(run->message, op->what, &output, &input, "overlap in part");
        run->copies |= must_copy(op, &input, &output);
    }
    return false;
}

bool dml_hazard_copy(const struct dml_compiled_operator *op, dml_range_fn *range, const void *context, uint32_t input)
{
    const struct execution run = { .op = op, .range = range, .context = context };
    const struct used from = used_slot(&run, "input", op->inputs, input);
    for (uint32_t i = 0; from.range.object && i < op->output_count; i++) {
        const struct used to = used_slot(&run, "output", op->outputs, i);
        if (must_copy(op, &from, &to))
            return true;
    }
    return false;
}

bool dml_hazard_execution(const struct dml_compiled_operator *op, dml_range_fn *range, const void *context,
                          bool *out_copies, char *message)
{
    *out_copies = false;
    struct execution run = { .op = op, .range = range, .context = context, .message = message };
    run.temp = used_resource(&run, "temporary resource", op->temp_descriptor, op->program.temp_bytes);
    run.persistent =
        used_resource(&run, "persistent resource", op->persistent_descriptor, op->program.persistent_bytes);
    if (overlap(&run.temp, &run.persistent))
        return report(message, op->what, &run.temp, &run.persistent, "overlap");
    for (uint32_t i = 0; run.temp.range.object && i < op->input_count; i++)
        if (input_hazard(&run, i))
            return true;
    for (uint32_t i = 0; i < op->output_count; i++)
        if (output_hazard(&run, i))
            return true;
    *out_copies = run.copies;
    return false;
}

/* ---- initialisation ---- */

struct initialization {
    const struct dml_target *targets;
    uint32_t count;
    dml_range_fn *range;
    const void *context;
    char *message;
};

static struct used used_output(const struct initialization *run, uint32_t target)
{
    uint32_t descriptor = dml_target_persistent(&run->targets[target]);
    struct used used = { "output", target, { 0 }, run->targets[target].op->program.persistent_bytes };
    if (descriptor != GRAPH_NONE)
        used.range = run->range(run->context, descriptor);
    return used;
}

/* An owned input of any operator must not be in the buffer of an output, even without overlap. */
static bool owned_hazard(const struct initialization *run, const struct used *output, uint32_t target)
{
    const struct dml_compiled_operator *op = run->targets[target].op;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i].expect != DML_EXPECT_OWNED)
            continue;
        struct used input = { "owned input", i, { 0 }, op->inputs[i].bytes };
        input.range = run->range(run->context, run->targets[target].first + op->inputs[i].descriptor);
        if (input.range.object && input.range.object == output->range.object)
            return report(run->message, op->what, output, &input, "are inputs and outputs of one initializer");
    }
    return false;
}

bool dml_hazard_initialization(const struct dml_target *targets, uint32_t count, dml_range_fn *range,
                               const void *context, char *message)
{
    struct initialization run = { targets, count, range, context, message };
    for (uint32_t i = 0; i < count; i++) {
        struct used output = used_output(&run, i);
        if (!output.range.object)
            continue;
        for (uint32_t j = 0; j < count; j++) {
            struct used other = used_output(&run, j);
            if (j < i && overlap(&output, &other))
                return report(message, "operator initializer", &output, &other, "overlap");
            if (owned_hazard(&run, &output, j))
                return true;
        }
    }
    return false;
}
