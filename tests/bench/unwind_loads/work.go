// SPDX-License-Identifier: GPL-2.0-or-later

// Recursion, goroutines, the collector.
package main

import (
	"fmt"
	"sort"
	"strings"
)

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func work(done chan<- int) {
	texts := []string{}
	for i := 0; i < 2000; i++ {
		texts = append(texts, fmt.Sprint(i))
	}
	sort.Strings(texts)
	done <- fibonacci(20) + len(strings.Join(texts, ","))
}

func main() {
	done := make(chan int)
	for {
		for i := 0; i < 4; i++ {
			go work(done)
		}
		for i := 0; i < 4; i++ {
			<-done
		}
	}
}
