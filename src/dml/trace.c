/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_TRACE=FILE and AnydmlSetTrace: compiled and executed work as the JSON of browsers' trace viewers. All devices
 * of the process write to one file. It is valid after each run: each write overwrites the end of the previous one and
 * terminates the file again, in one call, so that a program may exit at any time. */
#include "dml/dml.h"

#include "graph/ir/cost.h"
#include "graph/ir/text.h"
#include "shaders/shader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/os.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the file and all devices' clients */
static struct {
    FILE *file; /* without a buffer */
    uint32_t users;
    struct graph_text next; /* events that are to be written */
    long end;               /* append position, after the last event; 0 = nothing written yet */
    bool empty, failed;
} process;

/* Under the lock. A failed write is replaced by blanks after the end. */
static void file_settle(void)
{
    static const char ending[] = "\n]}\n";
    const size_t last = sizeof(ending) - 1;
    graph_text_add(&process.next, "%s", ending);
    char *text = graph_text_detach(&process.next);
    const size_t size = text ? strlen(text) : 0;
    memset(&process.next, 0, sizeof(process.next));
    errno = ENOMEM;
    if (text && !fseek(process.file, process.end, SEEK_SET) && fwrite(text, 1, size, process.file) == size) {
        process.end += (long)(size - last);
    } else if (!process.failed) {
        const int why = errno;
        process.failed = true;
        clearerr(process.file);
        fseek(process.file, 0, SEEK_END);
        const long all = ftell(process.file);
        fseek(process.file, process.end, SEEK_SET);
        fputs(ending, process.file);
        for (long i = process.end + (long)last; i < all; i++)
            fputc(' ', process.file);
        base_log(BASE_LOG_WARN, "ANYDML_TRACE: the file could not be written, the rest is omitted: %s", strerror(why));
    }
    free(text);
}

/* ---- events as text ---- */

static void add_string(struct graph_text *json, const char *string)
{
    graph_text_add(json, "\"");
    for (const char *next = string; *next; next++) {
        unsigned char c = (unsigned char)*next;
        if (c == '"' || c == '\\')
            graph_text_add(json, "\\%c", c);
        else if (c < 0x20)
            graph_text_add(json, c == '\n' ? "\\n" : "\\u%04x", c);
        else
            graph_text_add(json, "%c", c);
    }
    graph_text_add(json, "\"");
}

/* The fields that all events have; `ns` is of base_now_ns(). */
static void event_begin(struct graph_text *json, const char *phase, const char *category, const char *name, uint64_t ns)
{
    memset(json, 0, sizeof(*json));
    graph_text_add(json, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"cat\":\"%s\",\"name\":", phase,
                   base_process_id(), base_thread_id(), (double)ns / 1000.0, category);
    add_string(json, name);
}

/* Under the lock. Events are dropped when out of memory. */
static void event_send(struct dml_trace *trace, const char *category, const char *name, const char *text,
                       struct graph_text *json)
{
    char *line = graph_text_detach(json);
    struct anydml_trace_event event = { category, name, text, line };
    if (!line)
        return;
    if (trace->file && !process.failed) {
        graph_text_add(&process.next, "%s\n%s", process.empty ? "" : ",", line);
        process.empty = false;
    }
    if (trace->client.Event)
        trace->client.Event(trace->client.Context, &event);
    free(line);
}

/* ---- executed work ---- */

struct cost {
    uint64_t flops, read, written;
    double min_ns; /* as fast as the peaks allow */
};

/* Numbers that vary between runs are last. */
static void add_cost(struct graph_text *json, const struct cost *cost, uint64_t begin_ns, uint64_t end_ns)
{
    double ns = (double)BASE_MAX(end_ns - begin_ns, 1u);
    graph_text_add(json,
                   "\"bytes_read\":%llu,\"bytes_written\":%llu,\"flops\":%llu,\"rate_gb_per_s\":%.3f,"
                   "\"rate_gflops\":%.3f",
                   (unsigned long long)cost->read, (unsigned long long)cost->written, (unsigned long long)cost->flops,
                   (double)(cost->read + cost->written) / ns, (double)cost->flops / ns);
    if (cost->min_ns > 0)
        graph_text_add(json, ",\"roofline\":%.3f", cost->min_ns / ns);
    graph_text_add(json, "},\"dur\":%.3f}", (end_ns - begin_ns) / 1000.0);
}

