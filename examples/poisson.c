/*
 * Print the matrix of the 2-d Poisson equation (5-point stencil on an N x N grid) in Matrix Market
 * format. The matrix is symmetric and positive definite and has N*N rows. It is input for cg.
 *
 *     poisson 64 > poisson64.mtx
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char *end = NULL;
    long n = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (n < 1 || n > 10000 || *end != '\0') {
        fprintf(stderr, "usage: poisson N, with N from 1 to 10000\n");
        return 2;
    }
    /* Print the lower triangle: for each point the entries with itself and with its left and upper
     * neighbours. */
    printf(
        "%%%%MatrixMarket matrix coordinate real symmetric\n%% 5-point stencil, %ld x %ld grid\n",
        n, n);
    printf("%ld %ld %ld\n", n * n, n * n, n * n + 2 * n * (n - 1));
    for (long point = 1; point <= n * n; point++) {
        printf("%ld %ld 4\n", point, point);
        if ((point - 1) % n != 0)
            printf("%ld %ld -1\n", point, point - 1);
        if (point > n)
            printf("%ld %ld -1\n", point, point - n);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("poisson: cannot write to standard output");
        return 1;
    }
    return 0;
}
