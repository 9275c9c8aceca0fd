/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by metacommands: FLOAT16 and BFLOAT16. Small ones, and of few rows with large constant B, take one
 * dispatch; for large ones a dispatch before it packs B, unless that is constant and was packed beforehand. An estimate
 * of the time decides. */
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/meta/shader_meta.h"
#include "shaders/core/shader_block.h"
#include "shaders/gemm/shader_tile.h"

#define ADDRESSES         GEMM_ADDRESSES
#define VECTOR            8 /* elements that kernels load together */
#define BATCH_RANK        2
#define GROUP_ROWS        8 /* of tiles that large GEMMs process together */
#define PACKED_MAX        (256ull << 20)
#define LAUNCH_US         3.6f
#define PACK_US           2.4f /* one more dispatch; and the bytes that it moves: */
#define PACK_BYTES_OF_US  1.7e6f
#define SUM_US            1.2f /* to begin with the addition of parts; and the bytes of sums that are written and read: */
#define SUM_BYTES_OF_US   3e6f
#define JOIN_BYTES_OF_US  6e4f   /* of the parts of a tile, which one workgroup adds in a chain */
#define CACHE_BYTES_OF_US 8.7e6f /* that the second-level cache gives all multiprocessors */
#define PARTS_MAX         (256ull << 20)
#define FORCED_SPLITS     3                         /* for tests */
#define TENSORS           (4 + META_EPILOGUE_STEPS) /* A, B, C, Y and the operands of the epilogue */
#define STORE_US          7e-5f                     /* of a result of large kernels in vectors; */
#define FINISH_US         6e-5f                     /* more with an epilogue; */
#define SCATTER_US        2e-4f                     /* not in vectors */
#define RESULTS_MAX       (64 * 64) /* of small GEMMs, for each multiprocessor: with more, other kernels are as good */

/* A GEMM as kernels see it: the operand in the role of A has its rows in tiles along M. */
struct product {
    struct gemm_meta_params params;
    uint32_t a, b; /* tensors */
    bool a_vectors, b_vectors;
    uint32_t splits; /* of K: with several, a second dispatch adds their sums */
};

struct batches {
    uint32_t rank, sizes[BATCH_RANK];
    int64_t strides[TENSORS][BATCH_RANK];
};

static int64_t stride_of(const struct kern_view *view, uint32_t d)
{
    return view && view->sizes[d] > 1 ? view->strides[d] : 0;
}

static bool has_c(const struct kern_op *op)
{
    return op->u.gemm.has_c && op->u.gemm.beta != 0;
}

/* A, B, C (or Y again) and Y; and the operands of the epilogue's steps with META_PLACE_STRIDED, else NULL. */
static void views_of(const struct kern_op *op, const struct kern_view **out)
{
    struct kern_epilogue epilogue = { 0 };
    if (op->epilogue && !shader_epilogue_match(op, &epilogue))
        epilogue.count = 0;
    for (uint32_t i = 0; i < META_EPILOGUE_STEPS; i++) {
        const uint32_t tensor = i < epilogue.count ? epilogue.step[i].tensor : 0;
        const bool strided = tensor && shader_meta_is_strided(op, op->tensors[op->input_count].rank - 1, tensor);
        out[4 + i] = strided ? &op->tensors[tensor] : NULL;
    }
    out[0] = &op->tensors[0];
    out[1] = &op->tensors[1];
    out[3] = &op->tensors[op->input_count];
    out[2] = has_c(op) ? &op->tensors[2] : out[3];
}

/* The dimensions before the last two, merged where they are contiguous in all tensors; false: more than kernels
 * support. */
static bool find_batches(const struct kern_op *op, struct batches *out)
{
    const struct kern_view *views[TENSORS];
    views_of(op, views);
    *out = (struct batches){ 0 };
    for (uint32_t d = 0; d + 2 < views[3]->rank; d++) {
        const uint32_t size = views[3]->sizes[d], last = out->rank - 1;
        bool merges = out->rank > 0;
        if (size == 1)
            continue;
        for (uint32_t t = 0; merges && t < TENSORS; t++)
            merges = out->strides[t][last] == stride_of(views[t], d) * size;
        if (!merges && out->rank == BATCH_RANK)
            return false;
        if (!merges)
            out->sizes[out->rank++] = 1;
        out->sizes[out->rank - 1] *= size;
        for (uint32_t t = 0; t < TENSORS; t++)
            out->strides[t][out->rank - 1] = stride_of(views[t], d);
    }
    return true;
}

