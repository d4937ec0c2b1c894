/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that end, and threads that stay, with a lock between them. */
#include <pthread.h>

#define APART __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long total;

APART static void spin(unsigned long turns)
{
	for (volatile unsigned long i = 0; i < turns; i++)
		;
}

APART static void count(unsigned long turns)
{
	spin(turns);
	pthread_mutex_lock(&lock);
	total += turns;
	pthread_mutex_unlock(&lock);
}

static void *stay(void *unused)
{
	for (;;)
		count(50000);
	return unused;
}

static void *end(void *unused)
{
	count(500000);
	return unused;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, stay, NULL);
	for (;;) {
		pthread_create(&thread, NULL, end, NULL);
		count(100000);
		pthread_join(thread, NULL);
	}
}
