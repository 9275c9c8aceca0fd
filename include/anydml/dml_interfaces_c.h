/* SPDX-License-Identifier: Apache-2.0 */
/* The C view of dml_interfaces.h: one method table per interface, inherited methods first. */
#ifndef ANYDML_DML_INTERFACES_C_H
#define ANYDML_DML_INTERFACES_C_H

#include "dml_types.h"

/* The slots that an interface inherits to the tables of those derived from it; `I` is the derived interface. */
/* clang-format off */
#define DML_UNKNOWN_SLOTS(I) \
    HRESULT (STDMETHODCALLTYPE *QueryInterface)(I *This, REFIID riid, void **ppvObject); \
    ULONG (STDMETHODCALLTYPE *AddRef)(I *This); \
    ULONG (STDMETHODCALLTYPE *Release)(I *This)

#define DML_OBJECT_SLOTS(I) \
    DML_UNKNOWN_SLOTS(I); \
    HRESULT (STDMETHODCALLTYPE *GetPrivateData)(I *This, REFGUID guid, UINT *dataSize, void *data); \
    HRESULT (STDMETHODCALLTYPE *SetPrivateData)(I *This, REFGUID guid, UINT dataSize, const void *data); \
    HRESULT (STDMETHODCALLTYPE *SetPrivateDataInterface)(I *This, REFGUID guid, IUnknown *data); \
    HRESULT (STDMETHODCALLTYPE *SetName)(I *This, PCWSTR name)

#define DML_DEVICE_CHILD_SLOTS(I) \
    DML_OBJECT_SLOTS(I); \
    HRESULT (STDMETHODCALLTYPE *GetDevice)(I *This, REFIID riid, void **ppv)

#define DML_DEVICE_SLOTS(I) \
    DML_OBJECT_SLOTS(I); \
    HRESULT (STDMETHODCALLTYPE *CheckFeatureSupport)(I *This, DML_FEATURE feature, UINT featureQueryDataSize, \
        const void *featureQueryData, UINT featureSupportDataSize, void *featureSupportData); \
    HRESULT (STDMETHODCALLTYPE *CreateOperator)(I *This, const DML_OPERATOR_DESC *desc, REFIID riid, void **ppv); \
    HRESULT (STDMETHODCALLTYPE *CompileOperator)(I *This, IDMLOperator *op, DML_EXECUTION_FLAGS flags, REFIID riid, \
        void **ppv); \
    HRESULT (STDMETHODCALLTYPE *CreateOperatorInitializer)(I *This, UINT operatorCount, \
        IDMLCompiledOperator *const *operators, REFIID riid, void **ppv); \
    HRESULT (STDMETHODCALLTYPE *CreateCommandRecorder)(I *This, REFIID riid, void **ppv); \
    HRESULT (STDMETHODCALLTYPE *CreateBindingTable)(I *This, const DML_BINDING_TABLE_DESC *desc, REFIID riid, \
        void **ppv); \
    HRESULT (STDMETHODCALLTYPE *Evict)(I *This, UINT count, IDMLPageable *const *ppObjects); \
    HRESULT (STDMETHODCALLTYPE *MakeResident)(I *This, UINT count, IDMLPageable *const *ppObjects); \
    HRESULT (STDMETHODCALLTYPE *GetDeviceRemovedReason)(I *This); \
    HRESULT (STDMETHODCALLTYPE *GetParentDevice)(I *This, REFIID riid, void **ppv)

/* On Windows, C++ compilers pass the address of a returned struct as a parameter after the object. */
#ifdef _WIN32
#define DML_DISPATCHABLE_SLOTS(I) \
    DML_DEVICE_CHILD_SLOTS(I); \
    DML_BINDING_PROPERTIES *(STDMETHODCALLTYPE *GetBindingProperties)(I *This, DML_BINDING_PROPERTIES *result)
#else
#define DML_DISPATCHABLE_SLOTS(I) \
    DML_DEVICE_CHILD_SLOTS(I); \
    DML_BINDING_PROPERTIES (STDMETHODCALLTYPE *GetBindingProperties)(I *This)
#endif

/* clang-format on */

typedef struct IDMLObjectVtbl {
    DML_OBJECT_SLOTS(IDMLObject);
} IDMLObjectVtbl;

struct IDMLObject {
    CONST_VTBL struct IDMLObjectVtbl *lpVtbl;
};

typedef struct IDMLDeviceVtbl {
    DML_DEVICE_SLOTS(IDMLDevice);
} IDMLDeviceVtbl;

struct IDMLDevice {
    CONST_VTBL struct IDMLDeviceVtbl *lpVtbl;
};

typedef struct IDMLDeviceChildVtbl {
    DML_DEVICE_CHILD_SLOTS(IDMLDeviceChild);
} IDMLDeviceChildVtbl;

