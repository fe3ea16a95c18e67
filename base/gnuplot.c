/* Runs gnuplot and writes the script to its standard input. */
#include "base/gnuplot.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/ftcoll.h"

int ftc_gnuplot_check(const char *path, char problem[FTC_GNUPLOT_PROBLEM])
{
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
        snprintf(problem, FTC_GNUPLOT_PROBLEM,
                 "--plot needs gnuplot, which is not installed; install it (Debian: gnuplot-nox) "
                 "or leave "
                 "out --plot");
        return FTC_ERR_UNSUPPORTED;
    }
    /* gnuplot would draw to standard output, into the table, if it could not open the file. */
    FILE *out = fopen(path, "a");
    if (out == NULL) {
        snprintf(problem, FTC_GNUPLOT_PROBLEM, "--plot %s: %m; give a file that can be written",
                 path);
        return FTC_ERR_SYSTEM;
    }
    fclose(out);
    struct stat file;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0)
        unlink(path); /* so that no empty file is left if the work fails */
    return 0;
}

/* gnuplot reads "|command" as a pipe and "-" as standard output. The "./" keeps a file of such a
 * name a file. */
static void write_output(const char *path, FILE *out)
{
    fprintf(out, "set output '%s", path[0] == '/' ? "" : "./");
    for (; *path != '\0'; path++) {
        if (*path == '\'')
            fputc('\'', out);
        fputc(*path, out);
    }
    fputs("'\n", out);
}

static void write_style(const struct ftc_gnuplot *figure, FILE *out)
{
    fprintf(out, "set terminal svg size %d,%d dynamic font 'Helvetica,13' background rgb 'white'\n",
            figure->width, figure->height);
    write_output(figure->path, out);
    /* Okabe and Ito's colours, which the colour-blind can tell apart. */
    fputs("set linetype 1 lc rgb '#0072B2'\nset linetype 2 lc rgb '#D55E00'\n"
          "set linetype 3 lc rgb '#009E73'\nset linetype 4 lc rgb '#CC79A7'\n"
          "set linetype 5 lc rgb '#E69F00'\nset linetype 6 lc rgb '#56B4E9'\n"
          "set linetype 7 lc rgb '#000000'\nset linetype cycle 7\nset border 3 lc rgb '#606060'\n"
          "set grid xtics ytics lc rgb '#e4e4e4' lt 1 lw 1\nset tics nomirror\n",
          out);
}

/* gnuplot reports no error when the disk is full, so look for the end of the file. */
static bool is_whole(const char *path)
{
    static const char end[] = "</svg>";
    char tail[64] = {0};
    FILE *in = fopen(path, "r");

    if (in == NULL)
        return false;
    bool seekable = fseek(in, -(long)sizeof(tail) + 1, SEEK_END) == 0;
    size_t size = seekable ? fread(tail, 1, sizeof(tail) - 1, in) : 0;
    fclose(in);
    return !seekable || memmem(tail, size, end, sizeof(end) - 1) != NULL;
}

static int draw(const struct ftc_gnuplot *figure, char problem[FTC_GNUPLOT_PROBLEM])
{
    FILE *out = popen("gnuplot -", "w");
    int status = -1;

    if (out != NULL) {
        write_style(figure, out);
        figure->write_script(figure->data, out);
        status = pclose(out);
    }
    if (out == NULL)
        snprintf(problem, FTC_GNUPLOT_PROBLEM, "cannot run gnuplot: %m");
    else if (status != 0)
        snprintf(problem, FTC_GNUPLOT_PROBLEM,
                 "gnuplot could not make %s (status %d); what it said is above", figure->path,
                 WIFEXITED(status) ? WEXITSTATUS(status) : status);
    else if (!is_whole(figure->path))
        snprintf(problem, FTC_GNUPLOT_PROBLEM, "%s is not complete; is the disk full?",
                 figure->path);
    else
        return 0;
    return FTC_ERR_SYSTEM;
}

int ftc_gnuplot_draw(const struct ftc_gnuplot *figure, char problem[FTC_GNUPLOT_PROBLEM])
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* gnuplot may end before it has read all */
    int rc = draw(figure, problem);

    signal(SIGPIPE, before);
    return rc;
}
