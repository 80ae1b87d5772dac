/* Rows put together from chunks: held against a naive assembler in random answers, cut into
 * messages everywhere; every violation of the protocol; bounds. */
#include "lib/bigtable_chunks.h"

#include "test/failing_mem.h"
#include "test/made_chunks.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CHUNKS_MAX = 400, TEXT_MAX = 60000 };

static struct kr_mem *mem;
static struct kr_buf made;
static struct kr_bigtable_chunks chunks;
static struct kr_bigtable_limits limits;

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&made, mem);
  limits = (struct kr_bigtable_limits){.max_row_len = SIZE_MAX, .max_len = 1 << 20};
  kr_bigtable_chunks_init(&chunks, mem, &limits);
}

static void teardown(void)
{
  kr_bigtable_chunks_clear(&chunks);
  kr_buf_clear(&made);
  failing_mem_done(mem);
}

static void restart(void)
{
  kr_bigtable_chunks_clear(&chunks);
  kr_bigtable_chunks_init(&chunks, mem, &limits);
  made.len = 0;
}

/* Take what was made as one message. */
static int take(void)
{
  int error = kr_bigtable_chunks_take(&chunks, kr_buf_view(&made));

  made.len = 0;
  return error;
}

static void print_bytes(char *text, const char *before, struct keyroute_bytes bytes)
{
  size_t len = strlen(text);

  ck_assert_uint_lt(len + bytes.len + 40, TEXT_MAX);
  snprintf(text + len, TEXT_MAX - len, "%s%.*s", before, (int)bytes.len, (const char *)bytes.data);
}

/* All rows as "key[f:q@ts=v f:q@ts=v] ...". */
static const char *print_rows(void)
{
  static char text[TEXT_MAX];

  text[0] = '\0';
  for (size_t i = 0; i < kr_bigtable_chunks_count(&chunks); i++) {
    const struct kr_bigtable_row *row = kr_bigtable_chunks_row(&chunks, i);
    const struct kr_bigtable_cell *cells = kr_bigtable_chunks_cells(&chunks, row);

    print_bytes(text, "", kr_bigtable_chunks_bytes(&chunks, row->key));
    strcat(text, row->too_large ? "[too large" : "[");
    for (size_t k = 0; k < row->cell_count; k++) {
      print_bytes(text, k > 0 ? " " : "", kr_bigtable_chunks_bytes(&chunks, cells[k].family));
      print_bytes(text, ":", kr_bigtable_chunks_bytes(&chunks, cells[k].qualifier));
      snprintf(text + strlen(text), 40, "@%lld", (long long)cells[k].timestamp_micros);
      print_bytes(text, "=", kr_bigtable_chunks_bytes(&chunks, cells[k].value));
    }
    strcat(text, "]");
  }
  return text;
}

static void expect(const char *want)
{
  ck_assert_int_eq(take(), 0);
  ck_assert_int_eq(kr_bigtable_chunks_end(&chunks), 0);
  ck_assert_str_eq(print_rows(), want);
}

/* ---- What is left out, cut and taken back ---------------------------------------------------- */

START_TEST(test_bigtable_chunks__what_is_as_before_is_left_out)
{
  made_chunk(&made, &(struct made_chunk){
                        .key = "a", .family = "f", .qualifier = "p", .micros = 2, .value = "1"});
  made_chunk(&made, &(struct made_chunk){.micros = 1, .value = "2"});
  made_chunk(&made, &(struct made_chunk){.qualifier = "q", .value = "3"});
  made_chunk(&made, &(struct made_chunk){
                        .key = "a", .family = "g", .qualifier = "", .value = "4", .commit = true});
  made_row(&made, "b", "f", "p", 7, "");

  expect("a[f:p@2=1 f:p@1=2 f:q@0=3 g:@0=4]b[f:p@7=]");
}
END_TEST

START_TEST(test_bigtable_chunks__bare_commit_is_a_cell_of_the_same_column)
{
  made_chunk(&made, &(struct made_chunk){
                        .key = "a", .family = "f", .qualifier = "p", .micros = 2, .value = "1"});
  made_chunk(&made, &(struct made_chunk){.commit = true});

  expect("a[f:p@2=1 f:p@0=]");
}
END_TEST

