/*
 * Which znodes may tell where the root is: paths made of the settings' chroot, parent and names.
 *
 *  1. Paths are full, with the chroot in front: ZooKeeper's client is given none (zk_session.c).
 *  2. Either of chroot and parent may stand for the root of the tree.
 *  3. Places are in the order in which they are looked at: a layout that has no such znode has no
 *     such place, and where it is to be found out there are two.
 *
 * Made before anything reads, and not changed after that.  Source: HBase ZNodePaths
 */
#include "lib/zk_paths.h"

#include <stdio.h>
#include <string.h>

/* How many tiers the catalogs of HBase have whose roots have znodes; of a range directory nothing
 * has to be found out. */
enum { UNSAID = 0, META_TIERS = 2, ROOT_TIERS = 3 };

char *kr_zk_path_join(struct kr_mem *mem, const char *dir, const char *name)
{
  size_t size = strlen(dir) + strlen(name) + 2;
  char *path = kr_alloc(mem, size);

  if (path != NULL) {
    snprintf(path, size, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
  }
  return path;
}

/* chroot + parent, either of which may stand for the root of the tree. */
static char *join_chroot(struct kr_mem *mem, const char *chroot, const char *parent)
{
  const char *rest = strcmp(parent, "/") == 0 ? "" : parent;
  size_t size = strlen(chroot) + strlen(rest) + 2;
  char *path = kr_alloc(mem, size);

  if (path != NULL) {
    snprintf(path, size, "%s%s", chroot, rest);
    if (path[0] == '\0') {
      snprintf(path, size, "/");
    }
  }
  return path;
}

static char *name_place(struct kr_mem *mem, const char *znode)
{
  size_t size = sizeof("znode ") + strlen(znode);
  char *place = kr_alloc(mem, size);

  if (place != NULL) {
    snprintf(place, size, "znode %s", znode);
  }
  return place;
}

/* One more place, unless the layout has no such znode. False = out of memory. */
static bool add_place(struct kr_zk_paths *paths, struct kr_mem *mem, const char *name,
                      unsigned tiers)
{
  struct kr_zk_place *place = &paths->places[paths->count];

  if (name == NULL) {
    return true;
  }
  paths->count++;
  place->name = name;
  place->tiers = tiers;
  place->znode = kr_zk_path_join(mem, paths->parent, name);
  if (place->znode != NULL) {
    place->text = name_place(mem, place->znode);
  }
  return place->text != NULL;
}

bool kr_zk_paths_init(struct kr_zk_paths *paths, struct kr_mem *mem,
                      const struct kr_settings *settings)
{
  *paths = (struct kr_zk_paths){.count = 0};
  paths->parent = join_chroot(mem, settings->chroot, settings->parent);
  return paths->parent != NULL && add_place(paths, mem, settings->meta_znode, META_TIERS) &&
         add_place(paths, mem, settings->root_znode, ROOT_TIERS) &&
         add_place(paths, mem, settings->range_znode, UNSAID);
}

void kr_zk_paths_clear(struct kr_zk_paths *paths, struct kr_mem *mem)
{
  for (unsigned i = 0; i < paths->count; i++) {
    kr_free(mem, paths->places[i].text);
    kr_free(mem, paths->places[i].znode);
  }
  kr_free(mem, paths->parent);
  *paths = (struct kr_zk_paths){0};
}
