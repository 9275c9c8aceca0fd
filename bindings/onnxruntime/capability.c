/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the nodes of a graph for the provider. A node is claimed if it can be converted (onnx_check), and if the
 * values that DirectML needs while compiling can be known on the host by then: constants, arithmetic on shapes, and
 * values that enter the subgraph from outside. */
#include "ep.h"

#include <stdlib.h>

struct work {
    struct ep *ep;
    const OrtApi *ort;
    struct onnx_model *model;
    const OrtNode **nodes;
    uint32_t count;
    struct onnx_verdict *verdicts;
    struct ep_partition_node *parts;
    struct ep_edge *edges;
    uint32_t edge_count, edge_capacity;
    bool *contexts; /* per node: it is a compiled subgraph, which becomes a subgraph of its own */
    bool *needed;   /* per node: an output is needed on the host while the graph is compiled */
    int64_t *ids;   /* id -> index, by the host's node ids */
    size_t id_count;
};

static void work_finish(struct work *w)
{
    ep_model_destroy(w->model);
    free(w->nodes);
    free(w->verdicts);
    free(w->parts);
    free(w->edges);
    free(w->needed);
    free(w->contexts);
    free(w->ids);
}

static OrtStatus *work_start(struct work *w, const OrtGraph *graph)
{
    size_t count = 0, id = 0;
    TRY(w->ort->Graph_GetNumNodes(graph, &count));
    w->count = (uint32_t)count;
    w->nodes = calloc(count + 1, sizeof(*w->nodes));
    w->verdicts = calloc(count + 1, sizeof(*w->verdicts));
    w->parts = calloc(count + 1, sizeof(*w->parts));
    w->needed = calloc(count + 1, sizeof(*w->needed));
    w->contexts = calloc(count + 1, sizeof(*w->contexts));
    if (!w->nodes || !w->verdicts || !w->parts || !w->needed || !w->contexts)
        return ep_status(w->ep->factory, ORT_FAIL, "out of memory");
    if (count)
        TRY(w->ort->Graph_GetNodes(graph, w->nodes, count));
    for (size_t i = 0; i < count; i++) {
        TRY(w->ort->Node_GetId(w->nodes[i], &id));
        w->id_count = BASE_MAX(w->id_count, id + 1);
    }
    w->ids = malloc((w->id_count + 1) * sizeof(*w->ids));
    if (!w->ids)
        return ep_status(w->ep->factory, ORT_FAIL, "out of memory");
    for (size_t i = 0; i < w->id_count; i++)
        w->ids[i] = -1;
    for (size_t i = 0; i < count; i++) {
        TRY(w->ort->Node_GetId(w->nodes[i], &id));
        w->ids[id] = (int64_t)i;
    }
    return NULL;
}

/* The index of the node of this graph that computes the value, or -1. */
static OrtStatus *producer_of(struct work *w, const OrtValueInfo *value, int64_t *out)
{
    const OrtNode *node = NULL;
    size_t id = 0;
    bool outer = false;
    *out = -1;
    if (!value)
        return NULL;
    TRY(w->ort->ValueInfo_IsFromOuterScope(value, &outer));
    if (outer)
        return NULL;
    TRY(w->ort->ValueInfo_GetValueProducer(value, &node, NULL));
    if (!node)
        return NULL;
    TRY(w->ort->Node_GetId(node, &id));
    *out = id < w->id_count ? w->ids[id] : -1;
    return NULL;
}

