/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_owner.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int file_owner_read(int fd, struct file_owner *ret_owner)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*ret_owner = (struct file_owner){
		.is_trusted = (status.st_uid == 0 || status.st_uid == geteuid()) &&
			      !(status.st_mode & S_IWOTH),
		.uid = status.st_uid,
	};
	return 0;
}

bool file_owner_is_trusted(int fd)
{
	struct file_owner owner;

	return file_owner_read(fd, &owner) == 0 && owner.is_trusted;
}
