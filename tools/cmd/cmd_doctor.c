/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tools/cmd/cmd.h"
#include "tools/doctor/doctor.h"
#include "tools/text.h"

#include "base/shown.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

const char tools_help_doctor[] =
    "usage: anydml doctor [OPTIONS]\n\n"
    "Prints a report for questions and bug reports: the system, the Vulkan devices found and why a device is not\n"
    "used, the list of devices, whether one operator of each kind computes the right results on each device, and the\n"
    "speed of the devices. Only child processes load drivers, so that the report can name a driver that crashes or\n"
    "does not answer. The report does not contain names of the user, the machine or models. The last line is the\n"
    "verdict; the exit code is 0 if everything works and 1 otherwise.\n\n"
    "  --device N|cpu|vulkan  only this device: its number (anydml devices), or its adapter; default: all\n"
    "  --no-speed             do not measure the speed of the devices\n"
    "  --timeout SECONDS      the time after which a driver counts as not answering; default 30\n"
    "  --json                 print one JSON object\n";

#define DEFAULT_SECONDS 30

enum { DOCTOR_OPTION_NO_SPEED = TOOLS_OPTION_OWN, DOCTOR_OPTION_TIMEOUT };

/* ---- the report ---- */

void tools_doctor_say(const struct tools_doctor *d, const char *format, ...)
{
    va_list args;
    if (d->json)
        return;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fflush(stdout);
}

json_t *tools_doctor_text(const char *text)
{
    char *line = strdup(text);
    json_t *out = NULL;
    if (line) {
        base_shown_line(line);
        out = json_string(line);
    }
    free(line);
    return out;
}

void tools_doctor_problem(struct tools_doctor *d, const char *format, ...)
{
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_array_append_new(d->problems, tools_doctor_text(text));
}

static void print_verdict(struct tools_doctor *d)
{
    const size_t count = json_array_size(d->problems);
    tools_doctor_say(d, "\nverdict: %s", count ? "" : "everything works");
    for (size_t i = 0; i < count; i++)
        tools_doctor_say(d, "%s%s", i ? "; " : "", json_string_value(json_array_get(d->problems, i)));
    tools_doctor_say(d, "\n");
    json_object_set_new(d->report, "works", json_boolean(!count));
}

/* ---- devices ---- */

/* From `anydml devices --json`; NULL: the child failed. */
static json_t *ask_devices(struct tools_doctor *d, struct tools_doctor_child *child)
{
    static const char *const words[] = { "devices", "--json", NULL };
    const char *const environment[] = { "ANYDML_LOG=none", "ANYDML_TELEMETRY=0", "ANYDML_TRACE", d->adapters, NULL };
    *child = (struct tools_doctor_child){ .words = words, .environment = environment, .seconds = d->seconds };
    tools_doctor_run(child);
    json_t *list = json_loads(child->output, 0, NULL); /* also when a device could not be opened */
    if (json_is_array(list))
        return list;
    json_decref(list);
    return NULL;
}

/* The list that programs see, or, where drivers do not survive that, the cpu device alone. */
static json_t *list_devices(struct tools_doctor *d, bool one)
{
    struct tools_doctor_child child;
    json_t *list = ask_devices(d, &child);
    if (!list) {
        const bool lost = child.end == TOOLS_DOCTOR_CRASHED || child.end == TOOLS_DOCTOR_HANGS;
        tools_doctor_problem(d, "the devices cannot be listed: %s%s", lost ? "a driver " : "", child.failure);
        json_object_set_new(d->report, "listing", tools_doctor_text(child.failure));
        tools_doctor_finish(&child);
        d->adapters = "ANYDML_ADAPTERS=cpu";
        list = one ? NULL : ask_devices(d, &child);
        if (one)
            return json_array();
    }
    tools_doctor_finish(&child);
    return list ? list : json_array();
}

