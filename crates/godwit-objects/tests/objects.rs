//! Files in a stand-in for S3: reads and writes, the number of requests that they take, and the reporting of failures.

mod support;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use godwit_io::{DiskSystem, FileKind, Files, Input, InputFile, Interrupt, interruptible};
use godwit_memory::{BufferConfig, BufferManager};
use godwit_objects::{ObjectFiles, ObjectSetting, ObjectSettings};
use support::{Fault, Server};

struct Setup {
    server: Server,
    settings: Arc<ObjectSettings>,
    memory: BufferManager,
    files: ObjectFiles,
}

fn setup() -> Setup {
    let server = Server::start();
    let settings = Arc::<ObjectSettings>::default();
    for (setting, value) in [
        (ObjectSetting::S3Endpoint, server.url()),
        (ObjectSetting::S3AccessKeyId, "the-key".into()),
        (ObjectSetting::S3SecretAccessKey, "the-secret".into()),
        (ObjectSetting::S3Region, "eu-central-1".into()),
    ] {
        settings.set(setting, Some(value));
    }
    let memory = BufferManager::new(BufferConfig::new(512 << 20)).unwrap();
    let files = ObjectFiles::new(Arc::new(DiskSystem), settings.clone(), &memory);
    Setup { server, settings, memory, files }
}

/// Bytes that depend on their position.
fn content(length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect()
}

fn open(files: &dyn Files, path: &str) -> Arc<dyn InputFile> {
    match files.open(Path::new(path)).unwrap() {
        Input::File(file) => file,
        Input::Stream(_) => panic!("objects are files"),
    }
}

fn open_error(files: &dyn Files, path: &str) -> io::Error {
    files.open(Path::new(path)).err().expect("an error")
}

#[test]
fn an_object_is_found_opened_and_its_end_read_by_one_request() {
    let Setup { server, files, .. } = setup();
    let whole = content(1 << 20);
    server.put("/b/x/y.parquet", whole.clone());
    let view = files.view().unwrap();
    let path = Path::new("s3://b/x/y.parquet");
    let found = view.metadata(path).unwrap();
    assert_eq!((found.kind, found.bytes), (FileKind::File, 1 << 20));
    assert!(found.modified.is_some());
    let file = open(&*view, "s3://b/x/y.parquet");
    let mut tail = vec![0; 40_000];
    file.read_exact_at(&mut tail, (1 << 20) - 40_000).unwrap();
    assert_eq!(tail, whole[whole.len() - 40_000..]);
    let requests = server.take_requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].headers["authorization"].contains("the-key"));

    // Known already: no content is sent.
    assert_eq!(files.metadata(path).unwrap().identity, found.identity);
    let requests = server.take_requests();
    assert_eq!((requests.len(), requests[0].bytes), (1, 0), "{requests:#?}");
    server.put("/b/x/y.parquet", content(1 << 20));
    assert_ne!(files.metadata(path).unwrap().identity, found.identity);
}

#[test]
fn announced_ranges_come_together_and_are_read_without_waiting() {
    let Setup { server, files, memory, .. } = setup();
    let whole = content(40 << 20);
    server.put("/b/x.parquet", whole.clone());
    server.set_latency(Duration::from_millis(30));
    let file = open(&files, "s3://b/x.parquet");
    let before = memory.available_bytes();
    server.take_requests();
    // Ten columns of a megabyte side by side, and one that is far away.
    let mut ranges: Vec<_> = (0..10u64).map(|column| (column << 20)..((column + 1) << 20)).collect();
    ranges.push(30 << 20..31 << 20);
    let start = Instant::now();
    file.will_need_all(&ranges);
    for range in &ranges {
        let mut bytes = vec![0; 1 << 20];
        file.read_exact_at(&mut bytes, range.start).unwrap();
        assert!(bytes == whole[range.start as usize..range.end as usize]);
    }
    let elapsed = start.elapsed();
    let requests = server.take_requests();
    assert_eq!(requests.len(), 4, "three parts of ten megabytes, and one: {requests:?}");
    assert_eq!(requests.iter().map(|request| request.bytes).sum::<usize>(), 11 << 20);
    assert!(elapsed < Duration::from_millis(2000), "{elapsed:?}");
    file.wont_need(&ranges);
    // Another scan may want it, but not forever.
    let end = Instant::now() + Duration::from_secs(10);
    while memory.available_bytes() < before && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(memory.available_bytes() >= before, "what was read is gone");
}

