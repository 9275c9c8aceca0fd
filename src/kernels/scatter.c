/* Scatter for any layout. Dimensions are of three sorts: `free` ones, which Y and the updates share (all but the axis,
 * or what follows the tuple), `places`, which indices point into, and `picks`, along which the indices are listed.
 *
 * A unit of work is one place of one block of free elements. Whoever gets a range of units owns that part of Y: it
 * copies the part from X, then goes through all picks in order and takes those that lead into the part. So threads
 * never meet, and of several updates of one element the last wins. */
#include "kernels/dense.h"
#include "kernels/scatter.h"
#include "kernels/walk.h"

enum { FREE_Y, FREE_X, FREE_UPDATES, FREE_INDICES, FREE_VIEWS };
enum { PICK_INDICES, PICK_UPDATES };
enum { ROW_BYTES = 1 << 16, SHORT_PICKS = 64 };

struct plan {
    struct kern_walk free, places, picks;
    struct index_lookup lookup; /* offsets in Y */
    uint32_t bytes;
    uint64_t row;    /* elements along free's last dimension */
    uint64_t block;  /* at most so many of them are treated together */
    uint64_t blocks; /* in a row */
    bool along_free; /* lookups go along the block, not along the picks */
};

/* What a range of units owns: `count` free elements of one row, at places [begin, end). Offsets are those of the first
 * element at place 0. */
struct part {
    const struct plan *plan;
    const struct kern_call *call;
    int64_t offset[FREE_VIEWS];
    uint64_t count;
    uint64_t begin, end;
};

/* Dimensions [from, from + count) of a view, or one of size 1. */
static struct kern_view cut(const struct kern_view *view, uint32_t from, uint32_t count)
{
    struct kern_view out = { .type = view->type, .rank = BASE_MAX(count, 1), .sizes = { 1 } };
    memcpy(out.sizes, view->sizes + from, count * sizeof(*out.sizes));
    memcpy(out.strides, view->strides + from, count * sizeof(*out.strides));
    return out;
}

static void lookup_init(struct index_lookup *lookup, const struct kern_op *op)
{
    const struct kern_view *index = &op->tensors[1], *y = &op->tensors[3];
    bool nd = op->u.scatter.mode == KERN_INDEX_ND;
    uint32_t first = nd ? 0 : op->u.scatter.axis;
    lookup->type = index->type;
    lookup->tuple = nd ? index->sizes[index->rank - 1] : 1;
    lookup->tuple_stride = nd ? index->strides[index->rank - 1] : 0;
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        lookup->sizes[t] = y->sizes[first + t];
        lookup->strides[t] = y->strides[first + t];
    }
}

static void walks_init(struct plan *plan, const struct kern_op *op)
{
    static const uint32_t tensors[] = { 0, 1, 2, 3 };
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1], *u = &op->tensors[2], *y = &op->tensors[3];
    bool nd = op->u.scatter.mode == KERN_INDEX_ND;
    uint32_t tuple = plan->lookup.tuple, listed = index->rank - 1, axis = 1u << op->u.scatter.axis;
    struct kern_op wide;
    wide.tensors[0] = nd ? cut(index, 0, listed) : *index;
    wide.tensors[1] = nd ? cut(u, 0, listed) : *u;
    kern_walk_init(&plan->picks, &wide, tensors, 2, nd ? UINT32_MAX : axis, KERN_WALK_ROW_MAJOR);
    wide.tensors[0] = nd ? cut(y, 0, tuple) : *y;
    wide.tensors[1] = nd ? cut(x, 0, tuple) : *x;
    kern_walk_init(&plan->places, &wide, tensors, 2, nd ? UINT32_MAX : axis, KERN_WALK_ROW_MAJOR);
    wide.tensors[FREE_Y] = nd ? cut(y, tuple, y->rank - tuple) : *y;
    wide.tensors[FREE_X] = nd ? cut(x, tuple, x->rank - tuple) : *x;
    wide.tensors[FREE_UPDATES] = nd ? cut(u, listed, y->rank - tuple) : *u;
    wide.tensors[FREE_INDICES] = *index;
    if (nd) /* no index depends on them */
        memset(wide.tensors[FREE_INDICES].strides, 0, sizeof(index->strides));
    kern_walk_init(&plan->free, &wide, tensors, FREE_VIEWS, nd ? UINT32_MAX : ~axis, FREE_Y);
}

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

