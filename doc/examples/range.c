#include <keyroute/range.h>
#include <stdio.h>

static void show(const struct keyroute_ranges *ranges)
{
  struct keyroute_range range = {.size = sizeof(range)};
  struct keyroute_range_node node;
  char start[200];

  for (size_t i = 0; keyroute_ranges_get(ranges, i, &range) == 0; i++) {
    keyroute_ranges_node(ranges, i, 0, &node);
    keyroute_escape(start, sizeof(start), range.start);
    printf("r%llu from \"%s\" on %s:%d\n", (unsigned long long)range.id,
           start, node.host, node.port);
  }
}

/* Split the range of map that holds "m" there. The tables r11, with the
 * rows below, and r12, with the others, stand on its node already. */
int main(void)
{
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;
  struct keyroute_ranges *ranges = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT;
  int error = keyroute_options_new(&options, NULL);

  if (error == 0) {
    error = keyroute_options_set_layout(options, "range");
  }
  if (error == 0) {
    error = keyroute_open(&conn, options, &detail);
  }
  change.id = 11;
  change.right_id = 12;
  if (error == 0) {
    error = keyroute_range_split(&ranges, conn, "map", keyroute_string("m"),
                                 &change, NULL, &detail);
  }
  if (error == 0) {
    show(ranges);
  } else {
    fprintf(stderr, "%s: %s\n", keyroute_errname(error), detail.message);
  }
  keyroute_ranges_free(ranges);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  keyroute_options_free(options);
  return error != 0;
}
