/* The boards of nodes in global states (sim/explore/board.h). */
#include "sim/explore/board.h"

#include <assert.h>

#define PLACES 2 /* for words and for posts; the fewest that suffice */

enum {
    POSTS,
    WRITING,
    WORDS,
    KNOWN = WORDS + 4 * PLACES,
    LATEST = KNOWN + 2,
    LAST = LATEST + 4 * PLACES,
    SENT = LAST + 4,
    TAKEN = SENT + 2
};

_Static_assert(TAKEN + 2 == FTC_EXPLORE_BOARD_WORDS, "board.h says how many there are");

static uint32_t get(const struct ftc_exploration *x, const struct ftc_state *state, int first,
                    int bits, int index)
{
    int each = 32 / bits;
    uint32_t word = state->word[x->n * x->n + 3 + first + index / each];

    return word >> (index % each * bits) & ((UINT32_C(1) << bits) - 1);
}

static void set(const struct ftc_exploration *x, struct ftc_state *state, int first, int bits,
                int index, uint32_t value)
{
    int each = 32 / bits, shift = index % each * bits;
    uint32_t *word = &state->word[x->n * x->n + 3 + first + index / each];
    uint32_t mask = ((UINT32_C(1) << bits) - 1) << shift;

    *word = (*word & ~mask) | value << shift;
}

static int posts(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    return (int)get(x, state, POSTS, 4, rank);
}

bool ftc_explore_board_is(const struct ftc_exploration *x, int op)
{
    return ftc_local_two_levels(&x->local, op);
}

/* If the root is in G, every rank returns at once, without the board. */
static bool takes(const struct ftc_exploration *x, int op, ftc_mask agreed)
{
    int root = x->local.program->operation[op].root;

    return ftc_explore_board_is(x, op) && (root < 0 || !ftc_mask_has(agreed, root));
}

bool ftc_explore_board_takes(const struct ftc_exploration *x, const struct ftc_state *state,
                             int rank)
{
    const struct ftc_local_state *mine = &x->local.state[state->word[rank]];

    return mine->history.called < x->length && takes(x, mine->history.called, mine->agreed);
}

static bool has_board(const struct ftc_exploration *x)
{
    return x->local.settings.nodes > 1;
}

static int node_of(const struct ftc_exploration *x, int rank)
{
    int node = 0;

    while (x->local.settings.first_ranks[node + 1] <= rank)
        node++;
    return node;
}

/* --- what can be done --- */

static bool may_overwrite(const struct ftc_exploration *x, const struct ftc_state *state, int rank);

bool ftc_explore_board_writes(const struct ftc_exploration *x, const struct ftc_state *state,
                              int rank)
{
    return has_board(x) && get(x, state, WRITING, 1, rank) != 0;
}

bool ftc_explore_board_posts(const struct ftc_exploration *x, const struct ftc_state *state,
                             int rank)
{
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);

    return !h->under_way && posts(x, state, rank) == h->called &&
           ftc_explore_board_takes(x, state, rank) &&
           (x->limits->overwrites || may_overwrite(x, state, rank)) &&
           (!ftc_explore_board_writes(x, state, rank) || x->limits->late_word);
}

static bool waits_for_gather(const struct ftc_exploration *x, const struct ftc_state *state,
                             int rank)
{
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);

    return has_board(x) && !h->under_way && posts(x, state, rank) > h->called &&
           ftc_explore_board_takes(x, state, rank);
}

/* Does the operation that `rank` has posted for wait for all posts of its node? */
static bool gathers_all(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);
    uint32_t w = x->local.settings.settle_every;

    if (x->local.program->operation[h->called].kind != FTC_CALL_BCAST)
        return true;
    return w > 0 && (h->row + 1u) % w == 0 && !x->limits->no_gather;
}

/* The operation on the board PLACES - 1 before the one for which `rank` has posted; -1: there is
 * none. */
static int operation_before(const struct ftc_exploration *x, const struct ftc_state *state,
                            int rank)
{
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);
    int op = h->called;

    for (int back = 1; back < PLACES && op >= 0; back++)
        do
            op--;
        while (op >= 0 && !takes(x, op, h->agreed[op]));
    return op;
}

/* The epoch of the post of `rank` for `op`; -1: there is none, or `rank` has written over it. */
static int epoch_of(const struct ftc_exploration *x, const struct ftc_state *state, int rank,
                    int op)
{
    uint32_t post = get(x, state, LATEST, 16, rank * PLACES + op % PLACES);

    return post >> 8 == (uint32_t)op + 1 ? (int)(post & 0xff) : -1;
}

/* Is the post of `rank` for `op` there? A post of another epoch does not count: the rank that made
 * it is dead (agreement.md, rule 0). */
