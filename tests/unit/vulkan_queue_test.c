/* SPDX-License-Identifier: Apache-2.0 */
/* What the Vulkan adapter submits: on which family, after what, and with which barriers. */
#include "base/clock.h"
#include "vulkan_fake.h"

#include "test.h"

static struct adapter_device device;
static struct adapter_memory *a, *b;

static struct adapter_command copy(struct adapter_memory *to, uint64_t to_at, struct adapter_memory *from,
                                   uint64_t from_at, uint64_t bytes)
{
    return (struct adapter_command){ ADAPTER_COPY, .u.copy = { { to, to_at, bytes, 0 }, { from, from_at, bytes, 0 } } };
}

static struct adapter_command fill(struct adapter_memory *to, uint64_t at, uint64_t bytes)
{
    return (struct adapter_command){ ADAPTER_FILL, .u.fill = { { to, at, bytes, 0 }, 7 } };
}

/* Submits the commands as one batch of two lists; what the driver sees. */
static const char *submit(struct adapter_queue *queue, const struct adapter_command *commands, uint32_t count)
{
    const struct adapter_command *lists[] = { commands, commands + count / 2 };
    const uint32_t counts[] = { count / 2, count - count / 2 };
    const struct adapter_batch batch = { lists, counts, 2 };
    uint64_t ticket;
    fake.submitted[0] = '\0';
    TEST(vulkan_queue_submit(queue, &batch, &ticket) == S_OK);
    TEST(vulkan_queue_finish(queue, ticket) == S_OK);
    return fake.submitted;
}

#define EXPECT(commands, want) EXPECT_ON(queue, commands, want)
#define EXPECT_ON(queue, commands, want)                                                                               \
    do {                                                                                                               \
        const char *got_ = submit(queue, commands, ARRAY_SIZE(commands));                                              \
        TEST_FOR(!strcmp(got_, want), "\"%s\" instead of \"%s\"", got_, want);                                         \
    } while (0)

/* ---- barriers: before and behind each batch, and between what depends on each other ---- */

static void test_copies(struct adapter_queue *queue)
{
    const struct adapter_command apart[] = { copy(b, 0, a, 0, 64), copy(b, 64, a, 0, 64), fill(b, 128, 64) };
    const struct adapter_command twice[] = { copy(b, 0, a, 0, 64), copy(b, 63, a, 64, 64) };
    const struct adapter_command reads[] = { copy(b, 0, a, 0, 64), copy(a, 64, b, 60, 4), copy(a, 128, b, 0, 4) };
    const struct adapter_command over[] = { copy(b, 0, a, 0, 64), fill(a, 32, 4) };
    const struct adapter_command odd[] = { fill(b, 1, 13), fill(b, 64, 4) };
    const struct adapter_command same[] = { copy(a, 0, a, 32, 64), copy(b, 0, b, 0, 64) };
    const struct adapter_command large[] = { fill(b, 4, 4092), fill(b, 4100, 4096), fill(b, 16384, 4096) };
    EXPECT(apart, "0<0:|ccfH;");
    EXPECT(twice, "0<0:|c|cH;");
    EXPECT(reads, "0<0:|c|ccH;");
    EXPECT(over, "0<0:|c|fH;");
    submit(queue, odd, 2); /* which makes the scratch memory */
    EXPECT(odd, "0<0:||f|ccf|fH;");
    EXPECT(same, "0<0:||c|c||||H;");
    EXPECT(large, "0<0:|ffffH;");
}

static void test_timestamps(struct adapter_queue *queue, struct adapter_queries *queries)
{
    const struct adapter_command times[] = {
        { ADAPTER_TIMESTAMP, .u.timestamp = { queries, 0 } },
        copy(b, 0, a, 0, 64),
        { ADAPTER_TIMESTAMP, .u.timestamp = { queries, 1 } },
    };
    EXPECT(times, "0<0:|t|ct|H;");
}

