/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SCRATCH_GUARD = 256, SCRATCH_POISON = 0x9b };

bool check_set_create(struct check_set *set, const struct check_case *c, struct check_rng *rng)
{
    const struct kern_op *op = &c->op;
    memset(set, 0, sizeof(*set));
    set->count = op->input_count + op->output_count;
    for (uint32_t i = 0; i < set->count; i++) {
        if (!check_buffer_create(&set->buffers[i], &op->tensors[i]))
            return false;
        if (i < op->input_count)
            check_buffer_fill(&set->buffers[i], &op->tensors[i], rng, c->data[i], c->index_limit[i]);
    }
    return true;
}

void check_set_destroy(struct check_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        check_buffer_destroy(&set->buffers[i]);
}

struct scratch {
    uint8_t *block;
    uint8_t *data;
    size_t size;
};

static bool scratch_create(struct scratch *scratch, uint64_t size)
{
    scratch->size = size;
    scratch->block = malloc(size + 2 * SCRATCH_GUARD + 64);
    if (!scratch->block)
        return false;
    memset(scratch->block, SCRATCH_POISON, size + 2 * SCRATCH_GUARD + 64);
    scratch->data = (uint8_t *)base_align_up((uintptr_t)scratch->block + SCRATCH_GUARD, 64);
    return true;
}

static bool scratch_guarded(const struct scratch *scratch)
{
    for (size_t i = 0; i < SCRATCH_GUARD; i++)
        if (scratch->data[scratch->size + i] != SCRATCH_POISON || scratch->data[-1 - (ptrdiff_t)i] != SCRATCH_POISON)
            return false;
    return true;
}

/* Neighbouring threads get neighbouring ranges; each starts with its scratch in any state. Rows whose grain is all
 * units must not be cut (4-bit outputs). */
static const char *run_ranges(const struct kern_row *row, struct kern_call *call, const struct kern_work *work,
                              void **data, struct check_rng *rng)
{
    struct scratch shared, own;
    bool whole = work->grain >= work->units;
    whole &= !check_chance(rng, 2) || kern_type_bytes(call->op->tensors[call->op->input_count].type) == 0;
    if (!scratch_create(&shared, work->scratch_bytes))
        return "out of memory";
    if (!scratch_create(&own, work->worker_scratch_bytes))
        return free(shared.block), "out of memory";
    call->scratch = shared.data;
    call->worker_scratch = own.data;
    kern_pack_first(row, work, call, data);
    for (uint64_t begin = 0; begin < work->units;) {
        uint64_t left = work->units - begin;
        uint64_t count = whole ? left : 1 + check_next(rng) % left;
        row->run(call, begin, begin + count);
        memset(own.data, 0xff, own.size);
        begin += count;
    }
    bool guarded = scratch_guarded(&shared) && scratch_guarded(&own);
    free(shared.block);
    free(own.block);
    return guarded ? NULL : "wrote outside its scratch memory";
}

/* Packs the input that the row wants packed; true when it did. */
static bool pack(const struct kern_row *row, struct kern_op *op, void **data, void **out_packed)
{
    uint32_t input = 0;
    uint64_t bytes = 0;
    if (!row->pack_plan || !row->pack_plan(op, &input, &bytes) || input + 1 != op->packed_input)
        return false;
    *out_packed = aligned_alloc(256, base_align_up(bytes, 256));
    if (!*out_packed)
        return false;
    row->pack(op, data[input], *out_packed);
    data[input] = *out_packed;
    return true;
}

/* More threads than CPUs, too: work is cut by their number. */
static uint32_t some_threads(struct check_rng *rng)
{
    return check_chance(rng, 2) ? 1 : 1 + (uint32_t)(check_next(rng) % 16);
}

static const char *run_prepared(const struct kern_row *row, struct kern_op *op, void **data, bool packing,
                                struct check_rng *rng, bool *out_ran)
{
    const uint32_t threads = some_threads(rng);
    void *packed = NULL;
    struct kern_work work = { 0 };
    const char *problem = NULL;
    op->packed_input = packing ? 2 : 0;
    op->threads = (uint16_t)threads;
    *out_ran = row->accepts(op);
    if (!*out_ran)
        return NULL;
    if (packing && !pack(row, op, data, &packed))
        *out_ran = false;
    if (*out_ran) {
        struct kern_call call = { .op = op, .data = data };
        row->plan(op, threads, &work);
        op->cut = check_chance(rng, 2) ? work.cut : 0;
        struct base_team before = base_parallel_enter(threads);
        problem = work.units && work.grain ? run_ranges(row, &call, &work, data, rng) : "planned no work";
        base_parallel_leave(before);
    }
    free(packed);
    return problem;
}

const char *check_run(const struct kern_row *row, const struct kern_op *op, const struct check_set *set,
                      const struct check_buffer *outputs, struct check_rng *rng, bool *out_ran)
{
    struct kern_op copy = *op;
    void *data[KERN_TENSORS_MAX];
    bool packing = row->pack_plan && (check_chance(rng, 2) || !row->accepts(&copy));
    for (uint32_t i = 0; i < set->count; i++)
        data[i] = i < op->input_count ? set->buffers[i].data : outputs[i - op->input_count].data;
    const char *problem = run_prepared(row, &copy, data, packing, rng, out_ran);
    if (problem || *out_ran || !packing || !row->accepts(op))
        return problem;
    return run_prepared(row, &copy, data, false, rng, out_ran);
}

const struct kern_row *check_reference(enum kern_kind kind)
{
    uint32_t count;
    const struct kern_row *rows = kern_rows(&count), *last = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].kind == kind)
            last = &rows[i];
    return last;
}

bool check_accepts(const struct kern_row *row, const struct kern_op *op)
{
    struct kern_op packed = *op;
    packed.packed_input = row->pack_plan ? 2 : 0;
    return row->accepts(op) || row->accepts(&packed);
}

/* Of this process, whose only running thread calls: others on the machine would count otherwise. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double check_time(const struct kern_row *row, const struct kern_op *op, const struct check_set *set)
{
    struct kern_work work = { 0 };
    struct kern_op copy = *op;
    void *data[KERN_TENSORS_MAX], *packed = NULL;
    double best = 1e9, stop = now() + 0.15;
    for (uint32_t i = 0; i < set->count; i++)
        data[i] = set->buffers[i].data;
    copy.packed_input = row->pack_plan ? 2 : 0; /* weights are constant more often than not */
    if (row->pack_plan && !pack(row, &copy, data, &packed)) {
        copy.packed_input = 0;
    }
    row->plan(&copy, 1, &work);
    void *shared = aligned_alloc(64, base_align_up(work.scratch_bytes + 64, 64));
    void *own = aligned_alloc(64, base_align_up(work.worker_scratch_bytes + 64, 64));
    struct kern_call call = { .op = &copy, .data = data, .scratch = shared, .worker_scratch = own };
    for (uint32_t i = 0; shared && own && (i < 2 || now() < stop); i++) {
        double start = now();
        kern_pack_first(row, &work, &call, data);
        row->run(&call, 0, work.units);
        best = BASE_MIN(best, now() - start);
    }
    free(shared);
    free(own);
    free(packed);
    return best;
}
