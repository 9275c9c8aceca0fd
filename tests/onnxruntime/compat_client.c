/* SPDX-License-Identifier: Apache-2.0 */
/* A program written for ONNX Runtime on Windows, to be run before libonnxruntime_directml.so (test_compat.py):
 *
 *     compat_client MODE [LIBRARY]
 *
 *     checks     everything below, with the OrtGetApiBase of LIBRARY, or of the process
 *     plain      a session that asks for no provider
 *     java       addDirectML, as a process looks it up
 *     reload     LIBRARY is opened, used and closed again and again
 *     foreign    prints the providers and how a session for DML goes, and 1.N's table for N + 1
 *
 * It is linked to neither. Exit code 1: something is not as it should be. */
#define _GNU_SOURCE
#include <dml_provider_factory.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 4

/* An ONNX model: y = Add(x, x), both float[4]. */
static const unsigned char model[] = {
    8,  8, 18,  0,  58, 53, 10, 14,  10, 1,  120, 10, 1, 120, 18, 1,  121, 34, 3, 65, 100, 100,
    18, 1, 103, 90, 15, 10, 1,  120, 18, 10, 10,  8,  8, 1,   18, 4,  10,  2,  8, 4,  98,  15,
    10, 1, 121, 18, 10, 10, 8,  8,   1,  18, 4,   10, 2, 8,   4,  66, 4,   10, 0, 16, 13,
};

/* Defined by a preloaded library, if there is one; no library that this program links defines it. */
#pragma weak OrtGetApiBase

typedef OrtStatus *(*append_function)(OrtSessionOptions *options, int device_id);

static const OrtApi *ort;
static OrtEnv *env;
static int failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                                        \
        }                                                                                                              \
    } while (0)

#define OK(call)            CHECK(passes((call), #call))
#define REFUSED(call, part) CHECK(refuses((call), (part)))

static bool passes(OrtStatus *status, const char *what)
{
    if (status)
        printf("%s: %s\n", what, ort->GetErrorMessage(status));
    ort->ReleaseStatus(status);
    return !status;
}

static bool refuses(OrtStatus *status, const char *part)
{
    bool as_wanted = status && strstr(ort->GetErrorMessage(status), part);
    if (!as_wanted)
        printf("wanted '%s', got '%s'\n", part, status ? ort->GetErrorMessage(status) : "no error");
    ort->ReleaseStatus(status);
    return as_wanted;
}

static uint32_t minor_version(const OrtApiBase *base)
{
    uint32_t version = 0;
    CHECK(sscanf(base->GetVersionString(), "1.%u", &version) == 1);
    return version;
}

/* ---- sessions ---- */

