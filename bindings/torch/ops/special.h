/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by builders of special functions (op_special.c): values of FLOAT64. */
#ifndef ANYDML_TORCH_SPECIAL_H
#define ANYDML_TORCH_SPECIAL_H

#include "graph.h"

/* Argument i in FLOAT64; fails if the device does not support FLOAT64. */
struct aten_value *aten_in_double(struct aten_graph *g, const struct aten_node *n, uint32_t i);
struct aten_value *aten_number(struct aten_graph *g, double value);
/* c[0] + c[1] x + c[2] x^2 + ... */
struct aten_value *aten_polynomial(struct aten_graph *g, struct aten_value *x, const double *c, uint32_t count);
struct aten_value *aten_below(struct aten_graph *g, struct aten_value *x, double limit); /* x < limit */
struct aten_value *aten_is(struct aten_graph *g, struct aten_value *x, double value);    /* x == value */
struct aten_value *aten_log_gamma(struct aten_graph *g, struct aten_value *x);

#endif
