/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12RootSignature, its serialisation and its deserialisers. There are no shaders: root signatures are checked and
 * stored, for programs that create one before they query for support. */
#include "d3d12/root_signature/root_signature.h"

#include "base/log.h"
#include "d3d12/device_methods.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static HRESULT error_code(const char *error)
{
    return !error ? S_OK : error == d3d_root_no_memory ? E_OUTOFMEMORY : E_INVALIDARG;
}

/* ---- ID3DBlob ---- */

struct blob {
    struct com_object base;
    size_t size;
    _Alignas(16) char data[];
};

static void plain_destroy(struct com_object *object)
{
    com_finish(object);
    free(object);
}

static LPVOID d3d_blob_GetBufferPointer(ID3DBlob *iface)
{
    return ((struct blob *)iface)->data;
}

static SIZE_T d3d_blob_GetBufferSize(ID3DBlob *iface)
{
    return ((struct blob *)iface)->size;
}

static const struct ID3D10BlobVtbl blob_vtbl = {
    COM_UNKNOWN_METHODS,
    .GetBufferPointer = d3d_blob_GetBufferPointer,
    .GetBufferSize = d3d_blob_GetBufferSize,
};

static const IID *const blob_iids[] = { &IID_ID3D10Blob, NULL };
static const struct com_class blob_class = { "ID3DBlob", blob_iids, plain_destroy, NULL };

static struct blob *blob_create(size_t size)
{
    struct blob *blob = calloc(1, sizeof(*blob) + size);
    if (!blob)
        return NULL;
    com_init(&blob->base, &blob_vtbl, &blob_class, NULL);
    blob->size = size;
    return blob;
}

/* ---- serialisation ---- */

/* Reports the error in the log and, on request, as a text blob. */
static HRESULT refuse(const char *function, const char *error, ID3DBlob **out_text)
{
    char text[D3D_ROOT_ERROR_BYTES + 64];
    int length = snprintf(text, sizeof(text), "%s: %s", function, error);
    struct blob *blob = out_text ? blob_create((size_t)length + 1) : NULL;
    base_log(BASE_LOG_ERROR, "%s", text);
    if (blob) {
        memcpy(blob->data, text, (size_t)length + 1);
        *out_text = (ID3DBlob *)blob;
    }
    return error_code(error);
}

static HRESULT serialize(const char *function, const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc, ID3DBlob **out,
                         ID3DBlob **out_error)
{
    char text[D3D_ROOT_ERROR_BYTES];
    struct base_arena arena = { 0 };
    struct d3d_root_desc newest;
    struct blob *blob = NULL;
    const char *error = d3d_root_import(desc, &arena, &newest);
    if (!error)
        error = d3d_root_check(&newest, text);
    if (!error) {
        uint32_t version = (uint32_t)desc->Version;
        size_t size = d3d_root_size(&newest, version);
        error = size > UINT32_MAX ? "its size exceeds 2^32 bytes" : NULL;
        blob = error ? NULL : blob_create(size);
        if (blob)
            d3d_root_write(&newest, version, blob->data, size);
        else if (!error)
            error = d3d_root_no_memory;
    }
    base_arena_finish(&arena);
    if (error)
        return refuse(function, error, out_error);
    *out = (ID3DBlob *)blob;
    return S_OK;
}

static HRESULT serialize_begin(const char *function, const void *desc, ID3DBlob **out, ID3DBlob **out_error)
{
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    return desc && out ? S_OK : refuse(function, "pRootSignature or ppBlob is NULL", out_error);
}

EXPORT HRESULT D3D12SerializeRootSignature(const D3D12_ROOT_SIGNATURE_DESC *desc, D3D_ROOT_SIGNATURE_VERSION version,
                                           ID3DBlob **out, ID3DBlob **out_error)
{
    static const char function[] = "D3D12SerializeRootSignature";
    HRESULT hr = serialize_begin(function, desc, out, out_error);
    if (SUCCEEDED(hr) && version != D3D_ROOT_SIGNATURE_VERSION_1_0)
        hr = refuse(function, "Version must be 1.0; D3D12SerializeVersionedRootSignature has the others", out_error);
    if (FAILED(hr))
        return hr;
    const D3D12_VERSIONED_ROOT_SIGNATURE_DESC versioned = { version, { .Desc_1_0 = *desc } };
    return serialize(function, &versioned, out, out_error);
}

