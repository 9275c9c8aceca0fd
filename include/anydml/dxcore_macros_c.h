/* SPDX-License-Identifier: Apache-2.0 */
/* One macro per method and interface of DXCore. */
#ifndef ANYDML_DXCORE_MACROS_C_H
#define ANYDML_DXCORE_MACROS_C_H

#include "dxcore_c.h"

#define IDXCoreAdapter_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDXCoreAdapter_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDXCoreAdapter_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDXCoreAdapter_IsValid(This)                         ((This)->lpVtbl->IsValid(This))
#define IDXCoreAdapter_IsAttributeSupported(This, attributeGUID)                                                       \
    ((This)->lpVtbl->IsAttributeSupported(This, attributeGUID))
#define IDXCoreAdapter_IsPropertySupported(This, property) ((This)->lpVtbl->IsPropertySupported(This, property))
#define IDXCoreAdapter_GetProperty(This, property, bufferSize, propertyData)                                           \
    ((This)->lpVtbl->GetProperty(This, property, bufferSize, propertyData))
#define IDXCoreAdapter_GetPropertySize(This, property, bufferSize)                                                     \
    ((This)->lpVtbl->GetPropertySize(This, property, bufferSize))
#define IDXCoreAdapter_IsQueryStateSupported(This, property) ((This)->lpVtbl->IsQueryStateSupported(This, property))
#define IDXCoreAdapter_QueryState(This, state, inputStateDetailsSize, inputStateDetails, outputBufferSize,             \
                                  outputBuffer)                                                                        \
    ((This)->lpVtbl->QueryState(This, state, inputStateDetailsSize, inputStateDetails, outputBufferSize, outputBuffer))
#define IDXCoreAdapter_IsSetStateSupported(This, property) ((This)->lpVtbl->IsSetStateSupported(This, property))
#define IDXCoreAdapter_SetState(This, state, inputStateDetailsSize, inputStateDetails, inputDataSize, inputData)       \
    ((This)->lpVtbl->SetState(This, state, inputStateDetailsSize, inputStateDetails, inputDataSize, inputData))
#define IDXCoreAdapter_GetFactory(This, riid, ppvFactory) ((This)->lpVtbl->GetFactory(This, riid, ppvFactory))

#define IDXCoreAdapter1_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDXCoreAdapter1_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDXCoreAdapter1_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDXCoreAdapter1_IsValid(This)                         ((This)->lpVtbl->IsValid(This))
#define IDXCoreAdapter1_IsAttributeSupported(This, attributeGUID)                                                      \
    ((This)->lpVtbl->IsAttributeSupported(This, attributeGUID))
#define IDXCoreAdapter1_IsPropertySupported(This, property) ((This)->lpVtbl->IsPropertySupported(This, property))
#define IDXCoreAdapter1_GetProperty(This, property, bufferSize, propertyData)                                          \
    ((This)->lpVtbl->GetProperty(This, property, bufferSize, propertyData))
#define IDXCoreAdapter1_GetPropertySize(This, property, bufferSize)                                                    \
    ((This)->lpVtbl->GetPropertySize(This, property, bufferSize))
#define IDXCoreAdapter1_IsQueryStateSupported(This, property) ((This)->lpVtbl->IsQueryStateSupported(This, property))
#define IDXCoreAdapter1_QueryState(This, state, inputStateDetailsSize, inputStateDetails, outputBufferSize,            \
                                   outputBuffer)                                                                       \
    ((This)->lpVtbl->QueryState(This, state, inputStateDetailsSize, inputStateDetails, outputBufferSize, outputBuffer))
#define IDXCoreAdapter1_IsSetStateSupported(This, property) ((This)->lpVtbl->IsSetStateSupported(This, property))
#define IDXCoreAdapter1_SetState(This, state, inputStateDetailsSize, inputStateDetails, inputDataSize, inputData)      \
    ((This)->lpVtbl->SetState(This, state, inputStateDetailsSize, inputStateDetails, inputDataSize, inputData))
#define IDXCoreAdapter1_GetFactory(This, riid, ppvFactory) ((This)->lpVtbl->GetFactory(This, riid, ppvFactory))
#define IDXCoreAdapter1_GetPropertyWithInput(This, property, inputPropertyDetailsSize, inputPropertyDetails,           \
                                             outputBufferSize, outputBuffer)                                           \
    ((This)->lpVtbl->GetPropertyWithInput(This, property, inputPropertyDetailsSize, inputPropertyDetails,              \
                                          outputBufferSize, outputBuffer))

