/* SPDX-License-Identifier: Apache-2.0 */
/* Which function lowers an operator. */
#include "graph/lower/lower.h"

static const struct {
    DML_OPERATOR_TYPE type;
    graph_lower_fn *lower;
} lowerings[] = {
#define LOWER(name, function)           { DML_OPERATOR_##name, function },
#define LOWER_EXTENSION(name, function) { ANYDML_OPERATOR_##name, function },
#include "graph/lower/lowerings.def"
#undef LOWER
#undef LOWER_EXTENSION
};

static graph_lower_fn *lowering_find(DML_OPERATOR_TYPE type)
{
    for (size_t i = 0; i < ARRAY_SIZE(lowerings); i++) {
        if (lowerings[i].type == type)
            return lowerings[i].lower;
    }
    return NULL;
}

HRESULT graph_lower(struct graph_lowering *lowering)
{
    graph_lower_fn *lower = lowering_find(lowering->desc->op->type);
    return lower ? lower(lowering) : lower_unsupported(lowering, "this operator");
}
