/*
 * How long whole processes take, and how much memory: two commands, run in turn (never side by
 * side), R rounds each, wall time and peak resident memory from the kernel. Prints the medians and
 * the median of the rounds' ratios, which a shared machine spoils less than the times themselves.
 *
 *   process_bench ROUNDS 'first command' 'second command'
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000 };

struct run {
  double ms;
  double mib;
};

static double now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct run run_once(const char *command)
{
  struct rusage usage;
  int status;
  double began = now_ms();
  pid_t child = fork();

  if (child == 0) {
    char words[2048];

    snprintf(words, sizeof(words), "exec %s", command);
    if (dup2(open("/dev/null", O_WRONLY), 1) < 0) {
      _exit(126);
    }
    execl("/bin/sh", "sh", "-c", words, (char *)NULL);
    _exit(127);
  }
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) {
    fprintf(stderr, "failed: %s\n", command);
    exit(1);
  }
  return (struct run){now_ms() - began, (double)usage.ru_maxrss / 1024};
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double median(double *values, int count)
{
  qsort(values, (size_t)count, sizeof(*values), compare);
  return values[count / 2];
}

int main(int argc, char **argv)
{
  static struct run runs[2][ROUNDS_MAX];
  static double values[ROUNDS_MAX];
  int rounds = argc == 4 ? atoi(argv[1]) : 0;

  if (rounds < 1 || rounds > ROUNDS_MAX) {
    fprintf(stderr, "usage: process_bench ROUNDS 'first command' 'second command'\n");
    return 2;
  }
  for (int i = 0; i < rounds; i++) {
    for (int side = 0; side < 2; side++) {
      int which = i % 2 == 0 ? side : 1 - side;

      runs[which][i] = run_once(argv[2 + which]);
    }
  }
  for (int side = 0; side < 2; side++) {
    double ms, mib;

    for (int i = 0; i < rounds; i++) {
      values[i] = runs[side][i].ms;
    }
    ms = median(values, rounds);
    printf("%-60.60s %8.1f ms (%.1f to %.1f)", argv[2 + side], ms, values[0], values[rounds - 1]);
    for (int i = 0; i < rounds; i++) {
      values[i] = runs[side][i].mib;
    }
    mib = median(values, rounds);
    printf(" %7.1f MiB\n", mib);
  }
  for (int i = 0; i < rounds; i++) {
    values[i] = runs[1][i].ms / runs[0][i].ms;
  }
  double ratio = median(values, rounds);

  printf("second / first: %.1f (%.1f to %.1f)\n", ratio, values[0], values[rounds - 1]);
  return 0;
}
