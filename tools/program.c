/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tools/program.h"

#include "tools/files.h"
#include "tools/text.h"

#include "base/os.h"
#include "base/pages.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- models ---- */

/* Models stay mapped while they are used. A file that is truncated meanwhile, or that the disk cannot read, ends the
 * command, in one line like every other error of a file. */
static char lost_text[512];

static void on_lost(int signal)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    (void)signal;
    /* Threads of the pool may read lost pages at the same time. The first one reports them and ends the process. */
    while (atomic_flag_test_and_set(&told))
        pause();
    if (write(STDERR_FILENO, lost_text, strlen(lost_text)) < 0)
        _exit(TOOLS_RUNTIME);
    _exit(TOOLS_USAGE);
}

static void watch_for_loss(const char *path)
{
    struct sigaction action = { .sa_handler = on_lost };
    snprintf(lost_text, sizeof(lost_text), "%s: %.400s: the file lost bytes while it was in use\n",
             program_invocation_short_name, path);
    for (char *c = lost_text; c[0] && c[1]; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    sigaction(SIGBUS, &action, NULL);
}

bool tools_model_load(const char *path, struct onnx_model **out, struct tools_error *error)
{
    struct onnx_error why = { "" };
    watch_for_loss(path);
    HRESULT hr = onnx_model_load(path, out, &why);
    if (SUCCEEDED(hr)) {
        tools_files_read(path);
        tools_files_read_mapped();
        return true;
    }
    *out = NULL;
    return tools_fail(error, hr == E_OUTOFMEMORY ? TOOLS_RUNTIME : TOOLS_USAGE, "%s: %s", path,
                      why.text[0] ? why.text : tools_hresult_name(hr));
}

/* ---- programs ---- */

static bool fail(const struct tools_session *session, HRESULT hr, const struct onnx_error *why,
                 struct tools_error *error)
{
    bool device = hr == E_OUTOFMEMORY || FAILED(ID3D12Device_GetDeviceRemovedReason(session->device->d3d));
    return tools_fail(error, device ? TOOLS_RUNTIME : TOOLS_USAGE, "%s",
                      why->text[0] ? why->text : tools_hresult_name(hr));
}

bool tools_compile(struct tools_session *session, const struct onnx_model *model, struct onnx_input *inputs,
                   DML_EXECUTION_FLAGS flags, struct onnx_program **out, double *ms, struct tools_error *error)
{
    struct onnx_error why = { "" };
    double start = tools_now_ms();
    if (session->own_weights && !session->device->host_memory)
        return tools_fail(error, TOOLS_USAGE, "--owned-weights requires a cpu device");
    HRESULT hr = (session->own_weights ? onnx_compile_owned : onnx_compile)(model, inputs, session->device->dml, flags,
                                                                            out, &why);
    *ms = tools_now_ms() - start;
    if (SUCCEEDED(hr))
        return true;
    *out = NULL;
    fail(session, hr, &why, error);
    error->parts = why.unknown;
    return false;
}

/* Zeroed memory for each port, aligned so that the device can use it in place. */
static bool program_memory(const struct onnx_port *ports, uint32_t count, void ***out, struct tools_error *error)
{
    void **memory = *out = calloc(count + 1, sizeof(*memory));
    for (uint32_t i = 0; memory && i < count; i++) {
        uint64_t bytes = ports[i].bytes <= SIZE_MAX / 2 ? base_align_up(BASE_MAX(ports[i].bytes, 1), 64) : 0;
        memory[i] = bytes && base_memory_fits(bytes) ? aligned_alloc(64, bytes) : NULL;
        if (!memory[i])
            return tools_fail(error, TOOLS_RUNTIME, "no memory for the %llu bytes of '%s'",
                              (unsigned long long)ports[i].bytes, ports[i].name);
        memset(memory[i], 0, bytes);
    }
    return memory || tools_fail_memory(error);
}

static uint64_t ports_bytes(const struct onnx_port *ports, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += BASE_MIN(ports[i].bytes, UINT64_MAX / 2 - bytes);
    return bytes;
}

/* A small file can ask for any amount: what the machine does not have is refused before anything is allocated. Weights
 * are not counted; they are in the file. */
static bool program_fits(const struct tools_program *p, const struct onnx_program *onnx, struct tools_error *error)
{
    const struct tools_device_info *info = &p->session->info;
    const uint64_t ports =
        ports_bytes(onnx->inputs, onnx->input_count) + ports_bytes(onnx->outputs, onnx->output_count);
    const uint64_t device = p->temporary_bytes + p->persistent_bytes;
    const bool host = p->session->device->host_memory;
    const uint64_t here = ports + (host ? device : 0), available = base_memory_available();
    if (here > available)
        return tools_fail(error, TOOLS_USAGE,
                          "it requires %llu bytes of memory (%llu of inputs and outputs, %llu within), but %llu are "
                          "available",
                          (unsigned long long)here, (unsigned long long)ports, (unsigned long long)(here - ports),
                          (unsigned long long)available);
    if (!host && device > info->dedicated_bytes + info->shared_bytes)
        return tools_fail(error, TOOLS_USAGE, "it requires %llu bytes of memory of the device, which has %llu",
                          (unsigned long long)device, (unsigned long long)(info->dedicated_bytes + info->shared_bytes));
    return true;
}

static bool program_prepare(struct tools_program *p, struct onnx_program *onnx, struct tools_error *error)
{
    struct onnx_error why;
    double start = tools_now_ms();
    if (onnx->op) { /* else every output is known already */
        DML_BINDING_PROPERTIES needs = IDMLCompiledOperator_GetBindingProperties(onnx->op);
        p->temporary_bytes = needs.TemporaryResourceSize;
        p->persistent_bytes = needs.PersistentResourceSize;
    }
    if (!program_fits(p, onnx, error)) {
        onnx_program_destroy(onnx);
        return false;
    }
    HRESULT hr = onnx_exec_create(p->session->device, onnx, &p->exec, &why);
    if (!tools_check(error, hr, "initialising the model"))
        return false;
    p->initialize_ms = tools_now_ms() - start;
    p->onnx = onnx;
    return program_memory(onnx->inputs, onnx->input_count, &p->inputs, error) &&
           program_memory(onnx->outputs, onnx->output_count, &p->outputs, error);
}

bool tools_program_create(struct tools_session *session, struct onnx_program *onnx, struct tools_program **out,
                          struct tools_error *error)
{
    struct tools_program *p = calloc(1, sizeof(*p));
    *out = NULL;
    if (!p) {
        onnx_program_destroy(onnx);
        return tools_fail_memory(error);
    }
    p->session = session;
    if (!program_prepare(p, onnx, error)) {
        tools_program_destroy(p);
        return false;
    }
    *out = p;
    return true;
}

/* ---- models that are not a single graph ---- */

static bool flow_allocate(struct tools_program *p, const struct onnx_model *model)
{
    struct onnx_program *ports = p->ports = calloc(1, sizeof(*ports));
    p->given = calloc(model->input_count + 1, sizeof(*p->given));
    p->made = calloc(model->output_count + 1, sizeof(*p->made));
    if (!ports || !p->given || !p->made)
        return false;
    ports->inputs = base_arena_alloc(&ports->arena, model->input_count * sizeof(*ports->inputs));
    ports->outputs = base_arena_alloc(&ports->arena, model->output_count * sizeof(*ports->outputs));
    ports->input_count = model->input_count;
    ports->output_count = model->output_count;
    return ports->inputs && ports->outputs;
}

bool tools_program_create_flow(struct tools_session *session, const struct onnx_model *model,
                               const struct onnx_input *inputs, DML_EXECUTION_FLAGS flags, struct tools_program **out,
                               struct tools_error *error)
{
    struct tools_program *p = calloc(1, sizeof(*p));
    bool ok = p && flow_allocate(p, model);
    *out = NULL;
    if (ok) {
        p->session = session;
        p->onnx = p->ports;
        p->flow = onnx_flow_create(model, session->device, session->pool, flags, session->own_weights);
        ok = p->flow != NULL;
    }
    for (uint32_t i = 0; ok && i < model->input_count; i++) {
        struct onnx_port *port = &p->ports->inputs[i];
        *port = (struct onnx_port){ model->inputs[i].name, model->inputs[i].type, .rank = inputs[i].rank };
        ok = onnx_array_make(&p->given[i], port->onnx_type, inputs[i].rank, inputs[i].dims);
        port->bytes = p->given[i].bytes;
        for (uint32_t d = 0; d < inputs[i].rank; d++)
            port->sizes[d] = (uint32_t)inputs[i].dims[d];
    }
    for (uint32_t i = 0; ok && i < model->output_count; i++)
        p->ports->outputs[i].name = model->outputs[i].name;
    if (ok)
        *out = p;
    else
        tools_program_destroy(p);
    return ok || tools_fail_memory(error);
}

static bool flow_run(struct tools_program *p, double *ms, struct tools_error *error)
{
    struct onnx_error why = { "" };
    for (uint32_t i = 0; i < p->ports->output_count; i++)
        onnx_array_finish(&p->made[i]);
    double start = tools_now_ms();
    HRESULT hr = onnx_flow_run(p->flow, p->given, p->made, &why);
    *ms = p->run_ms = tools_now_ms() - start;
    p->ports->node_count = onnx_flow_node_count(p->flow);
    return SUCCEEDED(hr) || fail(p->session, hr, &why, error);
}

static void flow_destroy(struct tools_program *p)
{
    for (uint32_t i = 0; p->given && i < p->ports->input_count; i++)
        onnx_array_finish(&p->given[i]);
    for (uint32_t i = 0; p->made && i < p->ports->output_count; i++)
        onnx_array_finish(&p->made[i]);
    onnx_flow_destroy(p->flow);
    onnx_program_destroy(p->ports);
    free(p->given);
    free(p->made);
}

/* ---- all ---- */

void tools_program_destroy(struct tools_program *p)
{
    if (!p)
        return;
    if (p->ports)
        flow_destroy(p);
    for (uint32_t i = 0; p->inputs && i < p->onnx->input_count; i++)
        free(p->inputs[i]);
    for (uint32_t i = 0; p->outputs && i < p->onnx->output_count; i++)
        free(p->outputs[i]);
    free(p->inputs);
    free(p->outputs);
    onnx_exec_destroy(p->exec);
    free(p);
}

bool tools_program_set_input(struct tools_program *p, uint32_t index, const struct tools_array *array,
                             struct tools_error *error)
{
    const struct onnx_port *port = &p->onnx->inputs[index];
    if (!p->flow && (!p->onnx->op || port->constant))
        return true;
    if (array->bytes != port->bytes)
        return tools_fail(error, TOOLS_USAGE, "input '%s' has %llu bytes, the model requires %llu", port->name,
                          (unsigned long long)array->bytes, (unsigned long long)port->bytes);
    memcpy(p->flow ? p->given[index].data : p->inputs[index], array->data, array->bytes);
    return true;
}

bool tools_program_run(struct tools_program *p, double *ms, struct tools_error *error)
{
    struct onnx_error why;
    if (p->flow)
        return flow_run(p, ms, error);
    double start = tools_now_ms();
    HRESULT hr = onnx_exec_run(p->exec, p->session->pool, NULL, (const void *const *)p->inputs, p->outputs, &why);
    *ms = tools_now_ms() - start;
    HRESULT removed = FAILED(hr) ? ID3D12Device_GetDeviceRemovedReason(p->session->device->d3d) : hr;
    return tools_check(error, FAILED(removed) ? removed : hr, "executing on the device");
}

bool tools_program_repeats(const struct tools_program *p)
{
    return !p->flow && p->onnx->op;
}

bool tools_program_repeat(struct tools_program *p, double *ms, struct tools_error *error)
{
    struct onnx_error why;
    double start = tools_now_ms();
    HRESULT hr = onnx_exec_repeat(p->exec, p->session->pool, &why);
    *ms = tools_now_ms() - start;
    return tools_check(error, hr, "executing on the device");
}

bool tools_program_watch(struct tools_program *p, uint32_t times, struct tools_error *error)
{
    return p->flow || !p->onnx->op ||
           tools_check(error, onnx_exec_watch(p->exec, p->session->pool, times), "creating the timestamps");
}

double tools_program_device_ms(const struct tools_program *p)
{
    return p->flow ? p->run_ms : onnx_exec_device_ms(p->exec); /* the parts' steps are on both sides */
}

bool tools_program_get_output(struct tools_program *p, uint32_t index, struct tools_array *out,
                              struct tools_error *error)
{
    const struct onnx_port *port = &p->onnx->outputs[index];
    const struct onnx_array *made = p->flow ? &p->made[index] : NULL;
    int64_t dims[ONNX_RANK_MAX];
    if (made && !tools_array_init(out, made->type, made->rank, made->dims, error))
        return false;
    if (made) {
        memcpy(out->data, made->data, out->bytes);
        return true;
    }
    for (uint32_t i = 0; i < port->rank; i++)
        dims[i] = port->sizes[i];
    if (!tools_array_init(out, port->onnx_type, port->rank, dims, error))
        return false;
    memcpy(out->data, p->outputs[index], out->bytes);
    return true;
}
