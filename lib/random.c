/*
 * Random bits that only have to differ: splitmix64.
 *
 * Source: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014)
 */
#include "lib/random.h"

uint64_t kr_random_next(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
