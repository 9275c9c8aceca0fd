/* SPDX-License-Identifier: Apache-2.0 */
/* anydml exec: starts a program so that it finds AnyDML under the names of ONNX Runtime's Windows provider. The
 * libraries before ONNX Runtime and the Python module do the work; here they are found, and what they report is
 * printed. */
#define _GNU_SOURCE
#include "tools/child.h"
#include "tools/cmd/cmd.h"
#include "tools/session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

const char tools_help_exec[] =
    "usage: anydml exec [OPTION...] PROGRAM [ARGUMENT...]\n\n"
    "Starts an unmodified program that uses ONNX Runtime with DirectML (DmlExecutionProvider, DML), in Python or\n"
    "through the C interface, which other languages use. After the program has ended, a line on stderr lists the\n"
    "providers that its sessions used. The exit code is that of the program, 128 plus the signal's number if a signal\n"
    "ended it, or 127 if it is not found.\n\n"
    "  --default                also add the provider to sessions that name no provider in Python, and to all\n"
    "                           sessions in other languages\n"
    "  --windows-for PACKAGES   Python packages (A,B) that use DirectML only if platform.system() returns Windows; it\n"
    "                           then does for these\n"
    "  --quiet                  do not list the providers\n";

struct exec {
    bool give, quiet;
    const char *windows_for;
    char shim[PATH_MAX], provider[PATH_MAX], start[PATH_MAX], modules[2 * PATH_MAX];
    char report[PATH_MAX];
};

/* ---- where the parts are ---- */

/* As folders lie to the command's own: in a build, installed, in Debian's packages, in Python's packages. */
static const struct {
    const char *shim, *provider, *compat_module, *provider_module;
} layouts[] = {
    { "../bindings/onnxruntime", "../bindings/onnxruntime", "../bindings/anydml_compat/python",
      "../bindings/onnxruntime/python" },
    { "../" ANYDML_LIBDIR, "../" ANYDML_LIBDIR, "../" ANYDML_DATADIR "/anydml/python",
      "../" ANYDML_DATADIR "/anydml/python" },
    { "../" ANYDML_LIBDIR "/anydml", "../" ANYDML_LIBDIR "/anydml", "../" ANYDML_DATADIR "/anydml/python",
      "../" ANYDML_DATADIR "/anydml/python" },
    { "../anydml_compat", "../onnxruntime_ep_directml", "..", ".." },
};

/* The path below the command's folder, when it is there. */
static bool find_part(const char *folder, const char *part, const char *name, char out[PATH_MAX])
{
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/%s/%s", folder, part, name) < (int)sizeof(path) && realpath(path, out);
}

static bool find_parts(struct exec *e, struct tools_error *error)
{
    char own[PATH_MAX], compat[PATH_MAX], module[PATH_MAX];
    if (!realpath("/proc/self/exe", own))
        return tools_fail(error, TOOLS_RUNTIME, "/proc/self/exe: %s", strerror(errno));
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        if (!find_part(own, layouts[i].shim, "libonnxruntime_directml.so", e->shim) ||
            !find_part(own, layouts[i].provider, "libonnxruntime_ep_directml.so", e->provider))
            continue;
        if (strpbrk(e->shim, " :"))
            return tools_fail(error, TOOLS_USAGE, "%.300s: a path with a space or a colon cannot be preloaded",
                              e->shim);
        if (find_part(own, layouts[i].compat_module, "anydml_compat/start", e->start) &&
            find_part(own, layouts[i].compat_module, "", compat) &&
            find_part(own, layouts[i].provider_module, "", module))
            snprintf(e->modules, sizeof(e->modules), "%s:%s", compat, module);
        else
            e->start[0] = '\0';
        return true;
    }
    return tools_fail(error, TOOLS_USAGE,
                      "libonnxruntime_directml.so and libonnxruntime_ep_directml.so are not "
                      "installed with this command");
}

/* ---- the program ---- */

/* Puts a value before what the variable has. */
static bool put_before(const char *variable, const char *value)
{
    char *joined = NULL;
    const char *old = getenv(variable);
    if (!old || !*old)
        return !setenv(variable, value, 1);
    bool done = asprintf(&joined, "%s:%s", value, old) >= 0 && !setenv(variable, joined, 1);
    free(joined);
    return done;
}

static bool prepare(const struct exec *e, struct tools_error *error)
{
    bool done =
        put_before("LD_PRELOAD", e->shim) && !setenv("ANYDML_ONNXRUNTIME_PROVIDER", e->provider, 1) &&
        (!e->give || !setenv("ANYDML_ONNXRUNTIME_DEFAULT", "1", 1)) &&
        (!e->windows_for || !setenv("ANYDML_COMPAT_WINDOWS", e->windows_for, 1)) &&
        (e->quiet ? !unsetenv("ANYDML_ONNXRUNTIME_REPORT") : !setenv("ANYDML_ONNXRUNTIME_REPORT", e->report, 1)) &&
        (!e->start[0] || (put_before("PYTHONPATH", e->start) && !setenv("ANYDML_COMPAT_MODULES", e->modules, 1)));
    return done || tools_fail_memory(error);
}

