/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzz target over files and folders of files without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t inputs;

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	uint8_t *bytes;
	size_t size;

	if (!file || fstat(fileno(file), &status) < 0) {
		perror(path);
		return -1;
	}
	size = (size_t)status.st_size;
	/* Exactly as long as the input, so that the sanitizer sees a read beyond it. */
	bytes = malloc(size ? size : 1);
	if (!bytes || fread(bytes, 1, size, file) != size) {
		perror(path);
		return -1;
	}
	(void)fclose(file);
	(void)LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	inputs++;
	return 0;
}

static int run_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char name[4096];
	int r = 0;

	if (!folder)
		return run_file(path);
	while (r == 0 && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		r = run_file(name);
	}
	(void)closedir(folder);
	return r;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (run_folder(argv[i]) < 0)
			return 1;
	printf("%zu inputs\n", inputs);
	return inputs > 0 ? 0 : 1;
}
