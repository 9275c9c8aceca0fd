#define ISA avx2
#include "kernels/random_exec.h"
