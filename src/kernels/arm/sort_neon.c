#define ISA neon
#include "kernels/sort_exec.h"
