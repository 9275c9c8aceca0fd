/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes by metacommands: B is packed (igemm_pack.cu), then multiplied (igemm.cu). Where Y is not INT32 in
 * rows, or K is cut in parts, INT32 sums go to scratch memory, and a shader makes Y of them. */
#include "shaders/cuda/igemm_params.h"
#include "shaders/gemm/shader_tile.h"
#include "shaders/meta/shader_meta.h"

enum { ROWS_OF_TILES = 8, VECTOR = 16, ALIGN = 256, PACK_PLACES = 3, PLACES = 6 };

struct variant {
    enum shader_meta code;
    uint32_t m, n;
};

static const struct variant large = { SHADER_META_igemm_large, 128, 256 };
static const struct variant small = { SHADER_META_igemm_small, 64, 128 };

/* The whole of it; offsets in scratch memory. */
struct shape {
    struct tile_params tile;
    const struct variant *variant;
    uint32_t columns, depth, b_batches;
    uint32_t batch_dims[2]; /* of Y, with more than one batch: the others have one */
    bool direct;            /* sums are Y */
    uint64_t packed, sums, bytes;
};

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static uint32_t tiles_of(const struct shape *shape, const struct variant *variant)
{
    return count(shape->tile.m, variant->m) * count(shape->tile.n, variant->n) * shape->tile.batches;
}

/* false: more than two dimensions of batches. */
static bool find_batches(const struct kern_op *op, struct shape *out)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t dims = 0;
    out->batch_dims[0] = out->batch_dims[1] = KERN_RANK_MAX;
    for (uint32_t d = y->rank - 2; d-- > 0;)
        if (y->sizes[d] > 1) {
            if (dims == 2)
                return false;
            out->batch_dims[1 - dims++] = d;
        }
    return true;
}

static int64_t batch_stride(const struct kern_view *view, uint32_t dim)
{
    return dim < KERN_RANK_MAX && view->sizes[dim] > 1 ? view->strides[dim] : 0;
}

static void cut(const struct kern_op *op, struct shape *out)
{
    const uint32_t blocks = shader_multiprocessors(op);
    struct tile_params *tile = &out->tile;
    out->variant = tiles_of(out, &large) >= blocks / 2 ? &large : &small;
    tile->tiles_m = count(tile->m, out->variant->m);
    tile->tiles_n = count(tile->n, out->variant->n);
    shader_tile_split(op, BASE_MIN(blocks / tiles_of(out, out->variant), tile->k / TUNE_IGEMM_SPLIT_MIN),
                      TUNE_SPLITS_MAX, tile);
    tile->depth = (uint32_t)base_align_up(tile->depth, IGEMM_CHUNK);
    tile->splits = count(tile->k, tile->depth);
}

static void find_shape(const struct kern_op *op, struct shape *out)
{
    const struct kern_view *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    *out = (struct shape){ .tile = shader_gemm_tile_params(op) };
    find_batches(op, out);
    cut(op, out);
    const bool shared = !batch_stride(b, out->batch_dims[0]) && !batch_stride(b, out->batch_dims[1]);
    out->b_batches = shared ? 1 : out->tile.batches;
    out->columns = (uint32_t)base_align_up(out->tile.n, out->variant->n);
    out->depth = (uint32_t)base_align_up(out->tile.k, IGEMM_CHUNK);
    out->direct =
        out->tile.splits == 1 && !op->epilogue && y->type == DML_TENSOR_DATA_TYPE_INT32 && y->strides[y->rank - 1] == 1;
    const uint64_t results = (uint64_t)out->tile.m * out->tile.n * out->tile.batches * out->tile.splits * 4;
    out->packed = base_align_up(out->direct ? 0 : results, ALIGN);
    out->sums = out->packed + base_align_up((uint64_t)out->columns * out->depth * out->b_batches, ALIGN);
    out->bytes = out->sums + (uint64_t)(out->depth / IGEMM_CHUNK) * out->columns * out->b_batches * 4;
}

/* Whether lanes load vectors along K. */
static bool is_wide(const struct kern_view *a)
{
    const uint32_t last = a->rank - 1;
    if (a->strides[last] != 1 || a->sizes[last] % VECTOR || a->offset % VECTOR)
        return false;
    for (uint32_t d = 0; d < last; d++)
        if (a->sizes[d] > 1 && a->strides[d] % VECTOR)
            return false;
    return true;
}

const char *shader_igemm_meta_unsupported(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    struct shape shape;
    if (!op->u.gemm.integer)
        return "no metacommand for these data types";
    const char *reason = shader_gemm_tile_unsupported(op);
    if (reason)
        return reason;
    if (!is_wide(a) || !find_batches(op, &shape))
        return "no metacommand for matrices with these strides";
    return (uint64_t)y->sizes[y->rank - 2] * y->sizes[y->rank - 1] < TUNE_IGEMM_ELEMENTS_MIN ||
                   y->sizes[y->rank - 2] < TUNE_IGEMM_ROWS_MIN
               ? "the GEMM is too small"
               : NULL;
}

