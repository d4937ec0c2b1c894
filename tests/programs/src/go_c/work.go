// SPDX-License-Identifier: GPL-2.0-or-later
// Go calls C, and C calls Go.
package main

/*
#include <stdlib.h>
extern int back(int);
static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
__attribute__((noinline)) static int in_c(int seed)
{
	int numbers[500];
	for (int i = 0; i < 500; i++)
		numbers[i] = (seed + i) * 7919 % 1009;
	qsort(numbers, 500, sizeof(*numbers), compare);
	return numbers[0] + back(seed);
}
static int call_c(int seed) { return in_c(seed); }
*/
import "C"

//export back
func back(seed C.int) C.int {
	sum := C.int(0)
	for i := C.int(0); i < 20000; i++ {
		sum += (seed ^ i) % 7
	}
	return sum
}

func main() {
	for seed := C.int(0); ; seed++ {
		C.call_c(seed % 1000)
	}
}
