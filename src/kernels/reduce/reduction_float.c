/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, softmax, normalisations and the sums of their gradients, of FLOAT32, FLOAT16 and bfloat16. Sums continue
 * in double, so that large images keep their mean. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction_short.h"

#include <math.h>

/* ---- accept functions and partition ---- */

bool kern_reduction_float_accepts(const struct kern_op *op)
{
    const uint32_t y = op->input_count, tensors = y + op->output_count, own = op->epilogue ? op->epilogue_input : y;
    if (!dense_is_short_float(op->tensors[0].type) || kern_view_elements(&op->tensors[0]) > UINT32_MAX)
        return false; /* positions have 32 bits, and the largest one means none */
    for (uint32_t t = 0; t < tensors; t++)
        if (op->tensors[t].rank != op->tensors[0].rank ||
            ((t < own || t >= y) && !kern_type_bytes(op->tensors[t].type)))
            return false;
    switch (op->kind) {
    case KERN_NORM:
        return op->output_count == 1;
    case KERN_LP_NORM:
        return op->output_count == 1 && (op->u.lp_norm.p == 1 || op->u.lp_norm.p == 2);
    case KERN_SOFTMAX:
        return !op->epilogue && y == 1 &&
               (op->u.softmax.mode != KERN_SOFTMAX_HARD || dense_is_short_float(op->tensors[1].type));
    case KERN_MOMENTS:
        return !op->epilogue && y == 1 && tensors == 3;
    case KERN_GRAD_SUMS:
        return !op->epilogue && y == 3 && tensors == 6 && dense_is_short_float(op->tensors[1].type);
    default:
        return !op->epilogue;
    }
}

#define DIRECT_MIN 16 /* elements of a line that are worth a call */

/* Whether lines of the tile are dense in X and Y, and dense or constant in all others. */
static bool is_direct(const struct kern_op *op, const struct kern_iterator *line)
{
    const uint32_t last = line->rank - 1, y = op->input_count;
    if (op->epilogue || op->output_count != 1 || line->sizes[last] < DIRECT_MIN)
        return false;
    for (uint32_t t = 0; t <= y; t++) {
        const int64_t stride = line->strides[t][last];
        if (!kern_reduction_in_place(op->tensors[t].type) || (stride != 1 && (t == 0 || t == y || stride != 0)))
            return false;
    }
    return true;
}

static uint32_t tile_of_rows(uint64_t length)
{
    return (uint32_t)BASE_MAX(1, BASE_MIN(8192 / length, 64));
}

/* All but call, isa and scratch. */
static void layout(struct kern_reductions *groups, const struct kern_op *op)
{
    /* Positions are counted in the order of indices. */
    const bool row_major = (op->kind == KERN_REDUCE && kern_reduction_is_position(op->u.reduce.function)) ||
                           (op->kind == KERN_SOFTMAX && op->u.softmax.mode == KERN_SOFTMAX_HARD);
    /* The error bound of a product is too small for FLOAT32, in which columns are combined. */
    const bool product = op->kind == KERN_REDUCE && op->u.reduce.function == DML_REDUCE_FUNCTION_MULTIPLY;
    kern_reduction_iterators(op, row_major, &groups->outer, &groups->inner);
    groups->columns = !product && kern_reduction_in_place(op->tensors[0].type) &&
                      kern_reduction_in_columns(&groups->outer, &groups->inner);
    if (!groups->columns && op->output_count == 1 && !kern_reduction_narrow_floats(groups))
        kern_reductions_order_groups(groups);
    groups->direct = is_direct(op, groups->columns ? &groups->outer : &groups->inner);
    if (!groups->columns && !row_major && groups->inner.rank > 1 && op->kind != KERN_GRAD_SUMS)
        kern_reductions_order_elements(groups);
    groups->nan = op->kind == KERN_REDUCE && op->u.reduce.nan;
    groups->stream = kern_streams(&op->tensors[op->input_count]);
    groups->tile = (uint32_t)BASE_MIN(groups->columns ? KERN_REDUCTION_TILE : tile_of_rows(groups->inner.count),
                                      groups->outer.count);
}

