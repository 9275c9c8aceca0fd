#include "kernels/reduce/reduction.h"

#include "kernels/core/stream.h"

#include <math.h>

/* What loops read where it lies; bfloat16 goes through buffers. */
static bool in_place(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16;
}

static bool is_float(DML_TENSOR_DATA_TYPE type)
{
    return in_place(type) || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

bool kern_reductions_accept(const struct kern_op *op)
{
    uint32_t tensors = op->input_count + op->output_count;
    if (!is_float(op->tensors[0].type) || tensors + KERN_REDUCTION_EXTRA > KERN_TENSORS_MAX ||
        op->tensors[0].rank >= KERN_RANK_MAX)
        return false;
    if (kern_view_elements(&op->tensors[0]) > UINT32_MAX)
        return false;
    return !op->epilogue || op->epilogue->inst_count + 8 <= KERN_MAP_INST_MAX;
}

static void iterators_init(const struct kern_op *op, uint32_t axes, bool row_major, struct kern_iterator *outer,
                           struct kern_iterator *inner)
{
    uint32_t tensors[KERN_TENSORS_MAX], count = op->input_count + op->output_count;
    for (uint32_t i = 0; i < count; i++)
        tensors[i] = i;
    kern_iterator_init(outer, op, tensors, count, ~axes, 0);
    kern_iterator_init(inner, op, tensors, count, axes, row_major ? KERN_ITERATOR_ROW_MAJOR : 0);
}

#define DIRECT_MIN  16                  /* elements of a line that are worth a call */
#define AHEAD_BYTES (UINT64_C(1) << 18) /* of a tile that the caches keep beside the next one */

static bool in_columns(const struct kern_op *op, const struct kern_iterator *outer, const struct kern_iterator *inner)
{
    return in_place(op->tensors[0].type) && outer->strides[0][outer->rank - 1] == 1 &&
           outer->sizes[outer->rank - 1] >= 4 && inner->count > 1 && inner->strides[0][inner->rank - 1] != 1;
}

/* Are lines of the tile dense in X and Y, and dense or constant in all others? */
static bool is_direct(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *line = groups->columns ? &groups->outer : &groups->inner;
    const uint32_t last = line->rank - 1, y = op->input_count;
    if (op->epilogue || op->output_count != 1 || line->sizes[last] < DIRECT_MIN)
        return false;
    for (uint32_t t = 0; t <= y; t++) {
        bool own = t == 0 || t == y;
        if (!in_place(op->tensors[t].type) || (line->strides[t][last] != 1 && (own || line->strides[t][last] != 0)))
            return false;
    }
    return true;
}

/* The same before an epilogue, which may read and write as it likes; groups are lines. */
static bool is_staged(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *line = &groups->inner;
    if (!op->epilogue || op->output_count != 1 || groups->columns || line->rank != 1 || line->count < DIRECT_MIN)
        return false;
    for (uint32_t t = 0; t < op->epilogue_input; t++)
        if (!in_place(op->tensors[t].type) || (line->strides[t][0] != 1 && (t == 0 || line->strides[t][0] != 0)))
            return false;
    return true;
}

static uint32_t tile_of(bool columns, const struct kern_iterator *inner)
{
    uint64_t fitting = 8192 / inner->count;
    return columns ? KERN_REDUCTION_TILE : (uint32_t)BASE_MAX(1, BASE_MIN(fitting, 64));
}

#define SPARE 64 /* elements behind a buffer: loops go on in whole vectors */

/* The next `count` elements of the scratch memory; NULL while bytes are only counted. */
static void *carve(char *base, uint64_t *used, uint64_t count, uint32_t element)
{
    char *at = base ? base + *used : NULL;
    *used += base_align_up((count + SPARE) * element, 64);
    return at;
}

/* How many bytes it takes, but for the element-wise program's; the pieces of `base`. */
static uint64_t scratch_init(struct kern_reduction_scratch *out, char *base, uint32_t tile,
                             const struct kern_iterator *outer, const struct kern_iterator *inner)
{
    uint64_t used = 0, groups = BASE_MIN(tile, outer->count), most = BASE_MAX(inner->count, (uint64_t)1) * groups;
    uint64_t run = BASE_MIN(most, (uint64_t)KERN_REDUCTION_TILE);
    out->tile = (uint32_t)groups;
    out->block_length = (uint32_t)BASE_MIN(most, (uint64_t)KERN_REDUCTION_BLOCK);
    out->sum = carve(base, &used, groups, sizeof(*out->sum));
    out->a = carve(base, &used, groups, sizeof(*out->a));
    out->b = carve(base, &used, groups, sizeof(*out->b));
    out->c = carve(base, &used, groups, sizeof(*out->c));
    out->acc = carve(base, &used, groups, sizeof(*out->acc));
    out->position = carve(base, &used, groups, sizeof(*out->position));
    out->block = carve(base, &used, out->block_length, sizeof(*out->block));
    out->block2 = carve(base, &used, run, sizeof(*out->block2));
    out->raw = carve(base, &used, run, sizeof(*out->raw));
    out->map = base ? base + used : NULL;
    return used;
}

void kern_reductions_init(struct kern_reductions *groups, const struct kern_call *call,
                          const struct kern_reduction_isa *isa, uint32_t axes, bool row_major)
{
    groups->call = call;
    groups->isa = isa;
    iterators_init(call->op, axes, row_major, &groups->outer, &groups->inner);
    groups->columns = in_columns(call->op, &groups->outer, &groups->inner);
    groups->direct = is_direct(groups);
    groups->staged = is_staged(groups);
    groups->stream = kern_streams(&call->op->tensors[call->op->input_count]);
    groups->tile = tile_of(groups->columns, &groups->inner);
    scratch_init(groups->scratch, call->worker_scratch, groups->tile, &groups->outer, &groups->inner);
}

void kern_reductions_plan(const struct kern_op *op, uint32_t axes, uint64_t map_bytes, struct kern_work *out)
{
    struct kern_iterator outer, inner;
    struct kern_reduction_scratch scratch;
    uint64_t bytes = 0;
    /* In the order of indices elements may be met in columns that otherwise are rows: what either needs. */
    for (uint32_t row_major = 2; row_major-- > 0;) {
        iterators_init(op, axes, row_major, &outer, &inner);
        uint32_t tile = tile_of(in_columns(op, &outer, &inner), &inner);
        bytes = BASE_MAX(bytes, scratch_init(&scratch, NULL, tile, &outer, &inner));
    }
    *out = (struct kern_work){ .units = outer.count, .grain = BASE_MAX(1, 32768 / inner.count) };
    if (in_columns(op, &outer, &inner))
        out->grain = BASE_MAX(out->grain, 64);
    out->worker_scratch_bytes = bytes + map_bytes;
}

uint32_t kern_reductions_width(const struct kern_reductions *groups, uint64_t first, uint64_t end)
{
    uint64_t left = BASE_MIN(end - first, kern_iterator_row_left(&groups->outer, first));
    return (uint32_t)BASE_MIN(left, groups->tile);
}

static bool is_extreme(enum kern_stat stat)
{
    return stat == KERN_STAT_MAX || stat == KERN_STAT_MIN;
}

static double join(enum kern_stat stat, double total, double x)
{
    if (stat == KERN_STAT_MAX)
        return x > total || total != total ? x : total;
    if (stat == KERN_STAT_MIN)
        return x < total || total != total ? x : total;
    return stat == KERN_STAT_PRODUCT ? total * x : total + x;
}

static bool is_half(const struct kern_reductions *groups, uint32_t t)
{
    return groups->call->op->tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT16;
}

const void *kern_reductions_block(const struct kern_reductions *groups, uint32_t t, int64_t offset, uint64_t at,
                                  uint32_t *count, float *buffer, bool *out_half)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    const void *base = kern_at(groups->call->data[t], type, offset);
    int64_t stride;
    bool narrow = type != DML_TENSOR_DATA_TYPE_FLOAT32;
    *out_half = is_half(groups, t);
    if (in_place(type) && kern_iterator_linear(&groups->inner, t, at, *count, &stride) && stride == 1)
        return kern_at(base, type, kern_iterator_offset(&groups->inner, t, at));
    *count = BASE_MIN(*count, KERN_MAP_BLOCK);
    kern_iterator_load(&groups->inner, t, type, base, at, *count, narrow ? (void *)groups->scratch->raw : buffer);
    if (narrow)
        kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, type, groups->scratch->raw, *count);
    *out_half = false;
    return buffer;
}

