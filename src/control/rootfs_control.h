/*
 * rootfs_control.h: root file systems for classes, as the operator wants them.
 *
 * provider/store/rootfs.h makes and removes them on this host; which classes name one
 * is in the database.
 */
#ifndef SANDLEASE_CONTROL_ROOTFS_CONTROL_H
#define SANDLEASE_CONTROL_ROOTFS_CONTROL_H

#include "provider/store/rootfs.h"
#include "store/store.h"

/* As rootfs_list(), each with the names of its classes as an array `classes`. */
int rootfs_control_list(const struct conf *conf, struct store *st, json_t **out,
    struct err *e) MUST_CHECK;

/* Removes one that no class names and no sandbox runs from; else ERR_CONFLICT. */
int rootfs_control_remove(const struct conf *conf, struct store *st,
    const char *name, struct err *e) MUST_CHECK;

#endif
