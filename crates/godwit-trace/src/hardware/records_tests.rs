//! Tests with hand-made, recorded and random bytes of ring buffers.

use super::records::{Layout, RawSample, Readable, Tallies, parse};
use proptest::prelude::*;

const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const UNTHROTTLE: u32 = 6;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const USER: u16 = 2;
const KERNEL: u16 = 1;

fn header(kind: u32, misc: u16, size: u16) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend(size.to_ne_bytes());
    bytes
}

fn record(kind: u32, misc: u16, body: &[u64]) -> Vec<u8> {
    let mut bytes = header(kind, misc, 8 + 8 * body.len() as u16);
    bytes.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
    bytes
}

/// The process and the thread, as they lie in memory.
fn thread(process: u32, thread: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&process.to_ne_bytes());
    bytes[4..].copy_from_slice(&thread.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn sample(number: u32, time: u64, address: u64) -> Vec<u8> {
    record(SAMPLE, USER, &[thread(1, number), time, address])
}

fn read(bytes: Readable<'_>, layout: Layout) -> (Vec<RawSample>, Tallies) {
    let (mut samples, mut tallies) = (Vec::new(), Tallies::default());
    parse(bytes, layout, &mut tallies, &mut |sample| samples.push(sample));
    (samples, tallies)
}

fn read_line(bytes: &[u8]) -> (Vec<RawSample>, Tallies) {
    read(Readable { first: bytes, second: &[] }, Layout::Address)
}

/// Reads the bytes between tail and head of a ring.
fn read_ring(ring: &[u8], tail: u64, head: u64) -> Option<(Vec<RawSample>, Tallies)> {
    let (first, second) = Readable::ranges(ring.len(), tail, head)?;
    Some(read(Readable { first: &ring[first], second: &ring[second] }, Layout::Address))
}

/// A ring that holds these bytes, starting at a position.
fn ring_with(ring_bytes: usize, tail: u64, bytes: &[u8]) -> Vec<u8> {
    let mut ring = vec![0xaa; ring_bytes];
    for (at, &byte) in bytes.iter().enumerate() {
        ring[(tail.wrapping_add(at as u64) % ring_bytes as u64) as usize] = byte;
    }
    ring
}

#[test]
fn every_kind_of_record_is_sampled_counted_or_skipped() {
    let bytes = [
        sample(7, 100, 0xabcd),
        record(LOST, 0, &[73, 40]),
        record(LOST_SAMPLES, 0, &[5]),
        record(THROTTLE, 0, &[1, 2, 3]),
        record(UNTHROTTLE, 0, &[1, 2, 3]),
        record(3, 0, &[1, 2]),
        record(1_000_000, 0xffff, &[0; 100]),
        record(LOST, 0, &[73, 2]),
        sample(8, 101, 0xabce),
        record(SAMPLE, KERNEL, &[thread(1, 7), 102, 0xabcf]),
        sample(7, 103, 0),
    ]
    .concat();
    let (samples, tallies) = read_line(&bytes);
    let first = RawSample { thread: 7, time: 100, address: 0xabcd };
    assert_eq!(samples, [first, RawSample { thread: 8, time: 101, address: 0xabce }]);
    let expected = Tallies { samples: 2, others: 2, lost: 42, lost_by_processor: 5, throttled: 1, damaged: 0 };
    assert_eq!(tallies, expected);
}

#[test]
fn ibs_samples_are_of_loads_by_their_data_source() {
    let (not_available, load, store) = (1, 2, 4);
    let of = |source: u64| record(SAMPLE, USER, &[thread(1, 7), 100, 0xabcd, source | 0x80 << 5]);
    let bytes = [of(load), of(store), of(not_available), of(load)].concat();
    let (samples, tallies) = read(Readable { first: &bytes, second: &[] }, Layout::AddressAndSource);
    assert_eq!(samples, [RawSample { thread: 7, time: 100, address: 0xabcd }; 2]);
    assert_eq!((tallies.samples, tallies.others, tallies.damaged), (2, 2, 0));
}

#[test]
fn records_wrap_around_anywhere() {
    let bytes = [sample(1, 10, 0x1000), sample(2, 11, 0x2000), record(LOST, 0, &[0, 3])].concat();
    let expected = read_line(&bytes);
    assert_eq!(expected.0.len(), 2);
    for tail in 0..128 {
        let ring = ring_with(128, tail, &bytes);
        assert_eq!(read_ring(&ring, tail, tail + bytes.len() as u64).as_ref(), Some(&expected), "tail {tail}");
    }
}

#[test]
fn a_full_and_an_empty_ring_can_be_told_apart() {
    let bytes = [sample(1, 10, 1), sample(2, 11, 2), sample(3, 12, 3), sample(4, 13, 4)].concat();
    let ring = ring_with(128, 96, &bytes);
    assert_eq!(read_ring(&ring, 96, 96 + 128).unwrap().0.len(), 4);
    assert_eq!(read_ring(&ring, 96, 96).unwrap(), (vec![], Tallies::default()));
}

#[test]
fn positions_that_contradict_are_no_range() {
    assert_eq!(Readable::ranges(128, 0, 129), None);
    assert_eq!(Readable::ranges(128, 200, 100), None);
    assert_eq!(Readable::ranges(0, 0, 0), None);
    assert_eq!(Readable::ranges(128, 120, 136), Some((120..128, 0..8)));
    // Positions that wrap around at the end of 64 bits.
    assert_eq!(Readable::ranges(128, u64::MAX - 7, 8), Some((120..128, 0..8)));
}

#[test]
fn what_is_no_record_is_damage_up_to_the_head() {
    let good = sample(1, 10, 0x1000);
    for (what, torn) in [
        ("size 0", header(SAMPLE, USER, 0)),
        ("less than a header", header(SAMPLE, USER, 7)),
        ("beyond the head", header(SAMPLE, USER, 64)),
        ("the largest", header(SAMPLE, USER, u16::MAX)),
        ("misaligned", header(SAMPLE, USER, 9)),
        ("half a header", vec![9, 0, 0, 0]),
        ("one byte", vec![9]),
    ] {
        let bytes = [good.clone(), torn, vec![0; 16], good.clone()].concat();
        let up_to_torn = bytes.len() - 16 - good.len();
        for bytes in [&bytes[..], &bytes[..up_to_torn]] {
            let (samples, tallies) = read_line(bytes);
            assert_eq!((samples.len(), tallies.samples, tallies.damaged), (1, 1, 1), "{what}");
        }
    }
}

#[test]
fn a_body_of_another_length_is_damage_of_one_record() {
    for odd in [
        record(SAMPLE, USER, &[thread(1, 7), 100]),
        record(SAMPLE, USER, &[thread(1, 7), 100, 0xabcd, 1]),
        record(SAMPLE, USER, &[]),
        record(LOST, 0, &[1]),
        record(LOST_SAMPLES, 0, &[]),
    ] {
        let bytes = [sample(1, 1, 1), odd, sample(2, 2, 2)].concat();
        let (samples, tallies) = read_line(&bytes);
        assert_eq!((samples.len(), tallies.damaged), (2, 1));
    }
}

/// The end of a ring of 4,096 bytes as Linux 6.18 wrote it, from position 4,000 onwards: 300 page faults filled it up
/// to 4,064 and overflowed it, it was read up to there, and two more followed. The second reading wraps around.
#[cfg(target_endian = "little")]
#[test]
fn a_recorded_ring_is_read() {
    let recorded: [u64; 19] = [
        0x0020_0002_0000_0009,
        0x0000_2c3f_0000_2c3f,
        0x0000_0189_8373_723c,
        0x0000_7f4f_2f0d_6000,
        0x0020_0002_0000_0009,
        0x0000_2c3f_0000_2c3f,
        0x0000_0189_8373_795a,
        0x0000_7f4f_2f0d_7000,
        0x0018_0000_0000_0002,
        0x0000_0000_0000_0049,
        0x0000_0000_0000_00ad,
        0x0020_0002_0000_0009,
        0x0000_2c3f_0000_2c3f,
        0x0000_0189_8378_a095,
        0x0000_7f4f_2f18_5000,
        0x0020_0002_0000_0009,
        0x0000_2c3f_0000_2c3f,
        0x0000_0189_8378_ec20,
        0x0000_7f4f_2f18_6000,
    ];
    let bytes: Vec<u8> = recorded.iter().flat_map(|word| word.to_le_bytes()).collect();
    let ring = ring_with(4_096, 4_000, &bytes);
    let sample = |time, address| RawSample { thread: 11_327, time, address };

    let (samples, tallies) = read_ring(&ring, 4_000, 4_064).unwrap();
    assert_eq!(samples, [sample(0x189_8373_723c, 0x7f4f_2f0d_6000), sample(0x189_8373_795a, 0x7f4f_2f0d_7000)]);
    assert_eq!(tallies, Tallies { samples: 2, ..Tallies::default() });

    let (samples, tallies) = read_ring(&ring, 4_064, 4_152).unwrap();
    assert_eq!(samples, [sample(0x189_8378_a095, 0x7f4f_2f18_5000), sample(0x189_8378_ec20, 0x7f4f_2f18_6000)]);
    // 300 = 4,064 / 32 + 173.
    assert_eq!(tallies, Tallies { samples: 2, lost: 173, ..Tallies::default() });
}

/// A well-formed record, and the expected sample.
fn any_record() -> impl Strategy<Value = (Vec<u8>, Option<RawSample>)> {
    let loads = (any::<u32>(), any::<u64>(), 1_u64..)
        .prop_map(|(thread, time, address)| (sample(thread, time, address), Some(RawSample { thread, time, address })));
    let others = prop_oneof![Just(LOST), Just(THROTTLE), Just(LOST_SAMPLES), 14_u32..];
    let rest = (others, prop::collection::vec(0_u64..1 << 40, 2..12));
    prop_oneof![loads, rest.prop_map(|(kind, body)| (record(kind, 0, &body), None))]
}

proptest! {
    #[test]
    fn a_ring_is_read_as_a_line(records in prop::collection::vec(any_record(), 0..40), tail: u64) {
        let bytes: Vec<u8> = records.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let (samples, tallies) = read_line(&bytes);
        let expected: Vec<RawSample> = records.iter().filter_map(|&(_, sample)| sample).collect();
        prop_assert_eq!(&samples, &expected);
        prop_assert_eq!(tallies.damaged, 0);
        let ring = ring_with(bytes.len().next_power_of_two(), tail, &bytes);
        prop_assert_eq!(read_ring(&ring, tail, tail.wrapping_add(bytes.len() as u64)).unwrap(), (samples, tallies));
    }

    #[test]
    fn reading_in_pieces_loses_nothing(
        records in prop::collection::vec((any_record(), any::<bool>()), 0..60), start in 0_u64..1 << 40
    ) {
        let (mut position, mut samples, mut damaged) = (start, Vec::new(), 0);
        let mut pending = Vec::new();
        for ((bytes, _), read_now) in &records {
            pending.extend_from_slice(bytes);
            // The longest record has 96 bytes.
            if *read_now || pending.len() + 96 > 1_024 {
                let ring = ring_with(1_024, position, &pending);
                let head = position + pending.len() as u64;
                let (read, tallies) = read_ring(&ring, position, head).unwrap();
                samples.extend(read);
                damaged += tallies.damaged;
                position = head;
                pending.clear();
            }
        }
        samples.extend(read_line(&pending).0);
        prop_assert_eq!(samples, records.iter().filter_map(|((_, sample), _)| *sample).collect::<Vec<_>>());
        prop_assert_eq!(damaged, 0);
    }

    #[test]
    fn a_head_within_a_record_is_one_damage(
        records in prop::collection::vec(any_record(), 1..20), cut in any::<prop::sample::Index>(), tail: u64
    ) {
        let bytes: Vec<u8> = records.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let cut = cut.index(bytes.len() + 1);
        let (mut end, mut expected) = (0, Vec::new());
        for (bytes, sample) in &records {
            if end + bytes.len() > cut {
                break;
            }
            end += bytes.len();
            expected.extend(*sample);
        }
        let ring = ring_with(bytes.len().next_power_of_two(), tail, &bytes);
        let (samples, tallies) = read_ring(&ring, tail, tail.wrapping_add(cut as u64)).unwrap();
        prop_assert_eq!(samples, expected);
        prop_assert_eq!(tallies.damaged, u64::from(end != cut));
    }

    #[test]
    fn any_bytes_come_to_an_end(
        ring in prop::collection::vec(prop_oneof![Just(0_u8), Just(8), Just(9), Just(32), any::<u8>()], 1..400),
        tail: u64, length in 0_u64..500
    ) {
        let read = read_ring(&ring, tail, tail.wrapping_add(length));
        prop_assert_eq!(read.is_some(), length <= ring.len() as u64);
        if let Some((samples, tallies)) = read {
            prop_assert_eq!(samples.len() as u64, tallies.samples);
            prop_assert!(tallies.samples * 32 <= length);
        }
    }
}
