/* SPDX-License-Identifier: Apache-2.0 */
/* The library's text of a graph and of its plan, read again so that it can be drawn. */
#ifndef TOOLS_GRAPH_H
#define TOOLS_GRAPH_H

#include "tools/error.h"

#include <stdio.h>

#define GRAPH_OPERANDS_MAX 16

enum graph_place { GRAPH_PLACE_INPUT, GRAPH_PLACE_OWNED, GRAPH_PLACE_OUTPUT, GRAPH_PLACE_CONSTANT, GRAPH_PLACE_TEMP };

struct graph_value {
    uint32_t number; /* %number */
    enum graph_place place;
    uint32_t slot; /* of inputs and outputs */
    uint64_t bytes;
    const char *name; /* of the tensor in quotes, or "" */
};

struct graph_operand {
    uint32_t value;   /* index in `values` */
    const char *view; /* "f32[1,8]{8,1}+0" */
};

struct graph_node {
    const char *op;     /* kind, parameters and programs */
    const char *origin; /* "GEMM", or "" if a pass created it */
    const char *number; /* of the DirectML node, or "" */
    const char *names;  /* of the model's nodes: "\"conv1\" + \"relu1\"", or "" */
    const char *kernel; /* or "" */
    struct graph_operand operands[GRAPH_OPERANDS_MAX];
    uint32_t input_count, operand_count;
};

/* A part of the temporary buffer that is in use from step `first` to step `last`. */
struct graph_block {
    uint64_t offset, bytes;
    uint32_t first, last;
    const char *label; /* "%5" or "scratch" */
};

struct graph_picture {
    char *text, *plan; /* storage of the pointers' targets */
    struct graph_value *values;
    struct graph_node *nodes;
    struct graph_block *blocks;
    uint32_t value_count, node_count, block_count;
    uint64_t temporary_bytes, min_bytes, persistent_bytes;
    bool planned;
};

/* `plan` may be NULL. */
bool tools_graph_read(const char *text, const char *plan, struct graph_picture *out, struct tools_error *error);
void tools_graph_finish(struct graph_picture *picture);

/* An image for browsers. `title` is printed above it. */
void tools_graph_draw(const struct graph_picture *picture, const char *title, FILE *file);

#endif
