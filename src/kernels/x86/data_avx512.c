#define ISA avx512
#include "kernels/data_rows.h"
