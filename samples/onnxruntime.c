/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model with one float input and one float output in ONNX Runtime on the DirectML execution provider, and on
 * ONNX Runtime's own CPU provider, and compares: sample_onnxruntime LIBONNXRUNTIME PROVIDER MODEL. */
#include "onnxruntime_sample.h"

#include <math.h>

enum { RANK_MAX = 8, FREE_SIZE = 64 /* of dimensions that the model leaves open */ };

/* The input's shape, with a size for open dimensions; the data is a ramp from 0 to 1. */
static OrtValue *create_input(OrtSession *session)
{
    OrtValue *value;
    int64_t dims[RANK_MAX];
    size_t count = 1;
    float *data;
    const size_t rank = input_sizes(session, dims, RANK_MAX);
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

/* The first run compiles the graph for the input's shape; the second reuses it. */
static OrtValue *run(OrtEnv *env, const char *model, const OrtEpDevice *device, OrtValue **input)
{
    OrtSession *session = create_session(env, model, device);
    OrtValue *output = NULL;
    *input = *input ? *input : create_input(session);
    for (int i = 0; i < 2; i++) {
        if (output)
            ort->ReleaseValue(output);
        const double begin = now_ms();
        output = run_session(session, *input);
        printf("%s, run %d: %.2f ms\n", device ? "DirectML" : "CPU", i + 1, now_ms() - begin);
    }
    ort->ReleaseSession(session);
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
    OrtValue *y = run(env, argv[3], register_provider(env, argv[2]), &input), *z = run(env, argv[3], NULL, &input);
    double worst = difference(y, z);
    ort->ReleaseValue(input);
    ort->ReleaseValue(y);
    ort->ReleaseValue(z);
    CHECK(ort->UnregisterExecutionProviderLibrary(env, "directml")); /* after its sessions, before the environment */
    ort->ReleaseEnv(env);
    return !(worst < 1e-4);
}
