/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel is (struct kern_row, one line of kernels.def) and how it is called.
 *
 * The graph compiler makes a kern_op per step and looks its kernel up once (kern_find); execution only calls row->run.
 * Kernels are stateless, allocate nothing and start no threads: scratch memory and the range of work are passed in;
 * only recurrent networks with large steps distribute them themselves (base/parallel.h). */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "kernels/core/ops.h"

/* The partition of a step: run() is called with disjoint ranges of [0, units), at least `grain` units each. */
struct kern_work {
    uint64_t units;
    uint64_t grain;
    uint64_t scratch_bytes;        /* shared by all workers of the step, 64-byte aligned */
    uint64_t worker_scratch_bytes; /* for each worker */
    uint32_t calls; /* maximum number of blocks in which a thread may process its range, since each costs next to
                       nothing; 0 means 1 */
    uint32_t cut;   /* of kernels that partition by the number of threads: op->cut for run() */
    bool packs;     /* input 1 is required packed, at the start of the shared scratch memory: kern_pack_first() */
};

#define KERN_CALLS 4 /* for work.calls: threads of one step hardly differ more */

/* Simple operations, a few us, that are worth a thread: each costs 0.2 us at the end of a step. */
#define KERN_GRAIN 8192

struct kern_row;
struct kern_call {
    const struct kern_op *op;
    void *const *data;    /* one per tensor, inputs then outputs */
    void *scratch;        /* shared */
    void *worker_scratch; /* this worker's */
};

/* Packs as work.packs requests, once before run(): data[], which is call->data, then points to the packed input. */
void kern_pack_first(const struct kern_row *row, const struct kern_work *work, const struct kern_call *call,
                     void **data);

struct kern_row {
    const char *name; /* <family>_<types>_<isa> */
    enum kern_kind kind;
    uint32_t cpu;     /* required enum base_cpu_flag bits */
    uint32_t max_ulp; /* against the reference in tests/check, in the output's type */
    bool (*accepts)(const struct kern_op *op);
    void (*plan)(const struct kern_op *op, uint32_t threads, struct kern_work *out);
    void (*run)(const struct kern_call *call, uint64_t begin, uint64_t end);
    /* Optional: input `*out_input` is required in a private layout of *out_bytes bytes, written once by pack() if the
     * data is constant or owned. The data pointer of that input then addresses the packed bytes (256-byte aligned) in
     * run(), and op->packed_input is its index + 1 (0 = nothing is packed: the kernel must then support the plain
     * layout). The layout depends only on the op's parameters, the types of its tensors and the view of that input.
     */
    bool (*pack_plan)(const struct kern_op *op, uint32_t *out_input, uint64_t *out_bytes);
    void (*pack)(const struct kern_op *op, const void *source, void *packed);
};

/* The best kernel for this op on a CPU with these base_cpu_flags() whose accepts() returns true; NULL if there is none.
 */
const struct kern_row *kern_find(const struct kern_op *op, uint32_t cpu);

/* The whole table, best first within a kind. */
const struct kern_row *kern_rows(uint32_t *out_count);

/* INTEGER(name, C type, least, most) for integer data types of whole bytes. */
#define KERN_INTEGER_TYPES(INTEGER)                                                                                    \
    INTEGER(UINT64, uint64_t, 0, UINT64_MAX)                                                                           \
    INTEGER(INT64, int64_t, INT64_MIN, INT64_MAX)                                                                      \
    INTEGER(UINT32, uint32_t, 0, UINT32_MAX)                                                                           \
    INTEGER(INT32, int32_t, INT32_MIN, INT32_MAX)                                                                      \
    INTEGER(UINT16, uint16_t, 0, UINT16_MAX)                                                                           \
    INTEGER(INT16, int16_t, INT16_MIN, INT16_MAX)                                                                      \
    INTEGER(UINT8, uint8_t, 0, UINT8_MAX)                                                                              \
    INTEGER(INT8, int8_t, INT8_MIN, INT8_MAX)

/* Plans of references: units are output 0's elements; one worker does all. */
void kern_elements_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out);
void kern_whole_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out);

/* Bytes of one element, 0 for 4-bit types. */
uint32_t kern_type_bytes(DML_TENSOR_DATA_TYPE type);
uint64_t kern_view_elements(const struct kern_view *view);
bool kern_view_packed(const struct kern_view *view); /* dense row-major */
void kern_view_set_packed(struct kern_view *view, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes);

/* ---- the functions of all kernels of kernels.def, for the table and their definitions ---- */

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
#define SIMD(kind, name, max_ulp)        ROWS_SIMD(KERNEL_AS, kind, name, name, max_ulp)
#define PACKED_SIMD(kind, name, max_ulp) ROWS_SIMD(PACKED_AS, kind, name, name, max_ulp)
#define KERNEL(kind, name, cpu, max_ulp) KERNEL_AS(kind, name, name, cpu, max_ulp)
#define EVERY_AS(kind, name, family, max_ulp)                                                                          \
    ROWS_SIMD(KERNEL_AS, kind, name, family, max_ulp) KERNEL_AS(kind, name, family, BASE_CPU_NONE, max_ulp)
#define EVERY(kind, name, max_ulp) EVERY_AS(kind, name, name, max_ulp)

/* The functions of every kernel are named kern_<row>_<role>. */
BASE_TABLE_BEGIN
#define KERNEL_AS(kind, name, family, cpu, max_ulp)                                                                    \
    bool kern_##family##_accepts(const struct kern_op *op);                                                            \
    void kern_##family##_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out);                      \
    void kern_##name##_run(const struct kern_call *call, uint64_t begin, uint64_t end);
#define REFERENCE(kind, name, family, planner)                                                                         \
    KERNEL_AS(kind, name, family, BASE_CPU_NONE, 0)                                                                    \
    void kern_##planner##_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out);
#define PACKED_AS(kind, name, family, cpu, max_ulp)                                                                    \
    KERNEL_AS(kind, name, family, cpu, max_ulp)                                                                        \
    void kern_##name##_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out);                        \
    bool kern_##name##_pack_plan(const struct kern_op *op, uint32_t *out_input, uint64_t *out_bytes);                  \
    void kern_##name##_pack(const struct kern_op *op, const void *source, void *packed);
#include "kernels/core/kernels.def"
BASE_TABLE_END
#undef KERNEL_AS
#undef REFERENCE
#undef PACKED_AS

#endif
