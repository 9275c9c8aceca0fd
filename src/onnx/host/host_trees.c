/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles of trees: each row of features goes from the root of each tree to a leaf, whose weights are aggregated. */
#include "onnx/host/host_trees.h"

#include "onnx/emit/build.h"

#include <math.h>
#include <stdlib.h>

/* Of one target, in one row. */
struct score {
    double value;
    bool present; /* some leaf had a weight for it */
};

static bool branch(const struct host_trees *t, const struct host_branch *n, double x)
{
    bool member = false;
    switch (n->mode) {
    case HOST_LEQ:
        return x <= n->value;
    case HOST_LT:
        return x < n->value;
    case HOST_GTE:
        return x >= n->value;
    case HOST_GT:
        return x > n->value;
    case HOST_EQ:
        return x == n->value;
    case HOST_NEQ:
        return x != n->value;
    default:
        for (uint32_t i = n->first; i < n->end && !member; i++)
            member = t->members[i] == x;
        return member;
    }
}

/* NULL: the nodes go in a circle. */
static const struct host_branch *leaf_of(const struct host_trees *t, uint32_t root, const struct onnx_array *x,
                                         int64_t first)
{
    const struct host_branch *n = &t->nodes[root];
    for (uint32_t steps = 0; n->mode != HOST_LEAF; steps++) {
        const double v = onnx_host_feature(x, first + n->feature);
        n = &t->nodes[branch(t, n, v) || (n->missing && isnan(v)) ? n->yes : n->no];
        if (steps > t->node_count)
            return NULL;
    }
    return n;
}

static void add(enum host_aggregate aggregate, struct score *s, double weight)
{
    bool takes = !s->present || (aggregate == HOST_MIN ? weight < s->value : weight > s->value);
    if (aggregate == HOST_SUM || aggregate == HOST_AVERAGE)
        s->value += weight;
    else if (takes)
        s->value = weight;
    s->present = true;
}

static HRESULT row_scores(struct onnx_host_call *c, const struct host_trees *t, const struct onnx_array *x,
                          int64_t first, struct score *scores)
{
    memset(scores, 0, t->targets * sizeof(*scores));
    for (uint32_t i = 0; i < t->root_count; i++) {
        const struct host_branch *leaf = leaf_of(t, t->roots[i], x, first);
        if (!leaf)
            return onnx_flow_fail(c->flow, c->node, "its trees are not valid: nodes go in a circle");
        for (uint32_t k = leaf->first; k < leaf->end; k++)
            add(t->aggregate, &scores[t->weights[k].target], t->weights[k].value);
    }
    for (uint32_t i = 0; i < t->targets && t->aggregate == HOST_AVERAGE; i++)
        scores[i].value /= t->root_count;
    return S_OK;
}

static struct onnx_host_list base_values(const struct onnx_node *n)
{
    return onnx_host_list(n, "base_values", "base_values_as_tensor");
}

/* ---- regression ---- */

static void regress(const struct onnx_node *n, const struct host_trees *t, const struct score *scores, double *out)
{
    const struct onnx_host_list base = base_values(n);
    for (uint32_t i = 0; i < t->targets; i++)
        out[i] = scores[i].value + (base.count == t->targets ? onnx_host_list_real(&base, i) : 0);
    if (t->targets > 1)
        onnx_host_transform(t->post, out, t->targets);
    else if (t->post == HOST_POST_PROBIT) /* the only one of a single target, as in ONNX Runtime */
        out[0] = onnx_host_probit(out[0]);
}

/* ---- classification ---- */

/* Two classes of which the weights name only one. */
static bool one_sided(const struct host_trees *t)
{
    for (uint32_t i = 1; i < t->weight_count; i++)
        if (t->weights[i].target != t->weights[0].target)
            return false;
    return t->targets == 2 && t->weight_count;
}

static bool all_positive(const struct host_trees *t)
{
    for (uint32_t i = 0; i < t->weight_count; i++)
        if (t->weights[i].value < 0)
            return false;
    return true;
}

/* The scores of both classes from the only one that there is. */
static void complement(const struct host_trees *t, bool shares, double s, double *out)
{
    const bool logistic = t->post == HOST_POST_LOGISTIC, probit = t->post == HOST_POST_PROBIT;
    out[0] = logistic ? onnx_host_logistic(-s) : probit ? onnx_host_probit(s) : shares ? 1 - s : -s;
    out[1] = logistic ? onnx_host_logistic(s) : probit ? 0 : s;
}

