/* SPDX-License-Identifier: Apache-2.0 */
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

#ifdef _WIN32
#include <windows.h>
#else
#include <wsl/winadapter.h>
#endif
#include <directx/d3d12.h>

/* Result codes of this runtime that older releases of those headers do not name. */
#ifndef DXGI_ERROR_SDK_COMPONENT_MISSING
#define DXGI_ERROR_SDK_COMPONENT_MISSING ((HRESULT)0x887A002DL)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer over memory that the caller has already: nothing is copied, neither now nor later. For adapters whose memory
 * is the host's: cpu (and null). Costs less than a microsecond to create and release; free-threaded.
 *
 * address: a multiple of 16 (DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT), which is what kernels need of inputs and outputs.
 *     Temporary and persistent resources must lie at multiples of 256: DirectML checks addresses, not only offsets.
 * bytes: at least 1. The buffer's Width is `bytes` rounded up to a multiple of 4, as sizes of bindings
 *     must be. DirectML never reads or writes the up to 3 bytes after the end, since no tensor element lies there;
 *     copies and clears touch what they are told to, so CopyResource, which copies Width bytes, does.
 *
 * The resource is as one that CreateCommittedResource makes in a CUSTOM heap (L0, WRITE_BACK) with
 * ALLOW_UNORDERED_ACCESS in state COMMON: a source and destination of copies and a DirectML binding of any kind. Map
 * gives `address`, GetGPUVirtualAddress its number. The memory stays the caller's: it must outlive the resource and all
 * queued work that uses it, and be written and read by the host only while no such work runs. Several buffers may lie
 * over the same bytes; keeping their uses apart is up to the caller, the debug layer warns of overlaps.
 *
 *     float x[1000] __attribute__((aligned(16)));
 *     hr = AnydmlCreateBufferFromMemory(device, x, sizeof(x), &IID_ID3D12Resource, (void **)&buffer);
 *
 * S_OK; S_FALSE with out NULL (arguments were checked); E_INVALIDARG (device or address NULL or misaligned, bytes 0 or
 * beyond the address space); DXGI_ERROR_UNSUPPORTED (the device's memory is not the host's, with out NULL without a
 * message, or it is another runtime's); DXGI_ERROR_DEVICE_REMOVED; E_NOINTERFACE; E_OUTOFMEMORY. */
HRESULT WINAPI AnydmlCreateBufferFromMemory(ID3D12Device *device, void *address, UINT64 bytes, REFIID riid, void **out);

/* ExecuteCommandLists that returns when the lists have run, after all that the queue was given before. When the queue
 * has nothing else to do, the calling thread runs them itself (cpu) or submits and waits (other adapters): no thread
 * wakes another, no fence is needed, and work of several threads stays on them. For callers that would only wait; those
 * with something else to do meanwhile use ExecuteCommandLists and a fence. Free-threaded. A queue that waits for a
 * fence which this thread would signal later waits for ever. Workers of the cpu adapter's parallel steps belong to the
 * calling thread and live as long as it does.
 *
 * S_OK; E_INVALIDARG (queue or lists NULL, a list that is not closed: nothing has run); DXGI_ERROR_UNSUPPORTED (another
 * runtime's queue); DXGI_ERROR_DEVICE_REMOVED (before or while the lists ran); E_OUTOFMEMORY. */
HRESULT WINAPI AnydmlExecuteCommandLists(ID3D12CommandQueue *queue, UINT count, ID3D12CommandList *const *lists);

#ifdef __cplusplus
}
#endif

#endif
