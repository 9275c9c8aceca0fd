/* SPDX-License-Identifier: Apache-2.0 */
/* The final step of rows of sums: the steps of an epilogue (struct blocked_gemm_end) on a few vectors in registers,
 * from sums to stored results. */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/row/curve.h"
#include "kernels/vec/fmath.h"
#include "kernels/vec/vec.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include "kernels/gemm/quotient.h"
#else
struct quotient {
    float divisor;
};
#endif

enum { CHUNK = 4 }; /* vectors */

/* A step's operand: element `from` + c of data, or p. */
struct operand {
    uint8_t code;
    bool in_row;
    DML_TENSOR_DATA_TYPE type;
    const void *data;
    int64_t from;
    float p, q, factor;
};

struct end_row {
    const void *sums;
    const struct blocked_gemm_shift *shift; /* NULL: FLOAT32, to be multiplied by alpha */
    uint32_t same;                          /* shift: of all columns */
    float alpha;
    uint32_t count;
    struct operand step[KERN_EPILOGUE_STEPS_MAX + 1];
    bool quantizes; /* at last */
    struct quotient by;
    float zero, low, high;
    DML_TENSOR_DATA_TYPE type;
    void *y;
    int64_t to;
};

static void add_operand(struct end_row *r, const struct kern_call *call, const struct kern_epilogue_step *step,
                        float factor, const uint32_t *at)
{
    struct operand *out = &r->step[r->count++];
    *out = (struct operand){ .code = step->code, .p = step->p, .q = step->q, .factor = factor };
    if (!step->tensor)
        return;
    const struct kern_view *view = &call->op->tensors[step->tensor];
    out->type = view->type;
    out->data = call->data[step->tensor];
    out->from = dense_offset(view, at, view->rank);
    out->in_row = view->sizes[view->rank - 1] > 1 && view->strides[view->rank - 1];
    if (!out->in_row)
        out->p = factor * (float)dense_load(out->data, out->from, out->type);
}

static float number_of(const struct kern_call *call, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return (float)dense_load(call->data[tensor], dense_offset(view, at, view->rank), view->type);
}

static void set_quantize(struct end_row *r, const struct blocked_gemm_end *end, const uint32_t *at)
{
    const struct kern_requantize *how = &end->requantize;
    const float divisor = how->divisor ? number_of(end->call, how->divisor, at) : 1;
    r->quantizes = true;
    r->zero = how->zero ? number_of(end->call, how->zero, at) : 0;
    r->low = how->low;
    r->high = how->high;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    r->by = quotient_by(divisor);
#else
    r->by.divisor = divisor;
#endif
}

static void row_init(struct end_row *r, const struct blocked_gemm_end *end, const uint32_t *at)
{
    const struct kern_op *op = end->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    const struct kern_gemm gemm = blocked_gemm_of(op);
    r->count = 0;
    r->alpha = gemm.alpha;
    r->quantizes = false;
    r->type = y->type;
    r->y = end->call->data[op->input_count];
    r->to = dense_offset(y, at, y->rank);
    if (!gemm.integer && gemm.has_c && gemm.beta != 0)
        add_operand(r, end->call, &(struct kern_epilogue_step){ .code = KERN_MAP_ADD, .tensor = 2 }, gemm.beta, at);
    for (uint32_t i = 0; i < end->steps.count; i++)
        add_operand(r, end->call, &end->steps.step[i], 1, at);
    if (end->quantizes)
        set_quantize(r, end, at);
}

static __attribute__((noinline)) void activate(const struct operand *step, uint32_t count, float *row)
{
    if (step->code == KERN_MAP_SQRT)
        for (uint32_t c = 0; c < count; c++)
            row[c] = sqrtf(row[c]);
    else
        curve_row(&(struct kern_epilogue_step){ step->code, 0, step->p, step->q }, count, row);
}

#define EACH_VEC _Pragma("GCC unroll 4") for (uint32_t v = 0; v < vecs; v++)
#define EACH(formula)                                                                                                  \
    EACH_VEC x[v] = (formula);                                                                                         \
    break

DENSE_INLINE void load_operand(uint32_t vecs, const struct operand *s, uint32_t c, uint32_t count, vec *y)
{
    const vec factor = vec_set(s->factor);
    if (s->type == DML_TENSOR_DATA_TYPE_FLOAT32)
        EACH_VEC y[v] = factor * vec_load_some(DML_TENSOR_DATA_TYPE_FLOAT32, s->data, s->from + c + v * VEC, count);
    else
        EACH_VEC y[v] = factor * vec_load_some(s->type, s->data, s->from + c + v * VEC, count);
}

DENSE_INLINE void apply(uint32_t vecs, const struct operand *s, uint32_t c, uint32_t count, vec *x)
{
    float floats[CHUNK * VEC];
    vec y[CHUNK];
    if (s->in_row)
        load_operand(vecs, s, c, count, y);
    else
        EACH_VEC y[v] = vec_set(s->p);
    switch (s->code) {
    case KERN_MAP_ADD:
        EACH(x[v] + y[v]);
    case KERN_MAP_MUL:
        EACH(x[v] * y[v]);
    case KERN_MAP_DIV:
        EACH(x[v] / y[v]);
    case KERN_MAP_MIN:
        EACH(vec_min(x[v], y[v]));
    case KERN_MAP_MAX:
        EACH(vec_max(x[v], y[v]));
    case KERN_MAP_MIN_NAN: /* in this order NaN stays, here and below */
        EACH(vec_min(y[v], x[v]));
    case KERN_MAP_MAX_NAN:
        EACH(vec_max(y[v], x[v]));
    case KERN_MAP_RINT:
        EACH(vec_round(x[v]));
    case KERN_MAP_CLAMP:
        EACH(vec_min(vec_max(x[v], y[v]), vec_set(s->q)));
    case KERN_MAP_CLAMP_NAN:
        EACH(vec_min(vec_set(s->q), vec_max(y[v], x[v])));
    case KERN_MAP_MULADD:
        EACH(vec_fma(x[v], y[v], vec_set(s->q)));
    case KERN_MAP_RELU:
        EACH(vec_max(vec_set(0), x[v]));
    default:
        EACH_VEC vec_store(floats + v * VEC, x[v]);
        activate(s, vecs * VEC, floats);
        EACH(vec_load(floats + v * VEC));
    }
}

