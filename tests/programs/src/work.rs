// SPDX-License-Identifier: GPL-2.0-or-later
// Rust: iterators, hash maps, threads, panics that are caught (if the program unwinds).
use std::collections::HashMap;
use std::hint::black_box;

#[inline(never)]
fn count_words(seed: usize) -> usize {
    let mut words: HashMap<String, usize> = HashMap::new();
    for i in 0..500 {
        *words.entry(format!("word{}", seed * i % 101)).or_insert(0) += 1;
    }
    words.values().max().copied().unwrap_or(0)
}

#[inline(never)]
fn sort(seed: u64) -> u64 {
    let mut numbers: Vec<u64> = (0..2000).map(|i| (i * 7919 + seed) % 1009).collect();
    numbers.sort_by(|a, b| b.cmp(a));
    numbers[0]
}

#[inline(never)]
fn fibonacci(n: u32) -> u32 {
    if n < 2 { n } else { black_box(fibonacci(n - 1)) + fibonacci(n - 2) }
}

#[inline(never)]
fn turn(seed: usize) -> usize {
    let found = std::panic::catch_unwind(|| if seed == usize::MAX { panic!() } else { seed });
    count_words(seed) + sort(seed as u64) as usize + fibonacci(15) as usize + found.unwrap_or(0)
}

fn main() {
    std::thread::spawn(|| for seed in 0.. { black_box(turn(seed)); });
    for seed in 0.. {
        black_box(turn(seed));
    }
}
