/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tools/cmd/cmd.h"
#include "tools/cmd/telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

const char tools_help_telemetry[] =
    "usage: anydml telemetry ACTION\n\n"
    "Telemetry is off unless you switch it on; it then records, in a file of yours, the days on which AnyDML was\n"
    "used. Nothing is ever sent unless you name an endpoint.\n\n"
    "  status                     whether it is on, the location of its files, and the endpoint of records\n"
    "  on, off                    switch it; ANYDML_TELEMETRY=1 or 0 in the environment takes precedence\n"
    "  show                       print all stored records\n"
    "  clear                      delete the records\n"
    "  endpoint URL|none|default  the endpoint to which records are sent (OTLP logs over HTTP, in JSON; URL/v1/logs)\n"
    "                             while telemetry is on: by `send`, and once a day by `anydml run` and\n"
    "                             `anydml bench`. none: no endpoint. default: OTEL_EXPORTER_OTLP_ENDPOINT, if it is "
    "set\n"
    "  send                       send the records that were not sent yet, now\n";

static bool fail_file(struct tools_error *error, enum telemetry_place place, enum telemetry_result result)
{
    char path[TELEMETRY_PATH_MAX];
    const char *text = telemetry_result_text(result);
    enum tools_code code = result == TELEMETRY_FAILED || result == TELEMETRY_BUSY ? TOOLS_RUNTIME : TOOLS_USAGE;
    return tools_fail(error, code, "%s: %s", telemetry_path(place, path) ? path : "the file of telemetry", text);
}

/* For changing: damaged files are rewritten, unsafe ones are not touched. */
static bool load_settings(struct telemetry_settings *out, struct tools_error *error)
{
    enum telemetry_result result = telemetry_settings_load(out);
    if (result == TELEMETRY_OK || result == TELEMETRY_MISSING || result == TELEMETRY_DAMAGED)
        return true;
    return fail_file(error, TELEMETRY_SETTINGS, result);
}

static bool store_settings(const struct telemetry_settings *settings, struct tools_error *error)
{
    enum telemetry_result result = telemetry_settings_store(settings);
    return !result || fail_file(error, TELEMETRY_SETTINGS, result);
}

/* No records are not an error. */
static bool load_rows(struct telemetry_rows *out, struct tools_error *error)
{
    enum telemetry_result result = telemetry_rows_load(out);
    return !result || result == TELEMETRY_MISSING || fail_file(error, TELEMETRY_RECORDS, result);
}

/* ---- effective settings ---- */

static void print_endpoint(const struct telemetry_settings *settings)
{
    const char *source, *endpoint = tools_telemetry_endpoint(settings, &source);
    if (!endpoint)
        printf("endpoint   none: nothing is sent\n");
    else if (!telemetry_endpoint_valid(endpoint))
        printf("endpoint   not valid, nothing is sent: '%s' (%s)\n", endpoint, source);
    else
        printf("endpoint   %s (%s)%s\n", endpoint, source,
               tools_telemetry_can_post() ? "" : "; this anydml was built without libcurl and cannot send");
}

static void print_switch(const struct telemetry_settings *settings, enum telemetry_result result)
{
    static const char *const by_variable[] = {
        [TELEMETRY_VARIABLE_ON] = "on (ANYDML_TELEMETRY is 1)",
        [TELEMETRY_VARIABLE_OFF] = "off (ANYDML_TELEMETRY is 0)",
        [TELEMETRY_VARIABLE_BAD] = "off (ANYDML_TELEMETRY is neither 0 nor 1)",
    };
    enum telemetry_variable variable = telemetry_variable();
    char path[TELEMETRY_PATH_MAX] = "";
    if (variable == TELEMETRY_UNSET)
        printf("telemetry  %s (%s)\n", settings->on ? "on" : "off", result ? "the default" : "chosen");
    else
        printf("telemetry  %s\n", by_variable[variable]);
    telemetry_path(TELEMETRY_SETTINGS, path);
    printf("settings   %s%s%s\n", path, *path && result ? " " : "", result ? telemetry_result_text(result) : "");
}

