#define ISA portable
#include "kernels/scan_exec.h"
