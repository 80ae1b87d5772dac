#ifndef KR_TEST_SCENARIO_DIRECTORY_H
#define KR_TEST_SCENARIO_DIRECTORY_H

#include "test/scenario_world.h"

/* Statements about a range directory, for programs that are linked with libtestgrpc.la: Bigtable
 * nodes, the ranges on them, the index. test/scenarios/README.md has them. */
extern const struct scenario_kind scenario_directory;

#endif