/* The same as FLOAT32. */
static const float *float_block(const struct kern_reductions *groups, uint32_t t, int64_t offset, uint64_t at,
                                uint32_t *count, float *buffer)
{
    bool half;
    const void *x = kern_reductions_block(groups, t, offset, at, count, buffer, &half);
    if (!half)
        return x;
    *count = BASE_MIN(*count, KERN_MAP_BLOCK);
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, DML_TENSOR_DATA_TYPE_FLOAT16, x, *count);
    return buffer;
}

const void *kern_reductions_ahead(const struct kern_reductions *groups, uint64_t group, uint64_t at)
{
    const struct kern_iterator *inner = &groups->inner;
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    if (group >= groups->outer.count || !in_place(type) || inner->strides[0][inner->rank - 1] != 1 ||
        inner->count * groups->tile * kern_type_bytes(type) > AHEAD_BYTES)
        return NULL;
    return kern_at(groups->call->data[0], type,
                   kern_iterator_offset(&groups->outer, 0, group) + kern_iterator_offset(inner, 0, at));
}

static double row_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t group, float center)
{
    int64_t offset = kern_iterator_offset(&groups->outer, 0, group);
    double total = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK);
        bool half;
        const void *x = kern_reductions_block(groups, 0, offset, at, &count, groups->scratch->block, &half);
        const void *ahead = stat == KERN_STAT_EXP ? kern_reductions_ahead(groups, group + groups->tile, at) : NULL;
        double part = groups->isa->row(stat, x, half, count, center, ahead);
        total = at ? join(stat, total, part) : part;
        at += count;
    }
    return total;
}

