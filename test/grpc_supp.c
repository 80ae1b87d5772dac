/*
 * What the thread sanitizer is to pass over in gRPC's libraries, which are not built with it;
 * linked into test programs that load them. No entry names, or can match, code of keyroute.
 */
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);

const char *__tsan_default_options(void)
{
  return "ignore_noninstrumented_modules=1";
}

const char *__tsan_default_suppressions(void)
{
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgpr.so\n";
}
