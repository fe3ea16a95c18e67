/*
 * Kill storms in real processes. Run after run, a job of random size and settings starts, and its
 * ranks die at random and at chosen moments. Then the survivors' records must agree and count every
 * survivor once, and nothing may be left behind.
 *
 *   storm RUNS [SEED]
 *
 * Environment:
 *   FTRUN, STORM_APP      the programs to run
 *   STORM_NOTICES=off     detector.exit_notices; else the default
 *   STORM_ALGORITHM=board|corrected
 *                         else every second run is by messages, at random
 *   STORM_TRANSPORT=shm|tcp|...
 *                         transport.order; else at random
 *   STORM_KIND=plain|groups|messages|gossip|vote|checksum
 *                         storm_strikes.c; else at random
 *   STORM_NODES=N         number of nodes, if there are enough ranks for them; else at random
 *   STORM_RANKS=N         most ranks; else 64
 *   STORM_TIMEOUT_MS=T    timeout of runs on several nodes
 *   STORM_WATCHDOG_S=S    seconds after which a run hangs; 90 by default
 *   STORM_LARGE=BYTES     size from which an allreduce goes round the ring; 0: never; else at
 *                         random
 *   STORM_LEVELS=two      settings with which operations of several nodes go over two levels
 *   STORM_BROADCAST=gossip+checked, kary+none, ...
 *                         how operations by messages spread decisions; else at random
 *
 * Prints the seed of each failing run; `storm 1 SEED` replays it. Sums up how often each rule of
 * agreement.md ran. Only runs by messages count, because the board needs none of the rules.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
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

#include "base/clock.h"
#include "collectives/agreement/member.h"
#include "include/ftcoll.h"
#include "tests/clock.h"
#include "tests/system/record.h"
#include "tests/system/storm_run.h"
#include "tests/system/storm_totals.h"

#define WATCHDOG_S 90

/* --- running --- */

void storm_complain(const struct run *run, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "storm: seed %llu: ", (unsigned long long)run->seed);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    const char *forced = getenv("STORM_BROADCAST");
    fprintf(stderr, "\n  replay: %s=%s storm 1 %llu   (np %d, f %d, %d may die)\n  ",
            forced != NULL ? "STORM_BROADCAST" : "STORM_ALGORITHM",
            forced != NULL ? forced
            : run->board   ? "board"
                           : "corrected",
            (unsigned long long)run->seed, run->n, run->f, run->victims);
    static const char *const choices[] = {"STORM_TRANSPORT", "STORM_KIND", "STORM_LEVELS",
                                          "STORM_NODES", "STORM_LARGE"};
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (getenv(choices[i]) != NULL)
            fprintf(stderr, "%s=%s ", choices[i], getenv(choices[i]));
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

static time_t watchdog_s(void)
{
    const char *words = getenv("STORM_WATCHDOG_S");

    return words != NULL ? (time_t)atoi(words) : WATCHDOG_S;
}

/* Returns false if the run hung. The job is then shown and ended. */
static bool await(struct run *run, pid_t pid)
{
    time_t start_s = time(NULL), patience_s = watchdog_s();

    while (waitpid(pid, &run->status, WNOHANG) == 0) {
        storm_nodes_strike(run, pid, ftc_clock_now() / 1000);
        if (time(NULL) - start_s > patience_s) {
            char command[2048];
            storm_complain(run, "hangs");
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
        test_nap(0.002);
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
        storm_complain(run, "no report: %s (wait status %#x)", error.text, (unsigned)run->status);
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
            totals->rules[i] +=
                (uint64_t)json_integer_value(json_object_get(rules, ftc_rule_name(i)));
    }
}

const void *storm_map_records(const struct run *run, int rank, size_t size)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%d", run->directory, rank);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    const void *records = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return records == MAP_FAILED ? NULL : records;
}

static const struct record *map_records(const struct run *run, int rank)
{
    return storm_map_records(run, rank, (size_t)run->operations * sizeof(struct record));
}

