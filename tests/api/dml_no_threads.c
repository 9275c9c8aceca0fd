/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that cannot be created: everything is still computed, by fewer. The libraries' calls go through this
 * program's pthread_create. Workers stay once they exist, so each case has a process of its own. */
#include "dml_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static atomic_int live, limit = INT32_MAX, refused; /* threads in addition to the first */

struct start {
    void *(*main)(void *);
    void *argument;
};

static void *run_start(void *context)
{
    struct start start = *(struct start *)context;
    free(context);
    void *result = start.main(start.argument);
    atomic_fetch_sub(&live, 1);
    return result;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*main)(void *), void *argument)
{
    static _Atomic(create_fn *) real;
    create_fn *call = atomic_load(&real);
    struct start *start = malloc(sizeof(*start));
    if (!call) {
        *(void **)&call = dlsym(RTLD_NEXT, "pthread_create");
        atomic_store(&real, call);
    }
    need(start);
    *start = (struct start){ main, argument };
    if (atomic_fetch_add(&live, 1) < atomic_load(&limit) && !call(thread, attributes, run_start, start))
        return 0;
    atomic_fetch_sub(&live, 1);
    atomic_fetch_add(&refused, 1);
    free(start);
    return EAGAIN;
}

/* From now on this many more may exist at a time. */
static void allow(int more)
{
    atomic_store(&limit, more > 1000 ? INT32_MAX : atomic_load(&live) + more);
}

enum { M = 150, K = 160, N = 130, PIXELS = 30, CHANNELS = 32 };

struct work {
    IDMLCompiledOperator *op;
    struct prepared prepared;
    struct bound in[2], out;
    UINT inputs;
    struct bound bound[3];
};

static struct bound numbers(struct rig *rig, UINT count)
{
    return (struct bound){ buffer_f32(rig, count, 0, 1.0f / 1024), 0, count * sizeof(float) };
}

/* `inputs`: 2, or 3 of which the last is absent; the second may be owned. */
static struct work work_of(struct rig *rig, IDMLOperator *op, UINT inputs, const UINT counts[3], bool owned)
{
    UINT x = counts[0], w = counts[1], y = counts[2];
    struct work work = { .op = compile(rig->dml, op, DML_EXECUTION_FLAG_NONE) };
    work.in[0] = numbers(rig, x);
    work.in[1] = numbers(rig, w);
    work.out = numbers(rig, y);
    struct bound weights[3] = { { NULL, 0, 0 }, work.in[1], { NULL, 0, 0 } };
    work.prepared = prepare(rig, work.op, owned ? inputs : 0, weights);
    work.inputs = inputs;
    work.bound[0] = work.in[0];
    work.bound[1] = owned ? weights[0] : work.in[1];
    return work;
}

static void work_destroy(struct work *work)
{
    api_release(work->op);
    api_release(work->in[0].buffer);
    api_release(work->in[1].buffer);
    api_release(work->out.buffer);
    prepared_release(&work->prepared);
}

static IDMLOperator *conv_operator(IDMLDevice1 *dml, DML_TENSOR_FLAGS flags)
{
    struct tensor x, w, y;
    DML_CONVOLUTION_OPERATOR_DESC conv = {
        .InputTensor = tensor_f32(&x, 1, CHANNELS, PIXELS, PIXELS, DML_TENSOR_FLAG_NONE),
        .FilterTensor = tensor_f32(&w, CHANNELS, CHANNELS, 3, 3, flags),
        .OutputTensor = tensor_f32(&y, 1, CHANNELS, PIXELS - 2, PIXELS - 2, DML_TENSOR_FLAG_NONE),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = 2,
        .Strides = (UINT[]){ 1, 1 },
        .Dilations = (UINT[]){ 1, 1 },
        .StartPadding = (UINT[]){ 0, 0 },
        .EndPadding = (UINT[]){ 0, 0 },
        .OutputPadding = (UINT[]){ 0, 0 },
        .GroupCount = 1,
    };
    return make_operator(dml, DML_OPERATOR_CONVOLUTION, &conv);
}

