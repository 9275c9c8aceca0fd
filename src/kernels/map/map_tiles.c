/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs with inputs that are contiguous across the output: tiles of those are transposed in registers
 * to scratch memory, and blocks of a tile's rows are computed from there. */
#include "kernels/map/map.h"
#include "kernels/move/move.h"

enum {
    SIDE_MIN = 16,            /* shorter sides are not worth it */
    STRIP = 256,              /* rows of a tile: long contiguous reads of the transposed inputs */
    TILE = 128,               /* elements of its rows */
    PIECE = 512,              /* of a row, in one unit */
    TILE_BYTES = STRIP * TILE /* times an element's */
};

struct tile {
    int64_t offset[KERN_TENSORS_MAX]; /* per view */
    uint32_t rows, width;
    const char *transposed[KERN_TENSORS_MAX]; /* the transposed inputs: dense rows */
};

static bool is_crossed(const struct kern_iterator *iterator, uint32_t view, uint32_t across)
{
    const int64_t stride = iterator->strides[view][iterator->rank - 1];
    return iterator->strides[view][across] == 1 && stride != 1 && stride != 0;
}

bool map_tiles_init(struct map_tiles *tiles, const struct kern_op *op, const struct kern_iterator *iterator)
{
    const uint32_t row = iterator->rank - 1;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (!kern_type_bytes(op->tensors[t].type))
            return false;
    tiles->crossed = 0;
    for (uint32_t d = 0; d < row && !tiles->crossed; d++) {
        tiles->across = d;
        for (uint32_t i = 0; i < op->input_count; i++)
            if (is_crossed(iterator, map_view_of_input(i), d))
                tiles->crossed |= iterator->sizes[d] >= SIDE_MIN && iterator->sizes[row] >= SIDE_MIN ? 1u << i : 0;
    }
    if (!tiles->crossed)
        return false;
    const uint64_t rows = iterator->sizes[tiles->across], length = iterator->sizes[row];
    tiles->strip = rows >= 4 * STRIP ? STRIP : STRIP / 2;
    tiles->strips = (rows + tiles->strip - 1) / tiles->strip;
    tiles->pieces = (length + PIECE - 1) / PIECE;
    tiles->units = iterator->count / rows / length * tiles->strips * tiles->pieces;
    return true;
}

uint64_t map_tiles_bytes(const struct map_tiles *tiles, const struct kern_op *op)
{
    uint64_t bytes = 64;
    for (uint32_t i = 0; i < op->input_count; i++)
        bytes += tiles->crossed >> i & 1 ? TILE_BYTES * kern_type_bytes(op->tensors[i].type) : 0;
    return bytes;
}

static void load_rows(struct map_run *run, const struct map_tiles *tiles, uint32_t i, const struct tile *rows)
{
    const uint32_t view = map_view_of_input(i), count = rows->rows * rows->width;
    const int64_t row_stride = run->iterator.strides[view][tiles->across],
                  stride = run->iterator.strides[view][run->iterator.rank - 1];
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    const uint32_t bytes = kern_type_bytes(type);
    const bool same = type == run->block.type[i];
    const char *from = (const char *)run->call->data[i] + rows->offset[view] * bytes;
    char *buffer = kern_map_block_buffer(&run->block, i);
    char *raw = same ? buffer : kern_map_block_staging(&run->block);
    if (row_stride == 0 && stride == 0) {
        map_load_repeated(run, i, from);
        return;
    }
    run->filled[i] = NULL;
    run->block.same &= ~(1u << i);
    run->block.value[i] = buffer;
    if (tiles->crossed >> i & 1) {
        raw = (char *)rows->transposed[i];
        if (same)
            run->block.value[i] = raw;
    } else {
        for (uint32_t r = 0; r < rows->rows; r++)
            kern_copy_row(bytes, raw + (size_t)r * rows->width * bytes, 1, from + r * row_stride * bytes, stride,
                          rows->width);
    }
    if (!same)
        kern_convert(run->block.isa, run->block.type[i], buffer, type, raw, count);
}

