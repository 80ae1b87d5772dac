/*
 * Hands: whose turn is it to be looked at?
 *
 * The cache is looked through for two reasons: to find regions whose time is over, and to find one
 * to let go when room is short. Neither may stop the loop for long, so each goes on where its last
 * look ended: the hand of a clock. The clock's face are the regions in the order of their keys,
 * table after table, so that a region costs no byte for it: what a hand needs in order to go on is
 * a key, and the region visited last has one.
 *
 *  1. A stop is in the circle while its list holds a region, and only then. So a hand finds the
 *     next region with two looks at most, however many tables are empty.
 *  2. The region visited last is counted, and its key stays readable when it leaves the cache. No
 *     hand allocates.
 *  3. In one round each region is met once which was there at its beginning and stays to its end. A
 *     new stop is put where the hand that makes room comes to it last; a region that is put in
 *     between the hand and the end of the list is met in this round, another one in the next.
 *  4. Each hand has rounds of its own. Who makes room leaves out the tables that he spares, and
 *     would cut rounds short for who looks after time.
 *  5. A count is given back behind the store by which its hand moves on, so that a child that is
 *     forked between the two does not give it back again.
 *
 * Loop thread, which is the lists' writer. Source: F. J. Corbato, A Paging Experiment with the
 * Multics System, 1968
 */
#include "lib/hand.h"

/* Put a hand at the beginning of a stop. */
static void move_to(struct kr_hand *hand, struct kr_stop *stop)
{
  struct keyroute_location *before = hand->last;

  hand->last = NULL;
  hand->stop = stop;
  keyroute_location_release(before);
}

void kr_hands_add(struct kr_hands *hands, struct kr_stop *stop)
{
  struct kr_stop *behind = hands->of[KR_HAND_ROOM].stop;

  if (behind == NULL) {
    stop->prev = stop->next = stop;
    for (int i = 0; i < KR_HANDS; i++) {
      move_to(&hands->of[i], stop);
    }
    return;
  }
  stop->prev = behind->prev;
  stop->next = behind;
  behind->prev->next = stop;
  behind->prev = stop;
}

void kr_hands_remove(struct kr_hands *hands, struct kr_stop *stop)
{
  struct kr_stop *next = stop->next != stop ? stop->next : NULL;

  for (int i = 0; i < KR_HANDS; i++) {
    if (hands->of[i].stop == stop) {
      move_to(&hands->of[i], next);
    }
  }
  stop->prev->next = stop->next;
  stop->next->prev = stop->prev;
  stop->prev = stop->next = NULL;
}

void kr_hands_release(struct kr_hands *hands)
{
  for (int i = 0; i < KR_HANDS; i++) {
    move_to(&hands->of[i], NULL);
  }
}

size_t kr_hand_ahead(struct kr_hand *hand, struct keyroute_location **regions, size_t max)
{
  enum { SOME = 32 };
  void *values[SOME];
  size_t count = 0;

  while (max > 0 && hand->stop != NULL && count == 0) {
    count = kr_skiplist_behind(hand->stop->regions, values, hand->last, max < SOME ? max : SOME);
    if (count == 0) {
      kr_hand_skip(hand);
    }
  }
  for (size_t i = 0; i < count; i++) {
    regions[i] = values[i];
  }
  return count;
}

void kr_hand_pass(struct kr_hand *hand, struct keyroute_location *region)
{
  struct keyroute_location *before = hand->last;

  hand->last = keyroute_location_ref(region);
  keyroute_location_release(before);
}

void kr_hand_skip(struct kr_hand *hand)
{
  move_to(hand, hand->stop->next);
}
