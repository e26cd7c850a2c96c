//! A stand-in for S3 and for web servers: objects in memory behind HTTP, with latency, faults and counters.

#![allow(dead_code, reason = "each of the tests that share it uses a part")]

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// A fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status.
    Status(u16),
    /// The connection is closed without an answer.
    Close,
    /// The connection is closed in the middle of the body.
    Short,
    /// There is no answer.
    Hang,
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query string.
    pub target: String,
    pub headers: BTreeMap<String, String>,
    /// Bytes of the answer's body.
    pub bytes: usize,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// Redirects of objects.
    elsewhere: BTreeMap<String, String>,
    latency: Duration,
    /// The faults of the next requests.
    faults: VecDeque<Option<Fault>>,
    /// The fault of all requests.
    always: Option<Fault>,
    page_keys: usize,
    serial: u64,
    seen: Vec<Request>,
    in_flight: usize,
    in_flight_max: usize,
    /// True if only whole files are sent.
    ignores_ranges: bool,
}

#[derive(Clone)]
struct Object {
    content: Arc<Vec<u8>>,
    etag: String,
}

/// The server, which runs until the process ends.
#[derive(Clone)]
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self { address, state: Arc::new(Mutex::new(State { page_keys: 1000, ..State::default() })) };
        let serving = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                // A client that disconnects doesn't fail the test.
                thread::spawn(move || drop(server.serve(stream)));
            }
        });
        server
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts an object under `/bucket/key`.
    pub fn put(&self, name: &str, content: impl Into<Vec<u8>>) {
        self.state().store(name, content.into());
    }

    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.state().objects.get(name).map(|object| object.content.to_vec())
    }

    pub fn delete(&self, name: &str) {
        self.state().objects.remove(name);
    }

    /// Redirects requests for an object to another URL.
    pub fn send_elsewhere(&self, name: &str, url: String) {
        self.state().elsewhere.insert(name.to_owned(), url);
    }

    pub fn set_latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Makes the next request fail; those after it fail as planned before.
    pub fn fail_next(&self, fault: Fault) {
        self.state().faults.push_back(Some(fault));
    }

    /// Makes the next request without a planned fault succeed.
    pub fn pass_next(&self) {
        self.state().faults.push_back(None);
    }

    /// Makes all requests without another plan fail, or none.
    pub fn fail_always(&self, fault: Option<Fault>) {
        let mut state = self.state();
        state.always = fault;
        if fault.is_none() {
            state.faults.clear();
        }
    }

    pub fn set_page_keys(&self, keys: usize) {
        self.state().page_keys = keys;
    }

    pub fn ignore_ranges(&self) {
        self.state().ignores_ranges = true;
    }

    /// The requests since the last call.
    pub fn take_requests(&self) -> Vec<Request> {
        self.state().in_flight_max = 0;
        std::mem::take(&mut self.state().seen)
    }

    pub fn in_flight_max(&self) -> usize {
        self.state().in_flight_max
    }

    /// Uploads that were neither completed nor aborted.
    pub fn open_uploads(&self) -> usize {
        self.state().uploads.len()
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        while let Some((request, body)) = read_request(&mut reader)? {
            let (latency, fault) = {
                let mut state = self.state();
                state.in_flight += 1;
                state.in_flight_max = state.in_flight_max.max(state.in_flight);
                let always = state.always;
                let fault = state.faults.pop_front().unwrap_or(always);
                (state.latency, fault)
            };
            thread::sleep(latency);
            let mut answer = match fault {
                Some(Fault::Status(status)) => Answer::of(status, &b"<Error><Code>Planned</Code></Error>"[..]),
                _ => self.state().answer(&request, body),
            };
            answer.is_head = request.method == "HEAD";
            {
                let mut state = self.state();
                state.in_flight -= 1;
                let bytes = if answer.is_head { 0 } else { answer.range.len() };
                state.seen.push(Request { bytes, ..request });
            }
            match fault {
                Some(Fault::Close) => return Ok(()),
                Some(Fault::Hang) => thread::sleep(Duration::from_secs(3600)),
                Some(Fault::Short) => {
                    let half = answer.range.len() / 2;
                    return stream.write_all(&answer.head()).and_then(|()| {
                        let start = answer.range.start;
                        stream.write_all(&answer.body[start..start + half])
                    });
                }
                Some(Fault::Status(_)) | None => answer.write(&mut stream)?,
            }
        }
        Ok(())
    }
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(Request, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((Request { method, target, headers, bytes: 0 }, body)))
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Arc<Vec<u8>>,
    /// The part of the body that is sent.
    range: Range<usize>,
    is_head: bool,
}

impl Answer {
    fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let range = 0..body.len();
        Self { status, headers: Vec::new(), body: Arc::new(body), range, is_head: false }
    }

    fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", self.status, self.range.len());
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        (head + "\r\n").into_bytes()
    }

    fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(&self.head())?;
        let body = if self.is_head || self.status == 304 { 0..0 } else { self.range.clone() };
        stream.write_all(&self.body[body])
    }
}

impl State {
    fn store(&mut self, name: &str, content: Vec<u8>) -> String {
        self.serial += 1;
        let etag = format!("\"etag-{}\"", self.serial);
        self.objects.insert(name.to_owned(), Object { content: Arc::new(content), etag: etag.clone() });
        etag
    }