static struct work make_work(struct rig *rig, UINT number)
{
    bool owned = number & 1;
    DML_TENSOR_FLAGS flags = owned ? DML_TENSOR_FLAG_OWNED_BY_DML : DML_TENSOR_FLAG_NONE;
    static const UINT gemm[] = { M * K, K * N, M * N }, add[] = { 1 << 20, 1 << 20, 1 << 20 };
    static const UINT conv[] = { CHANNELS * PIXELS * PIXELS, CHANNELS * CHANNELS * 9,
                                 CHANNELS * (PIXELS - 2) * (PIXELS - 2) };
    if (number < 2)
        return work_of(rig, gemm_operator(rig->dml, M, K, N, flags), 3, gemm, owned);
    if (number < 4)
        return work_of(rig, conv_operator(rig->dml, flags), 3, conv, owned);
    return work_of(rig, add_operator(rig->dml, 1 << 20), 2, add, false);
}

enum { WORKS = 5, MANY = 10000, WORKERS = 3, RESULTS = 1 << 20 };

/* Runs all and compares with `want`, or fills it. */
static void run_all(struct rig *rig, struct work *works, float (*want)[RESULTS], bool fill)
{
    for (UINT i = 0; i < WORKS; i++) {
        float *got = malloc(works[i].out.bytes);
        need(got);
        memset(got, 0xff, works[i].out.bytes);
        api_write(&rig->q, works[i].out.buffer, 0, got, works[i].out.bytes);
        rig_set_heap(rig);
        IDMLBindingTable *table = table_at(rig, works[i].op, 0);
        bind_inputs(table, works[i].inputs, works[i].bound);
        bind_outputs(table, 1, &works[i].out);
        bind_prepared(table, &works[i].prepared);
        record(rig, works[i].op, table);
        rig_run(rig);
        api_release(table);
        ok_hr(dml_reason(rig), S_OK);
        api_read(&rig->q, works[i].out.buffer, 0, got, works[i].out.bytes);
        rig_set_heap(rig);
        for (UINT e = 0; !fill && e < works[i].out.bytes / sizeof(*got); e++)
            if (!(got[e] - want[i][e] <= 1e-4f * want[i][e] && want[i][e] - got[e] <= 1e-4f * want[i][e])) {
                ok(false, "work %u, element %u: got %g, want %g", i, e, (double)got[e], (double)want[i][e]);
                break;
            }
        if (fill)
            memcpy(want[i], got, works[i].out.bytes);
        free(got);
    }
}

/* This many threads in addition to the queue's may exist until everything is prepared, and then when it runs. */
static int test(int before, int then, float (*want)[RESULTS], bool fill)
{
    struct work works[WORKS];
    allow(1 + before);
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    for (UINT i = 0; i < WORKS; i++)
        works[i] = make_work(&rig, i);
    allow(then);
    run_all(&rig, works, want, fill);
    ok(before >= WORKERS || then >= WORKERS || atomic_load(&refused), "no thread was wanted that cannot be created");
    run_all(&rig, works, want, false);
    allow(MANY);
    run_all(&rig, works, want, false);
    for (UINT i = 0; i < WORKS; i++)
        work_destroy(&works[i]);
    rig_destroy(&rig);
    return api_end();
}

static void test_in_child(int before, int then, float (*want)[RESULTS], bool fill)
{
    int status = 0;
    pid_t child = fork();
    if (!child)
        _exit(test(before, then, want, fill));
    need(child > 0 && waitpid(child, &status, 0) == child);
    ok(!status, "%d threads, then %d: status 0x%x", before, then, status);
}

int main(void)
{
    setenv("ANYDML_THREADS", "4", 1);
    api_begin();
    float(*want)[RESULTS] =
        mmap(NULL, WORKS * sizeof(*want), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(want != MAP_FAILED);
    test_in_child(0, 0, want, true);
    for (int count = 0; count <= WORKERS; count++) {
        test_in_child(count, 0, want, false);
        test_in_child(MANY, count, want, false);
        test_in_child(count, count, want, false);
    }
    test_in_child(MANY, MANY, want, false);
    munmap(want, WORKS * sizeof(*want));
    return api_end();
}
