/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled graph executed again and again, with other bindings each time and by several threads: the driver is asked
 * for as many objects as batches are in flight at a time, however many there were.
 * growth LAYER [EXECUTIONS] */
#include "api/dml_build.h"

#include "layer.h"

#include <pthread.h>

enum { STEPS = 8, COUNT = 16, SETS = 3, IN_FLIGHT = 6, THREADS = 8 };

static struct layer_control *layer;
static int executions = 2000;

/* out = x + STEPS * y, in as many dispatches. */
static IDMLCompiledOperator *chain(IDMLDevice1 *dml)
{
    struct build b;
    build_begin(&b, dml, 2, 1);
    for (UINT i = 0; i < STEPS; i++) {
        add_node(&b, add_operator(dml, COUNT), "step");
        if (i)
            add_middle(&b, i - 1, 0, i, 0);
        add_input(&b, 1, i, 1);
    }
    add_input(&b, 0, 0, 0);
    add_output(&b, STEPS - 1, 0, 0);
    return build_end(&b);
}

struct client {
    struct rig rig;
    IDMLCompiledOperator *op;
    ID3D12Resource *x[SETS], *y[SETS], *out[SETS];
    ID3D12CommandAllocator *allocators[IN_FLIGHT];
    ID3D12GraphicsCommandList *lists[IN_FLIGHT];
    ID3D12Resource *temporary[IN_FLIGHT]; /* NULL: none needed */
    pthread_t thread;
    int executions;
};

/* Each list: the graph alone, or twice, or beside a copy; they go to the device in different ways. */
static void client_record(struct client *c, int slot, int set)
{
    const DML_BINDING_PROPERTIES props = properties(c->op);
    IDMLBindingTable *table = table_at(&c->rig, c->op, (UINT)slot * props.RequiredDescriptorCount);
    bind_inputs(table, 2, (struct bound[]){ { c->x[set], 0, COUNT * 4 }, { c->y[set], 0, COUNT * 4 } });
    bind_outputs(table, 1, &(struct bound){ c->out[set], 0, COUNT * 4 });
    if (c->temporary[slot])
        bind_temporary(table, c->temporary[slot], 0, props.TemporaryResourceSize);
    ID3D12GraphicsCommandList *own = c->rig.q.list;
    c->rig.q.list = c->lists[slot];
    rig_set_heap(&c->rig);
    record(&c->rig, c->op, table);
    if (slot % 3 == 1)
        record(&c->rig, c->op, table);
    if (slot % 3 == 2)
        ID3D12GraphicsCommandList_CopyBufferRegion(c->rig.q.list, c->out[set], COUNT * 4, c->x[set], 0, COUNT * 4);
    ok_hr(ID3D12GraphicsCommandList_Close(c->rig.q.list), S_OK);
    c->rig.q.list = own;
    api_release(table);
}

static void client_run(struct client *c)
{
    for (int done = 0; done < c->executions;) {
        for (int i = 0; i < IN_FLIGHT; i++, done++) {
            client_record(c, i, (done + done / IN_FLIGHT) % SETS);
            ID3D12CommandList *list = (ID3D12CommandList *)c->lists[i];
            ID3D12CommandQueue_ExecuteCommandLists(c->rig.q.queue, 1, &list);
        }
        api_queue_wait(&c->rig.q);
        for (int i = 0; i < IN_FLIGHT; i++) {
            ok_hr(ID3D12CommandAllocator_Reset(c->allocators[i]), S_OK);
            ok_hr(ID3D12GraphicsCommandList_Reset(c->lists[i], c->allocators[i], NULL), S_OK);
        }
    }
}

static void *client_main(void *context)
{
    client_run(context);
    return NULL;
}

