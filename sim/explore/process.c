/* Learns the steps of processes, and what the judge says of them. */
#include "sim/explore/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/message.h"

/* --- bytes that get a number --- */

static void add_bytes(void *arg, const void *bytes, size_t size)
{
    struct ftc_processes *p = arg;

    if (p->byte_count + size > p->byte_room) {
        size_t room = 2 * (p->byte_count + size);
        unsigned char *moved = realloc(p->bytes, room);
        if (moved == NULL)
            abort(); /* a simulated process stops the program as well when memory runs out */
        p->bytes = moved;
        p->byte_room = room;
    }
    memcpy(p->bytes + p->byte_count, bytes, size);
    p->byte_count += size;
}

static void add_number(struct ftc_processes *p, uint64_t number)
{
    add_bytes(p, &number, sizeof(number));
}

/* The number of the thing with the bytes in the scratch. */
static int number(struct ftc_processes *p, struct ftc_intern *intern, uint32_t *out, bool *fresh)
{
    struct ftc_digest digest = ftc_digest_of(p->bytes, p->byte_count);

    p->byte_count = 0;
    return ftc_intern_number(intern, digest, out, fresh);
}

/* --- messages --- */

/* May a process that has forgotten the communicator answer (C6)? Also where it need not. */
static bool is_answered(const struct ftc_buffer *bytes)
{
    struct ftc_message_head head;

    if (ftc_message_peek(bytes, &head) != 0)
        return true;
    bool first = head.ballot.i == 0 && head.ballot.s == 0;
    return head.kind == FTC_MESSAGE_PULL || head.kind == FTC_MESSAGE_POKE ||
           head.kind == FTC_MESSAGE_PREPARE || (!first && head.kind != FTC_MESSAGE_DECIDE);
}

static int number_message(struct ftc_processes *p, int from, struct ftc_buffer *bytes,
                          uint32_t *out)
{
    uint64_t name = ftc_frame_communicator(bytes);
    bool fresh, temporary = ftc_communicator_is_temporary(name);

    add_number(p, (uint64_t)from);
    add_bytes(p, bytes->data, bytes->size);
    int rc = number(p, &p->messages, out, &fresh);
    if (rc != FTC_SUCCESS || !fresh)
        return rc;
    rc = ftc_array_grow((void **)&p->message, &p->message_room, *out, sizeof(*p->message));
    if (rc != FTC_SUCCESS)
        return rc;
    p->message[*out] =
        (struct ftc_process_message){.bytes = ftc_buffer_ref(bytes),
                                     .number = temporary ? name : name & ~FTC_COMMUNICATOR_REVOKED,
                                     .from = (uint8_t)from,
                                     .word = ftc_frame_kind(bytes) == FTC_FRAME_COMMUNICATOR,
                                     .answered = is_answered(bytes)};
    return FTC_SUCCESS;
}

/* --- notes --- */

static void add_known(struct ftc_processes *p, const struct ftc_comms_known *known)
{
    add_number(p, known->number);
    add_number(p, known->parent);
    add_number(p, (uint64_t)known->forgotten << 33 | (uint64_t)known->after << 32 |
                      (uint32_t)known->ordinal);
    add_number(p, (uint64_t)known->size);
    for (int i = 0; i < known->size; i++)
        add_number(p, (uint64_t)known->job_rank[i]);
    add_number(p, (uint64_t)known->delivered[0] << 32 | (uint32_t)known->delivered[1]);
}

static void *copy(const void *array, int count, size_t size)
{
    void *to = malloc(count > 0 ? (size_t)count * size : 1);

    if (to != NULL && count > 0)
        memcpy(to, array, (size_t)count * size);
    return to;
}