/* Queries without a time are zeros. */
static void test_unwritten(struct adapter_queue *queue)
{
    enum { COUNT = 1000 };
    struct adapter_queries *queries = calloc(1, sizeof(*queries) + COUNT * sizeof(queries->written[0]));
    const struct adapter_command zeros[] = { { ADAPTER_RESOLVE,
                                               .u.resolve = { queries, 0, COUNT, { b, 8, 8 * COUNT, 0 } } } };
    queries->count = COUNT;
    EXPECT(zeros, "0<0:|ffH;");
    free(queries);
}

/* ---- dispatches ---- */

static struct adapter_sequence *sequence;
static const struct adapter_tracer *tracer;
static uint64_t table_first;

static HRESULT encode(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count,
                      struct adapter_encoder *encoder)
{
    const uint64_t table[] = { 0, table_first, 2 };
    (void)dispatch, (void)bindings, (void)count;
    return encoder->run(encoder, sequence, table, tracer);
}

static const struct adapter_dispatch_ops dispatch_ops = { .encode = encode };

static void test_dispatches(struct adapter_queue *queue, uint32_t steps, const char *apart, const char *chained,
                            const char *barrier)
{
    struct adapter_step list[8] = { { .barrier = false } };
    struct adapter_dispatch dispatch = { .ops = &dispatch_ops };
    const struct adapter_binding left[] = { { a, 0, 64, 1 }, { a, 0, 64, 1 } }, right[] = { { b, 0, 64, 2 } };
    const struct adapter_command separate[] = {
        { ADAPTER_BARRIER },
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 2 } },
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, right, 1 } },
    };
    const struct adapter_command asked[] = {
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 2 } },
        { ADAPTER_BARRIER },
        { ADAPTER_BARRIER },
        copy(b, 0, b, 64, 4),
    };
    const struct adapter_command dependent[] = {
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 2 } },
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 1 } },
        copy(b, 0, a, 60, 4),
    };
    /* The pipeline is asked for its handle. */
    void *pipeline = calloc(1, 256);
    for (uint32_t i = 0; i < steps; i++)
        list[i] = (struct adapter_step){ pipeline, 64 * i, { 1, 1, 1 }, 0, i == 2 };
    TEST(vulkan_sequence_create(&device, list, steps, a, 3, &sequence) == S_OK);
    for (int round = 0; round < 3; round++) {
        EXPECT(separate, apart);
        EXPECT(dependent, chained);
        EXPECT(asked, barrier);
    }
    vulkan_sequence_destroy(&device, sequence);
    free(pipeline);
}

/* ---- a dispatch alone in its batch ---- */

static const char *script; /* r: run, c: copy, b: barrier */

static HRESULT encode_script(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count,
                             struct adapter_encoder *encoder)
{
    const struct adapter_binding to = { b, 0, 4 };
    HRESULT hr = S_OK;
    for (const char *at = script; SUCCEEDED(hr) && *at; at++)
        if (*at == 'r')
            hr = encode(dispatch, bindings, count, encoder);
        else if (*at == 'c')
            encoder->copy(encoder, &to, bindings, 4);
        else
            encoder->barrier(encoder);
    return hr;
}

/* What was recorded once is submitted as it is; with anything else it is a part of what is recorded now. */
static void test_alone(struct adapter_queue *queue)
{
    static const struct {
        const char *script, *submitted;
    } cases[] = { { "r", "0<0:|pddDddH;" },
                  { "r", "0<0:|pddDddH;" },
                  { "rr", "0<0:|pddDddxpddDddxH;" },
                  { "", "0<0:|H;" },
                  { "c", "0<0:|cH;" },
                  { "rbc", "0<0:|pddDddx|cH;" },
                  { "cbr", "0<0:|c|pddDddxH;" },
                  { "b", "0<0:||H;" },
                  { "rcr", "0<0:|pddDddxcpddDddxH;" },
                  { "r", "0<0:|pddDddH;" } };
    const struct adapter_dispatch_ops ops = { .encode = encode_script };
    struct adapter_dispatch dispatch = { .ops = &ops };
    const struct adapter_binding from = { a, 0, 64, 1 };
    const struct adapter_command once[] = { { ADAPTER_BARRIER },
                                            { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, &from, 1 } },
                                            { ADAPTER_BARRIER } };
    struct adapter_step list[4] = { { .barrier = false } };
    void *pipeline = calloc(1, 256);
    for (uint32_t i = 0; i < 4; i++)
        list[i] = (struct adapter_step){ pipeline, 64 * i, { 1, 1, 1 }, 0, i == 2 };
    TEST(vulkan_sequence_create(&device, list, 4, a, 3, &sequence) == S_OK);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        script = cases[i].script;
        EXPECT(once, cases[i].submitted);
    }
    vulkan_sequence_destroy(&device, sequence);
    free(pipeline);
}

