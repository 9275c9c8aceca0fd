#define ISA portable
#include "kernels/data_rows.h"
