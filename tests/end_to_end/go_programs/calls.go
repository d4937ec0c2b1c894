// SPDX-License-Identifier: GPL-2.0-or-later

// Spends nearly all of its time in C, called through three functions of Go; then in Go, called by C.
package main

/*
#include <stdint.h>

extern uint64_t goWork(uint64_t rounds);

static __attribute__((noinline)) uint64_t burn(uint64_t rounds)
{
	volatile uint64_t sum = 1;

	for (uint64_t i = 0; i < rounds; i++)
		sum = sum * 3 + i;
	return sum;
}

static __attribute__((noinline)) uint64_t call_back(uint64_t rounds)
{
	return goWork(rounds) + 1;
}
*/
import "C"

import (
	"os"
	"time"
)

var sum uint64

//export goWork
func goWork(rounds C.uint64_t) C.uint64_t {
	return C.uint64_t(work(uint64(rounds)))
}

//go:noinline
func work(rounds uint64) uint64 {
	result := uint64(1)
	for i := uint64(0); i < rounds; i++ {
		result = result*3 + i
	}
	return result
}

//go:noinline
func inner() { sum += uint64(C.burn(1000000)) }

//go:noinline
func outer() { inner(); sum++ }

//go:noinline
func through() { sum += uint64(C.call_back(1000000)) }

func main() {
	milliseconds, _ := time.ParseDuration(os.Args[1])
	for end := time.Now().Add(milliseconds); time.Now().Before(end); {
		outer()
		through()
	}
}
