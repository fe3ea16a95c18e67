/*
 * Solve A x = b by conjugate gradients, with b = (1, ..., 1) and a symmetric positive definite
 * matrix A from a Matrix Market file. The solver converges whichever ranks die.
 *
 *     poisson 64 > poisson64.mtx
 *     ftrun -np 8 -f 2 --kill 3@0.2 ./cg --slow 5 poisson64.mtx
 *
 * Every rank holds the whole matrix and the vectors x, r and p. The ranks share the work of
 * q = A p by blocks of rows: each rank computes its rows of q and leaves zeros in the others. One
 * allreduce (sum) then brings q and p.q to all ranks. This is how the program handles failures:
 *
 *   - A result has the same bits on every survivor. x, r and p come from results and from the same
 *     arithmetic. So they are the same on every survivor after every step, without being exchanged,
 *     and each survivor's own x is the last consistent one.
 *   - The result holds a failed rank's rows entirely or not at all. The failed set alone does not
 *     say which of the two. So each rank adds a 1 in a place of its own behind q, and the result
 *     says whose rows it holds. If an owner's rows are missing, every survivor sees that, shares
 *     out the rows anew over the other ranks, and computes this q again.
 *   - A rank in the agreed failed set gets no rows from the next step on, even if its rows were in
 *     this result.
 *
 * So a death costs at most the product that it hit. The last digits of p.q depend on how the rows
 * are shared out (floating-point sums). So a run with failures may need an iteration more or less
 * than a run without.
 */
#include <errno.h>
#include <ftcoll.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the matrix: compressed rows, both triangles --- */

struct matrix {
    int n;
    size_t entries;
    size_t *row; /* the first entry of each row; row[n] is the number of entries */
    int *column;
    double *value;
};

struct entry {
    int row, column;
    double value;
    long line; /* its line in the file, for error messages */
};

struct reader {
    FILE *file;
    const char *path;
    long line;
    char text[1024];
    bool symmetric;
    long n, declared; /* rows and entries that the size line declares */
    struct entry *entry;
    size_t entries;
};

/* "file:line: what is wrong". All ranks read the same file, so only one of them prints it. */
struct complaint {
    char text[512];
};

