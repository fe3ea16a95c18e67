/* ftcoll-sim explore: every interleaving and every crash point of a small communicator. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "include/ftcoll.h"
#include "sim/explore/explore.h"
#include "sim/explore/process.h"
#include "sim/options.h"
#include "sim/progress.h"

#define GIB          1073741824.0
#define SHORTEN      2000000
#define MEMORY_FIRST 4 /* GiB */

struct explore {
    struct ftc_explore_limits limits;
    bool json;
    struct ftc_progress progress;
    int nodes, first[FTC_EXPLORE_RANKS + 1];
    bool go_on;          /* the senders of a reduce over two levels */
    const char *program; /* over several communicators; NULL: operations of one are explored */
    int threads;         /* of each rank */
    struct ftc_comms_story story;
};

/* --- options --- */

static int take_crashes(void *command, const char *text)
{
    struct explore *e = command;
    uint64_t number = 0;
    int rc = ftc_option_number("--crashes", text, 0, 7, &number);

    e->limits.crashes = (int)number;
    return rc;
}

static int take_program(void *command, const char *text)
{
    ((struct explore *)command)->program = text;
    return FTC_SUCCESS;
}

static int take_threads(void *command, const char *text)
{
    uint64_t number = 0;
    int rc = ftc_option_number("--threads", text, 1, FTC_COMMS_THREADS, &number);

    ((struct explore *)command)->threads = (int)number;
    return rc;
}

/* Ranks are spread as agents spread them: evenly, and each node has consecutive ranks. */
static int take_nodes(void *command, const char *text)
{
    uint64_t number = 0;
    int rc = ftc_option_number("--nodes", text, 1, FTC_EXPLORE_RANKS, &number);

    ((struct explore *)command)->nodes = (int)number;
    return rc;
}

static int take_go_on(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->go_on = true;
    return FTC_SUCCESS;
}

static int take_late_word(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->limits.late_word = true;
    return FTC_SUCCESS;
}

static int take_far_ahead(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->limits.far_ahead = true;
    return FTC_SUCCESS;
}

static int take_late_look(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->limits.late_look = true;
    return FTC_SUCCESS;
}

static int take_no_epoch(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->limits.no_epoch = true;
    return FTC_SUCCESS;
}

static int take_states(void *command, const char *text)
{
    return ftc_option_number("--max-states", text, 1, UINT64_MAX,
                             &((struct explore *)command)->limits.states);
}

static int take_memory(void *command, const char *text)
{
    double gib = 0;
    int rc = ftc_option_real("--memory", text, 0.01, 65536, &gib);

    if (rc == FTC_SUCCESS)
        ((struct explore *)command)->limits.bytes = (size_t)(gib * GIB);
    return rc;
}

static int take_unfenced(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->limits.unfenced = true;
    return FTC_SUCCESS;
}

static int take_plain(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->limits.plain = true;
    return FTC_SUCCESS;
}

static int take_json(void *command, const char *text)
{
    (void)text;
    ((struct explore *)command)->json = true;
    return FTC_SUCCESS;
}

static const struct ftc_option options[] = {
    {"crashes", 0, "N", "at most N ranks crash, 0 to 7 (default: 1)", take_crashes},
    {"program", 0, "WORDS", "calls in several communicators, in place of operations", take_program},
    {"threads", 0, "N", "with --program: 2: a second thread makes the calls in children",
     take_threads},
    {"unfenced", 0, NULL, "mutation: a rank that was declared failed goes on acting",
     take_unfenced},
    {"nodes", 0, "N", "ranks are on N nodes, and operations go over two levels", take_nodes},
    {"go-on", 0, NULL, "the senders of a reduce over two levels go on", take_go_on},
    {"late-word", 0, NULL, "mutation: a delegate returns before it has written the decision word",
     take_late_word},
    {"no-epoch", 0, NULL, "mutation: a post of another history counts", take_no_epoch},
    {"late-look", 0, NULL, "mutation: a rank goes on without a look at the decision word",
     take_late_look},
    {"far-ahead", 0, NULL,
     "mutation: a broadcast does not wait until its node has called the broadcast before",
     take_far_ahead},
    {"no-reduction", 0, NULL, "take every event by itself, to check the reductions", take_plain},
    {"max-states", 0, "N", "stop after N states", take_states},
    {"memory", 0, "GIB", "stop when more than GIB of memory is needed (default: 4)", take_memory},
    {"json", 0, NULL, "print the result as JSON", take_json},
    {0},
};