/* ---- times ---- */

#define STEPS 4

static uint64_t begun_ns, seen[2][STEPS + 1]; /* of the last two reported sequences, the newest first */
static uint32_t told;

static void tell(void *context, const uint64_t *times_ns)
{
    TEST(context == &told);
    memcpy(seen[1], seen[0], sizeof(seen[0]));
    memcpy(seen[0], times_ns, sizeof(seen[0]));
    told++;
}

/* Steps one after the other, with a time between them; in nanoseconds of a clock of 24 bits that starts over. */
static void test_times(struct adapter_queue *queue)
{
    const struct adapter_tracer listener = { tell, &told };
    struct adapter_step list[STEPS] = { { .barrier = false } };
    struct adapter_dispatch dispatch = { .ops = &dispatch_ops };
    const struct adapter_binding left[] = { { a, 0, 64, 1 } }, right[] = { { b, 0, 64, 2 } };
    const struct adapter_command twice[] = {
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 1 } },
        { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, right, 1 } },
    };
    void *pipeline = calloc(1, 256);
    for (uint32_t i = 0; i < STEPS; i++)
        list[i] = (struct adapter_step){ pipeline, 64 * i, { 1, 1, 1 }, 0, i == 2 };
    TEST(vulkan_sequence_create(&device, list, STEPS, a, 3, &sequence) == S_OK);
    EXPECT(twice, "0<0:|pddDddxpddDddxH;");
    TEST(!told);
    tracer = &listener;
    begun_ns = base_now_ns();
    fake.ticks = UINT64_C(0xfffff0);
    EXPECT(twice, "0<0:|tDpdtDdtDDdtDdtDtDpdtDdtDDdtDdtDH;");
    TEST(told == 2 && fake.pools == 1);
    for (uint32_t i = 0; i < STEPS; i++) /* a tick is 2.5 ns, and passes 1000 of them between two times */
        TEST(seen[0][i + 1] - seen[0][i] == 2500 && seen[1][i + 1] - seen[1][i] == 2500);
    TEST(seen[1][0] - seen[0][STEPS] == 2500); /* the last sequence is reported first */
    TEST(seen[1][STEPS] >= begun_ns && seen[1][STEPS] <= base_now_ns());
    tracer = NULL;
    EXPECT(twice, "0<0:|pddDddxpddDddxH;");
    TEST(told == 2);
    vulkan_sequence_destroy(&device, sequence);
    free(pipeline);
}

/* ---- the limit of submissions ---- */

