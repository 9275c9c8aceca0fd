/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM with constant integers that one op dequantises reads the integers directly: they are packed in panels now
 * (KERN_QGEMM), and dequantised within the GEMM. Only the order of rounding changes: the sums are FLOAT32, and a scale
 * multiplies the sum of its block, or with many rows each weight. Integers, scales and zero points must be constants,
 * one matrix for all batches, and the scales constant along each block of K. */
#include "graph/passes/quantized.h"

#include "base/cpu.h"
#include "base/half.h"
#include "base/pages.h"
#include "base/parallel.h"
#include "kernels/core/dense.h"

#include <stdlib.h>

#define CODES_MIN 65536u /* that are worth a thread */

/* With few rows, reading the matrix dominates. With more, a matrix that pass fold_constants dequantises is 3 to 9 %
 * faster as floats (30 % slower with 17 rows); any other would be dequantised to memory in each run, which takes twice
 * the time of the GEMM itself with 32 rows, a third of it with 128 and a tenth with 512. */
#define ROWS_FEW  24
#define ROWS_BF16 48 /* with half precision: from here on BFLOAT16 GEMMs are faster */
#define BLOCK_MIN 16 /* smaller blocks have more scales than weights to read */

/* How one dimension of the matrix walks the dimensions of the dequantised tensor, innermost first. */
struct axis {
    uint32_t size, count;
    uint32_t dims[KERN_RANK_MAX];
};

struct weights {
    struct graph *graph;
    const struct graph_op *map; /* inputs: integers, scales, [zero points] */
    struct kern_view t[4];      /* its operands, dimensions split as the matrix needs */
    const void *data[3];
    uint32_t inputs;
    struct axis k, n;
    uint32_t block, groups, panels, depth, center; /* center: of the integers' range, where codes are 0 */
    bool nibbles, zeros;                           /* zeros: zero points must be kept */
    float alpha;                                   /* of the GEMM */
    float middle;                                  /* the zero point, if it is one number in the program */
};

static bool is_quantised(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_UINT8 ||
           type == DML_TENSOR_DATA_TYPE_INT4 || type == DML_TENSOR_DATA_TYPE_UINT4;
}

/* MUL(x | SUB(x, zero point) | MULADD(x, 1, -middle), scale), as lower_quantize.c writes it. */
static bool dequantises(const struct graph_op *op, float *out_middle)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    const struct kern_map *map = &op->k.u.map;
    uint32_t inputs = op->k.input_count, at = 0, last = 0;
    *out_middle = 0;
    if (op->dead || op->k.kind != KERN_MAP || op->k.output_count != 1 || (inputs != 2 && inputs != 3))
        return false;
    for (uint32_t t = 0; t < inputs; t++)
        if (map->load_type[t] != f32)
            return false;
    const struct kern_map_inst *first = &map->inst[0];
    if (inputs == 3 && (first->code != KERN_MAP_SUB || first->src[0] != 0 || first->src[1] != 2 || first->type != f32))
        return false;
    if (inputs == 2 && first->code == KERN_MAP_MULADD && first->src[0] == 0 && first->imm[0].f32 == 1 &&
        first->type == f32)
        *out_middle = -first->imm[1].f32;
    if (inputs == 3 || *out_middle != 0)
        last = inputs + at++;
    const struct kern_map_inst *mul = &map->inst[at];
    return map->inst_count == at + 1 && mul->code == KERN_MAP_MUL && mul->type == f32 && mul->to_type == f32 &&
           mul->src[0] == last && mul->src[1] == 1 && map->store[0] == inputs + at;
}

