/* SPDX-License-Identifier: Apache-2.0 */
/* anydml tune on a device that runs shaders: selects the kernel of each class of a model's ops. */
#ifndef TOOLS_TUNE_DEVICE_H
#define TOOLS_TUNE_DEVICE_H

#include "tools/session.h"

struct tools_tune_device {
    struct tools_session *session;
    char *const *models; /* paths */
    uint32_t model_count;
    bool json, force;
};

bool tools_tune_device(const struct tools_tune_device *tune, struct tools_error *error);

#endif
