/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels that are metacommands: dispatches and parameters. */
#ifndef SHADERS_META_SHADER_META_H
#define SHADERS_META_SHADER_META_H

#include "shaders/core/shader_block.h"
#include "shaders/cuda/meta.h"
#include "shaders/shader.h"

/* Adds a dispatch of groups[0] x groups[1] x groups[2] workgroups, with `bytes` bytes of parameters, a multiple of 8
 * and at most META_PARAMETERS_MAX, that start with `addresses` addresses. */
void shader_meta_add(struct shader_work *work, enum shader_meta meta, const uint32_t *groups, uint32_t addresses,
                     size_t parameter_bytes);

/* The encoding of an address by `write`: of the position, or of a byte after it. */
u64 shader_meta_place(const struct shader_place *place);
u64 shader_meta_place_at(const struct shader_place *place, uint64_t bytes);

/* Why the op's epilogue is not one of struct meta_epilogue, with operands of any strides, else NULL. bytes: of bytes,
 * too.
 */
const char *shader_meta_steps_unsupported(const struct kern_op *op, bool bytes);
/* Whether an operand of the epilogue has META_PLACE_STRIDED. Dimension `channel` of the result has its channels. */
bool shader_meta_is_strided(const struct kern_op *op, uint32_t channel, uint32_t tensor);
/* For kernels whose epilogues support bytes, and no such operands. */
const char *shader_meta_bytes_unsupported(const struct kern_op *op, uint32_t channel);
/* Strides of META_PLACE_STRIDED are left to the caller. */
void shader_meta_epilogue_write(const struct kern_op *op, uint32_t channel, const struct shader_place *places,
                                struct meta_epilogue *out);

/* Memory of a chain's results is not reused within it: large ones would take more time in caches than barriers cost. */
bool shader_meta_may_wait(const struct kern_op *op);
/* Whether the kernel that gemm_meta selects for the op supports chains, if it takes one dispatch. */
bool shader_gemm_meta_waits(const struct kern_op *op);
/* Whether its first dispatch suffices in a chain, although there are more. */
bool shader_gemm_meta_joins(const struct kern_op *op);

/* Likewise of conv_meta. */
bool shader_conv_meta_waits(const struct kern_op *op);

/* A matrix of k rows and n columns of 16-bit elements, which becomes the panels that gemm_large.cu and conv_large.cu
 * read, in zeroed memory. */
struct shader_panels {
    const uint16_t *from;
    uint16_t *to;
    uint32_t k, n;
    int64_t along_k, along_n;                        /* strides, in elements */
    int64_t (*row)(const void *context, uint32_t k); /* where row k begins, instead of along_k; < 0: it is zeros */
    const void *context;
};
uint64_t shader_panels_bytes(uint32_t k, uint32_t n);
void shader_pack_panels(struct shader_panels *panels);
/* Fragments of 32 rows and eight columns (gemm_meta_params.h), without `row`. */
void shader_pack_fragments(struct shader_panels *panels);

/* For tests: another than the best kernel for GEMM; 0: the best. */
void shader_gemm_meta_force(uint32_t kernel);
/* The same for attention, counted from 1; ops that are for kernels of other lengths are not supported then. */
uint32_t shader_attention_meta_kernels(void);
void shader_attention_meta_force(uint32_t kernel);
/* For tests: the first kernel for convolutions, counted from this one and from 1, that accepts the op; 0: the best
 * one. */
uint32_t shader_conv_meta_kernels(void);
void shader_conv_meta_force(uint32_t kernel);
/* The same for 8-bit ones. */
uint32_t shader_conv_int_meta_kernels(void);
void shader_conv_int_meta_force(uint32_t kernel);

#endif
