/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of dxgi.dll, on Windows only: factories and adapters. There are no swap chains or surfaces. */
#ifndef D3D12_DXGI_H
#define D3D12_DXGI_H

#include "com/com.h"
#include "d3d12/adapter.h"

#include <dxgi1_6.h>

/* dxgi_adapter.c: an IDXGIAdapter4 for a new application reference, whose parent is the factory. */
HRESULT dxgi_adapter_create(const struct adapter_info *info, struct com_object *factory, REFIID riid, void **out);

#endif
