/* SPDX-License-Identifier: Apache-2.0 */
/* MOVE ops that only change order or position of data:
 *   read-through   readers of the copy read the source, through a view (slice, split, transpose, reinterpret)
 *   write-through  the producer of the source writes into the copy directly, and its other readers follow (concat)
 * Copies of adjacent parts are one copy first, so that a concatenation of all parts of another one and more is that one
 * with more (networks whose layers read all layers before them). */
#include "graph/passes/pass.h"

#include <stdlib.h>
#include <string.h>

#define FEW         16 /* uses of a value that are compared one by one */
#define RENAMED_MAX 64 /* uses of a source: with more of them its copies stay */

/* The part of a value that one op writes at the start of this pass: no other op writes there. */
struct part {
    int64_t low, high;  /* positions, in nibbles modulo the period */
    uint32_t read_from; /* position of the first op that reads there */
};

struct parts {
    int64_t period;
    uint32_t read_from; /* of all parts */
    uint32_t count;
    struct part part[]; /* in order */
};

struct views {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_uses uses;
    struct base_arena arena;
    struct parts **parts; /* [value]: NULL except for those with many uses */
    bool divide;          /* pass windows: ops may get more dimensions */
};

/* An element-wise op or a normalisation in more dimensions: each is divided like that of its operand t, so that the
 * operand's dimensions are dimensions of the copy (windows of an image). */
static bool divide_dims(struct graph_op *op, uint32_t t, const struct kern_view *from, const struct kern_view *to)
{
    const struct kern_view shape = op->k.tensors[t];
    uint32_t counts[KERN_RANK_MAX], sizes[KERN_RANK_MAX][KERN_RANK_MAX], axes = 0;
    if ((op->k.kind != KERN_MAP && op->k.kind != KERN_MOVE && op->k.kind != KERN_NORM) ||
        !graph_view_divide(from, to, &shape, counts, sizes))
        return false;
    for (uint32_t i = 0; i < op->k.input_count + op->k.output_count; i++)
        if (op->k.tensors[i].rank != shape.rank ||
            memcmp(op->k.tensors[i].sizes, shape.sizes, shape.rank * sizeof(*shape.sizes)) != 0)
            return false;
    for (uint32_t i = 0; i < op->k.input_count + op->k.output_count; i++) {
        struct kern_view *view = &op->k.tensors[i];
        const struct kern_view old = *view;
        view->rank = 0;
        for (uint32_t d = 0; d < old.rank; d++) {
            const uint32_t first = view->rank;
            int64_t stride = old.strides[d];
            for (uint32_t c = 0; c < counts[d]; c++) {
                const uint32_t at = first + counts[d] - 1 - c;
                view->sizes[at] = sizes[d][c];
                view->strides[at] = stride;
                stride *= sizes[d][c];
                if (i == 0 && op->k.kind == KERN_NORM && op->k.u.norm.axes >> d & 1)
                    axes |= UINT32_C(1) << at;
            }
            view->rank += counts[d];
        }
    }
    if (op->k.kind == KERN_NORM)
        op->k.u.norm.axes = axes;
    return true;
}

/* Operand t of the op, which is one of the value on the `from` side of a copy, as one of the other side; `alone`: the
 * copy has no other reader. Of many readers that are copies, fewer copies would remain with this one. */
static bool through(const struct views *views, struct graph_op *op, uint32_t t, const struct kern_view *from,
                    const struct kern_view *to, bool alone)
{
    struct kern_view *view = &op->k.tensors[t];
    return graph_view_through(from, to, view, view) ||
           (views->divide && (alone || op->k.kind != KERN_MOVE) && divide_dims(op, t, from, to) &&
            graph_view_through(from, to, view, view));
}

/* Every read of value `from` by the op at `reader` becomes one of value `to`; the sides of the copy define the
 * mapping. */
