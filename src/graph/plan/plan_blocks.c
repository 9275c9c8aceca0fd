/* SPDX-License-Identifier: Apache-2.0 */
/* Offline memory placement: the largest block first, each into the smallest gap between the placed blocks that are in
 * use at the same time. If the number of overlapping pairs is very large, blocks are placed in the order of the steps
 * instead, as an allocator would. */
#include "graph/plan/planner.h"

#include <stdlib.h>

#define PAIRS_PER_BLOCK 256                 /* that may be compared, on average; networks have 3 to 30 */
#define PAIRS_MIN       (UINT64_C(1) << 20) /* that are compared in any case */
#define RUNS_LOOKED     64                  /* free runs that are looked at for one block */

static int by_size(const void *a, const void *b)
{
    const struct plan_block *x = *(const struct plan_block *const *)a, *y = *(const struct plan_block *const *)b;
    uint32_t x_life = x->last - x->first, y_life = y->last - y->first;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    if (x_life != y_life)
        return x_life < y_life ? 1 : -1;
    return x < y ? -1 : 1;
}

static int by_offset(const void *a, const void *b)
{
    const struct plan_block *x = *(const struct plan_block *const *)a, *y = *(const struct plan_block *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* ---- blocks by the steps that use them ---- */

struct member {
    struct plan_block *block;
    uint32_t next; /* of the list; 0: none */
};

/* A tree over the steps: leaf `steps` + i is step i, node n covers 2n and 2n + 1. A block is in the lists of the few
 * nodes that together cover its lifetime, and in the list of the step at which it starts. */
struct timeline {
    uint32_t steps; /* a power of two */
    uint32_t *covering, *beginning;
    struct member *members;
    uint32_t count;
    struct plan_block **found;
};

static void push(struct timeline *line, uint32_t *list, struct plan_block *block)
{
    line->members[++line->count] = (struct member){ block, *list };
    *list = line->count;
}

static void timeline_add(struct timeline *line, struct plan_block *block)
{
    push(line, &line->beginning[block->first], block);
    for (uint32_t low = block->first + line->steps, high = block->last + line->steps + 1; low < high;
         low /= 2, high /= 2) {
        if (low & 1)
            push(line, &line->covering[low++], block);
        if (high & 1)
            push(line, &line->covering[--high], block);
    }
}

static uint32_t collect(const struct timeline *line, uint32_t list, uint32_t count)
{
    for (; list; list = line->members[list].next)
        line->found[count++] = line->members[list].block;
    return count;
}

/* Blocks whose lifetime overlaps the block's: in use at its first step, or starting later. */
static uint32_t timeline_find(const struct timeline *line, const struct plan_block *block)
{
    uint32_t count = 0;
    for (uint32_t node = block->first + line->steps; node; node /= 2)
        count = collect(line, line->covering[node], count);
    for (uint32_t i = block->first + 1; i <= block->last; i++)
        count = collect(line, line->beginning[i], count);
    return count;
}

/* ---- largest first ---- */

/* `placed` is sorted by offset. */
static uint64_t find_gap(const struct plan_block *block, struct plan_block *const *placed, uint32_t count)
{
    uint64_t end = 0, best = UINT64_MAX, best_size = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_block *other = placed[i];
        if (other->offset > end && other->offset - end >= block->size && other->offset - end < best_size) {
            best = end;
            best_size = other->offset - end;
        }
        end = BASE_MAX(end, other->offset + other->size);
    }
    return best != UINT64_MAX ? best : end;
}

static HRESULT check_end(const struct plan_block *block, uint64_t *bytes)
{
    uint64_t end;
    if (!base_add_u64(block->offset, block->size, &end) || end > INT64_MAX)
        return E_OUTOFMEMORY;
    *bytes = BASE_MAX(*bytes, end);
    return S_OK;
}

static HRESULT place_largest_first(struct plan_block **order, struct timeline *line, uint32_t count,
                                   uint64_t *out_bytes)
{
    HRESULT hr = S_OK;
    qsort(order, count, sizeof(*order), by_size);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        uint32_t found = timeline_find(line, order[i]);
        qsort(line->found, found, sizeof(*line->found), by_offset);
        order[i]->offset = find_gap(order[i], line->found, found);
        timeline_add(line, order[i]);
        hr = check_end(order[i], out_bytes);
    }
    return hr;
}