#define IDXCoreAdapterList_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDXCoreAdapterList_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDXCoreAdapterList_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDXCoreAdapterList_GetAdapter(This, index, riid, ppvAdapter)                                                   \
    ((This)->lpVtbl->GetAdapter(This, index, riid, ppvAdapter))
#define IDXCoreAdapterList_GetAdapterCount(This)              ((This)->lpVtbl->GetAdapterCount(This))
#define IDXCoreAdapterList_IsStale(This)                      ((This)->lpVtbl->IsStale(This))
#define IDXCoreAdapterList_GetFactory(This, riid, ppvFactory) ((This)->lpVtbl->GetFactory(This, riid, ppvFactory))
#define IDXCoreAdapterList_Sort(This, numPreferences, preferences)                                                     \
    ((This)->lpVtbl->Sort(This, numPreferences, preferences))
#define IDXCoreAdapterList_IsAdapterPreferenceSupported(This, preference)                                              \
    ((This)->lpVtbl->IsAdapterPreferenceSupported(This, preference))

#define IDXCoreAdapterFactory_QueryInterface(This, riid, ppvObject)                                                    \
    ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDXCoreAdapterFactory_AddRef(This)  ((This)->lpVtbl->AddRef(This))
#define IDXCoreAdapterFactory_Release(This) ((This)->lpVtbl->Release(This))
#define IDXCoreAdapterFactory_CreateAdapterList(This, numAttributes, filterAttributes, riid, ppvAdapterList)           \
    ((This)->lpVtbl->CreateAdapterList(This, numAttributes, filterAttributes, riid, ppvAdapterList))
#define IDXCoreAdapterFactory_GetAdapterByLuid(This, adapterLUID, riid, ppvAdapter)                                    \
    ((This)->lpVtbl->GetAdapterByLuid(This, adapterLUID, riid, ppvAdapter))
#define IDXCoreAdapterFactory_IsNotificationTypeSupported(This, notificationType)                                      \
    ((This)->lpVtbl->IsNotificationTypeSupported(This, notificationType))
#define IDXCoreAdapterFactory_RegisterEventNotification(This, dxCoreObject, notificationType, callbackFunction,        \
                                                        callbackContext, eventCookie)                                  \
    ((This)->lpVtbl->RegisterEventNotification(This, dxCoreObject, notificationType, callbackFunction,                 \
                                               callbackContext, eventCookie))
#define IDXCoreAdapterFactory_UnregisterEventNotification(This, eventCookie)                                           \
    ((This)->lpVtbl->UnregisterEventNotification(This, eventCookie))

#define IDXCoreAdapterFactory1_QueryInterface(This, riid, ppvObject)                                                   \
    ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDXCoreAdapterFactory1_AddRef(This)  ((This)->lpVtbl->AddRef(This))
#define IDXCoreAdapterFactory1_Release(This) ((This)->lpVtbl->Release(This))
#define IDXCoreAdapterFactory1_CreateAdapterList(This, numAttributes, filterAttributes, riid, ppvAdapterList)          \
    ((This)->lpVtbl->CreateAdapterList(This, numAttributes, filterAttributes, riid, ppvAdapterList))
#define IDXCoreAdapterFactory1_GetAdapterByLuid(This, adapterLUID, riid, ppvAdapter)                                   \
    ((This)->lpVtbl->GetAdapterByLuid(This, adapterLUID, riid, ppvAdapter))
#define IDXCoreAdapterFactory1_IsNotificationTypeSupported(This, notificationType)                                     \
    ((This)->lpVtbl->IsNotificationTypeSupported(This, notificationType))
#define IDXCoreAdapterFactory1_RegisterEventNotification(This, dxCoreObject, notificationType, callbackFunction,       \
                                                         callbackContext, eventCookie)                                 \
    ((This)->lpVtbl->RegisterEventNotification(This, dxCoreObject, notificationType, callbackFunction,                 \
                                               callbackContext, eventCookie))
#define IDXCoreAdapterFactory1_UnregisterEventNotification(This, eventCookie)                                          \
    ((This)->lpVtbl->UnregisterEventNotification(This, eventCookie))
#define IDXCoreAdapterFactory1_CreateAdapterListByWorkload(This, workload, runtimeFilter, hardwareTypeFilter, riid,    \
                                                           ppvAdapterList)                                             \
    ((This)->lpVtbl->CreateAdapterListByWorkload(This, workload, runtimeFilter, hardwareTypeFilter, riid,              \
                                                 ppvAdapterList))

#endif
