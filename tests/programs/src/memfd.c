/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes a program from a memfd. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	int from = open(arguments[count - 1], O_RDONLY);
	int to = memfd_create("program", MFD_CLOEXEC);
	struct stat status;

	if (from < 0 || to < 0 || fstat(from, &status) < 0 ||
		sendfile(to, from, NULL, (size_t)status.st_size) != status.st_size)
		return 1;
	fexecve(to, arguments, environ);
	return 1;
}
