/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry under the user's control: off unless enabled, kept in one local file, and never sent from here. This folder
 * opens no socket; the anydml command sends it to the endpoint that the user chose.
 *
 * Every function may be called from any thread and any number of processes concurrently. Contents and location:
 * docs/telemetry.md. */
#ifndef TELEMETRY_TELEMETRY_H
#define TELEMETRY_TELEMETRY_H

#include "base/base.h"

#define TELEMETRY_ENDPOINT_MAX 1024
#define TELEMETRY_PATH_MAX     4096
#define TELEMETRY_LINE_MAX     256         /* of one record in the file */
#define TELEMETRY_FILE_MAX     (256 << 10) /* bytes; the older half is dropped when the file would exceed this */

enum telemetry_result {
    TELEMETRY_OK,
    TELEMETRY_MISSING, /* the file does not exist */
    TELEMETRY_NO_HOME, /* neither the XDG variable nor HOME is an absolute folder */
    TELEMETRY_UNSAFE,  /* a link, not a regular file, or writable by others: ignored */
    TELEMETRY_DAMAGED, /* not in our format */
    TELEMETRY_BUSY,    /* locked by another process */
    TELEMETRY_FAILED,  /* a system call failed; errno has the reason */
};

/* The meaning of a result, as the rest of a sentence that starts with the name of the file. */
const char *telemetry_result_text(enum telemetry_result result);

/* ---- place.c: the two files ---- */

enum telemetry_place { TELEMETRY_SETTINGS, TELEMETRY_RECORDS };

/* For messages. false if there is no home folder. */
bool telemetry_path(enum telemetry_place place, char out[TELEMETRY_PATH_MAX]);

/* A descriptor of the folder, which must be accessible by this user only; with `create` it is created. */
enum telemetry_result telemetry_open_folder(enum telemetry_place place, bool create, int *out);
/* A descriptor of a file in it, which must be a regular file of this user only. `flags` as for open. */
enum telemetry_result telemetry_open_file(int folder, const char *name, int flags, int *out);
enum telemetry_result telemetry_open(enum telemetry_place place, int flags, int *out);
/* The name of the file in its folder. */
const char *telemetry_name(enum telemetry_place place);
/* Waits for a short time at most, so that the caller cannot be blocked. `operation` as for flock. */
enum telemetry_result telemetry_lock(int file, int operation);
enum telemetry_result telemetry_write(int file, const char *text, size_t size);

/* ---- settings.c: the switch and the endpoint ---- */

struct telemetry_settings {
    bool on;
    char endpoint[TELEMETRY_ENDPOINT_MAX]; /* a URL, "none", or "" if not chosen */
};

/* Unreadable settings count as no choice. */
enum telemetry_result telemetry_settings_load(struct telemetry_settings *out);
enum telemetry_result telemetry_settings_store(const struct telemetry_settings *settings);
/* http:// or https://, a host, and only characters that are valid before /v1/logs. */
bool telemetry_endpoint_valid(const char *url);

enum telemetry_variable { TELEMETRY_UNSET, TELEMETRY_VARIABLE_ON, TELEMETRY_VARIABLE_OFF, TELEMETRY_VARIABLE_BAD };

/* ANYDML_TELEMETRY. A value other than 0 and 1 counts as 0. */
enum telemetry_variable telemetry_variable(void);
bool telemetry_is_on(void);

/* ---- rows.c: the records ---- */

struct telemetry_row {
    char day[11]; /* YYYY-MM-DD, UTC */
    char component[16], device[4], version[16], os[48], os_version[32];
    bool sent;
};

struct telemetry_rows {
    struct telemetry_row *rows; /* oldest first */
    uint32_t count;
    uint32_t damaged; /* lines that are not ours, left out */
};

/* Today's record. false when the component or kind is unknown, or the clock is off. */
bool telemetry_row_make(const char *component, const char *kind, struct telemetry_row *out);
/* One line of JSON. */
int telemetry_row_print(const struct telemetry_row *row, char out[TELEMETRY_LINE_MAX]);
/* Start of its day in seconds since 1970. */
int64_t telemetry_row_time(const struct telemetry_row *row);

enum telemetry_result telemetry_rows_load(struct telemetry_rows *out);
void telemetry_rows_finish(struct telemetry_rows *rows);
/* Marks these records in the file if they still exist. */
enum telemetry_result telemetry_rows_mark_sent(const struct telemetry_rows *sent);
enum telemetry_result telemetry_rows_clear(void);

/* Stores one record for the day, the component ("onnxruntime", "torch", "command") and the kind of device ("cpu",
 * "gpu", "npu") if telemetry is on; nothing if it is off or on any error. true if this was the component's first record
 * of the day. Preserves errno. */
bool telemetry_record(const char *component, const char *kind);

/* ---- os.c ---- */

/* The distribution's name and version. */
void telemetry_os(char name[48], char version[32]);
/* The same from one text in the form of os-release. */
void telemetry_os_parse(const char *text, char name[48], char version[32]);

#endif