static bool fits_vectors(const struct kern_view *view, int64_t stride, uint32_t size, const int64_t *batches)
{
    return view->offset % VECTOR == 0 && stride % VECTOR == 0 && size % VECTOR == 0 && batches[0] % VECTOR == 0 &&
           batches[1] % VECTOR == 0;
}

/* Consecutive rows of all batches are rows of one matrix if B is the same for all. */
static void merge_rows(struct gemm_meta_params *p, struct batches *batches)
{
    const uint32_t last = batches->rank - 1;
    if (!batches->rank || batches->strides[1][last] || batches->strides[0][last] != (int64_t)p->m * p->a_m ||
        batches->strides[2][last] != (int64_t)p->m * p->c_m || batches->strides[3][last] != (int64_t)p->m * p->y_m)
        return;
    for (uint32_t i = 0; i < META_EPILOGUE_STEPS; i++)
        if (batches->strides[4 + i][last] != (int64_t)p->m * p->epilogue.steps[i].strides[2])
            return;
    p->m *= batches->sizes[last];
    for (uint32_t t = 0; t < TENSORS; t++)
        batches->strides[t][last] = 0;
    batches->rank--;
}

static void set_batches(struct gemm_meta_params *p, const struct batches *batches)
{
    const uint32_t inner = batches->rank ? batches->rank - 1 : 0, outer = batches->rank > 1 ? 0 : BATCH_RANK - 1;
    i32 *strides[TENSORS] = { p->a_batch, p->b_batch, p->c_batch, p->y_batch };
    for (uint32_t i = 0; i < META_EPILOGUE_STEPS; i++)
        strides[4 + i] = p->epilogue.steps[i].strides;
    p->batch_size = batches->rank ? batches->sizes[inner] : 1;
    p->batches = batches->rank > 1 ? batches->sizes[0] * p->batch_size : p->batch_size;
    for (uint32_t t = 0; t < TENSORS; t++) {
        strides[t][0] = batches->rank > 1 ? (i32)batches->strides[t][outer] : 0;
        strides[t][1] = batches->rank ? (i32)batches->strides[t][inner] : 0;
    }
}

