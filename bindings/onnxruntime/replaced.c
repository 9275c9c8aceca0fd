/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers that the session's options replace (AddInitializer). The graph that ONNX Runtime shows has the model's
 * values; the session's are inputs of a fused node that keeps its initializers. The options do not list the names, but
 * reject a second value for the same name: so a copy of the options is probed with an unused value. */
#include "ep.h"

#include <stdlib.h>

static bool has_value(struct ep *ep, const char *name)
{
    OrtStatus *status = ep->factory->ort->AddInitializer(ep->asked, name, ep->asked_with);
    if (status)
        ep->factory->ort->ReleaseStatus(status);
    return status != NULL;
}

OrtStatus *ep_replaced_start(struct ep *ep, const OrtSessionOptions *options)
{
    static float unread;
    const int64_t one = 1;
    const OrtApi *ort = ep->factory->ort;
    if (!options)
        return NULL;
    TRY(ort->CloneSessionOptions(options, &ep->asked));
    TRY(ort->CreateTensorWithDataAsOrtValue(ep->factory->plain, &unread, sizeof(unread), &one, 1,
                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &ep->asked_with));
    /* Once for a name that cannot exist, so that a rejection is meaningful. */
    if (has_value(ep, "\n")) {
        ep_log(ep, ORT_LOGGING_LEVEL_WARNING, "cannot determine the initializers of the session's options");
        ep_replaced_finish(ep);
    }
    return NULL;
}

void ep_replaced_finish(struct ep *ep)
{
    if (ep->asked)
        ep->factory->ort->ReleaseSessionOptions(ep->asked);
    if (ep->asked_with)
        ep->factory->ort->ReleaseValue(ep->asked_with);
    ep->asked = NULL;
    ep->asked_with = NULL;
}

OrtStatus *ep_replaced_look(struct ep *ep, const char *name, bool *out)
{
    *out = false;
    if (!ep->asked)
        return NULL;
    const struct base_name *known = base_names_find(&ep->initializers, name);
    if (!known) {
        const char *copy = base_arena_strdup(&ep->names, name);
        if (!copy || !base_names_add(&ep->initializers, copy, has_value(ep, name)))
            return ep_status(ep->factory, ORT_FAIL, "out of memory");
        known = base_names_find(&ep->initializers, name);
        ep->replaces = ep->replaces || known->number;
    }
    *out = known->number;
    return NULL;
}

bool ep_replaced_in(const struct ep *ep, const struct onnx_node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct base_name *known = base_names_find(&ep->initializers, node->inputs[i]);
        if (known && known->number)
            return true;
    }
    return false;
}

/* From the device to memory that is released with the model, if it is there. */
static OrtStatus *to_host(struct ep *ep, struct onnx_model *model, struct onnx_tensor *t)
{
    const struct onnx_memory *memory = ep->device->onnx->memory;
    uint64_t offset;
    ID3D12Resource *resource = memory && t->bytes ? memory->resolve(t->data, t->bytes, &offset) : NULL;
    if (!resource)
        return NULL;
    ID3D12Resource_Release(resource);
    void *copy = malloc(t->bytes);
    if (!copy || FAILED(memory->copy(copy, t->data, t->bytes)) || !ep_model_keep(model, copy, 0)) {
        free(copy);
        return ep_status(ep->factory, ORT_FAIL, "initializer '%s' cannot be read", t->name);
    }
    t->data = copy;
    return NULL;
}

OrtStatus *ep_replaced_take(struct ep *ep, struct onnx_model *model, struct ep_ports *ports, OrtKernelContext *context)
{
    const OrtApi *ort = ep->factory->ort;
    for (; ports->taken < ports->replaced_count; ports->taken++) {
        struct onnx_tensor t = { .name = ports->replaced[ports->taken].name };
        uint32_t capacity = model->initializer_count;
        const OrtValue *value = NULL;
        size_t rank = 0;
        int64_t count = 1;
        TRY(ort->KernelContext_GetInput(context, ports->replaced[ports->taken].port, &value));
        if (!value)
            return ep_status(ep->factory, ORT_INVALID_ARGUMENT, "initializer '%s' is missing", t.name);
        TRY(ep_read_shape(ort, value, &t.type, &rank, t.dims));
        if (rank > ONNX_RANK_MAX || !onnx_type_bytes(t.type))
            return ep_status(ep->factory, ORT_INVALID_ARGUMENT, "initializer '%s' has type %d and %zu dimensions",
                             t.name, t.type, rank);
        TRY(ort->GetTensorData(value, &t.data));
        for (size_t i = 0; i < rank; i++)
            count *= t.dims[i];
        t.rank = (uint32_t)rank;
        t.bytes = onnx_bytes(t.type, count);
        TRY(to_host(ep, model, &t));
        if (!t.bytes)
            t.data = "";
        if (!base_array_reserve((void **)&model->initializers, model->initializer_count, &capacity, sizeof(t)))
            return ep_status(ep->factory, ORT_FAIL, "out of memory");
        model->initializers[model->initializer_count++] = t;
    }
    return NULL;
}
