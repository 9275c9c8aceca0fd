/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by onnxruntime.c and style_transfer.c: ONNX Runtime, opened at run time, and the DirectML execution provider.
 */
#ifndef ONNXRUNTIME_SAMPLE_H
#define ONNXRUNTIME_SAMPLE_H

#include <dlfcn.h>
#include <err.h>
#include <limits.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const OrtApi *ort;
static OrtAllocator *allocator;

/* ONNX Runtime's messages may have several lines. */
static void check(OrtStatus *status, int code, const char *what)
{
    if (!status)
        return;
    char *message = strdup(ort->GetErrorMessage(status));
    for (char *at = message; at && (at = strpbrk(at, "\r\n"));)
        *at = ' ';
    errx(code, "%s: %s", what, message ? message : "out of memory");
}
#define CHECK(call) check((call), 1, #call)

/* A program that links to libonnxruntime runs with that version only, so it is opened instead. An API version is the
 * minor version of the runtime; older runtimes do not support the newest. */
static void open_runtime(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const OrtApiBase *(*get_base)(void) = library ? (const OrtApiBase *(*)(void))dlsym(library, "OrtGetApiBase") : NULL;
    unsigned minor = 0;
    if (get_base && sscanf(get_base()->GetVersionString(), "1.%u", &minor) == 1)
        ort = get_base()->GetApi(minor < ORT_API_VERSION ? minor : ORT_API_VERSION);
    if (!ort || minor < 23)
        errx(2, "%s: %s", path, library ? "not ONNX Runtime 1.23 or newer" : dlerror());
    CHECK(ort->GetAllocatorWithDefaultOptions(&allocator));
}

/* The library is registered once per process. Relative paths would start at libonnxruntime's folder. There is a device
 * per adapter, the default one first. */
static const OrtEpDevice *register_provider(OrtEnv *env, const char *path)
{
    const OrtEpDevice *const *devices;
    char absolute[PATH_MAX];
    size_t count;
    if (!realpath(path, absolute))
        err(2, "%s", path);
    check(ort->RegisterExecutionProviderLibrary(env, "directml", absolute), 2, path);
    CHECK(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; i++)
        if (!strcmp(ort->EpDevice_EpName(devices[i]), "AnyDMLExecutionProvider"))
            return devices[i];
    errx(2, "%s has no device", path);
}

/* On the device; without one, on ONNX Runtime's CPU provider. */
static OrtSession *create_session(OrtEnv *env, const char *model, const OrtEpDevice *device)
{
    OrtSessionOptions *options;
    OrtSession *session;
    CHECK(ort->CreateSessionOptions(&options));
    if (device)
        CHECK(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, NULL, NULL, 0));
    check(ort->CreateSession(env, model, options, &session), 2, model);
    ort->ReleaseSessionOptions(options);
    return session;
}

/* Sizes of the session's first input: returns their number. Open ones are negative. */
static size_t input_sizes(OrtSession *session, int64_t *sizes, size_t most)
{
    const OrtTensorTypeAndShapeInfo *tensor;
    OrtTypeInfo *type;
    size_t rank;
    CHECK(ort->SessionGetInputTypeInfo(session, 0, &type));
    CHECK(ort->CastTypeInfoToTensorInfo(type, &tensor));
    if (!tensor)
        errx(2, "the model's first input is not a tensor");
    CHECK(ort->GetDimensionsCount(tensor, &rank));
    rank = rank < most ? rank : most;
    CHECK(ort->GetDimensions(tensor, sizes, rank));
    ort->ReleaseTypeInfo(type);
    return rank;
}

/* From the first input to the first output. */
static OrtValue *run_session(OrtSession *session, const OrtValue *input)
{
    OrtValue *output = NULL;
    char *in, *out;
    CHECK(ort->SessionGetInputName(session, 0, allocator, &in));
    CHECK(ort->SessionGetOutputName(session, 0, allocator, &out));
    CHECK(ort->Run(session, NULL, (const char *const *)&in, &input, 1, (const char *const *)&out, 1, &output));
    CHECK(ort->AllocatorFree(allocator, in));
    CHECK(ort->AllocatorFree(allocator, out));
    return output;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

#endif
