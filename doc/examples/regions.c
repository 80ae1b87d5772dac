#include <keyroute/keyroute.h>
#include <stdio.h>

/* Count the regions of a page, and tell what is wrong with it. */
static size_t look_at(const struct keyroute_page *page)
{
  struct keyroute_span span = {.size = sizeof(span)};
  char start[200];
  size_t regions = 0;

  for (size_t i = 0; keyroute_page_span(page, i, &span) == 0; i++) {
    regions += span.kind == KEYROUTE_SPAN_REGION;
    if (span.message[0] != '\0') {
      keyroute_escape(start, sizeof(start), span.start);
      printf("from \"%s\": %s\n", start, span.message);
    }
  }
  return regions;
}

/* Warm the cache up for a table. */
int main(int argc, char **argv)
{
  const char *table = argc > 1 ? argv[1] : "Table2";
  struct keyroute_connection *conn = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_page *last = NULL;
  struct keyroute_bytes next = {NULL, 0}, none = {NULL, 0};
  size_t regions = 0;
  bool more = true;
  int error = keyroute_open(&conn, NULL, &detail);

  while (error == 0 && more) {
    struct keyroute_page *page = NULL;

    error = keyroute_regions(&page, conn, table, next, none, 0, NULL,
                             &detail);
    if (error == 0) {
      keyroute_page_free(last); /* next was its */
      last = page;
      more = keyroute_page_next(page, &next);
      regions += look_at(page);
      fprintf(stderr, "%zu regions\n", regions);
    }
  }
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", keyroute_errname(error), detail.message);
  }
  keyroute_page_free(last);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
