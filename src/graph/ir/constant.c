/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of constants. Bytes of the caller are used in place, and copied only for readers that need them whole and
 * aligned. Unused bytes are released immediately, because weights are most of the memory that compiling uses. */
#include "graph/ir/constant.h"

#include "base/pages.h"
#include "base/parallel.h"

#define PART_BYTES (UINT64_C(16) << 20)

static uint32_t constant_new(struct graph *graph, uint32_t index, const void *given, uint64_t given_bytes,
                             uint64_t size_bytes)
{
    uint32_t value = graph_value_add(graph, GRAPH_CONSTANT, index, size_bytes);
    if (value == GRAPH_NONE)
        return GRAPH_NONE;
    graph->values[value].given = given;
    graph->values[value].given_bytes = given_bytes;
    return value;
}

uint32_t graph_constant_add(struct graph *graph, const void *data, uint64_t size_bytes)
{
    const void *copy = base_arena_copy(&graph->arena, data, size_bytes);
    graph->failed |= !copy;
    return copy ? constant_new(graph, GRAPH_NONE, copy, size_bytes, size_bytes) : GRAPH_NONE;
}

uint32_t graph_constant_lend(struct graph *graph, uint32_t node, const void *data, uint64_t data_bytes,
                             uint64_t size_bytes)
{
    return constant_new(graph, node, data, data_bytes, size_bytes);
}

void graph_constant_put(struct graph *graph, uint32_t value, void *taken)
{
    struct graph_value *constant = &graph->values[value];
    constant->place = GRAPH_CONSTANT;
    constant->index = GRAPH_NONE;
    constant->made = taken;
    constant->deferred = 0;
}

void *graph_constant_new(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes,
                         struct graph_operand *out)
{
    *out = graph_temp(graph, type, rank, sizes);
    void *data =
        out->value == GRAPH_NONE ? NULL : base_pages_acquire(&graph->pages, graph->values[out->value].size_bytes);
    if (data)
        graph_constant_put(graph, out->value, data);
    else
        graph->failed = true;
    return data;
}

const void *graph_constant_ready(const struct graph_value *constant)
{
    if (constant->made)
        return constant->made;
    bool whole =
        constant->given_bytes == constant->size_bytes && (uintptr_t)constant->given % GRAPH_CONSTANT_ALIGNMENT == 0;
    return whole ? constant->given : NULL;
}

void graph_constant_copy(const struct graph_value *constant, void *to)
{
    if (constant->made) {
        base_parallel_copy(to, constant->made, constant->size_bytes);
        return;
    }
    base_parallel_copy(to, constant->given, constant->given_bytes);
    memset((char *)to + constant->given_bytes, 0, constant->size_bytes - constant->given_bytes);
}

void graph_constant_take(struct graph *graph, uint32_t value, void *to)
{
    const struct graph_value *constant = &graph->values[value];
    if (constant->made || constant->index == GRAPH_NONE || !graph->constant_part) {
        graph_constant_copy(constant, to);
        return;
    }
    for (uint64_t at = 0, bytes; at < constant->given_bytes; at += bytes) {
        bytes = BASE_MIN(constant->given_bytes - at, PART_BYTES);
        base_parallel_copy((char *)to + at, (const char *)constant->given + at, bytes);
        graph->constant_part(graph->constant_context, constant->index, at, bytes);
    }
    memset((char *)to + constant->given_bytes, 0, constant->size_bytes - constant->given_bytes);
}

const void *graph_constant_data(struct graph *graph, uint32_t value)
{
    if (!graph_constant_derive(graph, value))
        return NULL;
    struct graph_value *constant = &graph->values[value];
    const void *ready = graph_constant_ready(constant);
    if (ready)
        return ready;
    void *made = base_pages_acquire(&graph->pages, constant->size_bytes);
    if (made)
        graph_constant_copy(constant, made);
    else
        graph->failed = true;
    return constant->made = made;
}

void graph_constant_release(struct graph *graph, uint32_t value)
{
    struct graph_value *constant = &graph->values[value];
    base_pages_release(constant->made, constant->size_bytes);
    constant->made = NULL;
    constant->deferred = 0;
    if (constant->given && constant->index != GRAPH_NONE && graph->constant_done)
        graph->constant_done(graph->constant_context, constant->index);
    constant->given = NULL;
    constant->given_bytes = 0;
}
