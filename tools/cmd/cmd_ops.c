/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/session.h"
#include "tools/text.h"

#include <anydml.h>

#include <stdlib.h>

#define OPS_DEVICES_MAX 16
#define OPS_NAME_WIDTH  55 /* of the longest name */
#define OPS_TYPES_WIDTH 49 /* of one device's column */

const char tools_help_ops[] =
    "usage: anydml ops [--json]\n\n"
    "Lists every DirectML operator with its feature level and, for each device, the data types that it supports. '-'\n"
    "marks an operator that the device does not support, '*' one with fewer types than the specification allows; '+'\n"
    "precedes types that the device supports beyond the specification.\n\n"
    "  --json   print one JSON object\n";

static const struct {
    const char *tag, *name;
} ops_types[] = {
    [DML_TENSOR_DATA_TYPE_FLOAT32] = { "f32", "float32" }, [DML_TENSOR_DATA_TYPE_FLOAT16] = { "f16", "float16" },
    [DML_TENSOR_DATA_TYPE_UINT32] = { "u32", "uint32" },   [DML_TENSOR_DATA_TYPE_UINT16] = { "u16", "uint16" },
    [DML_TENSOR_DATA_TYPE_UINT8] = { "u8", "uint8" },      [DML_TENSOR_DATA_TYPE_INT32] = { "i32", "int32" },
    [DML_TENSOR_DATA_TYPE_INT16] = { "i16", "int16" },     [DML_TENSOR_DATA_TYPE_INT8] = { "i8", "int8" },
    [DML_TENSOR_DATA_TYPE_FLOAT64] = { "f64", "float64" }, [DML_TENSOR_DATA_TYPE_UINT64] = { "u64", "uint64" },
    [DML_TENSOR_DATA_TYPE_INT64] = { "i64", "int64" },     [DML_TENSOR_DATA_TYPE_UINT4] = { "u4", "uint4" },
    [DML_TENSOR_DATA_TYPE_INT4] = { "i4", "int4" },        [ANYDML_TENSOR_DATA_TYPE_BFLOAT16] = { "bf16", "bfloat16" },
};

struct ops_devices {
    struct tools_session *sessions[OPS_DEVICES_MAX];
    uint32_t count;
    uint32_t complete[OPS_DEVICES_MAX], some[OPS_DEVICES_MAX]; /* operators that run with all types, with any */
};

static bool ops_open(struct ops_devices *devices, struct tools_error *error)
{
    uint32_t count;
    if (!tools_device_count(&count, error))
        return false;
    for (uint32_t i = 0; i < BASE_MIN(count, OPS_DEVICES_MAX); i++, devices->count++)
        if (!tools_session_create(i, &devices->sessions[i], error))
            return false;
    return devices->count || tools_fail(error, TOOLS_RUNTIME, "no device was found");
}

static void ops_close(struct ops_devices *devices)
{
    for (uint32_t i = 0; i < devices->count; i++)
        tools_session_destroy(devices->sessions[i]);
}

static void ops_json_types(uint64_t types)
{
    const char *comma = "";
    printf("[");
    for (uint32_t i = 1; i < ARRAY_SIZE(ops_types); i++) {
        if (!(types >> i & 1) || !ops_types[i].name)
            continue;
        printf("%s\"%s\"", comma, ops_types[i].name);
        comma = ", ";
    }
    printf("]");
}

static void ops_text_types(uint64_t types, uint64_t allowed, uint64_t extensions)
{
    char text[128] = "";
    size_t used = 0;
    for (uint32_t i = 1; i < ARRAY_SIZE(ops_types); i++)
        if ((types >> i & 1) && ops_types[i].tag)
            used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", ops_types[i].tag);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", !types ? " -" : types != allowed ? " *" : "");
    for (uint32_t i = 1; i < ARRAY_SIZE(ops_types); i++)
        if ((extensions >> i & 1) && ops_types[i].tag)
            used += (size_t)snprintf(text + used, sizeof(text) - used, " +%s", ops_types[i].tag);
    printf(" |%-*s", OPS_TYPES_WIDTH, text);
}

