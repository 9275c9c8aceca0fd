/* SPDX-License-Identifier: Apache-2.0 */
/* Root signatures: their bytes against digests of Microsoft's compiler for the same descriptions, a round trip through
 * the deserialisers, and invalid ones. */
#include "api_test.h"

#define VERSION_1_2 ((D3D_ROOT_SIGNATURE_VERSION)3)
#define APPEND      D3D12_DESCRIPTOR_RANGE_OFFSET_APPEND

/* D3D12_STATIC_SAMPLER_DESC1, newer than the headers. */
struct sampler1 {
    D3D12_STATIC_SAMPLER_DESC desc;
    UINT flags;
};

static ID3DBlob *serialize(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc)
{
    ID3DBlob *blob = NULL, *error = (ID3DBlob *)&blob;
    ok_hr(D3D12SerializeVersionedRootSignature(desc, &blob, &error), S_OK);
    ok(!error, "an error without an error");
    need(blob);
    return blob;
}

static void *data_of(ID3DBlob *blob)
{
    return blob->lpVtbl->GetBufferPointer(blob);
}

static SIZE_T size_of(ID3DBlob *blob)
{
    return blob->lpVtbl->GetBufferSize(blob);
}

static HRESULT create(ID3D12Device *device, const void *data, SIZE_T size)
{
    void *signature = device;
    HRESULT hr = ID3D12Device_CreateRootSignature(device, 0, data, size, &IID_ID3D12RootSignature, &signature);
    ok(SUCCEEDED(hr) == !!signature, "0x%08x with %p", (unsigned)hr, signature);
    if (signature)
        api_release(signature);
    return hr;
}

/* ---- known answers ---- */

static void expect_digest(ID3D12Device *device, const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc, SIZE_T size,
                          const uint32_t digest[4])
{
    ID3DBlob *blob = serialize(desc);
    ok(size_of(blob) == size, "%zu bytes, want %zu", (size_t)size_of(blob), (size_t)size);
    ok(!memcmp(data_of(blob), "DXBC", 4) && !memcmp((char *)data_of(blob) + 4, digest, 16), "version %d of %zu bytes",
       (int)desc->Version, (size_t)size);
    ok_hr(create(device, data_of(blob), size_of(blob)), S_OK);
    api_release(blob);
}

static const D3D12_DESCRIPTOR_RANGE ranges0[] = {
    { D3D12_DESCRIPTOR_RANGE_TYPE_CBV, 1, 1, 7, APPEND },
    { D3D12_DESCRIPTOR_RANGE_TYPE_SRV, 8, 16, 0, APPEND },
    { D3D12_DESCRIPTOR_RANGE_TYPE_UAV, UINT32_MAX, 3, 0, 44 },
};
static const D3D12_DESCRIPTOR_RANGE1 ranges1[] = {
    { D3D12_DESCRIPTOR_RANGE_TYPE_CBV, 1, 1, 7, 0, APPEND },
    { D3D12_DESCRIPTOR_RANGE_TYPE_SRV, 8, 16, 0, 0, APPEND },
    { D3D12_DESCRIPTOR_RANGE_TYPE_UAV, UINT32_MAX, 3, 0, 0, 44 },
};
static const D3D12_ROOT_PARAMETER table0 = { D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
                                             { .DescriptorTable = { 3, ranges0 } },
                                             D3D12_SHADER_VISIBILITY_ALL };
static const D3D12_ROOT_PARAMETER1 table1 = { D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
                                              { .DescriptorTable = { 3, ranges1 } },
                                              D3D12_SHADER_VISIBILITY_ALL };
static const D3D12_ROOT_PARAMETER1 descriptors1[] = {
    { D3D12_ROOT_PARAMETER_TYPE_CBV, { .Descriptor = { 4, 1, 0 } }, D3D12_SHADER_VISIBILITY_VERTEX },
    { D3D12_ROOT_PARAMETER_TYPE_SRV,
      { .Descriptor = { 13, 0, D3D12_ROOT_DESCRIPTOR_FLAG_DATA_STATIC } },
      D3D12_SHADER_VISIBILITY_ALL },
    { D3D12_ROOT_PARAMETER_TYPE_UAV,
      { .Descriptor = { 6, 0, D3D12_ROOT_DESCRIPTOR_FLAG_DATA_STATIC_WHILE_SET_AT_EXECUTE } },
      D3D12_SHADER_VISIBILITY_ALL },
};
static const D3D12_ROOT_PARAMETER constants0[] = {
    { D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS, { .Constants = { 4, 0, 3 } }, D3D12_SHADER_VISIBILITY_ALL },
    { D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS, { .Constants = { 5, 3, 4 } }, D3D12_SHADER_VISIBILITY_ALL },
};

