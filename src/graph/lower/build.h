/* SPDX-License-Identifier: Apache-2.0 */
/* A DML_GRAPH_DESC as arrays: every slot of every node with its connection. build_edges.c fills it and checks the
 * edges, build.c creates the graph from it. */
#ifndef GRAPH_BUILD_H
#define GRAPH_BUILD_H

#include "graph/compile.h"

enum build_source { BUILD_NOTHING, BUILD_GRAPH_INPUT, BUILD_NODE_OUTPUT };

/* The source of a node's input slot. */
struct build_feed {
    enum build_source from;
    uint32_t index; /* graph input, or number of the output slot among all nodes' */
};

struct build {
    struct graph *graph;
    const DML_GRAPH_DESC *desc;
    const struct schema_desc *const *nodes;
    char *error;
    uint32_t *first_input, *first_output; /* [node]: number of its first slot among all nodes' */
    struct build_feed *feeds;             /* [input slot] */
    uint32_t *owner;                      /* [output slot]: its node */
    uint32_t *graph_output;               /* [output slot]: the first graph output it feeds, or GRAPH_NONE */
    uint64_t *bytes;                      /* [output slot] */
    const char **slot_name;               /* [output slot]: of an edge that leaves it, or NULL */
    const char **input_name;              /* [graph input]: likewise */
    uint32_t *output_value;               /* [output slot] */
    uint32_t *output_source;              /* [graph output]: output slot, or GRAPH_NONE */
    uint64_t *input_bytes;                /* [graph input] */
    uint8_t *input_kind;                  /* [graph input]: 0 unused, 1 bound at execution, 2 owned */
    uint32_t *input_value;                /* [graph input] */
    uint32_t *order;                      /* nodes, producers first */
};

#define BUILD_ERROR_BYTES 256

/* Fills everything except the values. E_INVALIDARG with the reason in build->error, E_OUTOFMEMORY. */
HRESULT build_read(struct build *build);

#endif
