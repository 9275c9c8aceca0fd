#define ISA portable
#include "kernels/sort_exec.h"
