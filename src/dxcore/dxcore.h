/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of libdxcore: one factory and at most one object per adapter in the process, and lists. */
#ifndef D3D12_DXCORE_H
#define D3D12_DXCORE_H

#include "com/com.h"
#include "d3d12/adapter.h"

#include <anydml_dxcore.h>

struct dxcore_adapter {
    struct com_object base; /* IDXCoreAdapter1; its parent is the factory */
    const struct adapter_info *info;
};

/* dxcore.c. The living adapter object, or a new one, with an application reference. */
HRESULT dxcore_adapter_open(const struct adapter_info *info, struct com_object *factory, struct dxcore_adapter **out);
/* Destroying an object removes it from the table of living objects. */
void dxcore_adapter_forget(struct dxcore_adapter *adapter);

/* dxcore_adapter.c */
struct dxcore_adapter *dxcore_adapter_create(const struct adapter_info *info, struct com_object *factory);
bool dxcore_adapter_has(const struct adapter_info *info, const GUID *attribute);

/* dxcore_list.c: the adapters that `choose` accepts, enumerated lazily. Takes ownership of `context` (malloc).
 */
typedef bool dxcore_choose_fn(const struct adapter_info *info, const void *context);
HRESULT dxcore_list_create(struct com_object *factory, dxcore_choose_fn *choose, void *context, REFIID riid,
                           void **out);

#endif
