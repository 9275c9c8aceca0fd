#define ISA portable
#include "kernels/isa.h"
#include "kernels/roi_body.h"
#include "kernels/roi_grad_body.h"

KERN_ISA_RUN(roi_f32, roi_run)
KERN_ISA_RUN(roi_grad_f32, roi_grad_run)
