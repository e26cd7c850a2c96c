//! Kernels that compute functions over vectors, and where they get memory.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use godwit_common::{Error, Result, SqlState};
use godwit_vector::Vector;

/// Maximum size of a text or BLOB that a function makes, in bytes: that of PostgreSQL.
pub const TEXT_BYTES_MAX: usize = 1 << 30;

/// A function of vectors.
pub trait Kernel: Send + Sync {
    /// Returns the results for arguments of `rows` (at least one) rows each, in the natural physical types of the form.
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector>;
}

/// Granted memory, held until dropped.
pub type Lease = Box<dyn Any + Send + Sync>;

/// The statement that a kernel works for.
pub trait Work: Send + Sync {
    /// Reserves more bytes, or fails if there is no memory.
    fn reserve(&self, bytes: usize) -> Result<Lease>;

    /// Maximum bytes that the texts of several rows should take: an error of the kind [`ErrorKind::Resource`] asks for
    /// fewer rows at once. A single row may take more.
    ///
    /// [`ErrorKind::Resource`]: godwit_common::ErrorKind::Resource
    fn rows_bytes_max(&self) -> usize;

    /// Fails if the statement should stop. Cheap: kernels call it every few microseconds to milliseconds.
    fn check(&self) -> Result<()>;
}

/// Work with a fixed memory bound that never stops: constants while planning, tests.
pub struct Bounded {
    bytes_max: usize,
    leased_bytes: Arc<AtomicUsize>,
}

impl Bounded {
    /// Creates work that may hold this number of bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, leased_bytes: Arc::default() }
    }
}

/// Bytes that are returned on drop.
struct BoundedLease {
    bytes: usize,
    leased_bytes: Arc<AtomicUsize>,
}

impl Drop for BoundedLease {
    fn drop(&mut self) {
        self.leased_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

impl Work for Bounded {
    fn reserve(&self, bytes: usize) -> Result<Lease> {
        let lease = BoundedLease { bytes, leased_bytes: Arc::clone(&self.leased_bytes) };
        let before = self.leased_bytes.fetch_add(bytes, Relaxed);
        match before.saturating_add(bytes) > self.bytes_max {
            true => Err(Error::resource(format!("a value takes more than {} bytes", self.bytes_max))),
            false => Ok(Box::new(lease)),
        }
    }

    fn rows_bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The error for rows that should be computed in several parts.
pub(crate) fn too_heavy(bytes: usize) -> Error {
    Error::resource(format!("the texts of some rows take {bytes} bytes together"))
}

/// The error for a value longer than [`TEXT_BYTES_MAX`].
pub(crate) fn too_long() -> Error {
    Error::user(format!("the result is longer than {} bytes, which is the most that a value may have", TEXT_BYTES_MAX))
        .with_code(SqlState::PROGRAM_LIMIT_EXCEEDED)
}