/* Splits a dimension of the dequantised tensor, which is dense, so that one begins with this stride. */
static void cut(struct weights *w, int64_t stride)
{
    const struct kern_view *written = &w->t[w->inputs];
    for (uint32_t d = 0; d < written->rank && written->rank < KERN_RANK_MAX; d++) {
        int64_t step = written->strides[d], inner = stride / step;
        if (stride % step || inner < 2 || inner >= written->sizes[d] || written->sizes[d] % inner)
            continue;
        for (uint32_t t = 0; t <= w->inputs; t++) {
            struct kern_view *view = &w->t[t];
            for (uint32_t i = view->rank++; i > d; i--) {
                view->sizes[i] = view->sizes[i - 1];
                view->strides[i] = view->strides[i - 1];
            }
            view->sizes[d] /= (uint32_t)inner;
            view->strides[d] *= inner;
            view->sizes[d + 1] = (uint32_t)inner;
        }
        return;
    }
}

/* Dimension `dim` of `read` covers consecutive whole dimensions of the dense `written`, the last one possibly in
 * part. */
static bool axis_find(const struct kern_view *written, const struct kern_view *read, uint32_t dim, struct axis *out)
{
    uint32_t left = read->sizes[dim];
    *out = (struct axis){ .size = left };
    for (uint32_t d = written->rank; d-- > 0 && left > 1;) {
        uint32_t size = written->sizes[d];
        if (size == 1 || (!out->count && written->strides[d] != read->strides[dim]))
            continue;
        out->dims[out->count++] = d;
        left = (uint32_t)(((uint64_t)left + size - 1) / size);
    }
    return left == 1;
}

/* Elements from a tensor's first to the one at this position of the axis. */
static int64_t axis_offset(const struct weights *w, const struct axis *axis, uint32_t t, uint32_t at)
{
    const struct kern_view *view = &w->t[t], *y = &w->t[w->inputs];
    int64_t offset = 0;
    for (uint32_t i = 0; i < axis->count; i++) {
        uint32_t d = axis->dims[i];
        offset += view->strides[d] * (int64_t)(at % y->sizes[d]);
        at /= y->sizes[d];
    }
    return offset;
}

static bool axes_apart(const struct axis *a, const struct axis *b)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < a->count; i++)
        seen |= UINT32_C(1) << a->dims[i];
    for (uint32_t i = 0; i < b->count; i++)
        if (seen >> b->dims[i] & 1)
            return false;
    return true;
}

/* The matrix begins at an element of the dequantised tensor whose coordinates along its own dimensions are 0: as one of
 * several matrices. */
static bool find_begin(struct weights *w, int64_t offset)
{
    const struct kern_view *written = &w->t[w->inputs];
    for (uint32_t d = 0; d < written->rank; d++) {
        const int64_t at = offset / written->strides[d] % written->sizes[d];
        for (uint32_t i = 0; i < w->k.count + w->n.count; i++)
            if (at && d == (i < w->k.count ? w->k.dims[i] : w->n.dims[i - w->k.count]))
                return false;
        for (uint32_t t = 0; t < w->inputs; t++)
            w->t[t].offset += at * w->t[t].strides[d];
    }
    return true;
}

/* The innermost dimension along K is a block: one scale and zero point. */
static bool find_blocks(struct weights *w)
{
    const struct kern_view *t = w->t;
    w->block = w->k.size;
    if (w->k.count) {
        uint32_t d = w->k.dims[0];
        w->block = BASE_MIN(w->k.size, t[w->inputs].sizes[d]);
        for (uint32_t i = 1; i < w->inputs; i++)
            if (t[i].strides[d])
                return false;
    }
    w->groups = (w->k.size + w->block - 1) / w->block;
    w->depth = (uint32_t)base_align_up(w->block, KERN_QGEMM_DEPTH);
    w->panels = (w->n.size + KERN_QGEMM_COLUMNS - 1) / KERN_QGEMM_COLUMNS;
    uint64_t codes = (uint64_t)w->groups * w->depth * w->panels * KERN_QGEMM_COLUMNS;
    return (w->groups == 1 || w->block >= BLOCK_MIN) && codes <= INT32_MAX * UINT64_C(4);
}

static bool find_fixed(const struct weights *w, const struct graph_options *options)
{
    for (uint32_t t = 0; t < w->inputs; t++)
        if (!graph_value_fixed(w->graph, options, w->map->value[t]) || !graph_operand_fits(w->graph, w->map, t))
            return false;
    return true;
}

