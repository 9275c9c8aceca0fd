/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM: plans of kernels with panels of weights and of few rows, and the reference. */
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/core/choice.h"
#include "kernels/core/isa.h"
#include "kernels/row/row.h"

bool gemm_rows_even(const struct kern_view *view, const struct kern_view *y, int64_t *row)
{
    bool even = true, found = false;
    int64_t next = 0;
    for (uint32_t d = y->rank - 1; d-- > 0;) {
        even = even && view->sizes[d] == y->sizes[d] && (!found || y->sizes[d] == 1 || view->strides[d] == next);
        if (y->sizes[d] == 1)
            continue;
        *row = found ? *row : view->strides[d];
        next = view->strides[d] * (int64_t)y->sizes[d];
        found = true;
    }
    return even;
}

void panel_shape_init(const struct kern_op *op, uint32_t columns, struct panel_shape *out)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    *out = (struct panel_shape){ .rows = dense_rows(y), .columns = columns };
    out->n = y->sizes[y->rank - 1];
    out->k = a->sizes[a->rank - 1];
    out->panels = (out->n + columns - 1) / columns;
    /* Short sums are complete before many rows' results are loaded: those of few rows stay in the first-level cache. */
    uint32_t most = out->k <= PANEL_SHORT_SUM ? PANEL_FEW_ROWS : PANEL_BLOCK_ROWS;
    out->blocks = (out->rows + most - 1) / most;
    out->block_rows = (uint32_t)base_align_up((out->rows + out->blocks - 1) / out->blocks, 8);
    out->sums = base_align_up((PANEL_ADDS + 2) * sizeof(void *) * out->block_rows, 64);
    out->epilogue = out->sums + (uint64_t)out->block_rows * columns * sizeof(float);
    out->element = kern_type_bytes(a->type);
    /* If several threads share a block, faster ones take more parts. */
    out->part_rows = op->threads > 2 && out->element == 4 ? PANEL_PART_ROWS : out->block_rows;
    out->parts = (out->block_rows + out->part_rows - 1) / out->part_rows;
    out->floats = base_align_up(out->epilogue + dense_epilogue_bytes(op), 64);
    out->bytes = out->wide = out->floats;
    if (out->element == 4)
        return;
    out->pitch = base_align_up(out->k, 16) + 16; /* not a multiple of a page: rows would share the lines of a cache */
    out->wide = base_align_up(out->floats + out->block_rows * out->pitch * sizeof(float), 64);
    out->bytes = out->wide + (uint64_t)PANEL_DEPTH * columns * sizeof(float);
}

static bool is_plain(const struct kern_view *view, bool may_repeat)
{
    uint32_t last = view->rank - 1;
    return view->strides[last] == 1 || view->sizes[last] == 1 || (may_repeat && view->strides[last] == 0);
}

static bool add_tensor(const struct kern_op *op, uint32_t tensor, bool multiplies, float factor,
                       struct panel_finish *out)
{
    const struct kern_view *view = &op->tensors[tensor], *y = &op->tensors[op->input_count];
    if (out->count == PANEL_ADDS || view->type != y->type || !is_plain(view, true) ||
        view->sizes[view->rank - 1] != y->sizes[y->rank - 1])
        return false;
    out->tensor[out->count] = tensor;
    out->multiplies[out->count] = multiplies;
    out->step[out->count] = view->strides[view->rank - 1] != 0;
    out->factor[out->count++] = factor;
    return true;
}

/* Tensors, operations on the value alone, tensors. */
bool panel_finish_init(const struct kern_op *op, struct panel_finish *out)
{
    static const struct kern_epilogue_support support = {
        PANEL_ADDS + PANEL_CODES,
        { [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR,
          [KERN_MAP_MUL] = KERN_EPILOGUE_TENSOR | KERN_EPILOGUE_NUMBER,
          [KERN_MAP_DIV] = KERN_EPILOGUE_NUMBER,
          [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_HARD_SIGMOID] = KERN_EPILOGUE_VALUE,
          [KERN_MAP_HARD_SWISH] = KERN_EPILOGUE_VALUE | KERN_EPILOGUE_GATE,
          KERN_EPILOGUE_CURVES,
          [KERN_MAP_SQRT] = KERN_EPILOGUE_VALUE }
    };
    struct kern_epilogue epilogue;
    const struct kern_view *y = &op->tensors[op->input_count];
    *out = (struct panel_finish){ .type = y->type };
    out->transposed = !is_plain(y, false) && y->type == DML_TENSOR_DATA_TYPE_FLOAT32 && y->strides[y->rank - 2] == 1;
    if ((!is_plain(y, false) && !out->transposed) || !kern_epilogue_match(op, &support, &epilogue) ||
        (op->u.gemm.has_c && op->u.gemm.beta != 0 && !add_tensor(op, 2, false, op->u.gemm.beta, out)))
        return false;
    out->lead = out->count;
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const struct kern_epilogue_step *step = &epilogue.step[i];
        if (step->tensor ? !add_tensor(op, step->tensor, step->code == KERN_MAP_MUL, 1, out)
                         : out->code_count == PANEL_CODES || out->lead < out->count)
            return false;
        if (!step->tensor)
            out->code[out->code_count++] = *step;
        out->lead = out->code_count ? out->lead : out->count;
    }
    return true;
}

