/* What CPython's headers ask of pyconfig.h, for wasm32-emscripten as Pyodide builds it. Stands in for the host's
 * pyconfig.h when the core is compiled for WASM (native/build.py); only the limited API is used, so only the sizes and
 * the basic headers matter. */
#ifndef TL_PYCONFIG_WASM32_H
#define TL_PYCONFIG_WASM32_H

/* The C library's headers are musl's for 32-bit ARM; these few types are spelt differently for WASM, so take the
 * compiler's own. */
#include <stddef.h>
#define __DEFINED_size_t
#define __DEFINED_wchar_t
#define __DEFINED_ptrdiff_t

#define ALIGNOF_LONG 4
#define ALIGNOF_MAX_ALIGN_T 8
#define ALIGNOF_SIZE_T 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_FPOS_T 16
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_DOUBLE 16
#define SIZEOF_LONG_LONG 8
#define SIZEOF_OFF_T 8
#define SIZEOF_PID_T 4
#define SIZEOF_PTHREAD_KEY_T 4
#define SIZEOF_PTHREAD_T 4
#define SIZEOF_SHORT 2
#define SIZEOF_SIZE_T 4
#define SIZEOF_TIME_T 8
#define SIZEOF_UINTPTR_T 4
#define SIZEOF_VOID_P 4
#define SIZEOF_WCHAR_T 4
#define SIZEOF__BOOL 1

#define DOUBLE_IS_LITTLE_ENDIAN_IEEE754 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_ERRNO_H 1
#define HAVE_FCNTL_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_LONG 1
#define HAVE_SSIZE_T 1
#define HAVE_STDARG_PROTOTYPES 1
#define HAVE_STDDEF_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDIO_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_WCHAR_H 1
#define PY_FORMAT_SIZE_T "z"
#define RETSIGTYPE void
#define STDC_HEADERS 1
#define TIME_WITH_SYS_TIME 1
#define WITH_DOC_STRINGS 1
#define HAVE_BUILTIN_ATOMIC 1

#endif