static bool gemm_suits(const struct graph_op *op)
{
    const struct kern_view *t = op->k.tensors, *y = &t[op->k.input_count];
    if (op->dead || op->k.kind != KERN_GEMM || op->k.u.gemm.integer || op->k.epilogue || y->rank < 2 ||
        t[0].rank != y->rank || t[1].rank != y->rank || t[1].offset < 0)
        return false;
    for (uint32_t d = 0; d + 2 < y->rank; d++)
        if (t[1].sizes[d] > 1 && t[1].strides[d])
            return false;
    for (uint32_t i = 0; i <= op->k.input_count; i++)
        if (!dense_is_short_float(t[i].type))
            return false;
    return true;
}

static bool pays(const struct graph *graph, const struct graph_options *options, const struct graph_op *op,
                 const struct graph_op *map)
{
    const struct graph_backend *backend = options->backend;
    uint64_t rows = dense_rows(&op->k.tensors[op->k.input_count]);
    bool half = dense_half_allowed(&op->k) && backend->multiplies(options, ANYDML_TENSOR_DATA_TYPE_BFLOAT16) &&
                !(options->cpu & BASE_CPU_AMX_BF16); /* which also multiplies quantised weights in BFLOAT16 */
    /* The CPU's features matter only to backends that run on it. */
    const bool here = backend->multiplies(options, DML_TENSOR_DATA_TYPE_UINT8) && !(op->k.flags & KERN_FLAG_REFERENCE);
    const bool whole = kern_type_bytes(map->k.tensors[0].type) == 1; /* 4 bits are multiplied fast only with VNNI */
    const uint32_t fast = BASE_CPU_AVX512_VNNI | BASE_CPU_AVX_VNNI | (whole ? BASE_CPU_AVX2 : 0);
    const bool bytes = (op->k.flags & KERN_FLAG_BYTES) && (options->cpu & fast); /* of which both factors are read */
    /* AMX multiplies codes faster than AVX-512 FLOAT32 numbers, and as exactly. */
    const bool slices = options->cpu & BASE_CPU_AMX_BF16;
    return rows <= ROWS_FEW || (here && (bytes || slices)) ||
           (here && !graph_op_foldable(graph, options, map) && (!half || rows <= ROWS_BF16));
}

static bool find(struct graph *graph, const struct graph_options *options, const struct graph_uses *uses, uint32_t at,
                 struct weights *w)
{
    const struct graph_op *op = graph->ops[at];
    const struct kern_view *read = &op->k.tensors[1];
    *w = (struct weights){ .graph = graph };
    struct graph_use_summary sum = graph_uses_of(uses, op->value[1]);
    if (sum.writes != 1 || sum.writer >= at || !dequantises(graph->ops[sum.writer], &w->middle))
        return false;
    w->map = graph->ops[sum.writer];
    if (!pays(graph, options, op, w->map))
        return false;
    w->inputs = w->map->k.input_count;
    const struct kern_view *t = w->map->k.tensors, *written = &t[w->inputs];
    if (read->type != written->type || !dense_is_short_float(written->type) || !kern_view_packed(written) ||
        written->offset || !is_quantised(t[0].type) || !dense_is_short_float(t[1].type) ||
        (w->inputs == 3 && t[2].type != t[0].type) || !graph_operand_fits(graph, op, 1))
        return false;
    uint32_t bits = kern_type_bytes(t[0].type) ? 8 : 4;
    bool is_signed = t[0].type == DML_TENSOR_DATA_TYPE_INT8 || t[0].type == DML_TENSOR_DATA_TYPE_INT4;
    w->nibbles = bits == 4;
    w->center = is_signed ? 0 : 1u << (bits - 1);
    if (w->middle != 0 && w->middle != (float)w->center)
        return false;
    memcpy(w->t, t, (w->inputs + 1) * sizeof(*t));
    kern_view_set_packed(&w->t[w->inputs], written->type, written->rank, written->sizes); /* also if the size is 1 */
    for (uint32_t d = read->rank - 2; d < read->rank; d++)
        if (read->sizes[d] > 1 && read->strides[d] > 0)
            cut(w, read->strides[d]);
    written = &w->t[w->inputs];
    return axis_find(written, read, read->rank - 2, &w->k) && axis_find(written, read, read->rank - 1, &w->n) &&
           axes_apart(&w->k, &w->n) && find_begin(w, read->offset) && find_blocks(w) && find_fixed(w, options);
}