static int number_notes(struct ftc_processes *p, const struct ftc_comms_process *process,
                        uint32_t *out)
{
    bool fresh;

    for (int i = 0; i < process->knowns; i++)
        add_known(p, &process->known[i]);
    add_number(p, 0); /* the number of no communicator */
    for (int i = 0; i < process->outcomes; i++) {
        const struct ftc_comms_outcome *outcome = &process->outcome[i];
        add_number(p, outcome->number);
        add_number(p, (uint64_t)outcome->after << 32 | (uint32_t)outcome->ordinal);
        add_number(p, outcome->digest);
    }
    int rc = number(p, &p->notes, out, &fresh);
    if (rc != FTC_SUCCESS || !fresh)
        return rc;
    rc = ftc_array_grow((void **)&p->note, &p->note_room, *out, sizeof(*p->note));
    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_process_notes *notes = &p->note[*out];
    *notes = (struct ftc_process_notes){
        .known = copy(process->known, process->knowns, sizeof(process->known[0])),
        .knowns = process->knowns,
        .outcome = copy(process->outcome, process->outcomes, sizeof(process->outcome[0])),
        .outcomes = process->outcomes};
    return notes->known != NULL && notes->outcome != NULL ? FTC_SUCCESS : FTC_ERR_NOMEM;
}

static const struct ftc_comms_known *find_known(const struct ftc_process_notes *notes,
                                                uint64_t name)
{
    for (int i = 0; i < notes->knowns; i++)
        if (notes->known[i].number == name)
            return &notes->known[i];
    return NULL;
}

bool ftc_processes_foreign(const struct ftc_processes *p, uint32_t notes, uint32_t others,
                           uint64_t name)
{
    const struct ftc_comms_known *mine = find_known(&p->note[notes], name);
    const struct ftc_comms_known *theirs =
        others == FTC_TABLE_NONE ? NULL : find_known(&p->note[others], name);

    return mine != NULL && theirs != NULL && mine->size > 0 && theirs->size > 0 &&
           (mine->size != theirs->size ||
            memcmp(mine->job_rank, theirs->job_rank, (size_t)mine->size * sizeof(int)) != 0);
}

/* --- feeding processes --- */

static void drop_messages(struct ftc_comms_world *w, int rank)
{
    for (int to = 0; to < w->n; to++)
        while (w->first[rank][to] != NULL)
            ftc_buffer_unref(ftc_comms_take_packet(w, rank, to));
}

/* The messages that it sends stay in the world. */
static void feed(struct ftc_processes *p, int rank, uint32_t input)
{
    struct ftc_comms_world *w = p->world[rank];
    int source;

    w->random = 0;
    if (input >= FTC_PROCESS_MESSAGE) {
        const struct ftc_process_message *m = &p->message[input - FTC_PROCESS_MESSAGE];
        ftc_comms_send(w, m->from, rank, m->bytes, &(struct ftc_value){0});
        source = ftc_comms_source_arrival(w, m->from, rank);
    } else if (input >= FTC_PROCESS_OWN) {
        source = ftc_comms_source_own(w, rank, (int)(input - FTC_PROCESS_OWN));
    } else {
        w->notice[rank][input] = true;
        source = ftc_comms_source_notice(w, rank, (int)input);
    }
    ftc_comms_happen(w, source);
}

static void begin(struct ftc_processes *p, int rank)
{
    struct ftc_comms_world *w = p->world[rank];

    if (w->process[rank].engine != NULL)
        ftc_comms_process_free(w, rank);
    w->process[rank] = (struct ftc_comms_process){0};
    w->violation[0] = '\0';
    ftc_comms_process_new(w, rank);
}

/* Brings the process into this state. */
static int revive(struct ftc_processes *p, uint32_t state)
{
    int rank = p->state[state].rank;
    size_t length = 0;

    if (p->at[rank] == state)
        return FTC_SUCCESS;
    for (uint32_t s = state; p->state[s].input != FTC_PROCESS_NONE; s = p->state[s].parent) {
        int rc = ftc_array_grow((void **)&p->path, &p->path_room, length, sizeof(uint32_t));
        if (rc != FTC_SUCCESS)
            return rc;
        p->path[length++] = p->state[s].input;
    }
    begin(p, rank);
    while (length > 0) {
        feed(p, rank, p->path[--length]);
        drop_messages(p->world[rank], rank);
    }
    p->at[rank] = state;
    return FTC_SUCCESS;
}

/* --- states --- */