static bool has_post(const struct ftc_exploration *x, const struct ftc_state *state, int rank,
                     int op, int epoch)
{
    int found = epoch_of(x, state, rank, op);

    return found >= 0 && (found == epoch || x->limits->no_epoch);
}

bool ftc_explore_board_gathers(const struct ftc_exploration *x, const struct ftc_state *state,
                               int rank)
{
    const int *first = &x->local.settings.first_ranks[has_board(x) ? node_of(x, rank) : 0];

    if (!waits_for_gather(x, state, rank))
        return false;
    const struct ftc_local_state *mine = &x->local.state[state->word[rank]];
    bool gathers = gathers_all(x, state, rank);
    int before = operation_before(x, state, rank);
    int op = mine->history.called;
    for (int r = first[0]; r < first[1]; r++) {
        bool there = gathers ? has_post(x, state, r, op, mine->epoch)
                             : posts(x, state, r) > before || x->limits->far_ahead;
        if (!there && !ftc_mask_has(mine->known, r))
            return false;
    }
    return true;
}

/* The operation for whose decision `rank` waits; -1: none. */
static int waits_for_word(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);

    if (h->under_way)
        return h->called - 1;
    return waits_for_gather(x, state, rank) ? h->called : -1;
}

/* The operation of a decision word; -1: there is none. */
static int operation_of(const struct ftc_exploration *x, uint32_t word)
{
    return word > 0 ? x->local.decision[word - 1].op : -1;
}

/* The word for which `rank` waits; 0: it is not there, or `rank` waits for none. */
static uint32_t word_for(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    int op = waits_for_word(x, state, rank), node = node_of(x, rank);

    for (int place = 0; op >= 0 && place < PLACES; place++) {
        uint32_t word = get(x, state, WORDS, 16, node * PLACES + place);
        if (operation_of(x, word) == op)
            return word;
    }
    return 0;
}

bool ftc_explore_board_adopts(const struct ftc_exploration *x, const struct ftc_state *state,
                              int rank)
{
    return has_board(x) && word_for(x, state, rank) > 0;
}

bool ftc_explore_board_busy(const struct ftc_exploration *x, const struct ftc_state *state,
                            int rank)
{
    return (ftc_explore_board_adopts(x, state, rank) && !x->limits->late_look) ||
           (ftc_explore_board_writes(x, state, rank) && !x->limits->late_word);
}

/* --- reduces whose senders go on (nodes.md, S1 to S8) --- */

/* Is it delivered at `rank`, and does that show that every live rank has called it? */
static bool has_collected(const struct ftc_exploration *x, const struct ftc_local_history *h,
                          int op)
{
    return op < h->called - h->under_way &&
           !ftc_call_table[x->local.program->operation[op].kind].rooted;
}

/* S7: may somebody still need the post of `rank` for `op`, as far as `rank` knows? */
static bool is_needed(const struct ftc_exploration *x, const struct ftc_state *state, int rank,
                      int op)
{
    const struct ftc_local_state *mine = &x->local.state[state->word[rank]];

    if (op < mine->history.forgotten || !ftc_local_sums(&x->local, op) ||
        !takes(x, op, mine->history.agreed[op]))
        return false;
    int root = x->local.program->operation[op].root;
    for (int later = op + 1; later < mine->history.called; later++)
        if (has_collected(x, &mine->history, later))
            return false;
    return root != rank && !ftc_mask_has(mine->known, root) &&
           (get(x, state, TAKEN, 8, node_of(x, rank)) >> op & 1) == 0;
}

/* S7: is no post needed that the next post of `rank` is written over? */
static bool may_overwrite(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    int op = ftc_state_history(x, state, rank)->called;

    while ((op -= PLACES) >= 0)
        if (is_needed(x, state, rank, op))
            return false;
    return true;
}

/* Have all ranks of the node before `rank` failed? */
static bool is_delegate(const struct ftc_exploration *x, const struct ftc_local_state *mine,
                        int rank)
{
    for (int r = x->local.settings.first_ranks[node_of(x, rank)]; r < rank; r++)
        if (!ftc_mask_has(mine->known, r))
            return false;
    return true;
}

/* S3 and S4, but for the posts. */
static bool owes(const struct ftc_exploration *x, const struct ftc_state *state, int rank, int op)
{
    const struct ftc_local_state *mine = &x->local.state[state->word[rank]];
    bool last = op == mine->history.called - 1;

    return op < mine->history.called && is_needed(x, state, rank, op) &&
           node_of(x, rank) != node_of(x, x->local.program->operation[op].root) &&
           (get(x, state, SENT, 8, rank) >> op & 1) == 0 && is_delegate(x, mine, rank) &&
           (last || !x->limits->no_resend);
}