static void plan_init(struct plan *plan, const struct kern_op *op)
{
    lookup_init(&plan->lookup, op);
    walks_init(plan, op);
    uint32_t last = plan->free.rank - 1;
    plan->bytes = kern_type_bytes(op->tensors[3].type);
    plan->row = plan->free.sizes[last];
    plan->along_free = op->u.scatter.mode == KERN_INDEX_ELEMENTS && plan->row > 1 &&
                       (plan->picks.count < SHORT_PICKS || magnitude(plan->free.strides[FREE_UPDATES][last]) <
                                                               magnitude(plan->picks.strides[PICK_UPDATES][0]));
    plan->block = plan->along_free                            ? INDEX_BLOCK
                  : op->u.scatter.mode == KERN_INDEX_ELEMENTS ? 1
                                                              : ROW_BYTES / plan->bytes;
    plan->block = BASE_MIN(plan->block, plan->row);
    plan->blocks = (plan->row + plan->block - 1) / plan->block;
}

bool kern_scatter_any_accepts(const struct kern_op *op)
{
    return kern_scatter_any_ref_accepts(op);
}

void kern_scatter_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct plan plan;
    (void)state;
    (void)threads;
    plan_init(&plan, op);
    *out = (struct kern_work){ .units = plan.free.count / plan.row * plan.blocks * plan.places.count,
                               .grain = dense_grain(plan.block) };
}

/* ---- Y = X ---- */

/* X repeats one element. */
static bool part_constant(const struct part *part)
{
    const struct kern_walk *free = &part->plan->free, *places = &part->plan->places;
    return (free->count == 1 || free->strides[FREE_X][0] == 0) && (places->count == 1 || places->strides[1][0] == 0);
}

/* The part is one run of memory in Y, and in X too, or X repeats one element. */
static bool part_packed(const struct part *part)
{
    const struct plan *plan = part->plan;
    const struct kern_walk *free = &plan->free, *places = &plan->places;
    const int64_t row = (int64_t)plan->row, depth = (int64_t)places->count;
    const int64_t *y_free = free->strides[FREE_Y], *x_free = free->strides[FREE_X];
    const int64_t *y_place = places->strides[0], *x_place = places->strides[1];
    if (free->rank != 1 || places->rank != 1)
        return false;
    bool free_inside = part->count == plan->row && (row == 1 || y_free[0] == 1) && y_place[0] == row;
    bool places_inside = part->end - part->begin == places->count && y_place[0] == 1 && y_free[0] == depth;
    bool same = (row == 1 || x_free[0] == y_free[0]) && (depth == 1 || x_place[0] == y_place[0]);
    return (free_inside || places_inside) && (same || part_constant(part));
}

/* One row of places, starting where the cursor stands, for all free elements. */
static void copy_places(const struct part *part, const struct kern_cursor *cursor, uint64_t places)
{
    const struct plan *plan = part->plan;
    const uint32_t bytes = plan->bytes, free = plan->free.rank - 1, last = plan->places.rank - 1;
    const int64_t y_free = plan->free.strides[FREE_Y][free], x_free = plan->free.strides[FREE_X][free];
    const int64_t y_place = plan->places.strides[0][last], x_place = plan->places.strides[1][last];
    char *y = (char *)part->call->data[3] + (part->offset[FREE_Y] + cursor->offset[0]) * bytes;
    const char *x = (const char *)part->call->data[0] + (part->offset[FREE_X] + cursor->offset[1]) * bytes;
    if (part->count == 1 || magnitude(y_place) < magnitude(y_free))
        for (uint64_t f = 0; f < part->count; f++)
            kern_copy_row(bytes, y + (int64_t)f * y_free * bytes, y_place, x + (int64_t)f * x_free * bytes, x_place,
                          places);
    else
        for (uint64_t p = 0; p < places; p++)
            kern_copy_row(bytes, y + (int64_t)p * y_place * bytes, y_free, x + (int64_t)p * x_place * bytes, x_free,
                          part->count);
}

