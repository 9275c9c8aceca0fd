/* SPDX-License-Identifier: Apache-2.0 */
/* A fused subgraph at run time: one compiled program per combination of input shapes (and of the values on which shapes
 * depend); the most recently used ones are kept. Any number of threads may run it concurrently. */
#include "ep.h"
#include "profile.h"

#include "base/os.h"

#include <stdio.h>
#include <stdlib.h>

/* A compiled program and the inputs that it was compiled for. */
struct variant {
    struct variant *next; /* more recently used first */
    uint64_t hash;
    void *key;
    size_t key_bytes;
    struct onnx_exec *exec;
    uint32_t users;
    bool dropped; /* out of the list; freed by its last user */
};

/* As in struct onnx_input: of = 0 or the number of an input plus 1. */
struct floor {
    uint32_t of, dim;
};

struct ep_subgraph {
    struct ep *ep;
    struct onnx_model *model;
    struct ep_ports ports; /* `taken`: under compile_lock */
    char name[128];
    pthread_mutex_t lock; /* all following members */
    pthread_mutex_t compile_lock;
    struct variant *variants;
    uint32_t variant_count;
    bool *wanted;         /* per input: programs are specialised for its value */
    struct floor *floors; /* per input */
    struct ep_lengths lengths;
    struct ep_file *file; /* that contains weights; NULL: they are the host's or copies */
    bool large;           /* the host had memory for the weights, which it has freed when this is started */
};

/* The data of one run. */
struct run {
    struct onnx_input *inputs; /* the original ones, or their maximum: see lengths.c */
    uint32_t lengths[ONNX_LENGTHS_MAX];
    const void **in;
    void **values_of; /* of inputs on the device: copies of those whose value is needed; freed with the run */
    int64_t *raised;  /* replaces a value that has a floor, in the input's type */
    bool *is_raised;
    void **out;
    OrtValue **values;
    bool *wanted; /* per input: its value is part of the key, as of the last fetch_values() */
};

/* ---- variants ---- */

static void variant_destroy(struct variant *v)
{
    onnx_exec_destroy(v->exec);
    free(v->key);
    free(v);
}

static void variant_release(struct ep_subgraph *s, struct variant *v)
{
    pthread_mutex_lock(&s->lock);
    bool last = --v->users == 0 && v->dropped;
    pthread_mutex_unlock(&s->lock);
    if (last)
        variant_destroy(v);
}

static uint64_t hash_bytes(const void *data, size_t bytes)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const uint8_t *)data)[i]) * 1099511628211u;
    return h;
}

/* The host address of an input's value. */
static const void *value_of(const struct run *r, uint32_t i)
{
    return r->is_raised[i] ? &r->raised[i] : r->values_of[i] ? r->values_of[i] : r->in[i];
}

static uint64_t input_bytes(const struct ep_subgraph *s, const struct run *r, uint32_t i)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < r->inputs[i].rank; d++)
        count *= ep_lengths_size(r->lengths, &r->inputs[i], d);
    return onnx_bytes(s->model->inputs[i].type, count);
}

/* A value that is not above its floors counts as the smallest of them; one that is above it by a variable length counts
 * as the maximum. One program serves all of them. */
