/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/dispatch/dispatch_run.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/text.h"

#include "base/os.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#define DISPATCH_FILES_MAX 64

const char tools_help_dispatch[] =
    "usage: anydml dispatch FILE.json [OPTIONS]\n"
    "       anydml dispatch --schema\n\n"
    "Runs the DirectML operator or the graph of operators that the file describes, with the inputs that the file\n"
    "contains or names, and prints the outputs. Operators and fields have DirectML's names; see docs/dispatch.md. '-'\n"
    "is the standard input.\n\n"
    "  --device N|cpu|vulkan  which device: its number (anydml devices), or its adapter; default 0\n"
    "  --threads N            worker threads of the cpu device; default: one per CPU\n"
    "  --output NAME=FILE     write an output to FILE instead of printing it, as .npy or, with another suffix, as raw\n"
    "                         bytes; may be repeated\n"
    "  --outputs FOLDER       the folder for outputs to which FILE.json gives a file name\n"
    "  --memory MIB           maximum memory of tensors with all copies, in addition to the data files that FILE.json\n"
    "                         names; default 2048, or half of the machine's memory if that is less\n"
    "  --iterations N         execute N times and print times: the first with copies of inputs and outputs to the\n"
    "                         device and back, the others without; default 1\n"
    "  --json                 print one JSON object\n"
    "  --schema               print the JSON Schema of such files\n";

enum {
    DISPATCH_OPTION_OUTPUT = TOOLS_OPTION_OWN,
    DISPATCH_OPTION_OUTPUTS,
    DISPATCH_OPTION_MEMORY,
    DISPATCH_OPTION_ITERATIONS,
    DISPATCH_OPTION_SCHEMA,
};

struct dispatch_command {
    const char *files[DISPATCH_FILES_MAX]; /* NAME=FILE */
    const char *folder;                    /* for files that the JSON file names; NULL: not allowed */
    uint32_t file_count, iterations;
    bool json, schema, timed;
    struct dispatch_reader reader;
    struct dispatch dispatch;
    struct tools_session *session;
    struct tools_program *program;
    double compile_ms, first_ms, median_ms, fastest_ms, device_ms;
};

static bool dispatch_take(void *context, int option, const char *value, struct tools_error *error)
{
    struct dispatch_command *c = context;
    uint64_t number;
    switch (option) {
    case DISPATCH_OPTION_OUTPUT:
        if (!strchr(value, '=') || c->file_count == DISPATCH_FILES_MAX)
            return tools_fail(error, TOOLS_USAGE, "--output must be NAME=FILE, not '%s', at most %d times", value,
                              DISPATCH_FILES_MAX);
        c->files[c->file_count++] = value;
        return true;
    case DISPATCH_OPTION_OUTPUTS:
        c->folder = value;
        return true;
    case DISPATCH_OPTION_MEMORY:
        if (!tools_parse_uint(value, 1, 1 << 24, &number))
            return tools_fail(error, TOOLS_USAGE, "--memory must be a number from 1 to 16777216, not '%s'", value);
        c->reader.memory = number << 20;
        return true;
    case DISPATCH_OPTION_ITERATIONS:
        if (!tools_parse_uint(value, 1, 1000000, &number))
            return tools_fail(error, TOOLS_USAGE, "--iterations must be a number from 1 to 1000000, not '%s'", value);
        c->iterations = (uint32_t)number;
        c->timed = true;
        return true;
    default:
        c->schema = true;
        return true;
    }
}

/* ---- destinations of outputs ---- */

static const struct dispatch_slot *find_output(const struct dispatch *d, const char *name, size_t length)
{
    for (uint32_t i = 0; i < d->output_count; i++)
        if (d->outputs[i].tensor && strlen(d->outputs[i].name) == length && !memcmp(d->outputs[i].name, name, length))
            return &d->outputs[i];
    return NULL;
}

/* The option's FILE of an output; NULL for none. */
static const char *file_option(const struct dispatch_command *c, const char *name)
{
    for (uint32_t i = 0; i < c->file_count; i++) {
        const char *equal = strchr(c->files[i], '=');
        if (strlen(name) == (size_t)(equal - c->files[i]) && !memcmp(name, c->files[i], strlen(name)))
            return equal + 1;
    }
    return NULL;
}