static uint8_t own_events(const struct ftc_comms_world *w, int rank)
{
    unsigned events = 0;

    for (int own = 0; own < FTC_COMMS_OWNS; own++)
        events |= (unsigned)ftc_comms_can_happen(w, ftc_comms_source_own(w, rank, own)) << own;
    return (uint8_t)events;
}

static bool may_rest(struct ftc_comms_world *w)
{
    char violation[FTC_COMMS_WORDS];

    memcpy(violation, w->violation, sizeof(violation));
    w->violation[0] = '\0';
    ftc_comms_judge_end(w);
    bool rests = !ftc_comms_broken(w);
    memcpy(w->violation, violation, sizeof(violation));
    return rests;
}

/* Gives the state of the process in its world a number. */
static int number_state(struct ftc_processes *p, int rank, uint32_t parent, uint32_t input,
                        uint32_t *out)
{
    struct ftc_comms_world *w = p->world[rank];
    uint32_t notes, length = input == FTC_PROCESS_NONE ? 0 : p->state[parent].length + 1;
    bool fresh;
    int rc = number_notes(p, &w->process[rank], &notes);

    if (rc != FTC_SUCCESS)
        return rc;
    add_number(p, (uint64_t)rank);
    add_bytes(p, &p->notes.digest[notes], sizeof(p->notes.digest[notes]));
    ftc_comms_process_digest(w, rank, add_bytes, p);
    rc = number(p, &p->states, out, &fresh);
    if (rc == FTC_SUCCESS && fresh)
        rc = ftc_array_grow((void **)&p->state, &p->state_room, *out, sizeof(*p->state));
    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_process_state *state = &p->state[*out];
    if (fresh)
        *state = (struct ftc_process_state){.rank = (uint8_t)rank,
                                            .own = own_events(w, rank),
                                            .rests = may_rest(w),
                                            .notes = notes,
                                            .length = UINT32_MAX};
    /* A parent has a smaller length than its children, so shorter ways make no circle. */
    if (length < state->length) {
        state->length = length;
        state->parent = parent;
        state->input = input;
    }
    p->at[rank] = *out;
    return FTC_SUCCESS;
}

/* --- learning --- */

static int keep_violation(struct ftc_processes *p, const char *text, uint32_t *index)
{
    *index = FTC_TABLE_NONE;
    if (text[0] == '\0')
        return FTC_SUCCESS;
    int rc = ftc_array_grow((void **)&p->violation, &p->violation_room, p->violation_count,
                            sizeof(*p->violation));
    if (rc != FTC_SUCCESS)
        return rc;
    char *kept = strdup(text);
    if (kept == NULL)
        return FTC_ERR_NOMEM;
    *index = (uint32_t)p->violation_count;
    p->violation[p->violation_count++] = kept;
    return FTC_SUCCESS;
}

static int keep_output(struct ftc_processes *p, struct ftc_process_step *step, int rank, int to,
                       struct ftc_buffer *bytes)
{
    uint32_t message;
    int rc = number_message(p, rank, bytes, &message);

    if (rc == FTC_SUCCESS)
        rc = ftc_array_grow((void **)&p->output, &p->output_room, p->output_count,
                            sizeof(*p->output));
    if (rc != FTC_SUCCESS)
        return rc;
    p->output[p->output_count++] = FTC_LOCAL_SEND(to, message);
    step->outputs++;
    return FTC_SUCCESS;
}

/* Channels are apart, so it does not matter in which order those of several are kept. */
static int keep_outputs(struct ftc_processes *p, struct ftc_process_step *step, int rank)
{
    struct ftc_comms_world *w = p->world[rank];
    int rc = FTC_SUCCESS;

    step->output = (uint32_t)p->output_count;
    for (int to = 0; rc == FTC_SUCCESS && to < w->n; to++) {
        while (rc == FTC_SUCCESS && w->first[rank][to] != NULL) {
            struct ftc_buffer *bytes = ftc_comms_take_packet(w, rank, to);
            rc = keep_output(p, step, rank, to, bytes);
            ftc_buffer_unref(bytes);
        }
    }
    return rc;
}

