/*
 * How the scripted region server misbehaves.
 *
 *  1. Each request takes one turn of the first fault in the queue; without faults it is answered.
 *  2. Answers are made at once, from what the server holds then, and wait until they are due: a
 *     delayed one holds up nobody.
 *  3. What a fault does to the inside of an answer is done by who writes the answer.
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <string.h>

struct fake_turn {
  struct fake_turn *next;
  struct fake_fault fault; /* its texts are ours */
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

/* ---- Playing -------------------------------------------------------------------------------- */

static struct fake_out exception_of(uint32_t call_id, const struct fake_fault *fault)
{
  struct fake_exception exception = {.class_name = fault->class_name,
                                     .do_not_retry = fault->do_not_retry,
                                     .overloaded = fault->overloaded};

  fake_note_text(exception.text, sizeof(exception.text), fault->text);
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
                               .serial = request->conn->serial};

  switch (fault->what) {
  case FAKE_EXCEPTION:
    answer.bytes = exception_of(request->call_id, fault);
    break;
  case FAKE_FATAL:
    answer.bytes = exception_of(FAKE_FATAL_ID, fault);
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
  struct fake_turn *turn = server->turns;

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

  answer.bytes = exception_of(call_id, &fault);
  fake_queue_answer(server, &answer);
}

void fake_refuse_conn(struct fake_server *server, const struct fake_conn *conn,
                      const char *class_name, const char *text)
{
  struct fake_fault fault = {.class_name = class_name, .text = text};
  struct fake_answer answer = {
      .due_ms = fake_now_ms(), .serial = conn->serial, .after = FAKE_THEN_CLOSE};

  answer.bytes = exception_of(FAKE_FATAL_ID, &fault);
  fake_queue_answer(server, &answer);
}
