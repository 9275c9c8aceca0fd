#define ISA avx2
#include "kernels/data_rows.h"
