/*
 * What does an hbase-site.xml say?
 *
 * The format is Hadoop's: <configuration> holds <property> elements, each with <name>, <value> and
 * <final>, or with attributes of the same names. Elements that Hadoop ignores (<description>,
 * <source>, <tag>) are ignored here; a property without a value is skipped, one with an empty value
 * is kept. Names are trimmed, values are not: whoever reads a number trims it.
 *
 *  1. This is the only file that includes libxml2.
 *  2. A configuration is somebody else's file: nothing but the file itself is ever opened. The
 *     network is shut (XML_PARSE_NONET), no DTD is loaded, and entities are not replaced (no
 *     XML_PARSE_NOENT): a reference to one that the file declares is an error with its line, so
 *     that neither a secret nor a billion laughs gets into a value. XInclude, which Hadoop follows,
 *     is an error too instead of being passed over in silence.
 *  3. libxml2 prints nothing. What it has to say becomes the detail's message, with file and line.
 *  4. The file is read whole before it is parsed, at most KR_SITE_XML_MAX: so a pipe will do, and
 *     libxml2's own file layer, which would unpack or fetch, is not used.
 *
 * libxml2 allocates with malloc; what is handed out is made with the connection's allocator.
 * Any thread, one call at a time for each out. Source: Hadoop Configuration.loadResource, Parser
 */
#include "lib/site_xml.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/error.h"

#include <errno.h>
#include <fcntl.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <string.h>
#include <unistd.h>

/* One file being read: what every step needs to say where it failed. */
struct reading {
  struct kr_site *site;
  const char *path;
  struct keyroute_detail *detail;
};

static int fail_at(const struct reading *reading, long line, const char *reason)
{
  char path[256];

  kr_bytes_print(path, sizeof(path), keyroute_string(reading->path));
  return kr_detail_fail(reading->detail, KEYROUTE_E_INVALID_ARGUMENT, "%s:%ld: %s", path, line,
                        reason);
}

static int fail_memory(const struct reading *reading)
{
  return kr_detail_fail(reading->detail, KEYROUTE_E_NO_MEMORY, "out of memory");
}

static int fail_file(const struct reading *reading, const char *reason)
{
  char path[256];

  kr_bytes_print(path, sizeof(path), keyroute_string(reading->path));
  return kr_detail_fail(reading->detail, KEYROUTE_E_INVALID_ARGUMENT, "%s: %s", path, reason);
}

/* Append what a descriptor still holds, within the limit. */
static int read_all(const struct reading *reading, int fd, struct kr_buf *text)
{
  enum { CHUNK = 64 * 1024 };

  for (;;) {
    uint8_t *room = kr_buf_extend(text, CHUNK);
    if (room == NULL) {
      return fail_memory(reading);
    }
    ssize_t got = read(fd, room, CHUNK);
    int reason = errno;

    text->len -= got > 0 ? CHUNK - (size_t)got : CHUNK;
    if (got == 0) {
      return 0;
    }
    if (got < 0 && reason != EINTR) {
      return fail_file(reading, strerror(reason));
    }
    if (text->len > KR_SITE_XML_MAX) {
      return fail_file(reading, "larger than 16 MiB");
    }
  }
}

static int read_file(const struct reading *reading, struct kr_buf *text)
{
  int fd = open(reading->path, O_RDONLY | O_CLOEXEC);

  if (fd < 0) {
    return fail_file(reading, strerror(errno));
  }
  int error = read_all(reading, fd, text);
  close(fd);
  return error;
}

#if LIBXML_VERSION >= 21200
typedef const xmlError *error_pointer;
#else
typedef xmlErrorPtr error_pointer;
#endif

/* What libxml2 complained about first: later complaints are mostly echoes of it. */
struct complaint {
  long line; /* 0 = none yet */
  bool no_memory;
  char message[400]; /* printable */
};

