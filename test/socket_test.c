/* One TCP connection: several addresses behind a name, and how servers are printed. */
#include "lib/socket.h"

#include "lib/clock.h"
#include "test/fake_server.h"
#include "test/run_suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 1000

/* ---- A resolver that knows one name ---------------------------------------------------------- */

/* The addresses of "many.test", up to NULL. Set before a socket is opened. */
static const char *addresses[4];

/* One piece of memory, as the C library's freeaddrinfo expects it. */
static struct addrinfo *new_address(const char *text, const char *port)
{
  struct addrinfo *made = calloc(1, sizeof(*made) + sizeof(struct sockaddr_in));
  struct sockaddr_in *address = (struct sockaddr_in *)(made + 1);

  address->sin_family = AF_INET;
  address->sin_port = htons((uint16_t)atoi(port));
  ck_assert_int_eq(inet_pton(AF_INET, text, &address->sin_addr), 1);
  made->ai_family = AF_INET;
  made->ai_socktype = SOCK_STREAM;
  made->ai_addr = (struct sockaddr *)address;
  made->ai_addrlen = sizeof(*address);
  return made;
}

static int resolve_error; /* where there is no address */

/* Stands in for the C library's, which it asks about all other names. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **found)
{
  if (strcmp(host, "many.test") != 0 || (hints->ai_flags & AI_NUMERICHOST) != 0) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(host, port, hints, found);
  }
  struct addrinfo **end = found;

  if (addresses[0] == NULL) {
    return resolve_error;
  }
  for (size_t i = 0; addresses[i] != NULL; i++) {
    *end = new_address(addresses[i], port);
    end = &(*end)->ai_next;
  }
  return 0;
}

/* ---- A socket on its loop -------------------------------------------------------------------- */

struct world {
  struct kr_task open, end;
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_worker *worker;
  struct kr_socket *socket;
  struct fake_server *server;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool opened, closed; /* under the lock, as the failure */
  struct kr_failure failure;
};

static void note_opened(void *arg)
{
  struct world *world = arg;

  pthread_mutex_lock(&world->lock);
  world->opened = true;
  pthread_cond_broadcast(&world->changed);
  pthread_mutex_unlock(&world->lock);
}

static void note_received(void *arg, struct keyroute_bytes bytes)
{
  (void)arg;
  (void)bytes;
}

static void note_closed(void *arg, const struct kr_failure *failure)
{
  struct world *world = arg;

  world->socket = NULL;
  pthread_mutex_lock(&world->lock);
  world->closed = true;
  world->failure = *failure;
  pthread_cond_broadcast(&world->changed);
  pthread_mutex_unlock(&world->lock);
}

static const struct kr_socket_events events = {note_opened, note_received, note_closed};

static void run_open(struct kr_task *task)
{
  struct world *world = (struct world *)task;

  world->socket = kr_socket_open(world->mem, world->loop, world->worker, "many.test",
                                 fake_server_port(world->server), TIMEOUT_MS, &events, world);
}

static void run_end(struct kr_task *task)
{
  struct world *world = (struct world *)((char *)task - offsetof(struct world, end));

  kr_socket_close(world->socket);
}

static struct world *new_world(void)
{
  struct world *world = calloc(1, sizeof(*world));

  memset(addresses, 0, sizeof(addresses));
  pthread_mutex_init(&world->lock, NULL);
  pthread_cond_init(&world->changed, NULL);
  world->server = fake_server_start(0);
  world->mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&world->loop, world->mem), 0);
  ck_assert_int_eq(kr_worker_new(&world->worker, world->loop), 0);
  world->open.run = run_open;
  world->end.run = run_end;
  return world;
}

static void open_and_wait(struct world *world)
{
  kr_loop_post(world->loop, &world->open);
  pthread_mutex_lock(&world->lock);
  while (!world->opened && !world->closed) {
    pthread_cond_wait(&world->changed, &world->lock);
  }
  pthread_mutex_unlock(&world->lock);
}

static void free_world(struct world *world)
{
  kr_loop_post(world->loop, &world->end);
  ck_assert(kr_worker_close(world->worker, 10000));
  kr_loop_free(world->loop);
  kr_mem_release(world->mem);
  fake_server_free(world->server);
  pthread_cond_destroy(&world->changed);
  pthread_mutex_destroy(&world->lock);
  free(world);
}

/* Make address:port one whose handshakes are never completed. */
static void fill_queue(int fds[8], const char *address, int port)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

  inet_pton(AF_INET, address, &at.sin_addr);
  fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(bind(fds[0], (struct sockaddr *)&at, sizeof(at)), 0);
  ck_assert_int_eq(listen(fds[0], 0), 0);
  for (int i = 1; i < 8; i++) {
    fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert(connect(fds[i], (struct sockaddr *)&at, sizeof(at)) == 0 || errno == EINPROGRESS);
  }
}