/* Bytes: numbers in range, whose fraction is truncated. */
DENSE_INLINE void store_bytes(uint32_t vecs, const struct end_row *r, uint32_t c, uint32_t count, const vec *x)
{
    uint8_t *y = (uint8_t *)r->y + r->to + c;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    const __mmask16 mask = count < VEC ? (__mmask16)((1u << count) - 1) : 0xffff;
    EACH_VEC _mm_mask_storeu_epi8(y + v * VEC, mask, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x[v])));
#else
    uint8_t bytes[CHUNK * VEC];
    int32_t numbers[CHUNK * VEC];
    EACH_VEC vec_int_store(numbers + v * VEC, __builtin_convertvector(x[v], vec_int));
    for (uint32_t i = 0; i < vecs * VEC; i++)
        bytes[i] = (uint8_t)numbers[i];
    memcpy(y, bytes, BASE_MIN(count, vecs * VEC));
#endif
}

/* NaN becomes `low`. */
DENSE_INLINE void quantize(uint32_t vecs, const struct end_row *r, uint32_t c, uint32_t count, vec *x)
{
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    const __m512i zero = _mm512_set1_epi32((int32_t)r->zero), low = _mm512_set1_epi32((int32_t)r->low);
    const __m512i high = _mm512_set1_epi32((int32_t)r->high);
    const __mmask16 mask = count < VEC ? (__mmask16)((1u << count) - 1) : 0xffff;
    uint8_t *y = (uint8_t *)r->y + r->to + c;
    EACH_VEC
    {
        const __m512i number = _mm512_add_epi32(_mm512_cvtps_epi32(quotient(&r->by, x[v])), zero);
        _mm_mask_storeu_epi8(y + v * VEC, mask,
                             _mm512_cvtepi32_epi8(_mm512_min_epi32(_mm512_max_epi32(number, low), high)));
    }
#else
    const vec divisor = vec_set(r->by.divisor), zero = vec_set(r->zero), low = vec_set(r->low), high = vec_set(r->high);
    EACH_VEC
    {
        const vec value = vec_min(vec_max(x[v] / divisor, vec_set(-1024)), vec_set(1024));
        x[v] = vec_min(vec_max(vec_round(value) + zero, low), high);
    }
    store_bytes(vecs, r, c, count, x);
#endif
}

DENSE_INLINE void load_sums(uint32_t vecs, const struct end_row *r, uint32_t c, vec *x)
{
    const struct blocked_gemm_shift *shift = r->shift;
    if (!shift) {
        EACH_VEC x[v] = vec_set(r->alpha) * vec_load((const float *)r->sums + c + v * VEC);
        return;
    }
    const vec_bits zero = (vec_bits)vec_int_set(shift->zero), row = (vec_bits)vec_int_set(shift->row);
    EACH_VEC
    {
        const uint32_t at = c + v * VEC;
        vec_bits sum = (vec_bits)vec_int_load((const int32_t *)r->sums + at) + r->same;
        sum -= zero * (vec_bits)vec_int_load(shift->columns + at);
        if (shift->zeros)
            sum -= row * (vec_bits)vec_int_load(shift->zeros + at);
        x[v] = __builtin_convertvector((vec_int)sum, vec);
    }
}

/* `vecs` vectors, or (1) `count` elements of one, from column c on. */
DENSE_INLINE void end_columns(uint32_t vecs, const struct end_row *r, uint32_t c, uint32_t count)
{
    vec x[CHUNK];
    load_sums(vecs, r, c, x);
    for (uint32_t i = 0; i < r->count; i++)
        apply(vecs, &r->step[i], c, count, x);
    if (r->quantizes)
        quantize(vecs, r, c, count, x);
    else if (dense_is_byte(r->type))
        store_bytes(vecs, r, c, count, x);
    else if (r->type == DML_TENSOR_DATA_TYPE_FLOAT32)
        EACH_VEC vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT32, r->y, r->to + c + v * VEC, x[v], count);
    else
        EACH_VEC vec_store_some(r->type, r->y, r->to + c + v * VEC, x[v], count);
}

void KERN_ISA_PASTE(blocked_gemm_end_row_, ISA)(const struct blocked_gemm_end *end, const uint32_t *at, uint32_t count,
                                                const void *sums, const struct blocked_gemm_shift *shift)
{
    struct end_row r;
    row_init(&r, end, at);
    r.sums = sums;
    r.shift = shift;
    if (shift)
        r.same = (uint32_t)shift->plus - (shift->zeros ? 0 : (uint32_t)shift->zero_all * (uint32_t)shift->row);
    uint32_t c = 0;
    for (; c + CHUNK * VEC <= count; c += CHUNK * VEC)
        end_columns(CHUNK, &r, c, CHUNK * VEC);
    for (; c < count; c += VEC)
        end_columns(1, &r, c, count - c);
}
