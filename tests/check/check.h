/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the kernel table against its reference: random legal operations, guard zones, poison, random cuts of the
 * work. */
#ifndef CHECK_H
#define CHECK_H

#include "base/base.h"
#include "kernels/core/kernel.h"

struct check_rng {
    uint64_t state;
};

uint64_t check_next(struct check_rng *rng);
/* 0 .. count - 1 */
uint32_t check_pick(struct check_rng *rng, uint32_t count);
/* least .. most */
int32_t check_range(struct check_rng *rng, int32_t least, int32_t most);
bool check_chance(struct check_rng *rng, uint32_t one_in);
double check_uniform(struct check_rng *rng, double least, double most);

enum check_data {
    CHECK_DATA_NORMAL,   /* -4 .. 4, integers over the small numbers */
    CHECK_DATA_POSITIVE, /* 0.25 .. 4 */
    CHECK_DATA_SMALL,    /* -0.25 .. 0.25 */
    CHECK_DATA_TINY,     /* 2^-12 .. 2^-9: scales of bytes */
    CHECK_DATA_SPECIAL,  /* everything, with NaN, infinities, zeros, subnormal and huge numbers */
    CHECK_DATA_HALVES,   /* FLOAT16 of every kind, and numbers around the middle between two of them */
    CHECK_DATA_SPARSE,   /* half of them zero, of either sign */
    CHECK_DATA_INSIDE,   /* 0 .. limit - 1 */
    CHECK_DATA_INDEX,    /* 0 .. limit - 1, sometimes negative or too great */
};

struct check_case {
    struct kern_op op;
    struct kern_map epilogue; /* op.epilogue points here when used */
    enum check_data data[KERN_TENSORS_MAX];
    uint32_t index_limit[KERN_TENSORS_MAX];
    bool norm_wise;    /* errors are measured against the output's largest element, not each element */
    bool signed_zeros; /* -0 is no +0 */
};

/* One generator per kind: a random legal op. Views are random layouts of random sizes. */
typedef void check_gen_fn(struct check_rng *rng, struct check_case *out);
#define KIND(NAME, name) check_gen_fn check_gen_##name;
#include "kernels/core/kinds.def"
#undef KIND

/* ---- helpers of the generators (check_view.c) -------------------------------------------------------------------- */

/* Random rank and sizes; about `target` elements at most. */
uint32_t check_sizes(struct check_rng *rng, uint32_t max_rank, uint32_t target, uint32_t *out_sizes);

/* A view of these sizes: packed, permuted or with gaps; never overlapping itself. */
void check_view(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                const uint32_t *sizes);
/* The same, dimensions chosen at random repeated by stride 0. */
void check_view_broadcast(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                          const uint32_t *sizes);
DML_TENSOR_DATA_TYPE check_float_type(struct check_rng *rng);
DML_TENSOR_DATA_TYPE check_any_type(struct check_rng *rng);
/* The case's floating-point tensors become FLOAT64 now and then, except for cases with an epilogue: by no new random
 * number, so that seeds stay what they were. */
void check_widen(const struct check_rng *rng, struct check_case *c);

/* A short element-wise program at the end of the op; it may add an input of the output's sizes. */
void check_epilogue(struct check_rng *rng, struct check_case *c, const struct kern_view *out_view);

/* ---- buffers (check_buffer.c) ------------------------------------------------------------------------------------ */

struct check_buffer {
    uint8_t *block;
    size_t size;
    uint8_t *data; /* element 0,...,0 */
};
/* New buffers have element 0 this many bytes past a cache line, up to 40; default 8. */
void check_buffer_past(uint32_t bytes);
bool check_buffer_create(struct check_buffer *out, const struct kern_view *view);
void check_buffer_destroy(struct check_buffer *buffer);
void check_buffer_poison(struct check_buffer *buffer);
void check_buffer_fill(struct check_buffer *buffer, const struct kern_view *view, struct check_rng *rng,
                       enum check_data data, uint32_t limit);
/* Overwrites the view's elements with poison; then every byte must be poison. Destroys the contents. */
bool check_buffer_guarded(struct check_buffer *buffer, const struct kern_view *view);

struct check_error {
    double worst; /* units in the last place */
    uint32_t index[KERN_RANK_MAX];
    double got, want;
};
/* false when an element differs by more than max_ulp, as the case measures that. */
bool check_compare(const struct check_case *c, const struct kern_view *view, const struct check_buffer *got,
                   const struct check_buffer *want, double max_ulp, struct check_error *out);

/* ---- the references against independent formulas (check_oracle*.c); return how many checks failed ---------------- */
int check_oracle_dense(struct check_rng *rng);
int check_oracle_index(struct check_rng *rng);
int check_oracle_map(struct check_rng *rng);
int check_oracle_reduce(struct check_rng *rng);
int check_oracle_norm(struct check_rng *rng);
int check_oracle_views(struct check_rng *rng);

/* ---- running (check_run.c) --------------------------------------------------------------------------------------- */

struct check_set {
    struct check_buffer buffers[KERN_TENSORS_MAX];
    uint32_t count;
};
/* Allocates, fills inputs and poisons outputs. */
bool check_set_create(struct check_set *set, const struct check_case *c, struct check_rng *rng);
void check_set_destroy(struct check_set *set);

/* Runs a row on the set's inputs into `outputs` (one per output). Returns what went wrong, NULL when all is well;
 * *out_ran is false when the row does not take the op. */
const char *check_run(const struct kern_row *row, const struct kern_op *op, const struct check_set *set,
                      const struct check_buffer *outputs, struct check_rng *rng, bool *out_ran);

/* The last row of the kind. */
const struct kern_row *check_reference(enum kern_kind kind);
/* The row takes the op as it is or with its weights packed. */
bool check_accepts(const struct kern_row *row, const struct kern_op *op);
/* Seconds per run of the row on the case. */
double check_time(const struct kern_row *row, const struct kern_op *op, const struct check_set *set);
void check_bench(const char *filter, uint32_t cpu);
void check_bench_case(const char *name, const struct check_case *c, const char *filter, uint32_t cpu);
void check_bench_layers(const char *filter, uint32_t cpu);

#endif
