#define ISA avx2
#include "kernels/group_exec.h"
