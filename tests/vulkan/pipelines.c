/* SPDX-License-Identifier: Apache-2.0 */
/* How pipelines are made: several at a time, each once, and none that an earlier process made. Every part is a process
 * of its own: libraries read their environment once. */
#include "api/dml_test.h"

#include "layer.h"

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <vulkan/vulkan_core.h>

enum { THREADS = 8, SHADERS = 6, ROWS = 6, COLUMNS = 7 };

static struct layer_control *layer;
static char folder[] = "/tmp/anydml-pipelines-XXXXXX";

/* ---- threads that cannot be created ---- */

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static atomic_bool no_threads;

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*main)(void *), void *argument)
{
    create_fn *real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return atomic_load(&no_threads) ? EAGAIN : real(thread, attributes, main, argument);
}

/* ---- a graph of SHADERS operators, each with a pipeline of its own ---- */

static IDMLOperator *operator_of(IDMLDevice1 *dml, int which)
{
    static const UINT axis[] = { 3 }, ones[] = { 1, 1 }, zeros[] = { 0, 0 };
    struct tensor tensor;
    const DML_TENSOR_DESC *x = tensor_f32(&tensor, 1, 1, ROWS, COLUMNS, DML_TENSOR_FLAG_NONE);
    DML_ACTIVATION_SOFTMAX_OPERATOR_DESC softmax = { x, x };
    DML_ACTIVATION_HARDMAX_OPERATOR_DESC hardmax = { x, x };
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC lrn = { x, x, TRUE, 3, 1, 0.5f, 1 };
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC sum = { x, x, 3, DML_AXIS_DIRECTION_INCREASING, FALSE };
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC norm = { x, NULL, NULL, x, 1, axis, TRUE, 1e-3f, NULL };
    DML_MAX_POOLING_OPERATOR_DESC pool = { x, x, 2, ones, ones, zeros, zeros };
    switch (which) {
    case 0:
        return make_operator(dml, DML_OPERATOR_ACTIVATION_SOFTMAX, &softmax);
    case 1:
        return make_operator(dml, DML_OPERATOR_ACTIVATION_HARDMAX, &hardmax);
    case 2:
        return make_operator(dml, DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION, &lrn);
    case 3:
        return make_operator(dml, DML_OPERATOR_CUMULATIVE_SUMMATION, &sum);
    case 4:
        return make_operator(dml, DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, &norm);
    default:
        return make_operator(dml, DML_OPERATOR_MAX_POOLING, &pool);
    }
}

/* A chain of them. */
static HRESULT compile_chain(IDMLDevice1 *dml, IDMLCompiledOperator **out)
{
    DML_OPERATOR_GRAPH_NODE_DESC ops[SHADERS];
    DML_GRAPH_NODE_DESC nodes[SHADERS];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC between[SHADERS - 1];
    DML_GRAPH_EDGE_DESC edges[SHADERS - 1];
    DML_INPUT_GRAPH_EDGE_DESC first = { 0, 0, 0, NULL };
    DML_OUTPUT_GRAPH_EDGE_DESC last = { SHADERS - 1, 0, 0, NULL };
    DML_GRAPH_EDGE_DESC in = { DML_GRAPH_EDGE_TYPE_INPUT, &first }, end = { DML_GRAPH_EDGE_TYPE_OUTPUT, &last };
    for (UINT i = 0; i < SHADERS; i++) {
        ops[i] = (DML_OPERATOR_GRAPH_NODE_DESC){ operator_of(dml, (int)i), NULL };
        nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &ops[i] };
        if (!i)
            continue;
        between[i - 1] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ i - 1, 0, i, 0, NULL };
        edges[i - 1] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &between[i - 1] };
    }
    DML_GRAPH_DESC graph = { 1, 1, SHADERS, nodes, 1, &in, 1, &end, SHADERS - 1, edges };
    HRESULT hr =
        IDMLDevice1_CompileGraph(dml, &graph, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)out);
    for (UINT i = 0; i < SHADERS; i++)
        api_release(ops[i].Operator);
    return hr;
}

/* ---- parts: what they return is how many pipelines were compiled ---- */

static uint32_t chain(struct rig *rig)
{
    IDMLCompiledOperator *op = NULL;
    ok_hr(compile_chain(rig->dml, &op), S_OK);
    need(op);
    api_release(op);
    ok(layer->calls[LAYER_PIPELINE].count == SHADERS, "%u pipelines", layer->calls[LAYER_PIPELINE].count);
    ok(layer->named == SHADERS, "%u pipelines have names", layer->named);
    return layer->compiled;
}

static uint32_t part_plain(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    uint32_t compiled = chain(&rig);
    rig_destroy(&rig);
    return compiled;
}

/* The process ends without releasing anything. */
static uint32_t part_leaves(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    layer->pipeline_us = 150000;
    return chain(&rig);
}

static uint32_t part_parallel(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    uint32_t compiled, cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    layer->pipeline_us = 100000;
    compiled = chain(&rig);
    ok(layer->making_max > 1 || cpus < 2, "%u at a time", layer->making_max);
    rig_destroy(&rig);
    return compiled;
}

