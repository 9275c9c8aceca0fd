/* The rows that are made of products: each names its tiles. */
#include "kernels/product.h"

bool kern_gemm_any_ref_accepts(const struct kern_op *op);
bool kern_conv_any_ref_accepts(const struct kern_op *op);

/* Sizes only: how the work is cut does not depend on the instruction set, and panels are widest here. */
static const struct product_isa product_widest_f32 = { PRODUCT_ROWS_MAX, PRODUCT_COLUMNS_MAX, 1, 4, NULL, NULL };
static const struct product_isa product_widest_f64 = { PRODUCT_ROWS_MAX, PRODUCT_COLUMNS_MAX, 1, 8, NULL, NULL };

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
    product_gemm_plan(product_isa_for(op, &product_widest_f32, &product_widest_f64), op, out);
}

void kern_gemm_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_gemm_run(product_isa_for(call->op, &product_f32, &product_f64), call, begin, end);
}

void kern_gemm_int_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_gemm_plan(&product_int, op, out);
}

void kern_gemm_int_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_gemm_run(&product_int, call, begin, end);
}

bool kern_gemm_int_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)
{
    (void)state;
    return product_gemm_pack_plan(&product_int, op, out_input, out_bytes);
}

void kern_gemm_int_pack(const struct kern_op *op, const void *state, const void *source, void *packed)
{
    (void)state;
    product_gemm_pack(&product_int, op, source, packed);
}

/* The scratch memory of the widest tiles is enough for all of them. */
void kern_conv_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_conv_plan(product_isa_for(op, &product_widest_f32, &product_widest_f64), op, out);
}

void kern_conv_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_conv_run(product_isa_for(call->op, &product_f32, &product_f64), call, begin, end);
}

void kern_conv_int_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_conv_plan(&product_int, op, out);
}

void kern_conv_int_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_conv_run(&product_int, call, begin, end);
}

bool kern_conv_int_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)
{
    (void)state;
    return product_conv_pack_plan(&product_int, op, out_input, out_bytes);
}

void kern_conv_int_pack(const struct kern_op *op, const void *state, const void *source, void *packed)
{
    (void)state;
    product_conv_pack(&product_int, op, source, packed);
}

#if defined(__x86_64__)
void kern_gemm_float_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_gemm_run(product_isa_for(call->op, &product_f32_avx2, &product_f64_avx2), call, begin, end);
}

void kern_gemm_float_avx512_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_gemm_run(product_isa_for(call->op, &product_f32_avx512, &product_f64_avx512), call, begin, end);
}

void kern_gemm_int_avx2_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_gemm_plan(&product_int_avx2, op, out);
}

void kern_gemm_int_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_gemm_run(&product_int_avx2, call, begin, end);
}

bool kern_gemm_int_avx2_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)
{
    (void)state;
    return product_gemm_pack_plan(&product_int_avx2, op, out_input, out_bytes);
}

void kern_gemm_int_avx2_pack(const struct kern_op *op, const void *state, const void *source, void *packed)
{
    (void)state;
    product_gemm_pack(&product_int_avx2, op, source, packed);
}

void kern_gemm_int_vnni_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_gemm_plan(&product_int_vnni, op, out);
}

void kern_gemm_int_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_gemm_run(&product_int_vnni, call, begin, end);
}

bool kern_gemm_int_vnni_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)
{
    (void)state;
    return product_gemm_pack_plan(&product_int_vnni, op, out_input, out_bytes);
}

void kern_gemm_int_vnni_pack(const struct kern_op *op, const void *state, const void *source, void *packed)
{
    (void)state;
    product_gemm_pack(&product_int_vnni, op, source, packed);
}

void kern_conv_float_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_conv_run(product_isa_for(call->op, &product_f32_avx2, &product_f64_avx2), call, begin, end);
}

void kern_conv_float_avx512_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_conv_run(product_isa_for(call->op, &product_f32_avx512, &product_f64_avx512), call, begin, end);
}

void kern_conv_int_avx2_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_conv_plan(&product_int_avx2, op, out);
}

void kern_conv_int_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_conv_run(&product_int_avx2, call, begin, end);
}

bool kern_conv_int_avx2_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)
{
    (void)state;
    return product_conv_pack_plan(&product_int_avx2, op, out_input, out_bytes);
}

void kern_conv_int_avx2_pack(const struct kern_op *op, const void *state, const void *source, void *packed)
{
    (void)state;
    product_conv_pack(&product_int_avx2, op, source, packed);
}

void kern_conv_int_vnni_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    product_conv_plan(&product_int_vnni, op, out);
}

void kern_conv_int_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    product_conv_run(&product_int_vnni, call, begin, end);
}

bool kern_conv_int_vnni_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input, uint64_t *out_bytes)
{
    (void)state;
    return product_conv_pack_plan(&product_int_vnni, op, out_input, out_bytes);
}

void kern_conv_int_vnni_pack(const struct kern_op *op, const void *state, const void *source, void *packed)
{
    (void)state;
    product_conv_pack(&product_int_vnni, op, source, packed);
}
#endif
