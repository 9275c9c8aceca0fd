/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of tensors: Direct3D buffers by address. The addresses of buffers without host access are reserved ones, which
 * must not be dereferenced. */
#ifndef EP_MEMORY_H
#define EP_MEMORY_H

#include "ep.h"

/* ---- blocks.c: the buffers behind addresses, for the whole process ---- */

struct ep_block {
    ID3D12Resource *resource; /* referenced and mapped, or of a heap in host memory */
    char *address;
    uint64_t bytes;
    bool mapped;
    struct ep_staging *staging; /* copies to and from the buffer; NULL: in host memory */
    void *owner;                /* the allocator; NULL: the caller's own buffer, */
    uint32_t users;             /* with this many allocations */
    struct ep_block *next;      /* for the owner */
    bool reserved;
};

/* Adds a reference. E_INVALIDARG: it is not a buffer, or its address belongs to another block. */
HRESULT ep_block_add(ID3D12Resource *resource, void *owner, struct ep_block **out);
void ep_block_remove(struct ep_block *block);
struct ep_block *ep_block_find(const void *address, const void *owner); /* that starts there */
bool ep_block_covers(const void *address, uint64_t bytes);
/* A buffer of the caller's. */
HRESULT ep_block_import(ID3D12Resource *resource, void **out_address);
HRESULT ep_block_drop(void *address);
ID3D12Resource *ep_block_resource(const void *address); /* referenced; NULL: unknown */

/* For memory without host access, for struct onnx_memory and copies. `resolve` adds a reference, NULL: a host address
 * (or unknown). Copies also accept host addresses. */
extern const struct onnx_memory ep_block_memory;
HRESULT ep_block_copy(void *to, const void *from, uint64_t bytes);

/* ---- staging.c ---- */
struct ep_staging *ep_staging_get(ID3D12Device *d3d); /* NULL: memory is short; release it after use */
void ep_staging_release(struct ep_staging *staging);
HRESULT ep_staging_write(struct ep_staging *staging, ID3D12Resource *to, uint64_t offset, const void *data,
                         uint64_t bytes);
HRESULT ep_staging_read(struct ep_staging *staging, ID3D12Resource *from, uint64_t offset, void *data, uint64_t bytes);
HRESULT ep_staging_move(struct ep_staging *staging, ID3D12Resource *to, uint64_t to_offset, ID3D12Resource *from,
                        uint64_t from_offset, uint64_t bytes);

/* ---- allocator.c ---- */

/* The memory infos of an adapter. */
struct ep_memory {
    uint32_t adapter;
    OrtMemoryInfo *host;   /* host accessible: used by ONNX Runtime's own CPU code; NULL: none */
    OrtMemoryInfo *device; /* as programs for Windows name it, "DML"; hosts from 1.27 */
};

/* Describes the memory of an adapter to the host: host memory if the adapter uses it (host_memory). */
OrtStatus *ep_memory_add(struct ep_factory *factory, uint32_t adapter, bool host_memory, OrtEpDevice *device);
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
