/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/dense.h"

#include "base/cpu.h"
#include "kernels/core/epilogue.h"
#include "kernels/map/map.h"

#include <math.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

static double round_clamped(double value, double low, double high)
{
    if (value != value)
        return 0;
    value = rint(value);
    return value < low ? low : value > high ? high : value;
}

void dense_store(void *data, int64_t index, DML_TENSOR_DATA_TYPE type, double value)
{
    switch ((uint32_t)type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        ((double *)data)[index] = value;
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        ((float *)data)[index] = (float)value;
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        ((uint16_t *)data)[index] = base_double_to_half(value);
        break;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        ((uint16_t *)data)[index] = base_double_to_bfloat(value);
        break;
    case DML_TENSOR_DATA_TYPE_INT8:
        ((int8_t *)data)[index] = (int8_t)round_clamped(value, -128, 127);
        break;
    case DML_TENSOR_DATA_TYPE_UINT8:
        ((uint8_t *)data)[index] = (uint8_t)round_clamped(value, 0, 255);
        break;
    case DML_TENSOR_DATA_TYPE_INT16:
        ((int16_t *)data)[index] = (int16_t)round_clamped(value, -32768, 32767);
        break;
    case DML_TENSOR_DATA_TYPE_UINT16:
        ((uint16_t *)data)[index] = (uint16_t)round_clamped(value, 0, 65535);
        break;
    case DML_TENSOR_DATA_TYPE_INT32:
        ((int32_t *)data)[index] = (int32_t)round_clamped(value, INT32_MIN, INT32_MAX);
        break;
    case DML_TENSOR_DATA_TYPE_UINT32:
        ((uint32_t *)data)[index] = (uint32_t)round_clamped(value, 0, UINT32_MAX);
        break;
    default:
        break; /* 64-bit integers do not fit in a double: no dense kernel accepts them */
    }
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

#if defined(__x86_64__)
__attribute__((target("avx2,f16c"))) static void halves_to_floats(const uint16_t *in, uint32_t count, float *out)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    for (; i < count; i++)
        out[i] = _cvtsh_ss(in[i]);
}

__attribute__((target("avx2,f16c"))) static void floats_to_halves(const float *in, uint32_t count, uint16_t *out)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++)
        out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

static bool rows_fast(void)
{
    return base_cpu_flags() & BASE_CPU_AVX2;
}
#elif defined(__aarch64__)
static void halves_to_floats(const uint16_t *in, uint32_t count, float *out)
{
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4)
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(in + i))));
    for (; i < count; i++)
        out[i] = base_half_to_float(in[i]);
}

static void floats_to_halves(const float *in, uint32_t count, uint16_t *out)
{
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4)
        vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
    for (; i < count; i++)
        out[i] = base_float_to_half(in[i]);
}

static bool rows_fast(void)
{
    return base_cpu_flags() & BASE_CPU_NEON;
}
#else
static bool rows_fast(void)
{
    return false;
}

static void halves_to_floats(const uint16_t *in, uint32_t count, float *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = base_half_to_float(in[i]);
}

static void floats_to_halves(const float *in, uint32_t count, uint16_t *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = base_float_to_half(in[i]);
}
#endif

/* bfloat16 and integers of at most 16 bits, exact in FLOAT32; false for other types. */
DENSE_INLINE bool load_narrow(const void *data, DML_TENSOR_DATA_TYPE type, uint32_t count, float *restrict out)
{
    switch ((uint32_t)type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        for (uint32_t i = 0; i < count; i++)
            out[i] = ((const int8_t *)data)[i];
        return true;
    case DML_TENSOR_DATA_TYPE_UINT8:
        for (uint32_t i = 0; i < count; i++)
            out[i] = ((const uint8_t *)data)[i];
        return true;
    case DML_TENSOR_DATA_TYPE_INT16:
        for (uint32_t i = 0; i < count; i++)
            out[i] = ((const int16_t *)data)[i];
        return true;
    case DML_TENSOR_DATA_TYPE_UINT16:
        for (uint32_t i = 0; i < count; i++)
            out[i] = ((const uint16_t *)data)[i];
        return true;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        for (uint32_t i = 0; i < count; i++)
            out[i] = base_bfloat_to_float(((const uint16_t *)data)[i]);
        return true;
    default:
        return false;
    }
}

/* The nearest integer (halves to even) in a type's range; NaN gives 0. */
DENSE_INLINE int32_t nearest_in(float value, float low, float high)
{
    value = value == value ? value : 0;
    value = value < low ? low : value > high ? high : value;
    return (int32_t)(value + 0x1.8p23f - 0x1.8p23f);
}