#[test]
fn many_requests_are_in_flight_but_not_more_than_the_limit() {
    let Setup { server, files, .. } = setup();
    server.put("/b/x.parquet", content(64 << 20));
    server.set_latency(Duration::from_millis(50));
    let file = open(&files, "s3://b/x.parquet");
    server.take_requests();
    let ranges: Vec<_> = (0..120u64).map(|part| (part << 19)..((part << 19) + 1000)).collect();
    file.will_need_all(&ranges);
    for range in &ranges {
        file.read_exact_at(&mut [0; 1000], range.start).unwrap();
    }
    let most = server.in_flight_max();
    assert_eq!(server.take_requests().len(), 120);
    assert!((8..=25).contains(&most), "{most} at once: 24 ahead, and one that is waited for");
}

#[test]
fn small_reads_are_made_of_blocks_and_long_files_are_read_ahead() {
    let Setup { server, files, .. } = setup();
    let whole = content(24 << 20);
    server.put("/b/x.csv", whole.clone());
    let file = open(&files, "s3://b/x.csv");
    let mut read = Vec::new();
    Input::File(file).reader().read_to_end(&mut read).unwrap();
    assert!(read == whole);
    let requests = server.take_requests();
    assert!(requests.len() <= 12, "{} requests for 24 MiB", requests.len());
    assert!(requests.iter().map(|request| request.bytes).sum::<usize>() <= whole.len() + (1 << 20));
}

#[test]
fn a_changed_object_is_an_error_and_never_a_mix() {
    let Setup { server, files, .. } = setup();
    server.put("/b/x.parquet", content(1 << 20));
    let file = open(&files, "s3://b/x.parquet");
    server.put("/b/x.parquet", content(1 << 20));
    let error = file.read_exact_at(&mut [0; 100], 0).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
    server.delete("/b/x.parquet");
    assert_eq!(file.read_exact_at(&mut [0; 100], 0).unwrap_err().kind(), io::ErrorKind::NotFound);
    // The version found when opening again is read.
    server.put("/b/x.parquet", content(2 << 20));
    open(&files, "s3://b/x.parquet").read_exact_at(&mut [0; 100], 0).unwrap();
}

#[test]
fn failures_are_tried_again_and_then_told() {
    let Setup { server, files, .. } = setup();
    let whole = content(1 << 20);
    server.put("/b/x.parquet", whole.clone());
    let file = open(&files, "s3://b/x.parquet");
    for fault in [Fault::Status(500), Fault::Status(503), Fault::Close, Fault::Short, Fault::Status(429)] {
        server.fail_next(fault);
        let mut bytes = vec![0; 70_000];
        let at = server.take_requests().len() as u64 * 70_000;
        file.read_exact_at(&mut bytes, at).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert!(bytes == whole[at as usize..at as usize + 70_000], "{fault:?}");
    }
    server.take_requests();
    server.fail_always(Some(Fault::Status(503)));
    let error = file.read_exact_at(&mut [0; 100], 600_000).unwrap_err().to_string();
    assert!(error.contains("503") && error.contains("6 tries"), "{error}");
    assert_eq!(server.take_requests().len(), 6);
    server.fail_always(Some(Fault::Status(403)));
    let error = open_error(&files, "s3://b/y.parquet");
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(server.take_requests().len(), 1, "not tried again");
    server.fail_always(None);
    assert_eq!(open_error(&files, "s3://b/nothing.parquet").kind(), io::ErrorKind::NotFound);
    let unreachable = open_error(&files, "http://127.0.0.1:1/x.parquet").to_string();
    assert!(unreachable.contains("refused"), "{unreachable}");
}

