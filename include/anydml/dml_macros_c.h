/* SPDX-License-Identifier: Apache-2.0 */
/* One macro per method and interface: IDMLDevice_CreateOperator(device, ...) is device->lpVtbl->CreateOperator(...). */
#ifndef ANYDML_DML_MACROS_C_H
#define ANYDML_DML_MACROS_C_H

#include "dml_interfaces_c.h"

/* GetBindingProperties returns a struct: the macros return it on all systems. */
#ifdef _WIN32
#define DML_CALL_GET_BINDING_PROPERTIES(This)                                                                          \
    (*(This)->lpVtbl->GetBindingProperties(This, &(DML_BINDING_PROPERTIES){ 0 }))
#else
#define DML_CALL_GET_BINDING_PROPERTIES(This) ((This)->lpVtbl->GetBindingProperties(This))
#endif

#define IDMLObject_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLObject_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLObject_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLObject_GetPrivateData(This, guid, dataSize, data)                                                          \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLObject_SetPrivateData(This, guid, dataSize, data)                                                          \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLObject_SetPrivateDataInterface(This, guid, data) ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLObject_SetName(This, name)                       ((This)->lpVtbl->SetName(This, name))

#define IDMLDevice_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLDevice_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLDevice_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLDevice_GetPrivateData(This, guid, dataSize, data)                                                          \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLDevice_SetPrivateData(This, guid, dataSize, data)                                                          \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLDevice_SetPrivateDataInterface(This, guid, data) ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLDevice_SetName(This, name)                       ((This)->lpVtbl->SetName(This, name))
#define IDMLDevice_CheckFeatureSupport(This, feature, featureQueryDataSize, featureQueryData, featureSupportDataSize,  \
                                       featureSupportData)                                                             \
    ((This)->lpVtbl->CheckFeatureSupport(This, feature, featureQueryDataSize, featureQueryData,                        \
                                         featureSupportDataSize, featureSupportData))
#define IDMLDevice_CreateOperator(This, desc, riid, ppv) ((This)->lpVtbl->CreateOperator(This, desc, riid, ppv))
#define IDMLDevice_CompileOperator(This, op, flags, riid, ppv)                                                         \
    ((This)->lpVtbl->CompileOperator(This, op, flags, riid, ppv))
#define IDMLDevice_CreateOperatorInitializer(This, operatorCount, operators, riid, ppv)                                \
    ((This)->lpVtbl->CreateOperatorInitializer(This, operatorCount, operators, riid, ppv))
#define IDMLDevice_CreateCommandRecorder(This, riid, ppv)    ((This)->lpVtbl->CreateCommandRecorder(This, riid, ppv))
#define IDMLDevice_CreateBindingTable(This, desc, riid, ppv) ((This)->lpVtbl->CreateBindingTable(This, desc, riid, ppv))
#define IDMLDevice_Evict(This, count, ppObjects)             ((This)->lpVtbl->Evict(This, count, ppObjects))
#define IDMLDevice_MakeResident(This, count, ppObjects)      ((This)->lpVtbl->MakeResident(This, count, ppObjects))
#define IDMLDevice_GetDeviceRemovedReason(This)              ((This)->lpVtbl->GetDeviceRemovedReason(This))
#define IDMLDevice_GetParentDevice(This, riid, ppv)          ((This)->lpVtbl->GetParentDevice(This, riid, ppv))

#define IDMLDeviceChild_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLDeviceChild_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLDeviceChild_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLDeviceChild_GetPrivateData(This, guid, dataSize, data)                                                     \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLDeviceChild_SetPrivateData(This, guid, dataSize, data)                                                     \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLDeviceChild_SetPrivateDataInterface(This, guid, data)                                                      \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLDeviceChild_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLDeviceChild_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))

#define IDMLPageable_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLPageable_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLPageable_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLPageable_GetPrivateData(This, guid, dataSize, data)                                                        \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLPageable_SetPrivateData(This, guid, dataSize, data)                                                        \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLPageable_SetPrivateDataInterface(This, guid, data)                                                         \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLPageable_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLPageable_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))

