/*
 * Bugs made on purpose, to see that the sanitizers of this build see them: each name is one bug,
 * and the program must not end well. A build in which it does would find nothing in the library
 * either.
 */
#include "lib/location.h"

#include "lib/rcu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct keyroute_location *new_location(void)
{
  struct kr_mem *mem = kr_mem_new(NULL);
  struct kr_replica replica = {NULL, -1};
  struct kr_location_parts parts = {
      .name = keyroute_string("t,,1.00000000000000000000000000000000."),
      .table_len = 1,
      .region_id = 1,
      .replicas = &replica,
      .replica_count = 1,
  };
  struct keyroute_location *location = kr_location_new(mem, &parts);

  kr_mem_release(mem);
  return location;
}

/* A location read after its last count was given back. */
static int use_after_free(void)
{
  struct keyroute_location *location = new_location();

  keyroute_location_release(location);
  return keyroute_location_replica_count(location);
}

/* A name written into less room than it was said to have. */
static int overflow(void)
{
  struct keyroute_location *location = new_location();
  char *room = malloc(8);

  keyroute_location_region_name(location, 0, room, 64);
  int result = room[0];

  free(room);
  keyroute_location_release(location);
  return result;
}

/* A location that nobody gives back. */
static int leak(void)
{
  return new_location() == NULL;
}

static int undefined(void)
{
  volatile int shift = 40;

  return 1 << shift;
}

/* A reader in its section; the writer frees without waiting for it. Each tells the other how far it
 * is, in an order that orders nothing else: the two overlap however the machine runs them, and the
 * sanitizer sees no reason why they should not. */
static struct keyroute_location *shared;
static int reading, written;

static void *read_shared(void *arg)
{
  long sum = 0;

  do {
    kr_rcu_read_begin();
    struct keyroute_location *seen = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);

    sum += (long)seen->region_id;
    kr_rcu_read_end();
    __atomic_store_n(&reading, 1, __ATOMIC_RELAXED);
  } while (__atomic_load_n(&written, __ATOMIC_RELAXED) == 0);
  *(long *)arg = sum;
  return NULL;
}

static int race(void)
{
  pthread_t reader;
  long sum;

  shared = new_location();
  pthread_create(&reader, NULL, read_shared, &sum);
  while (__atomic_load_n(&reading, __ATOMIC_RELAXED) == 0) {
    sched_yield();
  }
  for (int i = 0; i < 1000; i++) {
    struct keyroute_location *old = shared;

    __atomic_store_n(&shared, new_location(), __ATOMIC_RELEASE);
    keyroute_location_release(old);
  }
  __atomic_store_n(&written, 1, __ATOMIC_RELAXED);
  pthread_join(reader, NULL);
  keyroute_location_release(shared);
  return sum == 0;
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    int (*run)(void);
  } bugs[] = {
      {"use-after-free", use_after_free}, {"overflow", overflow}, {"leak", leak},
      {"undefined", undefined},           {"race", race},
  };

  for (size_t i = 0; argc == 2 && i < sizeof(bugs) / sizeof(bugs[0]); i++) {
    if (strcmp(argv[1], bugs[i].name) == 0) {
      printf("%d\n", bugs[i].run());
      return 0;
    }
  }
  fprintf(stderr, "usage: seeded use-after-free|overflow|leak|undefined|race\n");
  return 0; /* not a bug seen: the caller wants a failure */
}
