#ifndef KR_EXCEPTION_H
#define KR_EXCEPTION_H

#include "lib/error.h"

/* An exception as a server sent it. The texts are the server's: any bytes, NULL allowed. */
struct kr_exception {
  const char *class_name; /* "org.apache.hadoop.hbase.NotServingRegionException" */
  const char *text;       /* a Java stack trace, or its first line */
  bool do_not_retry;
  bool server_overloaded;
};

/* What an exception means for the one who asked: code, kind, final, wait_ms and the message
 * "Class: first line of the text". failure->server is left empty. */
void kr_exception_map(struct kr_failure *failure, const struct kr_exception *exception);

#endif