    fn answer(&mut self, request: &Request, body: Vec<u8>) -> Answer {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let name = decoded(path);
        let query: BTreeMap<String, String> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect();
        if let Some(url) = self.elsewhere.get(&name) {
            let mut answer = Answer::of(302, []);
            answer.headers.push(("location", url.clone()));
            return answer;
        }
        match request.method.as_str() {
            "GET" if query.contains_key("list-type") => self.list(name.trim_matches('/'), &query),
            "GET" | "HEAD" => self.read(request, &name),
            "PUT" if query.contains_key("partNumber") => {
                let Some(upload) = self.uploads.get_mut(&query["uploadId"]) else { return Answer::of(404, []) };
                upload.insert(query["partNumber"].parse().unwrap(), body);
                let mut answer = Answer::of(200, []);
                answer.headers.push(("etag", format!("\"part-{}\"", query["partNumber"])));
                answer
            }
            "PUT" => {
                let etag = self.store(&name, body);
                let mut answer = Answer::of(200, []);
                answer.headers.push(("etag", etag));
                answer
            }
            "POST" if query.contains_key("uploads") => {
                self.serial += 1;
                let id = format!("upload-{}", self.serial);
                self.uploads.insert(id.clone(), BTreeMap::new());
                let text = format!(
                    "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>{id}</UploadId>\
                     </InitiateMultipartUploadResult>"
                );
                Answer::of(200, text)
            }
            "POST" => {
                let Some(parts) = self.uploads.remove(&query["uploadId"]) else { return Answer::of(404, []) };
                let etag = self.store(&name, parts.into_values().flatten().collect());
                Answer::of(
                    200,
                    format!(
                        "<CompleteMultipartUploadResult><ETag>{}</ETag></CompleteMultipartUploadResult>",
                        etag.replace('"', "&quot;")
                    ),
                )
            }
            "DELETE" => {
                let is_there = query.get("uploadId").is_some_and(|id| self.uploads.remove(id).is_some());
                Answer::of(if is_there { 204 } else { 404 }, [])
            }
            _ => Answer::of(405, []),
        }
    }

    fn read(&self, request: &Request, name: &str) -> Answer {
        let Some(object) = self.objects.get(name) else { return Answer::of(404, &b"<Error/>"[..]) };
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        if header("if-match").is_some_and(|etag| etag != object.etag) {
            return Answer::of(412, []);
        }
        let length = object.content.len();
        let mut answer = Answer::of(200, []);
        answer.headers = vec![
            ("etag", object.etag.clone()),
            ("last-modified", "Mon, 01 Jan 2024 00:00:00 GMT".to_owned()),
            ("accept-ranges", "bytes".to_owned()),
        ];
        if header("if-none-match").is_some_and(|etag| etag == object.etag) {
            answer.status = 304;
            return answer;
        }
        (answer.body, answer.range) = (object.content.clone(), 0..length);
        if let Some(range) = header("range").filter(|_| !self.ignores_ranges) {
            let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            let range = match (start.parse::<usize>(), end.parse::<usize>()) {
                (Ok(start), Ok(end)) => start..(end + 1).min(length),
                (Ok(start), Err(_)) => start..length,
                (Err(_), Ok(suffix)) => length.saturating_sub(suffix)..length,
                (Err(_), Err(_)) => return Answer::of(400, []),
            };
            if range.start >= length {
                return Answer::of(416, []);
            }
            answer.status = 206;
            answer.headers.push(("content-range", format!("bytes {}-{}/{length}", range.start, range.end - 1)));
            answer.range = range;
        }
        answer
    }

    fn list(&self, bucket: &str, query: &BTreeMap<String, String>) -> Answer {
        let text = |name: &str| query.get(name).map_or("", String::as_str);
        let (root, prefix) = (format!("/{bucket}/"), text("prefix"));
        let most = query.get("max-keys").and_then(|keys| keys.parse().ok()).unwrap_or(usize::MAX).min(self.page_keys);
        let (mut entries, mut last) = (Vec::<String>::new(), String::new());
        let mut token = None;
        for (name, object) in &self.objects {
            let Some(key) = name.strip_prefix(&root).filter(|key| key.starts_with(prefix)) else { continue };
            let shown = match (text("delimiter"), key[prefix.len()..].split_once('/')) {
                ("/", Some((folder, _))) => format!("{prefix}{folder}/"),
                _ => key.to_owned(),
            };
            if shown == last || shown.as_str() <= text("continuation-token") {
                continue;
            }
            if entries.len() == most {
                token = Some(last);
                break;
            }
            entries.push(match shown.ends_with('/') && shown != key {
                true => format!("<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>"),
                false => format!(
                    "<Contents><Key>{shown}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
                     <ETag>{}</ETag><Size>{}</Size></Contents>",
                    object.etag.replace('"', "&quot;"),
                    object.content.len()
                ),
            });
            last = shown;
        }
        let token = token.map(|token| format!("<NextContinuationToken>{token}</NextContinuationToken>"));
        Answer::of(
            200,
            format!("<ListBucketResult>{}{}</ListBucketResult>", entries.concat(), token.unwrap_or_default()),
        )
    }
}

/// Decodes `%2F` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        match (first, behind) {
            (b'%', [a, b, behind @ ..]) => {
                let digits = [*a, *b];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
                rest = behind;
            }
            (b'+', _) => (bytes.push(b' '), rest = behind).1,
            _ => (bytes.push(*first), rest = behind).1,
        }
    }
    String::from_utf8(bytes).unwrap()
}
