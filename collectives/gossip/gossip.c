/* Life of a gossip aggregation: steps, timers and messages. The algorithms say what a message
 * carries. */
#include "collectives/gossip/gossip.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "base/wire.h"
#include "collectives/gossip/internal.h"
#include "collectives/mutation.h"

#define HEAD_BYTES FTC_GOSSIP_LETTER_HEAD
#define MASSES     5 /* initial, absorbed, estimate, kept, came */
/* Exponents of frexp(): of the smallest and the largest double, and from which on sums may
 * overflow. */
enum { LEAST = -1074, GREAT = 960, MOST = DBL_MAX_EXP };

static const struct ftc_gossip_ops *const algorithms[FTC_GOSSIP_ALGORITHMS] = {
    [FTC_GOSSIP_PUSH_SUM] = &ftc_gossip_push_sum,
    [FTC_GOSSIP_PUSH_FLOW] = &ftc_gossip_push_flow,
    [FTC_GOSSIP_PUSH_CANCEL_FLOW] = &ftc_gossip_push_cancel_flow,
    [FTC_GOSSIP_PFLC] = &ftc_gossip_pflc,
    [FTC_GOSSIP_PFCC] = &ftc_gossip_pfcc,
};

const char *ftc_gossip_algorithm_name(enum ftc_gossip_algorithm algorithm)
{
    return (unsigned)algorithm < FTC_GOSSIP_ALGORITHMS ? algorithms[algorithm]->name : "?";
}

bool ftc_gossip_survives(enum ftc_gossip_algorithm algorithm)
{
    return algorithms[algorithm]->survives;
}

/* --- life --- */

int ftc_gossip_check(const struct ftc_gossip_settings *settings)
{
    if ((unsigned)settings->algorithm >= FTC_GOSSIP_ALGORITHMS)
        return ftc_error_set(FTC_ERR_ARG, "gossip algorithm %d: there is none",
                             (int)settings->algorithm);
    const struct ftc_gossip_ops *ops = algorithms[settings->algorithm];
    bool directed = settings->neighbourhood.kind == FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE;
    if (settings->count == 0)
        return ftc_error_set(FTC_ERR_ARG, "gossip: no values");
    if (settings->weight != NULL && !(*settings->weight >= 0 && isfinite(*settings->weight)))
        return ftc_error_set(FTC_ERR_ARG, "gossip: weight %g: take 0 or more, and no infinity",
                             *settings->weight);
    if (!(settings->accuracy > 0 && settings->accuracy < 1) || !(settings->tau >= 0))
        return ftc_error_set(
            FTC_ERR_ARG, "gossip: accuracy %g, tau %g: 0 < accuracy < 1 and tau >= 0 are needed",
            settings->accuracy, settings->tau);
    if (directed && (ops->answers || settings->turns))
        return ftc_error_set(FTC_ERR_ARG,
                             "%s%s needs answers, which the links of a directed hypercube do not "
                             "carry: take hypercube",
                             ops->name, settings->turns && !ops->answers ? " in turns" : "");
    if (settings->turns && ops->flows == 0)
        return ftc_error_set(FTC_ERR_ARG, "%s has no turns to take", ops->name);
    if (settings->turns && settings->permuted)
        return ftc_error_set(FTC_ERR_ARG,
                             "gossip in turns takes the link that has rested longest: there is no "
                             "order to permute; leave out one of the two");
    return FTC_SUCCESS;
}

