// SPDX-License-Identifier: GPL-2.0-or-later
//! symbol_peers addr2line|blazesym FILE < ADDRESSES
//!
//! Looks the addresses up, whole inlined chains with lines, as each library has them: names mangled
//! and names demangled. Once to fill its caches, then again, and prints that time.
use std::hint::black_box;
use std::io::BufRead;
use std::time::Instant;

fn with_addr2line(path: &str, addresses: &[u64], demangles: bool) -> u64 {
    thread_local!(static LOADER: std::cell::RefCell<Option<addr2line::Loader>> = const { std::cell::RefCell::new(None) });
    LOADER.with(|cell| {
        let mut slot = cell.borrow_mut();
        let loader = slot.get_or_insert_with(|| addr2line::Loader::new(path).expect("a readable file"));
        let mut frames_found = 0;
        for address in addresses {
            let Ok(mut frames) = loader.find_frames(*address) else { continue };
            while let Ok(Some(frame)) = frames.next() {
                frames_found += 1;
                black_box(frame.location.as_ref().map(|l| (l.file, l.line, l.column)));
                if let Some(name) = &frame.function {
                    if demangles {
                        black_box(name.demangle().map(|n| n.len()).unwrap_or(0));
                    } else {
                        black_box(name.raw_name().map(|n| n.len()).unwrap_or(0));
                    }
                }
            }
        }
        frames_found
    })
}

fn with_blazesym(path: &str, addresses: &[u64], demangles: bool) -> u64 {
    use blazesym::symbolize::{source, Input, Symbolizer};
    thread_local!(static SYMBOLIZERS: std::cell::RefCell<[Option<Symbolizer>; 2]> = const { std::cell::RefCell::new([None, None]) });
    SYMBOLIZERS.with(|cell| {
        let mut slots = cell.borrow_mut();
        let symbolizer = slots[demangles as usize].get_or_insert_with(|| {
            Symbolizer::builder().enable_inlined_fns(true).enable_code_info(true).enable_demangling(demangles).build()
        });
        let elf = source::Source::Elf(source::Elf::new(path));
        let mut frames_found = 0;
        for chunk in addresses.chunks(1000) {
            let symbols = symbolizer.symbolize(&elf, Input::VirtOffset(chunk)).expect("a readable file");
            for symbol in symbols.iter().filter_map(|s| s.as_sym()) {
                frames_found += 1 + symbol.inlined.len() as u64;
                black_box(symbol);
            }
        }
        frames_found
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let look_up = match arguments.get(1).map(String::as_str) {
        Some("addr2line") => with_addr2line,
        Some("blazesym") => with_blazesym,
        _ => panic!("usage: symbol_peers addr2line|blazesym FILE < ADDRESSES"),
    };
    let path = &arguments[2];
    let addresses: Vec<u64> = std::io::stdin()
        .lock()
        .lines()
        .map(|line| u64::from_str_radix(line.unwrap().trim_start_matches("0x"), 16).expect("an address"))
        .collect();
    for demangles in [false, true] {
        let begun = Instant::now();
        look_up(path, &addresses, demangles);
        let first = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let frames = look_up(path, &addresses, demangles);
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{:<10} {:<9} {:>9.3} M chains/s warm, {:.2} frames each, {:.2} s for the first time",
            arguments[1],
            if demangles { "demangled" } else { "mangled" },
            addresses.len() as f64 / seconds / 1e6,
            frames as f64 / addresses.len() as f64,
            first
        );
    }
}
