/* Packing: in memory as it goes over the wire, the bytes of the type map one after another. */
#include "mpi/type/type.h"

#include "functions.h"

#include <limits.h>

void ftc_mpi_pack_to(const struct ftc_mpi_type *type, const void *memory, MPI_Count count,
                     struct ftc_mpi_cursor *to)
{
    ftc_mpi_layout_pack(type->layout, memory, count, ftc_mpi_extent(type), to);
}

void ftc_mpi_unpack_from(const struct ftc_mpi_type *type, void *memory, MPI_Count count,
                         struct ftc_mpi_cursor *from)
{
    ftc_mpi_layout_unpack(type->layout, memory, count, ftc_mpi_extent(type), from);
}

/* The bytes from `position` on of a buffer with `size` bytes, if `need` bytes fit there. */
static int open_buffer(const void *buffer, MPI_Count size, MPI_Count position, MPI_Count need,
                       struct ftc_mpi_cursor *out)
{
    if (position < 0 || position > size)
        return ftc_mpi_error(MPI_ERR_ARG, "position %lld is not in the buffer of %lld bytes",
                             (long long)position, (long long)size);
    if (need > size - position)
        return ftc_mpi_error(MPI_ERR_TRUNCATE,
                             "%lld bytes do not fit: the buffer has %lld from "
                             "the position on",
                             (long long)need, (long long)(size - position));
    *out = (struct ftc_mpi_cursor){(char *)buffer + position, (size_t)need};
    return MPI_SUCCESS;
}

/* `count` elements, from the position of the buffer on or to there. The position moves on. */
static int transfer(struct ftc_mpi_type *type, void *memory, MPI_Count count, const void *buffer,
                    MPI_Count size, MPI_Count *position, bool pack)
{
    struct ftc_mpi_cursor cursor;
    int rc = ftc_mpi_type_check(type, count);
    MPI_Count need = rc == MPI_SUCCESS ? ftc_mpi_packed(type, count) : 0;
    if (rc == MPI_SUCCESS)
        rc = open_buffer(buffer, size, *position, need, &cursor);
    if (rc != MPI_SUCCESS)
        return rc;
    if (pack)
        ftc_mpi_pack_to(type, memory, count, &cursor);
    else
        ftc_mpi_unpack_from(type, memory, count, &cursor);
    *position += need;
    return MPI_SUCCESS;
}

int ftc_mpi_pack(const void *inbuf, MPI_Count incount, struct ftc_mpi_type *type, void *outbuf,
                 MPI_Count outsize, MPI_Count *position)
{
    return transfer(type, (void *)inbuf, incount, outbuf, outsize, position, true);
}

int ftc_mpi_unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                   MPI_Count outcount, struct ftc_mpi_type *type)
{
    return transfer(type, outbuf, outcount, inbuf, insize, position, false);
}

int ftc_mpi_pack_size(MPI_Count incount, struct ftc_mpi_type *type, MPI_Count *size)
{
    int rc = ftc_mpi_type_check(type, incount);
    if (rc == MPI_SUCCESS)
        *size = ftc_mpi_packed(type, incount);
    return rc;
}
