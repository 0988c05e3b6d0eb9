/* SPDX-License-Identifier: GPL-2.0-only */
/* Properties of standard output (width, colours), and tables and numbers that fit it. */
#ifndef BULKHEAD_CMD_SCREEN_H
#define BULKHEAD_CMD_SCREEN_H

#include <stddef.h>
#include <stdint.h>

/* Returns COLUMNS, else the terminal's columns; 0: no limit, since the output is a file or a
 * pipe: a shell may have exported COLUMNS, and what is kept is kept whole. */
size_t screen_width(void);

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_GOOD, PAINT_BAD, PAINT_WARN };

/* Returns the sequence that begins or ends a colour; "" if standard output is no terminal or
 * NO_COLOR is set. */
const char *paint_on(enum paint paint);
const char *paint_off(void);

/* Prints 12345 as "12.3 k", larger amounts with " M", " G" or " T", amounts below 10,000 in
 * full. Returns @text. */
#define AMOUNT_TEXT 24
char *amount_print(uint64_t amount, char text[AMOUNT_TEXT]);

/*
 * A table with columns as wide as their contents. Its last column is cut at the screen's edge,
 * and so is its widest if the others leave too little room.
 */
struct columns;
/* Takes titles up to NULL. '>' before a title aligns the column to the right. An empty first
 * title leaves out the line of titles. */
struct columns *columns_new(const char *const titles[]);
/* sets the next cell; NULL: an empty one */
void columns_add(struct columns *columns, const char *cell);
void columns_print(struct columns *columns); /* also frees the table */

#endif
