/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that are created: told of in the file that ANYDML_ONNXRUNTIME_REPORT names, as `anydml exec` wants to know,
 * and, with ANYDML_ONNXRUNTIME_DEFAULT=1, given the provider when their options do not ask for it. */
#define _GNU_SOURCE
#include "compat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_provider(const OrtSessionOptions *options, char *device, size_t size)
{
    static const char *const keys[] = { "ep.dmlexecutionprovider.device_id", "ep.dmlexecutionprovider.dml_handle" };
    int has = 0;
    snprintf(device, size, "-");
    for (size_t i = 0; options && i < 2 && !has; i++) {
        OrtStatus *status = compat_ort()->HasSessionConfigEntry(options, keys[i], &has);
        if (!status && has && !i)
            status = compat_ort()->GetSessionConfigEntry(options, keys[i], device, &size);
        if (status)
            compat_ort()->ReleaseStatus(status);
    }
    return has;
}

/* One line a session, with a single write: other processes may write to the file too. */
static void report(const OrtSessionOptions *options)
{
    const char *path = getenv("ANYDML_ONNXRUNTIME_REPORT");
    char device[32], line[96];
    if (!path || !*path)
        return;
    bool ours = has_provider(options, device, sizeof(device));
    int length = snprintf(line, sizeof(line), "%s %s\n", ours ? COMPAT_PROVIDER : "other", device);
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) < 0)
        fprintf(stderr, COMPAT_NAME ": %s cannot be written\n", path);
    close(file);
}

/* The options to create a session with: those given, or a copy with the provider, which the caller releases. */
static OrtStatus *choose(const OrtSessionOptions *given, OrtSessionOptions **out_copy)
{
    const char *wanted = getenv("ANYDML_ONNXRUNTIME_DEFAULT");
    char device[32];
    *out_copy = NULL;
    if (!wanted || strcmp(wanted, "1") != 0 || has_provider(given, device, sizeof(device)))
        return NULL;
    OrtStatus *status =
        given ? compat_ort()->CloneSessionOptions(given, out_copy) : compat_ort()->CreateSessionOptions(out_copy);
    if (!status)
        status = compat_append_number(*out_copy, 0);
    if (status && *out_copy) {
        compat_ort()->ReleaseSessionOptions(*out_copy);
        *out_copy = NULL;
    }
    return status;
}

static void finish(OrtStatus *status, const OrtSessionOptions *used, OrtSessionOptions *copy)
{
    if (!status)
        report(used);
    if (copy)
        compat_ort()->ReleaseSessionOptions(copy);
}

static OrtStatus *ORT_API_CALL create(const OrtEnv *env, const ORTCHAR_T *path, const OrtSessionOptions *options,
                                      OrtSession **out) NO_EXCEPTION
{
    OrtSessionOptions *copy;
    OrtStatus *status = choose(options, &copy);
    if (status)
        return status;
    options = copy ? copy : options;
    status = compat_ort()->CreateSession(env, path, options, out);
    finish(status, options, copy);
    return status;
}

static OrtStatus *ORT_API_CALL create_from_array(const OrtEnv *env, const void *data, size_t size,
                                                 const OrtSessionOptions *options, OrtSession **out) NO_EXCEPTION
{
    OrtSessionOptions *copy;
    OrtStatus *status = choose(options, &copy);
    if (status)
        return status;
    options = copy ? copy : options;
    status = compat_ort()->CreateSessionFromArray(env, data, size, options, out);
    finish(status, options, copy);
    return status;
}

static OrtStatus *ORT_API_CALL create_prepacked(const OrtEnv *env, const ORTCHAR_T *path,
                                                const OrtSessionOptions *options, OrtPrepackedWeightsContainer *weights,
                                                OrtSession **out) NO_EXCEPTION
{
    OrtSessionOptions *copy;
    OrtStatus *status = choose(options, &copy);
    if (status)
        return status;
    options = copy ? copy : options;
    status = compat_ort()->CreateSessionWithPrepackedWeightsContainer(env, path, options, weights, out);
    finish(status, options, copy);
    return status;
}

static OrtStatus *ORT_API_CALL create_prepacked_from_array(const OrtEnv *env, const void *data, size_t size,
                                                           const OrtSessionOptions *options,
                                                           OrtPrepackedWeightsContainer *weights,
                                                           OrtSession **out) NO_EXCEPTION
{
    OrtSessionOptions *copy;
    OrtStatus *status = choose(options, &copy);
    if (status)
        return status;
    options = copy ? copy : options;
    status = compat_ort()->CreateSessionFromArrayWithPrepackedWeightsContainer(env, data, size, options, weights, out);
    finish(status, options, copy);
    return status;
}

void compat_session_functions(OrtApi *table)
{
    table->CreateSession = create;
    table->CreateSessionFromArray = create_from_array;
    table->CreateSessionWithPrepackedWeightsContainer = create_prepacked;
    table->CreateSessionFromArrayWithPrepackedWeightsContainer = create_prepacked_from_array;
}
