/* ftcoll-sim run: one run under a cost model. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "sim/timed/options.h"

#define SHOWN_OPERATIONS 40 /* operations that the table shows */
#define SHOWN_DEATHS     6
#define DRAWN_RANKS      64

struct run {
    struct ftc_timed_options common;
    struct ftc_cost cost;
    bool trace, json, draw;
};

static int take_cost(void *command, const char *text)
{
    return ftc_cost_parse(&((struct run *)command)->cost, text);
}

static int take_kill(void *command, const char *text)
{
    uint64_t kills;
    int rc = ftc_option_number("--kill", text, 0, INT32_MAX, &kills);

    if (rc == 0)
        ((struct run *)command)->common.timed.kills = (int)kills;
    return rc;
}

static int take_stall(void *command, const char *text)
{
    uint64_t length;
    int count;

    return ftc_timed_read_stall(text, &((struct run *)command)->common.timed, &length, 1, &count);
}

static int take_trace(void *command, const char *text)
{
    (void)text;
    ((struct run *)command)->trace = true;
    return 0;
}

static int take_draw(void *command, const char *text)
{
    (void)text;
    ((struct run *)command)->draw = true;
    return 0;
}

static int take_json(void *command, const char *text)
{
    (void)text;
    ((struct run *)command)->json = true;
    return 0;
}

static const struct ftc_option options[] = {
    {"cost", 'c', "MODEL",
     "shared-memory, rdma, tcp, or values in ns: L=,o=,g=,G=,c= (default: rdma)", take_cost},
    FTC_TIMED_OPTIONS,
    {"kill", 'k', "K", "number of ranks that die (default: 0)", take_kill},
    {"stall", 0, "RANK@TIME:LENGTH", "a rank that stands still from TIME on, for LENGTH",
     take_stall},
    {"trace", 't', NULL, "print each step before the result", take_trace},
    {"draw", 0, NULL,
     "print a graph for Graphviz: each contribution, and the ranks whose values are in it",
     take_draw},
    {"json", 'j', NULL, "print the result in JSON, for scripts (schema 1)", take_json},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_run_usage = {
    .synopsis = "ftcoll-sim [run] [options] OPERATION...",
    .summary = "Run operations on a virtual machine. Tells what they cost, and whether every "
               "promise is kept.",
    .examples = "  ftcoll-sim -n 65536 -f 3 allreduce --kill 5 --seed 7\n"
                "  ftcoll-sim -n 1024 bcast --dissemination lame --arity 4 --cost L=2,o=1\n"
                "  ftcoll-sim -n 7 -f 1 reduce --kill 1 --kill-at start --trace\n"
                "  ftcoll-sim -n 7 -f 1 reduce --kill 1 --kill-kind head --kill-at start --draw | "
                "dot -Tsvg\n",
    .option = options,
};

/* --- for people --- */

static void print_deaths(const struct ftc_timed_settings *timed,
                         const struct ftc_timed_result *result)
{
    char time[32], detect[32], jitter[32];

    printf("%d death%s:", result->deaths, result->deaths == 1 ? "" : "s");
    for (int i = 0; i < result->deaths && i < SHOWN_DEATHS; i++)
        printf("%s rank %d at %s", i > 0 ? "," : "", result->death[i].rank,
               ftc_cost_time((double)result->death[i].time, time, sizeof(time)));
    if (result->deaths > SHOWN_DEATHS)
        printf(", %d more", result->deaths - SHOWN_DEATHS);
    printf("; notices %s", ftc_cost_time((double)timed->detect_ns, detect, sizeof(detect)));
    if (timed->jitter_ns > 0)
        printf(" to %s", ftc_cost_time((double)(timed->detect_ns + timed->jitter_ns), jitter,
                                       sizeof(jitter)));
    printf(" later\n");
}

static void print_setting(const struct ftc_setup *setup, const struct ftc_timed_settings *timed,
                          const struct ftc_timed_result *result)
{
    char cost[128];

    printf("%d ranks, f = %d, %" PRIu64 "-byte values, seed %" PRIu64 "\n", setup->member.ranks,
           setup->member.f, timed->bytes, timed->seed);
    printf("%s: %s", timed->cost.name, ftc_cost_format(&timed->cost, cost, sizeof(cost)));
    if (timed->distance.kind != FTC_DISTANCE_FLAT)
        printf("; %s, %" PRIu64 " ns per further hop", ftc_distance_name(timed->distance.kind),
               timed->distance.hop_ns);
    putchar('\n');
    if (result->deaths > 0)
        print_deaths(timed, result);
}

static void print_operation(int op, enum ftc_call_kind kind, const struct ftc_timed_operation *o)
{
    char latency[32] = "-", root[32] = "-";
    uint64_t others =
        o->sent[FTC_MESSAGE_PREPARE] + o->sent[FTC_MESSAGE_POKE] + o->sent[FTC_MESSAGE_PULL];

    if (o->deliveries > 0)
        ftc_cost_time((double)(o->last_delivery - o->first_call), latency, sizeof(latency));
    if (o->root_delivered && ftc_call_to_root(kind))
        ftc_cost_time((double)(o->root_delivery - o->first_call), root, sizeof(root));
    printf("%3d  %-14s %10s %10s %8u %8u %9" PRIu64 " %8" PRIu64 " %8" PRIu64 " %7" PRIu64
           " %12" PRIu64 "\n",
           op, ftc_call_kind_name(kind), latency, root, o->ballots, o->retries,
           o->sent[FTC_MESSAGE_UP], o->sent[FTC_MESSAGE_TREE], o->sent[FTC_MESSAGE_DECIDE], others,
           o->bytes);
}

static uint64_t messages_of(const struct ftc_timed_operation *o)
{
    uint64_t messages = 0;

    for (int kind = 0; kind < FTC_MESSAGES_ONE_LEVEL; kind++)
        messages += o->sent[kind];
    return messages;
}

static void print_corruption(int op, const struct ftc_timed_operation *o)
{
    if (o->wrong > 0 && o->wrong < o->compared)
        printf("op %d: %u of %u results of subtrees were outvoted\n", op, o->wrong, o->compared);
    else if (o->wrong > 0)
        printf("op %d: %u results of subtrees differ: it ends with FTC_ERR_CORRUPT\n", op,
               o->compared);
}

static void print_table(const struct ftc_setup *setup, const struct ftc_timed_settings *timed,
                        const struct ftc_timed_result *result)
{
    struct rusage usage_now;
    char end[32];
    int length = setup->program.length;

    print_setting(setup, timed, result);
    printf("\n%3s  %-14s %10s %10s %8s %8s %9s %8s %8s %7s %12s\n", "op", "operation", "latency",
           "at root", "ballots", "retries", "UP", "TREE", "DECIDE", "others", "bytes");
    for (int op = 0; op < length && op < SHOWN_OPERATIONS; op++)
        print_operation(op, setup->program.operation[op].kind, &result->operation[op]);
    if (length > SHOWN_OPERATIONS)
        printf("... and %d more; --json has them all\n", length - SHOWN_OPERATIONS);
    for (int op = 0; op < length && op < SHOWN_OPERATIONS; op++)
        print_corruption(op, &result->operation[op]);
    if (result->settlements.bytes > 0)
        printf("settlements: %" PRIu64 " messages, %" PRIu64 " bytes\n",
               messages_of(&result->settlements), result->settlements.bytes);
    getrusage(RUSAGE_SELF, &usage_now);
    printf("\n%s to the last event; %" PRIu64 " events, at most %" PRIu64 " pending; %ld MiB; %s\n",
           ftc_cost_time((double)result->end, end, sizeof(end)), result->events, result->peak,
           usage_now.ru_maxrss / 1024,
           result->violation[0] == '\0' ? "every promise was kept" : "a promise is broken");
}

/* --- for scripts --- */

static json_t *json_cost(const struct ftc_timed_settings *timed)
{
    const struct ftc_cost *c = &timed->cost;

    return json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:f, s:s, s:I, s:I, s:I, s:I}", "name", c->name, "L", c->L, "o",
        c->o, "g", c->g, "G", c->G, "c", c->c, "topology", ftc_distance_name(timed->distance.kind),
        "hop_ns", (json_int_t)timed->distance.hop_ns, "bytes", (json_int_t)timed->bytes,
        "detect_ns", (json_int_t)timed->detect_ns, "jitter_ns", (json_int_t)timed->jitter_ns);
}

