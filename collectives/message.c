/* Messages of the agreement core: reference-counted contents, encoding, and decoding of untrusted
 * bytes. */
#include "collectives/message.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/wire.h"
#include "collectives/frame.h"

#define HEAD_FIXED   68 /* bytes before the optional parts */
#define PIECE_FIXED  12 /* bytes of a FRAGMENT between these and its piece */
#define SIGNATURE_AT (HEAD_FIXED - 16)

enum {
    FLAG_PARTICIPANTS = 1,
    FLAG_DECIDED = 2,
    FLAG_CORRECTING = 4,
    FLAG_WAY = 8, /* two bits */
    FLAG_CHECKSUM = 32,
    FLAG_LIST = 64,
    FLAGS_ALL = 127
};

/* Values of the status byte of a decision. STATUS_VERDICT is added to the others. */
enum { STATUS_SUCCESS, STATUS_ROOT_FAILED, STATUS_CORRUPT, STATUS_VERDICT = 4 };

/* A datagram is sent as one block, without the padding that a value has in memory. So the bytes of
 * the piece must come after a head of aligned size. */
_Static_assert(FTC_FRAGMENT_HEAD % FTC_VALUE_ALIGNMENT == 0, "a fragment needs no padding");
_Static_assert(HEAD_FIXED + PIECE_FIXED == FTC_FRAGMENT_HEAD,
               "message.h says how long the head of a fragment is");

int ftc_ballot_compare(struct ftc_ballot_id a, struct ftc_ballot_id b)
{
    if (a.i != b.i)
        return a.i < b.i ? -1 : 1;
    if (a.s != b.s)
        return a.s < b.s ? -1 : 1;
    return 0;
}

bool ftc_epoch_equal(struct ftc_epoch a, struct ftc_epoch b)
{
    return a.op == b.op && ftc_ballot_compare(a.ballot, b.ballot) == 0 && a.settled == b.settled;
}

struct ftc_decision *ftc_decision_new(int ranks)
{
    struct ftc_decision *decision = calloc(1, sizeof(*decision));

    if (decision == NULL)
        return NULL;
    if (ftc_set_init(&decision->failed, ranks) != 0) {
        free(decision);
        return NULL;
    }
    decision->references = 1;
    return decision;
}

struct ftc_decision *ftc_decision_ref(struct ftc_decision *decision)
{
    if (decision != NULL)
        decision->references++;
    return decision;
}

void ftc_decision_unref(struct ftc_decision *decision)
{
    if (decision == NULL || --decision->references > 0)
        return;
    ftc_value_drop(&decision->value);
    ftc_set_fini(&decision->failed);
    ftc_set_fini(&decision->verdict.wrong);
    free(decision);
}

void ftc_contribution_drop(struct ftc_contribution *contribution)
{
    ftc_decision_unref(contribution->decision);
    contribution->decision = NULL;
    ftc_value_drop(&contribution->value);
}

int ftc_message_init(struct ftc_message *message, int ranks)
{
    *message = (struct ftc_message){0};
    if (ftc_set_init(&message->participants, ranks) != 0 ||
        ftc_set_init(&message->info.list, ranks) != 0) {
        ftc_message_fini(message);
        return FTC_ERR_NOMEM;
    }
    return 0;
}

void ftc_message_fini(struct ftc_message *message)
{
    ftc_contribution_drop(&message->contribution);
    ftc_set_fini(&message->participants);
    ftc_set_fini(&message->info.list);
}

const struct ftc_value *ftc_message_value(const struct ftc_message *message)
{
    const struct ftc_contribution *contribution = &message->contribution;

    return contribution->decision != NULL ? &contribution->decision->value : &contribution->value;
}

/* --- encoding --- */

static bool has_checksum(const struct ftc_message *message)
{
    return message->sealed || ftc_message_value(message)->checksum != 0;
}

static bool message_has_contribution(enum ftc_message_kind kind)
{
    return kind == FTC_MESSAGE_UP || kind == FTC_MESSAGE_TREE || kind == FTC_MESSAGE_DECIDE ||
           kind == FTC_MESSAGE_FRAGMENT;
}

static size_t decision_size(const struct ftc_decision *decision)
{
    size_t size = 1 + ftc_wire_set_size(&decision->failed) + 8 + 4;

    return decision->verdict.compared > 0 ? size + 4 + ftc_wire_set_size(&decision->verdict.wrong)
                                          : size;
}

static size_t message_head_size(const struct ftc_message *message)
{
    size_t size = HEAD_FIXED;

    if (message->has_participants)
        size += ftc_wire_set_size(&message->participants);
    if (message->kind == FTC_MESSAGE_TREE)
        size += ftc_wire_set_size(&message->info.list) + 5;
    if (message->has_list)
        size += ftc_wire_set_size(&message->info.list);
    if (message->contribution.decision != NULL)
        size += decision_size(message->contribution.decision);
    if (message->way == FTC_WAY_GOSSIP)
        size += 4;
    if (has_checksum(message))
        size += 8;
    if (message->kind == FTC_MESSAGE_FRAGMENT)
        size += PIECE_FIXED;
    return size;
}

