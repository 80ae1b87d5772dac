/*
 * Finds and loads the module that holds the gRPC client, once a process.
 *
 *  1. It lies where the environment says (for builds that are not installed); else beside the
 *     library, so that an installation may be moved; else where the library was to be installed.
 *     Programs with more rights than their caller go by the last only: the name of a program that
 *     holds the library is its caller's to choose.
 *  2. Once loaded it stays: gRPC's threads do not end before the process does.
 *  3. What was found out, good or bad, stands: a module that is installed later is found by the
 *     next process.
 *
 * Source: POSIX dlopen; dladdr(3), secure_getenv(3), getauxval(3)
 */
#include "lib/grpc_load.h"

#include "lib/bytes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef KR_WITHOUT_GRPC
#define CANNOT "the library was configured --without-grpc"
#else
#define CANNOT "the gRPC module cannot be loaded (KEYROUTE_MODULE_DIR may name its folder)"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct kr_grpc_module *module; /* NULL = see why; both are written once */
static char why[512];

/* The module in the folder "keyroute" where the library is. False = there is none. */
static bool find_beside(char *out, size_t size)
{
  Dl_info here;

  if (getauxval(AT_SECURE) != 0 || dladdr(&once, &here) == 0 || here.dli_fname == NULL ||
      here.dli_fname[0] != '/') {
    return false;
  }
  int folder_len = (int)(strrchr(here.dli_fname, '/') - here.dli_fname);
  int len = snprintf(out, size, "%.*s/keyroute/" KR_GRPC_MODULE_FILE, folder_len, here.dli_fname);

  return len > 0 && (size_t)len < size && access(out, F_OK) == 0;
}

static void print_path(char *out, size_t size)
{
  const char *directory = secure_getenv("KEYROUTE_MODULE_DIR");

  if (directory != NULL && directory[0] != '\0') {
    snprintf(out, size, "%s/" KR_GRPC_MODULE_FILE, directory);
  } else if (!find_beside(out, size)) {
    snprintf(out, size, "%s/" KR_GRPC_MODULE_FILE, KR_MODULE_DIR);
  }
}

static void complain(const char *what, const char *text)
{
  char printed[400];

  kr_bytes_print(printed, sizeof(printed), keyroute_string(text));
  snprintf(why, sizeof(why), "%s: %s", what, printed);
}

static void load(void)
{
  char path[4096];

  print_path(path, sizeof(path));
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

  if (handle == NULL) {
    const char *error = dlerror(); /* names the file */

    complain(CANNOT, error != NULL ? error : path);
    return;
  }
  const struct kr_grpc_module *found = dlsym(handle, KR_GRPC_MODULE_SYMBOL);

  if (found == NULL || found->version != KR_GRPC_MODULE_VERSION) {
    complain("the gRPC module is not of this version of the library", path);
  } else {
    module = found;
  }
  dlclose(handle);
}

int kr_grpc_load(const struct kr_grpc_module **out, const char **reason)
{
  pthread_once(&once, load);
  if (module == NULL) {
    *reason = why;
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  *out = module;
  return 0;
}
