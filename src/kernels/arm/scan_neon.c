#define ISA neon
#include "kernels/scan_exec.h"