/* Two steps of a known limit of 10000 ns, in three workgroups; the device needs 2500 ns for each. */
static void test_watchdog(struct adapter_queue *queue)
{
    struct adapter_dispatch dispatch = { .ops = &dispatch_ops };
    const struct adapter_binding left[] = { { a, 0, 64, 1 } };
    const struct adapter_command once[] = { { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 1 } } };
    const struct adapter_command copies[] = { copy(b, 0, a, 0, 16384), copy(b, 16384, a, 0, 16384) };
    struct adapter_memory *large;
    void *pipeline = calloc(1, 256);
    const struct adapter_step list[] = {
        { pipeline, 0, { 3, 1, 1 }, 20001, false },   { pipeline, 0, { 3, 1, 1 }, 1, true },
        { pipeline, 0, { 3, 1, 1 }, 9000000, false }, { pipeline, 0, { 3, 1, 1 }, 1, false },
        { pipeline, 0, { 3, 1, 1 }, 1, false },
    };
    device.watchdog_ns = 10000;
    TEST(vulkan_sequence_create(&device, list, 5, a, 3, &sequence) == S_OK);
    fake.ticks = 5;
    EXPECT(once, "0<0:|tps;0<0:ps;0<0:pstDdt;0<0:ps;0<0:ps;0<0:pst;0<0:pdtdtH;");
    EXPECT(once, "0<0:|tpdtDdtdtdt;0<0:pdtH;"); /* 2500 ns of each are too long for all */
    device.watchdog_ns = 12500;
    EXPECT(once, "0<0:|pdDddddH;");
    EXPECT(copies, "0<0:|c;0<0:cH;");
    device.watchdog_ns = 1;
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 262144, &large) == S_OK);
    const struct adapter_command pieces[] = { fill(large, 0, 262144), copy(large, 0, large, 131072, 131072) };
    EXPECT(pieces, "0<0:|f;0<0:f;0<0:f;0<0:f|;0<0:c;0<0:cH;");
    vulkan_memory_destroy(&device, large);
    device.watchdog_ns = 0;
    EXPECT(once, "0<0:|pdDddddH;");
    vulkan_sequence_destroy(&device, sequence);
    TEST(vulkan_sequence_create(&device, list, 5, a, 3, &sequence) == S_OK);
    EXPECT(once, "0<0:|pdDddddH;");
    vulkan_sequence_destroy(&device, sequence);
    free(pipeline);
}

/* ---- kernels, whose addresses are recorded ---- */

static void test_kernels(struct adapter_queue *queue)
{
    struct adapter_dispatch dispatch = { .ops = &dispatch_ops };
    const struct adapter_binding left[] = { { a, 0, 64, 1 } };
    const struct adapter_command once[] = { { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 1 } } };
    const uint64_t block[] = { UINT64_C(2) << ADAPTER_ADDRESS_BITS | 24 }; /* of the table's second address */
    void *pipeline = calloc(1, 256);
    const struct adapter_step list[] = {
        { pipeline, 0, { 1, 1, 1 }, 0, false },
        { pipeline, 0, { 1, 1, 1 }, 0, true, block, sizeof(block), 1 },
        { pipeline, 0, { 1, 1, 1 }, 0, false },
        { pipeline, 0, { 1, 1, 1 }, 0, false },
    };
    TEST(vulkan_sequence_create(&device, list, 4, a, 3, &sequence) == S_OK);
    for (uint64_t round = 0; round < 40; round++) {
        const uint32_t before = fake.launches;
        table_first = 4096 * (round % 4 + 1);
        EXPECT(once, "0<0:|pdDkpddH;");
        TEST(fake.launches == before + (round < 4) && (round >= 4 || fake.launched == table_first + 24));
    }
    for (uint64_t round = 0; round < 40; round++) { /* more than are kept */
        table_first = 4096 * (round % 13 + 5);
        EXPECT(once, "0<0:|pdDkpddH;");
        TEST(fake.launched == table_first + 24);
    }
    table_first = 1;
    vulkan_sequence_destroy(&device, sequence);
    free(pipeline);
}

/* ---- queues that only copy ---- */

/* Batches with queries go where queries can be used, in order. */
static void test_copy_queue(struct adapter_queue *queue, struct adapter_queries *queries)
{
    const struct adapter_command plain[] = { copy(b, 0, a, 0, 64), copy(a, 0, b, 0, 64) };
    const struct adapter_command times[] = { copy(b, 0, a, 0, 64),
                                             { ADAPTER_TIMESTAMP, .u.timestamp = { queries, 0 } } };
    EXPECT(plain, "1<0:CcCcH;");
    EXPECT(plain, "1<0:CcCcH;");
    EXPECT(times, "0<2:|ct|H;");
    EXPECT(times, "0<0:|ct|H;");
    EXPECT(plain, "1<4:CcCcH;");
}

/* ---- queues that compute beside DIRECT ones ---- */

