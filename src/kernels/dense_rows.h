/* The rows of the dense and window families for one instruction set: the including file defines ISA (avx2, avx512,
 * neon) and is compiled with its flags. */
#include "kernels/isa.h"

#include "kernels/attention_body.h"
#include "kernels/conv_dw_body.h"
#include "kernels/conv_dw_last_body.h"
#include "kernels/conv_few_in_body.h"

#include "kernels/block_body.h" /* uses the one above */
#include "kernels/conv_few_out_body.h"
#include "kernels/conv_up_body.h"
#include "kernels/conv_wino_body.h"
#include "kernels/conv_pw_body.h"
#include "kernels/fold_body.h"
#include "kernels/gemm_panel_body.h"
#include "kernels/gemm_vec_body.h"
#include "kernels/pool_body.h"
#include "kernels/pool_grad_body.h"
#include "kernels/qgemm_body.h"

#include "kernels/qgemm_many_body.h" /* uses the one above */
#include "kernels/recurrent_body.h"
#include "kernels/resample_body.h"
#include "kernels/resample_table_body.h"
#include "kernels/roi_body.h"
#include "kernels/roi_grad_body.h"

KERN_ISA_RUN(attention_f32, attention_run)
KERN_ISA_RUN(block_f32, block_run)
KERN_ISA_RUN(conv_dw_f32, conv_dw_run)
KERN_ISA_RUN(conv_dw_int, conv_dw_run)
KERN_ISA_RUN(conv_dw_last_f32, dw_last_run)
KERN_ISA_RUN(conv_few_in_f32, few_run)
KERN_ISA_RUN(conv_few_out_f32, few_out_run)
KERN_ISA_RUN(conv_up_f32, up_run)
KERN_ISA_RUN(conv_wino_f32, wino_run)
KERN_ISA_RUN(conv_pw_f32, conv_pw_run)
KERN_ISA_RUN(gemm_panel, panel_run)
KERN_ISA_RUN(gemm_vec_f32, gemm_vec_run)
KERN_ISA_RUN(qgemm_float, qgemm_run)
KERN_ISA_RUN(qgemm_many, qgemm_many_run)
KERN_ISA_RUN(pool_f32, pool_fast_run)
KERN_ISA_RUN(resample_f32, resample_run)
KERN_ISA_RUN(fold_f32, fold_fast_run)
KERN_ISA_RUN(pool_grad_f32, pool_grad_run)
KERN_ISA_RUN(resample_table_f32, resample_table_run)
KERN_ISA_RUN(roi_f32, roi_run)
KERN_ISA_RUN(roi_grad_f32, roi_grad_run)
KERN_ISA_RUN(recurrent_f32, recurrent_run)
