/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A parsed document: what YAML, JSON and the INI form have in common. Each node
 * knows its line and its place, so that a message can name both.
 */
#ifndef BULKHEAD_INPUT_TREE_H
#define BULKHEAD_INPUT_TREE_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/diag.h"

/* Deeper documents are refused. */
#define TREE_DEPTH_MAX 200
/* Nodes that the aliases of one document may stand for, counted as often as they stand there. */
#define TREE_ALIAS_MAX 100000
/* Anchors of one document. */
#define TREE_ANCHORS_MAX 1000

enum tree_type {
	TREE_SCALAR,
	TREE_MAP,
	TREE_LIST,
	TREE_UNREAD, /* the text of an object, for json_open() */
};

/* What a scalar is, as YAML 1.1 (which Kubernetes' tools read) and JSON have it. */
enum scalar_type { SCALAR_STRING, SCALAR_NULL, SCALAR_BOOL, SCALAR_NUMBER };

struct tree {
	struct tree *parent; /* NULL: the root of an object */
	struct tree *next; /* the next child of `parent` */
	const char *key; /* of a member of a map, else NULL */
	union {
		struct {
			struct tree *first, *last; /* map or list */
		};
		const char *text; /* scalar; ends in NUL and holds no other. Or unread */
	};
	uint32_t n; /* children, or the text's length */
	uint32_t line; /* of the key, where there is one */
	uint32_t index; /* among the children of `parent` */
	uint8_t type; /* enum tree_type */
	uint8_t scalar; /* enum scalar_type */
	bool key_is_string; /* false: YAML reads the key as a number, a truth value or null */
};

/* Where a document's nodes are made and its errors told. */
struct tree_maker {
	struct obstack *memory;
	struct diag *diag;
	const char *file;
	bool defers; /* what is in the document's `items` is left unread: json_open() */
};

/* A zeroed node. */
struct tree *tree_new(struct obstack *memory, enum tree_type type, uint32_t line);
void tree_append(struct tree *parent, struct tree *child);

/* The member of a map; NULL where it is not there or is null, and where @map is no map or NULL. */
struct tree *tree_get(const struct tree *map, const char *key);

/* A key of @map that stands there twice (the later), or NULL. */
const struct tree *tree_duplicate(const struct tree *map);

/* Refuses a document in which a map has a key twice: -EINVAL, reported. */
int tree_check_keys(struct tree_maker *maker, const struct tree *root);

/* "spec.ingress[0].from[1]", in memory to free. */
char *tree_path(const struct tree *node);

/*
 * Reads one JSON document (RFC 8259) from @text, which goes on until @end.
 * Returns where it ended and sets *@root; NULL with the error reported; or @end
 * with *@root NULL where nothing but white space was left. *@line counts on.
 */
const char *json_read(struct tree_maker *maker, const char *text, const char *end,
		      unsigned int *line, struct tree **root);

/*
 * Makes of an unread node what its text says. So a list of all that a cluster has need not stand in
 * memory at once. Returns 0 or -EINVAL, reported.
 */
int json_open(struct tree_maker *maker, struct tree *node);

/*
 * Reads the YAML documents of @text one by one and hands each root that is not
 * null to @object; its nodes are gone when that returns. Stops when @object
 * says false. Returns 0 or -EINVAL with the error reported.
 */
int yaml_read(struct tree_maker *maker, const char *text, size_t size,
	      bool (*object)(void *data, struct tree *root), void *data);

#endif