static void write_signature(struct ftc_writer *w, const struct ftc_signature *signature)
{
    ftc_write_u8(w, signature->kind);
    ftc_write_u8(w, signature->type);
    ftc_write_u8(w, signature->operator_code);
    ftc_write_u8(w, 0);
    ftc_write_u32(w, (uint32_t)signature->root);
    ftc_write_u64(w, signature->size);
}

static void write_ballot(struct ftc_writer *w, struct ftc_ballot_id ballot)
{
    ftc_write_u32(w, ballot.i);
    ftc_write_u32(w, ballot.s);
}

/* Writes what the scheme lets a message carry (Küttler, Härtig 2026, section 4.4). */
static void write_info(struct ftc_writer *w, const struct ftc_failure_info *info,
                       enum ftc_scheme scheme)
{
    if (scheme == FTC_SCHEME_LIST) {
        ftc_write_set(w, &info->list);
        return;
    }
    if (scheme == FTC_SCHEME_COUNT)
        ftc_write_u32(w, info->count << 1 | info->child);
    else
        ftc_write_u8(w, info->child);
}

static void write_decision(struct ftc_writer *w, const struct ftc_decision *decision)
{
    const struct ftc_vote_verdict *verdict = &decision->verdict;
    unsigned status = STATUS_SUCCESS;

    if (decision->status != FTC_SUCCESS)
        status = decision->status == FTC_ERR_CORRUPT ? STATUS_CORRUPT : STATUS_ROOT_FAILED;
    ftc_write_u8(w, (uint8_t)(status | (verdict->compared > 0 ? STATUS_VERDICT : 0)));
    ftc_write_set(w, &decision->failed);
    write_ballot(w, decision->ballot);
    ftc_write_u32(w, decision->write_offs);
    if (verdict->compared == 0)
        return;
    ftc_write_u32(w, verdict->compared);
    ftc_write_set(w, &verdict->wrong);
}

static void write_piece(struct ftc_writer *w, const struct ftc_piece *piece)
{
    ftc_write_u32(w, piece->number);
    ftc_write_u32(w, piece->count);
    ftc_write_u32(w, piece->whole);
}

static void write_head(struct ftc_writer *w, const struct ftc_message *message,
                       enum ftc_scheme scheme)
{
    unsigned flags = 0;

    if (message->has_participants)
        flags |= FLAG_PARTICIPANTS;
    if (message->has_list)
        flags |= FLAG_LIST;
    if (message->contribution.decision != NULL)
        flags |= FLAG_DECIDED;
    if (message->correcting)
        flags |= FLAG_CORRECTING;
    if (has_checksum(message))
        flags |= FLAG_CHECKSUM;
    flags |= (unsigned)message->way * FLAG_WAY;
    ftc_frame_write(w, (int)message->kind, (uint16_t)((unsigned)scheme | flags << 8),
                    message->communicator);
    ftc_write_u64(w, message->op);
    write_ballot(w, message->ballot);
    ftc_write_u64(w, message->epoch.op);
    write_ballot(w, message->epoch.ballot);
    ftc_write_u64(w, message->epoch.settled);
    write_signature(w, &message->signature);
}

size_t ftc_message_decide_most(int ranks, size_t value)
{
    size_t set = 4 + (size_t)ftc_set_words(ranks) * 8; /* the longest form of a set */

    return ftc_value_offset(HEAD_FIXED + set + (1 + set + 8 + 4 + 4 + set) + 4 + 8) + value;
}

struct ftc_buffer *ftc_message_encode(const struct ftc_message *message, enum ftc_scheme scheme)
{
    size_t room = message_head_size(message);
    struct ftc_buffer *head = ftc_buffer_new(room);

    if (head == NULL)
        return NULL;
    struct ftc_writer w = {.data = head->data, .size = room};
    write_head(&w, message, scheme);
    if (message->has_participants)
        ftc_write_set(&w, &message->participants);
    if (message->kind == FTC_MESSAGE_TREE)
        write_info(&w, &message->info, scheme);
    if (message->has_list)
        ftc_write_set(&w, &message->info.list);
    if (message->contribution.decision != NULL)
        write_decision(&w, message->contribution.decision);
    if (message->way == FTC_WAY_GOSSIP)
        ftc_write_u32(&w, message->rounds);
    if (message->kind == FTC_MESSAGE_FRAGMENT)
        write_piece(&w, &message->piece);
    if (has_checksum(message))
        ftc_write_u64(&w,
                      ftc_value_checksum_with_head(ftc_message_value(message), head->data, w.used));
    assert(!w.failed);
    head->size = w.used;
    return head;
}

