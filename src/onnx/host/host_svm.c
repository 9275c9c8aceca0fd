/* SPDX-License-Identifier: Apache-2.0 */
/* Support vector machines: kernels between a row of features and each support vector, or class, combined linearly. */
#include "onnx/host/host.h"

#include "onnx/emit/build.h"

#include <math.h>
#include <stdlib.h>

enum kernel { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID };

struct machine {
    const struct onnx_array *x;
    int64_t rows, columns;
    struct onnx_host_list vectors, weights, rho;
    uint32_t count; /* of support vectors; 0: the weights are those of the features */
    enum kernel kernel;
    double gamma, offset, degree;
    enum onnx_host_post post;
    double *products; /* of the kernel, `count` */
};

static HRESULT machine_open(struct onnx_host_call *c, struct machine *m)
{
    static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
    const char *name = onnx_attr_string(c->node, "kernel_type", "LINEAR");
    const struct onnx_host_list params = onnx_host_list(c->node, "kernel_params", NULL);
    HRESULT hr = onnx_host_matrix(c, &m->x, &m->rows, &m->columns);
    if (SUCCEEDED(hr))
        hr = onnx_host_post(c, &m->post);
    while (m->kernel < ARRAY_SIZE(kernels) && strcmp(name, kernels[m->kernel]))
        m->kernel++;
    if (SUCCEEDED(hr) && m->kernel == ARRAY_SIZE(kernels))
        hr = onnx_flow_fail(c->flow, c->node, "kernel_type '%.40s' is not supported", name);
    if (FAILED(hr))
        return hr;
    m->gamma = params.count > 0 ? onnx_host_list_real(&params, 0) : 0;
    m->offset = params.count > 1 ? onnx_host_list_real(&params, 1) : 0;
    m->degree = params.count > 2 ? onnx_host_list_real(&params, 2) : 0;
    m->vectors = onnx_host_list(c->node, "support_vectors", NULL);
    m->weights = onnx_host_list(c->node, "coefficients", NULL);
    m->rho = onnx_host_list(c->node, "rho", NULL);
    if (m->vectors.count != m->count * (uint64_t)m->columns || !m->rho.count)
        return onnx_flow_fail(c->flow, c->node, "support_vectors has %u values for %u vectors of %lld features, rho %u",
                              m->vectors.count, m->count, (long long)m->columns, m->rho.count);
    m->products = calloc(m->count + 1u, sizeof(*m->products));
    return m->products ? S_OK : onnx_host_no_memory(c);
}

/* Of a row and of values in an attribute, from `first` on. */
static double product(const struct machine *m, int64_t row, const struct onnx_host_list *list, uint32_t first)
{
    double sum = 0;
    for (int64_t i = 0; i < m->columns; i++) {
        const double x = (float)onnx_host_real(m->x, row * m->columns + i);
        const double v = onnx_host_list_real(list, first + (uint32_t)i);
        sum += m->kernel == KERNEL_RBF ? (x - v) * (x - v) : x * v;
    }
    switch (m->kernel) {
    case KERNEL_POLY:
        return pow(m->gamma * sum + m->offset, m->degree);
    case KERNEL_RBF:
        return exp(-m->gamma * sum);
    case KERNEL_SIGMOID:
        return tanh(m->gamma * sum + m->offset);
    default:
        return sum;
    }
}

static void compute_products(struct machine *m, int64_t row)
{
    for (uint32_t i = 0; i < m->count; i++)
        m->products[i] = product(m, row, &m->vectors, i * (uint32_t)m->columns);
}

/* ---- regression ---- */

HRESULT onnx_host_svm_regressor(struct onnx_host_call *c)
{
    const int64_t vectors = onnx_attr_int(c->node, "n_supports", 0);
    const bool one_class = onnx_attr_int(c->node, "one_class", 0) != 0;
    struct machine m = { .count = (uint32_t)BASE_MAX(vectors, 0) };
    HRESULT hr = machine_open(c, &m);
    if (SUCCEEDED(hr) && m.weights.count != (m.count ? m.count : (uint64_t)m.columns))
        hr = onnx_flow_fail(c->flow, c->node, "coefficients has %u values for %u vectors of %lld features",
                            m.weights.count, m.count, (long long)m.columns);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_FLOAT, 2, (int64_t[]){ m.rows, 1 });
    for (int64_t i = 0; SUCCEEDED(hr) && i < m.rows; i++) {
        double sum = onnx_host_list_real(&m.rho, 0);
        compute_products(&m, i);
        for (uint32_t k = 0; k < m.count; k++)
            sum += m.products[k] * onnx_host_list_real(&m.weights, k);
        if (!m.count)
            sum += product(&m, i, &m.weights, 0);
        onnx_host_set_real(&c->out[0], i, one_class ? (sum > 0 ? 1 : -1) : sum);
    }
    free(m.products);
    return hr;
}

