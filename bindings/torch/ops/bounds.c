/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that must be in range: builders record them, and calls check them before they run. */
#include "device.h"
#include "base/half.h"
#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void aten_bound(struct aten_graph *g, const struct aten_node *n, struct aten_bound bound)
{
    if (bound.rule != ATEN_BOUND_ORDER && !aten_is_tensor(n, bound.argument) &&
        (!aten_given(n, bound.argument) || n->args[bound.argument].kind != ATEN_TENSORS))
        return;
    struct aten_bound *all = aten_alloc(g, (g->bound_count + 1u) * sizeof(*all));
    if (!all)
        return;
    if (g->bound_count)
        memcpy(all, g->bounds, g->bound_count * sizeof(*all));
    all[g->bound_count++] = bound;
    g->bounds = all;
}

static bool inside(const struct aten_bound *bound, int64_t index)
{
    return (index >= (bound->from_end ? -bound->size : 0) && index < bound->size) ||
           (bound->ignores && index == bound->ignored);
}

static int64_t element(const struct aten_tensor *t, int64_t at)
{
    return t->type == ATEN_INT32 ? ((const int32_t *)t->data)[at] : ((const int64_t *)t->data)[at];
}

static double chance(const struct aten_tensor *t, int64_t at)
{
    union {
        uint32_t bits;
        float value;
    } wide;
    switch (t->type) {
    case ATEN_FLOAT64:
        return ((const double *)t->data)[at];
    case ATEN_FLOAT16:
        return base_half_to_float(((const uint16_t *)t->data)[at]);
    case ATEN_BFLOAT16:
        wide.bits = (uint32_t)((const uint16_t *)t->data)[at] << 16;
        return wide.value;
    default:
        return ((const float *)t->data)[at];
    }
}

/* Checks one row of probabilities; *out_index: 1 if they are all 0. */
static bool all_chances(const struct aten_tensor *t, int64_t at, int64_t *out_index)
{
    const uint32_t last = t->rank - 1;
    bool some = false;
    for (int64_t i = 0; i < t->sizes[last]; i++) {
        const double x = chance(t, at + i * t->strides[last]);
        if (!(x >= 0 && x < INFINITY))
            return false;
        some = some || x > 0;
    }
    *out_index = !some;
    return some;
}

/* Checks numbers from 0 to 1, along the last dimension or of a tensor of rank 0. */
static bool all_shares(const struct aten_tensor *t, int64_t at)
{
    const int64_t size = t->rank ? t->sizes[t->rank - 1] : 1, stride = t->rank ? t->strides[t->rank - 1] : 0;
    bool all = true;
    for (int64_t i = 0; i < size && all; i++) {
        const double x = chance(t, at + i * stride);
        all = x >= 0 && x <= 1;
    }
    return all;
}

/* Checks the dimensions from `dim` on; *out_index: the first index that is out of range. */
static bool all_inside(const struct aten_bound *bound, const struct aten_tensor *t, uint32_t dim, int64_t at,
                       int64_t *out_index)
{
    if (dim + 1 == t->rank && bound->rule == ATEN_BOUND_CHANCE)
        return all_chances(t, at, out_index);
    if (dim + 1 >= t->rank && bound->rule == ATEN_BOUND_SHARE)
        return all_shares(t, at);
    if (dim == t->rank) {
        *out_index = element(t, at);
        return inside(bound, *out_index);
    }
    for (int64_t i = 0; i < t->sizes[dim]; i++)
        if (!all_inside(bound, t, dim + 1, at + i * t->strides[dim], out_index))
            return false;
    return true;
}

static void describe(const struct aten_bound *bound, int64_t index, char *message)
{
    const int64_t size = bound->size;
    const uint32_t dim = bound->dimension;
    switch (bound->rule) {
    case ATEN_BOUND_DIMENSION:
        snprintf(message, ATEN_MESSAGE_BYTES, "index %" PRId64 " is out of bounds for dimension %u with size %" PRId64,
                 index, dim, size);
        break;
    case ATEN_BOUND_COPY:
        snprintf(message, ATEN_MESSAGE_BYTES,
                 "index_copy_(): index %" PRId64 " is out of bounds for dimension %u with size %" PRId64, index, dim,
                 size);
        break;
    case ATEN_BOUND_SELF:
        snprintf(message, ATEN_MESSAGE_BYTES, "index out of range in self");
        break;
    case ATEN_BOUND_ELEMENTS:
        snprintf(message, ATEN_MESSAGE_BYTES,
                 "out of range: tried to access index %" PRId64 " on a tensor of %" PRId64 " elements.", index, size);
        break;
    case ATEN_BOUND_CLASS:
        snprintf(message, ATEN_MESSAGE_BYTES, "Target %" PRId64 " is out of bounds.", index);
        break;
    case ATEN_BOUND_ORDER:
        snprintf(message, ATEN_MESSAGE_BYTES, "uniform_ expects to return a [from, to) range, but from > to");
        break;
    case ATEN_BOUND_CHANCE:
        snprintf(message, ATEN_MESSAGE_BYTES,
                 index ? "invalid multinomial distribution (sum of probabilities <= 0)"
                       : "probability tensor contains either `inf`, `nan` or element < 0");
        break;
    case ATEN_BOUND_SHARE:
        snprintf(message, ATEN_MESSAGE_BYTES, "all elements of %s should be between 0 and 1", dim ? "target" : "input");
        break;
    case ATEN_BOUND_PLACE:
        snprintf(message, ATEN_MESSAGE_BYTES,
                 "Found an invalid max index: %" PRId64 " (an output plane has %" PRId64 " elements)", index, size);
        break;
    }
}

static double number(const struct aten_arg *arg)
{
    return arg->kind == ATEN_REAL ? arg->real : (double)arg->integer;
}

bool aten_in_bounds(const struct aten_plan *plan, const struct aten_arg *args, char message[ATEN_MESSAGE_BYTES])
{
    for (uint32_t i = 0; i < plan->bound_count; i++) {
        const struct aten_bound *bound = &plan->bounds[i];
        if (bound->rule == ATEN_BOUND_ORDER) {
            if (number(&args[bound->argument]) <= number(&args[bound->element]))
                continue;
            describe(bound, 0, message);
            return false;
        }
        const struct aten_tensor *t = &args[bound->argument].tensors[bound->element];
        int64_t index = 0;
        const bool known = t->type == ATEN_INT32 || t->type == ATEN_INT64 || bound->rule == ATEN_BOUND_CHANCE ||
                           bound->rule == ATEN_BOUND_SHARE;
        if (t->data && known && !all_inside(bound, t, 0, 0, &index)) {
            describe(bound, index, message);
            return false;
        }
    }
    return true;
}
