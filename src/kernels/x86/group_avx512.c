#pragma GCC target("prefer-vector-width=512")
#define ISA avx512
#include "kernels/group_exec.h"
