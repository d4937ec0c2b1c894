// SPDX-License-Identifier: GPL-2.0-or-later
// Go: goroutines, channels, maps, interfaces, closures, the garbage collector.
package main

import (
	"fmt"
	"sort"
	"strings"
)

//go:noinline
func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:noinline
func words(seed int) int {
	counts := map[string]int{}
	for i := 0; i < 300; i++ {
		counts[fmt.Sprintf("word%d", seed*i%101)]++
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	sort.Slice(names, func(a, b int) bool { return names[a] < names[b] })
	return len(strings.Join(names, " "))
}

func main() {
	results := make(chan int)
	for worker := 0; worker < 3; worker++ {
		go func() {
			for seed := 0; ; seed++ {
				results <- words(seed) + fibonacci(18)
			}
		}()
	}
	for sum := 0; ; {
		sum += <-results
	}
}
