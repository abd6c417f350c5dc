/* gpu.h: buffers, the command stream and lazy expressions, shared by the files of the webgpu device (gpu*.c). The
 * module is created when the device is first used; programs on the CPU never get here. demos/docs/gpu.md says who owns
 * which object, and which functions may run Python code. */
#ifndef TL_GPU_H
#define TL_GPU_H
#include "core/core.h"
#include "core/geometry.h"
#include "gpu/gpu_api.h"

typedef struct TlNode TlNode;
typedef struct TlBuffer TlBuffer;

/* GPU memory of a storage. If `pending` is not NULL, its contents are not computed yet and it is on the pending list.
 */
struct TlBuffer {
  PyObject_HEAD int64_t nbytes, epoch, serial;
  uint32_t handle, readers; /* readers: number of leaves over it */
  TlNode *pending;
  TlBuffer *prev, *next;
  PyObject *bounds, *weakrefs;
  bool reduced; /* a reduction has read its pending expression already */
};

/* Parts of an expression. `place` is valid only in the run whose number is `mark` (gpu_run.c). */
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
} TlLeaf; /* a tensor that an expression reads; ndim -1: contiguous, no strides */
/* A lazy matrix product, convolution or float reduction. It is a plan whose last buffer is the result, and the plan's
 * words. It waits so that the element-wise ops after it can run in its kernel, as its epilogue. */
typedef struct {
  TlLeaf *done;     /* the result, once it is computed and others need it */
  TlLeaf *reads[8]; /* all buffers of the plan but the last; borrowed from the node's arguments, or from `fused` */
  TlNode *fused[2]; /* operand expressions fused into the kernel; not in NODE_LEAVES of this and enclosing nodes */
  uint32_t plan, nwords, room;
  int nreads, fusable; /* fusable: number of leading operands that may be fused, 0 to 2 */
  uint32_t words[];
} TlProduct;
struct TlNode {
  EXPR_HEAD
  uint16_t op;
  uint8_t ndim, nargs, nleaves;
  uint8_t products;   /* number of products in it */
  bool pins_much;     /* its inputs take far more memory than its result, or it contains a product */
  int32_t count;      /* number of nodes in it */
  TlBuffer *holder;   /* the buffer that is pending on it */
  TlProduct *product; /* not NULL: the node is a product, and its arguments are the tensors that it reads */
  int64_t shape[];    /* followed by the arguments and then the leaves, each view once */
};
#define NODE_ARGS(n) ((PyObject **)(void *)((n)->shape + (n)->ndim))
#define NODE_LEAVES(n) ((TlLeaf **)(void *)(NODE_ARGS(n) + (n)->nargs))
#define NO_COMPUTE 255
/* Every browser allows 8 storage buffers in a kernel. Outputs need some of them, leaves get the rest. */
#define MAX_LEAVES 5
/* An expression that contains a product: the product's operands count as its leaves. */
#define MAX_EPILOGUE_LEAVES 7
#define MAX_NODES 24
#define MAX_BUFFERS 8
#define MAX_PINNING 8                  /* pending expressions with `pins_much` */
#define MAX_WORDS 64                   /* of a product */
#define MAX_PROLOGUE 8                  /* parts of a prologue */
#define MAX_READS 5                    /* buffers that a product reads, prologues included */
#define MAX_ARGS 16

extern PyTypeObject *tl_Buffer, *tl_Node, *tl_Leaf, *tl_Number, *tl_Coord;