#define IDMLOperator_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLOperator_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLOperator_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLOperator_GetPrivateData(This, guid, dataSize, data)                                                        \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLOperator_SetPrivateData(This, guid, dataSize, data)                                                        \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLOperator_SetPrivateDataInterface(This, guid, data)                                                         \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLOperator_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLOperator_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))

#define IDMLDispatchable_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLDispatchable_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLDispatchable_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLDispatchable_GetPrivateData(This, guid, dataSize, data)                                                    \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLDispatchable_SetPrivateData(This, guid, dataSize, data)                                                    \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLDispatchable_SetPrivateDataInterface(This, guid, data)                                                     \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLDispatchable_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLDispatchable_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))
#define IDMLDispatchable_GetBindingProperties(This) DML_CALL_GET_BINDING_PROPERTIES(This)

#define IDMLCompiledOperator_QueryInterface(This, riid, ppvObject)                                                     \
    ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLCompiledOperator_AddRef(This)  ((This)->lpVtbl->AddRef(This))
#define IDMLCompiledOperator_Release(This) ((This)->lpVtbl->Release(This))
#define IDMLCompiledOperator_GetPrivateData(This, guid, dataSize, data)                                                \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLCompiledOperator_SetPrivateData(This, guid, dataSize, data)                                                \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLCompiledOperator_SetPrivateDataInterface(This, guid, data)                                                 \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLCompiledOperator_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLCompiledOperator_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))
#define IDMLCompiledOperator_GetBindingProperties(This) DML_CALL_GET_BINDING_PROPERTIES(This)

#define IDMLOperatorInitializer_QueryInterface(This, riid, ppvObject)                                                  \
    ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLOperatorInitializer_AddRef(This)  ((This)->lpVtbl->AddRef(This))
#define IDMLOperatorInitializer_Release(This) ((This)->lpVtbl->Release(This))
#define IDMLOperatorInitializer_GetPrivateData(This, guid, dataSize, data)                                             \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLOperatorInitializer_SetPrivateData(This, guid, dataSize, data)                                             \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLOperatorInitializer_SetPrivateDataInterface(This, guid, data)                                              \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLOperatorInitializer_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLOperatorInitializer_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))
#define IDMLOperatorInitializer_GetBindingProperties(This) DML_CALL_GET_BINDING_PROPERTIES(This)
#define IDMLOperatorInitializer_Reset(This, operatorCount, operators)                                                  \
    ((This)->lpVtbl->Reset(This, operatorCount, operators))

#define IDMLBindingTable_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLBindingTable_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLBindingTable_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLBindingTable_GetPrivateData(This, guid, dataSize, data)                                                    \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLBindingTable_SetPrivateData(This, guid, dataSize, data)                                                    \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLBindingTable_SetPrivateDataInterface(This, guid, data)                                                     \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLBindingTable_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLBindingTable_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))
#define IDMLBindingTable_BindInputs(This, bindingCount, bindings)                                                      \
    ((This)->lpVtbl->BindInputs(This, bindingCount, bindings))
#define IDMLBindingTable_BindOutputs(This, bindingCount, bindings)                                                     \
    ((This)->lpVtbl->BindOutputs(This, bindingCount, bindings))
#define IDMLBindingTable_BindTemporaryResource(This, binding)  ((This)->lpVtbl->BindTemporaryResource(This, binding))
#define IDMLBindingTable_BindPersistentResource(This, binding) ((This)->lpVtbl->BindPersistentResource(This, binding))
#define IDMLBindingTable_Reset(This, desc)                     ((This)->lpVtbl->Reset(This, desc))

#define IDMLCommandRecorder_QueryInterface(This, riid, ppvObject)                                                      \
    ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLCommandRecorder_AddRef(This)  ((This)->lpVtbl->AddRef(This))
