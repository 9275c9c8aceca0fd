# SPDX-License-Identifier: Apache-2.0
"""The name of the device in torch: "dml", or torch's own "privateuseone" for programs that compare device.type with it."""
import os

#: The value of TORCH_DIRECTML_DEVICE_TYPE when torch_directml is imported, by default "dml".
DEVICE_TYPE = os.environ.get("TORCH_DIRECTML_DEVICE_TYPE") or "dml"
if DEVICE_TYPE not in ("dml", "privateuseone"):
    raise ImportError(f"TORCH_DIRECTML_DEVICE_TYPE={DEVICE_TYPE}: must be dml or privateuseone")