static struct cost cost_of(const struct dml_trace *trace, const struct graph_step *step)
{
    struct graph_cost cost;
    double compute = 0, memory = 0;
    graph_op_cost(&step->op, &cost);
    if (trace->client.PeakFlops > 0 && trace->client.PeakBytes > 0) {
        compute = (double)cost.flops / trace->client.PeakFlops * 1e9;
        memory = (double)(cost.read + cost.written) / trace->client.PeakBytes * 1e9;
    }
    return (struct cost){ cost.flops, cost.read, cost.written, BASE_MAX(compute, memory) };
}

static char *shapes_of(const struct kern_op *op)
{
    struct graph_text text = { 0 };
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        graph_text_add(&text, "%s", t == op->input_count ? " -> " : t ? ", " : "");
        graph_text_view(&text, &op->tensors[t]);
    }
    return graph_text_detach(&text);
}

/* For tuning (ANYDML_KERNELS): the op's class, and the alternative kernels. */
static void add_rows(struct graph_text *json, const struct dml_trace *trace, const struct kern_op *op)
{
    const struct dml_device *device =
        (const struct dml_device *)((const char *)trace - offsetof(struct dml_device, trace));
    struct shader_choice choices[16];
    struct kern_op plain = *op;
    plain.tile = 0;
    const char *variable;
    const uint64_t key = dml_rows_wanted(&variable) ? shader_choice_key(&plain) : 0;
    if (!key)
        return;
    const uint32_t count =
        shader_choice_list(&plain, device->adapter->shader_capabilities, choices, ARRAY_SIZE(choices));
    graph_text_add(json, ",\"class\":\"%016llx\",\"rows\":[", (unsigned long long)key);
    for (uint32_t i = 0; i < BASE_MIN(count, ARRAY_SIZE(choices)); i++) {
        char name[64];
        shader_choice_print(&choices[i], name, sizeof(name));
        graph_text_add(json, "%s\"%s\"", i ? "," : "", name);
    }
    graph_text_add(json, "]");
}

static void send_step(struct dml_trace *trace, const struct graph_step *step, const struct cost *cost,
                      const uint64_t *times)
{
    const char *name = step->origin && *step->origin ? step->origin : "made by a pass";
    struct graph_text json, kind = { 0 };
    graph_text_op(&kind, &step->op);
    char *op = graph_text_detach(&kind), *shapes = shapes_of(&step->op);
    event_begin(&json, "X", "step", name, times[0]);
    graph_text_add(&json, ",\"args\":{\"kernel\":");
    add_string(&json, step->kernel);
    if (step->node != GRAPH_NONE)
        graph_text_add(&json, ",\"node\":%u", step->node);
    if (*step->names) {
        graph_text_add(&json, ",\"names\":");
        add_string(&json, step->names);
    }
    graph_text_add(&json, ",\"op\":");
    add_string(&json, op ? op : "");
    graph_text_add(&json, ",\"shapes\":");
    add_string(&json, shapes ? shapes : "");
    if (step->target == GRAPH_TARGET_SPIRV) {
        add_rows(&json, trace, &step->op);
        graph_text_add(&json, ",\"dispatches\":%u,", shader_commands(step->u.spirv.work));
    } else {
        graph_text_add(&json, ",\"threads\":%u,", step->threads);
    }
    add_cost(&json, cost, times[0], times[1]);
    event_send(trace, "step", name, NULL, &json);
    free(shapes);
    free(op);
}

/* A slice for the whole run, in which viewers nest the steps' slices. */
static void send_run(struct dml_trace *trace, const struct dml_compiled_operator *op, const struct graph_plan *plan,
                     const struct cost *sum, const uint64_t *times)
{
    char name[96];
    struct graph_text json;
    snprintf(name, sizeof(name), "%s #%llu", op->what, (unsigned long long)op->id);
    event_begin(&json, "X", "run", name, times[0]);
    graph_text_add(&json, ",\"args\":{\"steps\":%u,", plan->step_count);
    if (!op->program.spirv)
        graph_text_add(&json, "\"threads\":%u,", plan->threads);
    add_cost(&json, sum, times[0], times[plan->step_count]);
    event_send(trace, "run", name, NULL, &json);
}

static void trace_run(void *context, const struct graph_plan *plan, const uint64_t *times)
{
    const struct dml_compiled_operator *op = context;
    struct dml_trace *trace = &dml_parent(context)->trace;
    struct cost sum = { 0 };
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        struct cost cost = cost_of(trace, &plan->steps[i]);
        sum.flops += cost.flops;
        sum.read += cost.read;
        sum.written += cost.written;
        sum.min_ns += cost.min_ns;
    }
    send_run(trace, op, plan, &sum, times);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        struct cost cost = cost_of(trace, &plan->steps[i]);
        send_step(trace, &plan->steps[i], &cost, &times[i]);
    }
    if (trace->file && !process.failed)
        file_settle();
    pthread_mutex_unlock(&lock);
}

