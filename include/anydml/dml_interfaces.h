/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interfaces of DirectML. In C++ they are the abstract structs below; in C the same methods, in the same order,
 * stand in the tables of dml_interfaces_c.h, and these comments hold for both.
 *
 * References: a method that gives out an interface through `ppv` gives one reference with it, and sets *ppv to NULL
 * when it fails. Children keep their device alive. Pointers passed in are read during the call only. Threads: devices
 * may be used from many threads at once. Binding tables, initializers and Direct3D 12 command lists belong to one
 * thread at a time. Errors: methods with a result report E_INVALIDARG for wrong arguments, E_NOINTERFACE,
 * E_OUTOFMEMORY, and DXGI_ERROR_DEVICE_REMOVED once the device is removed. Methods without a result answer wrong use by
 * removing the device; IDMLDevice::GetDeviceRemovedReason tells why.
 */
#ifndef ANYDML_DML_INTERFACES_H
#define ANYDML_DML_INTERFACES_H

#include "dml_types.h"

#if !defined(__cplusplus) || defined(CINTERFACE)
#include "dml_interfaces_c.h"
#else

/* Base of all but IDMLDebugDevice: data that a program attaches to an object, and the object's name in messages. */
struct IDMLObject : public IUnknown {
    /* *dataSize is the room in `data`, then the size of the data. DXGI_ERROR_NOT_FOUND, DXGI_ERROR_MORE_DATA. */
    virtual HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID guid, UINT *dataSize, void *data) = 0;
    /* Copies `data`; NULL data removes what is there. */
    virtual HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID guid, UINT dataSize, const void *data) = 0;
    /* Keeps a reference to `data` until it is replaced or the object dies. */
    virtual HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID guid, IUnknown *data) = 0;
    virtual HRESULT STDMETHODCALLTYPE SetName(PCWSTR name) = 0;
};

struct IDMLDevice : public IDMLObject {
    /* Query and answer are the DML_FEATURE_QUERY_... and DML_FEATURE_DATA_... structs of `feature`. */
    virtual HRESULT STDMETHODCALLTYPE CheckFeatureSupport(DML_FEATURE feature, UINT featureQueryDataSize,
                                                          const void *featureQueryData, UINT featureSupportDataSize,
                                                          void *featureSupportData) = 0;
    /* Checks a description and copies it. With ppv NULL only checks: S_FALSE when it is sound. */
    virtual HRESULT STDMETHODCALLTYPE CreateOperator(const DML_OPERATOR_DESC *desc, REFIID riid, void **ppv) = 0;
    /* Makes an operator dispatchable; `op` may be released afterwards. With ppv NULL as CreateOperator. */
    virtual HRESULT STDMETHODCALLTYPE CompileOperator(IDMLOperator *op, DML_EXECUTION_FLAGS flags, REFIID riid,
                                                      void **ppv) = 0;
    /* The dispatchable that readies compiled operators; it may start empty, to be filled by Reset. */
    virtual HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT operatorCount,
                                                                IDMLCompiledOperator *const *operators, REFIID riid,
                                                                void **ppv) = 0;
    virtual HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID riid, void **ppv) = 0;
    /* `desc` may be NULL for a table that is Reset before its first use. */
    virtual HRESULT STDMETHODCALLTYPE CreateBindingTable(const DML_BINDING_TABLE_DESC *desc, REFIID riid,
                                                         void **ppv) = 0;
    virtual HRESULT STDMETHODCALLTYPE Evict(UINT count, IDMLPageable *const *ppObjects) = 0;
    virtual HRESULT STDMETHODCALLTYPE MakeResident(UINT count, IDMLPageable *const *ppObjects) = 0;
    /* S_OK while the device works, then what removed it. */
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

/* What can be bound and recorded: compiled operators and initializers. */
struct IDMLDispatchable : public IDMLPageable {
#if defined(_WIN32) && !defined(_MSC_VER) /* whose compilers return structs of methods otherwise, see d3d12.h */
    virtual DML_BINDING_PROPERTIES *STDMETHODCALLTYPE GetBindingProperties(DML_BINDING_PROPERTIES *result) = 0;
#else
    virtual DML_BINDING_PROPERTIES STDMETHODCALLTYPE GetBindingProperties() = 0;
#endif
};

/* A compiled operator or graph. It keeps nothing of a program's buffers alive: those must outlive its execution. */
struct IDMLCompiledOperator : public IDMLDispatchable {
};

/* Fills the persistent buffers of its operators. Must have been executed before they are. */
struct IDMLOperatorInitializer : public IDMLDispatchable {
    virtual HRESULT STDMETHODCALLTYPE Reset(UINT operatorCount, IDMLCompiledOperator *const *operators) = 0;
};

/*
 * Puts buffers into the descriptors of its DML_BINDING_TABLE_DESC. The table may be changed or released as soon as the
 * dispatch is recorded; descriptors and buffers must stay until it has executed.
 */
struct IDMLBindingTable : public IDMLDeviceChild {
    /* One binding per input in the order of the description, NONE for an absent or OWNED_BY_DML one. */
    virtual void STDMETHODCALLTYPE BindInputs(UINT bindingCount, const DML_BINDING_DESC *bindings) = 0;
    /* One binding per output; for an initializer, the persistent buffer of each operator. */
    virtual void STDMETHODCALLTYPE BindOutputs(UINT bindingCount, const DML_BINDING_DESC *bindings) = 0;
    /* NULL binds nothing, in both. */
    virtual void STDMETHODCALLTYPE BindTemporaryResource(const DML_BINDING_DESC *binding) = 0;
    virtual void STDMETHODCALLTYPE BindPersistentResource(const DML_BINDING_DESC *binding) = 0;
    /* Makes the table serve another dispatchable or other descriptors, with nothing bound. */
    virtual HRESULT STDMETHODCALLTYPE Reset(const DML_BINDING_TABLE_DESC *desc) = 0;
};

/* Has no state of its own; one is enough for a device. */
struct IDMLCommandRecorder : public IDMLDeviceChild {
    /* Sets the command list's root signature and pipeline; the program's descriptor heap must be set on it. */
    virtual void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList *commandList, IDMLDispatchable *dispatchable,
                                                  IDMLBindingTable *bindings) = 0;
};

/* Offered by devices created with DML_CREATE_DEVICE_FLAG_DEBUG. */
struct IDMLDebugDevice : public IUnknown {
    virtual void STDMETHODCALLTYPE SetMuteDebugOutput(BOOL mute) = 0;
};

#if DML_TARGET_VERSION >= 0x2100

struct IDMLDevice1 : public IDMLDevice {
    /* Inputs and outputs of the result are those of the graph. With ppv NULL as CreateOperator. */
    virtual HRESULT STDMETHODCALLTYPE CompileGraph(const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags, REFIID riid,
                                                   void **ppv) = 0;
};

#endif /* DML_TARGET_VERSION >= 0x2100 */

#endif /* C++ */

#endif
