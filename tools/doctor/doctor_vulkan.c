/* SPDX-License-Identifier: Apache-2.0 */
/* What Vulkan has, from the log of a child that lists its devices. */
#define _GNU_SOURCE /* asprintf */
#include "tools/doctor/doctor.h"

#include "base/os.h"
#include "base/shown.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGES_MAX 8

static const char head[] = "anydml info: vulkan: ";

/* ---- the log ---- */

/* The device of a line `"NAME"<verb>REST`: the name, and *out_rest; NULL: the line is another. */
static json_t *quoted(const char *line, const char *verb, const char **out_rest)
{
    const char *end = NULL;
    if (*line != '"')
        return NULL;
    for (const char *at = line + 1; (at = strstr(at, verb)); at++)
        if (at[-1] == '"' && at > line + 1)
            end = at;
    if (!end)
        return NULL;
    char name[300];
    snprintf(name, sizeof(name), "%.*s", (int)(end - line - 2), line + 1);
    *out_rest = end + strlen(verb);
    return tools_doctor_text(name);
}

static json_t *last_of(const json_t *list)
{
    const size_t count = json_array_size(list);
    return count ? json_array_get(list, count - 1) : NULL;
}

/* The words of a list with commas. */
static json_t *words(const char *list)
{
    json_t *out = json_array();
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        if (length && strncmp(at, "none", length) != 0)
            json_array_append_new(out, json_stringn(at, length));
        at += length + (at[length] == ',');
    }
    return out;
}

static void take_found(json_t *vulkan, json_t *name, const char *about)
{
    json_t *device = json_object();
    const char *subgroups = strstr(about, "subgroups of ");
    json_object_set_new(device, "name", name);
    json_object_set_new(device, "about", tools_doctor_text(about));
    json_object_set_new(device, "software", json_boolean(!strncmp(about, "software", 8)));
    if (subgroups)
        json_object_set_new(device, "subgroup_size", json_integer(atoi(subgroups + strlen("subgroups of "))));
    json_array_append_new(json_object_get(vulkan, "devices"), device);
}

static void take_message(json_t *vulkan, const char *line)
{
    char text[400];
    json_t *messages = json_object_get(vulkan, "messages");
    snprintf(text, sizeof(text), "%s", line);
    base_shown_line(text);
    tools_doctor_scrub(text, sizeof(text));
    if (json_array_size(messages) < MESSAGES_MAX)
        json_array_append_new(messages, tools_doctor_text(text));
}

/* A line of the adapter, or of the loader (VK_LOADER_DEBUG). */
static void take_line(json_t *vulkan, const char *line)
{
    const char *rest;
    json_t *name, *device = last_of(json_object_get(vulkan, "devices"));
    if (strncmp(line, head, strlen(head)) != 0) {
        if (strstr(line, "ERROR") || strstr(line, "unknown adapter"))
            take_message(vulkan, line);
        return;
    }
    line += strlen(head);
    if (!strncmp(line, "the loader is ", 14))
        json_object_set_new(vulkan, "loader", tools_doctor_text(line + 14));
    else if ((name = quoted(line, " is found: ", &rest)))
        take_found(vulkan, name, rest);
    else if ((name = quoted(line, " is not used: ", &rest))) {
        json_object_set_new(device, "reason", tools_doctor_text(rest));
        json_decref(name);
    } else if ((name = quoted(line, " is used with ", &rest))) {
        json_object_set_new(device, "capabilities", words(rest));
        json_decref(name);
    } else
        take_message(vulkan, line);
}

static void take_log(json_t *vulkan, char *log)
{
    char *rest = log;
    for (char *line; (line = strsep(&rest, "\n"));)
        take_line(vulkan, line);
}

/* ---- children ---- */

/* With one driver, or all that the loader finds. */
static void list_devices(const struct tools_doctor *d, const char *manifest, struct tools_doctor_child *out)
{
    static const char *const command[] = { "devices", NULL };
    char *files = NULL, *names = NULL;
    const char *changes[] = { "ANYDML_LOG=info",
                              "ANYDML_ADAPTERS=vulkan,cpu",
                              "ANYDML_TELEMETRY=0",
                              "ANYDML_TRACE",
                              "VK_LOADER_DEBUG=error",
                              NULL,
                              NULL,
                              NULL,
                              NULL };
    if (manifest && asprintf(&files, "VK_DRIVER_FILES=%s", manifest) >= 0 &&
        asprintf(&names, "VK_ICD_FILENAMES=%s", manifest) >= 0) {
        changes[5] = files;
        changes[6] = names;
        changes[7] = "VK_ADD_DRIVER_FILES";
    }
    *out = (struct tools_doctor_child){ .words = command, .environment = changes, .seconds = d->seconds };
    tools_doctor_run(out);
    free(files);
    free(names);
}

/* Whose driver it is that the child did not survive. */
static void find_culprit(struct tools_doctor *d, const struct tools_doctor_manifests *manifests, json_t *list,
                         const char *failure)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < manifests->count; i++) {
        struct tools_doctor_child child;
        json_t *entry = json_array_get(list, i);
        if (json_object_get(entry, "problem"))
            continue;
        list_devices(d, manifests->paths[i], &child);
        if (child.end != TOOLS_DOCTOR_EXITED) {
            const char *file = json_string_value(json_object_get(entry, "file"));
            json_object_set_new(entry, "problem", json_sprintf("the driver %s", child.failure));
            tools_doctor_say(d, "  %-12s %s: the driver %s\n", "driver", file, child.failure);
            tools_doctor_problem(d, "the Vulkan driver of %s %s", file, child.failure);
            found++;
        }
        tools_doctor_finish(&child);
    }
    if (!found) {
        tools_doctor_say(d, "  %-12s the driver %s\n", "driver", failure);
        tools_doctor_problem(d, "the Vulkan driver %s", failure);
    }
}

