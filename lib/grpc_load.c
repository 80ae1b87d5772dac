/*
 * Finds and loads the module that holds the gRPC client, once a process.
 *
 *  1. It lies where the library was installed to look for it, or where the environment says (for
 *     builds that are not installed), which programs with more rights than their caller do not ask.
 *  2. Once loaded it stays: gRPC's threads do not end before the process does.
 *  3. What was found out, good or bad, stands: a module that is installed later is found by the
 *     next process.
 *
 * Source: POSIX dlopen; secure_getenv(3)
 */
#include "lib/grpc_load.h"

#include "lib/bytes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct kr_grpc_module *module; /* NULL = see why; both are written once */
static char why[512];

static void print_path(char *out, size_t size)
{
  const char *directory = secure_getenv("KEYROUTE_MODULE_DIR");

  snprintf(out, size, "%s/" KR_GRPC_MODULE_FILE, directory != NULL ? directory : KR_MODULE_DIR);
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

    complain("the gRPC module cannot be loaded", error != NULL ? error : path);
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
