//! Memory for the results of a call, reserved as they grow.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice};
use bytes::Bytes;
use godwit_common::Result;

use crate::kernel::{Lease, Work, too_heavy};

/// Bytes that need no reservation: those of a few chunks of short values.
const FREE_BYTES: usize = 64 << 10;

/// Reserves memory for what a row needs while it is computed. Little needs no reservation.
pub(crate) fn scratch(bytes: usize, work: &dyn Work) -> Result<Option<Lease>> {
    (bytes > FREE_BYTES).then(|| work.reserve(bytes)).transpose()
}

/// The memory granted to one growing result.
///
/// While a buffer is being copied to grow, both its old and its new allocation are granted.
pub struct Room<'w> {
    granted_bytes: usize,
    lease: Option<Lease>,
    rows: usize,
    work: &'w dyn Work,
}

impl<'w> Room<'w> {
    /// Creates room for the results of `rows` rows.
    pub fn new(rows: usize, work: &'w dyn Work) -> Self {
        Self { granted_bytes: FREE_BYTES, lease: None, rows, work }
    }

    /// Reserves `bytes` in total; fails if there is no memory, or if fewer rows should be computed at once.
    pub fn count(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.granted_bytes {
            self.replace_lease(bytes)?;
        }
        Ok(())
    }

    /// Makes room for `more` values in a buffer that nothing else has grown.
    pub(crate) fn grow<T>(&mut self, values: &mut Vec<T>, more: usize) -> Result<()> {
        let needed = values.len().saturating_add(more);
        if needed > values.capacity() {
            let bytes = needed.saturating_mul(size_of::<T>());
            let mut before = None;
            if bytes > self.granted_bytes {
                before = self.lease.take();
                self.replace_lease(bytes)?;
            }
            values.reserve_exact(self.granted_bytes / size_of::<T>() - values.len());
            drop(before);
        }
        Ok(())
    }

    fn replace_lease(&mut self, bytes: usize) -> Result<()> {
        if self.rows > 1 && bytes > self.work.rows_bytes_max() {
            return Err(too_heavy(bytes));
        }
        // Half as much again, to make few requests.
        let ample = bytes.saturating_add(bytes / 2);
        let (lease, granted_bytes) = match self.work.reserve(ample) {
            Ok(lease) => (lease, ample),
            Err(_) => (self.work.reserve(bytes)?, bytes),
        };
        self.lease = Some(lease);
        self.granted_bytes = granted_bytes;
        Ok(())
    }

    /// Returns the granted memory, to be kept as long as the result.
    pub(crate) fn into_lease(self) -> Option<Lease> {
        self.lease
    }

    /// Returns the values, which hold the granted memory as long as they live.
    pub(crate) fn leased<T: ArrowNativeType>(self, values: Vec<T>) -> ScalarBuffer<T> {
        match self.lease {
            Some(lease) => Buffer::from(Bytes::from_owner(Leased { values, _lease: lease })).into(),
            None => values.into(),
        }
    }
}

struct Leased<T> {
    values: Vec<T>,
    _lease: Lease,
}

impl<T: ArrowNativeType> AsRef<[u8]> for Leased<T> {
    fn as_ref(&self) -> &[u8] {
        self.values.to_byte_slice()
    }
}

#[cfg(test)]
mod tests {
    use godwit_common::ErrorKind;

    use super::Room;
    use crate::Bounded;

    #[test]
    fn what_grows_is_counted_with_its_copies() {
        let work = Bounded::new(1 << 20);
        let mut room = Room::new(1, &work);
        let mut values: Vec<i64> = Vec::new();
        // 48,000 bytes, which need no reservation.
        room.grow(&mut values, 6_000).unwrap();
        values.resize(6_000, 7);
        room.grow(&mut values, 40_000).unwrap();
        assert!(values.capacity() >= 46_000 && values.capacity() * 8 <= 1 << 20);
        // 368,000 bytes are available; 800,000 more for the copy are too many.
        assert_eq!(room.grow(&mut values, 94_000).unwrap_err().kind(), ErrorKind::Resource);
    }

    #[test]
    fn values_keep_their_grant() {
        let work = Bounded::new(1 << 20);
        let mut room = Room::new(1, &work);
        let mut values: Vec<i64> = Vec::new();
        room.grow(&mut values, 100_000).unwrap();
        values.extend(0..100_000);
        let buffer = room.leased(values);
        assert_eq!(buffer[99_999], 99_999);
        assert!(Room::new(1, &work).count(500_000).is_err());
        drop(buffer);
        Room::new(1, &work).count(500_000).unwrap();
    }

    #[test]
    fn many_rows_are_asked_to_be_fewer() {
        let work = Bounded::new(1 << 20);
        let error = Room::new(2, &work).count(2 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resource);
    }
}
