/* Log lines on standard error: "ftcoll: job 1234.1 rank 12: warn: text". Each message is one line
 * in lower case. One write(2) writes it, so that the lines of different ranks never mix. Any thread
 * may log. */
#ifndef FTC_BASE_LOG_H
#define FTC_BASE_LOG_H

enum ftc_log_level {
    FTC_LOG_ERROR, /* the program cannot do what it was asked to do */
    FTC_LOG_WARN,  /* something unexpected happened; the program goes on */
    FTC_LOG_INFO,  /* one line per event of a job */
    FTC_LOG_DEBUG, /* one line per object */
    FTC_LOG_TRACE, /* one line per message */
};

struct ftc_log {
    enum ftc_log_level level;
    char who[64]; /* "job 1234.1 rank 12", or "ftrun" */
};

/* The name of a level, and the level of a name. ftc_log_level_parse() gives -1 for an unknown
 * name. */
const char *ftc_log_level_name(enum ftc_log_level level);
int ftc_log_level_parse(const char *name);

void ftc_log_write(const struct ftc_log *log, enum ftc_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Nothing is formatted, and no argument is evaluated, when the level is off. A NULL log is
 * silent. */
#define FTC_LOG(log, at, ...)                                                                      \
    do {                                                                                           \
        if ((log) != NULL && (at) <= (log)->level)                                                 \
            ftc_log_write((log), (at), __VA_ARGS__);                                               \
    } while (0)

#endif
