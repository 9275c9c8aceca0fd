/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct3D 12 for AnyDML's programs: includes <directx/d3d12.h> and the Windows base types that it needs, in C (C99
 * and later) and in C++. Requires the headers of Debian's directx-headers-dev:
 * `pkg-config --cflags --libs DirectX-Headers`, which anydml's own pkg-config files require.
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

#ifdef _WIN32
#include <windows.h>
#else
#include <wsl/winadapter.h>
#endif
#include <directx/d3d12.h>

/* Result codes of this runtime that older releases of those headers do not define. */
#ifndef DXGI_ERROR_SDK_COMPONENT_MISSING
#define DXGI_ERROR_SDK_COMPONENT_MISSING ((HRESULT)0x887A002DL)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a buffer over memory of the caller: nothing is copied, neither now nor later. For adapters whose memory is
 * host memory: cpu (and null). Costs less than a microsecond to create and release. Thread-safe.
 *
 * address: a multiple of 16 (DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT), as kernels require of inputs and outputs.
 *     Temporary and persistent resources must be at multiples of 256: DirectML checks addresses, not only offsets.
 * bytes: at least 1. The buffer's Width is `bytes` rounded up to a multiple of 4, as sizes of bindings
 *     must be. DirectML never accesses the up to 3 bytes after the end, because no tensor element is stored there;
 *     copies and clears access the range that they are given, so CopyResource, which copies Width bytes, does.
 *
 * The resource behaves like one of CreateCommittedResource in a CUSTOM heap (L0, WRITE_BACK) with
 * ALLOW_UNORDERED_ACCESS in state COMMON: a source and destination of copies and a DirectML binding of any kind. Map
 * returns `address`, GetGPUVirtualAddress the same number. The caller owns the memory: it must outlive the resource and
 * all queued work that uses it, and the host may access it only while no such work runs. Several buffers may cover the
 * same bytes; the caller must keep their uses apart, and the debug layer warns of overlaps.
 *
 *     float x[1000] __attribute__((aligned(16)));
 *     hr = AnydmlCreateBufferFromMemory(device, x, sizeof(x), &IID_ID3D12Resource, (void **)&buffer);
 *
 * S_OK; S_FALSE with out NULL (arguments were checked); E_INVALIDARG (device or address NULL or misaligned, bytes 0 or
 * beyond the address space); DXGI_ERROR_UNSUPPORTED (the device's memory is not host memory, without a message if out
 * is NULL, or the device belongs to another runtime); DXGI_ERROR_DEVICE_REMOVED; E_NOINTERFACE; E_OUTOFMEMORY. */
HRESULT WINAPI AnydmlCreateBufferFromMemory(ID3D12Device *device, void *address, UINT64 bytes, REFIID riid, void **out);

/* ExecuteCommandLists that returns when the lists have run, after all previous work of the queue. If the queue is idle,
 * the calling thread runs them itself (cpu) or submits and waits (other adapters): no other thread is woken, no fence
 * is needed, and the work of several threads stays on those threads. Use it if the caller would only wait; otherwise
 * use ExecuteCommandLists and a fence. Thread-safe. If the queue waits for a fence that the calling thread would signal
 * later, the call never returns. Workers of the cpu adapter's parallel steps belong to the calling thread and live as
 * long as it does.
 *
 * S_OK; E_INVALIDARG (queue or lists NULL, a list that is not closed: nothing has run); DXGI_ERROR_UNSUPPORTED (the
 * queue belongs to another runtime); DXGI_ERROR_DEVICE_REMOVED (before or while the lists ran); E_OUTOFMEMORY. */
HRESULT WINAPI AnydmlExecuteCommandLists(ID3D12CommandQueue *queue, UINT count, ID3D12CommandList *const *lists);

#ifdef __cplusplus
}
#endif

#endif