static uint32_t part_no_threads(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    atomic_store(&no_threads, true);
    uint32_t compiled = chain(&rig);
    ok(layer->making_max == 1, "%u at a time", layer->making_max);
    atomic_store(&no_threads, false);
    rig_destroy(&rig);
    return compiled;
}

struct compiler {
    pthread_t thread;
    IDMLDevice1 *dml;
    int first;
};

static void *compile_all(void *context)
{
    struct compiler *self = context;
    for (int i = 0; i < SHADERS; i++)
        api_release(compile(self->dml, operator_of(self->dml, (self->first + i) % SHADERS), DML_EXECUTION_FLAG_NONE));
    return NULL;
}

/* All want the same, in other orders. */
static uint32_t part_threads(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct compiler compilers[THREADS];
    layer->pipeline_us = 20000;
    for (int i = 0; i < THREADS; i++) {
        compilers[i] = (struct compiler){ .dml = rig.dml, .first = i };
        need(!pthread_create(&compilers[i].thread, NULL, compile_all, &compilers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(compilers[i].thread, NULL);
    uint32_t made = layer->calls[LAYER_PIPELINE].count;
    ok(made == SHADERS, "%u pipelines", made);
    chain(&rig); /* finds them all */
    rig_destroy(&rig);
    return layer->compiled;
}

/* What failed once is tried again. */
static uint32_t part_memory(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = NULL;
    layer->calls[LAYER_PIPELINE].result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    layer->calls[LAYER_PIPELINE].fail_at = 3;
    ok_hr(compile_chain(rig.dml, &op), E_OUTOFMEMORY);
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(rig.dml), S_OK);
    layer->calls[LAYER_PIPELINE].fail_at = 0;
    ok_hr(compile_chain(rig.dml, &op), S_OK);
    if (op)
        api_release(op);
    rig_destroy(&rig);
    return layer->compiled;
}

/* ---- processes ---- */

static void expect(const char *what, uint32_t (*part)(void), uint32_t compiled)
{
    int status = 1;
    pid_t child = fork();
    if (!child) {
        uint32_t got = part();
        ok(got == compiled, "%s: %u pipelines were compiled, not %u", what, got, compiled);
        fflush(NULL);
        _exit(api_failures ? 1 : 0); /* as abruptly as the worst of programs */
    }
    need(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77); /* there is no device */
    ok(status == 0, "%s: status 0x%x", what, status);
}

/* How many files are there, and the name of one. */
static size_t files(char out[256])
{
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/*", folder);
    size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    if (count)
        snprintf(out, 256, "%s", found.gl_pathv[0]);
    globfree(&found);
    return count;
}

static void change_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    need(file && !fseek(file, at, at < 0 ? SEEK_END : SEEK_SET));
    int byte = getc(file);
    need(byte != EOF && !fseek(file, -1, SEEK_CUR) && putc(byte ^ 1, file) != EOF);
    fclose(file);
}

static void damage(const char *path)
{
    static const long places[] = { 0, 16, 32, 70, 80, 100, -1 };
    char name[64];
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        snprintf(name, sizeof(name), "byte %ld is wrong", places[i]);
        change_byte(path, places[i]);
        expect(name, part_plain, SHADERS);
        expect("rewritten", part_plain, 0);
    }
    need(!truncate(path, 120));
    expect("cut short", part_plain, SHADERS);
    need(!truncate(path, 0));
    expect("empty", part_plain, SHADERS);
    need(!truncate(path, 200l << 20));
    expect("too large", part_plain, SHADERS);
    expect("rewritten", part_plain, 0);
    need(!chmod(path, 0666));
    expect("anyone may write it", part_plain, SHADERS);
    expect("rewritten", part_plain, 0);
}

static void cannot_write(const char *path)
{
    char other[256];
    unlink(path);
    need(!mkdir(path, 0700));
    expect("a folder has the name", part_plain, SHADERS);
    ok(files(other) == 1, "%zu files", files(other));
    rmdir(path);
    setenv("ANYDML_CACHE_DIR", "/proc/self/nowhere", 1);
    expect("a folder that cannot be", part_plain, SHADERS);
    setenv("ANYDML_CACHE_DIR", folder, 1);
    setenv("ANYDML_PIPELINE_CACHE", "off", 1);
    expect("switched off", part_plain, SHADERS);
    ok(files(other) == 0, "%s", other);
    unsetenv("ANYDML_PIPELINE_CACHE");
}

int main(int count, char **arguments)
{
    char path[256] = "";
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    api_begin();
    need(library && mkdtemp(folder));
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    setenv("ANYDML_CACHE_DIR", folder, 1);
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
    expect("first process", part_plain, SHADERS);
    ok(files(path) == 1, "%zu files", files(path));
    expect("second process", part_plain, 0);
    damage(path);
    unlink(path);
    expect("leaves without releasing", part_leaves, SHADERS);
    expect("after it", part_plain, 0);
    cannot_write(path);
    setenv("ANYDML_PIPELINE_CACHE", "off", 1);
    expect("several at a time", part_parallel, SHADERS);
    expect("no threads", part_no_threads, SHADERS);
    expect("eight threads", part_threads, SHADERS);
    expect("no memory", part_memory, SHADERS);
    unlink(path);
    ok(!rmdir(folder), "files are left in %s", folder);
    return api_end();
}