static json_t *json_time(bool known, uint64_t from, uint64_t to)
{
    return known ? json_integer((json_int_t)(to - from)) : json_null();
}

static json_t *json_sent(const struct ftc_timed_operation *o)
{
    json_t *sent = json_object();

    for (int kind = 0; kind < FTC_MESSAGES_ONE_LEVEL; kind++)
        json_object_set_new(sent, ftc_message_kind_name(kind),
                            json_integer((json_int_t)o->sent[kind]));
    return sent;
}

static json_t *json_operation(const struct ftc_program_operation *operation,
                              const struct ftc_timed_operation *o)
{
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:o, s:I}", "operation",
        ftc_call_kind_name(operation->kind), "root",
        operation->root >= 0 ? json_integer(operation->root) : json_null(), "latency_ns",
        json_time(o->deliveries > 0, o->first_call, o->last_delivery), "root_latency_ns",
        json_time(o->root_delivered, o->first_call, o->root_delivery), "deliveries", o->deliveries,
        "ballots", (int)o->ballots, "retries", (int)o->retries, "compared", (int)o->compared,
        "wrong", (int)o->wrong, "sent", json_sent(o), "bytes", (json_int_t)o->bytes);
}

static json_t *json_deaths(const struct ftc_timed_result *result)
{
    json_t *deaths = json_array();

    for (int i = 0; i < result->deaths; i++)
        json_array_append_new(deaths, json_pack("{s:i, s:I}", "rank", result->death[i].rank,
                                                "time_ns", (json_int_t)result->death[i].time));
    return deaths;
}