/* libxml2's error handler; the context is what libxml2 hands over as user data. */
static void note_complaint(void *context, error_pointer error)
{
  struct complaint *first = ((xmlParserCtxtPtr)context)->_private;
  const char *text = error->message != NULL ? error->message : "not well-formed XML";

  if (error->code == XML_ERR_NO_MEMORY) {
    first->no_memory = true;
  }
  if (first->line == 0 && error->level >= XML_ERR_ERROR) {
    first->line = error->line > 0 ? error->line : 1;
    kr_bytes_print(first->message, sizeof(first->message), kr_bytes(text, strcspn(text, "\n")));
  }
}

static bool is_element(const xmlNode *node, const char *name)
{
  return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

/* The text inside an element or attribute, comments left out. *out is new and NUL-terminated. */
static int read_text(const struct reading *reading, const xmlNode *node, char **out)
{
  long line = xmlGetLineNo(node->type == XML_ATTRIBUTE_NODE ? node->parent : node);
  struct kr_buf text;
  int error = 0;

  kr_buf_init(&text, reading->site->mem);
  for (const xmlNode *child = node->children; child != NULL && error == 0; child = child->next) {
    if (child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE) {
      kr_buf_text(&text, (const char *)child->content);
    } else if (child->type == XML_ENTITY_REF_NODE) {
      error = fail_at(reading, line, "entities are not replaced here");
    } else if (child->type == XML_ELEMENT_NODE) {
      error = fail_at(reading, line, "an element inside a property's text");
    }
  }
  if (error == 0) {
    *out = kr_copy(reading->site->mem, kr_buf_view(&text));
    error = text.failed || *out == NULL ? fail_memory(reading) : 0;
  }
  kr_buf_clear(&text);
  return error;
}

/* Cut the blanks off both ends, in place, as Java's String.trim does. */
static void trim(char *text)
{
  size_t len = strlen(text);
  size_t skip = 0;

  while (len > 0 && (unsigned char)text[len - 1] <= ' ') {
    len--;
  }
  while (skip < len && (unsigned char)text[skip] <= ' ') {
    skip++;
  }
  memmove(text, text + skip, len - skip);
  text[len - skip] = '\0';
}

/* Put one field of a property, from an element or an attribute, where it belongs. The last one of a
 * name wins, as in Hadoop. */
static int read_field(const struct reading *reading, const xmlNode *node, const char *name,
                      struct kr_site_property *property)
{
  char *text = NULL;
  bool is_name = strcmp(name, "name") == 0;
  bool is_value = strcmp(name, "value") == 0;

  if (!is_name && !is_value && strcmp(name, "final") != 0) {
    return 0;
  }
  int error = read_text(reading, node, &text);
  if (error != 0) {
    kr_free(reading->site->mem, text);
    return error;
  }
  if (is_name || is_value) {
    char **field = is_name ? &property->name : &property->value;
    kr_free(reading->site->mem, *field);
    *field = text;
    if (is_name) {
      trim(text);
    }
    return 0;
  }
  property->final = strcmp(text, "true") == 0;
  kr_free(reading->site->mem, text);
  return 0;
}

static int read_fields(const struct reading *reading, const xmlNode *node,
                       struct kr_site_property *property)
{
  int error = 0;

  for (const xmlAttr *at = node->properties; at != NULL && error == 0; at = at->next) {
    /* An attribute begins like a node, and its text hangs below it like a node's. */
    error = read_field(reading, (const xmlNode *)at, (const char *)at->name, property);
  }
  for (const xmlNode *at = node->children; at != NULL && error == 0; at = at->next) {
    if (at->type == XML_ENTITY_REF_NODE) {
      error = fail_at(reading, xmlGetLineNo(node), "entities are not replaced here");
    } else if (at->type == XML_ELEMENT_NODE) {
      error = read_field(reading, at, (const char *)at->name, property);
    }
  }
  return error;
}

static void clear_property(struct kr_mem *mem, struct kr_site_property *property)
{
  kr_free(mem, property->name);
  kr_free(mem, property->value);
}

static int append(const struct reading *reading, const struct kr_site_property *property)
{
  struct kr_site *site = reading->site;

  if (site->count == site->room) {
    size_t room = site->room > 0 ? site->room * 2 : 32;
    void *grown = kr_realloc(site->mem, site->properties, room * sizeof(*site->properties));

    if (grown == NULL) {
      return fail_memory(reading);
    }
    site->properties = grown;
    site->room = room;
  }
  site->properties[site->count++] = *property;
  return 0;
}

static int read_property(const struct reading *reading, const xmlNode *node)
{
  struct kr_site_property property = {NULL, NULL, (unsigned)xmlGetLineNo(node), false};
  int error = read_fields(reading, node, &property);

  if (error == 0 && (property.name == NULL || property.name[0] == '\0')) {
    error = fail_at(reading, property.line, "a property without a name");
  }
  if (error == 0 && property.value != NULL) {
    error = append(reading, &property);
    if (error == 0) {
      return 0;
    }
  }
  clear_property(reading->site->mem, &property);
  return error;
}

static int read_configuration(const struct reading *reading, const xmlNode *root)
{
  int error = 0;

  if (!is_element(root, "configuration")) {
    return fail_at(reading, xmlGetLineNo(root), "the root element is not <configuration>");
  }
  for (const xmlNode *node = root->children; node != NULL && error == 0; node = node->next) {
    if (is_element(node, "property")) {
      error = read_property(reading, node);
    } else if (is_element(node, "include")) {
      error = fail_at(reading, xmlGetLineNo(node), "XInclude is not followed; name both files");
    } else if (node->type == XML_ENTITY_REF_NODE) {
      error = fail_at(reading, xmlGetLineNo(root), "entities are not replaced here");
    }
  }
  return error;
}

static int parse(const struct reading *reading, struct keyroute_bytes text)
{
  int flags = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_BIG_LINES |
              XML_PARSE_NOCDATA;
  struct complaint first = {0, false, ""};
  int error = 0;

  xmlInitParser();
  xmlParserCtxtPtr parser = xmlNewParserCtxt();
  if (parser == NULL) {
    return fail_memory(reading);
  }
  parser->_private = &first;
  parser->sax->serror = note_complaint;
  xmlDocPtr document =
      xmlCtxtReadMemory(parser, text.data, (int)text.len, reading->path, NULL, flags);
  const xmlNode *root = document != NULL ? xmlDocGetRootElement(document) : NULL;
  if (root != NULL) {
    error = read_configuration(reading, root);
  } else if (first.no_memory || first.line == 0) {
    error = fail_memory(reading);
  } else {
    error = fail_at(reading, first.line, first.message);
  }
  xmlFreeDoc(document);
  xmlFreeParserCtxt(parser);
  return error;
}

int kr_site_xml_read(struct kr_site **out, struct kr_mem *mem, const char *path,
                     struct keyroute_detail *detail)
{
  struct reading reading = {kr_calloc(mem, sizeof(*reading.site)), path, detail};
  struct kr_buf text;

  if (reading.site == NULL) {
    return fail_memory(&reading);
  }
  reading.site->mem = kr_mem_ref(mem);
  kr_buf_init(&text, mem);
  int error = read_file(&reading, &text);
  if (error == 0 && text.len == 0) {
    error = fail_at(&reading, 1, "the file is empty");
  }
  if (error == 0) {
    error = parse(&reading, kr_buf_view(&text));
  }
  kr_buf_clear(&text);
  if (error != 0) {
    kr_site_free(reading.site);
    return error;
  }
  *out = reading.site;
  return 0;
}

void kr_site_free(struct kr_site *site)
{
  if (site == NULL) {
    return;
  }
  struct kr_mem *mem = site->mem;
  for (size_t i = 0; i < site->count; i++) {
    clear_property(mem, &site->properties[i]);
  }
  kr_free(mem, site->properties);
  kr_free(mem, site);
  kr_mem_release(mem);
}
