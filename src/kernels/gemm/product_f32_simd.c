typedef float number;
#include "kernels/gemm/product_float_body.h"

const struct product_isa KERN_ISA_TABLE(product_f32_) = PRODUCT_FLOAT_ISA;
