// SPDX-License-Identifier: Apache-2.0
/* wgmma of 64 x N x 16 elements with A in registers and FLOAT32 sums, and what goes with it. B_N_MAJOR: neighbours of B
 * in memory are neighbours along N. */
#pragma once
#include "shaders/cuda/barrier.cuh"

#ifdef BFLOAT16
#define ELEMENTS "bf16.bf16"
#else
#define ELEMENTS "f16.f16"
#endif

#define D8(i)                                                                                                          \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),        \
        "+f"(d[i + 7])
#define R32                                                                                                            \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "   \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define R64                                                                                                            \
    R32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "  \
        "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA(n, registers, a0, a1, a2, a3, b, add, major)                                                             \
    "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %" #add ", 0;\nmov.b64 b, {%" #b ", 0x40000040};\n"             \
    "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." ELEMENTS " {" registers "}, {%" #a0 ", %" #a1 ", %" #a2          \
    ", %" #a3 "}, b, p, 1, 1, %" #major ";\n}\n"
#define OPERANDS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(add), "n"(B_N_MAJOR)

template <int B_N_MAJOR> INLINE void wgmma(float (&d)[32], const u32 (&a)[4], u32 b, int add)
{
    asm volatile(WGMMA(64, R32, 32, 33, 34, 35, 36, 37, 38) : D8(0), D8(8), D8(16), D8(24) : OPERANDS);
}

template <int B_N_MAJOR> INLINE void wgmma(float (&d)[64], const u32 (&a)[4], u32 b, int add)
{
    asm volatile(WGMMA(128, R64, 64, 65, 66, 67, 68, 69, 70)
                 : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56)
                 : OPERANDS);
}

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

/* The low half of a descriptor: lines of 128 bytes whose vectors are swizzled, each eight lines 1024 bytes behind the
 * last, which the high half says. `apart`: bytes between blocks of 64 elements, of operands whose lines are along K. */
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
