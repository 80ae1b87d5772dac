#ifndef KR_TABLE_NAME_H
#define KR_TABLE_NAME_H

#include "keyroute/keyroute.h"

/* The longest name accepted, namespace included. */
#define KR_TABLE_NAME_MAX 1024

/* Check a table name as HBase would and give its canonical spelling ("default:t" is "t"): a view
 * into name. reason  receives a static text on error.
 * Errors: INVALID_ARGUMENT.  Source: HBase TableName.isLegalFullyQualifiedTableName */
int kr_table_name_check(struct keyroute_bytes *out, const char *name, const char **reason);

/* That, or what another kind of store has in its place. */
typedef int (*kr_table_name_checker)(struct keyroute_bytes *out, const char *name,
                                     const char **reason);

#endif
