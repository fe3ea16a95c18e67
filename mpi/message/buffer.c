/* The buffer of buffered sends. Only its size is used: it bounds the memory of the sends that have
 * not ended. */
#include "mpi/message/message.h"

#include "mpi/comm/request.h"

#include <limits.h>

int ftc_mpi_buffer_check(size_t bytes)
{
    size_t used = ftc_mpi_requests_reap(FTC_MPI_REAP);
    if (ftc_mpi_process.buffer.at == MPI_BUFFER_AUTOMATIC ||
        used + bytes <= (size_t)ftc_mpi_process.buffer.size)
        return MPI_SUCCESS;
    return ftc_mpi_error(MPI_ERR_BUFFER,
                         "a send needs %zu bytes of the attached buffer of %lld, and %zu are used",
                         bytes, (long long)ftc_mpi_process.buffer.size, used);
}

int ftc_mpi_buffer_attach(void *buffer, MPI_Count size)
{
    if (size < 0)
        return ftc_mpi_error(MPI_ERR_ARG, "a size of %lld bytes is negative", (long long)size);
    if (ftc_mpi_process.buffer.at != NULL)
        return ftc_mpi_error(MPI_ERR_BUFFER, "a buffer is attached: detach it first");
    ftc_mpi_process.buffer.at = buffer;
    ftc_mpi_process.buffer.size = size;
    return MPI_SUCCESS;
}

int ftc_mpi_buffer_flush(void)
{
    ftc_mpi_requests_reap(FTC_MPI_REAP_BUFFERED);
    return MPI_SUCCESS;
}

int ftc_mpi_buffer_detach(void *buffer_addr, MPI_Count *size)
{
    ftc_mpi_buffer_flush();
    *(void **)buffer_addr = ftc_mpi_process.buffer.at;
    *size = ftc_mpi_process.buffer.size;
    ftc_mpi_process.buffer.at = NULL;
    ftc_mpi_process.buffer.size = 0;
    return MPI_SUCCESS;
}