static void say_device(struct tools_doctor *d, const json_t *device)
{
    const json_t *list = json_object_get(device, "capabilities"), *subgroup = json_object_get(device, "subgroup_size");
    const char *error = json_string_value(json_object_get(device, "error"));
    const double dedicated = json_number_value(json_object_get(device, "dedicated_bytes"));
    const double bytes = dedicated > 0 ? dedicated : json_number_value(json_object_get(device, "shared_bytes"));
    const int index = (int)json_integer_value(json_object_get(device, "index"));
    if (error) {
        tools_doctor_say(d, "  %d  cannot be opened: %s\n", index, error);
        tools_doctor_problem(d, "device %d cannot be opened: %s", index, error);
        return;
    }
    tools_doctor_say(d, "  %d  %s  %s, driver %s, %.1f GiB, feature level %s\n", index,
                     json_string_value(json_object_get(device, "kind")),
                     json_string_value(json_object_get(device, "name")),
                     json_string_value(json_object_get(device, "driver")), bytes / (1 << 30),
                     json_string_value(json_object_get(device, "feature_level")));
    if (!list)
        return;
    tools_doctor_say(d, "     subgroups of %d;", (int)json_integer_value(subgroup));
    for (size_t i = 0; i < json_array_size(list); i++)
        tools_doctor_say(d, " %s", json_string_value(json_array_get(list, i)));
    tools_doctor_say(d, "%s\n", json_array_size(list) ? "" : " no capabilities");
}

static bool check_device(const json_t *devices, uint32_t index, struct tools_error *error)
{
    const size_t count = json_array_size(devices);
    return !count || index < count ||
           tools_fail(error, TOOLS_USAGE, "device %u does not exist; the devices are 0 to %u (anydml devices)", index,
                      (unsigned)count - 1);
}

static void test_devices(struct tools_doctor *d, const struct tools_options *options,
                         const struct tools_doctor_cases *cases, json_t *devices)
{
    for (uint32_t i = 0; i < json_array_size(devices); i++) {
        json_t *device = json_array_get(devices, i);
        if ((options->device_given && options->device != i) || json_object_get(device, "error"))
            continue;
        tools_doctor_say(d, "\ndevice %u, %s\n", i, json_string_value(json_object_get(device, "name")));
        tools_doctor_test(d, cases, i, device);
        if (!d->no_speed)
            tools_doctor_speed(d, i, device);
    }
}

/* ---- the command ---- */

static bool examine(struct tools_doctor *d, const struct tools_options *options, struct tools_error *error)
{
    struct tools_doctor_cases cases;
    tools_doctor_system(d);
    json_t *devices = list_devices(d, options->device_given);
    json_object_set_new(d->report, "devices", devices);
    if (options->device_given && !check_device(devices, options->device, error))
        return false;
    tools_doctor_vulkan(d);
    tools_doctor_vulkan_match(d, devices);
    const char *listing = json_string_value(json_object_get(d->report, "listing"));
    tools_doctor_say(d, "\ndevices\n");
    if (listing)
        tools_doctor_say(d, "  the list: %s%s\n", listing, options->device_given ? "" : "; without Vulkan:");
    for (size_t i = 0; i < json_array_size(devices); i++)
        say_device(d, json_array_get(devices, i));
    const bool ok = tools_doctor_cases_make(&cases) || tools_fail_memory(error);
    if (ok)
        test_devices(d, options, &cases, devices);
    tools_doctor_cases_finish(&cases);
    return ok;
}

static bool take_option(void *context, int option, const char *value, struct tools_error *error)
{
    struct tools_doctor *d = context;
    uint64_t number;
    if (option == DOCTOR_OPTION_NO_SPEED) {
        d->no_speed = true;
        return true;
    }
    if (!tools_parse_uint(value, 1, 3600, &number))
        return tools_fail(error, TOOLS_USAGE, "--timeout must be a number from 1 to 3600, not '%s'", value);
    d->seconds = (uint32_t)number;
    return true;
}

int tools_cmd_doctor(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "json", no_argument, NULL, TOOLS_OPTION_JSON },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "no-speed", no_argument, NULL, DOCTOR_OPTION_NO_SPEED },
        { "timeout", required_argument, NULL, DOCTOR_OPTION_TIMEOUT },
        { 0 },
    };
    struct tools_doctor d = { .seconds = DEFAULT_SECONDS };
    struct tools_options options = { .table = table, .help = tools_help_doctor, .take = take_option, .context = &d };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml doctor", &error);
    if (options.helped)
        return 0;
    /* A child that crashes leaves no file behind. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    d.json = options.json;
    d.report = json_object();
    d.problems = json_array();
    json_object_set_new(d.report, "problems", d.problems);
    const bool ok = examine(&d, &options, &error);
    const bool works = !json_array_size(d.problems);
    if (ok)
        print_verdict(&d);
    if (ok && d.json) {
        json_dumpf(d.report, stdout, JSON_INDENT(2));
        printf("\n");
    }
    json_decref(d.report);
    return !ok ? tools_report("anydml doctor", &error) : works ? 0 : TOOLS_RUNTIME;
}