static bool allocate(struct ftc_gossip *g)
{
    size_t flows = (size_t)g->links * (size_t)g->ops->flows, doubles = flows + MASSES + 1;

    g->initial = calloc(doubles * g->width + 2 * g->set.count, sizeof(double));
    g->order = calloc(g->set.permuted ? (size_t)g->links + 1 : 1, sizeof(*g->order));
    g->link = calloc((size_t)g->links + 1, sizeof(*g->link));
    g->room = g->links + 1; /* pfcc may ask over all links; marks go over all links */
    g->queue = calloc((size_t)g->room, sizeof(*g->queue));
    g->bytes = malloc(HEAD_BYTES + (size_t)g->ops->masses * g->width * sizeof(double));
    if (g->initial == NULL || g->order == NULL || g->link == NULL || g->queue == NULL ||
        g->bytes == NULL)
        return false;
    for (int link = 0; link < g->links && g->set.permuted; link++)
        g->order[link] = link;
    g->placed = g->links;
    g->absorbed = g->initial + g->width;
    g->estimate = g->absorbed + g->width;
    g->kept = g->estimate + g->width;
    g->came = g->kept + g->width;
    g->flow = g->came + g->width;
    g->value = g->flow + (flows + 1) * g->width;
    g->anchor = g->value + g->set.count;
    return true;
}

/* gossip.md, rule 8: the unit of the masses of a rank that knows these sizes. */
static double unit_of(const struct ftc_gossip_sizes *sizes)
{
    bool great = sizes->input > GREAT || sizes->weight > GREAT;

    return great && !FTC_MUTATED(GREAT_AS_THEY_ARE) ? FTC_GOSSIP_SMALL : 1;
}

/* Keeps all masses in the small unit from now on. */
static void shrink(struct ftc_gossip *g)
{
    size_t flows = (size_t)g->links * (size_t)g->ops->flows;

    g->unit = FTC_GOSSIP_SMALL;
    g->scale *= FTC_GOSSIP_SMALL;
    g->set.tau *= FTC_GOSSIP_SMALL;
    for (size_t i = 0; i < (MASSES + flows) * g->width; i++) /* flows lie behind the other masses */
        g->initial[i] *= FTC_GOSSIP_SMALL;
}

/* gossip.md, rules 7 and 9: there are masses of these sizes. */
static void learn(struct ftc_gossip *g, const struct ftc_gossip_sizes *sizes)
{
    struct ftc_gossip_sizes *own = &g->sizes;

    own->input = sizes->input > own->input ? sizes->input : own->input;
    own->weight = sizes->weight > own->weight ? sizes->weight : own->weight;
    own->least = sizes->least < own->least ? sizes->least : own->least;
    if (unit_of(own) < g->unit)
        shrink(g);
    g->scale = fmax(g->scale, fmax(ldexp(g->unit * (double)g->set.count, own->input),
                                   ldexp(g->unit / 2, own->weight)));
}

static int exponent_of(double number)
{
    int exponent = LEAST;

    if (number > 0 && isfinite(number))
        frexp(number, &exponent);
    return exponent;
}

static void fill(struct ftc_gossip *g, const double *values)
{
    size_t count = g->set.count;
    double input = 0;

    g->weight = g->set.weight != NULL ? *g->set.weight : 1;
    g->set.weight = NULL;
    for (size_t i = 0; i < count; i++) {
        g->initial[i] = values[i];
        g->value[i] = g->anchor[i] = g->weight > 0 ? values[i] / g->weight : NAN;
        input = fmax(input, fabs(values[i]));
    }
    g->initial[count] = g->weight;
    g->unit = 1;
    g->sizes = (struct ftc_gossip_sizes){exponent_of(input), exponent_of(g->weight),
                                         exponent_of(g->weight)};
    learn(g, &g->sizes);
    if (g->ops->checksum)
        ftc_mass_mend(g->initial, g->width);
    memcpy(g->kept, g->initial, g->width * sizeof(double));
    memcpy(g->estimate, g->initial, g->width * sizeof(double));
    g->scale = fmax(g->scale, ftc_mass_magnitude(g->initial, count + 2));
}

