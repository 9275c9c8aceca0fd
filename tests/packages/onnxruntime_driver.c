/* SPDX-License-Identifier: Apache-2.0 */
/* Runs ONNX networks through Microsoft's onnxruntime.dll on these libraries, for try_onnxruntime_windows.py:
 *
 *     onnxruntime_driver ONNXRUNTIME.DLL PROVIDER JOBS FIRST [ROUNDS]
 *
 * PROVIDER: DML, DML1 (on its own device and queue), DML2, with "+" behind it where nodes may be left to the CPU
 * provider; or CPU. JOBS: a text file of lines "MODEL|INPUTS|OUTPUTS"; FIRST: the number of the first one to run.
 * INPUTS and OUTPUTS: files of tensors: for each a line "NAME TYPE RANK DIMENSIONS... BYTES", and the bytes.
 *
 * Prints a line for each job: "NUMBER ok MILLISECONDS LEAST" (the median of the rounds after the first run, and the
 * shortest) or "NUMBER failed WHERE: WHY"; last "DirectML: ours FILE", or what else was loaded. */
#include <DirectMLGuids.h>
#include <anydml.h>
#include <anydml_d3d12.h>
/* An annotation that MinGW does not have. */
#define _Frees_ptr_opt_
#include <onnxruntime_c_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENSORS 64
#define MAX_RANK    16
#define MAX_ROUNDS  1000

/* What onnxruntime.dll gives for "DML", in the order of ONNX Runtime's dml_provider_factory.h. */
struct dml_options {
    int preference; /* 0: default */
    unsigned filter;
};
struct dml_api {
    OrtStatus *(ORT_API_CALL *append)(OrtSessionOptions *options, int device_id);
    OrtStatus *(ORT_API_CALL *append_device)(OrtSessionOptions *options, IDMLDevice *device, ID3D12CommandQueue *queue);
    void *of_resources[3];
    OrtStatus *(ORT_API_CALL *append_options)(OrtSessionOptions *options, struct dml_options *device_options);
};

struct tensor {
    char name[256];
    int type;
    int64_t dims[MAX_RANK];
    size_t rank, bytes;
    void *data;
};

static const OrtApi *ort;
static const struct dml_api *dml;
static OrtEnv *env;
static OrtAllocator *allocator;
static OrtMemoryInfo *host_memory;
static char failure[2048];

static void die(const char *what)
{
    fprintf(stderr, "onnxruntime_driver: %s\n", what);
    exit(2);
}

/* false: the call failed, and `failure` tells why in one line. */
static bool passes(OrtStatus *status, const char *what)
{
    if (!status)
        return true;
    snprintf(failure, sizeof(failure), "%s: %s", what, ort->GetErrorMessage(status));
    for (char *at = failure; (at = strpbrk(at, "\r\n")) != NULL;)
        *at = ' ';
    ort->ReleaseStatus(status);
    return false;
}

/* ---- tensors in files ---- */

static size_t tensors_read(const char *path, struct tensor *out)
{
    FILE *file = fopen(path, "rb");
    size_t count = 0;
    if (!file)
        die(path);
    for (struct tensor *t; count < MAX_TENSORS; count++) {
        long long number;
        t = &out[count];
        if (fscanf(file, "%255s %d %zu", t->name, &t->type, &t->rank) != 3 || t->rank > MAX_RANK)
            break;
        for (size_t i = 0; i < t->rank && fscanf(file, "%lld", &number) == 1; i++)
            t->dims[i] = number;
        if (fscanf(file, "%zu", &t->bytes) != 1 || fgetc(file) != '\n')
            die(path);
        t->data = malloc(t->bytes + 1);
        if (!t->data || fread(t->data, 1, t->bytes, file) != t->bytes)
            die(path);
    }
    fclose(file);
    return count;
}

static size_t element_bits(ONNXTensorElementDataType type)
{
    switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
        return 32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64:
        return 64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
        return 16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4:
        return 4;
    default:
        return 8;
    }
}