#define PACK_ROWS 32 /* of B at a time */

/* Time relative to the following kernels: columns of zeros are multiplied as well. */
static double panel_cost(const struct kern_op *op, uint32_t columns)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    uint64_t n = y->sizes[y->rank - 1], panels = (n + columns - 1) / columns;
    double whole = (double)(panels * columns) / (double)n;
    return whole / 4; /* general kernels pack panels each time */
}

double kern_gemm_panel_cost(const struct kern_op *op)
{
    return panel_cost(op, PANEL_COLUMNS_avx512);
}

static bool panel_accepts(const struct kern_op *op, uint32_t columns)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint32_t rank = y->rank;
    if (op->packed_input != 2 || op->u.gemm.integer || rank < 2 || a->rank != rank || b->rank != rank)
        return false;
    uint64_t n = y->sizes[rank - 1], k = a->sizes[rank - 1];
    if (!dense_is_short_float(y->type) || !dense_same_type(op, 0, op->u.gemm.has_c ? 2 : 1, y->type))
        return false;
    for (uint32_t d = 0; d + 2 < rank; d++)
        if (b->sizes[d] > 1 && b->strides[d] != 0) /* one matrix for all batches */
            return false;
    return (a->strides[rank - 1] == 1 || k == 1) && b->sizes[rank - 1] == n && b->sizes[rank - 2] == k &&
           a->sizes[rank - 2] == y->sizes[rank - 2] && kern_pays(op, KERN_CHOICE_panel, panel_cost(op, columns));
}

static uint64_t panel_plan(const struct panel_shape *shape, struct kern_work *out)
{
    *out = (struct kern_work){ .units = shape->blocks * shape->panels * shape->parts };
    out->worker_scratch_bytes = shape->bytes;
    out->grain = dense_grain((uint64_t)shape->k * shape->block_rows / shape->parts * shape->columns / 16);
    out->calls = shape->element == 4 ? KERN_CALLS : 1;
    return (uint64_t)shape->panels * shape->columns * shape->k * shape->element;
}

/* One line of a panel: `count` elements that are `step` apart, padded with zeros. */
DENSE_INLINE void panel_pack_line(const char *from, int64_t step, uint32_t count, uint32_t columns, uint64_t element,
                                  char *out)
{
    if (step == 1)
        memcpy(out, from, count * element);
    for (uint32_t c = 0; step != 1 && c < count; c++)
        memcpy(out + c * element, from + c * step * (int64_t)element, element);
    memset(out + count * element, 0, (columns - count) * element);
}

struct panel_packing {
    const struct panel_shape *shape;
    const struct kern_view *b;
    const char *source;
    char *packed;
};

/* Some rows of B at a time, so that the part of a cache line that one panel leaves is still cached for the next one. */
DENSE_INLINE void panel_pack_as(const struct panel_packing *p, uint32_t begin, uint32_t end, uint64_t element)
{
    const struct panel_shape *shape = p->shape;
    const struct kern_view *b = p->b;
    int64_t row = b->sizes[b->rank - 2] > 1 ? b->strides[b->rank - 2] : 0;
    int64_t step = b->sizes[b->rank - 1] > 1 ? b->strides[b->rank - 1] : 0;
    for (uint32_t k0 = 0; k0 < shape->k; k0 += PACK_ROWS)
        for (uint32_t panel = begin; panel < end; panel++) {
            uint32_t first = panel * shape->columns, count = BASE_MIN(shape->n - first, shape->columns);
            for (uint32_t k = k0; k < BASE_MIN(shape->k, k0 + PACK_ROWS); k++)
                panel_pack_line(p->source + (k * row + first * step) * (int64_t)element, step, count, shape->columns,
                                element, p->packed + ((uint64_t)panel * shape->k + k) * shape->columns * element);
        }
}

static void panel_pack_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct panel_packing *p = context;
    (void)worker;
    if (p->shape->element == 2)
        panel_pack_as(p, (uint32_t)begin, (uint32_t)end, 2);
    else
        panel_pack_as(p, (uint32_t)begin, (uint32_t)end, 4);
}