EXPORT HRESULT D3D12SerializeVersionedRootSignature(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc, ID3DBlob **out,
                                                    ID3DBlob **out_error)
{
    static const char function[] = "D3D12SerializeVersionedRootSignature";
    HRESULT hr = serialize_begin(function, desc, out, out_error);
    return SUCCEEDED(hr) ? serialize(function, desc, out, out_error) : hr;
}

/* ---- reading ---- */

/* NULL, or an error message and its number. */
static const char *read_checked(const void *data, size_t size, struct base_arena *arena, struct d3d_root_desc *out,
                                uint32_t *out_version, char text[D3D_ROOT_ERROR_BYTES], D3D12_MESSAGE_ID *out_id)
{
    *out_id = D3D12_MESSAGE_ID_CREATE_ROOT_SIGNATURE_BLOB_NOT_FOUND;
    if (!data || !size)
        return "the data is missing";
    const char *error = d3d_root_read(data, size, arena, out, out_version);
    *out_id = error ? D3D12_MESSAGE_ID_CREATE_ROOT_SIGNATURE_DESERIALIZE_FAILED
                    : D3D12_MESSAGE_ID_CREATE_ROOT_SIGNATURE_INVALID_CONFIGURATION;
    if (!error)
        error = d3d_root_check(out, text);
    if (error == d3d_root_no_memory)
        *out_id = D3D12_MESSAGE_ID_UNKNOWN;
    return error;
}

/* ---- ID3D12RootSignature ---- */

static const IID *const root_signature_iids[] = {
    &IID_ID3D12Object,
    &IID_ID3D12DeviceChild,
    &IID_ID3D12RootSignature,
    NULL,
};

static const struct com_class root_signature_class = { "ID3D12RootSignature", root_signature_iids, plain_destroy,
                                                       NULL };
static const ID3D12RootSignatureVtbl root_signature_vtbl = { COM_CHILD_METHODS };

HRESULT d3d_device_CreateRootSignature(D3D_DEVICE, UINT node_mask, const void *data, SIZE_T size, REFIID riid,
                                       void **out)
{
    static const char method[] = "ID3D12Device::CreateRootSignature";
    struct d3d_device *device = d3d_device_from(iface);
    char text[D3D_ROOT_ERROR_BYTES];
    struct base_arena arena = { 0 };
    struct d3d_root_desc desc;
    uint32_t version;
    HRESULT hr = d3d_create_begin_strict(device, method, out);
    if (FAILED(hr))
        return hr;
    D3D12_MESSAGE_ID id = D3D12_MESSAGE_ID_INVALID_NODE_INDEX;
    const char *error = node_mask > 1 ? "nodeMask must be 0 or 1" : NULL;
    if (!error)
        error = read_checked(data, size, &arena, &desc, &version, text, &id);
    struct com_object *object = error ? NULL : calloc(1, sizeof(*object));
    if (!error && !object)
        error = d3d_root_no_memory;
    if (error)
        hr = d3d_fail_as(device, error_code(error), id, "%s: %zu bytes: %s", method, (size_t)size, error);
    base_arena_finish(&arena);
    if (FAILED(hr))
        return hr;
    com_init(object, &root_signature_vtbl, &root_signature_class, &device->base);
    return com_return(object, riid, out);
}

/* ---- the deserialisers ---- */

/* One object, with the method table of either interface. */
struct deserializer {
    struct com_object base;
    struct base_arena arena;
    uint32_t version;                                                           /* of the data */
    const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *descs[D3D_ROOT_VERSION_1_2 + 1]; /* by version */
};

static void deserializer_destroy(struct com_object *object)
{
    base_arena_finish(&((struct deserializer *)object)->arena);
    plain_destroy(object);
}

static const D3D12_ROOT_SIGNATURE_DESC *d3d_deserializer_GetRootSignatureDesc(ID3D12RootSignatureDeserializer *iface)
{
    return &((struct deserializer *)iface)->descs[D3D_ROOT_SIGNATURE_VERSION_1_0]->Desc_1_0;
}