/* ---- the panels -------------------------------------------------------------------------------------------------- */

/* The integer less `center`. */
static int32_t load_code(const struct weights *w, uint32_t t, int64_t index)
{
    const uint8_t *bytes = w->data[t];
    DML_TENSOR_DATA_TYPE type = w->t[t].type;
    if (kern_type_bytes(type))
        return type == DML_TENSOR_DATA_TYPE_INT8 ? (int8_t)bytes[index] : bytes[index] - (int32_t)w->center;
    int32_t nibble = bytes[index >> 1] >> (index & 1) * 4 & 15;
    return type == DML_TENSOR_DATA_TYPE_INT4 ? (nibble ^ 8) - 8 : nibble - (int32_t)w->center;
}

/* Four codes that are adjacent in the panels: minus the centre. */
static void pack_word(const struct weights *w, const uint8_t *from, uint8_t *out)
{
    uint32_t codes;
    memcpy(&codes, from, sizeof(codes));
    codes ^= !w->center ? 0 : w->nibbles ? 0x88888888 : 0x80808080;
    memcpy(out, &codes, sizeof(codes));
}

/* One column of a group. `from`: its first element. */
static void pack_column(const struct weights *w, int64_t from, uint32_t count, uint32_t c, uint8_t *out)
{
    const uint32_t word = w->nibbles ? 8 : 4, pitch = 4 * KERN_QGEMM_COLUMNS;
    const int64_t step = w->k.count ? w->t[0].strides[w->k.dims[0]] : 0;
    const uint8_t *bytes = w->data[0];
    uint32_t i = 0;
    for (; step == 1 && (!w->nibbles || from % 2 == 0) && i + word <= count; i += word)
        pack_word(w, bytes + (w->nibbles ? (from + i) / 2 : from + i), out + i / word * pitch + c * 4);
    for (; i < count; i++) {
        uint8_t code = (uint8_t)load_code(w, 0, from + i * step), *to = out + i / word * pitch + c * 4;
        if (w->nibbles)
            to[i % 8 / 2] |= (uint8_t)((code & 15) << (i & 1) * 4);
        else
            to[i % 4] = code;
    }
}

/* Owned zero points may have any value. */
static bool has_zeros(struct weights *w)
{
    if (w->inputs < 3)
        return w->center && w->middle == 0;
    const uint32_t value = w->map->value[2];
    if (w->graph->values[value].place != GRAPH_CONSTANT)
        return true;
    w->data[2] = graph_constant_data(w->graph, value);
    for (uint32_t n = 0; w->data[2] && n < w->n.size; n++)
        for (uint32_t g = 0; g < w->groups; g++)
            if (load_code(w, 2, w->t[2].offset + axis_offset(w, &w->n, 2, n) + axis_offset(w, &w->k, 2, g * w->block)))
                return true;
    return false;
}

/* Elements from a column's first to each group's, in a tensor. */
static void find_groups(const struct weights *w, uint32_t t, int64_t *out)
{
    for (uint32_t g = 0; g < w->groups; g++)
        out[g] = t < w->inputs ? axis_offset(w, &w->k, t, g * w->block) : 0;
}

struct coding {
    const struct weights *w;
    const int64_t *groups;
    uint8_t *out;
};

