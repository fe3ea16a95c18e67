/* Log lines on standard error: "ftcoll: job 1234.1 rank 12: warn: text". Lower case, one line each,
 * written by one write(2) so that lines of different ranks never tear. Safe from any thread. */
#ifndef FTC_BASE_LOG_H
#define FTC_BASE_LOG_H

enum ftc_log_level {
    FTC_LOG_ERROR, /* cannot go on as asked */
    FTC_LOG_WARN,  /* unexpected; goes on */
    FTC_LOG_INFO,  /* once per event of a job */
    FTC_LOG_DEBUG, /* once per object */
    FTC_LOG_TRACE, /* once per message */
};

struct ftc_log {
    enum ftc_log_level level;
    char who[64]; /* "job 1234.1 rank 12", or "ftrun" */
};

/* Name of a level, and back; -1 if there is none of that name. */
const char *ftc_log_level_name(enum ftc_log_level level);
int ftc_log_level_parse(const char *name);

void ftc_log_write(const struct ftc_log *log, enum ftc_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The level is looked at before anything is formatted. A NULL log is silent. */
#define FTC_LOG(log, at, ...)                                                                      \
    do {                                                                                           \
        if ((log) != NULL && (at) <= (log)->level)                                                 \
            ftc_log_write((log), (at), __VA_ARGS__);                                               \
    } while (0)

#endif