/* Set by Python (torchlite/webgpu/lazy): functions that the core calls, and two lists that both sides read. */
typedef struct {
  PyObject *send;          /* (address, words): runs a batch; True if the GPU is far behind */
  PyObject *claim;         /* (handle, bytes): allocates now, or raises OutOfMemoryError */
  PyObject *open;          /* (): opens the device */
  PyObject *raise_lost;    /* (buffer): raises DeviceLostError */
  PyObject *raise_if_void; /* (buffer): raises the index error that made its contents void, if one did */
  PyObject *describe;      /* (text): the number of a new kernel's plan */
  PyObject *cpu_operand;   /* (tensor): a CPU tensor as an operand, or an error */
  PyObject *drain;         /* (): waits until the GPU has caught up, where Python can wait */
  PyObject *last_check;    /* [number of the last launch that checks indices] */
  PyObject *void_ranges;   /* [(first, last, ...)]: buffers written between these numbers are void */
} GpuHooks;
extern GpuHooks gpu;

TlBuffer *gpu_buffer(int64_t nbytes);
/* Queues the commands that compute the buffer's contents, and returns its handle; 0: an exception. */
uint32_t gpu_ready(TlBuffer *b);
uint32_t gpu_allocate(TlBuffer *b);
int gpu_before_write(TlBuffer *b);
int gpu_launch(uint32_t plan, const uint32_t *handles, size_t nhandles, const uint32_t *values, size_t nvalues);
/* Writes the ints of a list or tuple as words; -1 with an exception. */
int gpu_to_words(PyObject *list, uint32_t *out, Py_ssize_t n);
int gpu_copy_buffer(TlBuffer *to, TlBuffer *from, int64_t offset,
                    int64_t nbytes); /* fills `to`, which is not pending */
int gpu_flush(void);
void gpu_set_pending(TlBuffer *b, TlNode *n); /* steals n */
bool gpu_only_operand(const TlBuffer *b);     /* only one leaf refers to it: a pending product's */
TlNode *gpu_clear_pending(TlBuffer *b);       /* new reference */

typedef struct {
  TlNode *node;
  TlBuffer *buffer;
  const int64_t *strides;
  int64_t offset;
} GpuOut;
bool gpu_node_reads(const TlNode *n, const TlBuffer *b);
int gpu_launch_product(TlNode *product, TlBuffer *b); /* gpu_product.c: into b, without an epilogue */
int gpu_compute_product(TlNode *product);             /* sets `done` */
int gpu_fuse_operands(TlNode *product);               /* gpu_run.c: fuses its prologues; call before running it */
int gpu_limit_pinned(void);
/* the lazy result of a plan whose last buffer it is; the first `fusable` of the buffers it reads may get prologues */
PyObject *gpu_product(uint32_t plan, TlBuffer *const *reads, int nreads, int fusable, const uint32_t *words, int nwords,
                      int ndim, const int64_t *shape, tl_dtype dtype);
PyObject *gpu_fresh(int ndim, const int64_t *shape, tl_dtype dtype, uint32_t *handle); /* a result to be written */
/* the same with its dims in another order in memory: dense strides */
PyObject *gpu_fresh_laid(int ndim, const int64_t *shape, const int64_t *strides, tl_dtype dtype, uint32_t *handle);
int gpu_run(TlNode *root, const GpuOut *out, int nout); /* one kernel; the first output is root's */

int gpu_op_id(PyObject *name); /* -1: an exception */
int gpu_op_named(const char *text);
PyObject *gpu_op_name(int id); /* borrowed */
int gpu_dtype(PyObject *name); /* by a dtype's name; -1: an exception */
TlLeaf *gpu_leaf(TlBuffer *b, int dtype, int ndim, const int64_t *strides, int64_t offset);
bool gpu_same_view(const TlLeaf *a, const TlLeaf *b);
TlNumber *gpu_number(PyObject *value, int dtype);
TlNode *gpu_node(int op, PyObject *const *args, int nargs, int dtype, int compute, int ndim, const int64_t *shape);
PyObject *gpu_run_now(TlNode *n); /* runs the node; returns a leaf over its values */
TlNode *gpu_expression(int op, PyObject *const *args, int nargs, int dtype, int compute, int ndim,
                       const int64_t *shape);
