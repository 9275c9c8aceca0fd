#define ISA neon
#include "kernels/random_exec.h"
