/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that loads and unloads itself as a library: cc -DLIBRARY. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

#ifdef LIBRARY

APART static int leaf(int turns)
{
	int sum = 0;

	for (volatile int i = 0; i < turns; i++)
		sum += i;
	return sum;
}

int run(int (*back)(int));
int run(int (*back)(int))
{
	return leaf(3000000) + back(3000000);
}

#else

APART static int back(int turns)
{
	int sum = 0;

	for (volatile int i = 0; i < turns; i++)
		sum -= i;
	return sum;
}

int main(int count, char **arguments)
{
	for (;;) {
		void *library = dlopen(arguments[count - 1], RTLD_NOW);
		int (*run)(int (*)(int)) =
			library ? (int (*)(int (*)(int)))dlsym(library, "run") : NULL;

		if (!run)
			return 1;
		run(back);
		dlclose(library);
	}
}

#endif