static HRESULT d3d_deserializer_GetRootSignatureDescAtVersion(ID3D12VersionedRootSignatureDeserializer *iface,
                                                              D3D_ROOT_SIGNATURE_VERSION version,
                                                              const D3D12_VERSIONED_ROOT_SIGNATURE_DESC **out)
{
    if (out)
        *out = NULL;
    if (!out || (uint32_t)version < D3D_ROOT_SIGNATURE_VERSION_1_0 || (uint32_t)version > D3D_ROOT_VERSION_1_2)
        return E_INVALIDARG;
    *out = ((struct deserializer *)iface)->descs[version];
    return S_OK;
}

static const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *
d3d_deserializer_GetUnconvertedRootSignatureDesc(ID3D12VersionedRootSignatureDeserializer *iface)
{
    struct deserializer *deserializer = (struct deserializer *)iface;
    return deserializer->descs[deserializer->version];
}

static const ID3D12RootSignatureDeserializerVtbl deserializer_vtbl = {
    COM_UNKNOWN_METHODS,
    .GetRootSignatureDesc = d3d_deserializer_GetRootSignatureDesc,
};

static const ID3D12VersionedRootSignatureDeserializerVtbl versioned_deserializer_vtbl = {
    COM_UNKNOWN_METHODS,
    .GetRootSignatureDescAtVersion = d3d_deserializer_GetRootSignatureDescAtVersion,
    .GetUnconvertedRootSignatureDesc = d3d_deserializer_GetUnconvertedRootSignatureDesc,
};

static const IID *const deserializer_iids[] = { &IID_ID3D12RootSignatureDeserializer, NULL };
static const IID *const versioned_deserializer_iids[] = { &IID_ID3D12VersionedRootSignatureDeserializer, NULL };

static const struct com_class deserializer_class = { "ID3D12RootSignatureDeserializer", deserializer_iids,
                                                     deserializer_destroy, NULL };
static const struct com_class versioned_deserializer_class = { "ID3D12VersionedRootSignatureDeserializer",
                                                               versioned_deserializer_iids, deserializer_destroy,
                                                               NULL };

/* NULL, or an error message. */
static const char *deserializer_fill(struct deserializer *deserializer, const void *data, size_t size,
                                     char text[D3D_ROOT_ERROR_BYTES])
{
    struct d3d_root_desc desc;
    D3D12_MESSAGE_ID id;
    const char *error = read_checked(data, size, &deserializer->arena, &desc, &deserializer->version, text, &id);
    for (uint32_t version = D3D_ROOT_SIGNATURE_VERSION_1_0; !error && version <= D3D_ROOT_VERSION_1_2; version++) {
        deserializer->descs[version] = d3d_root_export(&desc, version, &deserializer->arena);
        error = deserializer->descs[version] ? NULL : d3d_root_no_memory;
    }
    return error;
}

struct deserializer_kind {
    const char *function;
    const void *vtbl;
    const struct com_class *class;
};

static HRESULT deserializer_create(const struct deserializer_kind *kind, const void *data, size_t size, REFIID riid,
                                   void **out)
{
    char text[D3D_ROOT_ERROR_BYTES];
    if (out)
        *out = NULL;
    if (!out)
        return refuse(kind->function, "the output pointer is NULL", NULL);
    struct deserializer *deserializer = calloc(1, sizeof(*deserializer));
    if (!deserializer)
        return E_OUTOFMEMORY;
    com_init(&deserializer->base, kind->vtbl, kind->class, NULL);
    const char *error = deserializer_fill(deserializer, data, size, text);
    if (!error)
        return com_return(&deserializer->base, riid, out);
    com_Release(deserializer);
    return refuse(kind->function, error, NULL);
}

EXPORT HRESULT D3D12CreateRootSignatureDeserializer(LPCVOID data, SIZE_T size, REFIID riid, void **out)
{
    static const struct deserializer_kind kind = { "D3D12CreateRootSignatureDeserializer", &deserializer_vtbl,
                                                   &deserializer_class };
    return deserializer_create(&kind, data, size, riid, out);
}

EXPORT HRESULT D3D12CreateVersionedRootSignatureDeserializer(LPCVOID data, SIZE_T size, REFIID riid, void **out)
{
    static const struct deserializer_kind kind = { "D3D12CreateVersionedRootSignatureDeserializer",
                                                   &versioned_deserializer_vtbl, &versioned_deserializer_class };
    return deserializer_create(&kind, data, size, riid, out);
}