bool ftc_explore_board_sums(const struct ftc_exploration *x, const struct ftc_state *state,
                            int rank, int op)
{
    if (!has_board(x) || !x->local.settings.levels_plain || !owes(x, state, rank, op))
        return false;
    const struct ftc_local_state *mine = &x->local.state[state->word[rank]];
    const int *first = &x->local.settings.first_ranks[node_of(x, rank)];
    for (int r = first[0]; r < first[1]; r++)
        if (!has_post(x, state, r, op, epoch_of(x, state, rank, op)) &&
            !ftc_mask_has(mine->known, r))
            return false;
    return true;
}

uint32_t ftc_explore_board_sum(const struct ftc_exploration *x, const struct ftc_state *state,
                               int rank, int op)
{
    const int *first = &x->local.settings.first_ranks[node_of(x, rank)];
    int epoch = epoch_of(x, state, rank, op);
    uint32_t included = 0;

    for (int r = first[0]; r < first[1]; r++)
        if (has_post(x, state, r, op, epoch))
            included |= UINT32_C(1) << r;
    return FTC_LOCAL_SUM + ((uint32_t)op << 16 | (uint32_t)epoch << 8 | included);
}

bool ftc_explore_board_goes_on(const struct ftc_exploration *x, const struct ftc_state *state,
                               int rank)
{
    int op = ftc_state_history(x, state, rank)->called;

    return ftc_local_sums(&x->local, op) && x->local.program->operation[op].root != rank;
}

static void set_bit(const struct ftc_exploration *x, struct ftc_state *state, int first, int index,
                    int bit, bool on)
{
    uint32_t mask = UINT32_C(1) << bit, word = get(x, state, first, 8, index);

    set(x, state, first, 8, index, on ? word | mask : word & ~mask);
}

void ftc_explore_board_sent(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                            int op)
{
    set_bit(x, state, SENT, rank, op, true);
}

/* Nobody of this node will ask whether it was sent. */
static void set_taken(const struct ftc_exploration *x, struct ftc_state *state, int node, int op)
{
    set_bit(x, state, TAKEN, node, op, true);
    for (int r = x->local.settings.first_ranks[node]; r < x->local.settings.first_ranks[node + 1];
         r++)
        set_bit(x, state, SENT, r, op, false);
}

void ftc_explore_board_taken(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                             int op)
{
    for (; op >= 0; op--)
        if (ftc_local_sums(&x->local, op))
            set_taken(x, state, node_of(x, rank), op);
}

/* --- inputs of members --- */

uint32_t ftc_explore_board_gathered(const struct ftc_exploration *x, const struct ftc_state *state,
                                    int rank)
{
    const int *first = &x->local.settings.first_ranks[node_of(x, rank)];
    const struct ftc_local_state *mine = &x->local.state[state->word[rank]];
    uint32_t included = 0, known = 0;

    if (!gathers_all(x, state, rank))
        return FTC_LOCAL_CALL;
    for (int r = first[0]; r < first[1]; r++) {
        if (!has_post(x, state, r, mine->history.called, mine->epoch))
            continue;
        included |= UINT32_C(1) << r;
        known |= get(x, state, KNOWN, 8, r);
    }
    return FTC_LOCAL_GATHERED | included | known << 8;
}

uint32_t ftc_explore_board_adopted(const struct ftc_exploration *x, const struct ftc_state *state,
                                   int rank)
{
    return FTC_LOCAL_ADOPT + word_for(x, state, rank) - 1;
}

/* --- doing it --- */

void ftc_explore_board_post(const struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    int op = ftc_state_history(x, state, rank)->called;

    set(x, state, POSTS, 4, rank, (uint32_t)op + 1);
    if (!ftc_explore_board_takes(x, state, rank))
        return;
    set(x, state, LATEST, 16, rank * PLACES + op % PLACES,
        (uint32_t)(op + 1) << 8 | x->local.state[state->word[rank]].epoch);
    if (x->local.program->operation[op].kind == FTC_CALL_VALIDATE)
        set(x, state, KNOWN, 8, rank, x->local.state[state->word[rank]].known);
}

void ftc_explore_board_delivered(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                                 const struct ftc_local_delivery *delivery)
{
    bool decides = delivery->agrees && x->local.decision[delivery->decision].decision != NULL;

    if (decides && ftc_explore_board_is(x, delivery->op))
        set(x, state, WRITING, 1, rank, 1);
    if (ftc_local_sums(&x->local, delivery->op) &&
        rank == x->local.program->operation[delivery->op].root)
        ftc_explore_board_taken(x, state, rank, delivery->op);
}

