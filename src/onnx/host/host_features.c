/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of ai.onnx.ml that change features, one by one or a row at a time. */
#include "onnx/host/host.h"

#include "onnx/emit/build.h"

#include <math.h>

/* Attribute values of one number, or one for each column. */
static HRESULT per_column(struct onnx_host_call *c, const char *name, int64_t columns, struct onnx_host_list *out)
{
    *out = onnx_host_list(c->node, name, NULL);
    return out->count <= 1 || out->count == columns
               ? S_OK
               : onnx_flow_fail(c->flow, c->node, "%s has %u values for %lld features", name, out->count,
                                (long long)columns);
}

static double of_column(const struct onnx_host_list *list, int64_t column, double otherwise)
{
    return !list->count ? otherwise : onnx_host_list_real(list, list->count == 1 ? 0 : (uint32_t)column);
}

static int64_t columns_of(const struct onnx_array *x)
{
    return x->rank ? x->dims[x->rank - 1] : 1;
}

HRESULT onnx_host_scaler(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    struct onnx_host_list scale, offset;
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (FAILED(hr))
        return hr;
    const int64_t columns = columns_of(x);
    if (FAILED(hr = per_column(c, "scale", columns, &scale)) || FAILED(hr = per_column(c, "offset", columns, &offset)))
        return hr;
    hr = onnx_host_make(c, 0, ONNX_FLOAT, x->rank, x->dims);
    for (int64_t i = 0; SUCCEEDED(hr) && i < onnx_host_elements(x); i++)
        onnx_host_set_real(&c->out[0], i,
                           (onnx_host_real(x, i) - of_column(&offset, i % columns, 0)) *
                               of_column(&scale, i % columns, 1));
    return hr;
}

/* A row divided by its largest number, the sum of its sizes, or its length; rows where that is 0 stay. */
static double norm_of(const struct onnx_array *x, int64_t from, int64_t columns, char norm)
{
    double all = norm == 'M' ? -INFINITY : 0;
    for (int64_t i = 0; i < columns; i++) {
        double v = onnx_host_feature(x, from + i);
        all = norm == 'M' ? fmax(all, v) : all + (norm == '1' ? fabs(v) : v * v);
    }
    return norm == '2' ? sqrt(all) : all;
}

HRESULT onnx_host_normalizer(struct onnx_host_call *c)
{
    const char *norm = onnx_attr_string(c->node, "norm", "MAX");
    const struct onnx_array *x;
    int64_t rows, columns;
    HRESULT hr = onnx_host_matrix(c, &x, &rows, &columns);
    if (SUCCEEDED(hr) && strcmp(norm, "MAX") && strcmp(norm, "L1") && strcmp(norm, "L2"))
        hr = onnx_flow_fail(c->flow, c->node, "norm '%.40s' is not supported", norm);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_FLOAT, x->rank, x->dims);
    for (int64_t i = 0; SUCCEEDED(hr) && i < rows; i++) {
        double by = norm_of(x, i * columns, columns, norm[0] == 'M' ? 'M' : norm[1]);
        for (int64_t k = i * columns; k < (i + 1) * columns; k++)
            onnx_host_set_real(&c->out[0], k, onnx_host_feature(x, k) / (by != 0 ? by : 1));
    }
    return hr;
}

HRESULT onnx_host_binarizer(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, x->type, x->rank, x->dims);
    for (int64_t i = 0; SUCCEEDED(hr) && i < onnx_host_elements(x); i++)
        onnx_host_set_real(&c->out[0], i, onnx_host_real(x, i) > onnx_attr_float(c->node, "threshold", 0));
    return hr;
}

