/* SPDX-License-Identifier: Apache-2.0 */
/* The process around the library: its ONNX Runtime, and devices and queues that callers pass for later sessions. */
#ifndef EP_HOST_H
#define EP_HOST_H

#include "ep.h"

/* The oldest host that supports a compiling provider, */
#define EP_OLDEST_VERSION 23

/* ---- host.c ---- */
/* The newest interface known to both sides: functions are only ever appended. NULL: the host is too old. The
 * interface's number is the host's minor version; the host complains on stderr when asked for a newer one. */
const OrtApi *ep_host_newest(const OrtApiBase *base, uint32_t *version);
/* ONNX Runtime created or released a factory; with the last, the handles are dropped. */
void ep_host_enter(const OrtApiBase *base);
void ep_host_leave(void);
bool ep_host_registered(void);
const OrtApiBase *ep_host_base(void); /* NULL: not found in the process */

/* ---- handles.c: devices and queues of callers by number, which is passed through session options as text ---- */

/* Adds references; the same pair has one number. 0: out of memory. */
uint32_t ep_handle_add(IDMLDevice *dml, ID3D12CommandQueue *queue);
/* Referenced for the caller. */
bool ep_handle_get(uint32_t handle, IDMLDevice **out_dml, ID3D12CommandQueue **out_queue);
void ep_handles_drop(void);

/* The option with the number, as sessions keep it. */
#define EP_HANDLE_OPTION "dml_handle"

#endif