static void raise_to_floor(struct ep_subgraph *s, struct run *r, uint32_t i)
{
    const bool wide = s->model->inputs[i].type == ONNX_INT64;
    int64_t floor = -1, most = -1, value = 0;
    int32_t narrow;
    r->is_raised[i] = false;
    pthread_mutex_lock(&s->lock);
    for (uint32_t k = 0; k < s->model->input_count; k++) {
        const struct onnx_input *in = &r->inputs[k];
        if (s->floors[k].of != i + 1 || s->floors[k].dim >= in->rank)
            continue;
        int64_t size = in->dims[s->floors[k].dim];
        if (floor >= 0 && size >= most)
            continue;
        most = size;
        floor = ep_lengths_size(r->lengths, in, s->floors[k].dim);
    }
    pthread_mutex_unlock(&s->lock);
    if (floor < 0 || input_bytes(s, r, i) != (wide ? sizeof(value) : sizeof(narrow)))
        return;
    const void *from = value_of(r, i);
    memcpy(&narrow, from, sizeof(narrow));
    if (wide)
        memcpy(&value, from, sizeof(value));
    value = wide ? value : narrow;
    value = value <= floor
                ? most
                : most + ep_lengths_most(&s->lengths, r->inputs, s->model->input_count, r->lengths, value - floor);
    narrow = (int32_t)value;
    memcpy(&r->raised[i], wide ? (void *)&value : (void *)&narrow, wide ? sizeof(value) : sizeof(narrow));
    r->is_raised[i] = true;
}

/* From the device to the host. */
static OrtStatus *fetch_value(struct ep_subgraph *s, struct run *r, uint32_t i)
{
    const struct onnx_memory *memory = s->ep->device->onnx->memory;
    uint64_t bytes = input_bytes(s, r, i), offset;
    ID3D12Resource *resource = memory && bytes ? memory->resolve(r->in[i], bytes, &offset) : NULL;
    if (!resource)
        return NULL;
    ID3D12Resource_Release(resource);
    r->values_of[i] = malloc(bytes);
    if (!r->values_of[i] || FAILED(memory->copy(r->values_of[i], r->in[i], bytes)))
        return ep_status(s->ep->factory, ORT_FAIL, "input '%s' cannot be read", s->model->inputs[i].name);
    return NULL;
}

/* Records which values are needed, and adds them to the key of programs. */
static OrtStatus *fetch_values(struct ep_subgraph *s, struct run *r)
{
    pthread_mutex_lock(&s->lock);
    memcpy(r->wanted, s->wanted, s->model->input_count * sizeof(*r->wanted));
    pthread_mutex_unlock(&s->lock);
    for (uint32_t i = 0; i < s->model->input_count; i++) {
        if (!r->wanted[i])
            continue;
        if (!r->values_of[i])
            TRY(fetch_value(s, r, i));
        raise_to_floor(s, r, i);
    }
    return NULL;
}

/* Shapes, then the needed values; r NULL: none. */
static void *make_key(const struct ep_subgraph *s, const struct onnx_input *inputs, const struct run *r,
                      size_t *out_bytes)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < s->model->input_count; i++)
        bytes += 8 + 9 * inputs[i].rank + (r && r->wanted[i] ? input_bytes(s, r, i) : 0);
    char *key = malloc(bytes), *at = key;
    for (uint32_t i = 0; key && i < s->model->input_count; i++) {
        int64_t rank = inputs[i].rank;
        at = (char *)memcpy(at, &rank, 8) + 8;
        at = (char *)memcpy(at, inputs[i].dims, 8 * inputs[i].rank) + 8 * inputs[i].rank;
        at = (char *)memcpy(at, inputs[i].length, inputs[i].rank) + inputs[i].rank;
        if (r && r->wanted[i]) {
            size_t size = input_bytes(s, r, i);
            at = (char *)memcpy(at, value_of(r, i), size) + size;
        }
    }
    *out_bytes = key ? (size_t)(at - key) : 0;
    return key;
}

/* Moves it to the front. */
static struct variant *find_variant(struct ep_subgraph *s, const void *key, size_t bytes)
{
    uint64_t hash = hash_bytes(key, bytes);
    for (struct variant **at = &s->variants; *at; at = &(*at)->next) {
        struct variant *v = *at;
        if (v->hash != hash || v->key_bytes != bytes || memcmp(v->key, key, bytes))
            continue;
        *at = v->next;
        v->next = s->variants;
        s->variants = v;
        v->users++;
        return v;
    }
    return NULL;
}