const float *kern_reductions_column(const struct kern_reductions *groups, uint32_t t, int64_t offset, uint32_t width,
                                    float *buffer)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    const void *x = kern_at(groups->call->data[t], type, offset);
    int64_t stride = groups->outer.strides[t][groups->outer.rank - 1];
    bool narrow = type != DML_TENSOR_DATA_TYPE_FLOAT32;
    if (stride != 1) {
        void *to = narrow ? (void *)groups->scratch->raw : buffer;
        kern_copy_row(kern_type_bytes(type), to, 1, x, stride, width);
        x = to;
    }
    if (!narrow)
        return x;
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, type, x, width);
    return buffer;
}

#define COLUMN_RUN 16 /* rows of a tile that stay in the cache, with those after them, for a second look */

/* Rows of X, and those that follow them; past the groups' end the last one stands again. Columns of X are dense. */
struct rows {
    const void *at[2 * COLUMN_RUN];
    uint32_t count;
};

#define ROWS_AHEAD 8 /* rows that are on their way while one is read */

static void rows_init(struct rows *rows, const struct kern_reductions *groups, int64_t offset, uint64_t begin)
{
    const struct kern_iterator *inner = &groups->inner;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    const uint32_t known = (uint32_t)BASE_MIN(inner->count - begin, 2 * COLUMN_RUN);
    for (uint32_t i = 0; i < known; i++)
        rows->at[i] = kern_at(groups->call->data[0], type, offset + kern_iterator_offset(inner, 0, begin + i));
    for (uint32_t i = known; i < 2 * COLUMN_RUN; i++)
        rows->at[i] = rows->at[known - 1];
    rows->count = BASE_MIN(known, COLUMN_RUN);
}

static struct kern_reduction_rows rows_x(const struct rows *rows, const struct kern_reductions *groups, uint32_t width)
{
    return (struct kern_reduction_rows){ rows->at, rows->at + ROWS_AHEAD, rows->count, width, is_half(groups, 0) };
}

/* Is there any number in the group? */
static bool has_number(const struct kern_reductions *groups, int64_t offset)
{
    const struct kern_view *x = &groups->call->op->tensors[0];
    for (uint64_t i = 0; i < groups->inner.count; i++) {
        double element =
            kern_read_double(x->type, groups->call->data[0], offset + kern_iterator_offset(&groups->inner, 0, i));
        if (element == element)
            return true;
    }
    return false;
}

static void column_extremes(const struct kern_reductions *groups, enum kern_stat stat, int64_t offset, uint32_t width,
                            double *out)
{
    float *acc = groups->scratch->acc;
    struct rows rows;
    for (uint32_t i = 0; i < width; i++)
        acc[i] = -__builtin_inff();
    for (uint64_t begin = 0; begin < groups->inner.count; begin += rows.count) {
        rows_init(&rows, groups, offset, begin);
        const struct kern_reduction_rows x = rows_x(&rows, groups, width);
        groups->isa->column(stat, acc, &x, NULL);
    }
    for (uint32_t i = 0; i < width; i++) {
        out[i] = stat == KERN_STAT_MAX ? acc[i] : -acc[i];
        if (acc[i] == -__builtin_inff() && !has_number(groups, offset + i))
            out[i] = __builtin_nan("");
    }
}

