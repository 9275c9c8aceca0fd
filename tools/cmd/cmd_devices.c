/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/session.h"
#include "tools/text.h"

#include "base/shown.h"

const char tools_help_devices[] =
    "usage: anydml devices [--json]\n\n"
    "Lists the devices: the number for --device, name, kind, memory, driver version, and DirectML's feature level.\n"
    "Device 0 is the default device of all programs: the fastest GPU, or the CPU if there is no GPU.\n"
    "ANYDML_ADAPTERS=cpu,vulkan selects the kinds of devices and their order.\n\n"
    "  --json   print one JSON array\n";

static void devices_print(uint32_t index, const struct tools_device_info *info)
{
    uint64_t bytes = info->dedicated_bytes ? info->dedicated_bytes : info->shared_bytes;
    char driver[32];
    snprintf(driver, sizeof(driver), "%u.%u.%u.%u", info->driver[0], info->driver[1], info->driver[2], info->driver[3]);
    printf("%-6u  %-4s  %6.1f GiB  %-14s  %x.%x    %s\n", index, info->kind, (double)bytes / (1 << 30), driver,
           (unsigned)info->level >> 12, (unsigned)info->level >> 8 & 15, info->name);
}

static void devices_print_json(uint32_t index, const struct tools_device_info *info)
{
    printf("%s\n  {\"index\": %u, \"name\": ", index ? "," : "", index);
    tools_json_string(stdout, info->name);
    printf(", \"kind\": \"%s\", \"integrated\": %s, \"dedicated_bytes\": %llu, \"shared_bytes\": %llu, ", info->kind,
           info->integrated ? "true" : "false", (unsigned long long)info->dedicated_bytes,
           (unsigned long long)info->shared_bytes);
    printf("\"driver\": \"%u.%u.%u.%u\", \"feature_level\": \"%x.%x\"}", info->driver[0], info->driver[1],
           info->driver[2], info->driver[3], (unsigned)info->level >> 12, (unsigned)info->level >> 8 & 15);
}

/* It is listed nevertheless: the numbers of the others depend on it. */
static void devices_print_error(uint32_t index, const char *text, bool json)
{
    char line[sizeof(((struct tools_error *)0)->text)];
    snprintf(line, sizeof(line), "%s", text);
    base_shown_line(line);
    if (json) {
        printf("%s\n  {\"index\": %u, \"error\": ", index ? "," : "", index);
        tools_json_string(stdout, line);
        printf("}");
    } else
        printf("%-6u  cannot be opened: %s\n", index, line);
}

static bool devices_list(bool json, struct tools_error *error)
{
    bool ok = true;
    uint32_t count;
    if (!tools_device_count(&count, error))
        return false;
    printf("%s", json ? "[" : "device  kind      memory  driver          level  name\n");
    for (uint32_t i = 0; i < count; i++) {
        struct tools_session *session;
        struct tools_error why;
        if (!tools_session_create(i, &session, &why)) {
            devices_print_error(i, why.text, json);
            *error = ok ? why : *error;
            ok = false;
            continue;
        }
        if (json)
            devices_print_json(i, &session->info);
        else
            devices_print(i, &session->info);
        tools_session_destroy(session);
    }
    if (json)
        printf("\n]\n");
    return ok;
}

int tools_cmd_devices(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "json", no_argument, NULL, TOOLS_OPTION_JSON },
        { 0 },
    };
    struct tools_options options = { .table = table, .help = tools_help_devices };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml devices", &error);
    if (options.helped || devices_list(options.json, &error))
        return 0;
    return tools_report("anydml devices", &error);
}
