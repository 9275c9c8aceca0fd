#include "kernels/group.h"

static bool is_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
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

/* Elements [at, at + *count) of a group in tensor t as dense FLOAT32, perhaps in `buffer`; shortens *count. */
static const float *group_block(const struct kern_groups *groups, uint32_t t, int64_t offset, uint64_t at,
                                uint32_t *count, float *buffer)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    uint32_t bytes = kern_type_bytes(type);
    const char *base = (const char *)groups->call->data[t] + offset * bytes;
    int64_t stride;
    bool dense = kern_walk_linear(&groups->inner, t, at, *count, &stride) && stride == 1;
    if (dense && type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return (const float *)(base + kern_walk_offset(&groups->inner, t, at) * bytes);
    *count = BASE_MIN(*count, KERN_MAP_BLOCK);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        kern_walk_load(&groups->inner, t, type, base, at, *count, buffer);
        return buffer;
    }
    kern_walk_load(&groups->inner, t, type, base, at, *count, groups->scratch->raw);
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, type, groups->scratch->raw, *count);
    return buffer;
}

static double row_stat(const struct kern_groups *groups, enum kern_stat stat, uint64_t group, float center)
{
    int64_t offset = kern_walk_offset(&groups->outer, 0, group);
    double total = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_GROUP_BLOCK);
        const float *x = group_block(groups, 0, offset, at, &count, groups->scratch->block);
        double part = groups->isa->row(stat, x, count, center);
        total = at ? join(stat, total, part) : part;
        at += count;
    }
    return total;
}

/* One element of each of `width` neighbouring groups from element `offset` of tensor t on, as FLOAT32. */
static const float *column_block(const struct kern_groups *groups, uint32_t t, int64_t offset, uint32_t width,
                                 float *buffer)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    const char *x = (const char *)groups->call->data[t] + offset * kern_type_bytes(type);
    int64_t stride = groups->outer.strides[t][groups->outer.rank - 1];
    bool single = type == DML_TENSOR_DATA_TYPE_FLOAT32;
    if (stride != 1) {
        kern_copy_row(kern_type_bytes(type), single ? (void *)buffer : groups->scratch->raw, 1, x, stride, width);
        x = single ? (const char *)buffer : (const char *)groups->scratch->raw;
    }
    if (single)
        return (const float *)x;
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, type, x, width);
    return buffer;
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
                                    column_block(groups, 0, offset + cursor.offset[0] + (int64_t)i * stride, width,
                                                 groups->scratch->block),
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

/* A run of `count` elements joins a group's moments; sum and squares are those of x - center, so nothing cancels. */
static void join_moments(double *mean, double *squares, double before, double sum, double part, double center,
                         double count)
{
    double difference = center + sum / count - *mean;
    *squares += part - sum * sum / count + difference * difference * before * count / (before + count);
    *mean += difference * count / (before + count);
}

static void row_moments(const struct kern_groups *groups, uint64_t group, double *mean, double *squares)
{
    int64_t offset = kern_walk_offset(&groups->outer, 0, group);
    *mean = *squares = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_GROUP_BLOCK);
        const float *x = group_block(groups, 0, offset, at, &count, groups->scratch->block);
        float center = (float)(groups->isa->row(KERN_STAT_SUM, x, count, 0) / count);
        double sum, part;
        groups->isa->spread(x, count, center, &sum, &part);
        join_moments(mean, squares, (double)at, sum, part, center, count);
        at += count;
    }
}

#define COLUMN_RUN 64 /* rows of a tile that stay in the cache for a second look */

/* The elements at[0] .. at[count - 1] of each group of the tile. */
static void column_run(const struct kern_groups *groups, const int64_t *at, uint32_t count, uint64_t before,
                       uint32_t width, double *mean, double *squares)
{
    struct kern_group_scratch *scratch = groups->scratch;
    memset(scratch->a, 0, width * sizeof(float));
    memset(scratch->b, 0, width * sizeof(float));
    memset(scratch->acc, 0, width * sizeof(float));
    for (uint32_t i = 0; i < count; i++)
        groups->isa->column(KERN_STAT_SUM, scratch->a, column_block(groups, 0, at[i], width, scratch->block), NULL,
                            width);
    for (uint32_t i = 0; i < width; i++)
        scratch->a[i] /= (float)count;
    for (uint32_t i = 0; i < count; i++)
        groups->isa->spread_columns(scratch->acc, scratch->b, column_block(groups, 0, at[i], width, scratch->block),
                                    scratch->a, width);
    for (uint32_t i = 0; i < width; i++)
        join_moments(&mean[i], &squares[i], (double)before, scratch->acc[i], scratch->b[i], scratch->a[i], count);
}

