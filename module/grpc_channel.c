/*
 * The ways to servers: a channel of gRPC's for each, made at its first call.
 *
 *  1. A stream is on one channel from its start to its end, and a channel with streams on it is not
 *     destroyed.
 *  2. A channel that could not connect, has lost its connection or heard that the server is not
 *     available (gRPC tells these by one status) is retired at once: who comes next makes another.
 *     So every start tries to connect anew, and neither gRPC's backoff nor what its resolver
 *     remembers (for 30 s), nor its own delay in noticing that a connection is no more, stands
 *     between a server that is back and the retry that retry.c decided upon. Streams that were on
 *     the retired one end as they would have.
 *  3. Channels share no connection with others of the process (a subchannel pool of their own),
 *     whose backoff would be theirs too.
 *  4. A host is any text and never more than a host: what has a meaning in a URI is escaped.
 *  5. An idle channel is closed within twice the time that it may be idle: each sweep looks at all
 *     and sets the time of the next.
 *
 * A message that is compressed though nobody said it may be is refused: it would be unpacked
 * without a bound.
 *
 * Under the client's lock where it says so, else any thread.
 * Source: gRPC core's grpc_types.h (channel arguments), doc/naming.md, doc/connection-backoff.md
 */
#include "module/grpc_channel.h"

#include <grpc/support/time.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FIRST_BACKOFF_MS 100
#define MAX_BACKOFF_MS 1000
#define MAX_METADATA_LEN (256 * 1024) /* room for a descriptor in the details of a status */
#define MAX_ARGS 24

int64_t kr_grpc_now_ms(void)
{
  gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);

  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

gpr_timespec kr_grpc_time(int64_t ms)
{
  if (ms == INT64_MAX) {
    return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  }
  return gpr_time_from_millis(ms, GPR_CLOCK_MONOTONIC);
}

/* ---- What gRPC is told ---------------------------------------------------------------------- */

struct args {
  size_t count;
  grpc_arg args[MAX_ARGS];
};

static void add_number(struct args *args, const char *key, int64_t value)
{
  int number = value > INT_MAX ? INT_MAX : value < 0 ? 0 : (int)value;

  args->args[args->count++] =
      (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = number};
}

static void add_text(struct args *args, const char *key, char *value)
{
  args->args[args->count++] =
      (grpc_arg){.type = GRPC_ARG_STRING, .key = (char *)key, .value.string = value};
}

