#include "kernels/group.h"

static bool is_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16;
}

bool kern_groups_accept(const struct kern_op *op)
{
    uint32_t tensors = op->input_count + op->output_count;
    if (!is_float(op->tensors[0].type) || tensors + KERN_GROUP_EXTRA > KERN_TENSORS_MAX ||
        op->tensors[0].rank >= KERN_RANK_MAX)
        return false;
    if (kern_view_elements(&op->tensors[0]) > UINT32_MAX)
        return false;
    return !op->epilogue || op->epilogue->inst_count + 8 <= KERN_MAP_INST_MAX;
}

static void walks_init(const struct kern_op *op, uint32_t axes, bool row_major, struct kern_walk *outer,
                       struct kern_walk *inner)
{
    uint32_t tensors[KERN_TENSORS_MAX], count = op->input_count + op->output_count;
    for (uint32_t i = 0; i < count; i++)
        tensors[i] = i;
    kern_walk_init(outer, op, tensors, count, ~axes, 0);
    kern_walk_init(inner, op, tensors, count, axes, row_major ? KERN_WALK_ROW_MAJOR : 0);
}

static bool in_columns(const struct kern_walk *outer, const struct kern_walk *inner)
{
    return outer->strides[0][outer->rank - 1] == 1 && outer->sizes[outer->rank - 1] >= 4 && inner->count > 1 &&
           inner->strides[0][inner->rank - 1] != 1;
}

void kern_groups_init(struct kern_groups *groups, const struct kern_call *call, const struct kern_group_isa *isa,
                      uint32_t axes, bool row_major)
{
    groups->call = call;
    groups->isa = isa;
    groups->scratch = call->worker_scratch;
    walks_init(call->op, axes, row_major, &groups->outer, &groups->inner);
    groups->columns = in_columns(&groups->outer, &groups->inner);
    uint64_t fitting = 8192 / groups->inner.count;
    groups->tile = groups->columns ? KERN_GROUP_TILE : (uint32_t)BASE_MAX(1, BASE_MIN(fitting, 64));
}

void kern_groups_plan(const struct kern_op *op, uint32_t axes, uint64_t map_bytes, struct kern_work *out)
{
    struct kern_walk outer, inner;
    walks_init(op, axes, false, &outer, &inner);
    *out = (struct kern_work){ .units = outer.count, .grain = BASE_MAX(1, 32768 / inner.count) };
    if (in_columns(&outer, &inner))
        out->grain = BASE_MAX(out->grain, 64);
    out->worker_scratch_bytes = sizeof(struct kern_group_scratch) + map_bytes;
}

uint32_t kern_groups_width(const struct kern_groups *groups, uint64_t first, uint64_t end)
{
    uint64_t left = BASE_MIN(end - first, kern_walk_row_left(&groups->outer, first));
    return (uint32_t)BASE_MIN(left, groups->tile);
}

static bool is_extreme(enum kern_stat stat)
{
    return stat == KERN_STAT_MOST || stat == KERN_STAT_LEAST;
}

static double join(enum kern_stat stat, double total, double x)
{
    if (stat == KERN_STAT_MOST)
        return x > total || total != total ? x : total;
    if (stat == KERN_STAT_LEAST)
        return x < total || total != total ? x : total;
    return stat == KERN_STAT_PRODUCT ? total * x : total + x;
}

/* Elements [at, at + *count) of a group as dense FLOAT32; shortens *count. */
static const float *group_block(const struct kern_groups *groups, int64_t offset, uint64_t at, uint32_t *count)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    uint32_t bytes = kern_type_bytes(type);
    const char *base = (const char *)groups->call->data[0] + offset * bytes;
    int64_t stride;
    bool dense = kern_walk_linear(&groups->inner, 0, at, *count, &stride) && stride == 1;
    if (dense && type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return (const float *)(base + kern_walk_offset(&groups->inner, 0, at) * bytes);
    *count = BASE_MIN(*count, KERN_MAP_BLOCK);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        kern_walk_load(&groups->inner, 0, type, base, at, *count, groups->scratch->block);
        return groups->scratch->block;
    }
    kern_walk_load(&groups->inner, 0, type, base, at, *count, groups->scratch->raw);
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, groups->scratch->block, type, groups->scratch->raw,
                 *count);
    return groups->scratch->block;
}

