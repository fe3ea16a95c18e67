/* What a rank of the storm program writes down for each operation; the driver compares the survivors' files. */
#ifndef FTC_TESTS_SYSTEM_RECORD_H
#define FTC_TESTS_SYSTEM_RECORD_H

#include <stdint.h>

enum record_kind {
    RECORD_ALLREDUCE,
    RECORD_LARGE, /* allreduce of many doubles */
    RECORD_REDUCE,
    RECORD_BCAST,
    RECORD_BARRIER,
    RECORD_VALIDATE,
    RECORD_KINDS
};

/* Ranks as bits: storms have at most 64 ranks. */
struct record {
    uint32_t op, kind;
    int32_t status, root;
    uint64_t counted; /* whose input is in the result, exactly once each; ~0 where that is not known */
    uint64_t failed;  /* of ftc_last_report() */
    uint64_t hash;    /* of the result's bytes; 0 at a rank that gets none */
    uint64_t done;    /* 1, written last: the record is whole */
};

/* Operation `op` of a run with this seed: the same at every rank and in the driver. */
static inline uint64_t record_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline enum record_kind record_pick(uint64_t seed, uint32_t op, int ranks, int *root)
{
    uint64_t state = seed * 1000003u + op;
    uint64_t dice = record_random(&state) % 100;

    *root = (int)(record_random(&state) % (uint64_t)ranks);
    if (dice < 40)
        return RECORD_ALLREDUCE;
    if (dice < 45)
        return RECORD_LARGE;
    if (dice < 60)
        return RECORD_REDUCE;
    if (dice < 80)
        return RECORD_BCAST;
    return dice < 90 ? RECORD_BARRIER : RECORD_VALIDATE;
}

#endif
