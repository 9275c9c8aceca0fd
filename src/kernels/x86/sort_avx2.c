#define ISA avx2
#include "kernels/sort_exec.h"