#define SPARE 64 /* elements behind a buffer */

/* The next `count` elements of the scratch memory; NULL while bytes are only counted. */
static void *carve(char *base, uint64_t *used, uint64_t count, uint32_t element)
{
    char *at = base ? base + *used : NULL;
    *used += base_align_up((count + SPARE) * element, 64);
    return at;
}

/* The number of bytes, except for the block interpreter's; the pieces of `base`. */
static uint64_t scratch_init(struct kern_reductions *groups, char *base)
{
    struct kern_reduction_scratch *out = groups->scratch;
    const uint64_t tile = groups->tile, block = BASE_MIN(groups->inner.count * tile, KERN_REDUCTION_BLOCK);
    uint64_t used = 0;
    out->sum = carve(base, &used, tile, sizeof(*out->sum));
    out->a = carve(base, &used, tile, sizeof(*out->a));
    out->b = carve(base, &used, tile, sizeof(*out->b));
    out->c = carve(base, &used, tile, sizeof(*out->c));
    out->acc = carve(base, &used, tile, sizeof(*out->acc));
    out->position = carve(base, &used, tile, sizeof(*out->position));
    out->block_length = (uint32_t)block;
    out->block = carve(base, &used, block, sizeof(*out->block));
    out->x = carve(base, &used, block, sizeof(*out->x));
    out->raw = carve(base, &used, block, sizeof(*out->raw));
    for (uint32_t i = 0; i < 2; i++)
        out->further[i] = carve(base, &used, block, sizeof(float));
    out->map = base ? base + used : NULL;
    if (base && groups->columns) /* whole vectors are read, also of a tile's last groups */
        memset(out->a, 0, (size_t)((char *)out->position - (char *)out->a));
    return used;
}

/* The processing of finished elements that are not written directly: the epilogue, or only a conversion. */
static const struct kern_map *map_of(const struct kern_op *op, uint32_t *out_inputs)
{
    static const struct kern_map plain = { .load_type = { DML_TENSOR_DATA_TYPE_FLOAT32 } };
    *out_inputs = op->epilogue ? 1 + op->input_count - op->epilogue_input : 1;
    return op->epilogue ? op->epilogue : &plain;
}

/* What a tile of short lines takes, where such lines are computed as columns. */
static uint64_t short_bytes(const struct kern_reductions *groups)
{
    const uint32_t lines = kern_reduction_dense_lines(groups) ? 0 : kern_reduction_short_lines(groups);
    uint32_t inputs;
    const struct kern_map *map = map_of(groups->call->op, &inputs);
    struct kern_reductions columns = { .tile = lines, .inner.count = groups->inner.count };
    if (!lines)
        return 0;
    return kern_reduction_short_floats(groups, lines) * sizeof(float) + scratch_init(&columns, NULL) +
           kern_map_block_bytes(map, inputs);
}

/* What a tile of few columns takes, where such are computed as lines. */
static uint64_t narrow_bytes(const struct kern_reductions *groups)
{
    const uint64_t floats = kern_reduction_narrow_floats(groups);
    uint32_t inputs;
    const struct kern_map *map = map_of(groups->call->op, &inputs);
    struct kern_reductions lines = { .tile = tile_of_rows(groups->inner.count), .inner.count = groups->inner.count };
    return floats ? floats * sizeof(float) + scratch_init(&lines, NULL) + kern_map_block_bytes(map, inputs) : 0;
}

void kern_reduction_float_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_call call = { .op = op };
    struct kern_reductions groups = { .call = &call };
    uint32_t inputs;
    const struct kern_map *map = map_of(op, &inputs);
    layout(&groups, op);
    *out = (struct kern_work){ .units = groups.outer.count, .grain = BASE_MAX(1, KERN_GRAIN / groups.inner.count) };
    if (groups.columns)
        out->grain = BASE_MAX(out->grain, 32); /* two cache lines */
    out->worker_scratch_bytes =
        BASE_MAX(scratch_init(&groups, NULL) + kern_map_block_bytes(map, inputs), short_bytes(&groups));
    out->worker_scratch_bytes = BASE_MAX(out->worker_scratch_bytes, narrow_bytes(&groups));
}

