/* What the interpreter does with caches in its bytecode, for compiled functions.

Each name of an attribute has a table of the types it was met on, by the version that
CPython gives a type whenever it changes. So everything means what it means in Python,
and a slot costs 1 ns where the general way costs 20. */

#include <Python.h>
#include <structmember.h>
#include <string.h>

enum gt_kind { GT_UNLIKE, GT_SLOT, GT_COMPUTED, GT_CONSTANT, GT_METHOD };

typedef struct {
    unsigned int version; /* of the type that was met; 0: none yet */
    enum gt_kind kind;
    union {
        Py_ssize_t offset;
        PyGetSetDef *getset;
        PyObject *value;
    } is;
} gt_entry;

#define GT_WAYS 32

typedef struct {
    const char *text;
    PyObject *name;
    gt_entry reads[GT_WAYS];
    gt_entry calls[GT_WAYS];
    gt_entry writes[GT_WAYS];
} gt_attribute;

static PyObject *gt_getattribute, *gt_setattr, *gt_slot;

static int gt_start(gt_attribute *a) {
    if (gt_getattribute == NULL) {
        gt_getattribute = PyUnicode_InternFromString("__getattribute__");
        gt_setattr = PyUnicode_InternFromString("__setattr__");
        gt_slot = PyUnicode_InternFromString("slot");
    }
    a->name = PyUnicode_InternFromString(a->text);
    return a->name == NULL ? -1 : 0;
}

static int gt_is_plain(PyTypeObject *type, PyObject *how) {
    return _PyType_Lookup(type, how) == _PyType_Lookup(&PyBaseObject_Type, how);
}

static int gt_has_dict(PyTypeObject *type) {
#ifdef Py_TPFLAGS_MANAGED_DICT
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return 1;
#endif
    return type->tp_dictoffset != 0;
}

static gt_entry gt_find(gt_attribute *a, PyTypeObject *type, int writes) {
    gt_entry entry = {0, GT_UNLIKE, {0}};
    PyObject *found = _PyType_Lookup(type, a->name);
    entry.version = type->tp_version_tag;
    if (found == NULL || !gt_is_plain(type, writes ? gt_setattr : gt_getattribute))
        return entry;
    /* A class of the user's has a name of its own beside the slot: the slot is ours. */
    if (strcmp(Py_TYPE(found)->tp_name, "SharedName") == 0) {
        found = PyObject_GetAttr(found, gt_slot);
        if (found == NULL) { PyErr_Clear(); return entry; }
        Py_DECREF(found); /* its class keeps it */
    }
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if ((member->type == T_OBJECT_EX || member->type == T_OBJECT)
            && (member->flags == 0 || (member->flags == READONLY && !writes))) {
            entry.kind = GT_SLOT;
            entry.is.offset = member->offset;
        }
    } else if (writes) {
        return entry;
    } else if (Py_IS_TYPE(found, &PyGetSetDescr_Type)) {
        PyGetSetDef *getset = ((PyGetSetDescrObject *)found)->d_getset;
        if (getset->get != NULL) {
            entry.kind = GT_COMPUTED;
            entry.is.getset = getset;
        }
    } else if (Py_TYPE(found)->tp_descr_get == NULL && !gt_has_dict(type)) {
        entry.kind = GT_CONSTANT;
        entry.is.value = found;
    }
    return entry;
}

static gt_entry gt_find_method(gt_attribute *a, PyTypeObject *type) {
    gt_entry entry = {0, GT_UNLIKE, {0}};
    PyObject *found = _PyType_Lookup(type, a->name);
    entry.version = type->tp_version_tag;
    if (found != NULL && gt_is_plain(type, gt_getattribute) && !gt_has_dict(type)
        && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
        entry.kind = GT_METHOD;
        entry.is.value = found;
    }
    return entry;
}

