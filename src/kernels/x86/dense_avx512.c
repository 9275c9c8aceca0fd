#define ISA avx512
#include "kernels/dense_rows.h"

#include "kernels/gemm_panel_body.h"

KERN_ISA_RUN(gemm_panel, panel_run)