DENSE_INLINE bool store_narrow(void *data, DML_TENSOR_DATA_TYPE type, uint32_t count, const float *restrict in)
{
    switch ((uint32_t)type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        for (uint32_t i = 0; i < count; i++)
            ((int8_t *)data)[i] = (int8_t)nearest_in(in[i], -128, 127);
        return true;
    case DML_TENSOR_DATA_TYPE_UINT8:
        for (uint32_t i = 0; i < count; i++)
            ((uint8_t *)data)[i] = (uint8_t)nearest_in(in[i], 0, 255);
        return true;
    case DML_TENSOR_DATA_TYPE_INT16:
        for (uint32_t i = 0; i < count; i++)
            ((int16_t *)data)[i] = (int16_t)nearest_in(in[i], -32768, 32767);
        return true;
    case DML_TENSOR_DATA_TYPE_UINT16:
        for (uint32_t i = 0; i < count; i++)
            ((uint16_t *)data)[i] = (uint16_t)nearest_in(in[i], 0, 65535);
        return true;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        for (uint32_t i = 0; i < count; i++)
            ((uint16_t *)data)[i] = base_float_to_bfloat(in[i]);
        return true;
    default:
        return false;
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static bool load_narrow_wide(const void *data, DML_TENSOR_DATA_TYPE type,
                                                             uint32_t count, float *restrict out)
{
    return load_narrow(data, type, count, out);
}

__attribute__((target("avx2"))) static bool store_narrow_wide(void *data, DML_TENSOR_DATA_TYPE type, uint32_t count,
                                                              const float *restrict in)
{
    return store_narrow(data, type, count, in);
}
#else
#define load_narrow_wide  load_narrow
#define store_narrow_wide store_narrow
#endif

static bool load_narrow_row(const void *data, DML_TENSOR_DATA_TYPE type, uint32_t count, float *out)
{
    return rows_fast() ? load_narrow_wide(data, type, count, out) : load_narrow(data, type, count, out);
}

static bool store_narrow_row(void *data, DML_TENSOR_DATA_TYPE type, uint32_t count, const float *in)
{
    return rows_fast() ? store_narrow_wide(data, type, count, in) : store_narrow(data, type, count, in);
}

static bool is_half(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

/* Floats of 16 bits that do not lie together: gathered first, which is the smaller part of the work. */
enum { HALVES = 64 };

static void load_halves(const uint16_t *data, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count, float *out)
{
    uint16_t part[HALVES];
    for (uint32_t first = 0; first < count; first += HALVES) {
        uint32_t n = BASE_MIN(count - first, HALVES);
        for (uint32_t i = 0; i < n; i++)
            part[i] = data[(int64_t)(first + i) * step];
        dense_load_row(part, 0, 1, type, n, out + first);
    }
}

static void store_halves(uint16_t *data, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count, const float *in)
{
    uint16_t part[HALVES];
    for (uint32_t first = 0; first < count; first += HALVES) {
        uint32_t n = BASE_MIN(count - first, HALVES);
        dense_store_row(part, 0, 1, type, n, in + first);
        for (uint32_t i = 0; i < n; i++)
            data[(int64_t)(first + i) * step] = part[i];
    }
}

void dense_load_row(const void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                    float *out)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1) {
        memcpy(out, (const float *)data + index, count * sizeof(float));
    } else if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = ((const float *)data)[index + i * step];
    } else if (is_half(type) && step != 1) {
        load_halves((const uint16_t *)data + index, step, type, count, out);
    } else if (type == DML_TENSOR_DATA_TYPE_FLOAT16 && rows_fast()) {
        halves_to_floats((const uint16_t *)data + index, count, out);
    } else if (step != 1 || !load_narrow_row((const char *)data + index * kern_type_bytes(type), type, count, out)) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (float)dense_load(data, index + i * step, type);
    }
}

void dense_store_row(void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                     const float *in)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1) {
        memcpy((float *)data + index, in, count * sizeof(float));
    } else if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        for (uint32_t i = 0; i < count; i++)
            ((float *)data)[index + i * step] = in[i];
    } else if (is_half(type) && step != 1) {
        store_halves((uint16_t *)data + index, step, type, count, in);
    } else if (type == DML_TENSOR_DATA_TYPE_FLOAT16 && rows_fast()) {
        floats_to_halves(in, count, (uint16_t *)data + index);
    } else if (step != 1 || !store_narrow_row((char *)data + index * kern_type_bytes(type), type, count, in)) {
        for (uint32_t i = 0; i < count; i++)
            dense_store(data, index + i * step, type, in[i]);
    }
}

/* Repeated dimensions count as widest: walking them last would touch one element again and again. */
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

static const struct kern_map_isa *map_isa(void)
{
#if defined(__x86_64__)
    if (base_cpu_flags() & BASE_CPU_AVX512)
        return &kern_map_isa_avx512;
    if (base_cpu_flags() & BASE_CPU_AVX2)
        return &kern_map_isa_avx2;
#elif defined(__aarch64__)
    if (base_cpu_flags() & BASE_CPU_NEON)
        return &kern_map_isa_neon;
#endif
    return &kern_map_isa_portable;
}

uint64_t dense_epilogue_bytes(const struct kern_op *op)
{
    return op->epilogue ? base_align_up(kern_epilogue_bytes(op), 64) : 0;
}

void dense_finish_f32(const struct kern_call *call, void *scratch, const uint32_t *at, uint32_t count,
                      const float *values)
{
    uint32_t out = call->op->input_count;
    const struct kern_view *y = &call->op->tensors[out];
    if (call->op->epilogue)
        kern_epilogue_row(call, map_isa(), scratch, at, y->rank - 1, values, count);
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
    for (uint32_t t = first; t <= y; t++) {
        if (!dense_view_merges(&op->tensors[t], d))
            return false;
    }
    *out = *op;
    for (uint32_t t = first; t <= y; t++)
        dense_view_merge(&out->tensors[t], d);
    return true;
}