/* order: dims of the broadcast shape in the expression's order; NULL: the same order */
PyObject *gpu_operand(TlTensor *t, int ndim, const int64_t *shape, const int *order);
/* strides: of the result; NULL: contiguous in this order */
PyObject *gpu_result(TlNode *n, tl_dtype dtype, const int *order, const int64_t *strides);
/* Writes a tensor's shape and strides over `ndim` dims in this order. True if its elements are contiguous then. */
bool gpu_geometry(const TlTensor *t, int ndim, const int *order, int64_t *shape, int64_t *strides);

/* How an overload runs for arguments with the types in `key` (tl_signature): which operation, over the arguments at
 * `positions`; the dtype of the result, of the computation and of numbers. layout_from: number of the operand whose
 * layout the result takes; -1: the result is always contiguous. */
#define MAX_OPERANDS 7
typedef struct TlEntry {
  struct TlEntry *next;
  uint64_t key;
  uint16_t op;
  uint8_t n, positions[MAX_OPERANDS], dtype, compute, number;
  int8_t layout_from;
  bool numbers_count; /* whether a number is among the operands matters to the result's layout */
  bool cast;          /* the op brings its operands to one dtype, which matters to the layout too */
  bool divides;       /* it divides integers by the second operand */
} TlEntry;
bool gpu_broadcast(PyObject *const *ops, int n, int *out_ndim, int64_t *shape);
PyObject *gpu_apply(const TlEntry *e, PyObject *const *operands, TlTensor *self, int ndim, const int64_t *shape);
bool gpu_computes(int op, int nargs, tl_dtype compute); /* kernels have this operation for this compute type */
bool gpu_is_test(int op);                               /* the operation's result is a bool */

PyObject *gpu_f_run(PyObject *m, PyObject *const *a, Py_ssize_t n); /* run(root, outputs) */
int gpu_expr_init(PyObject *mod), gpu_op_init(PyObject *mod), gpu_resolve_init(PyObject *mod),
  gpu_product_init(PyObject *mod), gpu_graph_init(PyObject *mod), gpu_family_init(PyObject *mod),
  gpu_reduce_init(PyObject *mod), gpu_index_init(PyObject *mod), gpu_matmul_init(PyObject *mod),
  gpu_softmax_init(PyObject *mod), gpu_norm_init(PyObject *mod), gpu_attention_init(PyObject *mod);
/* Kernel families with a planner in C (gpu_family.c). Both steal the tuple; -1: an exception. */
int gpu_family_export(PyObject *mod, const char *name, PyObject *parts, PyObject **family);
int gpu_family_plan(PyObject *family, PyObject *values, uint32_t *plan);

static inline TlBuffer *gpu_buffer_of(const TlTensor *t) { /* NULL: the tensor is not on webgpu */
  PyObject *owner = t->storage->owner;
  return owner && Py_TYPE(owner) == tl_Buffer ? (TlBuffer *)owner : NULL;
}
static inline bool gpu_is_float(tl_dtype d) { return tl_is_float(d) && d != TL_F64; }

/* How a kernel row runs for the usual arguments, without Python. Returns 1 with *result (NULL: an exception), or 0 for
 * other arguments: the row's planner in torchlite/webgpu/plan goes on. */
typedef int GpuPlanner(PyObject *const *a, PyObject **result);
GpuPlanner gpu_plan_mm, gpu_plan_bmm, gpu_plan_matmul, gpu_plan_linear; /* gpu_matmul.c */
GpuPlanner gpu_plan_cat, gpu_plan_stack;                                /* gpu_index.c */
GpuPlanner gpu_plan_softmax, gpu_plan_log_softmax;                      /* gpu_softmax.c */
GpuPlanner gpu_plan_layer_norm, gpu_plan_native_layer_norm;             /* gpu_norm.c */
GpuPlanner gpu_plan_attention;                                          /* gpu_attention.c */

#define GPU_HOOK(f, r) \
  do { if (!(f)) { PyErr_SetString(PyExc_RuntimeError, "webgpu is not set up"); return (r); } } while (0)
#endif
