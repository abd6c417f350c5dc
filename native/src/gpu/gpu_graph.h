/* gpu_graph.h: what describes a kernel (gpu_graph.c), for the files that make kernels of expressions. */
#ifndef TL_GPU_GRAPH_H
#define TL_GPU_GRAPH_H
#include "gpu/gpu.h"

#define MAX_ORDER 250 /* parts of an expression */
#define MAX_INPUTS 16
#define KEY_ROOM 2600
enum { IS_NODE, IS_LEAF, IS_NUMBER, IS_COORD, IS_PRODUCT };
/* what a kernel is: an expression alone, in one of three roles in a product's kernel, or under a reduction */
enum { NO_PRODUCT, EPILOGUE, PROLOGUE_OF_FIRST, PROLOGUE_OF_SECOND, REDUCED };

/* Parts in order, operands before what uses them. Equal tensors are one input. */
typedef struct {
  Expr *order[MAX_ORDER];
  TlLeaf *inputs[MAX_INPUTS];
  uint8_t input_of[MAX_ORDER], uses[MAX_ORDER];
  int n, nin, numbers, ndim;
  bool coords; /* some part is a coordinate along a dim */
} GpuGraph;
void gpu_graph_begin(GpuGraph *g, int ndim);                /* an empty graph; the one before is no longer valid */
int gpu_graph_add(GpuGraph *g, void *e);                    /* an expression's parts that are not in it yet */
bool gpu_graph_has(const void *e);                          /* whether the graph begun last has this part */
int gpu_graph_numbers(const GpuGraph *g, uint32_t **words); /* the words of its numbers */
int gpu_kind(const void *part);
int gpu_too_large(void);           /* -1 with an exception */
uint32_t gpu_float_word(double v); /* the bits of a float32, infinite beyond its range */

typedef struct {
  int n;
  uint8_t bytes[KEY_ROOM];
} GpuKey;
void gpu_key_byte(GpuKey *k, int v);
void gpu_key_parts(GpuKey *k, const GpuGraph *g); /* how many, and each part */
int64_t gpu_key_plan(const GpuKey *k); /* the kernel's number, from the bridge if it is new; -1: an exception */
/* a reduction's number by its name, and how many buffers its state needs; -1: an exception */
int gpu_reduction(PyObject *name, int *buffers);
#endif
