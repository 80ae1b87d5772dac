/*
 * What the sanitizers are to forgive ZooKeeper's client; linked into test programs that use it. No
 * entry names, or can match, code of keyroute.
 *
 *  - It formats addresses for its log, with sprintf, into one static buffer that all its handles
 *    share. keyroute never calls sprintf.
 *  - zookeeper_close loses completions that are queued when it is called. What keyroute hung on
 *    them is freed by zk_session.c; LeakSanitizer sees what the client itself allocated.
 */
const char *__lsan_default_suppressions(void);
const char *__tsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
  return "leak:libzookeeper_mt\n";
}

const char *__tsan_default_suppressions(void)
{
  return "race:__sprintf_chk\n";
}