/* An input that changes nothing is idle if that stays so:
 * - a message of a communicator that was forgotten. It is not known again;
 * - a message of a member. Ballots, epochs, L and operations only go forward. But once the
 *   communicator is forgotten, some messages are answered. */
static bool stays_idle(const struct ftc_processes *p, int rank, uint32_t notes, uint32_t input)
{
    if (input < FTC_PROCESS_MESSAGE)
        return false;
    const struct ftc_process_message *m = &p->message[input - FTC_PROCESS_MESSAGE];
    const struct ftc_communicators *set =
        ftc_comms_engine_set(p->world[rank]->process[rank].engine);
    if (ftc_communicators_find(set, m->number) != NULL)
        return !m->word && !m->answered;
    return !ftc_communicator_is_temporary(m->number) &&
           find_known(&p->note[notes], m->number) != NULL;
}

static int watch(struct ftc_processes *p, uint32_t state, uint32_t input,
                 struct ftc_process_step *step)
{
    int rank = p->state[state].rank;
    struct ftc_comms_world *w = p->world[rank];
    uint32_t notes = p->state[state].notes;

    feed(p, rank, input);
    p->at[rank] = FTC_TABLE_NONE;
    int rc = keep_violation(p, w->violation, &step->violation);
    if (rc == FTC_SUCCESS)
        rc = keep_outputs(p, step, rank);
    if (rc == FTC_SUCCESS)
        rc = number_state(p, rank, state, input, &step->to);
    if (rc != FTC_SUCCESS)
        return rc;
    step->judged = p->state[step->to].notes != notes;
    if (step->violation != FTC_TABLE_NONE)
        p->at[rank] = FTC_TABLE_NONE; /* its world stands still */
    step->idle = step->to == state && step->outputs == 0 && step->violation == FTC_TABLE_NONE &&
                 stays_idle(p, rank, notes, input);
    return FTC_SUCCESS;
}

int ftc_processes_learn(struct ftc_processes *p, uint32_t state, uint32_t input, uint32_t *step)
{
    struct ftc_process_step learned = {0};
    uint64_t key = (uint64_t)state << 32 | input;

    *step = ftc_table_get(&p->steps, key);
    if (*step != FTC_TABLE_NONE)
        return FTC_SUCCESS;
    int rc = revive(p, state);
    if (rc == FTC_SUCCESS)
        rc = watch(p, state, input, &learned);
    if (rc == FTC_SUCCESS)
        rc = ftc_array_grow((void **)&p->step, &p->step_room, p->step_count, sizeof(learned));
    if (rc != FTC_SUCCESS)
        return rc;
    *step = (uint32_t)p->step_count;
    p->step[p->step_count++] = learned;
    return ftc_table_put(&p->steps, key, *step);
}

/* --- judging --- */

/* The others as the judge sees them; NULL: none lives. */
static void set_others(struct ftc_processes *p, int rank, const struct ftc_process_others *others)
{
    struct ftc_comms_world *w = p->world[rank];

    for (int other = 0; other < w->n; other++) {
        struct ftc_comms_process *process = &w->process[other];
        if (other == rank)
            continue;
        process->alive = others != NULL && (others->dead >> other & 1) == 0;
        process->knowns = process->outcomes = 0;
        if (others == NULL || others->notes[other] == FTC_TABLE_NONE)
            continue;
        const struct ftc_process_notes *notes = &p->note[others->notes[other]];
        process->knowns = notes->knowns;
        process->outcomes = notes->outcomes;
        memcpy(process->known, notes->known, (size_t)notes->knowns * sizeof(*notes->known));
        memcpy(process->outcome, notes->outcome, (size_t)notes->outcomes * sizeof(*notes->outcome));
    }
}

static int find_verdict(struct ftc_processes *p, uint32_t state, uint32_t input,
                        const struct ftc_process_others *others, uint32_t *verdict)
{
    int rank = p->state[state].rank;
    uint32_t violation;
    int rc = revive(p, state);

    if (rc != FTC_SUCCESS)
        return rc;
    set_others(p, rank, others);
    feed(p, rank, input);
    p->at[rank] = FTC_TABLE_NONE;
    rc = keep_violation(p, p->world[rank]->violation, &violation);
    drop_messages(p->world[rank], rank);
    set_others(p, rank, NULL);
    *verdict = violation + 1; /* FTC_TABLE_NONE gives 0 */
    return rc;
}

