/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PROGRAM CASE COMM [WARM_UP_SECONDS [SECONDS]]: runs a case twice, each time for that much CPU
 * time. A child with the comm warm_up runs it first, so that the sampler learns about the files;
 * then the process itself runs it as COMM. It starts and ends under other names. A # in COMM
 * becomes a letter, from a on, that shows the phase of the case, which then lasts twice as long.
 */
#include "chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEAF_STEPS = 100000, PHASES = 24, PHASED_TIMES = 5 };

double seconds_of_case;
static double end_of_case;
static char *phased_comm, *phase_letter; /* NULL without phases */

static double used_seconds(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	perror(what);
	exit(1);
}

FRAME void leaf(void)
{
	unsigned long value = 1;

	for (unsigned i = 0; i < LEAF_STEPS; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(value));
	}
}

FRAME static void set_name(const char *name)
{
	must(prctl(PR_SET_NAME, name) == 0, "prctl");
}

FRAME static void set_phase(double now)
{
	double done = 1 - (end_of_case - now) / seconds_of_case;
	char letter = (char)('a' + (int)(done * PHASES));

	if (letter == *phase_letter || done >= 1)
		return;
	*phase_letter = letter;
	set_name(phased_comm);
	AFTER_CALL();
}

/* A case finishes its preparations before its first call. */
FRAME bool goes_on(void)
{
	double now = used_seconds();

	if (end_of_case == 0)
		end_of_case = now + seconds_of_case;
	if (phase_letter)
		set_phase(now);
	AFTER_CALL();
	return now < end_of_case;
}

static const struct chain_case *find_case(const char *name)
{
	for (const struct chain_case *found = chain_cases; found->name; found++)
		if (strcmp(found->name, name) == 0)
			return found;
	(void)fprintf(stderr, "no case %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	double warm_up_seconds = argc > 3 ? atof(argv[3]) : 0.2,
	       seconds = argc > 4 ? atof(argv[4]) : 0.7;
	const struct chain_case *chosen;
	int status;
	pid_t child;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: %s CASE COMM [WARM_UP_SECONDS [SECONDS]]\n", argv[0]);
		return 2;
	}
	chosen = find_case(argv[1]);
	set_name("warm_up");
	child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		seconds_of_case = warm_up_seconds;
		chosen->run();
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && status == 0, "the warm-up");

	seconds_of_case = seconds;
	phase_letter = strchr(argv[2], '#');
	if (phase_letter) {
		phased_comm = argv[2];
		*phase_letter = 'a';
		seconds_of_case *= PHASED_TIMES;
	}
	set_name(argv[2]);
	chosen->run();
	set_name("ending");
	return 0;
}
