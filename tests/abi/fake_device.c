/* SPDX-License-Identifier: Apache-2.0 */
/* A device with just enough behind it for client.h: it checks what arrives from C++ and hands out counted objects. */
#include "objects.h"
#include <DirectMLGuids.h>
#include <stdlib.h>
#include <string.h>

static unsigned alive;

unsigned abi_fake_alive(void)
{
    return alive;
}

/* One shape for all: what every DirectML object begins with, and a reference count. */
struct fake {
    const void *table;
    ULONG refs;
    const IID *iid;
};

static HRESULT fake_create(const void *table, const IID *iid, REFIID riid, void **out)
{
    *out = NULL;
    if (memcmp(iid, riid, sizeof(*iid)))
        return E_NOINTERFACE;
    struct fake *fake = malloc(sizeof(*fake));
    if (!fake)
        return E_OUTOFMEMORY;
    *fake = (struct fake){ table, 1, iid };
    alive++;
    *out = fake;
    return S_OK;
}

static ULONG fake_ref(struct fake *fake)
{
    return ++fake->refs;
}

static ULONG fake_unref(struct fake *fake)
{
    ULONG left = --fake->refs;
    if (!left) {
        alive--;
        free(fake);
    }
    return left;
}

static HRESULT fake_query(struct fake *fake, REFIID riid, void **out)
{
    bool known = !memcmp(riid, fake->iid, sizeof(*riid)) || !memcmp(riid, &IID_IUnknown, sizeof(*riid));
    if (!memcmp(fake->iid, &IID_IDMLDevice1, sizeof(*riid)))
        known |= !memcmp(riid, &IID_IDMLDevice, sizeof(*riid));
    *out = known ? fake : NULL;
    if (known)
        fake_ref(fake);
    return known ? S_OK : E_NOINTERFACE;
}

static HRESULT operator_QueryInterface(IDMLOperator *This, REFIID riid, void **out)
{
    return fake_query((struct fake *)This, riid, out);
}

static ULONG operator_AddRef(IDMLOperator *This)
{
    return fake_ref((struct fake *)This);
}

static ULONG operator_Release(IDMLOperator *This)
{
    return fake_unref((struct fake *)This);
}

static HRESULT compiled_QueryInterface(IDMLCompiledOperator *This, REFIID riid, void **out)
{
    return fake_query((struct fake *)This, riid, out);
}

static ULONG compiled_AddRef(IDMLCompiledOperator *This)
{
    return fake_ref((struct fake *)This);
}

static ULONG compiled_Release(IDMLCompiledOperator *This)
{
    return fake_unref((struct fake *)This);
}

static ABI_STRUCT(DML_BINDING_PROPERTIES)
    compiled_GetBindingProperties(IDMLCompiledOperator *This ABI_RESULT(DML_BINDING_PROPERTIES))
{
    (void)This;
    ABI_RETURN((DML_BINDING_PROPERTIES){ 4, 256, 512 });
}

static HRESULT device_QueryInterface(IDMLDevice1 *This, REFIID riid, void **out)
{
    return fake_query((struct fake *)This, riid, out);
}

static ULONG device_AddRef(IDMLDevice1 *This)
{
    return fake_ref((struct fake *)This);
}

static ULONG device_Release(IDMLDevice1 *This)
{
    return fake_unref((struct fake *)This);
}

/* Accepts the gemm of client.h: 2 x 3 by 3 x 4 in float32, with a fused relu. */
static HRESULT device_CreateOperator(IDMLDevice1 *This, const DML_OPERATOR_DESC *desc, REFIID riid, void **ppv)
{
    static const IDMLOperatorVtbl table = { .QueryInterface = operator_QueryInterface,
                                            .AddRef = operator_AddRef,
                                            .Release = operator_Release };
    (void)This;
    *ppv = NULL;
    if (desc->Type != DML_OPERATOR_GEMM)
        return E_INVALIDARG;
    const DML_GEMM_OPERATOR_DESC *gemm = desc->Desc;
    const DML_BUFFER_TENSOR_DESC *a = gemm->ATensor->Desc;
    const DML_BUFFER_TENSOR_DESC *out = gemm->OutputTensor->Desc;
    if (a->DimensionCount != 4 || a->Sizes[2] != 2 || a->Sizes[3] != 3 || out->Sizes[3] != 4 || gemm->CTensor)
        return E_INVALIDARG;
    if (a->Flags != DML_TENSOR_FLAG_OWNED_BY_DML || a->TotalTensorSizeInBytes != 24 || gemm->Alpha != 1.5f)
        return E_INVALIDARG;
    if (!gemm->FusedActivation || gemm->FusedActivation->Type != DML_OPERATOR_ACTIVATION_RELU)
        return E_INVALIDARG;
    return fake_create(&table, &IID_IDMLOperator, riid, ppv);
}

static HRESULT device_CompileGraph(IDMLDevice1 *This, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                                   REFIID riid, void **ppv)
{
    static const IDMLCompiledOperatorVtbl table = { .QueryInterface = compiled_QueryInterface,
                                                    .AddRef = compiled_AddRef,
                                                    .Release = compiled_Release,
                                                    .GetBindingProperties = compiled_GetBindingProperties };
    (void)This;
    *ppv = NULL;
    if (desc->InputCount != 2 || desc->NodeCount != 1 || desc->InputEdgeCount != 2 || desc->OutputEdgeCount != 1)
        return E_INVALIDARG;
    if (desc->Nodes[0].Type != DML_GRAPH_NODE_TYPE_OPERATOR || desc->IntermediateEdgeCount || flags != 5)
        return E_INVALIDARG;
    const DML_INPUT_GRAPH_EDGE_DESC *edge = desc->InputEdges[1].Desc;
    if (edge->GraphInputIndex != 1 || edge->ToNodeInputIndex != 1 || strcmp(edge->Name, "b"))
        return E_INVALIDARG;
    return fake_create(&table, &IID_IDMLCompiledOperator, riid, ppv);
}

IDMLDevice *abi_fake_device(void)
{
    static const IDMLDevice1Vtbl table = { .QueryInterface = device_QueryInterface,
                                           .AddRef = device_AddRef,
                                           .Release = device_Release,
                                           .CreateOperator = device_CreateOperator,
                                           .CompileGraph = device_CompileGraph };
    void *device;
    return SUCCEEDED(fake_create(&table, &IID_IDMLDevice1, &IID_IDMLDevice1, &device)) ? device : NULL;
}
