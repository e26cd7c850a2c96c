//! An object being written.
//!
//! ```text
//!   write ─▶ a part in memory ─full─▶ on its way, a few at once ─▶ … ─▶ commit: all there, and then the object
//!                                                                       short ones: one request
//!   dropped before: what is on its way stops, and the parts go
//! ```

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use godwit_common::MemoryTag;
use godwit_io::NewFile;
use godwit_memory::{BufferManager, Reservation};
use object_store::path::Path as ObjectPath;
use object_store::{MultipartUpload, ObjectStore, PutMultipartOptions, PutOptions, PutPayload};
use tokio::task::JoinHandle;

use crate::config::{ABORT_TIMEOUT, PART_BYTES_MIN, PARTS_IN_FLIGHT_MAX, PARTS_PER_SIZE};
use crate::failure::{Failure, Seen};
use crate::files::ObjectFiles;

/// An object that doesn't have its name yet.
pub(crate) struct NewObject {
    files: ObjectFiles,
    objects: Arc<dyn ObjectStore>,
    path: ObjectPath,
    memory: BufferManager,
    part: Vec<u8>,
    part_memory: Option<Reservation>,
    /// Present from the first full part.
    upload: Option<Box<dyn MultipartUpload>>,
    parts: usize,
    in_flight: VecDeque<JoinHandle<Result<(), Failure>>>,
    /// Observations of its requests.
    seen: Arc<Seen>,
}

impl NewObject {
    pub(crate) fn new(
        files: ObjectFiles,
        objects: Arc<dyn ObjectStore>,
        path: ObjectPath,
        memory: BufferManager,
    ) -> Self {
        Self {
            files,
            objects,
            path,
            memory,
            part: Vec::new(),
            part_memory: None,
            upload: None,
            parts: 0,
            in_flight: VecDeque::new(),
            seen: Arc::default(),
        }
    }

    /// Length of the current part.
    fn part_bytes(&self) -> usize {
        PART_BYTES_MIN * (1 + self.parts / PARTS_PER_SIZE)
    }

    fn take_part(&mut self) -> (PutPayload, Option<Reservation>) {
        (std::mem::take(&mut self.part).into(), self.part_memory.take())
    }

    /// Sends the part once there are few enough in flight.
    fn send_part(&mut self) -> io::Result<()> {
        if self.upload.is_none() {
            let (objects, path, seen) = (self.objects.clone(), self.path.clone(), self.seen.clone());
            let mut options = PutMultipartOptions::default();
            options.extensions.insert(seen.clone());
            let begun = self.files.wait(async move {
                objects.put_multipart_opts(&path, options).await.map_err(|error| Failure::of(&error, &seen))
            })?;
            self.upload = Some(begun.map_err(Failure::into_io)?);
        }
        while self.in_flight.len() >= PARTS_IN_FLIGHT_MAX {
            self.wait_for_part()?;
        }
        let (payload, memory) = self.take_part();
        self.parts += 1;
        let sending = self.upload.as_mut().expect("it was begun").put_part(payload);
        let seen = self.seen.clone();
        let task = async move {
            let sent = sending.await.map_err(|error| Failure::of(&error, &seen));
            drop(memory);
            sent
        };
        self.in_flight.push_back(self.files.runtime()?.spawn(task));
        Ok(())
    }

    /// Waits for the oldest part in flight.
    fn wait_for_part(&mut self) -> io::Result<()> {
        let Some(task) = self.in_flight.pop_front() else { return Ok(()) };
        let abort = task.abort_handle();
        let sent = self.files.wait(task);
        let sent = sent.inspect_err(|_| abort.abort())?;
        sent.map_err(io::Error::other)?.map_err(Failure::into_io)
    }

    /// Writes a short object with one request.
    fn put(&mut self) -> io::Result<()> {
        let (payload, memory) = self.take_part();
        let (objects, path, seen) = (self.objects.clone(), self.path.clone(), self.seen.clone());
        let mut options = PutOptions::default();
        options.extensions.insert(seen.clone());
        let put = self.files.wait(async move {
            let put = objects.put_opts(&path, payload, options).await;
            drop(memory);
            put.map(drop).map_err(|error| Failure::of(&error, &seen))
        })?;
        put.map_err(Failure::into_io)
    }
}

impl Write for NewObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.part_bytes();
        if self.part_memory.is_none() {
            let memory = self.memory.reserve(length, MemoryTag::Writer);
            let out_of_memory = |error: godwit_common::Error| Failure::Memory(error.message().to_owned()).into_io();
            self.part_memory = Some(memory.map_err(out_of_memory)?);
            self.part.reserve_exact(length);
        }
        let taken = bytes.len().min(length - self.part.len());
        self.part.extend_from_slice(&bytes[..taken]);
        if self.part.len() == length {
            self.send_part()?;
        }
        Ok(taken)
    }

    /// Nothing is visible before all of it is written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for NewObject {
    fn commit(&mut self) -> io::Result<()> {
        if self.upload.is_none() {
            return self.put();
        }
        if !self.part.is_empty() {
            self.send_part()?;
        }
        while !self.in_flight.is_empty() {
            self.wait_for_part()?;
        }
        let mut upload = self.upload.take().expect("it was begun");
        let seen = self.seen.clone();
        let completed = self.files.wait(async move {
            let completed = upload.complete().await.map(drop).map_err(|error| Failure::of(&error, &seen));
            (upload, completed)
        })?;
        let (upload, completed) = completed;
        completed.map_err(|failure| {
            self.upload = Some(upload);
            failure.into_io()
        })
    }
}

impl Drop for NewObject {
    fn drop(&mut self) {
        let (Some(mut upload), Ok(runtime)) = (self.upload.take(), self.files.runtime()) else { return };
        let in_flight = std::mem::take(&mut self.in_flight);
        let (sender, receiver) = std::sync::mpsc::sync_channel::<()>(1);
        runtime.spawn(async move {
            // A part that arrives later would stay.
            for task in in_flight {
                task.abort();
                let _ = task.await;
            }
            // A failure can't be reported any more; its cause already was.
            let _ = upload.abort().await;
            drop(sender);
        });
        // The process may end soon, and the parts would stay. Interrupted statements wait, too.
        let wait: Duration = ABORT_TIMEOUT;
        let _ = receiver.recv_timeout(wait);
    }
}
