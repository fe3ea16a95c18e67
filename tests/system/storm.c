/*
 * Kill storms in real processes: run after run, a job of random size and settings whose ranks die at random and at
 * chosen moments; then the survivors' records must agree, count every survivor once, and nothing may be left behind.
 *
 *   storm RUNS [SEED]        environment: FTRUN, STORM_APP, STORM_FLAGS (more flags for ftrun), STORM_NOTICES=off,
 *                        STORM_ALGORITHM=board|corrected (else every second run is by messages, at random)
 *
 * Prints the seed of each failing run; `storm 1 SEED` replays it. Sums up how often each rule of agreement.md ran: in runs by
 * messages only, the board needs none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectives/member.h"
#include "include/ftcoll.h"
#include "tests/system/record.h"

#define WATCHDOG_S 90
#define MANY_RUNS  50 /* by messages: enough for every rule that is not rare */
#define ARGUMENTS  128

struct run {
    uint64_t seed, state;
    int n, f, operations, victims;
    uint64_t planned; /* ranks that may die */
    bool list, piggyback, board;
    char directory[256], report[300], output[300];
    char text[ARGUMENTS][96];
    char *argv[ARGUMENTS + 1];
    int argc;
    char die[1024], deaf[1024];
    json_t *json;
    uint64_t failed;
    int exit_code, status;
};

struct totals {
    uint64_t rules[FTC_RULES_COUNT];
    uint64_t deaths, runs, messages; /* runs by messages */
};

static uint64_t pick(struct run *run, uint64_t below)
{
    return record_random(&run->state) % below;
}

