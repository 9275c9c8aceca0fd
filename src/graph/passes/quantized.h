/* SPDX-License-Identifier: Apache-2.0 */
/* Dequantisation and quantisation with constant parameters, as lower_quantize.c writes them (quantized.c). */
#ifndef GRAPH_QUANTIZED_H
#define GRAPH_QUANTIZED_H

#include "graph/passes/pass.h"

struct graph_dequantized {
    struct graph_operand q; /* the integers, in the view through which the op reads their values */
    uint32_t count;         /* scales: 1, or one for each coordinate along the requested dimension */
    struct graph_parameter {
        const void *data; /* NULL: no zero point */
        struct kern_view view;
        int64_t step; /* elements from one to the next */
    } scale, zero;
};

/* Operand t of the op at `at` is (q - zero) * scale, computed by one op from integers that have not changed at `at`.
 * Scale and zero point may vary along dimension `dim` of the operand (GRAPH_NONE: they must not vary). */
bool graph_dequantized_find(struct graph *graph, const struct graph_uses *uses, uint32_t at, uint32_t t, uint32_t dim,
                            struct graph_dequantized *out);
float graph_dequantized_scale(const struct graph_dequantized *dq, uint32_t at);
double graph_dequantized_zero(const struct graph_dequantized *dq, uint32_t at);
/* Element `index` of a constant under `view`. */
double graph_constant_element(const void *data, const struct kern_view *view, int64_t index);

/* The op quantises its operand 0, with dq's one positive scale and zero point and to its type. */
bool graph_quantizes_like(struct graph *graph, const struct graph_op *op, const struct graph_dequantized *dq);
/* Removes constant zero points that are zero from an op that quantises or dequantises, or from an integer GEMM; true if
 * there were any. */
bool graph_drop_zero_points(struct graph *graph, struct graph_op *op);
/* The recurrent op at `at` reads bytes instead of the matrix that they are dequantised to (weights_recurrent.c): false
 * if that is not so, or if no kernel does. */
bool graph_recurrent_bytes(struct graph *graph, const struct graph_options *options, struct graph_uses *uses,
                           uint32_t at);
/* The one op that reads the result of the op at `at`, by its first operand; GRAPH_NONE when that is not so. */
uint32_t graph_only_reader(const struct graph *graph, const struct graph_uses *uses, uint32_t at);

#endif
