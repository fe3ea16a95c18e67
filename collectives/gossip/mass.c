/* Masses: vectors of values, a weight and, in some algorithms, a checksum. */
#include <math.h>
#include <string.h>

#include "collectives/gossip/internal.h"

void ftc_mass_add(double *to, const double *mass, size_t width)
{
    for (size_t i = 0; i < width; i++)
        to[i] += mass[i];
}

void ftc_mass_subtract(double *from, const double *mass, size_t width)
{
    for (size_t i = 0; i < width; i++)
        from[i] -= mass[i];
}

void ftc_mass_halve(double *mass, size_t width)
{
    for (size_t i = 0; i < width; i++)
        mass[i] /= 2;
}

void ftc_mass_negate(double *to, const unsigned char *mass, double factor, size_t width)
{
    memcpy(to, mass, width * sizeof(double));
    for (size_t i = 0; i < width; i++)
        to[i] *= -factor;
}

bool ftc_mass_equal(const double *a, const double *b, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool ftc_mass_zero(const double *mass, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (mass[i] != 0)
            return false;
    return true;
}

double ftc_mass_magnitude(const double *mass, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < width; i++)
        sum += fabs(mass[i]);
    return sum;
}

/* Sums up pairwise: so each of n values is rounded log n times, not n times. */
static double sum_of(const double *values, size_t count)
{
    double sum = 0;

    if (count > 8)
        return sum_of(values, count / 2) + sum_of(values + count / 2, count - count / 2);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

void ftc_mass_mend(double *mass, size_t width)
{
    mass[width - 1] = sum_of(mass, width - 1);
}

double ftc_mass_error(const double *mass, size_t width)
{
    double error = fabs(sum_of(mass, width - 1) - mass[width - 1]);
    return isfinite(error) ? error : INFINITY;
}
