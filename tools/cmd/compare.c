/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* secure_getenv */
#include "tools/cmd/compare.h"

#include "tools/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char script[] =
#include "compare_script.h"
    ;

/* Models that cannot be read are reported by this command. */
static bool check_models(const struct tools_compare *c, struct tools_error *error)
{
    for (uint32_t i = 0; i < c->model_count; i++) {
        struct onnx_model *model;
        if (!tools_model_load(c->models[i], &model, error))
            return false;
        onnx_model_destroy(model);
    }
    return true;
}

bool tools_compare(const struct tools_compare *c, struct tools_error *error)
{
    const char *list = c->python ? c->python : secure_getenv("ANYDML_PYTHON");
    char self[4096], first[4096], seconds[32];
    const char **args = calloc(c->model_count + 20u, sizeof(*args));
    uint32_t count = 0;
    if (!args)
        return tools_fail_memory(error);
    if (!list || !*list)
        list = "python3";
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(list, ":"), list);
    snprintf(seconds, sizeof(seconds), "%g", c->seconds);
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length < 0 ? 0 : length] = 0;
    if (check_models(c, error)) {
        const char *head[] = { first,      "-c",     script,      "--anydml", length < 0 ? "anydml" : self,
                               "--python", list,     "--seconds", seconds,    "--rounds",
                               "3",        "--quiet" };
        for (; count < ARRAY_SIZE(head); count++)
            args[count] = head[count];
        if (c->threads) {
            args[count++] = "--threads";
            args[count++] = c->threads;
        }
        if (c->json) {
            args[count++] = "--json";
            args[count++] = "-";
        }
        args[count++] = "--";
        for (uint32_t i = 0; i < c->model_count; i++)
            args[count++] = c->models[i];
        fflush(stdout);
        execvp(first, (char *const *)args);
        tools_fail(error, TOOLS_USAGE, "cannot run %s: %s; --python or ANYDML_PYTHON names another Python", first,
                   strerror(errno));
    }
    free(args);
    return false;
}