/* Shrinks the list to its limit; a victim is released when no run uses it. */
static struct variant *insert_variant(struct ep_subgraph *s, struct variant *v)
{
    struct variant *victim = NULL, **at = &s->variants;
    v->next = s->variants;
    s->variants = v;
    if (++s->variant_count <= s->ep->options.shapes_max)
        return NULL;
    while ((*at)->next)
        at = &(*at)->next;
    victim = *at;
    *at = NULL;
    s->variant_count--;
    victim->dropped = true;
    return victim->users ? NULL : victim;
}

/* The host allocates outputs by their declared types. */
static bool types_agree(const struct onnx_model *model, const struct onnx_program *program)
{
    for (uint32_t i = 0; i < program->output_count; i++) {
        if (program->outputs[i].onnx_type != model->outputs[i].type)
            return false;
    }
    return true;
}

/* r NULL: before any run. */
static OrtStatus *compile_variant(struct ep_subgraph *s, struct onnx_input *inputs, struct run *r,
                                  struct onnx_exec **out)
{
    struct ep *ep = s->ep;
    struct onnx_error error = { "" };
    struct onnx_program *program = NULL;
    DML_EXECUTION_FLAGS flags = ep->options.half_precision ? ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 : 0;
    HRESULT hr;
    if (s->file && !ep_file_unchanged(s->file))
        return ep_status(ep->factory, ORT_FAIL, "'%s': the file of the model has changed", s->name);
    if (ep->options.disable_metacommands && !ep->device->onnx->host_memory) /* for a CPU it means slow kernels */
        flags |= DML_EXECUTION_FLAG_DISABLE_META_COMMANDS;
    for (;;) {
        bool again = false;
        for (uint32_t i = 0; i < s->model->input_count; i++) {
            inputs[i].data = s->wanted[i] && r ? value_of(r, i) : NULL;
            inputs[i].floor_of = s->floors[i].of;
            inputs[i].floor_dim = s->floors[i].dim;
        }
        hr = onnx_compile(s->model, inputs, ep->device->onnx->dml, flags, &program, &error);
        pthread_mutex_lock(&s->lock);
        for (uint32_t i = 0; FAILED(hr) && r && i < s->model->input_count; i++) {
            again = again || (inputs[i].wanted && !s->wanted[i]);
            s->wanted[i] = s->wanted[i] || inputs[i].wanted;
            if (inputs[i].floor_of)
                s->floors[i] = (struct floor){ inputs[i].floor_of, inputs[i].floor_dim };
        }
        pthread_mutex_unlock(&s->lock);
        if (!again)
            break;
        OrtStatus *status = fetch_values(s, r);
        if (status)
            return status;
    }
    if (FAILED(hr))
        ep_lengths_give_up(&s->lengths, error.partial);
    if (SUCCEEDED(hr) && !types_agree(s->model, program)) {
        onnx_program_destroy(program);
        return ep_status(ep->factory, ORT_INVALID_GRAPH, "'%s' computes other types than it declares", s->name);
    }
    if (SUCCEEDED(hr))
        hr = onnx_exec_create(ep->device->onnx, program, out, &error);
    return FAILED(hr) ? ep_status_hr(ep->factory, hr, &error) : NULL;
}

static OrtStatus *new_variant(struct ep_subgraph *s, struct onnx_input *inputs, struct run *r, struct variant **out)
{
    struct variant *v = calloc(1, sizeof(*v)), *victim = NULL;
    uint64_t begin = ep_now_us();
    OrtStatus *status =
        v ? compile_variant(s, inputs, r, &v->exec) : ep_status(s->ep->factory, ORT_FAIL, "out of memory");
    if (!status)
        ep_profile_add(s->ep, EP_PROFILE_COMPILE, s->name, begin);
    pthread_mutex_lock(&s->lock);
    if (!status && !(v->key = make_key(s, inputs, r, &v->key_bytes)))
        status = ep_status(s->ep->factory, ORT_FAIL, "out of memory");
    if (!status) {
        v->hash = hash_bytes(v->key, v->key_bytes);
        v->users = 1;
        victim = insert_variant(s, v);
    }
    pthread_mutex_unlock(&s->lock);
    if (victim)
        variant_destroy(victim);
    if (status && v)
        variant_destroy(v);
    *out = status ? NULL : v;
    return status;
}

