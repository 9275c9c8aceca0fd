/* SPDX-License-Identifier: Apache-2.0 */
/* The adapters of DXGI that D3D12CreateDevice accepts on Windows. */
#include "d3d12/objects.h"

#include <initguid.h>

#include <dxgi.h>

bool d3d_dxgi_luid(IUnknown *unknown, LUID *out)
{
    DXGI_ADAPTER_DESC desc;
    IDXGIAdapter *adapter;
    if (FAILED(IUnknown_QueryInterface(unknown, &IID_IDXGIAdapter, (void **)&adapter)))
        return false;
    const HRESULT hr = IDXGIAdapter_GetDesc(adapter, &desc);
    IDXGIAdapter_Release(adapter);
    if (SUCCEEDED(hr))
        *out = desc.AdapterLuid;
    return SUCCEEDED(hr);
}
