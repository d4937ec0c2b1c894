// SPDX-License-Identifier: GPL-2.0-or-later

// Spends its time in Go alone, on goroutines that allocate and in one generic function.
package main

import (
	"os"
	"sort"
	"strconv"
	"time"
)

type number interface{ ~int | ~float64 }

//go:noinline
func spin[T number](rounds int) T {
	result := T(1)
	for i := 0; i < rounds; i++ {
		result = result*3 + T(i)
	}
	return result
}

//go:noinline
func leaf() int { return spin[int](200000) + int(spin[float64](200000)) }

//go:noinline
func sorted() int {
	texts := []string{}
	for i := 0; i < 2000; i++ {
		texts = append(texts, strconv.Itoa(i*7919))
	}
	sort.Strings(texts)
	return len(texts[0])
}

func main() {
	length, _ := time.ParseDuration(os.Args[1])
	end := time.Now().Add(length)
	done := make(chan int)
	for time.Now().Before(end) {
		for i := 0; i < 2; i++ {
			go func() { done <- leaf() + sorted() }()
		}
		<-done
		<-done
	}
}