static void column_moments(const struct kern_groups *groups, uint64_t first, uint32_t width, double *mean,
                           double *squares)
{
    int64_t offset = kern_walk_offset(&groups->outer, 0, first), at[COLUMN_RUN];
    memset(mean, 0, width * sizeof(*mean));
    memset(squares, 0, width * sizeof(*squares));
    for (uint64_t begin = 0; begin < groups->inner.count; begin += COLUMN_RUN) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - begin, COLUMN_RUN);
        for (uint32_t i = 0; i < count; i++)
            at[i] = offset + kern_walk_offset(&groups->inner, 0, begin + i);
        column_run(groups, at, count, begin, width, mean, squares);
    }
}

void kern_groups_moments(const struct kern_groups *groups, uint64_t first, uint32_t width, double *mean,
                         double *squares)
{
    if (groups->columns) {
        column_moments(groups, first, width, mean, squares);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        row_moments(groups, first + i, &mean[i], &squares[i]);
}

static void row_pairs(const struct kern_groups *groups, uint64_t group, float center, double *sums)
{
    int64_t x_at = kern_walk_offset(&groups->outer, 0, group), g_at = kern_walk_offset(&groups->outer, 1, group);
    sums[0] = sums[1] = sums[2] = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_GROUP_BLOCK);
        const float *x = group_block(groups, 0, x_at, at, &count, groups->scratch->block);
        const float *g = group_block(groups, 1, g_at, at, &count, groups->scratch->block2);
        groups->isa->pairs(x, g, count, center, sums);
        at += count;
    }
}

static void column_pairs(const struct kern_groups *groups, uint64_t first, uint32_t width, const float *center,
                         double *sums)
{
    int64_t x_at = kern_walk_offset(&groups->outer, 0, first), g_at = kern_walk_offset(&groups->outer, 1, first);
    float acc[3][KERN_GROUP_TILE];
    memset(sums, 0, 3 * width * sizeof(*sums));
    for (uint64_t begin = 0; begin < groups->inner.count; begin += 256) {
        uint64_t end = BASE_MIN(begin + 256, groups->inner.count);
        memset(acc, 0, sizeof(acc));
        for (uint64_t i = begin; i < end; i++)
            groups->isa->pair_columns(
                acc[0], acc[1], acc[2],
                column_block(groups, 0, x_at + kern_walk_offset(&groups->inner, 0, i), width, groups->scratch->block),
                column_block(groups, 1, g_at + kern_walk_offset(&groups->inner, 1, i), width, groups->scratch->block2),
                center, width);
        for (uint32_t i = 0; i < 3 * width; i++)
            sums[i] += acc[i % 3][i / 3];
    }
}

void kern_groups_pairs(const struct kern_groups *groups, uint64_t first, uint32_t width, const float *center,
                       double *sums)
{
    if (groups->columns) {
        column_pairs(groups, first, width, center, sums);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        row_pairs(groups, first + i, center[i], sums + 3 * i);
}

void kern_groups_store(const struct kern_groups *groups, uint32_t t, uint64_t first, uint32_t width,
                       const double *values, uint32_t step)
{
    const struct kern_view *y = &groups->call->op->tensors[t];
    int64_t offset = kern_walk_offset(&groups->outer, t, first);
    int64_t stride = groups->outer.strides[t][groups->outer.rank - 1];
    for (uint32_t i = 0; i < width; i++)
        kern_write_double(y->type, groups->call->data[t], offset + (int64_t)i * stride, values[i * step]);
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
        const float *x = group_block(groups, 0, offset, at, &count, groups->scratch->block);
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
        groups->isa->position(
            groups->scratch->acc, out,
            column_block(groups, 0, offset + kern_walk_offset(&groups->inner, 0, i), width, groups->scratch->block),
            (uint32_t)i, greatest, last, width);
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
