/* What strikes the values of a storm's runs. Aggregations by gossip have lost messages and flipped
 * bits. Bits also flip in exact operations, whose results are compared or have checksums. The
 * random numbers are separate, so that a seed keeps its deaths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/record.h"
#include "tests/system/storm_run.h"

#define FLIPS_MOST  4
#define LEAST_VOTES 5 /* ranks: with f = 3, fewer are not f + 2 */
/* In ranks. Where more ranks share few cores, heartbeats stand still under the load. */
#define MOST_GOSSIP 33

static const char *const kinds[STORM_KINDS] = {"plain",  "groups", "messages",
                                               "gossip", "vote",   "checksum"};

static uint64_t begin(const struct run *run)
{
    return run->seed ^ 0x737472696b657321u;
}

static int below(uint64_t *state, int limit)
{
    return (int)(record_random(state) % (uint64_t)limit);
}

/* One run in six has gossip. One in eight has flips in exact operations. */
static enum storm_kind draw_kind(uint64_t *state)
{
    int dice = below(state, 48);
    const char *forced = getenv("STORM_KIND");

    for (int kind = 0; forced != NULL; kind++) {
        if (kind == STORM_KINDS) {
            fprintf(stderr,
                    "storm: STORM_KIND=%s: wanted is plain, groups, messages, gossip, vote or "
                    "checksum\n",
                    forced);
            exit(2);
        }
        if (strcmp(forced, kinds[kind]) == 0)
            return (enum storm_kind)kind;
    }
    if (dice < 8)
        return STORM_GOSSIP;
    if (dice >= 14)
        return STORM_PLAIN;
    return dice % 2 ? STORM_CHECKSUM : STORM_VOTE;
}

void storm_kind(struct run *run)
{
    const char *algorithm = getenv("STORM_ALGORITHM");
    uint64_t state = begin(run);

    run->kind = draw_kind(&state);
    if (run->kind == STORM_VOTE && run->n < LEAST_VOTES)
        run->kind = STORM_CHECKSUM;
    if (run->kind == STORM_GOSSIP && run->n > MOST_GOSSIP)
        run->kind = STORM_PLAIN;
    if (run->kind > STORM_GOSSIP && algorithm != NULL && strcmp(algorithm, "board") == 0)
        run->kind = STORM_PLAIN; /* the board has nothing to compare */
    if (run->kind != STORM_VOTE)
        return;
    run->f = 2 + below(&state, 2);
    if (below(&state, 4) == 0)
        run->f = 1; /* this is enough to notice a flip */
    if (below(&state, 3) == 0)
        run->planned = 0; /* the communicator has to stay whole */
    run->victims = __builtin_popcountll(run->planned);
}

/* --- where --- */

static bool is_combined(enum record_kind kind)
{
    return kind == RECORD_ALLREDUCE || kind == RECORD_LARGE || kind == RECORD_REDUCE ||
           kind == RECORD_LARGE_REDUCE || kind == RECORD_REDUCES;
}

static bool may_strike(const struct run *run, enum record_kind kind)
{
    if (run->kind == STORM_GOSSIP)
        return kind == RECORD_GOSSIP;
    return run->kind == STORM_CHECKSUM || is_combined(kind);
}

static enum record_kind kind_of(const struct run *run, int op)
{
    int root;

    return record_pick(run->seed, (uint32_t)op, run->n, run->kind == STORM_GOSSIP, &root);
}

/* Draws an operation that is not in `taken`; -1 if none was found. */
static int draw_operation(const struct run *run, uint64_t *state, uint64_t taken)
{
    for (int tries = 0; tries < 100; tries++) {
        int op = below(state, run->operations);
        if (!(taken >> op & 1) && may_strike(run, kind_of(run, op)))
            return op;
    }
    return -1;
}

/* The number that the library gives the operation. After gossip that took more than one attempt the
 * number is a different one, and the flip hits nothing. */
static unsigned number_of(const struct run *run, int op)
{
    unsigned number = 0;

    for (int i = 0; i < op; i++)
        number += record_operations(kind_of(run, i));
    return number;
}

/* Is the number of the operation sure? It is if no gossip comes before it. */
static bool is_first(const struct run *run, int op)
{
    for (int i = 0; i < op; i++)
        if (kind_of(run, i) == RECORD_GOSSIP)
            return false;
    return true;
}

/* --- flips --- */

/* A flip of gossip must not hit an exact operation, whose steps are 0. Flips of messages are the
 * exception. */
static const char *draw_variable(const struct run *run, uint64_t *state, int op)
{
    static const char *const gossip[] = {"input",    "flow",     "weight",
                                         "checksum", "estimate", "message"};
    static const char *const vote[] = {"up", "partial"};
    static const char *const checksum[] = {"input", "up", "partial", "decision", "message"};

    if (run->kind == STORM_GOSSIP)
        return gossip[below(state, is_first(run, op) ? 6 : 5)];
    return run->kind == STORM_VOTE ? vote[below(state, 2)] : checksum[below(state, 5)];
}

static int draw_step(const struct run *run, uint64_t *state, const char *variable)
{
    if (run->kind == STORM_GOSSIP)
        return 1 + below(state, 60);
    return strcmp(variable, "message") == 0 ? below(state, run->f + 4) : 0;
}