/* ---- classification ---- */

struct votes {
    struct machine m;
    struct onnx_host_list labels, sizes, a, b; /* sizes: support vectors of each class */
    uint32_t classes, pairs;
    double *scores; /* of pairs, then of classes */
    uint32_t *first, *count;
    double *pairwise, *q, *qp; /* probabilities of one class against another, and what their solution needs */
};

/* The score of each pair of classes; the classes' votes. */
static void vote(struct votes *v)
{
    uint32_t pair = 0;
    memset(v->count, 0, v->classes * sizeof(*v->count));
    for (uint32_t i = 0; i < v->classes; i++) {
        for (uint32_t j = i + 1; j < v->classes; j++) {
            double sum = onnx_host_list_real(&v->m.rho, pair);
            for (uint32_t k = v->first[i]; k < v->first[i + 1]; k++)
                sum += v->m.products[k] * onnx_host_list_real(&v->m.weights, v->m.count * (j - 1) + k);
            for (uint32_t k = v->first[j]; k < v->first[j + 1]; k++)
                sum += v->m.products[k] * onnx_host_list_real(&v->m.weights, v->m.count * i + k);
            v->scores[pair++] = sum;
            v->count[sum > 0 ? i : j]++;
        }
    }
}

/* One round of the fixed-point iteration. */
static void refine(const struct votes *v, double *p, double total)
{
    const uint32_t n = v->classes;
    for (uint32_t i = 0; i < n; i++) {
        const double step = (total - v->qp[i]) / v->q[i * n + i];
        p[i] += step;
        total = (total + step * (step * v->q[i * n + i] + 2 * v->qp[i])) / ((1 + step) * (1 + step));
        for (uint32_t j = 0; j < n; j++) {
            v->qp[j] = (v->qp[j] + step * v->q[i * n + j]) / (1 + step);
            p[j] /= 1 + step;
        }
    }
}

/* Probabilities of classes from those of pairs: the second method of Wu, Lin and Weng (2004), as LIBSVM solves it. */
static void couple(const struct votes *v, double *p)
{
    const uint32_t n = v->classes;
    const double *r = v->pairwise;
    memset(v->q, 0, n * n * sizeof(*v->q));
    for (uint32_t i = 0; i < n; i++) {
        p[i] = 1.0 / n;
        for (uint32_t j = 0; j < n; j++) {
            v->q[i * n + i] += j != i ? r[j * n + i] * r[j * n + i] : 0;
            if (j != i)
                v->q[i * n + j] = -r[j * n + i] * r[i * n + j];
        }
    }
    for (uint32_t round = 0; round < 100; round++) {
        double total = 0, error = 0;
        for (uint32_t i = 0; i < n; i++) {
            v->qp[i] = 0;
            for (uint32_t j = 0; j < n; j++)
                v->qp[i] += v->q[i * n + j] * p[j];
            total += p[i] * v->qp[i];
        }
        for (uint32_t i = 0; i < n; i++)
            error = fmax(error, fabs(v->qp[i] - total));
        if (error < 0.005 / n)
            break;
        refine(v, p, total);
    }
}

static void pairwise(struct votes *v)
{
    uint32_t pair = 0;
    for (uint32_t i = 0; i < v->classes; i++) {
        for (uint32_t j = i + 1; j < v->classes; j++, pair++) {
            const double x = v->scores[pair] * onnx_host_list_real(&v->a, pair) + onnx_host_list_real(&v->b, pair);
            const double p = fmin(fmax(onnx_host_logistic(-x), 1e-7), 1 - 1e-7);
            v->pairwise[i * v->classes + j] = p;
            v->pairwise[j * v->classes + i] = 1 - p;
        }
    }
}

static uint32_t best_of(const struct votes *v)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < v->classes; i++)
        best = v->count[i] > v->count[best] ? i : best;
    return best;
}

