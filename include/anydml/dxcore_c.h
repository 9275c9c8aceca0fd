/* SPDX-License-Identifier: Apache-2.0 */
/* The C view of DXCore, included by anydml_dxcore.h. */
#ifndef ANYDML_DXCORE_C_H
#define ANYDML_DXCORE_C_H

#ifdef __cplusplus
#error "C++ programs include anydml_dxcore.h or <directx/dxcore.h>"
#endif

#include <stdbool.h>
#include <stdint.h>
#include "../anydml_d3d12.h"

typedef struct IDXCoreAdapter IDXCoreAdapter;
typedef struct IDXCoreAdapter1 IDXCoreAdapter1;
typedef struct IDXCoreAdapterList IDXCoreAdapterList;
typedef struct IDXCoreAdapterFactory IDXCoreAdapterFactory;
typedef struct IDXCoreAdapterFactory1 IDXCoreAdapterFactory1;

/* ---- values ---- */

/* What GetProperty returns, with the type of the value. */
typedef enum DXCoreAdapterProperty {
    DXCoreAdapterProperty_InstanceLuid = 0,                  /* LUID */
    DXCoreAdapterProperty_DriverVersion = 1,                 /* uint64_t, four fields of 16 bits */
    DXCoreAdapterProperty_DriverDescription = 2,             /* char[], zero-terminated */
    DXCoreAdapterProperty_HardwareID = 3,                    /* DXCoreHardwareID */
    DXCoreAdapterProperty_KmdModelVersion = 4,               /* uint32_t */
    DXCoreAdapterProperty_ComputePreemptionGranularity = 5,  /* uint32_t */
    DXCoreAdapterProperty_GraphicsPreemptionGranularity = 6, /* uint32_t */
    DXCoreAdapterProperty_DedicatedAdapterMemory = 7,        /* uint64_t, bytes */
    DXCoreAdapterProperty_DedicatedSystemMemory = 8,         /* uint64_t, bytes */
    DXCoreAdapterProperty_SharedSystemMemory = 9,            /* uint64_t, bytes */
    DXCoreAdapterProperty_AcgCompatible = 10,                /* bool */
    DXCoreAdapterProperty_IsHardware = 11,                   /* bool */
    DXCoreAdapterProperty_IsIntegrated = 12,                 /* bool */
    DXCoreAdapterProperty_IsDetachable = 13,                 /* bool */
    DXCoreAdapterProperty_HardwareIDParts = 14,              /* DXCoreHardwareIDParts */
    DXCoreAdapterProperty_PhysicalAdapterCount = 15,         /* uint32_t */
    DXCoreAdapterProperty_AdapterEngineCount = 16,           /* uint32_t, input: uint32_t physical adapter */
    DXCoreAdapterProperty_AdapterEngineName = 17,            /* engine name, by GetPropertyWithInput */
} DXCoreAdapterProperty;

typedef enum DXCoreAdapterState {
    DXCoreAdapterState_IsDriverUpdateInProgress = 0, /* bool */
    DXCoreAdapterState_AdapterMemoryBudget = 1,      /* DXCoreAdapterMemoryBudget; input: ...NodeSegmentGroup */
    DXCoreAdapterState_AdapterMemoryUsageBytes = 2,
    DXCoreAdapterState_AdapterMemoryUsageByProcessBytes = 3,
    DXCoreAdapterState_AdapterEngineRunningTimeMicroseconds = 4,
    DXCoreAdapterState_AdapterEngineRunningTimeByProcessMicroseconds = 5,
    DXCoreAdapterState_AdapterTemperatureCelsius = 6,
    DXCoreAdapterState_AdapterInUseProcessCount = 7,
    DXCoreAdapterState_AdapterInUseProcessSet = 8,
    DXCoreAdapterState_AdapterEngineFrequencyHertz = 9,
    DXCoreAdapterState_AdapterMemoryFrequencyHertz = 10,
} DXCoreAdapterState;

typedef enum DXCoreSegmentGroup {
    DXCoreSegmentGroup_Local = 0,
    DXCoreSegmentGroup_NonLocal = 1,
} DXCoreSegmentGroup;