/* Of panels: their columns, group by group. */
static void put_panels(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct coding *coding = context;
    const struct weights *w = coding->w;
    const uint64_t group = (uint64_t)w->depth * KERN_QGEMM_COLUMNS / (w->nibbles ? 2 : 1);
    const uint32_t columns = KERN_QGEMM_COLUMNS, last = (uint32_t)BASE_MIN(end * columns, w->n.size);
    (void)worker;
    for (uint32_t n = (uint32_t)begin * columns; n < last; n++) {
        int64_t first = w->t[0].offset + axis_offset(w, &w->n, 0, n);
        uint8_t *to = coding->out + (uint64_t)(n / columns) * w->groups * group;
        for (uint32_t g = 0; g < w->groups; g++, to += group)
            pack_column(w, first + coding->groups[g], BASE_MIN(w->block, w->k.size - g * w->block), n % columns, to);
    }
}

static void put_codes(const struct weights *w, int64_t *groups, uint8_t *out)
{
    struct coding coding = { w, groups, out };
    find_groups(w, 0, groups);
    base_parallel_for(w->panels, CODES_MIN / BASE_MAX(w->groups * w->depth * KERN_QGEMM_COLUMNS, 1u) + 1, put_panels,
                      &coding);
}

/* Scales that stay as they are. */
static bool halves(const struct weights *w)
{
    return w->t[1].type == DML_TENSOR_DATA_TYPE_FLOAT16 && w->alpha == 1;
}

/* Scales times alpha (t 1) or zero points (t 2, also if the program has none: the centre then represents 0). */
static void put_parameters(const struct weights *w, uint32_t t, int64_t *groups, void *out)
{
    const struct kern_view *view = &w->t[t];
    const uint32_t columns = KERN_QGEMM_COLUMNS;
    const DML_TENSOR_DATA_TYPE type = view->type;
    find_groups(w, t, groups);
    for (uint32_t n = 0; n < w->n.size; n++) {
        int64_t first = t < w->inputs ? view->offset + axis_offset(w, &w->n, t, n) : 0;
        for (uint32_t g = 0; g < w->groups; g++) {
            uint64_t at = ((uint64_t)(n / columns) * w->groups + g) * columns + n % columns;
            int64_t from = first + groups[g];
            if (t >= w->inputs)
                ((int8_t *)out)[at] = (int8_t) - (int32_t)w->center;
            else if (t == 2)
                ((int8_t *)out)[at] = (int8_t)load_code(w, 2, from);
            else if (halves(w))
                ((uint16_t *)out)[at] = ((const uint16_t *)w->data[1])[from];
            else
                ((float *)out)[at] = w->alpha * (float)dense_load(w->data[1], from, type);
        }
    }
}

static bool run_panels(const void *context, const void *const *in, void *const *out)
{
    struct weights w = *(const struct weights *)context;
    memcpy(w.data, in, w.inputs * sizeof(*in));
    int64_t *groups = malloc(w.groups * sizeof(*groups));
    if (!groups)
        return false;
    put_codes(&w, groups, out[0]);
    put_parameters(&w, 1, groups, out[1]);
    if (w.zeros)
        put_parameters(&w, 2, groups, out[2]);
    free(groups);
    return true;
}

/* A new value [panels, groups, ...]. */
static struct graph_operand panels_new(const struct weights *w, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                                       const uint32_t *inner)
{
    uint32_t sizes[KERN_RANK_MAX] = { w->panels, w->groups };
    memcpy(sizes + 2, inner, (rank - 2) * sizeof(*sizes));
    return graph_temp(w->graph, type, rank, sizes);
}

/* out: codes, scales, [zero points] */
static bool make_panels(const struct weights *w, struct graph_operand *out)
{
    const uint32_t columns = KERN_QGEMM_COLUMNS;
    const uint32_t bytes[3] = { w->depth / 4, columns, 4 }, words[3] = { w->depth / 8, columns, 8 };
    uint32_t values[6], outputs = 2 + w->zeros;
    out[0] = w->nibbles ? panels_new(w, DML_TENSOR_DATA_TYPE_INT4, 5, words)
                        : panels_new(w, DML_TENSOR_DATA_TYPE_INT8, 5, bytes);
    out[1] = panels_new(w, halves(w) ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, 3, &columns);
    if (w->zeros)
        out[2] = panels_new(w, DML_TENSOR_DATA_TYPE_INT8, 3, &columns);
    memcpy(values, w->map->value, w->inputs * sizeof(*values));
    for (uint32_t t = 0; t < outputs; t++)
        values[w->inputs + t] = out[t].value;
    return graph_derive(w->graph,
                        &(struct graph_derivation){ "weights", run_panels, w, sizeof(*w), w->inputs, outputs, values });
}

