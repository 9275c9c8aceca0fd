/* SPDX-License-Identifier: Apache-2.0 */
/* Stable text for people and golden tests. */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "graph/ir/ir.h"

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

/* The whole graph (print.c); the caller frees it. */
char *graph_print(const struct graph *graph);

#endif
