/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that address elements by index or position: gather, scatter and operators that these can express. */
#include "graph/lower/lower.h"

/* The view without its first `count` dimensions, which have size 1; one dimension remains. */
static void drop_leading(struct graph_operand *operand, uint32_t count)
{
    struct kern_view *view = &operand->view;
    count = BASE_MIN(count, view->rank - 1);
    view->rank -= count;
    memmove(view->sizes, view->sizes + count, view->rank * sizeof(view->sizes[0]));
    memmove(view->strides, view->strides + count, view->rank * sizeof(view->strides[0]));
}

static HRESULT add_gather(struct graph_lowering *lowering, const struct graph_operand *inputs,
                          const struct graph_operand *output, struct kern_gather params)
{
    struct graph_op *op = lower_op(lowering, KERN_GATHER, inputs, 2, output, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.gather = params;
    return lower_done(lowering);
}

static enum kern_scatter_reduction scatter_reduction(DML_REDUCE_FUNCTION function)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return KERN_SCATTER_MULTIPLY;
    case DML_REDUCE_FUNCTION_MIN:
        return KERN_SCATTER_MIN;
    case DML_REDUCE_FUNCTION_MAX:
        return KERN_SCATTER_MAX;
    default:
        return KERN_SCATTER_ADD;
    }
}

/* Floating-point elements as elements of another type. */
static void convert(struct graph_lowering *lowering, const struct graph_operand *from, const struct graph_operand *to)
{
    struct lower_map map;
    lower_map_begin(&map, lowering, from, 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, to, 0);
}

static HRESULT add_scatter(struct graph_lowering *lowering, const struct graph_operand *inputs,
                           const struct graph_operand *output, struct kern_scatter params)
{
    const struct kern_view *y = &output->view;
    struct graph_operand in[3] = { inputs[0], inputs[1], inputs[2] }, out = *output;
    bool narrow = y->type == DML_TENSOR_DATA_TYPE_FLOAT16 || y->type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    bool wide = narrow && params.reduction != KERN_SCATTER_LAST; /* combined in FLOAT32 */
    if (wide) {
        in[0] = graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, y->rank, y->sizes);
        out = graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, y->rank, y->sizes);
        if (lowering->graph->failed)
            return E_OUTOFMEMORY;
        convert(lowering, &inputs[0], &in[0]);
    }
    struct graph_op *op = lower_op(lowering, KERN_SCATTER, in, 3, &out, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.scatter = params;
    if (wide)
        convert(lowering, &out, output);
    return lower_done(lowering);
}

/* All tensors have rank D. Output = input dims before Axis, the last IndexDimensions of the indices, input dims after
 * Axis, right-aligned: superfluous dimensions on the left have size 1 and are dropped, or a leading one is added. */
HRESULT lower_gather(struct graph_lowering *lowering)
{
    const DML_GATHER_OPERATOR_DESC *desc = LOWER_DESC(lowering, GATHER);
    struct graph_operand in[2] = { lowering->inputs[0], lowering->inputs[1] }, out = lowering->outputs[0];
    uint32_t rank = in[0].view.rank, count = desc->IndexDimensions, excess = count ? count - 1 : 0;
    uint32_t from_input = BASE_MIN(excess, desc->Axis);
    if (!count && rank == 1)
        count = 1; /* a scalar index is the same as one index dimension of size 1 */
    else if (!count)
        drop_leading(&out, 1);
    count -= excess - from_input;
    drop_leading(&in[0], from_input);
    drop_leading(&in[1], rank - BASE_MAX(count, 1));
    return add_gather(lowering, in, &out, (struct kern_gather){ desc->Axis - from_input, count, KERN_INDEX_AXIS });
}

HRESULT lower_gather_elements(struct graph_lowering *lowering)
{
    uint32_t axis = LOWER_DESC(lowering, GATHER_ELEMENTS)->Axis;
    return add_gather(lowering, lowering->inputs, lowering->outputs,
                      (struct kern_gather){ axis, 0, KERN_INDEX_ELEMENTS });
}

