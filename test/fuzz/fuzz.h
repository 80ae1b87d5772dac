#ifndef FUZZ_H
#define FUZZ_H

/* What the fuzzed subjects share: how an input is read, memory that runs short, and what is true of
 * whatever the library hands out. A claim that is not true ends the process, which is what both
 * libFuzzer and corpus_test understand. */

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/location.h"
#include "lib/read.h"

/* The entry of a subject: in a libFuzzer program, which holds one subject alone, what libFuzzer
 * calls; in corpus_test, which holds them all, a name of its own. */
#ifdef FUZZ_ALONE
#define FUZZ_ENTRY(name) LLVMFuzzerTestOneInput
#else
#define FUZZ_ENTRY(name) fuzz_##name
#endif

/* Ends the process unless the claim is true. Evaluated in every build. */
#define FUZZ_CHECK(claim) fuzz_check((claim), #claim, __FILE__, __LINE__)
void fuzz_check(bool good, const char *claim, const char *file, int line);

/* ---- Reading an input ----------------------------------------------------------------------- */

/* Past its end an input gives zeros and empty bytes: choices are made such that 0 is the harmless
 * one. */
struct fuzz_input {
  const uint8_t *at;
  const uint8_t *end;
};

struct fuzz_input fuzz_input(const uint8_t *data, size_t len);
uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
struct keyroute_bytes fuzz_bytes(struct fuzz_input *input, size_t len); /* fewer at the end */
struct keyroute_bytes fuzz_rest(struct fuzz_input *input);
bool fuzz_over(const struct fuzz_input *input);

/* The bytes as text: cut at the first NUL. The memory is the caller's, free() it. */
char *fuzz_text(struct keyroute_bytes bytes);

/* ---- Memory --------------------------------------------------------------------------------- */

/* Memory for one input. Its next byte says which allocation fails: 0 none, n the n-th. */
struct kr_mem *fuzz_mem_new(struct fuzz_input *input);

/* Has that allocation been asked for? */
bool fuzz_mem_failed(void);

/* Give it back. Everything must be free. */
void fuzz_mem_done(struct kr_mem *mem);

/* ---- What is always true -------------------------------------------------------------------- */

/* The view lies in the whole, or is empty. */
void fuzz_check_inside(struct keyroute_bytes view, struct keyroute_bytes whole);

/* One line of printable ASCII that says something. */
void fuzz_check_line(const char *line);

/* NO_MEMORY only after an allocation failed; else one of the two. */
void fuzz_check_error(int error, int one, int other);

/* A failure that is told: its code is listed, its message one line, its wait not negative. */
void fuzz_check_failure(const struct kr_failure *failure);

/* What came of the rows asked for: each has failed or is read, and its cells are of it. */
void fuzz_check_got(const struct kr_got *got, const struct kr_gets *gets);

/* A location says what it was made of, in every size of buffer, and stays within it. */
void fuzz_check_location(const struct keyroute_location *location);

#endif
