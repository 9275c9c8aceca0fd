/* Running sums with AVX-512. */
#pragma GCC target("prefer-vector-width=512")
#include "kernels/scan_exec.h"

const struct kern_scan_isa kern_scan_isa_avx512 = { &kern_map_isa_avx512, scan_row, scan_line, scan_fold, scan_column };

void kern_scan_any_avx512_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_scan_run(call, &kern_scan_isa_avx512, begin, end);
}