static double row_stat(const struct kern_groups *groups, enum kern_stat stat, uint64_t group, float center)
{
    int64_t offset = kern_walk_offset(&groups->outer, 0, group);
    double total = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_GROUP_BLOCK);
        const float *x = group_block(groups, offset, at, &count);
        double part = groups->isa->row(stat, x, count, center);
        total = at ? join(stat, total, part) : part;
        at += count;
    }
    return total;
}

/* `width` neighbouring elements from element `offset` of X on, as FLOAT32. */
static const float *column_block(const struct kern_groups *groups, int64_t offset, uint32_t width)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    const char *x = (const char *)groups->call->data[0] + offset * kern_type_bytes(type);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return (const float *)x;
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, groups->scratch->block, type, x, width);
    return groups->scratch->block;
}

static void column_stat(const struct kern_groups *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                        const float *center, double *out)
{
    int64_t offset = kern_walk_offset(&groups->outer, 0, first);
    int64_t stride = groups->inner.strides[0][groups->inner.rank - 1];
    float *acc = groups->scratch->acc;
    struct kern_cursor cursor;
    kern_cursor_seek(&groups->inner, 0, &cursor);
    memset(out, 0, width * sizeof(*out));
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint64_t run = BASE_MIN(groups->inner.sizes[groups->inner.rank - 1], groups->inner.count - at);
        for (uint64_t begin = 0; begin < run;) {
            uint64_t end = BASE_MIN(begin + 256, run);
            for (uint32_t i = 0; i < width; i++)
                acc[i] = is_extreme(stat) ? __builtin_nanf("") : 0;
            for (uint64_t i = begin; i < end; i++)
                groups->isa->column(stat, acc,
                                    column_block(groups, offset + cursor.offset[0] + (int64_t)i * stride, width),
                                    center, width);
            for (uint32_t i = 0; i < width; i++)
                out[i] = at + begin ? join(stat, out[i], acc[i]) : acc[i];
            begin = end;
        }
        at += run;
        kern_cursor_next_row(&groups->inner, &cursor);
    }
}

void kern_groups_stat(const struct kern_groups *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                      const float *center, double *out)
{
    if (groups->columns) {
        column_stat(groups, stat, first, width, center, out);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        out[i] = row_stat(groups, stat, first + i, center ? center[i] : 0);
}

static uint32_t find(const float *x, uint32_t count, float value, bool last)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = last ? count - 1 - i : i;
        if (x[at] == value)
            return at;
    }
    return found;
}

static uint32_t row_position(const struct kern_groups *groups, bool greatest, bool last, uint64_t group)
{
    int64_t offset = kern_walk_offset(&groups->outer, 0, group);
    float best = __builtin_nanf("");
    uint64_t position = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_GROUP_BLOCK);
        const float *x = group_block(groups, offset, at, &count);
        float top = (float)groups->isa->row(greatest ? KERN_STAT_MOST : KERN_STAT_LEAST, x, count, 0);
        bool better = greatest ? top > best : top < best;
        if (better || (last && top == best) || (best != best && top == top)) {
            best = top;
            position = at + find(x, count, top, last);
        }
        at += count;
    }
    return (uint32_t)position;
}

void kern_groups_position(const struct kern_groups *groups, bool greatest, bool last, uint64_t first, uint32_t width,
                          uint32_t *out)
{
    for (uint32_t i = 0; i < width && !groups->columns; i++)
        out[i] = row_position(groups, greatest, last, first + i);
    if (!groups->columns)
        return;
    int64_t offset = kern_walk_offset(&groups->outer, 0, first);
    for (uint32_t i = 0; i < width; i++) {
        groups->scratch->acc[i] = __builtin_nanf("");
        out[i] = 0;
    }
    for (uint64_t i = 0; i < groups->inner.count; i++)
        groups->isa->position(groups->scratch->acc, out,
                              column_block(groups, offset + kern_walk_offset(&groups->inner, 0, i), width), (uint32_t)i,
                              greatest, last, width);
}

