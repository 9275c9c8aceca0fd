/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that are made of products: each names its tiles. */
#include "kernels/gemm/blocked_gemm.h"

bool kern_gemm_any_ref_accepts(const struct kern_op *op);
bool kern_conv_any_ref_accepts(const struct kern_op *op);

/* Sizes only: how the work is cut does not depend on the instruction set, and panels are widest here. */
static const struct blocked_gemm_isa blocked_gemm_widest_f32 = {
    BLOCKED_GEMM_ROWS_MAX, BLOCKED_GEMM_COLUMNS_MAX, 1, 4, NULL, NULL
};
static const struct blocked_gemm_isa blocked_gemm_widest_f64 = {
    BLOCKED_GEMM_ROWS_MAX, BLOCKED_GEMM_COLUMNS_MAX, 1, 8, NULL, NULL
};

bool kern_gemm_float_accepts(const struct kern_op *op)
{
    return !op->u.gemm.integer && kern_gemm_any_ref_accepts(op);
}

bool kern_gemm_int_accepts(const struct kern_op *op)
{
    return op->u.gemm.integer && kern_gemm_any_ref_accepts(op);
}

bool kern_conv_float_accepts(const struct kern_op *op)
{
    return !op->u.conv.integer && kern_conv_any_ref_accepts(op);
}

bool kern_conv_int_accepts(const struct kern_op *op)
{
    return op->u.conv.integer && kern_conv_any_ref_accepts(op);
}

/* The scratch memory of the widest tiles is enough for all of them. */
void kern_gemm_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    blocked_gemm_plan(blocked_gemm_isa_for(op, &blocked_gemm_widest_f32, &blocked_gemm_widest_f64), op, out);
}

void kern_conv_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    blocked_conv_plan(blocked_gemm_isa_for(op, &blocked_gemm_widest_f32, &blocked_gemm_widest_f64), op, out);
}

#define FLOAT_RUN(name, kind, isa)                                                                                     \
    void name(const struct kern_call *call, uint64_t begin, uint64_t end)                                              \
    {                                                                                                                  \
        blocked_##kind##_run(blocked_gemm_isa_for(call->op, &blocked_gemm_f32_##isa, &blocked_gemm_f64_##isa), call,   \
                             begin, end);                                                                              \
    }

/* The functions of a PACKED_AS row. */
#define INT_ROW(row, kind, isa)                                                                                        \
    void row##_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        (void)threads;                                                                                                 \
        blocked_##kind##_plan(&isa, op, out);                                                                          \
    }                                                                                                                  \
    void row##_run(const struct kern_call *call, uint64_t begin, uint64_t end)                                         \
    {                                                                                                                  \
        blocked_##kind##_run(&isa, call, begin, end);                                                                  \
    }                                                                                                                  \
    bool row##_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)        \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        return blocked_##kind##_pack_plan(&isa, op, out_input, out_bytes);                                             \
    }                                                                                                                  \
    void row##_pack(const struct kern_op *op, const void *state, const void *source, void *packed)                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        blocked_##kind##_pack(&isa, op, source, packed);                                                               \
    }

FLOAT_RUN(kern_gemm_float_run, gemm, portable)
FLOAT_RUN(kern_conv_float_run, conv, portable)
INT_ROW(kern_gemm_int, gemm, blocked_gemm_int_portable)
INT_ROW(kern_conv_int, conv, blocked_gemm_int_portable)
#if defined(__x86_64__)
FLOAT_RUN(kern_gemm_float_avx2_run, gemm, avx2)
FLOAT_RUN(kern_conv_float_avx2_run, conv, avx2)
FLOAT_RUN(kern_gemm_float_avx512_run, gemm, avx512)
FLOAT_RUN(kern_conv_float_avx512_run, conv, avx512)
INT_ROW(kern_gemm_int_avx2, gemm, blocked_gemm_int_avx2)
INT_ROW(kern_conv_int_avx2, conv, blocked_gemm_int_avx2)
INT_ROW(kern_gemm_int_vnni, gemm, blocked_gemm_int_vnni)
INT_ROW(kern_conv_int_vnni, conv, blocked_gemm_int_vnni)
#elif defined(__aarch64__)
FLOAT_RUN(kern_gemm_float_neon_run, gemm, neon)
FLOAT_RUN(kern_conv_float_neon_run, conv, neon)
#endif