static HRESULT votes_open(struct onnx_host_call *c, struct votes *v)
{
    HRESULT hr = onnx_host_labels(c, "classlabels_ints", &v->labels);
    uint64_t vectors = 0;
    v->sizes = onnx_host_list(c->node, "vectors_per_class", NULL);
    v->a = onnx_host_list(c->node, "prob_a", NULL);
    v->b = onnx_host_list(c->node, "prob_b", NULL);
    v->classes = v->sizes.count;
    for (uint32_t i = 0; i < v->classes; i++)
        vectors += v->sizes.ints && v->sizes.ints[i] >= 0 ? (uint64_t)v->sizes.ints[i] : UINT32_MAX;
    if (SUCCEEDED(hr) && (v->classes < 2 || v->classes > 4096 || vectors > UINT32_MAX / v->classes))
        hr = onnx_flow_fail(c->flow, c->node, "vectors_per_class has %u classes and %llu vectors: not supported",
                            v->classes, (unsigned long long)vectors);
    if (FAILED(hr))
        return hr;
    v->m.count = (uint32_t)vectors;
    v->pairs = v->classes * (v->classes - 1) / 2;
    hr = machine_open(c, &v->m);
    if (SUCCEEDED(hr) &&
        (v->labels.count != v->classes || v->m.weights.count < vectors * (v->classes - 1) ||
         v->m.rho.count < v->pairs || (v->a.count && (v->a.count < v->pairs || v->b.count < v->pairs))))
        hr = onnx_flow_fail(c->flow, c->node, "labels, coefficients, rho or prob do not fit %u classes and %u vectors",
                            v->classes, v->m.count);
    return hr;
}

static bool votes_allocate(struct votes *v)
{
    const size_t n = v->classes;
    v->scores = calloc(v->pairs + n + 2 * n * n + n, sizeof(*v->scores));
    v->first = calloc(2 * n + 1, sizeof(*v->first));
    if (!v->scores || !v->first)
        return false;
    v->pairwise = v->scores + v->pairs + n;
    v->q = v->pairwise + n * n;
    v->qp = v->q + n * n;
    v->count = v->first + n + 1;
    for (uint32_t i = 0; i < n; i++)
        v->first[i + 1] = v->first[i] + (uint32_t)v->sizes.ints[i];
    return true;
}

/* The scores of a row: of its classes where there are probabilities, else of pairs, and of both classes of the only
 * pair. */
static double *row_scores(struct votes *v, int64_t row)
{
    double *of_classes = v->scores + v->pairs;
    compute_products(&v->m, row);
    vote(v);
    if (v->a.count) {
        pairwise(v);
        couple(v, of_classes);
        onnx_host_transform(v->m.post, of_classes, v->classes);
        return of_classes;
    }
    if (v->classes > 2) {
        onnx_host_transform(v->m.post, v->scores, v->pairs);
        return v->scores;
    }
    const double s = v->scores[0];
    of_classes[0] = v->m.post == HOST_POST_LOGISTIC ? onnx_host_logistic(-s) : v->m.post == HOST_POST_NONE ? -s : 1 - s;
    of_classes[1] = v->m.post == HOST_POST_LOGISTIC ? onnx_host_logistic(s) : s;
    return of_classes;
}

HRESULT onnx_host_svm_classifier(struct onnx_host_call *c)
{
    struct votes v = { 0 };
    HRESULT hr = votes_open(c, &v);
    if (SUCCEEDED(hr) && !votes_allocate(&v))
        hr = onnx_host_no_memory(c);
    const int64_t scores = v.a.count || v.classes == 2 ? v.classes : v.pairs;
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_INT64, 1, &v.m.rows);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 1, ONNX_FLOAT, 2, (int64_t[]){ v.m.rows, scores });
    for (int64_t i = 0; SUCCEEDED(hr) && i < v.m.rows; i++) {
        const double *row = row_scores(&v, i);
        onnx_host_set_int(&c->out[0], i, v.labels.ints[best_of(&v)]);
        for (int64_t k = 0; k < scores && c->node->output_count > 1; k++)
            onnx_host_set_real(&c->out[1], i * scores + k, row[k]);
    }
    free(v.m.products);
    free(v.scores);
    free(v.first);
    return hr;
}