/* --- decoding --- */

static struct ftc_ballot_id read_ballot(struct ftc_reader *r)
{
    struct ftc_ballot_id ballot;

    ballot.i = ftc_read_u32(r);
    ballot.s = ftc_read_u32(r);
    return ballot;
}

static bool read_signature(struct ftc_reader *r, struct ftc_signature *signature, int ranks)
{
    signature->kind = ftc_read_u8(r);
    signature->type = ftc_read_u8(r);
    signature->operator_code = ftc_read_u8(r);
    bool zero = ftc_read_u8(r) == 0;
    signature->root = (int32_t)ftc_read_u32(r);
    signature->size = ftc_read_u64(r);
    return zero && signature->kind > FTC_CALL_NONE && signature->kind < FTC_CALL_KINDS &&
           signature->root >= -1 && signature->root < ranks;
}

/* Returns the flags, or -1 if the head makes no sense. */
static int read_head(struct ftc_reader *r, struct ftc_message *message, int ranks,
                     enum ftc_scheme scheme)
{
    uint16_t own;
    int kind;
    bool sound = ftc_frame_read(r, &kind, &own, &message->communicator);
    unsigned flags = own >> 8;

    sound &= (own & 0xff) == (unsigned)scheme;
    message->op = ftc_read_u64(r);
    message->ballot = read_ballot(r);
    message->epoch.op = ftc_read_u64(r);
    message->epoch.ballot = read_ballot(r);
    message->epoch.settled = ftc_read_u64(r);
    sound &= read_signature(r, &message->signature, ranks);
    if (!sound || r->failed || kind >= FTC_MESSAGE_GOSSIP || flags > FLAGS_ALL)
        return -1;
    message->kind = (enum ftc_message_kind)kind;
    message->has_participants = flags & FLAG_PARTICIPANTS;
    message->correcting = flags & FLAG_CORRECTING;
    message->has_list = flags & FLAG_LIST;
    message->way = (enum ftc_way)(flags / FLAG_WAY & FTC_WAY_RIGHT);
    return (int)flags;
}

static void read_info(struct ftc_reader *r, struct ftc_failure_info *info, enum ftc_scheme scheme)
{
    ftc_set_clear(&info->list);
    if (scheme == FTC_SCHEME_LIST) {
        ftc_read_set(r, &info->list);
        info->count = (uint32_t)ftc_set_count(&info->list);
        info->child = false;
        return;
    }
    uint32_t word = scheme == FTC_SCHEME_COUNT ? ftc_read_u32(r) : ftc_read_u8(r);
    info->child = word & 1;
    info->count = word >> 1;
    r->failed |= scheme == FTC_SCHEME_BIT && word > 1;
}

static int read_verdict(struct ftc_reader *r, struct ftc_vote_verdict *verdict, int ranks)
{
    if (ftc_set_init(&verdict->wrong, ranks) != 0)
        return FTC_ERR_NOMEM;
    verdict->compared = ftc_read_u32(r);
    r->failed |= verdict->compared < 2;
    ftc_read_set(r, &verdict->wrong);
    return 0;
}

static int read_decision(struct ftc_reader *r, struct ftc_message *message, int ranks)
{
    static const int statuses[] = {FTC_SUCCESS, FTC_ERR_ROOT_FAILED, FTC_ERR_CORRUPT};
    struct ftc_decision *decision = ftc_decision_new(ranks);

    if (decision == NULL)
        return FTC_ERR_NOMEM;
    message->contribution.decision = decision;
    uint8_t word = ftc_read_u8(r), status = word % STATUS_VERDICT;
    if (word > STATUS_CORRUPT + STATUS_VERDICT || status > STATUS_CORRUPT)
        r->failed = true;
    else
        decision->status = statuses[status];
    ftc_read_set(r, &decision->failed);
    decision->ballot = read_ballot(r);
    decision->write_offs = ftc_read_u32(r);
    return (word & STATUS_VERDICT) != 0 ? read_verdict(r, &decision->verdict, ranks) : 0;
}

static void read_piece(struct ftc_reader *r, struct ftc_piece *piece)
{
    piece->number = ftc_read_u32(r);
    piece->count = ftc_read_u32(r);
    piece->whole = ftc_read_u32(r);
    r->failed |= piece->number >= piece->count || r->used == r->size;
}

/* Gives the value, if there is one, its checksum. Returns whether the value and the head, of `size`
 * bytes, are what was sent. */
static bool check_value(struct ftc_value *value, const unsigned char *head, size_t size,
                        uint64_t checksum)
{
    if (value->buffer != NULL)
        ftc_value_seal(value);
    return ftc_value_checksum_with_head(value, head, size) == checksum;
}

