/* SPDX-License-Identifier: Apache-2.0 */
/* The provider's events in ONNX Runtime's profile: a slice per compiled program and per run of one. */
#ifndef EP_PROFILE_H
#define EP_PROFILE_H

#include "ep.h"

enum ep_profile_kind { EP_PROFILE_COMPILE, EP_PROFILE_RUN };

uint64_t ep_now_us(void);
/* Records a slice from begin_us to now; free while no profile is recorded. */
void ep_profile_add(struct ep *ep, enum ep_profile_kind kind, const char *name, uint64_t begin_us);

OrtStatus *ep_profile_create(struct ep *ep, OrtEpProfilerImpl **out);

#endif
