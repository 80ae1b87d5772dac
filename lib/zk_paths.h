#ifndef KR_ZK_PATHS_H
#define KR_ZK_PATHS_H

#include "lib/mem.h"
#include "lib/settings.h"

#include <stdbool.h>

/* A znode that may tell where the root is. */
struct kr_zk_place {
  char *znode;      /* its full path, chroot included */
  char *text;       /* the znode as messages call it */
  const char *name; /* below the parent; the settings' */
  unsigned tiers;   /* of a catalog with this root */
};

/* Where to look for the root: at the first of these that is there. */
struct kr_zk_paths {
  char *parent;
  struct kr_zk_place places[2];
  unsigned count;
};

/* False = out of memory; clear it also then. */
bool kr_zk_paths_init(struct kr_zk_paths *paths, struct kr_mem *mem,
                      const struct kr_settings *settings);
void kr_zk_paths_clear(struct kr_zk_paths *paths, struct kr_mem *mem);

/* dir + "/" + name, where dir may be "/". Release with kr_free. NULL = out of memory. */
char *kr_zk_path_join(struct kr_mem *mem, const char *dir, const char *name);

#endif
