#ifndef FUZZ_SUBJECTS_H
#define FUZZ_SUBJECTS_H

/* Every subject: X(name). The file of one is fuzz_NAME.c, its corpus is corpus/NAME. */
#define FUZZ_SUBJECTS(X)                                                                           \
  X(bigtable_chunks)                                                                               \
  X(bigtable_status)                                                                               \
  X(catalog)                                                                                       \
  X(cell)                                                                                          \
  X(closest)                                                                                       \
  X(connect_string)                                                                                \
  X(descriptor)                                                                                    \
  X(escape)                                                                                        \
  X(exception)                                                                                     \
  X(get)                                                                                           \
  X(multi)                                                                                         \
  X(property)                                                                                      \
  X(region)                                                                                        \
  X(region094)                                                                                     \
  X(region_name)                                                                                   \
  X(rpc)                                                                                           \
  X(rpc094)                                                                                        \
  X(scan)                                                                                          \
  X(server)                                                                                        \
  X(site_xml)                                                                                      \
  X(table_name)                                                                                    \
  X(writable)                                                                                      \
  X(znode)

#endif