#[test]
fn secrets_are_not_shown() {
    let Setup { server, settings, files, .. } = setup();
    server.fail_always(Some(Fault::Status(403)));
    let url = format!("{}/b/x.parquet?X-Amz-Signature=the-signature", server.url());
    let texts = [
        format!("{settings:?} {files:?}"),
        open_error(&files, "s3://b/x.parquet").to_string(),
        open_error(&files, &url).to_string(),
        open_error(&files, "s3://user:the-secret@b/x.parquet").to_string(),
        format!("{:?}", settings.shown(ObjectSetting::S3SecretAccessKey)),
    ];
    for text in texts {
        assert!(!text.contains("the-secret") && !text.contains("the-signature"), "{text}");
    }
    settings.set(ObjectSetting::HttpBearerToken, Some("the-token".into()));
    server.fail_always(None);
    server.put("/b/x.parquet", content(1000));
    server.take_requests();
    open(&files, &url);
    let requests = server.take_requests();
    assert_eq!(requests[0].headers["authorization"], "Bearer the-token");
    assert!(requests[0].target.ends_with("X-Amz-Signature=the-signature"));
}

#[test]
fn a_wait_ends_when_the_statement_does() {
    struct Flag(AtomicBool);
    impl Interrupt for Flag {
        fn is_interrupted(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }
    let Setup { server, files, .. } = setup();
    server.put("/b/x.parquet", content(1 << 20));
    let file = open(&files, "s3://b/x.parquet");
    server.fail_always(Some(Fault::Hang));
    let interrupted = |work: &dyn Fn() -> io::Error| {
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let setter = flag.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            setter.0.store(true, Ordering::Relaxed);
        });
        let start = Instant::now();
        let error = interruptible(flag, work);
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    };
    interrupted(&|| file.read_exact_at(&mut [0; 100], 0).unwrap_err());
    interrupted(&|| files.metadata(Path::new("s3://b/y.parquet")).unwrap_err());
    interrupted(&|| files.entries(Path::new("s3://b")).unwrap_err());
}

