/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of operators.def, one for each RULE(name): relations between the fields of an operator. They run after the
 * fields themselves have passed, so every present tensor and array can be read. true: the description is valid; false:
 * the error is set. Each takes the operator's C struct from check->desc. */
#ifndef SCHEMA_RULES_H
#define SCHEMA_RULES_H

#include <stdbool.h>

struct schema_check;

#define schema_rule_none NULL

/* shape_elementwise.c */
bool schema_rule_pow(struct schema_check *check);
bool schema_rule_quantize_linear(struct schema_check *check);
bool schema_rule_softplus(struct schema_check *check);
bool schema_rule_softmax(struct schema_check *check);

/* shape_convolution.c */
bool schema_rule_convolution(struct schema_check *check);
bool schema_rule_convolution_integer(struct schema_check *check);
bool schema_rule_quantized_convolution(struct schema_check *check);

/* shape_matrix.c */
bool schema_rule_gemm(struct schema_check *check);
bool schema_rule_matrix_multiply_integer(struct schema_check *check);
bool schema_rule_quantized_matrix_multiply(struct schema_check *check);
bool schema_rule_matrix_multiply_to_float(struct schema_check *check);

/* shape_reduce.c */
bool schema_rule_reduce(struct schema_check *check);
bool schema_rule_arg(struct schema_check *check);
bool schema_rule_top_k(struct schema_check *check);
bool schema_rule_top_k1(struct schema_check *check);

/* shape_pooling.c */
bool schema_rule_pooling(struct schema_check *check);
bool schema_rule_average_pooling_grad(struct schema_check *check);
bool schema_rule_max_pooling_grad(struct schema_check *check);
bool schema_rule_indexed_max_pooling_grad(struct schema_check *check);
bool schema_rule_quantized_average_pooling(struct schema_check *check);

/* shape_normalization.c */
bool schema_rule_batch_normalization(struct schema_check *check);
bool schema_rule_batch_normalization_grad(struct schema_check *check);
bool schema_rule_batch_normalization_training(struct schema_check *check);
bool schema_rule_batch_normalization_training_grad(struct schema_check *check);
bool schema_rule_mean_variance_normalization(struct schema_check *check);
bool schema_rule_mean_variance_normalization1(struct schema_check *check);
bool schema_rule_mean_variance_normalization2(struct schema_check *check);
bool schema_rule_lp_normalization(struct schema_check *check);

/* shape_recurrent.c */
bool schema_rule_rnn(struct schema_check *check);
bool schema_rule_lstm(struct schema_check *check);
bool schema_rule_gru(struct schema_check *check);

/* shape_attention.c */
bool schema_rule_multihead_attention(struct schema_check *check);
bool schema_rule_multihead_attention1(struct schema_check *check);

/* shape_move.c */
bool schema_rule_slice(struct schema_check *check);
bool schema_rule_slice1(struct schema_check *check);
bool schema_rule_slice_grad(struct schema_check *check);
bool schema_rule_split(struct schema_check *check);
bool schema_rule_join(struct schema_check *check);
bool schema_rule_padding(struct schema_check *check);
bool schema_rule_padding1(struct schema_check *check);
bool schema_rule_tile(struct schema_check *check);
bool schema_rule_reverse_subsequences(struct schema_check *check);

/* shape_block.c */
bool schema_rule_space_to_depth(struct schema_check *check);
bool schema_rule_space_to_depth1(struct schema_check *check);
bool schema_rule_depth_to_space(struct schema_check *check);
bool schema_rule_depth_to_space1(struct schema_check *check);
bool schema_rule_fold(struct schema_check *check);
bool schema_rule_unfold(struct schema_check *check);
bool schema_rule_quantize(struct schema_check *check);
bool schema_rule_dequantize(struct schema_check *check);

/* shape_index.c */
bool schema_rule_gather(struct schema_check *check);
bool schema_rule_gather_elements(struct schema_check *check);
bool schema_rule_gather_nd(struct schema_check *check);
bool schema_rule_gather_nd1(struct schema_check *check);
bool schema_rule_scatter_elements(struct schema_check *check);
bool schema_rule_scatter_nd(struct schema_check *check);
bool schema_rule_scatter_reduce_elements(struct schema_check *check);
bool schema_rule_scatter_reduce_nd(struct schema_check *check);
bool schema_rule_one_hot(struct schema_check *check);
bool schema_rule_nonzero_coordinates(struct schema_check *check);
bool schema_rule_random_generator(struct schema_check *check);

/* shape_image.c */
bool schema_rule_value_scale_2d(struct schema_check *check);
bool schema_rule_upsample_2d(struct schema_check *check);
bool schema_rule_roi_pooling(struct schema_check *check);
bool schema_rule_roi_align(struct schema_check *check);
bool schema_rule_roi_align1(struct schema_check *check);
bool schema_rule_roi_align_grad(struct schema_check *check);
bool schema_rule_grid_sample(struct schema_check *check);

#endif
