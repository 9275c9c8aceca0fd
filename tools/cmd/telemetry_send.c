/* SPDX-License-Identifier: Apache-2.0 */
/* Records as OTLP logs in JSON over HTTP (opentelemetry.io/docs/specs/otlp), through libcurl. */
#define _GNU_SOURCE
#include "tools/child.h"
#include "tools/cmd/telemetry.h"

#include <anydml.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef ANYDML_CURL
#include <curl/curl.h>
#endif

const char *tools_telemetry_endpoint(const struct telemetry_settings *settings, const char **out_source)
{
    const char *standard = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    *out_source = "chosen";
    if (strcmp(settings->endpoint, "none") == 0)
        return NULL;
    if (*settings->endpoint)
        return settings->endpoint;
    *out_source = "OTEL_EXPORTER_OTLP_ENDPOINT";
    return standard && *standard ? standard : NULL;
}

bool tools_telemetry_can_post(void)
{
#ifdef ANYDML_CURL
    return true;
#else
    return false;
#endif
}

#ifdef ANYDML_CURL

static void print_attribute(FILE *file, const char *comma, const char *key, const char *value)
{
    fprintf(file, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":\"%s\"}}", comma, key, value);
}

/* Records contain nothing that JSON would have to escape. 64-bit numbers are strings there. */
static void print_row(FILE *file, const char *comma, const struct telemetry_row *row)
{
    long long start = telemetry_row_time(row);
    fprintf(file, "%s{\"timeUnixNano\":\"%lld000000000\",\"observedTimeUnixNano\":\"%lld000000000\",", comma, start,
            start);
    fprintf(file, "\"severityNumber\":9,\"severityText\":\"INFO\",\"body\":{\"stringValue\":\"active\"},"
                  "\"attributes\":[");
    print_attribute(file, "", "anydml.component", row->component);
    print_attribute(file, ",", "anydml.device", row->device);
    print_attribute(file, ",", "anydml.version", row->version);
    print_attribute(file, ",", "os.name", row->os);
    print_attribute(file, ",", "os.version", row->os_version);
    fprintf(file, "]}");
}

/* NULL when memory is short. */
static char *request_body(const struct telemetry_rows *rows)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return NULL;
    fprintf(file, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[");
    print_attribute(file, "", "service.name", "anydml");
    fprintf(file, "]},\"scopeLogs\":[{\"scope\":{\"name\":\"anydml.telemetry\"},\"logRecords\":[");
    for (uint32_t i = 0; i < rows->count; i++)
        print_row(file, i ? "," : "", &rows->rows[i]);
    fprintf(file, "]}]}]}\n");
    bool bad = ferror(file);
    if (fclose(file) != 0 || bad) {
        free(text);
        return NULL;
    }
    return text;
}

static size_t discard(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

/* Redirections are not followed: records are sent to the endpoint of the user only. */
static bool post(CURL *curl, const char *url, const char *body, struct tools_error *error)
{
    char reason[CURL_ERROR_SIZE] = "";
    long code = 0;
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "anydml");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 30L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    CURLcode result = headers ? curl_easy_perform(curl) : CURLE_OUT_OF_MEMORY;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    curl_slist_free_all(headers);
    if (result != CURLE_OK)
        return tools_fail(error, TOOLS_RUNTIME, "%s: %s", url, *reason ? reason : curl_easy_strerror(result));
    if (code < 200 || code > 299)
        return tools_fail(error, TOOLS_RUNTIME, "%s answered %ld", url, code);
    return true;
}

bool tools_telemetry_post(const char *endpoint, const struct telemetry_rows *rows, struct tools_error *error)
{
    char url[TELEMETRY_ENDPOINT_MAX + 16];
    size_t length = strlen(endpoint);
    if (!telemetry_endpoint_valid(endpoint))
        return tools_fail(error, TOOLS_USAGE, "the endpoint '%s' is not an http:// or https:// URL", endpoint);
    while (endpoint[length - 1] == '/')
        length--;
    snprintf(url, sizeof(url), "%.*s/v1/logs", (int)length, endpoint);
    char *body = request_body(rows);
    if (!body)
        return tools_fail_memory(error);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = curl_easy_init();
    bool ok = curl ? post(curl, url, body, error) : tools_fail_memory(error);
    if (curl)
        curl_easy_cleanup(curl);
    curl_global_cleanup();
    free(body);
    return ok;
}

#else

bool tools_telemetry_post(const char *endpoint, const struct telemetry_rows *rows, struct tools_error *error)
{
    (void)endpoint;
    (void)rows;
    return tools_fail(error, TOOLS_USAGE, "this anydml was built without libcurl and cannot send");
}

#endif

/* A separate program in a session of its own: the command ends without waiting, and its terminal may close. */
static void send_detached(void)
{
    char *words[] = { "anydml", "telemetry", "send", NULL };
    const struct tools_child child = { .program = TOOLS_CHILD_SELF,
                                       .words = words,
                                       .files = { TOOLS_CHILD_NULL, TOOLS_CHILD_NULL, TOOLS_CHILD_NULL },
                                       .detached = true };
    pid_t pid;
    tools_child_start(&child, &pid); /* an error leaves the records for the next command */
}

void tools_telemetry_record(const char *kind)
{
    struct telemetry_settings settings;
    const char *source;
    if (!telemetry_record("command", kind) || !tools_telemetry_can_post())
        return;
    telemetry_settings_load(&settings);
    if (tools_telemetry_endpoint(&settings, &source))
        send_detached();
}