typedef enum DXCoreNotificationType {
    DXCoreNotificationType_AdapterListStale = 0,
    DXCoreNotificationType_AdapterNoLongerValid = 1,
    DXCoreNotificationType_AdapterBudgetChange = 2,
    DXCoreNotificationType_AdapterHardwareContentProtectionTeardown = 3,
} DXCoreNotificationType;

typedef enum DXCoreAdapterPreference {
    DXCoreAdapterPreference_Hardware = 0,
    DXCoreAdapterPreference_MinimumPower = 1,
    DXCoreAdapterPreference_HighPerformance = 2,
} DXCoreAdapterPreference;

typedef enum DXCoreWorkload {
    DXCoreWorkload_Graphics = 0,
    DXCoreWorkload_Compute = 1,
    DXCoreWorkload_Media = 2,
    DXCoreWorkload_MachineLearning = 3,
} DXCoreWorkload;

typedef enum DXCoreRuntimeFilterFlags {
    DXCoreRuntimeFilterFlags_None = 0,
    DXCoreRuntimeFilterFlags_D3D11 = 1,
    DXCoreRuntimeFilterFlags_D3D12 = 2,
} DXCoreRuntimeFilterFlags;

typedef enum DXCoreHardwareTypeFilterFlags {
    DXCoreHardwareTypeFilterFlags_None = 0,
    DXCoreHardwareTypeFilterFlags_GPU = 1,
    DXCoreHardwareTypeFilterFlags_ComputeAccelerator = 2,
    DXCoreHardwareTypeFilterFlags_NPU = 4,
    DXCoreHardwareTypeFilterFlags_MediaAccelerator = 8,
} DXCoreHardwareTypeFilterFlags;

typedef struct DXCoreHardwareID {
    uint32_t vendorID, deviceID, subSysID, revision;
} DXCoreHardwareID;

typedef struct DXCoreHardwareIDParts {
    uint32_t vendorID, deviceID, subSystemID, subVendorID, revisionID;
} DXCoreHardwareIDParts;

typedef struct DXCoreAdapterMemoryBudgetNodeSegmentGroup {
    uint32_t nodeIndex;
    DXCoreSegmentGroup segmentGroup;
} DXCoreAdapterMemoryBudgetNodeSegmentGroup;

typedef struct DXCoreAdapterMemoryBudget {
    uint64_t budget, currentUsage, availableForReservation, currentReservation;
} DXCoreAdapterMemoryBudget;

/* Runs on a thread of the library; must return soon and must not unregister itself. */
typedef void(STDMETHODCALLTYPE *PFN_DXCORE_NOTIFICATION_CALLBACK)(DXCoreNotificationType notificationType,
                                                                  IUnknown *object, void *context);

/* ---- interfaces; the slots of IUnknown, then their own ---- */

/* clang-format off */
#define DXCORE_UNKNOWN_SLOTS(I) \
    HRESULT (STDMETHODCALLTYPE *QueryInterface)(I *This, REFIID riid, void **ppvObject); \
    ULONG (STDMETHODCALLTYPE *AddRef)(I *This); \
    ULONG (STDMETHODCALLTYPE *Release)(I *This)

#define DXCORE_ADAPTER_SLOTS(I) \
    DXCORE_UNKNOWN_SLOTS(I); \
    bool (STDMETHODCALLTYPE *IsValid)(I *This); \
    bool (STDMETHODCALLTYPE *IsAttributeSupported)(I *This, REFGUID attributeGUID); \
    bool (STDMETHODCALLTYPE *IsPropertySupported)(I *This, DXCoreAdapterProperty property); \
    HRESULT (STDMETHODCALLTYPE *GetProperty)(I *This, DXCoreAdapterProperty property, size_t bufferSize, \
        void *propertyData); \
    HRESULT (STDMETHODCALLTYPE *GetPropertySize)(I *This, DXCoreAdapterProperty property, size_t *bufferSize); \
    bool (STDMETHODCALLTYPE *IsQueryStateSupported)(I *This, DXCoreAdapterState property); \
    HRESULT (STDMETHODCALLTYPE *QueryState)(I *This, DXCoreAdapterState state, size_t inputStateDetailsSize, \
        const void *inputStateDetails, size_t outputBufferSize, void *outputBuffer); \
    bool (STDMETHODCALLTYPE *IsSetStateSupported)(I *This, DXCoreAdapterState property); \
    HRESULT (STDMETHODCALLTYPE *SetState)(I *This, DXCoreAdapterState state, size_t inputStateDetailsSize, \
        const void *inputStateDetails, size_t inputDataSize, const void *inputData); \
    HRESULT (STDMETHODCALLTYPE *GetFactory)(I *This, REFIID riid, void **ppvFactory)