const struct graph_tracer *dml_trace_tracer(struct dml_compiled_operator *op, struct graph_tracer *storage)
{
    if (!atomic_load_explicit(&dml_parent(op)->trace.on, memory_order_relaxed))
        return NULL;
    *storage = (struct graph_tracer){ trace_run, op };
    return storage;
}

/* The times of dispatches, of which each step has one or more. */
static void trace_dispatches(void *context, const uint64_t *dispatch_times)
{
    const struct graph_plan *plan = ((const struct dml_compiled_operator *)context)->program.plan;
    uint64_t *times = malloc((plan->step_count + UINT64_C(1)) * sizeof(*times));
    uint32_t done = 0;
    if (!times)
        return;
    times[0] = dispatch_times[0];
    for (uint32_t i = 0; i < plan->step_count; i++) {
        done += shader_commands(plan->steps[i].u.spirv.work);
        times[i + 1] = dispatch_times[done];
    }
    trace_run(context, plan, times);
    free(times);
}

const struct adapter_tracer *dml_trace_device_tracer(struct dml_compiled_operator *op, struct adapter_tracer *storage)
{
    if (!atomic_load_explicit(&dml_parent(op)->trace.on, memory_order_relaxed))
        return NULL;
    *storage = (struct adapter_tracer){ trace_dispatches, op };
    return storage;
}

/* ---- compiled work ---- */

static void send_text(struct dml_trace *trace, const char *category, const char *what, uint64_t id, const char *when,
                      char *text)
{
    struct graph_text json;
    char name[96];
    const uint64_t now = base_now_ns();
    if (!text)
        return;
    snprintf(name, sizeof(name), "%s #%llu %s", what, (unsigned long long)id, when);
    pthread_mutex_lock(&lock);
    event_begin(&json, "i", category, name, now);
    graph_text_add(&json, ",\"s\":\"p\",\"args\":{\"text\":");
    add_string(&json, text);
    graph_text_add(&json, "}}");
    event_send(trace, category, name, text, &json);
    if (trace->file && !process.failed)
        file_settle();
    pthread_mutex_unlock(&lock);
    free(text);
}

void dml_trace_graph(struct dml_trace *trace, const char *what, uint64_t id, const char *when,
                     const struct graph *graph)
{
    if (trace && atomic_load(&trace->on))
        send_text(trace, "graph", what, id, when, graph_print(graph));
}

void dml_trace_plan(struct dml_trace *trace, const char *what, uint64_t id, const struct graph_plan *plan)
{
    if (trace && atomic_load(&trace->on))
        send_text(trace, "plan", what, id, "plan", graph_plan_print(plan));
}

/* ---- listeners ---- */

static bool file_open(const char *path)
{
    process.file = base_open_named(path, process.end);
    if (!process.file)
        return false;
    setvbuf(process.file, NULL, _IONBF, 0);
    if (!process.end) {
        graph_text_add(&process.next, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
        process.empty = true;
        file_settle();
    }
    return true;
}

void dml_trace_open(struct dml_trace *trace)
{
    const char *path = base_environment("ANYDML_TRACE");
    if (!path || !*path)
        return;
    pthread_mutex_lock(&lock);
    errno = 0;
    trace->file = process.users || file_open(path);
    int why = errno;
    process.users += trace->file;
    pthread_mutex_unlock(&lock);
    atomic_store(&trace->on, trace->file);
    if (!trace->file)
        base_log(BASE_LOG_WARN, "ANYDML_TRACE: cannot write %s: %s", path,
                 why == ELOOP ? "it is a symbolic link" : strerror(why));
}

void dml_trace_close(struct dml_trace *trace)
{
    if (!trace->file)
        return;
    pthread_mutex_lock(&lock);
    if (!--process.users) {
        if (fclose(process.file) && !process.failed)
            base_log(BASE_LOG_WARN, "ANYDML_TRACE: the file could not be written completely");
        process.file = NULL;
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) HRESULT AnydmlSetTrace(IDMLDevice *iface, const struct anydml_trace *client)
{
    static const struct anydml_trace none;
    struct dml_device *device = dml_device_own(iface);
    if (!device)
        return E_INVALIDARG;
    struct dml_trace *trace = &device->trace;
    pthread_mutex_lock(&lock);
    trace->client = client ? *client : none;
    atomic_store(&trace->on, trace->file || trace->client.Event);
    pthread_mutex_unlock(&lock);
    return S_OK;
}
