/* The lines of a SORT op. */
#include "kernels/sort/sort.h"

#include "kernels/core/number.h"
#include "kernels/core/iterator.h"

/* Few lines get scratch memory each; of many, each worker's lines share the worker's. */
#define FEW_LINES 4

enum { LINE_VALUES, LINE_X, LINE_POSITIONS };

bool kern_sort_any_ref_accepts(const struct kern_op *op);

bool kern_sort_any_accepts(const struct kern_op *op)
{
    return kern_sort_any_ref_accepts(op);
}

static uint64_t line_bytes(const struct kern_op *op)
{
    uint32_t length = op->tensors[0].sizes[op->u.sort.axis], k = op->tensors[1].sizes[op->u.sort.axis];
    bool wide = kern_type_bytes(op->tensors[0].type) == 8;
    return base_align_up(wide ? kern_sort_wide_bytes(length, k) : kern_sort_narrow_bytes(length, k), 64);
}

void kern_sort_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint32_t length = op->tensors[0].sizes[op->u.sort.axis];
    uint64_t lines = kern_view_elements(&op->tensors[0]) / length;
    *out = (struct kern_work){ .units = lines, .grain = BASE_MAX(1, 8192 / length) };
    if (lines <= FEW_LINES)
        out->scratch_bytes = lines * line_bytes(op);
    else
        out->worker_scratch_bytes = line_bytes(op);
}

static struct kern_sort_code make_code(DML_TENSOR_DATA_TYPE type, bool descending)
{
    struct kern_sort_code code = { .bytes = kern_type_bytes(type) };
    enum kern_class class = kern_type_class(type);
    code.is_float = class == KERN_CLASS_FLOAT;
    code.mask = UINT64_MAX >> (64 - 8 * code.bytes);
    code.sign = UINT64_C(1) << (8 * code.bytes - 1);
    code.infinity = type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ? UINT64_C(0x7f80)
                    : code.bytes == 2                        ? UINT64_C(0x7c00)
                    : code.bytes == 4                        ? UINT64_C(0x7f800000)
                                                             : UINT64_C(0x7ff0000000000000);
    code.flip = (descending ? code.mask : 0) ^ (class == KERN_CLASS_SIGNED ? code.sign : 0);
    return code;
}

void kern_sort_run(const struct kern_call *call, const struct kern_sort_isa *isa, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = call->op;
    const struct kern_view *x = &op->tensors[0], *values = &op->tensors[1], *positions = &op->tensors[2];
    const uint32_t tensors[] = { 1, 0, 2 }, axis = op->u.sort.axis;
    const struct kern_sort_code code = make_code(x->type, op->u.sort.descending);
    struct kern_iterator lines;
    struct kern_sort_line line = { .isa = isa,
                                   .code = &code,
                                   .x_stride = x->strides[axis],
                                   .value_stride = values->strides[axis],
                                   .position_stride = positions->strides[axis],
                                   .position_bytes = kern_type_bytes(positions->type),
                                   .length = x->sizes[axis],
                                   .k = values->sizes[axis],
                                   .scratch = call->worker_scratch };
    kern_iterator_init(&lines, op, tensors, 3, ~(UINT32_C(1) << axis), 0);
    for (uint64_t i = begin; i < end; i++) {
        line.x = (const char *)call->data[0] + kern_iterator_offset(&lines, LINE_X, i) * code.bytes;
        line.values = (char *)call->data[1] + kern_iterator_offset(&lines, LINE_VALUES, i) * code.bytes;
        line.positions = (char *)call->data[2] + kern_iterator_offset(&lines, LINE_POSITIONS, i) * line.position_bytes;
        if (lines.count <= FEW_LINES)
            line.scratch = (char *)call->scratch + i * line_bytes(op);
        if (code.bytes == 8)
            kern_sort_wide_line(&line);
        else
            kern_sort_narrow_line(&line);
    }
}