/* Nothing but the server itself decides how it is reached: no proxy, no service configuration. */
static void add_plainness(struct args *args)
{
  add_number(args, GRPC_ARG_ENABLE_RETRIES, 0);
  add_number(args, GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  add_number(args, GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  add_number(args, GRPC_ARG_ENABLE_CHANNELZ, 0);
  add_number(args, GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
  add_number(args, GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  add_number(args, GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
}

/* The least time between two attempts is the most that one may take, too. */
static void add_times(struct args *args, const struct kr_grpc_settings *settings)
{
  add_number(args, GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, FIRST_BACKOFF_MS);
  add_number(args, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, MAX_BACKOFF_MS);
  add_number(args, GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, settings->connect_timeout_ms);
  add_number(args, GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, settings->connect_timeout_ms);
  if (settings->keepalive_ms > 0) {
    add_number(args, GRPC_ARG_KEEPALIVE_TIME_MS, settings->keepalive_ms);
    add_number(args, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, settings->connect_timeout_ms);
    add_number(args, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
}

static grpc_channel *make(struct kr_grpc *grpc, const char *target)
{
  struct args args = {0};

  add_plainness(&args);
  add_times(&args, &grpc->settings);
  add_number(&args, GRPC_ARG_MAX_METADATA_SIZE, MAX_METADATA_LEN);
  add_number(&args, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
             grpc->settings.max_message_len > INT_MAX ? INT_MAX
                                                      : (int64_t)grpc->settings.max_message_len);
  if (grpc->server_name != NULL) {
    add_text(&args, GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, grpc->server_name);
  }
  return grpc_channel_create(target, grpc->credentials,
                             &(grpc_channel_args){args.count, args.args});
}

/* ---- Their names ---------------------------------------------------------------------------- */

static bool is_plain(char byte)
{
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '_' || byte == ':';
}

static char *put_escaped(char *to, const char *host)
{
  static const char digits[] = "0123456789ABCDEF";

  for (; *host != '\0'; host++) {
    if (is_plain(*host)) {
      *to++ = *host;
    } else {
      *to++ = '%';
      *to++ = digits[(unsigned char)*host >> 4];
      *to++ = digits[*host & 15];
    }
  }
  return to;
}

/* An address with colons goes between brackets, which are escaped, too. */
static struct kr_grpc_channel *name(struct kr_mem *mem, const char *host, int port)
{
  size_t room = sizeof("dns:///%5B%5D:-2147483648") + 3 * strlen(host);
  bool is_ipv6 = strchr(host, ':') != NULL;
  struct kr_grpc_channel *channel = kr_calloc(mem, sizeof(*channel) + room);

  if (channel == NULL) {
    return NULL;
  }
  char *end = stpcpy(channel->target, is_ipv6 ? "dns:///%5B" : "dns:///");

  end = put_escaped(end, host);
  snprintf(end, room - (size_t)(end - channel->target), is_ipv6 ? "%%5D:%d" : ":%d", port);
  channel->target_len = strlen(channel->target);
  return channel;
}

/* ---- Having them ---------------------------------------------------------------------------- */

/* A channel that could not connect has a timer for its next attempt, which would keep it, and all
 * of gRPC, for a tenth of a second more. */
static void destroy(struct kr_mem *mem, struct kr_grpc_channel *channel)
{
  if (channel->channel != NULL) {
    grpc_channel_reset_connect_backoff(channel->channel);
    grpc_channel_destroy(channel->channel);
  }
  kr_free(mem, channel);
}

static bool put_in(struct kr_grpc *grpc, struct kr_grpc_channel *channel)
{
  struct kr_mem *mem = grpc->mem;
  bool hash_failed = false;

  HASH_ADD_KEYPTR(hh, grpc->channels, channel->target, channel->target_len, channel);
  return !hash_failed;
}

static void take_out(struct kr_grpc *grpc, struct kr_grpc_channel *channel)
{
  struct kr_mem *mem = grpc->mem;

  HASH_DEL(grpc->channels, channel);
}

struct kr_grpc_channel *kr_grpc_channel_get_locked(struct kr_grpc *grpc, const char *host, int port,
                                                   uint64_t *made)
{
  struct kr_grpc_channel *channel = name(grpc->mem, host, port);
  struct kr_grpc_channel *found;

  if (channel == NULL) {
    return NULL;
  }
  HASH_FIND(hh, grpc->channels, channel->target, channel->target_len, found);
  if (found == NULL && put_in(grpc, channel)) {
    channel->channel = make(grpc, channel->target);
    *made += 1;
    found = channel;
  } else {
    kr_free(grpc->mem, channel);
  }
  if (found != NULL) {
    found->streams++;
  }
  return found;
}

void kr_grpc_channel_retire_locked(struct kr_grpc *grpc, struct kr_grpc_channel *channel)
{
  if (!channel->retired) {
    take_out(grpc, channel);
    channel->retired = true;
  }
}

void kr_grpc_channel_leave(struct kr_grpc *grpc, struct kr_grpc_channel *channel)
{
  pthread_mutex_lock(&grpc->lock);
  bool is_gone = --channel->streams == 0 && channel->retired;

  if (!is_gone) {
    channel->idle_since = kr_grpc_now_ms(); /* if there are no more */
  }
  pthread_mutex_unlock(&grpc->lock);
  if (is_gone) {
    destroy(grpc->mem, channel);
  }
}

/* Take those that have been idle since then, or all, out of the hash: a list by hh.next. */
static struct kr_grpc_channel *take_idle(struct kr_grpc *grpc, int64_t since)
{
  struct kr_grpc_channel *channel, *next, *taken = NULL;

  HASH_ITER (hh, grpc->channels, channel, next) {
    if (channel->streams == 0 && channel->idle_since <= since) {
      take_out(grpc, channel);
      channel->hh.next = taken;
      taken = channel;
    }
  }
  return taken;
}

static void destroy_list(struct kr_mem *mem, struct kr_grpc_channel *channel)
{
  while (channel != NULL) {
    struct kr_grpc_channel *next = channel->hh.next;

    destroy(mem, channel);
    channel = next;
  }
}

int64_t kr_grpc_channel_sweep(struct kr_grpc *grpc)
{
  int64_t idle_ms = grpc->settings.idle_ms;

  if (idle_ms <= 0) {
    return INT64_MAX;
  }
  int64_t now = kr_grpc_now_ms();

  pthread_mutex_lock(&grpc->lock);
  struct kr_grpc_channel *taken = take_idle(grpc, now - idle_ms);
  pthread_mutex_unlock(&grpc->lock);

  destroy_list(grpc->mem, taken);
  return now + idle_ms;
}

void kr_grpc_channel_close_all(struct kr_grpc *grpc)
{
  destroy_list(grpc->mem, take_idle(grpc, INT64_MAX));
}