static void ops_json_row(const struct anydml_operator_info *infos, uint32_t count, uint32_t index)
{
    unsigned level = (unsigned)infos[0].Level;
    printf("%s\n    {\"name\": \"%s\", \"level\": \"%x.%x\", \"allowed\": ", index ? "," : "", infos[0].Name,
           level >> 12, level >> 8 & 15);
    ops_json_types(infos[0].SchemaTypes);
    printf(", \"devices\": [");
    for (uint32_t d = 0; d < count; d++) {
        printf("%s", d ? ", " : "");
        ops_json_types(infos[d].Types);
    }
    printf("], \"extensions\": [");
    for (uint32_t d = 0; d < count; d++) {
        printf("%s", d ? ", " : "");
        ops_json_types(infos[d].ExtensionTypes);
    }
    printf("]}");
}

static void ops_text_row(const struct anydml_operator_info *infos, uint32_t count)
{
    unsigned level = (unsigned)infos[0].Level;
    printf("%-*s   %x.%x", OPS_NAME_WIDTH, infos[0].Name ? infos[0].Name : "", level >> 12, level >> 8 & 15);
    for (uint32_t d = 0; d < count; d++)
        ops_text_types(infos[d].Types, infos[d].SchemaTypes, infos[d].ExtensionTypes);
    printf("\n");
}

static void ops_text_devices(const struct ops_devices *devices)
{
    printf("%-*s level", OPS_NAME_WIDTH, "operator");
    for (uint32_t d = 0; d < devices->count; d++) {
        char text[300];
        snprintf(text, sizeof(text), " device %u, %s", d, devices->sessions[d]->info.name);
        printf(" |%-*.*s", OPS_TYPES_WIDTH, OPS_TYPES_WIDTH, text);
    }
    printf("\n");
}

/* One operator on every device; *done if the index is past the last. */
static bool ops_row(struct ops_devices *devices, uint32_t index, bool json, bool *done, struct tools_error *error)
{
    struct anydml_operator_info infos[OPS_DEVICES_MAX] = { { 0 } };
    for (uint32_t d = 0; d < devices->count; d++) {
        HRESULT hr = AnydmlEnumOperators((IDMLDevice *)devices->sessions[d]->device->dml, index, &infos[d]);
        *done = hr == (HRESULT)DXGI_ERROR_NOT_FOUND;
        if (*done)
            return true;
        if (!tools_check(error, hr, "listing operators"))
            return false;
        devices->some[d] += infos[d].Types != 0;
        devices->complete[d] += infos[d].Types == infos[d].SchemaTypes;
    }
    if (json)
        ops_json_row(infos, devices->count, index);
    else
        ops_text_row(infos, devices->count);
    return true;
}

static void ops_json_devices(const struct ops_devices *devices)
{
    printf("{\"devices\": [");
    for (uint32_t d = 0; d < devices->count; d++) {
        printf("%s", d ? ", " : "");
        tools_json_string(stdout, devices->sessions[d]->info.name);
    }
    printf("], \"operators\": [");
}

static bool ops_list(struct ops_devices *devices, bool json, struct tools_error *error)
{
    bool done = false;
    if (json)
        ops_json_devices(devices);
    else
        ops_text_devices(devices);
    uint32_t index = 0;
    for (; !done; index++)
        if (!ops_row(devices, index, json, &done, error))
            return false;
    if (json) {
        printf("\n]}\n");
        return true;
    }
    printf("\n");
    for (uint32_t d = 0; d < devices->count; d++)
        printf("device %u, %s: %u of %u operators run, %u with every type that the specification allows\n", d,
               devices->sessions[d]->info.name, devices->some[d], index - 1, devices->complete[d]);
    return true;
}

int tools_cmd_ops(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "json", no_argument, NULL, TOOLS_OPTION_JSON },
        { 0 },
    };
    struct tools_options options = { .table = table, .help = tools_help_ops };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml ops", &error);
    if (options.helped)
        return 0;
    struct ops_devices devices = { 0 };
    bool ok = ops_open(&devices, &error) && ops_list(&devices, options.json, &error);
    ops_close(&devices);
    return ok ? 0 : tools_report("anydml ops", &error);
}
