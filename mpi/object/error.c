/*
 * Error classes and codes. The codes of the library are classes. A program adds classes and codes
 * of its own, which count on from MPI_ERR_LASTCODE.
 */
#include "mpi/object/error.h"

#include "functions.h"
#include "include/ftcoll.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char cause[MPI_MAX_ERROR_STRING];

/* clang-format off */
static const struct {
    int code;
    const char *text;
} classes[] = {
    { MPI_SUCCESS, "no error" },
    { MPI_ERR_BUFFER, "invalid buffer pointer" },
    { MPI_ERR_COUNT, "invalid count" },
    { MPI_ERR_TYPE, "invalid datatype" },
    { MPI_ERR_TAG, "invalid tag" },
    { MPI_ERR_COMM, "invalid communicator" },
    { MPI_ERR_RANK, "invalid rank" },
    { MPI_ERR_REQUEST, "invalid request" },
    { MPI_ERR_ROOT, "invalid root" },
    { MPI_ERR_GROUP, "invalid group" },
    { MPI_ERR_OP, "invalid operator, or one that is not defined for the datatype" },
    { MPI_ERR_TOPOLOGY, "invalid topology" },
    { MPI_ERR_DIMS, "invalid dimensions" },
    { MPI_ERR_ARG, "invalid argument" },
    { MPI_ERR_UNKNOWN, "unknown error" },
    { MPI_ERR_TRUNCATE, "message longer than the receive buffer" },
    { MPI_ERR_OTHER, "error of another kind" },
    { MPI_ERR_INTERN, "internal error" },
    { MPI_ERR_PENDING, "request still under way" },
    { MPI_ERR_IN_STATUS, "the error is in the status" },
    { MPI_ERR_ACCESS, "permission denied" },
    { MPI_ERR_AMODE, "invalid access mode" },
    { MPI_ERR_ASSERT, "invalid assertion" },
    { MPI_ERR_BAD_FILE, "invalid file name" },
    { MPI_ERR_BASE, "invalid base address" },
    { MPI_ERR_CONVERSION, "error in a conversion of data" },
    { MPI_ERR_DISP, "invalid displacement" },
    { MPI_ERR_DUP_DATAREP, "the data representation is there already" },
    { MPI_ERR_FILE_EXISTS, "the file exists" },
    { MPI_ERR_FILE_IN_USE, "the file is in use" },
    { MPI_ERR_FILE, "invalid file" },
    { MPI_ERR_INFO_KEY, "invalid key of an info object" },
    { MPI_ERR_INFO_NOKEY, "the info object has no such key" },
    { MPI_ERR_INFO_VALUE, "invalid value of an info object" },
    { MPI_ERR_INFO, "invalid info object" },
    { MPI_ERR_IO, "error in input or output" },
    { MPI_ERR_KEYVAL, "invalid key of an attribute" },
    { MPI_ERR_LOCKTYPE, "invalid type of a lock" },
    { MPI_ERR_NAME, "no such service name" },
    { MPI_ERR_NO_MEM, "out of memory" },
    { MPI_ERR_NOT_SAME, "ranks gave different arguments" },
    { MPI_ERR_NO_SPACE, "not enough space" },
    { MPI_ERR_NO_SUCH_FILE, "no such file" },
    { MPI_ERR_PORT, "invalid port name" },
    { MPI_ERR_QUOTA, "quota exceeded" },
    { MPI_ERR_READ_ONLY, "the file is read-only" },
    { MPI_ERR_RMA_ATTACH, "memory cannot be attached" },
    { MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window" },
    { MPI_ERR_RMA_RANGE, "memory outside of the window" },
    { MPI_ERR_RMA_SHARED, "memory cannot be shared" },
    { MPI_ERR_RMA_SYNC, "wrong synchronisation of a window" },
    { MPI_ERR_SERVICE, "invalid service" },
    { MPI_ERR_SIZE, "invalid size" },
    { MPI_ERR_SPAWN, "processes cannot be started" },
    { MPI_ERR_UNSUPPORTED_DATAREP, "data representation not supported" },
    { MPI_ERR_UNSUPPORTED_OPERATION, "operation not supported" },
    { MPI_ERR_WIN, "invalid window" },
    { MPI_ERR_RMA_FLAVOR, "wrong flavor of a window" },
    { MPI_ERR_PROC_ABORTED, "a process has aborted" },
    { MPI_ERR_VALUE_TOO_LARGE, "value too large for its type" },
    { MPI_ERR_SESSION, "invalid session" },
    { MPI_ERR_ERRHANDLER, "invalid error handler" },
    { MPI_ERR_ABI, "wrong binary interface" },
    { MPIX_ERR_PROC_FAILED, "a rank has failed" },
    { MPIX_ERR_PROC_FAILED_PENDING, "a rank has failed; the request is still under way" },
    { MPIX_ERR_REVOKED, "the communicator was revoked" },
    { MPI_T_ERR_NOT_SUPPORTED, "MPI_T is not provided" },
    { MPI_ERR_LASTCODE, "last code of the library" },
};

/* What an error of ftcoll is in MPI. */
static const struct {
    int error, code;
} from_ftcoll[] = {
    { FTC_ERR_ARG, MPI_ERR_ARG },
    { FTC_ERR_NOMEM, MPI_ERR_NO_MEM },
    { FTC_ERR_TYPE, MPI_ERR_OP },
    { FTC_ERR_UNSUPPORTED, MPI_ERR_UNSUPPORTED_OPERATION },
    { FTC_ERR_ROOT_FAILED, MPIX_ERR_PROC_FAILED },
    { FTC_ERR_TOO_MANY_FAILURES, MPIX_ERR_PROC_FAILED },
    { FTC_ERR_RANK_FAILED, MPIX_ERR_PROC_FAILED },
    { FTC_ERR_TRUNCATED, MPI_ERR_TRUNCATE },
    { FTC_ERR_REVOKED, MPIX_ERR_REVOKED },
    { FTC_ERR_FENCED, MPI_ERR_PROC_ABORTED },
};
/* clang-format on */

/* A class or a code that the program added. Entry i is MPI_ERR_LASTCODE + 1 + i. */
struct added {
    int class; /* its own number: it is a class */
    bool removed;
    char *text; /* NULL: it has none */
};
static struct {
    struct added *entries;
    int count;
} added;

int ftc_mpi_error(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    return code;
}

int ftc_mpi_error_from(int error)
{
    if (error >= 0)
        return MPI_SUCCESS;
    const char *words = ftc_last_error();
    int code = MPI_ERR_OTHER;
    for (size_t i = 0; i < sizeof from_ftcoll / sizeof *from_ftcoll; i++)
        if (from_ftcoll[i].error == error)
            code = from_ftcoll[i].code;
    return ftc_mpi_error(code, "%s", *words != '\0' ? words : ftc_strerror(error));
}

int ftc_mpi_not_provided(void)
{
    return ftc_mpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
                         "ftcoll does not provide this function of MPI");
}

