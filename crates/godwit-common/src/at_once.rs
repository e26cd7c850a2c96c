//! Short tasks on several threads at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `run` for each task, on this thread and at most `threads - 1` others, and returns the results in the order of
/// the tasks. Starting a thread takes some 20 µs: with one thread, or one task, everything is done here. So it is if no
/// thread can be started.
pub fn at_once<T: Sync, R: Send + Sync>(tasks: &[T], threads: usize, run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results: Vec<OnceLock<R>> = tasks.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(task) = tasks.get(at)
        {
            let is_first = results[at].set(run(task)).is_ok();
            assert!(is_first, "a task has run twice");
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(tasks.len()) {
            let thread = thread::Builder::new().name("godwit-helper".to_owned());
            if thread.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_iter().map(|result| result.into_inner().expect("all tasks have run")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
