#define ISA avx2
#include "kernels/reduce_int_exec.h"