/* What is replayed on one family was recorded for it. Without timestamps batches with queries go elsewhere. */
static void test_compute_queue(struct adapter_queue *direct, struct adapter_queue *compute)
{
    struct adapter_step list[4] = { { .barrier = false } };
    struct adapter_dispatch dispatch = { .ops = &dispatch_ops };
    const struct adapter_binding left[] = { { a, 0, 64, 1 } };
    const struct adapter_command once[] = { { ADAPTER_DISPATCH, .u.dispatch = { &dispatch, left, 1 } } };
    const struct adapter_tracer listener = { tell, &told };
    void *pipeline = calloc(1, 256);
    for (uint32_t i = 0; i < 4; i++)
        list[i] = (struct adapter_step){ pipeline, 64 * i, { 1, 1, 1 }, 0, i == 2 };
    TEST(vulkan_sequence_create(&device, list, 4, a, 3, &sequence) == S_OK);
    for (int round = 0; round < 2; round++) {
        EXPECT_ON(compute, once, "2<0:|pddDddH;");
        EXPECT_ON(direct, once, "0<0:|pddDddH;");
    }
    /* Its clock has 20 bits. */
    tracer = &listener;
    fake.ticks = 0xffff0;
    fake.tick_mask = 0xfffff;
    EXPECT_ON(compute, once, "2<0:|tDpdtDdtDDdtDdtDH;");
    for (uint32_t i = 0; i < STEPS; i++)
        TEST(seen[0][i + 1] - seen[0][i] == 2500);
    tracer = NULL;
    vulkan_sequence_destroy(&device, sequence);
    free(pipeline);
}

static void test_compute_times(struct adapter_queries *queries)
{
    const struct adapter_command plain[] = { copy(b, 0, a, 0, 64) };
    const struct adapter_command times[] = { copy(b, 0, a, 0, 64),
                                             { ADAPTER_TIMESTAMP, .u.timestamp = { queries, 0 } } };
    struct vulkan_physical physical = fake_physical;
    struct adapter_queue *queue;
    TEST(vulkan_queue_create(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &queue) == S_OK);
    EXPECT(plain, "2<0:|cH;");
    EXPECT(times, "2<0:|ct|H;");
    vulkan_queue_destroy(queue);
    physical.families[VULKAN_ROLE_COMPUTE].timestamp_bits = 0;
    device.physical = &physical;
    TEST(vulkan_queue_create(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &queue) == S_OK);
    EXPECT(plain, "2<0:|cH;");
    EXPECT(times, "0<1:|ct|H;");
    EXPECT(plain, "2<2:|cH;");
    vulkan_queue_destroy(queue);
    device.physical = &fake_physical;
}

/* ---- queues that wait for each other on the device ---- */

static void test_points(struct adapter_queue *direct, struct adapter_queue *copying)
{
    const struct adapter_command plain[] = { copy(b, 0, a, 0, 64) };
    struct adapter_point points[VULKAN_POINTS_MAX + 1];
    for (uint32_t i = 0; i < ARRAY_SIZE(points); i++) {
        struct adapter_queue *queue = NULL;
        TEST(vulkan_queue_create(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &queue) == S_OK);
        for (uint32_t k = 0; k < 7 + i; k++)
            submit(queue, plain, 1);
        points[i] = vulkan_queue_point(queue);
        vulkan_queue_destroy(queue); /* its semaphore lives on */
    }
    TEST(vulkan_queue_wait(copying, &points[0]) == S_OK);
    EXPECT_ON(copying, plain, "1<7:CcH;");
    EXPECT_ON(copying, plain, "1<0:CcH;");
    /* Of one queue, only the last is waited for. */
    const struct adapter_point earlier = { points[1].timeline, 3 };
    TEST(vulkan_queue_wait(direct, &earlier) == S_OK && vulkan_queue_wait(direct, &points[1]) == S_OK);
    TEST(vulkan_queue_wait(direct, &earlier) == S_OK);
    EXPECT_ON(direct, plain, "0<8:|cH;");
    /* More than a submission takes: the host waits for some. */
    for (uint32_t i = 0; i < ARRAY_SIZE(points); i++)
        TEST(vulkan_queue_wait(direct, &points[i]) == S_OK);
    EXPECT_ON(direct, plain, "0<11:|cH;");
    TEST(vulkan_queue_wait(direct, &points[0]) == S_OK && vulkan_queue_settle(direct) == S_OK);
    EXPECT_ON(direct, plain, "0<0:|cH;");
    for (uint32_t i = 0; i < ARRAY_SIZE(points); i++)
        vulkan_point_release(&points[i]);
}