#[test]
fn folders_are_listed_page_by_page_and_their_files_opened_without_another_look() {
    let Setup { server, files, .. } = setup();
    server.set_page_keys(10);
    for number in 0..35 {
        server.put(&format!("/b/f/{number:02}.parquet"), content(100_000));
    }
    server.put("/b/f/sub/x.parquet", content(10));
    server.put("/b/f/", []);
    server.put("/b/g.parquet", content(10));
    let view = files.view().unwrap();
    let entries = view.entries(Path::new("s3://b/f")).unwrap();
    assert_eq!(entries.len(), 36);
    assert_eq!((&entries[0], &entries[35]), (&PathBuf::from("s3://b/f/00.parquet"), &PathBuf::from("s3://b/f/sub")));
    assert_eq!(server.take_requests().len(), 4);
    assert_eq!(view.metadata(&entries[35]).unwrap().kind, FileKind::Folder);
    let metadata = view.metadata(&entries[7]).unwrap();
    assert_eq!(metadata.bytes, 100_000);
    view.will_open(&entries[..20]);
    for path in &entries[..20] {
        open(&*view, path.to_str().unwrap()).read_exact_at(&mut [0; 8], 100_000 - 8).unwrap();
    }
    assert_eq!(server.take_requests().len(), 20, "one for the end of each file");
    assert_eq!(metadata.identity, files.metadata(&entries[7]).unwrap().identity, "as if it was looked for alone");
    assert_eq!(files.metadata(Path::new("s3://b/f")).unwrap().kind, FileKind::Folder);
    assert_eq!(files.entries(Path::new("s3://b")).unwrap().len(), 2);
    assert_eq!(files.entries(Path::new("s3://b/none")).unwrap().len(), 0);
    assert_eq!(files.metadata(Path::new("s3://b/none")).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_new_object_appears_as_a_whole_or_not_at_all() {
    let Setup { server, files, memory, .. } = setup();
    let before = memory.available_bytes();
    for length in [0, 10, 8 << 20, (40 << 20) + 7] {
        let whole = content(length);
        server.put("/b/out", &b"before"[..]);
        let mut file = files.create(Path::new("s3://b/out")).unwrap();
        file.write_all(&whole).unwrap();
        assert_eq!(server.get("/b/out").unwrap(), b"before");
        file.commit().unwrap();
        assert!(server.get("/b/out").unwrap() == whole, "{length} bytes");
        drop(file);
        assert_eq!((server.open_uploads(), memory.available_bytes()), (0, before));
    }
    server.take_requests();

    let mut dropped = files.create(Path::new("s3://b/other")).unwrap();
    dropped.write_all(&content(30 << 20)).unwrap();
    assert_eq!(server.open_uploads(), 1);
    drop(dropped);
    assert_eq!((server.open_uploads(), server.get("/b/other")), (0, None));

    // The second part never gets through.
    let mut failing = files.create(Path::new("s3://b/other")).unwrap();
    failing.write_all(&content(9 << 20)).unwrap();
    thread::sleep(Duration::from_millis(200));
    server.fail_always(Some(Fault::Status(400)));
    assert!(failing.commit().unwrap_err().to_string().contains("400"));
    server.fail_always(None);
    drop(failing);
    assert_eq!((server.open_uploads(), server.get("/b/other")), (0, None));
    assert_eq!(memory.available_bytes(), before);
}

#[test]
fn web_servers_are_read_only_and_may_send_files_as_a_whole_only() {
    let Setup { server, files, .. } = setup();
    server.put("/x.parquet", content(200_000));
    let url = format!("{}/x.parquet", server.url());
    open(&files, &url).read_exact_at(&mut [0; 100], 50).unwrap();
    assert!(files.create(Path::new(&url)).is_err());
    assert!(files.entries(Path::new(&server.url())).is_err());
    server.ignore_ranges();
    let file = open(&files, &format!("{}/x.parquet?again", server.url()));
    let mut bytes = vec![0; 200_000];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes == content(200_000));
}

#[test]
fn redirections_are_followed_and_take_no_token_to_others() {
    let Setup { server, settings, files, .. } = setup();
    let other = Server::start();
    other.put("/there/x.parquet", content(1000));
    server.send_elsewhere("/x.parquet", "/y.parquet".into());
    server.send_elsewhere("/y.parquet", format!("{}/there/x.parquet", other.url()));
    server.send_elsewhere("/round.parquet", "/round.parquet".into());
    settings.set(ObjectSetting::HttpBearerToken, Some("the-token".into()));
    let mut bytes = vec![0; 1000];
    open(&files, &format!("{}/x.parquet", server.url())).read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes == content(1000));
    assert!(server.take_requests().iter().all(|request| request.headers["authorization"] == "Bearer the-token"));
    let requests = other.take_requests();
    assert!(!requests.is_empty() && requests.iter().all(|request| !request.headers.contains_key("authorization")));
    let error = open_error(&files, &format!("{}/round.parquet", server.url())).to_string();
    assert!(error.contains("from one place to the next"), "{error}");
    assert_eq!(server.take_requests().len(), 10);
}

#[test]
fn local_paths_go_to_the_disk() {
    let Setup { server, files, .. } = setup();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut file = files.create(&path).unwrap();
    file.write_all(b"hello").unwrap();
    file.commit().unwrap();
    assert_eq!(files.view().unwrap().metadata(&path).unwrap().bytes, 5);
    assert_eq!(files.entries(folder.path()).unwrap(), [path]);
    assert_eq!(server.take_requests().len(), 0);
}