static int print_json(const struct ftc_setup *setup, const struct ftc_timed_settings *timed,
                      const struct ftc_timed_result *result)
{
    json_t *operations = json_array();
    const char *violation = result->violation;

    for (int op = 0; op < setup->program.length; op++)
        json_array_append_new(
            operations, json_operation(&setup->program.operation[op], &result->operation[op]));
    json_t *all =
        json_pack("{s:i, s:i, s:i, s:I, s:o, s:o, s:o, s:{s:o, s:I}, s:I, s:I, s:I, s:o}", "schema",
                  1, "ranks", setup->member.ranks, "f", setup->member.f, "seed",
                  (json_int_t)timed->seed, "cost", json_cost(timed), "deaths", json_deaths(result),
                  "operations", operations, "settlements", "sent", json_sent(&result->settlements),
                  "bytes", (json_int_t)result->settlements.bytes, "end_ns", (json_int_t)result->end,
                  "events", (json_int_t)result->events, "pending_peak", (json_int_t)result->peak,
                  "violation", violation[0] != '\0' ? json_string(violation) : json_null());
    int rc = all != NULL ? json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : -1;
    json_decref(all);
    if (rc != 0)
        return ftc_error_set(FTC_ERR_NOMEM,
                             "cannot make the JSON of this run: out of memory or output closed");
    putchar('\n');
    return 0;
}

/* --- the run --- */

static int check(const struct ftc_setup *setup, const struct run *run)
{
    if (!setup->ranks_given)
        return ftc_error_set(FTC_ERR_ARG, "the number of ranks is missing; give -n N");
    if (setup->program.length == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "no operation is named; give one, such as ftcoll-sim -n %d allreduce",
                             setup->member.ranks);
    if (run->trace + run->json + run->draw > 1)
        return ftc_error_set(FTC_ERR_ARG, "--trace, --json and --draw exclude each other; run "
                                          "again, it is the same run");
    if (run->draw && (setup->member.ranks > DRAWN_RANKS || setup->program.length > 1 ||
                      !ftc_program_combines(setup->program.operation)))
        return ftc_error_set(FTC_ERR_ARG,
                             "--draw draws one reduce or allreduce of at most %d ranks; name one, "
                             "and fewer ranks, or take --trace",
                             DRAWN_RANKS);
    return 0;
}

/* The replay line is the command line, because a run depends on nothing else. */
static void print_replay(int argc, char **argv, FILE *out)
{
    fputs("replay: ftcoll-sim", out);
    for (int i = 1; i < argc; i++) {
        bool plain =
            argv[i][strcspn(argv[i], " \t\n'\"\\$&|;<>()*?[]{}~#!`")] == '\0' && argv[i][0] != '\0';
        fprintf(out, plain ? " %s" : " '%s'", argv[i]);
    }
    fputs(" --trace\n", out);
}

static int complain(int code)
{
    fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
    return code;
}

static int run_and_show(const struct ftc_setup *setup, const struct run *run, int argc, char **argv)
{
    struct ftc_timed_settings timed =
        ftc_timed_options_settings(&run->common, &run->cost, setup->seed);
    struct ftc_timed_result result;
    int code = FTC_SIM_EXIT_OK;

    timed.graph = run->draw;
    int rc = ftc_timed_run(&setup->member, &setup->program, &timed,
                           run->trace || run->draw ? stdout : NULL, &result);

    if (rc != 0)
        return complain(rc == FTC_ERR_ARG ? FTC_SIM_EXIT_USAGE : FTC_SIM_EXIT_ERROR);
    if (run->trace)
        putchar('\n');
    if (run->json)
        rc = print_json(setup, &timed, &result);
    else if (!run->draw)
        print_table(setup, &timed, &result);
    if (rc != 0)
        code = complain(FTC_SIM_EXIT_ERROR);
    if (result.violation[0] != '\0') {
        fprintf(stderr, "ftcoll-sim: a promise is broken: %s\n", result.violation);
        print_replay(argc, argv, stderr);
        code = FTC_SIM_EXIT_VIOLATION;
    }
    ftc_timed_result_fini(&result);
    return code;
}

int ftc_command_run(int argc, char **argv)
{
    struct ftc_setup setup;
    struct run run;
    int code;

    ftc_timed_options_init(&run.common);
    run.trace = run.json = run.draw = false;
    int rc = ftc_cost_parse(&run.cost, "rdma");
    if (rc != 0)
        return complain(FTC_SIM_EXIT_ERROR);
    if (!ftc_setup_begin(&setup, &ftc_run_usage, &run, argc, argv, &code))
        return code;
    code = check(&setup, &run) != 0 ? complain(FTC_SIM_EXIT_USAGE)
                                    : run_and_show(&setup, &run, argc, argv);
    ftc_setup_fini(&setup);
    return code;
}
