/* Running sums with AVX2. */
#include "kernels/scan_exec.h"

const struct kern_scan_isa kern_scan_isa_avx2 = { &kern_map_isa_avx2, scan_row, scan_line, scan_fold, scan_column };

void kern_scan_any_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_scan_run(call, &kern_scan_isa_avx2, begin, end);
}
