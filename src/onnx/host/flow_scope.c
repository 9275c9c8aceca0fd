/* SPDX-License-Identifier: Apache-2.0 */
/* Values of graphs while they run, found by their names. */
#include "onnx/host/flow_scope.h"

#include "base/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- failing ---- */

HRESULT onnx_flow_no_memory(struct onnx_flow *flow)
{
    snprintf(flow->error->text, sizeof(flow->error->text), "out of memory");
    return E_OUTOFMEMORY;
}

HRESULT onnx_flow_fail(struct onnx_flow *flow, const struct onnx_node *n, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(flow->error->text, sizeof(flow->error->text), "%s '%.80s': %s", n->op,
             n->name[0] || !n->output_count ? n->name : n->outputs[0], text);
    return E_INVALIDARG;
}

HRESULT onnx_flow_may_hold(struct onnx_flow *flow, const struct onnx_node *n, uint64_t bytes)
{
    const uint64_t most = base_memory_total() / 2;
    if (flow->held <= most && bytes <= most - flow->held)
        return S_OK;
    return onnx_flow_fail(flow, n, "values of loops would take %llu bytes, %llu (half of the memory) are allowed",
                          (unsigned long long)(flow->held + bytes), (unsigned long long)most);
}

/* ---- values ---- */

void onnx_flow_forget(struct flow_scope *scope)
{
    for (uint32_t i = 0; i < scope->count; i++)
        onnx_array_finish(&scope->arrays[i]);
    free(scope->arrays);
    base_names_finish(&scope->names);
}

HRESULT onnx_flow_define(struct onnx_flow *flow, struct flow_scope *scope, const char *name, struct onnx_array *array)
{
    bool ok = name[0] && !base_names_find(&scope->names, name);
    if (!ok) {
        onnx_array_finish(array);
        if (!name[0])
            return S_OK;
        snprintf(flow->error->text, sizeof(flow->error->text), "value '%.200s' is defined twice", name);
        return E_INVALIDARG;
    }
    if (!base_array_reserve((void **)&scope->arrays, scope->count, &scope->capacity, sizeof(*scope->arrays)) ||
        !base_names_add(&scope->names, name, scope->count)) {
        onnx_array_finish(array);
        return onnx_flow_no_memory(flow);
    }
    scope->arrays[scope->count++] = *array;
    memset(array, 0, sizeof(*array));
    return S_OK;
}

const struct flow_scope *onnx_flow_find(const struct flow_scope *scope, const char *name,
                                        const struct onnx_array **array, const struct onnx_tensor **tensor)
{
    *array = NULL;
    *tensor = NULL;
    for (const struct flow_scope *s = scope; s; s = s->around) {
        const struct base_name *value = base_names_find(&s->names, name);
        const struct base_name *initializer = value ? NULL : base_names_find(&s->graph->initializers, name);
        if (value)
            *array = &s->arrays[value->number];
        if (initializer)
            *tensor = &s->graph->model->initializers[initializer->number];
        if (*array || *tensor)
            return s;
    }
    return NULL;
}

HRESULT onnx_flow_value(struct onnx_flow *flow, const struct flow_scope *scope, const char *name,
                        struct onnx_array *out)
{
    const struct onnx_array *array;
    const struct onnx_tensor *tensor;
    memset(out, 0, sizeof(*out));
    onnx_flow_find(scope, name, &array, &tensor);
    if (array)
        *out = onnx_array_share(array);
    else if (tensor)
        return onnx_array_of_tensor(out, tensor) ? S_OK : onnx_flow_no_memory(flow);
    else
        snprintf(flow->error->text, sizeof(flow->error->text), "'%.200s' is not computed by any node", name);
    return array ? S_OK : E_INVALIDARG;
}