static void test_known(ID3D12Device *device)
{
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC old = { D3D_ROOT_SIGNATURE_VERSION_1_0, { .Desc_1_0 = { 0 } } };
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC new = { D3D_ROOT_SIGNATURE_VERSION_1_1, { .Desc_1_1 = { 0 } } };
    expect_digest(device, &old, 0x44, (uint32_t[]){ 0xd64afc1d, 0x5dc27735, 0x9edacb4a, 0x6bd8a7fa });
    expect_digest(device, &new, 0x44, (uint32_t[]){ 0x791882cb, 0x83c1db39, 0x327edc93, 0x3163085b });
    new.Desc_1_1 = (D3D12_ROOT_SIGNATURE_DESC1){ .NumParameters = 3, .pParameters = descriptors1 };
    expect_digest(device, &new, 0x8c, (uint32_t[]){ 0x8ddedbbe, 0xbcfea259, 0x6b35bfbb, 0x23e1de24 });
    old.Desc_1_0 = (D3D12_ROOT_SIGNATURE_DESC){ .NumParameters = 2, .pParameters = constants0 };
    expect_digest(device, &old, 0x74, (uint32_t[]){ 0xbc015590, 0xa9a4a345, 0x7e446850, 0x2be05281 });
    old.Desc_1_0 = (D3D12_ROOT_SIGNATURE_DESC){ .NumParameters = 1, .pParameters = &table0 };
    expect_digest(device, &old, 0x94, (uint32_t[]){ 0x0f92e563, 0x4766993f, 0x2304e283, 0x14f0d8dc });
    new.Desc_1_1 = (D3D12_ROOT_SIGNATURE_DESC1){ .NumParameters = 1, .pParameters = &table1 };
    expect_digest(device, &new, 0xa0, (uint32_t[]){ 0x739302ac, 0x9db37f96, 0x1ad9eec8, 0x7a5d08cb });
    ID3DBlob *blob = NULL, *same = serialize(&old), *error = NULL;
    ok_hr(D3D12SerializeRootSignature(&old.Desc_1_0, D3D_ROOT_SIGNATURE_VERSION_1_0, &blob, &error), S_OK);
    need(blob);
    ok(size_of(blob) == size_of(same) && !memcmp(data_of(blob), data_of(same), size_of(blob)),
       "the two functions differ");
    api_release(blob);
    api_release(same);
}

/* ---- there and back ---- */

static const D3D12_STATIC_SAMPLER_DESC sampler = {
    .Filter = D3D12_FILTER_ANISOTROPIC,
    .AddressU = D3D12_TEXTURE_ADDRESS_MODE_WRAP,
    .AddressV = D3D12_TEXTURE_ADDRESS_MODE_CLAMP,
    .AddressW = D3D12_TEXTURE_ADDRESS_MODE_MIRROR_ONCE,
    .MipLODBias = 1.5f,
    .MaxAnisotropy = 16,
    .ComparisonFunc = D3D12_COMPARISON_FUNC_LESS_EQUAL,
    .BorderColor = D3D12_STATIC_BORDER_COLOR_OPAQUE_WHITE,
    .MinLOD = -1,
    .MaxLOD = 7,
    .ShaderRegister = 3,
    .RegisterSpace = 9,
    .ShaderVisibility = D3D12_SHADER_VISIBILITY_PIXEL,
};

static bool table_equal(const D3D12_ROOT_DESCRIPTOR_TABLE1 *table, UINT flags)
{
    for (UINT i = 0; i < table->NumDescriptorRanges; i++) {
        D3D12_DESCRIPTOR_RANGE1 want = ranges1[i];
        want.Flags = (D3D12_DESCRIPTOR_RANGE_FLAGS)flags;
        if (memcmp(&want, &table->pDescriptorRanges[i], sizeof(want)))
            return false;
    }
    return table->NumDescriptorRanges == 3;
}

