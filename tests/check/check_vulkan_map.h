/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise cases of check_vulkan that are not random. */
#ifndef CHECK_VULKAN_MAP_H
#define CHECK_VULKAN_MAP_H

#include "check.h"

/* Case number `index`, false behind the last one. */
typedef bool check_list_fn(uint32_t index, struct check_case *out);

/* Enough elements for a pipeline made for the program, and for invocations that take several. */
check_list_fn check_list_large;
/* Every operation that FLOAT64 has, on numbers of several kinds. */
check_list_fn check_list_double;
/* Integers to powers that are computed in FLOAT64: what is less than 2^53 must be exact, since it is truncated. */
check_list_fn check_list_integer_power;
/* Conversions to and from FLOAT16. */
check_list_fn check_list_halves;
/* Choices by numbers that may be subnormal: data that is not to be tamed. */
check_list_fn check_list_conditions;

/* check_vulkan_lines.c: transposes of several tiles; lines of SOFTMAX, NORM or REDUCE that take several vectors a lane,
 * or parts, with and without elements left over, also of neighbouring lines; GEMM of few long lines;
 * RESAMPLE. */
check_list_fn check_list_transposes;
bool check_vulkan_lines(uint32_t i, enum kern_kind kind, struct check_case *c);
/* check_vulkan_norms.c: NORM of groups of channels. */
check_list_fn check_list_norms;
/* check_vulkan_tiles.c: products for rows of tiles, or for that of cooperative matrices; sets the kind of tile, too. */
bool check_vulkan_tiles(uint32_t i, bool coop, struct check_case *out);
/* For those of blocks, of numbers and of bytes. */
bool check_vulkan_blocks(uint32_t i, struct check_case *out);
bool check_vulkan_block_bytes(uint32_t i, struct check_case *out);
/* A random product for rows of cooperative matrices, with vectors or without, and with a random tile. */
void check_vulkan_coop(struct check_rng *rng, struct check_case *out);

/* check_vulkan_convs.c: convolutions of vectors of channels, X, W and Y of this type. */
/* Of convolutions or pooling with a dimension whose only window is in the padding; FLOAT32. */
bool check_vulkan_beside(uint32_t i, enum kern_kind kind, struct check_case *out);
bool check_vulkan_convs(uint32_t i, DML_TENSOR_DATA_TYPE type, struct check_case *out);
/* Those of gradients of weights. */
bool check_vulkan_gradients(uint32_t i, struct check_case *out);
/* The same of bytes, with sums or bytes as results. */
bool check_vulkan_byte_convs(uint32_t i, struct check_case *out);

/* check_conv_views.c: a random FLOAT16 convolution of one, two or three dimensions, at times of several groups, whose
 * tensors are planes, have channels last, or are parts of larger ones, with an epilogue of operands that are repeated
 * along any dimensions. */
void check_conv_views(struct check_rng *rng, struct check_case *out);

#endif