static void copy_part(const struct part *part)
{
    const struct plan *plan = part->plan;
    const struct kern_walk *places = &plan->places;
    struct kern_cursor cursor;
    kern_cursor_seek(places, part->begin, &cursor);
    if (part_packed(part)) {
        kern_copy_row(plan->bytes,
                      (char *)part->call->data[3] + (part->offset[FREE_Y] + cursor.offset[0]) * plan->bytes, 1,
                      (const char *)part->call->data[0] + (part->offset[FREE_X] + cursor.offset[1]) * plan->bytes,
                      part_constant(part) ? 0 : 1, (part->end - part->begin) * part->count);
        return;
    }
    for (uint64_t place = part->begin; place < part->end;) {
        uint64_t n = BASE_MIN(places->sizes[places->rank - 1] - cursor.index[places->rank - 1], part->end - place);
        copy_places(part, &cursor, n);
        kern_cursor_next_row(places, &cursor);
        place += n;
    }
}

/* ---- updates ---- */

#define PUT(type)                                                                                                      \
    for (uint32_t i = 0; i < count; i++)                                                                               \
        if (offsets[i] != INDEX_OUT)                                                                                   \
            ((type *)y)[offsets[i] + (int64_t)i * y_stride] = ((const type *)u)[(int64_t)i * u_stride];

static void put_elements(uint32_t bytes, void *y, int64_t y_stride, const void *u, int64_t u_stride,
                         const int64_t *offsets, uint32_t count)
{
    switch (bytes) {
    case 1:
        PUT(uint8_t)
        break;
    case 2:
        PUT(uint16_t)
        break;
    case 4:
        PUT(uint32_t)
        break;
    default:
        PUT(uint64_t)
        break;
    }
}

/* Each index is read once: as far as the compiler knows, storing an element may change the next one. */
#define PUT_WHILE_INSIDE(type, place, stride, u_stride)                                                                \
    for (; i < count; i++) {                                                                                           \
        const int64_t to = (int64_t)at[(int64_t)i * (stride)];                                                         \
        if ((uint64_t)to - low >= span)                                                                                \
            return i;                                                                                                  \
        ((type *)y)[place] = ((const type *)u)[(int64_t)i * (u_stride)];                                               \
    }                                                                                                                  \
    return i;

#define PUT_DIRECT(type, index)                                                                                        \
    {                                                                                                                  \
        const index *at = (const index *)indices + first;                                                              \
        if (stride == 1 && u_stride == 1 && y_stride == 0 && step == 1) {                                              \
            PUT_WHILE_INSIDE(type, to, 1, 1)                                                                           \
        }                                                                                                              \
        PUT_WHILE_INSIDE(type, to *step + (int64_t)i * y_stride, stride, u_stride)                                     \
    }

/* Single elements up to the first index that needs a closer look; returns how many. */
static uint32_t put_direct(const struct part *part, void *y, int64_t y_stride, const void *u, int64_t u_stride,
                           const void *indices, int64_t first, int64_t stride, uint32_t count)
{
    const struct plan *plan = part->plan;
    const int64_t step = plan->lookup.strides[0];
    const uint64_t limit = BASE_MIN(part->end, index_plain_limit(&plan->lookup));
    const uint64_t low = part->begin, span = limit - low;
    uint32_t i = 0;
    if (limit <= part->begin)
        return 0;
    switch (plan->bytes * 16 + kern_type_bytes(plan->lookup.type)) {
    case 0x14:
        PUT_DIRECT(uint8_t, uint32_t)
    case 0x18:
        PUT_DIRECT(uint8_t, uint64_t)
    case 0x24:
        PUT_DIRECT(uint16_t, uint32_t)
    case 0x28:
        PUT_DIRECT(uint16_t, uint64_t)
    case 0x44:
        PUT_DIRECT(uint32_t, uint32_t)
    case 0x48:
        PUT_DIRECT(uint32_t, uint64_t)
    case 0x84:
        PUT_DIRECT(uint64_t, uint32_t)
    default:
        PUT_DIRECT(uint64_t, uint64_t)
    }
}

/* `count` single elements, their indices from `first` on. */
static void put_block(const struct part *part, char *y, int64_t y_stride, const char *u, int64_t u_stride,
                      int64_t first, int64_t stride, uint32_t count)
{
    const struct plan *plan = part->plan;
    const void *indices = part->call->data[1];
    int64_t offsets[INDEX_BLOCK];
    uint32_t done = put_direct(part, y, y_stride, u, u_stride, indices, first, stride, count);
    if (done == count)
        return;
    index_checked(&plan->lookup, indices, first + (int64_t)done * stride, stride, count - done, part->begin, part->end,
                  offsets);
    put_elements(plan->bytes, y + (int64_t)done * y_stride * plan->bytes, y_stride,
                 u + (int64_t)done * u_stride * plan->bytes, u_stride, offsets, count - done);
}

