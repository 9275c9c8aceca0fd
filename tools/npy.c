/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/npy.h"

#include "tools/output.h"

#include "base/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char npy_magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

static const struct {
    char code[4];
    int32_t type;
} npy_types[] = {
    { "f4", ONNX_FLOAT }, { "f2", ONNX_FLOAT16 }, { "f8", ONNX_DOUBLE }, { "u1", ONNX_UINT8 },
    { "i1", ONNX_INT8 },  { "u2", ONNX_UINT16 },  { "i2", ONNX_INT16 },  { "u4", ONNX_UINT32 },
    { "i4", ONNX_INT32 }, { "u8", ONNX_UINT64 },  { "i8", ONNX_INT64 },  { "b1", ONNX_BOOL },
};

uint64_t tools_array_count(const struct tools_array *array)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < array->rank; i++)
        count *= (uint64_t)array->dims[i];
    return count;
}

bool tools_array_init(struct tools_array *array, int32_t type, uint32_t rank, const int64_t *dims,
                      struct tools_error *error)
{
    uint64_t bytes = onnx_type_bytes(type);
    *array = (struct tools_array){ .type = type, .rank = rank };
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || !base_mul_u64(bytes, (uint64_t)dims[i], &bytes) || bytes > INT64_MAX)
            return tools_fail(error, TOOLS_USAGE, "a tensor is larger than memory can be");
        array->dims[i] = dims[i];
    }
    array->bytes = bytes;
    array->data = base_memory_fits(bytes) ? calloc(1, bytes ? bytes : 1) : NULL;
    return array->data ? true : tools_fail_memory(error);
}

void tools_array_finish(struct tools_array *array)
{
    free(array->data);
    array->data = NULL;
}

/* The text after "'key':", without leading blanks, or NULL. */
static const char *npy_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

static bool npy_parse_type(const char *header, int32_t *type, const char **why)
{
    *why = "its header has no 'descr'";
    const char *at = npy_value(header, "'descr'");
    if (!at)
        return false;
    *why = "its type is not a plain number (big-endian, structured and complex types are not read)";
    if (*at != '\'' || !strchr("<|=", at[1]) || !at[1] || !at[2] || !at[3] || at[4] != '\'')
        return false;
    for (uint32_t i = 0; i < ARRAY_SIZE(npy_types); i++) {
        if (memcmp(at + 2, npy_types[i].code, 2) == 0) {
            *type = npy_types[i].type;
            return true;
        }
    }
    return false;
}

static bool npy_parse_shape(const char *header, uint32_t *rank, int64_t *dims, const char **why)
{
    *why = "its header has no 'shape'";
    const char *at = npy_value(header, "'shape'");
    if (!at || *at != '(')
        return false;
    *why = "its shape is not a list of up to 8 sizes";
    *rank = 0;
    for (at++;;) {
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ')')
            return true;
        char *end;
        errno = 0;
        long long size = strtoll(at, &end, 10);
        if (end == at || errno || size < 0 || *rank == ONNX_RANK_MAX)
            return false;
        if (*end == 'L') /* as Python 2 wrote it */
            end++;
        dims[(*rank)++] = size;
        at = end;
    }
}

/* Checks the order of the elements: with at most one size above 1 both orders are the same. */
static bool npy_parse_order(const char *header, uint32_t rank, const int64_t *dims, const char **why)
{
    *why = "its header has no 'fortran_order'";
    const char *at = npy_value(header, "'fortran_order'");
    if (!at)
        return false;
    if (strncmp(at, "False", 5) == 0)
        return true;
    uint32_t wide = 0;
    for (uint32_t i = 0; i < rank; i++)
        wide += dims[i] > 1;
    *why = "it is in Fortran order; save it with numpy.ascontiguousarray";
    return strncmp(at, "True", 4) == 0 && wide <= 1;
}