static OrtStatus *lookup(struct ep_subgraph *s, struct run *r, struct variant **out)
{
    size_t bytes;
    OrtStatus *status = fetch_values(s, r);
    if (status)
        return status;
    pthread_mutex_lock(&s->lock);
    void *key = make_key(s, r->inputs, r, &bytes);
    *out = key ? find_variant(s, key, bytes) : NULL;
    pthread_mutex_unlock(&s->lock);
    free(key);
    return key ? NULL : ep_status(s->ep->factory, ORT_FAIL, "out of memory");
}

/* One for these sizes, or one for the most that they can be. */
static OrtStatus *lookup_either(struct ep_subgraph *s, struct run *r, struct variant **out)
{
    ep_lengths_exact(&s->lengths, r->inputs, r->lengths);
    TRY(lookup(s, r, out));
    if (!*out && ep_lengths_round_up(&s->lengths, r->inputs, r->lengths))
        TRY(lookup(s, r, out));
    return NULL;
}

/* A graph for the maximum of the sizes if it is known to work; otherwise for these sizes. */
static OrtStatus *compile_either(struct ep_subgraph *s, struct run *r, struct variant **out)
{
    const OrtApi *ort = s->ep->factory->ort;
    for (bool again = true; again && ep_lengths_round_up(&s->lengths, r->inputs, r->lengths);) {
        TRY(fetch_values(s, r));
        OrtStatus *status = new_variant(s, r->inputs, r, out);
        if (!status)
            return NULL;
        again = ep_lengths_refused(&s->lengths, r->lengths); /* without those it may succeed */
        ep_log(s->ep, ORT_LOGGING_LEVEL_VERBOSE, "%s is compiled for each size: %s", s->name,
               ort->GetErrorMessage(status));
        ort->ReleaseStatus(status);
        ep_lengths_exact(&s->lengths, r->inputs, r->lengths);
    }
    TRY(fetch_values(s, r));
    return new_variant(s, r->inputs, r, out);
}

/* One thread compiles at a time; another that waited for it may find its work done. */
static OrtStatus *get_variant(struct ep_subgraph *s, OrtKernelContext *context, struct run *r, struct variant **out)
{
    OrtStatus *status = lookup_either(s, r, out);
    if (status || *out)
        return status;
    pthread_mutex_lock(&s->compile_lock);
    status = lookup_either(s, r, out);
    if (!status && !*out)
        status = ep_replaced_take(s->ep, s->model, &s->ports, context);
    if (!status && !*out)
        status = compile_either(s, r, out);
    pthread_mutex_unlock(&s->compile_lock);
    return status;
}

/* ---- life ---- */

/* Whether all sizes are known. */
static bool read_sizes(const struct ep_subgraph *s, struct onnx_input *inputs)
{
    bool whole = !s->ports.replaced_count;
    for (uint32_t i = 0; whole && i < s->model->input_count; i++) {
        const struct onnx_value_info *info = &s->model->inputs[i];
        whole = info->has_shape;
        inputs[i].rank = info->rank;
        for (uint32_t d = 0; d < info->rank; d++) {
            inputs[i].dims[d] = info->dims[d];
            whole = whole && info->dims[d] >= 0;
        }
    }
    return whole;
}

/* Of weights that belong to the host or to the file. */
static uint64_t borrowed_bytes(const struct onnx_model *model)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < model->initializer_count; i++)
        bytes += model->initializers[i].borrowed ? model->initializers[i].bytes : 0;
    return bytes;
}

static void leave_file(struct ep_subgraph *s)
{
    ep_file_release(s->file);
    s->file = NULL;
}

