/* SPDX-License-Identifier: Apache-2.0 */
/* OrtEp::Compile and the node kernels that it returns. */
#include "ep.h"

#include <stdlib.h>

/* One fused node; the session keeps it for its own lifetime. */
struct info {
    OrtNodeComputeInfo base;
    struct ep *ep;
    struct ep_subgraph *subgraph;
};

static OrtStatus *ORT_API_CALL info_create_state(OrtNodeComputeInfo *base, OrtNodeComputeContext *context,
                                                 void **state) NO_EXCEPTION
{
    (void)context;
    *state = container_of(base, struct info, base)->subgraph;
    return ep_subgraph_start(*state);
}

static OrtStatus *ORT_API_CALL info_compute(OrtNodeComputeInfo *base, void *state,
                                            OrtKernelContext *context) NO_EXCEPTION
{
    (void)base;
    return ep_subgraph_run(state, context);
}

static void ORT_API_CALL info_release_state(OrtNodeComputeInfo *base, void *state) NO_EXCEPTION
{
    (void)base;
    (void)state; /* the subgraph belongs to the info */
}

/* The weights are read from the model's file if they are the same there. */
static OrtStatus *create(struct ep *ep, const OrtGraph *graph, struct onnx_model *model, const struct ep_ports *ports,
                         const char *name, struct ep_file **file, struct ep_subgraph **out)
{
    const char *path = "";
    OrtStatus *status = graph ? ep->factory->ort->Graph_GetModelPath(graph, &path) : NULL;
    if (status) {
        ep_model_destroy(model);
        return status;
    }
    bool found = !ports->replaced_count && ep_model_use_file(model, path, file);
    return ep_subgraph_create(ep, model, ports, name, found ? *file : NULL, out);
}

/* context: receives the node for a compiled model if one is requested. */
static OrtStatus *compile_one(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, struct ep_file **file,
                              struct info *out, OrtNode **context)
{
    struct onnx_model *model = NULL;
    struct ep_ports ports = { NULL };
    const char *name = "";
    OrtStatus *status = ep->factory->ort->Node_GetName(fused, &name);
    if (!status)
        status = ep_context_load(ep, graph, fused, &model);
    if (!status && !model)
        status = ep_model_create(ep, graph, fused, true, &ports, &model);
    if (!status && context && ports.replaced_count)
        status = ep_status(ep->factory, ORT_INVALID_ARGUMENT,
                           "a compiled model holds its own weights: the session's options may not replace '%s'",
                           ports.replaced[0].name);
    if (!status && context)
        status = ep_context_make(ep, graph, fused, name, model, context);
    if (!status)
        return create(ep, graph, model, &ports, name, file, &out->subgraph);
    ep_model_destroy(model);
    return status;
}

OrtStatus *ep_compile(struct ep *ep, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                      OrtNodeComputeInfo **infos, OrtNode **contexts)
{
    OrtStatus *status = NULL;
    struct ep_file *file = NULL;
    bool write = contexts && ep->options.context_enable;
    if (write)
        memset(contexts, 0, count * sizeof(*contexts));
    memset(infos, 0, count * sizeof(*infos));
    for (size_t i = 0; !status && i < count; i++) {
        struct info *info = calloc(1, sizeof(*info));
        if (!info) {
            status = ep_status(ep->factory, ORT_FAIL, "out of memory");
            break;
        }
        info->base.ort_version_supported = ep->factory->version;
        info->base.CreateState = info_create_state;
        info->base.Compute = info_compute;
        info->base.ReleaseState = info_release_state;
        info->ep = ep;
        infos[i] = &info->base;
        status = compile_one(ep, graphs[i], fused[i], &file, info, write ? &contexts[i] : NULL);
    }
    ep_file_release(file);
    if (!status)
        return NULL;
    ep_release_infos(infos, count);
    for (size_t i = 0; write && i < count; i++) {
        if (contexts[i])
            ep->factory->ort->ReleaseNode(contexts[i]);
        contexts[i] = NULL;
    }
    return status;
}

void ep_release_infos(OrtNodeComputeInfo **infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!infos[i])
            continue;
        struct info *info = container_of(infos[i], struct info, base);
        ep_subgraph_destroy(info->subgraph);
        free(info);
        infos[i] = NULL;
    }
}