int ftc_gossip_create(struct ftc_gossip **out, const struct ftc_gossip_settings *settings,
                      const double *values)
{
    int rc = ftc_gossip_check(settings);
    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_gossip *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for gossip");
    g->set = *settings;
    g->ops = algorithms[settings->algorithm];
    g->links = ftc_neighbourhood_links(&settings->neighbourhood, settings->self);
    g->width = settings->count + (g->ops->checksum ? 2 : 1);
    g->directed = -1;
    g->pending.variable = FTC_FLIP_VARIABLES;
    g->random = ftc_mix(settings->seed ^ ftc_mix((uint64_t)settings->self + 1));
    if (!allocate(g)) {
        ftc_error_set(FTC_ERR_NOMEM, "no memory for gossip with %zu values and %d neighbours",
                      settings->count, g->links);
        ftc_gossip_destroy(g);
        return FTC_ERR_NOMEM;
    }
    fill(g, values);
    *out = g;
    return FTC_SUCCESS;
}

void ftc_gossip_destroy(struct ftc_gossip *gossip)
{
    if (gossip == NULL)
        return;
    free(gossip->initial);
    free(gossip->order);
    free(gossip->link);
    free(gossip->queue);
    free(gossip->bytes);
    free(gossip);
}

/* --- looking in --- */

uint64_t ftc_gossip_steps(const struct ftc_gossip *gossip)
{
    return gossip->steps;
}

bool ftc_gossip_sound(const struct ftc_gossip *gossip)
{
    return !gossip->ops->checksum || ftc_mass_error(gossip->initial, gossip->width) == 0;
}

const double *ftc_gossip_initial(const struct ftc_gossip *gossip)
{
    for (size_t i = 0; i <= gossip->set.count; i++)
        gossip->came[i] = gossip->initial[i] / gossip->unit;
    return gossip->came;
}

double ftc_gossip_link_flow(const struct ftc_gossip *gossip, int link)
{
    size_t entries = (size_t)gossip->ops->flows * gossip->width;
    const double *flow = gossip->flow + (size_t)link * entries;
    double largest = 0;

    for (size_t i = 0; i < entries; i++)
        largest = fmax(largest, fabs(flow[i]) / gossip->unit);
    return largest;
}

void ftc_gossip_counters(const struct ftc_gossip *gossip, struct ftc_gossip_counters *counters)
{
    *counters = gossip->counters;
    for (int link = 0; link < gossip->links; link++)
        counters->largest_flow = fmax(counters->largest_flow, ftc_gossip_link_flow(gossip, link));
}

/* --- steps --- */

static void flip_estimate(struct ftc_gossip *g)
{
    if (g->pending.variable != FTC_FLIP_ESTIMATE)
        return;
    ftc_flip_double(&g->pending, &g->estimate[g->pending.element]);
    g->pending.variable = FTC_FLIP_VARIABLES;
}

/* Out of turn this rank repeats its last message. If it pushed once more, it would lose its mass to
 * an end that never answers. */
static void send(struct ftc_gossip *g, int link)
{
    bool turn = !g->set.turns || ftc_gossip_holds(g, link);

    if (!turn && g->link[link].number == 0) { /* the other end was to begin */
        ftc_gossip_queue(g, link, FTC_GOSSIP_ASK);
        return;
    }
    if (turn) {
        g->ops->push(g, link);
        if (g->ops->flows > 0)
            ftc_gossip_changed(g, link);
    }
    ftc_gossip_queue(g, link, FTC_GOSSIP_FLOW);
}

void ftc_gossip_mark(struct ftc_gossip *gossip, uint32_t number)
{
    gossip->mark = number;
    for (int link = 0; !gossip->set.turns && link < gossip->links; link++)
        if (ftc_gossip_usable(gossip, link))
            ftc_gossip_queue(gossip, link, FTC_GOSSIP_MARK);
}

/* Each message that comes, and each timer, sets off a step: it computes the estimate, and sends
 * over `link` (-1: it sends nothing). Returns false if the estimate is corrupt. */
static bool step(struct ftc_gossip *g, int link)
{
    g->steps++;
    g->owed = g->owed && link < 0;
    g->timer_due = g->set.patience_ns > 0;
    if (!g->ops->prepare(g))
        return false;
    memcpy(g->kept, g->estimate, g->width * sizeof(double)); /* a push halves the estimate */
    if (link < 0)
        return true;
    flip_estimate(g);
    send(g, link);
    return true;
}

