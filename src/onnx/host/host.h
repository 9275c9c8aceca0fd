/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that the host computes, one node at a time, from arrays to arrays: for models that a flow runs in parts.
 * ONNX Runtime's CPU provider is the reference where ONNX leaves something open. */
#ifndef ONNX_HOST_H
#define ONNX_HOST_H

#include "onnx/host/flow_scope.h"

struct onnx_host_call {
    struct onnx_flow *flow;
    const struct onnx_node *node;
    const struct onnx_array *in; /* input_count; those without data are absent */
    struct onnx_array *out; /* output_count; empty before the call, and where the node does not name them afterwards */
    void **kept;            /* of malloc: what the node keeps from run to run; the flow frees it */
};

typedef HRESULT onnx_host_fn(struct onnx_host_call *c);

/* NULL: the host does not compute it. */
onnx_host_fn *onnx_host_find(const char *domain, const char *op);
/* Defines the node's outputs in the scope. */
HRESULT onnx_host_run(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n, void **kept);

/* ---- for the operators ---- */

/* NULL: absent. */
const struct onnx_array *onnx_host_in(const struct onnx_host_call *c, uint32_t i);
/* An input that must be there, of numbers of at least a byte. */
HRESULT onnx_host_numbers(struct onnx_host_call *c, uint32_t i, const struct onnx_array **out);
/* The same as a matrix; a vector is one row. */
HRESULT onnx_host_matrix(struct onnx_host_call *c, const struct onnx_array **out, int64_t *rows, int64_t *columns);
/* Output i, zeroed; a node that does not name it gets it as well. */
HRESULT onnx_host_make(struct onnx_host_call *c, uint32_t i, int32_t type, uint32_t rank, const int64_t *dims);
HRESULT onnx_host_no_memory(struct onnx_host_call *c);

int64_t onnx_host_elements(const struct onnx_array *a);
int64_t onnx_host_int(const struct onnx_array *a, int64_t at); /* of integers and booleans */
double onnx_host_real(const struct onnx_array *a, int64_t at);
/* As the ai.onnx.ml operators read numbers: all but float64 as float32. */
double onnx_host_feature(const struct onnx_array *a, int64_t at);
void onnx_host_set_int(struct onnx_array *a, int64_t at, int64_t value);
void onnx_host_set_real(struct onnx_array *a, int64_t at, double value); /* rounded; integers truncate */

/* An attribute that is a list of numbers, or a tensor of numbers; reals is NULL where it is of integers. */
struct onnx_host_list {
    uint32_t count;
    const float *floats;
    const int64_t *ints;
    const struct onnx_tensor *tensor;
};
/* `tensor` NULL: it has no such attribute. Absent ones are empty. */
struct onnx_host_list onnx_host_list(const struct onnx_node *n, const char *list, const char *tensor);
double onnx_host_list_real(const struct onnx_host_list *list, uint32_t at);
int64_t onnx_host_list_int(const struct onnx_host_list *list, uint32_t at);

/* ---- scores of ai.onnx.ml (host_linear.c) ---- */

enum onnx_host_post { HOST_POST_NONE, HOST_POST_SOFTMAX, HOST_POST_LOGISTIC, HOST_POST_SOFTMAX_ZERO, HOST_POST_PROBIT };

/* E_INVALIDARG: the name is unknown. */
HRESULT onnx_host_post(struct onnx_host_call *c, enum onnx_host_post *out);
/* Of two or more scores. */
void onnx_host_transform(enum onnx_host_post post, double *scores, int64_t count);
double onnx_host_logistic(double x);
double onnx_host_probit(double x);
/* The labels of a classifier, which must be integers. */
HRESULT onnx_host_labels(struct onnx_host_call *c, const char *ints, struct onnx_host_list *out);

BASE_TABLE_BEGIN
#define ONNX_HOST(domain, op, function) onnx_host_fn function;
#include "onnx/host/host.def"
BASE_TABLE_END
#undef ONNX_HOST

#endif
