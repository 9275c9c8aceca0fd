/* Arithmetic sequences. Integers wrap; floating-point elements are computed in FLOAT64 and rounded once. */
#include "kernels/dense.h"
#include "kernels/number.h"
#include "kernels/walk.h"

bool kern_sequence_any_accepts(const struct kern_op *op)
{
    return !op->epilogue && kern_type_bytes(op->tensors[0].type);
}

void kern_sequence_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]), .grain = 32768 };
}

#define ROW(type, scalar, value)                                                                                       \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
        scalar at = start + (scalar)(first + i) * delta;                                                               \
        ((type *)to)[(int64_t)i * stride] = value(at);                                                                 \
    }
#define KEEP_U8(v)  (uint8_t)(v)
#define KEEP_U16(v) (uint16_t)(v)
#define KEEP_U32(v) (uint32_t)(v)
#define KEEP_F32(v) (float)(v)
#define KEEP(v)     (v)

/* `first` and on, modulo 2^64 and then modulo the element's width. */
static void integer_row(uint32_t bytes, void *to, int64_t stride, uint64_t start, uint64_t delta, uint64_t first,
                        uint64_t count)
{
    switch (bytes) {
    case 1:
        ROW(uint8_t, uint64_t, KEEP_U8)
        break;
    case 2:
        ROW(uint16_t, uint64_t, KEEP_U16)
        break;
    case 4:
        ROW(uint32_t, uint64_t, KEEP_U32)
        break;
    default:
        ROW(uint64_t, uint64_t, KEEP)
        break;
    }
}

static void float_row(DML_TENSOR_DATA_TYPE type, void *to, int64_t stride, double start, double delta, uint64_t first,
                      uint64_t count)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        ROW(uint16_t, double, base_double_to_half)
    else if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        ROW(uint16_t, double, base_double_to_bfloat)
    else if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        ROW(float, double, KEEP_F32)
    else
        ROW(double, double, KEEP)
}

void kern_sequence_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t tensors[] = { 0 };
    const struct kern_sequence *sequence = &call->op->u.sequence;
    DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    uint32_t bytes = kern_type_bytes(type);
    struct kern_walk walk;
    struct kern_cursor cursor;
    kern_walk_init(&walk, call->op, tensors, 1, UINT32_MAX, KERN_WALK_ROW_MAJOR);
    const uint32_t last = walk.rank - 1;
    kern_cursor_seek(&walk, begin, &cursor);
    while (begin < end) {
        uint64_t n = BASE_MIN(walk.sizes[last] - cursor.index[last], end - begin);
        void *to = (char *)call->data[0] + cursor.offset[0] * bytes;
        if (dense_is_float(type))
            float_row(type, to, walk.strides[0][last], sequence->start.f64, sequence->delta.f64, begin, n);
        else
            integer_row(bytes, to, walk.strides[0][last], sequence->start.u64, sequence->delta.u64, begin, n);
        kern_cursor_next_row(&walk, &cursor);
        begin += n;
    }
}

/* The definition. */
bool kern_sequence_any_ref_accepts(const struct kern_op *op)
{
    return kern_sequence_any_accepts(op);
}

void kern_sequence_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_sequence_any_plan(op, state, threads, out);
}

void kern_sequence_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_sequence *sequence = &call->op->u.sequence;
    const struct kern_view *y = &call->op->tensors[0];
    uint32_t at[KERN_RANK_MAX];
    kern_unflatten(begin, y->rank, y->sizes, at);
    for (uint64_t k = begin; k < end; k++) {
        struct kern_number number = { .class = KERN_CLASS_UNSIGNED };
        if (kern_type_class(y->type) == KERN_CLASS_FLOAT)
            number = kern_from_double(sequence->start.f64 + (double)k * sequence->delta.f64);
        else
            number.u = sequence->start.u64 + k * sequence->delta.u64;
        kern_write(y->type, call->data[0], kern_offset(y, at), number);
        kern_advance(y->rank, y->sizes, at);
    }
}
