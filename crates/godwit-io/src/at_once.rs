//! Short tasks on several threads at once.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{current_interrupt, interruptible};

/// Runs `run` for each task, on this thread and at most `threads - 1` others, and returns the results in the order of
/// the tasks. Waits end on all threads when the interrupt of this one says so. Starting a thread takes some 20 µs; with
/// one thread, with one task, or if no thread can be started, everything is done here.
///
/// # Panics
/// If `run` does.
pub fn at_once<T: Sync, R: Send>(tasks: &[T], threads: usize, run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(task) = tasks.get(at)
        {
            let result = run(task);
            *results[at].lock().expect("nothing panics while it is locked") = Some(result);
        }
    };
    thread::scope(|scope| {
        let mut helpers = Vec::new();
        for _ in 1..threads.min(tasks.len()) {
            let interrupt = current_interrupt();
            let help = || match interrupt {
                Some(interrupt) => interruptible(interrupt, work),
                None => work(),
            };
            match thread::Builder::new().name("godwit-helper".to_owned()).spawn_scoped(scope, help) {
                Ok(helper) => helpers.push(helper),
                Err(_) => break,
            }
        }
        work();
        // The scope would panic with a message of its own.
        if let Some(panic) = helpers.into_iter().find_map(|helper| helper.join().err()) {
            resume_unwind(panic);
        }
    });
    let result = |result: Mutex<Option<R>>| result.into_inner().ok().flatten().expect("all tasks have run");
    results.into_iter().map(result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Interrupt, check_interrupt};

    struct Stopped;

    impl Interrupt for Stopped {
        fn is_interrupted(&self) -> bool {
            true
        }
    }

    #[test]
    fn helpers_are_interrupted_as_the_thread_that_they_help() {
        let waits = || at_once(&[(); 20], 4, |()| check_interrupt().is_err());
        assert_eq!(interruptible(Arc::new(Stopped), waits), [true; 20]);
        assert_eq!(waits(), [false; 20]);
    }

    #[test]
    fn a_panic_keeps_its_message() {
        for panicking in 0..8 {
            let tasks: Vec<usize> = (0..8).collect();
            let run = || at_once(&tasks, 4, |&task| assert!(task != panicking, "task {task} is wrong"));
            let panic = std::panic::catch_unwind(run).unwrap_err();
            assert_eq!(panic.downcast_ref::<String>(), Some(&format!("task {panicking} is wrong")));
        }
    }

    #[test]
    fn each_task_runs_once_and_results_keep_their_order() {
        for (tasks, threads) in [(0, 4), (1, 4), (3, 1), (100, 1), (100, 4)] {
            let runs = AtomicUsize::new(0);
            let tasks: Vec<usize> = (0..tasks).collect();
            let doubled = at_once(&tasks, threads, |task| {
                runs.fetch_add(1, Ordering::Relaxed);
                2 * task
            });
            assert_eq!(doubled, tasks.iter().map(|task| 2 * task).collect::<Vec<_>>());
            assert_eq!(runs.into_inner(), tasks.len());
        }
    }
}
