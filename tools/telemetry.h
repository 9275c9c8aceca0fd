/* SPDX-License-Identifier: Apache-2.0 */
/* Sending of telemetry, which only the command does. */
#ifndef TOOLS_TELEMETRY_H
#define TOOLS_TELEMETRY_H

#include "telemetry/telemetry.h"
#include "tools/error.h"

/* The endpoint in force, or NULL; *out_source says where it comes from. The user's own choice comes before
 * OTEL_EXPORTER_OTLP_ENDPOINT; "none" forbids that too. */
const char *tools_telemetry_endpoint(const struct telemetry_settings *settings, const char **out_source);

/* Posts the rows as OTLP logs to `endpoint` and waits for the answer; false with the reason when it took none. */
bool tools_telemetry_post(const char *endpoint, const struct telemetry_rows *rows, struct tools_error *error);
bool tools_telemetry_can_post(void); /* built with libcurl */

/* Keeps a record of the command, and with the first of a day starts `anydml telemetry send` as a process of its own,
 * if there is an endpoint. Never fails and never waits. */
void tools_telemetry_record(const char *kind);

#endif