int ftc_processes_judge(struct ftc_processes *p, uint32_t state, uint32_t input,
                        const struct ftc_process_others *others, const char **text)
{
    uint32_t verdict;

    add_number(p, (uint64_t)state << 32 | input);
    add_number(p, others->dead);
    add_bytes(p, others->notes, (size_t)p->story->settings.ranks * sizeof(others->notes[0]));
    uint64_t key = ftc_digest_of(p->bytes, p->byte_count).low;
    p->byte_count = 0;
    int rc = FTC_SUCCESS;
    if ((verdict = ftc_table_get(&p->verdicts, key)) == FTC_TABLE_NONE) {
        rc = find_verdict(p, state, input, others, &verdict);
        if (rc == FTC_SUCCESS)
            rc = ftc_table_put(&p->verdicts, key, verdict);
    }
    *text = rc == FTC_SUCCESS && verdict > 0 ? p->violation[verdict - 1] : NULL;
    return rc;
}

int ftc_processes_judge_end(struct ftc_processes *p, uint32_t state, const char **text)
{
    int rank = p->state[state].rank;
    struct ftc_comms_world *w = p->world[rank];
    uint32_t violation;

    *text = NULL;
    if (p->state[state].rests)
        return FTC_SUCCESS;
    int rc = revive(p, state);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_comms_judge_end(w);
    rc = keep_violation(p, w->violation, &violation);
    w->violation[0] = '\0';
    if (rc == FTC_SUCCESS)
        *text = p->violation[violation];
    return rc;
}

/* --- life --- */

int ftc_processes_init(struct ftc_processes *p, const struct ftc_comms_story *story)
{
    int n = story->settings.ranks, rc = FTC_SUCCESS;

    *p = (struct ftc_processes){.story = story};
    if (n < 1 || n > FTC_LOCAL_RANKS)
        return ftc_error_set(FTC_ERR_ARG, "%d ranks cannot be explored; use 1 to %d", n,
                             FTC_LOCAL_RANKS);
    for (int rank = 0; rc == FTC_SUCCESS && rank < n; rank++) {
        p->world[rank] = ftc_comms_world_new(story, &p->sums, NULL);
        begin(p, rank);
        rc = number_state(p, rank, 0, FTC_PROCESS_NONE, &p->first[rank]);
    }
    return rc;
}

void ftc_processes_fini(struct ftc_processes *p)
{
    for (int rank = 0; rank < FTC_LOCAL_RANKS; rank++) {
        if (p->world[rank] != NULL && p->world[rank]->process[rank].engine != NULL)
            ftc_comms_process_free(p->world[rank], rank);
        free(p->world[rank]);
    }
    for (uint32_t m = 0; m < p->messages.count; m++)
        ftc_buffer_unref(p->message[m].bytes);
    for (uint32_t n = 0; n < p->notes.count; n++) {
        free(p->note[n].known);
        free(p->note[n].outcome);
    }
    for (size_t v = 0; v < p->violation_count; v++)
        free(p->violation[v]);
    ftc_intern_fini(&p->states);
    ftc_intern_fini(&p->messages);
    ftc_intern_fini(&p->notes);
    ftc_table_fini(&p->steps);
    ftc_table_fini(&p->verdicts);
    free(p->state);
    free(p->message);
    free(p->note);
    free(p->step);
    free(p->output);
    free(p->violation);
    free(p->bytes);
    free(p->path);
    *p = (struct ftc_processes){0};
}

size_t ftc_processes_bytes(const struct ftc_processes *p)
{
    return ftc_intern_bytes(&p->states) + ftc_intern_bytes(&p->messages) +
           ftc_intern_bytes(&p->notes) + ftc_table_bytes(&p->steps) +
           ftc_table_bytes(&p->verdicts) + p->state_room * sizeof(*p->state) +
           p->message_room * (sizeof(*p->message) + 128) + p->step_room * sizeof(*p->step) +
           p->output_room * sizeof(*p->output);
}
