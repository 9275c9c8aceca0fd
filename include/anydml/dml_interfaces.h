/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interfaces of DirectML. In C++ they are the abstract structs below; in C the same methods, in the same order, are
 * in the method tables of dml_interfaces_c.h. These comments apply to both.
 *
 * References: a method that returns an interface through `ppv` returns one reference with it, and sets *ppv to NULL on
 * failure. Children keep their device alive. Pointers passed in are read during the call only.
 *
 * Threads: devices may be used from several threads concurrently. A binding table, initializer or Direct3D 12 command
 * list may be used by one thread at a time.
 *
 * Errors: methods with a result return E_INVALIDARG for wrong arguments, E_NOINTERFACE, E_OUTOFMEMORY, and
 * DXGI_ERROR_DEVICE_REMOVED once the device is removed. Methods without a result remove the device on wrong use;
 * IDMLDevice::GetDeviceRemovedReason returns the reason.
 */
#ifndef ANYDML_DML_INTERFACES_H
#define ANYDML_DML_INTERFACES_H

#include "dml_types.h"

#if !defined(__cplusplus) || defined(CINTERFACE)
#include "dml_interfaces_c.h"
#else

/* Base of all interfaces except IDMLDebugDevice: data that a program attaches to an object, and the object's name in
 * messages. */
struct IDMLObject : public IUnknown {
    /* *dataSize is the capacity of `data` on entry and the size of the data on return. DXGI_ERROR_NOT_FOUND,
     * DXGI_ERROR_MORE_DATA. */
    virtual HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID guid, UINT *dataSize, void *data) = 0;
    /* Copies `data`; NULL data removes the entry. */
    virtual HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID guid, UINT dataSize, const void *data) = 0;
    /* Keeps a reference to `data` until it is replaced or the object is destroyed. */
    virtual HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID guid, IUnknown *data) = 0;
    virtual HRESULT STDMETHODCALLTYPE SetName(PCWSTR name) = 0;
};

struct IDMLDevice : public IDMLObject {
    /* Query and answer are the DML_FEATURE_QUERY_... and DML_FEATURE_DATA_... structs of `feature`. */
    virtual HRESULT STDMETHODCALLTYPE CheckFeatureSupport(DML_FEATURE feature, UINT featureQueryDataSize,
                                                          const void *featureQueryData, UINT featureSupportDataSize,
                                                          void *featureSupportData) = 0;
    /* Checks a description and copies it. With ppv NULL it only checks: S_FALSE if the description is valid. */
    virtual HRESULT STDMETHODCALLTYPE CreateOperator(const DML_OPERATOR_DESC *desc, REFIID riid, void **ppv) = 0;
    /* Compiles an operator into a dispatchable; `op` may be released afterwards. ppv NULL: as for CreateOperator. */
    virtual HRESULT STDMETHODCALLTYPE CompileOperator(IDMLOperator *op, DML_EXECUTION_FLAGS flags, REFIID riid,
                                                      void **ppv) = 0;
    /* The dispatchable that initialises compiled operators; it may be created empty and filled by Reset. */
    virtual HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT operatorCount,
                                                                IDMLCompiledOperator *const *operators, REFIID riid,
                                                                void **ppv) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID riid, void **ppv) = 0;
    /* `desc` may be NULL for a table that is Reset before its first use. */
    virtual HRESULT STDMETHODCALLTYPE CreateBindingTable(const DML_BINDING_TABLE_DESC *desc, REFIID riid,
                                                         void **ppv) = 0;
    virtual HRESULT STDMETHODCALLTYPE Evict(UINT count, IDMLPageable *const *ppObjects) = 0;
    virtual HRESULT STDMETHODCALLTYPE MakeResident(UINT count, IDMLPageable *const *ppObjects) = 0;
    /* S_OK while the device works, afterwards the reason of its removal. */
    virtual HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() = 0;
    /* The Direct3D 12 device. */
    virtual HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID riid, void **ppv) = 0;
};

struct IDMLDeviceChild : public IDMLObject {
    virtual HRESULT STDMETHODCALLTYPE GetDevice(REFIID riid, void **ppv) = 0;
};

/* Objects that hold device memory, for Evict and MakeResident. */
struct IDMLPageable : public IDMLDeviceChild {
};

/* A checked operator description, not yet dispatchable. */
struct IDMLOperator : public IDMLDeviceChild {
};

/* Objects that can be bound and recorded: compiled operators and initializers. */
struct IDMLDispatchable : public IDMLPageable {
#if defined(_WIN32) && !defined(_MSC_VER) /* whose compilers return structs of methods differently, see d3d12.h */
    virtual DML_BINDING_PROPERTIES *STDMETHODCALLTYPE GetBindingProperties(DML_BINDING_PROPERTIES *result) = 0;
#else
    virtual DML_BINDING_PROPERTIES STDMETHODCALLTYPE GetBindingProperties() = 0;
#endif
};

/* A compiled operator or graph. It does not keep bound buffers alive: they must outlive its execution. */
struct IDMLCompiledOperator : public IDMLDispatchable {
};

/* Fills the persistent buffers of its operators. Must be executed before they are. */
struct IDMLOperatorInitializer : public IDMLDispatchable {
    virtual HRESULT STDMETHODCALLTYPE Reset(UINT operatorCount, IDMLCompiledOperator *const *operators) = 0;
};

/*
 * Writes buffers into the descriptors of its DML_BINDING_TABLE_DESC. The table may be changed or released as soon as
 * the dispatch is recorded; descriptors and buffers must remain valid until it has executed.
 */
struct IDMLBindingTable : public IDMLDeviceChild {
    /* One binding per input in the order of the description, NONE for absent or OWNED_BY_DML inputs. */
    virtual void STDMETHODCALLTYPE BindInputs(UINT bindingCount, const DML_BINDING_DESC *bindings) = 0;
    /* One binding per output; for an initializer, the persistent buffer of each operator. */
    virtual void STDMETHODCALLTYPE BindOutputs(UINT bindingCount, const DML_BINDING_DESC *bindings) = 0;
    /* NULL removes the binding, in both methods. */
    virtual void STDMETHODCALLTYPE BindTemporaryResource(const DML_BINDING_DESC *binding) = 0;
    virtual void STDMETHODCALLTYPE BindPersistentResource(const DML_BINDING_DESC *binding) = 0;
    /* Resets the table for another dispatchable or other descriptors, with nothing bound. */
    virtual HRESULT STDMETHODCALLTYPE Reset(const DML_BINDING_TABLE_DESC *desc) = 0;
};

/* Stateless; one per device is sufficient. */
struct IDMLCommandRecorder : public IDMLDeviceChild {
    /* Records a dispatch. Sets the command list's root signature and pipeline; the program's descriptor heap must be
     * set on the list. */
    virtual void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList *commandList, IDMLDispatchable *dispatchable,
                                                  IDMLBindingTable *bindings) = 0;
};

/* Offered by devices created with DML_CREATE_DEVICE_FLAG_DEBUG. */
struct IDMLDebugDevice : public IUnknown {
    virtual void STDMETHODCALLTYPE SetMuteDebugOutput(BOOL mute) = 0;
};

#if DML_TARGET_VERSION >= 0x2100

struct IDMLDevice1 : public IDMLDevice {
    /* Inputs and outputs of the result are those of the graph. ppv NULL: as for CreateOperator. */
    virtual HRESULT STDMETHODCALLTYPE CompileGraph(const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags, REFIID riid,
                                                   void **ppv) = 0;
};

#endif /* DML_TARGET_VERSION >= 0x2100 */

#endif /* C++ */

#endif
