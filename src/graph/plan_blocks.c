/* Offline placement: the largest block first, each into the smallest gap between those already placed that are in use
 * at the same time. */
#include "graph/plan.h"

#include <stdlib.h>

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

/* `placed` is sorted by offset. */
static uint64_t find_gap(const struct plan_block *block, struct plan_block *const *placed, uint32_t count)
{
    uint64_t end = 0, best = UINT64_MAX, best_size = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_block *other = placed[i];
        if (other->last < block->first || other->first > block->last)
            continue;
        if (other->offset > end && other->offset - end >= block->size && other->offset - end < best_size) {
            best = end;
            best_size = other->offset - end;
        }
        end = BASE_MAX(end, other->offset + other->size);
    }
    return best != UINT64_MAX ? best : end;
}

static void insert(struct plan_block **placed, uint32_t count, struct plan_block *block)
{
    for (; count && placed[count - 1]->offset > block->offset; count--)
        placed[count] = placed[count - 1];
    placed[count] = block;
}

static HRESULT place_all(struct plan_block **order, struct plan_block **placed, uint32_t count, uint64_t *out_bytes)
{
    uint64_t end;
    *out_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        order[i]->offset = find_gap(order[i], placed, i);
        if (!base_add_u64(order[i]->offset, order[i]->size, &end) || end > INT64_MAX)
            return E_OUTOFMEMORY;
        insert(placed, i, order[i]);
        *out_bytes = BASE_MAX(*out_bytes, end);
    }
    return S_OK;
}

/* change[i]: bytes that come into use at step i, less those that went out of use after step i - 1 (modulo 2^64). */
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

HRESULT plan_place_blocks(struct plan_block *blocks, uint32_t count, uint64_t *out_bytes, uint64_t *out_least)
{
    uint32_t steps = 0;
    for (uint32_t i = 0; i < count; i++) {
        blocks[i].size = BASE_MIN(blocks[i].size, (uint64_t)INT64_MAX);
        blocks[i].size = base_align_up(blocks[i].size, PLAN_ALIGN);
        steps = BASE_MAX(steps, blocks[i].last + 1);
    }
    struct plan_block **order = calloc((size_t)count * 2 + 1, sizeof(*order));
    uint64_t *change = calloc((size_t)steps + 1, sizeof(*change));
    HRESULT hr = order && change ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++)
        order[i] = &blocks[i];
    if (SUCCEEDED(hr)) {
        qsort(order, count, sizeof(*order), by_size);
        hr = place_all(order, order + count, count, out_bytes);
    }
    if (SUCCEEDED(hr))
        *out_least = most_in_use(blocks, count, change, steps);
    free(order);
    free(change);
    return hr;
}