static PyObject *gt_call(gt_attribute *a, PyObject **given, size_t count) {
    PyTypeObject *type = Py_TYPE(given[0]);
    unsigned int version = type->tp_version_tag;
    gt_entry *e = &a->calls[version % GT_WAYS];
    if (e->version != version || version == 0) {
        if (a->name == NULL && gt_start(a) < 0) return NULL;
        gt_entry entry = gt_find_method(a, type);
        version = type->tp_version_tag;
        e = &a->calls[version % GT_WAYS];
        *e = entry;
    }
    if (e->kind == GT_METHOD) {
        PyObject *method = e->is.value; /* which the call may replace */
        Py_INCREF(method);
        PyObject *result = PyObject_Vectorcall(method, given, count, NULL);
        Py_DECREF(method);
        return result;
    }
    return PyObject_VectorcallMethod(a->name, given, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static int gt_learn(gt_attribute *a, PyObject *o, int writes) {
    if (a->name == NULL && gt_start(a) < 0) return -1;
    gt_entry entry = gt_find(a, Py_TYPE(o), writes);
    (writes ? a->writes : a->reads)[entry.version % GT_WAYS] = entry;
    return 0;
}

static Py_ALWAYS_INLINE inline PyObject *gt_read(gt_attribute *a, PyObject *o) {
    unsigned int version = Py_TYPE(o)->tp_version_tag;
    gt_entry *e = &a->reads[version % GT_WAYS];
    if (e->version != version || version == 0) {
        if (gt_learn(a, o, 0) < 0) return NULL;
        version = Py_TYPE(o)->tp_version_tag;
        e = &a->reads[version % GT_WAYS];
    }
    PyObject *value;
    switch (e->kind) {
    case GT_SLOT:
        value = *(PyObject **)((char *)o + e->is.offset);
        if (value == NULL) break;
        Py_INCREF(value);
        return value;
    case GT_COMPUTED:
        return e->is.getset->get(o, e->is.getset->closure);
    case GT_CONSTANT:
        Py_INCREF(e->is.value);
        return e->is.value;
    default:
        break;
    }
    return PyObject_GetAttr(o, a->name);
}

static Py_ALWAYS_INLINE inline int gt_write(gt_attribute *a, PyObject *o, PyObject *value) {
    unsigned int version = Py_TYPE(o)->tp_version_tag;
    gt_entry *e = &a->writes[version % GT_WAYS];
    if (e->version != version || version == 0) {
        if (gt_learn(a, o, 1) < 0) return -1;
        version = Py_TYPE(o)->tp_version_tag;
        e = &a->writes[version % GT_WAYS];
    }
    if (e->kind != GT_SLOT) return PyObject_SetAttr(o, a->name, value);
    PyObject **at = (PyObject **)((char *)o + e->is.offset), *old = *at;
    Py_INCREF(value);
    *at = value;
    Py_XDECREF(old);
    return 0;
}

/* new_object(type), which is object.__new__ */
static inline PyObject *gt_make(PyObject *type) {
    PyTypeObject *t = (PyTypeObject *)type;
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "not a type");
        return NULL;
    }
    if (t->tp_new == PyBaseObject_Type.tp_new && !(t->tp_flags & Py_TPFLAGS_IS_ABSTRACT))
        return t->tp_alloc(t, 0);
    PyObject *none = PyTuple_New(0), *made = NULL;
    if (none != NULL) { made = PyBaseObject_Type.tp_new(t, none, NULL); Py_DECREF(none); }
    return made;
}

/* callable() */
static inline PyObject *gt_call0(PyObject *callable) {
    PyTypeObject *t = (PyTypeObject *)callable;
    if (Py_IS_TYPE(callable, &PyType_Type) && t->tp_new == PyBaseObject_Type.tp_new
        && t->tp_init == PyBaseObject_Type.tp_init && !(t->tp_flags & Py_TPFLAGS_IS_ABSTRACT))
        return t->tp_alloc(t, 0);
    return PyObject_CallNoArgs(callable);
}

/* o[i] */
static inline PyObject *gt_item(PyObject *o, Py_ssize_t i) {
    PyTypeObject *t = Py_TYPE(o);
    if (PyTuple_Check(o) && t->tp_as_mapping->mp_subscript == PyTuple_Type.tp_as_mapping->mp_subscript
        && i < PyTuple_GET_SIZE(o)) {
        PyObject *found = PyTuple_GET_ITEM(o, i);
        Py_INCREF(found);
        return found;
    }
    PyObject *key = PyLong_FromSsize_t(i), *found = NULL;
    if (key != NULL) { found = PyObject_GetItem(o, key); Py_DECREF(key); }
    return found;
}

#define CALL(NAME, COUNT, ...) \
    { \
        PyObject *given[] = {NULL, __VA_ARGS__}; \
        return gt_call(&gt_of_##NAME, given + 1, COUNT); \
    }

#define ATTRIBUTE(NAME) \
    static gt_attribute gt_of_##NAME = {#NAME}; \
    static inline PyObject *get_##NAME(PyObject *o) { return gt_read(&gt_of_##NAME, o); } \
    static inline int set_##NAME(PyObject *o, PyObject *v) { return gt_write(&gt_of_##NAME, o, v); } \
    static inline PyObject *call1_##NAME(PyObject *o) CALL(NAME, 1, o) \
    static inline PyObject *call2_##NAME(PyObject *o, PyObject *a) CALL(NAME, 2, o, a) \
    static inline PyObject *call3_##NAME(PyObject *o, PyObject *a, PyObject *b) \
        CALL(NAME, 3, o, a, b) \
    static inline PyObject *call4_##NAME(PyObject *o, PyObject *a, PyObject *b, PyObject *c) \
        CALL(NAME, 4, o, a, b, c)