static void client_create(struct client *c, const struct rig *rig, IDMLCompiledOperator *op)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    const UINT64 bytes = properties(op).TemporaryResourceSize;
    c->rig = *rig;
    c->op = op;
    c->rig.q = api_queue_create(rig->d3d);
    c->rig.heap = rig_heap(rig->d3d, DML_TEST_DESCRIPTORS, true);
    for (int i = 0; i < SETS; i++) {
        c->x[i] = buffer_f32(&c->rig, COUNT, (float)i, 1);
        c->y[i] = buffer_f32(&c->rig, COUNT, (float)(i + 1), 0);
        c->out[i] = buffer_f32(&c->rig, 2 * COUNT, -7, 0);
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        ok_hr(ID3D12Device_CreateCommandAllocator(rig->d3d, type, &IID_ID3D12CommandAllocator,
                                                  (void **)&c->allocators[i]),
              S_OK);
        need(c->allocators[i]);
        ok_hr(ID3D12Device_CreateCommandList(rig->d3d, 0, type, c->allocators[i], NULL, &IID_ID3D12GraphicsCommandList,
                                             (void **)&c->lists[i]),
              S_OK);
        need(c->lists[i]);
        c->temporary[i] = bytes ? api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, bytes) : NULL;
    }
}

static void client_destroy(struct client *c)
{
    for (int i = 0; i < SETS; i++) {
        float want[2 * COUNT];
        for (int k = 0; k < 2 * COUNT; k++) /* the copy of x is after the sum */
            want[k] = (float)(i + k % COUNT) + (k < COUNT ? STEPS * (float)(i + 1) : 0);
        expect_f32(&c->rig, c->out[i], 0, want, 2 * COUNT);
        api_release(c->x[i]);
        api_release(c->y[i]);
        api_release(c->out[i]);
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        api_release(c->lists[i]);
        api_release(c->allocators[i]);
        if (c->temporary[i])
            api_release(c->temporary[i]);
    }
    api_release(c->rig.heap);
    api_queue_destroy(&c->rig.q);
}

static void run_all(struct client *clients, int count, int each)
{
    for (int i = 0; i < count; i++) {
        clients[i].executions = each;
        need(!pthread_create(&clients[i].thread, NULL, client_main, &clients[i]));
    }
    for (int i = 0; i < count; i++)
        pthread_join(clients[i].thread, NULL);
}

static void asked(uint32_t out[3])
{
    static const enum layer_call calls[] = { LAYER_ALLOCATE, LAYER_COMMANDS, LAYER_OBJECT };
    for (int i = 0; i < 3; i++)
        out[i] = layer->calls[calls[i]].count;
}

/* Which of the device's command buffers are free at a time is chance, so that some may still be made later on; but
 * never more than there are batches in flight, in both ways to execute them, and their parts. */
static void test_growth(int count)
{
    const uint32_t most = (uint32_t)count * IN_FLIGHT * 4;
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = chain(rig.dml);
    struct client *clients = calloc((size_t)count, sizeof(*clients));
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    uint32_t before[3], after[3];
    need(clients);
    for (int i = 0; i < count; i++)
        client_create(&clients[i], &rig, op);
    run_all(clients, count, executions / 4 / count);
    asked(before);
    run_all(clients, count, executions * 3 / 4 / count);
    asked(after);
    for (int i = 0; i < 3; i++)
        ok(after[i] - before[i] <= most && most * 4 < (uint32_t)executions,
           "%d threads: %d executions asked %u times for %s", count, executions * 3 / 4, after[i] - before[i],
           i == 0   ? "memory"
           : i == 1 ? "command buffers"
                    : "other objects");
    ok_hr(dml_reason(&rig), S_OK);
    for (int i = 0; i < count; i++)
        client_destroy(&clients[i]);
    free(clients);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

int main(int count, char **arguments)
{
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    api_begin();
    need(library);
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    if (count > 2)
        executions = atoi(arguments[2]);
    setenv("ANYDML_DISABLE_PASS", "fuse_map", 1); /* each addition is a dispatch */
    test_growth(1);
    test_growth(THREADS);
    return api_end();
}
