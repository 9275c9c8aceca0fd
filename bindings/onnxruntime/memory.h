/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that tensors lie in: Direct3D buffers whose memory is the host's, by address. */
#ifndef EP_MEMORY_H
#define EP_MEMORY_H

#include "ep.h"

/* ---- blocks.c: the buffers behind addresses, for the whole process ---- */

struct ep_block {
    ID3D12Resource *resource; /* referenced and mapped, or of a heap that the host sees anyway */
    char *address;
    uint64_t bytes;
    bool mapped;
    void *owner;           /* the allocator; NULL: the caller's own buffer, */
    uint32_t users;        /* handed out so many times */
    struct ep_block *next; /* for the owner */
    bool reserved;
};

/* Takes a reference. E_NOTIMPL: the host does not see the memory; E_INVALIDARG: it is no buffer, or its address is
 * another block's. */
HRESULT ep_block_add(ID3D12Resource *resource, void *owner, struct ep_block **out);
void ep_block_remove(struct ep_block *block);
struct ep_block *ep_block_find(const void *address, const void *owner); /* that begins there */
bool ep_block_covers(const void *address, uint64_t bytes);
/* A buffer of the caller's. */
HRESULT ep_block_import(ID3D12Resource *resource, void **out_address);
HRESULT ep_block_drop(void *address);
ID3D12Resource *ep_block_resource(const void *address); /* referenced; NULL: unknown */

/* ---- allocator.c ---- */

/* The memory infos of an adapter; NULL for adapters whose memory is not the host's. */
struct ep_memory {
    uint32_t adapter;
    OrtMemoryInfo *host;   /* host accessible: ONNX Runtime's own CPU code reads and writes it */
    OrtMemoryInfo *device; /* as programs for Windows name it, "DML"; hosts from 1.27 */
};

/* Describes the memory of an adapter to the host; it is the host's. */
OrtStatus *ep_memory_add(struct ep_factory *factory, uint32_t adapter, OrtEpDevice *device);
const struct ep_memory *ep_memory_find(const struct ep_factory *factory, uint32_t adapter);
void ep_memory_finish(struct ep_factory *factory);
OrtStatus *ep_allocator_create(struct ep_factory *factory, const OrtMemoryInfo *info, uint64_t limit,
                               OrtAllocator **out);
void ep_allocator_destroy(OrtAllocator *allocator);

/* ---- transfer.c ---- */
OrtStatus *ep_transfer_create(struct ep_factory *factory, OrtDataTransferImpl **out);

/* Of the memory device, as ONNX Runtime numbers vendors. */
#define EP_VENDOR_MICROSOFT 0x1414

#endif
