/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers: operators whose builders for real numbers are applied to parts. */
#include "complex.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* ---- operators that apply to both parts separately ---- */

/* The real or imaginary (part 1) part of a number that is an argument. */
static void part_of_number(struct aten_operand *a, int part)
{
    if (a->kind == ATEN_REALS) {
        const double number = a->reals[part];
        a->kind = ATEN_REAL;
        a->count = 0;
        a->real = number;
    } else if (part) {
        a->kind = ATEN_INT;
        a->count = 0;
        a->integer = 0;
    }
}

/* The arguments with the parts of complex tensors. Argument `value` (0: none) is a number with parts; other numbers are
 * factors, which must be real. */
static struct aten_operand *args_of_part(struct aten_graph *g, const struct aten_node *n, int part, uint32_t value)
{
    struct aten_operand *args = aten_alloc(g, n->arg_count * sizeof(*args));
    for (uint32_t i = 0; args && i < n->arg_count; i++) {
        const struct aten_operand *from = &n->args[i];
        const uint32_t count = from->kind == ATEN_TENSORS ? from->count : from->kind == ATEN_TENSOR ? 1 : 0;
        args[i] = *from;
        if (value && i == value && !count)
            part_of_number(&args[i], part);
        if (!count)
            continue;
        args[i].values = aten_alloc(g, count * sizeof(*args[i].values));
        for (uint32_t k = 0; args[i].values && k < count; k++) {
            struct aten_value *v = args[i].values[k] = from->values[k];
            if (!v || !aten_is_complex(v->type))
                continue;
            const struct aten_pair pair = aten_pair_of(g, v, aten_part(v->type));
            args[i].values[k] = part ? pair.im : pair.re;
        }
    }
    return g->failed ? NULL : args;
}

/* Result 0 of the row's own builder, applied to one part. */
static struct aten_value *build_part(struct aten_graph *g, const struct aten_node *n, int part, uint32_t value)
{
    struct aten_node own = *n;
    struct aten_tensor output = n->outputs[0];
    struct aten_value *result = NULL;
    int64_t stride = 1;
    output.type = aten_part(output.type);
    for (uint32_t d = output.rank; d-- > 0;) {
        output.strides[d] = stride;
        stride *= output.sizes[d];
    }
    own.args = args_of_part(g, n, part, value);
    own.outputs = &output;
    own.results = &result;
    own.parameter = aten_row_of(n->op)->parameter;
    g->node = &own;
    const bool ok = own.args && aten_row_of(n->op)->build(g, &own);
    g->node = n;
    return ok ? result : NULL;
}

/* Sums and copies of elements at other positions; parameter: the argument that is a number of the result's type, or 0.
 */
bool aten_build_each_part(struct aten_graph *g, const struct aten_node *n)
{
    if (n->output_count != 1 || !aten_is_complex(n->outputs[0].type))
        return aten_fail(g, "unsupported arguments");
    const uint32_t value = (uint32_t)n->parameter;
    const struct aten_pair y = { build_part(g, n, 0, value), build_part(g, n, 1, value) };
    return y.re && y.im && aten_pair_result(g, n, 0, y);
}

/* Constants: the imaginary part is 0. */
bool aten_build_real_part(struct aten_graph *g, const struct aten_node *n)
{
    return aten_pair_result(g, n, 0, (struct aten_pair){ build_part(g, n, 0, 0), NULL });
}

/* ---- truth ---- */

static struct aten_value *truth_of(struct aten_graph *g, struct aten_value *x)
{
    const struct aten_pair pair = aten_pair_of(g, x, aten_part(x->type));
    return aten_apply2(g, EW(LOGICAL_OR), aten_convert(g, pair.re, ATEN_BOOLEAN),
                       aten_convert(g, pair.im, ATEN_BOOLEAN));
}

/* Operators that only ask whether elements are 0. */
bool aten_build_complex_truth(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_node own = *n;
    struct aten_operand *args = aten_alloc(g, n->arg_count * sizeof(*args));
    struct aten_value **truths = aten_alloc(g, n->arg_count * sizeof(*truths));
    for (uint32_t i = 0; args && truths && i < n->arg_count; i++) {
        args[i] = n->args[i];
        if (!aten_is_tensor(n, i) || !aten_is_complex(n->args[i].values[0]->type))
            continue;
        truths[i] = truth_of(g, n->args[i].values[0]);
        args[i].values = &truths[i];
    }
    if (!args || !truths || g->failed)
        return false;
    own.args = args;
    own.parameter = aten_row_of(n->op)->parameter;
    g->node = &own;
    const bool ok = aten_row_of(n->op)->build(g, &own);
    g->node = n;
    return ok;
}

/* ---- random numbers ---- */

/* normal_(self, mean, std): parts with half of the variance each. */
bool aten_build_complex_normal(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_node own = *n;
    struct aten_tensor both = n->outputs[0];
    struct aten_operand *args = aten_alloc(g, n->arg_count * sizeof(*args));
    struct aten_value *z = NULL;
    if (!args || both.rank == ATEN_RANK_MAX || !aten_is_complex(both.type))
        return aten_fail(g, "unsupported arguments");
    memcpy(args, n->args, n->arg_count * sizeof(*args));
    args[1] = (struct aten_operand){ .kind = ATEN_INT }; /* mean 0 */
    both.type = aten_part(both.type);
    both.sizes[both.rank++] = 2;
    int64_t stride = 1;
    for (uint32_t d = both.rank; d-- > 0; stride *= both.sizes[d])
        both.strides[d] = stride;
    own.args = args;
    own.outputs = &both;
    own.results = &z;
    own.parameter = aten_row_of(n->op)->parameter;
    g->node = &own;
    const bool ok = aten_row_of(n->op)->build(g, &own);
    g->node = n;
    if (!ok)
        return false;
    z = aten_scaled(g, z, sqrt(0.5), 0);
    struct aten_pair mean = aten_pair_in(g, n, 1, both.type), y;
    y.re = aten_add(g, aten_squeeze(g, aten_slice(g, z, n->outputs[0].rank, 0, 1, 1), n->outputs[0].rank), mean.re);
    y.im = aten_squeeze(g, aten_slice(g, z, n->outputs[0].rank, 1, 1, 1), n->outputs[0].rank);
    y.im = mean.im ? aten_add(g, y.im, mean.im) : y.im;
    return aten_pair_result(g, n, 0, y);
}
