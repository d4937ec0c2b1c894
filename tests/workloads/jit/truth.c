/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "truth.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void truth_add(struct truth *truth, const char *name, uint64_t cpu_ns)
{
	unsigned i;

	for (i = 0; i < truth->count && strcmp(truth->names[i].name, name) != 0; i++)
		;
	if (i == TRUTH_NAMES_MAX) {
		(void)fprintf(stderr, "more than %d names\n", TRUTH_NAMES_MAX);
		exit(1);
	}
	if (i == truth->count) {
		truth->names[i].name = name;
		truth->names[i].cpu_ns = 0;
		truth->count++;
	}
	truth->names[i].cpu_ns += cpu_ns;
}

void truth_write(struct truth *truth)
{
	char text[TRUTH_NAMES_MAX * 256], comm[17] = "";
	size_t size = 0;
	int fd;

	if (!truth->path || truth->count == 0)
		return;
	(void)prctl(PR_GET_NAME, comm);
	for (unsigned i = 0; i < truth->count && size < sizeof(text); i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s\t%s\t%" PRIu64 "\n",
			comm, truth->names[i].name, truth->names[i].cpu_ns);
	fd = open(truth->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	/* A single write keeps the lines of several processes apart. */
	if (size >= sizeof(text) || fd < 0 || write(fd, text, size) != (ssize_t)size) {
		perror(truth->path);
		exit(1);
	}
	(void)close(fd);
	truth->count = 0;
}
