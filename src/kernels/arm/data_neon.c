#define ISA neon
#include "kernels/data_rows.h"
