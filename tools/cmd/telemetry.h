/* SPDX-License-Identifier: Apache-2.0 */
/* Sending of telemetry, which only the command does. */
#ifndef TOOLS_TELEMETRY_H
#define TOOLS_TELEMETRY_H

#include "telemetry/telemetry.h"
#include "tools/error.h"

/* The effective endpoint, or NULL; *out_source names its source. The user's own choice has priority over
 * OTEL_EXPORTER_OTLP_ENDPOINT; "none" disables that as well. */
const char *tools_telemetry_endpoint(const struct telemetry_settings *settings, const char **out_source);

/* Posts the records as OTLP logs to `endpoint` and waits for the answer; false with the reason if it rejects any. */
bool tools_telemetry_post(const char *endpoint, const struct telemetry_rows *rows, struct tools_error *error);
bool tools_telemetry_can_post(void); /* built with libcurl */

/* Stores a record of the command, and with the first of a day starts `anydml telemetry send` as a separate process, if
 * there is an endpoint. Never fails and never waits. */
void tools_telemetry_record(const char *kind);

#endif
