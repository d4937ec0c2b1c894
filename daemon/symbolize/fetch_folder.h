/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder for a process of whatever user, until it and what is in it are removed. It lies in one
 * that none but this process's user can enter, so that only who is given its descriptor can have
 * anything to do with it. As long as somebody has the outer one open it is locked (flock), so that
 * nobody takes it for a dead process's.
 */
#pragma once

#include <stddef.h>

struct fetch_folder {
	int parent_fd; /* -1: none */
	int outer_fd;
	int fd;	       /* of the folder, to be given away */
	char name[32]; /* of the outer one, in the parent */
};

/* Returns 0 or -errno. */
int fetch_folder_make(const char *parent, struct fetch_folder *ret_folder);

/* Whatever was put into it: links are not followed, and the depth and number of what is looked at
 * are bounded. What cannot be removed stays: a process of another user can see to that. */
void fetch_folder_remove(struct fetch_folder *folder);

/* Removes such folders of processes that are gone. Returns how many. */
size_t fetch_folder_sweep(const char *parent);
