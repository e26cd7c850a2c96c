//! Background threads.

/// Niceness of a background thread relative to others: on a busy processor, it gets about a tenth of their share.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the calling thread's share of a processor that others need, too.
#[cfg(target_os = "linux")]
pub fn lower_thread_priority() {
    // On Linux, the priority is the thread's own. If this fails, the thread does the same work.
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

/// Lowers the calling thread's share of a processor that others need, too, where the system supports that.
#[cfg(not(target_os = "linux"))]
pub fn lower_thread_priority() {}