static void check_versions(ID3D12VersionedRootSignatureDeserializer *reader, D3D_ROOT_SIGNATURE_VERSION version)
{
    const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc = reader->lpVtbl->GetUnconvertedRootSignatureDesc(reader), *other;
    const UINT volatiles = D3D12_DESCRIPTOR_RANGE_FLAG_DESCRIPTORS_VOLATILE | D3D12_DESCRIPTOR_RANGE_FLAG_DATA_VOLATILE;
    ok(desc->Version == version, "version %d", (int)desc->Version);
    for (int v = D3D_ROOT_SIGNATURE_VERSION_1_0; v <= (int)VERSION_1_2; v++) {
        ok_hr(reader->lpVtbl->GetRootSignatureDescAtVersion(reader, (D3D_ROOT_SIGNATURE_VERSION)v, &desc), S_OK);
        ok((int)desc->Version == v && desc->Desc_1_1.NumParameters == 1 && desc->Desc_1_1.NumStaticSamplers == 1 &&
               desc->Desc_1_1.Flags == 0xc02,
           "header of version %d", v);
        ok(!memcmp(desc->Desc_1_1.pStaticSamplers, &sampler, sizeof(sampler)), "sampler of version %d", v);
        if (v == (int)D3D_ROOT_SIGNATURE_VERSION_1_0)
            ok(!memcmp(desc->Desc_1_0.pParameters->DescriptorTable.pDescriptorRanges, ranges0, sizeof(ranges0)),
               "ranges of version 1.0");
        else
            ok(table_equal(&desc->Desc_1_1.pParameters->DescriptorTable,
                           version == D3D_ROOT_SIGNATURE_VERSION_1_0 ? volatiles : 0),
               "ranges of version %d", v);
        if (v == (int)VERSION_1_2)
            ok(((const struct sampler1 *)desc->Desc_1_1.pStaticSamplers)->flags == (version == VERSION_1_2 ? 2u : 0u),
               "flags of a sampler");
    }
    other = desc;
    ok_hr(reader->lpVtbl->GetRootSignatureDescAtVersion(reader, (D3D_ROOT_SIGNATURE_VERSION)4, &other), E_INVALIDARG);
    ok(!other, "the output is not cleared");
}

static void test_back(ID3D12Device *device)
{
    const struct sampler1 newest = { sampler, 2 };
    const D3D12_ROOT_SIGNATURE_FLAGS flags = (D3D12_ROOT_SIGNATURE_FLAGS)0xc02;
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC descs[] = {
        { D3D_ROOT_SIGNATURE_VERSION_1_0, { .Desc_1_0 = { 1, &table0, 1, &sampler, flags } } },
        { D3D_ROOT_SIGNATURE_VERSION_1_1, { .Desc_1_1 = { 1, &table1, 1, &sampler, flags } } },
        { VERSION_1_2, { .Desc_1_1 = { 1, &table1, 1, &newest.desc, flags } } },
    };
    for (size_t i = 0; i < 3; i++) {
        ID3DBlob *blob = serialize(&descs[i]);
        ID3D12VersionedRootSignatureDeserializer *reader = NULL;
        ID3D12RootSignatureDeserializer *plain = NULL;
        ok_hr(create(device, data_of(blob), size_of(blob)), S_OK);
        ok_hr(D3D12CreateVersionedRootSignatureDeserializer(
                  data_of(blob), size_of(blob), &IID_ID3D12VersionedRootSignatureDeserializer, (void **)&reader),
              S_OK);
        ok_hr(D3D12CreateRootSignatureDeserializer(data_of(blob), size_of(blob), &IID_ID3D12RootSignatureDeserializer,
                                                   (void **)&plain),
              S_OK);
        need(reader && plain);
        api_release(blob); /* they have what they need */
        check_versions(reader, descs[i].Version);
        const D3D12_ROOT_SIGNATURE_DESC *desc = plain->lpVtbl->GetRootSignatureDesc(plain);
        ok(desc->NumParameters == 1 && desc->Flags == flags &&
               !memcmp(desc->pParameters->DescriptorTable.pDescriptorRanges, ranges0, sizeof(ranges0)),
           "the plain deserialiser");
        void *out = device;
        ok_hr(D3D12CreateRootSignatureDeserializer(NULL, 0, &IID_ID3D12RootSignatureDeserializer, &out), E_INVALIDARG);
        ok(!out, "the output is not cleared");
        api_release(plain);
        api_release(reader);
    }
}

/* ---- descriptions against the rules ---- */

static void expect_refused(const D3D12_ROOT_SIGNATURE_DESC1 *desc, const char *word)
{
    const D3D12_VERSIONED_ROOT_SIGNATURE_DESC versioned = { D3D_ROOT_SIGNATURE_VERSION_1_1, { .Desc_1_1 = *desc } };
    ID3DBlob *blob = (ID3DBlob *)&versioned, *error = NULL;
    ok_hr(D3D12SerializeVersionedRootSignature(&versioned, &blob, &error), E_INVALIDARG);
    ok(!blob, "a blob of what is refused: %s", word);
    ok(error && strstr(data_of(error), word) && strlen(data_of(error)) + 1 == size_of(error), "\"%s\", want \"%s\"",
       error ? (char *)data_of(error) : "", word);
    if (error)
        api_release(error);
    ok_hr(D3D12SerializeVersionedRootSignature(&versioned, &blob, NULL), E_INVALIDARG);
}