/* ---- the last step ---- */

/* Additional input t for the elements that are finished. */
static struct kern_reduction_parameter further(const struct kern_reductions *groups, uint32_t t, uint64_t group,
                                               uint64_t at, uint32_t count, float *buffer)
{
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    const bool in_half = type == DML_TENSOR_DATA_TYPE_FLOAT16;
    const int64_t offset = kern_iterator_offset(outer, t, group) + kern_iterator_offset(inner, t, at);
    int64_t stride = outer->strides[t][outer->rank - 1];
    bool half;
    if (groups->columns || kern_iterator_linear(inner, t, at, count, &stride)) {
        if (stride == 1 && kern_reduction_in_place(type))
            return (struct kern_reduction_parameter){ kern_at(groups->call->data[t], type, offset),
                                                      in_half ? KERN_REDUCTION_EACH_HALF : KERN_REDUCTION_EACH };
        *buffer = (float)kern_read_double(type, groups->call->data[t], offset);
        if (stride == 0)
            return (struct kern_reduction_parameter){ buffer, KERN_REDUCTION_ONE };
    }
    kern_reductions_load(groups, t, group, at, count, buffer, &half);
    return (struct kern_reduction_parameter){ buffer, KERN_REDUCTION_EACH };
}

#define ROWS_AHEAD 4

/* Elements of a group from `at` on or, in columns, one of each group of the tile. */
static void finish_run(const struct kern_reductions *groups, struct kern_reduction_finish *f, uint64_t group,
                       uint64_t at, uint32_t count)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_reduction_scratch *scratch = groups->scratch;
    f->x = kern_reductions_load(groups, 0, group, at, count, scratch->x, &f->x_half);
    if (!groups->columns)
        f->ahead = kern_reductions_ahead(groups, group + groups->tile, at);
    else if (at + ROWS_AHEAD < groups->inner.count)
        f->ahead = kern_at(f->x, op->tensors[0].type,
                           kern_iterator_offset(&groups->inner, 0, at + ROWS_AHEAD) -
                               kern_iterator_offset(&groups->inner, 0, at));
    else
        f->ahead = NULL;
    if (op->kind == KERN_NORM && op->u.norm.has_scale)
        f->scale = further(groups, 1, group, at, count, scratch->further[0]);
    if (op->kind == KERN_NORM && op->u.norm.has_bias)
        f->shift = further(groups, 1 + op->u.norm.has_scale, group, at, count, scratch->further[1]);
    groups->isa->finish(f, count);
}

static void set_own(const struct kern_reductions *groups, struct kern_reduction_finish *f, uint32_t i)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const enum kern_reduction_step step = groups->columns ? KERN_REDUCTION_EACH : KERN_REDUCTION_ONE;
    f->a = (struct kern_reduction_parameter){ scratch->a + i, step };
    f->b = (struct kern_reduction_parameter){ scratch->b + i, step };
    f->c = (struct kern_reduction_parameter){ scratch->c + i, step };
}

/* Stores the elements in scratch->block through the epilogue to Y: sizes[0] groups, each of elements from `at` on of
 * the last rank - 1 dimensions within a group or, in columns, sizes[0] lines of sizes[1] groups. */
static void store_block(const struct kern_reductions *groups, uint64_t group, uint64_t at, uint32_t rank,
                        const uint32_t *sizes)
{
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    const struct kern_op *op = groups->call->op;
    struct kern_op map = { .kind = KERN_MAP, .output_count = 1 };
    void *data[KERN_TENSORS_MAX] = { groups->scratch->block };
    map.u.map = *map_of(op, &map.input_count);
    kern_view_set_packed(&map.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, rank, sizes);
    for (uint32_t i = 1; i <= map.input_count; i++) {
        const uint32_t t = i < map.input_count ? op->epilogue_input + i - 1 : op->input_count;
        const int64_t *within = inner->strides[t] + inner->rank - rank, across = outer->strides[t][outer->rank - 1];
        struct kern_view *view = &map.tensors[i];
        *view = map.tensors[0];
        view->type = op->tensors[t].type;
        for (uint32_t d = 0; d < rank; d++)
            view->strides[d] = (d == 0) != groups->columns ? across : within[groups->columns ? 1 : d];
        data[i] = (void *)kern_at(groups->call->data[t], view->type,
                                  kern_iterator_offset(outer, t, group) + kern_iterator_offset(inner, t, at));
    }
    struct kern_call call = { .op = &map, .data = data, .worker_scratch = groups->scratch->map };
    kern_map_run_all(&call, groups->isa->map);
}