struct IDMLDeviceChild {
    CONST_VTBL struct IDMLDeviceChildVtbl *lpVtbl;
};

typedef struct IDMLPageableVtbl {
    DML_DEVICE_CHILD_SLOTS(IDMLPageable);
} IDMLPageableVtbl;

struct IDMLPageable {
    CONST_VTBL struct IDMLPageableVtbl *lpVtbl;
};

typedef struct IDMLOperatorVtbl {
    DML_DEVICE_CHILD_SLOTS(IDMLOperator);
} IDMLOperatorVtbl;

struct IDMLOperator {
    CONST_VTBL struct IDMLOperatorVtbl *lpVtbl;
};

typedef struct IDMLDispatchableVtbl {
    DML_DISPATCHABLE_SLOTS(IDMLDispatchable);
} IDMLDispatchableVtbl;

struct IDMLDispatchable {
    CONST_VTBL struct IDMLDispatchableVtbl *lpVtbl;
};

typedef struct IDMLCompiledOperatorVtbl {
    DML_DISPATCHABLE_SLOTS(IDMLCompiledOperator);
} IDMLCompiledOperatorVtbl;

struct IDMLCompiledOperator {
    CONST_VTBL struct IDMLCompiledOperatorVtbl *lpVtbl;
};

typedef struct IDMLOperatorInitializerVtbl {
    DML_DISPATCHABLE_SLOTS(IDMLOperatorInitializer);
    HRESULT(STDMETHODCALLTYPE *Reset)
    (IDMLOperatorInitializer *This, UINT operatorCount, IDMLCompiledOperator *const *operators);
} IDMLOperatorInitializerVtbl;

struct IDMLOperatorInitializer {
    CONST_VTBL struct IDMLOperatorInitializerVtbl *lpVtbl;
};

typedef struct IDMLBindingTableVtbl {
    DML_DEVICE_CHILD_SLOTS(IDMLBindingTable);
    void(STDMETHODCALLTYPE *BindInputs)(IDMLBindingTable *This, UINT bindingCount, const DML_BINDING_DESC *bindings);
    void(STDMETHODCALLTYPE *BindOutputs)(IDMLBindingTable *This, UINT bindingCount, const DML_BINDING_DESC *bindings);
    void(STDMETHODCALLTYPE *BindTemporaryResource)(IDMLBindingTable *This, const DML_BINDING_DESC *binding);
    void(STDMETHODCALLTYPE *BindPersistentResource)(IDMLBindingTable *This, const DML_BINDING_DESC *binding);
    HRESULT(STDMETHODCALLTYPE *Reset)(IDMLBindingTable *This, const DML_BINDING_TABLE_DESC *desc);
} IDMLBindingTableVtbl;

struct IDMLBindingTable {
    CONST_VTBL struct IDMLBindingTableVtbl *lpVtbl;
};

typedef struct IDMLCommandRecorderVtbl {
    DML_DEVICE_CHILD_SLOTS(IDMLCommandRecorder);
    void(STDMETHODCALLTYPE *RecordDispatch)(IDMLCommandRecorder *This, ID3D12CommandList *commandList,
                                            IDMLDispatchable *dispatchable, IDMLBindingTable *bindings);
} IDMLCommandRecorderVtbl;

struct IDMLCommandRecorder {
    CONST_VTBL struct IDMLCommandRecorderVtbl *lpVtbl;
};

typedef struct IDMLDebugDeviceVtbl {
    DML_UNKNOWN_SLOTS(IDMLDebugDevice);
    void(STDMETHODCALLTYPE *SetMuteDebugOutput)(IDMLDebugDevice *This, BOOL mute);
} IDMLDebugDeviceVtbl;

struct IDMLDebugDevice {
    CONST_VTBL struct IDMLDebugDeviceVtbl *lpVtbl;
};

#if DML_TARGET_VERSION >= 0x2100

typedef struct IDMLDevice1Vtbl {
    DML_DEVICE_SLOTS(IDMLDevice1);
    HRESULT(STDMETHODCALLTYPE *CompileGraph)
    (IDMLDevice1 *This, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags, REFIID riid, void **ppv);
} IDMLDevice1Vtbl;

struct IDMLDevice1 {
    CONST_VTBL struct IDMLDevice1Vtbl *lpVtbl;
};

#endif /* DML_TARGET_VERSION >= 0x2100 */

#undef DML_UNKNOWN_SLOTS
#undef DML_OBJECT_SLOTS
#undef DML_DEVICE_CHILD_SLOTS
#undef DML_DEVICE_SLOTS
#undef DML_DISPATCHABLE_SLOTS

#ifdef COBJMACROS
#include "dml_macros_c.h"
#endif

#endif
