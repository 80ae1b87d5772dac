/*
 * How the scripted region server misbehaves.
 *
 *  1. Each request takes one turn of the first fault in the queue that is about it; without one it
 *     is answered. Exceptions about a part of a Multi wait for that part instead.
 *  2. Answers are made at once, from what the server holds then, and wait until they are due: a
 *     delayed one holds up nobody.
 *  3. What a fault does to the inside of an answer is done by who writes the answer.
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <string.h>

struct fake_turn {
  struct fake_turn *next;
  struct fake_fault fault;           /* its texts and its row are ours */
  struct keyroute_bytes region_name; /* data NULL = any */
};

/* ---- The queue ------------------------------------------------------------------------------ */

void fake_server_fault(struct fake_server *server, const struct fake_fault *from)
{
  struct fake_turn *turn = must(calloc(1, sizeof(*turn)));

  turn->fault = *from;
  turn->fault.times = from->times == 0 ? 1 : from->times;
  turn->fault.class_name =
      must(strdup(from->class_name != NULL ? from->class_name : "java.io.IOException"));
  turn->fault.text = from->text != NULL ? must(strdup(from->text)) : NULL;
  turn->fault.method = must(strdup(from->method != NULL ? from->method : "Scan"));
  if (from->row.data != NULL) {
    turn->fault.row = fake_bytes_copy(from->row);
  }
  if (from->region != NULL) {
    turn->region_name = fake_region_replica_name(from->region, from->replica);
  }
  pthread_mutex_lock(&server->lock);
  struct fake_turn **at = &server->turns;

  while (*at != NULL) {
    at = &(*at)->next;
  }
  *at = turn;
  pthread_mutex_unlock(&server->lock);
}

static void drop_turn(struct fake_server *server, struct fake_turn *turn)
{
  struct fake_turn **at = &server->turns;

  while (*at != turn) {
    at = &(*at)->next;
  }
  *at = turn->next;
  free((void *)(uintptr_t)turn->fault.class_name);
  free((void *)(uintptr_t)turn->fault.text);
  free((void *)(uintptr_t)turn->fault.method);
  free((void *)(uintptr_t)turn->fault.row.data);
  free((void *)(uintptr_t)turn->region_name.data);
  free(turn);
}

/* Its last turn takes a fault out of the queue. */
static void end_turn(struct fake_server *server, struct fake_turn *turn)
{
  if (turn->fault.times > 0 && --turn->fault.times == 0) {
    drop_turn(server, turn);
  }
}

void fake_clear_turns(struct fake_server *server)
{
  while (server->turns != NULL) {
    drop_turn(server, server->turns);
  }
}

/* FAKE_REVERSE: what was held goes out, the last one first. */
static void release_held(struct fake_server *server)
{
  while (server->held != NULL) {
    struct fake_answer *answer = server->held;

    server->held = answer->next;
    fake_queue_answer(server, answer);
    free(answer);
  }
}