/* The same of columns: lines of a tile's groups. */
static void finish_column_blocks(const struct kern_reductions *groups, struct kern_reduction_finish *f, uint64_t first,
                                 uint32_t width)
{
    const uint64_t lines = groups->inner.sizes[groups->inner.rank - 1], most = groups->scratch->block_length / width;
    set_own(groups, f, 0);
    for (uint64_t at = 0, many; at < groups->inner.count; at += many) {
        many = BASE_MIN(most, lines - at % lines);
        for (uint64_t r = 0; r < many; r++) {
            f->y = groups->scratch->block + width * r;
            finish_run(groups, f, first, at + r, width);
        }
        store_block(groups, first, at, 2, (const uint32_t[]){ (uint32_t)many, width });
    }
}

/* Lines that are not dense in X or Y, of other types in Y, or before an epilogue: a block at a time, of as many inner
 * dimensions as fit, and of several groups if all do. */
static void finish_blocks(const struct kern_reductions *groups, struct kern_reduction_finish *f, uint64_t first,
                          uint32_t width)
{
    const struct kern_iterator *inner = &groups->inner;
    const uint32_t room = groups->scratch->block_length;
    const uint32_t most = (uint32_t)BASE_MAX(1, room / inner->count);
    uint32_t rank = 1, sizes[KERN_RANK_MAX];
    uint64_t below = 1; /* elements of those dimensions of which all fit */
    while (rank < inner->rank && rank + 2 <= KERN_RANK_MAX && below * inner->sizes[inner->rank - rank] <= room)
        below *= inner->sizes[inner->rank - rank++];
    const uint64_t lines = inner->sizes[inner->rank - rank];
    for (uint32_t d = 2; d <= rank; d++)
        sizes[d] = (uint32_t)inner->sizes[inner->rank - rank + d - 1];
    for (uint32_t i = 0, rows; i < width; i += rows) {
        rows = (uint32_t)BASE_MIN(most, width - i);
        sizes[0] = rows;
        for (uint64_t at = 0; at < inner->count; at += sizes[1] * below) {
            sizes[1] = (uint32_t)BASE_MIN(room / below, lines - at / below % lines);
            const uint32_t count = (uint32_t)(sizes[1] * below);
            for (uint32_t r = 0; r < rows; r++) {
                f->y = groups->scratch->block + count * r;
                set_own(groups, f, i + r);
                finish_run(groups, f, first + i + r, at, count);
            }
            store_block(groups, first + i, at, rank + 1, sizes);
        }
    }
}

/* The last step of a tile, with scratch->a, b and c; NORM's further inputs are scale and shift. */
static void finish_tile(const struct kern_reductions *groups, enum kern_reduction_end end, uint64_t first,
                        uint32_t width)
{
    const uint32_t y = groups->call->op->input_count;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[y].type;
    const uint64_t line = groups->inner.sizes[groups->inner.rank - 1];
    struct kern_reduction_finish f = { .end = end, .stream = groups->direct && groups->stream };
    if (!groups->direct) {
        (groups->columns ? finish_column_blocks : finish_blocks)(groups, &f, first, width);
        return;
    }
    f.y_half = type == DML_TENSOR_DATA_TYPE_FLOAT16;
    for (uint32_t i = 0; i < (groups->columns ? 1 : width); i++) {
        const int64_t offset = kern_iterator_offset(&groups->outer, y, first + i);
        set_own(groups, &f, i);
        for (uint64_t at = 0; at < groups->inner.count; at += groups->columns ? 1 : line) {
            f.y = (void *)kern_at(groups->call->data[y], type, offset + kern_iterator_offset(&groups->inner, y, at));
            finish_run(groups, &f, first + i, at, groups->columns ? width : (uint32_t)line);
        }
    }
}

