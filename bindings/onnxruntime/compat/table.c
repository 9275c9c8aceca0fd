/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions that programs get: the runtime's own, with the functions in which providers have names. */
#include "compat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    OrtApi *copy;
    bool looked, steps_aside;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- names of providers ---- */

static bool is_own_name(const char *name)
{
    return name && (!strcmp(name, "DML") || !strcmp(name, COMPAT_PROVIDER));
}

static OrtStatus *ORT_API_CALL get_provider_api(const char *name, uint32_t version, const void **out) NO_EXCEPTION
{
    const OrtDmlApi *api;
    if (!is_own_name(name))
        return compat_ort()->GetExecutionProviderApi(name, version, out);
    if (!out)
        return compat_status(ORT_INVALID_ARGUMENT, "provider_api is NULL");
    OrtStatus *status = compat_provider(&api);
    *out = api;
    return status;
}

static OrtStatus *ORT_API_CALL append(OrtSessionOptions *options, const char *name, const char *const *keys,
                                      const char *const *values, size_t count) NO_EXCEPTION
{
    return is_own_name(name) ? compat_append(options, keys, values, count)
                             : compat_ort()->SessionOptionsAppendExecutionProvider(options, name, keys, values, count);
}

static OrtStatus *ORT_API_CALL release_names(char **names, int count) NO_EXCEPTION
{
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    return NULL;
}

/* The provider first, as a build with DirectML lists it. */
static OrtStatus *ORT_API_CALL available(char ***out, int *out_count) NO_EXCEPTION
{
    char **theirs = NULL;
    int count = 0, filled = 0;
    OrtStatus *status = compat_ort()->GetAvailableProviders(&theirs, &count);
    if (status)
        return status;
    char **names = calloc((size_t)count + 1, sizeof(*names));
    bool complete = names && (names[filled++] = strdup(COMPAT_PROVIDER));
    for (int i = 0; complete && i < count; i++)
        if (strcmp(theirs[i], COMPAT_PROVIDER) != 0)
            complete = (names[filled++] = strdup(theirs[i]));
    status = compat_ort()->ReleaseAvailableProviders(theirs, count);
    if (complete && !status) {
        *out = names;
        *out_count = filled;
        return NULL;
    }
    release_names(names, filled);
    return status ? status : compat_status(ORT_FAIL, "out of memory");
}

/* ---- the table ---- */

/* Functions are only ever added at the end. This is where those of a version end, by the first of the next. */
static size_t end_of(uint32_t version)
{
    switch (version) {
    case 24:
        return offsetof(OrtApi, RunOptionsEnableProfiling);
    case 25:
    case 26:
        return offsetof(OrtApi, GetMemPatternEnabled);
    case 27:
        return offsetof(OrtApi, GetExperimentalFunction);
    case 28:
        return offsetof(OrtApi, SessionOptionsSetWeightlessSourceModelBuffer);
    default:
        /* The end of a version newer than the headers is not known here; the table leaves room for 72 functions for
         * each, the number that came with 1.23, the most so far. */
        return version < 24 ? offsetof(OrtApi, TensorTypeAndShape_HasShape)
                            : sizeof(OrtApi) + (version > ORT_API_VERSION ? version - ORT_API_VERSION : 0) * 72 *
                                                   sizeof(void (*)(void));
    }
}

/* With all functions of the runtime, whichever version a program requests: C# requests 14 and uses newer ones. */
static OrtApi *make_table(const OrtApi *real)
{
    size_t size = end_of(compat_version()), there = compat_readable(real);
    OrtApi *copy = calloc(1, size > sizeof(OrtApi) ? size : sizeof(OrtApi));
    if (!copy)
        return NULL;
    memcpy(copy, real, size < there ? size : there);
    copy->GetExecutionProviderApi = get_provider_api;
    copy->SessionOptionsAppendExecutionProvider = append;
    copy->GetAvailableProviders = available;
    copy->ReleaseAvailableProviders = release_names;
    compat_session_functions(copy);
    return copy;
}

/* A runtime with a DirectML provider of its own needs no other; one that knows no plugins can have none. */
static bool stands_for_itself(const OrtApi *real)
{
    char **names = NULL;
    int count = 0;
    bool has = compat_version() < COMPAT_OLDEST;
    if (has || real->GetAvailableProviders(&names, &count))
        return has; /* the status that tells of no memory is one that nothing could be done about */
    for (int i = 0; i < count; i++)
        has = has || !strcmp(names[i], COMPAT_PROVIDER);
    OrtStatus *status = real->ReleaseAvailableProviders(names, count);
    if (status)
        real->ReleaseStatus(status);
    return has;
}

static const OrtApi *ORT_API_CALL get_api(uint32_t version) NO_EXCEPTION
{
    const OrtApiBase *base = compat_runtime(NULL);
    const OrtApi *real = base ? base->GetApi(version) : NULL;
    if (!real)
        return NULL;
    pthread_mutex_lock(&table.lock);
    if (!table.looked)
        table.steps_aside = stands_for_itself(real);
    table.looked = true;
    if (!table.steps_aside && !table.copy)
        table.copy = make_table(real);
    const OrtApi *answer = table.steps_aside ? real : table.copy;
    pthread_mutex_unlock(&table.lock);
    return answer;
}

static const char *ORT_API_CALL get_version(void) NO_EXCEPTION
{
    const OrtApiBase *base = compat_runtime(NULL);
    return base ? base->GetVersionString() : "";
}

ORT_EXPORT const OrtApiBase *ORT_API_CALL OrtGetApiBase(void) NO_EXCEPTION
{
    static const OrtApiBase base = { .GetApi = get_api, .GetVersionString = get_version };
    return compat_runtime(__builtin_return_address(0)) ? &base : NULL;
}

/* The library is closed: the table is no longer used. */
__attribute__((destructor)) static void forget(void)
{
    free(table.copy);
}