static bool redirect(const struct views *views, uint32_t reader, uint32_t from, const struct kern_view *from_side,
                     uint32_t to, const struct kern_view *to_side, struct graph_op *out)
{
    const bool alone = graph_uses_of(&views->uses, from).reading_ops == 1;
    *out = *views->graph->ops[reader];
    for (uint32_t t = 0; t < out->k.input_count; t++) {
        if (out->value[t] != from)
            continue;
        if (!through(views, out, t, from_side, to_side, alone))
            return false;
        out->value[t] = to;
    }
    /* Two consecutive copies become one, which is always better; other kernels must support the new strides. */
    return out->k.kind == KERN_MOVE || graph_op_no_worse(views->graph, views->options, views->graph->ops[reader], out);
}

static void commit(struct views *views, uint32_t position, const struct graph_op *op)
{
    *views->graph->ops[position] = *op;
    if (!graph_uses_refresh(&views->uses, position))
        views->graph->failed = true;
}

static bool read_through_one(struct views *views, uint32_t move_at, uint32_t reader)
{
    const struct graph_op *move = views->graph->ops[move_at];
    uint32_t source = move->value[0];
    struct graph_op changed;
    if (reader <= move_at || graph_op_writes(views->graph->ops[reader], source) ||
        !graph_stable_between(&views->uses, source, move_at, reader) ||
        !redirect(views, reader, move->value[1], &move->k.tensors[1], source, &move->k.tensors[0], &changed))
        return false;
    commit(views, reader, &changed);
    return true;
}

static bool read_through(struct views *views, uint32_t move_at)
{
    struct graph *graph = views->graph;
    const struct graph_op *move = graph->ops[move_at];
    uint32_t copy = move->value[1];
    bool any = false;
    if (graph->values[copy].place != GRAPH_TEMP || copy == move->value[0] ||
        graph_uses_of(&views->uses, copy).writes != 1)
        return false;
    for (uint32_t at = graph_uses_first_read(&views->uses, copy); at != GRAPH_NONE;
         at = graph_uses_next(&views->uses, at))
        any |= read_through_one(views, move_at, views->uses.pool[at].op);
    if (graph_uses_of(&views->uses, copy).reading_ops == 0)
        any = graph->ops[move_at]->dead = true;
    return any;
}

/* ---- other accesses of the target ---- */

/* Nothing reads the target before the copy, and all other writes are to other parts of it: each of them is checked. */
static bool compare_all(const struct views *views, uint32_t move_at)
{
    const struct graph_uses *uses = &views->uses;
    const struct graph_op *move = views->graph->ops[move_at];
    for (uint32_t writes = 0; writes < 2; writes++) {
        uint32_t at =
            writes ? graph_uses_first_write(uses, move->value[1]) : graph_uses_first_read(uses, move->value[1]);
        for (; at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
            const struct graph_use *use = &uses->pool[at];
            if (use->op != move_at && (writes || use->op < move_at) &&
                !graph_views_disjoint(&views->graph->ops[use->op]->k.tensors[use->tensor], &move->k.tensors[1]))
                return false;
        }
    }
    return true;
}

/* The range of positions, in nibbles modulo the period, that the view covers; false if it wraps. */
static bool interval_of(const struct kern_view *view, int64_t period, int64_t *out_low, int64_t *out_high)
{
    int64_t width = schema_data_type_bits(view->type) / 4, low, high;
    if (!graph_view_bounds(view, &low, &high) || low < 0 || high > INT64_MAX / 64)
        return false;
    low = high = view->offset * width % period;
    for (uint32_t d = 0; d < view->rank; d++) {
        int64_t step = view->strides[d] * width, reach = step * ((int64_t)view->sizes[d] - 1);
        if (step % period)
            *(reach < 0 ? &low : &high) += reach;
    }
    *out_low = low;
    *out_high = high += width - 1;
    return low >= 0 && high < period;
}

