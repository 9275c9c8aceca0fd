/* SPDX-License-Identifier: Apache-2.0 */
// A client that takes the identifiers from DirectMLGuids.h.
#include <DirectML.h>
#include <DirectMLGuids.h>
#include "client.h"
