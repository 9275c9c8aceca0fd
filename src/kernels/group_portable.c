#define ISA portable
#include "kernels/group_exec.h"