/* ---- the adapter's own work ---- */

static void copy_bytes(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void test_own(void)
{
    const struct adapter_writing plain = { copy_bytes, false };
    const uint64_t bytes = UINT64_C(40) << 20;
    char *data = calloc(1, bytes);
    struct adapter_memory *memory = NULL;
    const struct adapter_write writes[] = { { 0, 100, data }, { 4096, bytes - 4096, data }, { 100, 3, data } };
    fake.submitted[0] = '\0';
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, bytes, &memory) == S_OK);
    TEST_FOR(!strcmp(fake.submitted, "0<0:f;"), "\"%s\"", fake.submitted);
    fake.submitted[0] = '\0';
    TEST(vulkan_memory_write(&device, memory, writes, 3, &plain) == S_OK);
    TEST_FOR(!strcmp(fake.submitted, "1<0:cc;1<0:c;1<0:cc;"), "\"%s\"", fake.submitted);
    /* Writes that are not finished leave the command buffers in turn; a call without writes waits for them. */
    const struct adapter_writing unfinished = { copy_bytes, true };
    const uint64_t before = device.own.writes.value;
    fake.submitted[0] = '\0';
    for (uint32_t i = 0; i < 3; i++)
        TEST(vulkan_memory_write(&device, memory, writes, 1, &unfinished) == S_OK);
    TEST_FOR(!strcmp(fake.submitted, "1<0:c;1<0:c;1<0:c;"), "\"%s\"", fake.submitted);
    TEST(device.own.writes.value == before + 3 && device.own.commands[0].value != device.own.commands[1].value);
    TEST(vulkan_memory_write(&device, NULL, NULL, 0, &plain) == S_OK && device.own.writes.value == before + 3);
    vulkan_memory_destroy(&device, memory);
    free(data);
}

int main(void)
{
    struct adapter_queue *direct, *compute, *copying;
    struct adapter_queries *queries;
    fake_load();
    fake_device_create(&device);
    TEST(vulkan_queries_create(&device, 2, &queries) == S_OK);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 65536, &a) == S_OK);
    TEST(vulkan_memory_create(&device, ADAPTER_MEMORY_DEVICE, 65536, &b) == S_OK);
    TEST(vulkan_queue_create(&device, D3D12_COMMAND_LIST_TYPE_DIRECT, &direct) == S_OK);
    TEST(vulkan_queue_create(&device, D3D12_COMMAND_LIST_TYPE_COPY, &copying) == S_OK);
    TEST(vulkan_queue_create(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &compute) == S_OK);
    test_copies(direct);
    test_copies(direct);
    test_timestamps(direct, queries);
    test_unwritten(direct);
    test_dispatches(direct, 3, "0<0:|pddDdpddDdH;", "0<0:|pddDd|pddDd|cH;", "0<0:|pddDd|cH;");
    test_dispatches(direct, 4, "0<0:|pddDddxpddDddxH;", "0<0:|pddDddx|pddDddx|cH;", "0<0:|pddDddx|cH;");
    test_alone(direct);
    test_times(direct);
    test_kernels(direct);
    test_watchdog(direct);
    test_copy_queue(copying, queries);
    test_compute_queue(direct, compute);
    test_compute_times(queries);
    test_points(direct, copying);
    test_own();
    vulkan_queries_destroy(&device, queries);
    vulkan_queue_destroy(direct);
    vulkan_queue_destroy(compute);
    vulkan_queue_destroy(copying);
    vulkan_memory_destroy(&device, a);
    vulkan_memory_destroy(&device, b);
    fake_device_destroy(&device);
    TEST(!fake.allocations && !fake.buffers && !fake.pools && !fake.semaphores);
    return test_result();
}