/* If all sizes are known, compiles. Otherwise the weights are kept for later: as copies, or many in the file. */
static OrtStatus *compile_early(struct ep_subgraph *s)
{
    uint32_t count = s->model->input_count;
    struct onnx_input *inputs = calloc(count + 1, sizeof(*inputs));
    struct variant *v = NULL;
    OrtStatus *status = inputs && read_sizes(s, inputs) ? new_variant(s, inputs, NULL, &v) : NULL;
    bool wants = false;
    for (uint32_t i = 0; status && i < count; i++)
        wants = wants || inputs[i].wanted;
    if (wants) { /* the values are known only at a run */
        s->ep->factory->ort->ReleaseStatus(status);
        status = NULL;
    }
    if (v) { /* there will be no other */
        ep_model_drop_data(s->model);
        variant_release(s, v);
        leave_file(s);
    } else if (!status && !(s->file && borrowed_bytes(s->model) > EP_COPIED_MAX)) {
        if (!ep_model_own_data(s->model, true))
            status = ep_status(s->ep->factory, ORT_FAIL, "out of memory");
        leave_file(s);
    }
    free(inputs);
    return status;
}

OrtStatus *ep_subgraph_start(struct ep_subgraph *s)
{
    if (!s->large)
        return NULL;
    s->large = false;
    base_give_back(); /* packed weights need it, in other sizes */
    return s->file ? compile_early(s) : NULL;
}

OrtStatus *ep_subgraph_create(struct ep *ep, struct onnx_model *model, const struct ep_ports *ports, const char *name,
                              struct ep_file *file, struct ep_subgraph **out)
{
    struct ep_subgraph *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (s)
        s->wanted = calloc(model->input_count + 1, sizeof(*s->wanted));
    if (s)
        s->floors = calloc(model->input_count + 1, sizeof(*s->floors));
    if (!s || !s->wanted || !s->floors) {
        if (s)
            free(s->wanted);
        free(s);
        ep_model_destroy(model);
        return ep_status(ep->factory, ORT_FAIL, "out of memory");
    }
    s->ep = ep;
    s->model = model;
    s->ports = *ports;
    snprintf(s->name, sizeof(s->name), "%s", name);
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->compile_lock, NULL);
    if (!ep->options.device_tensors) /* there they are used in place */
        ep_lengths_init(&s->lengths, model);
    s->file = file ? ep_file_share(file) : NULL;
    s->large = borrowed_bytes(model) >= EP_LARGE;
    OrtStatus *status = file ? NULL : compile_early(s);
    if (status)
        ep_subgraph_destroy(s);
    else
        *out = s;
    return status;
}

void ep_subgraph_destroy(struct ep_subgraph *s)
{
    if (!s)
        return;
    while (s->variants) {
        struct variant *v = s->variants;
        s->variants = v->next;
        variant_destroy(v);
    }
    ep_model_destroy(s->model);
    leave_file(s);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->compile_lock);
    free(s->wanted);
    free(s->floors);
    ep_lengths_finish(&s->lengths);
    free(s);
}

/* ---- running ---- */

OrtStatus *ep_read_shape(const OrtApi *ort, const OrtValue *value, int32_t *type, size_t *rank, int64_t *dims)
{
    OrtTensorTypeAndShapeInfo *shape = NULL;
    ONNXTensorElementDataType element = 0;
    TRY(ort->GetTensorTypeAndShape(value, &shape));
    OrtStatus *status = ort->GetTensorElementType(shape, &element);
    if (!status)
        status = ort->GetDimensionsCount(shape, rank);
    if (!status && *rank <= ONNX_RANK_MAX)
        status = ort->GetDimensions(shape, dims, *rank);
    *type = (int32_t)element;
    ort->ReleaseTensorTypeAndShapeInfo(shape);
    return status;
}

