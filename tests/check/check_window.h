/* SPDX-License-Identifier: Apache-2.0 */
/* What the generators of the dense and window families share. */
#ifndef CHECK_WINDOW_H
#define CHECK_WINDOW_H

#include "check.h"

/* A view of [N, C, S...]: channels first or last in memory, or any layout. */
void check_activation_view(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                           const uint32_t *sizes);

void check_channels_last(struct kern_view *view);
/* A filter of the order that shaders like for such images: input channels innermost, or of single ones the output
 * channels.
 */
void check_filter_last(struct kern_view *w);
/* Channels innermost in an image whose batch and channels have changed places. */
void check_batch_innermost(struct kern_view *view);

/* Few results may all happen to be near zero, with nothing to measure errors against: positive inputs then (after
 * everything else is chosen). check_gen_gemm.c. */
void check_few(struct check_case *c, const struct kern_view *y);

/* Of integer products (check_gen_gemm.c): a type of factors; their data and, under an epilogue, the output's type. Some
 * without an epilogue get a requantisation with scales along dimension `dim`. */
DML_TENSOR_DATA_TYPE check_byte_type(struct check_rng *rng);
void check_integer_output(struct check_rng *rng, struct check_case *c, uint32_t dim);

/* Some FLOAT32 products may be computed in half precision: of some, factors and result are BFLOAT16. */
void check_half(struct check_rng *rng, struct kern_op *op, uint32_t factors, struct kern_view *y);

struct check_steps {
    uint32_t in, kernel, stride, dilation, start, end;
};

/* Along one dimension; the window fits at least once. */
void check_steps(struct check_rng *rng, uint32_t most, struct check_steps *out);

/* The only window is in the padding before the only element. */
#define CHECK_STEPS_BESIDE ((struct check_steps){ .in = 1, .kernel = 1, .stride = 2, .dilation = 1, .start = 1 })

/* Positions of the window, and for transposed convolutions the size that has as many. */
uint32_t check_steps_count(const struct check_steps *steps);
/* An output's size: `size` more often than not, at times some more or fewer, down to 1. */
uint32_t check_free_size(struct check_rng *rng, uint32_t size);
uint32_t check_steps_transposed(const struct check_steps *steps);

#endif