int ftc_mpi_no_memory(void)
{
    return ftc_mpi_error(MPI_ERR_NO_MEM, "out of memory");
}

const char *ftc_mpi_error_cause(void)
{
    return cause;
}

int ftc_mpi_narrow(MPI_Count value, int *place)
{
    *place = value > INT_MAX || value < INT_MIN ? MPI_UNDEFINED : (int)value;
    return MPI_SUCCESS;
}

/* The entry of a code that the program added; NULL: there is none. The caller holds the lock. */
static struct added *find(int code)
{
    int i = code - MPI_ERR_LASTCODE - 1;
    return i >= 0 && i < added.count && !added.entries[i].removed ? &added.entries[i] : NULL;
}

const char *ftc_mpi_error_text(int code)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].code == code)
            return classes[i].text;
    ftc_mpi_lock();
    const struct added *entry = find(code);
    const char *text = entry == NULL ? NULL : entry->text == NULL ? "" : entry->text;
    ftc_mpi_unlock();
    return text;
}

int ftc_mpi_error_class_of(int code)
{
    ftc_mpi_lock();
    const struct added *entry = find(code);
    int class = entry == NULL ? code : entry->class;
    ftc_mpi_unlock();
    return class;
}

int ftc_mpi_error_last_used(void)
{
    return MPI_ERR_LASTCODE + added.count;
}

int ftc_mpi_error_add(int class, int *code)
{
    ftc_mpi_lock();
    struct added *grown = realloc(added.entries, (size_t)(added.count + 1) * sizeof *grown);
    if (grown != NULL) {
        added.entries = grown;
        *code = MPI_ERR_LASTCODE + ++added.count;
        grown[added.count - 1] = (struct added){.class = class < 0 ? *code : class};
    }
    ftc_mpi_unlock();
    return grown == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
}

static bool is_class(int code)
{
    return ftc_mpi_error_text(code) != NULL && ftc_mpi_error_class_of(code) == code;
}

int ftc_mpi_error_remove(int code, bool class)
{
    ftc_mpi_lock();
    struct added *entry = find(code);
    bool there = entry != NULL && (entry->class == code) == class;
    if (there) {
        free(entry->text);
        *entry = (struct added){.class = code, .removed = true};
    }
    ftc_mpi_unlock();
    return there ? MPI_SUCCESS
                 : ftc_mpi_error(MPI_ERR_ARG, "%d is no class or code that was added", code);
}

int ftc_mpi_add_error_code(int errorclass, int *errorcode)
{
    if (!is_class(errorclass))
        return ftc_mpi_error(MPI_ERR_ARG, "%d is no error class", errorclass);
    return ftc_mpi_error_add(errorclass, errorcode);
}

int ftc_mpi_add_error_string(int errorcode, const char *string)
{
    char *text = strndup(string, MPI_MAX_ERROR_STRING - 1);
    if (text == NULL)
        return ftc_mpi_no_memory();
    ftc_mpi_lock();
    struct added *entry = find(errorcode);
    if (entry != NULL) {
        free(entry->text);
        entry->text = text;
    }
    ftc_mpi_unlock();
    if (entry != NULL)
        return MPI_SUCCESS;
    free(text);
    return ftc_mpi_error(MPI_ERR_ARG, "%d is no class or code that was added", errorcode);
}

int ftc_mpi_error_class(int errorcode, int *errorclass)
{
    if (ftc_mpi_error_text(errorcode) == NULL)
        return ftc_mpi_error(MPI_ERR_ARG, "%d is no error code", errorcode);
    *errorclass = ftc_mpi_error_class_of(errorcode);
    return MPI_SUCCESS;
}

int ftc_mpi_error_string(int errorcode, char *string, int *resultlen)
{
    const char *text = ftc_mpi_error_text(errorcode);
    if (text == NULL)
        return ftc_mpi_error(MPI_ERR_ARG, "%d is no error code", errorcode);
    *resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s", text);
    return MPI_SUCCESS;
}