/* `input` of the edge: the index of the consumer's input, UINT32_MAX for values that its own subgraphs use. */
static OrtStatus *add_edges(struct work *w, uint32_t to, bool implicit, uint32_t **inputs)
{
    const OrtApi *ort = w->ort;
    size_t count = 0;
    OrtStatus *status =
        implicit ? ort->Node_GetNumImplicitInputs(w->nodes[to], &count) : ort->Node_GetNumInputs(w->nodes[to], &count);
    const OrtValueInfo **values = status ? NULL : calloc(count + 1, sizeof(*values));
    if (!status && !values)
        status = ep_status(w->ep->factory, ORT_FAIL, "out of memory");
    if (!status && count)
        status = implicit ? ort->Node_GetImplicitInputs(w->nodes[to], values, count)
                          : ort->Node_GetInputs(w->nodes[to], values, count);
    for (size_t i = 0; !status && i < count; i++) {
        int64_t from;
        status = producer_of(w, values[i], &from);
        if (status || from < 0)
            continue;
        uint32_t capacity = w->edge_capacity;
        if (!base_array_reserve((void **)&w->edges, w->edge_count, &w->edge_capacity, sizeof(*w->edges)) ||
            !base_array_reserve((void **)inputs, w->edge_count, &capacity, sizeof(**inputs))) {
            status = ep_status(w->ep->factory, ORT_FAIL, "out of memory");
            break;
        }
        (*inputs)[w->edge_count] = implicit ? UINT32_MAX : (uint32_t)i;
        w->edges[w->edge_count++] = (struct ep_edge){ (uint32_t)from, to, false };
    }
    free(values);
    return status;
}

static bool masked(uint32_t mask, uint32_t input)
{
    return input < 32 && mask >> input & 1;
}

/* Nodes whose results are only used as lengths, computed from graph inputs: a few integers, which the host computes
 * immediately, from tensors whose shapes may vary between runs. A graph that receives only the lengths is valid for all
 * of them. The nodes stay with the host when it asks again. */
static OrtStatus *leave_lengths(struct work *w, const uint32_t *inputs)
{
    enum { USED = 1, OTHERWISE = 2 };
    struct ep *ep = w->ep;
    uint8_t *state = calloc(w->count + 1, sizeof(*state));
    OrtStatus *status = state ? NULL : ep_status(ep->factory, ORT_FAIL, "out of memory");
    for (uint32_t e = w->edge_count; state && e-- > 0;) {
        const struct ep_edge *edge = &w->edges[e];
        bool length = masked(w->verdicts[edge->to].lengths, inputs[e]);
        if (w->parts[edge->to].claimed)
            state[edge->from] |= length || state[edge->to] == USED ? USED : OTHERWISE;
    }
    for (uint32_t i = 0, e = 0; !status && i < w->count; i++) {
        const char *name = w->model->nodes[i].output_count ? w->model->nodes[i].outputs[0] : "";
        for (; e < w->edge_count && w->edges[e].to == i; e++)
            state[i] |= w->parts[w->edges[e].from].claimed ? OTHERWISE : 0;
        if (state[i] != USED || !w->parts[i].claimed || !name[0])
            continue;
        name = base_arena_strdup(&ep->names, name);
        if (!name || !base_names_add(&ep->left, name, 0))
            status = ep_status(ep->factory, ORT_FAIL, "out of memory");
        w->parts[i].claimed = false;
    }
    free(state);
    return status;
}

static bool left_to_host(const struct work *w, uint32_t i)
{
    const struct onnx_node *n = &w->model->nodes[i];
    return n->output_count && base_names_find(&w->ep->left, n->outputs[0]);
}

/* An edge from a device node to one that needs the value while compiling (or that computes with it on the host for
 * another) is cut: the value then enters the consumer's subgraph from outside, where it is available. */
static void cut_edges(struct work *w, const uint32_t *inputs)
{
    for (uint32_t e = w->edge_count; e-- > 0;) {
        struct ep_edge *edge = &w->edges[e];
        if (!w->parts[edge->to].claimed || inputs[e] == UINT32_MAX)
            continue;
        bool wanted = masked(w->verdicts[edge->to].wants, inputs[e]);
        wanted = wanted || (w->needed[edge->to] && w->verdicts[edge->to].folds == 1);
        if (wanted)
            w->needed[edge->from] = true;
        edge->cut = wanted && w->parts[edge->from].claimed && w->verdicts[edge->from].folds == 0;
    }
}