static void store_rows(struct map_run *run, const struct map_tiles *tiles, uint32_t j, const struct tile *rows)
{
    const uint32_t view = map_view_of_output(run->op, j), output = run->op->input_count + j;
    const int64_t row_stride = run->iterator.strides[view][tiles->across],
                  stride = run->iterator.strides[view][run->iterator.rank - 1];
    DML_TENSOR_DATA_TYPE type = run->op->tensors[output].type;
    const uint32_t bytes = kern_type_bytes(type), reg = run->op->u.map.store[j];
    const char *value = run->block.value[reg];
    char *to = (char *)run->call->data[output] + rows->offset[view] * bytes;
    if (type != run->block.type[reg]) {
        char *raw = kern_map_block_staging(&run->block);
        kern_convert(run->block.isa, type, raw, run->block.type[reg], value, rows->rows * rows->width);
        value = raw;
    }
    for (uint32_t r = 0; r < rows->rows; r++) {
        const char *from = value + (size_t)r * rows->width * bytes;
        if (run->non_temporal && stride == 1)
            kern_stream(to + r * row_stride * bytes, from, (uint64_t)rows->width * bytes);
        else
            kern_copy_row(bytes, to + r * row_stride * bytes, stride, from, 1, rows->width);
    }
}

static void run_rows(struct map_run *run, const struct map_tiles *tiles, const struct tile *rows)
{
    for (uint32_t i = 0; i < run->op->input_count; i++)
        load_rows(run, tiles, i, rows);
    kern_map_run_block(&run->block, NULL, rows->rows * rows->width);
    for (uint32_t j = 0; j < run->op->output_count; j++)
        store_rows(run, tiles, j, rows);
}

static void transpose_inputs(const struct map_run *run, const struct map_tiles *tiles, struct tile *tile)
{
    const uint32_t row = run->iterator.rank - 1;
    uintptr_t scratch =
        (uintptr_t)run->call->worker_scratch + kern_map_block_bytes(&run->op->u.map, run->op->input_count);
    char *to = (char *)base_align_up(scratch, 64);
    for (uint32_t i = 0; i < run->op->input_count; i++) {
        const uint32_t view = map_view_of_input(i), bytes = kern_type_bytes(run->op->tensors[i].type);
        if (!(tiles->crossed >> i & 1))
            continue;
        const struct move_block block = { .out = to,
                                          .in = (const char *)run->call->data[i] + tile->offset[view] * bytes,
                                          .out_stride = tile->width,
                                          .row_stride = 1,
                                          .in_stride = run->iterator.strides[view][row],
                                          .width = tile->rows,
                                          .length = tile->width };
        move_block_transpose(run->block.isa->transpose, bytes, &block);
        tile->transposed[i] = to;
        to += TILE_BYTES * bytes;
    }
}

/* Prefetches rows of inputs, which are pages apart, where the hardware prefetcher does not work: the next block's, and
 * this block's share of the next tile's `next` lines to be transposed. */
static void prefetch_next(const struct map_run *run, const struct map_tiles *tiles, const struct tile *tile,
                          uint32_t first, uint32_t rows, uint32_t next)
{
    const uint32_t row = run->iterator.rank - 1, from = first * next / rows, to = (first + tile->rows) * next / rows;
    for (uint32_t i = 0; i < run->op->input_count; i++) {
        const uint32_t view = map_view_of_input(i), bytes = kern_type_bytes(run->op->tensors[i].type);
        const int64_t along = run->iterator.strides[view][row], across = run->iterator.strides[view][tiles->across];
        const char *at = (const char *)run->call->data[i] + tile->offset[view] * bytes;
        if (tiles->crossed >> i & 1) {
            at += ((int64_t)(tile->width + from) * along - (int64_t)first) * bytes;
            for (uint32_t n = from; n < to; n++, at += along * bytes)
                map_prefetch(at, (uint64_t)rows * bytes);
        } else if (along == 1 && first + 2 * tile->rows <= rows) {
            at += across * tile->rows * bytes;
            for (uint32_t n = 0; n < tile->rows; n++, at += across * bytes)
                map_prefetch(at, (uint64_t)tile->width * bytes);
        }
    }
}

