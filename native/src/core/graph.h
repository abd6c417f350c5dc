/* graph.h: the nodes of autograd, as graph.c and engine.c see them. */
#ifndef TL_GRAPH_H
#define TL_GRAPH_H
#include "core/tl.h"

/* What every node has. `outs`: shapes and dtypes of the outputs when there are several, else 1. `seq` grows with
 * creation. The other fields are None until somebody sets them. */
enum { OUTS, METADATA, PRE_HOOKS, POST_HOOKS, RETAIN, TRACE, FACES, NUM_FIELDS };
typedef struct {
  PyObject_HEAD PyObject *next;
  PyObject *field[NUM_FIELDS];
  unsigned long long seq;
} Node;

/* What the node of a declared op has besides; see OpNode in torchlite/autograd/_record.py. */
enum { REC, KEPT, PLAIN, INPUT_META, NUM_OP_FIELDS };
typedef struct {
  Node base;
  PyObject *of_op[NUM_OP_FIELDS];
} OpNode;
extern PyTypeObject *tl_node_type, *tl_op_node_type;

PyObject *tl_graph_pair(PyObject *first, PyObject *second); /* a tuple; steals both, of which one may be NULL */
int tl_graph_enter(Node *n);                                /* gives it its number, and tells who wants to know */
PyObject *tl_graph_edge(PyObject *unused, PyObject *t);     /* edge(t) of the module */
PyObject *tl_graph_saved(PyObject *t);                      /* (t, its version) */
PyObject *tl_graph_meta(PyObject *t, PyObject *edge);       /* (shape, dtype), or None: without an edge */
/* kept(pair) of the module; whether a tensor has this (shape, dtype): 0 too where its class must be asked, -1 with an
 * exception */
PyObject *tl_graph_kept(PyObject *unused, PyObject *pair);
int tl_graph_like(PyObject *t, PyObject *meta);
#endif
