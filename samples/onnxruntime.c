/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model with one float input and one float output in ONNX Runtime on the DirectML execution provider, and on
 * ONNX Runtime's own CPU provider, and compares: sample_onnxruntime LIBONNXRUNTIME PROVIDER MODEL. */
#include <dlfcn.h>
#include <err.h>
#include <limits.h>
#include <math.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call) check((call), #call)
enum { RANK_MAX = 8, FREE_SIZE = 64 /* of dimensions that the model leaves open */ };

static const OrtApi *ort;
static OrtAllocator *allocator;

static void check(OrtStatus *status, const char *what)
{
    if (status)
        errx(1, "%s: %s", what, ort->GetErrorMessage(status));
}

/* 1. A program that links to libonnxruntime runs with that version only, so it is opened instead. An API version is the
 * minor version of the runtime; older runtimes do not know the newest. */
static void open_runtime(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const OrtApiBase *(*get_base)(void) = library ? (const OrtApiBase *(*)(void))dlsym(library, "OrtGetApiBase") : NULL;
    unsigned minor = 0;
    if (get_base && sscanf(get_base()->GetVersionString(), "1.%u", &minor) == 1)
        ort = get_base()->GetApi(minor < ORT_API_VERSION ? minor : ORT_API_VERSION);
    if (!ort || minor < 23)
        errx(1, "%s: %s", path, library ? "not ONNX Runtime 1.23 or newer" : dlerror());
}

/* 2. The library is registered once per process. Relative paths would start at libonnxruntime's folder. There
 * is a device per adapter, the default one first. */
static const OrtEpDevice *register_provider(OrtEnv *env, const char *path)
{
    const OrtEpDevice *const *devices;
    char absolute[PATH_MAX];
    size_t count;
    if (!realpath(path, absolute))
        err(1, "%s", path);
    CHECK(ort->RegisterExecutionProviderLibrary(env, "directml", absolute));
    CHECK(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; i++)
        if (!strcmp(ort->EpDevice_EpName(devices[i]), "AnyDMLExecutionProvider"))
            return devices[i];
    errx(1, "%s has no device", path);
}

/* 3. The input's shape, with a size for what is open; the data are a ramp from 0 to 1. */
static OrtValue *create_input(OrtSession *session)
{
    const OrtTensorTypeAndShapeInfo *tensor;
    OrtTypeInfo *type;
    OrtValue *value;
    int64_t dims[RANK_MAX];
    size_t rank, count = 1;
    float *data;
    CHECK(ort->SessionGetInputTypeInfo(session, 0, &type));
    CHECK(ort->CastTypeInfoToTensorInfo(type, &tensor));
    CHECK(ort->GetDimensionsCount(tensor, &rank));
    rank = rank < RANK_MAX ? rank : RANK_MAX;
    CHECK(ort->GetDimensions(tensor, dims, rank));
    ort->ReleaseTypeInfo(type);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = dims[i] < 0 ? FREE_SIZE : dims[i];
        count *= (size_t)dims[i];
    }
    CHECK(ort->CreateTensorAsOrtValue(allocator, dims, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    CHECK(ort->GetTensorMutableData(value, (void **)&data));
    for (size_t i = 0; i < count; i++)
        data[i] = (float)i / (float)count;
    return value;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* 4. A session on the device; without one, on ONNX Runtime's CPU provider. The first run compiles the graph for the
 * input's shape; the second takes what was compiled. */
static OrtValue *run(OrtEnv *env, const char *model, const OrtEpDevice *device, OrtValue **input)
{
    OrtSessionOptions *options;
    OrtSession *session;
    OrtValue *output = NULL;
    char *in, *out;
    CHECK(ort->CreateSessionOptions(&options));
    if (device)
        CHECK(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, NULL, NULL, 0));
    CHECK(ort->CreateSession(env, model, options, &session));
    CHECK(ort->SessionGetInputName(session, 0, allocator, &in));
    CHECK(ort->SessionGetOutputName(session, 0, allocator, &out));
    *input = *input ? *input : create_input(session);
    for (int i = 0; i < 2; i++) {
        double begin = now_ms();
        CHECK(ort->Run(session, NULL, (const char *const *)&in, (const OrtValue *const *)input, 1,
                       (const char *const *)&out, 1, &output));
        printf("%s, run %d: %.2f ms\n", device ? "DirectML" : "CPU", i + 1, now_ms() - begin);
    }
    CHECK(ort->AllocatorFree(allocator, in));
    CHECK(ort->AllocatorFree(allocator, out));
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    return output;
}

static double difference(const OrtValue *a, const OrtValue *b)
{
    OrtTensorTypeAndShapeInfo *shape;
    const float *x, *y;
    double worst = 0;
    size_t count;
    CHECK(ort->GetTensorTypeAndShape(a, &shape));
    CHECK(ort->GetTensorShapeElementCount(shape, &count));
    ort->ReleaseTensorTypeAndShapeInfo(shape);
    CHECK(ort->GetTensorData(a, (const void **)&x));
    CHECK(ort->GetTensorData(b, (const void **)&y));
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs((double)x[i] - y[i]));
    printf("%zu numbers, largest difference %g\n", count, worst);
    return worst;
}

int main(int argc, char **argv)
{
    OrtValue *input = NULL;
    OrtEnv *env;
    if (argc != 4)
        errx(2, "arguments: LIBONNXRUNTIME PROVIDER MODEL");
    open_runtime(argv[1]);
    CHECK(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "sample", &env));
    CHECK(ort->GetAllocatorWithDefaultOptions(&allocator));
    OrtValue *y = run(env, argv[3], register_provider(env, argv[2]), &input), *z = run(env, argv[3], NULL, &input);
    double worst = difference(y, z);
    ort->ReleaseValue(input);
    ort->ReleaseValue(y);
    ort->ReleaseValue(z);
    CHECK(ort->UnregisterExecutionProviderLibrary(env, "directml")); /* after its sessions, before the environment */
    ort->ReleaseEnv(env);
    return !(worst < 1e-4);
}
