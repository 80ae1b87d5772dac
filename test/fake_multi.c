/*
 * How the scripted region server answers Multi: rows of several regions.
 *
 * What each action came to is gathered first, in `parts` (a region each) of `pieces` (a row each);
 * then faults change it; then it is written down, results and cells in the same order. So what is
 * spoilt is a whole in itself: a piece left out takes its cells with it.
 *
 *  1. A region that is not served fails as a whole; a row fails alone.
 *  2. Exceptions carry a class and a text, and no flag that forbids to try again.
 *
 * Source: HBase RSRpcServices.multi and doNonAtomicRegionMutation, ResponseConverter
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <string.h>

enum { WRONG_INDEX = 1000000 };

struct piece {
  uint32_t index;
  struct keyroute_bytes row; /* borrowed of the request */
  bool has_result, has_exception;
  bool borrows; /* the result's cells */
  struct fake_result result;
  struct fake_exception exception;
};

struct part {
  struct piece *pieces; /* room for one more */
  size_t count;
  bool failed;
  struct fake_exception exception;
};

struct gathered {
  struct part *parts; /* room for one more */
  size_t count;
};

/* ---- Gathering ------------------------------------------------------------------------------ */

static void run_action(struct piece *piece, struct fake_server *server,
                       const struct fake_request *request, const struct fake_hosted *hosted,
                       const Kr__Pb__RegionAction *region, const Kr__Pb__Action *action)
{
  const ProtobufCBinaryData *row = action->get != NULL ? &action->get->row : NULL;

  piece->index = action->index;
  piece->row = row != NULL ? fake_bytes(*row) : (struct keyroute_bytes){"", 0};
  piece->has_exception =
      row != NULL && fake_part_fails(&piece->exception, server, request, region->region, row);
  if (!piece->has_exception) {
    piece->has_result =
        fake_read_row(&piece->result, server, hosted, action->get, &piece->exception);
    piece->has_exception = !piece->has_result;
  }
}

static void run_region(struct part *part, struct fake_server *server,
                       const struct fake_request *request, const Kr__Pb__RegionAction *region)
{
  const struct fake_hosted *hosted = fake_find_hosted(server, region->region, &part->exception);

  part->pieces = must(calloc(region->n_action + 1, sizeof(*part->pieces)));
  part->failed =
      hosted == NULL || fake_part_fails(&part->exception, server, request, region->region, NULL);
  for (size_t i = 0; !part->failed && i < region->n_action; i++) {
    run_action(&part->pieces[part->count++], server, request, hosted, region, region->action[i]);
  }
}

static void clear_piece(struct piece *piece)
{
  if (!piece->borrows) {
    free(piece->result.cells);
  }
}

static void clear_part(struct part *part)
{
  for (size_t i = 0; i < part->count; i++) {
    clear_piece(&part->pieces[i]);
  }
  free(part->pieces);
}

static void clear_gathered(struct gathered *gathered)
{
  for (size_t i = 0; i < gathered->count; i++) {
    clear_part(&gathered->parts[i]);
  }
  free(gathered->parts);
}

/* ---- Spoiling ------------------------------------------------------------------------------- */

static void lose_piece(struct part *part, struct piece *piece)
{
  size_t behind = part->count - 1 - (size_t)(piece - part->pieces);

  clear_piece(piece);
  memmove(piece, piece + 1, behind * sizeof(*piece));
  part->count--;
}

static void repeat_piece(struct part *part, const struct piece *piece)
{
  part->pieces[part->count] = *piece;
  part->pieces[part->count++].borrows = true;
}

static void spoil_piece(struct part *part, struct piece *piece, const struct fake_fault *fault)
{
  switch (fault->what) {
  case FAKE_LOST_RESULT:
    lose_piece(part, piece);
    break;
  case FAKE_INDEX_TWICE:
    repeat_piece(part, piece);
    break;
  case FAKE_WRONG_INDEX:
    piece->index = WRONG_INDEX;
    break;
  case FAKE_RESULT_AND_EXCEPTION:
    piece->exception = fake_exception_of(fault->class_name, fault->text);
    piece->has_exception = true;
    break;
  case FAKE_NO_RESULT:
    piece->has_result = false;
    break;
  default:
    break;
  }
}

