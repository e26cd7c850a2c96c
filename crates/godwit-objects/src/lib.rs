//! Users' files in object stores and on web servers, behind the same interface as local ones.
//!
//! ```text
//!   statements ─▶ godwit_io::Files ─▶ ObjectFiles ─┬─ paths of this machine ─▶ DiskSystem
//!                                       │          └─ s3:// gs:// az:// https:// ─▶ Store (crate object_store)
//!                                       └─ view: planning a table asks for nothing twice
//!
//!   reading:  look ───▶ one request: is it there, what version, and its end (or beginning)
//!             announce ▶ ranges, neighbours together ─▶ queue ─▶ slots of the store, share of the memory ─▶ blocks
//!             read_at ─▶ from a block, one on its way, or a request of its own
//!   writing:  parts ──▶ a few on their way at once ─▶ commit: the object appears; dropped: parts go
//! ```
//!
//! - *Versions.* Each request for bytes names the ETag of the version that was opened, so a file is read as one version
//!   or not at all: an object that changes meanwhile is an error. A repeated lookup with a known ETag is answered
//!   without the content.
//! - *Limits*, timeouts and numbers of retries are in `config.rs`.
//! - *Threads.* Requests run on two dedicated threads, started with the first URL. A thread that waits for them sleeps,
//!   and asks [`godwit_io::check_interrupt`] whether to go on.
//! - *Secrets.* Credentials come from [`ObjectSettings`] or the environment and are never shown: neither by `Debug` nor
//!   in errors.

#![forbid(unsafe_code)]

mod client;
mod config;
mod failure;
mod fetch;
mod files;
mod input;
mod listing;
mod location;
mod output;
mod settings;
mod store;
mod transport;
mod view;

pub use files::ObjectFiles;
pub use settings::{ObjectSetting, ObjectSettings};
