#ifndef KR_TREE_H
#define KR_TREE_H

/* The balanced trees that libuv ships (BSD's): intrusive, so that putting in cannot fail. */

/* Of the functions that its macros make, not all are used. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include <uv/tree.h>

#endif