void ftc_gossip_start(struct ftc_gossip *gossip)
{
    step(gossip, ftc_gossip_draw_link(gossip));
}

void ftc_gossip_timer(struct ftc_gossip *gossip)
{
    int link = ftc_gossip_draw_any(gossip);

    gossip->counters.timers += link >= 0;
    step(gossip, link);
}

void ftc_gossip_notice(struct ftc_gossip *gossip, int rank)
{
    int link = ftc_neighbourhood_link(&gossip->set.neighbourhood, gossip->set.self, rank);

    if (link < 0 || gossip->link[link].dead)
        return;
    gossip->link[link].dead = true;
    if (gossip->ops->flows == 0)
        return;
    gossip->ops->remove(gossip, link);
    gossip->dead++;
    gossip->steady = 0;
    if (ftc_gossip_alone(gossip))
        step(gossip, -1); /* no message will set off another step */
}

/* --- messages --- */

static bool is_known(const struct ftc_gossip *g, unsigned kind)
{
    return kind == FTC_GOSSIP_FLOW || kind == (g->set.turns ? FTC_GOSSIP_ASK : FTC_GOSSIP_MARK);
}

/* The number of bytes after the head of such a message. */
static size_t bytes_of_mass(const struct ftc_gossip *g, unsigned kind)
{
    bool carries = kind == FTC_GOSSIP_FLOW || (kind == FTC_GOSSIP_MARK && g->ops->flows > 0);

    return carries ? (size_t)g->ops->masses * g->width * sizeof(double) : 0;
}

bool ftc_gossip_is_mark(const void *head)
{
    return *(const unsigned char *)head == FTC_GOSSIP_MARK;
}

static int read_exponent(struct ftc_reader *reader)
{
    int exponent = ftc_read_u16(reader);

    return LEAST + (exponent < MOST - LEAST ? exponent : MOST - LEAST);
}

static bool read_letter(const struct ftc_gossip *g, const void *bytes, size_t size,
                        struct ftc_gossip_letter *letter)
{
    struct ftc_reader reader = {.data = bytes, .size = size};

    *letter = (struct ftc_gossip_letter){.kind = ftc_read_u8(&reader)};
    letter->active = ftc_read_u8(&reader) & 1;
    letter->sizes.least = read_exponent(&reader);
    letter->number = ftc_read_u32(&reader);
    letter->cancels = ftc_read_u32(&reader);
    letter->sizes.input = read_exponent(&reader);
    letter->sizes.weight = read_exponent(&reader);
    size_t mass = bytes_of_mass(g, letter->kind);
    if (mass > 0)
        letter->mass = ftc_read_bytes(&reader, mass);
    return is_known(g, letter->kind) && !reader.failed && reader.used == size;
}

static void write_letter(struct ftc_gossip *g, const struct ftc_gossip_queued *queued)
{
    const struct ftc_gossip_link *link = &g->link[queued->link];
    struct ftc_writer writer = {.data = g->bytes, .size = HEAD_BYTES};
    size_t mass = bytes_of_mass(g, queued->kind);

    ftc_write_u8(&writer, (uint8_t)queued->kind);
    ftc_write_u8(&writer, link->active);
    ftc_write_u16(&writer, (uint16_t)(g->sizes.least - LEAST));
    ftc_write_u32(&writer, queued->kind == FTC_GOSSIP_MARK ? g->mark : link->number);
    ftc_write_u32(&writer, link->cancels);
    ftc_write_u16(&writer, (uint16_t)(g->sizes.input - LEAST));
    ftc_write_u16(&writer, (uint16_t)(g->sizes.weight - LEAST));
    g->size = HEAD_BYTES + mass;
    if (mass == 0)
        return;
    g->ops->write(g, queued->link, g->bytes + HEAD_BYTES);
    if (g->pending.variable == FTC_FLIP_MESSAGE) {
        ftc_flip_bytes(&g->pending, g->bytes + HEAD_BYTES, mass);
        g->pending.variable = FTC_FLIP_VARIABLES;
    }
}

