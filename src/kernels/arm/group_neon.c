#define ISA neon
#include "kernels/group_exec.h"
