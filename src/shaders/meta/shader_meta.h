/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of metacommands share: dispatches and parameters. */
#ifndef SHADERS_META_SHADER_META_H
#define SHADERS_META_SHADER_META_H

#include "shaders/cuda/meta.h"
#include "shaders/shader.h"

/* Adds a dispatch of groups[0] x groups[1] x groups[2] workgroups, whose parameters are so many bytes, a multiple of 8
 * and META_PARAMETERS_MAX at most, and begin with so many addresses. */
void shader_meta_add(struct shader_work *work, enum shader_code code, const uint32_t *groups, uint32_t addresses,
                     size_t parameter_bytes);

/* What `write` puts down for an address: of the place, or of a byte behind it. */
u64 shader_meta_place(const struct shader_place *place);
u64 shader_meta_place_at(const struct shader_place *place, uint64_t bytes);

/* Why the op's epilogue is not one of struct meta_epilogue, else NULL. Dimension `channel` of the result has its
 * channels. */
const char *shader_meta_epilogue_obstacle(const struct kern_op *op, uint32_t channel);
/* The same of kernels whose epilogues take bytes as well. */
const char *shader_meta_bytes_obstacle(const struct kern_op *op, uint32_t channel);
void shader_meta_epilogue_write(const struct kern_op *op, uint32_t channel, const struct shader_place *places,
                                struct meta_epilogue *out);

/* Whether the kernel that gemm_meta has for the op knows chains. */
bool shader_gemm_meta_waits(const struct kern_op *op);

/* For tests: other than the best kernel of matrix products; 0: the best. */
void shader_gemm_meta_force(uint32_t kernel);
/* For tests: of convolutions' so many kernels the next from this one on that takes the op, from 1; 0: the best one. */
uint32_t shader_conv_meta_kernels(void);
void shader_conv_meta_force(uint32_t kernel);
/* The same of those of bytes. */
uint32_t shader_conv_int_meta_kernels(void);
void shader_conv_int_meta_force(uint32_t kernel);

#endif
