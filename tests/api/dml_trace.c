/* ANYDML_TRACE: the file is valid JSON when no device lives, and later devices add to it. */
#include "dml_test.h"

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

/* Brackets match and strings end: enough to see a file that was cut or put together wrongly. */
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

static void run_once(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLDevice1 *second = rig_dml_device(rig.d3d, 0);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *out = buffer_f32(&rig, 8, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 0, 32 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    api_release(table);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    api_release(op);
    api_release(second);
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
        run_once();
        char *text = read_file(path);
        UINT steps = count(text, "\"ph\":\"X\"");
        ok(balanced(text), "after %u devices: %s", runs, text);
        ok(count(text, "traceEvents") == 1, "more than one list of events");
        ok(count(text, "before passes") == runs && count(text, "after passes") == runs, "the graphs' texts");
        if (api_is("cpu")) {
            ok(steps == runs, "%u steps after %u dispatches", steps, runs);
            ok(count(text, "\"name\":\"DML_OPERATOR_ELEMENT_WISE_IDENTITY\"") == runs, "names of steps");
            ok(count(text, "\"kernel\":") == runs && count(text, "\"bytes\":64") == runs, "what the steps did");
        }
        free(text);
    }
    unlink(path);
    return api_end();
}
