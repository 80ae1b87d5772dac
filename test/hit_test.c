/*
 * Hits beside one another: doc/hits.md says that they share memory which none of them writes.
 *
 * All that the library allocates here lies in pages of its own. Once every region has been hit they
 * are made read-only, and who writes to them after all dies of it. So the tests that expect a death
 * show what the others would see.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REGIONS = 700, READERS = 2, BATCH = 16, DIED = 7 };

/* ---- Pages ---- */

struct pages {
  uint8_t *begin;
  size_t size, used;
};

static void *pages_allocate(void *user, size_t size)
{
  struct pages *pages = user;
  size_t *to = (size_t *)(void *)(pages->begin + pages->used);
  size_t taken = (size + 31) / 16 * 16;

  ck_assert_uint_lt(pages->used + taken, pages->size);
  pages->used += taken;
  *to = size;
  return to + 2;
}

static void *pages_reallocate(void *user, void *old, size_t size)
{
  void *fresh = pages_allocate(user, size);

  if (old != NULL) {
    size_t old_size = ((size_t *)old)[-2];

    memcpy(fresh, old, old_size < size ? old_size : size);
  }
  return fresh;
}

static void pages_release(void *user, void *old)
{
  (void)user;
  (void)old;
}

static void allow(const struct pages *pages, int what)
{
  ck_assert_int_eq(mprotect(pages->begin, pages->size, what), 0);
}

/* ---- A cache in them ---- */

struct scene {
  struct pages pages;
  struct kr_mem *mem;
  struct kr_stats *stats;
  struct kr_servers *servers;
  struct kr_cache *cache;
  struct keyroute_table *table;
};

/* Keys of which each fourth has the same bytes in front, so that heads do not tell. */
static size_t write_key(char out[64], int number)
{
  return (size_t)snprintf(out, 64, "tenant-%03d/folder/object-%04d", number / 4, number);
}

static void put(struct scene *scene, int number)
{
  char start[64] = "", end[64] = "", host[16];
  struct keyroute_location *kept = NULL;

  if (number > 0) {
    write_key(start, number);
  }
  if (number + 1 < REGIONS) {
    write_key(end, number + 1);
  }
  snprintf(host, sizeof(host), "h%d", number % 10);
  struct made made = {"t", start, end, number + 1, host, 1, 1, 1};
  struct keyroute_location *location = make_location(scene->mem, scene->servers, &made);

  ck_assert_ptr_nonnull(location);
  ck_assert_int_eq(
      kr_cache_store(scene->cache, scene->table, location, kr_cache_tick(scene->cache), &kept), 0);
  keyroute_location_release(kept);
  keyroute_location_release(location);
}

static struct keyroute_location *get(const struct scene *scene, int number)
{
  char row[64];
  size_t len = write_key(row, number);

  return kr_table_find(scene->table, kr_bytes(row, len), KR_AT);
}