/* GATHER_ND and GATHER_ND1: the meaningful dimensions are the last ones of each tensor. */
HRESULT lower_gather_nd(struct graph_lowering *lowering)
{
    const DML_GATHER_ND1_OPERATOR_DESC *desc = LOWER_DESC(lowering, GATHER_ND1);
    struct graph_operand in[2] = { lowering->inputs[0], lowering->inputs[1] }, out = lowering->outputs[0];
    uint32_t rank = out.view.rank, data = desc->InputDimensionCount, listed = desc->IndicesDimensionCount;
    uint32_t batch = lowering->desc->op->type == DML_OPERATOR_GATHER_ND1 ? desc->BatchDimensionCount : 0;
    uint32_t tuple = in[1].view.sizes[rank - 1];
    drop_leading(&in[0], rank - data);
    drop_leading(&in[1], rank - listed);
    drop_leading(&out, rank - (listed - 1 + data - batch - tuple));
    return add_gather(lowering, in, &out, (struct kern_gather){ batch, listed - 1 - batch, KERN_INDEX_ND });
}

HRESULT lower_scatter_elements(struct graph_lowering *lowering)
{
    struct kern_scatter params = { LOWER_DESC(lowering, SCATTER)->Axis, KERN_INDEX_ELEMENTS, KERN_SCATTER_LAST };
    if (lowering->desc->op->type == ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS) {
        const ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC *desc = lowering->desc->desc.Desc;
        params.reduction = scatter_reduction(desc->Function);
    }
    return add_scatter(lowering, lowering->inputs, lowering->outputs, params);
}

HRESULT lower_scatter_nd(struct graph_lowering *lowering)
{
    const DML_SCATTER_ND_OPERATOR_DESC *desc = LOWER_DESC(lowering, SCATTER_ND);
    struct graph_operand in[3] = { lowering->inputs[0], lowering->inputs[1], lowering->inputs[2] };
    struct graph_operand out = lowering->outputs[0];
    uint32_t rank = out.view.rank, data = desc->InputDimensionCount, listed = desc->IndicesDimensionCount;
    uint32_t tuple = in[1].view.sizes[rank - 1];
    drop_leading(&in[0], rank - data);
    drop_leading(&in[1], rank - listed);
    drop_leading(&in[2], rank - (listed - 1 + data - tuple));
    drop_leading(&out, rank - data);
    struct kern_scatter params = { 0, KERN_INDEX_ND, KERN_SCATTER_LAST };
    if (lowering->desc->op->type == ANYDML_OPERATOR_SCATTER_REDUCE_ND) {
        const ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC *reduce = lowering->desc->desc.Desc;
        params.reduction = scatter_reduction(reduce->Function);
    }
    return add_scatter(lowering, in, &out, params);
}

/* Zeros with the input's elements written at tuples of one index each, into the output as one dimension. */
HRESULT lower_max_unpooling(struct graph_lowering *lowering)
{
    static const uint64_t zero = 0;
    const struct graph_operand *out = &lowering->outputs[0];
    struct graph_operand in[3] = { *out, lowering->inputs[1], lowering->inputs[0] }, flat = *out;
    uint64_t elements = kern_view_elements(&out->view);
    const uint32_t size = (uint32_t)elements;
    if (elements > UINT32_MAX)
        return lower_unsupported(lowering, "more than 2^32 - 1 elements");
    bool through = !graph_view_reshape(&out->view, 1, &size, &flat.view);
    if (through)
        flat = graph_temp(lowering->graph, out->view.type, 1, &size);
    in[0].value = graph_constant_add(lowering->graph, &zero, sizeof(zero));
    in[0].view = flat.view;
    in[0].view.offset = 0;
    in[0].view.strides[0] = 0;
    in[1].view.sizes[in[1].view.rank] = 1;
    in[1].view.strides[in[1].view.rank++] = 0;
    HRESULT hr = add_scatter(lowering, in, &flat, (struct kern_scatter){ 0, KERN_INDEX_ND, KERN_SCATTER_LAST });
    if (SUCCEEDED(hr) && through) {
        kern_view_set_packed(&flat.view, out->view.type, out->view.rank, out->view.sizes);
        lower_move(lowering, flat, *out);
    }
    return SUCCEEDED(hr) ? lower_done(lowering) : hr;
}

