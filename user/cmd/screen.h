/* SPDX-License-Identifier: GPL-2.0-only */
/* What standard output is: how wide, whether it has colours; and tables and numbers that fit it. */
#ifndef BULKHEAD_CMD_SCREEN_H
#define BULKHEAD_CMD_SCREEN_H

#include <stddef.h>
#include <stdint.h>

/* In columns: what COLUMNS says, else the terminal; 0: no limit, a file or a pipe. */
size_t screen_width(void);

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_GOOD, PAINT_BAD, PAINT_WARN };

/* What begins and ends a colour: "" where standard output is no terminal, or NO_COLOR is set. */
const char *paint_on(enum paint paint);
const char *paint_off(void);

/* "12,345" becomes "12.3 k", with " k", " M", " G", " T"; below 10,000 as it is. Returns @text. */
#define AMOUNT_TEXT 24
char *amount_print(uint64_t amount, char text[AMOUNT_TEXT]);
/* The same of bytes: "1.5 MB", by thousands. */
char *bytes_print(uint64_t bytes, char text[AMOUNT_TEXT]);

/*
 * A table that is as wide as what stands in it. Its last column is cut where the screen ends, and
 * so is its widest one where the others leave it no room.
 */
struct columns;
/* Titles up to NULL; one that begins with '>' has its column at the right ("" : no title line). */
struct columns *columns_new(const char *const titles[]);
void columns_add(struct columns *columns, const char *cell); /* the next cell; NULL: an empty one */
void columns_number(struct columns *columns, uint64_t number);
void columns_print(struct columns *columns); /* and frees it */

#endif