enum news { NEWS_NONE, NEWS_AGAIN, NEWS_UNANSWERED, NEWS_NEW };

/* In turns a message is one of these: the other end's next message (NEW); its last message once
 * more, which this rank has not answered (AGAIN); its last message once more, though this rank has
 * answered it (UNANSWERED); or none of these (NONE). */
static enum news sort(struct ftc_gossip *g, int at, uint32_t number)
{
    struct ftc_gossip_link *link = &g->link[at];

    if (number == link->number + 1 && !ftc_gossip_holds(g, at)) {
        link->number = number;
        link->since = link->news = g->counters.received;
        link->open = false;
        return NEWS_NEW;
    }
    if (number == link->number && ftc_gossip_holds(g, at))
        return NEWS_AGAIN;
    return number + 1 == link->number && !ftc_gossip_holds(g, at) ? NEWS_UNANSWERED : NEWS_NONE;
}

/* gossip.md, rule 2: the flow of this link may be sound though the estimate is not. */
static void answer_again(struct ftc_gossip *g, int link)
{
    if (!step(g, link) && !FTC_MUTATED(NO_ANSWER_WHILE_CORRUPT))
        ftc_gossip_queue(g, link, FTC_GOSSIP_FLOW);
}

/* gossip.md, rule 1: a repetition heals, whatever else waits. */
static bool heals(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    if (g->ops->heal == NULL || (g->more && FTC_MUTATED(HEAL_WHEN_NOTHING_WAITS)))
        return false;
    return g->ops->heal(g, link, letter);
}

/* The other end has sent nothing new. It may wait, so a repetition is answered by a step. If timers
 * are too short for slow ranks, these would go on for good (as in TFTP: RFC 1123, 4.2.3.1). So
 * there is no step while another message waits to be answered. */
static void remind(struct ftc_gossip *g, int link, enum news news,
                   const struct ftc_gossip_letter *letter)
{
    bool healed = news == NEWS_UNANSWERED && heals(g, link, letter);

    if (g->more && !healed)
        g->timer_due = g->set.patience_ns > 0;
    else if (news == NEWS_UNANSWERED)
        answer_again(g, link);
    else if (news == NEWS_AGAIN) /* it was sent in place of a push, so it sets off a step */
        step(g, ftc_gossip_draw_link(g));
}

void ftc_gossip_more(struct ftc_gossip *gossip, bool more)
{
    gossip->more = more;
}

void ftc_gossip_answer(struct ftc_gossip *gossip)
{
    if (!gossip->owed)
        return;
    gossip->owed = false;
    step(gossip, ftc_gossip_draw_link(gossip));
}

/* gossip.md, rule 4: messages that came together set off one push. */
static void answer_new(struct ftc_gossip *g)
{
    if (g->set.turns || !g->more || FTC_MUTATED(PUSH_FOR_EACH)) {
        step(g, ftc_gossip_draw_link(g));
        return;
    }
    g->owed = true;
    g->timer_due = g->set.patience_ns > 0;
}

/* gossip.md, rule 5. The flow in a mark is all that ever went over the link. A mark without a flow
 * says nothing of the estimates of others, so this rank has not stood still longer than before. */
static void take_mark(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    uint64_t corrupt = g->counters.corrupt;
    int steady = g->steady;

    if (letter->mass != NULL)
        g->ops->take(g, link, letter);
    g->link[link].marked = letter->number;
    step(g, -1);
    if (letter->mass == NULL && g->steady > steady && !FTC_MUTATED(MARKS_SETTLE))
        g->steady = steady;
    if (g->counters.corrupt != corrupt)
        g->steady = 0;
}

/* gossip.md, rules 7 to 9: this rank now knows of all masses that the sender knows of. */
static void adapt(struct ftc_gossip *g, struct ftc_gossip_letter *letter)
{
    if (!FTC_MUTATED(OWN_INPUT_ALONE))
        learn(g, &letter->sizes);
    letter->unit = g->unit / unit_of(&letter->sizes);
}