/* With A's rows along M, or otherwise with B's columns as those: Y is then viewed transposed. */
static struct product see(const struct kern_op *op, struct batches batches, bool transposed)
{
    const struct kern_view *views[TENSORS];
    views_of(op, views);
    const struct kern_view *a = views[transposed], *b = views[!transposed], *c = views[2], *y = views[3];
    const uint32_t last = y->rank - 1, along_m = transposed ? last : last - 1, along_n = transposed ? last - 1 : last;
    const uint32_t k_of_a = transposed ? last - 1 : last, k_of_b = transposed ? last : last - 1;
    struct product product = { .a = transposed, .b = !transposed };
    struct gemm_meta_params *p = &product.params;
    if (transposed)
        for (uint32_t d = 0; d < BATCH_RANK; d++) {
            const int64_t stride = batches.strides[0][d];
            batches.strides[0][d] = batches.strides[1][d];
            batches.strides[1][d] = stride;
        }
    *p = (struct gemm_meta_params){ .m = y->sizes[along_m],
                                    .n = y->sizes[along_n],
                                    .k = a->sizes[k_of_a],
                                    .a_m = (i32)stride_of(a, along_m),
                                    .a_k = (i32)stride_of(a, k_of_a),
                                    .b_k = (i32)stride_of(b, k_of_b),
                                    .b_n = (i32)stride_of(b, along_n),
                                    .c_m = (i32)stride_of(c, along_m),
                                    .c_n = (i32)stride_of(c, along_n),
                                    .y_m = (i32)stride_of(y, along_m),
                                    .y_n = (i32)stride_of(y, along_n),
                                    .c_type = (u32)c->type,
                                    .y_type = (u32)y->type,
                                    .alpha = op->u.gemm.alpha,
                                    .beta = op->u.gemm.beta,
                                    .flags = transposed ? GEMM_TRANSPOSED : 0 };
    for (uint32_t i = 0; i < META_EPILOGUE_STEPS; i++) {
        p->epilogue.steps[i].strides[2] = (i32)stride_of(views[4 + i], along_m);
        p->epilogue.steps[i].strides[3] = (i32)stride_of(views[4 + i], along_n);
    }
    merge_rows(p, &batches);
    const bool b_along_k = shader_tile_closer(p->b_k, p->b_n);
    const bool a_vectors = p->a_k == 1 && fits_vectors(a, p->a_m, p->k, batches.strides[0]);
    const bool y_along_m = shader_tile_closer(p->y_m, p->y_n);
    const bool vectors = y->type == a->type && (y_along_m ? p->y_m : p->y_n) == 1 &&
                         fits_vectors(y, y_along_m ? p->y_n : p->y_m, y_along_m ? p->m : p->n, batches.strides[3]);
    const bool b_vectors = fits_vectors(b, b_along_k ? p->b_n : p->b_k, b_along_k ? p->k : p->n, batches.strides[1]) &&
                           (b_along_k ? p->b_k : p->b_n) == 1;
    product.a_vectors = a_vectors;
    product.b_vectors = b_vectors;
    p->flags |= (b_vectors ? GEMM_B_VECTORS : 0) | (a->type == DML_TENSOR_DATA_TYPE_FLOAT16 ? 0 : GEMM_BFLOAT16) |
                (b_along_k ? GEMM_B_ALONG_K : 0) | (y_along_m ? GEMM_Y_ALONG_M : 0) | (vectors ? GEMM_Y_VECTORS : 0);
    set_batches(p, &batches);
    return product;
}

/* A's vectors are along K. If they are not and B's are, the GEMM is viewed transposed. A packed B does not need
 * vectors. */
static struct product product_of(const struct kern_op *op)
{
    struct batches batches;
    find_batches(op, &batches);
    struct product product = see(op, batches, false);
    if (!product.a_vectors || (!product.b_vectors && op->packed_input != 2)) {
        const struct product other = see(op, batches, true);
        if (other.a_vectors && other.b_vectors)
            product = other;
    }
    return product;
}

static bool is_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

/* ---- kernels ---- */

/* SMALL kernels read B directly, FRAGMENT ones packed ahead of time, as fragments. For others it is packed, if
 * necessary by a dispatch; they have a workgroup for each multiprocessor. HALF ones have FLOAT16 sums and no
 * epilogue. */
enum form { FORM_SMALL, FORM_FRAGMENT, FORM_LARGE, FORM_HALF };

/* Of tiles m x n, for K that is a multiple of `whole`. The time of a GEMM in microseconds: `fixed`, and `step` for each
 * 32 elements along K of as many tiles as there are multiprocessors. */
struct kernel {
    enum form form;
    enum shader_meta code[2]; /* of SMALL ones B along N, along K; of others FLOAT16, BFLOAT16 or none */
    uint32_t m, n, whole;
    float fixed, step;
};

