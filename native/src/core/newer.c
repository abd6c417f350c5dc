/* newer.c: the core comes twice for x86-64 Linux, for every processor and for those with AVX2 and FMA, where it needs
 * 0.8 of the time. Python finds the first, which hands over to the second, _C.v3.so beside it, where the processor has
 * them. TORCHLITE_NATIVE=baseline keeps the first. */
#include "core/core.h"
#if defined(TL_BASELINE)
#include <dlfcn.h>
#include "math/cpu.h"

TlInit tl_newer(void) {
  static const char name[] = "_C.v3.so";
  const char *wanted = getenv("TORCHLITE_NATIVE"), *end;
  Dl_info here;
  char path[4096];
  if (!tl_x86_v3() || (wanted && !strcmp(wanted, "baseline")) || !dladdr((const void *)tl_newer, &here)) return NULL;
  end = strrchr(here.dli_fname, '/');
  const size_t folder = end ? (size_t)(end + 1 - here.dli_fname) : 0;
  if (folder + sizeof name > sizeof path) return NULL;
  memcpy(path, here.dli_fname, folder);
  memcpy(path + folder, name, sizeof name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library ? (TlInit)dlsym(library, "PyInit__C") : NULL;
}
#endif
