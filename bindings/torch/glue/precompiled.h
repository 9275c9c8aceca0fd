// SPDX-License-Identifier: Apache-2.0
// The header that scripts/torch/build-torch precompiles for all files. Each file still includes everything it uses and
// compiles without it.
#include "glue.h"

#include <torch/library.h>
