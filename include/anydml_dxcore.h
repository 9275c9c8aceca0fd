/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DXCore (listing adapters) for C and C++. In C++ this is <directx/dxcore.h>; that header does not support C, so the
 * same binary interface is declared here for C, up to IDXCoreAdapter1 and IDXCoreAdapterFactory1. Enumerators carry
 * their type's name: DXCoreAdapterProperty::InstanceLuid is DXCoreAdapterProperty_InstanceLuid. Identifiers are
 * constants of the including file, nothing to link but libdxcore.
 */
#ifndef ANYDML_DXCORE_H
#define ANYDML_DXCORE_H

#include "anydml_d3d12.h"

#ifdef __cplusplus
#include <directx/dxcore.h>
#else
#include "anydml/dxcore_c.h"
#endif

#endif
