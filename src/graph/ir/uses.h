/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops read and write a value, and what may be moved or removed therefore. */
#ifndef GRAPH_USES_H
#define GRAPH_USES_H

#include "graph/ir/ir.h"

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

/* The one input that kernels may require packed: index + 1 if it is constant, otherwise 0. */
uint32_t graph_op_packable(const struct graph *graph, const struct graph_op *op);

#endif