/* What is missing is NaN, or another number that an attribute names. */
HRESULT onnx_host_imputer(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    struct onnx_host_list imputed;
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (FAILED(hr))
        return hr;
    const bool ints = x->type == ONNX_INT64 || x->type == ONNX_INT32;
    const int64_t columns = columns_of(x), gap = onnx_attribute(c->node, "replaced_value_int64")
                                                     ? onnx_attribute(c->node, "replaced_value_int64")->i
                                                     : 0;
    const float missing = onnx_attr_float(c->node, "replaced_value_float", 0);
    if (FAILED(hr = per_column(c, ints ? "imputed_value_int64s" : "imputed_value_floats", columns, &imputed)))
        return hr;
    if (!imputed.count)
        return onnx_flow_fail(c->flow, c->node, "%s is missing",
                              ints ? "imputed_value_int64s" : "imputed_value_floats");
    hr = onnx_host_make(c, 0, x->type, x->rank, x->dims);
    for (int64_t i = 0; SUCCEEDED(hr) && i < onnx_host_elements(x); i++) {
        const uint32_t from = imputed.count == 1 ? 0 : (uint32_t)(i % columns);
        const double v = ints ? 0 : onnx_host_real(x, i);
        if (ints)
            onnx_host_set_int(&c->out[0], i,
                              onnx_host_int(x, i) == gap ? onnx_host_list_int(&imputed, from) : onnx_host_int(x, i));
        else
            onnx_host_set_real(&c->out[0], i,
                               (isnan(missing) ? isnan(v) : v == missing) ? onnx_host_list_real(&imputed, from) : v);
    }
    return hr;
}

/* ---- labels ---- */

static bool is_integer(int32_t type)
{
    return type == ONNX_INT64 || type == ONNX_INT32 || type == ONNX_INT16;
}

struct encoder {
    struct onnx_host_list keys, values;
    int32_t type;    /* of the results */
    double real;     /* of keys that are not in the list */
    int64_t integer; /* the same, of integers */
    bool ints;       /* the keys are */
};

static HRESULT encoder_open(struct onnx_host_call *c, const struct onnx_array *x, struct encoder *e)
{
    const struct onnx_node *n = c->node;
    const struct onnx_attribute *otherwise = onnx_attribute(n, "default_tensor"), *given;
    struct onnx_host_list fallback = onnx_host_list(n, "", "default_tensor");
    e->ints = is_integer(x->type);
    e->keys = onnx_host_list(n, e->ints ? "keys_int64s" : "keys_floats", "keys_tensor");
    e->values = onnx_host_list(n, "values_int64s", "values_tensor");
    if (!e->values.count)
        e->values = onnx_host_list(n, "values_floats", NULL);
    if (!e->keys.count || e->keys.count != e->values.count)
        return onnx_flow_fail(c->flow, n,
                              "it has %u keys that are numbers and %u values that are; strings are not supported",
                              e->keys.count, e->values.count);
    e->type = e->values.tensor ? e->values.tensor->type : e->values.ints ? ONNX_INT64 : ONNX_FLOAT;
    given = onnx_attribute(n, is_integer(e->type) ? "default_int64" : "default_float");
    e->integer = otherwise && fallback.count ? onnx_host_list_int(&fallback, 0) : given ? given->i : -1;
    e->real = otherwise && fallback.count ? onnx_host_list_real(&fallback, 0) : given ? given->f : -0.0;
    return S_OK;
}

static uint32_t encoder_find(const struct encoder *e, const struct onnx_array *x, int64_t at)
{
    for (uint32_t k = 0; k < e->keys.count; k++) {
        if (e->ints) {
            if (onnx_host_int(x, at) == onnx_host_list_int(&e->keys, k))
                return k;
            continue;
        }
        double v = onnx_host_real(x, at), key = onnx_host_list_real(&e->keys, k);
        if (v == key || (isnan(v) && isnan(key)))
            return k;
    }
    return UINT32_MAX;
}

HRESULT onnx_host_label_encoder(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    struct encoder e = { 0 };
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (SUCCEEDED(hr))
        hr = encoder_open(c, x, &e);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, e.type, x->rank, x->dims);
    for (int64_t i = 0; SUCCEEDED(hr) && i < onnx_host_elements(x); i++) {
        uint32_t k = encoder_find(&e, x, i);
        if (is_integer(e.type))
            onnx_host_set_int(&c->out[0], i, k == UINT32_MAX ? e.integer : onnx_host_list_int(&e.values, k));
        else
            onnx_host_set_real(&c->out[0], i, k == UINT32_MAX ? e.real : onnx_host_list_real(&e.values, k));
    }
    return hr;
}