/* Rows of a program of one instruction, in place; false: not this program. */
static bool run_direct(struct map_run *run, const struct map_tiles *tiles, const struct map_direct *direct,
                       const struct tile *rows)
{
    const uint32_t row = run->iterator.rank - 1, bytes = direct->half ? 2 : 4;
    const char *from[3] = { NULL };
    int64_t step[3] = { 0 };
    struct kern_map_direct piece = { &run->op->u.map.inst[0], .half = direct->half, .stream = run->non_temporal };
    for (uint32_t s = 0; s < direct->inputs; s++) {
        const uint32_t i = piece.inst->src[s], view = map_view_of_input(i);
        const bool transposed = tiles->crossed >> i & 1;
        if (!transposed && run->iterator.strides[view][row] != 1)
            return false;
        from[s] = transposed ? rows->transposed[i] : (const char *)run->call->data[i] + rows->offset[view] * bytes;
        step[s] = (transposed ? rows->width : run->iterator.strides[view][tiles->across]) * bytes;
    }
    char *to = (char *)run->call->data[run->op->input_count] + rows->offset[0] * bytes;
    for (uint32_t r = 0; r < rows->rows; r++) {
        for (uint32_t s = 0; s < direct->inputs; s++)
            piece.src[s] = from[s] + r * step[s];
        piece.out = to + r * run->iterator.strides[0][tiles->across] * bytes;
        if (!run->block.isa->direct(&piece, rows->width))
            return false;
    }
    return true;
}

static void run_tile(struct map_run *run, const struct map_tiles *tiles, struct tile tile, uint32_t next)
{
    const uint32_t rows = tile.rows, most = KERN_MAP_BLOCK / tile.width;
    struct map_direct direct;
    const bool is_direct = map_direct_init(&direct, run) && run->iterator.strides[0][run->iterator.rank - 1] == 1;
    transpose_inputs(run, tiles, &tile);
    for (uint32_t first = 0; first < rows; first += most) {
        tile.rows = BASE_MIN(most, rows - first);
        if (run->non_temporal)
            prefetch_next(run, tiles, &tile, first, rows, next);
        if (!is_direct || !run_direct(run, tiles, &direct, &tile))
            run_rows(run, tiles, &tile);
        for (uint32_t v = 0; v < run->iterator.views; v++)
            tile.offset[v] += tile.rows * run->iterator.strides[v][tiles->across];
        for (uint32_t i = 0; i < run->op->input_count; i++)
            if (tiles->crossed >> i & 1)
                tile.transposed[i] += tile.rows * tile.width * kern_type_bytes(run->op->tensors[i].type);
    }
}

/* The unit's first tile; returns the elements of its rows. */
static uint64_t unit_at(const struct map_run *run, const struct map_tiles *tiles, uint64_t unit, struct tile *out)
{
    const struct kern_iterator *iterator = &run->iterator;
    const uint32_t row = iterator->rank - 1;
    const uint64_t first = unit % tiles->pieces * PIECE, strip = unit / tiles->pieces % tiles->strips * tiles->strip;
    uint64_t outer = unit / tiles->pieces / tiles->strips;
    for (uint32_t v = 0; v < iterator->views; v++)
        out->offset[v] =
            (int64_t)first * iterator->strides[v][row] + (int64_t)strip * iterator->strides[v][tiles->across];
    for (uint32_t d = row; d-- > 0;) {
        if (d == tiles->across)
            continue;
        for (uint32_t v = 0; v < iterator->views; v++)
            out->offset[v] += (int64_t)(outer % iterator->sizes[d]) * iterator->strides[v][d];
        outer /= iterator->sizes[d];
    }
    out->rows = (uint32_t)BASE_MIN(tiles->strip, iterator->sizes[tiles->across] - strip);
    return BASE_MIN(PIECE, iterator->sizes[row] - first);
}

void map_tiles_run(struct map_run *run, const struct map_tiles *tiles, uint64_t begin, uint64_t end)
{
    const struct kern_iterator *iterator = &run->iterator;
    for (uint64_t unit = begin; unit < end; unit++) {
        struct tile tile = { 0 };
        const uint64_t length = unit_at(run, tiles, unit, &tile);
        for (uint64_t at = 0; at < length; at += tile.width) {
            tile.width = (uint32_t)BASE_MIN(TILE, length - at);
            run_tile(run, tiles, tile, (uint32_t)BASE_MIN(TILE, length - at - tile.width));
            for (uint32_t v = 0; v < iterator->views; v++)
                tile.offset[v] += tile.width * iterator->strides[v][iterator->rank - 1];
        }
    }
}
