/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs of MAP ops and of epilogues. */
#ifndef GRAPH_PROGRAM_H
#define GRAPH_PROGRAM_H

#include "graph/ir/ir.h"

/* A program with the operands of its input registers. value GRAPH_NONE: the result of the kernel that has the epilogue.
 */
struct graph_program {
    struct kern_map map;
    struct graph_operand inputs[KERN_TENSORS_MAX];
    uint32_t input_count;
};

/* The program of a MAP op. */
void graph_program_of(const struct graph_op *op, struct graph_program *out);
/* The result's type `stored`, of 16 bits, is a cast's, and not that of everything that the program reads: what follows
 * does not become part of its op, which rounds. */
bool graph_program_casts(const struct graph_program *program, DML_TENSOR_DATA_TYPE stored);
/* The epilogue of another op, or the empty one: result = register 0. */
void graph_program_of_epilogue(const struct graph_op *host, struct graph_program *out);
/* Makes a MAP op, or another op's epilogue, compute the program on its inputs; false if there are too many. An epilogue
 * points to program->map. */
bool graph_op_set_program(struct graph_op *op, const struct graph_program *program);
bool graph_op_set_epilogue(struct graph_op *op, const struct graph_program *program);
/* The MAP op with all its tensors viewed in the sizes of `shape`, elements in the same order; false if no view can. */
bool graph_map_in_shape(const struct graph_op *map, const struct kern_view *shape, struct graph_op *out);
/* Its result, before it is stored, is a float other than the 0 or 1 of a comparison. */
bool graph_program_of_floats(const struct graph_program *program);
/* `second` after `first`: the inputs of second in `fed` (bit i = input i) are first's output 0, which was stored as
 * `stored`. false if limits are exceeded, or if removing the store and load would change results beyond rounding.
 * Floats that were stored as bytes: only if the whole depends on one byte, so that kernels can look it up. */
bool graph_program_join(const struct graph_program *first, const struct graph_program *second, uint32_t fed,
                        DML_TENSOR_DATA_TYPE stored, struct graph_program *out);

/* Emits out = sums + beta * c in FLOAT32 as an op at position `at`, attributed to `of`. */
bool graph_add_scaled(struct graph *graph, uint32_t at, const struct graph_op *of, struct graph_operand sums,
                      struct graph_operand c, float beta, struct graph_operand out);

/* The op dequantises by one scale and zero point for each element, as lower_quantize.c writes it: fast enough to be
 * repeated for each reader. */
bool graph_dequantizes(const struct graph_op *op);
/* Removes instructions and inputs that the only output, output 0, does not need. */
void graph_program_trim(struct graph_program *program);
/* Such as "ADD". */
const char *graph_map_name(uint32_t code);

/* The in-place rule of element-wise kinds, which both CPU kernels and shaders compute element by element. */
bool graph_map_in_place(const struct kern_op *op);

#endif
