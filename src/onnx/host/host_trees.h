/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by host_trees.c, which runs trees, and host_trees_read.c, which reads their attributes. */
#ifndef ONNX_HOST_TREES_H
#define ONNX_HOST_TREES_H

#include "onnx/host/host.h"

enum host_mode { HOST_LEQ, HOST_LT, HOST_GTE, HOST_GT, HOST_EQ, HOST_NEQ, HOST_MEMBER, HOST_LEAF };
enum host_aggregate { HOST_AVERAGE, HOST_SUM, HOST_MIN, HOST_MAX };

/* A leaf adds weights to targets; any other node has two children. */
struct host_branch {
    double value; /* that the feature is compared with */
    uint32_t feature;
    uint32_t yes, no;    /* nodes */
    uint32_t first, end; /* HOST_MEMBER: of the members; HOST_LEAF: of the weights */
    uint8_t mode;        /* enum host_mode */
    bool missing;        /* NaN goes to `yes` */
};

struct host_weight {
    uint32_t target;
    double value;
};

/* In one block of memory. */
struct host_trees {
    struct host_branch *nodes;
    uint32_t node_count, depth; /* depth: no path is longer */
    uint32_t *roots;
    uint32_t root_count;
    struct host_weight *weights;
    uint32_t weight_count;
    double *members;
    uint32_t member_count;
    uint32_t targets;
    uint32_t features; /* that an input must have */
    enum host_aggregate aggregate;
    enum onnx_host_post post;
};

/* Of malloc. */
HRESULT onnx_host_trees_read(struct onnx_host_call *c, struct host_trees **out);

#endif
