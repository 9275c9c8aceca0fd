/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of anydml: each parses its own arguments (argv[0] is its name), prints its result on stdout, and returns
 * the exit code after reporting an error on stderr. */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#include "tools/error.h"

#include <getopt.h>

int tools_cmd_devices(int argc, char **argv);
int tools_cmd_run(int argc, char **argv);
int tools_cmd_bench(int argc, char **argv);
int tools_cmd_profile(int argc, char **argv);
int tools_cmd_dispatch(int argc, char **argv);
int tools_cmd_graph(int argc, char **argv);
int tools_cmd_ops(int argc, char **argv);
int tools_cmd_tune(int argc, char **argv);
int tools_cmd_exec(int argc, char **argv);
int tools_cmd_telemetry(int argc, char **argv);
int tools_cmd_doctor(int argc, char **argv);

/* The text of --help. */
extern const char tools_help_devices[], tools_help_run[], tools_help_bench[], tools_help_profile[],
    tools_help_dispatch[], tools_help_graph[], tools_help_ops[], tools_help_tune[], tools_help_exec[],
    tools_help_telemetry[], tools_help_doctor[];

/* Options common to several commands, as getopt_long's `val`; those of one command start at TOOLS_OPTION_OWN. */
enum {
    TOOLS_OPTION_HELP = 256,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_DEVICE,
    TOOLS_OPTION_THREADS,
    TOOLS_OPTION_OWN,
};

struct tools_options {
    const struct option *table; /* terminated by a zeroed entry */
    const char *help;
    /* Processes one option of the command; false with `error` if the value is invalid. */
    bool (*take)(void *context, int option, const char *value, struct tools_error *error);
    void *context;
    uint32_t operands;  /* the number of arguments other than options */
    bool many;          /* or more than that */
    const char *shorts; /* one-letter options, as in getopt after ":"; NULL for none */
    const char *operand_name;
    bool json;
    uint32_t device;
    bool device_given;
    const char *threads; /* the value of --threads, or NULL */
    const char *operand;
    char *const *all; /* operands */
    uint32_t given;
    bool helped; /* --help was given and printed: the command is done */
};

/* Parses all arguments. --threads sets ANYDML_THREADS. */
bool tools_options_parse(struct tools_options *options, int argc, char **argv, struct tools_error *error);

#endif
