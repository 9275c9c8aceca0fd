/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/dense.h"
#include "kernels/core/epilogue.h"
#include "kernels/map/map.h"

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <math.h>
#include <stdlib.h>

void dense_store(void *data, int64_t index, DML_TENSOR_DATA_TYPE type, double value)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
        ((double *)data)[index] = value;
    else if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        ((float *)data)[index] = (float)value;
    else
        kern_write_double(type, data, index, dense_is_float(type) ? value : rint(value));
}

bool dense_is_short_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

bool dense_is_float(DML_TENSOR_DATA_TYPE type)
{
    return dense_is_short_float(type) || type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

bool dense_same_type(const struct kern_op *op, uint32_t first, uint32_t last, DML_TENSOR_DATA_TYPE type)
{
    for (uint32_t i = first; i <= last; i++) {
        if (op->tensors[i].type != type)
            return false;
    }
    return true;
}

bool dense_short_floats(const struct kern_op *op)
{
    bool extra = op->kind == KERN_GEMM ? op->u.gemm.has_c : op->kind == KERN_CONV && op->u.conv.has_bias;
    bool result = true;
    for (uint32_t i = 0; i <= op->input_count; i++)
        if (i < 2 + (uint32_t)extra || i == op->input_count)
            result = result && dense_is_short_float(op->tensors[i].type);
    return result;
}

bool dense_half_allowed(const struct kern_op *op)
{
    bool floats32 =
        op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 || op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT32;
    return op->flags & (floats32 ? KERN_FLAG_HALF_FLOAT32 : KERN_FLAG_HALF_PRECISION);
}

bool dense_epilogue_fits(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    bool integer = (op->kind == KERN_GEMM && op->u.gemm.integer) || (op->kind == KERN_CONV && op->u.conv.integer);
    return !op->epilogue || integer || dense_is_short_float(type);
}

/* Elements that are not contiguous are gathered or scattered this many at a time. */
enum { ROW_PART = 64 };

#if defined(__x86_64__)
/* Packing converts 16 to 64 halves at a time: selecting a conversion by type would cost more than the conversion. */
__attribute__((target("avx2,f16c"))) static void halves_to_floats(const uint16_t *in, uint32_t count, float *out)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    for (; i < count; i++)
        out[i] = _cvtsh_ss(in[i]);
}
#endif

void dense_load_row(const void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                    float *out)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1) {
        memcpy(out, (const float *)data + index, count * sizeof(float));
        return;
    }
#if defined(__x86_64__)
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16 && step == 1 && (base_cpu_flags() & BASE_CPU_AVX2)) {
        halves_to_floats((const uint16_t *)data + index, count, out);
        return;
    }
#endif
    const uint32_t bytes = kern_type_bytes(type);
    const char *from = (const char *)data + index * bytes;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        kern_copy_row(bytes, out, 1, from, step, count);
        return;
    }
    if (step == 1) {
        kern_map_isa()->convert(DML_TENSOR_DATA_TYPE_FLOAT32, out, type, from, count);
        return;
    }
    for (uint32_t first = 0, n; first < count; first += n) {
        uint64_t part[ROW_PART];
        n = BASE_MIN(count - first, ROW_PART);
        kern_copy_row(bytes, part, 1, from + first * step * bytes, step, n);
        kern_convert(kern_map_isa(), DML_TENSOR_DATA_TYPE_FLOAT32, out + first, type, part, n);
    }
}

/* At most ROW_PART elements to contiguous memory: kern_convert, but integers are rounded. */
static void store_part(void *out, DML_TENSOR_DATA_TYPE type, const float *in, uint32_t count)
{
    float rounded[ROW_PART];
    if (dense_is_float(type)) {
        kern_convert(kern_map_isa(), type, out, DML_TENSOR_DATA_TYPE_FLOAT32, in, count);
    } else if (kern_type_bytes(type) > 2) {
        for (uint32_t i = 0; i < count; i++)
            dense_store(out, i, type, in[i]);
    } else {
        for (uint32_t i = 0; i < count; i++) { /* beyond these bounds all is saturated */
            const float value = in[i] < -65536.0f ? -65536.0f : in[i] > 65536.0f ? 65536.0f : in[i];
            rounded[i] = value + 0x1.8p23f - 0x1.8p23f;
        }
        kern_convert(kern_map_isa(), type, out, DML_TENSOR_DATA_TYPE_FLOAT32, rounded, count);
    }
}