/* The header's text, zero-terminated, in *out; *why has the error. */
static bool npy_read_header(FILE *file, char **out, const char **why)
{
    unsigned char start[12];
    *why = "it is not an .npy file";
    if (fread(start, 1, 10, file) != 10 || memcmp(start, npy_magic, 6) != 0)
        return false;
    *why = "its version is unknown";
    if (start[6] < 1 || start[6] > 3)
        return false;
    size_t size = start[8] | start[9] << 8;
    *why = "it ends in the header";
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, file) != 2)
            return false;
        size |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    *why = "its header is longer than 64 KiB";
    if (size > 65535)
        return false;
    *why = "it ends in the header";
    char *text = calloc(1, size + 1);
    if (!text || fread(text, 1, size, file) != size) {
        free(text);
        return false;
    }
    *out = text;
    return true;
}

static bool npy_read_file(FILE *file, struct tools_array *out, const char **why, struct tools_error *error)
{
    char *header = NULL;
    struct tools_array parsed = { 0 };
    struct stat about;
    bool ok = npy_read_header(file, &header, why) && npy_parse_type(header, &parsed.type, why) &&
              npy_parse_shape(header, &parsed.rank, parsed.dims, why) &&
              npy_parse_order(header, parsed.rank, parsed.dims, why);
    free(header);
    if (!ok)
        return false;

    /* The file's length is compared first: a wrong shape must not allocate more than the file has. */
    uint64_t bytes = onnx_type_bytes(parsed.type);
    *why = "it is shorter than its shape requires";
    for (uint32_t i = 0; i < parsed.rank; i++)
        if (!base_mul_u64(bytes, (uint64_t)parsed.dims[i], &bytes))
            return false;
    long at = ftell(file);
    if (at < 0 || fstat(fileno(file), &about) || about.st_size < at || bytes > (uint64_t)(about.st_size - at))
        return false;
    *why = NULL;
    if (!tools_array_init(out, parsed.type, parsed.rank, parsed.dims, error))
        return false;
    *why = "it cannot be read";
    return fread(out->data, 1, out->bytes, file) == out->bytes;
}

bool tools_npy_read(const char *path, struct tools_array *out, struct tools_error *error)
{
    FILE *file = fopen(path, "rb");
    *out = (struct tools_array){ 0 };
    if (!file)
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", path, strerror(errno));
    const bool ok = tools_npy_read_open(file, path, out, error);
    fclose(file);
    return ok;
}

bool tools_npy_read_open(FILE *file, const char *path, struct tools_array *out, struct tools_error *error)
{
    const char *why = NULL;
    *out = (struct tools_array){ 0 };
    bool ok = npy_read_file(file, out, &why, error);
    if (ok)
        return true;
    tools_array_finish(out);
    return why ? tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", path, why) : false;
}

static const char *npy_type_code(int32_t type)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(npy_types); i++)
        if (npy_types[i].type == type)
            return npy_types[i].code;
    return NULL;
}

bool tools_npy_write(const char *path, const struct tools_array *array, struct tools_error *error)
{
    char shape[256] = "", header[512];
    const char *code = npy_type_code(array->type);
    if (!code)
        return tools_fail(error, TOOLS_USAGE, "cannot write %s: .npy has no type for %s", path,
                          onnx_type_name(array->type));
    for (uint32_t i = 0, used = 0; i < array->rank; i++)
        used += (uint32_t)snprintf(shape + used, sizeof(shape) - used, "%lld,%s", (long long)array->dims[i],
                                   i + 1 < array->rank ? " " : "");
    int length = snprintf(header, sizeof(header), "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                          code[1] == '1' ? '|' : '<', code, shape);
    /* Padded so that the data starts at a multiple of 64. */
    int padded = (int)base_align_up((uint64_t)length + 11, 64) - 10;
    unsigned char start[10] = { 0, 0, 0, 0, 0, 0, 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8) };
    memcpy(start, npy_magic, 6);

    struct tools_output output;
    if (!tools_output_open(&output, path, error))
        return false;
    fwrite(start, 1, sizeof(start), output.file);
    fprintf(output.file, "%s%*s\n", header, padded - length - 1, "");
    fwrite(array->data, 1, array->bytes, output.file);
    return tools_output_close(&output, true, error);
}