static OrtStatus *read_inputs(struct ep_subgraph *s, OrtKernelContext *context, struct run *r)
{
    const OrtApi *ort = s->ep->factory->ort;
    for (uint32_t i = 0; i < s->model->input_count; i++) {
        const struct onnx_value_info *info = &s->model->inputs[i];
        const OrtValue *value = NULL;
        int32_t type = 0;
        size_t rank = 0;
        TRY(ort->KernelContext_GetInput(context, s->ports.of ? s->ports.of[i] : i, &value));
        if (!value)
            return ep_status(s->ep->factory, ORT_INVALID_ARGUMENT, "input '%s' is missing", info->name);
        TRY(ep_read_shape(ort, value, &type, &rank, r->inputs[i].dims));
        if (type != info->type || rank > ONNX_RANK_MAX)
            return ep_status(s->ep->factory, ORT_INVALID_ARGUMENT,
                             "input '%s' has type %d and %zu dimensions; must have type %d and at most %d", info->name,
                             type, rank, info->type, ONNX_RANK_MAX);
        r->inputs[i].rank = (uint32_t)rank;
        TRY(ort->GetTensorData(value, &r->in[i]));
    }
    return NULL;
}

static OrtStatus *make_outputs(struct ep_subgraph *s, const struct onnx_program *p, OrtKernelContext *context,
                               struct run *r)
{
    const OrtApi *ort = s->ep->factory->ort;
    for (uint32_t i = 0; i < p->output_count; i++) {
        const struct onnx_port *port = &p->outputs[i];
        int64_t dims[ONNX_RANK_MAX];
        onnx_port_dims(p, port, r->lengths, dims);
        TRY(ort->KernelContext_GetOutput(context, i, dims, port->rank, &r->values[i]));
        TRY(ort->GetTensorMutableData(r->values[i], &r->out[i]));
    }
    return NULL;
}

static OrtStatus *run_variant(struct ep_subgraph *s, struct variant *v, OrtKernelContext *context, struct run *r)
{
    struct onnx_error error = { "" };
    TRY(make_outputs(s, onnx_exec_program(v->exec), context, r));
    uint64_t begin = ep_now_us();
    HRESULT hr = onnx_exec_run(v->exec, s->ep->pool, r->lengths, r->in, r->out, &error);
    ep_profile_add(s->ep, EP_PROFILE_RUN, s->name, begin);
    return FAILED(hr) ? ep_status_hr(s->ep->factory, hr, &error) : NULL;
}

OrtStatus *ep_subgraph_run(struct ep_subgraph *s, OrtKernelContext *context)
{
    uint32_t inputs = s->model->input_count, outputs = s->model->output_count;
    struct variant *v = NULL;
    struct run r = { NULL };
    size_t per_input = sizeof(*r.inputs) + sizeof(*r.in) + sizeof(*r.values_of) + sizeof(*r.raised) +
                       sizeof(*r.wanted) + sizeof(*r.is_raised);
    char *block = calloc(1, inputs * per_input + outputs * (sizeof(*r.out) + sizeof(*r.values)) + 1);
    if (!block)
        return ep_status(s->ep->factory, ORT_FAIL, "out of memory");
    r.inputs = (struct onnx_input *)block;
    r.raised = (int64_t *)(r.inputs + inputs);
    r.in = (const void **)(r.raised + inputs);
    r.values_of = (void **)(r.in + inputs);
    r.out = r.values_of + inputs;
    r.values = (OrtValue **)(r.out + outputs);
    r.wanted = (bool *)(r.values + outputs);
    r.is_raised = r.wanted + inputs;
    OrtStatus *status = read_inputs(s, context, &r);
    if (!status)
        status = get_variant(s, context, &r, &v);
    if (!status) {
        status = run_variant(s, v, context, &r);
        variant_release(s, v);
    }
    for (uint32_t i = 0; i < inputs; i++)
        free(r.values_of[i]);
    free(block);
    return status;
}
