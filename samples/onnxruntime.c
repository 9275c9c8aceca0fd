/* The DirectML execution provider in ONNX Runtime, from C: sample_onnxruntime LIBONNXRUNTIME PROVIDER MODEL. Runs a
 * model with one float input and one float output on the provider and on ONNX Runtime's own CPU provider, and compares.
 */
#include <onnxruntime_c_api.h>

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call) check((call), #call)
#define RANK_MAX    8
#define FREE_SIZE   64 /* of dimensions that the model leaves open */

static const OrtApi *ort;

static void check(OrtStatus *status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "%s: %s\n", what, ort->GetErrorMessage(status));
    exit(1);
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
    if (ort && minor >= 23)
        return;
    fprintf(stderr, "%s: not ONNX Runtime 1.23 or newer (%s)\n", path, library ? "opened" : dlerror());
    exit(1);
}

/* 2. The library is registered once per process. Relative paths would start at libonnxruntime's folder. */
static const OrtEpDevice *register_provider(OrtEnv *env, const char *path)
{
    const OrtEpDevice *const *devices;
    char absolute[PATH_MAX];
    size_t count;
    if (!realpath(path, absolute)) {
        perror(path);
        exit(1);
    }
    CHECK(ort->RegisterExecutionProviderLibrary(env, "directml", absolute));
    /* One device per adapter, the default one first. */
    CHECK(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(ort->EpDevice_EpName(devices[i]), "DmlExecutionProvider"))
            return devices[i];
    }
    fprintf(stderr, "%s has no device\n", path);
    exit(1);
}

/* 3. A session on the device; without one, on ONNX Runtime's CPU provider. */
static OrtSession *create_session(OrtEnv *env, const char *model, const OrtEpDevice *device)
{
    const char *keys[] = { "shape_cache" }, *values[] = { "4" }; /* provider options: docs/onnxruntime.md */
    OrtSessionOptions *options;
    OrtSession *session;
    CHECK(ort->CreateSessionOptions(&options));
    if (device)
        CHECK(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, keys, values, 1));
    CHECK(ort->CreateSession(env, model, options, &session));
    ort->ReleaseSessionOptions(options);
    return session;
}

/* 4. The input's shape, with a size for what is open; the data are a ramp from 0 to 1. */
static OrtValue *create_input(OrtSession *session, OrtAllocator *allocator)
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

/* 5. The first run compiles the graph for the input's shape; the second takes what was compiled. */
static OrtValue *run(OrtSession *session, OrtAllocator *allocator, const OrtValue *input, const char *who)
{
    char *in, *out;
    OrtValue *output = NULL;
    CHECK(ort->SessionGetInputName(session, 0, allocator, &in));
    CHECK(ort->SessionGetOutputName(session, 0, allocator, &out));
    for (int i = 0; i < 2; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        CHECK(ort->Run(session, NULL, (const char *const *)&in, &input, 1, (const char *const *)&out, 1, &output));
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%s, run %d: %.2f ms\n", who, i + 1,
               (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-6);
    }
    CHECK(ort->AllocatorFree(allocator, in));
    CHECK(ort->AllocatorFree(allocator, out));
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
    OrtAllocator *allocator;
    OrtEnv *env;
    if (argc != 4) {
        fprintf(stderr, "usage: %s LIBONNXRUNTIME PROVIDER MODEL\n", argv[0]);
        return 2;
    }
    open_runtime(argv[1]);
    CHECK(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "sample", &env));
    CHECK(ort->GetAllocatorWithDefaultOptions(&allocator));
    OrtSession *ours = create_session(env, argv[3], register_provider(env, argv[2]));
    OrtSession *theirs = create_session(env, argv[3], NULL);
    OrtValue *input = create_input(ours, allocator);
    OrtValue *y = run(ours, allocator, input, "DmlExecutionProvider"), *z = run(theirs, allocator, input, "CPU");
    double worst = difference(y, z);
    ort->ReleaseValue(y);
    ort->ReleaseValue(z);
    ort->ReleaseValue(input);
    ort->ReleaseSession(ours); /* sessions go before the library, the library before the environment */
    ort->ReleaseSession(theirs);
    CHECK(ort->UnregisterExecutionProviderLibrary(env, "directml"));
    ort->ReleaseEnv(env);
    return !(worst < 1e-4);
}
