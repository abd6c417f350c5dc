/* gpu.h: what the files of the webgpu device share (gpu*.c): buffers, the command stream, and lazy element-wise
 * expressions. All of it is allocated when the device is first asked for; programs on the CPU never get here. */
#ifndef TL_GPU_H
#define TL_GPU_H
#include "core/core.h"
#include "core/geometry.h"
#include "gpu/gpu_api.h"

typedef struct TlNode TlNode;
typedef struct TlBuffer TlBuffer;

/* GPU memory of a storage. `pending` is not NULL: its contents are not computed yet, and the buffer is on the pending
 * list. */
struct TlBuffer {
  PyObject_HEAD int64_t nbytes, epoch, serial;
  uint32_t handle, readers; /* readers: leaves over it that exist */
  TlNode *pending;
  TlBuffer *prev, *next;
  PyObject *bounds, *weakrefs;
};

/* Parts of an expression. `place` is valid in the run that `mark` names. */
#define EXPR_HEAD PyObject_VAR_HEAD uint32_t mark; uint16_t place; uint8_t dtype, compute;
typedef struct {
  EXPR_HEAD
} Expr;
typedef struct {
  EXPR_HEAD PyObject *value;
} TlNumber;
typedef struct {
  EXPR_HEAD int dim;
} TlCoord;
typedef struct {
  EXPR_HEAD TlBuffer *buffer;
  int64_t offset;
  int32_t ndim, unused;
  int64_t strides[];
} TlLeaf; /* ndim -1: in order */
/* A lazy matrix product or convolution, so that an epilogue runs in the same kernel: a plan whose last buffer is the
 * result, and its words. */
typedef struct {
  TlLeaf *done;     /* the result, once it is there and others need it */
  TlLeaf *reads[8]; /* the plan's buffers but the last; owned by the node's arguments, or by `fused` */
  TlNode *fused[2]; /* operand expressions fused into the kernel; not in NODE_LEAVES of this and enclosing nodes */
  uint32_t plan, nwords, room;
  int nreads, fusable; /* fusable: number of leading operands that may be fused, 0 to 2 */
  uint32_t words[];
} TlProduct;
struct TlNode {
  EXPR_HEAD
  uint16_t op;
  uint8_t ndim, nargs, nleaves;
  uint8_t products; /* how many are in it */
  bool pins_much;   /* pins inputs of far more memory than its result, or a product */
  int32_t count;
  TlBuffer *holder;   /* the buffer that is pending on it */
  TlProduct *product; /* of a product, whose arguments are the tensors it reads */
  int64_t shape[];    /* after it the arguments, after them the leaves, each view once */
};
#define NODE_ARGS(n) ((PyObject **)(void *)((n)->shape + (n)->ndim))
#define NODE_LEAVES(n) ((TlLeaf **)(void *)(NODE_ARGS(n) + (n)->nargs))
#define NO_COMPUTE 255
/* of an expression: a kernel has 8 storage buffers in every browser, and outputs need some */
#define MAX_LEAVES 5
/* the same for an expression that contains a product, whose operands it reads too */
#define MAX_EPILOGUE_LEAVES 7
#define MAX_NODES 24
#define MAX_BUFFERS 8
#define MAX_PINNING 8                  /* pending expressions that pin much, products included */
#define MAX_WORDS 64                   /* of a product */
#define MAX_PROLOGUE 8                  /* parts of a prologue */
#define MAX_READS 5                    /* buffers of a product, those of its prologues included */
#define MAX_ARGS 16

extern PyTypeObject *tl_Buffer, *tl_Node, *tl_Leaf, *tl_Number, *tl_Coord;

/* what Python gives: functions, and lists that it shares with the core */
typedef struct {
  PyObject *send, *claim, *open, *lost, *usable, *describe, *on_cpu, *tick, *bad, *relax;
} GpuHooks;
extern GpuHooks gpu;