/* The part of tensor `t` that belongs to the tile: one dimension of groups, then those within a group. */
static struct kern_view tile_view(const struct kern_groups *groups, uint32_t t, uint32_t width)
{
    const struct kern_walk *outer = &groups->outer, *inner = &groups->inner;
    struct kern_view view = { .type = groups->call->op->tensors[t].type, .rank = 1 + inner->rank };
    view.sizes[0] = width;
    view.strides[0] = outer->strides[t][outer->rank - 1];
    for (uint32_t d = 0; d < inner->rank; d++) {
        view.sizes[1 + d] = (uint32_t)inner->sizes[d];
        view.strides[1 + d] = inner->strides[t][d];
    }
    return view;
}

void kern_groups_apply(const struct kern_groups *groups, const struct kern_map *map, uint64_t first, uint32_t width)
{
    const struct kern_op *op = groups->call->op;
    struct kern_op tile;
    void *data[KERN_TENSORS_MAX];
    tile.kind = KERN_MAP;
    tile.input_count = op->input_count + KERN_GROUP_EXTRA;
    tile.output_count = 1;
    tile.u.map = *map;
    for (uint32_t t = 0; t <= op->input_count; t++) {
        uint32_t to = t ? t + KERN_GROUP_EXTRA : 0;
        tile.tensors[to] = tile_view(groups, t, width);
        data[to] =
            (void *)kern_at(groups->call->data[t], op->tensors[t].type, kern_walk_offset(&groups->outer, t, first));
    }
    float *extra[] = { groups->scratch->a, groups->scratch->b, groups->scratch->c };
    for (uint32_t s = 1; s <= KERN_GROUP_EXTRA; s++) {
        tile.tensors[s] = tile.tensors[0];
        tile.tensors[s].type = DML_TENSOR_DATA_TYPE_FLOAT32;
        memset(tile.tensors[s].strides, 0, sizeof(tile.tensors[s].strides));
        tile.tensors[s].strides[0] = 1;
        data[s] = extra[s - 1];
    }
    struct kern_call call = { .op = &tile, .data = data, .worker_scratch = groups->scratch->map };
    kern_map_run(&call, groups->isa->map, 0, groups->inner.count * width);
}

uint32_t kern_groups_step(struct kern_map *map, uint32_t inputs, uint8_t code, uint32_t x, uint32_t y, uint32_t z)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct kern_map_inst *inst = &map->inst[map->inst_count++];
    *inst = (struct kern_map_inst){ code, f32, f32, { (uint8_t)x, (uint8_t)y, (uint8_t)z } };
    return inputs + map->inst_count - 1;
}

void kern_groups_finish(struct kern_map *map, const struct kern_op *op, uint32_t inputs, uint32_t result)
{
    const struct kern_map *end = op->epilogue;
    for (uint32_t i = 0; i < inputs; i++)
        map->load_type[i] = DML_TENSOR_DATA_TYPE_FLOAT32;
    map->store[0] = (uint8_t)result;
    if (!end)
        return;
    uint32_t own = map->inst_count, end_inputs = 1 + op->input_count - op->epilogue_input;
    uint8_t renamed[KERN_MAP_REGISTERS] = { (uint8_t)result };
    for (uint32_t r = 1; r < end_inputs; r++) {
        renamed[r] = (uint8_t)(op->epilogue_input + r - 1 + KERN_GROUP_EXTRA);
        map->load_type[renamed[r]] = end->load_type[r];
    }
    for (uint32_t i = 0; i < end->inst_count; i++) {
        struct kern_map_inst *inst = &map->inst[map->inst_count++];
        *inst = end->inst[i];
        renamed[end_inputs + i] = (uint8_t)(inputs + own + i);
        for (uint32_t s = 0; s < 3; s++)
            inst->src[s] = renamed[inst->src[s]];
    }
    map->store[0] = renamed[end->store[0]];
}