#define DXCORE_FACTORY_SLOTS(I) \
    DXCORE_UNKNOWN_SLOTS(I); \
    HRESULT (STDMETHODCALLTYPE *CreateAdapterList)(I *This, uint32_t numAttributes, const GUID *filterAttributes, \
        REFIID riid, void **ppvAdapterList); \
    HRESULT (STDMETHODCALLTYPE *GetAdapterByLuid)(I *This, const LUID *adapterLUID, REFIID riid, void **ppvAdapter); \
    bool (STDMETHODCALLTYPE *IsNotificationTypeSupported)(I *This, DXCoreNotificationType notificationType); \
    HRESULT (STDMETHODCALLTYPE *RegisterEventNotification)(I *This, IUnknown *dxCoreObject, \
        DXCoreNotificationType notificationType, PFN_DXCORE_NOTIFICATION_CALLBACK callbackFunction, \
        void *callbackContext, uint32_t *eventCookie); \
    HRESULT (STDMETHODCALLTYPE *UnregisterEventNotification)(I *This, uint32_t eventCookie)

typedef struct IDXCoreAdapterVtbl {
    DXCORE_ADAPTER_SLOTS(IDXCoreAdapter);
} IDXCoreAdapterVtbl;

typedef struct IDXCoreAdapter1Vtbl {
    DXCORE_ADAPTER_SLOTS(IDXCoreAdapter1);
    HRESULT (STDMETHODCALLTYPE *GetPropertyWithInput)(IDXCoreAdapter1 *This, DXCoreAdapterProperty property,
        size_t inputPropertyDetailsSize, const void *inputPropertyDetails, size_t outputBufferSize, void *outputBuffer);
} IDXCoreAdapter1Vtbl;

/* A list is a snapshot: IsStale reports whether a new one would differ. */
typedef struct IDXCoreAdapterListVtbl {
    DXCORE_UNKNOWN_SLOTS(IDXCoreAdapterList);
    HRESULT (STDMETHODCALLTYPE *GetAdapter)(IDXCoreAdapterList *This, uint32_t index, REFIID riid, void **ppvAdapter);
    uint32_t (STDMETHODCALLTYPE *GetAdapterCount)(IDXCoreAdapterList *This);
    bool (STDMETHODCALLTYPE *IsStale)(IDXCoreAdapterList *This);
    HRESULT (STDMETHODCALLTYPE *GetFactory)(IDXCoreAdapterList *This, REFIID riid, void **ppvFactory);
    HRESULT (STDMETHODCALLTYPE *Sort)(IDXCoreAdapterList *This, uint32_t numPreferences,
        const DXCoreAdapterPreference *preferences);
    bool (STDMETHODCALLTYPE *IsAdapterPreferenceSupported)(IDXCoreAdapterList *This,
        DXCoreAdapterPreference preference);
} IDXCoreAdapterListVtbl;

typedef struct IDXCoreAdapterFactoryVtbl {
    DXCORE_FACTORY_SLOTS(IDXCoreAdapterFactory);
} IDXCoreAdapterFactoryVtbl;

typedef struct IDXCoreAdapterFactory1Vtbl {
    DXCORE_FACTORY_SLOTS(IDXCoreAdapterFactory1);
    HRESULT (STDMETHODCALLTYPE *CreateAdapterListByWorkload)(IDXCoreAdapterFactory1 *This, DXCoreWorkload workload,
        DXCoreRuntimeFilterFlags runtimeFilter, DXCoreHardwareTypeFilterFlags hardwareTypeFilter, REFIID riid,
        void **ppvAdapterList);
} IDXCoreAdapterFactory1Vtbl;
/* clang-format on */

#undef DXCORE_UNKNOWN_SLOTS
#undef DXCORE_ADAPTER_SLOTS
#undef DXCORE_FACTORY_SLOTS

struct IDXCoreAdapter {
    CONST_VTBL struct IDXCoreAdapterVtbl *lpVtbl;
};

struct IDXCoreAdapter1 {
    CONST_VTBL struct IDXCoreAdapter1Vtbl *lpVtbl;
};