static void expect_parameter_refused(const D3D12_ROOT_PARAMETER1 *parameter, const char *word)
{
    expect_refused(&(D3D12_ROOT_SIGNATURE_DESC1){ .NumParameters = 1, .pParameters = parameter }, word);
}

static void expect_range_refused(D3D12_DESCRIPTOR_RANGE1 first, D3D12_DESCRIPTOR_RANGE1 second, const char *word)
{
    const D3D12_DESCRIPTOR_RANGE1 ranges[] = { first, second };
    D3D12_ROOT_PARAMETER1 parameter = table1;
    parameter.DescriptorTable = (D3D12_ROOT_DESCRIPTOR_TABLE1){ 2, ranges };
    expect_parameter_refused(&parameter, word);
}

static void test_ranges(void)
{
    const D3D12_DESCRIPTOR_RANGE1 good = { D3D12_DESCRIPTOR_RANGE_TYPE_SRV, 4, 0, 0, 0, APPEND };
    D3D12_DESCRIPTOR_RANGE1 bad = { D3D12_DESCRIPTOR_RANGE_TYPE_SRV, 4, 4, 0, 0, APPEND };
    D3D12_DESCRIPTOR_RANGE1 other = bad;
    other.RangeType = (D3D12_DESCRIPTOR_RANGE_TYPE)4;
    expect_range_refused(good, other, "RangeType");
    other = bad, other.NumDescriptors = 0;
    expect_range_refused(good, other, "NumDescriptors");
    other = bad, other.BaseShaderRegister = 3;
    expect_range_refused(good, other, "t3");
    other = bad, other.RegisterSpace = 0xfffffff0;
    expect_range_refused(good, other, "RegisterSpace");
    other = bad, other.BaseShaderRegister = 0xfffffffe;
    expect_range_refused(good, other, "2^32");
    other = bad, other.RangeType = D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER;
    expect_range_refused(good, other, "samplers and other");
    other = bad, other.OffsetInDescriptorsFromTableStart = 0xfffffffd;
    expect_range_refused(good, other, "2^32 descriptors");
    const unsigned wrong[] = { 0x10, 0x6, 0xc, 0x9, 0x10001 };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        other = bad, other.Flags = (D3D12_DESCRIPTOR_RANGE_FLAGS)wrong[i];
        expect_range_refused(good, other, "Flags");
    }
    other = good, other.RangeType = D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER;
    bad = other, bad.BaseShaderRegister = 4, bad.Flags = D3D12_DESCRIPTOR_RANGE_FLAG_DATA_STATIC;
    expect_range_refused(other, bad, "Flags");
    other = good, other.NumDescriptors = UINT32_MAX;
    bad = good, bad.RegisterSpace = 1;
    expect_range_refused(other, bad, "unbounded");
}