TlBuffer *gpu_buffer(int64_t nbytes);
uint32_t gpu_ready(TlBuffer *b); /* the handle, commands for its contents given; 0: an exception */
uint32_t gpu_allocate(TlBuffer *b);
int gpu_before_write(TlBuffer *b);
int gpu_launch(uint32_t plan, const uint32_t *handles, size_t nhandles, const uint32_t *values, size_t nvalues);
int gpu_flush(void);
void gpu_set_pending(TlBuffer *b, TlNode *n); /* steals n */
bool gpu_only_operand(const TlBuffer *b);     /* only a pending product needs the values */
TlNode *gpu_clear_pending(TlBuffer *b);       /* new reference */

typedef struct {
  TlNode *node;
  TlBuffer *buffer;
  const int64_t *strides;
  int64_t offset;
} GpuOut;
bool gpu_node_reads(const TlNode *n, const TlBuffer *b);
int gpu_launch_product(TlNode *product, TlBuffer *b); /* gpu_product.c: without epilogue, into b */
int gpu_compute_product(TlNode *product);             /* sets `done` */
int gpu_fuse_operands(TlNode *product);               /* gpu_run.c: prologues, before it is run */
int gpu_limit_pinned(void);
int gpu_run(TlNode *root, const GpuOut *out, int nout);          /* one kernel; the first output is root's */
uint32_t gpu_scalar(PyObject *value, tl_dtype d, uint32_t *out); /* words written; 0: an exception */

int gpu_op_id(PyObject *name); /* -1: an exception */
int gpu_op_named(const char *text);
PyObject *gpu_op_name(int id); /* borrowed */
int gpu_dtype(PyObject *name); /* by a dtype's name; -1: an exception */
TlLeaf *gpu_leaf(TlBuffer *b, int dtype, int ndim, const int64_t *strides, int64_t offset);
bool gpu_same_view(const TlLeaf *a, const TlLeaf *b);
TlNumber *gpu_number(PyObject *value, int dtype);
TlNode *gpu_node(int op, PyObject *const *args, int nargs, int dtype, int compute, int ndim, const int64_t *shape);
PyObject *gpu_run_now(TlNode *n); /* runs the node; a leaf with its values */
TlNode *gpu_expression(int op, PyObject *const *args, int nargs, int dtype, int compute, int ndim,
                       const int64_t *shape);
/* order: NULL, or the expression's dims as dims of the tensor's (broadcast) shape */
PyObject *gpu_operand(TlTensor *t, int ndim, const int64_t *shape, const int *order);
PyObject *gpu_result(TlNode *n, tl_dtype dtype, const int *order);
/* a tensor's geometry over `ndim` dims in another order; whether its elements are in order then */
bool gpu_geometry(const TlTensor *t, int ndim, const int *order, int64_t *shape, int64_t *strides);

/* What calls of an overload with arguments of the types in `key` (tl_signature) stand for: an operation over the
 * arguments at `positions`, with its result, compute and numbers' types. lead: the operand whose layout decides on the
 * result's; -1 where that is the usual one always. */
#define MAX_OPERANDS 7
typedef struct TlEntry {
  struct TlEntry *next;
  uint64_t key;
  uint16_t op;
  uint8_t n, positions[MAX_OPERANDS], dtype, compute, number;
  int8_t lead;
} TlEntry;
bool gpu_broadcast(PyObject *const *ops, int n, int *out_ndim, int64_t *shape);
PyObject *gpu_apply(const TlEntry *e, PyObject *const *operands, TlTensor *self, int ndim, const int64_t *shape);
bool gpu_computes(int op, int nargs, tl_dtype compute); /* whether the kernels have an operation for a compute type */
bool gpu_is_test(int op);                               /* whether its result is a bool */

PyObject *gpu_f_run(PyObject *m, PyObject *const *a, Py_ssize_t n); /* run(root, outputs) */
int gpu_expr_init(PyObject *mod), gpu_op_init(PyObject *mod), gpu_first_init(PyObject *mod),
  gpu_product_init(PyObject *mod);
#define GPU_HOOK(f, r) \
  do { if (!(f)) { PyErr_SetString(PyExc_RuntimeError, "webgpu is not set up"); return (r); } } while (0)
#endif