void fake_server_clear_faults(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  fake_clear_turns(server);
  release_held(server);
  fake_wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

static struct fake_exception exception_of(const struct fake_fault *fault)
{
  struct fake_exception exception = fake_exception_of(fault->class_name, fault->text);

  exception.do_not_retry = fault->do_not_retry;
  exception.overloaded = fault->overloaded;
  return exception;
}

/* ---- What a fault is about ------------------------------------------------------------------ */

static bool about_method(const struct fake_fault *fault, const struct fake_request *request)
{
  return strcmp(fault->method, "*") == 0 ||
         strcmp(fault->method, request->header->method_name) == 0;
}

static bool about_target(const struct fake_turn *turn, const struct fake_target *target)
{
  if (turn->region_name.data != NULL &&
      (target->region == NULL || !fake_specifier_names(target->region, turn->region_name))) {
    return false;
  }
  return turn->fault.row.data == NULL ||
         (target->row != NULL && fake_bytes_equal(fake_bytes(*target->row), turn->fault.row));
}

static bool is_narrow(const struct fake_turn *turn)
{
  return turn->region_name.data != NULL || turn->fault.row.data != NULL;
}

/* Is it about parts of a request, not the whole? */
static bool about_parts(const struct fake_turn *turn, const struct fake_request *request)
{
  return request->is_multi && turn->fault.what == FAKE_EXCEPTION && is_narrow(turn);
}

static bool about_request(const struct fake_turn *turn, const struct fake_request *request)
{
  if (!about_method(&turn->fault, request) || about_parts(turn, request)) {
    return false;
  }
  for (size_t i = 0; i < request->target_count; i++) {
    if (about_target(turn, &request->targets[i])) {
      return true;
    }
  }
  return !is_narrow(turn);
}

static struct fake_turn *find_turn(const struct fake_server *server,
                                   const struct fake_request *request)
{
  struct fake_turn *turn = server->turns;

  while (turn != NULL && !about_request(turn, request)) {
    turn = turn->next;
  }
  return turn;
}

/* A fault that names a row waits for the row; one that names a region alone is about all of it. */
static bool about_part(const struct fake_turn *turn, const struct fake_request *request,
                       const struct fake_target *target)
{
  return about_parts(turn, request) && about_method(&turn->fault, request) &&
         (turn->fault.row.data != NULL) == (target->row != NULL) && about_target(turn, target);
}

bool fake_part_fails(struct fake_exception *out, struct fake_server *server,
                     const struct fake_request *request, const Kr__Pb__RegionSpecifier *region,
                     const ProtobufCBinaryData *row)
{
  struct fake_target target = {region, row};
  struct fake_turn *turn = server->turns;

  while (turn != NULL && !about_part(turn, request, &target)) {
    turn = turn->next;
  }
  if (turn == NULL) {
    return false;
  }
  *out = exception_of(&turn->fault);
  end_turn(server, turn);
  return true;
}

/* ---- Playing -------------------------------------------------------------------------------- */

static struct fake_out exception_reply(uint32_t call_id, const struct fake_fault *fault)
{
  struct fake_exception exception = exception_of(fault);

  return fake_exception_reply(call_id, &exception);
}

/* Frames that are no answer at all. */
static struct fake_out nonsense(enum fake_what what)
{
  struct fake_out out = {0};

  fake_out_int(&out,
               what == FAKE_GARBAGE       ? 24
               : what == FAKE_HUGE_LENGTH ? 0x7fffffff
                                          : 0xffffffff,
               4);
  memset(fake_out_extend(&out, 24), 0xff, 24);
  return out;
}

/* Make the answer and say what becomes of the connection. */
static struct fake_answer make_answer(struct fake_server *server,
                                      const struct fake_request *request, fake_answerer answerer,
                                      const struct fake_fault *fault)
{
  struct fake_answer answer = {.due_ms = fake_now_ms() + fault->delay_ms,
                               .serial = request->conn->serial,
                               .is_multi = request->is_multi};

  switch (fault->what) {
  case FAKE_EXCEPTION:
    answer.bytes = exception_reply(request->call_id, fault);
    break;
  case FAKE_FATAL:
    answer.bytes = exception_reply(FAKE_FATAL_ID, fault);
    answer.after = FAKE_THEN_CLOSE;
    break;
  case FAKE_CLOSE:
    answer.after = FAKE_THEN_CLOSE;
    break;
  case FAKE_RESET:
    answer.after = FAKE_THEN_RESET;
    break;
  case FAKE_GARBAGE:
  case FAKE_HUGE_LENGTH:
  case FAKE_NEGATIVE_LENGTH:
    answer.bytes = nonsense(fault->what);
    break;
  default:
    answer.bytes = answerer(server, request, fault);
    break;
  }
  if (fault->what == FAKE_HALF) {
    answer.bytes.len /= 2;
    answer.after = FAKE_THEN_CLOSE;
  } else if (fault->what == FAKE_APPLY_CLOSE) {
    answer.bytes.len = 0;
    answer.after = FAKE_THEN_CLOSE;
  }
  answer.trickle = fault->what == FAKE_TRICKLE;
  return answer;
}

static void hold_answer(struct fake_server *server, const struct fake_answer *from, bool last)
{
  struct fake_answer *answer = must(malloc(sizeof(*answer)));

  *answer = *from;
  answer->next = server->held;
  server->held = answer;
  if (last) {
    release_held(server);
  }
}

static void queue_copy(struct fake_server *server, const struct fake_answer *from)
{
  struct fake_answer copy = *from;

  copy.bytes = (struct fake_out){0};
  copy.is_multi = false; /* it is one request still */
  fake_out_bytes(&copy.bytes, from->bytes.data, from->bytes.len);
  fake_queue_answer(server, &copy);
}

static void play_fault(struct fake_server *server, const struct fake_request *from,
                       fake_answerer answerer, const struct fake_fault *fault)
{
  struct fake_request request = *from;

  request.call_id = from->header->call_id + (fault->what == FAKE_WRONG_ID ? 1000000 : 0);
  struct fake_answer answer = make_answer(server, &request, answerer, fault);

  if (fault->what == FAKE_NEVER) {
    free(answer.bytes.data);
  } else if (fault->what == FAKE_REVERSE) {
    hold_answer(server, &answer, fault->times == 1);
  } else {
    if (fault->what == FAKE_TWICE) {
      queue_copy(server, &answer);
    }
    fake_queue_answer(server, &answer);
  }
}

void fake_play(struct fake_server *server, const struct fake_request *request,
               fake_answerer answerer)
{
  static const struct fake_fault none = {.what = FAKE_ANSWER};
  struct fake_turn *turn = find_turn(server, request);

  play_fault(server, request, answerer, turn != NULL ? &turn->fault : &none);
  if (turn != NULL) {
    end_turn(server, turn);
  }
}

void fake_refuse(struct fake_server *server, const struct fake_conn *conn, uint32_t call_id,
                 const char *class_name, const char *text)
{
  struct fake_fault fault = {.class_name = class_name, .text = text};
  struct fake_answer answer = {.due_ms = fake_now_ms(), .serial = conn->serial};

  answer.bytes = exception_reply(call_id, &fault);
  fake_queue_answer(server, &answer);
}

void fake_refuse_conn(struct fake_server *server, const struct fake_conn *conn,
                      const char *class_name, const char *text)
{
  struct fake_fault fault = {.class_name = class_name, .text = text};
  struct fake_answer answer = {
      .due_ms = fake_now_ms(), .serial = conn->serial, .after = FAKE_THEN_CLOSE};

  answer.bytes = exception_reply(FAKE_FATAL_ID, &fault);
  fake_queue_answer(server, &answer);
}
