/*
 * The representation external32 (MPI 5.0, 14.5.2): big-endian, IEEE, with fixed sizes. long has 4
 * bytes there, wchar_t 2, and long double 16 as IEEE binary128.
 */
#include "mpi/type/type.h"

#include "functions.h"

#include <string.h>

/* Bytes of one component: complex numbers have two. */
static size_t component(const struct ftc_mpi_basic *basic)
{
    return basic->class == FTC_MPI_COMPLEX ? basic->size / 2 : basic->size;
}

static bool is_long_double(const struct ftc_mpi_basic *basic)
{
    return basic->number == FTC_MPI_F80 || basic->number == FTC_MPI_C80;
}

static size_t external_size(const struct ftc_mpi_basic *basic)
{
    if (basic->external > 0)
        return (size_t)basic->external;
    return is_long_double(basic) ? basic->size / component(basic) * 16 : basic->size;
}

static void reverse(char *to, const char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = from[size - 1 - i];
}

/* One component, from memory to `wire`, or back. A shorter form keeps the lower bytes; on the way
 * back the sign of a signed number is kept. */
static void convert(const struct ftc_mpi_basic *basic, char *memory, char *wire, size_t width,
                    bool pack)
{
    char bytes[16] = {0};
    size_t size = component(basic);
    if (is_long_double(basic)) {
        long double value;
        __float128 quad;
        if (pack) {
            memcpy(&value, memory, sizeof value);
            quad = value;
            memcpy(bytes, &quad, sizeof bytes);
            reverse(wire, bytes, sizeof bytes);
        } else {
            reverse(bytes, wire, sizeof bytes);
            memcpy(&quad, bytes, sizeof bytes);
            value = (long double)quad;
            memcpy(memory, &value, sizeof value);
        }
        return;
    }
    if (pack) {
        reverse(wire, memory, width);
        return;
    }
    bool negative = basic->number >= FTC_MPI_I8 && basic->number <= FTC_MPI_I64 && wire[0] < 0;
    memset(bytes, negative ? -1 : 0, sizeof bytes);
    reverse(bytes, wire, width);
    memcpy(memory, bytes, size);
}

struct external {
    char *wire;
    bool pack;
};

static bool convert_element(void *arg, const struct ftc_mpi_basic *basic, char *memory)
{
    struct external *x = arg;
    size_t parts = basic->size / component(basic);
    size_t width = external_size(basic) / parts;
    for (size_t i = 0; i < parts; i++) {
        convert(basic, memory + i * component(basic), x->wire, width, x->pack);
        x->wire += width;
    }
    return true;
}

static bool add_size(void *arg, const struct ftc_mpi_basic *basic, char *memory)
{
    (void)memory;
    *(MPI_Count *)arg += (MPI_Count)external_size(basic);
    return true;
}

/* Of one element of the datatype. */
static int measure(const char *datarep, const struct ftc_mpi_type *type, MPI_Count count,
                   MPI_Count *size)
{
    if (strcmp(datarep, "external32") != 0)
        return ftc_mpi_error(MPI_ERR_UNSUPPORTED_DATAREP,
                             "the representation is \"%s\", and only external32 is provided",
                             datarep);
    int rc = ftc_mpi_type_check(type, count);
    *size = 0;
    if (rc == MPI_SUCCESS)
        ftc_mpi_layout_walk(type->layout, NULL, add_size, size);
    return rc;
}

static int transfer(const struct ftc_mpi_type *type, char *memory, MPI_Count count, char *buffer,
                    MPI_Count size, MPI_Count need, MPI_Aint *position, bool pack)
{
    if (*position < 0 || need > size - *position)
        return ftc_mpi_error(MPI_ERR_TRUNCATE, "%lld bytes do not fit into the buffer",
                             (long long)need);
    struct external x = {.wire = buffer + *position, .pack = pack};
    for (MPI_Count i = 0; i < count; i++)
        ftc_mpi_layout_walk(type->layout, memory + i * ftc_mpi_extent(type), convert_element, &x);
    *position += need;
    return MPI_SUCCESS;
}

int ftc_mpi_pack_external(const char *datarep, const void *inbuf, MPI_Count incount,
                          struct ftc_mpi_type *type, void *outbuf, MPI_Count outsize,
                          MPI_Count *position)
{
    MPI_Count size;
    int rc = measure(datarep, type, incount, &size);
    return rc != MPI_SUCCESS ? rc
                             : transfer(type, (char *)inbuf, incount, outbuf, outsize,
                                        incount * size, position, true);
}

int ftc_mpi_unpack_external(const char *datarep, const void *inbuf, MPI_Count insize,
                            MPI_Count *position, void *outbuf, MPI_Count outcount,
                            struct ftc_mpi_type *type)
{
    MPI_Count size;
    int rc = measure(datarep, type, outcount, &size);
    return rc != MPI_SUCCESS ? rc
                             : transfer(type, outbuf, outcount, (char *)inbuf, insize,
                                        outcount * size, position, false);
}

int ftc_mpi_pack_external_size(const char *datarep, MPI_Count incount, struct ftc_mpi_type *type,
                               MPI_Count *size)
{
    MPI_Count one;
    int rc = measure(datarep, type, incount, &one);
    if (rc == MPI_SUCCESS)
        *size = incount * one;
    return rc;
}