/* The number-th element of a tensor in element order (0 or 1), repeated to the sizes of `like`. */
static struct graph_operand element(const struct graph_operand *tensor, uint32_t number, const struct kern_view *like)
{
    struct graph_operand result = *tensor;
    uint32_t inner = tensor->view.rank - 1;
    while (inner > 0 && tensor->view.sizes[inner] == 1)
        inner--;
    result.view = *like;
    result.view.type = tensor->view.type;
    result.view.offset = tensor->view.offset + number * tensor->view.strides[inner];
    memset(result.view.strides, 0, sizeof(result.view.strides));
    return result;
}

/* Off everywhere; then each index sets its element along the axis to on, unless it is out of range. */
HRESULT lower_one_hot(struct graph_lowering *lowering)
{
    const struct graph_operand *indices = &lowering->inputs[0], *values = &lowering->inputs[1];
    const struct graph_operand in[3] = { element(values, 0, &lowering->outputs[0].view), *indices,
                                         element(values, 1, &indices->view) };
    return add_scatter(
        lowering, in, lowering->outputs,
        (struct kern_scatter){ LOWER_DESC(lowering, ONE_HOT)->Axis, KERN_INDEX_ELEMENTS, KERN_SCATTER_LAST });
}

static void add_sequence(struct graph_lowering *lowering, const struct graph_operand *output, union kern_scalar start,
                         union kern_scalar delta)
{
    struct graph_op *op = lower_op(lowering, KERN_SEQUENCE, NULL, 0, output, 1);
    if (op)
        op->k.u.sequence = (struct kern_sequence){ start, delta };
}

/* The index along `axis` of each element of a tensor like `like`, as integers of `type`. */
static struct graph_operand positions(struct graph_lowering *lowering, DML_TENSOR_DATA_TYPE type,
                                      const struct kern_view *like, uint32_t axis)
{
    uint32_t sizes[KERN_RANK_MAX];
    for (uint32_t d = 0; d < like->rank; d++)
        sizes[d] = d == axis ? like->sizes[d] : 1;
    struct graph_operand line = graph_temp(lowering->graph, type, like->rank, sizes);
    if (line.value == GRAPH_NONE)
        return line;
    add_sequence(lowering, &line, (union kern_scalar){ .u64 = 0 }, (union kern_scalar){ .u64 = 1 });
    return lower_broadcast(&line, like);
}

/* In unsigned 64-bit integers or FLOAT64, as sequences require. */
static union kern_scalar sequence_scalar(DML_TENSOR_DATA_TYPE type, const DML_SCALAR_UNION *value)
{
    union kern_scalar scalar = { .u64 = 0 };
    if (lower_is_float(type))
        return lower_scalar(type, value, DML_TENSOR_DATA_TYPE_FLOAT64);
    memcpy(&scalar, value, kern_type_bytes(type)); /* higher bits do not reach the element */
    return scalar;
}

HRESULT lower_fill_sequence(struct graph_lowering *lowering)
{
    const DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC *desc = LOWER_DESC(lowering, FILL_VALUE_SEQUENCE);
    add_sequence(lowering, &lowering->outputs[0], sequence_scalar(desc->ValueDataType, &desc->ValueStart),
                 sequence_scalar(desc->ValueDataType, &desc->ValueDelta));
    return lower_done(lowering);
}

/* Out[i] = In[i < L ? L - 1 - i : i] along Axis, where L = min(length, size). One list of such indices serves all
 * elements that share a length by stride 0. */
