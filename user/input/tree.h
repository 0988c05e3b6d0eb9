/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A parsed document, from YAML, JSON or INI. Each node knows its line and its path, which
 * messages name.
 */
#ifndef BULKHEAD_INPUT_TREE_H
#define BULKHEAD_INPUT_TREE_H

#include <obstack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/diag.h"

/* Levels of a document; a deeper one is refused. */
#define TREE_DEPTH_MAX 200
/* Nodes that all aliases of one document stand for together, each counted at each place. */
#define TREE_ALIAS_MAX 100000
/* Anchors in one document. */
#define TREE_ANCHORS_MAX 1000

enum tree_type {
	TREE_SCALAR,
	TREE_MAP,
	TREE_LIST,
	TREE_UNREAD, /* an object's text, which json_open() reads */
};

/* Types of scalars, as YAML 1.1 (which Kubernetes' tools read) and JSON have them. */
enum scalar_type { SCALAR_STRING, SCALAR_NULL, SCALAR_BOOL, SCALAR_NUMBER };

struct tree {
	struct tree *parent; /* NULL: this is the root of an object */
	struct tree *next; /* the next child of `parent` */
	const char *key; /* key in a map; NULL: not in a map */
	union {
		struct {
			struct tree *first, *last; /* children of a map or list */
		};
		/* of a scalar, ending in NUL and without another; or of an unread node */
		const char *text;
	};
	uint32_t n; /* number of children, or length of the text */
	uint32_t line; /* the key's line if there is one */
	uint32_t index; /* position among the children of `parent` */
	uint8_t type; /* enum tree_type */
	uint8_t scalar; /* enum scalar_type */
	bool key_is_string; /* false: YAML reads the key as a number, a boolean or null */
};

/* Where nodes of a document are made, and where its errors are reported. */
struct tree_maker {
	struct obstack *memory;
	struct diag *diag;
	const char *file;
	bool defers; /* objects in the document's `items` are left unread for json_open() */
};

/* Returns a node with all other fields 0. */
struct tree *tree_new(struct obstack *memory, enum tree_type type, uint32_t line);
void tree_append(struct tree *parent, struct tree *child);

/* Returns a member of a map. NULL: it is absent or null, or @map is no map or NULL. */
struct tree *tree_get(const struct tree *map, const char *key);
/* Returns the same. NULL also if the member is an empty text: the API server takes that for none in
 * a field that has a default. */
struct tree *tree_get_filled(const struct tree *map, const char *key);

/* Returns true if a member of a map is that text. */
bool tree_says(const struct tree *map, const char *key, const char *text);

/* Returns the second of two equal keys of @map; NULL: all keys differ. */
const struct tree *tree_duplicate(const struct tree *map);

/* Returns 0, or -EINVAL, reported, if a map of the document has a key twice. */
int tree_check_keys(struct tree_maker *maker, const struct tree *root);

/* Returns "spec.ingress[0].from[1]", in memory to free. */
char *tree_path(const struct tree *node);

/*
 * Reads one JSON document (RFC 8259) from @text, which ends at @end. Returns where the document
 * ended and sets *@root. Returns NULL, reported, at an error; @end with *@root NULL if only white
 * space was left. Adds the lines that it read to *@line.
 */
const char *json_read(struct tree_maker *maker, const char *text, const char *end,
		      unsigned int *line, struct tree **root);

/*
 * Parses an unread node in place. So the objects of a long list need not be in memory all at
 * once. Returns 0 or -EINVAL, reported.
 */
int json_open(struct tree_maker *maker, struct tree *node);

/*
 * Reads the YAML documents of @text one by one and calls @object for each root that is not null.
 * The tree is freed when @object returns; @object returns false to stop. Returns 0 or -EINVAL,
 * reported.
 */
int yaml_read(struct tree_maker *maker, const char *text, size_t size,
	      bool (*object)(void *data, struct tree *root), void *data);

#endif
