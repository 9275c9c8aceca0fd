/* Element-wise programs with inputs that lie across the output: tiles of them are turned in registers on their way into
 * the block's buffers. */
#include "kernels/map_run.h"
#include "kernels/move.h"
#include "kernels/stream.h"

enum {
    LEAST = 16, /* shorter sides are not worth it */
    STRIP = 32, /* rows of a tile: whole cache lines of the inputs that lie across */
    TILE = 32,  /* elements of a tile's rows */
    PIECE = 512 /* of a row, in one unit */
};
_Static_assert(STRIP *TILE <= KERN_MAP_BLOCK, "a tile is a block");

struct tile {
    int64_t offset[KERN_TENSORS_MAX]; /* per view */
    uint32_t rows, width;
};

bool map_tiles_init(struct map_tiles *tiles, const struct kern_op *op, const struct kern_walk *walk)
{
    const uint32_t row = walk->rank - 1;
    bool found = false;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (!kern_type_bytes(op->tensors[t].type))
            return false;
    for (uint32_t i = 0; i < op->input_count && !found; i++) {
        const int64_t *strides = walk->strides[map_view_of_input(i)];
        for (uint32_t d = 0; d < row && strides[row] != 1 && strides[row] != 0 && !found; d++) {
            found = strides[d] == 1 && walk->sizes[d] >= LEAST && walk->sizes[row] >= LEAST;
            tiles->across = d;
        }
    }
    if (!found)
        return false;
    const uint64_t rows = walk->sizes[tiles->across], length = walk->sizes[row];
    tiles->strips = (rows + STRIP - 1) / STRIP;
    tiles->pieces = (length + PIECE - 1) / PIECE;
    tiles->units = walk->count / rows / length * tiles->strips * tiles->pieces;
    return true;
}

static void load_tile(struct map_run *run, const struct map_tiles *tiles, uint32_t i, const struct tile *tile)
{
    const uint32_t view = map_view_of_input(i);
    const int64_t row_stride = run->walk.strides[view][tiles->across],
                  stride = run->walk.strides[view][run->walk.rank - 1];
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    const uint32_t bytes = kern_type_bytes(type);
    const bool same = type == run->block.type[i];
    const char *from = (const char *)run->call->data[i] + tile->offset[view] * bytes;
    char *buffer = kern_map_block_buffer(&run->block, i);
    char *raw = same ? buffer : kern_map_block_staging(&run->block);
    if (row_stride == 0 && stride == 0) {
        map_load_repeated(run, i, from);
        return;
    }
    run->filled[i] = NULL;
    run->block.value[i] = buffer;
    if (row_stride == 1 && stride != 1 && stride != 0) {
        const struct move_block turned = { .out = raw,
                                           .in = from,
                                           .out_stride = tile->width,
                                           .row_stride = 1,
                                           .in_stride = stride,
                                           .width = tile->rows,
                                           .length = tile->width };
        move_block_turn(run->block.isa->turn, bytes, &turned);
    } else {
        for (uint32_t r = 0; r < tile->rows; r++)
            kern_copy_row(bytes, raw + (size_t)r * tile->width * bytes, 1, from + r * row_stride * bytes, stride,
                          tile->width);
    }
    if (!same)
        kern_convert(run->block.isa, run->block.type[i], buffer, type, raw, tile->rows * tile->width);
}

static void store_tile(struct map_run *run, const struct map_tiles *tiles, uint32_t j, const struct tile *tile)
{
    const uint32_t view = map_view_of_output(run->op, j), output = run->op->input_count + j;
    const int64_t row_stride = run->walk.strides[view][tiles->across],
                  stride = run->walk.strides[view][run->walk.rank - 1];
    DML_TENSOR_DATA_TYPE type = run->op->tensors[output].type;
    const uint32_t bytes = kern_type_bytes(type), reg = run->op->u.map.store[j];
    const char *value = run->block.value[reg];
    char *to = (char *)run->call->data[output] + tile->offset[view] * bytes;
    if (type != run->block.type[reg]) {
        char *raw = kern_map_block_staging(&run->block);
        kern_convert(run->block.isa, type, raw, run->block.type[reg], value, tile->rows * tile->width);
        value = raw;
    }
    for (uint32_t r = 0; r < tile->rows; r++) {
        const char *from = value + (size_t)r * tile->width * bytes;
        if (run->far && stride == 1)
            kern_stream(to + r * row_stride * bytes, from, tile->width * bytes);
        else
            kern_copy_row(bytes, to + r * row_stride * bytes, stride, from, 1, tile->width);
    }
}

static void run_tile(struct map_run *run, const struct map_tiles *tiles, const struct tile *tile)
{
    for (uint32_t i = 0; i < run->op->input_count; i++)
        load_tile(run, tiles, i, tile);
    kern_map_run_block(&run->block, NULL, tile->rows * tile->width);
    for (uint32_t j = 0; j < run->op->output_count; j++)
        store_tile(run, tiles, j, tile);
}

/* The unit's first tile; returns the elements of its rows. */
static uint64_t unit_at(const struct map_run *run, const struct map_tiles *tiles, uint64_t unit, struct tile *out)
{
    const struct kern_walk *walk = &run->walk;
    const uint32_t row = walk->rank - 1;
    const uint64_t first = unit % tiles->pieces * PIECE, strip = unit / tiles->pieces % tiles->strips * STRIP;
    uint64_t outer = unit / tiles->pieces / tiles->strips;
    for (uint32_t v = 0; v < walk->views; v++)
        out->offset[v] = (int64_t)first * walk->strides[v][row] + (int64_t)strip * walk->strides[v][tiles->across];
    for (uint32_t d = row; d-- > 0;) {
        if (d == tiles->across)
            continue;
        for (uint32_t v = 0; v < walk->views; v++)
            out->offset[v] += (int64_t)(outer % walk->sizes[d]) * walk->strides[v][d];
        outer /= walk->sizes[d];
    }
    out->rows = (uint32_t)BASE_MIN(STRIP, walk->sizes[tiles->across] - strip);
    return BASE_MIN(PIECE, walk->sizes[row] - first);
}

void map_tiles_run(struct map_run *run, const struct map_tiles *tiles, uint64_t begin, uint64_t end)
{
    const struct kern_walk *walk = &run->walk;
    for (uint64_t unit = begin; unit < end; unit++) {
        struct tile tile;
        const uint64_t length = unit_at(run, tiles, unit, &tile);
        for (uint64_t at = 0; at < length; at += tile.width) {
            tile.width = (uint32_t)BASE_MIN(TILE, length - at);
            run_tile(run, tiles, &tile);
            for (uint32_t v = 0; v < walk->views; v++)
                tile.offset[v] += tile.width * walk->strides[v][walk->rank - 1];
        }
    }
    if (run->far)
        kern_stream_end();
}