static bool tensor_write(FILE *file, const char *name, OrtValue *value)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType type;
    int64_t dims[MAX_RANK];
    size_t rank, count;
    void *data;
    if (!passes(ort->GetTensorTypeAndShape(value, &info), "output"))
        return false;
    bool good = passes(ort->GetTensorElementType(info, &type), "output") &&
                passes(ort->GetDimensionsCount(info, &rank), "output") && rank <= MAX_RANK &&
                passes(ort->GetDimensions(info, dims, rank), "output") &&
                passes(ort->GetTensorShapeElementCount(info, &count), "output") &&
                passes(ort->GetTensorMutableData(value, &data), "output");
    ort->ReleaseTensorTypeAndShapeInfo(info);
    if (!good)
        return false;
    const size_t bytes = (count * element_bits(type) + 7) / 8;
    fprintf(file, "%s %d %zu", name, (int)type, rank);
    for (size_t i = 0; i < rank; i++)
        fprintf(file, " %lld", (long long)dims[i]);
    fprintf(file, " %zu\n", bytes);
    return fwrite(data, 1, bytes, file) == bytes;
}

/* ---- sessions ---- */

/* A device and a queue that the provider gets, as programs with buffers of their own make them. */
static bool own_device(IDMLDevice **out, ID3D12CommandQueue **out_queue)
{
    static ID3D12Device *device;
    static IDMLDevice *dml_device;
    static ID3D12CommandQueue *queue;
    const D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    if (!device &&
        (FAILED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&device)) ||
         FAILED(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&queue)) ||
         FAILED(DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&dml_device))))
        return false;
    *out = dml_device;
    *out_queue = queue;
    return true;
}

static bool append_provider(OrtSessionOptions *options, const char *provider)
{
    struct dml_options any = { 0, 0xffffffff };
    IDMLDevice *device;
    ID3D12CommandQueue *queue;
    if (!strncmp(provider, "DML1", 4))
        return own_device(&device, &queue) && passes(dml->append_device(options, device, queue), "DML1");
    if (!strncmp(provider, "DML2any", 7))
        return passes(dml->append_options(options, &any), "DML2");
    if (!strncmp(provider, "DML2", 4))
        return passes(dml->append_options(options, NULL), "DML2");
    return passes(dml->append(options, 0), "DML");
}

static OrtSession *session_create(const char *provider, const char *model)
{
    OrtSessionOptions *options = NULL;
    OrtSession *session = NULL;
    wchar_t path[1024];
    const bool on_dml = strcmp(provider, "CPU") != 0;
    mbstowcs(path, model, 1024);
    bool good = passes(ort->CreateSessionOptions(&options), "options") &&
                passes(ort->DisableMemPattern(options), "options") &&
                passes(ort->SetSessionExecutionMode(options, ORT_SEQUENTIAL), "options");
    if (good && on_dml)
        good = append_provider(options, provider);
    if (good && on_dml && !strchr(provider, '+'))
        good = passes(ort->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"), "options");
    good = good && passes(ort->CreateSession(env, path, options, &session), "session");
    if (options)
        ort->ReleaseSessionOptions(options);
    return good ? session : NULL;
}

/* ---- jobs ---- */

struct job {
    OrtSession *session;
    size_t inputs, outputs;
    struct tensor given[MAX_TENSORS];
    OrtValue *values[MAX_TENSORS], *results[MAX_TENSORS];
    const char *names[MAX_TENSORS];
    char *result_names[MAX_TENSORS];
};

static bool job_prepare(struct job *job)
{
    for (size_t i = 0; i < job->inputs; i++) {
        struct tensor *t = &job->given[i];
        job->names[i] = t->name;
        if (!passes(ort->CreateTensorWithDataAsOrtValue(host_memory, t->data, t->bytes, t->dims, t->rank,
                                                        (ONNXTensorElementDataType)t->type, &job->values[i]),
                    t->name))
            return false;
    }
    if (!passes(ort->SessionGetOutputCount(job->session, &job->outputs), "outputs") || job->outputs > MAX_TENSORS)
        return false;
    for (size_t i = 0; i < job->outputs; i++)
        if (!passes(ort->SessionGetOutputName(job->session, i, allocator, &job->result_names[i]), "outputs"))
            return false;
    return true;
}

static bool job_run(struct job *job)
{
    for (size_t i = 0; i < job->outputs; i++) {
        if (job->results[i])
            ort->ReleaseValue(job->results[i]);
        job->results[i] = NULL;
    }
    return passes(ort->Run(job->session, NULL, job->names, (const OrtValue *const *)job->values, job->inputs,
                           (const char *const *)job->result_names, job->outputs, job->results),
                  "run");
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first run, then the median of `rounds` more. */
static bool job_time(struct job *job, size_t rounds, double *out_ms, double *out_least_ms)
{
    static double times[MAX_ROUNDS];
    LARGE_INTEGER frequency, begin, end;
    QueryPerformanceFrequency(&frequency);
    *out_ms = *out_least_ms = 0;
    if (!job_run(job))
        return false;
    for (size_t i = 0; i < rounds; i++) {
        QueryPerformanceCounter(&begin);
        if (!job_run(job))
            return false;
        QueryPerformanceCounter(&end);
        times[i] = (double)(end.QuadPart - begin.QuadPart) * 1000 / (double)frequency.QuadPart;
    }
    qsort(times, rounds, sizeof(times[0]), compare_times);
    if (rounds) {
        *out_ms = times[rounds / 2];
        *out_least_ms = times[0];
    }
    return true;
}

static bool job_write(struct job *job, const char *path)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL;
    for (size_t i = 0; good && i < job->outputs; i++)
        good = !job->results[i] || tensor_write(file, job->result_names[i], job->results[i]);
    if (file)
        fclose(file);
    return good;
}

static void job_finish(struct job *job)
{
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        if (job->values[i])
            ort->ReleaseValue(job->values[i]);
        if (job->results[i])
            ort->ReleaseValue(job->results[i]);
        free(job->given[i].data);
    }
    if (job->session)
        ort->ReleaseSession(job->session);
}

