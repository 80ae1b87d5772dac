/*
 * What TLS is to use with range nodes: files that the settings name, read when a connection is
 * opened.
 *
 *  1. A file that is named and cannot be had is an error at open, not one of each call; so are
 *     names where TLS is not asked for, since whoever wrote them believes to be protected.
 *  2. Whether a file holds what it should, is for the module to say: PEM is read there.
 *  3. A private key does not stay in memory that is given back; one longer than PIECE might, which
 *     none is.
 *
 * Threads: that of open.
 */
#include "lib/bigtable_tls.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/error.h"
#include "lib/property.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* More than all certificates of a system. */
enum { FILE_MAX = 4 << 20, PIECE = 1 << 14 };

/* Whose files these are. */
struct source {
  const struct kr_settings *settings;
  struct keyroute_detail *detail;
};

static const char *name_of(enum kr_property_id id)
{
  return kr_property_get(id)->name;
}

static int complain(const struct source *from, enum kr_property_id id, const char *path,
                    const char *reason)
{
  char printed[256];

  return kr_detail_fail(from->detail, KEYROUTE_E_INVALID_ARGUMENT, "property %s is \"%s\": %s",
                        name_of(id),
                        kr_bytes_print(printed, sizeof(printed), keyroute_string(path)), reason);
}

static void wipe(struct kr_buf *buf)
{
  if (buf->data != NULL) {
    explicit_bzero(buf->data, buf->cap);
  }
  kr_buf_clear(buf);
}

/* Read a whole file, with a NUL behind it. Returns NULL, or why that cannot be. */
static const char *read_pieces(struct kr_buf *out, FILE *file)
{
  size_t got = PIECE;

  while (got == PIECE && out->len <= FILE_MAX) {
    uint8_t *to = kr_buf_extend(out, PIECE);

    got = to != NULL ? fread(to, 1, PIECE, file) : 0;
    out->len -= to != NULL ? PIECE - got : 0;
  }
  if (ferror(file) != 0) {
    return strerror(errno);
  }
  if (out->len > FILE_MAX) {
    return "it is too long";
  }
  if (out->len > 0 && memchr(out->data, '\0', out->len) != NULL) {
    return "it is no text";
  }
  kr_buf_u8(out, '\0');
  return NULL;
}

/* Errors: as kr_bigtable_tls_read. */
static int read_file(char **out, const struct source *from, enum kr_property_id id,
                     const char *path)
{
  struct kr_buf text;

  if (path == NULL) {
    return 0;
  }
  FILE *file = fopen(path, "re");

  if (file == NULL) {
    return complain(from, id, path, strerror(errno));
  }
  kr_buf_init(&text, from->settings->mem);
  setvbuf(file, NULL, _IONBF, 0); /* a copy of a key less */
  const char *reason = read_pieces(&text, file);
  int error = reason != NULL ? complain(from, id, path, reason) : 0;

  fclose(file);
  if (error == 0 && text.failed) {
    error = kr_detail_fail(from->detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  if (error != 0) {
    wipe(&text);
    return error;
  }
  *out = (char *)text.data;
  return 0;
}

/* One property that is set, and another that would have to be. */
static int check_pair(const struct source *from, enum kr_property_id set, const char *value,
                      enum kr_property_id needed, bool is_there)
{
  return value == NULL || is_there
             ? 0
             : kr_detail_fail(from->detail, KEYROUTE_E_INVALID_ARGUMENT,
                              "property %s is set, but %s is not%s", name_of(set), name_of(needed),
                              needed == KR_PROPERTY_GRPC_TLS ? " true" : "");
}

static int check_all(const struct source *from)
{
  const struct kr_settings *settings = from->settings;
  const struct {
    enum kr_property_id id;
    const char *value;
  } texts[] = {
      {KR_PROPERTY_GRPC_TLS_ROOTS, settings->grpc_tls_roots},
      {KR_PROPERTY_GRPC_TLS_CERTIFICATE, settings->grpc_tls_certificate},
      {KR_PROPERTY_GRPC_TLS_KEY, settings->grpc_tls_key},
      {KR_PROPERTY_GRPC_TLS_SERVER_NAME, settings->grpc_tls_server_name},
  };
  int error = 0;

  for (size_t i = 0; error == 0 && i < sizeof(texts) / sizeof(texts[0]); i++) {
    error = check_pair(from, texts[i].id, texts[i].value, KR_PROPERTY_GRPC_TLS, settings->grpc_tls);
  }
  if (error == 0) {
    error = check_pair(from, KR_PROPERTY_GRPC_TLS_CERTIFICATE, settings->grpc_tls_certificate,
                       KR_PROPERTY_GRPC_TLS_KEY, settings->grpc_tls_key != NULL);
  }
  if (error == 0) {
    error = check_pair(from, KR_PROPERTY_GRPC_TLS_KEY, settings->grpc_tls_key,
                       KR_PROPERTY_GRPC_TLS_CERTIFICATE, settings->grpc_tls_certificate != NULL);
  }
  return error;
}

int kr_bigtable_tls_read(struct kr_bigtable_tls *out, const struct kr_settings *settings,
                         struct keyroute_detail *detail)
{
  const struct source from = {settings, detail};
  struct kr_bigtable_tls tls = {NULL, NULL, NULL};
  int error = check_all(&from);

  if (error == 0) {
    error = read_file(&tls.roots, &from, KR_PROPERTY_GRPC_TLS_ROOTS, settings->grpc_tls_roots);
  }
  if (error == 0) {
    error = read_file(&tls.certificate, &from, KR_PROPERTY_GRPC_TLS_CERTIFICATE,
                      settings->grpc_tls_certificate);
  }
  if (error == 0) {
    error = read_file(&tls.key, &from, KR_PROPERTY_GRPC_TLS_KEY, settings->grpc_tls_key);
  }
  if (error == 0) {
    *out = tls;
  } else {
    kr_bigtable_tls_clear(&tls, settings->mem);
  }
  return error;
}

void kr_bigtable_tls_clear(struct kr_bigtable_tls *tls, struct kr_mem *mem)
{
  if (tls->key != NULL) {
    explicit_bzero(tls->key, strlen(tls->key));
  }
  kr_free(mem, tls->roots);
  kr_free(mem, tls->certificate);
  kr_free(mem, tls->key);
}
