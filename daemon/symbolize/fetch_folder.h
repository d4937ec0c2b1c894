/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder that belongs to a process without privileges, until it and what is in it are removed. As
 * long as somebody has it open it is locked (flock), so that nobody takes it for a dead process's.
 */
#pragma once

#include <stddef.h>

struct fetch_folder {
	int parent_fd; /* -1: none */
	int fd;	       /* of the folder */
	char name[32]; /* in the parent */
};

/* Nobody's where we are root. Returns 0 or -errno. */
int fetch_folder_make(const char *parent, struct fetch_folder *ret_folder);

/* Whatever was put into it: links are not followed, and the depth and number of what is looked at
 * are bounded. What cannot be removed stays. */
void fetch_folder_remove(struct fetch_folder *folder);

/* Removes such folders of processes that are gone. Returns how many. */
size_t fetch_folder_sweep(const char *parent);