const struct ftc_usage ftc_explore_usage = {
    .synopsis = "ftcoll-sim explore [options] OPERATION...",
    .summary = "Explore every interleaving and every crash point of a small communicator, up to 8 "
               "ranks and 8 "
               "operations, and check every promise in each state. With --program the ranks run a "
               "program over several communicators. Its words are allreduce, reduce:ROOT, "
               "bcast:ROOT, barrier, validate, dup, split, shrink, create, free and revoke:RANK. "
               "iallreduce and the like start a call without waiting. @child is the communicator "
               "that was made last, @1 the first one. split:0+2 and create:0+2 are for ranks 0 and "
               "2 alone. shrink:after and validate:after are called by those that know of a "
               "revoke.",
    .examples =
        "  ftcoll-sim explore -n 3 -f 1 --crashes 2 allreduce\n"
        "  ftcoll-sim explore -n 4 -f 2 --crashes 3 --scheme bit allreduce bcast:1 allreduce\n"
        "  ftcoll-sim explore -n 3 -f 1 --program 'split allreduce@child iallreduce'\n",
    .option = options,
    .most_ranks = 8,
    .seedless = true,
};

static void show_progress(void *arg, const struct ftc_explore_result *r)
{
    char more[64];

    snprintf(more, sizeof(more), "depth %d, %.2f GiB", r->depth, (double)r->bytes / GIB);
    ftc_progress_show(arg, r->states, more);
}

/* --- results --- */

static const char *verdict(const struct ftc_explore_result *r)
{
    if (r->violated)
        return "violated";
    return r->exhausted ? "kept" : "not exhaustive";
}

static void print_text(const struct ftc_explore_result *r, double seconds)
{
    printf("states            %" PRIu64 "\n", r->states);
    printf("transitions       %" PRIu64 "\n", r->transitions);
    printf("terminal states   %" PRIu64 "\n", r->terminal);
    printf("longest path      %d events\n", r->depth);
    printf("%s         %s%" PRIu32 " states, %" PRIu32 " steps learned\n",
           r->decisions > 0 ? "members" : "processes", r->decisions > 0 ? "  " : "",
           r->local_states, r->local_steps);
    printf("network           %" PRIu32 " distinct messages, %" PRIu32 " distinct queues\n",
           r->messages, r->queues);
    if (r->verdicts > 0)
        printf("verdicts          %" PRIu32 " distinct\n", r->verdicts);
    else
        printf("decisions         %" PRIu32 " distinct\n", r->decisions);
    printf("hash collisions   %.2g expected\n", r->collisions);
    printf("time              %.2f s, %.2f million states/s\n", seconds,
           seconds > 0 ? (double)r->states / 1e6 / seconds : 0);
    printf("memory            %.3f GiB\n", (double)r->bytes / GIB);
    if (r->violated) {
        printf("\n%s\nVIOLATION after %d events: %s\n", r->path != NULL ? r->path : "", r->length,
               r->violation);
        if (r->replay != NULL)
            printf("replay: %s\n", r->replay);
    } else if (r->exhausted) {
        printf("every promise is kept in every reachable state\n");
    } else {
        printf("NOT EXHAUSTIVE: %s; no promise was broken so far\n", r->incomplete);
    }
}

static int print_json(const struct ftc_explore_result *r, double seconds)
{
    json_t *object =
        json_pack("{s:i, s:s, s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I}",
                  "schema", 1, "verdict", verdict(r), "states", (json_int_t)r->states,
                  "transitions", (json_int_t)r->transitions, "terminal", (json_int_t)r->terminal,
                  "depth", r->depth, "member_states", (json_int_t)r->local_states, "member_steps",
                  (json_int_t)r->local_steps, "messages", (json_int_t)r->messages, "queues",
                  (json_int_t)r->queues, "decisions", (json_int_t)r->decisions, "collisions",
                  r->collisions, "seconds", seconds, "bytes", (json_int_t)r->bytes);
    int rc = object != NULL ? 0 : -1;

    if (rc == 0 && r->violated) {
        rc |= json_object_set_new(object, "violation", json_string(r->violation));
        rc |= json_object_set_new(object, "path",
                                  r->path != NULL ? json_string(r->path) : json_null());
        rc |= json_object_set_new(object, "replay",
                                  r->replay != NULL ? json_string(r->replay) : json_null());
    }
    if (rc == 0)
        rc = json_dumpf(object, stdout, JSON_INDENT(2));
    json_decref(object);
    putchar('\n');
    return rc;
}

