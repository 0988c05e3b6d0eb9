/* SPDX-License-Identifier: GPL-2.0-only */
/* The version of the layout of all maps. Few files include it: who only raises it compiles these.
 */
#ifndef BULKHEAD_MAPS_ABI_H
#define BULKHEAD_MAPS_ABI_H

/* Changes with any layout in this folder. The command does not touch pins of another version. */
#define BH_ABI 16

#endif