START_TEST(test_socket__refused_addresses_make_way_for_the_next)
{
  struct world *world = new_world();

  addresses[0] = "127.0.0.2";
  addresses[1] = "127.0.0.3";
  addresses[2] = "127.0.0.1";
  open_and_wait(world);

  ck_assert_msg(world->opened, "%s", world->failure.message);
  free_world(world);
}
END_TEST

START_TEST(test_socket__black_holed_address_leaves_the_next_its_share_of_the_time)
{
  struct world *world = new_world();
  int64_t began_us = kr_clock_us();
  int fds[8];

  fill_queue(fds, "127.0.0.2", fake_server_port(world->server));
  addresses[0] = "127.0.0.2";
  addresses[1] = "127.0.0.1";
  open_and_wait(world);
  int64_t took_ms = (kr_clock_us() - began_us) / 1000;

  ck_assert_msg(world->opened, "%s", world->failure.message);
  ck_assert_int_ge(took_ms, TIMEOUT_MS / 2 - 10);
  ck_assert_int_lt(took_ms, TIMEOUT_MS);
  free_world(world);
  for (int i = 0; i < 8; i++) {
    close(fds[i]);
  }
}
END_TEST

START_TEST(test_socket__last_address_is_named_when_all_refuse)
{
  struct world *world = new_world();
  char message[200];

  addresses[0] = "127.0.0.2";
  addresses[1] = "127.0.0.3";
  open_and_wait(world);

  snprintf(message, sizeof(message), "connect to many.test:%d (127.0.0.3): Connection refused",
           fake_server_port(world->server));
  ck_assert(world->closed);
  ck_assert_int_eq(world->failure.code, KEYROUTE_E_UNREACHABLE);
  ck_assert_str_eq(world->failure.message, message);
  free_world(world);
}
END_TEST

static void open_without_descriptors(struct world *world)
{
  struct rlimit limit;
  int next_free = dup(0);

  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlim_t before = limit.rlim_cur;

  close(next_free);
  limit.rlim_cur = (rlim_t)next_free;
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  open_and_wait(world);
  limit.rlim_cur = before;
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Or every server would be taken for dead when a process has too many files open. */
START_TEST(test_socket__want_of_descriptors_is_not_held_against_the_server)
{
  struct world *world = new_world();

  addresses[0] = "127.0.0.1";

  open_without_descriptors(world);

  ck_assert(world->closed);
  ck_assert_int_eq(world->failure.code, KEYROUTE_E_UNREACHABLE);
  ck_assert_ptr_nonnull(strstr(world->failure.message, "Too many open files"));
  ck_assert(!world->failure.connecting);
  free_world(world);
}
END_TEST

/* Which of the two glibc says depends on whether it has its modules loaded. */
START_TEST(test_socket__nor_is_it_while_a_name_is_resolved)
{
  static const int errors[] = {EAI_SYSTEM, EAI_NONAME, EAI_MEMORY};
  struct world *world = new_world();

  resolve_error = errors[_i];

  open_without_descriptors(world);

  ck_assert(world->closed);
  ck_assert_int_eq(world->failure.code, KEYROUTE_E_RESOLVE);
  ck_assert(!world->failure.connecting);
  free_world(world);
}
END_TEST

START_TEST(test_socket__name_that_there_is_not_is_held_against_the_server)
{
  struct world *world = new_world();

  resolve_error = EAI_NONAME;

  open_and_wait(world);

  ck_assert(world->closed);
  ck_assert_int_eq(world->failure.code, KEYROUTE_E_RESOLVE);
  ck_assert(world->failure.connecting);
  free_world(world);
}
END_TEST

START_TEST(test_socket__end_of_an_open_connection_is_told)
{
  struct world *world = new_world();

  addresses[0] = "127.0.0.1";
  open_and_wait(world);
  ck_assert(fake_server_wait_connects(world->server, 1, 5000));
  fake_server_drop_connections(world->server);
  pthread_mutex_lock(&world->lock);
  while (!world->closed) {
    pthread_cond_wait(&world->changed, &world->lock);
  }
  pthread_mutex_unlock(&world->lock);

  ck_assert_int_eq(world->failure.code, KEYROUTE_E_UNREACHABLE);
  ck_assert_ptr_nonnull(strstr(world->failure.message, "closed by the server"));
  free_world(world);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("socket");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_socket__refused_addresses_make_way_for_the_next);
  tcase_add_test(tcase, test_socket__black_holed_address_leaves_the_next_its_share_of_the_time);
  tcase_add_test(tcase, test_socket__last_address_is_named_when_all_refuse);
  tcase_add_test(tcase, test_socket__want_of_descriptors_is_not_held_against_the_server);
  tcase_add_loop_test(tcase, test_socket__nor_is_it_while_a_name_is_resolved, 0, 3);
  tcase_add_test(tcase, test_socket__name_that_there_is_not_is_held_against_the_server);
  tcase_add_test(tcase, test_socket__end_of_an_open_connection_is_told);

  return run_suite(suite);
}
