#define ISA neon
#include "kernels/dense_rows.h"
