/*
 * Shows the page again every second. On a terminal it replaces the last page (cursor home, text,
 * clear to the end: no flicker, no curses) and is cut to the window. Elsewhere the pages follow
 * each other, each under a line with the time.
 */
#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

#define PERIOD_MS 1000

/* Print at most lines - 1 lines of the page, so that the terminal does not scroll. Each line is
 * cleared to its end. */
static void put_page(const char *page, int lines)
{
    fputs("\033[?7l\033[H",
          stdout); /* cut long lines: a wrapped line would make the count below wrong */
    int used = 0;
    while (*page != '\0' && (lines <= 0 || used < lines - 2)) {
        const char *end = strchrnul(page, '\n');
        printf("%.*s\033[K\n", (int)(end - page), page);
        used++;
        page = *end != '\0' ? end + 1 : end;
    }
    if (*page != '\0')
        fputs("... (the window is too low)\033[K\n", stdout);
    fputs("\033[J\033[?7h", stdout);
}

static int show(const struct ftc_job_status *status, const struct ftc_status_view *view)
{
    char *page = NULL, clock[FTC_STATUS_TEXT];
    size_t size = 0;
    struct winsize window;
    FILE *memory = open_memstream(&page, &size);
    if (memory == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    struct ftc_status_view now = *view;
    bool terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0;
    if (terminal && window.ws_col > 0)
        now.width = window.ws_col;
    int rc = ftc_status_page(status, &now, memory);
    if (fclose(memory) != 0 && rc == 0)
        rc = ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    if (rc == 0 && terminal)
        put_page(page, window.ws_row);
    else if (rc == 0)
        printf("--- %s\n%s\n", ftc_status_clock(status, 0, clock), page);
    free(page);
    fflush(stdout);
    return rc;
}

/* Sleep for a period. Returns true if it is time to leave: a signal has come (it stays pending
 * elsewhere), or the reader of the output is gone. */
static bool wait_period(int signals)
{
    struct pollfd ends[2] = {{.fd = signals, .events = POLLIN}, {.fd = STDOUT_FILENO, .events = 0}};
    int ready = poll(ends, 2, PERIOD_MS);
    if (ready < 0)
        return errno != EINTR;
    return ready > 0;
}

int ftc_status_watch(struct ftc_job_status *status, struct ftc_segment *segment,
                     const struct ftc_status_view *view)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, NULL); /* never unblocked: the program ends after this */
    int signals = signalfd(-1, &mask, SFD_CLOEXEC);
    if (signals < 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot watch for signals: %m");
    if (isatty(STDOUT_FILENO))
        fputs("\033[2J", stdout);
    int rc = show(status, view);
    while (rc == 0 && !ferror(stdout) && !ftc_status_over(status) && !wait_period(signals)) {
        ftc_status_look(status, segment);
        rc = show(status, view);
    }
    close(signals);
    return rc;
}