void ftc_explore_board_write(struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);
    int op = h->called - h->under_way - 1, node = node_of(x, rank);
    uint32_t mine = h->decision[op] + 1u;

    set(x, state, WRITING, 1, rank, 0);
    for (int place = 0; place < PLACES;
         place++) { /* the latest word comes first; an older one moves to the next place */
        uint32_t word = get(x, state, WORDS, 16, node * PLACES + place);
        if (operation_of(x, word) == op && word != mine)
            ftc_explore_violate(
                x, "rank %d: the decision word of operation %d says something else already", rank,
                op);
        if (operation_of(x, word) == op)
            return;
        if (operation_of(x, word) > operation_of(x, mine))
            continue;
        set(x, state, WORDS, 16, node * PLACES + place, mine);
        mine = word;
        op = operation_of(x, mine);
    }
}

/* Called while the state of `rank` is still there. */
void ftc_explore_board_dies(const struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    if (!has_board(x))
        return;
    const struct ftc_local_history *h = ftc_state_history(x, state, rank);
    int before = posts(x, state, rank) - 2;

    set(x, state, WRITING, 1, rank, 0);
    set(x, state, SENT, 8, rank, 0);
    if (before >= h->forgotten && before < h->called - h->under_way)
        set(x, state, LAST, 16, rank, h->decision[before] + 1u);
}

/* The sum of a reduce may be sent again when all have called it. */
static void tidy_post(const struct ftc_exploration *x, struct ftc_state *state, int index,
                      int gathered)
{
    int op = (int)(get(x, state, LATEST, 16, index) >> 8) - 1;

    if (op >= 0 && op < gathered && !ftc_local_sums(&x->local, op))
        set(x, state, LATEST, 16, index, 0);
}

static void tidy_node(const struct ftc_exploration *x, struct ftc_state *state, int node,
                      int delivered, int gathered)
{
    const int *first = &x->local.settings.first_ranks[node];

    for (int place = 0; place < PLACES; place++)
        if (operation_of(x, get(x, state, WORDS, 16, node * PLACES + place)) < delivered)
            set(x, state, WORDS, 16, node * PLACES + place, 0);
    for (int r = first[0]; r < first[1]; r++) {
        if (posts(x, state, r) <= gathered)
            set(x, state, KNOWN, 8, r, 0);
        for (int place = 0; place < PLACES; place++)
            tidy_post(x, state, r * PLACES + place, gathered);
    }
}

void ftc_explore_board_tidy(const struct ftc_exploration *x, struct ftc_state *state)
{
    int everywhere = x->length;

    for (int node = 0; has_board(x) && node < x->local.settings.nodes; node++) {
        const int *first = &x->local.settings.first_ranks[node];
        int delivered = x->length, gathered = x->length;
        for (int r = first[0]; r < first[1]; r++) {
            if (!ftc_state_acts(state, r))
                continue;
            const struct ftc_local_history *h = ftc_state_history(x, state, r);
            int mine = h->called - h->under_way;
            delivered = mine < delivered ? mine : delivered;
            gathered = h->called < gathered ? h->called : gathered;
        }
        tidy_node(x, state, node, delivered, gathered);
        everywhere = delivered < everywhere ? delivered : everywhere;
    }
    for (int r = 0; has_board(x) && r < x->n; r++)
        if (posts(x, state, r) <= everywhere)
            set(x, state, LAST, 16, r, 0);
}

/* --- promises --- */

bool ftc_explore_board_has_posted(const struct ftc_exploration *x, const struct ftc_state *state,
                                  int rank, int op)
{
    return posts(x, state, rank) > op;
}

void ftc_explore_board_check_counted(struct ftc_exploration *x, const struct ftc_state *state,
                                     int rank, const struct ftc_local_delivery *d, uint32_t to)
{
    const struct ftc_local_history *mine = &x->local.state[to].history;
    const struct ftc_program_operation *operation = &x->local.program->operation[d->op];
    bool counts = ftc_program_combines_for_all(operation) ||
                  (operation->kind == FTC_CALL_REDUCE && rank == operation->root);

    if (!has_board(x) || !counts || d->op == 0 || mine->forgotten >= d->op)
        return;
    for (int r = 0; r < x->n; r++) {
        uint32_t last = get(x, state, LAST, 16, r);
        if (last > 0 && posts(x, state, r) == d->op + 1 && !ftc_mask_has(d->left_out, r) &&
            last - 1 != mine->decision[d->op - 1])
            ftc_explore_violate(x,
                                "rank %d: operation %d counts dead rank %d, which had delivered "
                                "operation %d otherwise",
                                rank, d->op, r, d->op - 1);
    }
}