/* A name without a folder: paths in the JSON file must not leave the folder, nor pass through a link in it. */
static bool check_name(struct dispatch_command *c, const json_t *value, const char *file, const char *path)
{
    struct stat about;
    if (!*file || strchr(file, '/') || !strcmp(file, ".") || !strcmp(file, ".."))
        return tools_dispatch_refuse(&c->reader, value, "the name of a file, without a folder");
    return lstat(path, &about) || S_ISREG(about.st_mode) ||
           tools_dispatch_fail(&c->reader, ": %s exists and is not a regular file", path);
}

/* The option's file, or the one that the JSON file names, in the folder for outputs; *out "" for none. */
static bool output_path(struct dispatch_command *c, const char *name, char out[PATH_MAX], struct tools_error *error)
{
    static const char *const keys[] = { "file", NULL };
    const json_t *where = json_object_get(json_object_get(c->dispatch.root, "outputs"), name), *value;
    const char *file = file_option(c, name);
    out[0] = 0;
    if (file)
        return snprintf(out, PATH_MAX, "%s", file) < PATH_MAX ||
               tools_fail(error, TOOLS_USAGE, "--output: the name is too long");
    if (!where)
        return true;
    c->reader.path[0] = 0;
    tools_dispatch_enter(&c->reader, "outputs.%s", name);
    if (!tools_dispatch_object(&c->reader, where, keys))
        return false;
    tools_dispatch_enter(&c->reader, ".file");
    value = json_object_get(where, "file");
    if (!tools_dispatch_string(&c->reader, value, &file))
        return false;
    if (!c->folder)
        return tools_dispatch_fail(&c->reader,
                                   " = \"%.60s\": files that it names are written with --outputs FOLDER only", file);
    if (snprintf(out, PATH_MAX, "%s/%s", c->folder, file) >= PATH_MAX)
        return tools_dispatch_fail(&c->reader, ": the name is too long");
    return check_name(c, value, file, out);
}

/* Before anything runs. */
static bool check_files(struct dispatch_command *c, struct tools_error *error)
{
    char path[PATH_MAX];
    for (uint32_t i = 0; i < c->file_count; i++) {
        const char *equal = strchr(c->files[i], '=');
        if (!find_output(&c->dispatch, c->files[i], (size_t)(equal - c->files[i])))
            return tools_fail(error, TOOLS_USAGE, "--output %s: the output does not exist", c->files[i]);
    }
    for (uint32_t i = 0; i < c->dispatch.output_count; i++) {
        const struct dispatch_slot *slot = &c->dispatch.outputs[i];
        if (slot->tensor && (!output_path(c, slot->name, path, error) || (path[0] && !tools_output_check(path, error))))
            return false;
    }
    return true;
}

static bool show_output(struct dispatch_command *c, uint32_t index, struct tools_error *error)
{
    const struct dispatch_slot *slot = &c->dispatch.outputs[c->program->onnx->outputs[index].slot];
    const void *data = c->program->outputs[index];
    char path[PATH_MAX];
    if (!output_path(c, slot->name, path, error))
        return false;
    if (path[0]) {
        if (!c->json)
            printf("output  %s -> %s\n", slot->name, path);
        return tools_dispatch_save(path, slot->tensor, data, error);
    }
    void *copy;
    const void *packed = c->json ? data : tools_dispatch_packed(slot->tensor, data, &copy, error);
    if (packed && !c->json) {
        tools_dispatch_print(slot->name, slot->tensor, packed);
        free(copy);
    }
    return packed != NULL;
}

/* ---- running ---- */

static bool execute(struct dispatch_command *c, struct tools_error *error)
{
    const uint32_t repeats = c->iterations - 1;
    double *times = calloc(repeats + 1, sizeof(*times)), *device = calloc(repeats + 1, sizeof(*device));
    bool ok = (times && device) || tools_fail_memory(error);
    ok = ok && tools_program_run(c->program, &c->first_ms, error);
    ok = ok && (!repeats || tools_program_watch(c->program, 1, error));
    for (uint32_t i = 0; ok && i < repeats; i++) {
        ok = tools_program_repeat(c->program, &times[i], error);
        device[i] = ok ? tools_program_device_ms(c->program) : 0;
    }
    if (ok && repeats) {
        c->median_ms = tools_percentile(times, repeats, 0.5);
        c->fastest_ms = times[0];
        c->device_ms = tools_percentile(device, repeats, 0.5);
    }
    free(times);
    free(device);
    return ok;
}