static OrtStatus *fuse_level(struct work *w, uint32_t level, OrtEpGraphSupportInfo *info, const OrtNode **group)
{
    OrtNodeFusionOptions options = { .ort_version_supported = w->ep->factory->version,
                                     .drop_constant_initializers = true };
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (!w->parts[i].claimed || w->parts[i].level != level)
            continue;
        group[count++] = w->nodes[i];
        if (ep_replaced_in(w->ep, &w->model->nodes[i])) /* its value is an input of the subgraph */
            options.drop_constant_initializers = false;
        if (w->ep->options.disable_graph_fusion) {
            TRY(w->ep->factory->ep->EpGraphSupportInfo_AddNodesToFuse(info, group, count, &options));
            count = 0;
            options.drop_constant_initializers = true;
        }
    }
    return count ? w->ep->factory->ep->EpGraphSupportInfo_AddNodesToFuse(info, group, count, &options) : NULL;
}

static OrtStatus *take_contexts(struct work *w, OrtEpGraphSupportInfo *info)
{
    OrtNodeFusionOptions options = { .ort_version_supported = w->ep->factory->version };
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->contexts[i])
            TRY(w->ep->factory->ep->EpGraphSupportInfo_AddNodesToFuse(info, &w->nodes[i], 1, &options));
    }
    return NULL;
}

static OrtStatus *claim(struct work *w)
{
    uint32_t flags = ONNX_CHECK_NEWEST | (w->ep->device->onnx->host_memory ? 0 : ONNX_CHECK_COMPILE);
    HRESULT hr = onnx_check(w->model, w->ep->device->onnx->dml, flags, w->verdicts);
    if (FAILED(hr))
        return ep_status(w->ep->factory, ORT_FAIL, "the graph cannot be examined (0x%08x)", (unsigned)hr);
    for (uint32_t i = 0; i < w->count; i++) {
        const struct onnx_node *n = &w->model->nodes[i];
        const char *owner = NULL;
        TRY(w->ort->Node_GetEpName(w->nodes[i], &owner));
        bool taken = owner && owner[0]; /* including this provider: it is asked again after nodes were fused */
        w->parts[i].claimed = w->verdicts[i].ok && !taken && !left_to_host(w, i);
        if (!taken)
            TRY(ep_context_is_ours(w->ep, w->nodes[i], &w->contexts[i]));
        if (!w->verdicts[i].ok && !taken && !w->contexts[i])
            ep_log(w->ep, ORT_LOGGING_LEVEL_VERBOSE, "left to another provider: %s%s%s '%s': %s", n->domain,
                   n->domain[0] ? "." : "", n->op, n->name, w->verdicts[i].reason);
    }
    return NULL;
}

static OrtStatus *get_capability(struct work *w, const OrtGraph *graph, OrtEpGraphSupportInfo *info)
{
    uint32_t *inputs = NULL;
    OrtStatus *status = NULL;
    TRY(work_start(w, graph));
    TRY(ep_model_create(w->ep, graph, NULL, false, NULL, &w->model));
    TRY(claim(w));
    TRY(take_contexts(w, info));
    for (uint32_t i = 0; !status && i < w->count; i++) {
        status = add_edges(w, i, false, &inputs);
        if (!status)
            status = add_edges(w, i, true, &inputs);
    }
    if (!status && !w->ep->options.no_fallback)
        status = leave_lengths(w, inputs);
    const OrtNode **group = calloc(w->count + 1, sizeof(*group));
    if (!status && !group)
        status = ep_status(w->ep->factory, ORT_FAIL, "out of memory");
    if (!status) {
        cut_edges(w, inputs);
        uint32_t levels = ep_partition(w->parts, w->count, w->edges, w->edge_count);
        for (uint32_t level = 0; !status && level < levels; level++)
            status = fuse_level(w, level, info, group);
    }
    free(group);
    free(inputs);
    return status;
}

OrtStatus *ep_get_capability(struct ep *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info)
{
    struct work w = { .ep = ep, .ort = ep->factory->ort };
    OrtStatus *status = get_capability(&w, graph, info);
    work_finish(&w);
    return status;
}
