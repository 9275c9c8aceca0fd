/* SPDX-License-Identifier: Apache-2.0 */
/* Linear models, and what they and trees make of scores. Where ONNX leaves the scores of two classes open, they are
 * those of ONNX Runtime, which scikit-learn's converters expect. */
#include "onnx/host/host.h"

#include "onnx/emit/build.h"

#include <math.h>
#include <stdlib.h>

/* ---- scores ---- */

HRESULT onnx_host_post(struct onnx_host_call *c, enum onnx_host_post *out)
{
    static const char *const names[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" };
    const char *name = onnx_attr_string(c->node, "post_transform", "NONE");
    for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
        *out = (enum onnx_host_post)i;
        if (!strcmp(name, names[i]))
            return S_OK;
    }
    return onnx_flow_fail(c->flow, c->node, "post_transform '%.40s' is not supported", name);
}

double onnx_host_logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* The inverse of the normal distribution, by Winitzki's approximation of the inverse error function: that of ONNX
 * Runtime, whose numbers models were tried with. */
double onnx_host_probit(double x)
{
    const double a = (float)0.147, y = 2 * x - 1, l = log(1 - y * y), h = 2 / ((float)3.14159 * a) + l / 2;
    return copysign(M_SQRT2 * sqrt(sqrt(h * h - l / a) - h), y);
}

static void softmax(double *scores, int64_t count, bool zeros_stay)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, scores[i]);
    const double zero = exp(-most);
    for (int64_t i = 0; i < count; i++) {
        bool stays = zeros_stay && fabs(scores[i]) <= 1e-7;
        scores[i] = stays ? scores[i] * zero : exp(scores[i] - most);
        sum += stays ? 0 : scores[i];
    }
    for (int64_t i = 0; i < count; i++)
        scores[i] /= sum;
}

void onnx_host_transform(enum onnx_host_post post, double *scores, int64_t count)
{
    if (post == HOST_POST_SOFTMAX || post == HOST_POST_SOFTMAX_ZERO)
        softmax(scores, count, post == HOST_POST_SOFTMAX_ZERO);
    for (int64_t i = 0; i < count && (post == HOST_POST_LOGISTIC || post == HOST_POST_PROBIT); i++)
        scores[i] = post == HOST_POST_LOGISTIC ? onnx_host_logistic(scores[i]) : onnx_host_probit(scores[i]);
}

HRESULT onnx_host_labels(struct onnx_host_call *c, const char *ints, struct onnx_host_list *out)
{
    const struct onnx_attribute *strings = onnx_attribute(c->node, "classlabels_strings");
    *out = onnx_host_list(c->node, ints, NULL);
    if (strings && strings->count)
        return onnx_flow_fail(c->flow, c->node, "labels that are strings are not supported");
    return !out->count || out->ints ? S_OK : onnx_flow_fail(c->flow, c->node, "%s are not integers", ints);
}

/* ---- linear models ---- */

struct linear {
    const struct onnx_array *x;
    int64_t rows, columns;
    uint32_t targets;
    struct onnx_host_list weights, offsets;
    enum onnx_host_post post;
};

static HRESULT linear_open(struct onnx_host_call *c, struct linear *l)
{
    HRESULT hr = onnx_host_matrix(c, &l->x, &l->rows, &l->columns);
    if (SUCCEEDED(hr))
        hr = onnx_host_post(c, &l->post);
    l->weights = onnx_host_list(c->node, "coefficients", NULL);
    l->offsets = onnx_host_list(c->node, "intercepts", NULL);
    if (SUCCEEDED(hr) && (!l->targets || l->weights.count / l->targets != l->columns || l->weights.count % l->targets ||
                          (l->offsets.count && l->offsets.count != l->targets)))
        hr = onnx_flow_fail(c->flow, c->node,
                            "%u coefficients and %u intercepts do not fit %lld features and %u targets",
                            l->weights.count, l->offsets.count, (long long)l->columns, l->targets);
    return hr;
}

static void linear_row(const struct linear *l, int64_t row, double *scores)
{
    for (uint32_t t = 0; t < l->targets; t++) {
        double sum = l->offsets.count ? onnx_host_list_real(&l->offsets, t) : 0;
        for (int64_t i = 0; i < l->columns; i++)
            sum += (float)onnx_host_real(l->x, row * l->columns + i) *
                   onnx_host_list_real(&l->weights, (uint32_t)(t * l->columns + i));
        scores[t] = sum;
    }
}

HRESULT onnx_host_linear_regressor(struct onnx_host_call *c)
{
    int64_t targets = onnx_attr_int(c->node, "targets", 1);
    struct linear l = { .targets = (uint32_t)BASE_MAX(targets, 0) };
    HRESULT hr = linear_open(c, &l);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_FLOAT, 2, (int64_t[]){ l.rows, targets });
    double *scores = malloc(((size_t)l.targets + 1) * sizeof(*scores));
    if (SUCCEEDED(hr) && !scores)
        hr = onnx_host_no_memory(c);
    for (int64_t i = 0; SUCCEEDED(hr) && i < l.rows; i++) {
        linear_row(&l, i, scores);
        onnx_host_transform(l.post, scores, targets);
        for (int64_t k = 0; k < targets; k++)
            onnx_host_set_real(&c->out[0], i * targets + k, scores[k]);
    }
    free(scores);
    return hr;
}

/* One score of two classes. */
static void two_of_one(enum onnx_host_post post, double *scores)
{
    const double s = scores[0];
    scores[1] = post == HOST_POST_LOGISTIC ? onnx_host_logistic(s) : post == HOST_POST_PROBIT ? onnx_host_probit(s) : s;
    scores[0] = post == HOST_POST_LOGISTIC ? onnx_host_logistic(-s) : 1 - s;
}

static int64_t linear_label(const struct linear *l, const struct onnx_host_list *labels, const double *scores)
{
    uint32_t best = 0;
    if (l->targets == 1)
        return labels->count == 2 ? labels->ints[scores[0] > 0] : scores[0] > 0;
    for (uint32_t i = 1; i < l->targets; i++)
        best = scores[i] > scores[best] ? i : best;
    return labels->ints[best];
}

HRESULT onnx_host_linear_classifier(struct onnx_host_call *c)
{
    struct onnx_host_list labels;
    struct linear l = { .targets = onnx_host_list(c->node, "intercepts", NULL).count };
    HRESULT hr = onnx_host_labels(c, "classlabels_ints", &labels);
    if (SUCCEEDED(hr))
        hr = linear_open(c, &l);
    const bool second = l.targets == 1 && labels.count == 2;
    const int64_t classes = second ? 2 : l.targets;
    if (SUCCEEDED(hr) && l.targets > 1 && labels.count != l.targets)
        hr = onnx_flow_fail(c->flow, c->node, "%u labels for %u classes", labels.count, l.targets);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_INT64, 1, &l.rows);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 1, ONNX_FLOAT, 2, (int64_t[]){ l.rows, classes });
    double *scores = malloc(((size_t)classes + 1) * sizeof(*scores));
    if (SUCCEEDED(hr) && !scores)
        hr = onnx_host_no_memory(c);
    for (int64_t i = 0; SUCCEEDED(hr) && i < l.rows; i++) {
        linear_row(&l, i, scores);
        onnx_host_set_int(&c->out[0], i, linear_label(&l, &labels, scores));
        if (second)
            two_of_one(l.post, scores);
        else
            onnx_host_transform(l.post, scores, classes);
        for (int64_t k = 0; k < classes && c->node->output_count > 1; k++)
            onnx_host_set_real(&c->out[1], i * classes + k, scores[k]);
    }
    free(scores);
    return hr;
}