static const struct kernel kernels[] = {
#define GEMM_KERNEL(form, code, other, m, n, whole, fixed, step)                                                       \
    { FORM_##form, { SHADER_META_##code, SHADER_META_##other }, m, n, whole, fixed, step },
#include "shaders/meta/gemm_meta_kernels.def"
#undef GEMM_KERNEL
};

static uint32_t forced;

void shader_gemm_meta_force(uint32_t kernel)
{
    forced = kernel;
}

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static uint64_t fragment_bytes(const struct gemm_meta_params *p)
{
    return (uint64_t)count(p->n, 8) * count(p->k, 32) * GEMM_FRAGMENT_BYTES;
}

static uint64_t packed_bytes(const struct gemm_meta_params *p)
{
    return shader_panels_bytes(p->k, p->n);
}

/* Whether batches have a B each. */
static bool has_batches_of_b(const struct gemm_meta_params *p)
{
    return p->b_batch[0] || p->b_batch[1];
}

static uint32_t packed_batches(const struct gemm_meta_params *p)
{
    return has_batches_of_b(p) ? p->batches : 1;
}

static uint64_t results_of(const struct gemm_meta_params *p)
{
    return (uint64_t)p->m * p->n * p->batches;
}

/* B was, or may be, packed ahead of time. */
static bool is_packed(const struct kern_op *op, const struct product *product)
{
    return op->packed_input == product->b + 1;
}

static bool takes_packed(const struct kernel *kernel)
{
    return kernel->form >= FORM_LARGE;
}

/* Large kernels store their sums as they are. */
static bool is_plain(const struct kern_op *op, const struct gemm_meta_params *p)
{
    return (p->flags & GEMM_Y_VECTORS) && !(p->flags & GEMM_Y_ALONG_M) && !has_c(op) && !op->epilogue;
}

/* Of a tile, after its sums; parts are FLOAT32. */
static float finish_time(const struct kernel *kernel, const struct kern_op *op, const struct gemm_meta_params *p,
                         uint32_t splits)
{
    const bool vectors = (p->flags & GEMM_Y_VECTORS) && !(p->flags & GEMM_Y_ALONG_M);
    const float results = (float)(kernel->m * kernel->n);
    if (!takes_packed(kernel))
        return 0;
    if (splits > 1)
        return results * 2 * STORE_US;
    return results * (!vectors ? SCATTER_US : is_plain(op, p) ? STORE_US : STORE_US + FINISH_US);
}

static uint32_t split_depth(const struct gemm_meta_params *p, uint32_t splits)
{
    return count(count(p->k, GEMM_PACKED_K), splits) * GEMM_PACKED_K;
}

static uint32_t part_line(const struct gemm_meta_params *p)
{
    return count(p->n, GEMM_PART_COLUMNS) * GEMM_PART_COLUMNS;
}

static uint64_t part_bytes(const struct gemm_meta_params *p)
{
    return (uint64_t)p->m * p->batches * part_line(p) * sizeof(float);
}

static uint64_t tiles_of(const struct kernel *kernel, const struct gemm_meta_params *p)
{
    return (uint64_t)count(p->m, kernel->m) * count(p->n, kernel->n) * p->batches;
}

/* Of `tiles` tiles at once. Large kernels read both operands once for each tile, as fast as caches give them; of small
 * ones, the measured time is that of many workgroups. */
static float round_time(const struct kernel *kernel, float tiles, float steps, float finish)
{
    const float bytes = tiles * (float)(kernel->m + kernel->n) * 32 * sizeof(uint16_t);
    const float step = takes_packed(kernel) ? BASE_MAX(kernel->step, bytes / CACHE_BYTES_OF_US) : kernel->step;
    return tiles > 0 ? kernel->fixed + step * steps + finish : 0;
}

static float time_of(const struct kernel *kernel, const struct kern_op *op, const struct product *product,
                     uint32_t splits)
{
    const struct gemm_meta_params *p = &product->params;
    const uint32_t at_once = shader_multiprocessors(op);
    const uint64_t tiles = tiles_of(kernel, p) * splits;
    const uint32_t depth = splits > 1 ? split_depth(p, splits) : p->k;
    const float steps = (float)count(depth, 32), finish = finish_time(kernel, op, p, splits);
    const float packing = takes_packed(kernel) && !is_packed(op, product)
                              ? PACK_US + (float)(packed_bytes(p) * packed_batches(p)) / PACK_BYTES_OF_US
                              : 0;
    const float tile = (float)(kernel->m * kernel->n * splits * sizeof(float));
    const float sum =
        splits > 1 ? SUM_US + (float)(part_bytes(p) * splits) / SUM_BYTES_OF_US + tile / JOIN_BYTES_OF_US : 0;
    return LAUNCH_US + (float)(tiles / at_once) * round_time(kernel, (float)at_once, steps, finish) +
           round_time(kernel, (float)(tiles % at_once), steps, finish) + packing + sum;
}

static bool takes_splits(const struct kernel *kernel, const struct gemm_meta_params *p, uint32_t splits)
{
    return splits == 1 || (kernel->form == FORM_LARGE && part_bytes(p) * splits <= PARTS_MAX &&
                           (uint64_t)(splits - 1) * split_depth(p, splits) < p->k);
}

/* Parts of K pay while there are multiprocessors without a tile. */
static uint32_t find_splits(const struct kernel *kernel, const struct kern_op *op, const struct product *product)
{
    const struct gemm_meta_params *p = &product->params;
    const uint64_t most = shader_multiprocessors(op) / tiles_of(kernel, p);
    uint32_t best = 1;
    if (forced) {
        best = 1 + p->m % FORCED_SPLITS;
        return takes_splits(kernel, p, best) ? best : 1;
    }
    for (uint32_t i = 2; i <= most; i++)
        if (takes_splits(kernel, p, i) && time_of(kernel, op, product, i) < time_of(kernel, op, product, best))
            best = i;
    return best;
}

static bool takes(const struct kernel *kernel, const struct kern_op *op, const struct product *product)
{
    const struct gemm_meta_params *p = &product->params;
    if (!product->a_vectors)
        return false;
    if (!takes_packed(kernel))
        return (kernel->form == FORM_SMALL ? product->b_vectors : is_packed(op, product)) &&
               (forced || results_of(p) <= (uint64_t)shader_multiprocessors(op) * RESULTS_MAX);
    if (packed_bytes(p) * packed_batches(p) > PACKED_MAX)
        return false;
    if ((p->flags & GEMM_BFLOAT16) && kernel->code[1] == SHADER_META_NONE)
        return false;
    if (kernel->form == FORM_HALF && (!(op->flags & KERN_FLAG_HALF_PRECISION) || !is_plain(op, p)))
        return false;
    return p->k % kernel->whole == 0;
}

/* NULL: none. */
static const struct kernel *choose(const struct kern_op *op, const struct product *product, uint32_t *out_splits)
{
    const struct kernel *best = NULL;
    float least = 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(kernels); i++) {
        const struct kernel *kernel = &kernels[(i + forced) % ARRAY_SIZE(kernels)];
        if (!takes(kernel, op, product))
            continue;
        const uint32_t splits = find_splits(kernel, op, product);
        const float time = time_of(kernel, op, product, splits);
        if (!best || time < least) {
            best = kernel;
            least = time;
            *out_splits = splits;
        }
        if (forced)
            break;
    }
    return best;
}

