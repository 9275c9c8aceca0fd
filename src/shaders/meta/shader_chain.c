/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: products of few rows, with normalisations before them, in one dispatch. Of each such step alone half the time
 * is a barrier and the way of its constant factor from memory, which a chain's kernel has under way before. */
#include "shaders/meta/gemm_chain_params.h"
#include "shaders/meta/shader_meta.h"

#include "kernels/core/number.h"

#define VECTOR 8 /* elements */

_Static_assert(sizeof(struct gemm_chain_params) <= META_PARAMETERS_MAX, "parameters of a chain");
_Static_assert(sizeof(struct gemm_chain_step) % 8 == 0, "addresses of all its steps");

static uint32_t count_of(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

/* ---- normalisations ---- */

/* A tensor as rows along `axes`: neighbours within a row. */
struct rows {
    uint32_t count, size;
    int64_t stride;
};

/* False: it is none such. */
static bool find_rows(const struct kern_view *view, uint32_t axes, struct rows *out)
{
    bool first = true;
    int64_t next = 1;
    *out = (struct rows){ 1, 1, 0 };
    for (uint32_t d = view->rank; d-- > 0;) {
        const bool along = axes >> d & 1;
        if (view->sizes[d] == 1)
            continue;
        if (along && out->count > 1)
            return false;
        if (!along && first)
            next = out->stride = view->strides[d];
        if (view->strides[d] != next)
            return false;
        first = first && along;
        *(along ? &out->size : &out->count) *= view->sizes[d];
        next *= view->sizes[d];
    }
    return view->offset % VECTOR == 0 && out->stride % VECTOR == 0 && out->size % VECTOR == 0;
}

/* Scale or bias: the same for all rows. */
static bool is_of_row(const struct kern_view *view, uint32_t axes, uint32_t size)
{
    struct rows rows;
    return find_rows(view, axes, &rows) && rows.size == size && rows.stride == 0;
}

static bool find_norm(const struct kern_op *op, struct rows *x, struct rows *y)
{
    const struct kern_norm *norm = &op->u.norm;
    if (op->kind != KERN_NORM || op->epilogue || !norm->use_mean || !norm->use_variance || !norm->has_scale ||
        !norm->has_bias)
        return false;
    for (uint32_t t = 0; t < 4; t++)
        if (op->tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT16)
            return false;
    return find_rows(&op->tensors[0], norm->axes, x) && find_rows(&op->tensors[3], norm->axes, y) &&
           is_of_row(&op->tensors[1], norm->axes, x->size) && is_of_row(&op->tensors[2], norm->axes, x->size);
}

/* ---- steps ---- */

/* A product, with the normalisation of its rows before it. */
struct step {
    struct gemm_chain_step params;
    uint32_t links; /* 1 or 2 */
};

static uint32_t tiles_of(const struct gemm_chain_step *s)
{
    return s->product.tiles_m * s->product.tiles_n;
}

/* As few parts of the depth as there can be. */
static bool find_splits(struct gemm_chain_step *s)
{
    const uint32_t units = s->product.k / 32;
    s->units = count_of(units, count_of(units, GEMM_CHAIN_UNITS));
    s->splits = count_of(units, s->units);
    return (uint64_t)tiles_of(s) * s->splits <= GEMM_CHAIN_GROUPS;
}

/* The product's rows are what the normalisation makes, and it reads nothing else of that. */
static bool takes_norm(const struct shader_link *norm, const struct shader_link *product, struct gemm_chain_step *s)
{
    struct rows x, y;
    const struct kern_view *a = &product->op->tensors[0], *result = &norm->op->tensors[3];
    if (!find_norm(norm->op, &x, &y) || a->offset != result->offset || x.count != s->product.m ||
        x.size != s->product.k || y.stride != s->product.a_m || s->splits > 1)
        return false;
    for (uint32_t t = 0; norm->values && t < product->op->input_count; t++)
        if ((product->values[t] == norm->values[3]) != (t == 0))
            return false;
    s->product.a_m = (i32)x.stride;
    s->normal_m = (i32)y.stride;
    s->epsilon = norm->op->u.norm.epsilon;
    return true;
}

/* The step that begins with links[0]; false: it is none for chains. */
static bool find_step(const struct shader_link *links, uint32_t count, struct step *out)
{
    const bool norm = links->op->kind == KERN_NORM;
    const struct shader_link *product = &links[norm];
    struct gemm_chain_step *s = &out->params;
    *out = (struct step){ .links = 1 + norm };
    if (count < out->links || product->op->kind != KERN_GEMM || product->work->row->plan != shader_gemm_meta_plan ||
        !shader_gemm_meta_fragments(product->op, NULL, &s->product) || s->product.k % 32)
        return false;
    s->product.tiles_m = count_of(s->product.m, GEMM_CHAIN_M);
    s->product.tiles_n = count_of(s->product.n, GEMM_CHAIN_N);
    return find_splits(s) && (!norm || takes_norm(links, product, s));
}

static bool find_op_rows(const struct kern_op *op, uint32_t t, struct rows *out)
{
    const struct kern_view *view = &op->tensors[t];
    return find_rows(view, op->kind == KERN_NORM ? op->u.norm.axes : UINT32_C(1) << (view->rank - 1), out);
}

/* What link `at` reads of what earlier ones write has the same rows: kernels wait for those only. */
static bool rows_agree(const struct shader_link *links, uint32_t at)
{
    const struct kern_op *op = links[at].op;
    struct rows read, written;
    for (uint32_t i = 0; i < at && links[at].values; i++)
        for (uint32_t t = 0; t < op->input_count; t++) {
            const struct kern_op *from = links[i].op;
            if (links[at].values[t] != links[i].values[from->input_count])
                continue;
            if (op->tensors[t].offset != from->tensors[from->input_count].offset || !find_op_rows(op, t, &read) ||
                !find_op_rows(from, from->input_count, &written) || read.count != written.count ||
                read.stride != written.stride)
                return false;
        }
    return true;
}

/* Steps in `out`, and how many links they are. */
static uint32_t find_steps(const struct shader_link *links, uint32_t count, struct step *out, uint32_t *out_links)
{
    uint32_t steps = 0, done = 0;
    while (done < count && steps < GEMM_CHAIN_MAX && find_step(&links[done], count - done, &out[steps]) &&
           out[steps].params.product.m == out[0].params.product.m && rows_agree(links, done) &&
           rows_agree(links, done + out[steps].links - 1))
        done += out[steps++].links;
    *out_links = done;
    return steps;
}

/* Where counters and partial sums lie. Counters of one step after the other. */
static void number(struct step *steps, uint32_t count, uint32_t *out_counters, uint32_t *out_partials)
{
    uint32_t counters = GEMM_CHAIN_LINE, partials = 0, pieces = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct gemm_chain_step *s = &steps[i].params;
        s->done = counters;
        s->before = i ? steps[i - 1].params.done : 0;
        s->per_rows = i ? steps[i - 1].params.product.tiles_n : 0;
        counters += s->product.tiles_m * GEMM_CHAIN_LINE;
        s->first = pieces;
        pieces += tiles_of(s) * s->splits;
        if (s->splits == 1)
            continue;
        s->split_counter = counters;
        s->first_partial = partials;
        counters += (uint32_t)base_align_up(tiles_of(s), GEMM_CHAIN_LINE);
        partials += tiles_of(s) * s->splits;
    }
    for (uint32_t i = 0; i < count; i++) {
        steps[i].params.count = count;
        steps[i].params.pieces = pieces;
    }
    *out_counters = counters;
    *out_partials = partials;
}

