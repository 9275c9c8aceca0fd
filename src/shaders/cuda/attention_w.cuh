// SPDX-License-Identifier: Apache-2.0
/* wgmma of 64 x N x 16 elements with A in registers and FLOAT32 sums, and what goes with it. B_N_MAJOR: neighbours of B
 * in memory are neighbours along N. Defined outside: HEAD. */
#pragma once
#include "shaders/cuda/barrier.cuh"

#ifdef BFLOAT16
#define ELEMENTS "bf16.bf16"
#else
#define ELEMENTS "f16.f16"
#endif

/* Bytes of a block's line, in which vectors of 16 are swizzled, and the high half of descriptors, which says so, and that
 * each eight lines are behind the last. */
#if HEAD % 64
#define LINE_BYTES 64
#define HIGH       "0x80000020"
#else
#define LINE_BYTES 128
#define HIGH       "0x40000040"
#endif

#define D8(i)                                                                                                          \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),        \
        "+f"(d[i + 7])
#define R16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define R24 R16 ", " "%16, %17, %18, %19, %20, %21, %22, %23"
#define R32 R24 ", " "%24, %25, %26, %27, %28, %29, %30, %31"
#define R48 R32 ", " "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define R64 R48 ", " "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define R80 R64 ", " "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define R96 R80 ", " "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define R128                                                                                                           \
    R96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, "   \
        "%114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define D16(i) D8(i), D8(i + 8)
#define D32(i) D16(i), D16(i + 16)
#define SUMS_16 D16(0)
#define SUMS_24 D16(0), D8(16)
#define SUMS_32 D32(0)
#define SUMS_48 D32(0), D16(32)
#define SUMS_64 D32(0), D32(32)
#define SUMS_80 D32(0), D32(32), D16(64)
#define SUMS_96 D32(0), D32(32), D32(64)
#define SUMS_128 D32(0), D32(32), D32(64), D32(96)
#define WGMMA(n, count, sums, a0, a1, a2, a3, b, add, major)                                                           \
    template <int B_N_MAJOR> INLINE void wgmma(float (&d)[count], const u32 (&a)[4], u32 low, int more)                \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %" #add ", 0;\nmov.b64 b, {%" #b ", " HIGH         \
                     "};\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." ELEMENTS " {" R##count "}, {%" #a0 ", %" #a1 \
                     ", %" #a2 ", %" #a3 "}, b, p, 1, 1, %" #major ";\n}\n"                                            \
                     : sums                                                                                            \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(low), "r"(more), "n"(B_N_MAJOR));               \
    }
WGMMA(32, 16, SUMS_16, 16, 17, 18, 19, 20, 21, 22)
WGMMA(48, 24, SUMS_24, 24, 25, 26, 27, 28, 29, 30)
WGMMA(64, 32, SUMS_32, 32, 33, 34, 35, 36, 37, 38)
WGMMA(96, 48, SUMS_48, 48, 49, 50, 51, 52, 53, 54)
WGMMA(128, 64, SUMS_64, 64, 65, 66, 67, 68, 69, 70)
WGMMA(160, 80, SUMS_80, 80, 81, 82, 83, 84, 85, 86)
WGMMA(192, 96, SUMS_96, 96, 97, 98, 99, 100, 101, 102)
WGMMA(256, 128, SUMS_128, 128, 129, 130, 131, 132, 133, 134)

INLINE void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

INLINE void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until at most so many groups are under way. */
template <int GROUPS> INLINE void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

INLINE u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

/* The low half of a descriptor. `apart`: bytes between blocks, of operands whose lines are along N. */
INLINE u32 descriptor_of(u32 address, u32 apart)
{
    return (address & 0x3ffff) >> 4 | apart >> 4 << 16;
}

/* When the copies of this thread so far are done. */
INLINE void barrier_arrive_copied(u32 barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/* 16 bytes to shared memory; zeros where there is nothing. */
INLINE void copy_vector(u32 to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}

/* What other threads wrote with copy_vector() becomes visible to wgmma. */
INLINE void proxy_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

INLINE float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

INLINE u32 pack_two(float low, float high)
{
    u32 two;
#ifdef BFLOAT16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
#endif
    return two;
}