static void column_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                        const float *center, double *out)
{
    int64_t offset = kern_iterator_offset(&groups->outer, 0, first);
    float *acc = groups->scratch->acc;
    struct rows rows;
    if (is_extreme(stat)) {
        column_extremes(groups, stat, offset, width, out);
        return;
    }
    memset(out, 0, width * sizeof(*out));
    for (uint64_t begin = 0; begin < groups->inner.count; begin += rows.count) {
        rows_init(&rows, groups, offset, begin);
        memset(acc, 0, width * sizeof(*acc));
        const struct kern_reduction_rows x = rows_x(&rows, groups, width);
        groups->isa->column(stat, acc, &x, center);
        for (uint32_t i = 0; i < width; i++)
            out[i] += acc[i];
    }
}

void kern_reductions_powers(const struct kern_reductions *groups, uint64_t first, uint32_t width, float *top,
                            double *sum)
{
    int64_t offset = kern_iterator_offset(&groups->outer, 0, first);
    struct rows rows;
    memset(sum, 0, width * sizeof(*sum));
    for (uint32_t i = 0; i < width; i++)
        top[i] = -__builtin_inff();
    for (uint64_t begin = 0; begin < groups->inner.count; begin += rows.count) {
        rows_init(&rows, groups, offset, begin);
        const struct kern_reduction_rows x = rows_x(&rows, groups, width);
        groups->isa->powers(top, sum, &x);
    }
}

void kern_reductions_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t first, uint32_t width,
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

static void row_moments(const struct kern_reductions *groups, uint64_t group, double *mean, double *squares)
{
    int64_t offset = kern_iterator_offset(&groups->outer, 0, group);
    *mean = *squares = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK);
        bool half;
        const void *x = kern_reductions_block(groups, 0, offset, at, &count, groups->scratch->block, &half);
        float center = groups->isa->sample(x, half, count);
        double sum, part;
        groups->isa->deviations(x, half, count, center, &sum, &part);
        if (sum * sum > 0.5 * part * count) { /* too far from the mean: the squares would cancel */
            center = (float)(groups->isa->row(KERN_STAT_SUM, x, half, count, 0, NULL) / count);
            groups->isa->deviations(x, half, count, center, &sum, &part);
        }
        join_moments(mean, squares, (double)at, sum, part, center, count);
        at += count;
    }
}

/* The elements of each group of the tile that stand in these rows. */
static void column_run(const struct kern_reductions *groups, const struct rows *rows, uint64_t before, uint32_t width,
                       double *mean, double *squares)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const uint32_t count = rows->count;
    const struct kern_reduction_rows x = rows_x(rows, groups, width);
    memset(scratch->a, 0, width * sizeof(float));
    memset(scratch->b, 0, width * sizeof(float));
    memset(scratch->acc, 0, width * sizeof(float));
    groups->isa->column(KERN_STAT_SUM, scratch->a, &x, NULL);
    for (uint32_t i = 0; i < width; i++)
        scratch->a[i] /= (float)count;
    groups->isa->deviations_columns(scratch->acc, scratch->b, &x, scratch->a);
    for (uint32_t i = 0; i < width; i++)
        join_moments(&mean[i], &squares[i], (double)before, scratch->acc[i], scratch->b[i], scratch->a[i], count);
}

static void column_moments(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *mean,
                           double *squares)
{
    int64_t offset = kern_iterator_offset(&groups->outer, 0, first);
    struct rows rows;
    memset(mean, 0, width * sizeof(*mean));
    memset(squares, 0, width * sizeof(*squares));
    for (uint64_t begin = 0; begin < groups->inner.count; begin += rows.count) {
        rows_init(&rows, groups, offset, begin);
        column_run(groups, &rows, begin, width, mean, squares);
    }
}

void kern_reductions_moments(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *mean,
                             double *squares)
{
    if (groups->columns) {
        column_moments(groups, first, width, mean, squares);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        row_moments(groups, first + i, &mean[i], &squares[i]);
}

static void row_pairs(const struct kern_reductions *groups, uint64_t group, float center, double *sums)
{
    int64_t x_at = kern_iterator_offset(&groups->outer, 0, group),
            g_at = kern_iterator_offset(&groups->outer, 1, group);
    sums[0] = sums[1] = sums[2] = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK);
        count = BASE_MIN(count, KERN_MAP_BLOCK);
        const float *x = float_block(groups, 0, x_at, at, &count, groups->scratch->block);
        const float *g = float_block(groups, 1, g_at, at, &count, groups->scratch->block2);
        groups->isa->pairs(x, g, count, center, sums);
        at += count;
    }
}

