/* The state of a process as bytes, for exploring state spaces. */
#include "sim/communicators/world.h"

struct digest {
    ftc_digest_sink *sink;
    void *arg;
};

static void add_number(const struct digest *d, uint64_t number)
{
    d->sink(d->arg, &number, sizeof(number));
}

/* Tickets grow with each call of the process, also where that is all that differs. So an item is
 * told from others by its place among the calls under way. 0: it is not under way. */
static int place_of(const struct ftc_comms_process *p, int item)
{
    int place = p->ticket[item] != 0;

    for (int i = 0; i < FTC_COMMS_ITEMS && place > 0; i++)
        place += p->ticket[i] != 0 && p->ticket[i] < p->ticket[item];
    return place;
}

static void add_slot(const struct digest *d, const struct ftc_comms_slot *slot)
{
    bool live = slot->state == FTC_COMMS_SLOT_LIVE;

    add_number(d, (uint64_t)slot->state | (uint64_t)slot->told << 8 |
                      (uint64_t)slot->outstanding << 16);
    add_number(d, live ? ftc_communicator_name(slot->communicator) : 0);
}

void ftc_comms_process_digest(const struct ftc_comms_world *w, int rank, ftc_digest_sink *sink,
                              void *arg)
{
    const struct ftc_comms_process *p = &w->process[rank];
    struct digest d = {.sink = sink, .arg = arg};

    add_number(&d, (uint64_t)p->phase | (uint64_t)p->more << 8 | (uint64_t)p->timer << 9);
    for (int thread = 0; thread < w->story->threads; thread++) {
        add_number(&d, (uint64_t)p->at[thread]);
        add_number(
            &d, (uint64_t)(p->waits[thread] == 0 ? 0 : 1 + ftc_comms_item_of(p, p->waits[thread])));
    }
    for (int item = 0; item < w->story->items; item++)
        add_number(&d, (uint64_t)place_of(p, item));
    for (int slot = 0; slot < w->story->slots; slot++)
        add_slot(&d, &p->slot[slot]);
    for (int i = 0; i < p->openings; i++)
        add_number(&d, p->opening[i]);
    ftc_comms_engine_digest(p->engine, sink, arg);
}
