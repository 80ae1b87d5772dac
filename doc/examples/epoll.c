#include <keyroute/keyroute.h>
#include <stdio.h>
#include <sys/epoll.h>

static int waiting; /* answers that are yet to come */

/* Runs in this program's own loop, so it needs no lock. */
static void answer(void *payload, int error,
                   struct keyroute_location *where,
                   const struct keyroute_detail *detail)
{
  const char *row = payload;

  waiting--;
  if (error != 0) {
    fprintf(stderr, "%s: %s: %s\n", row, keyroute_errname(error),
            detail->message);
    return;
  }
  printf("%s is on %s:%d\n", row, keyroute_location_host(where, 0),
         keyroute_location_port(where, 0));
}

static int open_drained(struct keyroute_connection **conn)
{
  struct keyroute_options *options = NULL;
  int error = keyroute_options_new(&options, NULL);

  if (error == 0) {
    keyroute_options_set_drain(options, true);
    error = keyroute_options_read_environment(options, NULL);
  }
  if (error == 0) {
    error = keyroute_open(conn, options, NULL);
  }
  keyroute_options_free(options);
  return error;
}

int main(void)
{
  static char *rows[] = {"RK10000", "RK20000", "RK30000"};
  struct keyroute_connection *conn = NULL;
  struct epoll_event event = {.events = EPOLLIN};
  int loop = epoll_create1(EPOLL_CLOEXEC);

  if (loop < 0 || open_drained(&conn) != 0) {
    return 1;
  }
  event.data.fd = keyroute_event_fd(conn);
  epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
  for (size_t i = 0; i < 3; i++) {
    struct keyroute_bytes row = keyroute_string(rows[i]);

    waiting += keyroute_locate_async(NULL, conn, "Table2", row, NULL,
                                     answer, rows[i]) == 0;
  }
  /* The loop of an application, whose other descriptors stand in it
   * beside this one. */
  while (waiting > 0 && epoll_wait(loop, &event, 1, -1) >= 0) {
    if (event.data.fd == keyroute_event_fd(conn)) {
      keyroute_drain(conn);
    }
  }
  keyroute_close(conn);
  return 0;
}