static void column_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                         double *sums)
{
    int64_t x_at = kern_iterator_offset(&groups->outer, 0, first),
            g_at = kern_iterator_offset(&groups->outer, 1, first);
    float acc[3][KERN_REDUCTION_TILE];
    memset(sums, 0, 3 * width * sizeof(*sums));
    for (uint64_t begin = 0; begin < groups->inner.count; begin += 256) {
        uint64_t end = BASE_MIN(begin + 256, groups->inner.count);
        memset(acc, 0, sizeof(acc));
        for (uint64_t i = begin; i < end; i++)
            groups->isa->pair_columns(
                acc[0], acc[1], acc[2],
                kern_reductions_column(groups, 0, x_at + kern_iterator_offset(&groups->inner, 0, i), width,
                                       groups->scratch->block),
                kern_reductions_column(groups, 1, g_at + kern_iterator_offset(&groups->inner, 1, i), width,
                                       groups->scratch->block2),
                center, width);
        for (uint32_t i = 0; i < 3 * width; i++)
            sums[i] += acc[i % 3][i / 3];
    }
}

void kern_reductions_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                           double *sums)
{
    if (groups->columns) {
        column_pairs(groups, first, width, center, sums);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        row_pairs(groups, first + i, center[i], sums + 3 * i);
}

void kern_reductions_store(const struct kern_reductions *groups, uint32_t t, uint64_t first, uint32_t width,
                           const double *values, uint32_t step)
{
    const struct kern_view *y = &groups->call->op->tensors[t];
    int64_t offset = kern_iterator_offset(&groups->outer, t, first);
    int64_t stride = groups->outer.strides[t][groups->outer.rank - 1];
    for (uint32_t i = 0; i < width; i++)
        kern_write_double(y->type, groups->call->data[t], offset + (int64_t)i * stride, values[i * step]);
}

static uint32_t row_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t group)
{
    int64_t offset = kern_iterator_offset(&groups->outer, 0, group);
    float best = __builtin_nanf("");
    uint64_t position = 0;
    for (uint64_t at = 0; at < groups->inner.count;) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK), place;
        bool half;
        const void *x = kern_reductions_block(groups, 0, offset, at, &count, groups->scratch->block, &half);
        if (groups->isa->place(x, half, count, greatest, last, &best, &place))
            position = at + place;
        at += count;
    }
    return (uint32_t)position;
}

#define NOWHERE UINT32_MAX

/* Columns in which nothing was above -infinity (for minima: below infinity): there it is the extreme, if there is any
 * number. */
static void find_infinities(const struct kern_reductions *groups, bool last, int64_t offset, uint32_t width,
                            uint32_t *out)
{
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    const uint64_t count = groups->inner.count;
    for (uint32_t i = 0; i < width; i++) {
        for (uint64_t k = 0; k < count && out[i] == NOWHERE; k++) {
            uint64_t at = last ? count - 1 - k : k;
            double x =
                kern_read_double(type, groups->call->data[0], offset + i + kern_iterator_offset(&groups->inner, 0, at));
            if (x == x)
                out[i] = (uint32_t)at;
        }
        out[i] = out[i] == NOWHERE ? 0 : out[i];
    }
}

/* The first element that is greater than all before it; backwards for the last one. */
static void column_positions(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                             uint32_t width, uint32_t *out)
{
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    const uint64_t length = groups->inner.count;
    int64_t offset = kern_iterator_offset(&groups->outer, 0, first);
    float *best = groups->scratch->a;
    const void *rows[COLUMN_RUN + ROWS_AHEAD];
    for (uint32_t i = 0; i < width; i++) {
        best[i] = -__builtin_inff();
        out[i] = NOWHERE;
    }
    for (uint64_t begin = 0; begin < length; begin += COLUMN_RUN) {
        const uint32_t count = (uint32_t)BASE_MIN(length - begin, COLUMN_RUN);
        for (uint32_t i = 0; i < count + ROWS_AHEAD; i++) {
            uint64_t at = BASE_MIN(begin + i, length - 1);
            rows[i] = kern_at(groups->call->data[0], type,
                              offset + kern_iterator_offset(&groups->inner, 0, last ? length - 1 - at : at));
        }
        const struct kern_reduction_rows x = { rows, rows + ROWS_AHEAD, count, width, is_half(groups, 0) };
        groups->isa->column_place(best, out, &x, greatest, (uint32_t)(last ? length - 1 - begin : begin),
                                  last ? -1 : 1);
    }
    find_infinities(groups, last, offset, width, out);
}

void kern_reductions_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                              uint32_t width, uint32_t *out)
{
    if (groups->columns) {
        column_positions(groups, greatest, last, first, width, out);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        out[i] = row_position(groups, greatest, last, first + i);
}
