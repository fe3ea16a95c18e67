/*
 * Random numbers for tests. All come from one seed. A test prints its seed, and takes it from the
 * environment to repeat a run: FTC_TEST_SEED=1234 test_view. main() calls test_seed_announce()
 * before anything forks, so that child processes inherit the seed.
 */
#ifndef FTC_TEST_RANDOM_H
#define FTC_TEST_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct test_random {
    uint64_t state;
};

static inline void test_seed_announce(void)
{
    char text[32];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof(text), "%llu",
             ((unsigned long long)now.tv_nsec << 20 ^ (unsigned long long)getpid()) &
                 0xffffffffffull);
    setenv("FTC_TEST_SEED", text, 0);
    printf("FTC_TEST_SEED=%s\n", getenv("FTC_TEST_SEED"));
    fflush(stdout);
}

static inline struct test_random test_random_start(void)
{
    const char *seed = getenv("FTC_TEST_SEED");
    return (struct test_random){seed != NULL ? strtoull(seed, NULL, 0) : 1};
}

/* 64 random bits (SplitMix64). */
static inline uint64_t test_random_bits(struct test_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Returns a number from low to high, both included. */
static inline int64_t test_random_between(struct test_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(test_random_bits(random) % ((uint64_t)(high - low) + 1));
}

static inline bool test_random_chance(struct test_random *random, int percent)
{
    return test_random_between(random, 0, 99) < percent;
}

#endif