HRESULT lower_reverse_subsequences(struct graph_lowering *lowering)
{
    const DML_TENSOR_DATA_TYPE u32 = DML_TENSOR_DATA_TYPE_UINT32;
    uint32_t axis = LOWER_DESC(lowering, REVERSE_SUBSEQUENCES)->Axis, sizes[KERN_RANK_MAX];
    const struct graph_operand *in = &lowering->inputs[0], *lengths = &lowering->inputs[1];
    const struct kern_view *x = &in->view;
    for (uint32_t d = 0; d < x->rank; d++)
        sizes[d] = d == axis || lengths->view.strides[d] != 0 ? x->sizes[d] : 1;
    struct graph_operand picks = graph_temp(lowering->graph, u32, x->rank, sizes), operands[2] = { *lengths };
    if (picks.value == GRAPH_NONE)
        return E_OUTOFMEMORY;
    for (uint32_t d = 0; d < x->rank; d++)
        operands[0].view.sizes[d] = d == axis ? 1 : sizes[d];
    operands[0] = lower_broadcast(&operands[0], &picks.view);
    operands[1] = positions(lowering, u32, &picks.view, axis);
    struct lower_map map;
    lower_map_begin(&map, lowering, operands, 2, u32);
    lower_map_load(&map, 0, lengths->view.type);
    union kern_scalar size = { .u64 = x->sizes[axis] }, one = { .u32 = 1 };
    uint32_t length = lower_emit2(&map, KERN_MAP_MIN, 0, lower_emit_const(&map, lengths->view.type, size));
    length = lower_emit_convert(&map, length, u32);
    uint32_t last = lower_emit2(&map, KERN_MAP_SUB, length, lower_emit_const(&map, u32, one));
    uint32_t inside = lower_emit2(&map, KERN_MAP_LT, 1, length);
    uint32_t mirrored = lower_emit2(&map, KERN_MAP_SUB, last, 1);
    lower_map_end(&map, &picks, lower_emit3(&map, KERN_MAP_SELECT, inside, mirrored, 1));
    const struct graph_operand gathered[2] = { *in, lower_broadcast(&picks, x) };
    return add_gather(lowering, gathered, lowering->outputs, (struct kern_gather){ axis, 0, KERN_INDEX_ELEMENTS });
}

/* Where to write `value`: on diagonals x - y in [begin, end), or outside [end, begin) if end < begin. */
struct diagonals {
    DML_SCALAR_UNION value; /* in the output's type */
    int64_t begin, end;
};

static struct diagonals read_diagonals(struct graph_lowering *lowering)
{
    struct diagonals result;
    if (lowering->desc->op->type == DML_OPERATOR_DIAGONAL_MATRIX1) {
        const DML_DIAGONAL_MATRIX1_OPERATOR_DESC *desc = LOWER_DESC(lowering, DIAGONAL_MATRIX1);
        result.value = desc->Value;
        result.begin = desc->DiagonalFillBegin;
        result.end = desc->DiagonalFillEnd;
    } else {
        const DML_DIAGONAL_MATRIX_OPERATOR_DESC *desc = LOWER_DESC(lowering, DIAGONAL_MATRIX);
        result.value = lower_element(lowering->outputs[0].view.type, desc->Value);
        result.begin = desc->Offset;
        result.end = result.begin + 1;
    }
    return result;
}

/* Elements as bits: copied elements keep their bits, including NaNs. */
static struct graph_operand unsigned_bits(const struct graph_operand *operand)
{
    static const DML_TENSOR_DATA_TYPE types[] = { [1] = DML_TENSOR_DATA_TYPE_UINT8,
                                                  [2] = DML_TENSOR_DATA_TYPE_UINT16,
                                                  [4] = DML_TENSOR_DATA_TYPE_UINT32,
                                                  [8] = DML_TENSOR_DATA_TYPE_UINT64 };
    struct graph_operand result = *operand;
    result.view.type = types[kern_type_bytes(operand->view.type)];
    return result;
}

