// SPDX-License-Identifier: GPL-2.0-or-later
// Recursion, formatting, hashing, sorting; in a thread.
use std::collections::HashMap;

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

fn work() {
    loop {
        let map: HashMap<String, u64> = (0..5000u64).map(|i| (i.to_string(), i)).collect();
        let mut values: Vec<_> = map.values().cloned().collect();
        values.sort();
        std::hint::black_box(fibonacci(20) + values[0]);
    }
}

fn main() {
    std::thread::spawn(work).join().unwrap();
}