/* ---- reductions ---- */

/* The largest elements, and the sums of e^(x - those). */
static void exponentials(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    float *top = groups->scratch->a;
    double *sum = groups->scratch->sum;
    kern_reductions_stat(groups, KERN_STAT_MAX, first, width, NULL, sum);
    for (uint32_t i = 0; i < width; i++)
        top[i] = (float)sum[i];
    kern_reductions_stat(groups, KERN_STAT_EXP, first, width, top, sum);
}

static void reduce_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_reduce *reduce = &groups->call->op->u.reduce;
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const bool logarithm = reduce->function == DML_REDUCE_FUNCTION_LOG_SUM_EXP;
    const double count = (double)groups->inner.count;
    if (kern_reduction_is_position(reduce->function)) {
        kern_reductions_position(groups, reduce->function == DML_REDUCE_FUNCTION_ARGMAX, reduce->last, first, width,
                                 scratch->position);
        kern_reduction_store(groups->call, &groups->outer, 1, first, width, DML_TENSOR_DATA_TYPE_UINT32,
                             scratch->position);
        return;
    }
    memset(scratch->a, 0, width * sizeof(*scratch->a));
    if (logarithm)
        exponentials(groups, first, width);
    else
        kern_reductions_stat(groups, kern_reduction_stat(reduce->function), first, width, scratch->a, scratch->sum);
    for (uint32_t i = 0; i < width; i++) {
        const double sum = scratch->sum[i], top = scratch->a[i];
        scratch->b[i] = (float)(!logarithm   ? kern_reduction_finished(reduce->function, sum, count)
                                : isinf(top) ? top
                                             : top + log(sum));
    }
    kern_reduction_store(groups->call, &groups->outer, 1, first, width, DML_TENSOR_DATA_TYPE_FLOAT32, scratch->b);
}

/* ---- softmax ---- */

/* Short dense rows need no second exponential: the powers stay in the cache. */
static void softmax_row(const struct kern_reductions *groups, uint64_t group)
{
    const struct kern_op *op = groups->call->op;
    bool x_half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    uint32_t length = (uint32_t)groups->inner.count;
    const void *x = kern_at(groups->call->data[0], op->tensors[0].type, kern_iterator_offset(&groups->outer, 0, group));
    double top = groups->isa->row(KERN_STAT_MAX, x, x_half, length, 0, NULL);
    double sum = groups->isa->exponentials(groups->scratch->block, x, x_half, length, (float)top,
                                           kern_reductions_ahead(groups, group + 1, 0));
    float factor = (float)(1 / sum);
    const struct kern_reduction_finish f = {
        .end = KERN_REDUCTION_SCALED,
        .x = groups->scratch->block,
        .y =
            (void *)kern_at(groups->call->data[1], op->tensors[1].type, kern_iterator_offset(&groups->outer, 1, group)),
        .y_half = op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT16,
        .stream = groups->stream,
        .a = { &factor, KERN_REDUCTION_ONE },
        .b = { &factor, KERN_REDUCTION_ONE },
        .c = { &factor, KERN_REDUCTION_ONE },
    };
    groups->isa->finish(&f, length);
}

/* The powers replace X, so that each is computed once. */
static void softmax_cached(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    kern_reductions_stat(groups, KERN_STAT_MAX, first, width, NULL, scratch->sum);
    for (uint32_t i = 0; i < width; i++) {
        scratch->a[i] = (float)scratch->sum[i];
        scratch->b[i] = 1;
    }
    finish_tile(groups, KERN_REDUCTION_POWERS, first, width);
    kern_reductions_stat(groups, KERN_STAT_SUM, first, width, NULL, scratch->sum);
    for (uint32_t i = 0; i < width; i++)
        scratch->b[i] = (float)(1 / scratch->sum[i]);
    finish_tile(groups, KERN_REDUCTION_SCALED, first, width);
}

