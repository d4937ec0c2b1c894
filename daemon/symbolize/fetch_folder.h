/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A temporary folder in which a process of another user can write. It lies in an outer folder that
 * only this process's user can enter, so it can be reached only through its descriptor. The outer
 * folder is locked (flock) while a process has it open; a sweep removes folders without a lock.
 */
#pragma once

#include <stddef.h>

struct fetch_folder {
	int parent_fd; /* -1: none */
	int outer_fd;
	int fd;	       /* of the inner folder, for the other process */
	char name[32]; /* of the outer folder */
};

/* Returns 0 or -errno. */
int fetch_folder_make(const char *parent, struct fetch_folder *ret_folder);

/* Removes the folder and its contents, and closes it. Follows no links; depth and number of entries
 * are bounded. A process of another user can make entries that cannot be removed. */
void fetch_folder_remove(struct fetch_folder *folder);

/* Removes the folders of dead processes. Returns how many. */
size_t fetch_folder_sweep(const char *parent);