/* Everything that does not depend on addresses. */
static const struct kernel *plan(const struct kern_op *op, struct product *out)
{
    *out = product_of(op);
    const struct kernel *kernel = choose(op, out, &out->splits);
    struct gemm_meta_params *p = &out->params;
    p->splits = out->splits;
    p->split_depth = split_depth(p, out->splits);
    p->part_line = part_line(p);
    p->tiles_m = count(p->m, kernel->m);
    p->tiles_n = count(p->n, kernel->n);
    p->group = GROUP_ROWS;
    if (has_batches_of_b(p))
        p->packed_batch = (u32)((takes_packed(kernel) ? packed_bytes(p) : fragment_bytes(p)) / 16);
    return kernel;
}

/* For large kernels: operands that are 16-byte vectors along N, which a lane loads before it needs them. */
static void find_early_wide(struct gemm_meta_params *p)
{
    const u32 type = p->flags & GEMM_BFLOAT16 ? META_BFLOAT16 : META_FLOAT16;
    const bool vectors = (p->flags & GEMM_Y_VECTORS) && !(p->flags & GEMM_Y_ALONG_M);
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->epilogue.count && found < GEMM_EARLY && p->n % VECTOR == 0; i++) {
        const struct meta_step *step = &p->epilogue.steps[i];
        const i32 *s = step->strides;
        const bool strided = step->place == META_PLACE_STRIDED && s[3] == 1 && (s[0] | s[1] | s[2]) % VECTOR == 0;
        const bool channels = step->place == META_PLACE_CHANNEL && step->stride == 1 && !(p->flags & GEMM_TRANSPOSED);
        if (step->type == type && p->epilogue.operands[i] % 16 == 0 &&
            (strided || channels || (vectors && step->place == META_PLACE_RESULT)))
            p->early[found++] = i + 1;
    }
    const struct meta_step *last = &p->epilogue.steps[found];
    bool quick = !p->c && p->epilogue.count <= found + 1 && (p->epilogue.count == found || !last->type);
    for (uint32_t i = 0; i < found; i++)
        quick = quick && p->early[i] == i + 1 && p->epilogue.steps[i].code == META_ADD;
    /* Steps with two arguments have the second one from `p`. */
    quick = quick && (p->epilogue.count == found || last->code > META_MAX);
    const bool plain = p->epilogue.count == found || last->code == META_RELU || last->code == META_CLAMP ||
                       last->code == META_SWISH || last->code == META_GELU;
    p->flags |= (quick ? GEMM_QUICK : 0) | (quick && plain && vectors ? GEMM_PLAIN : 0);
}