#define IDMLCommandRecorder_Release(This) ((This)->lpVtbl->Release(This))
#define IDMLCommandRecorder_GetPrivateData(This, guid, dataSize, data)                                                 \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLCommandRecorder_SetPrivateData(This, guid, dataSize, data)                                                 \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLCommandRecorder_SetPrivateDataInterface(This, guid, data)                                                  \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLCommandRecorder_SetName(This, name)        ((This)->lpVtbl->SetName(This, name))
#define IDMLCommandRecorder_GetDevice(This, riid, ppv) ((This)->lpVtbl->GetDevice(This, riid, ppv))
#define IDMLCommandRecorder_RecordDispatch(This, commandList, dispatchable, bindings)                                  \
    ((This)->lpVtbl->RecordDispatch(This, commandList, dispatchable, bindings))

#define IDMLDebugDevice_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLDebugDevice_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLDebugDevice_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLDebugDevice_SetMuteDebugOutput(This, mute)        ((This)->lpVtbl->SetMuteDebugOutput(This, mute))

#define IDMLDevice1_QueryInterface(This, riid, ppvObject) ((This)->lpVtbl->QueryInterface(This, riid, ppvObject))
#define IDMLDevice1_AddRef(This)                          ((This)->lpVtbl->AddRef(This))
#define IDMLDevice1_Release(This)                         ((This)->lpVtbl->Release(This))
#define IDMLDevice1_GetPrivateData(This, guid, dataSize, data)                                                         \
    ((This)->lpVtbl->GetPrivateData(This, guid, dataSize, data))
#define IDMLDevice1_SetPrivateData(This, guid, dataSize, data)                                                         \
    ((This)->lpVtbl->SetPrivateData(This, guid, dataSize, data))
#define IDMLDevice1_SetPrivateDataInterface(This, guid, data)                                                          \
    ((This)->lpVtbl->SetPrivateDataInterface(This, guid, data))
#define IDMLDevice1_SetName(This, name) ((This)->lpVtbl->SetName(This, name))
#define IDMLDevice1_CheckFeatureSupport(This, feature, featureQueryDataSize, featureQueryData, featureSupportDataSize, \
                                        featureSupportData)                                                            \
    ((This)->lpVtbl->CheckFeatureSupport(This, feature, featureQueryDataSize, featureQueryData,                        \
                                         featureSupportDataSize, featureSupportData))
#define IDMLDevice1_CreateOperator(This, desc, riid, ppv) ((This)->lpVtbl->CreateOperator(This, desc, riid, ppv))
#define IDMLDevice1_CompileOperator(This, op, flags, riid, ppv)                                                        \
    ((This)->lpVtbl->CompileOperator(This, op, flags, riid, ppv))
#define IDMLDevice1_CreateOperatorInitializer(This, operatorCount, operators, riid, ppv)                               \
    ((This)->lpVtbl->CreateOperatorInitializer(This, operatorCount, operators, riid, ppv))
#define IDMLDevice1_CreateCommandRecorder(This, riid, ppv) ((This)->lpVtbl->CreateCommandRecorder(This, riid, ppv))
#define IDMLDevice1_CreateBindingTable(This, desc, riid, ppv)                                                          \
    ((This)->lpVtbl->CreateBindingTable(This, desc, riid, ppv))
#define IDMLDevice1_Evict(This, count, ppObjects)        ((This)->lpVtbl->Evict(This, count, ppObjects))
#define IDMLDevice1_MakeResident(This, count, ppObjects) ((This)->lpVtbl->MakeResident(This, count, ppObjects))
#define IDMLDevice1_GetDeviceRemovedReason(This)         ((This)->lpVtbl->GetDeviceRemovedReason(This))
#define IDMLDevice1_GetParentDevice(This, riid, ppv)     ((This)->lpVtbl->GetParentDevice(This, riid, ppv))
#define IDMLDevice1_CompileGraph(This, desc, flags, riid, ppv)                                                         \
    ((This)->lpVtbl->CompileGraph(This, desc, flags, riid, ppv))

#endif
