/* SPDX-License-Identifier: Apache-2.0 */
/* The execution provider behind the names: found, loaded, and appended to session options. */
#define _GNU_SOURCE
#include "compat.h"

#include "try.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    void *library;
    const OrtDmlApi *api;
} provider = { .lock = PTHREAD_MUTEX_INITIALIZER };

OrtStatus *compat_status(OrtErrorCode code, const char *format, ...)
{
    char text[1024];
    int used = snprintf(text, sizeof(text), COMPAT_PROVIDER ": ");
    const OrtApi *ort = compat_ort();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, arguments);
    va_end(arguments);
    return ort ? ort->CreateStatus(code, text) : NULL;
}

/* ---- the library ---- */

/* Named by the environment, beside this library, or beside this library's package in Python; else where the system has
 * libraries. */
static void *open_library(char *why, size_t why_size)
{
    static const char name[] = "libonnxruntime_ep_directml.so";
    static const char *const folders[] = { "", "../onnxruntime_ep_directml/", "anydml/" };
    const char *path = getenv("ANYDML_ONNXRUNTIME_PROVIDER");
    char file[PATH_MAX], own[PATH_MAX];
    Dl_info info;
    void *library = NULL;
    if (path && *path) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    } else {
        if (!dladdr((void *)&open_library, &info) || !realpath(info.dli_fname, own) || !strrchr(own, '/'))
            own[0] = '\0';
        else
            strrchr(own, '/')[1] = '\0';
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !library && own[0]; i++) {
            int length = snprintf(file, sizeof(file), "%s%s%s", own, folders[i], name);
            if (length < (int)sizeof(file) && !access(file, R_OK))
                library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        }
        if (!library)
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    const char *error = library ? NULL : dlerror();
    snprintf(why, why_size, "%s", error ? error : "");
    return library;
}

/* The runtime may be one that a search of the process would not find. */
static const OrtDmlApi *open_api(void *library)
{
    const OrtDmlApi *(*get)(void);
    void (*use)(const OrtApiBase *);
    *(void **)&get = compat_symbol(library, "OrtGetDmlApi");
    *(void **)&use = compat_symbol(library, "AnydmlUseOnnxRuntime");
    if (use)
        use(compat_runtime(NULL));
    return get && use ? get() : NULL;
}

OrtStatus *compat_provider(const OrtDmlApi **out)
{
    char why[512] = "it is not this version's";
    pthread_mutex_lock(&provider.lock);
    if (!provider.library)
        provider.library = open_library(why, sizeof(why));
    if (provider.library && !provider.api)
        provider.api = open_api(provider.library);
    *out = provider.api;
    pthread_mutex_unlock(&provider.lock);
    return *out ? NULL : compat_status(ORT_NO_SUCHFILE, "libonnxruntime_ep_directml.so cannot be used: %s", why);
}

/* ---- session options ---- */

/* Where ONNX Runtime keeps a provider's option, and the provider reads it. */
static OrtStatus *set_option(OrtSessionOptions *options, const char *key, const char *value)
{
    char name[256];
    if (snprintf(name, sizeof(name), "ep.dmlexecutionprovider.%s", key) >= (int)sizeof(name))
        return compat_status(ORT_INVALID_ARGUMENT, "the name of option %.60s... is too long", key);
    return compat_ort()->AddSessionConfigEntry(options, name, value);
}

struct wishes {
    bool has_id, has_choice;
    int id;
    OrtDmlDeviceOptions choice;
};

static OrtStatus *read_word(const char *key, const char *value, const char *const *words, size_t count, size_t *out)
{
    for (*out = 0; *out < count; ++*out)
        if (!strcmp(value, words[*out]))
            return NULL;
    return compat_status(ORT_INVALID_ARGUMENT, "option %s is '%.100s'; it must be %s, %s or %s", key, value, words[0],
                         words[1], words[2]);
}

static OrtStatus *read_wish(const char *key, const char *value, struct wishes *out, bool *out_known)
{
    static const char *const preferences[] = { "default", "high_performance", "minimum_power" };
    static const char *const filters[] = { "any", "gpu", "npu" };
    static const unsigned filter_values[] = { (unsigned)Any, (unsigned)Gpu, (unsigned)Npu };
    size_t word = 0;
    *out_known = true;
    if (!strcmp(key, "device_id")) {
        char *end;
        errno = 0;
        long id = strtol(value, &end, 10);
        if (*end || end == value || errno || id < 0 || id > INT_MAX)
            return compat_status(ORT_INVALID_ARGUMENT, "option device_id is '%.100s'; it must be a whole number",
                                 value);
        out->has_id = true;
        out->id = (int)id;
    } else if (!strcmp(key, "performance_preference")) {
        TRY(read_word(key, value, preferences, 3, &word));
        out->choice.Preference = (OrtDmlPerformancePreference)word;
        out->has_choice = true;
    } else if (!strcmp(key, "device_filter")) {
        TRY(read_word(key, value, filters, 3, &word));
        out->choice.Filter = (OrtDmlDeviceFilter)filter_values[word];
        out->has_choice = true;
    } else {
        *out_known = false;
    }
    return NULL;
}

/* As in the Windows provider, a number wins over a preference. Without either it is device 0. */
OrtStatus *compat_append(OrtSessionOptions *options, const char *const *keys, const char *const *values, size_t count)
{
    const OrtDmlApi *api;
    struct wishes wishes = { .choice = { .Preference = Default, .Filter = (OrtDmlDeviceFilter)Any } };
    bool known = false;
    if (!options || (count && (!keys || !values)))
        return compat_status(ORT_INVALID_ARGUMENT, "%s is NULL", options ? "keys or values" : "options");
    for (size_t i = 0; i < count; i++) {
        if (!keys[i] || !values[i])
            return compat_status(ORT_INVALID_ARGUMENT, "option %zu has no name or no value", i);
        TRY(read_wish(keys[i], values[i], &wishes, &known));
    }
    TRY(compat_provider(&api));
    if (wishes.has_id || !wishes.has_choice)
        TRY(api->SessionOptionsAppendExecutionProvider_DML(options, wishes.id));
    else
        TRY(api->SessionOptionsAppendExecutionProvider_DML2(options, &wishes.choice));
    for (size_t i = 0; i < count; i++) {
        struct wishes ignored = wishes;
        TRY(read_wish(keys[i], values[i], &ignored, &known));
        if (!known)
            TRY(set_option(options, keys[i], values[i]));
    }
    return NULL;
}

OrtStatus *compat_append_number(OrtSessionOptions *options, int device_id)
{
    const OrtDmlApi *api;
    TRY(compat_provider(&api));
    return api->SessionOptionsAppendExecutionProvider_DML(options, device_id);
}

ORT_API_STATUS_IMPL(OrtSessionOptionsAppendExecutionProvider_DML, OrtSessionOptions *options, int device_id)
{
    return compat_append_number(options, device_id);
}

ORT_API_STATUS_IMPL(OrtSessionOptionsAppendExecutionProviderEx_DML, OrtSessionOptions *options, IDMLDevice *dml_device,
                    ID3D12CommandQueue *cmd_queue)
{
    const OrtDmlApi *api;
    TRY(compat_provider(&api));
    return api->SessionOptionsAppendExecutionProvider_DML1(options, dml_device, cmd_queue);
}