static int by_begin(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* The part that contains this position, or the one before it; GRAPH_NONE: it precedes all parts. */
static uint32_t find_part(const struct parts *parts, int64_t place)
{
    uint32_t low = 0, high = parts->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (parts->part[middle].low <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : GRAPH_NONE;
}

/* All writes of the value, if they are disjoint modulo the period. */
static bool split_writes(const struct views *views, uint32_t value, int64_t period, struct parts *parts)
{
    const struct graph_uses *uses = &views->uses;
    parts->period = period;
    parts->count = 0;
    for (uint32_t at = graph_uses_first_write(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
        const struct graph_use *use = &uses->pool[at];
        struct part *part = &parts->part[parts->count++];
        part->read_from = GRAPH_NONE;
        if (!interval_of(&views->graph->ops[use->op]->k.tensors[use->tensor], period, &part->low, &part->high))
            return false;
    }
    qsort(parts->part, parts->count, sizeof(*parts->part), by_begin);
    for (uint32_t i = 1; i < parts->count; i++)
        if (parts->part[i].low <= parts->part[i - 1].high)
            return false;
    return true;
}

/* The position of the first read of each part. Reads of many parts apply to all. */
static void note_reads(const struct views *views, uint32_t value, struct parts *parts)
{
    const struct graph_uses *uses = &views->uses;
    int64_t low, high;
    for (uint32_t at = graph_uses_first_read(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
        const struct graph_use *use = &uses->pool[at];
        bool inside = interval_of(&views->graph->ops[use->op]->k.tensors[use->tensor], parts->period, &low, &high);
        uint32_t first = inside ? find_part(parts, low) : 0, last = inside ? find_part(parts, high) : 0;
        first = first == GRAPH_NONE ? 0 : first;
        if (!inside || (last != GRAPH_NONE && last - first > FEW))
            parts->read_from = BASE_MIN(parts->read_from, use->op);
        for (; last != GRAPH_NONE && first <= last && last - first <= FEW; first++)
            parts->part[first].read_from = BASE_MIN(parts->part[first].read_from, use->op);
    }
}

/* The parts of a value with many writes that the op writes to by `view`; count 0: not known to be disjoint. */
static struct parts *parts_of(struct views *views, uint32_t value, const struct kern_view *view)
{
    const struct graph_uses *uses = &views->uses;
    int64_t width = schema_data_type_bits(view->type) / 4;
    uint32_t writes = 0;
    if (views->parts[value])
        return views->parts[value];
    for (uint32_t at = graph_uses_first_write(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at))
        writes++;
    struct parts *parts = base_arena_alloc(&views->arena, sizeof(*parts) + writes * sizeof(*parts->part));
    if (!parts)
        return NULL;
    parts->read_from = GRAPH_NONE;
    bool apart = split_writes(views, value, INT64_MAX, parts);
    for (uint32_t d = 0; !apart && d < view->rank; d++)
        apart = view->strides[d] > 0 && view->sizes[d] > 1 && view->strides[d] < INT64_MAX / width &&
                split_writes(views, value, view->strides[d] * width, parts);
    if (apart)
        note_reads(views, value, parts);
    else
        parts->count = 0;
    return views->parts[value] = parts;
}

static bool has_few_uses(const struct graph_uses *uses, uint32_t value, uint32_t few)
{
    uint32_t count = 0;
    for (uint32_t at = graph_uses_first_write(uses, value); at != GRAPH_NONE && count <= few;
         at = graph_uses_next(uses, at))
        count++;
    for (uint32_t at = graph_uses_first_read(uses, value); at != GRAPH_NONE && count <= few;
         at = graph_uses_next(uses, at))
        count++;
    return count <= few;
}

/* Nothing reads the target before the copy, and all other writes are to other parts of it. *out_part: the copy's, or
 * NULL. */
static bool target_free(struct views *views, uint32_t move_at, struct part **out_part)
{
    const struct graph_op *move = views->graph->ops[move_at];
    int64_t low, high;
    *out_part = NULL;
    if (has_few_uses(&views->uses, move->value[1], FEW))
        return compare_all(views, move_at);
    struct parts *parts = parts_of(views, move->value[1], &move->k.tensors[1]);
    if (!parts || !parts->count || !interval_of(&move->k.tensors[1], parts->period, &low, &high))
        return compare_all(views, move_at);
    uint32_t at = find_part(parts, low);
    if (at == GRAPH_NONE || high > parts->part[at].high ||
        BASE_MIN(parts->part[at].read_from, parts->read_from) < move_at)
        return compare_all(views, move_at);
    *out_part = &parts->part[at];
    return true;
}

/* The source is complete when it is copied: a later write would not reach the target. */
static bool all_before(const struct views *views, uint32_t move_at)
{
    return graph_stable_between(&views->uses, views->graph->ops[move_at]->value[0], move_at, views->graph->op_count);
}

/* The op with every operand in the copy's source turned into one in its target. */
static bool rename_source(const struct views *views, uint32_t move_at, uint32_t position, struct graph_op *out)
{
    const struct graph_op *move = views->graph->ops[move_at];
    *out = *views->graph->ops[position];
    bool writes = graph_op_writes(out, move->value[0]);
    for (uint32_t t = 0; t < out->k.input_count + out->k.output_count; t++) {
        struct kern_view *view = &out->k.tensors[t];
        /* An op that will write there must not read there. */
        if (writes && t < out->k.input_count && out->value[t] == move->value[1] &&
            !graph_views_disjoint(view, &move->k.tensors[1]))
            return false;
        if (out->value[t] != move->value[0])
            continue;
        if (!through(views, out, t, &move->k.tensors[0], &move->k.tensors[1], true))
            return false;
        out->value[t] = move->value[1];
    }
    return out->k.kind == KERN_MOVE ||
           graph_op_no_worse(views->graph, views->options, views->graph->ops[position], out);
}

/* Its uses but the copy: first a trial (`apply` false), then the change itself. */
static bool rename_uses(struct views *views, uint32_t move_at, uint32_t at, bool apply)
{
    struct graph_op changed;
    for (; at != GRAPH_NONE; at = graph_uses_next(&views->uses, at)) {
        uint32_t position = views->uses.pool[at].op;
        if (position == move_at)
            continue;
        if (!rename_source(views, move_at, position, &changed))
            return false;
        if (apply)
            commit(views, position, &changed);
    }
    return true;
}

static bool rename_all(struct views *views, uint32_t move_at, bool apply)
{
    uint32_t source = views->graph->ops[move_at]->value[0];
    return rename_uses(views, move_at, graph_uses_first_write(&views->uses, source), apply) &&
           rename_uses(views, move_at, graph_uses_first_read(&views->uses, source), apply);
}

/* ---- adjacent parts ---- */

static bool append_in(struct graph_op *first, const struct graph_op *second, uint32_t d)
{
    struct kern_view from = first->k.tensors[0], to = first->k.tensors[1];
    const uint64_t size = (uint64_t)from.sizes[d] + second->k.tensors[0].sizes[d];
    int64_t step_from, step_to;
    if (size > UINT32_MAX || !graph_view_follows(&from, &second->k.tensors[0], d, &step_from) ||
        !graph_view_follows(&to, &second->k.tensors[1], d, &step_to))
        return false;
    from.sizes[d] = to.sizes[d] = (uint32_t)size;
    from.strides[d] = step_from;
    to.strides[d] = step_to;
    if (!graph_view_injective(&to)) /* the second copy replaces what the first one wrote */
        return false;
    first->k.tensors[0] = from;
    first->k.tensors[1] = to;
    return true;
}

static void add_dimension(struct kern_view *view)
{
    memmove(view->sizes + 1, view->sizes, view->rank * sizeof(*view->sizes));
    memmove(view->strides + 1, view->strides, view->rank * sizeof(*view->strides));
    view->sizes[0] = 1;
    view->strides[0] = 0;
    view->rank++;
}

/* Preferably in a dimension that the parts have: single elements can be put together in any, and in a new one. */
static bool append(struct graph_op *first, const struct graph_op *second)
{
    const struct kern_view *from = &first->k.tensors[0], *other = &second->k.tensors[0];
    struct graph_op wide = *first, wide_second = *second;
    if (from->rank != first->k.tensors[1].rank || from->rank != other->rank)
        return false;
    for (uint32_t single = 0; single < 2; single++)
        for (uint32_t d = 0; d < from->rank; d++)
            if ((from->sizes[d] == 1 && other->sizes[d] == 1) == single && append_in(first, second, d))
                return true;
    if (from->rank == KERN_RANK_MAX)
        return false;
    for (uint32_t side = 0; side < 2; side++) {
        add_dimension(&wide.k.tensors[side]);
        add_dimension(&wide_second.k.tensors[side]);
    }
    if (!append_in(&wide, &wide_second, 0))
        return false;
    *first = wide;
    return true;
}

/* The copies right behind this one that copy the following parts of the same value to the following places become part
 * of it. */
static void merge_following(struct views *views, uint32_t move_at)
{
    struct graph *graph = views->graph;
    struct graph_op *move = graph->ops[move_at], merged = *move;
    bool any = false;
    for (uint32_t i = move_at + 1; i < graph->op_count; i++) {
        struct graph_op *other = graph->ops[i];
        if (other->dead)
            continue;
        if (other->k.kind != KERN_MOVE || other->value[0] != move->value[0] || other->value[1] != move->value[1] ||
            move->value[0] == move->value[1] || !append(&merged, other))
            break;
        graph_op_join(&merged, other);
        other->dead = any = true;
    }
    if (any)
        commit(views, move_at, &merged);
}

/* Copies that have become adjacent because they read the same value now. */
static void merge_readers(struct views *views, uint32_t value)
{
    uint32_t at = graph_uses_first_read(&views->uses, value);
    for (uint32_t i = 0; at != GRAPH_NONE && i < RENAMED_MAX; i++, at = graph_uses_next(&views->uses, at)) {
        const uint32_t reader = views->uses.pool[at].op;
        if (views->graph->ops[reader]->k.kind == KERN_MOVE)
            merge_following(views, reader);
    }
}

/* ---- writing through ---- */

/* The source becomes the part of the target to which it would be copied: its own bytes are then not needed. */
static bool write_through(struct views *views, uint32_t move_at)
{
    struct graph *graph = views->graph;
    struct graph_op *move = graph->ops[move_at];
    uint32_t source = move->value[0], target = move->value[1];
    enum graph_place place = graph->values[target].place;
    struct part *part;
    if (graph->values[source].place != GRAPH_TEMP || (place != GRAPH_TEMP && place != GRAPH_OUTPUT) ||
        source == target || !has_few_uses(&views->uses, source, RENAMED_MAX) ||
        !graph_uses_of(&views->uses, source).writes || !target_free(views, move_at, &part) ||
        !all_before(views, move_at) || !rename_all(views, move_at, false))
        return false;
    rename_all(views, move_at, true);
    if (part) /* the new reads and writes there belong to no known part */
        part->read_from = 0;
    move->dead = true;
    merge_readers(views, target);
    return true;
}

static HRESULT without_copies(struct graph *graph, const struct graph_options *options, bool divide, bool *changed)
{
    struct views views = { .graph = graph, .options = options, .divide = divide };
    views.parts = calloc(graph->value_count + (size_t)1, sizeof(*views.parts));
    bool ok = graph_uses_init(&views.uses, graph) && views.parts;
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        if (graph->ops[i]->dead || graph->ops[i]->k.kind != KERN_MOVE)
            continue;
        merge_following(&views, i);
        *changed |= read_through(&views, i);
        if (!graph->ops[i]->dead)
            *changed |= write_through(&views, i);
    }
    free(views.parts);
    base_arena_finish(&views.arena);
    graph_uses_finish(&views.uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}

HRESULT graph_pass_views(struct graph *graph, const struct graph_options *options, bool *changed)
{
    return without_copies(graph, options, false, changed);
}

/* After the fusions, which compare dimensions. */
HRESULT graph_pass_windows(struct graph *graph, const struct graph_options *options, bool *changed)
{
    return without_copies(graph, options, true, changed);
}
