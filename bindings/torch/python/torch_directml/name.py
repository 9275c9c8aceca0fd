# SPDX-License-Identifier: Apache-2.0
"""What torch calls the device: "dml", or torch's own "privateuseone", for programs that compare device.type with it."""
import os

#: As TORCH_DIRECTML_DEVICE_TYPE says when torch_directml is imported.
DEVICE_TYPE = os.environ.get("TORCH_DIRECTML_DEVICE_TYPE") or "dml"
if DEVICE_TYPE not in ("dml", "privateuseone"):
    raise ImportError(f"TORCH_DIRECTML_DEVICE_TYPE={DEVICE_TYPE}: the device is called dml or privateuseone")