struct IDXCoreAdapterList {
    CONST_VTBL struct IDXCoreAdapterListVtbl *lpVtbl;
};

struct IDXCoreAdapterFactory {
    CONST_VTBL struct IDXCoreAdapterFactoryVtbl *lpVtbl;
};

struct IDXCoreAdapterFactory1 {
    CONST_VTBL struct IDXCoreAdapterFactory1Vtbl *lpVtbl;
};

/* ---- identifiers ---- */

static const GUID IID_IDXCoreAdapter = {
    0xf0db4c7f, 0xfe5a, 0x42a2, { 0xbd, 0x62, 0xf2, 0xa6, 0xcf, 0x6f, 0xc8, 0x3e }
};
static const GUID IID_IDXCoreAdapter1 = {
    0xa0783366, 0xcfa3, 0x43be, { 0x9d, 0x79, 0x55, 0xb2, 0xda, 0x97, 0xc6, 0x3c }
};
static const GUID IID_IDXCoreAdapterList = {
    0x526c7776, 0x40e9, 0x459b, { 0xb7, 0x11, 0xf3, 0x2a, 0xd7, 0x6d, 0xfc, 0x28 }
};
static const GUID IID_IDXCoreAdapterFactory = {
    0x78ee5945, 0xc36e, 0x4b13, { 0xa6, 0x69, 0x00, 0x5d, 0xd1, 0x1c, 0x0f, 0x06 }
};
static const GUID IID_IDXCoreAdapterFactory1 = {
    0xd5682e19, 0x6d21, 0x401c, { 0x82, 0x7a, 0x9a, 0x51, 0xa4, 0xea, 0x35, 0xd7 }
};
static const GUID DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS = {
    0x8c47866b, 0x7583, 0x450d, { 0xf0, 0xf0, 0x6b, 0xad, 0xa8, 0x95, 0xaf, 0x4b }
};
static const GUID DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS = {
    0x0c9ece4d, 0x2f6e, 0x4f01, { 0x8c, 0x96, 0xe8, 0x9e, 0x33, 0x1b, 0x47, 0xb1 }
};
static const GUID DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE = {
    0x248e2800, 0xa793, 0x4724, { 0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90 }
};
static const GUID DXCORE_ADAPTER_ATTRIBUTE_D3D12_GENERIC_ML = {
    0xb71b0d41, 0x1088, 0x422f, { 0xa2, 0x7c, 0x02, 0x50, 0xb7, 0xd3, 0xa9, 0x88 }
};
static const GUID DXCORE_ADAPTER_ATTRIBUTE_D3D12_GENERIC_MEDIA = {
    0x8eb2c848, 0x82f6, 0x4b49, { 0xaa, 0x87, 0xae, 0xcf, 0xcf, 0x01, 0x74, 0xc6 }
};
static const GUID DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU = {
    0xb69eb219, 0x3ded, 0x4464, { 0x97, 0x9f, 0xa0, 0x0b, 0xd4, 0x68, 0x70, 0x06 }
};
static const GUID DXCORE_HARDWARE_TYPE_ATTRIBUTE_COMPUTE_ACCELERATOR = {
    0xe0b195da, 0x58ef, 0x4a22, { 0x90, 0xf1, 0x1f, 0x28, 0x16, 0x9c, 0xab, 0x8d }
};
static const GUID DXCORE_HARDWARE_TYPE_ATTRIBUTE_NPU = {
    0xd46140c4, 0xadd7, 0x451b, { 0x9e, 0x56, 0x06, 0xfe, 0x8c, 0x3b, 0x58, 0xed }
};
static const GUID DXCORE_HARDWARE_TYPE_ATTRIBUTE_MEDIA_ACCELERATOR = {
    0x66bdb96a, 0x050b, 0x44c7, { 0xa4, 0xfd, 0xd1, 0x44, 0xce, 0x0a, 0xb4, 0x43 }
};

/* Returns the process's only factory, with a reference, in *ppvFactory. E_POINTER, E_NOINTERFACE, E_OUTOFMEMORY. */
HRESULT STDMETHODCALLTYPE DXCoreCreateAdapterFactory(REFIID riid, void **ppvFactory);

#ifdef COBJMACROS
#include "dxcore_macros_c.h"
#endif

#endif
