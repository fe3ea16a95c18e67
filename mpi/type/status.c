#include "mpi/type/status.h"

#include "functions.h"
#include "mpi/type/type.h"

#include <limits.h>
#include <string.h>

/* Of MPI_internal: two hold the bytes, one says whether the operation was cancelled. */
#define CANCELLED 2

void ftc_mpi_status_set(MPI_Status *status, int source, int tag, MPI_Count bytes)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memset(status->MPI_internal, 0, sizeof status->MPI_internal);
    memcpy(status->MPI_internal, &bytes, sizeof bytes);
}

void ftc_mpi_status_empty(MPI_Status *status)
{
    ftc_mpi_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
}

void ftc_mpi_status_copy(MPI_Status *status, const MPI_Status *from)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    int error = status->MPI_ERROR;
    *status = *from;
    status->MPI_ERROR = error;
}

MPI_Count ftc_mpi_status_bytes(const MPI_Status *status)
{
    MPI_Count bytes;
    memcpy(&bytes, status->MPI_internal, sizeof bytes);
    return bytes;
}

/* MPI_UNDEFINED where the bytes are no whole number of elements. */
int ftc_mpi_get_count(const MPI_Status *status, struct ftc_mpi_type *type, MPI_Count *count)
{
    MPI_Count bytes = ftc_mpi_status_bytes(status), size = type->layout->size;
    if (size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
        *count = bytes % size == 0 ? bytes / size : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int ftc_mpi_get_elements(const MPI_Status *status, struct ftc_mpi_type *type, MPI_Count *count)
{
    MPI_Count bytes = ftc_mpi_status_bytes(status), size = type->layout->size;
    MPI_Count whole = size == 0 ? 0 : bytes / size;
    MPI_Count rest = bytes - whole * size;
    *count = whole * type->layout->elements;
    if (rest > 0 && size > 0)
        *count += ftc_mpi_layout_elements(type->layout, &rest);
    if (rest > 0)
        *count = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int ftc_mpi_status_set_elements(MPI_Status *status, struct ftc_mpi_type *type, MPI_Count count)
{
    const struct ftc_mpi_layout *layout = type->layout;
    MPI_Count whole = layout->elements == 0 ? 0 : count / layout->elements;
    MPI_Count rest = count - whole * layout->elements;
    MPI_Count bytes = whole * layout->size;
    bytes += layout->elements == 0 ? 0 : ftc_mpi_layout_bytes(layout, rest);
    memcpy(status->MPI_internal, &bytes, sizeof bytes);
    return MPI_SUCCESS;
}

int ftc_mpi_status_set_cancelled(MPI_Status *status, int flag)
{
    status->MPI_internal[CANCELLED] = flag != 0;
    return MPI_SUCCESS;
}

int ftc_mpi_test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->MPI_internal[CANCELLED] != 0;
    return MPI_SUCCESS;
}
