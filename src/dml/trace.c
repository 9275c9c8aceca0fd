/* ANYDML_TRACE=FILE: what is compiled and executed, as the JSON that trace viewers of browsers read. All devices of the
 * process write to one file; it is complete whenever no device lives, and a later device goes on behind it. */
#define _GNU_SOURCE
#include "dml/dml.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "base/log.h"

struct dml_trace {
    FILE *file;
    uint32_t users;
    long end; /* where the next event goes, behind a closed file's last one; 0 = nothing was written yet */
    bool empty;
    struct graph_tracer tracer;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the one trace */
static struct dml_trace trace_of_process;

static void print_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", file);
        else if (c < 0x20)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

/* Under the lock: what stands between two events, and the fields that all have. */
static FILE *event_begin(struct dml_trace *trace, const char *phase, uint64_t ns)
{
    fprintf(trace->file, "%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%ld,\"ts\":%.3f", trace->empty ? "" : ",", phase,
            (int)getpid(), (long)syscall(SYS_gettid), (double)ns / 1000.0);
    trace->empty = false;
    return trace->file;
}

static uint64_t step_bytes(const struct graph_step *step)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < step->op.input_count + step->op.output_count; i++)
        bytes += graph_view_span_bytes(&step->op.tensors[i]);
    return bytes;
}

static void trace_step(void *context, const struct graph_step *step, uint64_t begin_ns, uint64_t end_ns)
{
    struct dml_trace *trace = context;
    pthread_mutex_lock(&lock);
    FILE *file = event_begin(trace, "X", begin_ns);
    fprintf(file, ",\"dur\":%.3f,\"cat\":\"step\",\"name\":", (double)(end_ns - begin_ns) / 1000.0);
    print_string(file, step->origin && *step->origin ? step->origin : "made by a pass");
    fputs(",\"args\":{\"kernel\":", file);
    print_string(file, step->row ? step->row->name : "none");
    if (step->node != GRAPH_NONE)
        fprintf(file, ",\"node\":%u", step->node);
    fprintf(file, ",\"bytes\":%llu}}", (unsigned long long)step_bytes(step));
    pthread_mutex_unlock(&lock);
}

static bool file_open(struct dml_trace *trace, const char *path)
{
    trace->file = fopen(path, trace->end ? "r+" : "w");
    if (!trace->file)
        return false;
    if (trace->end) {
        fseek(trace->file, trace->end, SEEK_SET);
    } else {
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", trace->file);
        trace->empty = true;
    }
    trace->tracer = (struct graph_tracer){ trace_step, trace };
    return true;
}

struct dml_trace *dml_trace_open(void)
{
    const char *path = getenv("ANYDML_TRACE");
    struct dml_trace *trace = &trace_of_process;
    if (!path || !*path)
        return NULL;
    pthread_mutex_lock(&lock);
    bool open = trace->users || file_open(trace, path);
    trace->users += open;
    pthread_mutex_unlock(&lock);
    if (!open)
        base_log(BASE_LOG_WARN, "ANYDML_TRACE: cannot write %s", path);
    return open ? trace : NULL;
}

void dml_trace_close(struct dml_trace *trace)
{
    if (!trace)
        return;
    pthread_mutex_lock(&lock);
    if (!--trace->users) {
        trace->end = ftell(trace->file);
        fputs("\n]}\n", trace->file);
        if (fclose(trace->file))
            base_log(BASE_LOG_WARN, "ANYDML_TRACE: the file could not be written completely");
        trace->file = NULL;
    }
    pthread_mutex_unlock(&lock);
}

const struct graph_tracer *dml_trace_tracer(struct dml_trace *trace)
{
    return trace ? &trace->tracer : NULL;
}

void dml_trace_graph(struct dml_trace *trace, const char *what, uint64_t id, const char *when,
                     const struct graph *graph)
{
    struct timespec now;
    char *text = trace ? graph_print(graph) : NULL;
    if (!text)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    FILE *file = event_begin(trace, "i", (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    fprintf(file, ",\"s\":\"p\",\"cat\":\"graph\",\"name\":\"%s #%llu %s\",\"args\":{\"text\":", what,
            (unsigned long long)id, when);
    print_string(file, text);
    fputs("}}", file);
    pthread_mutex_unlock(&lock);
    free(text);
}
