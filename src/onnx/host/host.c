/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/host/host.h"

#include "onnx/emit/build.h"

#include "base/half.h"

#include <stdlib.h>

struct row {
    const char *domain, *op;
    onnx_host_fn *run;
};

static const struct row rows[] = {
#define ONNX_HOST(domain, op, function) { domain, op, function },
#include "onnx/host/host.def"
#undef ONNX_HOST
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->op, y->op);
}

onnx_host_fn *onnx_host_find(const char *domain, const char *op)
{
    const struct row key = { .domain = strcmp(domain, "ai.onnx") ? domain : "", .op = op };
    const struct row *found = bsearch(&key, rows, ARRAY_SIZE(rows), sizeof(rows[0]), compare_rows);
    return found ? found->run : NULL;
}

static HRESULT run(struct onnx_host_call *c, struct flow_scope *scope)
{
    const struct onnx_node *n = c->node;
    HRESULT hr = onnx_host_find(n->domain, n->op)(c);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < n->output_count; i++) {
        if (n->outputs[i][0] && !c->out[i].data)
            hr = onnx_flow_fail(c->flow, n, "it has no output %u", i);
        else if (n->outputs[i][0])
            hr = onnx_flow_define(c->flow, scope, n->outputs[i], &c->out[i]);
    }
    return hr;
}

HRESULT onnx_host_run(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n, void **kept)
{
    struct onnx_array *in = calloc(n->input_count + 1u, sizeof(*in));
    struct onnx_array *out = calloc(n->output_count + 1u, sizeof(*out));
    HRESULT hr = in && out ? S_OK : onnx_flow_no_memory(flow);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < n->input_count; i++)
        hr = n->inputs[i][0] ? onnx_flow_value(flow, scope, n->inputs[i], &in[i]) : S_OK;
    struct onnx_host_call c = { flow, n, in, out, kept };
    if (SUCCEEDED(hr))
        hr = run(&c, scope);
    for (uint32_t i = 0; in && i < n->input_count; i++)
        onnx_array_finish(&in[i]);
    for (uint32_t i = 0; out && i < n->output_count; i++)
        onnx_array_finish(&out[i]);
    free(in);
    free(out);
    return hr;
}

/* ---- inputs and outputs ---- */

const struct onnx_array *onnx_host_in(const struct onnx_host_call *c, uint32_t i)
{
    return i < c->node->input_count && c->in[i].data ? &c->in[i] : NULL;
}

HRESULT onnx_host_numbers(struct onnx_host_call *c, uint32_t i, const struct onnx_array **out)
{
    *out = onnx_host_in(c, i);
    if (!*out)
        return onnx_flow_fail(c->flow, c->node, "input %u is required", i);
    if (!onnx_type_bytes((*out)->type) || (*out)->type == ONNX_UINT4 || (*out)->type == ONNX_INT4)
        return onnx_flow_fail(c->flow, c->node, "'%.80s' has data type %s, which is not supported", c->node->inputs[i],
                              onnx_type_name((*out)->type));
    return S_OK;
}

HRESULT onnx_host_matrix(struct onnx_host_call *c, const struct onnx_array **out, int64_t *rows_out, int64_t *columns)
{
    HRESULT hr = onnx_host_numbers(c, 0, out);
    if (FAILED(hr))
        return hr;
    if ((*out)->rank != 1 && (*out)->rank != 2)
        return onnx_flow_fail(c->flow, c->node, "'%.80s' has %u dimensions, a matrix is wanted", c->node->inputs[0],
                              (*out)->rank);
    *rows_out = (*out)->rank == 2 ? (*out)->dims[0] : 1;
    *columns = (*out)->dims[(*out)->rank - 1];
    return S_OK;
}

HRESULT onnx_host_no_memory(struct onnx_host_call *c)
{
    onnx_flow_fail(c->flow, c->node, "out of memory");
    return E_OUTOFMEMORY;
}

HRESULT onnx_host_make(struct onnx_host_call *c, uint32_t i, int32_t type, uint32_t rank, const int64_t *dims)
{
    if (i >= c->node->output_count)
        return S_OK;
    return onnx_array_make(&c->out[i], type, rank, dims) ? S_OK : onnx_host_no_memory(c);
}

/* ---- elements ---- */

int64_t onnx_host_elements(const struct onnx_array *a)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < a->rank; i++)
        count *= a->dims[i];
    return count;
}

int64_t onnx_host_int(const struct onnx_array *a, int64_t at)
{
    const struct onnx_value v = { .type = a->type, .data = a->data };
    return onnx_constant_int(&v, at);
}

double onnx_host_real(const struct onnx_array *a, int64_t at)
{
    const struct onnx_value v = { .type = a->type, .data = a->data };
    if (a->type == ONNX_BFLOAT16)
        return base_bfloat_to_float(((const uint16_t *)a->data)[at]);
    return a->type == ONNX_UINT64 ? (double)(uint64_t)onnx_constant_int(&v, at) : onnx_constant_real(&v, at);
}

double onnx_host_feature(const struct onnx_array *a, int64_t at)
{
    double x = onnx_host_real(a, at);
    return a->type == ONNX_DOUBLE ? x : (double)(float)x;
}

void onnx_host_set_int(struct onnx_array *a, int64_t at, int64_t value)
{
    const uint32_t width = onnx_type_bytes(a->type);
    memcpy((char *)a->data + (size_t)at * width, &value, width); /* little-endian */
}

void onnx_host_set_real(struct onnx_array *a, int64_t at, double value)
{
    switch (a->type) {
    case ONNX_FLOAT:
        ((float *)a->data)[at] = (float)value;
        break;
    case ONNX_DOUBLE:
        ((double *)a->data)[at] = value;
        break;
    case ONNX_FLOAT16:
        ((uint16_t *)a->data)[at] = base_double_to_half(value);
        break;
    case ONNX_BFLOAT16:
        ((uint16_t *)a->data)[at] = base_double_to_bfloat(value);
        break;
    default: /* beyond the type: what is next to it */
        onnx_host_set_int(a, at, value >= 0x1p63 ? INT64_MAX : value > -0x1p63 ? (int64_t)value : INT64_MIN);
        break;
    }
}

/* ---- attributes ---- */

struct onnx_host_list onnx_host_list(const struct onnx_node *n, const char *list, const char *tensor)
{
    const struct onnx_attribute *a = onnx_attribute(n, list), *t = tensor ? onnx_attribute(n, tensor) : NULL;
    struct onnx_host_list out = { 0 };
    if (t && t->t && onnx_type_bytes(t->t->type) && t->t->bytes) {
        out.tensor = t->t;
        out.count = 1;
        for (uint32_t i = 0; i < t->t->rank; i++)
            out.count *= (uint32_t)t->t->dims[i];
    } else if (a && (a->floats || a->ints)) {
        out.floats = a->floats;
        out.ints = a->ints;
        out.count = a->count;
    }
    return out;
}

double onnx_host_list_real(const struct onnx_host_list *list, uint32_t at)
{
    if (!list->tensor)
        return list->floats ? (double)list->floats[at] : (double)list->ints[at];
    const struct onnx_value v = { .type = list->tensor->type, .data = list->tensor->data };
    return onnx_constant_real(&v, at);
}

int64_t onnx_host_list_int(const struct onnx_host_list *list, uint32_t at)
{
    if (!list->tensor)
        return list->ints ? list->ints[at] : (int64_t)list->floats[at];
    const struct onnx_value v = { .type = list->tensor->type, .data = list->tensor->data };
    return onnx_constant_int(&v, at);
}