/* ---- first come, first placed ---- */

struct run {
    uint64_t offset, size;
};

/* Free memory below `end`, by rising offset. */
struct runs {
    struct run *run;
    uint32_t count;
    uint64_t end;
};

static uint64_t runs_acquire(struct runs *runs, uint64_t size)
{
    uint32_t best = GRAPH_NONE, looked = BASE_MIN(runs->count, (uint32_t)RUNS_LOOKED);
    for (uint32_t i = runs->count - looked; i < runs->count; i++)
        if (runs->run[i].size >= size && (best == GRAPH_NONE || runs->run[i].size < runs->run[best].size))
            best = i;
    uint64_t offset = runs->end;
    if (best == GRAPH_NONE) {
        runs->end += size;
        return offset;
    }
    offset = runs->run[best].offset;
    runs->run[best].offset += size;
    runs->run[best].size -= size;
    if (!runs->run[best].size)
        memmove(&runs->run[best], &runs->run[best + 1], (--runs->count - best) * sizeof(*runs->run));
    return offset;
}

static void runs_release(struct runs *runs, uint64_t offset, uint64_t size)
{
    uint32_t low = 0, high = runs->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (runs->run[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool before = low && runs->run[low - 1].offset + runs->run[low - 1].size == offset;
    bool after = low < runs->count && offset + size == runs->run[low].offset;
    if (before && after) {
        runs->run[low - 1].size += size + runs->run[low].size;
        memmove(&runs->run[low], &runs->run[low + 1], (--runs->count - low) * sizeof(*runs->run));
    } else if (before) {
        runs->run[low - 1].size += size;
    } else if (after) {
        runs->run[low].offset = offset;
        runs->run[low].size += size;
    } else {
        memmove(&runs->run[low + 1], &runs->run[low], (runs->count++ - low) * sizeof(*runs->run));
        runs->run[low] = (struct run){ offset, size };
    }
}

/* The timeline's lists are reused for blocks that start (`beginning`) and that have ended (`covering`) at a step. */
static HRESULT place_in_order(struct plan_block *blocks, struct timeline *line, uint32_t count, uint64_t *out_bytes)
{
    struct runs runs = { calloc(count + (size_t)1, sizeof(*runs.run)), 0, 0 };
    HRESULT hr = runs.run ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = count; i-- > 0;) {
        push(line, &line->beginning[blocks[i].first], &blocks[i]);
        push(line, &line->covering[blocks[i].last + 1], &blocks[i]);
    }
    for (uint32_t step = 0; SUCCEEDED(hr) && step < line->steps; step++) {
        for (uint32_t m = line->covering[step]; m; m = line->members[m].next)
            runs_release(&runs, line->members[m].block->offset, line->members[m].block->size);
        for (uint32_t m = line->beginning[step]; SUCCEEDED(hr) && m; m = line->members[m].next) {
            struct plan_block *block = line->members[m].block;
            block->offset = runs_acquire(&runs, block->size);
            hr = check_end(block, out_bytes);
        }
    }
    free(runs.run);
    return hr;
}

/* ---- both ---- */

/* change[i]: bytes that come into use at step i minus those that went out of use after step i - 1 (modulo 2^64). */
static uint64_t most_in_use(const struct plan_block *blocks, uint32_t count, uint64_t *change, uint32_t steps)
{
    uint64_t now = 0, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        change[blocks[i].first] += blocks[i].size;
        change[blocks[i].last + 1] -= blocks[i].size;
    }
    for (uint32_t i = 0; i < steps; i++) {
        now += change[i];
        most = BASE_MAX(most, now);
    }
    return most;
}