START_TEST(test_bigtable_chunks__value_comes_in_pieces_whose_length_is_a_hint)
{
  made_chunk(&made, &(struct made_chunk){.key = "a",
                                         .family = "f",
                                         .qualifier = "p",
                                         .micros = 2,
                                         .value = "on",
                                         .value_size = 1000});
  made_chunk(&made, &(struct made_chunk){.value = "e", .value_size = 1});
  made_chunk(&made, &(struct made_chunk){.value = "!"});
  made_chunk(&made, &(struct made_chunk){.micros = 1, .value = "two", .commit = true});

  expect("a[f:p@2=one! f:p@1=two]");
}
END_TEST

START_TEST(test_bigtable_chunks__reset_takes_a_row_back)
{
  made_row(&made, "a", "f", "p", 1, "kept");
  made_chunk(&made,
             &(struct made_chunk){.key = "b", .family = "f", .qualifier = "p", .value = "x"});
  made_chunk(&made, &(struct made_chunk){.reset = true});
  made_chunk(&made,
             &(struct made_chunk){
                 .key = "b", .family = "g", .qualifier = "p", .value = "y", .value_size = 9});
  made_chunk(&made, &(struct made_chunk){.reset = true});
  made_row(&made, "b", "h", "p", 1, "new");

  expect("a[f:p@1=kept]b[h:p@1=new]");
}
END_TEST

START_TEST(test_bigtable_chunks__row_comes_over_several_messages)
{
  made_chunk(&made,
             &(struct made_chunk){
                 .key = "a", .family = "f", .qualifier = "p", .value = "o", .value_size = 3});
  ck_assert_int_eq(take(), 0);
  made_chunk(&made, &(struct made_chunk){.value = "ne"});
  ck_assert_int_eq(take(), 0);
  ck_assert_int_eq(take(), 0); /* a message without anything in it */
  made_chunk(&made, &(struct made_chunk){.qualifier = "q", .value = "two", .commit = true});

  expect("a[f:p@0=one f:q@0=two]");
}
END_TEST

START_TEST(test_bigtable_chunks__rows_come_backwards_if_they_are_read_so)
{
  limits.reversed = true;
  restart();
  made_row(&made, "c", "f", "p", 1, "");
  made_scanned(&made, "b");
  made_row(&made, "a", "f", "p", 1, "");

  expect("c[f:p@1=]a[f:p@1=]");
}
END_TEST

START_TEST(test_bigtable_chunks__no_answer_is_no_rows)
{
  expect("");
}
END_TEST

START_TEST(test_bigtable_chunks__unknown_fields_are_passed_over)
{
  struct kr_buf inner;

  kr_buf_init(&inner, mem);
  made_field(&inner, 1, keyroute_string("a"));
  kr_buf_bytes(&inner, kr_bytes("\x59........\x5d....\x50\x07", 16)); /* numbers of all kinds */
  made_wrapped(&inner, 2, keyroute_string("f"));
  made_wrapped(&inner, 3, keyroute_string("p"));
  made_field(&inner, 4, keyroute_string("not a number: another field of that number"));
  made_number(&inner, 9, 1);
  made_field(&made, 3, keyroute_string("request stats"));
  made_field(&made, 1, kr_buf_view(&inner));
  kr_buf_clear(&inner);

  expect("a[f:p@0=]");
}
END_TEST

/* ---- Against a naive assembler --------------------------------------------------------------- */

static uint64_t seed;

static unsigned any(unsigned below)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % below;
}

static char keys[CHUNKS_MAX][8], values[CHUNKS_MAX][8];
static struct made_chunk answer[CHUNKS_MAX];
static size_t count;

static struct made_chunk *next_chunk(void)
{
  struct made_chunk *chunk = &answer[count];

  *chunk = (struct made_chunk){.key = NULL};
  snprintf(values[count], sizeof(values[count]), "%.*s", (int)any(7), "abcdefg");
  chunk->value = any(8) == 0 ? NULL : values[count];
  count++;
  return chunk;
}

/* A cell, in up to four chunks. */
static struct made_chunk *make_cell(bool is_first, const char *key)
{
  static const char *const names[] = {"", "p", "q", "pq"};
  struct made_chunk *chunk = next_chunk();
  unsigned pieces = any(4) == 0 ? any(4) : 0;

  chunk->key = is_first || any(4) == 0 ? key : NULL;
  chunk->family = is_first || any(4) == 0 ? names[1 + any(3)] : NULL;
  chunk->qualifier = chunk->family != NULL || any(2) == 0 ? names[any(4)] : NULL;
  chunk->micros = any(3) == 0 ? 0 : any(1000000);
  for (; pieces > 0; pieces--) {
    chunk->value_size = 1 + (int32_t)any(50);
    chunk = next_chunk();
  }
  return chunk;
}

