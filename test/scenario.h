#ifndef KR_TEST_SCENARIO_H
#define KR_TEST_SCENARIO_H

/* Plays a scenario: a text file in which scripted region servers hold a catalog, things happen to
 * them, and a real connection of the library is asked. Its words are in
 * test/scenarios/README.md. */

/* Play a file. What is not as expected fails the Check test that calls this and is told with file
 * and line. */
void scenario_play(const char *path);

#endif