/* Checks one survivor's record by itself. */
static bool judge_record(const struct run *run, int rank, const struct record *record)
{
    uint64_t alive = storm_alive(run), all = alive | run->failed;
    const char *what = NULL;

    if (!record->done)
        what = "was not finished";
    else if ((record->counted & alive) != alive)
        what = "leaves out a survivor";
    else if (record->board != (run->board && record->kind != RECORD_GOSSIP))
        what = "was reported for another algorithm";
    else if ((record->kind == RECORD_ALLREDUCE || record->kind == RECORD_LARGE ||
              record->kind == RECORD_BLOCKS || record->kind == RECORD_SIZED) &&
             run->list && (all & ~record->counted & ~record->failed) != 0)
        what = "leaves out a rank that its failed set does not name";
    else if ((record->failed & alive) != 0)
        what = "has a survivor in its failed set";
    else if (record->status == FTC_ERR_ROOT_FAILED && (alive >> record->root & 1))
        what = "says that a live root failed";
    else if (record->status == FTC_ERR_TOO_MANY_FAILURES &&
             __builtin_popcountll(run->failed) <= run->f)
        what = "says too many failures, which there were not";
    else if (record->status == FTC_ERR_CORRUPT && !(run->flipped >> record->op & 1))
        what = "says corrupt, which nothing was";
    else if (record->status == FTC_ERR_CORRUPT && run->f >= 2 && run->failed == 0)
        what = "was not corrected, though nobody died";
    else if (record->unchecked && run->failed == 0)
        what = "compared nothing, though nobody died";
    else if (record->status == FTC_ERR_NOT_CONVERGED && run->converges &&
             (run->survives || run->failed == 0))
        what = "ended without a result, for no reason";
    if (what != NULL)
        storm_complain(run, "rank %d: operation %u (kind %u) %s", rank, record->op, record->kind,
                       what);
    return what == NULL;
}

static bool equal_records(const struct run *run, int a, int b, const struct record *x,
                          const struct record *y)
{
    bool equal = record_is_reduce(x->kind) || (x->status == y->status && x->failed == y->failed &&
                                               x->counted == y->counted && x->hash == y->hash);

    if (!equal)
        storm_complain(
            run,
            "ranks %d and %d disagree about operation %u (kind %u): status %d %d, failed %llx "
            "%llx, "
            "counted %llx %llx, hash %llx %llx",
            a, b, x->op, x->kind, x->status, y->status, (unsigned long long)x->failed,
            (unsigned long long)y->failed, (unsigned long long)x->counted,
            (unsigned long long)y->counted, (unsigned long long)x->hash,
            (unsigned long long)y->hash);
    return equal;
}

static bool judge_survivor(const struct run *run, int rank, int first,
                           const struct record *reference)
{
    const struct record *records = map_records(run, rank);
    bool good = records != NULL;

    if (!good)
        storm_complain(run, "survivor %d wrote no records", rank);
    for (int op = 0; good && op < run->operations; op++)
        good = judge_record(run, rank, &records[op]) &&
               equal_records(run, first, rank, &reference[op], &records[op]);
    if (records != NULL)
        munmap((void *)records, (size_t)run->operations * sizeof(struct record));
    return good;
}

static void count_gossip(const struct run *run, const struct record *records, struct totals *totals)
{
    for (int op = 0; op < run->operations; op++) {
        totals->gossip += records[op].kind == RECORD_GOSSIP;
        totals->converged += records[op].kind == RECORD_GOSSIP && records[op].status == FTC_SUCCESS;
    }
}

static bool judge_survivors(const struct run *run, struct totals *totals)
{
    if (run->kind == STORM_GROUPS)
        return storm_groups_judge(run);
    if (run->kind == STORM_MESSAGES)
        return storm_messages_judge(run, totals);
    int first = 0;
    bool good = true;

    while (first < run->n && (run->failed >> first & 1))
        first++;
    if (first == run->n) {
        storm_complain(run, "nobody survived");
        return false;
    }
    const struct record *reference = map_records(run, first);
    if (reference == NULL) {
        storm_complain(run, "survivor %d wrote no records", first);
        return false;
    }
    count_gossip(run, reference, totals);
    for (int rank = first; good && rank < run->n; rank++)
        if (!(run->failed >> rank & 1))
            good = judge_survivor(run, rank, first, reference);
    munmap((void *)reference, (size_t)run->operations * sizeof(struct record));
    return good;
}

/* A rank that was hit after its mark did not fail, but its exit code is not 0 either. */
static bool exit_code_fits(const struct run *run)
{
    int code = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : -1;
    if (run->nodes > 1) /* the exit code of the ftrun in front is about agents */
        code = (int)json_integer_value(json_object_get(run->json, "exit_code"));
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
    storm_complain(run, "ftrun ended with wait status %#x", (unsigned)run->status);
    return false;
}

/* No rank may leave for damage that was not planned. */
static bool struck_left(const struct run *run, struct totals *totals)
{
    json_t *ranks = json_object_get(run->json, "ranks");
    uint64_t damaged = run->kind == STORM_CHECKSUM ? run->struck : 0;

    for (int rank = 0; rank < run->n; rank++) {
        json_t *code = json_object_get(json_array_get(ranks, (size_t)rank), "code");
        if (json_integer_value(code) != FTC_EXIT_CORRUPT)
            continue;
        totals->damaged++;
        if (!(damaged >> rank & 1)) {
            storm_complain(run, "rank %d left for damage that it had not", rank);
            return false;
        }
    }
    return true;
}

