/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of classifiers. */
#include "onnx/convert/converters.h"

struct loss {
    struct onnx_value *score, *target, *weight; /* [N, C, D], [N, 1, D], [C] or NULL */
    bool ignores;
    int64_t ignored; /* the ignored class */
};

/* The weight of each element, [N, 1, D]; *safe: the classes with 0 instead of the ignored one. */
static struct onnx_value *element_weights(struct onnx_builder *b, const struct loss *l, struct onnx_value **safe)
{
    const int64_t *dims = l->target->dims;
    int32_t type = l->score->type;
    struct onnx_value *counts = NULL, *one = onnx_scalar(b, type, 1), *zero = onnx_scalar(b, type, 0), *y;
    *safe = l->target;
    if (l->ignores) {
        struct onnx_value *ignored = onnx_scalar(b, l->target->type, (double)l->ignored);
        counts = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, l->target, ignored);
        *safe = onnx_select(b, counts, onnx_scalar(b, l->target->type, 0), l->target);
    }
    if (l->weight) {
        int64_t row[3] = { 1, l->score->dims[1], 1 }, flat[3] = { 1, dims[0] * dims[2], 1 };
        y = onnx_pick(b, onnx_as(b, l->weight, 3, row), onnx_as(b, *safe, 3, flat), 1);
        y = onnx_as(b, y, 3, dims);
        return counts ? onnx_select(b, counts, zero, y) : y;
    }
    if (counts)
        return onnx_select(b, counts, zero, one);
    return onnx_view(b, one, 3, dims, (uint32_t[]){ 0, 0, 0 });
}

static struct onnx_value *total(struct onnx_builder *b, struct onnx_value *x)
{
    int64_t count = x ? onnx_elements(x) : 0;
    return onnx_as(b, onnx_reduced(b, DML_REDUCE_FUNCTION_SUM, onnx_as(b, x, 1, &count), &(UINT){ 0 }, 1), 0, NULL);
}

/* l->score: logarithms of probabilities */
static bool emit_loss(struct onnx_builder *b, const struct onnx_node *n, const struct loss *l, uint32_t rank,
                      const int64_t *dims)
{
    const char *reduction = onnx_attr_string(n, "reduction", "mean");
    struct onnx_value *safe, *weight = element_weights(b, l, &safe);
    struct onnx_value *picked = onnx_pick(b, l->score, safe, 1);
    picked = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, picked, onnx_scalar(b, l->score->type, -1));
    struct onnx_value *loss = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, picked, weight);
    if (l->ignores && loss) /* even if the score is infinite */
        loss = onnx_select(b,
                           onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, l->target,
                                       onnx_scalar(b, l->target->type, (double)l->ignored)),
                           onnx_scalar(b, l->score->type, 0), loss);
    if (!strcmp(reduction, "none"))
        return onnx_result_as(b, n, 0, loss, rank, dims);
    if (strcmp(reduction, "sum") && strcmp(reduction, "mean"))
        return onnx_fail(b, "reduction = '%s' is not supported", reduction);
    loss = total(b, loss);
    if (!strcmp(reduction, "mean"))
        loss = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_DIVIDE, loss, total(b, weight));
    return onnx_result(b, n, 0, loss);
}

static struct onnx_value *log_softmax(struct onnx_builder *b, struct onnx_value *x)
{
    const UINT axis = 1;
    struct onnx_value *y = x ? onnx_temp(b, x->type, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return NULL;
    DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), 1, &axis };
    return onnx_emit(b, DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1, &desc, &x, 1, &y, 1) ? y : NULL;
}

/* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss */
bool onnx_class_loss(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *score = onnx_in(b, n, 0), *target = onnx_in(b, n, 1);
    const struct onnx_attribute *ignored = onnx_attribute(n, "ignore_index"); /* any class, of 64 bits */
    struct loss l = { .weight = onnx_in_optional(b, n, 2),
                      .ignores = ignored != NULL,
                      .ignored = ignored ? ignored->i : 0 };
    int64_t rest = 1;
    if (!score || !target || b->failed)
        return false;
    for (uint32_t i = 2; i < score->rank; i++)
        rest *= score->dims[i];
    if (score->rank < 2 || target->rank + 1 != score->rank || target->dims[0] != score->dims[0] ||
        onnx_elements(target) != score->dims[0] * rest || (target->type != ONNX_INT32 && target->type != ONNX_INT64) ||
        (l.weight && (onnx_elements(l.weight) != score->dims[1] || l.weight->type != score->type)))
        return onnx_misfit(b, "scores of rank %u, classes of rank %u and weights do not fit", score->rank,
                           target->rank);
    l.score = onnx_as(b, score, 3, (int64_t[]){ score->dims[0], score->dims[1], rest });
    l.target = onnx_as(b, target, 3, (int64_t[]){ score->dims[0], 1, rest });
    if (!strcmp(n->op, "SoftmaxCrossEntropyLoss")) {
        l.score = log_softmax(b, l.score);
        if (onnx_has_output(n, 1) && !onnx_result_as(b, n, 1, l.score, score->rank, score->dims))
            return false;
    }
    return l.score && l.target && emit_loss(b, n, &l, target->rank, target->dims);
}