static void make_answer(void)
{
  count = 0;
  for (unsigned row = 0; count < CHUNKS_MAX - 60; row++) {
    snprintf(keys[row], sizeof(keys[row]), "k%04u", row);
    struct made_chunk *last = make_cell(true, keys[row]);

    for (unsigned cells = any(6); cells > 0; cells--) {
      last = make_cell(false, keys[row]);
    }
    if (any(5) == 0) {
      last = next_chunk();
      *last = (struct made_chunk){.reset = true};
      row -= any(2); /* once more, or passed over */
    } else {
      last->commit = true;
    }
  }
}

/* The rows that it is, put together from text alone. */
static const char *assemble_naively(void)
{
  static char text[TEXT_MAX], row[TEXT_MAX];
  const char *family = "", *qualifier = "";
  bool in_cell = false;

  text[0] = row[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    const struct made_chunk *chunk = &answer[i];

    if (chunk->reset) {
      row[0] = '\0';
      in_cell = false;
      continue;
    }
    if (!in_cell) {
      bool is_first = row[0] == '\0';

      family = chunk->family != NULL ? chunk->family : family;
      qualifier = chunk->qualifier != NULL ? chunk->qualifier : qualifier;
      sprintf(row + strlen(row), "%s%s%s:%s@%lld=", is_first ? chunk->key : " ",
              is_first ? "[" : "", family, qualifier, (long long)chunk->micros);
    }
    strcat(row, chunk->value != NULL ? chunk->value : "");
    in_cell = chunk->value_size > 0;
    if (chunk->commit) {
      strcat(strcat(text, row), "]");
      row[0] = '\0';
    }
  }
  return text;
}

START_TEST(test_bigtable_chunks__rows_are_those_of_a_naive_assembler_in_any_cut)
{
  uint64_t first_seed = (uint64_t)time(NULL) * 1000 + (uint64_t)_i;

  seed = first_seed;
  make_answer();
  restart();
  for (size_t i = 0; i < count; i++) {
    made_chunk(&made, &answer[i]);
    if (any(3) == 0) {
      ck_assert_int_eq(take(), 0);
    }
  }
  ck_assert_int_eq(take(), 0);
  ck_assert_int_eq(kr_bigtable_chunks_end(&chunks), 0);
  ck_assert_msg(strcmp(print_rows(), assemble_naively()) == 0, "seed %llu:\n%s\nand not\n%s",
                (unsigned long long)first_seed, print_rows(), assemble_naively());
}
END_TEST

/* ---- What is not believed -------------------------------------------------------------------- */

#define CELL .family = "f", .qualifier = "q", .value = "v"

static const struct {
  struct made_chunk chunks[4];
  const char *trouble;
} wrong[] = {
    {{{CELL}}, "a row without a key"},
    {{{.key = "", CELL}}, "a row without a key"},
    {{{.key = "a", .qualifier = "q", .value = "v"}}, "a row whose first cell has no column"},
    {{{.key = "a", .family = "f", .value = "v"}}, "a row whose first cell has no column"},
    {{{.key = "a", .family = "", .qualifier = "q"}}, "a cell without a family"},
    {{{.key = "b", CELL, .commit = true}, {.key = "a", CELL, .commit = true}},
     "rows that are not in order"},
    {{{.key = "b", CELL, .commit = true}, {.key = "b", CELL, .commit = true}},
     "rows that are not in order"},
    {{{.key = "b", CELL}, {.key = "c", .value = "v"}}, "two rows in one"},
    {{{.key = "b", CELL}, {.key = "b\x01", CELL}}, "two rows in one"},
    {{{.key = "b", CELL}, {.family = "g", .value = "v"}}, "a family without a qualifier"},
    {{{.key = "b", CELL}, {.family = "", .qualifier = "q"}}, "a cell without a family"},
    {{{.key = "b", CELL, .value_size = 9}, {.key = "b", .value = "v"}},
     "a cell that begins within another"},
    {{{.key = "b", CELL, .value_size = 9}, {.family = "f", .value = "v"}},
     "a cell that begins within another"},
    {{{.key = "b", CELL, .value_size = 9}, {.qualifier = "", .value = "v"}},
     "a cell that begins within another"},
    {{{.key = "b", CELL, .value_size = 9}, {.micros = 1, .value = "v"}},
     "a cell that begins within another"},
    {{{.key = "b", CELL, .value_size = 9}, {.value = "v", .label = "l"}},
     "a cell that begins within another"},
    {{{.key = "b", CELL, .value_size = 9, .commit = true}}, "a row that ends within a cell"},
    {{{.key = "b", CELL, .value_size = -1}}, "a value of negative length"},
    {{{.reset = true}}, "a reset where no row is under way"},
    {{{.key = "b", CELL, .commit = true}, {.reset = true}}, "a reset where no row is under way"},
    {{{.key = "b", CELL}, {.reset = true, .key = "b"}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .family = "f"}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .qualifier = "q"}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .value = "v"}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .value_size = 1}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .micros = 1}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .label = "l"}}, "a reset that holds data"},
    {{{.key = "b", CELL}, {.reset = true, .commit = true}}, "a reset that holds data"},
};