void shader_igemm_meta_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shape shape;
    find_shape(op, &shape);
    const struct tile_params *tile = &shape.tile;
    const uint32_t tiles = tiles_of(&shape, shape.variant) * tile->splits;
    out->scratch_bytes = shape.bytes;
    shader_meta_add(out, SHADER_META_igemm_pack,
                    (uint32_t[3]){ count(shape.columns, IGEMM_COLUMNS), shape.depth / IGEMM_CHUNK, shape.b_batches },
                    PACK_PLACES, sizeof(struct igemm_pack_params));
    shader_meta_add(out, shape.variant->code, (uint32_t[3]){ BASE_MIN(tiles, shader_multiprocessors(op)), 1, 1 },
                    PLACES, sizeof(struct igemm_params));
    if (!shape.direct)
        shader_tile_add_sum(op, tile, out);
}

static u32 flip(const struct kern_view *view)
{
    return view->type == DML_TENSOR_DATA_TYPE_UINT8 ? 0x80808080 : 0;
}

static void write_pack(const struct kern_op *op, const struct shape *shape, const struct shader_place *places,
                       struct igemm_pack_params *out)
{
    const struct kern_view *b = &op->tensors[1];
    const struct shader_place *scratch = &places[op->input_count + op->output_count];
    const uint32_t inner = shape->batch_dims[1];
    *out = (struct igemm_pack_params){
        .b = shader_meta_place(&places[1]),
        .packed = shader_meta_place_at(scratch, shape->packed),
        .sums = shader_meta_place_at(scratch, shape->sums),
        .batch_stride = { batch_stride(b, shape->batch_dims[0]), batch_stride(b, inner) },
        .stride_k = b->strides[b->rank - 2],
        .stride_n = b->strides[b->rank - 1],
        .batches = shape->b_batches,
        .batches1 = inner < KERN_RANK_MAX ? op->tensors[op->input_count].sizes[inner] : 1,
        .k = shape->tile.k,
        .n = shape->tile.n,
        .tile = shape->variant->n,
        .columns = shape->columns,
        .depth = shape->depth,
        .flip = flip(b),
    };
}

static void set_zero(const struct kern_op *op, const struct shader_place *places, uint32_t t, uint32_t from_last,
                     u64 *out_address, i32 *out_stride)
{
    const struct kern_view *view = &op->tensors[t];
    const uint32_t dim = view->rank - from_last;
    *out_address = shader_meta_place(&places[t]);
    *out_stride = view->sizes[dim] > 1 ? (i32)view->strides[dim] : 0;
}

static void set_result(const struct kern_op *op, const struct shape *shape, const struct shader_place *places,
                       struct igemm_params *out)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    const int64_t row = shape->tile.n, matrix = row * shape->tile.m;
    if (shape->direct) {
        out->y = shader_meta_place(&places[op->input_count]);
        out->y_row = y->sizes[y->rank - 2] > 1 ? y->strides[y->rank - 2] : 0;
        for (uint32_t i = 0; i < 2; i++)
            out->y_batch[i] = batch_stride(y, shape->batch_dims[i]);
        return;
    }
    out->y = shader_meta_place(&places[op->input_count + op->output_count]);
    out->y_row = row;
    out->y_batch[0] = matrix * out->batches1;
    out->y_batch[1] = matrix;
    out->y_split = matrix * shape->tile.batches;
}

static void write_product(const struct kern_op *op, const struct shape *shape, const struct shader_place *places,
                          struct igemm_params *out)
{
    const struct kern_gemm *gemm = &op->u.gemm;
    const struct kern_view *a = &op->tensors[0];
    const struct shader_place *scratch = &places[op->input_count + op->output_count];
    const uint32_t inner = shape->batch_dims[1];
    *out = (struct igemm_params){
        .a = shader_meta_place(&places[0]),
        .packed = shader_meta_place_at(scratch, shape->packed),
        .sums = shader_meta_place_at(scratch, shape->sums),
        .a_row = a->sizes[a->rank - 2] > 1 ? a->strides[a->rank - 2] : 0,
        .a_batch = { batch_stride(a, shape->batch_dims[0]), batch_stride(a, inner) },
        .m = shape->tile.m,
        .n = shape->tile.n,
        .k = shape->tile.k,
        .columns = shape->columns,
        .depth = shape->depth,
        .part = shape->tile.splits > 1 ? shape->tile.depth : shape->depth,
        .splits = shape->tile.splits,
        .batches = shape->tile.batches,
        .batches1 = inner < KERN_RANK_MAX ? op->tensors[op->input_count].sizes[inner] : 1,
        .b_batches = shape->b_batches,
        .a_flip = flip(a),
        .b_flip = flip(&op->tensors[1]),
        .group = ROWS_OF_TILES,
    };
    if (gemm->has_a_zero)
        set_zero(op, places, 2, 2, &out->a_zero, &out->a_zero_stride);
    if (gemm->has_b_zero)
        set_zero(op, places, 2 + gemm->has_a_zero, 1, &out->b_zero, &out->b_zero_stride);
    set_result(op, shape, places, out);
}

void shader_igemm_meta_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    struct shape shape;
    find_shape(op, &shape);
    if (index == 0)
        write_pack(op, &shape, places, (struct igemm_pack_params *)words);
    else if (index == 1)
        write_product(op, &shape, places, (struct igemm_params *)words);
    else
        shader_tile_write(op, 1, places, &shape.tile, sizeof(shape.tile), words);
}