static void argument(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void argument(struct run *run, const char *format, ...)
{
    va_list list;

    if (run->argc == ARGUMENTS)
        abort();
    va_start(list, format);
    vsnprintf(run->text[run->argc], sizeof(run->text[0]), format, list);
    va_end(list);
    run->argv[run->argc] = run->text[run->argc];
    run->argv[++run->argc] = NULL;
}

static void setting(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void setting(struct run *run, const char *format, ...)
{
    char text[96];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    argument(run, "--set");
    argument(run, "%s", text);
}

static const char *algorithm(const struct run *run)
{
    return run->board ? "board" : "corrected";
}

/* --- the plan --- */

/* Not from the run's own random numbers: with either algorithm a seed has the same deaths. */
static void plan_algorithm(struct run *run)
{
    const char *forced = getenv("STORM_ALGORITHM");
    uint64_t state = ~run->seed;

    run->board = forced != NULL ? strcmp(forced, "board") == 0 : record_random(&state) % 2 == 0;
    setting(run, "collectives.algorithm=%s", algorithm(run));
    setting(run, "collectives.direct_copies=%s", record_random(&state) % 4 == 0 ? "off" : "on");
}

static void plan_settings(struct run *run)
{
    static const char *const schemes[] = {"list", "count", "bit"}, *const trees[] = {"binomial", "kary",
                                                                                     "lame"};
    uint64_t scheme = pick(run, 3);

    run->list = scheme == 0;
    run->piggyback = pick(run, 4) > 0;
    setting(run, "failure_info.scheme=%s", schemes[scheme]);
    setting(run, "failure_info.share=%s", run->piggyback ? "piggyback" : "off");
    setting(run, "collectives.rotation=%s", pick(run, 2) ? "first" : "spread");
    setting(run, "collectives.prepare=%s", pick(run, 2) ? "direct" : "tree");
    setting(run, "broadcast.tree=%s", trees[pick(run, 3)]);
    setting(run, "broadcast.arity=%d", 2 + (int)pick(run, 2));
    setting(run, "broadcast.correction=%s", pick(run, 4) ? "none" : "checked");
    setting(run, "broadcast.settle_every=%d", (int)pick(run, 5));
    setting(run, "reduce.arity=%d", 1 + (int)pick(run, 3));
    setting(run, "detector.heartbeat_period_ms=50");
    setting(run, "detector.heartbeat_timeout_ms=1500");
    if (getenv("STORM_NOTICES") != NULL)
        setting(run, "detector.exit_notices=%s", getenv("STORM_NOTICES"));
}

/* Who may die: some of the first ranks (coordinators) with more than their share, two in a row, everyone but one. */
static void plan_victims(struct run *run)
{
    uint64_t dice = pick(run, 10);
    int wanted = 1 + (int)pick(run, (uint64_t)(run->n - 1));

    if (dice < 2)
        wanted = run->n - 1;
    else if (dice < 6 && wanted > 4)
        wanted = 1 + (int)pick(run, 4);
    run->planned = dice % 3 == 0 ? 1 : dice % 3 == 1 && wanted > 1 ? 3 : 0;
    while (__builtin_popcountll(run->planned) < wanted)
        run->planned |= 1ull << pick(run, (uint64_t)run->n);
    if (__builtin_popcountll(run->planned) == run->n)
        run->planned &= run->planned - 1;
    run->victims = __builtin_popcountll(run->planned);
}

static const char *pick_way(struct run *run)
{
    static const char *const ways[] = {"kill", "kill", "kill", "exit", "abort", "segv", "stop"};

    return ways[pick(run, 7)];
}

/* Deaths at exact points of the library, by its drill variable. */
static void plan_point(struct run *run, int rank)
{
    static const struct {
        const char *name;
        int most;
    } points[] = {{"attached", 1}, {"joined", 1},  {"call", 40}, {"send", 200}, {"send", 60},
                  {"deliver", 40}, {"return", 40}, {"mark", 1},  {"marked", 1}, {"linger", 1}};
    uint64_t point = pick(run, sizeof(points) / sizeof(points[0]));
    size_t used = strlen(run->die);

    snprintf(run->die + used, sizeof(run->die) - used, "%s%d@%s:%d=%s", used > 0 ? "," : "", rank,
             points[point].name, 1 + (int)pick(run, (uint64_t)points[point].most), pick_way(run));
}

static void plan_deaths(struct run *run)
{
    int points = 0;

    for (int rank = 0; rank < run->n; rank++) {
        if (!(run->planned >> rank & 1))
            continue;
        uint64_t dice = pick(run, 10);
        if (dice < 4 && points < 20) {
            plan_point(run, rank);
            points++;
        } else if (dice < 7) {
            argument(run, "%d:%d:%s", rank, (int)pick(run, (uint64_t)run->operations), pick_way(run));
        } else {
            argument(run, "%d:%d:%s", rank, -1 - (int)pick(run, 60000), pick_way(run));
        }
    }
}

/* In some runs a third of the ranks learn of failures late, each at its own time. */
static void plan_deaf(struct run *run)
{
    if (pick(run, 10) < 6)
        return;
    for (int rank = 0; rank < run->n; rank++) {
        size_t used = strlen(run->deaf);
        if (pick(run, 3) == 0)
            snprintf(run->deaf + used, sizeof(run->deaf) - used, "%s%d@%d", used > 0 ? "," : "", rank,
                     1 + (int)pick(run, 60));
    }
}

static void plan(struct run *run)
{
    static const int sizes[] = {2, 3, 4, 5, 7, 8, 16, 33, 64};

    run->state = run->seed;
    run->n = sizes[pick(run, 9)];
    run->f = (int)pick(run, run->n < 4 ? (uint64_t)run->n : 4);
    run->operations = 20 + (int)pick(run, 40);
    plan_victims(run);
    argument(run, "%s", getenv("FTRUN"));
    argument(run, "-np");
    argument(run, "%d", run->n);
    argument(run, "-f");
    argument(run, "%d", run->f);
    plan_algorithm(run);
    plan_settings(run);
    argument(run, "--report");
    argument(run, "%s", run->report);
    argument(run, "--");
    argument(run, "%s", getenv("STORM_APP"));
    argument(run, "%llu", (unsigned long long)run->seed);
    argument(run, "%d", run->operations);
    argument(run, "%s", run->directory);
    plan_deaths(run);
    plan_deaf(run);
}

/* --- running --- */

static void complain(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(const struct run *run, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "storm: seed %llu: ", (unsigned long long)run->seed);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\n  replay: STORM_ALGORITHM=%s storm 1 %llu   (np %d, f %d, %d may die)\n  ",
            algorithm(run), (unsigned long long)run->seed, run->n, run->f, run->victims);
    if (run->die[0] != '\0')
        fprintf(stderr, "FTCOLL_TEST_DIE='%s' ", run->die);
    if (run->deaf[0] != '\0')
        fprintf(stderr, "FTCOLL_TEST_DEAF='%s' ", run->deaf);
    for (int i = 0; i < run->argc; i++)
        fprintf(stderr, "%s ", run->argv[i]);
    fprintf(stderr, "\n");
}

static void set_or_unset(const char *name, const char *value)
{
    if (value[0] != '\0')
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static pid_t start(const struct run *run)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    int out = open(run->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, 1);
    dup2(out, 2);
    setenv("TMPDIR", run->directory, 1);
    set_or_unset("FTCOLL_TEST_DIE", run->die);
    set_or_unset("FTCOLL_TEST_DEAF", run->deaf);
    execv(run->argv[0], run->argv);
    _exit(127);
}

static void nap(void)
{
    struct timespec time = {.tv_nsec = 2000000};

    nanosleep(&time, NULL);
}

/* False: it hung. Then the job is shown and ended. */
static bool await(struct run *run, pid_t pid)
{
    time_t start_s = time(NULL);

    while (waitpid(pid, &run->status, WNOHANG) == 0) {
        if (time(NULL) - start_s > WATCHDOG_S) {
            char command[2048];
            complain(run, "hangs");
            if (getenv("STORM_STATUS") != NULL) {
                snprintf(command, sizeof(command), "TMPDIR=%s %s >&2; cat %s >&2", run->directory,
                         getenv("STORM_STATUS"), run->output);
                if (system(command) != 0)
                    fprintf(stderr, "(ftcoll-status reports failures)\n");
            }
            if (getenv("STORM_KEEP") != NULL) {
                fprintf(stderr, "storm: left as it is: ftrun is process %d\n", (int)pid);
                exit(1);
            }
            kill(pid, SIGKILL);
            waitpid(pid, &run->status, 0);
            return false;
        }
        nap();
    }
    return true;
}

/* --- judging --- */

static bool read_report(struct run *run)
{
    json_error_t error;
    json_t *ranks;

    run->json = json_load_file(run->report, 0, &error);
    if (run->json == NULL) {
        complain(run, "no report: %s (wait status %#x)", error.text, (unsigned)run->status);
        return false;
    }
    ranks = json_object_get(run->json, "ranks");
    for (int rank = 0; rank < run->n; rank++)
        if (json_is_true(json_object_get(json_array_get(ranks, (size_t)rank), "failed")))
            run->failed |= 1ull << rank;
    return true;
}

static void add_rules(const struct run *run, struct totals *totals)
{
    json_t *ranks = json_object_get(run->json, "ranks");

    for (int rank = 0; rank < run->n; rank++) {
        json_t *counters = json_object_get(json_array_get(ranks, (size_t)rank), "counters");
        json_t *rules = json_object_get(counters, "rules");
        for (int i = 0; i < FTC_RULES_COUNT; i++)
            totals->rules[i] += (uint64_t)json_integer_value(json_object_get(rules, ftc_rule_name(i)));
    }
}

static const struct record *map_records(const struct run *run, int rank)
{
    char path[300];
    size_t size = (size_t)run->operations * sizeof(struct record);

    snprintf(path, sizeof(path), "%s/%d", run->directory, rank);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    const struct record *records = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return records == MAP_FAILED ? NULL : records;
}

/* What one survivor's record says on its own. */
static bool judge_record(const struct run *run, int rank, const struct record *record)
{
    uint64_t all = run->n == 64 ? ~0ull : (1ull << run->n) - 1, alive = all & ~run->failed;
    const char *what = NULL;

    if (!record->done)
        what = "was not finished";
    else if ((record->counted & alive) != alive)
        what = "leaves out a survivor";
    else if (record->board != run->board)
        what = "was reported for another algorithm";
    else if ((record->kind == RECORD_ALLREDUCE || record->kind == RECORD_LARGE) && run->list &&
             (all & ~record->counted & ~record->failed) != 0)
        what = "leaves out a rank that its failed set does not name";
    else if ((record->failed & alive) != 0)
        what = "has a survivor in its failed set";
    else if (record->status == FTC_ERR_ROOT_FAILED && (alive >> record->root & 1))
        what = "says that a live root failed";
    else if (record->status == FTC_ERR_TOO_MANY_FAILURES && __builtin_popcountll(run->failed) <= run->f)
        what = "says too many failures, which there were not";
    if (what != NULL)
        complain(run, "rank %d: operation %u (kind %u) %s", rank, record->op, record->kind, what);
    return what == NULL;
}

static bool equal_records(const struct run *run, int a, int b, const struct record *x, const struct record *y)
{
    bool equal = record_is_reduce(x->kind) || (x->status == y->status && x->failed == y->failed &&
                                               x->counted == y->counted && x->hash == y->hash);

    if (!equal)
        complain(run,
                 "ranks %d and %d disagree about operation %u (kind %u): status %d %d, failed %llx %llx, "
                 "counted %llx %llx, hash %llx %llx",
                 a, b, x->op, x->kind, x->status, y->status, (unsigned long long)x->failed,
                 (unsigned long long)y->failed, (unsigned long long)x->counted,
                 (unsigned long long)y->counted, (unsigned long long)x->hash, (unsigned long long)y->hash);
    return equal;
}

static bool judge_survivor(const struct run *run, int rank, int first, const struct record *reference)
{
    const struct record *records = map_records(run, rank);
    bool good = records != NULL;

    if (!good)
        complain(run, "survivor %d wrote no records", rank);
    for (int op = 0; good && op < run->operations; op++)
        good = judge_record(run, rank, &records[op]) &&
               equal_records(run, first, rank, &reference[op], &records[op]);
    if (records != NULL)
        munmap((void *)records, (size_t)run->operations * sizeof(struct record));
    return good;
}

static bool judge_survivors(const struct run *run)
{
    int first = 0;
    bool good = true;

    while (first < run->n && (run->failed >> first & 1))
        first++;
    if (first == run->n) {
        complain(run, "nobody survived");
        return false;
    }
    const struct record *reference = map_records(run, first);
    if (reference == NULL) {
        complain(run, "survivor %d wrote no records", first);
        return false;
    }
    for (int rank = first; good && rank < run->n; rank++)
        if (!(run->failed >> rank & 1))
            good = judge_survivor(run, rank, first, reference);
    munmap((void *)reference, (size_t)run->operations * sizeof(struct record));
    return good;
}

/* A rank that was hit after its mark did not fail, but its exit is not 0 either. */
static bool exit_code_fits(const struct run *run)
{
    int code = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : -1;
    json_t *ranks = json_object_get(run->json, "ranks");

    if (code == 0)
        return true;
    for (int rank = 0; rank < run->n; rank++) {
        json_t *entry = json_array_get(ranks, (size_t)rank);
        bool planned = run->planned >> rank & 1, failed = run->failed >> rank & 1;
        if (!planned || failed)
            continue;
        if (json_integer_value(json_object_get(entry, "signal")) == code - 128 ||
            json_integer_value(json_object_get(entry, "code")) == code)
            return true;
    }
    complain(run, "ftrun ended with wait status %#x", (unsigned)run->status);
    return false;
}

static bool nothing_left(const struct run *run)
{
    json_t *ranks = json_object_get(run->json, "ranks");
    char path[400];
    struct stat status;

    snprintf(path, sizeof(path), "/dev/shm/ftcoll-%u-%s", getuid(),
             json_string_value(json_object_get(run->json, "job")));
    if (stat(path, &status) == 0) {
        complain(run, "the segment %s was left", path);
        return false;
    }
    snprintf(path, sizeof(path), "%s/ftcoll-%u/%s", run->directory, getuid(),
             json_string_value(json_object_get(run->json, "job")));
    if (stat(path, &status) == 0) {
        complain(run, "the directory %s was left", path);
        return false;
    }
    for (int rank = 0; rank < run->n; rank++) {
        pid_t pid = (pid_t)json_integer_value(json_object_get(json_array_get(ranks, (size_t)rank), "pid"));
        if (pid > 0 && kill(pid, 0) == 0) {
            complain(run, "process %d of rank %d was left", (int)pid, rank);
            return false;
        }
    }
    return true;
}

static bool judge(struct run *run, struct totals *totals)
{
    if (!read_report(run))
        return false;
    if (run->failed & ~run->planned) {
        complain(run, "ranks %llx failed that were not to die",
                 (unsigned long long)(run->failed & ~run->planned));
        return false;
    }
    add_rules(run, totals);
    totals->deaths += (uint64_t)__builtin_popcountll(run->failed);
    totals->runs++;
    totals->messages += !run->board;
    return exit_code_fits(run) && judge_survivors(run) && nothing_left(run);
}

/* --- all runs --- */

static void clean(const struct run *run)
{
    char command[300];

    snprintf(command, sizeof(command), "rm -rf '%s'", run->directory);
    if (system(command) != 0)
        fprintf(stderr, "storm: cannot remove %s\n", run->directory);
}

static bool storm_one(uint64_t seed, struct totals *totals)
{
    static struct run run; /* large: not on the stack */
    char template[] = "/tmp/ftcoll-storm-XXXXXX";

    run = (struct run){.seed = seed};
    if (mkdtemp(template) == NULL)
        return false;
    snprintf(run.directory, sizeof(run.directory), "%s", template);
    snprintf(run.report, sizeof(run.report), "%s/report.json", run.directory);
    snprintf(run.output, sizeof(run.output), "%s/output", run.directory);
    plan(&run);
    bool good = await(&run, start(&run)) && judge(&run, totals);
    if (!good) {
        char command[400];
        snprintf(command, sizeof(command), "tail -n 20 %s >&2", run.output);
        if (system(command) != 0)
            fprintf(stderr, "storm: no output\n");
    }
    json_decref(run.json);
    clean(&run);
    return good;
}

static void print_totals(const struct totals *totals)
{
    printf("%llu runs, %llu deaths, %llu runs by messages\n", (unsigned long long)totals->runs,
           (unsigned long long)totals->deaths, (unsigned long long)totals->messages);
    if (totals->messages == 0)
        return;
    printf("how often each rule of agreement.md was taken in these:\n");
    for (int i = 0; i < FTC_RULES_COUNT; i++)
        printf("  %-26s %llu\n", ftc_rule_name(i), (unsigned long long)totals->rules[i]);
}

/* Rules of the protocol's recovery: storms that never take one of them have become harmless. */
static bool rules_were_taken(const struct totals *totals)
{
    static const enum ftc_rule wanted[] = {FTC_RULE_DROP_SMALLER,
                                           FTC_RULE_DROP_FREED,
                                           FTC_RULE_CONTRIBUTE_DECIDED,
                                           FTC_RULE_WRITE_OFF_GROUP,
                                           FTC_RULE_WRITE_OFF_CHILD,
                                           FTC_RULE_DECIDED_BEATS,
                                           FTC_RULE_EMPTY_SUBTREE,
                                           FTC_RULE_RETRY,
                                           FTC_RULE_DECIDE_ROOT_FAILED,
                                           FTC_RULE_PULL,
                                           FTC_RULE_PULL_ANSWER,
                                           FTC_RULE_ROTATE,
                                           FTC_RULE_POKE,
                                           FTC_RULE_RETAIN};
    bool good = true;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && totals->messages >= MANY_RUNS; i++) {
        if (totals->rules[wanted[i]] > 0)
            continue;
        fprintf(stderr, "storm: the rule \"%s\" was never taken\n", ftc_rule_name(wanted[i]));
        good = false;
    }
    return good;
}

int main(int argc, char **argv)
{
    static struct totals totals;
    long runs = argc > 1 ? atol(argv[1]) : 20, bad = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 100000u;

    if (getenv("FTRUN") == NULL || getenv("STORM_APP") == NULL) {
        fprintf(stderr, "storm: set FTRUN and STORM_APP\n");
        return 2;
    }
    printf("storm: %ld runs from seed %llu\n", runs, (unsigned long long)seed);
    for (long i = 0; i < runs && bad < 5; i++) {
        bad += !storm_one(seed + (uint64_t)i, &totals);
        if (i % 100 == 99) {
            printf("storm: %ld of %ld runs, %ld bad\n", i + 1, runs, bad);
            fflush(stdout);
        }
    }
    print_totals(&totals);
    return bad > 0 || !rules_were_taken(&totals);
}
