#define ISA portable
#include "kernels/reduce_int_exec.h"