static void softmax_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const bool logarithm = groups->call->op->u.softmax.mode == KERN_SOFTMAX_LOG;
    const bool rows = groups->direct && !groups->columns && groups->inner.rank == 1 &&
                      groups->inner.count <= KERN_REDUCTION_BLOCK && !logarithm;
    for (uint32_t i = 0; i < width && rows; i++)
        softmax_row(groups, first + i);
    if (rows)
        return;
    if (groups->cached && !logarithm) {
        softmax_cached(groups, first, width);
        return;
    }
    if (groups->columns && !groups->cached)
        kern_reductions_powers(groups, first, width, scratch->a, scratch->sum);
    else
        exponentials(groups, first, width);
    for (uint32_t i = 0; i < width; i++)
        scratch->b[i] = (float)(logarithm ? log(scratch->sum[i]) : 1 / scratch->sum[i]);
    finish_tile(groups, logarithm ? KERN_REDUCTION_LESS : KERN_REDUCTION_POWERS, first, width);
}

/* ---- normalisations: a = mean as FLOAT32, b = 1 / deviation, c = what a lost of the mean, scaled by b ---- */

#define SQUARES_BOUND 0x1p255 /* squares of what fits FLOAT32 */

static void norm_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_norm *norm = &groups->call->op->u.norm;
    const struct kern_reduction_scratch *scratch = groups->scratch;
    double count = (double)groups->inner.count, mean[KERN_REDUCTION_TILE];
    memset(scratch->a, 0, width * sizeof(*scratch->a));
    memset(mean, 0, width * sizeof(*mean));
    if (norm->use_mean)
        kern_reductions_moments(groups, first, width, mean, scratch->sum);
    else
        kern_reductions_stat(groups, KERN_STAT_SQUARES, first, width, scratch->a, scratch->sum);
    for (uint32_t i = 0; i < width; i++) {
        double factor = norm->use_variance ? 1 / sqrt(scratch->sum[i] / count + norm->epsilon) : 1;
        /* Where x - mean may not fit, the mean is taken from the quotient. */
        scratch->a[i] = scratch->sum[i] < SQUARES_BOUND ? (float)mean[i] : 0;
        scratch->b[i] = (float)factor;
        scratch->c[i] = (float)((scratch->a[i] - mean[i]) * factor);
    }
    finish_tile(groups, KERN_REDUCTION_AFFINE, first, width);
}

static void lp_norm_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_lp_norm *norm = &groups->call->op->u.lp_norm;
    const struct kern_reduction_scratch *scratch = groups->scratch;
    memset(scratch->a, 0, width * sizeof(*scratch->a));
    kern_reductions_stat(groups, norm->p == 1 ? KERN_STAT_SIZE : KERN_STAT_SQUARES, first, width, scratch->a,
                         scratch->sum);
    for (uint32_t i = 0; i < width; i++) {
        const double size = norm->p == 1 ? scratch->sum[i] : sqrt(scratch->sum[i]);
        scratch->b[i] = (float)(norm->nan && isnan(size) ? size : fmax(size, norm->epsilon));
    }
    finish_tile(groups, KERN_REDUCTION_DIVIDED, first, width);
}

/* ---- moments and the sums of gradients ---- */

static void store_sums(const struct kern_reductions *groups, uint32_t t, uint64_t first, uint32_t width,
                       const double *values)
{
    kern_reduction_store(groups->call, &groups->outer, t, first, width, DML_TENSOR_DATA_TYPE_FLOAT64, values);
}

static void moments_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    double mean[KERN_REDUCTION_TILE], squares[KERN_REDUCTION_TILE];
    kern_reductions_moments(groups, first, width, mean, squares);
    for (uint32_t i = 0; i < width; i++)
        squares[i] /= (double)groups->inner.count;
    store_sums(groups, 1, first, width, mean);
    store_sums(groups, 2, first, width, squares);
}

static void grad_sums_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[2].type;
    double sums[3 * KERN_REDUCTION_TILE];
    float *center = groups->scratch->a;
    for (uint32_t i = 0; i < width; i++)
        center[i] =
            (float)kern_read_double(type, groups->call->data[2], kern_iterator_offset(&groups->outer, 2, first + i));
    kern_reductions_pairs(groups, first, width, center, sums);
    for (uint32_t s = 0; s < 3; s++)
        store_sums(groups, 3 + s, first, width, sums + s * width);
}

