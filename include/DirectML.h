/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DirectML's programming interface as AnyDML offers it: 12 interfaces, 177 operators, graphs, up to feature level 6.4.
 * The same declarations work in C++17 (interfaces are abstract structs, as with Microsoft's header of the same name)
 * and C99 (interfaces have an lpVtbl, called through macros: IDMLDevice_CreateOperator(device, &desc,
 * &IID_IDMLOperator, &op)). Layouts, method order and identifiers are those of DirectML on Linux and WSL, so programs
 * built against either header run on either library.
 *
 *   anydml/dml_base.h            target version and constants
 *   anydml/dml_types.h           tensors, bindings, graphs, enumerations
 *   anydml/dml_operator_type.h   the list of operators
 *   anydml/dml_operators_*.h     their descriptions, one file per group of feature levels (named by the first)
 *   anydml/dml_interfaces.h      the interfaces
 *   DirectMLGuids.h              not included: IID_IDML... for C and __uuidof for C++, for programs without their own
 *
 * A program links libdirectml and libd3d12. The steps to run one operator:
 *   DMLCreateDevice1 -> CreateOperator -> CompileOperator -> GetBindingProperties -> descriptor heap and buffers
 *   -> CreateOperatorInitializer -> record and execute its dispatch once -> CreateBindingTable, Bind...
 *   -> RecordDispatch -> ID3D12CommandQueue::ExecuteCommandLists as often as needed.
 */
#ifndef ANYDML_DIRECTML_H
#define ANYDML_DIRECTML_H

#include "anydml/dml_base.h"
#include "anydml/dml_types.h"
#include "anydml/dml_operator_type.h"
#include "anydml/dml_operators_1.h"
#include "anydml/dml_operators_2.h"
#include "anydml/dml_operators_3.h"
#include "anydml/dml_operators_5.h"
#include "anydml/dml_interfaces.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Creates a DirectML device over a Direct3D 12 device, which it keeps alive. Every call returns a new, independent
 * device; objects of different DirectML devices must not be mixed. `riid` is usually that of IDMLDevice or IDMLDevice1.
 * *ppv receives one reference, or NULL on failure; with ppv NULL the call only checks its arguments.
 *
 *   S_OK                   the device is in *ppv
 *   S_FALSE                ppv is NULL and a device could be created
 *   E_INVALIDARG           d3d12Device is NULL, unknown flag or unknown feature level
 *   DXGI_ERROR_UNSUPPORTED the feature level is higher than the library's, or the device belongs to another runtime
 * than AnyDML's Direct3D 12 or vkd3d-proton E_NOINTERFACE          the device has no interface `riid`
 *   DXGI_ERROR_DEVICE_REMOVED, E_OUTOFMEMORY
 */
HRESULT STDMETHODCALLTYPE DMLCreateDevice(ID3D12Device *d3d12Device, DML_CREATE_DEVICE_FLAGS flags, REFIID riid,
                                          void **ppv);

#if DML_TARGET_VERSION >= 0x2000

/* The same with a minimum feature level; DMLCreateDevice requires DML_FEATURE_LEVEL_1_0. */
HRESULT STDMETHODCALLTYPE DMLCreateDevice1(ID3D12Device *d3d12Device, DML_CREATE_DEVICE_FLAGS flags,
                                           DML_FEATURE_LEVEL minimumFeatureLevel, REFIID riid, void **ppv);

#endif /* DML_TARGET_VERSION >= 0x2000 */

#ifdef __cplusplus
}
#endif

#endif
