/* Moves that weave few rows into one, or take one apart into few: blocks of pixels, images of few channels. */
#include "kernels/move.h"
#include "kernels/stream.h"

enum {
    LEAST = 16,          /* shorter rows are not worth it */
    UNIT_BYTES = 8192,   /* of each of the rows */
    PIECE_BYTES = 8192,  /* of all rows on their way past the caches */
    FAR_ROW_BYTES = 512, /* shorter ones gain nothing from going past them */
};

/* weaves: out[j * ways + i] = in[j + i * stride]; else out[j + i * stride] = in[j * ways + i] */
struct weave_plan {
    struct kern_walk outer; /* the other dimensions, then the units of the rows */
    bool weaves, far;
    uint32_t ways;
    int64_t stride;
    uint64_t length, unit; /* elements of a row, of its part in a unit */
};

/* The dimensions of a few rows and of their elements, in the order of the output's memory. */
static bool find_rows(const struct kern_walk *walk, bool *weaves, uint32_t *few, uint32_t *along)
{
    const uint32_t row = walk->rank - 1;
    if (walk->strides[0][row] != 1)
        return false;
    for (uint32_t d = 0; d < row; d++) {
        *weaves = walk->strides[1][d] == 1 && walk->strides[0][d] == (int64_t)walk->sizes[row];
        *few = *weaves ? row : d;
        *along = *weaves ? d : row;
        const bool parts = walk->strides[1][d] == 1 && walk->strides[1][row] == (int64_t)walk->sizes[d];
        if ((*weaves || parts) && MOVE_WAYS(walk->sizes[*few]) && walk->sizes[*along] >= LEAST)
            return true;
    }
    return false;
}

static bool plan_init(struct weave_plan *plan, const struct kern_op *op)
{
    const uint32_t tensors[] = { 1, 0 }, bytes = kern_type_bytes(op->tensors[0].type);
    struct kern_walk walk, *outer = &plan->outer;
    uint32_t few, along;
    kern_walk_init(&walk, op, tensors, 2, UINT32_MAX, 0);
    if (!find_rows(&walk, &plan->weaves, &few, &along))
        return false;
    plan->ways = (uint32_t)walk.sizes[few];
    plan->stride = walk.strides[plan->weaves][few];
    plan->length = walk.sizes[along];
    plan->unit = BASE_MIN(plan->length, UNIT_BYTES / bytes);
    plan->far =
        kern_streams(&op->tensors[1]) && plan->length * bytes * (plan->weaves ? plan->ways : 1) >= FAR_ROW_BYTES;
    *outer = (struct kern_walk){ .views = 2, .count = 1 };
    for (uint32_t d = 0; d <= walk.rank; d++) {
        if (d == few || d == along)
            continue;
        const bool units = d == walk.rank;
        const uint32_t at = outer->rank++;
        outer->sizes[at] = units ? (plan->length + plan->unit - 1) / plan->unit : walk.sizes[d];
        for (uint32_t v = 0; v < 2; v++)
            outer->strides[v][at] = units ? (int64_t)plan->unit * walk.strides[v][along] : walk.strides[v][d];
        outer->count *= outer->sizes[at];
    }
    return true;
}

bool kern_move_weave_accepts(const struct kern_op *op)
{
    struct weave_plan plan;
    return kern_move_any_accepts(op) && kern_type_bytes(op->tensors[0].type) && plan_init(&plan, op);
}

void kern_move_weave_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct weave_plan plan;
    (void)state;
    (void)threads;
    plan_init(&plan, op);
    *out = (struct kern_work){ .units = plan.outer.count, .grain = BASE_MAX(1, 65536 / plan.unit / plan.ways) };
}

static void run_unit(const struct weave_plan *plan, const struct move_isa *isa, uint32_t bytes, char *out,
                     const char *in, uint64_t count)
{
    if (plan->weaves)
        isa->weave[bytes](out, in, plan->stride, count, plan->ways);
    else
        isa->unweave[bytes](out, in, plan->stride, count, plan->ways);
}

/* Piece by piece by way of the nearest cache. */
static void run_far(const struct weave_plan *plan, const struct move_isa *isa, uint32_t bytes, char *out,
                    const char *in, uint64_t count)
{
    _Alignas(64) char piece[PIECE_BYTES];
    const uint64_t most = PIECE_BYTES / bytes / plan->ways / LEAST * LEAST, group = (uint64_t)plan->ways * bytes;
    for (uint64_t at = 0; at < count; at += most) {
        const uint64_t n = BASE_MIN(count - at, most);
        if (plan->weaves) {
            isa->weave[bytes](piece, in + at * bytes, plan->stride, n, plan->ways);
            kern_stream(out + at * group, piece, n * group);
            continue;
        }
        isa->unweave[bytes](piece, in + at * group, (int64_t)most, n, plan->ways);
        for (uint32_t i = 0; i < plan->ways; i++)
            kern_stream(out + ((int64_t)at + i * plan->stride) * bytes, piece + i * most * bytes, n * bytes);
    }
}

void move_weave_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end)
{
    const uint32_t bytes = kern_type_bytes(call->op->tensors[0].type);
    struct weave_plan plan;
    struct kern_cursor cursor;
    plan_init(&plan, call->op);
    const uint32_t last = plan.outer.rank - 1;
    kern_cursor_seek(&plan.outer, begin, &cursor);
    for (; begin < end; begin++) {
        const uint64_t at = cursor.index[last], count = BASE_MIN(plan.unit, plan.length - at * plan.unit);
        char *out = (char *)call->data[1] + cursor.offset[0] * bytes;
        const char *in = (const char *)call->data[0] + cursor.offset[1] * bytes;
        if (plan.far)
            run_far(&plan, isa, bytes, out, in, count);
        else
            run_unit(&plan, isa, bytes, out, in, count);
        if (at + 1 < plan.outer.sizes[last])
            kern_cursor_skip(&plan.outer, &cursor, 1);
        else
            kern_cursor_next_row(&plan.outer, &cursor);
    }
    if (plan.far)
        kern_stream_end();
}