HRESULT onnx_host_one_hot_encoder(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    const struct onnx_host_list classes = onnx_host_list(c->node, "cats_int64s", NULL);
    int64_t dims[ONNX_RANK_MAX + 1];
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (SUCCEEDED(hr) && (!classes.ints || x->rank == ONNX_RANK_MAX))
        hr = onnx_flow_fail(c->flow, c->node, "it has no cats_int64s, or the result has more than 8 dimensions");
    if (FAILED(hr))
        return hr;
    memcpy(dims, x->dims, sizeof(x->dims));
    dims[x->rank] = classes.count;
    hr = onnx_host_make(c, 0, ONNX_FLOAT, x->rank + 1, dims);
    for (int64_t i = 0; SUCCEEDED(hr) && i < onnx_host_elements(x); i++) {
        const double v = onnx_host_real(x, i);
        bool found = false;
        for (uint32_t k = 0; k < classes.count; k++) {
            bool same = v == v && trunc(v) == (double)classes.ints[k];
            found = found || same;
            onnx_host_set_real(&c->out[0], i * classes.count + k, same);
        }
        if (!found && !onnx_attr_int(c->node, "zeros", 1))
            return onnx_flow_fail(c->flow, c->node, "%g is not one of its classes, and zeros is 0", v);
    }
    return hr;
}

/* ---- several tensors, several names ---- */

/* The columns of all inputs side by side. */
HRESULT onnx_host_feature_vectorizer(struct onnx_host_call *c)
{
    struct onnx_host_list widths = onnx_host_list(c->node, "inputdimensions", NULL);
    int64_t rows = 0, all = 0, at = 0;
    HRESULT hr = widths.count == c->node->input_count && widths.ints
                     ? S_OK
                     : onnx_flow_fail(c->flow, c->node, "inputdimensions has %u values for %u inputs", widths.count,
                                      c->node->input_count);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < widths.count; i++) {
        const struct onnx_array *x;
        hr = onnx_host_numbers(c, i, &x);
        int64_t own = FAILED(hr) ? 0 : x->rank > 1 ? x->dims[0] : 1;
        if (SUCCEEDED(hr) && (!x->rank || widths.ints[i] < 0 || widths.ints[i] > ONNX_SIZE_MAX || (i && own != rows)))
            hr = onnx_flow_fail(c->flow, c->node, "inputdimensions[%u] is %lld, its input has %lld rows", i,
                                (long long)widths.ints[i], (long long)own);
        rows = own;
        all += SUCCEEDED(hr) ? widths.ints[i] : 0;
    }
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_FLOAT, 2, (int64_t[]){ rows, all });
    for (uint32_t i = 0; SUCCEEDED(hr) && i < widths.count; at += widths.ints[i++]) {
        const struct onnx_array *x = onnx_host_in(c, i);
        const int64_t columns = rows ? onnx_host_elements(x) / rows : 0;
        for (int64_t r = 0; r < rows; r++) /* narrower inputs are filled with zeros, wider ones cut */
            for (int64_t k = 0; k < BASE_MIN(columns, widths.ints[i]); k++)
                onnx_host_set_real(&c->out[0], r * all + at + k, onnx_host_real(x, r * columns + k));
    }
    return hr;
}

/* A map from labels to scores for each row is what files cannot hold; its scores are, in the order of the labels. */
HRESULT onnx_host_zip_map(struct onnx_host_call *c)
{
    const struct onnx_array *x;
    HRESULT hr = onnx_host_numbers(c, 0, &x);
    if (SUCCEEDED(hr) && c->node->output_count)
        c->out[0] = onnx_array_share(x);
    return hr;
}
