#define ISA portable
#include "kernels/random_exec.h"
