/* The dense families' bodies for this instruction set. */
#include "kernels/attention_body.h"
#include "kernels/conv_dw_body.h"
#include "kernels/gemm_vec_body.h"
#include "kernels/pool_body.h"
#include "kernels/resample_body.h"
#include "kernels/roi_body.h"
#include "kernels/roi_grad_body.h"

void kern_attention_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    attention_run(call, begin, end);
}

void kern_conv_dw_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    conv_dw_run(call, begin, end);
}

void kern_gemm_vec_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    gemm_vec_run(call, begin, end);
}

void kern_pool_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    pool_fast_run(call, begin, end);
}

void kern_resample_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    resample_run(call, begin, end);
}

void kern_roi_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    roi_run(call, begin, end);
}

void kern_roi_grad_f32_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    roi_grad_run(call, begin, end);
}