/* Pairs of blocks that are in use at the same time, and the sum of the lengths of all lifetimes. */
static uint64_t count_pairs(const struct plan_block *blocks, uint32_t count, uint64_t *alive, uint32_t steps)
{
    uint64_t pairs = 0, now = 0;
    memset(alive, 0, (steps + (size_t)1) * sizeof(*alive));
    for (uint32_t i = 0; i < count; i++) {
        alive[blocks[i].first]++;
        pairs += blocks[i].last - blocks[i].first;
    }
    /* A block that starts overlaps those still in use. */
    uint64_t *ended = calloc(steps + (size_t)1, sizeof(*ended));
    for (uint32_t i = 0; ended && i < count; i++)
        ended[blocks[i].last + 1]++;
    for (uint32_t i = 0; ended && i < steps; i++) {
        now -= ended[i];
        pairs += alive[i] * now + alive[i] * (alive[i] + 1) / 2;
        now += alive[i];
    }
    free(ended);
    return ended ? pairs : UINT64_MAX;
}

/* Maximum entries of the lists of one block: 2 for each level of the tree. */
static uint64_t entries_of(const struct plan_block *block, uint32_t leaves)
{
    uint64_t count = 1;
    for (uint32_t low = block->first + leaves, high = block->last + leaves + 1; low < high; low /= 2, high /= 2) {
        count += (low & 1) + (high & 1);
        low += low & 1;
    }
    return count;
}

static bool timeline_init(struct timeline *line, const struct plan_block *blocks, uint32_t count, uint32_t steps)
{
    uint64_t entries = count + UINT64_C(1);
    for (line->steps = 1; line->steps < steps; line->steps *= 2) { /* up to a power of two */
    }
    for (uint32_t i = 0; i < count; i++)
        entries += entries_of(&blocks[i], line->steps);
    line->covering = calloc(line->steps * (size_t)2 + 1, sizeof(*line->covering));
    line->beginning = calloc(line->steps + (size_t)1, sizeof(*line->beginning));
    line->members = malloc(entries * sizeof(*line->members));
    line->found = malloc((count + (size_t)1) * sizeof(*line->found));
    return line->covering && line->beginning && line->members && line->found;
}

static void timeline_finish(struct timeline *line)
{
    free(line->covering);
    free(line->beginning);
    free(line->members);
    free(line->found);
}

static uint32_t align_sizes(struct plan_block *blocks, uint32_t count, uint32_t alignment)
{
    uint32_t steps = 0;
    for (uint32_t i = 0; i < count; i++) {
        blocks[i].size = BASE_MIN(blocks[i].size, (uint64_t)INT64_MAX);
        blocks[i].size = base_align_up(blocks[i].size, alignment);
        steps = BASE_MAX(steps, blocks[i].last + 1);
    }
    return steps;
}

HRESULT plan_place_blocks(struct plan_block *blocks, uint32_t count, uint32_t alignment, uint64_t *out_bytes,
                          uint64_t *out_least)
{
    struct timeline line = { 0 };
    uint32_t steps = align_sizes(blocks, count, alignment);
    struct plan_block **order = malloc((count + (size_t)1) * sizeof(*order));
    uint64_t *change = calloc(steps + (size_t)1, sizeof(*change));
    HRESULT hr = order && change && timeline_init(&line, blocks, count, steps) ? S_OK : E_OUTOFMEMORY;
    *out_bytes = 0;
    if (SUCCEEDED(hr)) {
        for (uint32_t i = 0; i < count; i++)
            order[i] = &blocks[i];
        *out_least = most_in_use(blocks, count, change, steps);
        hr = count_pairs(blocks, count, change, steps) <= BASE_MAX(PAIRS_MIN, count * (uint64_t)PAIRS_PER_BLOCK)
                 ? place_largest_first(order, &line, count, out_bytes)
                 : place_in_order(blocks, &line, count, out_bytes);
    }
    timeline_finish(&line);
    free(order);
    free(change);
    return hr;
}