static void panel_pack(const struct panel_shape *shape, const struct kern_view *b, const void *source, void *packed)
{
    struct panel_packing packing = { shape, b, source, packed };
    base_parallel_for(shape->panels, dense_pack_grain((uint64_t)shape->k * shape->columns * shape->element),
                      panel_pack_range, &packing);
}

#define ROW(isa)                                                                                                       \
    bool kern_gemm_panel_##isa##_accepts(const struct kern_op *op)                                                     \
    {                                                                                                                  \
        return panel_accepts(op, PANEL_COLUMNS_##isa);                                                                 \
    }                                                                                                                  \
    KERN_PACKED_ROW(gemm_panel_##isa, struct panel_shape, panel_shape_init(op, PANEL_COLUMNS_##isa, &plan),            \
                    panel_plan(&plan, out), panel_pack(&plan, &op->tensors[1], source, packed))
KERN_EACH_ISA(ROW)

/* ---- few rows with a plain matrix ---- */

bool kern_gemm_vec_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint32_t rank = y->rank;
    if (rank < 2 || a->rank != rank || b->rank != rank || y->sizes[rank - 2] > GEMM_VEC_ROWS)
        return false;
    if (!dense_is_short_float(y->type))
        return false;
    /* In FLOAT32, packed panels are as fast on packed weights, and blocks faster on columns with more than two rows. */
    bool single = y->type == DML_TENSOR_DATA_TYPE_FLOAT32, columns = b->strides[rank - 1] != 1;
    if (single && (op->packed_input == 2 || (columns && y->sizes[rank - 2] > 2)))
        return false;
    return dense_same_type(op, 0, op->u.gemm.has_c ? 2 : 1, y->type) && b->sizes[rank - 1] == y->sizes[rank - 1] &&
           (b->strides[rank - 1] == 1 || b->strides[rank - 2] == 1);
}

void kern_gemm_vec_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint64_t batches = dense_rows(y) / y->sizes[y->rank - 2], k = a->sizes[a->rank - 1];
    uint64_t blocks = (y->sizes[y->rank - 1] + GEMM_VEC_UNIT - 1) / GEMM_VEC_UNIT;
    *out = (struct kern_work){ .units = batches * blocks, .grain = dense_grain(k * GEMM_VEC_UNIT / 4) };
    out->worker_scratch_bytes =
        base_align_up((k + 32 + GEMM_VEC_PANEL) * GEMM_VEC_ROWS * sizeof(float), 64) + dense_epilogue_bytes(op);
}

/* ---- the definition: double accumulation in the order of k ---- */

bool kern_gemm_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    if (a->rank < 2 || a->rank != b->rank || a->rank != y->rank)
        return false;
    return blocked_gemm_types_fit(op, op->u.gemm.integer, op->u.gemm.has_c);
}

void kern_gemm_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint64_t cost = (uint64_t)a->sizes[a->rank - 1] * y->sizes[y->rank - 1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(cost) };
}

/* Sums of integers are exact in double, too. */
DENSE_INLINE void gemm_rows(const struct kern_call *call, uint64_t begin, uint64_t end, DML_TENSOR_DATA_TYPE a_type,
                            DML_TENSOR_DATA_TYPE b_type)
{
    const struct kern_gemm *gemm = &call->op->u.gemm;
    const struct kern_view *a = &call->op->tensors[0], *b = &call->op->tensors[1];
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    const uint32_t rank = y->rank, last = rank - 1;
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        const int64_t a_at = dense_offset(a, at, last), b_at = dense_offset(b, at, rank - 2);
        const double a_zero = gemm_zero(call, gemm->has_a_zero, 2, at);
        for (; at[last] < y->sizes[last]; at[last]++) {
            const double b_zero = gemm_zero(call, gemm->has_b_zero, gemm->has_a_zero ? 3 : 2, at);
            const int64_t b_from = b_at + at[last] * b->strides[last];
            double sum = 0;
            for (uint32_t k = 0; k < a->sizes[last]; k++)
                sum += (dense_load(call->data[0], a_at + k * a->strides[last], a_type) - a_zero) *
                       (dense_load(call->data[1], b_from + k * b->strides[rank - 2], b_type) - b_zero);
            if (gemm->integer)
                sum = (int32_t)(uint32_t)(int64_t)sum;
            else
                gemm_scale(call, at, 1, true, &sum);
            dense_finish(call, at, 1, &sum);
        }
    }
}

void kern_gemm_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    DENSE_BY_FACTORS(call->op->tensors[0].type, call->op->tensors[1].type, gemm_rows, call, begin, end);
}