/* ---- the section ---- */

static void say_list(const struct tools_doctor *d, const char *what, const json_t *list)
{
    const size_t count = json_array_size(list);
    tools_doctor_say(d, "  %-12s ", what);
    for (size_t i = 0; i < count; i++)
        tools_doctor_say(d, "%s%s", i ? ", " : "", json_string_value(json_array_get(list, i)));
    tools_doctor_say(d, "%s\n", count ? "" : "none");
}

static json_t *list_manifests(struct tools_doctor *d, const struct tools_doctor_manifests *manifests)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < manifests->count; i++) {
        json_t *entry = tools_doctor_manifest_read(manifests->paths[i]);
        const char *library = json_string_value(json_object_get(entry, "library"));
        const char *version = json_string_value(json_object_get(entry, "version"));
        const char *problem = json_string_value(json_object_get(entry, "problem"));
        json_array_append_new(list, entry);
        tools_doctor_say(d, "  %-12s %s: %s%s%s%s%s\n", "manifest", json_string_value(json_object_get(entry, "file")),
                         library ? library : "", version ? ", Vulkan " : "", version ? version : "",
                         problem && library ? "; " : "", problem ? problem : "");
    }
    if (!manifests->count)
        tools_doctor_say(d, "  %-12s none\n", "manifest");
    return list;
}

void tools_doctor_vulkan(struct tools_doctor *d)
{
    struct tools_doctor_manifests manifests;
    struct tools_doctor_child child;
    json_t *vulkan = tools_doctor_hardware();
    json_object_set_new(d->report, "vulkan", vulkan);
    json_object_set_new(vulkan, "devices", json_array());
    json_object_set_new(vulkan, "messages", json_array());
    tools_doctor_say(d, "\nVulkan\n");
    say_list(d, "GPUs", json_object_get(vulkan, "cards"));
    say_list(d, "nodes", json_object_get(vulkan, "nodes"));
    tools_doctor_manifests_find(&manifests);
    json_t *list = list_manifests(d, &manifests);
    json_object_set_new(vulkan, "manifests", list);
    list_devices(d, NULL, &child);
    take_log(vulkan, child.messages);
    const char *loader = json_string_value(json_object_get(vulkan, "loader"));
    tools_doctor_say(d, "  %-12s %s\n", "loader", loader ? loader : "not found");
    const json_t *messages = json_object_get(vulkan, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++)
        tools_doctor_say(d, "  %-12s %s\n", "message", json_string_value(json_array_get(messages, i)));
    if (child.end == TOOLS_DOCTOR_CRASHED || child.end == TOOLS_DOCTOR_HANGS)
        find_culprit(d, &manifests, list, child.failure);
    else if (child.failure[0]) {
        tools_doctor_say(d, "  %-12s listing the devices %s\n", "problem", child.failure);
        tools_doctor_problem(d, "listing the devices of Vulkan %s", child.failure);
    }
    tools_doctor_finish(&child);
    tools_doctor_manifests_finish(&manifests);
}

/* ---- which devices are used ---- */

/* The device of the list that is the driver's: of equal ones, the first that has not been given away. */
static json_t *find_listed(const json_t *devices, const char *name)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        json_t *device = json_array_get(devices, i);
        const char *other = json_string_value(json_object_get(device, "name"));
        if (other && name && !strcmp(other, name) && !json_object_get(device, "capabilities"))
            return device;
    }
    return NULL;
}

static void match(struct tools_doctor *d, json_t *physical, const json_t *devices)
{
    const char *name = json_string_value(json_object_get(physical, "name"));
    const char *reason = json_string_value(json_object_get(physical, "reason"));
    json_t *capabilities = json_object_get(physical, "capabilities");
    json_t *listed = capabilities ? find_listed(devices, name) : NULL;
    char state[300];
    if (listed) {
        snprintf(state, sizeof(state), "used as device %d", (int)json_integer_value(json_object_get(listed, "index")));
        json_object_set(listed, "capabilities", capabilities);
        json_object_set(listed, "subgroup_size", json_object_get(physical, "subgroup_size"));
        json_object_set(physical, "device", json_object_get(listed, "index"));
    } else if (reason)
        snprintf(state, sizeof(state), "not used: %s", reason);
    else if (!capabilities)
        snprintf(state, sizeof(state), "not used, for an unknown reason");
    else if (json_is_true(json_object_get(physical, "software")))
        snprintf(state, sizeof(state), "not used: software, which ANYDML_ADAPTERS=vulkan,cpu would list");
    else
        snprintf(state, sizeof(state), "not used: not in the list of devices");
    json_object_set_new(physical, "state", tools_doctor_text(state));
    tools_doctor_say(d, "  %-12s \"%s\": %s\n  %-12s %s\n", "found", name, state, "",
                     json_string_value(json_object_get(physical, "about")));
}

static bool is_wanted(void)
{
    const char *adapters = getenv("ANYDML_ADAPTERS");
    return !adapters || !*adapters || strstr(adapters, "vulkan");
}

void tools_doctor_vulkan_match(struct tools_doctor *d, const json_t *devices)
{
    const json_t *vulkan = json_object_get(d->report, "vulkan"), *list = json_object_get(vulkan, "devices");
    bool any = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        match(d, json_array_get(list, i), devices);
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const char *kind = json_string_value(json_object_get(json_array_get(devices, i), "kind"));
        any = any || (kind && !strcmp(kind, "gpu"));
    }
    if (!any && is_wanted() && json_array_size(json_object_get(vulkan, "nodes")))
        tools_doctor_problem(d, "a GPU seems to be installed, but no Vulkan driver works with it");
}
