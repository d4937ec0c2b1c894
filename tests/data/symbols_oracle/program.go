// SPDX-License-Identifier: GPL-2.0-or-later

// What Go's compiler inlines, and the runtime and libraries that are linked to it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
)

type polygon struct {
	Corners int
	Side    float64
}

func (p polygon) area() float64 { return float64(p.Corners) * p.Side * p.Side / 4 }

func countWords(text string) map[string][]int {
	places := map[string][]int{}
	for i, word := range regexp.MustCompile(`[a-z]+|[0-9]+`).FindAllString(text, -1) {
		word = strings.ToLower(word)
		places[word] = append(places[word], i)
	}
	return places
}

func main() {
	polygons := []polygon{}
	for i := range os.Args {
		polygons = append(polygons, polygon{i, 1.5}, polygon{6, float64(i)})
	}
	sort.Slice(polygons, func(i, j int) bool { return polygons[i].area() < polygons[j].area() })
	text, err := json.Marshal(polygons)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text), len(countWords(strings.Join(os.Args, " "))))
}
