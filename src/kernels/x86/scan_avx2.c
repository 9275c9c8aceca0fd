#define ISA avx2
#include "kernels/scan_exec.h"
