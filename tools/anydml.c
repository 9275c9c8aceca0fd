/* SPDX-License-Identifier: Apache-2.0 */
/* The anydml command: picks the command and prints help. */
#include "tools/cmd/cmd.h"
#include "tools/session.h"
#include "tools/cmd/shown.h"
#include "tools/text.h"

#include <DirectML.h>
#include <anydml.h>

#include <stdlib.h>

static const struct {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "devices", "list the devices", tools_cmd_devices },
    { "run", "run an ONNX model on .npy files, images and videos", tools_cmd_run },
    { "bench", "measure how fast an ONNX model runs, here and in other runtimes", tools_cmd_bench },
    { "profile", "print a model's slowest steps, and whether compute or memory bounds them", tools_cmd_profile },
    { "dispatch", "run an operator or a graph that a JSON file describes", tools_cmd_dispatch },
    { "graph", "show the compiled form of an ONNX model: graph, kernels, memory", tools_cmd_graph },
    { "ops", "list the operators and the data types that each device supports", tools_cmd_ops },
    { "tune", "measure kernels, to select the fastest ones on this machine", tools_cmd_tune },
    { "doctor", "examine the system, the drivers and the devices, also for bug reports", tools_cmd_doctor },
    { "exec", "run a program that uses ONNX Runtime with DirectML", tools_cmd_exec },
    { "telemetry", "records of the use of AnyDML: none, unless you switch them on", tools_cmd_telemetry },
};

bool tools_options_parse(struct tools_options *o, int argc, char **argv, struct tools_error *error)
{
    uint64_t number;
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, o->shorts ? o->shorts : ":", o->table, NULL)) != -1;) {
        switch (option) {
        case TOOLS_OPTION_HELP:
            fputs(o->help, stdout);
            o->helped = true;
            return true;
        case TOOLS_OPTION_JSON:
            o->json = true;
            break;
        case TOOLS_OPTION_DEVICE:
            if (!tools_device_parse(optarg, &o->device, error))
                return false;
            o->device_given = true;
            break;
        case TOOLS_OPTION_THREADS:
            if (!tools_parse_uint(optarg, 1, 4096, &number))
                return tools_fail(error, TOOLS_USAGE, "--threads must be a number from 1 to 4096, not '%s'", optarg);
            setenv("ANYDML_THREADS", optarg, 1);
            o->threads = optarg;
            break;
        case ':':
            return tools_fail(error, TOOLS_USAGE, "%s needs a value", argv[optind - 1]);
        case '?':
            return tools_fail(error, TOOLS_USAGE, "unknown option '%s' (anydml %s --help)", argv[optind - 1], argv[0]);
        default:
            if (!o->take(o->context, option, optarg, error))
                return false;
        }
    }
    uint32_t given = (uint32_t)(argc - optind);
    if (given > o->operands && !o->many)
        return tools_fail(error, TOOLS_USAGE, "unexpected argument '%s' (anydml %s --help)", argv[optind + o->operands],
                          argv[0]);
    if (given < o->operands)
        return tools_fail(error, TOOLS_USAGE, "%s is missing (anydml %s --help)", o->operand_name, argv[0]);
    o->operand = given ? argv[optind] : NULL;
    o->all = argv + optind;
    o->given = given;
    return true;
}

static void print_help(void)
{
    printf("usage: anydml COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].about);
    printf("\nanydml COMMAND --help describes a command; anydml --version prints the version.\n"
           "Exit codes: 0 success, 1 a device failed, 2 invalid command line, file or model.\n");
}

static int run(int argc, char **argv)
{
    struct tools_error error;
    if (argc < 2) {
        tools_fail(&error, TOOLS_USAGE, "missing command (anydml --help)");
        return tools_report("anydml", &error);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("anydml %d.%d.%d\n", ANYDML_VERSION_MAJOR, ANYDML_VERSION_MINOR, ANYDML_VERSION_PATCH);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    tools_fail(&error, TOOLS_USAGE, "unknown command '%s' (anydml --help)", argv[1]);
    return tools_report("anydml", &error);
}

int main(int argc, char **argv)
{
    struct tools_error error;
    const char *trace = getenv("ANYDML_TRACE");
    /* The command reports errors in one line of its own; the libraries' messages are printed on request, as for a
     * trace. */
    setenv("ANYDML_LOG", trace && *trace ? "warn" : "none", 0);
    tools_shown_begin();
    const int code = run(argc, argv);
    if (tools_shown_end() || code)
        return code;
    tools_fail(&error, TOOLS_RUNTIME, "the standard output could not be written completely");
    return tools_report("anydml", &error);
}