static bool action_status(const char *value, struct tools_error *error)
{
    struct telemetry_settings settings;
    struct telemetry_rows rows;
    char path[TELEMETRY_PATH_MAX] = "";
    uint32_t unsent = 0;
    (void)error;
    (void)value;
    enum telemetry_result result = telemetry_settings_load(&settings);
    print_switch(&settings, result);
    result = telemetry_rows_load(&rows);
    telemetry_path(TELEMETRY_RECORDS, path);
    for (uint32_t i = 0; i < rows.count; i++)
        unsent += !rows.rows[i].sent;
    if (result)
        printf("records    %s%s%s\n", path, *path ? " " : "", telemetry_result_text(result));
    else
        printf("records    %s: %u kept, %u of them not sent, %u damaged\n", path, rows.count, unsent, rows.damaged);
    telemetry_rows_finish(&rows);
    print_endpoint(&settings);
    return true;
}

static bool action_on(const char *value, struct tools_error *error)
{
    struct telemetry_settings settings;
    struct telemetry_row example;
    char line[TELEMETRY_LINE_MAX] = "", path[TELEMETRY_PATH_MAX];
    (void)value;
    if (!load_settings(&settings, error))
        return false;
    settings.on = true;
    if (!telemetry_path(TELEMETRY_RECORDS, path))
        return fail_file(error, TELEMETRY_RECORDS, TELEMETRY_NO_HOME);
    if (!store_settings(&settings, error))
        return false;
    if (telemetry_row_make("command", "cpu", &example))
        telemetry_row_print(&example, line);
    printf(
        "Telemetry is on. One record for each day, component and kind of device on which AnyDML was used is kept in\n"
        "%s:\n\n"
        "    day (UTC), component (onnxruntime, torch or command), kind of device (cpu, gpu or npu),\n"
        "    version of AnyDML, name and version of the operating system, whether the record was sent\n\n"
        "and nothing else: no name of the machine, the user, a file or a model, and no identifier. For example\n\n"
        "    %s\n"
        "`anydml telemetry show` prints all of them, `anydml telemetry clear` deletes them, `anydml telemetry off`\n"
        "ends it.\n\n",
        path, line);
    print_endpoint(&settings);
    if (!telemetry_is_on())
        printf("ANYDML_TELEMETRY in the environment keeps it off.\n");
    return true;
}

static bool action_off(const char *value, struct tools_error *error)
{
    struct telemetry_settings settings;
    (void)value;
    if (!load_settings(&settings, error))
        return false;
    settings.on = false;
    if (!store_settings(&settings, error))
        return false;
    printf("Telemetry is off. Records that were kept stay until `anydml telemetry clear`.\n");
    if (telemetry_is_on())
        printf("ANYDML_TELEMETRY in the environment keeps it on.\n");
    return true;
}

static bool action_endpoint(const char *value, struct tools_error *error)
{
    struct telemetry_settings settings;
    bool none = strcmp(value, "none") == 0, standard = strcmp(value, "default") == 0;
    if (!none && !standard && !telemetry_endpoint_valid(value))
        return tools_fail(error, TOOLS_USAGE, "the endpoint is an http:// or https:// URL, none or default, not '%s'",
                          value);
    if (!load_settings(&settings, error))
        return false;
    snprintf(settings.endpoint, sizeof(settings.endpoint), "%s", standard ? "" : value);
    if (!store_settings(&settings, error))
        return false;
    print_endpoint(&settings);
    return true;
}

/* ---- the records ---- */

static bool action_show(const char *value, struct tools_error *error)
{
    struct telemetry_rows rows;
    char line[TELEMETRY_LINE_MAX];
    (void)value;
    if (!load_rows(&rows, error))
        return false;
    for (uint32_t i = 0; i < rows.count; i++) {
        telemetry_row_print(&rows.rows[i], line);
        fputs(line, stdout);
    }
    telemetry_rows_finish(&rows);
    return true;
}