/* use = (end >= begin) ^ (t >= begin) ^ (t < end) with t = x - y; Out = use ? Value : In or 0. */
HRESULT lower_diagonal_matrix(struct graph_lowering *lowering)
{
    const DML_TENSOR_DATA_TYPE i64 = DML_TENSOR_DATA_TYPE_INT64;
    const struct diagonals diagonals = read_diagonals(lowering);
    const struct graph_operand out = unsigned_bits(&lowering->outputs[0]);
    const DML_TENSOR_DATA_TYPE bits = lower_compute_type(out.view.type);
    bool has_input = lowering->desc->input_count && lower_present(&lowering->inputs[0]);
    uint32_t rank = out.view.rank;
    struct graph_operand in[3] = { positions(lowering, i64, &out.view, rank - 1),
                                   positions(lowering, i64, &out.view, rank - 2) };
    if (has_input)
        in[2] = unsigned_bits(&lowering->inputs[0]);
    if (lowering->graph->failed)
        return E_OUTOFMEMORY;
    struct lower_map map;
    lower_map_begin(&map, lowering, in, has_input ? 3 : 2, i64);
    if (has_input)
        lower_map_load(&map, 2, bits);
    union kern_scalar begin = { .i64 = diagonals.begin }, end = { .i64 = diagonals.end }, value = { .u64 = 0 };
    memcpy(&value, &diagonals.value, kern_type_bytes(out.view.type));
    uint32_t t = lower_emit2(&map, KERN_MAP_SUB, 0, 1);
    uint32_t from = lower_emit2(&map, KERN_MAP_LE, lower_emit_const(&map, i64, begin), t);
    uint32_t before = lower_emit2(&map, KERN_MAP_LT, t, lower_emit_const(&map, i64, end));
    uint32_t inside = lower_emit2(&map, diagonals.end >= diagonals.begin ? KERN_MAP_AND : KERN_MAP_OR, from, before);
    uint32_t fill = lower_emit_const(&map, bits, value);
    uint32_t other = has_input ? 2 : lower_emit_const(&map, bits, (union kern_scalar){ .u64 = 0 });
    uint32_t use = lower_emit_convert(&map, inside, bits);
    lower_map_end(&map, &out, lower_emit3(&map, KERN_MAP_SELECT, use, fill, other));
    return lower_done(lowering);
}

/* The gradient of a slice: zeros with the slice written into them, with padding at the ends and between elements. */
HRESULT lower_slice_grad(struct graph_lowering *lowering)
{
    const DML_SLICE_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, SLICE_GRAD);
    const struct graph_operand *from = &lowering->inputs[0];
    struct kern_pad params = { .mode = DML_PADDING_MODE_CONSTANT };
    uint32_t first[KERN_RANK_MAX] = { 0 };
    int32_t steps[KERN_RANK_MAX];
    for (uint32_t d = 0; d < from->view.rank; d++) {
        int64_t stride = desc->InputWindowStrides[d], last = (int64_t)from->view.sizes[d] - 1;
        steps[d] = stride < 0 ? -1 : 1;
        params.gap[d] = last ? (uint32_t)(stride < 0 ? -stride : stride) - 1 : 0;
        params.start[d] = desc->InputWindowOffsets[d];
        if (stride < 0) { /* from the window's last element backwards */
            first[d] = (uint32_t)last;
            params.start[d] += desc->InputWindowSizes[d] - 1 + (uint32_t)(stride * last);
        }
    }
    struct graph_operand in = *from;
    in.view = graph_view_slice(&from->view, first, from->view.sizes, steps);
    struct graph_op *op = lower_op(lowering, KERN_PAD, &in, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.pad = params;
    return lower_done(lowering);
}

HRESULT lower_nonzero_coordinates(struct graph_lowering *lowering)
{
    enum { BLOCK = 16384 };
    struct graph_operand count = lowering->outputs[0], list = lowering->outputs[1];
    drop_leading(&count, count.view.rank - 1);
    drop_leading(&list, list.view.rank - 2);
    uint32_t blocks = (uint32_t)((kern_view_elements(&lowering->inputs[0].view) + BLOCK - 1) / BLOCK);
    struct graph_operand counts = graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_UINT32, 1, &blocks);
    struct graph_op *op = lower_op(lowering, KERN_NONZERO, lowering->inputs, 1, &counts, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.nonzero = (struct kern_nonzero){ .write = false, .block = BLOCK };
    const struct graph_operand in[2] = { lowering->inputs[0], counts }, out[2] = { count, list };
    op = lower_op(lowering, KERN_NONZERO, in, 2, out, 2);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.nonzero = (struct kern_nonzero){ .write = true, .block = BLOCK };
    return lower_done(lowering);
}
