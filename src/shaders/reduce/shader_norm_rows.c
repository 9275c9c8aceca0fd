/* SPDX-License-Identifier: Apache-2.0 */
/* NORM of groups that are long or not contiguous, in tiles of rows and columns. Groups of several tiles take two
 * dispatches: sums of each tile, and results. */
#include "shaders/core/shader_dims.h"
#include "shaders/reduce/shader_lines.h"

#include "kernels/core/number.h"

#define GROUPS_MAX    256 /* of a tile */
#define GROUPS_WANTED 512 /* workgroups that keep a large device busy */
#define GROUPS_ENOUGH 32  /* that are worth a longer single dispatch */
#define SEGMENT_BYTES 128 /* of a row of a tile, for whole lines of caches */
#define LEAST         128 /* loads of a tile */
#define LOADS_SHORT   4   /* of an invocation */
#define LOADS_SINGLE  12  /* likewise: more of them are distributed to several tiles */
#define PARTS_MAX     256
#define PARTIAL_BYTES 12

struct rows {
    struct kern_op op; /* with dimensions in the shader's order */
    struct norm_rows_params params;
    uint64_t tiles;
    uint32_t outer; /* product of the outer dimensions */
    uint32_t chunk; /* elements */
    bool fixed, full;
};

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* The op's own tensors have 16 bits. */
static bool is_wide(const struct kern_op *op)
{
    const uint32_t own = 1 + op->u.norm.has_scale + op->u.norm.has_bias;
    for (uint32_t t = 0; t < own; t++)
        if (kern_type_bytes(op->tensors[t].type) != 2)
            return false;
    return kern_type_bytes(op->tensors[op->input_count].type) == 2;
}

static uint32_t product(const struct kern_view *view, uint32_t first, uint32_t end)
{
    uint32_t result = 1;
    for (uint32_t d = first; d < end; d++)
        result *= view->sizes[d];
    return result;
}

/* Dimension d, the last one, in `folds` pieces: all of them but the last one have `size` elements. */
static void fold(struct kern_op *op, uint32_t d, uint32_t folds, uint32_t size)
{
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        struct kern_view *view = &op->tensors[t];
        view->strides[d + 1] = view->strides[d];
        view->strides[d] *= size;
        view->sizes[d] = folds;
        view->sizes[d + 1] = size;
        view->rank++;
    }
}

/* Dimensions: those outside of the axes, rows, columns. False: X has no contiguous columns. */
static bool order_dimensions(const struct kern_op *op, struct rows *out)
{
    const uint32_t axes = op->u.norm.axes;
    struct kern_view *x = &out->op.tensors[0];
    struct norm_rows_params *p = &out->params;
    uint32_t order[KERN_RANK_MAX];
    out->op = *op;
    uint32_t outer = shader_dims_pick(x, ~axes, true, order, 0);
    uint32_t rank = shader_dims_pick(x, axes, true, order, outer);
    if (rank == outer || rank + 2 > KERN_RANK_MAX)
        return false;
    shader_dims_permute(&out->op, order, rank);
    const bool within = x->strides[rank - 1] == 1;
    if (!within && (!outer || x->strides[outer - 1] != 1))
        return false;
    p->width = within ? x->sizes[rank - 1] : 1;
    /* Columns of several groups: their dimension comes before the last one, or is the last one. */
    if (outer && within) {
        struct kern_op both = out->op;
        uint32_t own[KERN_RANK_MAX], end = rank;
        for (uint32_t d = 0; d < rank; d++)
            own[d] = d < outer - 1 ? d : d == rank - 2 ? outer - 1 : d > rank - 2 ? d : d + 1;
        shader_dims_permute(&both, own, rank);
        shader_dims_merge(&both, rank - 2, &end);
        if (end < rank) {
            out->op = both;
            rank = end;
            outer--;
        }
    } else if (!within) {
        uint32_t own[KERN_RANK_MAX];
        for (uint32_t d = 0; d < rank; d++)
            own[d] = d < outer - 1 ? d : d == rank - 1 ? outer - 1 : d + 1;
        shader_dims_permute(&out->op, own, rank);
        outer--;
    }
    uint32_t last = rank - 1;
    shader_dims_merge(&out->op, outer, &last);
    rank = last + 1;
    shader_dims_merge(&out->op, 0, &outer);
    rank = x->rank;
    p->outer = outer;
    p->columns = x->sizes[rank - 1];
    return true;
}

static bool is_fixed(const struct rows *rows)
{
    const uint32_t own = 1 + rows->op.u.norm.has_scale + rows->op.u.norm.has_bias;
    for (uint32_t t = 1; t < own; t++)
        for (uint32_t d = rows->params.outer; d + 1 < rows->op.tensors[t].rank; d++)
            if (rows->op.tensors[t].sizes[d] > 1 && rows->op.tensors[t].strides[d])
                return false;
    return true;
}