static bool action_clear(const char *value, struct tools_error *error)
{
    (void)value;
    enum telemetry_result result = telemetry_rows_clear();
    if (result && result != TELEMETRY_MISSING)
        return fail_file(error, TELEMETRY_RECORDS, result);
    printf("%s\n", result ? "There are no records." : "The records are deleted.");
    return true;
}

static bool send_rows(const char *endpoint, struct tools_error *error)
{
    struct telemetry_rows rows;
    uint32_t unsent = 0;
    if (!load_rows(&rows, error))
        return false;
    for (uint32_t i = 0; i < rows.count; i++)
        if (!rows.rows[i].sent)
            rows.rows[unsent++] = rows.rows[i];
    rows.count = unsent;
    bool ok = !unsent || tools_telemetry_post(endpoint, &rows, error);
    enum telemetry_result result = ok && unsent ? telemetry_rows_mark_sent(&rows) : TELEMETRY_OK;
    telemetry_rows_finish(&rows);
    /* Cleared in between: nothing left to mark. */
    if (result && result != TELEMETRY_MISSING)
        return fail_file(error, TELEMETRY_RECORDS, result);
    if (ok)
        printf("%u records sent\n", unsent);
    return ok;
}

/* One process sends at a time, or records would be sent twice: it locks the folder, so that recording can continue. */
static bool action_send(const char *value, struct tools_error *error)
{
    struct telemetry_settings settings;
    const char *source;
    int folder;
    (void)value;
    telemetry_settings_load(&settings);
    const char *endpoint = tools_telemetry_endpoint(&settings, &source);
    if (!telemetry_is_on())
        return tools_fail(error, TOOLS_USAGE, "telemetry is off: nothing is sent (anydml telemetry status)");
    if (!endpoint)
        return tools_fail(error, TOOLS_USAGE, "no endpoint is configured: nothing is sent (anydml telemetry endpoint)");
    enum telemetry_result result = telemetry_open_folder(TELEMETRY_RECORDS, false, &folder);
    if (result == TELEMETRY_MISSING) {
        printf("0 records sent\n");
        return true;
    }
    if (result)
        return fail_file(error, TELEMETRY_RECORDS, result);
    result = telemetry_lock(folder, LOCK_EX);
    bool ok = result ? fail_file(error, TELEMETRY_RECORDS, result) : send_rows(endpoint, error);
    close(folder);
    return ok;
}

int tools_cmd_telemetry(int argc, char **argv)
{
    static const struct {
        const char *name;
        int values;
        bool (*run)(const char *value, struct tools_error *error);
    } actions[] = {
        { "status", 0, action_status }, { "on", 0, action_on },       { "off", 0, action_off },
        { "show", 0, action_show },     { "clear", 0, action_clear }, { "endpoint", 1, action_endpoint },
        { "send", 0, action_send },
    };
    struct tools_error error;
    const char *name = argc > 1 ? argv[1] : NULL;
    bool ok = false;
    size_t i = 0;
    if (name && (strcmp(name, "--help") == 0 || (argc > 2 && strcmp(argv[2], "--help") == 0))) {
        fputs(tools_help_telemetry, stdout);
        return 0;
    }
    while (name && i < ARRAY_SIZE(actions) && strcmp(name, actions[i].name) != 0)
        i++;
    if (!name)
        tools_fail(&error, TOOLS_USAGE, "the action is missing (anydml telemetry --help)");
    else if (i == ARRAY_SIZE(actions))
        tools_fail(&error, TOOLS_USAGE, "unknown %s '%s' (anydml telemetry --help)", *name == '-' ? "option" : "action",
                   name);
    else if (argc - 2 > actions[i].values)
        tools_fail(&error, TOOLS_USAGE, "unexpected argument '%s' (anydml telemetry --help)",
                   argv[2 + actions[i].values]);
    else if (argc - 2 < actions[i].values)
        tools_fail(&error, TOOLS_USAGE, "%s needs a value (anydml telemetry --help)", name);
    else
        ok = actions[i].run(argv[2], &error);
    return ok ? 0 : tools_report("anydml telemetry", &error);
}