static bool bad(struct complaint *complaint, const struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool bad(struct complaint *complaint, const struct reader *reader, const char *format, ...)
{
    va_list arguments;
    int used = snprintf(complaint->text, sizeof(complaint->text), "%.256s:%ld: ", reader->path,
                        reader->line);
    va_start(arguments, format);
    vsnprintf(complaint->text + used, sizeof(complaint->text) - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* Read the next line that is neither a comment nor blank. Returns 1, or 0 at the end of the file,
 * or -1 on error. */
static int next_line(struct reader *reader, struct complaint *why)
{
    while (fgets(reader->text, sizeof(reader->text), reader->file) != NULL) {
        reader->line++;
        size_t length = strlen(reader->text);
        if (length + 1 == sizeof(reader->text) && reader->text[length - 1] != '\n') {
            bad(why, reader, "the line is longer than %zu bytes", sizeof(reader->text) - 2);
            return -1;
        }
        size_t blank = strspn(reader->text, " \t\r\n");
        if (reader->text[0] != '%' && blank != length)
            return 1;
    }
    if (!ferror(reader->file))
        return 0;
    bad(why, reader, "cannot read on: %s", strerror(errno));
    return -1;
}

static bool read_banner(struct reader *reader, struct complaint *why)
{
    char object[16], format[16], field[16], symmetry[20], more[2];
    if (fgets(reader->text, sizeof(reader->text), reader->file) == NULL)
        return bad(why, reader, "the file is empty or cannot be read");
    reader->line = 1;
    if (sscanf(reader->text, "%%%%MatrixMarket %15s %15s %15s %19s %1s", object, format, field,
               symmetry, more) != 4)
        return bad(
            why, reader,
            "not a Matrix Market header (%%%%MatrixMarket matrix coordinate real symmetric)");
    if (strcmp(object, "matrix") != 0 || strcmp(format, "coordinate") != 0)
        return bad(why, reader, "it holds a '%s %s'; give a 'matrix coordinate'", object, format);
    if (strcmp(field, "real") != 0 && strcmp(field, "integer") != 0)
        return bad(why, reader, "its values are '%s'; give real or integer ones", field);
    reader->symmetric = strcmp(symmetry, "symmetric") == 0;
    if (!reader->symmetric && strcmp(symmetry, "general") != 0)
        return bad(why, reader, "it is '%s'; give a symmetric or general matrix", symmetry);
    return true;
}

/* Read a whole number from low to high at *text, and move *text behind it. */
static bool take_integer(const char **text, long low, long high, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(*text, &end, 10);
    bool good = end != *text && errno == 0 && *value >= low && *value <= high &&
                strchr(" \t\r\n", *end) != NULL;
    *text = end;
    return good;
}

static bool at_end(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Read the size line: rows, columns and entries. The file must have room for so many entries, so
 * that a wrong number causes no huge allocation. */
static bool read_size(struct reader *reader, struct complaint *why)
{
    long columns;
    const char *text = reader->text;
    int got = next_line(reader, why);
    if (got <= 0)
        return got < 0 ? false : bad(why, reader, "the file ends before the size line");
    if (!take_integer(&text, 1, INT_MAX - 1, &reader->n) ||
        !take_integer(&text, 1, INT_MAX - 1, &columns) ||
        !take_integer(&text, 1, LONG_MAX / 64, &reader->declared) || !at_end(text))
        return bad(why, reader, "not a size line: rows, columns and entries, three numbers from 1");
    if (reader->n != columns)
        return bad(why, reader, "the matrix has %ld rows and %ld columns; it must be square",
                   reader->n, columns);
    long here = ftell(reader->file);
    if (here < 0 || fseek(reader->file, 0, SEEK_END) != 0)
        return bad(why, reader, "cannot find the end of the file: %s", strerror(errno));
    long room = (ftell(reader->file) - here) / 5 + 1; /* the shortest entry is "1 1 1" */
    if (fseek(reader->file, here, SEEK_SET) != 0)
        return bad(why, reader, "cannot go back in the file: %s", strerror(errno));
    if (reader->declared > room)
        return bad(why, reader, "%ld entries are promised, the file has room for %ld at most",
                   reader->declared, room);
    if (reader->n > reader->declared)
        return bad(why, reader,
                   "%ld rows and %ld entries: some row is empty, so the matrix is singular",
                   reader->n, reader->declared);
    return true;
}

static bool read_entry(struct reader *reader, struct complaint *why)
{
    long row, column;
    char *end;
    const char *text = reader->text;
    int got = next_line(reader, why);
    if (got <= 0)
        return got < 0 ? false
                       : bad(why, reader, "the file ends before its %ld entries are complete",
                             reader->declared);
    if (!take_integer(&text, 1, reader->n, &row) || !take_integer(&text, 1, reader->n, &column))
        return bad(why, reader, "not an entry: row and column, from 1 to %ld, and a value",
                   reader->n);
    double value = strtod(text, &end);
    if (end == text || !at_end(end) || !isfinite(value))
        return bad(why, reader, "not an entry: the value must be one finite number");
    if (reader->symmetric && column > row)
        return bad(why, reader, "entry (%ld, %ld) is above the diagonal of a symmetric matrix", row,
                   column);
    struct entry entry = {
        .row = (int)row - 1, .column = (int)column - 1, .value = value, .line = reader->line};
    reader->entry[reader->entries++] = entry;
    if (reader->symmetric && row != column) {
        entry.row = (int)column - 1;
        entry.column = (int)row - 1;
        reader->entry[reader->entries++] = entry;
    }
    return true;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Sort the entries and check that none is there twice. A file of the kind "general" must hold a
 * symmetric matrix too. */
static bool check_entries(struct reader *reader, struct complaint *why)
{
    qsort(reader->entry, reader->entries, sizeof(reader->entry[0]), compare_entries);
    for (size_t i = 0; i < reader->entries; i++) {
        const struct entry *entry = &reader->entry[i];
        reader->line = entry->line;
        if (i > 0 && entry[-1].row == entry->row && entry[-1].column == entry->column)
            return bad(why, reader, "entry (%d, %d) is there twice", entry->row + 1,
                       entry->column + 1);
    }
    for (size_t i = 0; i < reader->entries && !reader->symmetric; i++) {
        const struct entry *entry = &reader->entry[i];
        struct entry key = {.row = entry->column, .column = entry->row};
        size_t low = 0, high = reader->entries;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            key.line = reader->entry[middle].line;
            if (compare_entries(&reader->entry[middle], &key) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        const struct entry *found = &reader->entry[low < reader->entries ? low : 0];
        reader->line = entry->line;
        if (found->row != key.row || found->column != key.column || found->value != entry->value)
            return bad(why, reader,
                       "entry (%d, %d) has no equal (%d, %d): the matrix is not symmetric",
                       entry->row + 1, entry->column + 1, entry->column + 1, entry->row + 1);
    }
    return true;
}

static bool read_entries(struct reader *reader, struct complaint *why)
{
    reader->entry =
        calloc((size_t)reader->declared * (reader->symmetric ? 2 : 1), sizeof(reader->entry[0]));
    if (reader->entry == NULL)
        return bad(why, reader, "out of memory for %ld entries", reader->declared);
    for (long i = 0; i < reader->declared; i++)
        if (!read_entry(reader, why))
            return false;
    int more = next_line(reader, why);
    if (more != 0)
        return more < 0 ? false
                        : bad(why, reader, "more entries than the %ld promised", reader->declared);
    return check_entries(reader, why);
}

static void free_matrix(struct matrix *matrix)
{
    free(matrix->row);
    free(matrix->column);
    free(matrix->value);
}

static bool compress(const struct reader *reader, struct matrix *matrix, struct complaint *why)
{
    *matrix = (struct matrix){.n = (int)reader->n, .entries = reader->entries};
    matrix->row = calloc((size_t)matrix->n + 1, sizeof(matrix->row[0]));
    matrix->column = calloc(reader->entries, sizeof(matrix->column[0]));
    matrix->value = calloc(reader->entries, sizeof(matrix->value[0]));
    if (matrix->row == NULL || matrix->column == NULL || matrix->value == NULL) {
        free_matrix(matrix);
        return bad(why, reader, "out of memory for %zu entries", reader->entries);
    }
    for (size_t i = 0; i < reader->entries; i++) {
        matrix->row[reader->entry[i].row + 1] = i + 1;
        matrix->column[i] = reader->entry[i].column;
        matrix->value[i] = reader->entry[i].value;
    }
    for (int i = 0; i < matrix->n; i++) /* an empty row ends where the row before it ends */
        if (matrix->row[i + 1] < matrix->row[i])
            matrix->row[i + 1] = matrix->row[i];
    return true;
}

static bool read_matrix(const char *path, struct matrix *matrix, struct complaint *why)
{
    struct reader reader = {.path = path, .file = fopen(path, "re")};
    if (reader.file == NULL) {
        snprintf(why->text, sizeof(why->text), "%.256s: %s", path, strerror(errno));
        return false;
    }
    bool good = read_banner(&reader, why) && read_size(&reader, why) &&
                read_entries(&reader, why) && compress(&reader, matrix, why);
    free(reader.entry);
    fclose(reader.file);
    return good;
}

/* --- the solver --- */

struct options {
    const char *path;
    double tolerance;
    long most, slow_ms;
    bool print;
};

struct solver {
    ftc_comm *world;
    int rank, size;
    const struct options *options;
    struct matrix matrix;
    bool *owner;       /* owner[rank]: does this rank get rows? */
    double *x, *r, *p; /* the same bits at every survivor */
    double *q;         /* n elements of A p, then p.q, then a 1 for each rank whose rows are in q */
    long iterations;
    double residual; /* |r| / |b| */
    long repeated;   /* products computed again because an owner died */
};

/* After an error of a collective call, say why and end the job. */
static void check(const struct solver *s, int rc)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "cg: rank %d: %s\n", s->rank, ftc_last_error());
    ftc_abort(s->world, 1);
}

/* This rank's rows are *first to *last - 1. The owners have blocks of nearly the same size, in the
 * order of their ranks. */
static void my_rows(const struct solver *s, int *first, int *last)
{
    int64_t owners = 0, before = 0;
    for (int rank = 0; rank < s->size; rank++) {
        before += s->owner[rank] && rank < s->rank;
        owners += s->owner[rank];
    }
    *first = (int)(before * s->matrix.n / owners);
    *last = (int)((before + 1) * s->matrix.n / owners);
}

/* Compute this rank's part of q = A v and of v.q. */
static void multiply_mine(struct solver *s, const double *v)
{
    int first, last, n = s->matrix.n;
    memset(s->q, 0, ((size_t)n + 1 + (size_t)s->size) * sizeof(double));
    my_rows(s, &first, &last);
    for (int i = first; i < last; i++) {
        for (size_t at = s->matrix.row[i]; at < s->matrix.row[i + 1]; at++)
            s->q[i] += s->matrix.value[at] * v[s->matrix.column[at]];
        s->q[n] += v[i] * s->q[i];
    }
    s->q[n + 1 + s->rank] = 1;
}

/* Drop the owners that the result lacks or that the agreed failed set names. Returns false if rows
 * are missing in the result. */
static bool accept(struct solver *s)
{
    ftc_report report = {.struct_size = sizeof(report)};
    bool whole = true;
    for (int rank = 0; rank < s->size; rank++)
        if (s->owner[rank] && s->q[s->matrix.n + 1 + rank] == 0)
            s->owner[rank] = whole = false; /* a living rank is always in, so this one is dead */
    check(s, ftc_last_report(s->world, &report));
    for (int i = 0; i < report.failed_count; i++)
        s->owner[report.failed[i]] = false;
    return whole;
}

/* Compute all of q = A v. Returns v.q. Both have the same bits on every survivor. */
static double multiply(struct solver *s, const double *v)
{
    size_t count = (size_t)s->matrix.n + 1 + (size_t)s->size;
    for (;; s->repeated++) {
        multiply_mine(s, v);
        check(s, ftc_allreduce(FTC_IN_PLACE, s->q, count, FTC_DOUBLE, FTC_SUM, s->world));
        if (accept(s))
            return s->q[s->matrix.n];
    }
}

/* Every rank has both vectors and adds in the same order, so no exchange is needed. */
static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One iteration. Returns false if the matrix is not positive definite. */
static bool step(struct solver *s, double *rr)
{
    int n = s->matrix.n;
    double pq = multiply(s, s->p);
    if (!(pq > 0)) /* true for a NaN too; the same at every survivor */
        return false;
    double alpha = *rr / pq;
    for (int i = 0; i < n; i++) {
        s->x[i] += alpha * s->p[i];
        s->r[i] -= alpha * s->q[i];
    }
    double next = dot(s->r, s->r, n), beta = next / *rr;
    for (int i = 0; i < n; i++)
        s->p[i] = s->r[i] + beta * s->p[i];
    *rr = next;
    return true;
}

/* Returns |b - A x| / |b|, computed from x alone, because rounding may have made r drift. */
static double true_residual(struct solver *s)
{
    multiply(s, s->x);
    for (int i = 0; i < s->matrix.n; i++)
        s->r[i] = 1 - s->q[i];
    return sqrt(dot(s->r, s->r, s->matrix.n) / s->matrix.n);
}

/* Returns NULL, or the reason why the solver did not converge. */
static const char *solve(struct solver *s)
{
    struct timespec slow = {.tv_sec = s->options->slow_ms / 1000,
                            .tv_nsec = s->options->slow_ms % 1000 * 1000000};
    for (int i = 0; i < s->matrix.n; i++)
        s->r[i] = s->p[i] = 1; /* x = 0, so r = b */
    double rr = s->matrix.n, enough = s->options->tolerance * s->options->tolerance * s->matrix.n;
    while (rr > enough && s->iterations < s->options->most) {
        if (!step(s, &rr))
            return "the matrix is not positive definite";
        s->iterations++;
        nanosleep(&slow, NULL);
    }
    s->residual = true_residual(s);
    return s->residual <= 10 * s->options->tolerance ? NULL : "not converged";
}

/* --- the result --- */

static void print_result(const struct solver *s, const char *why)
{
    if (why != NULL)
        fprintf(stderr, "cg: %s: %s\n", s->options->path, why);
    printf("%ld iterations, residual %.3e, %ld repeated products, failed ranks:", s->iterations,
           s->residual, s->repeated);
    int failed = 0;
    for (int rank = 0; rank < s->size; rank++)
        if (!s->owner[rank]) {
            printf(" %d", rank);
            failed++;
        }
    printf("%s\n", failed == 0 ? " none" : "");
    for (int i = 0; i < s->matrix.n && s->options->print && why == NULL; i++)
        printf("x %.17g\n", s->x[i]);
    fflush(stdout);
}

/* The lowest survivor prints. If it fails before all agree that it has had its turn, the next
 * survivor prints. */
static void print_once(struct solver *s, const char *why)
{
    int printer;
    do {
        int count = 0;
        for (printer = 0; !s->owner[printer];)
            printer++;
        if (printer == s->rank)
            print_result(s, why);
        check(s, ftc_validate_global(s->world, &count));
        ftc_rank_info *infos = calloc((size_t)count + 1, sizeof(*infos));
        if (infos == NULL)
            ftc_abort(s->world, 1);
        check(s, ftc_get_state_global(s->world, FTC_RANK_FAILED | FTC_RANK_NULL, count, &count,
                                      infos));
        for (int i = 0; i < count; i++)
            s->owner[infos[i].rank] = false;
        free(infos);
    } while (!s->owner[printer]);
}

/* A rank that could not read its file takes part all the same, because the others would wait. The
 * lowest such rank complains for all. */
static bool all_read(const struct solver *s, bool good, const struct complaint *why)
{
    int32_t first = good ? s->size : s->rank;
    check(s, ftc_allreduce(FTC_IN_PLACE, &first, 1, FTC_INT32, FTC_MIN, s->world));
    if (first == s->rank)
        fprintf(stderr, "cg: %s\n", why->text);
    return first == s->size;
}

static bool allocate(struct solver *s)
{
    size_t n = (size_t)s->matrix.n, size = (size_t)s->size;
    s->x = calloc(n, sizeof(double));
    s->r = calloc(n, sizeof(double));
    s->p = calloc(n, sizeof(double));
    s->q = calloc(n + 1 + size, sizeof(double));
    s->owner = calloc(size, sizeof(bool));
    for (size_t i = 0; s->owner != NULL && i < size; i++)
        s->owner[i] = true;
    return s->x != NULL && s->r != NULL && s->p != NULL && s->q != NULL && s->owner != NULL;
}

static int run(struct solver *s)
{
    struct complaint why = {"out of memory"};
    bool good = read_matrix(s->options->path, &s->matrix, &why);
    if (good && !allocate(s)) {
        snprintf(why.text, sizeof(why.text), "out of memory for %d rows", s->matrix.n);
        good = false;
    }
    int code = 1;
    if (all_read(s, good, &why)) {
        const char *trouble = solve(s);
        print_once(s, trouble);
        code = trouble != NULL;
    }
    free(s->x);
    free(s->r);
    free(s->p);
    free(s->q);
    free(s->owner);
    free_matrix(&s->matrix);
    return code;
}

/* --- the command line --- */

static bool parse_long(const char *text, long low, long high, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *value >= low && *value <= high;
}

static bool parse_tolerance(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value > 0 && *value < 1;
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {{"tolerance", required_argument, NULL, 't'},
                                          {"max", required_argument, NULL, 'm'},
                                          {"slow", required_argument, NULL, 's'},
                                          {"print", no_argument, NULL, 'p'},
                                          {NULL, 0, NULL, 0}};
    bool good = true;
    for (int code; (code = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (code == 't')
            good &= parse_tolerance(optarg, &options->tolerance);
        else if (code == 'm')
            good &= parse_long(optarg, 1, LONG_MAX, &options->most);
        else if (code == 's')
            good &= parse_long(optarg, 0, 3600000, &options->slow_ms);
        else if (code == 'p')
            options->print = true;
        else
            good = false;
    }
    options->path = argv[optind];
    return good && optind + 1 == argc;
}

int main(int argc, char **argv)
{
    struct options options = {.tolerance = 1e-8, .most = 10000};
    struct solver solver = {.options = &options};
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: cg [--tolerance T] [--max ITERATIONS] [--slow MS (pause after each "
                        "iteration)]\n"
                        "          [--print (the solution)] MATRIX.mtx\n");
        return 2;
    }
    if (ftc_init(NULL, &solver.world) != FTC_SUCCESS) {
        fprintf(stderr, "cg: %s\n", ftc_last_error());
        return 1;
    }
    solver.rank = ftc_rank(solver.world);
    solver.size = ftc_size(solver.world);
    int code = run(&solver);
    if (ftc_finalize(solver.world) != FTC_SUCCESS) {
        fprintf(stderr, "cg: rank %d: %s\n", solver.rank, ftc_last_error());
        code = 1;
    }
    return code;
}