/* Steps whose operands are vectors like Y's. */
static void find_early(struct gemm_meta_params *p)
{
    const bool across = !(p->flags & GEMM_Y_ALONG_M) == !(p->flags & GEMM_TRANSPOSED); /* vectors are of channels */
    const u32 type = p->flags & GEMM_BFLOAT16 ? META_BFLOAT16 : META_FLOAT16;
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->epilogue.count && found < GEMM_EARLY; i++) {
        const struct meta_step *step = &p->epilogue.steps[i];
        const bool alike =
            step->place == META_PLACE_RESULT || (step->place == META_PLACE_CHANNEL && step->stride == 1 && across);
        if ((p->flags & GEMM_Y_VECTORS) && step->type == type && alike && p->epilogue.operands[i] % 8 == 0)
            p->early[found++] = i + 1;
    }
}

/* ---- the kernel ---- */

/* Few rows of A with a large B that was packed ahead of time: reading B dominates. */
static bool streams(const struct kern_op *op)
{
    const struct kern_view *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    return op->packed_input == 2 && y->sizes[y->rank - 2] < TUNE_COOP_LINES_MIN &&
           (uint64_t)b->sizes[b->rank - 2] * b->sizes[b->rank - 1] >= TUNE_META_STREAM_MIN;
}

const char *shader_gemm_meta_unsupported(const struct kern_op *op)
{
    static const char no_types[] = "no metacommand for these data types";
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    struct batches batches;
    const char *reason = shader_size_unsupported(op);
    if (reason)
        return reason;
    if (op->u.gemm.integer || !is_float(y->type) || (has_c(op) && !is_float(op->tensors[2].type)) ||
        (y->type != a->type && y->type != DML_TENSOR_DATA_TYPE_FLOAT32))
        return no_types;
    reason = shader_coop_unsupported(op, streams(op) ? TUNE_COOP_LINES_MIN : y->sizes[y->rank - 2],
                                     y->sizes[y->rank - 1], a->sizes[a->rank - 1]);
    if (reason)
        return reason;
    if (!find_batches(op, &batches))
        return "no metacommand for batches with these strides";
    uint32_t splits;
    const struct product product = product_of(op);
    if (!choose(op, &product, &splits))
        return "no metacommand for operands with these strides, or it is not faster";
    return shader_meta_steps_unsupported(op, false);
}

/* In the scratch memory, behind a packed B. */
static uint64_t parts_place(uint64_t packed)
{
    return base_align_up(packed, 256);
}

