/*
 * Checks the solution that `cg --print` gives against Gaussian elimination with pivoting on the
 * dense matrix.
 *
 * usage: dense_solve MATRIX.mtx < output of cg
 * Exit code 0: all of x agree to 1e-6, relative to the largest.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *read_dense(const char *path, int *n)
{
    char line[256];
    int rows, columns, i, j;
    long entries;
    double value;
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof(line), file) == NULL)
        return NULL;
    int symmetric = strstr(line, "symmetric") != NULL;
    do
        if (fgets(line, sizeof(line), file) == NULL)
            return NULL;
    while (line[0] == '%' || line[0] == '\n');
    if (sscanf(line, "%d %d %ld", &rows, &columns, &entries) != 3 || rows > 2000)
        return NULL;
    double *a = calloc((size_t)rows * (size_t)rows, sizeof(double));
    while (a != NULL && fscanf(file, "%d %d %lf", &i, &j, &value) == 3) {
        a[(i - 1) * rows + j - 1] = value;
        if (symmetric)
            a[(j - 1) * rows + i - 1] = value;
    }
    fclose(file);
    *n = rows;
    return a;
}

static void swap_rows(double *a, double *b, int n, int i, int j)
{
    for (int k = 0; k < n; k++) {
        double t = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = t;
    }
    double t = b[i];
    b[i] = b[j];
    b[j] = t;
}

/* On return b is the solution. */
static void eliminate(double *a, double *b, int n)
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int i = c + 1; i < n; i++)
            best = fabs(a[i * n + c]) > fabs(a[best * n + c]) ? i : best;
        swap_rows(a, b, n, c, best);
        for (int i = c + 1; i < n; i++) {
            double factor = a[i * n + c] / a[c * n + c];
            for (int k = c; k < n && factor != 0; k++)
                a[i * n + k] -= factor * a[c * n + k];
            b[i] -= factor * b[c];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
}

int main(int argc, char **argv)
{
    int n = 0, seen = 0;
    char line[256];
    double *a = argc == 2 ? read_dense(argv[1], &n) : NULL,
           *b = calloc((size_t)n + 1, sizeof(double));
    if (a == NULL || b == NULL)
        return 2;
    for (int i = 0; i < n; i++)
        b[i] = 1;
    eliminate(a, b, n);
    double largest = 0, worst = 0, x;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(b[i]));
    while (fgets(line, sizeof(line), stdin) != NULL)
        if (seen < n && sscanf(line, "x %lf", &x) == 1)
            worst = fmax(worst, fabs(x - b[seen++]));
    printf("%d of %d elements, largest difference %g of %g\n", seen, n, worst, largest);
    free(a);
    free(b);
    return seen == n && worst <= 1e-6 * largest ? 0 : 1;
}
