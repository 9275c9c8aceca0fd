/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled operator with all that it needs to run again and again: its buffers, its binding table, its
 * initialisation. graph_builder.c explains the steps. One input, one or more outputs, no owned inputs. */
#ifndef SAMPLE_NETWORK_H
#define SAMPLE_NETWORK_H

#include "sample.h"

enum { SAMPLE_OUTPUTS_MAX = 4 };

struct sample_network {
    IDMLCompiledOperator *op;
    IDMLCommandRecorder *recorder;
    ID3D12DescriptorHeap *heap;
    IDMLBindingTable *table;
    ID3D12Resource *in, *out[SAMPLE_OUTPUTS_MAX], *temporary, *persistent;
    UINT outputs;
};

static DML_BINDING_DESC sample_bind(const DML_BUFFER_BINDING *range)
{
    return (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, range };
}

static ID3D12Resource *sample_room(ID3D12Device *device, UINT64 bytes)
{
    return bytes ? sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes) : NULL;
}

static void sample_initialize(IDMLDevice *dml, struct sample_queue *q, struct sample_network *n)
{
    IDMLOperatorInitializer *initializer;
    CHECK(IDMLDevice_CreateOperatorInitializer(dml, 1, &n->op, &IID_IDMLOperatorInitializer, (void **)&initializer));
    IDMLDispatchable *work = (IDMLDispatchable *)initializer;
    const DML_BINDING_PROPERTIES need = IDMLDispatchable_GetBindingProperties(work);
    ID3D12DescriptorHeap *heap = sample_heap(q->device, need.RequiredDescriptorCount);
    IDMLBindingTable *table = sample_table(dml, work, heap);
    ID3D12Resource *scratch = sample_room(q->device, need.TemporaryResourceSize);
    const DML_BUFFER_BINDING temporary = { scratch, 0, need.TemporaryResourceSize }, kept = { n->persistent, 0, 0 };
    const DML_BINDING_DESC bindings[] = { sample_bind(&temporary), sample_bind(&kept) };
    if (scratch)
        IDMLBindingTable_BindTemporaryResource(table, &bindings[0]);
    if (n->persistent)
        IDMLBindingTable_BindOutputs(table, 1, &bindings[1]);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(q->list, 1, &heap);
    IDMLCommandRecorder_RecordDispatch(n->recorder, (ID3D12CommandList *)q->list, work, table);
    sample_flush(q);
    IDMLBindingTable_Release(table);
    ID3D12DescriptorHeap_Release(heap);
    IDMLOperatorInitializer_Release(initializer);
    if (scratch)
        ID3D12Resource_Release(scratch);
}

/* Takes ownership of `op` and initialises it on the queue. */
static struct sample_network sample_network_create(IDMLDevice *dml, struct sample_queue *q, IDMLCompiledOperator *op,
                                                   UINT64 in_bytes, UINT outputs, const UINT64 *out_bytes)
{
    struct sample_network n = { .op = op, .outputs = outputs };
    IDMLDispatchable *work = (IDMLDispatchable *)op;
    const DML_BINDING_PROPERTIES need = IDMLDispatchable_GetBindingProperties(work);
    DML_BUFFER_BINDING ranges[SAMPLE_OUTPUTS_MAX];
    DML_BINDING_DESC bindings[SAMPLE_OUTPUTS_MAX];
    CHECK(IDMLDevice_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, (void **)&n.recorder));
    n.temporary = sample_room(q->device, need.TemporaryResourceSize);
    n.persistent = sample_room(q->device, need.PersistentResourceSize);
    sample_initialize(dml, q, &n);
    n.in = sample_room(q->device, in_bytes);
    n.heap = sample_heap(q->device, need.RequiredDescriptorCount);
    n.table = sample_table(dml, work, n.heap);
    for (UINT i = 0; i < outputs; i++) {
        n.out[i] = sample_room(q->device, out_bytes[i]);
        ranges[i] = (DML_BUFFER_BINDING){ n.out[i], 0, out_bytes[i] };
        bindings[i] = sample_bind(&ranges[i]);
    }
    const DML_BUFFER_BINDING in = { n.in, 0, in_bytes }, temporary = { n.temporary, 0, need.TemporaryResourceSize },
                             persistent = { n.persistent, 0, need.PersistentResourceSize };
    const DML_BINDING_DESC input = sample_bind(&in), scratch = sample_bind(&temporary), kept = sample_bind(&persistent);
    IDMLBindingTable_BindInputs(n.table, 1, &input);
    IDMLBindingTable_BindOutputs(n.table, outputs, bindings);
    if (n.temporary)
        IDMLBindingTable_BindTemporaryResource(n.table, &scratch);
    if (n.persistent)
        IDMLBindingTable_BindPersistentResource(n.table, &kept);
    return n;
}

static void sample_network_record(struct sample_network *n, ID3D12GraphicsCommandList *list)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(list, 1, &n->heap);
    IDMLCommandRecorder_RecordDispatch(n->recorder, (ID3D12CommandList *)list, (IDMLDispatchable *)n->op, n->table);
}

static void sample_network_release(struct sample_network *n)
{
    void *objects[] = { n->table, n->heap, n->recorder, n->op, n->in, n->temporary, n->persistent };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        if (objects[i])
            IUnknown_Release((IUnknown *)objects[i]);
    for (UINT i = 0; i < n->outputs; i++)
        ID3D12Resource_Release(n->out[i]);
}

#endif