static void put_rows(const struct part *part, char *y, const char *u, int64_t u_stride, const int64_t *offsets,
                     uint32_t count)
{
    const struct plan *plan = part->plan;
    const uint32_t bytes = plan->bytes, last = plan->free.rank - 1;
    for (uint32_t i = 0; i < count; i++)
        if (offsets[i] != INDEX_OUT)
            kern_copy_row(bytes, y + offsets[i] * bytes, plan->free.strides[FREE_Y][last],
                          u + (int64_t)i * u_stride * bytes, plan->free.strides[FREE_UPDATES][last], part->count);
}

static void update_along_free(const struct part *part)
{
    const struct plan *plan = part->plan;
    const struct kern_call *call = part->call;
    const uint32_t last = plan->free.rank - 1;
    for (uint64_t pick = 0; pick < plan->picks.count; pick++) {
        int64_t at = part->offset[FREE_INDICES] + (int64_t)pick * plan->picks.strides[PICK_INDICES][0];
        int64_t from = part->offset[FREE_UPDATES] + (int64_t)pick * plan->picks.strides[PICK_UPDATES][0];
        put_block(part, (char *)call->data[3] + part->offset[FREE_Y] * plan->bytes, plan->free.strides[FREE_Y][last],
                  (const char *)call->data[2] + from * plan->bytes, plan->free.strides[FREE_UPDATES][last], at,
                  plan->free.strides[FREE_INDICES][last], (uint32_t)part->count);
    }
}

/* The next n picks, all in one row of the walk. */
static void update_picks(const struct part *part, const struct kern_cursor *cursor, uint32_t n)
{
    const struct plan *plan = part->plan;
    const struct kern_call *call = part->call;
    const uint32_t last = plan->picks.rank - 1;
    const int64_t u_stride = plan->picks.strides[PICK_UPDATES][last];
    const int64_t first = part->offset[FREE_INDICES] + cursor->offset[PICK_INDICES];
    char *y = (char *)call->data[3] + part->offset[FREE_Y] * plan->bytes;
    const char *u =
        (const char *)call->data[2] + (part->offset[FREE_UPDATES] + cursor->offset[PICK_UPDATES]) * plan->bytes;
    int64_t offsets[INDEX_BLOCK];
    if (part->count == 1) {
        put_block(part, y, 0, u, u_stride, first, plan->picks.strides[PICK_INDICES][last], n);
        return;
    }
    index_checked(&plan->lookup, call->data[1], first, plan->picks.strides[PICK_INDICES][last], n, part->begin,
                  part->end, offsets);
    put_rows(part, y, u, u_stride, offsets, n);
}

static void update_along_picks(const struct part *part)
{
    const struct kern_walk *picks = &part->plan->picks;
    const uint32_t last = picks->rank - 1;
    struct kern_cursor cursor;
    kern_cursor_seek(picks, 0, &cursor);
    for (uint64_t done = 0; done < picks->count;) {
        uint64_t left = picks->sizes[last] - cursor.index[last];
        uint32_t n = (uint32_t)BASE_MIN(left, INDEX_BLOCK);
        update_picks(part, &cursor, n);
        done += n;
        if (n == left)
            kern_cursor_next_row(picks, &cursor);
        else
            kern_cursor_skip(picks, &cursor, n);
    }
}

void kern_scatter_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct plan plan;
    plan_init(&plan, call->op);
    while (begin < end) {
        uint64_t place = begin % plan.places.count, block = begin / plan.places.count;
        uint64_t n = BASE_MIN(plan.places.count - place, end - begin);
        uint64_t first = block / plan.blocks * plan.row + block % plan.blocks * plan.block;
        struct part part = { .plan = &plan, .call = call, .begin = place, .end = place + n };
        part.count = BASE_MIN(plan.block, plan.row - block % plan.blocks * plan.block);
        for (uint32_t v = 0; v < FREE_VIEWS; v++)
            part.offset[v] = kern_walk_offset(&plan.free, v, first);
        copy_part(&part);
        if (plan.along_free)
            update_along_free(&part);
        else
            update_along_picks(&part);
        begin += n;
    }
}
