/* SPDX-License-Identifier: Apache-2.0 */
/* The provider's options and the session's keys, as in the Windows provider; docs/onnxruntime.md describes their
 * meaning here. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

struct reader {
    struct ep_factory *factory;
    const OrtSessionOptions *session;
    OrtStatus *status;
    char value[4096];
};

/* The value of a session key, NULL when it is not set. */
static const char *session_value(struct reader *r, const char *key)
{
    const OrtApi *ort = r->factory->ort;
    int has = 0;
    size_t size = sizeof(r->value);
    if (r->status || (r->status = ort->HasSessionConfigEntry(r->session, key, &has)) || !has)
        return NULL;
    r->status = ort->GetSessionConfigEntry(r->session, key, r->value, &size);
    return r->status ? NULL : r->value;
}

const struct ep_provider ep_provider_own = { EP_NAME, "ep.anydmlexecutionprovider." };
const struct ep_provider ep_provider_windows = { EP_NAME_WINDOWS, "ep.dmlexecutionprovider." };

/* A provider option: the host stores it under the provider's name in lower case. */
static const char *option_value(struct reader *r, const char *key)
{
    char name[128];
    snprintf(name, sizeof(name), "%s%s", r->factory->provider->options, key);
    return session_value(r, name);
}

static void refuse(struct reader *r, const char *key, const char *rule)
{
    if (!r->status)
        r->status = ep_status(r->factory, ORT_INVALID_ARGUMENT, "option %s is '%.100s'; %s", key, r->value, rule);
}

static bool parse_number(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return text[0] >= '0' && text[0] <= '9' && !*end && value <= most;
}

static bool read_number(struct reader *r, const char *key, uint64_t most, uint64_t *out)
{
    const char *text = option_value(r, key);
    if (!text)
        return false;
    if (!parse_number(text, most, out))
        refuse(r, key, "must be an integer in range");
    return !r->status;
}

/* The Windows provider accepts exactly these spellings. */
static void read_bool(struct reader *r, const char *key, bool *out)
{
    const char *text = option_value(r, key);
    if (!text)
        return;
    if (!strcmp(text, "True") || !strcmp(text, "true"))
        *out = true;
    else if (!strcmp(text, "False") || !strcmp(text, "false"))
        *out = false;
    else
        refuse(r, key, "must be True, true, False or false");
}

static void read_flag(struct reader *r, const char *key, bool *out)
{
    const char *text = session_value(r, key);
    if (text)
        *out = !strcmp(text, "1") || !strcmp(text, "true");
}

static const char *metadata_value(const struct ep_factory *factory, const OrtKeyValuePairs *pairs, const char *key)
{
    return pairs ? factory->ort->GetKeyValue(pairs, key) : NULL;
}

/* device_id has priority; then filter and preference; then the OrtEpDevice of the session. */
static void read_adapter(struct reader *r, const OrtKeyValuePairs *metadata, struct ep_options *out)
{
    const char *given = metadata_value(r->factory, metadata, "device_id"), *text;
    char filter[8] = "";
    enum ep_preference preference = EP_DEFAULT;
    bool choose = false;
    uint64_t id;
    if ((text = option_value(r, "device_filter"))) {
        if (strcmp(text, "gpu") && strcmp(text, "any") && strcmp(text, "npu"))
            refuse(r, "device_filter", "must be gpu, any or npu");
        snprintf(filter, sizeof(filter), "%.7s", text);
        choose = true;
    }
    if ((text = option_value(r, "performance_preference"))) {
        if (!strcmp(text, "minimum_power"))
            preference = EP_MINIMUM_POWER;
        else if (!strcmp(text, "high_performance"))
            preference = EP_HIGH_PERFORMANCE;
        else if (strcmp(text, "default"))
            refuse(r, "performance_preference", "it must be default, high_performance or minimum_power");
        choose = choose || preference != EP_DEFAULT;
    }
    out->adapter = out->given = given ? (uint32_t)strtoul(given, NULL, 10) : 0;
    if (read_number(r, "device_id", UINT32_MAX - 1, &id))
        out->adapter = (uint32_t)id;
    else if (choose && !r->status)
        out->adapter = ep_choose_adapter(filter[0] ? filter : "any", preference);
    if (!r->status && out->adapter >= ep_adapter_count())
        r->status = ep_status(r->factory, ORT_INVALID_ARGUMENT, "the device does not exist; found %u (anydml devices)",
                              ep_adapter_count());
}

OrtStatus *ep_read_limit(const struct ep_factory *factory, const char *text, uint64_t *out)
{
    if (!text || parse_number(text, UINT64_MAX, out))
        return NULL;
    return ep_status(factory, ORT_INVALID_ARGUMENT, "option arena_limit is '%.100s'; must be an integer", text);
}

OrtStatus *ep_read_options(struct ep_factory *factory, const OrtSessionOptions *session,
                           const OrtKeyValuePairs *metadata, struct ep_options *out)
{
    struct reader r = { .factory = factory, .session = session };
    uint64_t number;
    bool no_arena = false;
    *out = (struct ep_options){ .shapes_max = 32, .arena_max = EP_ARENA_LIMIT };
    read_adapter(&r, metadata, out);
    if (read_number(&r, EP_HANDLE_OPTION, UINT32_MAX, &number))
        out->handle = (uint32_t)number;
    read_bool(&r, "disable_metacommands", &out->disable_metacommands);
    out->device_tensors = out->handle; /* callers that pass a device have buffers on it */
    read_bool(&r, "device_tensors", &out->device_tensors);
    read_bool(&r, "resident_caches", &out->resident_caches);
    read_bool(&r, "half_precision", &out->half_precision);
    if (read_number(&r, "shape_cache", 65536, &number))
        out->shapes_max = (uint32_t)BASE_MAX(number, 1u);
    if (read_number(&r, "arena_limit", UINT64_MAX, &number))
        out->arena_max = number;
    read_flag(&r, "ep.dml.disable_graph_fusion", &out->disable_graph_fusion);
    read_flag(&r, "ep.dml.disable_memory_arena", &no_arena);
    read_flag(&r, "session.disable_cpu_ep_fallback", &out->no_fallback);
    if (no_arena)
        out->arena_max = 0;
    read_flag(&r, "ep.context_enable", &out->context_enable);
    read_flag(&r, "ep.context_embed_mode", &out->context_embed);
    const char *path = session_value(&r, "ep.context_file_path");
    if (path)
        snprintf(out->context_path, sizeof(out->context_path), "%s", path);
    return r.status;
}