/* The columns in slabs, or those of one group in rows of equal length. False: too many of one row. */
static bool cut_columns(struct rows *rows)
{
    struct norm_rows_params *p = &rows->params;
    const uint32_t most = SHADER_GROUP_SIZE * rows->chunk, rank = rows->op.tensors[0].rank;
    p->folds = p->slabs = 1;
    p->missing = 0;
    if (p->width == p->columns && p->columns > most) {
        const uint32_t folds = (p->columns + most - 1) / most;
        const uint32_t size = (uint32_t)base_align_up((p->columns + folds - 1) / folds, rows->chunk);
        fold(&rows->op, rank - 1, folds, size);
        p->folds = folds;
        p->missing = folds * size - p->columns;
        p->width = p->columns = size;
        if (p->missing >= size)
            return false;
    }
    const uint32_t unit = p->width / common_divisor(p->width, rows->chunk) * rows->chunk;
    p->slab = p->columns;
    if (p->width < p->columns && p->columns % unit == 0) {
        const uint32_t bytes = kern_type_bytes(rows->op.tensors[0].type);
        const uint32_t units = BASE_MAX((SEGMENT_BYTES + unit * bytes - 1) / (unit * bytes), 1);
        p->slab = BASE_MIN(unit * units, p->columns);
        p->slabs = (p->columns + p->slab - 1) / p->slab;
    }
    p->chunks = (p->slab + rows->chunk - 1) / rows->chunk;
    return p->slab <= most && p->slab / p->width <= GROUPS_MAX;
}

static void cut_rows(struct rows *rows)
{
    struct norm_rows_params *p = &rows->params;
    const uint32_t at_once = BASE_MIN(SHADER_GROUP_SIZE / p->chunks, p->rows);
    const uint32_t loads = (p->rows + at_once - 1) / at_once;
    const uint64_t groups = (uint64_t)rows->outer * p->slabs;
    p->at_once = at_once;
    p->parts = 1;
    p->part = p->rows;
    if (loads > LOADS_SHORT && groups < GROUPS_WANTED && (loads > LOADS_SINGLE || groups < GROUPS_ENOUGH)) {
        const uint32_t wanted = (uint32_t)((GROUPS_WANTED + groups - 1) / groups);
        const uint32_t parts = BASE_MIN(BASE_MIN(wanted, PARTS_MAX), (loads + LOADS_SHORT - 1) / LOADS_SHORT);
        p->part = (loads + parts - 1) / parts * at_once;
        p->parts = (p->rows + p->part - 1) / p->part;
    }
    p->lanes = 1;
    while (p->lanes * 2 * (p->slab / p->width) <= SHADER_GROUP_SIZE)
        p->lanes *= 2;
    rows->tiles = groups * p->parts;
}

/* False: other kernels are better. */
static bool find_rows(const struct kern_op *op, struct rows *out)
{
    *out = (struct rows){ .chunk = is_wide(op) ? 8 : 4 };
    if (!order_dimensions(op, out))
        return false;
    struct norm_rows_params *p = &out->params;
    if (!cut_columns(out))
        return false;
    const struct kern_view *x = &out->op.tensors[0], *y = &out->op.tensors[op->input_count];
    out->outer = product(x, 0, p->outer);
    p->rows = product(x, p->outer, x->rank - 1);
    p->epsilon = op->u.norm.epsilon;
    cut_rows(out);
    out->fixed = is_fixed(out);
    out->full = !p->missing && p->slab % out->chunk == 0 && p->columns % p->slab % out->chunk == 0 &&
                y->strides[y->rank - 1] == 1;
    return (uint64_t)p->rows * p->chunks >= LEAST;
}

static uint32_t mode_of(const struct kern_op *op, const struct rows *rows)
{
    const struct kern_norm *norm = &op->u.norm;
    return norm->use_mean * NORM_MEAN | norm->use_variance * NORM_VARIANCE | norm->has_scale * NORM_SCALE |
           norm->has_bias * NORM_BIAS | rows->fixed * NORM_FIXED;
}

const char *shader_norm_rows_unsupported(const struct kern_op *op)
{
    struct kern_op plain = *op;
    struct rows rows;
    const char *reason = shader_epilogue_unsupported(op);
    plain.epilogue = NULL;
    reason = reason ? reason : shader_lines_unsupported(&plain);
    if (reason)
        return reason;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (kern_type_class(op->tensors[t].type) != KERN_CLASS_FLOAT || kern_type_bytes(op->tensors[t].type) > 4)
            return "no shader for this data type";
    if (!shader_specializes(op, kern_view_elements(&op->tensors[0])))
        return "too few elements for this shader";
    return find_rows(op, &rows) ? NULL : "no long rows of adjacent elements";
}

void shader_norm_rows_plan(const struct kern_op *op, struct shader_work *out)
{
    struct rows rows;
    find_rows(op, &rows);
    const bool split = rows.params.parts > 1;
    for (uint32_t stage = split ? NORM_SUMS : NORM_SUMS | NORM_RESULTS; stage; stage = stage == NORM_SUMS ? 2 : 0) {
        struct shader_dispatch *dispatch =
            shader_add(out, SHADER_norm_rows, &rows.op, rows.tiles, 1, sizeof(rows.params));
        shader_specialize(op, kern_view_elements(&op->tensors[0]), dispatch);
        if (stage & NORM_RESULTS)
            shader_epilogue_add(&rows.op, dispatch);
        dispatch->constant_count = 9;
        dispatch->constants[2] = mode_of(op, &rows);
        dispatch->constants[3] = stage;
        dispatch->constants[4] = rows.chunk == 8;
        dispatch->constants[5] = rows.full;
        dispatch->constants[8] = op->input_count;
    }
    const uint64_t groups = (uint64_t)rows.outer * (rows.params.columns / rows.params.width);
    out->scratch_bytes = split ? groups * rows.params.parts * PARTIAL_BYTES : 0;
}

void shader_norm_rows_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    struct rows rows;
    (void)index; /* both have the same */
    find_rows(op, &rows);
    shader_block_write(&rows.op, places, rows.tiles, &rows.params, sizeof(rows.params), words);
}
