/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_TRACE: the file is valid JSON when no device lives, and later devices add to it. */
#include "dml_test.h"

#include <anydml.h>

#include <unistd.h>

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    need(file);
    char *text = calloc(1, 1 << 20);
    need(text);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    ok(size > 0, "the file is empty");
    return text;
}

/* Brackets match and strings end: sufficient to detect a file that was truncated or assembled wrongly. */
static bool balanced(const char *text)
{
    char open[64];
    int depth = 0;
    bool string = false;
    for (; *text; text++) {
        if (string && *text == '\\' && text[1])
            text++;
        else if (*text == '"')
            string = !string;
        else if (!string && (*text == '{' || *text == '[') && depth < 63)
            open[depth++] = *text == '{' ? '}' : ']';
        else if (!string && (*text == '}' || *text == ']') && (!depth || open[--depth] != *text))
            return false;
    }
    return !string && !depth;
}

static UINT count(const char *text, const char *part)
{
    UINT found = 0;
    for (; (text = strstr(text, part)); text++)
        found++;
    return found;
}

static void run_once(struct rig *rig)
{
    IDMLCompiledOperator *op = compile(rig->dml, identity_operator(rig->dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(rig, 8, 0, 1), *out = buffer_f32(rig, 8, -1, 0);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 0, 32 });
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    api_release(table);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    api_release(op);
}

static void run_devices(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLDevice1 *second = rig_dml_device(rig.d3d, 0);
    run_once(&rig);
    api_release(second);
    rig_destroy(&rig);
}

struct seen {
    UINT graphs, plans, runs, steps, bad;
};

static void STDMETHODCALLTYPE see(void *context, const struct anydml_trace_event *event)
{
    struct seen *seen = context;
    const char *category = event->Category;
    bool text = !strcmp(category, "graph") || !strcmp(category, "plan");
    seen->graphs += !strcmp(category, "graph");
    seen->plans += !strcmp(category, "plan") && strstr(event->Text, "plan: 1 steps");
    seen->runs += !strcmp(category, "run");
    seen->steps += !strcmp(category, "step");
    seen->bad += !balanced(event->Json) || !strstr(event->Json, event->Name) || (event->Text != NULL) != text ||
                 (!text && !strstr(event->Json, "\"roofline\":"));
}

/* A client sees events while it is set, in addition to the file. */
static void test_client(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct seen seen = { 0 };
    struct anydml_trace trace = { see, &seen, 1e9, 1e9 };
    ok(AnydmlSetTrace(NULL, &trace) == E_INVALIDARG, "no device");
    ok(AnydmlSetTrace((IDMLDevice *)rig.dml, &trace) == S_OK, "set");
    run_once(&rig);
    ok(AnydmlSetTrace((IDMLDevice *)rig.dml, NULL) == S_OK, "end");
    run_once(&rig);
    ok(seen.graphs == 2 && seen.plans == 1 && seen.runs == 1 && seen.steps == 1 && !seen.bad,
       "%u graphs, %u plans, %u runs, %u steps, %u bad", seen.graphs, seen.plans, seen.runs, seen.steps, seen.bad);
    rig_destroy(&rig);
}

int main(void)
{
    char path[] = "/tmp/anydml-trace-XXXXXX";
    int file = mkstemp(path);
    need(file >= 0);
    close(file);
    setenv("ANYDML_TRACE", path, 1);
    api_begin();
    for (UINT runs = 1; runs <= 2; runs++) {
        run_devices();
        char *text = read_file(path);
        UINT steps = count(text, "\"cat\":\"step\"");
        ok(balanced(text), "after %u devices: %s", runs, text);
        ok(count(text, "traceEvents") == 1, "more than one list of events");
        ok(count(text, "before passes") == runs && count(text, "after passes") == runs, "the graphs' texts");
        ok(steps == runs, "%u steps after %u dispatches", steps, runs);
        ok(count(text, "\"name\":\"DML_OPERATOR_ELEMENT_WISE_IDENTITY\"") == runs, "names of steps");
        ok(count(text, "\"kernel\":") == runs && count(text, "\"cat\":\"run\"") == runs, "what was run");
        ok(count(text, api_is("cpu") ? "\"threads\":" : "\"dispatches\":1") == (api_is("cpu") ? 2 * runs : runs),
           "how");
        ok(count(text, "\"bytes_read\":32,\"bytes_written\":32") == 2 * runs, "what the steps moved");
        ok(count(text, "\"shapes\":\"f32[8]{1}+0 -> f32[8]{1}+0\"") == runs, "shapes: %s", text);
        ok(count(text, "roofline") == 0, "a roofline without peaks");
        ok(count(text, "\"cat\":\"plan\"") == runs, "the plans' texts");
        free(text);
    }
    test_client();
    unlink(path);
    return api_end();
}
