/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for one DML_BUFFER_BINDING. */
#include "dml/dml.h"

#include <stdarg.h>
#include <stdio.h>

void dml_bind_fail(const struct dml_bind_site *site, const char *format, ...)
{
    char text[512], element[32] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (site->element != GRAPH_NONE)
        snprintf(element, sizeof(element), ", buffer %u", site->element);
    dml_device_remove(dml_parent(site->table), site->table, E_INVALIDARG, "%s: %s, %s %u%s: %s", site->method, site->op,
                      site->kind, site->index, element, text);
}

static const char *heap_type_name(D3D12_HEAP_TYPE type)
{
    static const char *const names[] = { "DEFAULT", "UPLOAD", "READBACK", "CUSTOM" };
    unsigned index = (unsigned)type - D3D12_HEAP_TYPE_DEFAULT;
    return index < ARRAY_SIZE(names) ? names[index] : "unknown";
}

static bool check_heap(const struct dml_bind_site *site, const struct anydml_resource_info *info, bool upload)
{
    if (info->heap_type == D3D12_HEAP_TYPE_DEFAULT || info->heap_type == D3D12_HEAP_TYPE_CUSTOM ||
        (upload && info->heap_type == D3D12_HEAP_TYPE_UPLOAD))
        return true;
    dml_bind_fail(site, "invalid D3D12_HEAP_TYPE %s: the buffer must be in a heap of type DEFAULT%s or CUSTOM",
                  heap_type_name(info->heap_type), upload ? ", UPLOAD" : "");
    return false;
}

static bool check_range(const struct dml_bind_site *site, const DML_BUFFER_BINDING *binding,
                        const struct dml_bind_rule *rule, const struct anydml_resource_info *info)
{
    unsigned long long offset = binding->Offset, size = binding->SizeInBytes, width = info->width;
    if (offset > width || size > width - offset)
        dml_bind_fail(site, "Offset %llu and SizeInBytes %llu reach beyond the buffer's %llu bytes", offset, size,
                      width);
    else if (offset % rule->alignment)
        dml_bind_fail(site, "Offset %llu is not a multiple of %u", offset, rule->alignment);
    else if ((info->memory_offset + offset) % rule->alignment) /* memory owned by the application */
        dml_bind_fail(site, "Offset %llu is not a multiple of %u from address 0", offset, rule->alignment);
    else if (size % 4)
        dml_bind_fail(site, "SizeInBytes %llu is not a multiple of 4", size);
    else if (size < rule->bytes)
        dml_bind_fail(site, "SizeInBytes is %llu, at least %llu are needed", size, (unsigned long long)rule->bytes);
    else
        return true;
    return false;
}

/* SizeInBytes 0: all words up to the buffer's end. */
static DML_BUFFER_BINDING sized(const struct dml_bind_site *site, const DML_BUFFER_BINDING *binding,
                                const struct anydml_resource_info *info)
{
    DML_BUFFER_BINDING out = *binding;
    if (out.SizeInBytes || out.Offset > info->width)
        return out;
    out.SizeInBytes = (info->width - out.Offset) & ~UINT64_C(3);
    dml_warn(dml_parent(site->table), site->table,
             "%s: %s, %s %u: SizeInBytes is 0; using %llu, up to the end of the buffer", site->method, site->op,
             site->kind, site->index, (unsigned long long)out.SizeInBytes);
    return out;
}

bool dml_bind_buffer(const struct dml_bind_site *site, const DML_BUFFER_BINDING *given,
                     const struct dml_bind_rule *rule, uint32_t descriptor)
{
    struct dml_binding_table *table = site->table;
    struct dml_device *device = dml_parent(table);
    struct anydml_resource_info info;
    if (!device->d3d12->lpVtbl->GetResourceInfo(device->d3d12, given->Buffer, &info)) {
        dml_bind_fail(site, "Buffer is not a buffer resource of the parent device");
        return false;
    }
    const DML_BUFFER_BINDING binding = sized(site, given, &info);
    if (!check_heap(site, &info, rule->upload) || !check_range(site, &binding, rule, &info))
        return false;
    if (!(info.flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS) && info.heap_type != D3D12_HEAP_TYPE_UPLOAD)
        dml_warn(device, table, "%s: %s, %s %u: the buffer was created without ALLOW_UNORDERED_ACCESS", site->method,
                 site->op, site->kind, site->index);
    table->buffers[descriptor] = (struct anydml_buffer){ info.resource_id, binding.Offset, binding.SizeInBytes };
    table->places[descriptor] = (struct dml_place){ info.memory_id, info.memory_offset + binding.Offset };
    return true;
}

void dml_bind_nothing(struct dml_binding_table *table, uint32_t descriptor)
{
    table->buffers[descriptor] = (struct anydml_buffer){ 0 };
    table->places[descriptor] = (struct dml_place){ 0 };
}
