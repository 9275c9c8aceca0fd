#define ISA neon
#include "kernels/reduce_int_exec.h"