static bool make_report(struct exec *e, struct tools_error *error)
{
    const char *folder = getenv("TMPDIR");
    if (e->quiet)
        return true;
    snprintf(e->report, sizeof(e->report), "%s/anydml-exec-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(e->report);
    if (file < 0)
        return tools_fail(error, TOOLS_RUNTIME, "%.300s: %s", e->report, strerror(errno));
    close(file);
    return true;
}

static volatile pid_t child;

static void forward(int signal_number)
{
    if (child > 0)
        kill(child, signal_number);
}

/* The terminal sends its own signals to both; others are for the program. */
static void handle_signals(void)
{
    struct sigaction pass = { .sa_handler = forward, .sa_flags = SA_RESTART }, ignore = { .sa_handler = SIG_IGN };
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
}

/* In the child. What libraries said while the command itself ran is not the program's business. */
static void become(const struct exec *e, char *const *words)
{
    const char *log = getenv("ANYDML_LOG");
    struct tools_error error;
    if (log && !strcmp(log, "none"))
        unsetenv("ANYDML_LOG");
    if (!prepare(e, &error))
        _exit(tools_report("anydml exec", &error));
    execvp(words[0], words);
    const int why = errno;
    tools_fail(&error, TOOLS_USAGE, "%.300s: %s", words[0], strerror(why));
    tools_report("anydml exec", &error);
    _exit(why == ENOENT ? 127 : 126);
}

static int wait_for_child(void)
{
    const int status = tools_child_wait(child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- what was used ---- */

#define DEVICES_MAX 64

struct used {
    uint32_t on_device[DEVICES_MAX], chosen, other;
};

static bool read_report(const char *path, struct used *out)
{
    FILE *file = fopen(path, "r");
    char provider[64], device[32];
    *out = (struct used){ 0 };
    while (file && fscanf(file, "%63s %31s", provider, device) == 2) {
        unsigned long number = strtoul(device, NULL, 10);
        if (strcmp(provider, "DmlExecutionProvider") != 0)
            out->other++;
        else if (device[0] == '-' || number >= DEVICES_MAX)
            out->chosen++;
        else
            out->on_device[number]++;
    }
    if (file)
        fclose(file);
    return file;
}

static void print_device(uint32_t device, uint32_t count, const char *before)
{
    struct tools_session *session = NULL;
    struct tools_error error;
    fprintf(stderr, "%s%u on DmlExecutionProvider (", before, count);
    if (tools_session_create(device, &session, &error))
        fprintf(stderr, "device %u: %s)", device, session->info.name);
    else
        fprintf(stderr, "device %u)", device);
    tools_session_destroy(session);
}

static void print_used(const struct used *used)
{
    const char *before = ": ";
    uint32_t count = used->chosen + used->other;
    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        count += used->on_device[i];
    fprintf(stderr, "anydml exec: ");
    if (!count) {
        fprintf(stderr, "the program made no session of ONNX Runtime\n");
        return;
    }
    fprintf(stderr, "%u session%s of ONNX Runtime", count, count == 1 ? "" : "s");
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        if (!used->on_device[i])
            continue;
        print_device(i, used->on_device[i], before);
        before = ", ";
    }
    if (used->chosen) {
        fprintf(stderr, "%s%u on DmlExecutionProvider (a device by preference)", before, used->chosen);
        before = ", ";
    }
    if (used->other)
        fprintf(stderr, "%s%u without it", before, used->other);
    fprintf(stderr, "\n");
}

static int run(struct exec *e, char *const *words)
{
    struct tools_error error;
    struct used used;
    if (!find_parts(e, &error) || !make_report(e, &error))
        return tools_report("anydml exec", &error);
    fflush(NULL);
    child = fork();
    if (child == 0)
        become(e, words);
    if (child < 0) {
        tools_fail(&error, TOOLS_RUNTIME, "no process can be started: %s", strerror(errno));
        unlink(e->report);
        return tools_report("anydml exec", &error);
    }
    handle_signals();
    const int code = wait_for_child();
    if (!e->quiet && code != 127 && read_report(e->report, &used))
        print_used(&used);
    if (!e->quiet)
        unlink(e->report);
    return code;
}

enum { OPTION_DEFAULT = TOOLS_OPTION_OWN, OPTION_WINDOWS_FOR, OPTION_QUIET };

static bool take(void *context, int option, const char *value, struct tools_error *error)
{
    struct exec *e = context;
    (void)error;
    if (option == OPTION_DEFAULT)
        e->give = true;
    else if (option == OPTION_WINDOWS_FOR)
        e->windows_for = value;
    else
        e->quiet = true;
    return true;
}

int tools_cmd_exec(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "default", no_argument, NULL, OPTION_DEFAULT },
        { "windows-for", required_argument, NULL, OPTION_WINDOWS_FOR },
        { "quiet", no_argument, NULL, OPTION_QUIET },
        { 0 },
    };
    struct exec e = { 0 };
    struct tools_options options = {
        .table = table,
        .help = tools_help_exec,
        .take = take,
        .context = &e,
        .operands = 1,
        .many = true,
        .shorts = "+:", /* what follows the program is its own */
        .operand_name = "the program",
    };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml exec", &error);
    return options.helped ? 0 : run(&e, options.all);
}