static void scene_begin(struct scene *scene)
{
  scene->pages = (struct pages){.size = (size_t)16 << 20};
  scene->pages.begin =
      mmap(NULL, scene->pages.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(scene->pages.begin, MAP_FAILED);
  struct keyroute_allocator allocator = {
      .user = &scene->pages,
      .allocate = pages_allocate,
      .reallocate = pages_reallocate,
      .release = pages_release,
  };

  scene->mem = kr_mem_new(&allocator);
  scene->stats = kr_stats_new(scene->mem);
  scene->servers = kr_servers_new(scene->mem);
  scene->cache = kr_cache_new(scene->mem, scene->stats);
  scene->table = kr_cache_table(scene->cache, keyroute_string("t"));
  for (int i = 0; i < REGIONS; i++) {
    put(scene, i * 37 % REGIONS);
  }
  kr_rcu_read_begin();
  for (int i = 0; i < REGIONS; i++) {
    ck_assert_ptr_nonnull(get(scene, i));
  }
  kr_rcu_read_end();
  kr_rcu_barrier(); /* what is freed later is freed now */
}

static void scene_end(struct scene *scene)
{
  kr_table_release(scene->table);
  kr_cache_free(scene->cache);
  kr_servers_free(scene->servers);
  kr_stats_free(scene->stats);
  kr_rcu_barrier();
  kr_mem_release(scene->mem);
  munmap(scene->pages.begin, scene->pages.size);
}

/* ---- Readers ---- */

static void peek_one(struct keyroute_table *table, int number)
{
  char row[64];
  size_t len = write_key(row, number);

  keyroute_peek_begin();
  const struct keyroute_location *location = keyroute_peek(table, kr_bytes(row, len));

  ck_assert_int_eq(keyroute_location_region_id(location), number + 1);
  ck_assert_str_ne(keyroute_location_host(location, 0), "");
  keyroute_peek_end();
}

static void peek_some(struct keyroute_table *table, int number)
{
  const struct keyroute_location *found[BATCH];
  struct keyroute_bytes rows[BATCH];
  char text[BATCH][64];

  for (int i = 0; i < BATCH; i++) {
    rows[i] = kr_bytes(text[i], write_key(text[i], (number + i) % REGIONS));
  }
  keyroute_peek_begin();
  ck_assert_uint_eq(keyroute_peek_many(found, table, rows, BATCH), BATCH);
  keyroute_peek_end();
}

static void *peek_all(void *arg)
{
  for (int i = 0; i < REGIONS; i++) {
    peek_one(arg, i);
    peek_some(arg, i);
  }
  return NULL;
}

START_TEST(test_hit__peeks_write_to_nothing_of_the_librarys)
{
  struct scene scene;
  pthread_t readers[READERS];

  scene_begin(&scene);
  allow(&scene.pages, PROT_READ);
  for (int i = 0; i < READERS; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, peek_all, scene.table), 0);
  }
  for (int i = 0; i < READERS; i++) {
    pthread_join(readers[i], NULL);
  }
  allow(&scene.pages, PROT_READ | PROT_WRITE);
  scene_end(&scene);
}
END_TEST

/* ---- Those that do write ---- */

static void die(int signal)
{
  (void)signal;
  _exit(DIED);
}

/* Does this write to the pages? Tried out in a child. */
static bool writes(struct scene *scene, void (*act)(struct scene *scene))
{
  int status = 0;

  allow(&scene->pages, PROT_READ);
  pid_t child = fork();

  if (child == 0) {
    signal(SIGSEGV, die);
    act(scene);
    _exit(0);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  allow(&scene->pages, PROT_READ | PROT_WRITE);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status) == DIED;
}

static void act_peek(struct scene *scene)
{
  peek_one(scene->table, 5);
}

static void act_count(struct scene *scene)
{
  kr_rcu_read_begin();
  keyroute_location_ref(get(scene, 5));
  kr_rcu_read_end();
}

START_TEST(test_hit__who_takes_a_count_writes_to_the_location)
{
  struct scene scene;

  scene_begin(&scene);
  ck_assert(!writes(&scene, act_peek));
  ck_assert(writes(&scene, act_count));
  scene_end(&scene);
}
END_TEST

START_TEST(test_hit__first_hit_since_a_sweep_marks_the_location)
{
  struct scene scene;

  scene_begin(&scene);
  kr_rcu_read_begin();
  __atomic_store_n(&get(&scene, 5)->touched, false, __ATOMIC_RELAXED);
  kr_rcu_read_end();
  ck_assert(writes(&scene, act_peek));
  act_peek(&scene);
  ck_assert(!writes(&scene, act_peek));
  scene_end(&scene);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hit");
  TCase *tests = tcase_create("hit");

  tcase_add_test(tests, test_hit__peeks_write_to_nothing_of_the_librarys);
  tcase_add_test(tests, test_hit__who_takes_a_count_writes_to_the_location);
  tcase_add_test(tests, test_hit__first_hit_since_a_sweep_marks_the_location);
  tcase_set_timeout(tests, 120);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
