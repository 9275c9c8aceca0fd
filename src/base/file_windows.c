/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <wchar.h>
#include <windows.h>

#define PATH_MOST 4096 /* characters */

static void *fail(int why)
{
    errno = why;
    return NULL;
}

static void *fail_as_system(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
        return fail(ENOENT);
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        return fail(EACCES);
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT:
        return fail(ENOMEM);
    case ERROR_TOO_MANY_OPEN_FILES:
        return fail(EMFILE);
    case ERROR_FILENAME_EXCED_RANGE:
    case ERROR_INSUFFICIENT_BUFFER:
        return fail(ENAMETOOLONG);
    default:
        return fail(EIO);
    }
}

/* A file or folder with a UTF-8 name, which may be longer than MAX_PATH. INVALID_HANDLE_VALUE with GetLastError. */
static HANDLE open_path(const char *path, DWORD access)
{
    wchar_t given[PATH_MOST], full[PATH_MOST + 4] = L"\\\\?\\";
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, given, PATH_MOST))
        return INVALID_HANDLE_VALUE;
    DWORD length = GetFullPathNameW(given, PATH_MOST, full + 4, NULL);
    if (!length || length >= PATH_MOST) {
        SetLastError(length ? ERROR_FILENAME_EXCED_RANGE : GetLastError());
        return INVALID_HANDLE_VALUE;
    }
    /* Paths of shares and devices already start with two of these. */
    return CreateFileW(full[4] == L'\\' ? full + 4 : full, access,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                       FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

/* The handle is closed. */
static void *map(HANDLE file, size_t *out_size)
{
    BY_HANDLE_FILE_INFORMATION about;
    HANDLE mapping = NULL;
    void *address = NULL;
    if (file == INVALID_HANDLE_VALUE) {
        fail_as_system();
    } else if (GetFileType(file) != FILE_TYPE_DISK) {
        errno = EINVAL;
    } else if (!GetFileInformationByHandle(file, &about)) {
        fail_as_system();
    } else if (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
        errno = EISDIR;
    } else if (!(*out_size = (size_t)about.nFileSizeHigh << 32 | about.nFileSizeLow)) {
        errno = ENODATA;
    } else {
        mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
        address = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
        if (!address)
            fail_as_system();
    }
    if (mapping)
        CloseHandle(mapping); /* the view keeps the mapping, which keeps the file */
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return address;
}

void *base_map_file(const char *path, size_t *out_size)
{
    return map(open_path(path, GENERIC_READ), out_size);
}

static const char *last_part(const char *path)
{
    const char *last = path;
    for (; *path; path++)
        if (*path == '/' || *path == '\\' || *path == ':')
            last = path + 1;
    return last;
}

/* The path of an open file or folder without links; its length, 0 on failure. */
static size_t real_path(HANDLE file, wchar_t *out)
{
    DWORD length = file == INVALID_HANDLE_VALUE ? 0 : GetFinalPathNameByHandleW(file, out, PATH_MOST, 0);
    return length < PATH_MOST ? length : 0;
}

static bool lies_in(const wchar_t *path, const wchar_t *folder, size_t length)
{
    return length && !wcsncmp(path, folder, length) && (path[length] == L'\\' || folder[length - 1] == L'\\');
}

static bool lies_beside(const char *beside, const char *folder, HANDLE file)
{
    wchar_t path[PATH_MOST] = L"", other[PATH_MOST];
    HANDLE of_folder = open_path(folder[0] ? folder : ".", 0), of_beside = open_path(beside, 0);
    bool found = real_path(file, path) && lies_in(path, other, real_path(of_folder, other));
    size_t length = found ? 0 : real_path(of_beside, other);
    while (length && other[length - 1] != L'\\')
        length--;
    if (of_folder != INVALID_HANDLE_VALUE)
        CloseHandle(of_folder);
    if (of_beside != INVALID_HANDLE_VALUE)
        CloseHandle(of_beside);
    return found || lies_in(path, other, length);
}

void *base_map_beside(const char *beside, const char *name, size_t *out_size)
{
    char path[PATH_MOST];
    size_t length = (size_t)(last_part(beside) - beside);
    if (!name[0] || name[0] == '/' || name[0] == '\\' || strchr(name, ':'))
        return fail(EINVAL);
    if (length + strlen(name) >= sizeof(path))
        return fail(ENAMETOOLONG);
    memcpy(path, beside, length);
    strcpy(path + length, name);
    HANDLE file = open_path(path, GENERIC_READ);
    path[length] = 0;
    if (file != INVALID_HANDLE_VALUE && GetFileType(file) == FILE_TYPE_DISK && !lies_beside(beside, path, file)) {
        CloseHandle(file);
        return fail(EXDEV);
    }
    return map(file, out_size);
}

void base_unmap_file(void *address, size_t size)
{
    (void)size;
    UnmapViewOfFile(address);
}

void base_forget_pages(const void *data, uint64_t bytes)
{
    VirtualUnlock((void *)data, (size_t)bytes); /* of pages that are not locked: they leave the working set */
}

FILE *base_open_named(const char *path, bool keep)
{
    const DWORD about = GetFileAttributesA(path);
    if (about != INVALID_FILE_ATTRIBUTES && (about & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT))) {
        errno = about & FILE_ATTRIBUTE_DIRECTORY ? EISDIR : EINVAL;
        return NULL;
    }
    return fopen(path, keep && about != INVALID_FILE_ATTRIBUTES ? "r+b" : "wb");
}
