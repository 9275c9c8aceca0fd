/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of all rows of kernels.def, for the table and for whoever defines them. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

/* MACRO(kind, row, family, cpu, max_ulp) for each instruction set with vectors */
#if defined(__x86_64__)
#define ROWS_SIMD(MACRO, kind, name, family, max_ulp)                                                                  \
    MACRO(kind, name##_avx512, family, BASE_CPU_AVX512, max_ulp)                                                       \
    MACRO(kind, name##_avx2, family, BASE_CPU_AVX2, max_ulp)
#elif defined(__aarch64__)
#define ROWS_SIMD(MACRO, kind, name, family, max_ulp) MACRO(kind, name##_neon, family, BASE_CPU_NEON, max_ulp)
#else
#define ROWS_SIMD(MACRO, kind, name, family, max_ulp)
#endif
#if defined(ANYDML_DNNL)
#define VENDOR(...) VENDOR_AS(__VA_ARGS__)
#else
#define VENDOR(...)
#endif
#define SIMD(kind, name, max_ulp)        ROWS_SIMD(KERNEL_AS, kind, name, name, max_ulp)
#define PACKED_SIMD(kind, name, max_ulp) ROWS_SIMD(PACKED_AS, kind, name, name, max_ulp)
#define KERNEL(kind, name, cpu, max_ulp) KERNEL_AS(kind, name, name, cpu, max_ulp)
#define EVERY_AS(kind, name, family, max_ulp)                                                                          \
    ROWS_SIMD(KERNEL_AS, kind, name, family, max_ulp) KERNEL_AS(kind, name, family, BASE_CPU_NONE, max_ulp)
#define EVERY(kind, name, max_ulp) EVERY_AS(kind, name, name, max_ulp)

/* Every row's functions are named kern_<row>_<role>. */
#define KERNEL_AS(kind, name, family, cpu, max_ulp)                                                                    \
    bool kern_##family##_accepts(const struct kern_op *op);                                                            \
    void kern_##family##_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out);   \
    void kern_##name##_run(const struct kern_call *call, uint64_t begin, uint64_t end);
#define REFERENCE(kind, name, family, planner)                                                                         \
    KERNEL_AS(kind, name, family, BASE_CPU_NONE, 0)                                                                    \
    void kern_##planner##_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out);
#define PACKED_AS(kind, name, family, cpu, max_ulp)                                                                    \
    KERNEL_AS(kind, name, family, cpu, max_ulp)                                                                        \
    void kern_##name##_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out);     \
    bool kern_##name##_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input,                     \
                                 uint64_t *out_bytes);                                                                 \
    void kern_##name##_pack(const struct kern_op *op, const void *state, const void *source, void *packed);
#define VENDOR_AS(kind, name, library, cpu, max_ulp)                                                                   \
    PACKED_AS(kind, library, name, cpu, max_ulp)                                                                       \
    bool kern_##name##_create(const struct kern_op *op, uint32_t threads, void **out_state);                           \
    void kern_##library##_destroy(void *state);                                                                        \
    uint64_t kern_##library##_pack_layout(const struct kern_op *op, const void *state);
#include "kernels/core/kernels.def"
#undef KERNEL_AS
#undef REFERENCE
#undef PACKED_AS
#undef VENDOR_AS

#endif