/* `line`: "MODEL|INPUTS|OUTPUTS". */
static void job_do(size_t number, char *line, const char *provider, size_t rounds)
{
    static struct job job;
    double ms = 0, least_ms = 0;
    const char *model = strtok(line, "|\r\n"), *inputs = strtok(NULL, "|\r\n"), *outputs = strtok(NULL, "|\r\n");
    if (!model || !inputs || !outputs)
        die("a line of JOBS has no three files");
    memset(&job, 0, sizeof(job));
    strcpy(failure, "?");
    job.inputs = tensors_read(inputs, job.given);
    job.session = session_create(provider, model);
    const bool good =
        job.session && job_prepare(&job) && job_time(&job, rounds, &ms, &least_ms) && job_write(&job, outputs);
    job_finish(&job);
    if (good)
        printf("%zu ok %.4f %.4f\n", number, ms, least_ms);
    else
        printf("%zu failed %s\n", number, failure);
    fflush(stdout);
}

static void open_runtime(const char *path)
{
    HMODULE library = LoadLibraryA(path);
    const OrtApiBase *(ORT_API_CALL * get_base)(void) =
        library ? (void *)GetProcAddress(library, "OrtGetApiBase") : NULL;
    const void *provider_api = NULL;
    unsigned minor = 0;
    if (get_base && sscanf(get_base()->GetVersionString(), "1.%u", &minor) == 1)
        ort = get_base()->GetApi(minor < ORT_API_VERSION ? minor : ORT_API_VERSION);
    if (!ort)
        die("no ONNX Runtime that this program knows");
    if (!passes(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "driver", &env), "env") ||
        !passes(ort->GetAllocatorWithDefaultOptions(&allocator), "allocator") ||
        !passes(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host_memory), "memory") ||
        !passes(ort->GetExecutionProviderApi("DML", ORT_API_VERSION, &provider_api), "DML"))
        die(failure);
    dml = provider_api;
}

/* Ours has functions that Microsoft's has not. */
static void tell_directml(void)
{
    char path[1024] = "none";
    HMODULE library = GetModuleHandleA("directml.dll");
    if (library)
        GetModuleFileNameA(library, path, sizeof(path));
    printf("DirectML: %s %s\n", library && GetProcAddress(library, "AnydmlCompileGraph") ? "ours" : "NOT ours", path);
}

int main(int argc, char **argv)
{
    static char line[4096];
    if (argc < 5)
        die("usage: onnxruntime_driver ONNXRUNTIME.DLL PROVIDER JOBS FIRST [ROUNDS]");
    const size_t first = strtoul(argv[4], NULL, 10), rounds = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    FILE *jobs = fopen(argv[3], "r");
    if (!jobs || rounds > MAX_ROUNDS)
        die("JOBS cannot be read, or there are more than 1000 rounds");
    open_runtime(argv[1]);
    for (size_t number = 0; fgets(line, sizeof(line), jobs); number++)
        if (number >= first)
            job_do(number, line, argv[2], rounds);
    fclose(jobs);
    tell_directml();
    fflush(stdout);
    TerminateProcess(GetCurrentProcess(), 0); /* what the runtime does at its end is not the matter here */
}
