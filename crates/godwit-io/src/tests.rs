use std::path::PathBuf;

use super::*;

/// A buffer whose first byte is aligned as direct I/O requires.
#[repr(C, align(4096))]
struct Blocks([u8; 4 * ALIGNMENT_BYTES]);

fn blocks(seed: u8) -> Box<Blocks> {
    let mut blocks = Box::new(Blocks([0; 4 * ALIGNMENT_BYTES]));
    for (position, byte) in blocks.0.iter_mut().enumerate() {
        *byte = (position as u8).wrapping_mul(31).wrapping_add(seed);
    }
    blocks
}

fn test_directory(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("godwit-io-test-{}-{name}", std::process::id()))
}

fn check_round_trip(file: &dyn File) {
    let (first, second) = (blocks(1), blocks(2));
    let bytes = first.0.len() as u64;
    file.write_at(&second.0, bytes).unwrap();
    file.write_at(&first.0, 0).unwrap();
    let mut read = blocks(0);
    file.read_at(&mut read.0, bytes).unwrap();
    assert!(read.0 == second.0);
    file.read_at(&mut read.0, 0).unwrap();
    assert!(read.0 == first.0);
    file.truncate(bytes).unwrap();
    assert_eq!(file.read_at(&mut read.0, bytes).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    file.sync().unwrap();
}

#[test]
fn a_disk_file_returns_what_was_written_and_has_no_name() {
    let directory = test_directory("round-trip");
    for files in [DiskFiles::Direct, DiskFiles::Cached] {
        let file = files.create(&directory).unwrap();
        check_round_trip(file.as_ref());
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        assert!(files.available_bytes(&directory).unwrap() > 0);
    }
    std::fs::remove_dir(&directory).unwrap();
}

#[test]
fn a_simulated_file_behaves_like_a_disk_file() {
    let files = SimulatedFiles::new();
    let file = files.create(&test_directory("unused")).unwrap();
    check_round_trip(file.as_ref());
    assert_eq!(files.open_files(), 1);
    assert_eq!(files.stored_bytes(), 4 * ALIGNMENT_BYTES as u64);
    drop(file);
    assert_eq!((files.open_files(), files.stored_bytes()), (0, 0));
}

fn check_batches(queue: &mut dyn RequestQueue, file: &dyn File) {
    const REQUESTS: u8 = 21;
    let written: Vec<_> = (0..REQUESTS).map(blocks).collect();
    let offset = |place: usize| (place * written[0].0.len()) as u64;
    let mut writes: Vec<_> =
        written.iter().enumerate().map(|(place, data)| Request::write(file, offset(place), &data.0)).collect();
    queue.run(&mut writes);
    assert!(writes.iter().all(|request| request.result.is_ok()));
    let mut read: Vec<_> = (0..=REQUESTS).map(|_| blocks(0xff)).collect();
    let mut reads: Vec<_> =
        read.iter_mut().enumerate().map(|(place, data)| Request::read(file, offset(place), &mut data.0)).collect();
    queue.run(&mut reads);
    let results: Vec<_> = reads.into_iter().map(|request| request.result).collect();
    let (last, others) = results.split_last().unwrap();
    assert!(others.iter().all(Result::is_ok));
    assert_eq!(last.as_ref().unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "the file ends before");
    assert!(read.iter().zip(&written).all(|(read, written)| read.0 == written.0));
    queue.run(&mut []);
}

#[test]
fn every_queue_runs_batches_on_every_file() {
    let directory = test_directory("queues");
    for method in [IoMethod::Auto, IoMethod::Threads] {
        let (mut queue, description) = open_queue(method, 4).unwrap();
        assert!(!description.is_empty());
        for files in [DiskFiles::Direct, DiskFiles::Cached] {
            check_batches(queue.as_mut(), files.create(&directory).unwrap().as_ref());
        }
        let simulated = SimulatedFiles::new();
        check_batches(queue.as_mut(), simulated.create(&directory).unwrap().as_ref());
        let file = simulated.create(&directory).unwrap();
        simulated.fail_write(2, Fault::ShortWrite);
        let data = [blocks(1), blocks(2), blocks(3)];
        let mut writes = data.each_ref().map(|data| Request::write(file.as_ref(), 0, &data.0));
        queue.run(&mut writes);
        let full: Vec<_> = writes.iter().map(|request| request.result.as_ref().err().map(io::Error::kind)).collect();
        assert_eq!(full, [None, Some(io::ErrorKind::StorageFull), None]);
    }
    std::fs::remove_dir(&directory).unwrap();
}

#[test]
fn planned_faults_hit_their_call_only() {
    let files = SimulatedFiles::new();
    let file = files.create(&test_directory("unused")).unwrap();
    files.fail_write(2, Fault::DiskFull);
    files.fail_read(1, Fault::BitFlip);
    let data = blocks(3);
    file.write_at(&data.0, 0).unwrap();
    assert_eq!(file.write_at(&data.0, 0).unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.write_at(&data.0, 0).unwrap();
    let mut read = blocks(0);
    file.read_at(&mut read.0, 0).unwrap();
    assert!(read.0 != data.0);
    file.read_at(&mut read.0, 0).unwrap();
    assert!(read.0 == data.0);
}
