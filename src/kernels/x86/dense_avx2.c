#define ISA avx2
#include "kernels/dense_rows.h"
