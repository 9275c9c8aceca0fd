/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: one operator's description becomes ops (lower.c, lower_<family>.c, lowerings.def). Below are the helpers
 * that lower_<family>.c share. */
#ifndef GRAPH_LOWER_H
#define GRAPH_LOWER_H

#include "graph/ir/constant.h"
#include "graph/ir/ir.h"
#include "graph/ir/view.h"
#include "schema/schema.h"

struct graph_lowering {
    struct graph *graph;
    const struct schema_desc *desc;      /* desc->desc.Desc is the operator's C struct */
    const struct graph_operand *inputs;  /* per input slot; value GRAPH_NONE = absent optional */
    const struct graph_operand *outputs; /* per output slot; likewise */
    uint32_t node;
    char *error; /* at least 256 bytes: the unsupported reason, for the log */
};
typedef HRESULT graph_lower_fn(struct graph_lowering *lowering);
/* Appends the ops of one operator; DXGI_ERROR_UNSUPPORTED (with lowering->error) if there is no lowering. */
HRESULT graph_lower(struct graph_lowering *lowering);

#define LOWER_DESC(lowering, name) ((const DML_##name##_OPERATOR_DESC *)(lowering)->desc->desc.Desc)

/* The compute type in which elements of `type` are exact (DML_TENSOR_DATA_TYPE_FLOAT32, FLOAT64, INT32, ...). */
DML_TENSOR_DATA_TYPE lower_compute_type(DML_TENSOR_DATA_TYPE type);
/* FLOAT32 or FLOAT64: for real-valued formulas on tensors of `type`. */
DML_TENSOR_DATA_TYPE lower_real_type(DML_TENSOR_DATA_TYPE type);
bool lower_is_float(DML_TENSOR_DATA_TYPE type);
/* ANYDML_EXECUTION_FLAG_PROPAGATE_NAN */
bool lower_keeps_nan(const struct graph_lowering *lowering);

bool lower_present(const struct graph_operand *operand);
struct graph_operand lower_broadcast(const struct graph_operand *operand, const struct kern_view *like);
/* A temporary like `operand`, but dense. */
struct graph_operand lower_temp_like(struct graph_lowering *lowering, const struct graph_operand *operand);
struct graph_op *lower_op(struct graph_lowering *lowering, enum kern_kind kind, const struct graph_operand *inputs,
                          uint32_t input_count, const struct graph_operand *outputs, uint32_t output_count);
void lower_move(struct graph_lowering *lowering, struct graph_operand from, struct graph_operand to);
uint32_t lower_axes_mask(const UINT *axes, UINT count);
HRESULT lower_done(const struct graph_lowering *lowering);
HRESULT lower_unsupported(struct graph_lowering *lowering, const char *what);

/* ---- element-wise programs ---- */
struct lower_map {
    struct graph_lowering *lowering;
    struct graph_operand inputs[8];
    uint32_t input_count;
    struct kern_map program;
};

/* `load` = compute type of every input (lower_map_load changes one). */
void lower_map_begin(struct lower_map *map, struct graph_lowering *lowering, const struct graph_operand *inputs,
                     uint32_t input_count, DML_TENSOR_DATA_TYPE load);
void lower_map_load(struct lower_map *map, uint32_t input, DML_TENSOR_DATA_TYPE load);
/* Type of a register. */
DML_TENSOR_DATA_TYPE lower_map_type(const struct lower_map *map, uint32_t reg);
/* Append an instruction on registers; returns the result's register. p and q are converted to the operand type. */
uint32_t lower_emit1(struct lower_map *map, enum kern_map_code code, uint32_t a, double p, double q);
uint32_t lower_emit2(struct lower_map *map, enum kern_map_code code, uint32_t a, uint32_t b);
uint32_t lower_emit3(struct lower_map *map, enum kern_map_code code, uint32_t a, uint32_t b, uint32_t c);
/* MIN, MAX or CLAMP of register `a`, or the same that keeps NaN if the flags say so; other codes stay. */
enum kern_map_code lower_extreme(const struct lower_map *map, uint32_t a, enum kern_map_code code);
uint32_t lower_emit_const(struct lower_map *map, DML_TENSOR_DATA_TYPE type, union kern_scalar value);
uint32_t lower_emit_convert(struct lower_map *map, uint32_t a, DML_TENSOR_DATA_TYPE to);
/* The activation of one DML_OPERATOR_ACTIVATION_* (or ELEMENT_WISE_CLIP) description on a float register; UINT32_MAX if
 * the operator is not an element-wise activation. */
uint32_t lower_emit_activation(struct lower_map *map, uint32_t a, const DML_OPERATOR_DESC *activation);
void lower_map_end(struct lower_map *map, const struct graph_operand *output, uint32_t reg);
void lower_map_end_many(struct lower_map *map, const struct graph_operand *outputs, const uint32_t *regs,
                        uint32_t count);

/* ---- reductions over few very large groups (lower_huge.c) ---- */
struct lower_split {
    uint32_t axis;           /* of the parts */
    uint32_t part_axes;      /* reduced within a part */
    struct kern_view parts;  /* the input with its axis split into parts */
    struct kern_view result; /* sizes of the partial results */
};
/* Whether reducing x over `axes` is better done in parts. */
bool lower_huge_split(const struct kern_view *x, uint32_t axes, struct lower_split *out);
/* Emits the ops of a reduction, of mean and variance (FLOAT64); false if out of memory. */
bool lower_reduction(struct graph_lowering *lowering, const struct graph_operand *x, const struct graph_operand *y,
                     struct kern_reduce params);
bool lower_moments(struct graph_lowering *lowering, const struct graph_operand *x, uint32_t axes,
                   const struct graph_operand *mean, const struct graph_operand *variance);

/* The target of an op with a fused activation: `output` itself, or a temporary if there is an activation. */
struct graph_operand lower_fused_target(struct graph_lowering *lowering, const struct graph_operand *output,
                                        const DML_OPERATOR_DESC *activation);
/* Applies the activation from that target to `output`; does nothing for NULL. */
HRESULT lower_fused_finish(struct graph_lowering *lowering, const struct graph_operand *target,
                           const struct graph_operand *output, const DML_OPERATOR_DESC *activation);

union kern_scalar lower_scalar(DML_TENSOR_DATA_TYPE type, const DML_SCALAR_UNION *value, DML_TENSOR_DATA_TYPE compute);
/* `value` as an element of `type`, in the union's first bytes: integers truncate toward zero and saturate. */
DML_SCALAR_UNION lower_element(DML_TENSOR_DATA_TYPE type, float value);

BASE_TABLE_BEGIN
#define LOWER(name, function)           graph_lower_fn function;
#define LOWER_EXTENSION(name, function) graph_lower_fn function;
#include "graph/lower/lowerings.def"
BASE_TABLE_END
#undef LOWER
#undef LOWER_EXTENSION

#endif