/* The first result, or that of the row the fault is about. */
static void spoil_one(struct gathered *gathered, const struct fake_fault *fault)
{
  for (size_t i = 0; i < gathered->count; i++) {
    for (size_t k = 0; k < gathered->parts[i].count; k++) {
      struct piece *piece = &gathered->parts[i].pieces[k];

      if (piece->has_result &&
          (fault->row.data == NULL || fake_bytes_equal(fault->row, piece->row))) {
        spoil_piece(&gathered->parts[i], piece, fault);
        return;
      }
    }
  }
}

static void reverse(struct part *part)
{
  for (size_t i = 0; i < part->count / 2; i++) {
    struct piece piece = part->pieces[i];

    part->pieces[i] = part->pieces[part->count - 1 - i];
    part->pieces[part->count - 1 - i] = piece;
  }
}

static void spoil(struct gathered *gathered, const struct fake_fault *fault)
{
  if (fault->what == FAKE_FEWER_REGIONS && gathered->count > 0) {
    clear_part(&gathered->parts[--gathered->count]);
  } else if (fault->what == FAKE_MORE_REGIONS) {
    gathered->parts[gathered->count++] = (struct part){.count = 0};
  } else if (fault->what == FAKE_ANY_ORDER) {
    for (size_t i = 0; i < gathered->count; i++) {
      reverse(&gathered->parts[i]);
    }
  } else {
    spoil_one(gathered, fault);
  }
}

/* ---- Writing -------------------------------------------------------------------------------- */

static Kr__Pb__ResultOrException *write_piece(const struct piece *piece, bool inlined,
                                              struct fake_out *block)
{
  Kr__Pb__ResultOrException *out = must(malloc(sizeof(*out)));

  kr__pb__result_or_exception__init(out);
  out->has_index = true;
  out->index = piece->index;
  if (piece->has_result) {
    out->result = fake_result_message(&piece->result, inlined);
    if (!inlined) {
      fake_out_result_cells(block, &piece->result);
    }
  }
  if (piece->has_exception) {
    out->exception = fake_exception_message(&piece->exception);
  }
  return out;
}

static Kr__Pb__RegionActionResult *write_part(const struct part *part, bool inlined,
                                              struct fake_out *block)
{
  Kr__Pb__RegionActionResult *out = must(malloc(sizeof(*out)));

  kr__pb__region_action_result__init(out);
  out->resultorexception = must(calloc(part->count + 1, sizeof(*out->resultorexception)));
  for (size_t i = 0; i < part->count; i++) {
    out->resultorexception[out->n_resultorexception++] =
        write_piece(&part->pieces[i], inlined, block);
  }
  if (part->failed) {
    out->exception = fake_exception_message(&part->exception);
  }
  return out;
}

/* FAKE_BAD_COUNTS: the last result announces one cell more than there is. */
static void miscount(Kr__Pb__MultiResponse *response)
{
  for (size_t i = response->n_regionactionresult; i > 0; i--) {
    Kr__Pb__RegionActionResult *part = response->regionactionresult[i - 1];

    for (size_t k = part->n_resultorexception; k > 0; k--) {
      if (part->resultorexception[k - 1]->result != NULL) {
        part->resultorexception[k - 1]->result->associated_cell_count++;
        return;
      }
    }
  }
}

static struct fake_out write_gathered(const struct gathered *gathered, bool inlined,
                                      const struct fake_request *request,
                                      const struct fake_fault *fault)
{
  Kr__Pb__MultiResponse *response = must(malloc(sizeof(*response)));
  struct fake_out body = {0}, block = {0};

  kr__pb__multi_response__init(response);
  response->regionactionresult =
      must(calloc(gathered->count + 1, sizeof(*response->regionactionresult)));
  for (size_t i = 0; i < gathered->count; i++) {
    response->regionactionresult[response->n_regionactionresult++] =
        write_part(&gathered->parts[i], inlined, &block);
  }
  if (fault->what == FAKE_BAD_COUNTS) {
    miscount(response);
  }
  fake_out_packed(&body, &response->base);
  kr__pb__multi_response__free_unpacked(response, NULL);
  return fake_spoilt_reply(&body, &block, request, fault);
}

