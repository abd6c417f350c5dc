/* pool.h: geometry of pooling windows; pool.c checks arguments, pool_impl.h holds the loops (included per element
 * type). */
#ifndef TL_POOL_H
#define TL_POOL_H
#include "core/tl.h"

/* always three spatial dims; planes: everything in front of them */
typedef struct {
  int64_t planes, in[3], out[3], k[3], s[3], p[3], d[3];
  bool include_pad;
  int64_t divisor; /* 0: the size of the window */
} TlPool;
#endif
