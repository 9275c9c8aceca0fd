/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLOperator: a checked, self-contained copy of a description. */
#include "dml/dml.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

static void operator_destroy(struct com_object *object)
{
    struct dml_operator *op = (struct dml_operator *)object;
    schema_desc_destroy(op->desc);
    com_finish(object);
    free(op);
}

static const IID *const operator_iids[] = { &IID_IDMLObject, &IID_IDMLDeviceChild, &IID_IDMLOperator, NULL };

static const struct com_class operator_class = { "IDMLOperator", operator_iids, operator_destroy, NULL };

const IDMLOperatorVtbl dml_operator_vtbl = { COM_CHILD_METHODS };

HRESULT dml_device_CreateOperator(DML_DEVICE, const DML_OPERATOR_DESC *desc, REFIID riid, void **out)
{
    struct dml_device *device = dml_device_from(iface);
    struct schema_error error;
    struct schema_desc *copy;
    HRESULT hr = dml_create_begin(device, out);
    if (FAILED(hr))
        return hr;
    hr = schema_validate(desc, DML_HIGHEST_LEVEL, &error);
    if (FAILED(hr))
        return dml_fail(device, NULL, hr, "IDMLDevice::CreateOperator: %s", error.text);
    hr = schema_desc_create(desc, &copy);
    if (FAILED(hr))
        return hr;
    struct dml_operator *op = calloc(1, sizeof(*op));
    if (!op) {
        schema_desc_destroy(copy);
        return E_OUTOFMEMORY;
    }
    com_init(&op->base, &dml_operator_vtbl, &operator_class, &device->base);
    op->desc = copy;
    return com_return(&op->base, riid, out);
}