/* ---- Multi ---------------------------------------------------------------------------------- */

static struct fake_out answer_multi(struct fake_server *server, const struct fake_request *request,
                                    const struct fake_fault *fault)
{
  const Kr__Pb__MultiRequest *message = request->message;
  struct gathered gathered = {
      .parts = must(calloc(message->n_regionaction + 1, sizeof(*gathered.parts)))};
  bool inlined = fake_encoding_for(server, request) == FAKE_INLINE;

  for (size_t i = 0; i < message->n_regionaction; i++) {
    run_region(&gathered.parts[gathered.count++], server, request, message->regionaction[i]);
  }
  spoil(&gathered, fault);
  struct fake_out bytes = write_gathered(&gathered, inlined, request, fault);

  clear_gathered(&gathered);
  fake_note_executed(server, request->header->method_name);
  return bytes;
}

static size_t count_actions(const Kr__Pb__MultiRequest *message)
{
  size_t count = 0;

  for (size_t i = 0; i < message->n_regionaction; i++) {
    count += message->regionaction[i]->n_action;
  }
  return count;
}

/* What the request is about: each region, and each row. */
static void list_targets(struct fake_request *request, struct fake_target *targets,
                         const Kr__Pb__MultiRequest *message)
{
  request->targets = targets;
  for (size_t i = 0; i < message->n_regionaction; i++) {
    const Kr__Pb__RegionAction *region = message->regionaction[i];

    targets[request->target_count++] = (struct fake_target){region->region, NULL};
    for (size_t k = 0; k < region->n_action; k++) {
      if (region->action[k]->get != NULL) {
        targets[request->target_count++] =
            (struct fake_target){region->region, &region->action[k]->get->row};
      }
    }
  }
}

static void note_multi(struct fake_seen_multi *seen, const struct fake_request *request,
                       const Kr__Pb__MultiRequest *message)
{
  *seen =
      (struct fake_seen_multi){.regions = message->n_regionaction, .rows = count_actions(message)};
  if (seen->rows > 0 && message->regionaction[0]->n_action > 0) {
    fake_note_get(&seen->first, request, message->regionaction[0]->region,
                  message->regionaction[0]->action[0]->get);
  }
  for (size_t i = 0; i < message->n_regionaction && i < FAKE_SEEN_MAX; i++) {
    const Kr__Pb__RegionAction *region = message->regionaction[i];

    seen->region_rows[i] = region->n_action;
    if (region->region != NULL) {
      fake_note_bytes(seen->region[i], sizeof(seen->region[i]), region->region->value);
    }
  }
  for (size_t i = 0, rows = 0; i < request->target_count && rows < FAKE_SEEN_MAX; i++) {
    if (request->targets[i].row != NULL) {
      fake_note_bytes(seen->row[rows], sizeof(seen->row[rows]), *request->targets[i].row);
      rows++;
    }
  }
}

/* It is in flight until its answer has gone, or its connection. */
static void note_flight(struct fake_server *server, struct fake_conn *conn)
{
  conn->multis++;
  server->multis++;
  if (server->multis > server->counts.most_multis) {
    server->counts.most_multis = server->multis;
  }
}

void fake_run_multi(struct fake_server *server, struct fake_request *request)
{
  Kr__Pb__MultiRequest *message =
      kr__pb__multi_request__unpack(NULL, request->param.len, request->param.data);

  must_work(message != NULL);
  struct fake_target *targets =
      must(calloc(message->n_regionaction + count_actions(message) + 1, sizeof(*targets)));

  list_targets(request, targets, message);
  request->message = message;
  request->is_multi = true;
  server->counts.multis++;
  note_multi(&server->seen_multi, request, message);
  note_flight(server, request->conn);
  fake_play(server, request, answer_multi);
  free(targets);
  kr__pb__multi_request__free_unpacked(message, NULL);
}
