/*
 * What the sanitizers are to forgive gRPC's libraries, and ZooKeeper's client; linked into test
 * programs that use gRPC, with or without ZooKeeper (zookeeper_supp.c is for those that use only
 * that). cli_range_test hands it on to the program that it runs. No entry names, or can match, code
 * of keyroute.
 *
 *  - gRPC's libraries synchronise in ways that the thread sanitizer does not see, as they are not
 *    built with it.
 *  - c-ares, which gRPC asks for names, loses the one it was asked for where that is "localhost".
 *  - ZooKeeper's client: as zookeeper_supp.c says.
 */
const char *__lsan_default_suppressions(void);
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
  return "leak:libcares\n"
         "leak:libzookeeper_mt\n";
}

/* They call absl's, and it is as many libraries again. */
const char *__tsan_default_options(void)
{
  return "ignore_noninstrumented_modules=1";
}

const char *__tsan_default_suppressions(void)
{
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgpr.so\n"
         "race:__sprintf_chk\n";
}