/* The rest after the head is the value. Only a contribution has one. */
static void read_value(struct ftc_reader *r, struct ftc_message *message, struct ftc_buffer *buffer,
                       bool checked)
{
    size_t head = r->used;
    uint64_t checksum = checked ? ftc_read_u64(r) : 0;
    struct ftc_value value = {0};

    if (r->failed)
        return;
    if (r->used == r->size) {
        r->failed = checked && !check_value(&value, r->data, head, checksum);
        return;
    }
    ftc_read_align(r, FTC_VALUE_ALIGNMENT);
    if (r->failed || r->used == r->size || !message_has_contribution(message->kind)) {
        r->failed = true;
        return;
    }
    value = (struct ftc_value){.buffer = buffer, .offset = r->used, .size = r->size - r->used};
    struct ftc_decision *decision = message->contribution.decision;
    r->failed = checked && !check_value(&value, r->data, head, checksum);
    ftc_value_set(decision != NULL ? &decision->value : &message->contribution.value, &value);
}

/* A DECIDE always carries a decision. An UP or TREE carries one if it is DECIDED(D), and other
 * messages never do. A message has participants unless it is a POKE, a FRAGMENT or of ballot
 * (0,0). */
static bool flags_fit(const struct ftc_message *message, int flags)
{
    bool first = message->ballot.i == 0 && message->ballot.s == 0;
    bool decided = flags & FLAG_DECIDED;

    bool without =
        first || message->kind == FTC_MESSAGE_POKE || message->kind == FTC_MESSAGE_FRAGMENT;

    if (message->has_participants == without ||
        (message->has_list && message->kind != FTC_MESSAGE_UP))
        return false;
    if (message->kind == FTC_MESSAGE_DECIDE)
        return decided;
    if (message->correcting || message->way != FTC_WAY_OWED)
        return false;
    return !decided || message->kind == FTC_MESSAGE_UP || message->kind == FTC_MESSAGE_TREE;
}

int ftc_message_decode(struct ftc_message *message, struct ftc_buffer *buffer, int ranks,
                       enum ftc_scheme scheme)
{
    struct ftc_reader r = {.data = buffer->data, .size = buffer->size};
    int rc = 0;

    ftc_contribution_drop(&message->contribution);
    int flags = read_head(&r, message, ranks, scheme);
    if (flags < 0 || !flags_fit(message, flags))
        return FTC_ERR_PROTO;
    ftc_set_clear(&message->participants);
    if (message->has_participants)
        ftc_read_set(&r, &message->participants);
    if (message->kind == FTC_MESSAGE_TREE)
        read_info(&r, &message->info, scheme);
    if (message->has_list) {
        ftc_set_clear(&message->info.list);
        ftc_read_set(&r, &message->info.list);
    }
    if (flags & FLAG_DECIDED)
        rc = read_decision(&r, message, ranks);
    if (message->way == FTC_WAY_GOSSIP)
        message->rounds = ftc_read_u32(&r);
    if (message->kind == FTC_MESSAGE_FRAGMENT)
        read_piece(&r, &message->piece);
    if (rc == 0)
        read_value(&r, message, buffer, flags & FLAG_CHECKSUM);
    if (rc == 0 && (r.failed || r.used > r.size))
        rc = FTC_ERR_PROTO;
    if (rc != 0)
        ftc_contribution_drop(&message->contribution);
    return rc;
}

int ftc_message_peek(const struct ftc_buffer *buffer, struct ftc_message_head *head)
{
    struct ftc_reader r = {.data = buffer->data, .size = buffer->size};
    uint64_t communicator;
    uint16_t own;
    int kind;
    bool sound = ftc_frame_read(&r, &kind, &own, &communicator);
    uint64_t op = ftc_read_u64(&r);
    struct ftc_ballot_id ballot = read_ballot(&r);
    struct ftc_epoch epoch = {.op = ftc_read_u64(&r)};
    epoch.ballot = read_ballot(&r);
    epoch.settled = ftc_read_u64(&r);
    if (!sound || r.failed || kind >= FTC_MESSAGE_GOSSIP || buffer->size < HEAD_FIXED)
        return FTC_ERR_PROTO;
    *head = (struct ftc_message_head){
        .kind = (enum ftc_message_kind)kind, .op = op, .ballot = ballot, .epoch = epoch};
    return 0;
}

int ftc_message_peek_signature(const struct ftc_buffer *buffer, struct ftc_signature *signature)
{
    struct ftc_reader r = {.data = buffer->data, .size = buffer->size};

    ftc_read_bytes(&r, SIGNATURE_AT);
    (void)read_signature(&r, signature, INT_MAX);
    return r.failed ? FTC_ERR_PROTO : FTC_SUCCESS;
}