/* Any rank may be ended by its flip, but some rank has to survive. */
static bool may_be_struck(const struct run *run, int rank)
{
    return run->kind != STORM_CHECKSUM ||
           __builtin_popcountll(run->planned | run->struck | 1ull << rank) < run->n;
}

static void draw_flip(struct run *run, uint64_t *state, uint64_t *taken, char *text, size_t size)
{
    int op = draw_operation(run, state, *taken), rank = below(state, run->n);
    size_t used = strlen(text);

    if (op < 0 || !may_be_struck(run, rank))
        return;
    const char *variable = draw_variable(run, state, op);
    unsigned within = run->kind == STORM_GOSSIP ? 1 : record_operations(kind_of(run, op));
    unsigned number = number_of(run, op) + (unsigned)below(state, (int)within);
    int element = below(state, 3) == 0 ? below(state, 40) : 0, bit = below(state, 64);
    snprintf(text + used, size - used, "%s%d:%s.%d:%d@%u/%d", used > 0 ? "," : "", rank, variable,
             element, bit, number, draw_step(run, state, variable));
    *taken |= 1ull << op;
    run->struck |= 1ull << rank;
    run->flips++;
}

static void plan_flips(struct run *run, uint64_t *state)
{
    char text[128] = "";
    uint64_t taken = 0;
    int count = 1 + below(state, FLIPS_MOST);

    for (int i = 0; i < count; i++)
        draw_flip(run, state, &taken, text, sizeof(text));
    if (run->flips > 0)
        storm_setting(run, "drill.flip=%s", text);
    run->flipped = run->kind == STORM_VOTE ? taken : 0;
}

/* --- gossip --- */

struct gossip_plan {
    const char *algorithm, *neighbourhood;
    bool checksum, heals; /* the algorithm copes with flips; with lost messages */
    bool turns;
};

static void draw_algorithm(struct gossip_plan *plan, uint64_t *state)
{
    static const char *const algorithms[] = {"pfcc",      "pfcc",     "pfcc",
                                             "pflc",      "pflc",     "push-flow",
                                             "push-flow", "push-sum", "push-cancel-flow"};

    plan->algorithm = algorithms[below(state, 9)];
    plan->checksum = strncmp(plan->algorithm, "pf", 2) == 0;
    plan->heals = strcmp(plan->algorithm, "push-sum") != 0;
}

/* Neither a directed hypercube nor push-sum has turns. A full graph of many ranks takes seconds. */
static void draw_neighbourhood(struct run *run, struct gossip_plan *plan, uint64_t *state)
{
    static const char *const names[] = {"hypercube", "hypercube", "torus", "full",
                                        "directed-hypercube"};
    int dice = below(state, 5);
    bool answers =
        strcmp(plan->algorithm, "pfcc") == 0 || strcmp(plan->algorithm, "push-cancel-flow") == 0;
    bool directed = !answers && run->n >= 4 && (run->n & (run->n - 1)) == 0;

    if ((dice == 3 && run->n > 16) || (dice == 4 && !directed))
        dice = 0;
    if (dice == 4)
        run->planned = 0; /* the communicator has to stay whole */
    run->victims = __builtin_popcountll(run->planned);
    plan->neighbourhood = names[dice];
    plan->turns = plan->heals && dice != 4;
}

static void plan_gossip(struct run *run, uint64_t *state)
{
    static const int percents[] = {1, 5, 20, 40};
    struct gossip_plan plan;

    draw_algorithm(&plan, state);
    draw_neighbourhood(run, &plan, state);
    /* With a prime number of survivors a torus is a ring, which may give up. */
    bool torus = strcmp(plan.neighbourhood, "torus") == 0;
    run->survives = !torus && (plan.checksum || strcmp(plan.algorithm, "push-flow") == 0);
    run->converges = plan.turns || !plan.heals; /* without turns flows may dwindle away */
    storm_setting(run, "gossip.algorithm=%s", plan.algorithm);
    storm_setting(run, "gossip.neighbourhood=%s", plan.neighbourhood);
    storm_setting(run, "gossip.patience_us=%d", 500 << below(state, 4));
    if (!torus) /* while ranks are stopped for 1.5 s, the others send on and on */
        storm_setting(run, "gossip.most_messages=1000000");
    if (plan.turns && below(state, 2))
        storm_setting(run, "drill.message_loss=%d%%", percents[below(state, run->n > 8 ? 3 : 4)]);
    if (plan.turns && plan.checksum && below(state, 2))
        plan_flips(run, state);
    run->converges &=
        run->flips == 0; /* an input may be past repair where a death took a part of the estimate */
}

void storm_strikes(struct run *run)
{
    uint64_t state = ~begin(run);

    if (run->kind <= STORM_MESSAGES)
        return;
    if (run->kind == STORM_GOSSIP) {
        plan_gossip(run, &state);
        return;
    }
    storm_setting(run, "integrity.mode=%s", kinds[run->kind]);
    plan_flips(run, &state);
}

void storm_tell_strikes(struct run *run)
{
    /* The plan of deaths does not have these ranks, but they die of their flips. */
    if (run->kind == STORM_CHECKSUM)
        run->planned |= run->struck;
    if (run->kind == STORM_GOSSIP)
        storm_argument(run, "gossip");
    if (run->kind == STORM_GOSSIP && run->flips > 0)
        storm_argument(run, "flips");
    for (int op = 0; op < run->operations; op++)
        if (run->flipped >> op & 1)
            storm_argument(run, "flipped:%d", op);
}
