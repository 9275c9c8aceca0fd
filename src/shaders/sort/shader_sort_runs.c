/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/sort/shader_sort_runs.h"

struct sort_merge_params shader_runs_merge(const struct shader_runs *runs, uint32_t index)
{
    struct sort_merge_params params = {
        .runs = runs->parts, .stored = BASE_MIN(SORT_CHUNK, runs->kept), .covered = SORT_CHUNK, .size = runs->length
    };
    for (uint32_t i = 0; i < index; i++) {
        params.runs = (params.runs + 1) / 2;
        params.covered *= 2;
        params.stored = BASE_MIN(params.covered, runs->kept);
    }
    params.next_stored = (uint32_t)BASE_MIN(UINT64_C(2) * params.covered, runs->kept);
    params.from = index % 2 ? (uint32_t)runs->capacity : 0;
    params.to = index % 2 ? 0 : (uint32_t)runs->capacity;
    return params;
}

static uint64_t items_of(const struct shader_runs *runs, const struct sort_merge_params *params)
{
    return runs->lines * params->runs * params->stored;
}

struct shader_runs shader_runs(uint64_t lines, uint32_t length, uint32_t kept, bool wide)
{
    struct shader_runs runs = { lines, length, kept, length / SORT_CHUNK + (length % SORT_CHUNK > 0), wide };
    for (;; runs.merges++) {
        const struct sort_merge_params params = shader_runs_merge(&runs, runs.merges);
        runs.capacity = BASE_MAX(runs.capacity, items_of(&runs, &params));
        if (params.runs == 1)
            return runs;
    }
}

uint64_t shader_runs_scratch_bytes(const struct shader_runs *runs)
{
    return 2 * runs->capacity * (runs->wide ? 12 : 8);
}

void shader_runs_plan(const struct shader_runs *runs, const struct kern_op *op, struct shader_work *out)
{
    for (uint32_t i = 0; i < runs->merges; i++) {
        const struct sort_merge_params params = shader_runs_merge(runs, i);
        struct shader_dispatch *dispatch = shader_add(out, runs->wide ? SHADER_sort_merge_wide : SHADER_sort_merge, op,
                                                      items_of(runs, &params), SHADER_GROUP_SIZE, sizeof(params));
        dispatch->constant_count = 0; /* it reads no tensor: one pipeline for all types */
    }
}

void shader_runs_write(const struct shader_runs *runs, const struct kern_op *op, uint32_t merge,
                       const struct shader_place *places, uint32_t *words)
{
    const struct sort_merge_params params = shader_runs_merge(runs, merge);
    shader_block_write(op, places, items_of(runs, &params), &params, sizeof(params), words);
}
