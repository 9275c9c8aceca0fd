/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that passes share. A pass receives a valid graph and leaves one with the same meaning; it marks ops dead, and
 * the runner removes them. Out of memory: E_OUTOFMEMORY, the graph is then discarded. */
#ifndef GRAPH_PASS_H
#define GRAPH_PASS_H

#include "graph/backend.h"

typedef HRESULT graph_pass_fn(struct graph *graph, const struct graph_options *options, bool *changed);

#define PASS(name, meaning) graph_pass_fn graph_pass_##name;
#include "graph/passes/passes.def"
#undef PASS

/* ---- uses of values (uses.c) ------------------------------------------------------------------------------------ */

struct graph_use {
    uint32_t op, tensor; /* position in graph->ops, and operand number there */
    uint32_t value;
    uint32_t next, previous; /* of the value's reads or writes: numbers of the pool, or GRAPH_NONE */
    bool writes;
};

struct graph_use_list {
    uint32_t first[2];      /* read, write */
    uint32_t written_up_to; /* no op from this position on writes the value */
};

/* Use lists: one list of reads and one of writes per value. All queries and changes take time that depends neither on
 * the size of the graph nor on the number of uses. Entries of a dead op are removed when they are visited. */
struct graph_uses {
    const struct graph *graph;
    struct graph_use_list *lists;
    uint32_t value_capacity;
    uint32_t *listed; /* [op][operand]: its entry in the pool, plus 1 */
    uint32_t op_capacity;
    struct graph_use *pool; /* entries keep their positions until the end */
    uint32_t count, capacity;
};

/* A value's live uses, summed up; 2 means two or more. */
struct graph_use_summary {
    uint32_t writes; /* operands */
    uint32_t reading_ops;
    uint32_t writer, writer_tensor; /* of one of the writes */
    uint32_t reader;                /* of one of the reads */
};

bool graph_uses_init(struct graph_uses *uses, const struct graph *graph);
void graph_uses_finish(struct graph_uses *uses);
/* From now on, results of one pass remain valid for the next pass until they are invalidated: because an op was
 * changed, inserted or moved. */
void graph_uses_keep(struct graph *graph);
void graph_uses_forget(struct graph *graph);
/* Lists the operands of the op at this position as they are now; call it after changing that op. */
bool graph_uses_refresh(struct graph_uses *uses, uint32_t op);
struct graph_use_summary graph_uses_of(const struct graph_uses *uses, uint32_t value);
/* A live read or write of the value as an index into uses->pool, and the next one; GRAPH_NONE: none. Ops may be changed
 * and refreshed during the iteration. */
uint32_t graph_uses_first_read(const struct graph_uses *uses, uint32_t value);
uint32_t graph_uses_first_write(const struct graph_uses *uses, uint32_t value);
uint32_t graph_uses_next(const struct graph_uses *uses, uint32_t at);

/* ---- safety (uses.c) -------------------------------------------------------------------------------------------- */

bool graph_op_reads(const struct graph_op *op, uint32_t value);
bool graph_op_writes(const struct graph_op *op, uint32_t value);
/* Releases the constant unless an op that is not dead reads it. */
void graph_constant_drop_unread(struct graph *graph, const struct graph_uses *uses, uint32_t value);
/* No op strictly between the positions writes to the memory of `value` (the buffer of an input may be an output's,
 * too). */
bool graph_stable_between(const struct graph_uses *uses, uint32_t value, uint32_t from, uint32_t to);
/* Nothing that the op reads changes between position `from` and position `to`, so it may run there instead. */
bool graph_op_may_sink(const struct graph_uses *uses, const struct graph_op *op, uint32_t from, uint32_t to);
bool graph_is_float(DML_TENSOR_DATA_TYPE type);

/* The view of operand t is inside its value. */
bool graph_operand_fits(const struct graph *graph, const struct graph_op *op, uint32_t t);

/* From now on priorities are remembered, in graph->priorities: options stay the same until that is NULL again. */
void graph_priorities_begin(struct graph *graph);
/* The backend's rank of the kernel that the op will get (backend.h); GRAPH_PRIORITY_NONE: no kernel. */
uint32_t graph_op_priority(const struct graph *graph, const struct graph_options *options, const struct graph_op *op);
/* `after` has a kernel, of a rank at least as good as that of `before`. */
bool graph_op_no_worse(const struct graph *graph, const struct graph_options *options, const struct graph_op *before,
                       const struct graph_op *after);