static int exit_code(const struct ftc_explore_result *r)
{
    if (r->violated)
        return FTC_SIM_EXIT_VIOLATION;
    return r->exhausted ? FTC_SIM_EXIT_OK : FTC_SIM_EXIT_INCOMPLETE;
}

static int check(const struct explore *e, const struct ftc_setup *setup)
{
    const struct ftc_explore_limits *l = &e->limits;

    if (setup->member.ranks == 0)
        return ftc_error_set(FTC_ERR_ARG, "the number of ranks is missing; give -n N");
    if (e->program != NULL && setup->program.length > 0)
        return ftc_error_set(FTC_ERR_ARG, "--program and operations exclude each other");
    if (e->program != NULL && (e->nodes > 1 || l->unfenced || l->late_word || l->late_look ||
                               l->no_epoch || l->far_ahead))
        return ftc_error_set(FTC_ERR_ARG,
                             "--program is on one level and without mutations; leave them out");
    if (e->program == NULL && setup->program.length == 0)
        return ftc_error_set(
            FTC_ERR_ARG,
            "no operation is named; give one, such as ftcoll-sim explore -n %d allreduce",
            setup->member.ranks);
    return FTC_SUCCESS;
}

/* Operations use two levels if there are several nodes. */
static int spread(struct explore *e, struct ftc_member_settings *member)
{
    if (e->nodes > member->ranks)
        return ftc_error_set(FTC_ERR_ARG, "%d nodes for %d ranks; use at most as many", e->nodes,
                             member->ranks);
    if (e->nodes > 1 && e->limits.unfenced)
        return ftc_error_set(FTC_ERR_ARG, "--unfenced is of one level; leave out --nodes");
    for (int node = 0; node <= e->nodes; node++)
        e->first[node] = e->nodes > 0 ? node * member->ranks / e->nodes : 0;
    member->nodes = e->nodes;
    member->first_ranks = e->first;
    member->levels_most = UINT64_MAX;
    member->levels_plain = e->go_on;
    return FTC_SUCCESS;
}

static int explore_program(struct explore *e, const struct ftc_setup *setup,
                           struct ftc_explore_result *result)
{
    e->story.settings = setup->member;
    e->story.settings.communicator = FTC_COMMUNICATOR_WORLD;
    int rc = ftc_explore_words(&e->story, e->threads, e->program);
    return rc == FTC_SUCCESS ? ftc_explore_communicators(&e->story, &e->limits, result) : rc;
}

static int explore(struct explore *e, struct ftc_setup *setup)
{
    struct ftc_explore_result result = {0};

    e->progress = ftc_progress_start(stderr, "states", 0);
    e->limits.progress = show_progress;
    e->limits.progress_arg = &e->progress;
    int rc = check(e, setup);
    if (rc == FTC_SUCCESS)
        rc = spread(e, &setup->member);
    if (rc == FTC_SUCCESS && e->program != NULL)
        rc = explore_program(e, setup, &result);
    else if (rc == FTC_SUCCESS)
        rc = ftc_explore(&setup->member, &setup->program, &e->limits, &result);
    double seconds = ftc_progress_seconds(&e->progress);
    ftc_progress_end(&e->progress);
    int code = exit_code(&result);
    if (rc != FTC_SUCCESS) {
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
        code = rc == FTC_ERR_ARG ? FTC_SIM_EXIT_USAGE : FTC_SIM_EXIT_ERROR;
    } else if (!e->json) {
        print_text(&result, seconds);
    } else if (print_json(&result, seconds) != 0) {
        fprintf(stderr, "ftcoll-sim: cannot print the result as JSON; is the disk full?\n");
        code = FTC_SIM_EXIT_ERROR;
    }
    ftc_explore_result_fini(&result);
    return code;
}

int ftc_command_explore(int argc, char **argv)
{
    struct explore e = {
        .threads = 1,
        .limits = {.crashes = 1, .bytes = (size_t)(MEMORY_FIRST * GIB), .shorten = SHORTEN}};
    struct ftc_setup setup;
    int code;

    if (!ftc_setup_begin(&setup, &ftc_explore_usage, &e, argc, argv, &code))
        return code;
    code = explore(&e, &setup);
    ftc_setup_fini(&setup);
    return code;
}