/* ---- the change -------------------------------------------------------------------------------------------------- */

/* Removes the dequantised matrix if it has no other readers, then its sources. */
static void drop_map(struct graph *graph, const struct graph_uses *uses, struct graph_op *map, uint32_t value)
{
    if (graph_uses_first_read(uses, value) != GRAPH_NONE)
        return;
    map->dead = true;
    for (uint32_t t = 0; t < map->k.input_count; t++)
        graph_constant_drop_unread(graph, uses, map->value[t]);
}

static bool rewrite(struct graph *graph, struct graph_uses *uses, struct weights *w, uint32_t at, struct graph_op *map)
{
    struct graph_op *op = graph->ops[at];
    const struct kern_gemm gemm = op->k.u.gemm;
    const uint32_t matrix = op->value[1], y = op->k.input_count, zeros = has_zeros(w);
    w->alpha = gemm.alpha;
    w->zeros = zeros;
    struct graph_operand in[4] = { { op->value[0], op->k.tensors[0] } }, c = { op->value[2], op->k.tensors[2] };
    struct graph_operand out = { op->value[y], op->k.tensors[y] }, sums = out;
    bool adds = gemm.has_c && gemm.beta != 0;
    if (!make_panels(w, &in[1]))
        return false;
    if (adds)
        sums = graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, out.view.rank, out.view.sizes);
    if (graph->failed || (adds && !graph_add_scaled(graph, at + 1, op, sums, c, gemm.beta, out)))
        return false;
    op->k.kind = KERN_QGEMM;
    memset(&op->k.u, 0, sizeof(op->k.u));
    op->k.u.qgemm = (struct kern_qgemm){ .block = w->block, .has_zero = zeros };
    op->k.input_count = 3 + zeros;
    for (uint32_t t = 0; t < op->k.input_count; t++) {
        op->value[t] = in[t].value;
        op->k.tensors[t] = in[t].view;
    }
    op->value[op->k.input_count] = sums.value;
    op->k.tensors[op->k.input_count] = sums.view;
    graph->failed |= !graph_uses_refresh(uses, at) || (adds && !graph_uses_refresh(uses, graph->op_count - 1));
    drop_map(graph, uses, map, matrix);
    return true;
}

/* Operand 0 of the op at `at` is dequantised, perhaps through copies: it is exact in 8 bits, but not relative to the
 * largest element of each group. */
static bool reads_levels(const struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    for (uint32_t value = graph->ops[at]->value[0];; value = graph->ops[at]->value[0]) {
        const struct graph_use_summary sum = graph_uses_of(uses, value);
        if (graph->values[value].place != GRAPH_TEMP || sum.writes != 1 || sum.writer >= at)
            return false;
        at = sum.writer;
        if (graph->ops[at]->k.kind != KERN_MOVE)
            return graph_dequantizes(graph->ops[at]);
    }
}

HRESULT graph_pass_weights(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && i < graph->op_count && !graph->failed; i++) {
        struct graph_op *op = graph->ops[i];
        struct weights w;
        *changed |= graph_recurrent_bytes(graph, options, &uses, i);
        if (!gemm_suits(op) || graph->values[op->value[1]].place != GRAPH_TEMP)
            continue;
        if (reads_levels(graph, &uses, i))
            op->k.flags &= ~KERN_FLAG_BYTES;
        if (!find(graph, options, &uses, i, &w) ||
            !rewrite(graph, &uses, &w, i, graph->ops[graph_uses_of(&uses, op->value[1]).writer]))
            continue;
        *changed = true;
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
