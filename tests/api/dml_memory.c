/* SPDX-License-Identifier: Apache-2.0 */
/* DirectML on buffers over the application's own memory, at any multiple of 16 and of any length. */
#include "dml_test.h"

static ID3D12Resource *wrapped(struct rig *rig, void *address, UINT64 bytes)
{
    ID3D12Resource *buffer = NULL;
    ok_hr(AnydmlCreateBufferFromMemory(rig->d3d, address, bytes, &IID_ID3D12Resource, (void **)&buffer), S_OK);
    need(buffer);
    return buffer;
}

/* Bytes that end where the allocation does, `shift` bytes after a multiple of 64. */
struct block {
    char *base, *data;
};

static struct block block_make(size_t shift, size_t bytes)
{
    void *base = NULL;
    need(!posix_memalign(&base, 64, shift + bytes));
    return (struct block){ base, (char *)base + shift };
}

/* z = x + y over `count` elements of one byte. */
static void test_bytes(struct rig *rig, UINT count, size_t shift)
{
    UINT sizes[] = { 1, 1, 1, count };
    UINT64 bytes = (count + 3) / 4 * 4;
    DML_BUFFER_TENSOR_DESC buffer = { DML_TENSOR_DATA_TYPE_UINT8, 0, 4, sizes, NULL, bytes, 0 };
    DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &buffer };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { &tensor, &tensor, &tensor };
    IDMLCompiledOperator *op = compile(rig->dml, make_operator(rig->dml, DML_OPERATOR_ELEMENT_WISE_ADD, &add), 0);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    struct block x = block_make(shift, count), y = block_make(shift + 16, count), z = block_make(shift, count);
    for (UINT i = 0; i < count; i++) {
        x.data[i] = (char)i;
        y.data[i] = (char)(i * 3);
    }
    ID3D12Resource *bx = wrapped(rig, x.data, count), *by = wrapped(rig, y.data, count),
                   *bz = wrapped(rig, z.data, count);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 2, (struct bound[]){ { bx, 0, bytes }, { by, 0, bytes } });
    bind_outputs(table, 1, &(struct bound){ bz, 0, bytes });
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    for (UINT i = 0; i < count; i++)
        ok(z.data[i] == (char)(i * 4), "%u bytes: byte %u is %d", count, i, z.data[i]);
    ok_hr(dml_reason(rig), S_OK);
    api_release(table);
    api_release(bx);
    api_release(by);
    api_release(bz);
    prepared_release(&prepared);
    api_release(op);
    free(x.base);
    free(y.base);
    free(z.base);
}

/* A GEMM whose weights are owned: every binding is the application's memory. */
static void test_owned(struct rig *rig)
{
    IDMLCompiledOperator *op = compile(rig->dml, gemm_operator(rig->dml, 1, 3, 5, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    struct block a = block_make(16, 12), b = block_make(48, 60), out = block_make(32, 20);
    for (int i = 0; i < 3; i++)
        ((float *)(void *)a.data)[i] = (float)(i + 1);
    for (int i = 0; i < 15; i++)
        ((float *)(void *)b.data)[i] = (float)i;
    ID3D12Resource *ba = wrapped(rig, a.data, 12), *bb = wrapped(rig, b.data, 60), *bo = wrapped(rig, out.data, 20);
    struct prepared prepared = prepare(rig, op, 3, (struct bound[]){ { NULL, 0, 0 }, { bb, 0, 60 }, { NULL, 0, 0 } });
    memset(b.data, 0xff, 60);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { ba, 0, 12 }, { NULL, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ bo, 0, 20 });
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    for (int i = 0; i < 5; i++) {
        float got = ((float *)(void *)out.data)[i], want = (float)(i + 2 * (i + 5) + 3 * (i + 10));
        ok(got == want, "element %d: %g, not %g", i, (double)got, (double)want);
    }
    ok_hr(dml_reason(rig), S_OK);
    api_release(table);
    api_release(ba);
    api_release(bb);
    api_release(bo);
    prepared_release(&prepared);
    api_release(op);
    free(a.base);
    free(b.base);
    free(out.base);
}

/* Offsets are judged with the address that they start from. */
static void test_alignment(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 4, 3, 5, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    UINT64 bytes = properties(op).PersistentResourceSize;
    char *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
    need(bytes && memory);
    ID3D12Resource *buffer = wrapped(&rig, memory + 16, bytes + 240);
    IDMLBindingTable *table = table_at(&rig, initializer, 0);
    bind_outputs(table, 1, &(struct bound){ buffer, 240, bytes });
    ok(FAILED(dml_reason(&rig)), "offset 240 is no multiple of 256");
    api_release(table);
    api_release(initializer);
    api_release(op);
    rig_destroy(&rig);
    rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    op = compile(rig.dml, gemm_operator(rig.dml, 4, 3, 5, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    api_release(buffer);
    buffer = wrapped(&rig, memory + 16, bytes);
    initializer = make_initializer(rig.dml, 1, &op);
    table = table_at(&rig, initializer, 0);
    bind_outputs(table, 1, &(struct bound){ buffer, 0, bytes });
    ok(FAILED(dml_reason(&rig)), "an address that is no multiple of 256");
    api_release(table);
    api_release(initializer);
    api_release(op);
    api_release(buffer);
    rig_destroy(&rig);
    free(memory);
}

int main(void)
{
    api_begin();
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_DEBUG);
    for (UINT count = 1; count < 80; count += count < 20 ? 1 : 7)
        test_bytes(&rig, count, 16 * (count % 4));
    test_bytes(&rig, 100003, 16);
    test_owned(&rig);
    rig_destroy(&rig);
    test_alignment();
    return api_end();
}
