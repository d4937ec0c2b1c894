/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recursion of as many frames as the argument says. */
#include <stdlib.h>

__attribute__((noinline, noclone)) static int descend(int depth)
{
	int sum = 0;

	if (depth > 0)
		sum = descend(depth - 1);
	for (volatile int i = 0; i < 3000; i++)
		sum += i;
	return sum;
}

int main(int count, char **arguments)
{
	volatile int sum = 0;

	for (;;)
		sum += descend(atoi(arguments[count - 1]));
}