/* Nothing may be left to the CPU provider. */
static OrtSessionOptions *new_options(void)
{
    OrtSessionOptions *options = NULL;
    OK(ort->CreateSessionOptions(&options));
    OK(ort->SetIntraOpNumThreads(options, 1));
    OK(ort->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"));
    return options;
}

static void run_once(OrtSession *session, float seed)
{
    const char *in = "x", *out = "y";
    const int64_t dims[] = { COUNT };
    float x[COUNT] = { seed, -seed, seed * 3, 0.25f }, *y = NULL;
    OrtMemoryInfo *cpu = NULL;
    OrtValue *input = NULL, *output = NULL;
    OK(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    OK(ort->CreateTensorWithDataAsOrtValue(cpu, x, sizeof(x), dims, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    OK(ort->Run(session, NULL, &in, (const OrtValue *const *)&input, 1, &out, 1, &output));
    OK(ort->GetTensorMutableData(output, (void **)&y));
    for (int i = 0; y && i < COUNT; i++)
        CHECK(y[i] == 2 * x[i]);
    ort->ReleaseValue(input);
    ort->ReleaseValue(output);
    ort->ReleaseMemoryInfo(cpu);
}

static void *run_often(void *session)
{
    for (int i = 0; i < 50; i++)
        run_once(session, (float)i);
    return NULL;
}

/* With options that name the provider; threads share it. */
static void use(OrtSessionOptions *options, int threads)
{
    OrtSession *session = NULL;
    pthread_t ids[8];
    OK(ort->CreateSessionFromArray(env, model, sizeof(model), options, &session));
    ort->ReleaseSessionOptions(options);
    if (!session)
        return;
    run_once(session, 7);
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_create(&ids[i], NULL, run_often, session));
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    ort->ReleaseSession(session);
}

static OrtStatus *append(OrtSessionOptions *options, const char *name, const char *key, const char *value)
{
    return ort->SessionOptionsAppendExecutionProvider(options, name, &key, &value, key ? 1 : 0);
}

static void refused(const char *key, const char *value, const char *part)
{
    OrtSessionOptions *options = new_options();
    REFUSED(append(options, "DML", key, value), part);
    ort->ReleaseSessionOptions(options);
}

/* ---- what is asked by name ---- */

/* As the runtime does, each version gets all functions: C# requests 14 and uses those of its own release. */
static void test_tables(const OrtApiBase *base)
{
    const uint32_t newest = minor_version(base);
    const OrtApi *all = base->GetApi(newest);
    CHECK(all);
    for (uint32_t version = 1; version <= newest; version++) {
        const OrtApi *api = base->GetApi(version);
        CHECK(api && !memcmp(api, all, offsetof(OrtApi, TensorTypeAndShape_HasShape))); /* the first function of 1.24 */
        if (newest >= ORT_API_VERSION)
            CHECK(api && api->SessionOptionsSetWeightlessSourceModelBuffer);
    }
}

static void test_listing(void)
{
    char **names = NULL;
    int count = 0, found = 0;
    OK(ort->GetAvailableProviders(&names, &count));
    CHECK(count >= 2 && !strcmp(names[0], "DmlExecutionProvider"));
    for (int i = 0; i < count; i++)
        found += !strcmp(names[i], "DmlExecutionProvider") + 10 * !strcmp(names[i], "CPUExecutionProvider");
    CHECK(found == 11);
    OK(ort->ReleaseAvailableProviders(names, count));
}

static void test_api(void)
{
    const OrtDmlApi *dml = NULL;
    const void *other = NULL;
    OrtSessionOptions *options = new_options();
    OrtDmlDeviceOptions any = { Default, Any };
    OK(ort->GetExecutionProviderApi("DML", ORT_API_VERSION, (const void **)&dml));
    CHECK(dml);
    if (dml)
        OK(dml->SessionOptionsAppendExecutionProvider_DML(options, 0));
    use(options, 8);
    options = new_options();
    if (dml)
        OK(dml->SessionOptionsAppendExecutionProvider_DML2(options, &any));
    use(options, 0);
    REFUSED(ort->GetExecutionProviderApi("NONE", ORT_API_VERSION, &other), "not");
}

static void test_append(append_function exported)
{
    OrtSessionOptions *options = new_options(), *second = new_options();
    OK(append(options, "DML", NULL, NULL));
    OK(append(second, "DmlExecutionProvider", "device_id", "0"));
    use(options, 0);
    use(second, 0);
    options = new_options();
    OK(append(options, "DML", "performance_preference", "high_performance"));
    use(options, 0);
    options = new_options();
    CHECK(exported);
    if (exported)
        OK(exported(options, 0));
    use(options, 0);
    refused("device_id", "99", "device 99 does not exist");
    refused("device_id", "first", "option device_id is 'first'; it must be a whole number");
    refused("device_filter", "tpu", "option device_filter is 'tpu'; it must be any, gpu or npu");
    refused("performance_preference", "fast", "option performance_preference is 'fast'");
    options = new_options();
    OrtSession *session = NULL;
    OK(append(options, "DML", "disable_metacommands", "perhaps"));
    REFUSED(ort->CreateSessionFromArray(env, model, sizeof(model), options, &session), "disable_metacommands");
    ort->ReleaseSessionOptions(options);
    options = new_options();
    REFUSED(append(options, "NoSuchProvider", NULL, NULL), "");
    ort->ReleaseSessionOptions(options);
}

/* ---- Java ---- */

#define JAVA_ADD Java_ai_onnxruntime_OrtSession_00024SessionOptions_addDirectML

typedef void (*java_add_function)(void *java, void *object, int64_t api, int64_t options, int32_t device_id);

/* As in ONNX Runtime's library for Java on Linux, where it throws; to be found in the process by that name. */
__attribute__((visibility("default"))) void JAVA_ADD(void *java, void *object, int64_t api, int64_t options,
                                                     int32_t device_id);

static char thrown[512];

void JAVA_ADD(void *java, void *object, int64_t api, int64_t options, int32_t device_id)
{
    (void)java, (void)object, (void)api, (void)options, (void)device_id;
    snprintf(thrown, sizeof(thrown), "not compiled with DirectML support");
}

static void *find_class(void *java, const char *name)
{
    (void)java;
    return strcmp(name, "ai/onnxruntime/OrtException") ? NULL : thrown;
}

static int throw_new(void *java, void *class, const char *message)
{
    (void)java;
    snprintf(class, sizeof(thrown), "%s", message);
    return 0;
}

static void java(void)
{
    void *functions[32] = { NULL }, **table = functions;
    java_add_function add;
    *(void **)&add = dlsym(RTLD_DEFAULT, "Java_ai_onnxruntime_OrtSession_00024SessionOptions_addDirectML");
    *(void *(**)(void *, const char *)) & functions[6] = find_class;
    *(int (**)(void *, void *, const char *)) & functions[14] = throw_new;
    OrtSessionOptions *options = new_options();
    CHECK(add);
    add(&table, NULL, 0, (int64_t)(intptr_t)options, 0);
    CHECK(!*thrown);
    use(options, 0);
    options = new_options();
    add(&table, NULL, 0, (int64_t)(intptr_t)options, 99);
    CHECK(strstr(thrown, "device 99 does not exist"));
    ort->ReleaseSessionOptions(options);
    ort->ReleaseEnv(env);
}

/* ---- modes ---- */

static const OrtApiBase *get_base(void *library)
{
    const OrtApiBase *(*get)(void) = OrtGetApiBase;
    if (library)
        *(void **)&get = dlsym(library, "OrtGetApiBase");
    return get ? get() : NULL;
}

static bool start(void *library)
{
    const OrtApiBase *base = get_base(library);
    uint32_t version = base ? minor_version(base) : 0;
    ort = base ? base->GetApi(version < ORT_API_VERSION ? version : ORT_API_VERSION) : NULL;
    if (ort)
        OK(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "compat", &env));
    return ort;
}

static void check_all(void *library)
{
    append_function exported;
    *(void **)&exported = dlsym(library ? library : RTLD_DEFAULT, "OrtSessionOptionsAppendExecutionProvider_DML");
    test_tables(get_base(library));
    test_listing();
    test_api();
    test_append(exported);
    ort->ReleaseEnv(env);
}

static void plain(void)
{
    OrtSession *session = NULL;
    OK(ort->CreateSessionFromArray(env, model, sizeof(model), NULL, &session));
    if (session)
        run_once(session, 3);
    ort->ReleaseSession(session);
    ort->ReleaseEnv(env);
}

static void foreign(void *library)
{
    char **names = NULL;
    int count = 0;
    OrtSessionOptions *options = new_options();
    OK(ort->GetAvailableProviders(&names, &count));
    for (int i = 0; i < count; i++)
        printf("%s ", names[i]);
    OK(ort->ReleaseAvailableProviders(names, count));
    OrtStatus *status = append(options, "DML", NULL, NULL);
    printf("DML: %s\n", status ? ort->GetErrorMessage(status) : "taken");
    ort->ReleaseStatus(status);
    CHECK(!get_base(library)->GetApi(minor_version(get_base(library)) + 1));
    ort->ReleaseSessionOptions(options);
    ort->ReleaseEnv(env);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "checks", *path = argc > 2 ? argv[2] : NULL;
    bool again = !strcmp(mode, "reload");
    for (int i = 0; i < (again ? 3 : 1); i++) {
        void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (path && !library)
            printf("%s\n", dlerror());
        if (!start(library)) {
            printf("no ONNX Runtime\n");
            return 1;
        }
        if (!strcmp(mode, "plain"))
            plain();
        else if (!strcmp(mode, "java"))
            java();
        else if (!strcmp(mode, "foreign"))
            foreign(library);
        else
            check_all(library);
        if (again)
            CHECK(library && !dlclose(library));
    }
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
