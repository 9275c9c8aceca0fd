/*
 * Direct3D 12 for AnyDML's programs: the one include that brings <directx/d3d12.h> and the Windows base types it needs,
 * in C (C99 and later) and in C++. Needs the headers of Debian's directx-headers-dev:
 * `pkg-config --cflags --libs DirectX-Headers`, which anydml's own pkg-config files ask for.
 *
 * C programs call through macros: ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, &fence).
 * Method tables are writable structs as everywhere in COM; define CONST_VTABLE for the whole program to make them
 * const.
 *
 * In C, IID_ID3D12Device and the other identifiers are only declared here. They come from either of
 *   - libDirectX-Guids.a, which `pkg-config --libs DirectX-Headers` links, or
 *   - `#define INITGUID` before the first include, in exactly one C file of the program, which then defines them.
 * C++ programs get __uuidof, which IID_PPV_ARGS and ComPtr need, by including <dxguids/dxguids.h> after this file.
 *
 * Exports of libd3d12.so declared by <directx/d3d12.h>: D3D12CreateDevice, D3D12GetDebugInterface, D3D12GetInterface,
 * D3D12EnableExperimentalFeatures, D3D12SerializeRootSignature, D3D12SerializeVersionedRootSignature,
 * D3D12CreateRootSignatureDeserializer and D3D12CreateVersionedRootSignatureDeserializer.
 */
#ifndef ANYDML_D3D12_H
#define ANYDML_D3D12_H

#if !defined(__cplusplus) && !defined(COBJMACROS)
#define COBJMACROS
#endif

#include <wsl/winadapter.h>
#include <directx/d3d12.h>

/* Result codes of this runtime that older releases of those headers do not name. */
#ifndef DXGI_ERROR_SDK_COMPONENT_MISSING
#define DXGI_ERROR_SDK_COMPONENT_MISSING ((HRESULT)0x887A002DL)
#endif

#endif
