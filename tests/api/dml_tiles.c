/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on reserved resources: their inputs, outputs, temporary and persistent memory are mapped to tiles of a
 * heap, and see the tiles' contents at execution. */
#include "dml_test.h"
#include "tiles_test.h"

#include <math.h>

#define M    33
#define K    700
#define N    250
#define STEP 7 /* a prime, so that the number of tiles is not a multiple of it */

static float value_of(uint32_t i)
{
    return (float)((i * 2654435761u) >> 20 & 255) / 128 - 1;
}

/* Tiles in a shuffled order, so that nothing that is contiguous in the resource is contiguous in the heap. */
static void scatter_tiles(struct api_queue *q, ID3D12Resource *resource, UINT tiles, ID3D12Heap *heap, UINT shift)
{
    for (UINT i = 0; i < tiles; i++)
        tiles_map(q, resource, i, heap, (i * STEP + shift) % tiles, 1);
}

static void check_product(struct rig *rig, ID3D12Resource *out, UINT64 offset, const float *a, const float *b)
{
    static float got[M * N];
    double worst = 0;
    api_read(&rig->q, out, offset, got, sizeof(got));
    rig_set_heap(rig);
    for (UINT i = 0; i < M; i++) {
        for (UINT j = 0; j < N; j++) {
            double sum = 0, size = 0;
            for (UINT k = 0; k < K; k++) {
                sum += (double)a[i * K + k] * b[k * N + j];
                size += fabs((double)a[i * K + k] * b[k * N + j]);
            }
            worst = fmax(worst, fabs(sum - (double)got[i * N + j]) / size);
        }
    }
    /* Each term is rounded K times at most. */
    ok(worst <= K * 0x1p-24, "the product is wrong by %g of its terms' sizes", worst);
}

/* Two reserved resources on the same tiles contain everything, with bindings that start inside tiles and cross their
 * ends.
 */
static void test_product(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    tiles_or_skip(rig.d3d);
    enum { A_AT = 60000 / 16 * 16, B_AT = 5 * 65536 + 32, OUT_AT = 20 * 65536 - 64, SCRATCH_AT = 24 * 65536 };
    static float a[M * K], b[K * N];
    for (uint32_t i = 0; i < M * K; i++)
        a[i] = value_of(i);
    for (uint32_t i = 0; i < K * N; i++)
        b[i] = value_of(i + 12345);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, M, K, N, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    DML_BINDING_PROPERTIES needs = properties(op);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    UINT64 initial = properties(initializer).TemporaryResourceSize;
    UINT64 temporary = needs.TemporaryResourceSize > initial ? needs.TemporaryResourceSize : initial;
    UINT64 scratch = SCRATCH_AT, persistent = scratch + (temporary + 255) / 256 * 256;
    UINT tiles = (UINT)((persistent + needs.PersistentResourceSize + TILE - 1) / TILE);
    tiles += tiles % STEP == 0;
    ID3D12Heap *heap = tiles_heap(rig.d3d, tiles);
    ID3D12Resource *resource = tiles_reserved(rig.d3d, tiles * TILE), *alias = tiles_reserved(rig.d3d, tiles * TILE);
    scatter_tiles(&rig.q, resource, tiles, heap, 11);
    scatter_tiles(&rig.q, alias, tiles, heap, 11);
    api_write(&rig.q, alias, A_AT, a, sizeof(a)); /* as allocators copy: through another resource on the same tiles */
    api_write(&rig.q, alias, B_AT, b, sizeof(b));
    rig_set_heap(&rig);
    IDMLBindingTable *table = table_at(&rig, initializer, 0);
    bind_owned(table, 3, (struct bound[]){ { NULL, 0, 0 }, { resource, B_AT, sizeof(b) }, { NULL, 0, 0 } });
    if (needs.PersistentResourceSize)
        bind_outputs(table, 1, &(struct bound){ alias, persistent, needs.PersistentResourceSize });
    if (initial)
        bind_temporary(table, resource, scratch, initial);
    record(&rig, initializer, table);
    rig_run(&rig);
    api_release(table);
    table = table_at(&rig, op, 64);
    bind_inputs(table, 3, (struct bound[]){ { resource, A_AT, sizeof(a) }, { NULL, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ resource, OUT_AT, M * N * 4 });
    if (needs.TemporaryResourceSize)
        bind_temporary(table, resource, scratch, needs.TemporaryResourceSize);
    if (needs.PersistentResourceSize)
        bind_persistent(table, resource, persistent, needs.PersistentResourceSize);
    record(&rig, op, table);
    rig_run(&rig);
    check_product(&rig, alias, OUT_AT, a, b);
    api_release(table);
    api_release(initializer);
    api_release(op);
    api_release(alias);
    api_release(resource);
    api_release(heap);
    rig_destroy(&rig);
}

/* A recorded list runs again after its input's tiles have moved to other data, and back. */
static void test_moved(void)
{
    enum { COUNT = 3 * TILE / 4 };
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    tiles_or_skip(rig.d3d);
    ID3D12Heap *heap = tiles_heap(rig.d3d, 6);
    ID3D12Resource *placed = tiles_placed(rig.d3d, heap, 6), *in = tiles_reserved(rig.d3d, 3 * TILE);
    ID3D12Resource *out = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 3 * TILE);
    static float data[2 * COUNT];
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        data[i] = value_of(i);
    api_write(&rig.q, placed, 0, data, sizeof(data));
    rig_set_heap(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    bind_inputs(table, 1, &(struct bound){ in, 0, 3 * TILE });
    bind_outputs(table, 1, &(struct bound){ out, 0, 3 * TILE });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    struct api_queue reader = api_queue_create(rig.d3d);
    const UINT firsts[] = { 0, 3, 1, 0 };
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        static float got[COUNT];
        tiles_map(&rig.q, in, 0, heap, firsts[i], 3);
        api_queue_execute(&rig.q);
        api_queue_wait(&rig.q);
        api_read(&reader, out, 0, got, sizeof(got));
        ok(!memcmp(got, data + firsts[i] * TILE / 4, sizeof(got)), "tiles from %u on", firsts[i]);
    }
    api_queue_destroy(&reader);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    api_release(in);
    api_release(out);
    api_release(placed);
    api_release(heap);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(test_product());
    rig_part(test_moved());
    return rig_end();
}