START_TEST(test_bigtable_chunks__violation_is_told_and_stays)
{
  for (size_t i = 0; i < 4; i++) {
    const struct made_chunk *chunk = &wrong[_i].chunks[i];

    if (chunk->key != NULL || chunk->family != NULL || chunk->value != NULL || chunk->reset ||
        chunk->qualifier != NULL) {
      made_chunk(&made, chunk);
    }
  }

  ck_assert_int_eq(take(), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(chunks.trouble, wrong[_i].trouble);
  made_row(&made, "z", "f", "q", 0, "good");
  ck_assert_int_eq(take(), KEYROUTE_E_PROTOCOL);
  ck_assert_int_eq(kr_bigtable_chunks_end(&chunks), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(chunks.trouble, wrong[_i].trouble);
}
END_TEST

START_TEST(test_bigtable_chunks__answer_does_not_end_within_a_row)
{
  made_chunk(&made, &(struct made_chunk){.key = "a", CELL});

  ck_assert_int_eq(take(), 0);
  ck_assert_int_eq(kr_bigtable_chunks_end(&chunks), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(chunks.trouble, "an answer that ends within a row");
}
END_TEST

START_TEST(test_bigtable_chunks__row_passed_over_counts_as_one_that_came)
{
  static const struct {
    const char *scanned, *row;
    int error;
  } orders[] = {{"b", "c", 0}, {"b", "b", KEYROUTE_E_PROTOCOL}, {"b", "a", KEYROUTE_E_PROTOCOL}};

  for (size_t i = 0; i < 3; i++) {
    restart();
    made_scanned(&made, orders[i].scanned);
    made_row(&made, orders[i].row, "f", "q", 0, "");
    ck_assert_int_eq(take(), orders[i].error);
  }
  restart();
  made_chunk(&made, &(struct made_chunk){.key = "a", CELL});
  made_scanned(&made, "b");
  ck_assert_int_eq(take(), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(chunks.trouble, "a row passed over within another");
}
END_TEST

START_TEST(test_bigtable_chunks__message_cut_off_is_unreadable)
{
  char copy[200];

  made_row(&made, "key", "family", "qualifier", 1000, "value");
  size_t len = made.len;

  ck_assert_uint_lt(len, sizeof(copy));
  memcpy(copy, made.data, len);
  for (size_t cut = 1; cut < len; cut++) {
    restart();
    ck_assert_int_eq(kr_bigtable_chunks_take(&chunks, kr_bytes(copy, cut)), KEYROUTE_E_PROTOCOL);
    ck_assert_str_eq(chunks.trouble, "an unreadable message");
  }
}
END_TEST

START_TEST(test_bigtable_chunks__chunk_cut_off_is_unreadable)
{
  made_field(&made, 1, kr_bytes("\x0a\x02k", 3));
  ck_assert_int_eq(take(), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(chunks.trouble, "an unreadable chunk");
  restart();
  made_field(&made, 1, kr_bytes("\x12\x03\x0a\x09x", 5)); /* a family longer than its message */
  ck_assert_int_eq(take(), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(chunks.trouble, "an unreadable chunk");
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------- */

START_TEST(test_bigtable_chunks__row_over_its_limit_keeps_no_cells)
{
  limits.max_row_len = 8; /* two cells of key, family, qualifier and a byte */
  restart();
  made_row(&made, "a", "f", "q", 1, "12345");
  made_chunk(&made, &(struct made_chunk){.key = "b", CELL});
  made_chunk(&made, &(struct made_chunk){.value = "w", .commit = true});
  made_chunk(&made, &(struct made_chunk){.key = "c", CELL});
  made_chunk(&made, &(struct made_chunk){.value = "12", .value_size = 9});
  made_chunk(&made, &(struct made_chunk){.value = "34"});
  made_chunk(&made, &(struct made_chunk){.family = "ff", .qualifier = "qqq", .value = "w"});
  made_chunk(&made, &(struct made_chunk){.qualifier = "r", .commit = true});
  made_chunk(&made, &(struct made_chunk){.key = "d", CELL, .commit = true});

  expect("a[f:q@1=12345]b[f:q@0=v f:q@0=w]c[too large]d[f:q@0=v]");
  ck_assert_uint_eq(kr_bigtable_chunks_row(&chunks, 2)->len, 4 + 7 + 7 + 4);
}
END_TEST

START_TEST(test_bigtable_chunks__what_is_kept_is_bounded)
{
  limits.max_len = 10000;
  restart();
  made_chunk(&made, &(struct made_chunk){.key = "a", CELL});
  ck_assert_int_eq(take(), 0);
  int error = 0;

  for (int i = 0; error == 0 && i < 10000; i++) {
    made_chunk(&made, &(struct made_chunk){.key = NULL}); /* two bytes */
    error = take();
    ck_assert_uint_le(kr_bigtable_chunks_held(&chunks), 10000 + sizeof(struct kr_bigtable_cell));
  }
  ck_assert_int_eq(error, KEYROUTE_E_TOO_LARGE);
}
END_TEST

START_TEST(test_bigtable_chunks__what_a_row_over_its_limit_sends_is_not_kept)
{
  limits.max_len = 10000;
  limits.max_row_len = 100;
  restart();
  made_chunk(&made, &(struct made_chunk){.key = "a", CELL});
  for (int i = 0; i < 10000; i++) {
    made_chunk(&made, &(struct made_chunk){.qualifier = "q", .value = "0123456789"});
    ck_assert_int_eq(take(), 0);
  }
  made_chunk(&made, &(struct made_chunk){.commit = true});

  expect("a[too large]");
}
END_TEST

START_TEST(test_bigtable_chunks__each_failed_allocation_is_told)
{
  bool failed = true;

  for (long n = 1; failed; n++) {
    restart();
    made_row(&made, "a", "f", "q", 1, "v");
    made_row(&made, "b", "f", "q", 1, "a value that is somewhat longer than the room there is now");
    mem_fail(n);
    int error = take();

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("bigtable_chunks");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_bigtable_chunks__what_is_as_before_is_left_out);
  tcase_add_test(tcase, test_bigtable_chunks__bare_commit_is_a_cell_of_the_same_column);
  tcase_add_test(tcase, test_bigtable_chunks__value_comes_in_pieces_whose_length_is_a_hint);
  tcase_add_test(tcase, test_bigtable_chunks__reset_takes_a_row_back);
  tcase_add_test(tcase, test_bigtable_chunks__row_comes_over_several_messages);
  tcase_add_test(tcase, test_bigtable_chunks__rows_come_backwards_if_they_are_read_so);
  tcase_add_test(tcase, test_bigtable_chunks__no_answer_is_no_rows);
  tcase_add_test(tcase, test_bigtable_chunks__unknown_fields_are_passed_over);
  tcase_add_loop_test(tcase, test_bigtable_chunks__rows_are_those_of_a_naive_assembler_in_any_cut,
                      0, 100);
  tcase_add_loop_test(tcase, test_bigtable_chunks__violation_is_told_and_stays, 0,
                      sizeof(wrong) / sizeof(wrong[0]));
  tcase_add_test(tcase, test_bigtable_chunks__answer_does_not_end_within_a_row);
  tcase_add_test(tcase, test_bigtable_chunks__row_passed_over_counts_as_one_that_came);
  tcase_add_test(tcase, test_bigtable_chunks__message_cut_off_is_unreadable);
  tcase_add_test(tcase, test_bigtable_chunks__chunk_cut_off_is_unreadable);
  tcase_add_test(tcase, test_bigtable_chunks__row_over_its_limit_keeps_no_cells);
  tcase_add_test(tcase, test_bigtable_chunks__what_is_kept_is_bounded);
  tcase_add_test(tcase, test_bigtable_chunks__what_a_row_over_its_limit_sends_is_not_kept);
  tcase_add_test(tcase, test_bigtable_chunks__each_failed_allocation_is_told);

  return run_suite(suite);
}