int ftc_gossip_receive(struct ftc_gossip *gossip, int from, const void *bytes, size_t size)
{
    struct ftc_gossip_letter letter;
    int link = ftc_neighbourhood_link(&gossip->set.neighbourhood, gossip->set.self, from);

    if (link < 0 || !read_letter(gossip, bytes, size, &letter))
        return ftc_error_set(FTC_ERR_PROTO, "rank %d sent what is no message of %s", from,
                             gossip->ops->name);
    if (gossip->link[link].dead)
        return FTC_SUCCESS;
    adapt(gossip, &letter);
    gossip->counters.received++;
    if (letter.kind == FTC_GOSSIP_ASK) {
        answer_again(gossip, link);
        return FTC_SUCCESS;
    }
    if (letter.kind == FTC_GOSSIP_MARK) {
        take_mark(gossip, link, &letter);
        return FTC_SUCCESS;
    }
    if (gossip->set.turns) {
        enum news news = sort(gossip, link, letter.number);
        if (news != NEWS_NEW) {
            remind(gossip, link, news, &letter);
            return FTC_SUCCESS;
        }
    }
    if (!gossip->ops->take(gossip, link, &letter) && !gossip->set.rounds)
        answer_new(gossip);
    else
        gossip->timer_due = gossip->set.patience_ns > 0;
    return FTC_SUCCESS;
}

bool ftc_gossip_next_output(struct ftc_gossip *gossip, struct ftc_gossip_output *output)
{
    if (gossip->taken < gossip->queued) {
        const struct ftc_gossip_queued *queued = &gossip->queue[gossip->taken++];
        write_letter(gossip, queued);
        int to = ftc_neighbourhood_peer(&gossip->set.neighbourhood, gossip->set.self, queued->link);
        *output = (struct ftc_gossip_output){
            .kind = FTC_GOSSIP_SEND, .to = to, .bytes = gossip->bytes, .size = gossip->size};
        return true;
    }
    gossip->taken = gossip->queued = 0;
    if (!gossip->timer_due)
        return false;
    gossip->timer_due = false;
    *output =
        (struct ftc_gossip_output){.kind = FTC_GOSSIP_TIMER, .delay_ns = gossip->set.patience_ns};
    return true;
}

/* --- drills --- */

static bool flip_mass(const struct ftc_gossip *g, double *mass, const struct ftc_flip *flip)
{
    size_t at = (size_t)flip->element;

    if (flip->variable == FTC_FLIP_WEIGHT)
        at = g->set.count;
    else if (flip->variable == FTC_FLIP_CHECKSUM)
        at = g->ops->checksum ? g->set.count + 1 : g->width;
    if (at >= g->width)
        return false;
    ftc_flip_double(flip, &mass[at]);
    return true;
}

static bool flip_flow(struct ftc_gossip *g, const struct ftc_flip *flip)
{
    if (g->ops->flows == 0)
        return flip_mass(g, g->initial, flip);
    if (g->links == 0)
        return false;
    int link = (int)(ftc_gossip_draw(g) % (uint64_t)g->links);
    int which = (int)(ftc_gossip_draw(g) % (uint64_t)g->ops->flows);
    return flip_mass(g, ftc_gossip_flow_of(g, link, which), flip);
}

bool ftc_gossip_flip(struct ftc_gossip *gossip, const struct ftc_flip *flip)
{
    switch (flip->variable) {
    case FTC_FLIP_INPUT:
        return flip_mass(gossip, gossip->initial, flip);
    case FTC_FLIP_FLOW:
    case FTC_FLIP_WEIGHT:
    case FTC_FLIP_CHECKSUM:
        return flip_flow(gossip, flip);
    case FTC_FLIP_ESTIMATE:
    case FTC_FLIP_MESSAGE:
        if ((size_t)flip->element >= gossip->width)
            return false;
        gossip->pending = *flip;
        return true;
    default:
        return false;
    }
}

void ftc_gossip_direct(struct ftc_gossip *gossip, int link)
{
    gossip->directed = link;
}