uint32_t shader_chain_plan(const struct shader_link *links, uint32_t count, struct shader_work *out)
{
    struct step steps[GEMM_CHAIN_MAX];
    uint32_t taken, counters, partials;
    const uint32_t found = find_steps(links, count, steps, &taken);
    if (taken < 2)
        return 0;
    number(steps, found, &counters, &partials);
    out->zeroed_bytes = counters * sizeof(u32);
    out->scratch_bytes = (uint64_t)partials * GEMM_CHAIN_M * GEMM_CHAIN_N * sizeof(float);
    shader_meta_add(out, SHADER_META_gemm_chain, (uint32_t[3]){ GEMM_CHAIN_GROUPS, 1, 1 }, GEMM_CHAIN_ADDRESSES,
                    found * sizeof(struct gemm_chain_step));
    out->dispatches[out->dispatch_count - 1].parts = found;
    return taken;
}

void shader_chain_write(const struct shader_link *links, uint32_t count, const struct shader_place **places,
                        const struct shader_place *scratch, const struct shader_place *zeroed, uint32_t *words)
{
    struct step steps[GEMM_CHAIN_MAX];
    struct gemm_chain_step *out = (struct gemm_chain_step *)words;
    uint32_t links_of_all, counters, partials;
    const uint32_t found = find_steps(links, count, steps, &links_of_all);
    number(steps, found, &counters, &partials);
    for (uint32_t i = 0; i < found; i++, links += steps[i - 1].links, places += steps[i - 1].links) {
        struct gemm_chain_step *s = &steps[i].params;
        const bool norm = steps[i].links > 1;
        struct gemm_meta_params plain = s->product;
        shader_gemm_meta_fragments(links[norm].op, places[norm], &s->product);
        s->product.a_m = plain.a_m;
        s->product.tiles_m = plain.tiles_m;
        s->product.tiles_n = plain.tiles_n;
        s->counters = shader_meta_place(zeroed);
        s->partials = partials ? shader_meta_place(scratch) : 0;
        if (norm) {
            s->product.a = shader_meta_place(&places[0][0]);
            s->gamma = shader_meta_place(&places[0][1]);
            s->beta = shader_meta_place(&places[0][2]);
            s->normal = shader_meta_place(&places[0][3]);
        }
        out[i] = *s;
    }
}

/* ---- zeros ---- */

void shader_zero_plan(struct shader_work *out)
{
    shader_meta_add(out, SHADER_META_meta_zero, (uint32_t[3]){ 1, 1, 1 }, 1, sizeof(struct meta_zero_params));
}

void shader_zero_write(const struct shader_place *place, uint64_t bytes, uint32_t *words)
{
    *(struct meta_zero_params *)words =
        (struct meta_zero_params){ .at = shader_meta_place(place), .words = (u32)(bytes / sizeof(u32)) };
}