void shader_gemm_meta_plan(const struct kern_op *op, struct shader_work *out)
{
    struct product product;
    const struct kernel *kernel = plan(op, &product);
    const struct gemm_meta_params *p = &product.params;
    const uint32_t tiles = p->tiles_m * p->tiles_n, bfloat16 = (p->flags & GEMM_BFLOAT16) != 0;
    const uint32_t every[3] = { tiles, 1, p->batches }, along_k = (p->flags & GEMM_B_ALONG_K) != 0;
    const uint32_t resident[3] = { BASE_MIN(tiles * p->batches * p->splits, shader_multiprocessors(op)), 1, 1 };
    if (!takes_packed(kernel)) {
        const bool packed = kernel->form == FORM_FRAGMENT;
        out->packed_bytes = packed ? fragment_bytes(p) * packed_batches(p) : 0;
        shader_meta_add(out, kernel->code[!packed && along_k], every, ADDRESSES, sizeof(*p));
        return;
    }
    const uint64_t bytes = packed_bytes(p) * packed_batches(p);
    if (is_packed(op, &product)) {
        out->packed_bytes = bytes;
    } else {
        const uint32_t pairs = count(p->n, GEMM_PACKED_N) * count(p->k, GEMM_PACKED_K) * (GEMM_PACKED_K / 64);
        out->scratch_bytes = bytes;
        shader_meta_add(out, SHADER_META_gemm_pack, (uint32_t[3]){ pairs, 1, packed_batches(p) }, ADDRESSES,
                        sizeof(*p));
    }
    shader_meta_add(out, kernel->code[bfloat16], resident, ADDRESSES, sizeof(*p));
    if (p->splits == 1)
        return;
    out->scratch_bytes = parts_place(out->scratch_bytes) + part_bytes(p) * p->splits;
    shader_meta_add(out, SHADER_META_gemm_sum, (uint32_t[3]){ count((uint32_t)(part_bytes(p) / 64), 128), 1, 1 },
                    ADDRESSES, sizeof(*p));
}

void shader_gemm_meta_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    struct gemm_meta_params *p = (struct gemm_meta_params *)words;
    struct product product;
    const struct kernel *kernel = plan(op, &product);
    const bool packs = takes_packed(kernel) && !is_packed(op, &product);
    const u64 scratch = packs ? shader_meta_place(&places[op->input_count + op->output_count]) : 0;
    *p = product.params;
    p->a = shader_meta_place(&places[product.a]);
    p->b = packs && index ? scratch : shader_meta_place(&places[product.b]);
    p->y = packs && !index ? scratch : shader_meta_place(&places[op->input_count]);
    if (packs && !index)
        p->tiles_n = count(p->n, GEMM_PACKED_N);
    if (p->splits > 1) {
        const uint64_t packed = packs ? packed_bytes(p) * packed_batches(p) : 0;
        p->parts = shader_meta_place_at(&places[op->input_count + op->output_count], parts_place(packed));
    }
    if (has_c(op))
        p->c = shader_meta_place(&places[2]);
    shader_meta_epilogue_write(op, op->tensors[op->input_count].rank - 1, places, &p->epilogue);
    if (takes_packed(kernel))
        find_early_wide(p);
    else
        find_early(p);
}

bool shader_gemm_meta_waits(const struct kern_op *op)
{
    struct product product;
    return !takes_packed(plan(op, &product)) || shader_meta_may_wait(op);
}

/* In a chain, kernels add the parts of K themselves, with a counter for each tile. */
bool shader_gemm_meta_joins(const struct kern_op *op)
{
    struct product product;
    const struct kernel *kernel = plan(op, &product);
    const struct gemm_meta_params *p = &product.params;
    return takes_packed(kernel) && is_packed(op, &product) && p->splits > 1 &&
           (uint64_t)p->tiles_m * p->tiles_n * p->batches < META_TURN_LINE;
}

/* ---- packing ---- */

void shader_gemm_meta_pack(const struct kern_op *op, const void *source, void *packed)
{
    struct product product;
    const struct kernel *kernel = plan(op, &product);
    const struct gemm_meta_params *p = &product.params;
    for (uint32_t batch = 0; batch < packed_batches(p); batch++) {
        const uint16_t *b = (const uint16_t *)source + (int64_t)(batch / p->batch_size) * p->b_batch[0] +
                            (int64_t)(batch % p->batch_size) * p->b_batch[1];
        uint16_t *to = (uint16_t *)((char *)packed + batch * (uint64_t)p->packed_batch * 16);
        struct shader_panels panels = { b, to, p->k, p->n, p->b_k, p->b_n, NULL, NULL };
        if (takes_packed(kernel))
            shader_pack_panels(&panels);
        else
            shader_pack_fragments(&panels);
    }
}