static void tile_run(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    static void (*const tiles[KERN_KIND_COUNT])(const struct kern_reductions *groups, uint64_t first,
                                                uint32_t width) = {
        [KERN_REDUCE] = reduce_tile,   [KERN_SOFTMAX] = softmax_tile, [KERN_NORM] = norm_tile,
        [KERN_LP_NORM] = lp_norm_tile, [KERN_MOMENTS] = moments_tile, [KERN_GRAD_SUMS] = grad_sums_tile,
    };
    const struct kern_op *op = groups->call->op;
    const bool hard = op->kind == KERN_SOFTMAX && op->u.softmax.mode == KERN_SOFTMAX_HARD;
    (hard ? kern_reduction_hardmax_tile : tiles[op->kind])(groups, first, width);
}

static void short_run(const struct kern_reductions *groups, const struct kern_op *columns, void *const *data,
                      uint32_t width, void *scratch)
{
    const struct kern_call call = { .op = columns, .data = data };
    struct kern_reductions tile = { .call = &call, .isa = groups->isa, .cached = true };
    layout(&tile, columns);
    scratch_init(&tile, scratch);
    tile_run(&tile, 0, width);
}

static void run_groups(struct kern_reductions *groups, uint64_t begin, uint64_t end);

static void narrow_run(const struct kern_reductions *groups, const struct kern_reduction_narrow *narrow,
                       void *const *data)
{
    const struct kern_call call = { .op = &narrow->op,
                                    .data = data,
                                    .worker_scratch = narrow->tile + (uint64_t)narrow->width * narrow->pitch };
    struct kern_reductions lines = { .call = &call, .isa = groups->isa };
    layout(&lines, &narrow->op);
    scratch_init(&lines, call.worker_scratch);
    run_groups(&lines, 0, narrow->width);
}

static void run_narrow(const struct kern_reductions *groups, uint64_t begin, uint64_t end)
{
    struct kern_reduction_narrow narrow = { .width = 0 };
    for (uint32_t width; begin < end; begin += width) {
        width = (uint32_t)BASE_MIN(end - begin, kern_iterator_row_left(&groups->outer, begin));
        if (width != narrow.width)
            kern_reduction_narrow_init(groups, width, groups->call->worker_scratch, &narrow);
        kern_reduction_narrow_tile(groups, begin, &narrow, narrow_run);
    }
}

static void run_groups(struct kern_reductions *groups, uint64_t begin, uint64_t end)
{
    const bool dense = kern_reduction_dense_lines(groups);
    const uint32_t lines = dense ? 0 : kern_reduction_short_lines(groups);
    for (uint32_t width; begin < end; begin += width) {
        uint64_t left = BASE_MIN(end - begin, kern_iterator_row_left(&groups->outer, begin));
        width = dense ? kern_reduction_dense_run(groups, begin, (uint32_t)BASE_MIN(left, UINT32_MAX)) : 0;
        if (width && kern_reduction_dense_in_block(groups))
            store_block(groups, begin, 0, 2, (const uint32_t[]){ width, (uint32_t)groups->inner.count });
        if (width)
            continue;
        if (lines && left >= KERN_REDUCTION_SHORT_LEAST) {
            width = (uint32_t)BASE_MIN(left, lines);
            kern_reduction_short_tile(groups, begin, width, groups->call->worker_scratch, short_run);
            continue;
        }
        width = dense ? 1 : (uint32_t)BASE_MIN(left, groups->tile);
        tile_run(groups, begin, width);
    }
}

void kern_reduction_float_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin,
                              uint64_t end)
{
    struct kern_reductions groups = { .call = call, .isa = isa };
    layout(&groups, call->op);
    scratch_init(&groups, call->worker_scratch);
    if (kern_reduction_narrow_floats(&groups))
        run_narrow(&groups, begin, end);
    else
        run_groups(&groups, begin, end);
    kern_stream_end();
}