void dense_store_row(void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                     const float *in)
{
    const uint32_t bytes = kern_type_bytes(type);
    char *to = (char *)data + index * bytes;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        kern_copy_row(bytes, to, step, in, 1, count);
        return;
    }
    if (step == 1 && dense_is_float(type)) {
        kern_convert(kern_map_isa(), type, to, DML_TENSOR_DATA_TYPE_FLOAT32, in, count);
        return;
    }
    for (uint32_t first = 0, n; first < count; first += n) {
        uint64_t part[ROW_PART];
        n = BASE_MIN(count - first, ROW_PART);
        store_part(step == 1 ? (void *)(to + (size_t)first * bytes) : part, type, in + first, n);
        if (step != 1)
            kern_copy_row(bytes, to + first * step * bytes, step, part, 1, n);
    }
}

/* Broadcast dimensions count as widest: walking them last would access one element repeatedly. */
static int64_t stride_width(const struct kern_view *view, uint32_t d)
{
    return view->sizes[d] == 1 || view->strides[d] == 0 ? INT64_MAX : llabs(view->strides[d]);
}

void dense_memory_order(const struct kern_view *view, uint32_t *order)
{
    for (uint32_t d = 0; d < view->rank; d++) {
        uint32_t place = d;
        for (; place > 0 && stride_width(view, order[place - 1]) < stride_width(view, d); place--)
            order[place] = order[place - 1];
        order[place] = d;
    }
}

struct kern_view dense_permute(const struct kern_view *view, const uint32_t *order)
{
    struct kern_view result = *view;
    for (uint32_t d = 0; d < view->rank; d++) {
        result.sizes[d] = view->sizes[order[d]];
        result.strides[d] = view->strides[order[d]];
    }
    return result;
}

uint64_t dense_epilogue_bytes(const struct kern_op *op)
{
    return op->epilogue
               ? base_align_up(kern_map_block_bytes(op->epilogue, kern_epilogue_inputs(op)) + KERN_MAP_BLOCK * 8, 64)
               : 0;
}

void dense_finish_f32(const struct kern_call *call, void *scratch, const uint32_t *at, uint32_t count,
                      const float *values)
{
    uint32_t out = call->op->input_count;
    const struct kern_view *y = &call->op->tensors[out];
    if (call->op->epilogue)
        kern_epilogue_row(call, scratch, at, values, count);
    else
        dense_store_row(call->data[out], dense_offset(y, at, y->rank), y->strides[y->rank - 1], y->type, count, values);
}

void dense_finish_line(const struct kern_call *call, void *scratch, float *y, int64_t count)
{
    static const uint32_t start[KERN_RANK_MAX];
    const uint32_t out = call->op->input_count;
    void *data[KERN_TENSORS_MAX];
    struct kern_op line = *call->op;
    struct kern_call part = *call;
    kern_view_set_packed(&line.tensors[out], DML_TENSOR_DATA_TYPE_FLOAT32, 1, (uint32_t[]){ (uint32_t)count });
    data[out] = y;
    part.op = &line;
    part.data = data;
    dense_finish_f32(&part, scratch, start, (uint32_t)count, y);
}

void dense_finish(const struct kern_call *call, const uint32_t *at, uint32_t count, const double *values)
{
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    uint32_t last = y->rank - 1, index[KERN_RANK_MAX];
    if (!call->op->epilogue) {
        int64_t offset = dense_offset(y, at, y->rank);
        for (uint32_t i = 0; i < count; i++)
            dense_store(call->data[call->op->input_count], offset + i * y->strides[last], y->type, values[i]);
        return;
    }
    memcpy(index, at, y->rank * sizeof(*index));
    for (uint32_t i = 0; i < count; i++) {
        index[last] = at[last] + i;
        kern_epilogue_store(call, index, values[i]);
    }
}

bool dense_view_merges(const struct kern_view *view, uint32_t d)
{
    return (uint64_t)view->sizes[d] * view->sizes[d + 1] <= UINT32_MAX &&
           (view->sizes[d] == 1 || view->strides[d] == view->strides[d + 1] * view->sizes[d + 1]);
}

void dense_view_merge(struct kern_view *view, uint32_t d)
{
    view->sizes[d] *= view->sizes[d + 1];
    view->strides[d] = view->strides[d + 1];
    for (uint32_t i = d + 1; i + 1 < view->rank; i++) {
        view->sizes[i] = view->sizes[i + 1];
        view->strides[i] = view->strides[i + 1];
    }
    view->rank--;
}

bool dense_merge_rows(const struct kern_op *op, struct kern_op *out)
{
    uint32_t y = op->input_count, first = op->epilogue ? op->epilogue_input : y, d = op->tensors[y].rank - 2;
    for (uint32_t t = first; t <= y; t++)
        if (!dense_view_merges(&op->tensors[t], d))
            return false;
    *out = *op;
    for (uint32_t t = first; t <= y; t++)
        dense_view_merge(&out->tensors[t], d);
    return true;
}