/* ONNX does not say how the score of one class and base values make those of two: as ONNX Runtime does it. */
static uint32_t classify_two(const struct onnx_node *n, const struct host_trees *t, struct score *s, double *out)
{
    const struct onnx_host_list base = base_values(n);
    const bool both = s[1].present || base.count > 1;
    if (base.count == 2 && s[1].present) {
        s[1].value = onnx_host_list_real(&base, 1) + s[0].value;
        s[0].value = -s[1].value;
    } else {
        s[0].value += base.count ? onnx_host_list_real(&base, 0) : 0;
        s[1].value += base.count == 2 ? onnx_host_list_real(&base, 1) : 0;
    }
    const bool shares = one_sided(t) && all_positive(t);
    out[0] = s[0].value;
    out[1] = s[1].value;
    if (both)
        onnx_host_transform(t->post, out, 2);
    else
        complement(t, shares, s[0].value, out);
    return both && !one_sided(t) ? s[1].value > s[0].value
                                 : (s[1].present ? s[1].value : s[0].value) > (shares ? 0.5 : 0);
}

static uint32_t classify(const struct onnx_node *n, const struct host_trees *t, struct score *s, double *out)
{
    const struct onnx_host_list base = base_values(n);
    uint32_t best = UINT32_MAX;
    if (t->targets == 2)
        return classify_two(n, t, s, out);
    for (uint32_t i = 0; i < t->targets; i++) {
        s[i].value += i < base.count ? onnx_host_list_real(&base, i) : 0;
        s[i].present = s[i].present || i < base.count;
        if (s[i].present && (best == UINT32_MAX || s[i].value > s[best].value))
            best = i;
        out[i] = s[i].value;
    }
    onnx_host_transform(t->post, out, t->targets);
    return best == UINT32_MAX ? 0 : best;
}

/* ---- both ---- */

struct ensemble {
    const struct host_trees *trees;
    const struct onnx_array *x;
    int64_t rows, columns;
    bool classes;
    struct onnx_host_list labels;
};

static HRESULT compute(struct onnx_host_call *c, const struct ensemble *e)
{
    const struct host_trees *t = e->trees;
    struct score *scores = calloc(t->targets, sizeof(*scores));
    double *out = calloc(t->targets, sizeof(*out));
    HRESULT hr = scores && out ? S_OK : onnx_host_no_memory(c);
    for (int64_t i = 0; SUCCEEDED(hr) && i < e->rows; i++) {
        hr = row_scores(c, t, e->x, i * e->columns, scores);
        if (FAILED(hr))
            break;
        if (e->classes)
            onnx_host_set_int(&c->out[0], i, e->labels.ints[classify(c->node, t, scores, out)]);
        else
            regress(c->node, t, scores, out);
        for (uint32_t k = 0; k < t->targets && e->classes < c->node->output_count; k++)
            onnx_host_set_real(&c->out[e->classes], i * t->targets + k, out[k]);
    }
    free(scores);
    free(out);
    return hr;
}

HRESULT onnx_host_trees(struct onnx_host_call *c)
{
    const bool typed = !strcmp(c->node->op, "TreeEnsemble");
    struct ensemble e = { .classes = !strcmp(c->node->op, "TreeEnsembleClassifier") };
    struct host_trees *read = NULL;
    HRESULT hr = onnx_host_matrix(c, &e.x, &e.rows, &e.columns);
    if (SUCCEEDED(hr) && e.classes)
        hr = onnx_host_labels(c, "classlabels_int64s", &e.labels);
    if (SUCCEEDED(hr) && !*c->kept)
        *c->kept = SUCCEEDED(hr = onnx_host_trees_read(c, &read)) ? read : NULL;
    e.trees = *c->kept;
    if (SUCCEEDED(hr) && e.columns < e.trees->features)
        hr = onnx_flow_fail(c->flow, c->node, "the trees read %u features, the input has %lld", e.trees->features,
                            (long long)e.columns);
    if (SUCCEEDED(hr) && e.classes && e.trees->targets == 1)
        hr = onnx_flow_fail(c->flow, c->node, "a single class is not supported");
    if (SUCCEEDED(hr) && e.classes)
        hr = onnx_host_make(c, 0, ONNX_INT64, 1, &e.rows);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, e.classes, typed ? e.x->type : ONNX_FLOAT, 2, (int64_t[]){ e.rows, e.trees->targets });
    return SUCCEEDED(hr) ? compute(c, &e) : hr;
}
