use std::sync::Arc;

use godwit_io::{DiskFault, SimulatedDisk};
use proptest::prelude::*;

use super::*;

const PATH: &str = "/db/x.godwit.wal";
const FIRST: CheckpointNumber = CheckpointNumber(1);

fn path() -> &'static Path {
    Path::new(PATH)
}

fn commit(log: &Log, payload: &[u8]) -> Result<()> {
    log.sync_to(log.append(payload)?)
}

fn reopen(disk: &SimulatedDisk, checkpoint: CheckpointNumber) -> Result<(Log, LogEnd, Vec<Vec<u8>>)> {
    let mut found = Vec::new();
    let (log, end) = Log::open(disk, path(), checkpoint, false, |payload| {
        found.push(payload.to_vec());
        Ok(())
    })?;
    Ok((log, end, found))
}

#[test]
fn commits_are_replayed_until_a_checkpoint_takes_them_over() {
    let disk = SimulatedDisk::new();
    let log = Log::create(&disk, path(), FIRST).unwrap();
    commit(&log, b"one").unwrap();
    commit(&log, b"").unwrap();
    drop(log);
    let (log, end, found) = reopen(&disk, FIRST).unwrap();
    assert_eq!((end, found), (LogEnd::Clean, vec![b"one".to_vec(), Vec::new()]));
    commit(&log, b"three").unwrap();
    assert_eq!(reopen(&disk, FIRST).unwrap().2.len(), 3);
    // A crash between the header switch and the restart of the log.
    assert_eq!(reopen(&disk, FIRST.next()).unwrap().2.len(), 0);
    let (log, _, _) = reopen(&disk, FIRST.next()).unwrap();
    commit(&log, b"four").unwrap();
    log.restart(CheckpointNumber(3)).unwrap();
    assert_eq!(log.bytes(), 0);
    commit(&log, b"five").unwrap();
    assert_eq!(reopen(&disk, CheckpointNumber(3)).unwrap().2, [b"five"]);
    let error = reopen(&disk, FIRST).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn a_failed_sync_stops_commits() {
    let disk = SimulatedDisk::new();
    let log = Log::create(&disk, path(), FIRST).unwrap();
    commit(&log, b"one").unwrap();
    disk.fail(2, DiskFault::Broken);
    let position = log.append(b"two").unwrap();
    assert_eq!(log.sync_to(position).unwrap_err().kind(), ErrorKind::Io);
    assert!(log.append(b"three").unwrap_err().message().contains("nothing more can be committed"));
    // A full disk fails only the one commit.
    let (log, ..) = reopen(&disk, FIRST).unwrap();
    disk.fail(1, DiskFault::Full);
    assert_eq!(commit(&log, b"three").unwrap_err().kind(), ErrorKind::Resource);
    commit(&log, b"four").unwrap();
    let found = reopen(&disk, FIRST).unwrap().2;
    assert_eq!(found.last().unwrap(), b"four");
}

#[test]
fn records_are_written_into_room() {
    let disk = SimulatedDisk::new();
    let log = Log::create(&disk, path(), FIRST).unwrap();
    let length = || disk.content(path()).unwrap().len() as u64;
    commit(&log, b"one").unwrap();
    let first = length();
    assert!(first >= RECORDS_AT + log.bytes() + ROOM_BYTES_MIN);
    commit(&log, b"two").unwrap();
    assert_eq!(length(), first);
    commit(&log, &vec![1; first as usize]).unwrap();
    assert!(length() > 2 * first);
    drop(log);
    let whole = length();
    let (log, end, found) = reopen(&disk, FIRST).unwrap();
    assert_eq!((end, found.len(), length()), (LogEnd::Clean, 3, whole));
    commit(&log, b"four").unwrap();
    assert_eq!(length(), whole);
    log.restart(FIRST.next()).unwrap();
    assert_eq!(length(), RECORDS_AT);
}

#[test]
fn many_threads_share_syncs() {
    let disk = SimulatedDisk::new();
    let log = Arc::new(Log::create(&disk, path(), FIRST).unwrap());
    let threads: Vec<_> = (0..4u8)
        .map(|thread| {
            let log = log.clone();
            std::thread::spawn(move || (0..100u8).for_each(|round| commit(&log, &[thread, round]).unwrap()))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let found = reopen(&disk, FIRST).unwrap().2;
    assert_eq!(found.len(), 400);
    for thread in 0..4 {
        let rounds: Vec<u8> = found.iter().filter(|payload| payload[0] == thread).map(|payload| payload[1]).collect();
        assert!(rounds.is_sorted() && rounds.len() == 100);
    }
}

/// A log of some commits, and where it ends.
fn log_of(payloads: &[Vec<u8>]) -> (SimulatedDisk, usize) {
    let disk = SimulatedDisk::new();
    let log = Log::create(&disk, path(), FIRST).unwrap();
    payloads.iter().for_each(|payload| commit(&log, payload).unwrap());
    let end = RECORDS_AT + log.bytes();
    (disk, end as usize)
}

fn disk_with(log: &[u8]) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.open(path(), OpenMode::Create).unwrap().write_at(log, 0).unwrap();
    disk
}

/// The state that a power failure may leave if no note ever reached the disk.
fn without_notes(disk: &SimulatedDisk) {
    disk.open(path(), OpenMode::Write).unwrap().write_at(&note(FIRST, RECORDS_AT), HEADER_BYTES).unwrap();
}

fn payloads() -> [Vec<u8>; 5] {
    [vec![7; 20], vec![0; 30], [vec![3; 9], vec![0; 200]].concat(), vec![], vec![0; 12]]
}

/// Each byte is damaged in turn, in logs whose payloads end with zeros: either everything acknowledged is there, or the
/// damage is reported.
#[test]
fn each_damaged_byte_is_found() {
    for commits in 1..=payloads().len() {
        let payloads = &payloads()[..commits];
        let (disk, end) = log_of(payloads);
        let whole = disk.content(path()).unwrap();
        for at in 0..end {
            let disk = disk_with(&whole);
            let in_note = (HEADER_BYTES..RECORDS_AT).contains(&(at as u64));
            disk.flip_bit(path(), at, at as u8 % 8);
            match reopen(&disk, FIRST) {
                Ok((_, torn, found)) => {
                    assert_eq!((in_note, torn, &found[..]), (true, LogEnd::Clean, payloads), "byte {at}")
                }
                Err(error) => assert_eq!((error.kind(), in_note), (ErrorKind::Corrupt, false), "byte {at}: {error}"),
            }
        }
    }
}

/// Without notes, only for the last record it is unknown whether it ever reached the disk.
#[test]
fn without_notes_a_damaged_byte_is_found_or_is_one_of_the_last_record() {
    for commits in 1..=payloads().len() {
        let payloads = &payloads()[..commits];
        let (disk, end) = log_of(payloads);
        without_notes(&disk);
        let whole = disk.content(path()).unwrap();
        let last = end - FRAME_BYTES - payloads[commits - 1].len();
        for at in (0..HEADER_BYTES as usize).chain(RECORDS_AT as usize..end) {
            let disk = disk_with(&whole);
            disk.flip_bit(path(), at, at as u8 % 8);
            match reopen(&disk, FIRST) {
                Ok((_, torn, found)) => {
                    assert!(at >= last && torn != LogEnd::Clean, "byte {at} of {commits} commits: {torn:?}");
                    assert_eq!(found, payloads[..commits - 1], "byte {at} of {commits} commits");
                }
                Err(error) => assert_eq!((error.kind(), at < last), (ErrorKind::Corrupt, true), "byte {at}: {error}"),
            }
        }
    }
}

/// The log is cut off anywhere, or bytes are inserted or removed in the middle, which moves all later records.
#[test]
fn a_log_of_another_length_lost_nothing_or_is_damaged() {
    // The last one doesn't end with zeros, which the zeros after it could stand in for.
    let payloads = &payloads()[..4];
    let (disk, end) = log_of(payloads);
    let whole = disk.content(path()).unwrap();
    let opened = |content: &[u8]| reopen(&disk_with(content), FIRST).map(|(_, _, found)| found);
    for at in 0..whole.len().min(end + 100) {
        match opened(&whole[..at]) {
            Ok(found) => assert!(at >= end && found == payloads, "cut off at {at} of {end}"),
            Err(error) => assert!(at < end && error.kind() == ErrorKind::Corrupt, "cut off at {at}: {error}"),
        }
        let longer = [&whole[..at], &[9], &whole[at..]].concat();
        let shorter = [&whole[..at], &whole[at + 1..]].concat();
        for moved in [longer, shorter] {
            let is_lost = opened(&moved).is_err_and(|error| error.kind() == ErrorKind::Corrupt);
            assert_eq!(is_lost, at < end, "moved from byte {at} of {end}");
        }
    }
}

/// Logs of the format before the note, whose records begin right after the header.
#[test]
fn a_log_without_a_note_goes_on_until_the_next_checkpoint() {
    let disk = SimulatedDisk::new();
    let file = disk.open(path(), OpenMode::Create).unwrap();
    let mut header = [&MAGIC[..], &5u32.to_le_bytes(), &FIRST.0.to_le_bytes()].concat();
    header.extend(checksum(&header, 0).to_le_bytes());
    file.write_at(&header, 0).unwrap();
    for commits in 0..3 {
        let (log, end, found) = reopen(&disk, FIRST).unwrap();
        assert_eq!((end, found.len()), (LogEnd::Clean, commits));
        commit(&log, b"one more").unwrap();
    }
    let (log, _, found) = reopen(&disk, FIRST).unwrap();
    assert_eq!((found.len(), log.bytes()), (3, 3 * (FRAME_BYTES as u64 + 8)));
    log.restart(FIRST.next()).unwrap();
    commit(&log, b"with a note").unwrap();
    assert_eq!(reopen(&disk, FIRST.next()).unwrap().2, [b"with a note"]);
}

#[test]
fn a_log_without_a_header_is_damaged_beside_a_database() {
    let disk = SimulatedDisk::new();
    let log = Log::create(&disk, path(), FIRST).unwrap();
    assert!(!Log::remove_unfinished(&disk, path()).unwrap(), "it has a header");
    commit(&log, b"one").unwrap();
    drop(log);
    let file = disk.open(path(), OpenMode::Write).unwrap();
    file.write_at(&[0; HEADER_BYTES as usize], 0).unwrap();
    assert_eq!(reopen(&disk, FIRST).err().unwrap().kind(), ErrorKind::Corrupt);
    assert!(!Log::remove_unfinished(&disk, path()).unwrap(), "it has records");
    for bytes in [RECORDS_AT, HEADER_BYTES, 0] {
        file.truncate(bytes).unwrap();
        assert_eq!(reopen(&disk, FIRST).err().unwrap().kind(), ErrorKind::Corrupt);
    }
    // Nothing is lost from a log that was still being created.
    assert!(Log::remove_unfinished(&disk, path()).unwrap());
    assert!(disk.content(path()).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The plug is pulled anywhere: everything acknowledged is there, in order, and beyond that at most the commit in
    /// progress.
    #[test]
    fn a_power_failure_loses_no_commit(
        commits in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..2000), any::<bool>()), 1..20),
        at in 1u64..40,
        seed in any::<u64>(),
    ) {
        let disk = SimulatedDisk::new();
        let log = Log::create(&disk, path(), FIRST).unwrap();
        disk.fail(at, DiskFault::Crash);
        let mut acknowledged = 0;
        let mut tried = Vec::new();
        for (payload, syncs) in commits {
            tried.push(payload.clone());
            let Ok(position) = log.append(&payload) else { break };
            if syncs {
                if log.sync_to(position).is_err() {
                    break;
                }
                acknowledged = tried.len();
            }
        }
        let disk = disk.restart(seed);
        let (log, _, found) = reopen(&disk, FIRST).unwrap();
        prop_assert!(found.len() >= acknowledged, "{} of {acknowledged} commits found", found.len());
        prop_assert_eq!(&found[..], &tried[..found.len()]);
        // The log can still be used.
        commit(&log, b"next").unwrap();
        prop_assert_eq!(reopen(&disk, FIRST).unwrap().2.len(), found.len() + 1);
    }

    #[test]
    fn a_flipped_bit_is_found_or_does_no_harm(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let payloads = [10, 300, 40, 5].map(|length| vec![length as u8; length]);
        let (disk, end) = log_of(&payloads);
        let at = at.index(end + 100);
        disk.flip_bit(path(), at, bit);
        match reopen(&disk, FIRST) {
            Ok((_, torn, found)) => {
                let behind = if at < end { LogEnd::Clean } else { LogEnd::Torn((at - end + 1) as u64) };
                prop_assert_eq!((torn, &found[..]), (behind, &payloads[..]), "byte {}", at);
            }
            Err(error) => prop_assert_eq!((error.kind(), at < end), (ErrorKind::Corrupt, true)),
        }
    }
}
