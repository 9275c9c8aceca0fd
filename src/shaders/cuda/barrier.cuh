// SPDX-License-Identifier: Apache-2.0
/* Barriers in shared memory that count arrivals: their phases alternate in parity, 0 first. */
#pragma once
#include "shaders/cuda/meta.h"

#define INLINE static __device__ __forceinline__

INLINE void barrier_init(u32 barrier, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

INLINE void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

INLINE void barrier_wait(u32 barrier, u32 parity)
{
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra "
                 "again;\ndone:\n}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* Arrives, and the phase also waits for so many bytes of copies. */
INLINE void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* Copies to shared memory, from and to multiples of 16 bytes; the barrier counts them. */
INLINE void copy_bulk(u32 to, const void *from, u32 bytes, u32 barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
