/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma of 64 x N x 16: sums += A (registers) * B (shared memory: matrices of 8 columns x 8 rows, neighbours along K). */
#ifndef META_WGMMA_CUH
#define META_WGMMA_CUH

#define REGS_16                                                                                                        \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define REGS_32                                                                                                        \
    REGS_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGS_64                                                                                                        \
    REGS_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, "   \
            "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGS_96                                                                                                        \
    REGS_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "   \
            "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define REGS_128                                                                                                       \
    REGS_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "   \
            "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, "       \
            "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, "   \
            "%120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS_4(c, i)  c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define SUMS_16(c, i) SUMS_4(c, i), SUMS_4(c, i + 4), SUMS_4(c, i + 8), SUMS_4(c, i + 12)
#define SUMS_32(c, i) SUMS_16(c, i), SUMS_16(c, i + 16)
#define SUMS_64(c, i) SUMS_32(c, i), SUMS_32(c, i + 32)
#define SUMS_96(c, i) SUMS_64(c, i), SUMS_32(c, i + 64)
#define SUMS_128(c, i) SUMS_64(c, i), SUMS_64(c, i + 64)

#define WGMMA(n, count, sum_type, constraint, sums, inputs, a, b)                                                      \
    static __device__ __forceinline__ void wgmma(sum_type (&d)[count], const u32 (&x)[4], u64 desc)                    \
    {                                                                                                                  \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16." sums "." inputs "." inputs " {" REGS_##count    \
                         "}, {" a "}, " b ", 1, 1, 1, 0;"                                                              \
                         : SUMS_##count(constraint, 0)                                                                 \
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(desc));                                     \
    }

#ifdef BFLOAT16
#define INPUTS "bf16"
#else
#define INPUTS "f16"
#endif
WGMMA(64, 32, float, "+f", "f32", INPUTS, "%32, %33, %34, %35", "%36")
WGMMA(128, 64, float, "+f", "f32", INPUTS, "%64, %65, %66, %67", "%68")
WGMMA(192, 96, float, "+f", "f32", INPUTS, "%96, %97, %98, %99", "%100")
WGMMA(256, 128, float, "+f", "f32", INPUTS, "%128, %129, %130, %131", "%132")
#ifndef BFLOAT16
WGMMA(256, 64, u32, "+r", "f16", "f16", "%64, %65, %66, %67", "%68")
#endif

#endif
