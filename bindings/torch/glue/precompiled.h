// SPDX-License-Identifier: Apache-2.0
// What scripts/torch/build-torch compiles once for all files. Each still includes what it uses: they compile without
// this.
#include "glue.h"

#include <torch/library.h>
