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

/* What an exception means for the one who asked: code, kind, final, wait_ms, the place that it
 * names, and the message "Class: first line of the text". failure->server is left empty. */
void kr_exception_map(struct kr_failure *failure, const struct kr_exception *exception);

/* What the exception of that class is to an application that got it. */
enum keyroute_fault kr_exception_fault(const char *class_name);

/* Where a RegionMovedException's text says that the region is: "Region moved to: hostname=h
 * port=16020 startCode=123. As of locationSeqNum=5."; older servers leave out the last or the last
 * two. False = it names no place. */
bool kr_exception_moved(struct kr_place *out, const char *text);

#endif