/* All inputs are constant, and they and the results small enough: the op runs before execution, where nothing else
 * writes the results (pass_fold_constants.c). */
bool graph_op_foldable(const struct graph *graph, const struct graph_options *options, const struct graph_op *op);
/* The one input that kernels may require packed: index + 1 if it is constant, otherwise 0. */
uint32_t graph_op_packable(const struct graph *graph, const struct graph_op *op);

/* level[position], from 1 on: ops of one level do not depend on each other (pass_levels.c). False: out of memory. */
bool graph_levels(const struct graph *graph, uint32_t *level);

/* ---- constant values (derive.c) ---- */

/* A constant, or, if the backend supports transforms, an owned input or the result of a transform: a transform may read
 * it. */
bool graph_value_fixed(const struct graph *graph, const struct graph_options *options, uint32_t value);
/* Runs the transform now if all inputs are constants; otherwise the initializer runs it. Its inputs are constant, its
 * outputs new temporaries, which become constants or DERIVED. False and graph->failed if out of memory. */
bool graph_derive(struct graph *graph, const struct graph_derivation *derivation);
bool graph_derivations_read(const struct graph *graph, uint32_t value);
/* Removes transforms whose results are unused. */
bool graph_derivations_trim(struct graph *graph);

/* ---- element-wise programs (program.c) --------------------------------------------------------------------------- */

/* A program with the operands of its input registers. value GRAPH_NONE: the result of the kernel that has the epilogue.
 */
struct graph_program {
    struct kern_map map;
    struct graph_operand inputs[KERN_TENSORS_MAX];
    uint32_t input_count;
};

/* The program of a MAP op. */
void graph_program_of(const struct graph_op *op, struct graph_program *out);
/* The epilogue of another op, or the empty one: result = register 0. */
void graph_program_of_epilogue(const struct graph_op *host, struct graph_program *out);
/* Makes a MAP op, or another op's epilogue, compute the program on its inputs; false if there are too many. An epilogue
 * points to program->map. */
bool graph_op_set_program(struct graph_op *op, const struct graph_program *program);
bool graph_op_set_epilogue(struct graph_op *op, const struct graph_program *program);
/* The MAP op with all its tensors viewed in the sizes of `shape`, elements in the same order; false if no view can. */
bool graph_map_in_shape(const struct graph_op *map, const struct kern_view *shape, struct graph_op *out);
/* `second` after `first`: the inputs of second in `fed` (bit i = input i) are first's output 0, which was stored as
 * `stored`. false if limits are exceeded, or if removing the store and load would change results beyond rounding. */
bool graph_program_join(const struct graph_program *first, const struct graph_program *second, uint32_t fed,
                        DML_TENSOR_DATA_TYPE stored, struct graph_program *out);

/* Emits out = sums + beta * c in FLOAT32 as an op at position `at`, attributed to `of`. */
bool graph_add_scaled(struct graph *graph, uint32_t at, const struct graph_op *of, struct graph_operand sums,
                      struct graph_operand c, float beta, struct graph_operand out);

/* Removes instructions and inputs that the only output, output 0, does not need. */
void graph_program_trim(struct graph_program *program);
/* "ADD" and 2, from mapops.def. */
const char *graph_map_name(uint32_t code);
uint32_t graph_map_arity(uint32_t code);

/* ---- printing (text.c) ------------------------------------------------------------------------------------------- */

struct graph_text {
    char *data;
    size_t length, capacity;
    bool failed;
};

void graph_text_add(struct graph_text *text, const char *format, ...) BASE_PRINTF(2, 3);
/* The finished string, or NULL when memory ran short. */
char *graph_text_detach(struct graph_text *text);
const char *graph_type_name(uint32_t type); /* "f32" */
void graph_text_view(struct graph_text *text, const struct kern_view *view);
/* Names of the op's nodes in sequence, truncated if long; empty if none has a name. */
void graph_text_names(struct graph_text *text, const struct graph *graph, const struct graph_op *op);
/* A name in quotes, without characters that would break the line or the quotes. */
void graph_text_name(struct graph_text *text, const char *name);
/* Kind, parameters and programs of an op: print_kind.c, print_program.c. */
void graph_text_op(struct graph_text *text, const struct kern_op *op);
void graph_text_program(struct graph_text *text, const struct kern_map *map, uint32_t inputs, uint32_t outputs);

#endif