static void test_rules(void)
{
    D3D12_ROOT_PARAMETER1 parameter = descriptors1[0];
    parameter.ParameterType = (D3D12_ROOT_PARAMETER_TYPE)5;
    expect_parameter_refused(&parameter, "ParameterType");
    parameter = descriptors1[0];
    parameter.ShaderVisibility = (D3D12_SHADER_VISIBILITY)8;
    expect_parameter_refused(&parameter, "ShaderVisibility");
    parameter = descriptors1[0];
    parameter.Descriptor.Flags = (D3D12_ROOT_DESCRIPTOR_FLAGS)1;
    expect_parameter_refused(&parameter, "Flags");
    parameter = table1;
    parameter.DescriptorTable.pDescriptorRanges = NULL;
    expect_parameter_refused(&parameter, "pDescriptorRanges");
    expect_parameter_refused(NULL, "pParameters");
    expect_refused(&(D3D12_ROOT_SIGNATURE_DESC1){ .Flags = (D3D12_ROOT_SIGNATURE_FLAGS)0x1000 }, "Flags");
    struct sampler1 bad = { sampler, 0 };
    bad.desc.AddressV = (D3D12_TEXTURE_ADDRESS_MODE)0;
    expect_refused(&(D3D12_ROOT_SIGNATURE_DESC1){ .NumStaticSamplers = 1, .pStaticSamplers = &bad.desc }, "address");
    const D3D12_STATIC_SAMPLER_DESC twice[] = { sampler, sampler };
    expect_refused(&(D3D12_ROOT_SIGNATURE_DESC1){ .NumStaticSamplers = 2, .pStaticSamplers = twice }, "s3 of space 9");
    D3D12_ROOT_PARAMETER1 many[33];
    for (UINT i = 0; i < 33; i++) {
        many[i] = descriptors1[1];
        many[i].Descriptor.ShaderRegister = i;
    }
    D3D12_ROOT_SIGNATURE_DESC1 desc = { .NumParameters = 33, .pParameters = many };
    expect_refused(&desc, "66 32-bit words");
    desc.Flags = D3D12_ROOT_SIGNATURE_FLAG_LOCAL_ROOT_SIGNATURE;
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC versioned = { D3D_ROOT_SIGNATURE_VERSION_1_1, { .Desc_1_1 = desc } };
    api_release(serialize(&versioned));
    /* One register for two disjoint stages. */
    many[1] = many[0];
    many[0].ShaderVisibility = D3D12_SHADER_VISIBILITY_VERTEX;
    many[1].ShaderVisibility = D3D12_SHADER_VISIBILITY_PIXEL;
    versioned.Desc_1_1 = (D3D12_ROOT_SIGNATURE_DESC1){ .NumParameters = 2, .pParameters = many };
    api_release(serialize(&versioned));
    many[1].ShaderVisibility = D3D12_SHADER_VISIBILITY_ALL;
    expect_refused(&versioned.Desc_1_1, "t0 of space 0");
    ID3DBlob *blob = (ID3DBlob *)many, *error = NULL;
    versioned.Version = (D3D_ROOT_SIGNATURE_VERSION)4;
    ok_hr(D3D12SerializeVersionedRootSignature(&versioned, &blob, &error), E_INVALIDARG);
    need(error);
    api_release(error);
    ok_hr(D3D12SerializeVersionedRootSignature(NULL, &blob, NULL), E_INVALIDARG);
    ok_hr(D3D12SerializeVersionedRootSignature(&versioned, NULL, NULL), E_INVALIDARG);
    ok_hr(D3D12SerializeRootSignature(NULL, D3D_ROOT_SIGNATURE_VERSION_1_0, &blob, NULL), E_INVALIDARG);
    const D3D12_ROOT_SIGNATURE_DESC empty = { 0 };
    ok_hr(D3D12SerializeRootSignature(&empty, D3D_ROOT_SIGNATURE_VERSION_1_1, &blob, NULL), E_INVALIDARG);
    ok(!blob, "the output is not cleared");
}

/* ---- bytes that are not a root signature ---- */

/* Every byte matters: the digest detects a changed one. Without a digest the reader must detect harmful ones. */
static void test_damaged(ID3D12Device *device)
{
    const D3D12_VERSIONED_ROOT_SIGNATURE_DESC desc = { D3D_ROOT_SIGNATURE_VERSION_1_1,
                                                       { .Desc_1_1 = { 1, &table1, 1, &sampler, 0 } } };
    ID3DBlob *blob = serialize(&desc);
    SIZE_T size = size_of(blob);
    unsigned char *copy = malloc(size);
    uint32_t seed = 12345, accepted = 0;
    for (SIZE_T i = 0; i < size; i++) {
        memcpy(copy, data_of(blob), size);
        copy[i] ^= 1u << i % 8;
        ok_hr(create(device, copy, size), E_INVALIDARG);
        ok_hr(create(device, data_of(blob), i), E_INVALIDARG);
    }
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, data_of(blob), size);
        memset(copy + 4, 0, 16);
        for (int i = round % 4; i >= 0; i--) {
            seed = seed * 1664525u + 1013904223u;
            size_t at = 24 + (seed >> 8) % (size - 24);
            seed = seed * 1664525u + 1013904223u;
            copy[at] = seed & 0x10000 ? (unsigned char)(seed >> 24) : 0xff;
        }
        HRESULT hr = create(device, copy, size);
        ok(hr == S_OK || hr == E_INVALIDARG, "round %d: 0x%08x", round, (unsigned)hr);
        accepted += hr == S_OK;
    }
    ok(accepted && accepted < 20000, "%u of 20000 accepted", accepted);
    ok_hr(create(device, NULL, size), E_INVALIDARG);
    void *out = device;
    ok_hr(ID3D12Device_CreateRootSignature(device, 2, data_of(blob), size, &IID_ID3D12RootSignature, &out),
          E_INVALIDARG);
    ok_hr(ID3D12Device_CreateRootSignature(device, 0, data_of(blob), size, &IID_ID3D12Fence, &out), E_NOINTERFACE);
    ok(!out, "the output is not cleared");
    free(copy);
    api_release(blob);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_known(device);
    test_back(device);
    test_ranges();
    test_rules();
    test_damaged(device);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
