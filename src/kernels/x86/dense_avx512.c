#define ISA avx512
#include "kernels/dense_rows.h"