static void print_time(const struct dispatch_command *c)
{
    printf("time    compiling %.3f ms, initialising %.3f ms, first run %.3f ms", c->compile_ms,
           c->program->initialize_ms, c->first_ms);
    if (c->iterations > 1)
        printf("; %u more: median %.4f ms, fastest %.4f ms, on the device %.4f ms", c->iterations - 1, c->median_ms,
               c->fastest_ms, c->device_ms);
    printf("\n");
}

static bool print_json(const struct dispatch_command *c, struct tools_error *error)
{
    printf("{\"device\": ");
    tools_json_string(stdout, c->session->info.name);
    printf(", \"outputs\": {");
    for (uint32_t i = 0; i < c->program->onnx->output_count; i++) {
        const struct dispatch_slot *slot = &c->dispatch.outputs[c->program->onnx->outputs[i].slot];
        void *copy;
        const void *packed = tools_dispatch_packed(slot->tensor, c->program->outputs[i], &copy, error);
        if (!packed)
            return false;
        printf("%s", i ? ", " : "");
        tools_dispatch_print_json(slot->name, slot->tensor, packed);
        free(copy);
    }
    printf("}, \"compile_ms\": %.6f, \"initialize_ms\": %.6f, \"first_ms\": %.6f", c->compile_ms,
           c->program->initialize_ms, c->first_ms);
    if (c->iterations > 1)
        printf(", \"repeats\": %u, \"median_ms\": %.6f, \"fastest_ms\": %.6f, \"device_ms\": %.6f", c->iterations - 1,
               c->median_ms, c->fastest_ms, c->device_ms);
    printf("}\n");
    return true;
}

static bool run_file(struct dispatch_command *c, uint32_t device, struct tools_error *error)
{
    if (!tools_dispatch_load(&c->reader, &c->dispatch) || !check_files(c, error) ||
        !tools_session_create(device, &c->session, error))
        return false;
    tools_progress("compiling");
    bool ok =
        tools_dispatch_compile(c->session, &c->reader, &c->dispatch, &c->program, &c->compile_ms) && execute(c, error);
    tools_progress_stop();
    if (ok && !c->json)
        printf("device  %u  %s\n", device, c->session->info.name);
    for (uint32_t i = 0; ok && i < c->program->onnx->output_count; i++)
        ok = show_output(c, i, error);
    if (ok && c->json)
        ok = print_json(c, error);
    else if (ok && c->timed)
        print_time(c);
    return ok;
}

int tools_cmd_dispatch(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "json", no_argument, NULL, TOOLS_OPTION_JSON },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "threads", required_argument, NULL, TOOLS_OPTION_THREADS },
        { "output", required_argument, NULL, DISPATCH_OPTION_OUTPUT },
        { "outputs", required_argument, NULL, DISPATCH_OPTION_OUTPUTS },
        { "memory", required_argument, NULL, DISPATCH_OPTION_MEMORY },
        { "iterations", required_argument, NULL, DISPATCH_OPTION_ITERATIONS },
        { "schema", no_argument, NULL, DISPATCH_OPTION_SCHEMA },
        { 0 },
    };
    struct tools_error error;
    struct dispatch_command c = { .iterations = 1, .reader = { .error = &error } };
    c.reader.memory = BASE_MIN(DISPATCH_MEMORY, base_memory_total() / 2);
    struct tools_options options = {
        .table = table, .help = tools_help_dispatch, .take = dispatch_take, .context = &c, .many = true
    };
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml dispatch", &error);
    if (options.helped)
        return 0;
    if (c.schema) {
        tools_dispatch_schema();
        return 0;
    }
    if (options.given != 1) {
        tools_fail(&error, TOOLS_USAGE, "%s (anydml dispatch --help)",
                   options.given ? "more than one file is given" : "the file is missing");
        return tools_report("anydml dispatch", &error);
    }
    c.reader.file = options.operand;
    c.json = options.json;
    const bool ok = run_file(&c, options.device, &error);
    tools_program_destroy(c.program);
    tools_session_destroy(c.session);
    tools_dispatch_finish(&c.dispatch);
    return ok ? 0 : tools_report("anydml dispatch", &error);
}
