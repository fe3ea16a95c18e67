/* A good hash of 64 bits: the finalizer of SplitMix64 (Steele, Lea, Flood 2014). */
#ifndef FTC_BASE_MIX_H
#define FTC_BASE_MIX_H

#include <stdint.h>

static inline uint64_t ftc_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
