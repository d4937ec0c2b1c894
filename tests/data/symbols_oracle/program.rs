// SPDX-License-Identifier: GPL-2.0-or-later
// Generic code that inlines deeply, and the standard library that is linked to it.
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;

trait Shape {
    fn area(&self) -> f64;
}

struct Polygon<const CORNERS: usize>(f64);

impl<const CORNERS: usize> Shape for Polygon<CORNERS> {
    fn area(&self) -> f64 {
        CORNERS as f64 * self.0 * self.0 / 4.0
    }
}

fn join<T: Display>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| format!("{item}")).collect::<Vec<_>>().join(",")
}

#[inline(never)]
fn count_words(text: &str) -> usize {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut lengths: BTreeMap<usize, HashSet<&str>> = BTreeMap::new();

    for (i, word) in text.split(|c: char| !c.is_alphanumeric()).enumerate() {
        places.entry(word.to_lowercase()).or_default().push(i);
        lengths.entry(word.len()).or_default().insert(word);
    }
    places.values().map(Vec::len).max().unwrap_or(0) + lengths.len()
}

#[inline(never)]
fn sum_of_areas(count: usize) -> f64 {
    let mut shapes: Vec<Box<dyn Shape>> = (0..count)
        .map(|i| -> Box<dyn Shape> {
            if i % 2 == 0 {
                Box::new(Polygon::<4>(i as f64))
            } else {
                Box::new(Polygon::<6>(i as f64 + 0.5))
            }
        })
        .collect();
    shapes.sort_by(|a, b| b.area().total_cmp(&a.area()));
    shapes.iter().map(|shape| shape.area()).filter(|area| *area > 1.0).sum()
}

#[inline(never)]
fn sort_and_pick<T: Ord + Clone + Default>(mut items: Vec<T>) -> T {
    items.sort();
    items.dedup();
    items.sort_unstable_by(|a, b| b.cmp(a));
    items.get(items.len() / 3).cloned().unwrap_or_default()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = join(arguments.iter()) + &join([2.5, 3.5].into_iter()) + &join(0..arguments.len());

    println!("{} {}", count_words(&text), sum_of_areas(arguments.len() * 9));
    println!("{} {}", sort_and_pick(arguments), sort_and_pick(vec![3, 1, text.len()]));
}