/* The agent may have been killed after it had reported. The next ftrun then removes what it leaves.
 * The name of a job begins with the pid of its ftrun (node/jobs.c). */
static bool reporter_was_struck(const struct run *run)
{
    const char *job = json_string_value(json_object_get(run->json, "job"));

    return run->hit && !run->stops_agent && atoi(job) == run->agent;
}

static bool no_file_left(const struct run *run)
{
    char path[400];
    struct stat status;

    snprintf(path, sizeof(path), "/dev/shm/ftcoll-%u-%s*", getuid(),
             json_string_value(json_object_get(run->json, "job")));
    glob_t found; /* the segment, and the boards of communicators */
    int none = glob(path, GLOB_NOSORT, NULL, &found);
    if (none == 0)
        storm_complain(run, "%s was left", found.gl_pathv[0]);
    globfree(&found);
    if (none == 0)
        return false;
    snprintf(path, sizeof(path), "%s/ftcoll-%u/%s", run->directory, getuid(),
             json_string_value(json_object_get(run->json, "job")));
    if (stat(path, &status) == 0) {
        storm_complain(run, "the directory %s was left", path);
        return false;
    }
    return true;
}

static bool nothing_left(const struct run *run)
{
    json_t *ranks = json_object_get(run->json, "ranks");

    if (!reporter_was_struck(run) && !no_file_left(run))
        return false;
    for (int rank = 0; rank < run->n; rank++) {
        pid_t pid =
            (pid_t)json_integer_value(json_object_get(json_array_get(ranks, (size_t)rank), "pid"));
        if (pid > 0 && kill(pid, 0) == 0) {
            storm_complain(run, "process %d of rank %d was left", (int)pid, rank);
            return false;
        }
    }
    return true;
}

static bool was_said(const struct run *run, const char *words)
{
    char command[400];

    snprintf(command, sizeof(command), "grep -qF '%s' %s", words, run->output);
    return system(command) == 0;
}

/* Only the last agent knows how the job has ended. If that agent was killed, the others had left
 * before, and their ranks have all results. */
static bool report_died(const struct run *run)
{
    char killed[64];

    snprintf(killed, sizeof(killed), "rank %d failed: killed by signal 9 ", run->struck_node);
    return run->hit && !run->stops_agent && access(run->report, F_OK) != 0 && run->status == 0 &&
           was_said(run, killed) && !was_said(run, " is lost: ");
}

static bool judge_unreported(struct run *run, struct totals *totals)
{
    run->failed = run->planned;
    totals->runs++;
    totals->several++;
    totals->lost++;
    totals->unreported++;
    return judge_survivors(run, totals);
}

static bool judge(struct run *run, struct totals *totals)
{
    if (report_died(run))
        return judge_unreported(run, totals);
    if (!read_report(run))
        return false;
    if (run->failed & ~run->planned) {
        storm_complain(run, "ranks %llx failed that were not to die",
                       (unsigned long long)(run->failed & ~run->planned));
        return false;
    }
    add_rules(run, totals);
    totals->deaths += (uint64_t)__builtin_popcountll(run->failed);
    totals->runs++;
    totals->of_kind[run->kind]++;
    totals->messages += !run->board;
    totals->several += run->nodes > 1;
    totals->lost += run->hit;
    return exit_code_fits(run) && struck_left(run, totals) && judge_survivors(run, totals) &&
           nothing_left(run);
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
    static struct run run; /* too large for the stack */
    char template[] = "/tmp/ftcoll-storm-XXXXXX";

    run = (struct run){.seed = seed};
    if (mkdtemp(template) == NULL)
        return false;
    snprintf(run.directory, sizeof(run.directory), "%s", template);
    snprintf(run.report, sizeof(run.report), "%s/report.json", run.directory);
    snprintf(run.output, sizeof(run.output), "%s/output", run.directory);
    storm_plan(&run);
    bool good = await(&run, start(&run)) && judge(&run, totals);
    if (!good) {
        char command[400];
        snprintf(command, sizeof(command), "tail -n 60 %s >&2", run.output);
        if (system(command) != 0)
            fprintf(stderr, "storm: no output\n");
    }
    json_decref(run.json);
    clean(&run);
    return good;
}

/* Two storms that begin in the same second get unrelated seeds. */
static uint64_t fresh_seed(void)
{
    return ((uint64_t)time(NULL) * 100 + (uint64_t)getpid() % 100) * 10000;
}

int main(int argc, char **argv)
{
    static struct totals totals;
    long runs = argc > 1 ? atol(argv[1]) : 20, bad = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : fresh_seed();

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
    return bad > 0 || !rules_were_taken(&totals) || !flips_were_seen(&totals);
}
