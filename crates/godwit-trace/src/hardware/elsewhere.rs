//! The hardware source on systems other than Linux: unavailable.

use super::{HardwareCounts, HardwareOptions, Unavailable};
use crate::{Clock, Load};
use std::convert::Infallible;
use std::sync::mpsc::Receiver;

/// Samples loads; there is none on this system.
#[derive(Debug)]
pub struct HardwareTracer(Infallible);

impl HardwareTracer {
    /// Fails, as this isn't Linux.
    ///
    /// # Errors
    ///
    /// Always [`Unavailable::NotLinux`].
    pub fn start(_: HardwareOptions, _: Clock) -> Result<(HardwareTracer, Receiver<Vec<Load>>), Unavailable> {
        Err(Unavailable::NotLinux)
    }

    /// Attaches the calling thread.
    ///
    /// # Errors
    ///
    /// None.
    pub fn attach_thread(&self) -> Result<(), Unavailable> {
        match self.0 {}
    }

    /// Attaches all threads.
    ///
    /// # Errors
    ///
    /// None.
    pub fn attach_all_threads(&self) -> Result<(), Unavailable> {
        match self.0 {}
    }

    /// Ends sampling.
    pub fn stop(&self) -> HardwareCounts {
        match self.0 {}
    }
}
